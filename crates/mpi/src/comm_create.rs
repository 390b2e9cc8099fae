//! Making and freeing communicators (MPI-5.0 §7.4.2, §7.4.3).
//!
//! All members agree on a context number (`context_ids`) by small collectives of the library's own. If the members
//! can share flags (`Comm::may_share_flags`: all are on one host), rank 0 then allocates a block of flags and
//! broadcasts the block's number. Every new communicator inherits the error handler (`errhandler`). A duplicate also
//! gets copies of the attributes (`attributes`) and shares the topology. Names and hints are not copied.
//!
//! Used by `abi::comm`, `comm_idup`, `group_bootstrap`, `inter` and `topology`; uses `context_ids`, `hardware` and
//! `collective::internal`.

use crate::collective::internal::CollectiveScope;
use crate::comm::{Comm, CommRef, FlagBlockRef};
use crate::context_ids::{self, AgreementRounds, ContextIdAllocation};
use crate::group::Group;
use crate::hardware::{self, DIRECTORY, HOST};
use crate::process::{self, Process};
use crate::request;
use crate::{bsend, info};
use hawser_base::handle::{comm, group};
use hawser_base::value::{
    COMM_TYPE_HW_GUIDED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_NEIGHBORHOOD, COMM_TYPE_RESOURCE_GUIDED, COMM_TYPE_SHARED,
    CONGRUENT, IDENT, SIMILAR, UNDEFINED, UNEQUAL,
};
use hawser_base::{Class, Context, Error, Handle, Peer, Result, lane_lock};
use hawser_job::OwnedWaitReason;
use hawser_job::layout::FLAG_BLOCKS;
use std::sync::Arc;

/// MPI_Comm_dup.
pub fn dup(comm: Handle) -> Result<Handle> {
    duplicate("MPI_Comm_dup", comm)
}

/// MPI_Comm_dup_with_info.
pub fn dup_with_info(comm: Handle, info: Handle) -> Result<Handle> {
    let hints = info::hints(info)?;
    let new = duplicate("MPI_Comm_dup_with_info", comm)?;
    process::get()?.comm(new)?.hints.set(&hints);
    Ok(new)
}

fn duplicate(name: &'static str, comm: Handle) -> Result<Handle> {
    let process = process::get()?;
    let old = process.comm(comm)?;
    let context = agree(process, name, &CollectiveScope::Comm(&old), &old, true)?;
    let handle = make(process, name, &old, old.with_context(context))?;
    let new = process.comm(handle)?;
    new.inherit_topology(&old);
    if let Err(error) = new.attributes.copy_from(&old.attributes, comm) {
        // The call returns the error of the copy; an error of this deletion is not reported.
        let _ = new.attributes.delete_all(handle);
        remove_comm(process, &new);
        return Err(error);
    }
    Ok(handle)
}

/// MPI_Comm_create. MPI_COMM_NULL if this process is not in the group, or if the remote group of the new
/// intercommunicator would be empty.
pub fn create(comm: Handle, group: Handle) -> Result<Handle> {
    const NAME: &str = "MPI_Comm_create";
    let process = process::get()?;
    let old = process.comm(comm)?;
    let group = subgroup(process, &old, group)?;
    let remote = if old.is_inter() { Some(remote_subgroup(process, NAME, &old, &group)?) } else { None };
    let is_member = group.rank().is_some() && remote.as_ref().is_none_or(|remote| remote.size() > 0);
    let context = agree(process, NAME, &CollectiveScope::Comm(&old), &old, is_member)?;
    if is_member { make(process, NAME, &old, Comm::with(context, group, remote)) } else { Ok(Handle::NULL) }
}

/// MPI_Comm_create_group: only the members of the group take part. `tag` distinguishes calls that threads make at the
/// same time.
pub fn create_group(comm: Handle, group: Handle, tag: i32) -> Result<Handle> {
    const NAME: &str = "MPI_Comm_create_group";
    let process = process::get()?;
    let old = process.comm(comm)?;
    old.refuse_inter("create the new one with MPI_Comm_create")?;
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag {tag} is negative")));
    }
    let group = subgroup(process, &old, group)?;
    if group.rank().is_none() {
        return Ok(Handle::NULL);
    }
    // The tag of this collective is negative: the application's collectives on this context have tags from 0 on.
    let scope =
        CollectiveScope::Group { comm: &old, group: group.clone(), context: old.collective_context(), tag: !tag };
    let context = agree(process, NAME, &scope, &old, true)?;
    make(process, NAME, &old, Comm::new(context, group))
}

