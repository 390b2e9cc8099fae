//! The peers that were forgotten: one byte per number, which stands for all incarnations up to one.
//!
//! It holds what was recorded, and never reverts it: a process lives once. Whether a process lives is in the host's log
//! (`job::lives`), which link does not know. Used by `peers`; uses `base::paged`.

use hawser_base::Peer;
use hawser_base::paged::Paged;

/// The peers that have ended. See the module.
#[derive(Clone, Debug)]
pub struct Ended(
    /// The number of incarnations of each number that are over.
    Paged<u8>,
);

const _: () = assert!(Peer::LIVES <= u8::MAX as u32);

impl Ended {
    pub const fn new() -> Ended {
        Ended(Paged::new(0))
    }

    /// Whether the process has ended, or a later one under its number lives or has ended.
    #[inline]
    pub fn has(&self, peer: Peer) -> bool {
        peer.life() < u32::from(self.0[peer])
    }

    /// Records that the process has ended. Returns whether this is new.
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
