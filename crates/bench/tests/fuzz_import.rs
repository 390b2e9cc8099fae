//! Fuzzes the text that is given as another tool's output.
//!
//! The result is curves that can be drawn, or one line that names the error; never a panic. The program has no library,
//! so the readers are compiled here once more. The input is samples, with parts of them in any order; tests `import`.

use bolero::{TypeGenerator, check};

#[allow(dead_code)]
#[path = "../src/atomic_file.rs"]
mod atomic_file;
#[allow(dead_code)]
#[path = "../src/import/mod.rs"]
mod import;
#[allow(dead_code)]
#[path = "../src/record.rs"]
mod record;

/// Lines, and beginnings of lines, that the readers look for.
const PARTS: [&str; 20] = [
    "\n",
    " ",
    "\r\n",
    "# OSU MPI Latency Test v7.5\n",
    "# OSU MPI Bi-Directional Bandwidth Test v7.5\n",
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.5\n",
    "# [ pairs: 4 ] [ window size: 64 ]\n",
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n",
    "# Size                  MB/s        Messages/s\n",
    "# Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n",
    "# Benchmarking Uniband\n",
    "# #processes = 2\n",
    "# ( 2 groups of 2 processes each running simultaneous )\n",
    "#bytes #repetitions Mbytes/sec Msg/sec\n",
    "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] overlap[%]\n",
    "       2 201.606676   0.00000008\n",
    "       64     2.560     2.048     5.120    0.20\n",
    "  1:       2 bytes 1168758 times -->    201.61 Mbps in       0.08 usec\n",
    "Passing data in both directions simultaneously.\n",
    "4 100 1e-320 18446744073709551615 nan -1 0.00\n",
];

#[derive(Clone, Debug, TypeGenerator)]
enum Piece {
    Part(u8),
    Number(f64),
    Bytes(Vec<u8>),
}

impl Piece {
    fn text(&self) -> String {
        match self {
            Piece::Part(number) => PARTS[usize::from(*number) % PARTS.len()].into(),
            Piece::Number(number) => format!("{number} "),
            Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

fn check_text(text: &str) {
    match import::import(text, "theirs", record::CurveLevel::Library) {
        Ok(imported) => {
            assert!(!imported.benchmarks.is_empty());
            for point in imported.benchmarks.iter().flat_map(|benchmark| &benchmark.curve.points) {
                let fits = point.min_us > 0.0 && point.min_us <= point.median_us && point.median_us.is_finite();
                assert!(fits && point.hidden.is_none_or(|hidden| (0.0..=1.0).contains(&hidden)), "{point:?}");
            }
        }
        Err(unread) => assert_eq!(unread.for_file("f").lines().count(), 1, "{unread:?}"),
    }
}

#[test]
fn other_tools_output() {
    check!().with_type::<Vec<Piece>>().with_iterations(3000).for_each(|pieces| {
        check_text(&pieces.iter().take(40).map(Piece::text).collect::<String>());
    });
}
