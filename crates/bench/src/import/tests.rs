//! Tests that samples of each tool's output give exactly their curves; output that is cut off, foreign or wrong is
//! refused or noted.
//!
//! The files `imb-*`, `netpipe-3.7-*` and `osu-5.3-*` are the tools' output on this machine; `osu-format-*` and
//! `netpipe-5-format*` were written by hand in the format of those tools, with figures of our own. They test the
//! readers.

use super::*;
use crate::record::Point;
use proptest::prelude::*;

const NP_MPICH2: &str = include_str!("samples/netpipe-3.7-mpich2.np.out");
const NP_MPICH2_PRINTED: &str = include_str!("samples/netpipe-3.7-mpich2.txt");
const NP_STREAM: &str = include_str!("samples/netpipe-3.7-mpich2-stream.txt");
const NP_BOTH: &str = include_str!("samples/netpipe-3.7-mpich2-bidirectional.txt");
const NP_TCP: &str = include_str!("samples/netpipe-3.7-tcp.np.out");
const NP_TCP_PRINTED: &str = include_str!("samples/netpipe-3.7-tcp.txt");
const NP_5: &str = include_str!("samples/netpipe-5-format.np.out");
const IMB_2: &str = include_str!("samples/imb-2021.11-mpi1-2.txt");
const IMB_4: &str = include_str!("samples/imb-2021.11-mpi1-4.txt");
const IMB_P2P: &str = include_str!("samples/imb-2021.11-p2p.txt");
const IMB_NBC: &str = include_str!("samples/imb-2021.11-nbc.txt");
const OSU_LATENCY: &str = include_str!("samples/osu-format-latency.txt");
const OSU_BW: &str = include_str!("samples/osu-format-bw.txt");
const OSU_BIBW: &str = include_str!("samples/osu-format-bibw.txt");
const OSU_MBW_MR: &str = include_str!("samples/osu-format-mbw-mr.txt");
const OSU_COLLECTIVES: &str = include_str!("samples/osu-format-collectives.txt");
const OSU_5_LATENCY: &str = include_str!("samples/osu-5.3-latency.txt");
const OSU_5_BIBW: &str = include_str!("samples/osu-5.3-bibw.txt");
const OSU_5_MBW_MR: &str = include_str!("samples/osu-5.3-mbw-mr.txt");
const OSU_5_COLLECTIVES: &str = include_str!("samples/osu-5.3-collectives.txt");
const SAMPLES: [&str; 20] = [
    OSU_5_LATENCY,
    OSU_5_BIBW,
    OSU_5_MBW_MR,
    OSU_5_COLLECTIVES,
    NP_MPICH2,
    NP_MPICH2_PRINTED,
    NP_STREAM,
    NP_BOTH,
    NP_TCP,
    NP_TCP_PRINTED,
    NP_5,
    IMB_2,
    IMB_4,
    IMB_P2P,
    IMB_NBC,
    OSU_LATENCY,
    OSU_BW,
    OSU_BIBW,
    OSU_MBW_MR,
    OSU_COLLECTIVES,
];

fn read(text: &str) -> Imported {
    import(text, "theirs", CurveLevel::Library).unwrap()
}

fn curves(text: &str) -> Vec<Curve> {
    read(text).benchmarks.into_iter().map(|benchmark| benchmark.curve).collect()
}

/// Asserts pattern, ranks and points of each curve.
fn assert_curves(text: &str, expected: &[(&str, usize, usize)]) {
    let curves = curves(text);
    let found: Vec<_> = curves.iter().map(|curve| (curve.pattern.as_str(), curve.ranks, curve.points.len())).collect();
    assert_eq!(found, expected);
    let twice = |at: usize| curves[..at].iter().any(|earlier| earlier.is_same_curve(&curves[at]));
    assert!(!(0..curves.len()).any(twice), "a record with these cannot be drawn");
}

fn point_at(text: &str, curve: usize, bytes: u64) -> Point {
    *curves(text)[curve].points.iter().find(|point| point.bytes == bytes).unwrap()
}

