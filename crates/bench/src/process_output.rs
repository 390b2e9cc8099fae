//! The output of a process, line by line: of any length, bytes and amount.
//!
//! It keeps no more than is of use, and no caller waits for the process without a limit. Used by `measured_system`
//! and `doctor`; reads a pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// More bytes than any reply has. Longer lines are split into several lines, and are no replies.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The number of lines that may wait to be read: there is one reply to a command.
const QUEUED_LINES_MAX: usize = 16;
/// The number of lines of its errors that are kept.
const TAIL_LINES: usize = 8;
/// The time limit for reading what a process has left in the pipe; one of its children may hold the pipe open.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// The lines as they arrive, read by a thread that ends with them.
pub fn spawn_line_reader(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(QUEUED_LINES_MAX);
    thread::spawn(move || lines(from).all(|line| sender.send(line).is_ok()));
    receiver
}

/// The last lines of a process.
pub struct StderrTail(JoinHandle<VecDeque<String>>);

impl StderrTail {
    pub fn of(errors: impl Read + Send + 'static) -> StderrTail {
        StderrTail(thread::spawn(move || {
            let mut last = VecDeque::new();
            for line in lines(errors).filter(|line| !line.trim().is_empty()) {
                last.truncate(TAIL_LINES - 1);
                last.push_front(line);
            }
            last
        }))
    }

    /// The lines, the latest first. Call it when the process has ended.
    pub fn into_lines(self) -> Vec<String> {
        let begin = Instant::now();
        while !self.0.is_finished() {
            if begin.elapsed() > READ_TIMEOUT {
                return Vec::new();
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.0.join().map(Vec::from).unwrap_or_default()
    }
}

/// The lines; bytes that are no text are replaced.
pub fn lines(from: impl Read) -> impl Iterator<Item = String> {
    let mut from = BufReader::new(from);
    iter::from_fn(move || {
        let mut line = Vec::new();
        let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
        (read > 0).then(|| String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_end_nothing_and_a_line_without_end_is_cut() {
        let text: Vec<String> = lines(&b"caf\xe9\r\n\nlast"[..]).collect();
        assert_eq!(text, ["caf\u{fffd}", "", "last"]);
        let cut: Vec<usize> =
            lines(iter::repeat_n(b'x', 3 << 19).collect::<VecDeque<u8>>()).map(|it| it.len()).collect();
        assert_eq!(cut, [1 << 20, 1 << 19]);
    }

    #[test]
    fn of_many_lines_the_last_are_kept() {
        let all = (0..100).map(|number| format!("{number}\n\n")).collect::<String>();
        let last = StderrTail::of(std::io::Cursor::new(all)).into_lines();
        assert_eq!((last.len(), last[0].as_str(), last[7].as_str()), (TAIL_LINES, "99", "92"));
    }
}
