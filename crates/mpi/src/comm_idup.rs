//! MPI_Comm_idup: the agreement on a communicator's number as a task (MPI-5.0 §7.4.2).
//!
//! Attributes and error handler are copied at the call, "as if MPI_COMM_DUP was executed" then; the application's
//! functions copy the attributes. The handle is returned at the call too, so that nothing is written to the
//! application's memory later. The communicator is ready when the task has ended.
//!
//! Used by `abi::comm`; uses `context_ids`, `collective::internal`, `task`.

use crate::collective::internal::AsyncCollectives;
use crate::comm::{Comm, CommRef, FlagBlockRef};
use crate::comm_create::{agreement_salt, flag_block_of_word, flag_block_word, free_retired_contexts};
use crate::context_ids::{self, Candidate, ContextIdAllocation, SearchPosition};
use crate::info::{self, Info};
use crate::process::{self, Process};
use crate::request::RequestKind;
use crate::task::{self, Task, TaskId, TaskResult, TaskStep};
use hawser_base::handle_table::PendingHandle;
use hawser_base::{Context, Error, Handle, Result};
use hawser_job::OwnedWaitReason;

/// The step of the agreement that is in progress.
enum IdupState {
    ReducingFreeIds,
    ReducingGeneration(Candidate),
    /// Receiving the number of the block of flags that rank 0 allocated.
    SharingFlags,
    /// Reporting to the others that the first round has failed here.
    Failing,
}

struct IdupTask {
    process: &'static Process,
    name: &'static str,
    old: CommRef,
    /// The new communicator, until it is ready.
    new: Option<PendingHandle<'static, Comm>>,
    /// The error because of which this rank gets no communicator. It still takes part in the rounds, so that the
    /// others get theirs.
    error: Option<Error>,
    collectives: AsyncCollectives,
    allocation: ContextIdAllocation<'static>,
    position: SearchPosition,
    state: IdupState,
}

/// MPI_Comm_idup: the new communicator's handle and the request's.
pub fn idup(comm: Handle) -> Result<(Handle, Handle)> {
    begin("MPI_Comm_idup", comm, None)
}

/// MPI_Comm_idup_with_info.
pub fn idup_with_info(comm: Handle, info: Handle) -> Result<(Handle, Handle)> {
    let hints = info::hints(info)?;
    begin("MPI_Comm_idup_with_info", comm, Some(hints))
}

fn begin(name: &'static str, comm: Handle, hints: Option<Info>) -> Result<(Handle, Handle)> {
    let process = process::get()?;
    let old = process.comm(comm)?;
    let new = process.reserve_comm(old.with_context(Context(0)))?;
    let handle = new.handle();
    free_retired_contexts(process);
    let mut collectives = AsyncCollectives::new(process, &old)?;
    // Several agreements may be in progress at the same time, also on one communicator and beside a blocking one. The
    // salt gives each of them its own order of search.
    let salt = agreement_salt(&old, collectives.sequence_number().wrapping_add(1));
    let allocation = ContextIdAllocation { pool: context_ids::pool(), is_member: true, multithreaded: true, salt };
    let position = SearchPosition::default();
    collectives.allreduce_and(&allocation.free_ids(position))?;
    new.errhandler.inherit(&old.errhandler);
    new.inherit_topology(&old);
    if let Some(hints) = hints {
        new.hints.set(&hints);
    }
    let refused = new.attributes.copy_from(&old.attributes, comm).err();
    let idup = IdupTask {
        process,
        name,
        old: old.clone(),
        new: Some(new),
        error: refused,
        collectives,
        allocation,
        position,
        state: IdupState::ReducingFreeIds,
    };
    Ok((handle, task::request(process, old, RequestKind::Collective, Box::new(idup))?))
}

impl Task<TaskResult> for IdupTask {
    fn advance(&mut self, me: TaskId) -> TaskStep {
        let process = self.process;
        loop {
            let Some(words) = self.collectives.advance(process, me) else { return TaskStep::Waits };
            match words.and_then(|words| self.run_round(process, &words)) {
                Ok(false) => {}
                Ok(true) => return TaskStep::Ended(TaskResult::of(self.finish(process))),
                Err(error) => {
                    self.release_candidate();
                    self.error.get_or_insert(error);
                    // Others may have completed the first round, and wait for this rank in the second one.
                    let was_first =
                        matches!(std::mem::replace(&mut self.state, IdupState::Failing), IdupState::ReducingFreeIds);
                    if !was_first || self.collectives.allreduce_max(context_ids::FAILED).is_err() {
                        return TaskStep::Ended(TaskResult::of(self.finish(process)));
                    }
                }
            }
        }
    }

    fn reason(&self) -> OwnedWaitReason {
        self.collectives.reason(self.name)
    }
}

impl IdupTask {
    /// Continues after a round that all members have completed, with the result `words`. Returns true if that was
    /// the last one.
    fn run_round(&mut self, process: &'static Process, words: &[u64]) -> Result<bool> {
        match self.state {
            IdupState::ReducingFreeIds => {
                let all = words.try_into().expect("as many words as were contributed");
                let Some(candidate) = self.allocation.choose_candidate(all, &mut self.position)? else {
                    self.collectives.allreduce_and(&self.allocation.free_ids(self.position))?;
                    return Ok(false);
                };
                self.state = IdupState::ReducingGeneration(candidate);
                self.collectives.allreduce_max(candidate.generation)?;
            }
            IdupState::ReducingGeneration(_) if words[0] == context_ids::FAILED => {
                return Err(context_ids::member_failed());
            }
            IdupState::Failing => return Ok(true),
            IdupState::ReducingGeneration(candidate) => {
                match self.allocation.finish_attempt(candidate, words[0], &mut self.position) {
                    None => {
                        self.state = IdupState::ReducingFreeIds;
                        self.collectives.allreduce_and(&self.allocation.free_ids(self.position))?;
                    }
                    Some(context) => {
                        self.new_comm().set_context(context);
                        if !self.old.may_share_flags(process) {
                            return Ok(true);
                        }
                        self.state = IdupState::SharingFlags;
                        self.collectives.bcast(flag_block_word(process, self.old.rank()))?;
                    }
                }
            }
            IdupState::SharingFlags => {
                if let Some(number) = flag_block_of_word(words[0])? {
                    self.new_comm().set_flags(FlagBlockRef { block: process.segment().flags(number), number });
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Frees the number that is reserved and not agreed on yet, if there is one.
    fn release_candidate(&mut self) {
        if let IdupState::ReducingGeneration(candidate) = self.state {
            self.allocation.release_candidate(candidate);
        }
    }

    fn new_comm(&self) -> &Comm {
        self.new.as_ref().expect("it is not ready")
    }

    /// Makes the communicator ready; or removes it if there was an error, which is the result.
    fn finish(&mut self, process: &'static Process) -> Result<()> {
        let new = self.new.take().expect("a task ends once");
        let Some(error) = self.error.take() else {
            process.publish_comm(new);
            return Ok(());
        };
        // The task's error is returned; an error of this deletion is not reported.
        let _ = new.attributes.delete_all(new.handle());
        new.leave_flags(process);
        Err(error)
    }
}
