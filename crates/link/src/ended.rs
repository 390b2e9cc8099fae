//! Peers that were forgotten, a byte for a number: all lives up to one.
//!
//! It knows what it was told, and takes nothing back: a process has one life. Whether a process lives is said by the
//! host's log (`job::lives`), which link does not know. Before it: `peers`; after it: `base::paged`.

use hawser_base::Peer;
use hawser_base::paged::Paged;

/// See the module.
#[derive(Clone, Debug)]
pub struct Ended(
    /// How many lives of each number are over.
    Paged<u8>,
);

const _: () = assert!(Peer::LIVES <= u8::MAX as u32);

impl Ended {
    pub const fn new() -> Ended {
        Ended(Paged::new(0))
    }

    /// Whether the process has ended, or a later one under its number lives or has.
    #[inline]
    pub fn has(&self, peer: Peer) -> bool {
        peer.life() < u32::from(self.0[peer])
    }

    /// The process has ended. Whether this is news.
    pub fn note(&mut self, peer: Peer) -> bool {
        let is_news = !self.has(peer) && peer.life() < Peer::LIVES;
        if is_news {
            self.0[peer] = peer.life() as u8 + 1;
        }
        is_news
    }
}

impl Default for Ended {
    fn default() -> Ended {
        Ended::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_told_from_who_gets_its_number() {
        let (old, mut ended) = (Peer(7), Ended::new());
        let new = old.successor().unwrap();
        assert!(!ended.has(old) && ended.note(old) && !ended.note(old));
        assert!(ended.has(old) && !ended.has(new) && !ended.has(Peer(8)));
        assert!(ended.note(new) && ended.has(new) && ended.has(old));
        let last = Peer::new(8, Peer::LIVES - 1);
        assert!(ended.note(last) && ended.has(last) && ended.has(Peer(8)), "those before it have ended too");
        assert!(!ended.note(Peer::NOBODY) && !ended.has(Peer::NOBODY));
    }
}
