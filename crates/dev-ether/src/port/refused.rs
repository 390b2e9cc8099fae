//! Why a port did not send a frame.
//!
//! Before it: the ports, and who sends by them.

use std::io;

/// Why a frame was not sent. It left nothing behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No room now: it may be tried again later.
    Full,
    /// The rail is down or nobody is there, as far as this host can know; the system's error number.
    Unreachable(i32),
    /// Longer than the rail takes now.
    TooLong,
}

impl Refused {
    /// What the system's refusal means. linux/errno-base.h, errno.h: ENOBUFS 105, EMSGSIZE 90.
    pub(super) fn of(error: &io::Error) -> Refused {
        const ENOBUFS: i32 = 105;
        const EMSGSIZE: i32 = 90;
        match error.raw_os_error() {
            Some(ENOBUFS) => Refused::Full,
            Some(EMSGSIZE) => Refused::TooLong,
            _ if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory) => Refused::Full,
            number => Refused::Unreachable(number.unwrap_or(0)),
        }
    }
}

/// For an address that is not of this port's kind: EAFNOSUPPORT.
pub(super) const FOREIGN_KIND: Refused = Refused::Unreachable(97);
