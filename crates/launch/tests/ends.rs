//! Tests that a job leaves nothing behind, however it ends: no processes, sockets or files.

mod harness;

use harness::*;
use hawser_os::cpus;
use hawser_os::signals::{self, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn one_line(outcome: &Outcome, text: &str) {
    assert!(outcome.err.lines().count() == 1 && outcome.err.contains(text), "{text:?} in {}", outcome.err);
}

#[test]
fn a_rank_killed_by_a_signal_ends_the_job() {
    let outcome = run("-n 4 RANK one 2 signal 11");
    assert_eq!(outcome.code, 139);
    one_line(&outcome, "rank 2 on host ");
    one_line(&outcome, "was killed by signal 11 (Segmentation fault");
    outcome.ended_by_itself();
}

#[test]
fn a_rank_killed_below_a_shell_ends_the_job() {
    let outcome = run_script("-n 3", &format!("{RANK} one 1 signal 9; echo after; exit 5"));
    assert_eq!(outcome.code, 137);
    // The shell may report it, too.
    assert!(
        outcome.err.contains("mpiexec: rank 1 on host ") && outcome.err.contains("was killed by signal 9 (Killed)"),
        "{}",
        outcome.err
    );
    outcome.ended_by_itself();
}

#[test]
fn an_orphaned_rank_is_watched_to_its_end() {
    // The rank's process is not a child of the process that was started for the rank; it is reparented to the agent.
    let outcome = run_script("-n 2", &format!("({RANK} one 1 signal 9 &); sleep 1"));
    assert_eq!(outcome.code, 137);
    one_line(&outcome, "was killed by signal 9 (Killed)");
    let outcome = run_script("-n 2", &format!("({RANK} hello &); sleep 0.5"));
    assert_eq!((outcome.code, outcome.out.lines().count(), outcome.err.as_str()), (0, 2, ""));
    // The process that was started for the rank has long ended when the rank ends.
    let outcome = run_script("-n 2", &format!("({RANK} late &); sleep 0.5"));
    assert_eq!((outcome.code, outcome.out.matches("is done").count(), outcome.err.as_str()), (0, 2, ""));
}

#[test]
fn the_end_of_a_rank_wakes_those_who_sleep() {
    for ranks in [2, 5] {
        let outcome = run(&format!("-n {ranks} RANK widow"));
        assert_eq!((outcome.code, outcome.out.matches("rank 1 has ended").count()), (0, ranks - 1), "{}", outcome.err);
    }
}

#[test]
fn a_rank_that_exits_without_finalize_ends_the_job() {
    for (code, expected) in [(0, 1), (6, 6)] {
        let outcome = run(&format!("-n 3 RANK one 0 exit {code}"));
        assert_eq!(outcome.code, expected);
        one_line(&outcome, &format!("exited with code {code} without calling MPI_Finalize"));
        outcome.ended_by_itself();
    }
}

#[test]
fn ranks_that_all_exit_without_finalize_end_the_job_well_with_a_word() {
    for (line, expected) in
        [("-n 3 RANK leave 0", "all 3 ranks"), ("-n 1 RANK leave 0", "the rank"), ("-n 3 RANK leave 400", "all 3")]
    {
        let outcome = run(line);
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        one_line(&outcome, expected);
        one_line(&outcome, "exited with code 0 without calling MPI_Finalize");
    }
    // The ranks end in different ways.
    let outcome = run("-n 3 RANK leave 0 5");
    assert_eq!((outcome.code, outcome.err.lines().count()), (5, 1), "{}", outcome.err);
    let outcome = run("-n 2 RANK leave 1000000");
    assert_eq!(outcome.code, 1);
    one_line(&outcome, "rank 0 on host ");
}

#[test]
fn an_abort_ends_the_job_with_its_code() {
    let outcome = run("-n 3 RANK one 2 abort 42");
    assert_eq!(outcome.code, 42);
    one_line(&outcome, "rank 2 on host ");
    one_line(&outcome, "aborted the job with code 42: MPI_Abort(MPI_COMM_WORLD) was called");
    outcome.ended_by_itself();
}

#[test]
fn a_code_after_finalize_is_passed_on() {
    let outcome = run("-n 1 RANK finalize-then exit 3");
    assert_eq!(outcome.code, 3);
    one_line(&outcome, "exited with code 3\n");
}

#[test]
fn a_rank_that_leaves_before_init_does_not_leave_others_waiting() {
    let outcome = run_script("-n 3", &format!("[ $HAWSER_RANK = 1 ] && exit 0; exec {RANK} hello"));
    assert_eq!(outcome.code, 1);
    one_line(&outcome, "rank 1 on host ");
    one_line(&outcome, "exited without calling MPI_Init");
    outcome.ended_by_itself();
}

#[test]
fn a_second_program_of_a_rank_is_refused() {
    let outcome = run_script("-n 1", &format!("{RANK} hello; {RANK} hello; exit 0"));
    assert_eq!((outcome.code, outcome.out.lines().count()), (0, 1));
    one_line(&outcome, "has already run from MPI_Init to MPI_Finalize");
    let outcome = run_script("-n 1", &format!("{RANK} compute & sleep 0.3; {RANK} hello; kill $!; exit 0"));
    assert!(outcome.err.contains("rank 0 of this job is process "), "{}", outcome.err);
}

#[test]
fn ranks_that_ignore_the_first_signal_are_killed() {
    let job = script_job("-n 2", "trap '' TERM INT HUP; while :; do sleep 1; done");
    job.wait_until("start", |processes| programs(processes).len() >= 4);
    job.signal(SIGTERM);
    let outcome = job.finish();
    assert_eq!(outcome.code, 128 + SIGTERM);
    outcome.ended_by_itself();
}

#[test]
fn signals_to_mpiexec_end_the_job() {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let job = start("-n 3 RANK compute");
        job.wait_until("start", |processes| processes.len() == 5);
        job.signal(signal);
        let outcome = job.finish();
        assert_eq!(outcome.code, 128 + signal);
        one_line(&outcome, &format!("mpiexec: signal {signal} ("));
    }
}

