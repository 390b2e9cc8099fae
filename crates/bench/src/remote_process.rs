//! The process at the remote end of a network; it takes and sends lines over its standard input and output.
//!
//! It knows nothing of what the lines mean. Used by `net` and the layers with a remote end.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time that it is given to end after its input has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The remote process; see the module. It ends with its standard input, or is ended.
pub struct RemoteProcess {
    process: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// The program that started it, for people.
    launched_by: String,
}

impl RemoteProcess {
    /// Starts the process. `command_prefix` is what precedes the program in the command, if anything does.
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
        let ended = || Err(io::Error::other(format!("the far end{} has ended", self.launched_by)));
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