fn assert_close(is: f64, due: f64) {
    assert!((is - due).abs() <= 1e-6 * due.abs(), "{is}, not {due}");
}

#[test]
fn netpipe_files() {
    assert_curves(NP_MPICH2, &[("pingpong", 2, 16)]);
    assert_curves(NP_TCP, &[("pingpong", 2, 34)]);
    // The file has 0.09 us; its rate is finer, in megabits of 2^20.
    assert_close(point_at(NP_MPICH2, 0, 1).median_us, 8.0 / (89.169201 * 1.048576));
    assert_close(point_at(NP_TCP, 0, 259).median_us, 259.0 * 8.0 / (72.744088 * 1.048576));
    assert!((point_at(NP_TCP, 0, 259).median_us - 27.16).abs() < 0.006);
    assert_curves(NP_5, &[("pingpong", 2, 3)]);
    assert_eq!((point_at(NP_5, 0, 1).median_us, point_at(NP_5, 0, 1).min_us), (0.09, 0.09));
    assert_close(point_at(NP_5, 0, 64).median_us, 0.2);
    assert_close(point_at(NP_5, 0, 64).min_us, 0.1);
}

#[test]
fn netpipe_as_it_prints() {
    assert_curves(NP_MPICH2_PRINTED, &[("pingpong", 2, 16)]);
    assert_curves(NP_TCP_PRINTED, &[("pingpong", 2, 34)]);
    assert_curves(NP_STREAM, &[("stream", 2, 12)]);
    assert_curves(NP_BOTH, &[("bidirectional", 2, 12)]);
    // Two decimals of 0.31 Mbps are fewer than those of the time.
    assert_eq!((point_at(NP_TCP_PRINTED, 0, 1).median_us, point_at(NP_TCP_PRINTED, 0, 1).count), (24.71, 16432));
    assert_close(point_at(NP_BOTH, 0, 64).median_us, 2.0 * 64.0 * 8.0 / (3194.69 * 1.048576));
    let two = format!("{NP_BOTH}{NP_MPICH2_PRINTED}");
    assert_curves(&two, &[("bidirectional", 2, 12), ("pingpong", 2, 16)]);
    let five = "  1:       1  B     24999 times -->    2.667 Mbps  in    3.000 usecs\n";
    let error = import(five, "a", CurveLevel::Raw).unwrap_err().for_file("f");
    assert!(error.starts_with("f, line 1: ") && error.ends_with("import its file np.out"), "{error}");
}

#[test]
fn osu() {
    assert_curves(OSU_LATENCY, &[("pingpong", 2, 4)]);
    assert_eq!((point_at(OSU_LATENCY, 0, 1024).median_us, point_at(OSU_LATENCY, 0, 1024).min_us), (5.99, 5.99));
    assert_curves(OSU_BW, &[("stream", 2, 3)]);
    assert_close(point_at(OSU_BW, 0, 1024).median_us, 0.5);
    assert_close(point_at(OSU_BW, 0, 4 << 20).mbyte_s(), 20971.52);
    assert_curves(OSU_BIBW, &[("bistream", 2, 2)]);
    assert_close(point_at(OSU_BIBW, 0, 1 << 20).median_us, 100.0);
    assert_curves(OSU_MBW_MR, &[("rate", 8, 2)]);
    assert_close(point_at(OSU_MBW_MR, 0, 1024).median_us, 0.25);
    assert_curves(
        OSU_COLLECTIVES,
        &[("allreduce", 0, 3), ("bcast", 0, 2), ("alltoall", 0, 1), ("barrier", 0, 1), ("ialltoall", 0, 2)],
    );
    let allreduce = point_at(OSU_COLLECTIVES, 0, 4);
    assert_eq!((allreduce.median_us, allreduce.min_us, allreduce.count), (13.13, 10.25, 1000), "the slowest rank's");
    let means: Vec<String> = read(OSU_COLLECTIVES).notes;
    assert_eq!(means.len(), 1);
    assert!(means[0].starts_with("bcast, alltoall, barrier, ialltoall: the mean over the ranks"), "{means:?}");
    assert_eq!(point_at(OSU_COLLECTIVES, 3, 0).median_us, 1.41);
    assert_eq!(point_at(OSU_COLLECTIVES, 4, 4).median_us, 4.93);
    assert_close(point_at(OSU_COLLECTIVES, 4, 4).hidden.unwrap(), 0.1662);
    assert_eq!(read(OSU_BW).tool, "OSU micro-benchmarks v7.5");
}

