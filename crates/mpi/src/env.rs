//! The begin and the end of the use of MPI in a process (MPI-5.0 chapter 11), and the processor's name.
//!
//! The World Model uses MPI once in a process. Sessions use it as often as the program likes, also at the same time
//! as the World Model. The rank leaves the job when the last use ends, and comes back when the next one begins.
//!
//! Used by `abi::env` and `session`; uses `init_state`, `process`, `raise`, `bsend`, `collective`, `failures` and
//! `leaks`.

use crate::init_state;
use crate::init_state::{SESSIONS, WORLD};
use crate::process::{self, Process};
use crate::raise::{self, ErrorObject};
use crate::{bsend, collective, failures, leaks};
use hawser_base::value::{THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SINGLE};
use hawser_base::{Class, Error, Lane, Result, handle, lane_lock};
use hawser_boot::Notification;
use hawser_job::{OwnedWaitReason, RankPhase};

/// MPI_Init. It resets what sessions have set on MPI_COMM_WORLD and MPI_COMM_SELF before: attributes, names, error
/// handlers and hints.
pub fn init(process: &'static Process, thread_level: i32) -> Result<()> {
    begin(process, WORLD, thread_level)?;
    let predefined = [
        (process.world(), handle::comm::WORLD, process::WORLD_NAME),
        (process.self_comm(), handle::comm::SELF, process::SELF_NAME),
    ];
    // The error handlers are removed last: if a delete function fails, the error goes to the handler that a session
    // has set.
    for (comm, handle, _) in predefined {
        if let Err(error) = comm.attributes.delete_all(handle) {
            raise::raise(&ErrorObject::Default, "MPI_Init", &error);
        }
    }
    predefined.iter().for_each(|(comm, _, name)| comm.reset(name));
    Ok(())
}

/// Begins the use of MPI by `model` (`init_state::WORLD`, `init_state::SESSIONS`). MPI_ERR_OTHER in a child of fork,
/// and if the World Model begins for the second time.
pub(crate) fn begin(process: &'static Process, model: u8, thread_level: i32) -> Result<()> {
    if init_state::was_forked() {
        return Err(init_state::not_running_error());
    }
    let mut state = init_state::lock_state();
    if model == WORLD && init_state::was_initialized() {
        return Err(Error::new(Class::Other, "MPI is already initialised; a process can initialise it only once"));
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

/// Switches the library from one thread inside at a time to several, if several may come: at MPI_THREAD_MULTIPLE; and
/// at every level except MPI_THREAD_SINGLE if a session begins, or if the World Model begins while there are
/// sessions. Each session and the World Model may be used by a thread of its own (MPI-5.0 §11.3.1), so two threads
/// may be inside at once whatever their levels are; MPI_THREAD_SINGLE declares that the process has one thread in
/// all.
fn allow_threads(model: u8, thread_level: i32) -> Result<()> {
    let is_beside_others = model == SESSIONS || init_state::active_models() & SESSIONS != 0;
    let may_be_several = thread_level == THREAD_MULTIPLE || is_beside_others && thread_level != THREAD_SINGLE;
    if !may_be_several || lane_lock::has_several_app_threads() {
        return Ok(());
    }
    // At MPI_THREAD_FUNNELED the main thread may be inside the library at this moment, and takes no locks. Only that
    // thread may make the switch.
    let is_funneled = init_state::active_models() & WORLD != 0
        && init_state::thread_level().is_ok_and(|level| level == THREAD_FUNNELED);
    if is_funneled && !init_state::is_main_thread()? {
        let text = "MPI_Init_thread requested MPI_THREAD_FUNNELED, and this is not the main thread; request \
                    MPI_THREAD_MULTIPLE";
        return Err(Error::new(Class::Other, text));
    }
    lane_lock::set_thread_multiple();
    Ok(())
}

/// Ends one use of MPI by `model`. If it was the last use, the rank leaves the job.
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

/// MPI_Finalize: waits until all ranks have reached this call. If there are no sessions, it flushes all sends before
/// that wait, and leaves the job after it.
///
/// Attributes of MPI_COMM_SELF are deleted first, while MPI still works (MPI-5.0 §11.2.4). The World Model ends even
/// if one of the delete functions fails. The result is then the error of that function, for which the error handler
/// has been called already.
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
    // While there are sessions nothing is flushed: a pending operation of a session may wait for a peer that comes to
    // its own MPI_Finalize first.
    if init_state::active_models() == WORLD {
        flush_sends(process, NAME);
        leaks::report_leaks(process);
    }
    // Until all ranks have reached this call, a peer may still need this rank's progress: the peer may read a message
    // from this rank's memory, or wait for a reply.
    let condition = match collective::barrier_of(NAME, handle::comm::WORLD) {
        Ok(()) => LeaveCondition::AllSent,
        Err(_) if failures::has_any_failed() => LeaveCondition::AllRanksLeft,
        Err(error) => return Err(error),
    };
    end_after(process, WORLD, NAME, condition);
    Ok(first_error)
}

/// The event up to which a rank that leaves the job still makes progress for its peers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaveCondition {
    /// Everything that this rank sent has arrived, or all ranks have left.
    AllSent,
    /// All ranks have left. It is used when a process has failed, because the barrier of MPI_Finalize has then failed
    /// too.
    AllRanksLeft,
}

/// Leaves the job: from here on the end of this process is no failure of the job.
fn leave_job(process: &'static Process, call: &'static str, condition: LeaveCondition) {
    flush_sends(process, call);
    let page = process.segment().rank(process.job().identity().local_rank as usize);
    page.set_phase(RankPhase::Finalized);
    process.job().notify(Notification::Left);
    // A peer that leaves waits for the acknowledgements that this rank owes to it, so they are sent now.
    process.fabric().before_sleep();
    wait_for_acks(process, call, condition);
}

/// Waits until everything that this rank sent has arrived (`LeaveCondition::AllSent`), or until all ranks have left
/// the job. In the second case acknowledgements may be missing for ever: a peer that has left may be gone, and its
/// last acknowledgement lost.
fn wait_for_acks(process: &'static Process, call: &'static str, condition: LeaveCondition) {
    let reason = || OwnedWaitReason { call: call.to_owned(), ..OwnedWaitReason::default() };
    let world = process.world().lane();
    process.lanes().wait_until(world, reason, |_| {
        let has_arrived = process.fabric().flush() && condition == LeaveCondition::AllSent;
        (has_arrived || process.segment().all_finalized()).then_some(())
    });
    // The devices publish their counters here, even if acknowledgements are missing: once all ranks have left, none
    // waits for them.
    process.fabric().on_idle();
}

/// Waits until the devices have everything that this rank has to send, including buffered sends and sends whose
/// requests were freed.
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
