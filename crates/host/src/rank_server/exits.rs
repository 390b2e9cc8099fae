//! The ends of ranks on this host. When a process of a rank ends, this module notices it, writes the end into the
//! exit log, and reports the fault of the end, if it has one, once.
//!
//! An end is written and passed on before it is interpreted, because others wait for it. This module never decides
//! what an end means for the job. It is driven by the kernel's events and by `clients`; the messages of a rank are
//! handled before its end. Uses `job::ExitLog` and the events.

use super::{CallContext, RankEvent, RankFault, RankServer};
use crate::listener;
use crate::rank_process::{self, Attached, RankProcess};
use hawser_base::Peer;
use hawser_job::{ExitKind, RankPhase};
use hawser_os::pidfd;
use hawser_os::spawn::ExitStatus;
use std::os::fd::AsFd;

/// The maximum time, in ns, for which a decision about a fault is postponed. When the process of a rank has ended,
/// the decision waits for the end of the program that was started for the rank (a script, for example), whose exit
/// status shows more.
const FAULT_TIMEOUT_NS: u64 = 200_000_000;

impl RankServer {
    /// Handles the children of this process that have been reaped, any number of them. A child that belongs to no
    /// rank is ignored.
    pub fn handle_reaped(&mut self, call: &mut CallContext, ended: &[(i32, ExitStatus)]) {
        if ended.is_empty() {
            return;
        }
        // The messages that a rank sent before it ended are handled first, even if its connection has not been
        // accepted yet.
        self.accept_clients(call, listener::ALL_CLIENTS);
        let noted = ended.iter().filter(|&&(pid, end)| self.handle_reaped_process(call, pid, end)).count();
        if noted > 0 {
            self.segment.ring_all();
        }
    }

    /// Handles the reaped process `pid`. Returns whether the other ranks must be woken for that.
    fn handle_reaped_process(&mut self, call: &mut CallContext, pid: i32, status: ExitStatus) -> bool {
        let Some(&local) = self.index.by_process.get(&pid) else { return false };
        if let Some(attached) = &self.ranks[local].attached {
            self.receive_messages(call, attached.connection, listener::ALL_MESSAGES);
        }
        // If the reaped process is a shell that had started the rank's process, the end of the rank's process comes
        // first.
        let before = self.ranks[local].pid() != pid && self.record_exit(call, local);
        if !self.ranks[local].record_reaped(pid, status) {
            return before;
        }
        let rank = self.ranks[local].world;
        let noted = self.publish_exit(local);
        self.events.push_back(RankEvent::Reaped { rank });
        self.decide_fault(call, local, false);
        if self.ranks[local].is_gone() {
            self.events.push_back(RankEvent::Gone { rank, pid, code: rank_process::exit_code(status) });
        }
        before || noted
    }

    /// Handles an event of a rank's process that is no child of ours: it may have ended.
    pub(super) fn handle_process_exit(&mut self, call: &mut CallContext, local: usize) {
        if self.record_exit(call, local) {
            self.segment.ring_all();
        }
    }

