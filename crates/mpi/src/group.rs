//! Groups: ordered sets of processes (MPI-5.0 §7.3).
//!
//! Nothing here communicates. Used by `abi::group`, `comm`, `process`, `session`, `collective` and the modules that
//! make communicators.

use hawser_base::value::{IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};
use hawser_base::{Class, Error, Handle, Peer, Peers, Result};
use std::collections::HashMap;
use std::sync::OnceLock;

/// A group of processes. Immutable.
#[derive(Debug)]
pub struct Group {
    members: Peers,
    /// The rank of this process; None if it is no member.
    rank: Option<u32>,
    /// The session from which the group is derived; null if it is derived from the World Model.
    session: Handle,
    /// The ranks of processes, computed at the first use.
    ranks: OnceLock<HashMap<Peer, u32>>,
}

impl Group {
    /// Makes a group of `members`, in this order; none may occur twice. `me` is this process.
    pub fn new(members: Peers, me: Peer) -> Group {
        Group { rank: members.rank_of(me), members, session: Handle::NULL, ranks: OnceLock::new() }
    }

    /// Makes a group of a list of processes, as `new` does.
    pub fn of(members: Vec<Peer>, me: Peer) -> Group {
        Group::new(Peers::from_list(members), me)
    }

    /// Returns the group as one that is derived from `session`.
    pub fn in_session(self, session: Handle) -> Group {
        Group { session, ..self }
    }

    pub fn session(&self) -> Handle {
        self.session
    }

    #[inline]
    pub fn size(&self) -> u32 {
        self.members.len()
    }

    /// The rank of this process, if it is a member.
    #[inline]
    pub fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// The process of a rank; None if there is no such rank.
    #[inline]
    pub fn peer(&self, rank: u32) -> Option<Peer> {
        self.members.get(rank)
    }

