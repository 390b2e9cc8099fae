//! Runs mpiexec in tests: with a time limit, with a mark in the environment of everything that it starts, and with a
//! check for what it left behind.
#![allow(dead_code)]

use hawser_os::{host, signals};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub const MPIEXEC: &str = env!("CARGO_BIN_EXE_mpiexec");
pub const INFO: &str = env!("CARGO_BIN_EXE_hawser-info");
pub const RANK: &str = env!("CARGO_BIN_EXE_hawser-test-rank");

/// The variable that marks the processes of one job.
const MARK: &str = "HAWSER_TEST_MARK";
/// The time within which the kernel has taken killed processes apart, on the slowest machine.
const LEFT_WITHIN: Duration = Duration::from_secs(10);
/// A job has ended by then, on the slowest machine.
const FINISHED_WITHIN: Duration = Duration::from_secs(20);

pub struct Job {
    pub child: Child,
    mark: String,
    started: Instant,
}

#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub elapsed: Duration,
}

impl Outcome {
    /// Checks that the job's own end has ended it, and not the limit of `Job::finish`.
    #[track_caller]
    pub fn ended_by_itself(&self) {
        assert!(self.elapsed < FINISHED_WITHIN - Duration::from_secs(5), "{:?} {}", self.elapsed, self.err);
    }
}

/// A remote shell that runs the command here, whatever the host is called. It runs `before` first, as a login script
/// would.
pub fn remote_shell(name: &str, before: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("hawser-rsh-{name}-{}", host::pid()));
    fs::write(&file, format!("#!/bin/sh\nhost=$1; shift\n{before}\nexec sh -c \"$*\"\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Starts `mpiexec` with the words of `line`; RANK stands for the test's rank program.
pub fn start(line: &str) -> Job {
    let words: Vec<&str> = line.split_whitespace().map(|word| if word == "RANK" { RANK } else { word }).collect();
    start_words(&words, |command| command)
}

pub fn start_words(words: &[&str], prepare: impl FnOnce(&mut Command) -> &mut Command) -> Job {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", host::pid(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut command = Command::new(MPIEXEC);
    command.args(words).env(MARK, &mark).env_remove("HAWSER_HANG_S").env_remove("HAWSER_BOOT");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: sets dispositions of the child, by system calls that may be made between fork and exec.
    unsafe { command.pre_exec(restore_default_signals) };
    let child = prepare(&mut command).spawn().unwrap();
    Job { child, mark, started: Instant::now() }
}

/// Restores the default action of signals. `nohup make test` and a shell's background leave these ignored, and a
/// process that inherits that keeps it, as mpiexec should.
fn restore_default_signals() -> io::Result<()> {
    [signals::SIGHUP, signals::SIGINT, signals::SIGQUIT].into_iter().for_each(signals::restore_default);
    Ok(())
}

pub fn run(line: &str) -> Outcome {
    start(line).finish()
}

/// Runs `mpiexec OPTIONS sh -c SCRIPT`.
pub fn run_script(options: &str, script: &str) -> Outcome {
    script_job(options, script).finish()
}

pub fn script_job(options: &str, script: &str) -> Job {
    let mut words: Vec<&str> = options.split_whitespace().collect();
    words.extend(["sh", "-c", script]);
    start_words(&words, |command| command)
}

impl Job {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        signals::send(self.pid(), signal).unwrap();
    }

    /// Writes the input and closes it.
    pub fn input(&mut self, bytes: &[u8]) {
        self.child.stdin.take().unwrap().write_all(bytes).unwrap();
    }

    /// The living processes of the job, mpiexec among them.
    pub fn processes(&self) -> Vec<i32> {
        marked(&self.mark)
    }

    /// Waits until `condition` holds for the living processes.
    pub fn wait_until(&self, what: &str, mut condition: impl FnMut(&[i32]) -> bool) {
        let limit = Instant::now() + Duration::from_secs(10);
        while !condition(&self.processes()) {
            assert!(Instant::now() < limit, "{what} never happened");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end, within a limit, and for nothing to be left.
    pub fn finish(mut self) -> Outcome {
        let reader = |stream: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map(|mut stream| stream.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = reader(self.child.stdout.take().map(|s| Box::new(s) as _));
        let err = reader(self.child.stderr.take().map(|s| Box::new(s) as _));
        let limit = Instant::now() + FINISHED_WITHIN;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > limit {
                let left = self.processes();
                self.child.kill().unwrap();
                panic!("mpiexec does not end; processes {left:?}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        let elapsed = self.started.elapsed();
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
        let (out, err) = (out.join().unwrap(), err.join().unwrap());
        self.assert_nothing_left();
        Outcome { code, out, err, elapsed }
    }

    /// Asserts that no process of the job and no socket of its agent is left. The kernel may still be taking killed
    /// processes apart.
    pub fn assert_nothing_left(&self) {
        let limit = Instant::now() + LEFT_WITHIN;
        let job = format!("@hawser-{}-{}-", host::user(), self.pid());
        loop {
            let processes = self.processes();
            let sockets = fs::read_to_string("/proc/net/unix").unwrap();
            let sockets: Vec<&str> = sockets.lines().filter(|line| line.contains(&job)).collect();
            if processes.is_empty() && sockets.is_empty() {
                return;
            }
            assert!(Instant::now() < limit, "left: processes {processes:?}, sockets {sockets:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A small generator with a seed, so that a failing run can be repeated.
pub struct TestRng(u64);

impl TestRng {
    /// Returns a generator with its seed.
    pub fn from_env() -> (u64, TestRng) {
        let seed = std::env::var("HAWSER_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20261121);
        (seed, TestRng(seed))
    }

    pub fn next_below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }
}

/// The living processes with the mark in their environment.
fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&b| b == 0).any(|entry| entry == wanted.as_bytes())
    };
    let mut found: Vec<i32> = pids.filter(marked).collect();
    found.sort();
    found
}

/// The first word after "Name:" in /proc/PID/status, e.g. "State".
pub fn status(pid: i32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default().to_owned()
}

/// The process's command line, words apart.
pub fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// The agent among a job's processes.
pub fn agent_of(processes: &[i32]) -> Option<i32> {
    subcommand_processes(processes, "__agent").first().copied()
}

/// The processes of the mpiexec program that run this subcommand.
pub fn subcommand_processes(processes: &[i32], subcommand: &str) -> Vec<i32> {
    processes.iter().copied().filter(|&pid| command_line(pid).contains(subcommand)).collect()
}

/// The programs (ranks and what they started) among a job's processes.
pub fn programs(processes: &[i32]) -> Vec<i32> {
    processes
        .iter()
        .copied()
        .filter(|&pid| !command_line(pid).starts_with("mpiexec") && !command_line(pid).starts_with(MPIEXEC))
        .collect()
}

/// Replaces numbers that differ from run to run, process ids and times, by N.
pub fn mask(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) =
        rest.find("(pid ").map(|at| at + 5).into_iter().chain(rest.find(", for ").map(|at| at + 6)).min()
    {
        masked.push_str(&rest[..at]);
        masked.push('N');
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    masked + rest
}
