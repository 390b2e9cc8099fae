//! A device's limits for packets, by which the transfer method of a message is chosen.
//!
//! They are numbers, so that no code depends on a device's name. The limits for remote memory are in `remote`. Used
//! by `device` and `loopback`; uses `header`, for the maximum length of a prefix.

use crate::header::PREFIX_MAX;

/// The limits of a device for packets, by which the transfer method of a message is chosen. They are the same for
/// every peer that the device reaches.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimits {
    /// Longest payload (prefix included) of the cheapest kind of packet, in bytes.
    pub short: usize,
    /// Longest payload (prefix included) of one packet, in bytes.
    pub packet: usize,
    /// The rule by which streams are cut into packets.
    pub fragmentation: Fragmentation,
    /// Longest message that is worth sending eagerly, in bytes.
    pub eager: usize,
    /// Minimum length, in bytes, of what is worth a zero-copy send (`DevicePort::send_zero_copy`); None if the device
    /// has none. Shorter ones are copied, so that their sends may complete before they are received.
    pub zero_copy_from: Option<usize>,
    /// Minimum length, in bytes, of an eager message that is worth `DevicePort::send_stream`; None if the device does
    /// not have it.
    pub stream_from: Option<usize>,
    /// Longest message, in bytes, that `DevicePort::join_stream` joins with others; 0 if the device joins none.
    pub join_max: usize,
    /// Minimum length of a buffer, in bytes, from which a remote read of the exposed buffer is better than a stream;
    /// None if a stream is always better.
    pub remote_read_from: Option<usize>,
    /// Minimum length of a buffer, in bytes, from which that holds for buffers in private memory, too; None if they are
    /// always sent.
    pub private_read_from: Option<usize>,
    /// Minimum length of a buffer in private memory, in bytes, from which either may be better, so that trials decide;
    /// None if nothing is to be tried.
    pub copy_trial_from: Option<usize>,
}

impl DeviceLimits {
    /// Returns the longest payload that is best sent in one packet, in bytes. If the device cuts a packet into
    /// frames, that is the payload of one frame. Otherwise it is that of the longest packet, without space for the
    /// longest prefix: the two ends copy such a packet one after the other and not at the same time, but a second
    /// packet would cost more.
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
    /// A piece is the payload of one frame. The number is the longest payload of a frame on the ports for short
    /// messages, in bytes. For a given peer `DevicePort::piece_len` returns the length, which may be smaller, or
    /// greater (TCP has longer frames).
    Frames(usize),
    /// A function that returns the best length of a piece, in bytes, for a stream of `total` bytes; at most
    /// `DeviceLimits::packet`. Pieces have about this length, in whole pages where possible. Short streams need short
    /// pieces, so that both ends copy at the same time, and long streams need long ones.
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
