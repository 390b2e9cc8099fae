//! From and to a root: bcast, gather, scatter, reduce.
//!
//! | collective | how | rounds beside those of the collective inside |
//! |---|---|---|
//! | bcast, gather, scatter | the same among the root, as rank 0, and the other group | 0 |
//! | gatherv, scatterv | linear: only the root knows the counts | ranks / outstanding |
//! | reduce | reduce to the other group's rank 0, which sends the result to the root | 1 |
//!
//! Ranks of the root's group other than the root have no part in them.

use super::{NOBODY, Sides, within};
use crate::call::{Blocks, Call, Data, Place, Reduction};
use crate::schedule::{Buffer, Schedule, Span};
use crate::tuning::Tuning;

/// The root, as rank 0, and the other group's ranks after it.
#[derive(Clone, Copy)]
struct Star {
    place: Place,
    root: u32,
    /// The number of rank 1.
    others: u32,
}

impl Star {
    /// None on a rank that has no part in it.
    fn new(root: u32, sides: Sides) -> Option<Star> {
        let me = sides.among_all().rank;
        if root == NOBODY {
            return None;
        }
        Some(match root == me {
            true => Star { place: Place { rank: 0, size: sides.remote + 1 }, root, others: sides.theirs(0) },
            false => Star {
                place: Place { rank: sides.local.rank + 1, size: sides.local.size + 1 },
                root,
                others: sides.ours(0),
            },
        })
    }

    fn is_root(&self) -> bool {
        self.place.rank == 0
    }

    fn number(&self, rank: u32) -> u32 {
        if rank == 0 { self.root } else { self.others + rank - 1 }
    }
}

pub(super) fn bcast(root: u32, data: Data, sides: Sides, t: &Tuning, s: &mut Schedule) {
    if let Some(star) = Star::new(root, sides) {
        within(&Call::Bcast { root: 0, data }, star.place, t, s, |rank| star.number(rank), |span| span);
    }
}

/// The root's blocks, which begin with that of the star's rank 1.
fn shifted(star: Star, blocks: Blocks<'_>) -> impl Fn(Span) -> Span {
    let block = if star.is_root() { blocks.counts.at(0) } else { 0 };
    move |span| match span.buffer {
        Buffer::Scratch(_) => span,
        _ => Span { at: span.at - block, ..span },
    }
}

pub(super) fn gather(root: u32, send: Data, recv: Blocks<'_>, sides: Sides, t: &Tuning, s: &mut Schedule) {
    if let Some(star) = Star::new(root, sides) {
        let call = Call::Gather { root: 0, send, recv, in_place: star.is_root() };
        within(&call, star.place, t, s, |rank| star.number(rank), shifted(star, recv));
    }
}

pub(super) fn scatter(root: u32, send: Blocks<'_>, recv: Data, sides: Sides, t: &Tuning, s: &mut Schedule) {
    if let Some(star) = Star::new(root, sides) {
        let call = Call::Scatter { root: 0, send, recv, in_place: star.is_root() };
        within(&call, star.place, t, s, |rank| star.number(rank), shifted(star, send));
    }
}

pub(super) fn gatherv(root: u32, send: Data, recv: Blocks<'_>, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Some(star) = Star::new(root, sides) else { return };
    if !star.is_root() {
        return s.send(root, send.span(Buffer::Send));
    }
    for rank in 0..sides.remote {
        s.recv(sides.theirs(rank), recv.span(Buffer::Recv, rank));
        s.end_window(rank + 1, &t.limits);
    }
}

pub(super) fn scatterv(root: u32, send: Blocks<'_>, recv: Data, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Some(star) = Star::new(root, sides) else { return };
    if !star.is_root() {
        return s.recv(root, recv.span(Buffer::Recv));
    }
    for rank in 0..sides.remote {
        s.send(sides.theirs(rank), send.span(Buffer::Send, rank));
        s.end_window(rank + 1, &t.limits);
    }
}

pub(super) fn reduce(root: u32, data: Reduction, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Some(star) = Star::new(root, sides) else { return };
    if star.is_root() {
        return s.recv(sides.theirs(0), Span::elements(Buffer::Recv, 0, data.elements()));
    }
    let result = reduce_to_first(data, sides, t, s);
    if sides.local.rank == 0 {
        s.send(root, result);
    }
}

/// Appends the reduction of the local group's data to its rank 0; returns the place of the result there.
pub(super) fn reduce_to_first(data: Reduction, sides: Sides, t: &Tuning, s: &mut Schedule) -> Span {
    let call = Call::Reduce { root: 0, data: Reduction { in_place: false, ..data } };
    reduced(&call, data, sides.local.rank == 0, sides, t, s)
}

/// Appends a reduction of the local group's data; the result, if this rank gets it, is in scratch memory.
pub(super) fn reduced(call: &Call, data: Reduction, here: bool, sides: Sides, t: &Tuning, s: &mut Schedule) -> Span {
    if sides.local.size == 1 || data.elements() == 0 {
        return Span::elements(Buffer::Send, 0, data.elements());
    }
    let result = if here { s.scratch_elements(data.elements()) } else { Buffer::Recv };
    let place_result = |span: Span| if span.buffer == Buffer::Recv { Span { buffer: result, ..span } } else { span };
    within(call, sides.local, t, s, |rank| sides.ours(rank), place_result);
    Span::elements(result, 0, data.elements())
}
