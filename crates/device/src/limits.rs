//! A device's limits for packets, by which the transfer method of a message is chosen.
//!
//! They are numbers, so that no code depends on a device's name. The limits for remote memory are in `remote`. Used by
//! `device`; uses no other module.

use crate::header::PREFIX_MAX;

/// The limits of a device toward a peer, by which a method is chosen.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimits {
    /// Longest payload (prefix included) of the cheapest kind of packet, in bytes.
    pub short: usize,
    /// Longest payload (prefix included) of one packet, in bytes.
    pub packet: usize,
    /// The rule by which streams are cut.
    pub fragmentation: Fragmentation,
    /// Longest message that is worth sending eagerly, in bytes.
    pub eager: usize,
    /// Shortest exposed buffer that is better read remotely than streamed, in bytes, if there is one.
    pub remote_read_from: Option<usize>,
}

impl DeviceLimits {
    /// Longest payload that is best sent in one packet, in bytes. Both ends copy such a packet in turn, not at the same
    /// time, but a second packet costs more; unless a packet is itself cut into frames.
    pub fn max_single_packet(&self) -> usize {
        match self.fragmentation {
            Fragmentation::Frames(frame) => frame,
            Fragmentation::Pages(_) => self.packet - PREFIX_MAX,
        }
    }
}

/// The rule by which the bytes of a long message are cut into packets.
#[derive(Clone, Copy, Debug)]
pub enum Fragmentation {
    /// Pieces of what a frame carries, in bytes: at most this, and toward a peer the result of
    /// `DevicePort::piece_len`.
    Frames(usize),
    /// Pieces of whole pages, for a stream of `total` bytes about as long as the function returns, in bytes; at most
    /// `DeviceLimits::packet`. Short streams need short pieces (both ends copy at the same time) and long ones long
    /// pieces.
    Pages(fn(total: usize) -> usize),
}

impl Fragmentation {
    /// Returns the best length of a piece of a stream of `total` bytes, in bytes.
    pub fn piece_len(&self, total: usize) -> usize {
        match self {
            Fragmentation::Frames(frame) => *frame,
            Fragmentation::Pages(best) => best(total),
        }
    }
}
