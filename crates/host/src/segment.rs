//! The segment of a host, as its first process makes it; the ranks open it. Used by `rank_server` and `gathering`;
//! uses `job::Segment`.

use hawser_job::{HostFacts, Segment, SegmentSpec};
use std::io;

/// The ranks of a job on one host.
#[derive(Debug)]
pub struct LocalRanks<'a> {
    pub job_id: &'a str,
    pub host: &'a str,
    /// The number of ranks of the whole job.
    pub size: u32,
    /// The numbers in the job of the ranks here, in the order of their pages.
    pub ranks: Vec<u32>,
    /// The number of the host of each rank of the job; empty if the launcher has not given it.
    pub hosts: &'a [u32],
}

impl LocalRanks<'_> {
    /// Makes the segment of these ranks.
    pub fn segment(&self, facts: HostFacts) -> io::Result<Segment> {
        let segment = Segment::create(&SegmentSpec {
            job_id: self.job_id.into(),
            host: self.host.into(),
            world: self.size as usize,
            world_ranks: self.ranks.clone(),
            facts,
            spare_local_slots: 0,
            spare_numbers: 0,
        })?;
        if self.hosts.len() == self.size as usize {
            segment.set_hosts(self.hosts);
        }
        Ok(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Peer;

    #[test]
    fn a_segment_knows_its_ranks_and_the_hosts_of_all() {
        let local_ranks = LocalRanks { job_id: "j", host: "a", size: 5, ranks: vec![1, 4], hosts: &[0, 1, 0, 0, 1] };
        let segment = local_ranks.segment(HostFacts::default()).unwrap();
        assert_eq!((segment.local_size(), segment.world_size(), segment.process_in(1)), (2, 5, Some(Peer(4))));
        assert_eq!((segment.host_of(Peer(3)), segment.host_of(Peer(4))), (0, 1));
    }
}
