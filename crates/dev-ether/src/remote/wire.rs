//! The format of messages about operations on a peer's memory, on a channel of link of their own (P41 of
//! docs/protocol.md).
//!
//! `parse` checks only the form of a message: its kind, its length, and the values that its fields may have. The key,
//! the offset `at` and the operation's number can have any values here; `remote` checks them. Used by `remote`; uses
//! `link::Message`.

use crate::message::{HEADER, read_exact};
use hawser_base::UserMem;
use hawser_device::{PREFIX_MAX, RemoteError, RemoteKey};
use hawser_link::Message;

/// The channel: no lane has this number.
pub const CHANNEL: u8 = 254;

/// Values of `kind` on that channel.
const WRITE: u8 = 1;
const READ: u8 = 2;
const DATA: u8 = 3;
const ENDED: u8 = 4;

/// Bytes of the headers: of DATA and ENDED (all other headers begin with the same fields), of WRITE, and of READ.
const SHORT_HEADER_BYTES: usize = 16;
const KEYED_HEADER_BYTES: usize = SHORT_HEADER_BYTES + RemoteKey::BYTES;
const LONG_HEADER_BYTES: usize = KEYED_HEADER_BYTES + 8;

// A header lies where the CRC covers it in every frame, as that of a packet does (`message`).
const _: () = assert!(LONG_HEADER_BYTES <= HEADER + PREFIX_MAX);

/// One message without the bytes behind its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaMessage {
    /// Write the bytes behind the header to byte `at` of the memory that the key names; reply with ENDED if this is
    /// the operation's last message.
    Write { number: u32, is_last: bool, at: u64, key: RemoteKey },
    /// Send `len` bytes from byte `at` of the memory that the key names.
    Read { number: u32, at: u64, key: RemoteKey, len: u64 },
    /// Requested bytes follow the header: those from byte `at` of the memory on.
    Data { number: u32, at: u64 },
    /// The operation has ended at the owner: it succeeded, or failed for this reason.
    Ended { number: u32, outcome: Result<(), RemoteError> },
}

/// A header as it lies in a message.
pub struct RmaHeader {
    bytes: [u8; LONG_HEADER_BYTES],
    len: usize,
}

impl RmaHeader {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl RmaMessage {
    /// Bytes of WRITE's header, and of DATA's.
    pub const WRITE_HEADER_BYTES: usize = KEYED_HEADER_BYTES;
    pub const DATA_HEADER_BYTES: usize = SHORT_HEADER_BYTES;

    pub fn header(&self) -> RmaHeader {
        let mut header = RmaHeader { bytes: [0; LONG_HEADER_BYTES], len: SHORT_HEADER_BYTES };
        let mut put = |kind: u8, more: u8, number: u32, at: u64| {
            header.bytes[..2].copy_from_slice(&[kind, more]);
            header.bytes[4..8].copy_from_slice(&number.to_le_bytes());
            header.bytes[8..SHORT_HEADER_BYTES].copy_from_slice(&at.to_le_bytes());
        };
        match *self {
            RmaMessage::Write { number, is_last, at, .. } => put(WRITE, u8::from(is_last), number, at),
            RmaMessage::Read { number, at, .. } => put(READ, 0, number, at),
            RmaMessage::Data { number, at } => put(DATA, 0, number, at),
            RmaMessage::Ended { number, outcome } => put(ENDED, code(outcome), number, 0),
        }
        if let RmaMessage::Write { key, .. } | RmaMessage::Read { key, .. } = self {
            header.bytes[SHORT_HEADER_BYTES..KEYED_HEADER_BYTES].copy_from_slice(&key.to_bytes());
            header.len = KEYED_HEADER_BYTES;
        }
        if let RmaMessage::Read { len, .. } = self {
            header.bytes[KEYED_HEADER_BYTES..].copy_from_slice(&len.to_le_bytes());
            header.len = LONG_HEADER_BYTES;
        }
        header
    }

    /// Reads the header of a message, and leaves the bytes behind the header in `message`. None if the header is not
    /// valid.
    pub fn parse(message: &mut Message<'_>) -> Option<RmaMessage> {
        let mut bytes = [0; SHORT_HEADER_BYTES];
        read_exact(message, UserMem::of_slice(&mut bytes))?;
        let (kind, more) = (bytes[0], bytes[1]);
        let number = u32::from_le_bytes(*bytes[4..].first_chunk()?);
        let at = u64::from_le_bytes(*bytes.last_chunk()?);
        let mut key = || {
            let mut bytes = [0; RemoteKey::BYTES];
            read_exact(message, UserMem::of_slice(&mut bytes)).map(|()| RemoteKey::from_bytes(&bytes))
        };
        match kind {
            WRITE if more <= 1 => Some(RmaMessage::Write { number, is_last: more == 1, at, key: key()? }),
            READ if more == 0 => {
                let (key, mut len) = (key()?, [0; 8]);
                read_exact(message, UserMem::of_slice(&mut len))?;
                let read = RmaMessage::Read { number, at, key, len: u64::from_le_bytes(len) };
                message.is_empty().then_some(read)
            }
            DATA if more == 0 => Some(RmaMessage::Data { number, at }),
            ENDED if message.is_empty() => Some(RmaMessage::Ended { number, outcome: outcome(more)? }),
            _ => None,
        }
    }
}

fn code(outcome: Result<(), RemoteError>) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(RemoteError::OutOfBounds) => 2,
        // An owner reports no other error.
        Err(_) => 1,
    }
}

fn outcome(code: u8) -> Option<Result<(), RemoteError>> {
    match code {
        0 => Some(Ok(())),
        1 => Some(Err(RemoteError::InvalidKey)),
        2 => Some(Err(RemoteError::OutOfBounds)),
        _ => None,
    }
}
