//! Collectives of intercommunicators with a root: bcast, gather, scatter, reduce.
//!
//! | collective | how | rounds beside those of the collective inside |
//! |---|---|---|
//! | bcast, gather, scatter | the same among the root, as rank 0, and the other group | 0 |
//! | gatherv, scatterv | linear: only the root knows the counts | ranks / outstanding |
//! | reduce | reduce to the other group's rank 0, which sends the result to the root | 1 |
//!
//! The last column counts the rounds in addition to those of the collective inside. The other ranks of the root's
//! group take no part.

use super::{InterPlace, NO_ROOT, plan_among};
use crate::call::{BlockArray, BlockBuffer, CollectiveCall, RankAndSize, ReductionArgs};
use crate::schedule::{BufferId, Schedule, Span};
use crate::tuning::Tuning;

/// The participants of a collective with a root: the root as rank 0, then the ranks of the other group.
#[derive(Clone, Copy)]
struct RootedGroup {
    place: RankAndSize,
    root: u32,
    /// The number in schedules of the participant with rank 1.
    first_other: u32,
}

impl RootedGroup {
    /// Makes the group; `None` on a rank that takes no part.
    fn new(root: u32, place: InterPlace) -> Option<RootedGroup> {
        let own = place.among_all().rank;
        if root == NO_ROOT {
            return None;
        }
        Some(match root == own {
            true => RootedGroup {
                place: RankAndSize { rank: 0, size: place.remote + 1 },
                root,
                first_other: place.remote_number(0),
            },
            false => RootedGroup {
                place: RankAndSize { rank: place.local.rank + 1, size: place.local.size + 1 },
                root,
                first_other: place.local_number(0),
            },
        })
    }

    fn is_root(&self) -> bool {
        self.place.rank == 0
    }

    fn number(&self, rank: u32) -> u32 {
        if rank == 0 { self.root } else { self.first_other + rank - 1 }
    }
}

pub(super) fn bcast(root: u32, data: BlockBuffer, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    if let Some(group) = RootedGroup::new(root, place) {
        plan_among(&CollectiveCall::Bcast { root: 0, data }, group.place, t, s, |rank| group.number(rank), |span| span);
    }
}

/// Returns a function that converts the spans of the participants' collective to spans of the call's buffers. At the
/// root, that collective has a block for the root itself (rank 0), which the call's buffer has not; so blocks move to
/// the front by one block.
fn shift_blocks(group: RootedGroup, blocks: BlockArray<'_>) -> impl Fn(Span) -> Span {
    let block = if group.is_root() { blocks.counts.at(0) } else { 0 };
    move |span| match span.buffer {
        BufferId::Scratch(_) => span,
        _ => Span { at: span.at - block, ..span },
    }
}

pub(super) fn gather(
    root: u32,
    send: BlockBuffer,
    recv: BlockArray<'_>,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) {
    if let Some(group) = RootedGroup::new(root, place) {
        let call = CollectiveCall::Gather { root: 0, send, recv, in_place: group.is_root() };
        plan_among(&call, group.place, t, s, |rank| group.number(rank), shift_blocks(group, recv));
    }
}

pub(super) fn scatter(
    root: u32,
    send: BlockArray<'_>,
    recv: BlockBuffer,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) {
    if let Some(group) = RootedGroup::new(root, place) {
        let call = CollectiveCall::Scatter { root: 0, send, recv, in_place: group.is_root() };
        plan_among(&call, group.place, t, s, |rank| group.number(rank), shift_blocks(group, send));
    }
}

pub(super) fn gatherv(
    root: u32,
    send: BlockBuffer,
    recv: BlockArray<'_>,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) {
    let Some(group) = RootedGroup::new(root, place) else { return };
    if !group.is_root() {
        return s.send(root, send.span(BufferId::Send));
    }
    for rank in 0..place.remote {
        s.recv(place.remote_number(rank), recv.span(BufferId::Recv, rank));
        s.end_round_if_full(rank + 1, &t.limits);
    }
}

pub(super) fn scatterv(
    root: u32,
    send: BlockArray<'_>,
    recv: BlockBuffer,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) {
    let Some(group) = RootedGroup::new(root, place) else { return };
    if !group.is_root() {
        return s.recv(root, recv.span(BufferId::Recv));
    }
    for rank in 0..place.remote {
        s.send(place.remote_number(rank), send.span(BufferId::Send, rank));
        s.end_round_if_full(rank + 1, &t.limits);
    }
}

pub(super) fn reduce(root: u32, data: ReductionArgs, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let Some(group) = RootedGroup::new(root, place) else { return };
    if group.is_root() {
        return s.recv(place.remote_number(0), Span::elements(BufferId::Recv, 0, data.elements()));
    }
    let result = reduce_to_first(data, place, t, s);
    if place.local.rank == 0 {
        s.send(root, result);
    }
}

/// Appends a reduction of the local group's data to its rank 0. Returns the span of the result on rank 0.
pub(super) fn reduce_to_first(data: ReductionArgs, place: InterPlace, t: &Tuning, s: &mut Schedule) -> Span {
    let call = CollectiveCall::Reduce { root: 0, data: ReductionArgs { in_place: false, ..data } };
    append_reduction(&call, data, place.local.rank == 0, place, t, s)
}

/// Appends a reduction of the local group's data. Returns the span of the result, which is valid only if this rank
/// gets it (`has_result`): scratch memory, or the send buffer if the group has only one rank or there are no data.
pub(super) fn append_reduction(
    call: &CollectiveCall,
    data: ReductionArgs,
    has_result: bool,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) -> Span {
    if place.local.size == 1 || data.elements() == 0 {
        return Span::elements(BufferId::Send, 0, data.elements());
    }
    let result = if has_result { s.scratch_elements(data.elements()) } else { BufferId::Recv };
    let place_result = |span: Span| if span.buffer == BufferId::Recv { Span { buffer: result, ..span } } else { span };
    plan_among(call, place.local, t, s, |rank| place.local_number(rank), place_result);
    Span::elements(result, 0, data.elements())
}
