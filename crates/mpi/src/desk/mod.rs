//! The desk of a communicator: the state of its collectives, of which it works on one at a time.
//!
//! Nothing here knows communicators or processes, and nothing waits; that is `collective`'s. Before it: `comm`,
//! `collective`; after it: `flags`, `memory`, `coll`.

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

/// A communicator's desk, which one thread at a time may use.
pub struct State(pub LaneCell<Desk>);

impl Default for State {
    fn default() -> State {
        State(LaneCell::new(Desk::default()))
    }
}

/// Where one collective at a time is worked on.
#[derive(Default)]
pub struct Desk {
    /// Collectives by messages so far, of each way: every member counts the same.
    pub counts: [u32; 3],
    pub ready: Option<Ready>,
    pub host: Option<Host>,
    /// Where the members are, if some share a host and some do not.
    pub hosts: Option<Hosts>,
    pub run: Run,
}

/// What is found out at the first collective, and at the first one after a tool has set a parameter.
#[derive(Clone, Copy)]
pub struct Ready {
    pub tuning: Tuning<'static>,
    /// `param::changes` before.
    pub changes: u32,
    /// Nobody forces another algorithm on the collectives that have a short way through flags.
    pub lean: bool,
    /// Members compare what they call (`HAWSER_CHECK`).
    pub checks: bool,
}

/// The buffers of a call, and its operation.
#[derive(Clone, Default)]
pub struct Job {
    pub send: Side,
    pub recv: Side,
    pub reduction: Option<(Reducer, Arc<Datatype>)>,
}

/// How a collective is carried out: the three forms of each MPI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Blocking,
    Nonblocking,
    Persistent,
}

/// Tags of each way, as many bits. Those of persistent collectives are kept while the others go on and come round again. Blocking and
/// nonblocking ones are counted apart: that all members begin both in one order (MPI-5.0 §6.12) programs do not always keep, mpi4py's
/// own test_ulfm for one, and other libraries do not notice.
const TAG_BITS: u32 = 29;

const _: () = assert!((Way::Persistent as i32) < i32::MAX >> TAG_BITS);

impl Desk {
    /// The flags, for a call that is short enough to go straight to them.
    #[inline]
    pub fn lean(&mut self, way: Way) -> Option<&mut Host> {
        let ready = self.ready.as_ref()?;
        if ready.lean && way == Way::Blocking { self.host.as_mut() } else { None }
    }

    /// The same for a call that ranks whose buffers are not as plain plan, and count.
    pub fn lean_and_counted(&mut self, way: Way) -> Option<&mut Host> {
        self.lean(way)?;
        self.next_tag(way);
        self.lean(way)
    }

    /// Whether members compare what they call.
    pub fn checks(&self) -> bool {
        self.ready.is_some_and(|ready| ready.checks)
    }

    /// The tag of the next collective by messages.
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
