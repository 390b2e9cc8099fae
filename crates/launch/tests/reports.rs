//! Tests of mpiexec's explanations: reports on request, on timeout and by itself, and the output of hawser-info.

mod harness;

use harness::*;
use hawser_os::host;
use hawser_os::signals::{SIGKILL, SIGQUIT};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The three-rank deadlock, with times and process numbers masked.
fn deadlock(headline: &str) -> String {
    let vm = host::name();
    format!(
        "mpiexec: {headline}; state of each rank:\n\
         \x20 rank 0 on {vm} (pid N): MPI_Recv, waiting for rank 1, tag 7, MPI_COMM_WORLD, for N s\n\
         \x20 rank 1 on {vm} (pid N): MPI_Recv, waiting for rank 2, tag 7, MPI_COMM_WORLD, for N s\n\
         \x20 rank 2 on {vm} (pid N): MPI_Recv, waiting for rank 0, tag 7, MPI_COMM_WORLD, for N s\n\
         mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Recv) -> 2 (MPI_Recv) -> 0\n"
    )
}

#[test]
fn a_timeout_reports_and_ends_the_job() {
    let outcome = run("-t 1 -n 3 RANK ring 7");
    assert_eq!((outcome.code, mask(&outcome.err)), (124, deadlock("the time limit (--timeout 1) has expired")));
    outcome.ended_by_itself();
}

#[test]
fn a_deadlock_is_reported_without_being_asked() {
    let job = start_words(&["-t", "4", "-n", "3", RANK, "ring", "7"], |command| command.env("HAWSER_HANG_S", "1"));
    let err = mask(&job.finish().err);
    let expected =
        deadlock("no rank has made progress for 1 s") + &deadlock("the time limit (--timeout 4) has expired");
    // The report appears once, not every second.
    assert_eq!(err, expected);
}

/// The program of one rank does not start, as from a file system that does not respond.
#[test]
fn a_rank_that_does_not_call_mpi_init_is_named_to_who_waits_for_it() {
    let words = ["-t", "4", "-n", "1", RANK, "await", "1", ":", "-n", "1", "sleep", "100"];
    let err = start_words(&words, |command| command.env("HAWSER_HANG_S", "1")).finish().err;
    let first = "mpiexec: all others have waited for 1 s, and rank 1 has not called MPI_Init; state of each rank:\n";
    assert!(err.starts_with(first) && err.contains(": has not called MPI_Init\n"), "{err}");
    assert_eq!(err.matches("state of each rank").count(), 2, "once, and at its end: {err}");
    // Programs without MPI wait for no rank.
    let words = ["-t", "3", "-n", "2", "sleep", "100"];
    let err = start_words(&words, |command| command.env("HAWSER_HANG_S", "1")).finish().err;
    assert_eq!(err.matches("state of each rank").count(), 1, "{err}");
}

#[test]
fn a_job_that_computes_is_not_reported() {
    let job = start_words(&["-t", "3", "-n", "2", RANK, "compute"], |command| command.env("HAWSER_HANG_S", "1"));
    let err = job.finish().err;
    assert_eq!((err.lines().count(), err.matches("computing (not in MPI)").count()), (3, 2), "{err}");
}

#[test]
fn a_signal_asks_for_a_report_and_hawser_info_for_another() {
    let job = start("--stats -n 3 RANK ring 7");
    job.wait_until("the deadlock", |processes| {
        let out = Command::new(INFO).args(["--report", &job.pid().to_string()]).output().unwrap();
        processes.len() == 5 && String::from_utf8_lossy(&out.stdout).contains("cycle")
    });
    let stats = Command::new(INFO).args(["--stats", &job.pid().to_string()]).output().unwrap();
    let stats = String::from_utf8(stats.stdout).unwrap();
    assert!(stats.ends_with("  rank 0: bells rung 3, barriers 1\n  rank 1: bells rung 3, barriers 1\n  rank 2: bells rung 3, barriers 1\n  all ranks: bells rung 9, barriers 3\n"), "{stats}");
    job.signal(SIGQUIT);
    std::thread::sleep(Duration::from_millis(300));
    harness::programs(&job.processes()).first().map(|&rank| hawser_os::signals::send(rank, SIGKILL));
    let outcome = job.finish();
    assert_eq!(outcome.code, 128 + SIGKILL);
    let err = mask(&outcome.err);
    assert!(err.starts_with(&deadlock("report requested by signal 3 (Quit)")), "{err}");
    assert!(err.contains("counters of the ranks:\n  rank 0: bells rung 3, barriers 1\n"), "{err}");
}

