//! Reads what a program of the NAS Parallel Benchmarks prints at its end, and the counters that `mpiexec --stats`
//! prints behind it.
//!
//! Used by `series`; reads text alone.

/// The result that a program prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramResult {
    /// The time of its measured part, in seconds, in hundredths.
    pub seconds: f64,
    /// Its rate in millions of operations per second, in hundredths: it tells short runs apart better than the time.
    pub mop_s: f64,
    /// Whether the program found its own result right.
    pub is_verified: bool,
}

/// Returns the result; None if the program has not printed all of it.
pub fn program_result(printed: &str) -> Option<ProgramResult> {
    let value = |key: &str| {
        let of_key = |line: &'_ str| line.trim().strip_prefix(key)?.trim_start().strip_prefix('=').map(str::to_owned);
        printed.lines().rev().find_map(of_key)
    };
    let number = |key| value(key)?.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    Some(ProgramResult {
        seconds: number("Time in seconds")?,
        mop_s: number("Mop/s total")?,
        is_verified: value("Verification")?.trim() == "SUCCESSFUL",
    })
}

/// Returns the counters of all ranks, or those of a job's only rank, in the order in which they were printed; empty if
/// there are none.
pub fn counters(printed: &str) -> Vec<(String, u64)> {
    let line_of = |who: &str| printed.lines().find_map(|line| line.trim_start().strip_prefix(who));
    let line = line_of("all ranks: ").or_else(|| line_of("rank 0: ")).unwrap_or_default();
    let counter = |item: &str| {
        let (name, value) = item.trim().rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    line.split(", ").filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORTRAN: &str = "\
 VERIFICATION SUCCESSFUL
 L2 Norm is  0.2850365172770E-10

 MG Benchmark Completed.
 Class           =                        W
 Time in seconds =                     0.12
 Total processes =                        4
 Mop/s total     =                  4028.81
 Mop/s/process   =                  1007.20
 Verification    =               SUCCESSFUL
";

    #[test]
    fn a_result_is_read_as_c_and_fortran_print_it() {
        let result = ProgramResult { seconds: 0.12, mop_s: 4028.81, is_verified: true };
        assert_eq!(program_result(FORTRAN), Some(result));
        let wrong = FORTRAN.replace("= =", "=").replace("               SUCCESSFUL", "             UNSUCCESSFUL");
        assert_eq!(program_result(&wrong).map(|result| result.is_verified), Some(false));
        for missing in ["Time in", "Mop/s total", "Verification "] {
            assert_eq!(program_result(&FORTRAN.replace(missing, "another")), None, "{missing}");
        }
        assert_eq!(program_result(&FORTRAN.replace("4028.81", "*******")), None);
        assert_eq!(program_result(""), None);
    }

    #[test]
    fn counters_are_those_of_all_ranks_or_of_the_only_one() {
        let several = "counters of job 7\n  rank 0: bytes sent 1\n    of the bytes sent: 100.00 % x\n  rank 1: nothing \
                       counted\n  all ranks: bytes sent 12, messages of 1 to 8 KiB 3\n    of the bytes sent: y\n";
        assert_eq!(counters(several), [("bytes sent".into(), 12), ("messages of 1 to 8 KiB".into(), 3)]);
        assert_eq!(counters("  rank 0: bytes sent 1\n"), [("bytes sent".into(), 1)]);
        for none in ["", "  rank 0: nothing counted", "rank 0: the program printed this"] {
            assert_eq!(counters(none), [], "{none}");
        }
    }
}
