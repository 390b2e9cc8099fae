//! Intercommunicators: two groups that communicate with each other (MPI-5.0 §7.6).
//!
//! All members of both groups have the same context, on which they agree as in `comm_create`. In
//! MPI_Intercomm_create, where the groups need not have a communicator in common, each round of the agreement is a
//! reduction in each local group, one between the two leaders, and a broadcast of the result in each local group. A
//! leader that fails to exchange the groups with the other leader sends the class of its error to its local group,
//! which would otherwise wait for ever. For the same reason a member that learns of the end of another process takes
//! part in all further rounds, and only then returns its error.
//!
//! Used by `abi::inter`; uses `comm`, `comm_create`, `context_ids`, `group_bootstrap` and `collective::internal`.

use crate::collective::internal::CollectiveScope;
use crate::comm::{Comm, CommRef};
use crate::comm_create::{agree, agree_in, group_of, make, or_abandon};
use crate::context_ids::{self, AgreementRounds, FAILED};
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::process::{self, Process};
use crate::session_table;
use crate::{group_bootstrap, info};
use hawser_base::{Class, Context, Error, Handle, Peer, Result};
use std::sync::Arc;

/// MPI_Comm_test_inter.
pub fn test_inter(comm: Handle) -> Result<bool> {
    Ok(process::get()?.comm(comm)?.is_inter())
}

/// The remote group, for MPI_Comm_remote_group and MPI_Comm_remote_size (MPI_ERR_COMM on an intracommunicator).
pub fn remote_group(comm: Handle) -> Result<Arc<Group>> {
    Ok(intercomm(process::get()?, comm)?.addressed_group().clone())
}

fn intercomm(process: &'static Process, comm: Handle) -> Result<CommRef> {
    let found = process.comm(comm)?;
    if found.is_inter() {
        return Ok(found);
    }
    let text = format!("{} is not an intercommunicator; it has no remote group", found.display_name());
    Err(Error::new(Class::Comm, text))
}

/// MPI_Intercomm_create. `peer_comm`, `remote_leader` and `tag` are used on the local leader alone.
pub fn create(
    local_comm: Handle,
    local_leader: i32,
    peer_comm: Handle,
    remote_leader: i32,
    tag: i32,
) -> Result<Handle> {
    const NAME: &str = "MPI_Intercomm_create";
    let process = process::get()?;
    let local = process.comm(local_comm)?;
    local.refuse_inter("pass an intracommunicator as local_comm")?;
    local.peer(local_leader).map_err(|error| Error::new(error.class(), format!("local_leader: {}", error.cause())))?;
    let leads = local.rank() == local_leader as u32;
    let exchanged = leads
        .then(|| find_leaders(process, peer_comm, remote_leader, tag)?.exchange_groups(process, NAME, local.group()));
    let remote = bcast_remote_group(process, NAME, &local, local_leader as u32, exchanged.as_ref());
    let (leaders, remote) = match exchanged {
        Some(Ok((leaders, _))) => (Some(leaders), remote),
        Some(Err(error)) => (None, Err(error)),
        None => (None, remote),
    };
    let mut agreement = InterAgreement {
        process,
        name: NAME,
        local: CollectiveScope::Comm(&local),
        leader: local_leader as u32,
        leaders,
    };
    let (remote, salt) = agreement.salt(&local, remote).inspect_err(|_| context_ids::abandon(&mut agreement))?;
    let context = agree_in(process, &mut agreement, salt, true)?;
    make(process, NAME, &local, Comm::between(context, local.group().clone(), remote))
}

/// Broadcasts the remote group from the leader to the local group, and returns it. If the leader's exchange failed,
/// all members get an error of the same class.
fn bcast_remote_group(
    process: &'static Process,
    name: &'static str,
    local: &CommRef,
    leader: u32,
    exchanged: Option<&Result<(InterLeaders, Vec<u64>)>>,
) -> Result<Arc<Group>> {
    let (mut members, class) = match exchanged {
        Some(Ok((_, members))) => (members.clone(), Class::Success),
        Some(Err(error)) => (Vec::new(), error.class()),
        None => (Vec::new(), Class::Success),
    };
    let scope = CollectiveScope::Comm(local);
    let mut words = [members.len() as u64, class as u64];
    let told = scope.bcast_from(process, name, leader, &mut words);
    // All ranks take part in the second broadcast in any case, since those behind them in it wait for them.
    members.resize((words[0] as usize).max(1), 0);
    let members_told = scope.bcast_from(process, name, leader, &mut members);
    told?;
    if words[0] == 0 {
        let class = i32::try_from(words[1]).ok().and_then(Class::from_value).unwrap_or(Class::Intern);
        let text = format!("the local leader, rank {leader} of {}, reports an error", local.display_name());
        return Err(Error::new(class, text));
    }
    members_told?;
    let peers = members.into_iter().map(|member| Peer(member as u32)).collect();
    Ok(Arc::new(Group::of(peers, process.me()).in_session(local.group().session())))
}