#[test]
fn a_hangup_that_mpiexec_was_told_to_ignore_is_ignored() {
    let script = format!("trap '' HUP; {MPIEXEC} -n 1 sleep 0.5 & pid=$!; sleep 0.2; kill -HUP $pid; wait $pid");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn user_signals_are_forwarded() {
    for (signal, name) in [(SIGUSR1, "USR1"), (SIGUSR2, "USR2")] {
        let job = script_job("-n 2", &format!("trap 'echo got; exit 0' {name}; while :; do sleep 0.05; done"));
        job.wait_until("start", |processes| programs(processes).len() >= 4);
        std::thread::sleep(Duration::from_millis(200));
        job.signal(signal);
        let outcome = job.finish();
        assert_eq!((outcome.code, outcome.out.matches("got").count()), (0, 2), "{name}: {}", outcome.err);
    }
}

/// Starts a job of ranks that sleep for long enough to start all ranks of a host with many cores.
fn sleepers(ranks: usize) -> Job {
    start(&format!("-n {ranks} sleep {}", 1.5 + 0.05 * ranks as f64))
}

/// The ranks have a core each, and lead sessions of their own; or they share cores, and a session.
#[test]
fn a_job_stops_and_continues() {
    let cores = cpus::available();
    for ranks in [cores, cores + 1] {
        let job = sleepers(ranks);
        let count = |processes: &[i32], state: &str| {
            programs(processes).iter().filter(|&&pid| status(pid, "State") == state).count()
        };
        job.wait_until("start", |processes| count(processes, "S") == ranks);
        job.signal(SIGTSTP);
        job.wait_until("stop", |processes| count(processes, "T") == ranks && status(job.pid(), "State") == "T");
        job.signal(SIGCONT);
        job.wait_until("continuation", |processes| count(processes, "T") == 0);
        assert_eq!(job.finish().code, 0);
    }
}

#[test]
fn each_rank_leads_a_session_if_there_is_a_core_for_each() {
    let cores = cpus::available();
    for ranks in [cores, cores + 1] {
        let job = sleepers(ranks);
        let sleeps = |pid: &i32| command_line(*pid).starts_with("sleep");
        job.wait_until("start", |processes| programs(processes).iter().filter(|pid| sleeps(pid)).count() == ranks);
        let leads = |pid: &i32| status(*pid, "NSsid") == pid.to_string();
        let led = if cpus::has_autogroups() && cpus::nice_value() == 0 && ranks <= cores { ranks } else { 0 };
        job.wait_until("sessions", |processes| programs(processes).iter().filter(|pid| leads(pid)).count() == led);
        assert_eq!(job.finish().code, 0);
    }
}

/// `nice` has an effect within a session alone, and two ranks that share a core yield to each other only there.
#[test]
fn a_nice_job_and_ranks_bound_to_one_core_lead_no_session() {
    let core = cpus::allowed().unwrap()[0];
    let bound = format!("{MPIEXEC} -n 2 -bind-to user:{core},{core}");
    for (command, ranks) in [(format!("nice {MPIEXEC} -n 1"), 1), (bound, 2)] {
        let script = format!("exec {command} sh -c 'echo $$ $(ps -o sid= -p $$)'");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(output.status.success() && lines.len() == ranks, "{text}");
        assert!(lines.iter().all(|words| words.len() == 2 && words[0] != words[1]), "{text}");
    }
}

/// A program that handles SIGTSTP, as a nested mpiexec, gets it before it is stopped.
#[test]
fn a_rank_that_handles_the_stop_is_told_of_it() {
    let ranks = cpus::available().min(2);
    let job = script_job(&format!("-n {ranks}"), "trap 'echo told; exit 0' TSTP; echo; while :; do sleep 0.05; done");
    job.wait_until("start", |processes| programs(processes).len() >= 2 * ranks);
    std::thread::sleep(Duration::from_millis(200));
    job.signal(SIGTSTP);
    // The kernel discards a SIGTSTP that a process has not taken yet when it gets SIGCONT. The programs end once they
    // have taken theirs; one that needs longer than the agent gives it is stopped.
    let has_stopped = |pid: i32| ["T", ""].contains(&status(pid, "State").as_str());
    job.wait_until("stop", |processes| {
        status(job.pid(), "State") == "T" && programs(processes).into_iter().all(has_stopped)
    });
    job.signal(SIGCONT);
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.matches("told").count()), (0, ranks), "{}", outcome.err);
}

