//! What the rows "host" of collectives that move blocks have in common: blocks cut into what slots carry.
//!
//! In an exchange (`HostStep::Exchange`) each giver writes its slot once and each taker reads of others' slots what is its
//! own: every byte is copied twice, and nobody meets anybody but at the flags. Before it: those rows; after it: `schedule`.

use crate::schedule::{Piece, Span};
use crate::select::{Shape, Tuning};
use std::ops::Range;

/// Ranges of a block, one a step: as long as one block of several fits into a slot with the others.
pub(crate) fn steps(longest: u64, each: u64) -> impl Iterator<Item = Range<u64>> {
    (0..longest).step_by(each.max(1) as usize).map(move |at| at..(at + each).min(longest))
}

/// What of a block of `bytes` belongs to a step: nothing where it is shorter than others.
pub(crate) fn cut(span: Span, bytes: u64, step: &Range<u64>) -> Piece {
    let (skip, end) = (step.start.min(bytes), step.end.min(bytes));
    Piece { span, skip, bytes: end - skip }
}

/// The longest piece where a slot has one for each other rank.
pub(crate) fn share_of_slot(size: u32, t: &Tuning) -> u64 {
    /// Pieces begin on lines of their own where they are long.
    const LINE: u64 = 64;
    let share = t.limits.host_bytes / u64::from(size.max(2) - 1);
    if share < LINE { share } else { share / LINE * LINE }
}

/// Whether each other rank can have a piece of a slot.
pub(crate) fn fits_slot(s: &Shape, t: &Tuning) -> bool {
    s.host && share_of_slot(s.size, t) > 0
}

/// How many steps a block takes.
pub(crate) fn count(bytes: u64, each: u64) -> f64 {
    bytes.div_ceil(each.max(1)).max(1) as f64
}
