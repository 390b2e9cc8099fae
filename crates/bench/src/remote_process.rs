//! The process at the remote end of a network; it takes and sends lines over its standard input and output.
//!
//! It does not know what the lines mean. Used by `net` and the layers with a remote end.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time that the process has to end after the end of its input.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The remote process; see the module. It ends with its standard input, or is killed.
pub struct RemoteProcess {
    process: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// The program that started the process, as text for error messages.
    launched_by: String,
}

impl RemoteProcess {
    /// Starts the process. `command_prefix` is the part of the command in front of the program; it may be empty.
    pub fn start(mut command: Command, command_prefix: &str) -> io::Result<RemoteProcess> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).lines();
        let launched_by =
            if command_prefix.is_empty() { String::new() } else { format!(", started by `{command_prefix}`,") };
        Ok(RemoteProcess { input: process.stdin.take(), process, output, launched_by })
    }

    pub fn send_line(&mut self, line: &dyn Display) -> io::Result<()> {
        writeln!(self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "{line}")
    }

    pub fn receive_line(&mut self) -> io::Result<String> {
        let ended = || Err(io::Error::other(format!("the remote end{} has ended", self.launched_by)));
        self.output.next().unwrap_or_else(ended)
    }
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        self.input = None;
        let since = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if since.elapsed() > EXIT_TIMEOUT {
                let _ = self.process.kill();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