/// The group of a handle, whose processes must all be members of the communicator (MPI_ERR_GROUP).
fn subgroup(process: &'static Process, comm: &Comm, group: Handle) -> Result<Arc<Group>> {
    let group = group_of(process, group)?;
    let non_member = group.peers().find(|&peer| comm.group().rank_of(peer).is_none());
    if let Some(peer) = non_member {
        let text =
            format!("the group has {}, which is not a member of {}", process.peer_name(peer), comm.display_name());
        return Err(Error::new(Class::Group, text));
    }
    Ok(group)
}

/// The word of a member that is not in the new group.
const OUTSIDE: u64 = u64::MAX;

/// The remote group of a new intercommunicator: the group that the processes of the remote group pass to
/// MPI_Comm_create. Each member of the old intercommunicator contributes its rank in the group that it passes itself,
/// so all of them must take part.
fn remote_subgroup(process: &'static Process, name: &'static str, old: &CommRef, group: &Group) -> Result<Arc<Group>> {
    let scope = CollectiveScope::Comm(old);
    let ranks = scope.allgather(process, name, &[group.rank().map_or(OUTSIDE, u64::from)]);
    let ranks = or_abandon(process, name, &scope, ranks)?;
    let rank_in_group = |peer: Peer| old.all_members().rank_of(peer).map_or(OUTSIDE, |rank| ranks[rank as usize]);
    let mut members: Vec<Peer> = old.addressed_group().peers().filter(|&peer| rank_in_group(peer) != OUTSIDE).collect();
    members.sort_by_key(|&peer| rank_in_group(peer));
    Ok(Arc::new(Group::of(members, process.me()).in_session(old.group().session())))
}

pub(crate) fn group_of(process: &'static Process, handle: Handle) -> Result<Arc<Group>> {
    if handle == group::EMPTY {
        return Ok(Arc::new(Group::of(Vec::new(), process.me())));
    }
    process.groups().get(handle).map(|found| Arc::clone(&found)).ok_or_else(|| {
        let text = if handle.is_null() {
            "the group is MPI_GROUP_NULL"
        } else {
            "the group does not exist; it was freed before"
        };
        Error::new(Class::Group, text)
    })
}

/// Makes a communicator of the members of `old` that `ranks` names, in that order. All members of `old` call it. The
/// members of one new communicator pass the same `ranks`; lists that differ must have no rank in common.
/// MPI_COMM_NULL if this process is not in `ranks`.
pub fn create_of_ranks(process: &'static Process, name: &'static str, old: &CommRef, ranks: &[u32]) -> Result<Handle> {
    let members = ranks.iter().filter_map(|&rank| old.group().peer(rank)).collect();
    let group = Arc::new(Group::of(members, process.me()).in_session(old.group().session()));
    let is_member = group.rank().is_some();
    let context = agree(process, name, &CollectiveScope::Comm(old), old, is_member)?;
    if is_member { make(process, name, old, Comm::new(context, group)) } else { Ok(Handle::NULL) }
}

/// MPI_Comm_split. `color` may be MPI_UNDEFINED.
pub fn split(comm: Handle, color: i32, key: i32) -> Result<Handle> {
    if color < 0 && color != UNDEFINED {
        let text = format!("color {color} is negative and not MPI_UNDEFINED");
        return Err(Error::new(Class::Arg, text));
    }
    let process = process::get()?;
    let old = process.comm(comm)?;
    let color = (color != UNDEFINED).then_some(color as u64);
    split_by_color(process, "MPI_Comm_split", &old, color, key)
}

