//! The lanes of one user of the transport in this process, which of them are in use, and how the user waits.
//!
//! A lane is a part of a process's state that has its own lock, rings and queues; each communicator uses one lane.
//! MPI has one `Lanes`; other users have their own, with matching, order and credits of their own. Used by the user's
//! calls (MPI: `process`); uses `lane`, `wait` and `progress_thread`.

use crate::counters::{self, Counter};
use crate::joined_lanes::JoinedLanes;
use crate::lane::LaneState;
use crate::matching::{PeerLimits, QueueLengths};
use crate::progress_thread::ProgressThread;
use crate::recv;
use crate::request::RequestData;
use crate::send_run;
use hawser_base::lane_lock::{self, LaneCell};
use hawser_base::{LANES, Lane as LaneId};
use hawser_job::counters::Counters;
use hawser_job::{OwnedWaitReason, RankPage, Segment};
use hawser_transport::{Fabric, ProgressSleep, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The parts from which a user's lanes are made.
pub struct LanesConfig {
    pub fabric: &'static Fabric,
    pub limits: PeerLimits,
    pub wait_policy: WaitPolicy,
    pub counters: Counters,
    /// The object by which the progress thread sleeps and is woken; None if the process has no progress thread.
    pub progress_sleep: Option<ProgressSleep>,
    /// Ends the process with this text: it has no memory for a message that its credit allowed a peer to send.
    pub abort_out_of_memory: fn(&str) -> !,
}

/// All lanes of one user. See the module.
pub struct Lanes<N: RequestData> {
    /// A bit for each lane in use. It is the first field because every call reads it.
    active: AtomicU32,
    /// The lanes in which sends wait to be joined.
    joined: JoinedLanes,
    /// The number of calls that polled the lanes and did not wait (`poll_others`). They are counted only if several
    /// threads of the application may use MPI.
    pub(crate) poll_calls: AtomicU32,
    fabric: &'static Fabric,
    wait_policy: WaitPolicy,
    progress_thread: Option<ProgressThread>,
    lanes: [LaneCell<LaneState<N>>; LANES],
    counters: Counters,
    queue_lengths: [Arc<QueueLengths>; LANES],
}
const _: () = assert!(LANES <= u32::BITS as usize);

impl<N: RequestData> Lanes<N> {
    pub fn new(config: LanesConfig) -> Lanes<N> {
        let LanesConfig { fabric, limits, wait_policy, counters, progress_sleep, abort_out_of_memory } = config;
        let (contended, at) = counters.word(Counter::LaneContended as usize);
        let joined = JoinedLanes::default();
        // No send waits where a progress thread sends at once what a program has left.
        let join_gap_ns = if progress_sleep.is_none() { send_run::GAP_MAX_NS } else { 0 };
        let lanes: [LaneState<N>; LANES] = std::array::from_fn(|i| {
            let id = LaneId(i as u8);
            let lane = LaneState::new(id, fabric, limits.clone(), counters.clone(), abort_out_of_memory);
            LaneState { joined: joined.clone(), join_gap_ns, ..lane }
        });
        let queue_lengths = lanes.each_ref().map(|lane| lane.core.engine.queue_lengths().clone());
        Lanes {
            active: AtomicU32::new(0),
            joined,
            poll_calls: AtomicU32::new(0),
            fabric,
            wait_policy,
            progress_thread: progress_sleep.map(ProgressThread::new),
            lanes: lanes.map(|lane| LaneCell::counted(lane, contended.clone(), at)),
            counters,
            queue_lengths,
        }
    }

    #[inline(always)]
    pub fn lane(&self, lane: LaneId) -> &LaneCell<LaneState<N>> {
        &self.lanes[lane.index()]
    }

    /// Returns the lanes in use.
    pub fn active(&self) -> impl Iterator<Item = LaneId> + use<N> {
        let active = self.active.load(Relaxed); // partner: `activate`, which comes before any use of a lane
        (0..LANES as u8).filter(move |lane| active >> lane & 1 == 1).map(LaneId)
    }

    /// Starts the sends that wait to be joined, for a call that may complete without a poll.
    #[inline(always)]
    pub fn start_joined(&'static self) {
        let bits = self.joined.bits();
        if bits != 0 {
            self.start_joined_in(bits);
        }
    }

    #[cold]
    fn start_joined_in(&'static self, bits: u32) {
        for lane in (0..LANES as u8).filter(|lane| bits >> lane & 1 == 1).map(LaneId) {
            let mut guard = self.lane(lane).enter_as_non_owner();
            guard.flush_effects();
            self.joined.clear(lane);
            self.leave(lane, guard);
        }
    }

    /// Marks a lane as used: threads that wait poll it from now on.
    pub fn activate(&self, lane: LaneId) {
        self.active.fetch_or(1 << lane.0, Relaxed); // partner: `active`
    }

    /// Carries out the request to release a process that has ended (`Segment::request_release`), if there is one that
    /// this rank has not confirmed: releases the state of that process in all lanes, and confirms it in the rank's
    /// page when nothing is left.
    pub fn handle_release_request(&self, segment: &Segment, page: &RankPage) {
        let requested = segment.requested_release().filter(|&peer| page.last_released() != Some(peer));
        if let Some(peer) = requested
            && self.lanes.iter().all(|lane| lane.enter().release_peer(peer))
        {
            page.confirm_release(peer);
        }
    }

    pub fn fabric(&self) -> &'static Fabric {
        self.fabric
    }

    #[inline(always)]
    pub fn wait_policy(&self) -> &WaitPolicy {
        &self.wait_policy
    }

    #[inline(always)]
    pub fn progress_thread(&self) -> Option<&ProgressThread> {
        self.progress_thread.as_ref()
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the queue lengths of each lane; any thread may read them at any time.
    pub fn queue_lengths(&self) -> impl Iterator<Item = &QueueLengths> {
        self.queue_lengths.iter().map(|lengths| &**lengths)
    }

    /// Counts an empty poll by a call that does not wait. A program that does nothing but such calls is waiting, too:
    /// after a while (`WaitPolicy::record_empty_poll`) reports show `reason` for it.
    #[inline]
    pub fn record_empty_poll(&self, reason: impl FnOnce() -> OwnedWaitReason) {
        self.wait_policy.record_empty_poll(|| self.counters.sum(counters::PROGRESS_COUNTERS), reason);
    }

    /// Returns the maximum number of times that a receive polls only its peer's ring, before it is posted
    /// (`LaneState::recv_directly`).
    #[inline]
    pub fn direct_polls(&self) -> u32 {
        if self.wait_policy.is_oversubscribed() {
            1
        } else if lane_lock::has_several_app_threads() {
            recv::DIRECT_POLLS_SHARED
        } else {
            recv::DIRECT_POLLS
        }
    }
}
