//! Translates the rank server's events into frames for mpiexec, and replies to tools.
//!
//! Events that only other hosts need are sent to mpiexec only in a job of several hosts: the ranks of this host read
//! them in their segment. A rank's output is sent before the report of its failure. Nothing is decided here. Uses
//! `host::rank_server`, `rank_state`, `report` and `stats`; reports to `job_control`.

use super::HostRun;
use crate::agent::{AgentContext, rank_state};
use crate::failure::{FailureKind, RankFailure};
use crate::frames::{FromAgent, RankExit};
use crate::{report, stats};
use hawser_boot::protocol::InspectRequest;
use hawser_host::rank_server::{RankEvent, RankFault};
use hawser_job::ExitKind;

impl HostRun {
    /// Passes on all events of the rank server.
    pub(super) fn forward_events(&mut self, context: &mut AgentContext) {
        while let Some(event) = self.rank_server.poll_event() {
            self.handle_server_event(context, event);
        }
    }

    fn handle_server_event(&mut self, context: &mut AgentContext, event: RankEvent) {
        let has_other_hosts = self.rank_server.has_other_hosts();
        let frame = match event {
            RankEvent::Joined { .. } => {
                let is_first = !std::mem::replace(&mut self.any_attached, true);
                (is_first && has_other_hosts).then_some(FromAgent::Attached)
            }
            RankEvent::Settings { rank, text } => has_other_hosts.then_some(FromAgent::JobSettings { rank, text }),
            RankEvent::BusinessCard { rank, card } => Some(FromAgent::BusinessCard((rank, card))),
            RankEvent::Reachability { rank, report } => Some(FromAgent::Reachability { rank, report }),
            RankEvent::Left { .. } => has_other_hosts.then_some(FromAgent::Finalized),
            RankEvent::Back { .. } => has_other_hosts.then_some(FromAgent::SessionReopened),
            RankEvent::Ended { rank, ending, has_left, is_fault_pending } => {
                let exit = RankExit { rank, failed: ending == ExitKind::Failed };
                has_other_hosts.then_some(FromAgent::RankExited { exit, has_left, is_fault_pending })
            }
            RankEvent::ExitedWithoutInit { rank, pid } => {
                has_other_hosts.then_some(FromAgent::ExitedWithoutInit { rank, pid })
            }
            RankEvent::Gone { rank, pid, code } => Some(FromAgent::RankExitCode { rank, pid, code }),
            RankEvent::AcceptPaused { error } => {
                let host = self.rank_server.host();
                Some(FromAgent::Note(format!("the agent on host {host} cannot accept a connection yet: {error}")))
            }
            RankEvent::Reaped { rank } => {
                self.streams.forward_pending_output(context, rank);
                None
            }
            RankEvent::Fault { rank, pid, fault } => {
                if matches!(fault, RankFault::Aborted { .. }) {
                    self.streams.forward_pending_output(context, rank);
                }
                Some(FromAgent::Failure(RankFailure { rank, pid, kind: FailureKind::from(fault) }))
            }
            RankEvent::InspectRequested { client: caller, request } => {
                let text = self.reply_text(request);
                self.rank_server.reply_to_client(caller, &text);
                None
            }
        };
        if let Some(frame) = frame {
            context.send(&frame);
        }
    }

    /// The reply to a tool.
    fn reply_text(&self, request: InspectRequest) -> String {
        match request {
            InspectRequest::Stats => stats::text(&rank_state::counters(&self.rank_server)),
            InspectRequest::Report => {
                let states = rank_state::states(&self.rank_server);
                let located: Vec<_> = states.iter().map(|state| (self.rank_server.host(), state)).collect();
                report::report(&format!("job {} runs", self.job.id), &located)
            }
        }
    }
}

impl From<RankFault> for FailureKind {
    fn from(rank_fault: RankFault) -> FailureKind {
        match rank_fault {
            RankFault::Aborted { code, text } => FailureKind::Aborted { code, text },
            RankFault::SettingsDiffer { text } => FailureKind::SettingsDiffer { text },
            RankFault::Fault(fault) => FailureKind::AbnormalExit(fault),
            RankFault::NoInit => FailureKind::NoInit,
        }
    }
}