/// The group of the two leaders, with the communicator and the tag of their messages.
struct InterLeaders {
    comm: CommRef,
    group: Arc<Group>,
    tag: i32,
}

fn find_leaders(process: &'static Process, peer_comm: Handle, remote_leader: i32, tag: i32) -> Result<InterLeaders> {
    let comm = process.comm(peer_comm).map_err(|error| in_argument("peer_comm", &error))?;
    let other = comm.peer(remote_leader).map_err(|error| in_argument("remote_leader", &error))?;
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag {tag} is negative")));
    }
    let me = process.me();
    if other == me {
        let text = format!("remote_leader: rank {remote_leader} of {} is the local leader itself", comm.display_name());
        return Err(Error::new(Class::Rank, text));
    }
    // The two are sorted, so that both leaders use the same order.
    let group = Arc::new(Group::of(vec![me.min(other), me.max(other)], me));
    Ok(InterLeaders { comm, group, tag: !tag })
}

fn in_argument(argument: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("{argument}: {}", error.cause()))
}

impl InterLeaders {
    /// The collective scope of the two leaders. Its tag is the bitwise complement of the application's tag, and so is
    /// negative: the collectives of `comm` itself, on the same context, have internal tags from 0 on.
    fn scope(&self) -> CollectiveScope<'_> {
        let context = self.comm.collective_context();
        CollectiveScope::Group { comm: &self.comm, group: self.group.clone(), context, tag: self.tag }
    }

    /// Exchanges the groups with the other leader; returns the process numbers of the remote group (MPI_ERR_COMM if
    /// the groups overlap).
    fn exchange_groups(
        self,
        process: &'static Process,
        name: &'static str,
        local: &Group,
    ) -> Result<(InterLeaders, Vec<u64>)> {
        let scope = self.scope();
        let sizes = scope.allgather(process, name, &[local.size().into()])?;
        let longest = sizes[0].max(sizes[1]) as usize;
        let mut mine: Vec<u64> = local.peers().map(|peer| peer.0.into()).collect();
        mine.resize(longest, 0);
        let both = scope.allgather(process, name, &mine)?;
        let other = 1 - self.group.rank().expect("a leader is one of the two") as usize;
        let remote = both[other * longest..][..sizes[other] as usize].to_vec();
        if let Some(&peer) = remote.iter().find(|&&peer| local.rank_of(Peer(peer as u32)).is_some()) {
            return Err(Error::new(Class::Comm, in_both(process, Peer(peer as u32))));
        }
        Ok((self, remote))
    }
}

/// The rounds of an agreement of the members of both groups.
struct InterAgreement<'a> {
    process: &'static Process,
    name: &'static str,
    local: CollectiveScope<'a>,
    /// The local leader's rank.
    leader: u32,
    /// The two leaders, on the local leader; None on other ranks.
    leaders: Option<InterLeaders>,
}

/// The last word of each reduction of `InterAgreement` says whether data are missing on some member: `missing` wins
/// over `complete` in the operation.
#[derive(Clone, Copy)]
struct HealthWord {
    missing: u64,
    complete: u64,
}

/// The health word of a bitwise AND.
const AND_HEALTH: HealthWord = HealthWord { missing: 0, complete: u64::MAX };
/// The health word of a maximum.
const MAX_HEALTH: HealthWord = HealthWord { missing: 1, complete: 0 };

impl InterAgreement<'_> {
    /// Agrees on the salt of the agreement (`context_ids`), and returns it with the remote group. If this member does
    /// not have the remote group, all members get an error.
    fn salt(&mut self, local: &Comm, remote: Result<Arc<Group>>) -> Result<(Arc<Group>, u32)> {
        let word = if remote.is_ok() { local.context().number().into() } else { FAILED };
        let salt = self.allreduce_max(word);
        match (remote?, salt?) {
            (_, FAILED) => Err(context_ids::member_failed()),
            (remote, salt) => Ok((remote, salt as u32)),
        }
    }

    /// Reduces `words` over both groups: in the local group, between the leaders, and by a broadcast in the local
    /// group. A step that fails does not keep this member from the next one, because others wait there: a leader that
    /// lacks data passes that on by the health word. (A leader that has not found the other one has no second step.)
    fn reduce_both(
        &mut self,
        words: &mut [u64],
        health: HealthWord,
        reduce: impl Fn(&CollectiveScope<'_>, &mut [u64]) -> Result<()>,
    ) -> Result<()> {
        let mut all = [&*words, &[health.complete]].concat();
        let health_at = words.len();
        let mut outcome = Ok(());
        let mut step = |scope: &CollectiveScope<'_>, all: &mut [u64]| {
            if let Err(error) = reduce(scope, all) {
                all[health_at] = health.missing;
                outcome = Err(error);
            }
        };
        step(&self.local, &mut all);
        if let Some(leaders) = &self.leaders {
            step(&leaders.scope(), &mut all);
        }
        // The broadcast decides for a member that is no leader, even if its part of the reduction failed.
        self.local.bcast_from(self.process, self.name, self.leader, &mut all)?;
        if self.leaders.is_some() {
            outcome?;
        }
        if all[health_at] != health.complete {
            return Err(context_ids::member_failed());
        }
        words.copy_from_slice(&all[..health_at]);
        Ok(())
    }
}

