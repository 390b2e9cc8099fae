//! The collective engine (`CollectiveEngine`) of a communicator: the state of the communicator's collectives, which
//! run one after the other.
//!
//! Nothing here knows communicators or processes, and nothing here waits; `collective` does both. Used by `comm` and
//! `collective`; uses `run_memory`, `schedule_run`, `shm`, `step_queue`, `ops` and `coll`.

pub mod flags;
pub mod run_memory;
pub mod schedule_run;
pub mod shm;
pub mod slot_exchange;
pub mod step_queue;

use crate::ops::Reducer;
use hawser_base::lane_lock::LaneCell;
use hawser_coll::{HostMap, Tuning};
use hawser_datatype::Datatype;
use run_memory::UserBuffer;
use schedule_run::ScheduleRun;
use shm::ShmCollective;
use std::sync::Arc;

/// A communicator's collective engine, which one thread at a time may use.
pub struct CollectiveEngineCell(pub LaneCell<CollectiveEngine>);

impl Default for CollectiveEngineCell {
    fn default() -> CollectiveEngineCell {
        CollectiveEngineCell(LaneCell::new(CollectiveEngine::default()))
    }
}

/// The state of a communicator's collectives. One collective at a time is in progress.
#[derive(Default)]
pub struct CollectiveEngine {
    /// The number of collectives that have received a tag so far, for each call form (`CallForm`). All members have
    /// the same counts, so that they give a collective the same tag.
    pub tag_counts: [u32; 3],
    pub cached: Option<CachedTuning>,
    pub shm: Option<ShmCollective>,
    /// The hosts of the members, if some share a host and some do not.
    pub hosts: Option<HostMap>,
    pub run: ScheduleRun,
}

/// The tuning of a communicator's collectives. It is determined at the first collective, and again at the first
/// collective after a tool has set a parameter.
#[derive(Clone, Copy)]
pub struct CachedTuning {
    pub tuning: Tuning<'static>,
    /// The value of `param::changes` from before the parameters were read. If it has changed, the tuning is out of
    /// date.
    pub changes: u32,
    /// Calls may take the fast path through flags: the communicator has flags, calls are not compared, and no
    /// parameter forces another algorithm on the collectives that have a fast path.
    pub fast_path: bool,
    /// The maximum length, in bytes, of a contribution to a shm step of a nonblocking collective.
    pub nonblocking_step_bytes: u64,
    /// Members compare their calls before each collective (`HAWSER_CHECK`).
    pub checks: bool,
}

/// The buffers of a call, and its operation.
#[derive(Clone, Default)]
pub struct CallBuffers {
    pub send: UserBuffer,
    pub recv: UserBuffer,
    pub reduction: Option<(Reducer, Arc<Datatype>)>,
}

/// The call form of a collective: the three forms of each MPI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallForm {
    Blocking,
    Nonblocking,
    Persistent,
}

/// The number of bits of a tag that count the collectives of one call form (`CallForm`); the bits above them name the
/// call form. Persistent collectives need a count of their own because they keep their tags, whereas the other counts
/// go on and wrap around. Blocking and nonblocking collectives have separate counts because some programs break the
/// rule that all members begin both kinds in one order (MPI-5.0 §6.12): mpi4py's own test_ulfm is one; other
/// libraries do not notice.
const TAG_BITS: u32 = 29;

const _: () = assert!((CallForm::Persistent as i32) < i32::MAX >> TAG_BITS);

impl CollectiveEngine {
    /// Returns the communicator's flags for a call that its caller wants to run through flags without a schedule.
    /// None if the call must have a schedule: it is not blocking, or the fast path is not permitted
    /// (`CachedTuning::fast_path`).
    #[inline]
    pub fn fast_path(&mut self, form: CallForm) -> Option<&mut ShmCollective> {
        let cached = self.cached.as_ref()?;
        if cached.fast_path && form == CallForm::Blocking { self.shm.as_mut() } else { None }
    }

    /// Returns the flags as `fast_path` does, and counts the call. Other ranks may have to run the same call by a
    /// schedule, because their buffers have gaps, and then they take a tag; this rank must count the call too.
    pub fn fast_path_counted(&mut self, form: CallForm) -> Option<&mut ShmCollective> {
        self.fast_path(form)?;
        self.next_tag(form);
        self.fast_path(form)
    }

    /// Tells whether members compare their calls.
    pub fn checks(&self) -> bool {
        self.cached.is_some_and(|cached| cached.checks)
    }

    /// Tells whether a nonblocking call may use flags. `bytes` is the longest contribution of a member; all members
    /// must know it. Persistent calls may not, because members may start them in any order.
    #[inline]
    pub fn nonblocking_flags(&self, form: CallForm, bytes: u64) -> bool {
        form == CallForm::Nonblocking
            && self.shm.is_some()
            && self.cached.is_some_and(|cached| cached.fast_path && bytes <= cached.nonblocking_step_bytes)
    }

    /// Tells whether a call with short equal blocks may be an exchange through flags without a schedule.
    #[inline]
    pub fn may_exchange(&mut self, form: CallForm) -> bool {
        self.fast_path(form).is_some() || self.nonblocking_flags(form, 0)
    }

    /// Counts a collective of this call form and returns its tag.
    pub fn next_tag(&mut self, form: CallForm) -> i32 {
        let count = &mut self.tag_counts[form as usize];
        *count = count.wrapping_add(1);
        ((form as u32) << TAG_BITS | (*count & ((1 << TAG_BITS) - 1))) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_different_ways_never_meet() {
        let forms = [CallForm::Blocking, CallForm::Nonblocking, CallForm::Persistent];
        let mut engine = CollectiveEngine::default();
        assert_eq!(forms.map(|form| engine.next_tag(form)), [1, 1 << 29 | 1, 1 << 30 | 1]);
        engine.tag_counts = [(1 << 29) - 2, (1 << 29) - 1, u32::MAX];
        let passing: Vec<i32> = (0..3).map(|_| engine.next_tag(CallForm::Blocking)).collect();
        assert_eq!(passing, [(1 << 29) - 1, 0, 1]);
        assert_eq!(forms[1..].iter().map(|&form| engine.next_tag(form)).collect::<Vec<_>>(), [1 << 29, 1 << 30]);
    }
}
