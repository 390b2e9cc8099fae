//! The form of a frame in a connection: its length in front of it, within a bound.
//!
//! Used by `outbound` and `inbound`.

/// Longest frame: a packet of 16 KiB and all headers in front of it.
pub(super) const FRAME_MAX_BYTES: usize = (16 << 10) + 256;
/// Bytes of a frame's length and the length's complement, in front of it (P32).
pub(super) const PREFIX_BYTES: usize = 4;