impl AgreementRounds for InterAgreement<'_> {
    fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()> {
        let (process, name) = (self.process, self.name);
        self.reduce_both(words, AND_HEALTH, |scope, words| scope.allreduce_and(process, name, words))
    }

    fn allreduce_max(&mut self, word: u64) -> Result<u64> {
        let (process, name, mut words) = (self.process, self.name, [word]);
        self.reduce_both(&mut words, MAX_HEALTH, |scope, words| scope.allreduce_max_each(process, name, words))?;
        Ok(words[0])
    }
}

/// MPI_Intercomm_create_from_groups: all members of both groups take part in one group bootstrap (`group_bootstrap`),
/// and the leaders do the same as all others. If one of the groups is empty, the result is MPI_COMM_NULL (MPI-5.0
/// §7.6.2), and the leaders are not checked.
pub fn create_from_groups(
    local: (Handle, i32),
    remote: (Handle, i32),
    stringtag: &[u8],
    info: Handle,
    errhandler: Errhandler,
) -> Result<Handle> {
    const NAME: &str = "MPI_Intercomm_create_from_groups";
    let process = process::get()?;
    let (group, other) = (group_in(process, local.0, "local")?, group_in(process, remote.0, "remote")?);
    session_table::check_open(group.session())?;
    let hints = info::hints(info)?;
    if group.size() == 0 || other.size() == 0 {
        return Ok(Handle::NULL);
    }
    check_leader(&group, local.1, "local")?;
    check_leader(&other, remote.1, "remote")?;
    check_disjoint(process, &group, &other)?;
    let new = Comm::between(Context(0), group, other);
    new.set_context(group_bootstrap::agree(process, NAME, new.all_members(), stringtag)?);
    let handle = make(process, NAME, &process.bootstrap_comm(), new)?;
    let new = process.comm(handle)?;
    new.errhandler.set(errhandler);
    new.hints.set(&hints);
    Ok(handle)
}

fn group_in(process: &'static Process, group: Handle, which: &str) -> Result<Arc<Group>> {
    group_of(process, group).map_err(|error| in_argument(&format!("{which}_group"), &error))
}

/// Checks that `leader` is a rank of the group (MPI_ERR_RANK).
fn check_leader(group: &Group, leader: i32, which: &str) -> Result<()> {
    if u32::try_from(leader).is_ok_and(|leader| leader < group.size()) {
        return Ok(());
    }
    let text = format!("{which}_leader {leader} is not in {which}_group, which has {} processes", group.size());
    Err(Error::new(Class::Rank, text))
}

/// Checks that this process is in its local group `group` (MPI_ERR_GROUP), and that no process is in both groups
/// (MPI_ERR_COMM).
fn check_disjoint(process: &Process, group: &Group, other: &Group) -> Result<()> {
    if group.rank().is_none() {
        let text = "this process is not in local_group; only members of the two groups call this function";
        return Err(Error::new(Class::Group, text));
    }
    match other.peers().find(|&peer| group.rank_of(peer).is_some()) {
        Some(peer) => Err(Error::new(Class::Comm, in_both(process, peer))),
        None => Ok(()),
    }
}

fn in_both(process: &Process, peer: Peer) -> String {
    format!("{} is in both groups; they must have no process in common", process.peer_name(peer))
}

/// MPI_Intercomm_merge. The group that passes `high` as false comes first. If both groups pass the same, the one
/// whose rank 0 has the lower process number comes first.
pub fn merge(comm: Handle, high: bool) -> Result<Handle> {
    const NAME: &str = "MPI_Intercomm_merge";
    let process = process::get()?;
    let old = intercomm(process, comm)?;
    let scope = CollectiveScope::Comm(&old);
    let highs = or_abandon(process, NAME, &scope, scope.allgather(process, NAME, &[high.into()]))?;
    let firsts = if old.is_first() { old.size() } else { old.addressed_group().size() } as usize;
    let (first, second) = highs.split_at(firsts);
    if [first, second].iter().any(|group| group.iter().any(|&high| high != group[0])) {
        let text = "high is true on some ranks of a group and false on others; all ranks of a group pass the same";
        return Err(Error::new(Class::Arg, text));
    }
    let mut peers: Vec<Peer> = old.all_members().peers().collect();
    if first[0] > second[0] {
        peers.rotate_left(firsts);
    }
    let context = agree(process, NAME, &scope, &old, true)?;
    make(
        process,
        NAME,
        &old,
        Comm::new(context, Arc::new(Group::of(peers, process.me()).in_session(old.group().session()))),
    )
}
