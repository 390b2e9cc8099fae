//! The mapping of a process that connects to the listener (`Door`) to a rank, if it is one. It reads tables and the
//! tree of processes, and changes nothing. Used by `gate`, which receives the caller's message; uses `life`, which
//! keeps the rank.

use crate::life::Rank;
use hawser_base::Peer;
use hawser_boot::protocol::{LOST_RANK, Message, VERSION};
use hawser_job::Segment;
use hawser_os::tree;

/// The ranks of a host, as their first process knows them.
pub struct Callers<'a> {
    pub segment: &'a Segment,
    pub host: &'a str,
    /// The ranks by their local numbers.
    pub ranks: &'a [Rank],
}

impl Callers<'_> {
    /// The local number of rank `world`, if process `caller` may become it now, otherwise the reply to it.
    pub fn entry(&self, version: u32, world: u32, caller: i32) -> Result<usize, Message> {
        if version != VERSION {
            return Err(Message::Refused(format!(
                "mpiexec speaks version {VERSION} of Hawser's boot protocol, this library version {version}; \
                 use the mpiexec that was installed with the library"
            )));
        }
        let local = self.local(world, caller).map_err(Message::Refused)?;
        let rank = &self.ranks[local];
        match &rank.attached {
            None => Ok(local),
            Some(attached) if rank.has_started(attached, caller, &tree::ancestors(caller)) => Err(Message::Alone),
            Some(attached) => Err(Message::Refused(rank.taken_by(attached))),
        }
    }

    /// The local number of the rank that `caller` names, or, if its environment is lost, of the rank that it descends
    /// from.
    fn local(&self, world: u32, caller: i32) -> Result<usize, String> {
        if world != LOST_RANK {
            return self.segment.room_of(Peer(world)).ok_or_else(|| {
                format!("there is no rank {world} on host {}; was HAWSER_BOOT copied from another job?", self.host)
            });
        }
        let above = tree::ancestors(caller);
        let is_of = |rank: &Rank| {
            let family = [caller, tree::group(caller).unwrap_or(caller)];
            rank.child > 0 && (family.contains(&rank.child) || above.contains(&rank.child))
        };
        let local = self.ranks.iter().position(is_of);
        local.ok_or_else(|| {
            "this process has lost the variables that mpiexec set (env -i, sudo?), and nothing tells which rank has \
             started it; let the program keep HAWSER_BOOT"
                .into()
        })
    }
}
