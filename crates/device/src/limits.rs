//! A device's figures for packets: what the choice of how a message goes is made of.
//!
//! They are numbers, so that nobody asks a device for its name. What it can do with remote memory stands in `remote`.
//! Before it: `device`; after it: nothing.

use crate::header::PREFIX_MAX;

/// Figures of a device toward a peer: what the choice of a method is made of.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest payload (prefix included) of the cheapest kind of packet, in bytes.
    pub short: usize,
    /// Longest payload (prefix included) of one packet, in bytes.
    pub packet: usize,
    /// How streams are cut.
    pub pieces: Pieces,
    /// Longest message worth pushing without asking, in bytes.
    pub eager: usize,
    /// Shortest exposed buffer that is better read remotely than streamed, in bytes, if any is.
    pub read_from: Option<usize>,
}

impl Limits {
    /// Longest payload that is best sent in one packet, in bytes: both ends copy such a one in turn, not at once, but a
    /// second packet costs more; unless a packet is itself cut into frames.
    pub fn longest(&self) -> usize {
        match self.pieces {
            Pieces::Frames(frame) => frame,
            Pieces::Pages(_) => self.packet - PREFIX_MAX,
        }
    }
}

/// How the bytes of a long message are cut into packets.
#[derive(Clone, Copy, Debug)]
pub enum Pieces {
    /// Of what a frame carries, in bytes: at most so much, and on the way to a peer what `Port::piece` says.
    Frames(usize),
    /// Of whole pages, about as long as this says, in bytes, for a stream of `total`; at most `Limits::packet`. Short
    /// streams want short pieces (both ends copy at once) and long ones long pieces.
    Pages(fn(total: usize) -> usize),
}

impl Pieces {
    /// The best length of a piece of a stream of `total` bytes, in bytes.
    pub fn best(&self, total: usize) -> usize {
        match self {
            Pieces::Frames(frame) => *frame,
            Pieces::Pages(best) => best(total),
        }
    }
}
