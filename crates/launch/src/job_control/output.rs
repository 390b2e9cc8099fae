//! The ranks' output on its way to mpiexec's own output: in whole lines, with the rank before each if requested.
//!
//! Apart from labels, and from line breaks behind labelled last lines, bytes are neither changed nor added. They are
//! dropped only if an output of mpiexec fails. mpiexec's descriptors may be shared with other programs and stay
//! blocking; when a descriptor is ready, a part that does not block is written to it.

use crate::frames::OutputStream;
use hawser_os::pipe;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

/// The length in bytes above which a line is written in pieces.
const LINE_MAX: usize = 1 << 20;
/// The number of bytes that a pipe takes without blocking when it is ready (PIPE_BUF).
const PIPE_WRITE_BYTES: usize = 4096;

/// A function that returns the label for the beginning of a rank's lines.
pub type LinePrefix<'a> = Box<dyn Fn(u32) -> Vec<u8> + 'a>;

/// Cuts the output of ranks into lines.
pub struct LineSplitter<'a> {
    label: Option<LinePrefix<'a>>,
    partial: BTreeMap<(u32, u8), PartialLine>,
}

#[derive(Default)]
struct PartialLine {
    bytes: Vec<u8>,
    /// The beginning of this line has been written already.
    begun: bool,
}

impl<'a> LineSplitter<'a> {
    pub fn new(label: Option<LinePrefix<'a>>) -> LineSplitter<'a> {
        LineSplitter { label, partial: BTreeMap::new() }
    }

    /// Takes output of `rank`. Appends whole lines to `out`, and keeps the beginning of the next line.
    pub fn push(&mut self, rank: u32, stream: OutputStream, bytes: &[u8], out: &mut Vec<u8>) {
        let partial = self.partial.entry((rank, stream as u8)).or_default();
        let Some(end) = bytes.iter().rposition(|&b| b == b'\n') else {
            partial.bytes.extend(bytes);
            if partial.bytes.len() > LINE_MAX {
                partial.flush(self.label.as_ref(), rank, out);
            }
            return;
        };
        partial.bytes.extend(&bytes[..=end]);
        let lines = std::mem::take(&mut partial.bytes);
        if let Some(label) = &self.label {
            for line in lines.split_inclusive(|&b| b == b'\n') {
                if !std::mem::take(&mut partial.begun) {
                    out.extend(label(rank));
                }
                out.extend(line);
            }
        } else {
            out.extend(lines);
        }
        partial.begun = false;
        partial.bytes.extend(&bytes[end + 1..]);
    }

    /// Appends to `out` the beginning of a line that `rank` has written without its end: it may be a prompt for a
    /// user at a terminal.
    pub fn flush_partial(&mut self, rank: u32, stream: OutputStream, out: &mut Vec<u8>) {
        if let Some(partial) = self.partial.get_mut(&(rank, stream as u8)).filter(|partial| !partial.bytes.is_empty()) {
            partial.flush(self.label.as_ref(), rank, out);
        }
    }

    /// Returns, for each rank whose last line has no end, the rank and what is not written yet of that line.
    pub fn finish(&mut self, stream: OutputStream) -> Vec<(u32, Vec<u8>)> {
        let mut lines = Vec::new();
        for ((rank, stream_number), partial) in &mut self.partial {
            if *stream_number == stream as u8 && (!partial.bytes.is_empty() || partial.begun) {
                let mut line = Vec::new();
                partial.flush(self.label.as_ref(), *rank, &mut line);
                // Labelled lines of several ranks must not run into each other.
                line.extend(self.label.is_some().then_some(b'\n'));
                partial.begun = false;
                lines.push((*rank, line));
            }
        }
        lines
    }
}

impl PartialLine {
    fn flush(&mut self, label: Option<&LinePrefix>, rank: u32, out: &mut Vec<u8>) {
        if let Some(label) = label.filter(|_| !self.begun) {
            out.extend(label(rank));
        }
        out.append(&mut self.bytes);
        self.begun = true;
    }
}

/// One of mpiexec's own two outputs.
pub struct OutputFd<'a> {
    fd: BorrowedFd<'a>,
    pub pending: Vec<u8>,
    written: usize,
    regular: bool,
    /// A write has failed, and not because the reader is gone. Later output is then discarded too.
    pub has_failed: bool,
}

