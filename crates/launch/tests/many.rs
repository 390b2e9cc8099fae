//! Tests that the launcher's cost for many ranks on a host does not grow with the square of their number.

mod harness;

use harness::*;
use hawser_os::host;
use hawser_os::limits::{self, Resource};
use std::fs;
use std::process::Command;

/// The number of ranks, and the most walks of /proc for a job of half a second: one to check programs that have not
/// called MPI_Init, some when mpiexec and its agent check that nothing is left.
const RANKS: usize = 48;
const WALKS_MAX: usize = 16;

#[test]
fn proc_is_walked_once_for_all_ranks_that_have_not_called_mpi_init() {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("skipped: strace is not installed");
    }
    let file = std::env::temp_dir().join(format!("hawser-walks-{}", host::pid()));
    let traced = ["-f", "-qq", "-e", "trace=openat", "-e", "signal=none", "-o", file.to_str().unwrap(), MPIEXEC];
    let mut command = Command::new("strace");
    command.args(traced).args(["-n", &RANKS.to_string(), "sleep", "1.2"]).env_remove("HAWSER_BOOT");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    let walks = calls.lines().filter(|call| call.contains("(AT_FDCWD, \"/proc\", ")).count();
    assert!((1..=WALKS_MAX).contains(&walks), "{walks} walks");
    let maps_reads = calls.lines().filter(|call| call.contains("/maps\", ")).count();
    assert!(maps_reads >= RANKS, "each program was checked: {maps_reads} times");
}

#[test]
fn a_thousand_programs_of_no_mpi_come_and_go() {
    // Four descriptors a rank (agent/run.rs).
    if limits::get(Resource::Descriptors).hard < 4100 && host::user() != 0 {
        return eprintln!("skipped: ulimit -Hn is less than 4100");
    }
    let outcome = run("-n 1000 true");
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
}