/// The sample was measured here, on Hawser.
#[test]
fn osu_of_an_earlier_version() {
    assert_curves(OSU_5_LATENCY, &[("pingpong", 2, 24)]);
    assert_eq!(point_at(OSU_5_LATENCY, 0, 1024).median_us, 1.97);
    assert_curves(OSU_5_BIBW, &[("bistream", 2, 23)]);
    assert_close(point_at(OSU_5_BIBW, 0, 1024).mbyte_s(), 12990.47 / 2.0);
    assert_curves(OSU_5_MBW_MR, &[("rate", 2, 23)]);
    assert_close(point_at(OSU_5_MBW_MR, 0, 1024).mbyte_s(), 10031.30);
    assert_curves(OSU_5_COLLECTIVES, &[("allreduce", 0, 19), ("barrier", 0, 1)]);
    assert_eq!(point_at(OSU_5_COLLECTIVES, 0, 1024).median_us, 2.94);
    assert_eq!(point_at(OSU_5_COLLECTIVES, 1, 0).median_us, 2.98);
}

#[test]
fn osu_titles_of_other_memories_and_versions() {
    let text = |title: &str| format!("{title}\n# Size  Latency (us)\n1 2.0\n");
    assert_curves(&text("# OSU MPI-CUDA Allreduce Latency Test v7.0"), &[("allreduce", 0, 1)]);
    assert_curves(&text("# OSU MPI Latency Test (Version 2.0)"), &[("pingpong", 2, 1)]);
    assert_curves(&text("# OSU MPI_Put Latency Test v5.6"), &[("put", 0, 1)]);
    assert_curves(&text("# OSU MPI Multi Latency Test v7.5"), &[("multi-pingpong", 0, 1)]);
    assert_curves(&text("# OSU MPI Reduce_scatter Latency Test v7.5"), &[("reduce_scatter", 0, 1)]);
    assert_curves(&text("# OSU MPI All-to-Allw Personalized Exchange Latency Test v7.5"), &[("alltoallw", 0, 1)]);
    assert_curves(&text("# OSU MPI Non-blocking Broadcast Latency Test v7.5"), &[("ibcast", 0, 1)]);
}

#[test]
fn osu_counts_both_ways_of_one_sided_messages_too() {
    let text = "# OSU MPI_Put Bi-directional Bandwidth Test v7.5\n# Size  Bandwidth (MB/s)\n1000 200.0\n";
    assert_curves(text, &[("put-bi-directional-bandwidth", 0, 1)]);
    assert_eq!(point_at(text, 0, 1000).median_us, 10.0);
}

#[test]
fn imb() {
    assert_curves(
        IMB_2,
        &[
            ("pingpong", 2, 10),
            ("pingping", 2, 10),
            ("bidirectional", 2, 10),
            ("exchange", 2, 10),
            ("stream", 2, 10),
            ("bistream", 2, 10),
            ("allreduce", 2, 10),
            ("barrier", 2, 1),
            ("bcast", 2, 10),
        ],
    );
    assert_eq!((point_at(IMB_2, 0, 1024).median_us, point_at(IMB_2, 0, 1024).count), (0.17, 1000));
    assert_close(point_at(IMB_2, 4, 0).median_us, 1e6 / 9632375.0);
    assert_close(point_at(IMB_2, 5, 4).median_us, 2e6 / 7178165.0);
    let allreduce = point_at(IMB_2, 6, 1024);
    assert_eq!((allreduce.min_us, allreduce.median_us), (0.75, 1.15));
    assert_eq!((point_at(IMB_2, 7, 0).median_us, point_at(IMB_2, 7, 0).count), (0.28, 1000));
    assert_eq!(read(IMB_2).tool, "IMB 2021.11");
    assert!(read(IMB_2).complete && read(IMB_2).notes.is_empty());
}