/// Makes a communicator of the members of one colour, ordered by key, and by old rank if keys are equal.
/// MPI_COMM_NULL if `color` is None, or if `old` is an intercommunicator without a remote process of this colour.
fn split_by_color(
    process: &'static Process,
    name: &'static str,
    old: &CommRef,
    color: Option<u64>,
    key: i32,
) -> Result<Handle> {
    let scope = CollectiveScope::Comm(old);
    let all = or_abandon(process, name, &scope, scope.allgather(process, name, &encode(color, key)))?;
    let members_of_color = |group: &Group| {
        let ranks = group.peers().filter_map(|peer| old.all_members().rank_of(peer));
        let words: Vec<u64> = ranks.flat_map(|at| all[2 * at as usize..][..2].to_vec()).collect();
        let peers = sorted(&words, color).into_iter().filter_map(|rank| group.peer(rank)).collect();
        Arc::new(Group::of(peers, process.me()).in_session(group.session()))
    };
    let remote = old.is_inter().then(|| members_of_color(old.addressed_group()));
    // An intercommunicator has members on both sides (MPI-5.0 §7.6).
    let is_member = color.is_some() && remote.as_ref().is_none_or(|remote| remote.size() > 0);
    let context = agree(process, name, &scope, old, is_member)?;
    if !is_member {
        return Ok(Handle::NULL);
    }
    make(process, name, old, Comm::with(context, members_of_color(old.group()), remote))
}

/// The word of a member without a colour; it is above all real colours.
const NO_COLOR: u64 = u64::MAX;

fn encode(color: Option<u64>, key: i32) -> [u64; 2] {
    [color.unwrap_or(NO_COLOR), key as u64]
}

/// The ranks whose words have this colour, ordered by key, and by rank if keys are equal.
fn sorted(all: &[u64], color: Option<u64>) -> Vec<u32> {
    let color_word = color.unwrap_or(NO_COLOR);
    let ranked = (0u32..).zip(all.as_chunks().0).filter(|&(_, &[color, _])| color == color_word);
    let mut members: Vec<(i32, u32)> = ranked.map(|(rank, &[_, key])| (key as i32, rank)).collect();
    members.sort_unstable();
    members.into_iter().map(|(_, rank)| rank).collect()
}

/// MPI_Comm_split_type. MPI_COMM_NULL if this process passes MPI_UNDEFINED; if there is no level below (unguided); if
/// the info object names no resource to which this process is restricted (guided); or if it names no directory that
/// exists (neighborhood).
pub fn split_type(comm: Handle, split_type: i32, key: i32, info: Handle) -> Result<Handle> {
    let process = process::get()?;
    let old = process.comm(comm)?;
    let hints = info::hints(info)?;
    let resource_color = |kind: &[u8]| hardware::resource_color(process, kind);
    let color = match split_type {
        UNDEFINED => None,
        COMM_TYPE_SHARED => resource_color(HOST),
        // The next level below several hosts is the host; below a host no levels are distinguished (§7.4.2).
        COMM_TYPE_HW_UNGUIDED => {
            if old.is_on_one_host(process) {
                None
            } else {
                resource_color(HOST)
            }
        }
        COMM_TYPE_HW_GUIDED | COMM_TYPE_RESOURCE_GUIDED => hints.get(hardware::TYPE).and_then(resource_color),
        COMM_TYPE_NEIGHBORHOOD => hints.get(DIRECTORY).and_then(|path| hardware::file_system_color(process, path)),
        _ => return Err(Error::new(Class::Arg, format!("split_type {split_type} is not one of MPI_COMM_TYPE_*"))),
    };
    let new = split_by_color(process, "MPI_Comm_split_type", &old, color, key)?;
    if split_type == COMM_TYPE_HW_UNGUIDED && !new.is_null() {
        info::store_result(info, hardware::TYPE, HOST)?;
    }
    Ok(new)
}

/// MPI_Comm_free. It is local, so that programs may free communicators in any order, as their destructors do (MPI-5.0
/// §7.4.3: collective, but "anticipated that it will normally be implemented to be local"). Pending operations
/// continue, and the communicator is removed when the last of them ends. Its number may be reused before other
/// members have freed the communicator; the number then has another generation (`context_ids`). The block of flags is
/// released when the last member frees the communicator.
pub fn free(handle: Handle) -> Result<()> {
    let process = process::get()?;
    let found = check_freeable(process, handle, "freed")?;
    remove_freed(process, "MPI_Comm_free", &found)
}

