//! The inputs and outputs of a gate: the descriptors that it waits for, and its events. Plain values. Used by `gate`,
//! and by the first process, which turns events into actions of its job.

use crate::life::Fault;
use hawser_boot::protocol::{Inspect, Unanswered};
use hawser_job::Ending;
use std::io;

/// A descriptor of a gate's, as the epoll set of the first process knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A process connects.
    Door,
    /// A connection, by number.
    Line(u32),
    /// A rank's process that is no child of this process, by local rank.
    Process(u32),
}

/// Set in all numbers of `Source`, and to be left clear in those that the first process gives to its own descriptors.
const IS_GATES: u64 = 1 << 63;

impl Source {
    /// Its number in the epoll set.
    pub const fn encode(self) -> u64 {
        let (kind, number) = match self {
            Source::Door => (0, 0),
            Source::Line(number) => (1, number),
            Source::Process(local) => (2, local),
        };
        IS_GATES | kind << 32 | number as u64
    }

    /// None: it is no number of a gate's.
    pub const fn decode(token: u64) -> Option<Source> {
        let number = token as u32;
        match (token & IS_GATES != 0, (token & !IS_GATES) >> 32) {
            (true, 0) => Some(Source::Door),
            (true, 1) => Some(Source::Line(number)),
            (true, 2) => Some(Source::Process(number)),
            _ => None,
        }
    }
}

/// An event that other processes have to know. `rank` is always a number in the job, of a rank of this host; `pid` the
/// process to name to people, 0 where there is none.
#[derive(Debug)]
pub enum Event {
    /// A process has become a rank, and has got its Welcome.
    CameIn { rank: u32, pid: i32 },
    /// The terms of the ranks of this host, from the first of them; before any card of theirs.
    Terms { rank: u32, text: String },
    /// A rank publishes its business card for all ranks of the job; it is seen nowhere before `Gate::set_cards`.
    Card { rank: u32, card: Vec<u8> },
    /// A rank's report of its paths to another one.
    Unanswered { rank: u32, what: Unanswered },
    /// A rank has left MPI.
    Left { rank: u32 },
    /// It is back, with another session.
    Back { rank: u32 },
    /// The process of a rank is gone, and the ranks of this host see it (`job::Lives`). `has_left`: it had left MPI.
    /// `unclear`: the fault of its end follows, at once or when it is known (`Event::Wrong`).
    Ended { rank: u32, ending: Ending, has_left: bool, unclear: bool },
    /// A process of a rank's was reaped: everything that it has written is there to be read.
    Reaped { rank: u32 },
    /// A rank has ended well without ever calling MPI_Init: others may wait for it.
    Absent { rank: u32, pid: i32 },
    /// A rank has a fault. A fault of its end is reported once.
    Wrong { rank: u32, pid: i32, what: Wrong },
    /// The last process of a rank was reaped, `pid`, and ended with `code` as shells have it.
    Gone { rank: u32, pid: i32, code: i32 },
    /// A tool requests a report, and waits for `Gate::answer`.
    Asked { caller: u32, what: Inspect },
    /// The listener accepts no callers for a moment. It is reported once.
    Resting { error: io::Error },
}

/// The faults of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It requests the end of the job: MPI_Abort, or an error handler.
    Aborted { code: i32, text: String },
    /// It and another rank of this host differ in their terms; the text names both. The caller waits for an answer
    /// until the job has ended.
    Unlike { text: String },
    /// Its process, or the program that was started for it, ended otherwise than it should.
    Fault(Fault),
    /// It ended well without MPI_Init, although others of this host called it.
    NoInit,
}

impl Wrong {
    /// Tells whether the job is ended for it at once, depending on whether it `goes_on` without a rank whose end was a
    /// fault. A program that ends well without MPI_Finalize may be one of which all ranks do that.
    pub(super) fn ends_job(&self, goes_on: bool) -> bool {
        match self {
            Wrong::Aborted { .. } | Wrong::Unlike { .. } => true,
            Wrong::Fault(Fault::NoFinalize { code: 0 }) => false,
            Wrong::Fault(_) | Wrong::NoInit => !goes_on,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_back_and_nobody_elses_numbers_are_taken_for_one() {
        for source in [Source::Door, Source::Line(0), Source::Line(u32::MAX), Source::Process(7)] {
            assert_eq!(Source::decode(source.encode()), Some(source));
            assert_eq!(Source::decode(source.encode() & !IS_GATES), None);
        }
        assert_eq!([0, 7, IS_GATES | 3 << 32, u64::MAX].map(Source::decode), [None; 4]);
    }
}