#[test]
fn imb_of_more_ranks_and_its_other_programs() {
    let mut expected = Vec::new();
    for (two, four) in
        [("bidirectional", "sendrecv"), ("stream", "rate"), ("allreduce", "allreduce"), ("alltoall", "alltoall")]
    {
        expected.extend([(two, 2, 6), (four, 4, 6)]);
    }
    expected.extend([("reduce_scatter_block", 2, 6), ("reduce_scatter_block", 4, 6)]);
    assert_curves(IMB_4, &expected);
    assert_curves(IMB_P2P, &[("pingpong", 2, 7)]);
    assert_eq!(point_at(IMB_P2P, 0, 256).median_us, 0.37);
    assert_curves(IMB_NBC, &[("iallreduce", 2, 6), ("ibarrier", 2, 1)]);
    assert_eq!(point_at(IMB_NBC, 0, 16).median_us, 0.73);
    assert_close(point_at(IMB_NBC, 0, 16).hidden.unwrap(), 0.0178);
}

#[test]
fn rows_without_figures_are_left_out_and_said() {
    let text = "# Benchmarking Bcast\n# #processes = 8\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n\
                0 10 0.00 0.00 0.00\n4 10 1.0 2.0 1.5\n4194304 out-of-mem.; needed X= 1.2 GB\n";
    assert_curves(text, &[("bcast", 8, 1)]);
    assert_eq!(read(text).notes, ["bcast: 2 rows without a usable figure are left out"]);
    let groups = "# Benchmarking Multi-Allreduce\n# ( 2 groups of 3 processes each running simultaneous )\n# Group  0:     0    1    2\n\
                  #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n4 10 1.0 2.0 1.5\n";
    assert_curves(groups, &[("multi-allreduce", 6, 1)]);
}

#[test]
fn imb_says_more_behind_the_ranks() {
    for ranks in ["4 ", "4 (threads: 2)", "4; rank order (rowwise):"] {
        let text = format!(
            "# Benchmarking Bcast\n# #processes = {ranks}\n#bytes #repetitions t[usec]\n4 10 1.0\n8 time-out.; \n"
        );
        assert_curves(&text, &[("bcast", 4, 1)]);
    }
}

#[test]
fn a_size_that_comes_twice_is_refused() {
    let text = "# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n1 2.0\n1 2.5\n";
    let message = import(text, "a", CurveLevel::Raw).unwrap_err().for_file("f");
    assert!(message.starts_with("f, line 4: the size 1 is in this table already; "), "{message}");
}

#[test]
fn names_cannot_move_a_cursor() {
    let text = "# Benchmarking A\u{1b}[31mB C\n# #processes = 2\n#bytes #repetitions t[usec]\n4 10 1.0\n";
    assert_curves(text, &[("a\u{fffd}[31mb-c", 2, 1)]);
}

#[test]
fn np_out_does_not_tell_the_pattern_and_that_is_said() {
    let note = ["pingpong: np.out does not show whether NetPIPE ran with -s or -2; it is imported as a ping-pong"];
    assert_eq!(read(NP_TCP).notes, note);
    assert!(read(NP_TCP_PRINTED).notes.is_empty());
}

#[test]
fn a_row_that_is_cut_off_is_left_out() {
    for sample in SAMPLES {
        let complete = read(sample);
        // The cut is between the first and the last letter of the last row.
        let row =
            sample.trim_end().lines().rfind(|line| text::TextLine { number: 1, text: line.trim() }.is_row()).unwrap();
        let start = sample.rfind(row).unwrap();
        for end in start + 1..=start + row.len() {
            let cut = import(&sample[..end], "theirs", CurveLevel::Library);
            let points = |of: &[Benchmark]| of.iter().map(|benchmark| benchmark.curve.points.len()).sum::<usize>();
            match cut {
                Ok(cut) => {
                    let blank = sample[start..end].trim().is_empty();
                    assert!(
                        points(&cut.benchmarks) + 1 == points(&complete.benchmarks) && cut.complete == blank,
                        "{}",
                        &sample[start..end]
                    );
                }
                Err(error) => assert!(matches!(error, ParseError::Empty(_)), "{error:?}"),
            }
        }
    }
}