#[test]
fn no_job_no_report() {
    let out = Command::new(INFO).args(["--report", "1"]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(String::from_utf8(out.stderr).unwrap(), "hawser-info: no job 1 of yours runs on this host\n");
    let out = Command::new(INFO).output().unwrap();
    assert!(String::from_utf8(out.stdout).unwrap().starts_with("Hawser "));
}

#[test]
fn a_rank_with_another_mpi_is_named() {
    // A library with such a name, mapped by a process that never attaches.
    let directory = std::env::temp_dir().join(format!("hawser-other-mpi-{}", host::pid()));
    std::fs::create_dir_all(&directory).unwrap();
    let library = directory.join("libmpi.so.40");
    let libc = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = libc
        .lines()
        .find_map(|line| line.find('/').map(|at| &line[at..]).filter(|path| path.contains("libc.so")))
        .unwrap();
    std::fs::copy(libc, &library).unwrap();
    let outcome = run_script("-n 2", &format!("LD_PRELOAD={} sleep 100", library.display()));
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(outcome.code, 1);
    let expected = format!("uses another MPI library, {}, and cannot join this job", library.display());
    assert!(outcome.err.contains(&expected) && outcome.err.contains("sleep, uses"), "{}", outcome.err);
}

/// An installation with a library that has the name of ours, and programs that were linked with it and with others.
struct Linked(PathBuf);

impl Linked {
    fn new(name: &str) -> Linked {
        let root = std::env::temp_dir().join(format!("hawser-{name}-{}", host::pid()));
        for part in ["bin", "lib", "other"] {
            std::fs::create_dir_all(root.join(part)).unwrap();
        }
        std::fs::copy(MPIEXEC, root.join("bin/mpiexec")).unwrap();
        std::fs::write(root.join("main.c"), "int x(void); int main(void) { return x(); }\n").unwrap();
        let linked = Linked(root);
        // The other library never returns: a program that runs on it must be found while it runs.
        for (directory, body) in [("lib", "return 0"), ("other", "for (;;) sleep(1)")] {
            std::fs::write(linked.0.join("mpi.c"), format!("#include <unistd.h>\nint x(void) {{ {body}; }}\n"))
                .unwrap();
            linked.cc(&format!("-shared -o {directory}/libmpi.so.12 -Wl,-soname,libmpi.so.12 mpi.c"));
        }
        linked
    }

    fn cc(&self, line: &str) {
        assert!(Command::new("cc").current_dir(&self.0).args(line.split(' ')).status().unwrap().success());
    }

    fn mpiexec(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(self.0.join("bin/mpiexec")).args(words).current_dir(&self.0).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_program_of_another_mpi_is_refused_before_it_runs() {
    let linked = Linked::new("refused");
    linked.cc("-shared -o libmpi.so.40 -Wl,-soname,libmpi.so.40 mpi.c");
    linked.cc("-o theirs main.c libmpi.so.40");
    linked.cc("-o ours main.c lib/libmpi.so.12");
    let (code, err) = linked.mpiexec(&["-n", "2", "./theirs"]);
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("./theirs, uses another MPI library, libmpi.so.40, and cannot join this job"), "{err}");
    // The library is found through LD_LIBRARY_PATH alone.
    assert_eq!(linked.mpiexec(&["-n", "2", "./ours"]), (Some(0), String::new()));
}

#[test]
fn the_remedy_for_a_search_path_in_the_program_helps() {
    let linked = Linked::new("rpath");
    linked.cc("-o theirs main.c other/libmpi.so.12 -Wl,--disable-new-dtags,-rpath,$ORIGIN/other");
    // Behind a shell it is found while it runs.
    for words in [&["./theirs"][..], &["sh", "-c", "./theirs; exit"]] {
        let (code, err) = linked.mpiexec(words);
        assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
        assert!(err.contains("other/libmpi.so.12") && err.contains("/theirs)"), "{err}");
        assert!(err.contains("(patchelf --remove-rpath ") && !err.contains("LD_LIBRARY_PATH"), "{err}");
    }
    match Command::new("patchelf").args(["--remove-rpath", "./theirs"]).current_dir(&linked.0).status() {
        Ok(status) => assert!(status.success()),
        // The tool is not installed; without the path the linker makes the same.
        Err(_) => linked.cc("-o theirs main.c other/libmpi.so.12"),
    }
    assert_eq!(linked.mpiexec(&["-n", "2", "./theirs"]), (Some(0), String::new()));
}
