//! MPI_Barrier and MPI_Bcast.
//!
//! Used by `abi::coll` and `env`; uses `shm_wait` if the data is short and all members are on one host, otherwise
//! `CollectiveEngine::perform`.

use super::argument_check::{self, NO_DATA, RootRole, root_role};
use super::nonblocking::{CallNames, names};
use super::shm_wait;
use super::{CallBuffers, enter};
use crate::buffer::{self, BufferArg};
use crate::engine::CallForm;
use crate::engine::flags::StepKind;
use crate::engine::run_memory::UserBuffer;
use crate::engine::shm::{OwnedStep, StepBuffers};
use hawser_base::{Handle, Result};
use hawser_coll::CollectiveCall;
use hawser_coll::select::ONE_STEP_BYTES;
use hawser_p2p::buffer::Buffer;

/// MPI_Barrier.
#[inline]
pub fn barrier(form: CallForm, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Barrier" "barrier");
    match form {
        CallForm::Blocking => barrier_of(NAMES.blocking, comm).map(|()| Handle::NULL),
        _ => enter(comm, |process, comm, engine| {
            if engine.nonblocking_flags(form, 0) {
                let step = OwnedStep::new(StepKind::Barrier, Buffer::EMPTY, Buffer::EMPTY, None);
                return engine.begin_owned_step(process, comm, NAMES.nonblocking, step);
            }
            engine.perform(form, process, comm, NAMES.of_form(form), &CollectiveCall::Barrier, CallBuffers::default())
        }),
    }
}

/// Runs a barrier for the MPI function `name`, which reports and error texts then name.
pub fn barrier_of(name: &'static str, comm: Handle) -> Result<()> {
    enter(comm, |process, comm, engine| {
        if comm.all_members().size() == 1 {
            return Ok(());
        }
        if let Some(shm) = engine.fast_path(CallForm::Blocking) {
            return shm_wait::run_step(process, comm, shm, name, StepKind::Barrier, &StepBuffers::NONE);
        }
        engine.execute(process, comm, name, &CollectiveCall::Barrier, CallBuffers::default())
    })
}

/// MPI_Bcast.
pub fn bcast(form: CallForm, buf: &BufferArg, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Bcast" "bcast");
    let name = NAMES.of_form(form);
    enter(comm, |process, comm, engine| {
        let RootRole { root, is_root, has_own } = root_role(comm, root)?;
        if !is_root && !has_own {
            return engine.perform(
                form,
                process,
                comm,
                name,
                &CollectiveCall::Bcast { root, data: NO_DATA },
                CallBuffers::default(),
            );
        }
        let buffer = buffer::of(buf)?;
        let is_nothing = buffer.is_empty() && !comm.is_inter() && !engine.checks();
        if form == CallForm::Blocking && (comm.all_members().size() == 1 || is_nothing) {
            return Ok(Handle::NULL);
        }
        if buffer.len() <= ONE_STEP_BYTES
            && let Some(shm) = engine.fast_path(form)
        {
            let buffers = StepBuffers { from: buffer.clone(), into: buffer, ..StepBuffers::NONE };
            let kind = StepKind::Bcast { root: root as usize };
            return shm_wait::run_step(process, comm, shm, name, kind, &buffers).map(|()| Handle::NULL);
        }
        if !buffer.is_empty() && engine.nonblocking_flags(form, buffer.len()) {
            let step = OwnedStep::new(StepKind::Bcast { root: root as usize }, buffer.clone(), buffer, None);
            return engine.begin_owned_step(process, comm, name, step);
        }
        let (datatype, data) = argument_check::data(buf)?;
        let recv = UserBuffer::Uniform { at: buf.at, count: data.count, datatype };
        engine.perform(
            form,
            process,
            comm,
            name,
            &CollectiveCall::Bcast { root, data },
            CallBuffers { recv, ..CallBuffers::default() },
        )
    })
}