#[test]
fn ends_of_lines_from_elsewhere_change_nothing() {
    for sample in SAMPLES {
        let crlf = read(&sample.replace('\n', "\r\n"));
        assert_eq!(crlf, read(sample));
    }
}

#[test]
fn texts_of_nobody_are_refused() {
    for text in
        ["", "\n", "hello\nworld\n", "1 2 3\n4 5 6\n", "size,us\n1,2.0\n", "{\"format\":1}\n", "1 89.169201 0.00000009"]
    {
        assert_eq!(import(text, "a", CurveLevel::Raw), Err(ParseError::Foreign), "{text:?}");
    }
    let message = ParseError::Foreign.for_file("notes.txt");
    assert!(message.starts_with("notes.txt: no output of NetPIPE, OSU or IMB found; "), "{message}");
    let empty = import("# OSU MPI Latency Test v7.5\n", "a", CurveLevel::Raw).unwrap_err().for_file("a.txt");
    assert_eq!(empty, "a.txt: output of OSU micro-benchmarks v7.5 without figures; check whether the run completed");
}

#[test]
fn wrong_numbers_are_refused_with_their_line() {
    let heads = [
        "       1 89.169201   0.00000009\n",
        "# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n",
        "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n",
    ];
    let rows = [
        ["-2 89.1 0.00000009", "-2 3.0", "-2 10 3.0 1.0"],
        ["99999999999999999999 89.1 0.1", "99999999999999999999 1.0", "99999999999999999999 1 1.0 1.0"],
        ["2 nan 0.00000009", "2 nan", "2 10 nan 1.0"],
        ["nan 89.1 0.00000009", "nan 1.0", "nan 10 1.0 1.0"],
        ["2 89.1 inf", "2 inf", "2 10 inf 1.0"],
        ["2 89.1 1e999", "2 1e999", "2 10 1e999 1.0"],
        ["2 89.1 -0.1", "2 -0.1", "2 10 -0.1 1.0"],
        ["2 89.1", "2", "2 10"],
        ["2 x 0.1", "2 x", "2 10 x 1.0"],
    ];
    for row in rows {
        for (head, row) in heads.iter().zip(row) {
            let number = head.lines().count() + 1;
            let error = import(&format!("{head}{row}\n"), "a", CurveLevel::Raw).unwrap_err();
            assert!(matches!(error, ParseError::Line { number: is, .. } if is == number), "{row}: {error:?}");
            assert!(error.for_file("f").starts_with(&format!("f, line {number}: ")), "{}", error.for_file("f"));
        }
    }
}

/// Asserts what holds for every curve, however it was made.
fn check(text: &str) {
    match import(text, "theirs", CurveLevel::Library) {
        Ok(imported) => {
            assert!(!imported.benchmarks.is_empty());
            for Benchmark { curve, .. } in imported.benchmarks {
                assert!(!curve.points.is_empty() && curve.points.is_sorted_by(|one, next| one.bytes < next.bytes));
                assert!(!curve.pattern.contains(|letter: char| letter.is_control() && letter != '\t'));
                let usable = |us: f64| us.is_finite() && us > 0.0;
                assert!(
                    curve.points.iter().all(|point| usable(point.median_us)
                        && usable(point.min_us)
                        && point.min_us <= point.median_us)
                );
            }
        }
        Err(error) => assert!(error.for_file("f").lines().count() == 1),
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    /// Some bytes of a sample are replaced by any others.
    #[test]
    fn no_change_of_a_sample_makes_it_panic(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0159.-+e \n#:naif/\x00\xff".to_vec())), 1..12),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&String::from_utf8_lossy(&bytes));
    }
}
