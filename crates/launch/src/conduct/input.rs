//! mpiexec's standard input on its way to the hosts whose ranks read it, no faster than the slowest takes it.
//!
//! In the background of a terminal it is left alone: reading would stop mpiexec, and with it the job.

use hawser_os::{pipe, tty};
use std::os::fd::BorrowedFd;

/// How much may be on its way and not yet taken.
const WINDOW: usize = 64 << 10;

pub struct Input<'a> {
    fd: BorrowedFd<'a>,
    ended: bool,
}

impl<'a> Input<'a> {
    /// What no rank is to read is left to others.
    pub fn new(fd: BorrowedFd<'a>, is_read: bool) -> Input<'a> {
        Input { fd, ended: !is_read }
    }

    pub fn fd(&self) -> BorrowedFd<'a> {
        self.fd
    }

    /// Whether to read once there is something; `on_the_way` is what the slowest host has not taken yet.
    pub fn wants(&self, on_the_way: usize) -> bool {
        !self.ended && on_the_way < WINDOW && !tty::belongs_to_others(self.fd)
    }

    /// The next piece, empty at the end of the input; nothing if it must not be read now.
    pub fn read(&mut self, on_the_way: usize) -> Option<Vec<u8>> {
        if !self.wants(on_the_way) {
            return None;
        }
        let mut bytes = vec![0; 16 << 10];
        // An input that is closed or broken is at its end.
        let len = pipe::read(self.fd, &mut bytes).unwrap_or(0);
        bytes.truncate(len);
        self.ended = len == 0;
        Some(bytes)
    }
}
