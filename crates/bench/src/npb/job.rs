//! Runs one job to its end, or to its time limit, and returns what it printed.
//!
//! No process of the job is left behind, also if it hangs. Used by `series`.

use crate::process_output;
use hawser_os::signals;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The interval between two looks whether the job has ended: too seldom to take its ranks' time.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The time that a job has to end after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for reading what a job has left in its pipes, which a process outside its group may hold open.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of the last lines that an error shows.
const TAIL_LINES: usize = 4;

/// The end of a job.
#[derive(Debug)]
pub struct FinishedJob {
    pub output: String,
    pub errors: String,
    /// The time from the launcher's start to its end, in seconds.
    pub elapsed_s: f64,
}

/// Runs a job. An error says in words why there is no result: it did not start, failed, or took longer than
/// `timeout_s` seconds. None if `stop` was set meanwhile.
pub fn run(mut command: Command, timeout_s: u64, stop: &AtomicBool) -> Result<Option<FinishedJob>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    // The job has a process group of its own: Ctrl-C reaches only the benchmark, which then ends the job.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let output = read_all(child.stdout.take().expect("a pipe"));
    let errors = read_all(child.stderr.take().expect("a pipe"));
    let deadline = begin + Duration::from_secs(timeout_s);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break Some(status);
        }
        if stop.load(Relaxed) || Instant::now() >= deadline {
            end(&mut child);
            break None;
        }
        thread::sleep(POLL_INTERVAL);
    };
    let elapsed_s = begin.elapsed().as_secs_f64();
    // Processes of the job that are left end too: they would hold the pipes open.
    let _ = signals::send(-(child.id() as i32), signals::SIGKILL);
    let [output, errors] = [output, errors].map(|text| text.recv_timeout(READ_TIMEOUT).unwrap_or_default());
    match status {
        Some(status) if status.success() => Ok(Some(FinishedJob { output, errors, elapsed_s })),
        Some(status) => Err(failure(status, &output, &errors)),
        None if stop.load(Relaxed) => Ok(None),
        None => Err(format!("it did not end within {timeout_s} s (--timeout){}", tail(&output, &errors))),
    }
}

/// Returns where all that a process writes arrives, at its end. A thread reads it.
fn read_all(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(process_output::lines(from).map(|line| line + "\n").collect::<String>()));
    receiver
}

/// Ends the job by SIGTERM; if it does not end in time, by SIGKILL.
fn end(child: &mut Child) {
    for signal in [signals::SIGTERM, signals::SIGKILL] {
        // The signal is for the whole group: otherwise a launcher that hangs leaves its ranks.
        let _ = signals::send(-(child.id() as i32), signal);
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < deadline {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn failure(status: ExitStatus, output: &str, errors: &str) -> String {
    format!("it ended with {status}{}", tail(output, errors))
}

/// Returns the last lines of the errors, or of the output if there are no errors, as a text behind a cause.
fn tail(output: &str, errors: &str) -> String {
    let from = if errors.trim().is_empty() { output } else { errors };
    let lines: Vec<&str> = from.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    if last.is_empty() { String::new() } else { format!("; its last output: {}", last.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NOT_STOPPED: AtomicBool = AtomicBool::new(false);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_job_prints_is_returned() {
        let done = run(shell("echo result; echo counters >&2"), 60, &NOT_STOPPED).unwrap().unwrap();
        assert_eq!((done.output.as_str(), done.errors.as_str()), ("result\n", "counters\n"));
        assert!(done.elapsed_s > 0.0);
    }

    #[test]
    fn a_job_without_a_result_says_why() {
        let error = |command, timeout_s| run(command, timeout_s, &NOT_STOPPED).unwrap_err();
        assert_eq!(
            error(shell("echo no network >&2; exit 3"), 60),
            "it ended with exit status: 3; its last output: no network"
        );
        assert!(error(Command::new("/no/such/mpiexec"), 60).starts_with("/no/such/mpiexec cannot be started"));
        let hung = error(shell("echo begun; sleep 1000"), 0);
        assert!(hung.starts_with("it did not end within 0 s (--timeout)"), "{hung}");
    }

    #[test]
    fn a_job_is_ended_when_everything_stops() {
        assert!(run(shell("sleep 1000"), 60, &AtomicBool::new(true)).unwrap().is_none());
    }
}
