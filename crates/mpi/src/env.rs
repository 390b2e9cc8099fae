//! Begin and end of MPI in a process, and what a program may query about its start (MPI-5.0 chapter 11).
//!
//! MPI is used by the World Model, once, and by sessions, as often as they like and beside it. The rank leaves the job
//! with the last of them, and comes back with the next session.
//!
//! Used by `abi::env`, `session`; ends the use of every other module.

use crate::init_state;
use crate::init_state::{SESSIONS, WORLD};
use crate::process::{self, Process};
use crate::raise::{self, ErrorObject};
use crate::{bsend, collective, failures, leaks};
use hawser_base::value::{THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SINGLE};
use hawser_base::{Class, Error, Lane, Result, handle, lane_lock};
use hawser_boot::Notification;
use hawser_job::{OwnedWaitReason, RankPhase};

/// MPI_Init. MPI_COMM_WORLD and MPI_COMM_SELF are new, whatever a session has set on them before.
pub fn init(process: &'static Process, thread_level: i32) -> Result<()> {
    begin(process, WORLD, thread_level)?;
    let predefined = [
        (process.world(), handle::comm::WORLD, process::WORLD_NAME),
        (process.self_comm(), handle::comm::SELF, process::SELF_NAME),
    ];
    // The error handlers are replaced last: those of the session get the error of a delete function that fails.
    for (comm, handle, _) in predefined {
        if let Err(error) = comm.attributes.delete_all(handle) {
            raise::raise(&ErrorObject::Default, "MPI_Init", &error);
        }
    }
    predefined.iter().for_each(|(comm, _, name)| comm.reset(name));
    Ok(())
}

/// Begins the use of MPI by `model` (`init_state::WORLD`, `init_state::SESSIONS`).
pub(crate) fn begin(process: &'static Process, model: u8, thread_level: i32) -> Result<()> {
    if init_state::was_forked() {
        return Err(init_state::not_running_error());
    }
    let mut state = init_state::lock_state();
    if model == WORLD && init_state::was_initialized() {
        return Err(Error::new(Class::Other, "MPI is initialised already; it can be only once in a process"));
    }
    allow_threads(model, thread_level)?;
    if init_state::active_models() == 0 {
        process.lanes().progress_thread().map_or(Ok(()), |progress_thread| progress_thread.start(process.lanes()))?;
        process.segment().rank(process.job().identity().local_rank as usize).set_phase(RankPhase::Running);
        if std::mem::take(&mut state.has_reported_leave) {
            process.segment().set_all_finalized(false);
            process.job().notify(Notification::Back);
        }
    }
    match model {
        WORLD => init_state::set_world_model(thread_level),
        _ => state.sessions += 1,
    }
    init_state::set_active(model, true);
    Ok(())
}

/// Switches the library from one thread inside at a time to several, if the caller may bring several: at
/// MPI_THREAD_MULTIPLE, or when a session is used beside another session or the World Model. Each of these may have a
/// thread of its own (MPI-5.0 §11.3.1), so that two threads may be inside whatever their levels are; MPI_THREAD_SINGLE
/// declares that there is one thread in all.
fn allow_threads(model: u8, thread_level: i32) -> Result<()> {
    let is_beside_others = model == SESSIONS || init_state::active_models() & SESSIONS != 0;
    let may_be_several = thread_level == THREAD_MULTIPLE || is_beside_others && thread_level != THREAD_SINGLE;
    if !may_be_several || lane_lock::has_several_app_threads() {
        return Ok(());
    }
    // The main thread may be inside at this moment, and does not know of another one.
    let is_funneled = init_state::active_models() & WORLD != 0
        && init_state::thread_level().is_ok_and(|level| level == THREAD_FUNNELED);
    if is_funneled && !init_state::is_main_thread()? {
        let text = "MPI_Init_thread was asked for MPI_THREAD_FUNNELED, and this is not the main thread; ask for \
                    MPI_THREAD_MULTIPLE";
        return Err(Error::new(Class::Other, text));
    }
    lane_lock::set_thread_multiple();
    Ok(())
}

/// Ends the use of MPI by `model`. The last one takes the rank out of the job.
pub(crate) fn end(process: &'static Process, model: u8, call: &'static str) {
    end_after(process, model, call, LeaveCondition::AllSent);
}

