//! The format of messages about operations on memory, on a channel of link of their own (P41).
//!
//! A message that is read here is trusted for its shape alone. Used by `remote`; uses `link::Message`.

use crate::message::{HEADER, take};
use hawser_base::UserMem;
use hawser_device::{Fault, PREFIX_MAX, RemoteKey};
use hawser_link::Message;

/// The channel: no lane has this number.
pub const CHANNEL: u8 = 254;

/// Values of `kind` on that channel.
const WRITE: u8 = 1;
const READ: u8 = 2;
const DATA: u8 = 3;
const ENDED: u8 = 4;

/// Bytes of the fronts: of DATA and ENDED, which is also the common front of all; of WRITE; of READ.
const SHORT_FRONT: usize = 16;
const KEYED_FRONT: usize = SHORT_FRONT + RemoteKey::BYTES;
const LONG_FRONT: usize = KEYED_FRONT + 8;

// A front lies where the CRC covers it in every frame, as that of a packet does (`message`).
const _: () = assert!(LONG_FRONT <= HEADER + PREFIX_MAX);

/// One message without the bytes behind its front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Write the bytes behind the front to byte `at` of what the key names; reply with ENDED if this is the operation's
    /// last.
    Write { number: u32, is_last: bool, at: u64, key: RemoteKey },
    /// Send `len` bytes from byte `at` of what the key names.
    Read { number: u32, at: u64, key: RemoteKey, len: u64 },
    /// Requested bytes: those from byte `at` on follow the front.
    Data { number: u32, at: u64 },
    /// The operation has ended at the owner: it succeeded, or failed for this reason.
    Ended { number: u32, outcome: Result<(), Fault> },
}

/// A front as it lies in a message.
pub struct Front {
    bytes: [u8; LONG_FRONT],
    len: usize,
}

impl Front {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Word {
    /// Bytes of WRITE's front, and of DATA's.
    pub const WRITE_FRONT: usize = KEYED_FRONT;
    pub const DATA_FRONT: usize = SHORT_FRONT;

    pub fn front(&self) -> Front {
        let mut front = Front { bytes: [0; LONG_FRONT], len: SHORT_FRONT };
        let mut put = |kind: u8, more: u8, number: u32, at: u64| {
            front.bytes[..2].copy_from_slice(&[kind, more]);
            front.bytes[4..8].copy_from_slice(&number.to_le_bytes());
            front.bytes[8..SHORT_FRONT].copy_from_slice(&at.to_le_bytes());
        };
        match *self {
            Word::Write { number, is_last, at, .. } => put(WRITE, u8::from(is_last), number, at),
            Word::Read { number, at, .. } => put(READ, 0, number, at),
            Word::Data { number, at } => put(DATA, 0, number, at),
            Word::Ended { number, outcome } => put(ENDED, code(outcome), number, 0),
        }
        if let Word::Write { key, .. } | Word::Read { key, .. } = self {
            front.bytes[SHORT_FRONT..KEYED_FRONT].copy_from_slice(&key.to_bytes());
            front.len = KEYED_FRONT;
        }
        if let Word::Read { len, .. } = self {
            front.bytes[KEYED_FRONT..].copy_from_slice(&len.to_le_bytes());
            front.len = LONG_FRONT;
        }
        front
    }

    /// Reads the front of a message, which keeps the bytes behind it. None if it is no such message.
    pub fn read(message: &mut Message<'_>) -> Option<Word> {
        let mut front = [0; SHORT_FRONT];
        take(message, UserMem::of_slice(&mut front))?;
        let (kind, more) = (front[0], front[1]);
        let number = u32::from_le_bytes(*front[4..].first_chunk()?);
        let at = u64::from_le_bytes(*front.last_chunk()?);
        let mut key = || {
            let mut bytes = [0; RemoteKey::BYTES];
            take(message, UserMem::of_slice(&mut bytes)).map(|()| RemoteKey::from_bytes(&bytes))
        };
        match kind {
            WRITE if more <= 1 => Some(Word::Write { number, is_last: more == 1, at, key: key()? }),
            READ if more == 0 => {
                let (key, mut len) = (key()?, [0; 8]);
                take(message, UserMem::of_slice(&mut len))?;
                let word = Word::Read { number, at, key, len: u64::from_le_bytes(len) };
                message.is_empty().then_some(word)
            }
            DATA if more == 0 => Some(Word::Data { number, at }),
            ENDED if message.is_empty() => Some(Word::Ended { number, outcome: outcome(more)? }),
            _ => None,
        }
    }
}

fn code(outcome: Result<(), Fault>) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(Fault::Range) => 2,
        // An owner reports no other fault.
        Err(_) => 1,
    }
}

fn outcome(code: u8) -> Option<Result<(), Fault>> {
    match code {
        0 => Some(Ok(())),
        1 => Some(Err(Fault::Stale)),
        2 => Some(Err(Fault::Range)),
        _ => None,
    }
}
