//! Waiting in shm steps: the protocol of `engine::flags` on a communicator's block.
//!
//! A rank that waits here also makes progress on its messages. It polls its lanes at intervals of some iterations of
//! the wait loop, which are shorter while operations of its own are pending, and always before it sleeps. No lane is
//! locked while a step is polled, because reductions call the application's functions.
//!
//! Used by `run` and by the fast paths of `barrier_bcast`, `reductions` and `CollectiveEngine::exchange`; uses
//! `engine` and `p2p::wait`.

use crate::comm::Comm;
use crate::engine::flags::exchange::ExchangeSpec;
use crate::engine::flags::{StepKind, StepPhase, StepResult, StepSpec};
use crate::engine::shm::{ShmCollective, StepBuffers, mismatch_error};
use crate::engine::slot_exchange::ExchangeData;
use crate::process::Process;
use hawser_base::lane_lock::{TryEnter, is_multithreaded};
use hawser_base::{Class, Error, Peer, Result};
use hawser_job::OwnedWaitReason;
use hawser_p2p::counters::Counter;
use hawser_p2p::wait::NO_LANE;
use hawser_transport::wait_peer;

/// Runs a step of the whole communicator, and waits until it has ended for this member. Fails with
/// MPI_ERR_PROC_ABORTED if a member has ended before it left this step or an earlier one, and with MPI_ERR_TRUNCATE
/// if the members' calls do not match.
#[inline]
pub fn run_step(
    process: &'static Process,
    comm: &Comm,
    shm: &mut ShmCollective,
    call: &'static str,
    kind: StepKind,
    buffers: &StepBuffers<'_>,
) -> Result<()> {
    resume_step(process, comm, shm, call, StepPhase::Enter, &ShmCollective::spec(kind, buffers), buffers)
}

/// Does the same as `run_step` for a step that may have begun: `phase` is its state.
pub fn resume_step(
    process: &'static Process,
    comm: &Comm,
    shm: &mut ShmCollective,
    call: &'static str,
    phase: StepPhase,
    spec: &StepSpec,
    buffers: &StepBuffers<'_>,
) -> Result<()> {
    complete(process, comm, shm, call, phase, spec.bytes, |shm, phase| shm.poll(phase, spec, buffers))
}

/// Does the same as `resume_step` for an exchange.
#[inline]
pub fn run_exchange(
    process: &'static Process,
    comm: &Comm,
    shm: &mut ShmCollective,
    call: &'static str,
    phase: StepPhase,
    step: &ExchangeSpec,
    data: &mut impl ExchangeData,
) -> Result<()> {
    complete(process, comm, shm, call, phase, step.bytes, |shm, phase| shm.poll_exchange(phase, step, data))
}

/// Polls a step until it has ended for this member, waiting if necessary. `bytes` is the length of this member's
/// contribution, for the error text.
#[inline]
fn complete(
    process: &'static Process,
    comm: &Comm,
    shm: &mut ShmCollective,
    call: &'static str,
    mut phase: StepPhase,
    bytes: u32,
    mut poll: impl FnMut(&mut ShmCollective, &mut StepPhase) -> Option<StepResult>,
) -> Result<()> {
    if let Some(peer) = shm.lost_process {
        return Err(exited_error(process, peer));
    }
    process.lanes().start_joined();
    let mut result = poll(shm, &mut phase);
    if result.is_none() && !process.wait_policy().is_oversubscribed() && !is_multithreaded() {
        // These polls come before the wait loop, because the loop's first iterations read the clock and check for
        // other work, which takes as long as a short step.
        for _ in 0..DIRECT_POLLS {
            std::hint::spin_loop();
            result = poll(shm, &mut phase);
            if result.is_some() {
                break;
            }
        }
    }
    let result = match result {
        Some(result) => result,
        None => wait(process, comm, shm, call, &mut phase, poll)?,
    };
    count_step(process, result, call, bytes)
}

/// Counts a step that has ended, and returns its result for a call that passes `bytes` bytes.
#[inline]
pub fn count_step(process: &Process, result: StepResult, call: &str, bytes: u32) -> Result<()> {
    process.counters().add(Counter::ShmSteps as usize, 1);
    match result {
        StepResult::Complete => Ok(()),
        StepResult::Mismatch => Err(mismatch_error(call, bytes)),
    }
}

/// The number of polls of the flags before the wait loop, if this rank has a core for itself and one thread. They
/// take about as long as a short step.
const DIRECT_POLLS: u32 = 32;

