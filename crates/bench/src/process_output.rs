//! Reads the output of a process line by line, whatever the length of a line, its bytes and the number of lines.
//!
//! Only the lines that are of use are kept, and no caller waits for the process without a limit. Used by
//! `measured_system` and `doctor`; reads a pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The maximum length of a line, which no reply reaches. Longer lines are split into several lines, and are no
/// replies.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The number of lines that may wait to be read: there is one reply to a command.
const QUEUED_LINES_MAX: usize = 16;
/// The number of the process's last error lines that are kept.
const TAIL_LINES: usize = 8;
/// The time limit for reading what a process has left in the pipe; one of its children may hold the pipe open.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the lines as they arrive. A thread reads them, and ends with the output or with the receiver.
pub fn spawn_line_reader(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(QUEUED_LINES_MAX);
    thread::spawn(move || lines(from).all(|line| sender.send(line).is_ok()));
    receiver
}

/// The last error lines of a process, which a thread collects.
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

    /// Returns the lines, the latest first; none if the output does not end within READ_TIMEOUT. Call it when the
    /// process has ended.
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

/// Returns the lines of `from`; bytes that are no text are replaced.
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
