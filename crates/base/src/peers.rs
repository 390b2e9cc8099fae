//! An ordered list of processes, which converts ranks to processes and back.
//!
//! Consecutive process numbers, such as those with which a job begins, need no memory for a list. Nothing here knows
//! what a group is used for. Used by `boot`, which determines the members of MPI_COMM_WORLD, by `transport` and by
//! `mpi::group`; uses `ids`.

use crate::ids::Peer;
use std::sync::Arc;

/// An ordered list of processes; rank i is the process at index i. It is cheap to clone.
#[derive(Clone, Debug)]
pub enum Peers {
    /// `len` consecutive process numbers, from `first` on, all of the same incarnation.
    Consecutive {
        first: Peer,
        len: u32,
    },
    List(Arc<[Peer]>),
}

impl Peers {
    /// Makes a list of these processes, in this order. Consecutive process numbers are recognised.
    pub fn from_list(all: Vec<Peer>) -> Peers {
        let first = all.first().copied().unwrap_or(Peer(0));
        let is_run = all.iter().zip(0u32..).all(|(peer, rank)| peer.0.wrapping_sub(first.0) == rank);
        match is_run {
            true => Peers::Consecutive { first, len: all.len() as u32 },
            false => Peers::List(all.into()),
        }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Peers::Consecutive { len, .. } => *len,
            Peers::List(all) => all.len() as u32,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the process of a rank; `None` if there is no such rank.
    #[inline]
    pub fn get(&self, rank: u32) -> Option<Peer> {
        match self {
            Peers::Consecutive { first, len } => (rank < *len).then(|| Peer(first.0 + rank)),
            Peers::List(all) => all.get(rank as usize).copied(),
        }
    }

    /// Returns the rank of a process; `None` if the process is not in the list. If the process numbers are not
    /// consecutive, this searches the whole list.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        match self {
            Peers::Consecutive { first, len } => Some(peer.0.wrapping_sub(first.0)).filter(|rank| rank < len),
            Peers::List(all) => all.iter().position(|&other| other == peer).map(|rank| rank as u32),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Peer> + '_ {
        (0..self.len()).filter_map(|rank| self.get(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_need_no_table_and_all_ranks_come_back() {
        let second = |number| Peer::new(number, 1);
        let runs = [vec![], vec![Peer(0), Peer(1)], vec![Peer(7)], vec![second(4), second(5), second(6)]];
        let lists = [vec![Peer(1), Peer(0)], vec![Peer(5), Peer(3), Peer(9)], vec![Peer(4), second(5)]];
        for (all, is_run) in runs.into_iter().map(|all| (all, true)).chain(lists.map(|all| (all, false))) {
            let peers = Peers::from_list(all.clone());
            assert_eq!(
                (matches!(peers, Peers::Consecutive { .. }), peers.is_empty()),
                (is_run, all.is_empty()),
                "{all:?}"
            );
            assert!(peers.iter().eq(all.iter().copied()));
            assert!(all.iter().zip(0..).all(|(&peer, rank)| peers.rank_of(peer) == Some(rank)));
            assert_eq!(
                (peers.get(all.len() as u32), peers.rank_of(Peer(77)), peers.rank_of(second(0))),
                (None, None, None)
            );
        }
    }
}