/// The numbers of iterations of the wait loop between two polls of the lanes: the first if operations of this rank
/// are pending, the second if none is. SPINNING is used if this rank has a core for itself, YIELDING if another
/// process needs the core (`WaitPolicy::is_oversubscribed`), where each iteration yields it.
const LANE_POLLS_SPINNING: [u32; 2] = [8, 64];
const LANE_POLLS_YIELDING: [u32; 2] = [1, 8];

#[inline(never)]
fn wait(
    process: &'static Process,
    comm: &Comm,
    shm: &mut ShmCollective,
    call: &'static str,
    phase: &mut StepPhase,
    mut poll: impl FnMut(&mut ShmCollective, &mut StepPhase) -> Option<StepResult>,
) -> Result<StepResult> {
    let mut attending = None; // declared first, so that it is dropped after `idle`: see `Lanes::wait_until` of `p2p`
    let mut idle = process.wait_policy().begin_wait();
    let mut poll_interval = u32::MAX;
    for turn in 0u32.. {
        if turn == 1 {
            attending.get_or_insert_with(|| process.lanes().begin_wait());
            // The lanes are not polled before this iteration, because with more ranks than cores most steps end
            // within one iteration.
            let period =
                if process.wait_policy().is_oversubscribed() { LANE_POLLS_YIELDING } else { LANE_POLLS_SPINNING };
            poll_interval = period[!process.has_operations() as usize];
        }
        let poll_lanes = turn > 0 && turn.is_multiple_of(poll_interval) || idle.is_armed();
        if poll_lanes && let Some(error) = find_lost(process, comm, shm) {
            return Err(error);
        }
        if poll_lanes && process.lanes().progress_while_waiting(&mut idle, NO_LANE) {
            idle.restart_spin();
        } else {
            idle.pause(|| wait_reason(comm, shm.missing_member(), call));
        }
        if let Some(result) = poll(shm, phase) {
            return Ok(result);
        }
    }
    unreachable!("a wait of {} iterations", u32::MAX)
}

/// Returns the reason of a wait in `call`. `missing` is a member that has not entered the step, if there is one.
#[cold]
pub fn wait_reason(comm: &Comm, missing: Option<usize>, call: &'static str) -> OwnedWaitReason {
    OwnedWaitReason {
        call: call.to_owned(),
        communicator: comm.display_name(),
        peer: wait_peer_or_none(missing.and_then(|member| comm.group().peer(member as u32))),
        context: comm.context().0,
        ..OwnedWaitReason::default()
    }
}

fn wait_peer_or_none(peer: Option<Peer>) -> hawser_job::WaitPeer {
    peer.map_or(hawser_job::WaitPeer::None, |peer| wait_peer(Some(peer)))
}

/// Returns the error if a member has ended and has not left the current step. No further step can end then.
#[inline]
pub fn find_lost(process: &Process, comm: &Comm, shm: &mut ShmCollective) -> Option<Error> {
    let peer = lost_member(process, comm, shm)?;
    shm.lost_process = Some(peer);
    Some(exited_error(process, peer))
}

/// Returns a member that has ended and has not left the current step; `None` if there is none.
fn lost_member(process: &Process, comm: &Comm, shm: &ShmCollective) -> Option<Peer> {
    let exit_log = process.segment().exit_log();
    if !exit_log.has_any() {
        return None;
    }
    let has_exited = |member: usize| comm.group().peer(member as u32).is_some_and(|peer| exit_log.has_ended(peer));
    shm.lost_member_among(has_exited).and_then(|member| comm.group().peer(member as u32))
}

#[cold]
pub fn exited_error(process: &Process, peer: Peer) -> Error {
    let text = format!("{} has ended and takes part in no collective of the communicator", process.peer_name(peer));
    Error::new(Class::ProcAborted, text)
}

impl Process {
    /// Tells whether operations of this rank are pending on any lane. It returns true also if a lane cannot be
    /// examined because another thread is inside, polls it or owns it.
    fn has_operations(&'static self) -> bool {
        self.lanes().active().any(|lane| match self.lane(lane).try_enter_unless_owned(None) {
            TryEnter::Entered(lane) => !lane.core.engine.is_idle() || !lane.is_idle() || !lane.is_drained(),
            TryEnter::Busy | TryEnter::RecentlyUsed => true,
        })
    }
}
