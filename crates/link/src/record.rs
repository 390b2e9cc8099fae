//! The record in front of the payload of a DATA frame, a fragment of a message. It addresses the fragment by (message,
//! offset), so that it can be retransmitted on any path and put in its place in any order (P22).
//!
//! Used by `connection`; uses `frame`.

use crate::frame::Dropped;
use crate::seq::Seq;

/// The length of a record in front of a fragment, in bytes.
pub const RECORD: usize = 12;

/// The most fragments of one message: with the shortest frames of 576 bytes they still hold a packet of 16 KiB.
pub const FRAGMENTS: usize = 64;

/// The header of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The number of the message among all messages of this sender to this receiver.
    pub message: Seq,
    /// The position of the fragment in the message, and the length of the message, in bytes.
    pub offset: u16,
    pub total: u16,
    /// The channel that gets the message at the receiver (a lane); PM's channel.
    pub channel: u8,
    /// Order-free: the message is delivered regardless of earlier messages, as the receiver knows where it belongs.
    pub placed: bool,
}

impl Record {
    pub fn write(&self, into: &mut [u8]) {
        into[..4].copy_from_slice(&self.message.0.to_le_bytes());
        into[4..6].copy_from_slice(&self.offset.to_le_bytes());
        into[6..8].copy_from_slice(&self.total.to_le_bytes());
        into[8..RECORD].copy_from_slice(&[self.channel, u8::from(self.placed), 0, 0]);
    }

    /// Decodes the record of a payload, and returns it with the fragment behind it, which lies within its message.
    pub fn read(payload: &[u8]) -> Result<(Record, &[u8]), Dropped> {
        let (head, fragment) = payload.split_at_checked(RECORD).ok_or(Dropped::Record)?;
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let message = Seq(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
        let record = Record { message, offset: half(4), total: half(6), channel: head[8], placed: head[9] == 1 };
        let end = usize::from(record.offset) + fragment.len();
        // An empty message has one empty fragment; no other fragment is empty.
        let is_whole = record.offset == 0 && end == usize::from(record.total);
        if head[9] > 1 || head[10..] != [0; 2] || end > usize::from(record.total) || fragment.is_empty() && !is_whole {
            return Err(Dropped::Record);
        }
        Ok((record, fragment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P22
    #[test]
    fn a_fragment_outside_of_its_message_is_dropped() {
        let record = Record { message: Seq(7), offset: 10, total: 14, channel: 3, placed: true };
        let mut payload = [9; RECORD + 4];
        record.write(&mut payload);
        assert_eq!(Record::read(&payload), Ok((record, &[9; 4][..])));
        assert_eq!(Record::read(&payload[..RECORD]), Err(Dropped::Record), "empty");
        assert_eq!(Record::read(&payload[..RECORD - 1]), Err(Dropped::Record), "short");
        let long = [&payload[..], &[0]].concat();
        assert_eq!(Record::read(&long), Err(Dropped::Record), "beyond the end");
        payload[RECORD - 1] = 1;
        assert_eq!(Record::read(&payload), Err(Dropped::Record), "reserved bits");
        let empty = Record { offset: 0, total: 0, ..record };
        empty.write(&mut payload);
        assert_eq!(Record::read(&payload[..RECORD]), Ok((empty, &[][..])));
    }

    proptest! {
        #[test]
        fn any_payload_is_looked_at_without_harm(payload: Vec<u8>) {
            if let Ok((record, fragment)) = Record::read(&payload) {
                prop_assert!(usize::from(record.offset) + fragment.len() <= usize::from(record.total));
            }
        }
    }
}
