//! The end of MPI in a process, and what any program may ask about its start (MPI-5.0 chapter 11).
//!
//! Before it: `abi::env`; after it: everything, for the last time.

use crate::errhandler::Object;
use crate::process::{self, Process};
use crate::{bsend, collective, errhandler, misuse};
use hawser_base::{Error, Lane, Result, handle};
use hawser_job::{Phase, Waiting};

/// MPI_Finalize: everything that this rank sent has been handed over, and all ranks have come so far.
///
/// Attributes of MPI_COMM_SELF are deleted first, while MPI still works (MPI-5.0 §11.2.4). MPI ends even if one of the
/// delete functions fails: that is the error given here, and its handler has been called.
pub fn finalize() -> Result<Option<Error>> {
    const NAME: &str = "MPI_Finalize";
    let process = process::get()?;
    let refused = process.self_comm().attributes.delete_all(handle::comm::SELF).err();
    if let Some(error) = &refused {
        errhandler::raise(&Object::Default, NAME, error);
    }
    bsend::flush(process);
    drain(process);
    misuse::tell_of_leaks(process);
    // Until all have come so far a peer may still need this rank to move: for a message that it reads here,
    // or an answer that it waits for.
    collective::barrier_of(NAME, handle::comm::WORLD)?;
    drain(process);
    let page = process.segment().rank(process.job().local_rank() as usize);
    page.set_phase(Phase::Finalized);
    process.job().finalize();
    see_off(process);
    process.finish();
    Ok(refused)
}

/// Waits until what this rank sent has arrived, or nobody needs it any more: all ranks have come so far. A peer that has may be
/// gone, and its last acknowledgement lost.
fn see_off(process: &'static Process) {
    let reason = || Waiting { call: "MPI_Finalize".to_owned(), ..Waiting::default() };
    let world = process.world().lane();
    process.wait_until(world, reason, |_| {
        let done = process.fabric().flush() || process.segment().all_finalized();
        done.then_some(())
    });
}

/// Waits until all that this rank has to send is with the devices, sends whose requests were freed too.
fn drain(process: &'static Process) {
    let reason = || Waiting { call: "MPI_Finalize".to_owned(), ..Waiting::default() };
    let lanes: Vec<Lane> = process.active_lanes().collect();
    for lane in lanes {
        process.wait_until(lane, reason, |lane| lane.is_drained().then_some(()));
    }
}

/// MPI_Abort: the whole job ends, whatever the communicator.
pub fn abort(code: i32, text: &str) -> ! {
    // What the program printed before tells what it was doing; its process ends without exit(3).
    hawser_os::host::flush_streams();
    match process::any() {
        Some(process) => process.job().abort(code, text),
        None => abort_outside(code, text),
    }
}

/// The same before MPI_Init: the launcher, if there is one, is told even so, for one line with rank and host.
fn abort_outside(code: i32, text: &str) -> ! {
    hawser_boot::world::abort_outside(code, text);
    eprintln!("hawser: {text}");
    hawser_os::host::exit_now(hawser_boot::world::exit_code(code))
}

/// MPI_Get_processor_name.
pub fn processor_name() -> String {
    hawser_os::host::name()
}
