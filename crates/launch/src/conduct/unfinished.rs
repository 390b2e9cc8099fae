//! A program that returns 0 without MPI_Finalize: the fault of one rank ends the job; if all ranks do so, a line
//! reports it.
//!
//! Others may wait for ever for a rank that has ended so, hence the job ends soon after. A program that has no
//! MPI_Finalize at all has done its work, and MPICH and Intel MPI do not report it. Which of the two it is shows when
//! the others have ended, or do not. Used by `agents`, which receives the ranks' ends; uses `policy`.

use super::Conductor;
use crate::trouble::{EXIT_FAILURE, Trouble, What};
use hawser_boot::protocol::ABORT_CALLED;
use hawser_host::life::Fault;
use std::collections::BTreeSet;

/// The ranks that have called MPI_Init, and left with exit code 0 and without MPI_Finalize.
#[derive(Default)]
pub struct Unfinished {
    ranks: BTreeSet<u32>,
    /// The line that reports the first one.
    first: Option<String>,
    /// Some rank has ended in another way.
    others: bool,
}

impl Conductor<'_> {
    /// Whether the job goes on in spite of the failure, as the other ranks may end like this one.
    pub(super) fn waits_for_others(&mut self, number: usize, trouble: &Trouble) -> bool {
        match trouble.what {
            What::Ended(Fault::NoFinalize { code: 0 }) => {
                let host = &self.hosts[number].name;
                self.unfinished.first.get_or_insert_with(|| trouble.line(host));
                self.unfinished.ranks.insert(trouble.rank);
                match self.unfinished.others {
                    true => self.tell_unfinished(),
                    false => self.clockwork.unfinished(),
                }
                true
            }
            // The program ended the job itself, with a code of its own.
            What::Aborted { ref text, .. } if text.starts_with(ABORT_CALLED) => {
                if let Some(line) = self.unfinished.first.take() {
                    self.say(&line);
                }
                false
            }
            // It waited for a rank that is gone, most likely: that rank is the cause.
            What::Aborted { .. } if self.unfinished.first.is_some() => {
                self.tell_unfinished();
                self.ending
            }
            _ => false,
        }
    }

    /// Records that a rank has ended whose fault is reported already.
    pub(super) fn rank_ended(&mut self, rank: u32) {
        if !self.unfinished.ranks.contains(&rank) {
            self.unfinished.others = true;
            self.tell_unfinished();
        }
    }

    /// Reports the unfinished ranks: all ranks have ended, or had their time for it.
    pub(super) fn tell_unfinished(&mut self) {
        if self.ending {
            return;
        }
        let size = self.hosts[0].job.size;
        let Some(line) = self.unfinished.first.take() else { return };
        if self.unfinished.ranks.len() as u32 == size {
            let who = if size == 1 { "the rank".into() } else { format!("all {size} ranks") };
            self.say(&format!("{who} exited with code 0 without calling MPI_Finalize; the program should call it"));
            return;
        }
        self.judge_unfinished(&line, EXIT_FAILURE);
    }
}
