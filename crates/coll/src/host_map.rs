//! The hosts of a communicator's ranks, and the groups of ranks of a collective on two levels: the ranks of each
//! host, and one rank of each host, its leader (MPICH's "smp" algorithms, MVAPICH's two-level algorithms).
//!
//! On two levels bytes cross the network once for each host instead of once for each rank. Used by `mpi`, which knows
//! the hosts, by `tuning`, `two_level`, `two_level_v` and `inter`, and by the algorithms "two_level" of the
//! collectives; uses `binomial_tree` and `schedule`.

use crate::binomial_tree::BinomialTree;
use crate::call::RankAndSize;
use crate::schedule::{Schedule, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// The hosts of a communicator's ranks. It must be the same on all of them. It is cheap to clone, because
/// continuations of schedules keep a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMap {
    /// For each rank, the index of its host in `members`.
    host_of: Arc<[u32]>,
    /// The ranks of each host, in ascending order. Hosts are in the order of their first ranks.
    members: Arc<[Box<[u32]>]>,
    /// The ranks of each host are consecutive, so that all ranks of a host come before those of the next host.
    in_order: bool,
    /// The largest number of ranks on one host.
    largest: u32,
}

/// Groups ranks by host, from a number for each rank that identifies its host. Returns, for each rank, the index of
/// its host, and the ranks of each host; hosts are in the order of their first ranks.
pub fn ranks_by_host(of_each: impl IntoIterator<Item = u32>) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut places = HashMap::new();
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut host_of = Vec::new();
    for (rank, name) in (0..).zip(of_each) {
        let host = *places.entry(name).or_insert(members.len());
        if host == members.len() {
            members.push(Vec::new());
        }
        members[host].push(rank);
        host_of.push(host as u32);
    }
    (host_of, members)
}

/// Some of a communicator's ranks, among them the calling rank. `place` is the calling rank's number in this group,
/// and the size of the group.
pub(crate) struct Subgroup<'a> {
    pub ranks: &'a [u32],
    pub place: RankAndSize,
}

impl HostMap {
    /// Makes the map from a number for each rank that identifies its host. Returns `None` if two levels make no
    /// sense: all ranks are on one host, or each is on a host of its own.
    pub fn new(of_each: impl IntoIterator<Item = u32>) -> Option<HostMap> {
        let (host_of, members) = ranks_by_host(of_each);
        let is_known = members.len() > 1 && members.len() < host_of.len();
        is_known.then(|| HostMap {
            in_order: host_of.is_sorted(),
            largest: members.iter().map(Vec::len).max().expect("there are hosts") as u32,
            host_of: host_of.into(),
            members: members.into_iter().map(Vec::into_boxed_slice).collect(),
        })
    }

    pub(crate) fn count(&self) -> u32 {
        self.members.len() as u32
    }

    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    pub(crate) fn is_in_order(&self) -> bool {
        self.in_order
    }

    pub(crate) fn host_of(&self, rank: u32) -> u32 {
        self.host_of[rank as usize]
    }

    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.members.iter().map(|ranks| &ranks[..])
    }

    /// Returns the ranks on the host of `rank`, as the group of `rank`.
    pub(crate) fn local(&self, rank: u32) -> Subgroup<'_> {
        let ranks = &self.members[self.host_of(rank) as usize];
        Subgroup { ranks, place: RankAndSize { rank: index_of(rank, ranks), size: ranks.len() as u32 } }
    }

    /// Returns the leader of each host: its first rank, but on the host of `root` the root.
    pub(crate) fn leaders(&self, root: Option<u32>) -> Vec<u32> {
        let mut leaders: Vec<u32> = self.members.iter().map(|ranks| ranks[0]).collect();
        if let Some(root) = root {
            leaders[self.host_of(root) as usize] = root;
        }
        leaders
    }

    pub(crate) fn last_ranks(&self) -> Vec<u32> {
        self.members.iter().map(|ranks| *ranks.last().expect("a host has ranks")).collect()
    }
}

impl<'a> Subgroup<'a> {
    /// Makes the group of `rank`; `None` if `rank` is not one of `ranks`.
    pub fn of(ranks: &'a [u32], rank: u32) -> Option<Subgroup<'a>> {
        let at = ranks.iter().position(|&other| other == rank)?;
        Some(Subgroup { ranks, place: RankAndSize { rank: at as u32, size: ranks.len() as u32 } })
    }

    /// Returns the number of a rank within the group.
    pub fn index(&self, rank: u32) -> u32 {
        index_of(rank, self.ranks)
    }

    /// Returns all ranks of the group except the calling one, each with its number within the group.
    pub fn other_ranks(&self) -> impl Iterator<Item = (u32, u32)> {
        let own = self.place.rank;
        (0..).zip(self.ranks.iter().copied()).filter(move |&(at, _)| at != own)
    }

    /// Broadcasts `spans` within the group by a binomial tree, from the rank that has the number `root` in the group.
    pub fn bcast_spans(&self, root: u32, spans: &[Span], s: &mut Schedule) {
        let tree = BinomialTree::new(self.place, root);
        if let Some(parent) = tree.parent() {
            spans.iter().for_each(|&span| s.recv(self.ranks[parent as usize], span));
            s.end_round();
        }
        for child in tree.children().rev() {
            spans.iter().for_each(|&span| s.send(self.ranks[child.rank as usize], span));
        }
    }

    /// Appends the rounds that `build` writes for the calling rank. In `build`, ranks are numbered within the group.
    pub fn append(&self, s: &mut Schedule, build: impl FnOnce(RankAndSize, &mut Schedule)) {
        s.append_among(|at| self.ranks[at as usize], |span| span, |s| build(self.place, s));
    }
}

/// Tells whether ranks in ascending order are consecutive. Their equal blocks are then one piece of memory.
pub(crate) fn is_run(ranks: &[u32]) -> bool {
    ranks.last().is_some_and(|&last| (last - ranks[0]) as usize + 1 == ranks.len())
}

fn index_of(rank: u32, ranks: &[u32]) -> u32 {
    ranks.iter().position(|&other| other == rank).expect("it is one of these") as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_ranks_and_known_to_be_in_order_or_not() {
        let hosts = HostMap::new([7, 7, 2, 7, 2]).unwrap();
        assert_eq!(hosts.members().collect::<Vec<_>>(), [&[0, 1, 3][..], &[2, 4]]);
        assert_eq!((hosts.count(), hosts.largest(), hosts.is_in_order()), (2, 3, false));
        assert_eq!(
            (hosts.leaders(None), hosts.leaders(Some(4)), hosts.last_ranks()),
            (vec![0, 2], vec![0, 4], vec![3, 4])
        );
        assert!(HostMap::new([9, 9, 1]).unwrap().is_in_order());
        assert_eq!(
            [HostMap::new([]), HostMap::new([3]), HostMap::new([1, 1]), HostMap::new([2, 1, 3])],
            [None, None, None, None]
        );
    }
}
