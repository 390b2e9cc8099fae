//! The greeting at the beginning of a connection: caller, called port, purpose, and number among the caller's
//! connections (P32, P36).
//!
//! A greeting must never be acted on before `read` returned it. Only a rank of this job can write one, and a greeting
//! that was observed on the network opens nothing a second time: its number was accepted (`callers`,
//! `direct::inbound`). Used by the port; uses `link::frame::Key`.

use crate::card::PORTS;
use hawser_base::Peer;
use hawser_link::frame::{Ends, Key};

/// Bytes of a greeting, and of its part that the tag covers.
pub const GREETING: usize = 20;
const TAGGED: usize = GREETING - 8;

/// The identity of a rank of a job, for ports that prove it.
#[derive(Clone)]
pub struct Seal {
    /// The job's secret.
    pub key: Key,
    /// Its process number (`Peer`), and the count of numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
}

/// A port of the job: its rank, and its place in that rank's card (P33).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortOf {
    pub rank: u32,
    pub place: u8,
}

/// The data of a connection behind its greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Carries {
    Frames = 1,
    /// Parts of messages (P37).
    Messages = 2,
}

/// The contents of a greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Greeting {
    pub carries: Carries,
    pub from: PortOf,
    /// The number of the connection: it grows with each one from this caller to this port.
    pub number: u32,
}

impl Greeting {
    /// Returns its bytes, for the port that is called.
    pub fn written(&self, to: PortOf, key: &Key) -> [u8; GREETING] {
        let mut said = [0; GREETING];
        said[..3].copy_from_slice(&[self.carries as u8, self.from.place, to.place]);
        said[4..8].copy_from_slice(&self.from.rank.to_le_bytes());
        said[8..TAGGED].copy_from_slice(&self.number.to_le_bytes());
        let tag = key.tag_of(&said[..TAGGED], Ends { from: self.from.rank, to: to.rank });
        said[TAGGED..].copy_from_slice(&tag.to_le_bytes());
        said
    }

    /// Reads a greeting to the port at `place` of rank `seal.me`. None: no other rank of this job has sent it to that
    /// port.
    pub fn read(said: &[u8; GREETING], seal: &Seal, place: u8) -> Option<Greeting> {
        let word = |at: usize| u32::from_le_bytes([said[at], said[at + 1], said[at + 2], said[at + 3]]);
        let carries = [Carries::Frames, Carries::Messages].into_iter().find(|&carries| carries as u8 == said[0])?;
        let greeting = Greeting { carries, from: PortOf { rank: word(4), place: said[1] }, number: word(8) };
        let right = greeting.written(PortOf { rank: seal.me, place }, &seal.key);
        // Compare all bytes: the time that takes reveals nothing of how many are right.
        let is_right = said.iter().zip(&right).fold(0, |unlike, (a, b)| unlike | a ^ b) == 0;
        let PortOf { rank, place } = greeting.from;
        (is_right && rank != seal.me && Peer(rank).index() < seal.ranks as usize && usize::from(place) < PORTS)
            .then_some(greeting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(me: u32) -> Seal {
        Seal { key: Key::new([7; 16]), me, ranks: 4 }
    }

    const HEARER: PortOf = PortOf { rank: 2, place: 5 };

    fn greeting() -> Greeting {
        Greeting { carries: Carries::Frames, from: PortOf { rank: 1, place: 3 }, number: 0x0a09_0807 }
    }

    /// P32: the layout, byte by byte.
    #[test]
    fn a_greeting_is_written_as_specified_and_comes_back() {
        let said = greeting().written(HEARER, &seal(1).key);
        assert_eq!(said[..TAGGED], [1, 3, 5, 0, 1, 0, 0, 0, 7, 8, 9, 10]);
        assert_eq!(Greeting::read(&said, &seal(2), 5), Some(greeting()));
    }

    /// P32, P36
    #[test]
    fn a_greeting_is_for_one_hearer_and_no_bit_of_it_may_differ() {
        for carries in [Carries::Frames, Carries::Messages] {
            let said = Greeting { carries, ..greeting() }.written(HEARER, &seal(1).key);
            assert_eq!(Greeting::read(&said, &seal(3), 5), None, "meant for another rank");
            assert_eq!(Greeting::read(&said, &seal(2), 4), None, "meant for another port");
            let other = Seal { key: Key::new([8; 16]), ..seal(2) };
            assert_eq!(Greeting::read(&said, &other, 5), None, "of another job");
            for bit in 0..8 * GREETING {
                let mut changed = said;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Greeting::read(&changed, &seal(2), 5), None, "bit {bit}");
            }
        }
    }

    /// P32: even with the secret nobody can claim a rank or a port that the job does not have.
    #[test]
    fn callers_are_no_more_than_the_ports_of_other_ranks() {
        let read = |rank, place| {
            let from = PortOf { rank, place };
            Greeting::read(&Greeting { from, ..greeting() }.written(HEARER, &seal(1).key), &seal(2), 5)
        };
        assert!(read(3, 31).is_some() && read(0, 0).is_some());
        assert!(read(2, 0).is_none() && read(4, 0).is_none() && read(1, 32).is_none());
        let later = |number| Peer::new(number, 1).0;
        assert!(read(later(3), 0).is_some() && read(later(4), 0).is_none(), "in any of its lives");
    }
}
