//! The process at the far end of a network; it takes and sends lines over its standard input and output.
//!
//! It knows nothing of what the lines mean. Used by `net` and the layers with a far end.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time that it is given to end after its input has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// The far process; see the module. It ends with its standard input, or is ended.
pub struct Far {
    process: Child,
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    /// The program that started it, for people.
    by: String,
}

impl Far {
    /// Starts the process. `words` is what precedes the program in the command, if anything does.
    pub fn start(mut command: Command, words: &str) -> io::Result<Far> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answers = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).lines();
        let by = if words.is_empty() { String::new() } else { format!(", started by `{words}`,") };
        Ok(Far { orders: process.stdin.take(), process, answers, by })
    }

    pub fn tell(&mut self, line: &dyn Display) -> io::Result<()> {
        writeln!(self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "{line}")
    }

    pub fn hear(&mut self) -> io::Result<String> {
        let ended = || Err(io::Error::other(format!("the far end{} has ended", self.by)));
        self.answers.next().unwrap_or_else(ended)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.orders = None;
        let since = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if since.elapsed() > ENDS_WITHIN {
                let _ = self.process.kill();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