#[test]
fn children_that_hide_are_ended_with_the_job() {
    for ending in [SIGTERM, SIGKILL] {
        let job = start("-n 2 RANK daemons");
        job.wait_until("daemons", |processes| {
            processes.iter().filter(|&&pid| command_line(pid).starts_with("sleep 100")).count() == 8
        });
        job.signal(ending);
        job.finish();
    }
}

#[test]
fn children_that_stay_behind_are_ended_in_good_order_too() {
    let outcome = run_script("-n 2", "setsid sleep 1005 & (sleep 1006 &); echo done");
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "done\ndone\n"));
    outcome.ended_by_itself();
}

#[test]
fn an_agent_that_is_killed_is_named_and_nothing_is_left() {
    let job = start("-n 2 RANK daemons");
    job.wait_until("daemons", |processes| {
        processes.iter().filter(|&&pid| command_line(pid).starts_with("sleep 100")).count() == 8
    });
    signals::send(agent_of(&job.processes()).unwrap(), SIGKILL).unwrap();
    let outcome = job.finish();
    assert_eq!(outcome.code, 1);
    one_line(&outcome, "was killed by signal 9 (Killed); the job is ended");
}

/// The rank's process is not a child of the agent, and may have left the process group of the agent's child.
#[test]
fn ranks_that_scripts_started_die_with_mpiexec_and_agent_at_once() {
    let acts = ["ring 1; true", "compute; true"].map(|act| format!("{RANK} {act}"));
    let hidden = ["setsid RANK ring 1; true", "(RANK ring 1 &); sleep 1007", "sleep 1008; true"];
    let scripts = acts.into_iter().chain(hidden.map(|script| script.replace("RANK", RANK)));
    for script in scripts {
        for first in [SIGSTOP, SIGKILL] {
            let job = script_job("-n 2", &script);
            let waits = |pid: &&i32| {
                let line = command_line(**pid);
                line.starts_with("sleep ") || line.starts_with(&format!("{RANK} ")) && is_attached(**pid)
            };
            job.wait_until("start", |processes| processes.iter().filter(waits).count() >= 2);
            let victims = [job.pid(), agent_of(&job.processes()).unwrap()];
            for signal in [first, SIGKILL] {
                victims.iter().for_each(|&pid| drop(signals::send(pid, signal)));
            }
            assert_eq!(job.finish().code, -SIGKILL, "{script}");
        }
    }
}

/// Whether the process has mapped the job's segment.
fn is_attached(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("memfd:hawser"))
}

/// Files that could be ours: shared memory by name, and everything in the jobs' own directory for temporary files.
fn files(temporary: &Path) -> BTreeSet<PathBuf> {
    let of = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = of(Path::new("/dev/shm")).filter(|path| path.to_string_lossy().contains("hawser"));
    named.chain(of(temporary)).collect()
}

#[test]
fn two_hundred_kills_at_random_moments_leave_nothing() {
    let temporary = std::env::temp_dir().join(format!("hawser-kills-{}", hawser_os::host::pid()));
    fs::create_dir_all(&temporary).unwrap();
    let before = files(&temporary);
    let (seed, mut rng) = TestRng::from_env();
    for round in 0..200 {
        let act = ["ring", "daemons", "hello", "compute"][rng.next_below(4) as usize];
        let job = start_words(&["-n", "3", RANK, act, "1"], |command| command.env("TMPDIR", &temporary));
        std::thread::sleep(Duration::from_micros(rng.next_below(60_000)));
        let signal = [SIGKILL, SIGHUP, SIGTERM][rng.next_below(3) as usize];
        let processes = job.processes();
        let victim = match round % 3 {
            0 => job.pid(),
            1 => agent_of(&processes).unwrap_or(job.pid()),
            _ => programs(&processes).get(rng.next_below(3) as usize).copied().unwrap_or(job.pid()),
        };
        let _ = signals::send(victim, signal);
        // A job that was not hit (its rank was still to start, or had left) is ended.
        let limit = Instant::now() + Duration::from_secs(2);
        while job.processes().len() > 1 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = signals::send(job.pid(), SIGTERM);
        job.finish();
    }
    assert_eq!(files(&temporary), before, "seed {seed}");
    fs::remove_dir_all(temporary).unwrap();
}
