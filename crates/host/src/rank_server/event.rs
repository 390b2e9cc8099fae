//! The inputs and outputs of a rank server: the descriptors that it waits for, and its events. They are plain values.
//! Used by `rank_server`, and by the first process, which turns events into actions of its job.

use crate::rank_process::ExitFault;
use hawser_boot::protocol::{InspectRequest, PeerReachability};
use hawser_job::ExitKind;
use std::io;

/// A descriptor of a rank server, as the epoll set of the first process knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// A process connects.
    Listener,
    /// The connection with this number.
    Connection(u32),
    /// The process of this local rank, which is no child of this process.
    Process(u32),
}

/// Set in all numbers of `EventSource`, and to be left clear in those that the first process gives to its own
/// descriptors.
const RANK_SERVER_BIT: u64 = 1 << 63;

impl EventSource {
    /// Returns the token of this source in the epoll set.
    pub const fn encode(self) -> u64 {
        let (kind, number) = match self {
            EventSource::Listener => (0, 0),
            EventSource::Connection(number) => (1, number),
            EventSource::Process(local) => (2, local),
        };
        RANK_SERVER_BIT | kind << 32 | number as u64
    }

    /// Returns the source of a token; None if the token is not of a rank server.
    pub const fn decode(token: u64) -> Option<EventSource> {
        let number = token as u32;
        match (token & RANK_SERVER_BIT != 0, (token & !RANK_SERVER_BIT) >> 32) {
            (true, 0) => Some(EventSource::Listener),
            (true, 1) => Some(EventSource::Connection(number)),
            (true, 2) => Some(EventSource::Process(number)),
            _ => None,
        }
    }
}

/// An event that concerns other processes. `rank` is always the number in the job of a rank of this host; `pid` is
/// the process to name to people, 0 if there is none.
#[derive(Debug)]
pub enum RankEvent {
    /// A process has become a rank, and has got its Welcome.
    Joined { rank: u32, pid: i32 },
    /// The job-wide settings of the ranks of this host, as the first of them has sent them. It comes before any
    /// business card of these ranks.
    Settings { rank: u32, text: String },
    /// A rank publishes its business card for all ranks of the job; it is seen nowhere before
    /// `RankServer::set_business_cards`.
    BusinessCard { rank: u32, card: Vec<u8> },
    /// A rank's report whether another rank is reachable.
    Reachability { rank: u32, report: PeerReachability },
    /// A rank has left MPI.
    Left { rank: u32 },
    /// A rank that had left MPI is back, with another session.
    Back { rank: u32 },
    /// The process of a rank is gone, and the ranks of this host see it (`job::ExitLog`). `has_left`: it had left
    /// MPI. `is_fault_pending`: the fault of its end follows, at once or when it is known (`RankEvent::Fault`).
    Ended { rank: u32, ending: ExitKind, has_left: bool, is_fault_pending: bool },
    /// A process of a rank was reaped: all that it has printed can be read now.
    Reaped { rank: u32 },
    /// A rank has ended well without ever calling MPI_Init. Other ranks may wait for it.
    ExitedWithoutInit { rank: u32, pid: i32 },
    /// A rank has a fault. A fault of its end is reported once.
    Fault { rank: u32, pid: i32, fault: RankFault },
    /// Process `pid` was reaped, the last process of a rank. `code` is its exit code, as shells report it.
    Gone { rank: u32, pid: i32, code: i32 },
    /// A tool requests a report, and waits for `RankServer::reply_to_client`.
    InspectRequested { client: u32, request: InspectRequest },
    /// The listener accepts no clients for a moment. It is reported once.
    AcceptPaused { error: io::Error },
}

/// The faults of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankFault {
    /// The rank requests the end of the job, by MPI_Abort or an error handler.
    Aborted { code: i32, text: String },
    /// The rank and another rank of this host differ in their job-wide settings; the text names both. The client
    /// waits for a reply until the job has ended.
    SettingsDiffer { text: String },
    /// The rank's process, or the program that was started for the rank, ended otherwise than it should.
    Fault(ExitFault),
    /// The rank ended well without MPI_Init, although others of this host called it.
    NoInit,
}

impl RankFault {
    /// Returns whether the job is ended at once because of this fault. `continues_after_fault` says whether the job
    /// goes on without a rank whose end was a fault. A rank that returns 0 without MPI_Finalize does not end the job,
    /// because all ranks of its program may do so.
    pub(super) fn ends_job(&self, continues_after_fault: bool) -> bool {
        match self {
            RankFault::Aborted { .. } | RankFault::SettingsDiffer { .. } => true,
            RankFault::Fault(ExitFault::NoFinalize { code: 0 }) => false,
            RankFault::Fault(_) | RankFault::NoInit => !continues_after_fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_back_and_nobody_elses_numbers_are_taken_for_one() {
        for source in [
            EventSource::Listener,
            EventSource::Connection(0),
            EventSource::Connection(u32::MAX),
            EventSource::Process(7),
        ] {
            assert_eq!(EventSource::decode(source.encode()), Some(source));
            assert_eq!(EventSource::decode(source.encode() & !RANK_SERVER_BIT), None);
        }
        assert_eq!([0, 7, RANK_SERVER_BIT | 3 << 32, u64::MAX].map(EventSource::decode), [None; 4]);
    }
}
