//! The collective engine (`Desk`) of a communicator: the state of its collectives, of which it runs one at a time.
//!
//! Nothing here knows communicators or processes, and nothing waits; that is `collective`'s part. Used by `comm` and
//! `collective`; uses `flags`, `memory`, `coll`.

pub mod exchange;
pub mod flags;
pub mod host;
pub mod memory;
pub mod run;

use crate::ops::Reducer;
use hawser_base::threads::LaneCell;
use hawser_coll::{Hosts, Tuning};
use hawser_datatype::Datatype;
use host::Host;
use memory::Side;
use run::Run;
use std::sync::Arc;

/// A communicator's collective engine, which one thread at a time may use.
pub struct State(pub LaneCell<Desk>);

impl Default for State {
    fn default() -> State {
        State(LaneCell::new(Desk::default()))
    }
}

/// The state of a communicator's collectives, of which one at a time is in progress.
#[derive(Default)]
pub struct Desk {
    /// The number of collectives by messages so far, for each call form (`Way`); all members count alike.
    pub counts: [u32; 3],
    pub ready: Option<Ready>,
    pub host: Option<Host>,
    /// The hosts of the members, if some share a host and some do not.
    pub hosts: Option<Hosts>,
    pub run: Run,
}

/// Figures that are determined at the first collective, and again at the first one after a tool has set a parameter.
#[derive(Clone, Copy)]
pub struct Ready {
    pub tuning: Tuning<'static>,
    /// The value of `param::changes` before.
    pub changes: u32,
    /// No parameter forces another algorithm on the collectives that have a fast path through flags.
    pub lean: bool,
    /// Members compare their calls (`HAWSER_CHECK`).
    pub checks: bool,
}

/// The buffers of a call, and its operation.
#[derive(Clone, Default)]
pub struct Job {
    pub send: Side,
    pub recv: Side,
    pub reduction: Option<(Reducer, Arc<Datatype>)>,
}

/// The call form of a collective: the three forms of each MPI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Blocking,
    Nonblocking,
    Persistent,
}

/// The number of tag bits that count the collectives of one call form (`Way`). Persistent collectives keep their tags
/// while the other counts go on and wrap around. Blocking and nonblocking ones are counted apart, because some programs
/// do not keep the rule that all members begin both in one order (MPI-5.0 §6.12): mpi4py's own test_ulfm, for one;
/// other libraries do not notice.
const TAG_BITS: u32 = 29;

const _: () = assert!((Way::Persistent as i32) < i32::MAX >> TAG_BITS);

impl Desk {
    /// Returns the flags, for a call that is short enough to use them without a schedule.
    #[inline]
    pub fn lean(&mut self, way: Way) -> Option<&mut Host> {
        let ready = self.ready.as_ref()?;
        if ready.lean && way == Way::Blocking { self.host.as_mut() } else { None }
    }

    /// The same for a call that ranks with less plain buffers run by a schedule, and count: this rank counts it too.
    pub fn lean_and_counted(&mut self, way: Way) -> Option<&mut Host> {
        self.lean(way)?;
        self.next_tag(way);
        self.lean(way)
    }

    /// Tells whether members compare their calls.
    pub fn checks(&self) -> bool {
        self.ready.is_some_and(|ready| ready.checks)
    }

    /// Returns the tag of the next collective by messages.
    pub fn next_tag(&mut self, way: Way) -> i32 {
        let count = &mut self.counts[way as usize];
        *count = count.wrapping_add(1);
        ((way as u32) << TAG_BITS | (*count & ((1 << TAG_BITS) - 1))) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_different_ways_never_meet() {
        let ways = [Way::Blocking, Way::Nonblocking, Way::Persistent];
        let mut desk = Desk::default();
        assert_eq!(ways.map(|way| desk.next_tag(way)), [1, 1 << 29 | 1, 1 << 30 | 1]);
        desk.counts = [(1 << 29) - 2, (1 << 29) - 1, u32::MAX];
        let passing: Vec<i32> = (0..3).map(|_| desk.next_tag(Way::Blocking)).collect();
        assert_eq!(passing, [(1 << 29) - 1, 0, 1]);
        assert_eq!(ways[1..].iter().map(|&way| desk.next_tag(way)).collect::<Vec<_>>(), [1 << 29, 1 << 30]);
    }
}