impl<'a> OutputFd<'a> {
    pub fn new(fd: BorrowedFd<'a>) -> OutputFd<'a> {
        OutputFd { fd, pending: Vec::new(), written: 0, regular: pipe::is_regular_file(fd), has_failed: false }
    }

    pub fn fd(&self) -> BorrowedFd<'a> {
        self.fd
    }

    pub fn backlog(&self) -> usize {
        self.pending.len() - self.written
    }

    /// Writes a part of the pending bytes. To be called when the descriptor is ready. If a write fails, the pending
    /// bytes are discarded, and the error is returned: at every such call if the reader is gone (BrokenPipe), only
    /// once for any other error.
    pub fn write_some(&mut self) -> io::Result<()> {
        if self.has_failed {
            self.discard();
            return Ok(());
        }
        let limit = if self.regular { 1 << 20 } else { PIPE_WRITE_BYTES };
        let unwritten = &self.pending[self.written..];
        let piece = &unwritten[..unwritten.len().min(limit)];
        match pipe::write(self.fd, piece) {
            Ok(len) => self.written += len,
            // Another process has made the descriptor nonblocking: the caller waits until it is ready again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                self.discard();
                self.has_failed = error.kind() != io::ErrorKind::BrokenPipe;
                return Err(error);
            }
        }
        if self.written == self.pending.len() {
            self.discard();
        } else if self.written > 1 << 20 {
            self.pending.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    fn discard(&mut self) {
        self.pending.clear();
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::thread;
    use std::time::{Duration, Instant};

    fn text(out: &mut Vec<u8>) -> String {
        String::from_utf8(std::mem::take(out)).unwrap()
    }

    fn labelled() -> LineSplitter<'static> {
        LineSplitter::new(Some(Box::new(|rank| format!("[{rank}] ").into())))
    }

    #[test]
    fn lines_stay_whole_and_streams_apart() {
        let (mut lines, mut out) = (LineSplitter::new(None), Vec::new());
        lines.push(0, OutputStream::Out, b"one ", &mut out);
        lines.push(1, OutputStream::Out, b"two\nthr", &mut out);
        assert_eq!(text(&mut out), "two\n");
        lines.push(0, OutputStream::Out, b"more\n\n", &mut out);
        lines.push(1, OutputStream::Err, b"ee\n", &mut out);
        assert_eq!(text(&mut out), "one more\n\nee\n");
        assert_eq!(lines.finish(OutputStream::Out), [(1, b"thr".to_vec())]);
    }

    #[test]
    fn every_line_is_labelled_once() {
        let (mut lines, mut out) = (labelled(), Vec::new());
        lines.push(3, OutputStream::Out, b"a\n\nb", &mut out);
        assert_eq!(text(&mut out), "[3] a\n[3] \n");
        lines.flush_partial(3, OutputStream::Out, &mut out);
        lines.push(3, OutputStream::Out, b"c\nd", &mut out);
        assert_eq!(text(&mut out), "[3] bc\n");
        lines.push(4, OutputStream::Out, b"e", &mut out);
        assert_eq!(lines.finish(OutputStream::Out), [(3, b"[3] d\n".to_vec()), (4, b"[4] e\n".to_vec())]);
    }

    #[test]
    fn a_very_long_line_is_streamed() {
        let (mut lines, mut out) = (labelled(), Vec::new());
        let half = vec![b'x'; LINE_MAX];
        lines.push(0, OutputStream::Out, &half, &mut out);
        assert!(out.is_empty());
        lines.push(0, OutputStream::Out, &half, &mut out);
        lines.push(0, OutputStream::Out, b"y\n", &mut out);
        assert_eq!(out.len(), "[0] ".len() + 2 * LINE_MAX + 2);
    }

    #[test]
    fn a_sink_writes_everything_in_order() {
        let (reader, writer) = pipe::pipe().unwrap();
        let mut sink = OutputFd::new(writer.as_fd());
        let sent: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
        sink.pending.extend(&sent);
        let mut got = Vec::<u8>::new();
        while sink.backlog() > 0 {
            sink.write_some().unwrap();
            let mut piece = [0; PIPE_WRITE_BYTES];
            let len = pipe::read(reader.as_fd(), &mut piece).unwrap();
            got.extend(&piece[..len]);
        }
        assert!(got == sent);
        drop(reader);
        // A child of another test has a copy of the pipe until it runs its program.
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut write = || {
            sink.pending.extend(b"x");
            sink.write_some()
        };
        while write().is_ok() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(write().is_err() && sink.backlog() == 0);
    }
}
