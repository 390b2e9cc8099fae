//! mpiexec's standard input, on its way to the hosts whose ranks read it; it is read no faster than the slowest of
//! these hosts takes it.
//!
//! If mpiexec is in the background of a terminal, the input is not read: reading would stop mpiexec, and with it the
//! job.

use hawser_os::{pipe, tty};
use std::os::fd::BorrowedFd;

/// No more input is read if this many bytes were sent to a host and its readers have not taken them yet.
const IN_FLIGHT_MAX: usize = 64 << 10;

pub struct StdinForwarder<'a> {
    fd: BorrowedFd<'a>,
    ended: bool,
}

impl<'a> StdinForwarder<'a> {
    /// `is_read`: whether any rank reads the input. If none does, mpiexec leaves it to other processes.
    pub fn new(fd: BorrowedFd<'a>, is_read: bool) -> StdinForwarder<'a> {
        StdinForwarder { fd, ended: !is_read }
    }

    pub fn fd(&self) -> BorrowedFd<'a> {
        self.fd
    }

    /// Whether input may be read as soon as there is some; `in_flight_bytes` is the number of bytes that the slowest
    /// host has not taken yet.
    pub fn is_readable(&self, in_flight_bytes: usize) -> bool {
        !self.ended && in_flight_bytes < IN_FLIGHT_MAX && !tty::belongs_to_others(self.fd)
    }

    /// Returns the next piece, empty at the end of the input; None if it must not be read now.
    pub fn read(&mut self, in_flight_bytes: usize) -> Option<Vec<u8>> {
        if !self.is_readable(in_flight_bytes) {
            return None;
        }
        let mut bytes = vec![0; 16 << 10];
        // A closed or broken input counts as ended.
        let len = pipe::read(self.fd, &mut bytes).unwrap_or(0);
        bytes.truncate(len);
        self.ended = len == 0;
        Some(bytes)
    }
}