/// MPI_Comm_disconnect: waits until no operation is pending on the communicator (MPI-5.0 §11.10.4), including
/// operations whose requests the program has freed.
pub fn disconnect(handle: Handle) -> Result<()> {
    const NAME: &str = "MPI_Comm_disconnect";
    let process = process::get()?;
    let found = check_freeable(process, handle, "disconnected")?;
    let reason =
        || OwnedWaitReason { call: NAME.to_owned(), communicator: found.display_name(), ..OwnedWaitReason::default() };
    process.lanes().wait_until(found.lane(), reason, |lane| {
        (!request::has_active(&lane.core.requests, found.context())).then_some(())
    });
    remove_freed(process, NAME, &found)
}

/// The communicator of a handle, for a call that ends it: a predefined one is refused (MPI_ERR_COMM). `action` names
/// in the error what the call does.
fn check_freeable(process: &'static Process, handle: Handle, action: &str) -> Result<CommRef> {
    let found = process.comm(handle)?;
    if let Some(name) = comm::name(handle) {
        return Err(Error::new(Class::Comm, format!("{name} is predefined and cannot be {action}")));
    }
    Ok(found)
}

/// Ends a communicator: deletes its attributes, waits until all messages in the buffer that is attached to it have
/// left (MPI-5.0 §3.6.1), and removes communicator and buffer.
fn remove_freed(process: &'static Process, name: &'static str, found: &CommRef) -> Result<()> {
    found.attributes.delete_all(found.handle())?;
    bsend::flush(process, name, &found.attached_buffer);
    remove_comm(process, found);
    Ok(())
}

/// Ends this member's use of a communicator: its handle becomes invalid, and its block of flags is released if this
/// is the last member.
fn remove_comm(process: &'static Process, found: &CommRef) {
    found.leave_flags(process);
    process.comms().remove(found.handle());
}

/// MPI_Comm_compare.
pub fn compare(a: Handle, b: Handle) -> Result<i32> {
    let process = process::get()?;
    let (one, other) = (process.comm(a)?, process.comm(b)?);
    if one.context() == other.context() {
        return Ok(IDENT);
    }
    if one.is_inter() != other.is_inter() {
        return Ok(UNEQUAL);
    }
    let local = one.group().compare(other.group());
    Ok(match (local, one.addressed_group().compare(other.addressed_group())) {
        (IDENT, IDENT) => CONGRUENT,
        (UNEQUAL, _) | (_, UNEQUAL) => UNEQUAL,
        _ => SIMILAR,
    })
}

/// The rounds of an agreement, by collectives in a scope (`CollectiveScope`).
struct ScopeAgreement<'a>(&'static Process, &'static str, &'a CollectiveScope<'a>);

impl AgreementRounds for ScopeAgreement<'_> {
    fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()> {
        self.2.allreduce_and(self.0, self.1, words)
    }

    fn allreduce_max(&mut self, word: u64) -> Result<u64> {
        self.2.allreduce_max(self.0, self.1, word)
    }
}

pub(crate) fn agree(
    process: &'static Process,
    name: &'static str,
    scope: &CollectiveScope<'_>,
    parent: &Comm,
    is_member: bool,
) -> Result<Context> {
    let tag_part = match scope {
        CollectiveScope::Comm(_) => 0,
        CollectiveScope::Group { tag, .. } => *tag as u32,
    };
    agree_in(process, &mut ScopeAgreement(process, name, scope), agreement_salt(parent, tag_part), is_member)
}

/// Returns `result`, that of a collective that comes before `agree` in the same scope. If it failed, as it does when a
/// process has ended, this first takes part in the agreement, in which members that got a result wait for this one.
pub(crate) fn or_abandon<T>(
    process: &'static Process,
    name: &'static str,
    scope: &CollectiveScope<'_>,
    result: Result<T>,
) -> Result<T> {
    result.inspect_err(|_| context_ids::abandon(&mut ScopeAgreement(process, name, scope)))
}

/// The salt of an agreement among members of `parent`. `tag_part` distinguishes agreements that may be in progress at
/// the same time.
pub(crate) fn agreement_salt(parent: &Comm, tag_part: u32) -> u32 {
    parent.context().number() ^ tag_part.wrapping_mul(Context::NUMBERS)
}