    /// The rank of a process; None if it is no member.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        match &self.members {
            Peers::List(members) if members.len() > 8 => self.ranks().get(&peer).copied(),
            members => members.rank_of(peer),
        }
    }

    fn ranks(&self) -> &HashMap<Peer, u32> {
        self.ranks.get_or_init(|| self.peers().enumerate().map(|(rank, peer)| (peer, rank as u32)).collect())
    }

    /// All members, in order.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + '_ {
        self.members.iter()
    }

    /// MPI_Group_compare.
    pub fn compare(&self, other: &Group) -> i32 {
        if self.size() != other.size() {
            UNEQUAL
        } else if self.peers().eq(other.peers()) {
            IDENT
        } else if self.peers().all(|peer| other.rank_of(peer).is_some()) {
            SIMILAR
        } else {
            UNEQUAL
        }
    }

    /// MPI_Group_translate_ranks for one rank: MPI_UNDEFINED if the process is no member of `to`, MPI_PROC_NULL for
    /// MPI_PROC_NULL, MPI_ERR_RANK if this group has no such rank.
    pub fn translate(&self, rank: i32, to: &Group) -> Result<i32> {
        if rank == PROC_NULL {
            return Ok(PROC_NULL);
        }
        let peer = self.peer(rank as u32).filter(|_| rank >= 0).ok_or_else(|| self.bad_rank(rank))?;
        Ok(to.rank_of(peer).map_or(UNDEFINED, |rank| rank as i32))
    }

    fn bad_rank(&self, rank: i32) -> Error {
        Error::new(Class::Rank, format!("rank {rank} is not in the group of {} processes", self.size()))
    }

    fn select(&self, keep: impl Fn(u32, Peer) -> bool, me: Peer) -> Group {
        let members = self.peers().enumerate().filter(|&(rank, peer)| keep(rank as u32, peer));
        Group::of(members.map(|(_, peer)| peer).collect(), me).in_session(self.session)
    }

    /// MPI_Group_union: this group's members, then the other's that are not among them.
    pub fn union(&self, other: &Group, me: Peer) -> Group {
        let rest = other.peers().filter(|&peer| self.rank_of(peer).is_none());
        Group::of(self.peers().chain(rest).collect(), me).in_session(self.session)
    }

    /// MPI_Group_intersection.
    pub fn intersection(&self, other: &Group, me: Peer) -> Group {
        self.select(|_, peer| other.rank_of(peer).is_some(), me)
    }

    /// MPI_Group_difference.
    pub fn difference(&self, other: &Group, me: Peer) -> Group {
        self.select(|_, peer| other.rank_of(peer).is_none(), me)
    }

    /// Checks that `ranks` are ranks of the group, and that none occurs twice (MPI_ERR_RANK).
    fn check_ranks(&self, ranks: &[i32]) -> Result<()> {
        let mut seen = vec![false; self.size() as usize];
        for &rank in ranks {
            let slot = seen.get_mut(rank as usize).filter(|_| rank >= 0).ok_or_else(|| self.bad_rank(rank))?;
            if std::mem::replace(slot, true) {
                return Err(Error::new(Class::Rank, format!("rank {rank} is named twice")));
            }
        }
        Ok(())
    }

    /// MPI_Group_incl.
    pub fn include(&self, ranks: &[i32], me: Peer) -> Result<Group> {
        self.check_ranks(ranks)?;
        let members = ranks.iter().filter_map(|&rank| self.peer(rank as u32)).collect();
        Ok(Group::of(members, me).in_session(self.session))
    }

    /// MPI_Group_excl.
    pub fn exclude(&self, ranks: &[i32], me: Peer) -> Result<Group> {
        self.check_ranks(ranks)?;
        let mut out = vec![false; self.size() as usize];
        ranks.iter().for_each(|&rank| out[rank as usize] = true);
        Ok(self.select(|rank, _| !out[rank as usize], me))
    }

    /// The ranks of `first, last, stride` triplets (MPI_Group_range_incl, MPI_Group_range_excl).
    pub fn expand(ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for &[first, last, stride] in ranges {
            if stride == 0 || (stride > 0) != (last >= first) && first != last {
                let text = format!("the stride of the range {first}, {last}, {stride} is zero or has the wrong sign");
                return Err(Error::new(Class::Arg, text));
            }
            let steps = (i64::from(last) - i64::from(first)) / i64::from(stride);
            ranks.extend((0..=steps).map(|i| (i64::from(first) + i * i64::from(stride)) as i32));
        }
        Ok(ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Peer = Peer(2);

    fn group(peers: &[u32]) -> Group {
        Group::of(peers.iter().map(|&p| Peer(p)).collect(), ME)
    }

    /// The first processes of a job.
    fn world(size: u32, me: Peer) -> Group {
        Group::new(Peers::Consecutive { first: Peer(0), len: size }, me)
    }

    fn members(group: &Group) -> Vec<u32> {
        group.peers().map(|p| p.0).collect()
    }

    #[test]
    fn sets_keep_the_order_that_the_standard_says() {
        let (a, b) = (group(&[3, 2, 0]), group(&[0, 5, 3]));
        assert_eq!(members(&a.union(&b, ME)), [3, 2, 0, 5]);
        assert_eq!(members(&a.intersection(&b, ME)), [3, 0]);
        assert_eq!(members(&a.difference(&b, ME)), [2]);
        assert_eq!(a.rank(), Some(1));
    }

    #[test]
    fn groups_compare_by_members_and_order() {
        assert_eq!(group(&[0, 1, 2]).compare(&world(3, ME)), IDENT);
        assert_eq!(group(&[1, 0, 2]).compare(&world(3, ME)), SIMILAR);
        assert_eq!(group(&[0, 1]).compare(&world(3, ME)), UNEQUAL);
        assert_eq!(group(&[4, 5]).compare(&group(&[4, 6])), UNEQUAL);
    }

    #[test]
    fn ranges_go_up_and_down_and_need_a_step() {
        assert_eq!(Group::expand(&[[0, 6, 3], [9, 7, -1], [4, 4, 1]]).unwrap(), [0, 3, 6, 9, 8, 7, 4]);
        assert!(Group::expand(&[[0, 6, 0]]).is_err());
        assert!(Group::expand(&[[0, 6, -1]]).is_err());
        assert_eq!(world(9, ME).include(&[1, 1], ME).unwrap_err().class(), Class::Rank);
        assert_eq!(world(9, ME).exclude(&[9], ME).unwrap_err().class(), Class::Rank);
    }

    #[test]
    fn large_listed_groups_find_ranks_too() {
        let reversed = group(&(0..100).rev().collect::<Vec<_>>());
        assert!((0..100).all(|p| reversed.rank_of(Peer(p)) == Some(99 - p)));
        assert_eq!(reversed.translate(0, &world(50, ME)).unwrap(), UNDEFINED);
        assert_eq!(reversed.translate(99, &world(50, ME)).unwrap(), 0);
        assert_eq!(reversed.translate(PROC_NULL, &world(50, ME)).unwrap(), PROC_NULL);
    }
}
