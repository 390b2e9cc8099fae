//! The inputs and outputs of a rank server: the descriptors that it waits for, and its events. Plain values. Used
//! by `rank_server`, and by the first process, which turns events into actions of its job.

use crate::rank_process::ExitFault;
use hawser_boot::protocol::{InspectRequest, PeerReachability};
use hawser_job::ExitKind;
use std::io;

/// A descriptor of a rank server, as the epoll set of the first process knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// A process connects.
    Listener,
    /// A connection, by number.
    Connection(u32),
    /// A rank's process that is no child of this process, by local rank.
    Process(u32),
}

/// Set in all numbers of `EventSource`, and to be left clear in those that the first process gives to its own
/// descriptors.
const RANK_SERVER_BIT: u64 = 1 << 63;

impl EventSource {
    /// Its number in the epoll set.
    pub const fn encode(self) -> u64 {
        let (kind, number) = match self {
            EventSource::Listener => (0, 0),
            EventSource::Connection(number) => (1, number),
            EventSource::Process(local) => (2, local),
        };
        RANK_SERVER_BIT | kind << 32 | number as u64
    }

    /// None: it is no number of a rank server.
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

/// An event that concerns other processes. `rank` is always a number in the job, of a rank of this host; `pid` the
/// process to name to people, 0 where there is none.
#[derive(Debug)]
pub enum RankEvent {
    /// A process has become a rank, and has got its Welcome.
    Joined { rank: u32, pid: i32 },
    /// The job settings of the ranks of this host, from the first of them; before any business card of theirs.
    Settings { rank: u32, text: String },
    /// A rank publishes its business card for all ranks of the job; it is seen nowhere before
    /// `RankServer::set_business_cards`.
    BusinessCard { rank: u32, card: Vec<u8> },
    /// A rank's report whether another one is reachable.
    Reachability { rank: u32, report: PeerReachability },
    /// A rank has left MPI.
    Left { rank: u32 },
    /// It is back, with another session.
    Back { rank: u32 },
    /// The process of a rank is gone, and the ranks of this host see it (`job::ExitLog`). `has_left`: it had left
    /// MPI. `is_fault_pending`: the fault of its end follows, at once or when it is known (`RankEvent::Fault`).
    Ended { rank: u32, ending: ExitKind, has_left: bool, is_fault_pending: bool },
    /// A process of a rank's was reaped: everything that it has written is there to be read.
    Reaped { rank: u32 },
    /// A rank has ended well without ever calling MPI_Init: others may wait for it.
    ExitedWithoutInit { rank: u32, pid: i32 },
    /// A rank has a fault. A fault of its end is reported once.
    Fault { rank: u32, pid: i32, fault: RankFault },
    /// The last process of a rank was reaped, `pid`, and ended with `code` as shells have it.
    Gone { rank: u32, pid: i32, code: i32 },
    /// A tool requests a report, and waits for `RankServer::reply_to_client`.
    InspectRequested { client: u32, request: InspectRequest },
    /// The listener accepts no clients for a moment. It is reported once.
    AcceptPaused { error: io::Error },
}

/// The faults of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankFault {
    /// It requests the end of the job: MPI_Abort, or an error handler.
    Aborted { code: i32, text: String },
    /// It and another rank of this host differ in their job settings; the text names both. The client waits for a
    /// reply until the job has ended.
    SettingsDiffer { text: String },
    /// Its process, or the program that was started for it, ended otherwise than it should.
    Fault(ExitFault),
    /// It ended well without MPI_Init, although others of this host called it.
    NoInit,
}

impl RankFault {
    /// Returns whether the job is ended for it at once, depending on whether it `continues_after_fault` without a
    /// rank whose end was a fault. A program that ends well without MPI_Finalize may be one of which all ranks do
    /// that.
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