/// Agrees on a context, like `agree`, but by any implementation of the rounds. For `salt` and `is_member` see
/// `ContextIdAllocation`.
pub(crate) fn agree_in(
    process: &'static Process,
    rounds: &mut impl AgreementRounds,
    salt: u32,
    is_member: bool,
) -> Result<Context> {
    free_retired_contexts(process);
    ContextIdAllocation { pool: context_ids::pool(), is_member, multithreaded: lane_lock::is_multithreaded(), salt }
        .agree(rounds)
}

/// Frees the numbers of communicators that are gone, after it has dropped the messages for them that nobody received.
/// It also releases the state of a process that has ended, if that is requested. No lane may be locked.
pub(crate) fn free_retired_contexts(process: &'static Process) {
    process.release_ended_peers();
    let retired = context_ids::lock_pool().take_retired();
    for context in retired {
        let mut lane = process.lane(context.lane()).enter();
        (0..Context::KINDS).for_each(|kind| lane.close_context(Context(context.0 + kind)));
        drop(lane);
        context_ids::lock_pool().release(context.number());
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        context_ids::lock_pool().retire(self.context());
    }
}

/// Completes a new communicator on a member: it gets the parent's error handler, a handle, and a block of flags if
/// its members can share one and one is free.
pub(crate) fn make(process: &'static Process, name: &'static str, parent: &Comm, new: Comm) -> Result<Handle> {
    new.errhandler.inherit(&parent.errhandler);
    let handle = process.add_comm(new)?;
    let new = process.comm(handle)?;
    if new.may_share_flags(process) {
        let number = share_flags(process, name, &new)?;
        if let Some(number) = number {
            new.set_flags(FlagBlockRef { block: process.segment().flags(number), number });
        }
    }
    Ok(handle)
}

/// The tag of the broadcast of the number of the block of flags. It is negative, so that it differs from the tags of
/// the application's collectives on the communicator.
const FLAGS_TAG: i32 = -1;
const NO_BLOCK: u64 = u64::MAX;

/// Returns the number of the block of flags that rank 0 allocated; None if none was free.
fn share_flags(process: &'static Process, name: &'static str, new: &CommRef) -> Result<Option<u32>> {
    let context = new.collective_context();
    let scope = CollectiveScope::Group { comm: new, group: new.group().clone(), context, tag: FLAGS_TAG };
    flag_block_of_word(scope.bcast(process, name, flag_block_word(process, new.rank()))?)
}

/// This member's word in the broadcast of the number of the block of flags. Rank 0 allocates a block, and its word is
/// the block's number, or NO_BLOCK if none is free. The other ranks' words are not used.
pub(crate) fn flag_block_word(process: &Process, rank: u32) -> u64 {
    let block = if rank == 0 { process.segment().allocate_flags() } else { None };
    block.map_or(NO_BLOCK, u64::from)
}

/// The number of the block that rank 0 named; None if it had none. MPI_ERR_INTERN if there is no block with that
/// number.
pub(crate) fn flag_block_of_word(word: u64) -> Result<Option<u32>> {
    if word != NO_BLOCK && word >= FLAG_BLOCKS as u64 {
        return Err(Error::new(Class::Intern, format!("rank 0 named block {word} of {FLAG_BLOCKS} blocks of flags")));
    }
    Ok((word != NO_BLOCK).then_some(word as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_none_is_an_error() {
        assert_eq!(flag_block_of_word(NO_BLOCK).ok(), Some(None));
        assert_eq!(flag_block_of_word(FLAG_BLOCKS as u64 - 1).ok(), Some(Some(FLAG_BLOCKS as u32 - 1)));
        assert!(flag_block_of_word(FLAG_BLOCKS as u64).is_err() && flag_block_of_word(1 << 32 | 5).is_err());
    }

    #[test]
    fn colours_split_and_keys_sort_with_old_ranks_for_equals() {
        let all: Vec<u64> = [(Some(1), 5), (Some(0), -3), (None, 0), (Some(1), -1), (Some(1), 5), (Some(0), -4)]
            .map(|(color, key)| encode(color, key))
            .concat();
        assert_eq!(sorted(&all, Some(1)), [3, 0, 4]);
        assert_eq!(sorted(&all, Some(0)), [5, 1]);
        assert_eq!(sorted(&all, Some(7)), []);
        assert_eq!(sorted(&encode(Some(i32::MAX as u64), i32::MIN), Some(i32::MAX as u64)), [0]);
    }
}
