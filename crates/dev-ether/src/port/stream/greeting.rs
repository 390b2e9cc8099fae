//! The greeting at the beginning of a connection: caller, called port, purpose, and number among the caller's
//! connections (P32, P36 of docs/protocol.md).
//!
//! A greeting must never be acted on before `decode` returned it. Only a rank of this job can write one, and a
//! greeting that was observed on the network opens nothing a second time, because its number was accepted before
//! (`inbound_table`, `direct::receiver`). Used by the port; uses `link::frame::JobKey`.

use crate::port_list::PORTS_MAX;
use hawser_base::Peer;
use hawser_link::frame::{JobKey, PeerPair};

/// Bytes of a greeting, and of its part that the tag covers.
pub const GREETING_BYTES: usize = 20;
const TAGGED_BYTES: usize = GREETING_BYTES - 8;

/// The identity of a rank of a job, for ports that prove it.
#[derive(Clone)]
pub struct RankCredentials {
    /// The job's secret.
    pub key: JobKey,
    /// The rank's process number (`Peer`), and the number of process numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
}

/// A port of the job: its rank, and its index in that rank's business card (P33).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortId {
    pub rank: u32,
    pub index: u8,
}

/// The data of a connection behind its greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ConnectionKind {
    Frames = 1,
    /// Parts of messages (P37).
    Messages = 2,
}

/// The contents of a greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Greeting {
    pub kind: ConnectionKind,
    pub from: PortId,
    /// The number of the connection, which is higher than the numbers of all earlier connections of this kind: of
    /// frames, of those that the caller's port has opened to any peer (P32); of messages, of those that the caller's
    /// rank has opened to the called rank (P36).
    pub number: u32,
}

impl Greeting {
    /// Returns the greeting's bytes, for the port `to` that is called.
    pub fn encode(&self, to: PortId, key: &JobKey) -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        bytes[..3].copy_from_slice(&[self.kind as u8, self.from.index, to.index]);
        bytes[4..8].copy_from_slice(&self.from.rank.to_le_bytes());
        bytes[8..TAGGED_BYTES].copy_from_slice(&self.number.to_le_bytes());
        let tag = key.tag_of(&bytes[..TAGGED_BYTES], PeerPair { from: self.from.rank, to: to.rank });
        bytes[TAGGED_BYTES..].copy_from_slice(&tag.to_le_bytes());
        bytes
    }

    /// Reads a greeting to the port at `index` of rank `credentials.me`. None if it was not made by another rank of
    /// this job for that port.
    pub fn decode(bytes: &[u8; GREETING_BYTES], credentials: &RankCredentials, index: u8) -> Option<Greeting> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind =
            [ConnectionKind::Frames, ConnectionKind::Messages].into_iter().find(|&kind| kind as u8 == bytes[0])?;
        let greeting = Greeting { kind, from: PortId { rank: word(4), index: bytes[1] }, number: word(8) };
        let expected = greeting.encode(PortId { rank: credentials.me, index }, &credentials.key);
        // Always compare all bytes, so that the time reveals nothing about how many are right.
        let matches = bytes.iter().zip(&expected).fold(0, |difference, (a, b)| difference | a ^ b) == 0;
        let PortId { rank, index } = greeting.from;
        (matches
            && rank != credentials.me
            && Peer(rank).index() < credentials.ranks as usize
            && usize::from(index) < PORTS_MAX)
            .then_some(greeting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_credentials(me: u32) -> RankCredentials {
        RankCredentials { key: JobKey::new([7; 16]), me, ranks: 4 }
    }

    const CALLED_PORT: PortId = PortId { rank: 2, index: 5 };

    fn test_greeting() -> Greeting {
        Greeting { kind: ConnectionKind::Frames, from: PortId { rank: 1, index: 3 }, number: 0x0a09_0807 }
    }

    /// P32: the layout, byte by byte.
    #[test]
    fn a_greeting_is_written_as_specified_and_comes_back() {
        let bytes = test_greeting().encode(CALLED_PORT, &test_credentials(1).key);
        assert_eq!(bytes[..TAGGED_BYTES], [1, 3, 5, 0, 1, 0, 0, 0, 7, 8, 9, 10]);
        assert_eq!(Greeting::decode(&bytes, &test_credentials(2), 5), Some(test_greeting()));
    }

    /// P32, P36
    #[test]
    fn a_greeting_is_for_one_hearer_and_no_bit_of_it_may_differ() {
        for kind in [ConnectionKind::Frames, ConnectionKind::Messages] {
            let bytes = Greeting { kind, ..test_greeting() }.encode(CALLED_PORT, &test_credentials(1).key);
            assert_eq!(Greeting::decode(&bytes, &test_credentials(3), 5), None, "meant for another rank");
            assert_eq!(Greeting::decode(&bytes, &test_credentials(2), 4), None, "meant for another port");
            let other = RankCredentials { key: JobKey::new([8; 16]), ..test_credentials(2) };
            assert_eq!(Greeting::decode(&bytes, &other, 5), None, "of another job");
            for bit in 0..8 * GREETING_BYTES {
                let mut corrupted = bytes;
                corrupted[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Greeting::decode(&corrupted, &test_credentials(2), 5), None, "bit {bit}");
            }
        }
    }

    /// P32: even with the secret nobody can claim a rank or a port that the job does not have.
    #[test]
    fn callers_are_no_more_than_the_ports_of_other_ranks() {
        let read = |rank, index| {
            let from = PortId { rank, index };
            Greeting::decode(
                &Greeting { from, ..test_greeting() }.encode(CALLED_PORT, &test_credentials(1).key),
                &test_credentials(2),
                5,
            )
        };
        assert!(read(3, 31).is_some() && read(0, 0).is_some());
        assert!(read(2, 0).is_none() && read(4, 0).is_none() && read(1, 32).is_none());
        let later = |number| Peer::new(number, 1).0;
        assert!(read(later(3), 0).is_some() && read(later(4), 0).is_none(), "in any of its incarnations");
    }
}
