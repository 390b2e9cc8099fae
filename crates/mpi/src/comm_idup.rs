//! MPI_Comm_idup: the agreement on a communicator's number as a task (MPI-5.0 §7.4.2).
//!
//! Attributes and error handler are copied at the call, "as if MPI_COMM_DUP was executed" then: attributes by the
//! application's functions. The handle is returned at the call too, so that nothing is written to the application's
//! memory later, and the communicator is ready when the task has ended.
//!
//! Used by `abi::comm`; uses `context_ids`, `collective::team`, `task`.

use crate::collective::team::Meeting;
use crate::comm::{Comm, CommRef, Flags};
use crate::comm_create::{block_of, depart, reap, salt, word_of};
use crate::context_ids::{self, Choice, Search, Seeker};
use crate::info::{self, Info};
use crate::process::{self, Process};
use crate::request::Kind;
use crate::task::{self, End, Id, Step, Task};
use hawser_base::table::Reserved;
use hawser_base::{Context, Error, Handle, Result};
use hawser_job::Waiting;

/// The step that the members are doing.
enum Stage {
    Offering,
    Choosing(Choice),
    /// Receiving the number of the block of flags that rank 0 allocated.
    Sharing,
    /// Reporting to the others that the first round has failed here.
    Failing,
}

struct Idup {
    process: &'static Process,
    name: &'static str,
    old: CommRef,
    /// The new communicator, until it is ready.
    new: Option<Reserved<'static, Comm>>,
    /// The error because of which there will be no communicator here; this rank still helps the others to theirs.
    refused: Option<Error>,
    meeting: Meeting,
    seeker: Seeker<'static>,
    search: Search,
    stage: Stage,
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
    let new = process.reserve_comm(old.again(Context(0)))?;
    let handle = new.handle();
    reap(process);
    let mut meeting = Meeting::new(process, &old)?;
    // Several may be in progress at once, also on one communicator and beside a blocking one: each searches in an order
    // of its own.
    let salt = salt(&old, meeting.number().wrapping_add(1));
    let seeker = Seeker { numbers: context_ids::shared(), member: true, threads: true, salt };
    let search = Search::default();
    meeting.and(&seeker.offer(search))?;
    new.errhandler.inherit(&old.errhandler);
    new.inherit_topology(&old);
    if let Some(hints) = hints {
        new.hints.set(&hints);
    }
    let refused = new.attributes.copy_from(&old.attributes, comm).err();
    let idup = Idup {
        process,
        name,
        old: old.clone(),
        new: Some(new),
        refused,
        meeting,
        seeker,
        search,
        stage: Stage::Offering,
    };
    Ok((handle, task::request(process, old, Kind::Collective, Box::new(idup))?))
}

impl Task<End> for Idup {
    fn advance(&mut self, me: Id) -> Step {
        let process = self.process;
        loop {
            let Some(words) = self.meeting.advance(process, me) else { return Step::Waits };
            match words.and_then(|words| self.go_on(process, &words)) {
                Ok(false) => {}
                Ok(true) => return Step::Ended(End::of(self.finish(process))),
                Err(error) => {
                    self.give_up();
                    self.refused.get_or_insert(error);
                    // Others may have completed the first round, and wait for this rank in the second one.
                    let was_first = matches!(std::mem::replace(&mut self.stage, Stage::Failing), Stage::Offering);
                    if !was_first || self.meeting.max(context_ids::FAILED).is_err() {
                        return Step::Ended(End::of(self.finish(process)));
                    }
                }
            }
        }
    }

    fn reason(&self) -> Waiting {
        self.meeting.reason(self.name)
    }
}

impl Idup {
    /// The members have completed a round with the result `words`. Returns true if that was the last one.
    fn go_on(&mut self, process: &'static Process, words: &[u64]) -> Result<bool> {
        match self.stage {
            Stage::Offering => {
                let all = words.try_into().expect("as many words as were offered");
                let Some(choice) = self.seeker.choose(all, &mut self.search)? else {
                    self.meeting.and(&self.seeker.offer(self.search))?;
                    return Ok(false);
                };
                self.stage = Stage::Choosing(choice);
                self.meeting.max(choice.generation)?;
            }
            Stage::Choosing(_) if words[0] == context_ids::FAILED => return Err(context_ids::failed()),
            Stage::Failing => return Ok(true),
            Stage::Choosing(choice) => match self.seeker.settle(choice, words[0], &mut self.search) {
                None => {
                    self.stage = Stage::Offering;
                    self.meeting.and(&self.seeker.offer(self.search))?;
                }
                Some(context) => {
                    self.coming().agreed(context);
                    if !self.old.may_share_flags(process) {
                        return Ok(true);
                    }
                    self.stage = Stage::Sharing;
                    self.meeting.spread(word_of(process, self.old.rank()))?;
                }
            },
            Stage::Sharing => {
                if let Some(number) = block_of(words[0])? {
                    self.coming().set_flags(Flags { block: process.segment().flags(number), number });
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the search: a number that is reserved and not settled is freed.
    fn give_up(&mut self) {
        if let Stage::Choosing(choice) = self.stage {
            self.seeker.give_up(choice);
        }
    }

    fn coming(&self) -> &Comm {
        self.new.as_ref().expect("it is not ready")
    }

    /// Completes the communicator, or removes it.
    fn finish(&mut self, process: &'static Process) -> Result<()> {
        let new = self.new.take().expect("a task ends once");
        let Some(error) = self.refused.take() else {
            process.give_comm(new);
            return Ok(());
        };
        // A failure here follows an earlier one: the first error is the call's.
        let _ = new.attributes.delete_all(new.handle());
        depart(process, &new);
        Err(error)
    }
}
