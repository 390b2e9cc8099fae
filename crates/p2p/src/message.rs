//! A message that this process sends: its destination and its memory.
//!
//! Used by the user's calls and `send`; uses `buffer`.

use crate::buffer::Buffer;
use hawser_base::{Context, Peer, SharedMem};
use hawser_device::PayloadSource;

/// The destination of a message.
#[derive(Clone, Copy)]
pub struct Destination {
    pub peer: Peer,
    pub context: Context,
    pub tag: i32,
}

/// A send that has not been handed to the engine yet.
pub struct PendingSend {
    pub to: Destination,
    pub body: MessageMemory,
    /// Whether the send completes only when it is matched (MPI_Ssend, MPI-5.0 §3.4).
    pub sync: bool,
    /// The request that ends with the send.
    pub request: u32,
}

/// The memory of an operation.
pub enum MessageMemory {
    None,
    /// A receive's or a send's memory.
    Buffer(Buffer),
    /// An unexpected message, or a copy of a message that is sent: for a buffered send, or for the rest of an eager
    /// stream that its device refused (`send_stream_at_once`).
    Owned(Vec<u8>),
}

impl MessageMemory {
    /// Returns the length of the message, in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            MessageMemory::None => 0,
            MessageMemory::Buffer(buffer) => buffer.len(),
            MessageMemory::Owned(bytes) => bytes.len() as u64,
        }
    }

    /// Calls `f` with the bytes `at .. at + len` of the message, in the form in which a device takes them.
    pub fn source<R>(&self, at: u64, len: usize, f: impl FnOnce(PayloadSource<'_>) -> R) -> R {
        match self {
            MessageMemory::Buffer(buffer) => buffer.source(at, len, f),
            MessageMemory::Owned(_) if len == 0 => f(PayloadSource::None),
            MessageMemory::Owned(bytes) => {
                let mut rest = &bytes[at as usize..at as usize + len];
                let mut pack = |piece: SharedMem| {
                    let (first, remaining) = rest.split_at(piece.len());
                    piece.write(first);
                    rest = remaining;
                };
                f(PayloadSource::Pack { len, pack: &mut pack })
            }
            MessageMemory::None => unreachable!("an operation without bytes sends some"),
        }
    }
}
