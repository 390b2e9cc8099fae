//! The mapping of a process that connects to the listener (`ClientListener`) to a rank, if the process is one. It
//! reads tables and the tree of processes, and changes nothing. Used by `rank_server`, which receives the client's
//! message; uses `rank_process`, which keeps the state of the rank.

use crate::rank_process::RankProcess;
use hawser_base::Peer;
use hawser_boot::protocol::{AgentMessage, LOST_RANK, VERSION};
use hawser_job::Segment;
use hawser_os::process_tree;

/// The ranks of a host, as their first process knows them.
pub struct ClientResolver<'a> {
    pub segment: &'a Segment,
    pub host: &'a str,
    /// The ranks by their local numbers.
    pub ranks: &'a [RankProcess],
}

impl ClientResolver<'_> {
    /// Returns the local number of the rank that process `pid` may become now: rank `world`, or for LOST_RANK the
    /// rank that it descends from. The error is the reply with which the process is refused.
    pub fn resolve(&self, version: u32, world: u32, pid: i32) -> Result<usize, AgentMessage> {
        if version != VERSION {
            return Err(AgentMessage::Refused(format!(
                "mpiexec uses version {VERSION} of Hawser's bootstrap protocol, and this library uses version \
                 {version}; use the mpiexec that was installed with the library"
            )));
        }
        let local = self.local_rank_of(world, pid).map_err(AgentMessage::Refused)?;
        let rank = &self.ranks[local];
        match &rank.attached {
            None => Ok(local),
            Some(attached) if rank.has_started(attached, pid, &process_tree::ancestors(pid)) => {
                Err(AgentMessage::Alone)
            }
            Some(attached) => Err(AgentMessage::Refused(rank.refusal_text(attached))),
        }
    }

    /// Returns the local number of the rank `world` that process `pid` names, or, if the process has lost its
    /// environment (LOST_RANK), of the rank that it descends from.
    fn local_rank_of(&self, world: u32, pid: i32) -> Result<usize, String> {
        if world != LOST_RANK {
            return self.segment.local_slot_of(Peer(world)).ok_or_else(|| {
                format!("there is no rank {world} on host {}; was HAWSER_BOOT copied from another job?", self.host)
            });
        }
        let ancestors = process_tree::ancestors(pid);
        let is_of = |rank: &RankProcess| {
            let family = [pid, process_tree::group(pid).unwrap_or(pid)];
            rank.child > 0 && (family.contains(&rank.child) || ancestors.contains(&rank.child))
        };
        let local = self.ranks.iter().position(is_of);
        local.ok_or_else(|| {
            "this process has lost the variables that mpiexec set (env -i, sudo?), and its rank cannot be determined; \
             let the program keep HAWSER_BOOT"
                .into()
        })
    }
}
