//! The reasons for which a port does not send a frame.
//!
//! Used by the ports, and by their callers.

use std::io;

/// The reason why a frame was not sent. The frame left nothing behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameSendError {
    /// There is no space now: the frame may be sent later.
    Full,
    /// The rail is down or no host has the address, as far as this host can know; the system's error number.
    Unreachable(i32),
    /// The frame is longer than the rail takes now.
    TooLong,
}

impl FrameSendError {
    /// Converts the system's error. linux/errno-base.h, errno.h: ENOBUFS 105, EMSGSIZE 90.
    pub(super) fn from_io(error: &io::Error) -> FrameSendError {
        const ENOBUFS: i32 = 105;
        const EMSGSIZE: i32 = 90;
        match error.raw_os_error() {
            Some(ENOBUFS) => FrameSendError::Full,
            Some(EMSGSIZE) => FrameSendError::TooLong,
            _ if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory) => FrameSendError::Full,
            number => FrameSendError::Unreachable(number.unwrap_or(0)),
        }
    }
}

/// The refusal of an address that is not of this port's kind: EAFNOSUPPORT.
pub(super) const FOREIGN_KIND: FrameSendError = FrameSendError::Unreachable(97);