fn end_after(process: &'static Process, model: u8, call: &'static str, condition: LeaveCondition) {
    let mut state = init_state::lock_state();
    if model == SESSIONS {
        state.sessions -= 1;
        if state.sessions > 0 {
            return;
        }
    }
    if init_state::active_models() == model {
        if let Some(progress_thread) = process.lanes().progress_thread() {
            progress_thread.end();
        }
        leave_job(process, call, condition);
        state.has_reported_leave = true;
    }
    init_state::set_active(model, false);
}

/// MPI_Finalize: everything that this rank sent has been handed over, and all ranks have reached this call.
///
/// Attributes of MPI_COMM_SELF are deleted first, while MPI still works (MPI-5.0 §11.2.4). The World Model ends even if
/// one of the delete functions fails: that is the error given here, and its handler has been called.
pub fn finalize() -> Result<Option<Error>> {
    const NAME: &str = "MPI_Finalize";
    let process = process::get()?;
    if init_state::active_models() & WORLD == 0 {
        return Err(init_state::not_running_error());
    }
    let first_error = process.self_comm().attributes.delete_all(handle::comm::SELF).err();
    if let Some(error) = &first_error {
        raise::raise(&ErrorObject::Default, NAME, error);
    }
    // Pending operations of sessions may wait for peers that come to their own end of the World Model first.
    if init_state::active_models() == WORLD {
        flush_sends(process, NAME);
        leaks::report_leaks(process);
    }
    // Until all ranks have reached this call, a peer may still need this rank to make progress: for a message that
    // it reads here, or a reply that it waits for.
    let condition = match collective::barrier_of(NAME, handle::comm::WORLD) {
        Ok(()) => LeaveCondition::AllSent,
        Err(_) if failures::has_any_failed() => LeaveCondition::AllRanksLeft,
        Err(error) => return Err(error),
    };
    end_after(process, WORLD, NAME, condition);
    Ok(first_error)
}

/// The event until which a rank that leaves still serves its peers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaveCondition {
    /// All that it sent has arrived, or all ranks have left.
    AllSent,
    /// All ranks have left: some process has failed, so that they could not meet.
    AllRanksLeft,
}

/// Leaves the job: from here on the rank's end is no failure of the job.
fn leave_job(process: &'static Process, call: &'static str, condition: LeaveCondition) {
    flush_sends(process, call);
    let page = process.segment().rank(process.job().identity().local_rank as usize);
    page.set_phase(RankPhase::Finalized);
    process.job().notify(Notification::Left);
    // Peers may leave without having communicated with all ranks: pending acknowledgements are sent to them now.
    process.fabric().before_sleep();
    wait_for_acks(process, call, condition);
}

/// Waits until all that this rank sent has arrived, or no rank needs it any more: all ranks have come so far. A peer
/// that has may be gone, and its last acknowledgement lost.
fn wait_for_acks(process: &'static Process, call: &'static str, condition: LeaveCondition) {
    let reason = || OwnedWaitReason { call: call.to_owned(), ..OwnedWaitReason::default() };
    let world = process.world().lane();
    process.lanes().wait_until(world, reason, |_| {
        let has_arrived = process.fabric().flush() && condition == LeaveCondition::AllSent;
        (has_arrived || process.segment().all_finalized()).then_some(())
    });
    // Not only where all was acknowledged: when all ranks have come so far none waits for that.
    process.fabric().on_idle();
}

/// Waits until the devices have all that this rank has to send, including buffered sends and those whose requests were
/// freed.
fn flush_sends(process: &'static Process, call: &'static str) {
    bsend::flush(process, call, process.attached_buffer());
    let reason = || OwnedWaitReason { call: call.to_owned(), ..OwnedWaitReason::default() };
    let lanes: Vec<Lane> = process.lanes().active().collect();
    for lane in lanes {
        process.lanes().wait_until(lane, reason, |lane| lane.is_drained().then_some(()));
    }
}

pub use hawser_boot::protocol::ABORT_CALLED;

/// MPI_Get_processor_name.
pub fn processor_name() -> String {
    hawser_os::host::name()
}
