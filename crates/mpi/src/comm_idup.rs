//! MPI_Comm_idup: the agreement on a communicator's number as a task (MPI-5.0 §7.4.2).
//!
//! What is copied is copied at the call, "as if MPI_COMM_DUP was executed" then: attributes, by the application's
//! functions, and the error handler. The handle is given out at the call too, and finds nothing until the task has ended;
//! so nothing is written behind the application's back.
//!
//! Before it: `abi::comm`; after it: `context_ids`, `collective::team`, `task`.

use crate::attributes::Attributes;
use crate::collective::team::Meeting;
use crate::comm::{Comm, CommRef, Flags};
use crate::comm_create::{block_of, depart, reap, word_of};
use crate::context_ids::{self, Choice, Seeker};
use crate::errhandler::ErrhandlerCell;
use crate::info::{self, Info};
use crate::process::{self, Process};
use crate::request::Kind;
use crate::task::{self, End, Id, Step, Work};
use hawser_base::table::Reserved;
use hawser_base::{Context, Error, Handle, Result};
use hawser_job::Waiting;

/// What the members are doing.
enum Stage {
    Offering,
    Choosing(Choice),
    /// Hearing which block of flags rank 0 took.
    Sharing(Context),
}

struct Idup {
    name: &'static str,
    old: CommRef,
    /// Until it is filled.
    new: Option<Reserved<'static, Comm>>,
    attributes: Attributes,
    errhandler: ErrhandlerCell,
    hints: Option<Info>,
    /// Why there will be no communicator here, though the others are helped to theirs.
    refused: Option<Error>,
    meeting: Meeting,
    seeker: Seeker<'static>,
    attempt: u32,
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
    let reserved = process.reserve_comm()?;
    let new = reserved.handle();
    reap(process);
    let mut meeting = Meeting::new(process, &old)?;
    // Several may be under way at once, also on one communicator: each searches in an order of its own.
    let salt = old.context().number().wrapping_add(meeting.number().wrapping_mul(31));
    let seeker = Seeker { numbers: context_ids::shared(), member: true, threads: true, salt };
    meeting.and(process, &seeker.offer())?;
    let attributes = Attributes::default();
    let refused = attributes.copy_from(&old.attributes, comm).err();
    if refused.is_some() {
        // What fails now has failed once already: the first error is the call's.
        let _ = attributes.delete_all(new);
    }
    let errhandler = ErrhandlerCell::default();
    errhandler.inherit(&old.errhandler);
    let idup = Idup {
        name,
        old: old.clone(),
        new: Some(reserved),
        attributes,
        errhandler,
        hints,
        refused,
        meeting,
        seeker,
        attempt: 0,
        stage: Stage::Offering,
    };
    Ok((new, task::request(process, old, Kind::Collective, Box::new(idup))?))
}

impl Work for Idup {
    fn advance(&mut self, process: &'static Process, me: Id) -> Step {
        loop {
            let Some(words) = self.meeting.advance(process, me) else { return Step::Waits };
            match words.and_then(|words| self.go_on(process, &words)) {
                Ok(true) => return Step::Ended(End::of(self.refused.take().map_or(Ok(()), Err))),
                Ok(false) => {}
                Err(error) => return Step::Ended(End::of(Err(error))),
            }
        }
    }

    fn reason(&self) -> Waiting {
        self.meeting.reason(self.name)
    }
}

impl Idup {
    /// The members have met; what they said together. Whether that was all.
    fn go_on(&mut self, process: &'static Process, words: &[u64]) -> Result<bool> {
        match self.stage {
            Stage::Offering => {
                let all = words.try_into().expect("as many words as were offered");
                let choice = self.seeker.choose(all, self.attempt)?;
                self.stage = Stage::Choosing(choice);
                self.meeting.max(process, choice.generation).inspect_err(|_| self.seeker.give_up(choice))?;
            }
            Stage::Choosing(choice) => match self.seeker.settle(choice, words[0]) {
                None => {
                    self.attempt += 1;
                    self.stage = Stage::Offering;
                    self.meeting.and(process, &self.seeker.offer())?;
                }
                Some(context) if self.old.may_share_flags(process) => {
                    self.stage = Stage::Sharing(context);
                    self.meeting.spread(word_of(process, self.old.rank()))?;
                }
                Some(context) => {
                    self.make(process, context, None);
                    return Ok(true);
                }
            },
            Stage::Sharing(context) => {
                let number = block_of(words[0])?;
                let flags = number.map(|number| Flags { block: process.segment().flags(number), number });
                self.make(process, context, flags);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn make(&mut self, process: &'static Process, context: Context, flags: Option<Flags>) {
        let mut new = self.old.again(context);
        new.attributes = std::mem::take(&mut self.attributes);
        new.errhandler = std::mem::take(&mut self.errhandler);
        if let Some(hints) = &self.hints {
            new.hints.set(hints);
        }
        if let Some(flags) = flags {
            new.set_flags(flags);
        }
        match self.new.take() {
            Some(reserved) if self.refused.is_none() => process.give_comm(reserved, new),
            _ => depart(process, &new),
        }
    }
}
