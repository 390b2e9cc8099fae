//! The format of a direct connection, and of the control messages about it that go by link (P36, P37).
//!
//! Used by `outbound` and `inbound`; uses `link::frame::Key`.

use hawser_base::Lane;
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};

/// Bytes of a front, which precedes each part of a message.
pub const FRONT: usize = 40;

/// The channel of link for control messages about direct connections: no lane has this number.
pub const CHANNEL: u8 = 255;

/// Values of `kind` on that channel.
const ASK: u8 = 1;
const CLOSE: u8 = 2;
const AT: u8 = 3;
const CLOSED: u8 = 4;

/// A control message of the sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Asks how many bytes the peer has read.
    Ask { number: u32 },
    /// Asks the peer to read the bytes that have arrived, and no more.
    Close { number: u32 },
}

/// A control message of the receiving end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    At { number: u32, count: u64 },
    Closed { number: u32, count: u64 },
}

/// The contents of a front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Front {
    pub lane: u8,
    pub header: Header,
    pub behind: Option<Seq>,
    pub len: u64,
}

/// Returns the tag of a front at byte `start` of connection `number`.
fn tag(front: &[u8], (number, start): (u32, u64), (key, ends): (&Key, Ends)) -> [u8; 8] {
    let mut words = [0; FRONT + 4];
    words[..FRONT - 8].copy_from_slice(&front[..FRONT - 8]);
    words[FRONT - 8..FRONT].copy_from_slice(&start.to_le_bytes());
    words[FRONT..].copy_from_slice(&number.to_le_bytes());
    key.tag_of(&words, ends).to_le_bytes()
}

pub fn front_of(
    lane: Lane,
    header: Header,
    behind: Option<Seq>,
    len: u64,
    place: (u32, u64),
    seal: (&Key, Ends),
) -> [u8; FRONT] {
    let mut front = [0; FRONT];
    front[..2].copy_from_slice(&[header.kind, lane.0]);
    front[2..4].copy_from_slice(&header.aux.to_le_bytes());
    front[4..8].copy_from_slice(&header.a.to_le_bytes());
    front[8..12].copy_from_slice(&header.b.to_le_bytes());
    front[12..16].copy_from_slice(&behind.map_or(0, |behind| behind.0).to_le_bytes());
    front[16..24].copy_from_slice(&len.to_le_bytes());
    front[24] = u8::from(behind.is_some());
    let tag = tag(&front, place, seal);
    front[32..].copy_from_slice(&tag);
    front
}

/// Reads a front. None: it is not the peer's, or not for this position.
pub fn read_front(front: &[u8; FRONT], place: (u32, u64), seal: (&Key, Ends)) -> Option<Front> {
    let word = |at: usize| u32::from_le_bytes([front[at], front[at + 1], front[at + 2], front[at + 3]]);
    let len = u64::from(word(16)) | u64::from(word(20)) << 32;
    let is_plain = front[24] <= 1 && front[25..32] == [0; 7] && len > 0 && len <= i64::MAX as u64;
    if front[32..] != tag(front, place, seal) || !is_plain {
        return None;
    }
    let header = Header { kind: front[0], aux: u16::from_le_bytes([front[2], front[3]]), a: word(4), b: word(8) };
    Some(Front { lane: front[1], header, behind: (front[24] == 1).then_some(Seq(word(12))), len })
}

/// Makes a control message into a packet of link's: its header, and the count behind it.
pub fn packet_of_word(word: Word) -> (Header, [u8; 8]) {
    let (kind, a) = match word {
        Word::Ask { number } => (ASK, number),
        Word::Close { number } => (CLOSE, number),
    };
    (Header { kind, aux: 0, a, b: 0 }, [0; 8])
}

pub fn packet_of_reply(reply: Reply) -> (Header, [u8; 8]) {
    let (kind, a, count) = match reply {
        Reply::At { number, count } => (AT, number, count),
        Reply::Closed { number, count } => (CLOSED, number, count),
    };
    (Header { kind, aux: 0, a, b: 0 }, count.to_le_bytes())
}

/// The contents of such a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    Word(Word),
    Reply(Reply),
}

/// Reads such a packet. None if it is not one.
pub fn read_packet(header: &Header, count: u64) -> Option<Said> {
    let number = header.a;
    Some(match header.kind {
        ASK => Said::Word(Word::Ask { number }),
        CLOSE => Said::Word(Word::Close { number }),
        AT => Said::Reply(Reply::At { number, count }),
        CLOSED => Said::Reply(Reply::Closed { number, count }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends { from: 1, to: 2 };

    /// P37
    #[test]
    fn a_front_is_read_at_its_place_alone_and_no_bit_of_it_may_differ() {
        let key = Key::new([7; 16]);
        let header = Header { kind: 5, aux: 6, a: 7, b: 8 };
        let said = Front { lane: 3, header, behind: Some(Seq(9)), len: 1 << 40 };
        let front = front_of(Lane(3), header, said.behind, said.len, (4, 1000), (&key, ENDS));
        assert_eq!(read_front(&front, (4, 1000), (&key, ENDS)), Some(said));
        assert_eq!(read_front(&front, (5, 1000), (&key, ENDS)), None, "another connection");
        assert_eq!(read_front(&front, (4, 1001), (&key, ENDS)), None, "another place");
        assert_eq!(read_front(&front, (4, 1000), (&key, Ends { from: 2, to: 1 })), None, "sent back");
        for bit in 0..8 * FRONT {
            let mut changed = front;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_front(&changed, (4, 1000), (&key, ENDS)), None, "bit {bit}");
        }
        let empty = front_of(Lane(3), header, None, 0, (4, 0), (&key, ENDS));
        assert_eq!(read_front(&empty, (4, 0), (&key, ENDS)), None, "no bytes");
    }

    #[test]
    fn words_come_back_as_they_were() {
        let number = 77;
        for word in [Word::Ask { number }, Word::Close { number }] {
            let (header, count) = packet_of_word(word);
            assert_eq!(read_packet(&header, u64::from_le_bytes(count)), Some(Said::Word(word)));
        }
        for reply in [Reply::At { number, count: 1 << 50 }, Reply::Closed { number, count: 5 }] {
            let (header, count) = packet_of_reply(reply);
            assert_eq!(read_packet(&header, u64::from_le_bytes(count)), Some(Said::Reply(reply)));
        }
        assert_eq!(read_packet(&Header { kind: 9, ..Header::default() }, 0), None);
    }
}
