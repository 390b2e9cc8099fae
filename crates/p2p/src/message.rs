//! A message that this process sends: its destination and its memory.
//!
//! Used by the user's calls and `outgoing`; uses `buffer`.

use crate::buffer::Buffer;
use hawser_base::{Context, Peer, SharedMem};
use hawser_device::Source;

/// The destination of a message.
#[derive(Clone, Copy)]
pub struct Target {
    pub peer: Peer,
    pub context: Context,
    pub tag: i32,
}

/// A send that has not been handed to the engine yet.
pub struct Outgoing {
    pub to: Target,
    pub body: Body,
    /// Complete only when matched (MPI_Ssend, MPI-5.0 §3.4).
    pub sync: bool,
    /// The request that ends with the send.
    pub request: u32,
}

/// The memory of an operation.
pub enum Body {
    None,
    /// A receive's or a send's memory.
    Buffer(Buffer),
    /// An unexpected message, or a copy that a buffered send keeps.
    Held(Vec<u8>),
}

impl Body {
    /// The length of the message, in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Body::None => 0,
            Body::Buffer(buffer) => buffer.len(),
            Body::Held(bytes) => bytes.len() as u64,
        }
    }

    /// Calls `f` with the bytes `at .. at + len` as a device takes them.
    pub fn source<R>(&self, at: u64, len: usize, f: impl FnOnce(Source<'_>) -> R) -> R {
        match self {
            Body::Buffer(buffer) => buffer.source(at, len, f),
            Body::Held(_) if len == 0 => f(Source::None),
            Body::Held(bytes) => {
                let mut rest = &bytes[at as usize..at as usize + len];
                let mut pack = |piece: SharedMem| {
                    let (front, behind) = rest.split_at(piece.len());
                    piece.write(front);
                    rest = behind;
                };
                f(Source::Pack { len, pack: &mut pack })
            }
            Body::None => unreachable!("an operation without bytes sends some"),
        }
    }
}
