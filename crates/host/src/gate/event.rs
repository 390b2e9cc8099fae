//! What goes in and out of a gate: the descriptors that it waits for, and what it has to say. Plain values.
//! Before it: nothing; after it: `gate`, and the first process, which makes of events what its job needs.

use crate::life::Fault;
use hawser_boot::protocol::{Inspect, Unanswered};
use hawser_job::Ending;
use std::io;

/// A descriptor of a gate's, as the epoll set of the first process knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Somebody knocks.
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

/// What somebody else has to know. `rank` is always a number in the job, of a rank of this host; `pid` the process to
/// name to people, 0 where there is none.
#[derive(Debug)]
pub enum Event {
    /// A process has become a rank, and has been told so.
    CameIn { rank: u32, pid: i32 },
    /// What the ranks of this host have alike, as the first of them said it; before any card of theirs.
    Terms { rank: u32, text: String },
    /// A rank lets all ranks of the job know its card, which is seen nowhere before `Gate::set_cards`.
    Card { rank: u32, card: Vec<u8> },
    /// What a rank says of its ways to another one.
    Unanswered { rank: u32, what: Unanswered },
    /// A rank has left MPI.
    Left { rank: u32 },
    /// It is back, with another session.
    Back { rank: u32 },
    /// The process of a rank is gone, and the ranks of this host see it (`job::Lives`). `has_left`: it had left MPI.
    /// `unclear`: what was wrong with its end follows, at once or when it is known (`Event::Wrong`).
    Ended { rank: u32, ending: Ending, has_left: bool, unclear: bool },
    /// A process of a rank's was reaped: everything that it has written is there to be read.
    Reaped { rank: u32 },
    /// A rank has ended well without ever calling MPI_Init: others may wait for it.
    Absent { rank: u32, pid: i32 },
    /// Something is wrong with a rank. Of its end that is said once.
    Wrong { rank: u32, pid: i32, what: Wrong },
    /// The last process of a rank was reaped, `pid`, and ended with `code` as shells have it.
    Gone { rank: u32, pid: i32, code: i32 },
    /// A tool asks, and waits for `Gate::answer`.
    Asked { caller: u32, what: Inspect },
    /// The door takes no callers for a moment. It is told once.
    Resting { error: io::Error },
}

/// What can be wrong with a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It asks for the end of the job: MPI_Abort, or an error handler.
    Aborted { code: i32, text: String },
    /// It and another rank of this host differ in what all must have alike; the text names both. The caller waits for
    /// an answer until the job has ended.
    Unlike { text: String },
    /// Its process, or the program that was started for it, ended otherwise than it should.
    Fault(Fault),
    /// It ended well without MPI_Init, although others of this host called it.
    NoInit,
}

impl Wrong {
    /// Whether the job is ended for it at once, where it `goes_on` without a rank whose end was a fault or does not. A
    /// program that ends well without MPI_Finalize may be one of which all ranks do that.
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
