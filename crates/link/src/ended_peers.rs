//! The peers that have ended and were forgotten. For each process number a byte counts the incarnations that are
//! over.
//!
//! A recorded end is never taken back, because a process lives only once. The host's exit log (`job::exit_log`)
//! decides whether a process lives; link does not know that log, and records the ends that its caller reports. Used
//! by `connections`; uses `base::peer_table`.

use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;

/// The peers that have ended. See the module.
#[derive(Clone, Debug)]
pub struct EndedPeers(
    /// For each process number the number of its incarnations that are over.
    PeerTable<u8>,
);

const _: () = assert!(Peer::INCARNATIONS <= u8::MAX as u32);

impl EndedPeers {
    pub const fn new() -> EndedPeers {
        EndedPeers(PeerTable::new(0))
    }

    /// Whether this process or a later incarnation of its process number was recorded as ended.
    #[inline]
    pub fn contains(&self, peer: Peer) -> bool {
        peer.incarnation() < u32::from(self.0[peer])
    }

    /// Records that the process and all earlier incarnations of its process number have ended. Returns whether this
    /// is new.
    pub fn insert(&mut self, peer: Peer) -> bool {
        let is_news = !self.contains(peer) && peer.incarnation() < Peer::INCARNATIONS;
        if is_news {
            self.0[peer] = peer.incarnation() as u8 + 1;
        }
        is_news
    }
}

impl Default for EndedPeers {
    fn default() -> EndedPeers {
        EndedPeers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_told_from_who_gets_its_number() {
        let (old, mut ended) = (Peer(7), EndedPeers::new());
        let new = old.successor().unwrap();
        assert!(!ended.contains(old) && ended.insert(old) && !ended.insert(old));
        assert!(ended.contains(old) && !ended.contains(new) && !ended.contains(Peer(8)));
        assert!(ended.insert(new) && ended.contains(new) && ended.contains(old));
        let last = Peer::new(8, Peer::INCARNATIONS - 1);
        assert!(
            ended.insert(last) && ended.contains(last) && ended.contains(Peer(8)),
            "those before it have ended too"
        );
        assert!(!ended.insert(Peer::NONE) && !ended.contains(Peer::NONE));
    }
}
