//! Begin and end of MPI in a process, and what a program may query about its start (MPI-5.0 chapter 11).
//!
//! MPI is used by the World Model, once, and by sessions, as often as they like and beside it. The rank leaves the job
//! with the last of them, and comes back with the next session.
//!
//! Used by `abi::env`, `session`; ends the use of every other module.

use crate::process::{self, Process};
use crate::raise::{self, Object};
use crate::stage;
use crate::stage::{SESSIONS, WORLD};
use crate::{bsend, collective, leaks, lives};
use hawser_base::value::{THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SINGLE};
use hawser_base::{Class, Error, Lane, Result, handle, threads};
use hawser_boot::Word;
use hawser_job::{Phase, Waiting};

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
            raise::raise(&Object::Default, "MPI_Init", &error);
        }
    }
    predefined.iter().for_each(|(comm, _, name)| comm.renew(name));
    Ok(())
}

/// Begins the use of MPI by `who` (`stage::WORLD`, `stage::SESSIONS`).
pub(crate) fn begin(process: &'static Process, who: u8, thread_level: i32) -> Result<()> {
    if stage::was_forked() {
        return Err(stage::outside());
    }
    let mut users = stage::users();
    if who == WORLD && stage::was_initialized() {
        return Err(Error::new(Class::Other, "MPI is initialised already; it can be only once in a process"));
    }
    admit_threads(who, thread_level)?;
    if stage::in_use() == 0 {
        process.lanes().helper().map_or(Ok(()), |helper| helper.start(process.lanes()))?;
        process.segment().rank(process.job().identity().local_rank as usize).set_phase(Phase::Running);
        if std::mem::take(&mut users.has_left) {
            process.segment().set_all_finalized(false);
            process.job().tell(Word::Back);
        }
    }
    match who {
        WORLD => stage::set_world_model(thread_level),
        _ => users.sessions += 1,
    }
    stage::set(who, true);
    Ok(())
}

/// Switches the library from one thread inside at a time to several, if the caller may bring several: at
/// MPI_THREAD_MULTIPLE, or when a session is used beside another session or the World Model. Each of these may have a
/// thread of its own (MPI-5.0 §11.3.1), so that two threads may be inside whatever their levels are; MPI_THREAD_SINGLE
/// declares that there is one thread in all.
fn admit_threads(who: u8, thread_level: i32) -> Result<()> {
    let beside_others = who == SESSIONS || stage::in_use() & SESSIONS != 0;
    let several = thread_level == THREAD_MULTIPLE || beside_others && thread_level != THREAD_SINGLE;
    if !several || threads::several_callers() {
        return Ok(());
    }
    // The main thread may be inside at this moment, and does not know of another one.
    let funneled = stage::in_use() & WORLD != 0 && stage::thread_level().is_ok_and(|level| level == THREAD_FUNNELED);
    if funneled && !stage::is_main_thread()? {
        let text = "MPI_Init_thread was asked for MPI_THREAD_FUNNELED, and this is not the main thread; ask for \
                    MPI_THREAD_MULTIPLE";
        return Err(Error::new(Class::Other, text));
    }
    threads::set_multiple();
    Ok(())
}

/// Ends the use of MPI by `who`. The last one takes the rank out of the job.
pub(crate) fn end(process: &'static Process, who: u8, call: &'static str) {
    end_after(process, who, call, Until::Sent);
}

fn end_after(process: &'static Process, who: u8, call: &'static str, until: Until) {
    let mut users = stage::users();
    if who == SESSIONS {
        users.sessions -= 1;
        if users.sessions > 0 {
            return;
        }
    }
    if stage::in_use() == who {
        if let Some(helper) = process.lanes().helper() {
            helper.end();
        }
        leave(process, call, until);
        users.has_left = true;
    }
    stage::set(who, false);
}

/// MPI_Finalize: everything that this rank sent has been handed over, and all ranks have come so far.
///
/// Attributes of MPI_COMM_SELF are deleted first, while MPI still works (MPI-5.0 §11.2.4). The World Model ends even if
/// one of the delete functions fails: that is the error given here, and its handler has been called.
pub fn finalize() -> Result<Option<Error>> {
    const NAME: &str = "MPI_Finalize";
    let process = process::get()?;
    if stage::in_use() & WORLD == 0 {
        return Err(stage::outside());
    }
    let refused = process.self_comm().attributes.delete_all(handle::comm::SELF).err();
    if let Some(error) = &refused {
        raise::raise(&Object::Default, NAME, error);
    }
    // Pending operations of sessions may wait for peers that come to their own end of the World Model first.
    if stage::in_use() == WORLD {
        drain(process, NAME);
        leaks::tell_of_leaks(process);
    }
    // Until all ranks have come so far a peer may still need this rank to make progress: for a message that it reads
    // here, or a reply that it waits for.
    let until = match collective::barrier_of(NAME, handle::comm::WORLD) {
        Ok(()) => Until::Sent,
        Err(_) if lives::has_any_failed() => Until::AllLeft,
        Err(error) => return Err(error),
    };
    end_after(process, WORLD, NAME, until);
    Ok(refused)
}

/// The event until which a rank that leaves still serves its peers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// All that it sent has arrived, or all ranks have left.
    Sent,
    /// All ranks have left: some process has failed, so that they could not meet.
    AllLeft,
}

/// Leaves the job: from here on the rank's end is no failure of the job.
fn leave(process: &'static Process, call: &'static str, until: Until) {
    drain(process, call);
    let page = process.segment().rank(process.job().identity().local_rank as usize);
    page.set_phase(Phase::Finalized);
    process.job().tell(Word::Left);
    // Peers may leave without having communicated with all ranks: pending acknowledgements are sent to them now.
    process.fabric().before_sleep();
    see_off(process, call, until);
}

/// Waits until all that this rank sent has arrived, or no rank needs it any more: all ranks have come so far. A peer
/// that has may be gone, and its last acknowledgement lost.
fn see_off(process: &'static Process, call: &'static str, until: Until) {
    let reason = || Waiting { call: call.to_owned(), ..Waiting::default() };
    let world = process.world().lane();
    process.lanes().wait_until(world, reason, |_| {
        let has_arrived = process.fabric().flush() && until == Until::Sent;
        (has_arrived || process.segment().all_finalized()).then_some(())
    });
    // Not only where all was acknowledged: when all ranks have come so far none waits for that.
    process.fabric().rest();
}

/// Waits until the devices have all that this rank has to send, including buffered sends and those whose requests were
/// freed.
fn drain(process: &'static Process, call: &'static str) {
    bsend::flush(process, call, process.attached());
    let reason = || Waiting { call: call.to_owned(), ..Waiting::default() };
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