    /// Handles the end of a rank's process that is no child of this process, if it has ended. Returns whether the
    /// other ranks must be woken for that.
    fn record_exit(&mut self, call: &mut CallContext, local: usize) -> bool {
        let Some(Attached { process: Some(process), connection: line, has_exited: false, .. }) =
            &self.ranks[local].attached
        else {
            return false;
        };
        if !pidfd::has_ended(process.as_fd()) {
            return false;
        }
        let line = *line;
        call.epoll.remove(process.as_fd());
        self.receive_messages(call, line, listener::ALL_MESSAGES);
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.has_exited = true;
        }
        let noted = self.publish_exit(local);
        self.decide_fault(call, local, false);
        noted
    }

    /// Makes known to all other ranks, once, that the rank's process has exited. Returns whether the ranks of this
    /// host must be woken. This comes before everything that follows from the end, because others wait for it.
    fn publish_exit(&mut self, local: usize) -> bool {
        self.read_exit(local);
        let rank = &self.ranks[local];
        let Some(attached) = rank.attached.as_ref().filter(|attached| attached.has_exited) else { return false };
        let has_left = attached.finalized;
        // A program without MPI_Finalize that returns 0 has done its work.
        let is_failure = !has_left && attached.status != Some(ExitStatus::Exited(0));
        let ending = if is_failure { ExitKind::Failed } else { ExitKind::InOrder };
        // The fault is reported later, if it was not reported already. The receivers of this end thereby know that a
        // report follows.
        let is_fault_pending = !has_left && !rank.is_fault_decided;
        self.write_exit(rank.world, ending, has_left, is_fault_pending)
    }

    /// Makes known to all other ranks that a rank has ended that has never called MPI_Init, and never will. The
    /// caller reports its fault next.
    fn publish_absence(&mut self, local: usize) {
        if self.write_exit(self.ranks[local].world, ExitKind::Failed, false, true) {
            self.segment.ring_all();
        }
    }

    /// Writes the end of a rank of this host into the exit log, and reports it as an event. Returns whether it is
    /// new; the ranks of this host must be woken then.
    fn write_exit(&mut self, rank: u32, ending: ExitKind, has_left: bool, is_fault_pending: bool) -> bool {
        self.exited_without_finalize |= !has_left;
        let is_news = self.record_exit_of(rank, ending);
        if is_news {
            self.events.push_back(RankEvent::Ended { rank, ending, has_left, is_fault_pending });
        }
        is_news
    }

    /// Reads the state of a rank's process from its page and from the kernel.
    fn read_exit(&mut self, local: usize) {
        // Some programs close every descriptor, even that of our connection: then only the page shows that the rank
        // has left MPI.
        let page_says_finalized = self.segment.rank(local).phase() == RankPhase::Finalized;
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.finalized |= page_says_finalized;
            // The kernel has the status only after the parent has reaped the process, which may be later than the
            // end.
            if let (true, None, Some(process)) = (attached.has_exited, attached.status, &attached.process) {
                attached.status = pidfd::exit_status(process.as_fd()).map(ExitStatus::from_status);
            }
        }
    }

    /// Writes the end of a rank, of any host, into this host's log. Returns whether it is new; the ranks of this host
    /// must be woken then.
    pub(super) fn record_exit_of(&self, rank: u32, ending: ExitKind) -> bool {
        self.segment.exit_log().record(Peer(rank), ending)
    }

    /// If all ranks of the job are on this host and one has ended without leaving MPI, checks whether all ranks have
    /// left MPI or ended, and reports it to them. Ranks of one host otherwise synchronise by themselves before they
    /// leave MPI; without the ended rank they cannot, and wait for this report. They do not get it before the fault
    /// of the ended rank is decided, and not at all if the fault ends the job: whatever they would do next would be a
    /// mere consequence of that fault.
    pub(super) fn check_all_left(&self) {
        let is_through = |rank: &RankProcess| match &rank.attached {
            Some(attached) => attached.finalized || attached.has_exited && rank.is_fault_decided,
            None => rank.is_gone(),
        };
        let may_leave = self.exited_without_finalize && !self.has_other_hosts() && !self.will_end_job;
        if may_leave && self.ranks.iter().all(is_through) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Reports the fault of a rank's end, once, and then checks whether ranks that wait to leave MPI may leave.
    fn decide_fault(&mut self, call: &CallContext, local: usize, is_final: bool) {
        if !self.ranks[local].is_fault_decided {
            self.decide_fault_once(call, local, is_final);
        }
        self.check_all_left();
    }

    fn decide_fault_once(&mut self, call: &CallContext, local: usize, is_final: bool) {
        self.read_exit(local);
        let rank = &mut self.ranks[local];
        let fault = rank.exit_fault(is_final);
        let is_pending = fault.is_none() && rank.attached.as_ref().is_some_and(|a| a.has_exited && !a.finalized);
        rank.decide_at_ns = (is_pending && !is_final).then(|| call.now_ns + FAULT_TIMEOUT_NS);
        rank.is_fault_decided = fault.is_some() || rank.is_gone();
        if rank.decide_at_ns.is_some() && !self.index.fault_pending.contains(&local) {
            self.index.fault_pending.push(local);
        }
        let rank = &self.ranks[local];
        let is_absent = rank.left_without_init() && rank.child > 0;
        if is_absent {
            self.events.push_back(RankEvent::ExitedWithoutInit { rank: rank.world, pid: rank.pid() });
        }
        if let Some(what) = fault {
            if self.ranks[local].attached.is_none() {
                self.publish_absence(local);
            }
            self.report_fault(local, RankFault::Fault(what));
        }
        if is_absent {
            self.index.exited_without_init.push(local);
        }
        self.decide_missing_init();
    }

    /// Decides the faults whose decisions were postponed until now.
    pub(super) fn decide_pending_faults(&mut self, call: &CallContext) {
        for local in std::mem::take(&mut self.index.fault_pending) {
            match self.ranks[local].decide_at_ns {
                Some(at_ns) if at_ns <= call.now_ns => self.decide_fault(call, local, true),
                Some(_) => self.index.fault_pending.push(local),
                None => {}
            }
        }
    }

    /// Reports the fault of a rank that has ended without MPI_Init, if another rank of this host has called it and so
    /// waits for that rank.
    pub(super) fn decide_missing_init(&mut self) {
        if !self.index.any_attached || self.is_ending {
            return;
        }
        // The check is repeated here: a process that the rank's program started may have become the rank after the
        // program's end.
        let absent = std::mem::take(&mut self.index.exited_without_init);
        if let Some(local) = absent.into_iter().find(|&local| self.ranks[local].left_without_init()) {
            self.publish_absence(local);
            self.report_fault(local, RankFault::NoInit);
        }
    }

    pub(super) fn report_fault(&mut self, local: usize, fault: RankFault) {
        self.will_end_job |= fault.ends_job(self.spec.continues_after_fault);
        let rank = &self.ranks[local];
        self.events.push_back(RankEvent::Fault { rank: rank.world, pid: rank.pid(), fault });
    }
}
