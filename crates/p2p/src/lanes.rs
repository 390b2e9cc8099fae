//! The lanes of one user of the transport in this process, which of them are in use, and how the user waits.
//!
//! MPI has one instance; other users have their own, with matching, order and credits of their own. Used by the user's
//! calls (MPI: `process`); uses `lane`, `wait` and `helper`.

use crate::counters::{self, Counter};
use crate::helper::Helper;
use crate::incoming;
use crate::lane::Lane;
use crate::matching::{Limits, QueueLengths};
use crate::request::Note;
use hawser_base::threads::{self, LaneCell};
use hawser_base::{LANES, Lane as LaneId};
use hawser_job::counters::Counters;
use hawser_job::{RankPage, Segment, Waiting};
use hawser_transport::{Fabric, Patience, Standby};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The parts from which a user's lanes are made.
pub struct Parts {
    pub fabric: &'static Fabric,
    pub limits: Limits,
    pub patience: Patience,
    pub counters: Counters,
    /// The standby of the progress thread, if the process is to have one.
    pub standby: Option<Standby>,
    /// Ends the process with this text: it has no memory for a message that its credit allowed a peer to send.
    pub give_up: fn(&str) -> !,
}

/// All lanes of one user. See the module.
pub struct Lanes<N: Note> {
    /// A bit for each lane in use. It is the first field because every call reads it.
    active: AtomicU32,
    /// Calls that polled the lanes and did not wait.
    pub(crate) glances: AtomicU32,
    fabric: &'static Fabric,
    patience: Patience,
    helper: Option<Helper>,
    lanes: [LaneCell<Lane<N>>; LANES],
    counters: Counters,
    queue_lengths: [Arc<QueueLengths>; LANES],
}
const _: () = assert!(LANES <= u32::BITS as usize);

impl<N: Note> Lanes<N> {
    pub fn new(parts: Parts) -> Lanes<N> {
        let Parts { fabric, limits, patience, counters, standby, give_up } = parts;
        let (contended, at) = counters.word(Counter::LaneContended as usize);
        let lanes: [Lane<N>; LANES] =
            std::array::from_fn(|i| Lane::new(LaneId(i as u8), fabric, limits, counters.clone(), give_up));
        let queue_lengths = lanes.each_ref().map(|lane| lane.core.engine.lengths().clone());
        Lanes {
            active: AtomicU32::new(0),
            glances: AtomicU32::new(0),
            fabric,
            patience,
            helper: standby.map(Helper::new),
            lanes: lanes.map(|lane| LaneCell::counted(lane, contended.clone(), at)),
            counters,
            queue_lengths,
        }
    }

    #[inline(always)]
    pub fn lane(&self, lane: LaneId) -> &LaneCell<Lane<N>> {
        &self.lanes[lane.index()]
    }

    /// Returns the lanes in use.
    pub fn active(&self) -> impl Iterator<Item = LaneId> + use<N> {
        let active = self.active.load(Relaxed); // partner: `activate`; a lane is activated before it is used
        (0..LANES as u8).filter(move |lane| active >> lane & 1 == 1).map(LaneId)
    }

    /// Marks a lane as used: threads that wait poll it from now on.
    pub fn activate(&self, lane: LaneId) {
        self.active.fetch_or(1 << lane.0, Relaxed); // partner: `active`
    }

    /// Releases the state of the process of this host's job whose release is requested (`Segment::ask_back`), unless
    /// that is done, and reports it in the rank's page once nothing is left.
    pub fn answer(&self, segment: &Segment, page: &RankPage) {
        let asked = segment.asked_back().filter(|&peer| page.given_back() != Some(peer));
        if let Some(peer) = asked
            && self.lanes.iter().all(|lane| lane.enter().give_back(peer))
        {
            page.answer(peer);
        }
    }

    pub fn fabric(&self) -> &'static Fabric {
        self.fabric
    }

    #[inline(always)]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    #[inline(always)]
    pub fn helper(&self) -> Option<&Helper> {
        self.helper.as_ref()
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the queue lengths of each lane; any thread may read them at any time.
    pub fn queue_lengths(&self) -> impl Iterator<Item = &QueueLengths> {
        self.queue_lengths.iter().map(|lengths| &**lengths)
    }

    /// Counts an empty poll by a call that does not wait. A program that keeps polling is waiting too, and reports then
    /// show `reason`.
    #[inline]
    pub fn polled_in_vain(&self, reason: impl FnOnce() -> Waiting) {
        self.patience.poll_in_vain(|| self.counters.sum(counters::MOVING), reason);
    }

    /// Returns the number of polls of its peer's ring alone that a receive makes (`Lane::take_directly`).
    #[inline]
    pub fn direct_turns(&self) -> u32 {
        if self.patience.is_crowded() {
            1
        } else if threads::several_callers() {
            incoming::TURNS_SHARED
        } else {
            incoming::TURNS
        }
    }
}
