//! The fragment header, which precedes the fragment of a message in the payload of a DATA frame. It names the
//! fragment by its message and its offset there, so that the fragment can be retransmitted on any path and fragments
//! may arrive in any order (P22 of docs/protocol.md).
//!
//! Used by `connection`, `reassembly` and `endpoint`; uses `frame` and `seq`.

use crate::frame::DropReason;
use crate::seq::Seq;

/// The length of a fragment header, in bytes.
pub const FRAGMENT_HEADER_BYTES: usize = 12;

/// The maximum number of fragments of one message: even with the shortest frames, in packets of 576 bytes, they hold
/// a packet of 16 KiB.
pub const FRAGMENTS_MAX: usize = 64;

/// The header of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentHeader {
    /// The number of the message among all messages of this sender to this receiver.
    pub message: Seq,
    /// The position of the fragment in the message, in bytes.
    pub offset: u16,
    /// The length of the message, in bytes.
    pub total: u16,
    /// The channel at the receiver to which the message goes: a lane, or a channel for control messages. PM calls it
    /// channel too.
    pub channel: u8,
    /// Whether the message is order-free: it may be delivered before earlier messages, because the receiver knows
    /// where it belongs.
    pub order_free: bool,
}

impl FragmentHeader {
    pub fn write(&self, into: &mut [u8]) {
        into[..4].copy_from_slice(&self.message.0.to_le_bytes());
        into[4..6].copy_from_slice(&self.offset.to_le_bytes());
        into[6..8].copy_from_slice(&self.total.to_le_bytes());
        into[8..FRAGMENT_HEADER_BYTES].copy_from_slice(&[self.channel, u8::from(self.order_free), 0, 0]);
    }

    /// Decodes the fragment header at the front of a payload. Returns it with the fragment behind it, or an error if
    /// the header is malformed, or if the fragment is empty in a longer message or does not lie within its message.
    pub fn read(payload: &[u8]) -> Result<(FragmentHeader, &[u8]), DropReason> {
        let (head, fragment) = payload.split_at_checked(FRAGMENT_HEADER_BYTES).ok_or(DropReason::Fragment)?;
        let u16_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let message = Seq(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
        let header =
            FragmentHeader { message, offset: u16_at(4), total: u16_at(6), channel: head[8], order_free: head[9] == 1 };
        let end = usize::from(header.offset) + fragment.len();
        // An empty message has one empty fragment; no other fragment is empty.
        let is_whole = header.offset == 0 && end == usize::from(header.total);
        if head[9] > 1 || head[10..] != [0; 2] || end > usize::from(header.total) || fragment.is_empty() && !is_whole {
            return Err(DropReason::Fragment);
        }
        Ok((header, fragment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P22
    #[test]
    fn a_fragment_outside_of_its_message_is_dropped() {
        let header = FragmentHeader { message: Seq(7), offset: 10, total: 14, channel: 3, order_free: true };
        let mut payload = [9; FRAGMENT_HEADER_BYTES + 4];
        header.write(&mut payload);
        assert_eq!(FragmentHeader::read(&payload), Ok((header, &[9; 4][..])));
        assert_eq!(FragmentHeader::read(&payload[..FRAGMENT_HEADER_BYTES]), Err(DropReason::Fragment), "empty");
        assert_eq!(FragmentHeader::read(&payload[..FRAGMENT_HEADER_BYTES - 1]), Err(DropReason::Fragment), "short");
        let long = [&payload[..], &[0]].concat();
        assert_eq!(FragmentHeader::read(&long), Err(DropReason::Fragment), "beyond the end");
        payload[FRAGMENT_HEADER_BYTES - 1] = 1;
        assert_eq!(FragmentHeader::read(&payload), Err(DropReason::Fragment), "reserved bits");
        let empty = FragmentHeader { offset: 0, total: 0, ..header };
        empty.write(&mut payload);
        assert_eq!(FragmentHeader::read(&payload[..FRAGMENT_HEADER_BYTES]), Ok((empty, &[][..])));
    }

    proptest! {
        #[test]
        fn any_payload_is_looked_at_without_harm(payload: Vec<u8>) {
            if let Ok((header, fragment)) = FragmentHeader::read(&payload) {
                prop_assert!(usize::from(header.offset) + fragment.len() <= usize::from(header.total));
            }
        }
    }
}
