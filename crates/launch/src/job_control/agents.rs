//! Handles the frames that agents send, and decides what follows from each for the job.
//!
//! No program is started before every host's agent is connected and known to be of this version. A rank's report
//! about unreachable peers is handled here, because only mpiexec knows all hosts. Used by `job_control`, which has
//! the events of the channels; uses `frames`, `info` and `stats`.

use super::JobControl;
use super::host::{HostState, JobHost, host_of};
use super::reachability::ReachabilityAction;
use crate::channel::Received;
use crate::failure::{EXIT_FAILURE, FailureKind, RankFailure};
use crate::frames::{self, FromAgent, HostCounters, RankState, ToAgent};
use crate::{info, stats};
use hawser_boot::job_settings::{JobSettings, RankSettings, SettingsCheck};
use hawser_boot::protocol::PeerReachability;
use hawser_os::signals::SIGTERM;
use hawser_os::tty;

impl JobControl<'_> {
    /// Handles the frames received from an agent, until none is left or the backlog of output has reached its limit.
    pub(super) fn receive_frames(&mut self, number: usize) {
        while self.can_buffer_output() && self.hosts[number].is_open() {
            let received = self.hosts[number].channel.receive();
            if let Some(line) = self.hosts[number].note_activity(matches!(received, Received::Frame(_))) {
                self.print_for_host(number, &line);
            }
            match received {
                Received::Frame(body) => match FromAgent::decode(&body) {
                    Some(frame) => self.handle_frame(number, frame),
                    None => return self.handle_channel_end(number),
                },
                Received::Nothing => return,
                Received::End => return self.handle_channel_end(number),
            }
        }
    }

    fn handle_frame(&mut self, number: usize, frame: FromAgent) {
        match frame {
            FromAgent::Ready { version, pid } => self.handle_ready(number, &version, pid),
            FromAgent::Started { facts, notes, .. } => {
                notes.iter().for_each(|note| self.print_line(note));
                if self.options.verbose {
                    let text = info::facts_text(&facts);
                    self.print_line(&format!("started on host {}: {text}", self.hosts[number].name));
                }
            }
            FromAgent::Output { rank, stream, bytes } => {
                self.handle_output(rank, stream, &bytes);
                if self.options.readers.contains(&rank) && tty::is_terminal(self.input.fd()) {
                    self.timers.schedule_prompt();
                }
            }
            FromAgent::InputTaken(len) => {
                let in_flight = &mut self.hosts[number].stdin_in_flight;
                *in_flight = in_flight.saturating_sub(len as usize);
            }
            FromAgent::Failure(failure) => self.handle_failure(number, failure),
            FromAgent::RankExited { exit, has_left, is_fault_pending } => {
                self.handle_rank_exit(number, exit, has_left, is_fault_pending);
                self.check_all_finalized();
            }
            FromAgent::RankExitCode { rank, pid, code } => {
                self.reachability.forget(rank);
                self.record_rank_end(rank);
                if self.options.verbose {
                    self.print_line(&format!("rank {rank} (pid {pid}) has ended with code {code}"));
                }
            }
            FromAgent::Snapshot(states) => self.queries.add_reply(number, Some(states)),
            FromAgent::Counters(counters) => {
                self.hosts[number].counters = Some(counters);
                self.queries.add_reply(number, None);
            }
            FromAgent::Note(text) => self.print_line(&text),
            FromAgent::BusinessCard(business_card) => self.business_cards.push(business_card),
            FromAgent::Attached => {
                self.any_attached = true;
                self.check_missing_ranks();
            }
            FromAgent::JobSettings { rank, text } => self.compare_settings(number, rank, text),
            FromAgent::ExitedWithoutInit { rank, pid } => {
                self.left_before_init.get_or_insert((number, RankFailure { rank, pid, kind: FailureKind::NoInit }));
                self.check_missing_ranks();
            }
            FromAgent::Info(text) => {
                self.hosts[number].info = Some(text);
                if self.hosts.iter().all(|host| host.info.is_some()) {
                    self.print_info();
                }
            }
            FromAgent::SessionReopened => self.finalized = self.finalized.saturating_sub(1),
            FromAgent::Finalized => {
                self.finalized += 1;
                self.hosts[number].finalized_count += 1;
                self.check_all_finalized();
            }
            FromAgent::Reachability { rank, report } => self.handle_reachability_report(rank, report),
            FromAgent::Finished { clean } => self.handle_finished(number, clean),
        }
    }

    /// Handles an agent's first frame.
    fn handle_ready(&mut self, number: usize, version: &str, pid: i32) {
        let host = &mut self.hosts[number];
        if !host.state.agent_connected() {
            return;
        }
        (host.agent_pid, host.was_ready, host.deadline_ns) = (pid, true, None);
        let name = &host.name;
        if version != frames::version() {
            let text = format!(
                "host {name} has Hawser {version}, and this mpiexec is Hawser {}; install the same version on all \
                 hosts",
                frames::version()
            );
            return self.handle_host_loss(number, Some(text));
        }
        if host.remote.is_some()
            && let Err(error) = self.start_heartbeat(number)
        {
            return self.handle_host_loss(number, Some(error.to_string()));
        }
        if self.hosts.iter().any(|host| host.state != HostState::Ready) {
            return;
        }
        match self.options.info && !self.options.hosts.is_empty() {
            true => self.hosts.iter_mut().for_each(JobHost::request_info),
            false => self.start_job(),
        }
    }

    /// Prints what was detected on all hosts, and the parameters; then starts the job, if there is one.
    fn print_info(&mut self) {
        let mut text = String::new();
        for host in &self.hosts {
            text += &format!("host {}\n{}\n", host.name, host.info.as_deref().unwrap_or_default());
        }
        text += &info::parameters(&self.options.profile);
        if !self.options.apps.is_empty() {
            self.err.pending.extend(text.bytes());
            return self.start_job();
        }
        self.out.pending.extend(text.bytes());
        self.exit_code = Some(0);
        (0..self.hosts.len()).for_each(|number| self.handle_host_loss(number, None));
    }

    /// Starts the job, now that all agents are connected.
    fn start_job(&mut self) {
        for host in &mut self.hosts {
            host.state.job_started();
            host.send(&ToAgent::Start(Box::new(host.job.clone())));
            host.job.apps = Vec::new();
        }
    }

    fn handle_finished(&mut self, number: usize, clean: bool) {
        let host = &mut self.hosts[number];
        // The agent exits now; if it does not exit within a time limit, it is killed.
        host.finish();
        self.queries.forget(number);
        if !clean {
            let text = format!("some processes of the job on host {} do not end (blocked in the kernel?)", host.name);
            self.print_line(&text);
        }
        if self.hosts.iter().all(|host| host.state >= HostState::Finished) {
            self.timers.stop();
            self.flush_lines();
            self.report_unfinalized();
            self.print_counters();
        }
    }

    /// Prints the counters of all hosts' ranks.
    fn print_counters(&mut self) {
        let counters = self.counters();
        if self.hosts[0].job.stats && !counters.ranks.is_empty() {
            self.print_line("counters of the ranks:");
            self.err.pending.extend(stats::text(&counters).bytes());
        }
    }

    /// The counters of all hosts' ranks together.
    pub(super) fn counters(&self) -> HostCounters {
        let reported: Vec<&HostCounters> = self.hosts.iter().filter_map(|host| host.counters.as_ref()).collect();
        let names = reported.iter().map(|counts| &counts.names).max_by_key(|names| names.len());
        let ranks = reported.iter().flat_map(|counts| counts.ranks.iter().cloned()).collect();
        HostCounters { names: names.cloned().unwrap_or_default(), ranks }
    }

    /// Handles a rank's report about its paths to another rank.
    fn handle_reachability_report(&mut self, rank: u32, report: PeerReachability) {
        let action = self.reachability.handle_report(rank, report, &host_of(&self.hosts));
        self.apply_reachability_action(action);
        if self.reachability.is_needed() && !self.reachability.is_check_pending && !self.ending {
            self.reachability.is_check_pending = true;
            self.timers.schedule_reachability_check();
        }
    }

    /// Handles the agents' replies: the states of their ranks, with the numbers of their polls.
    pub(super) fn check_reachability(&mut self, states: &[(usize, RankState)]) {
        let action = self.reachability.handle_states(states, &host_of(&self.hosts));
        self.apply_reachability_action(action);
        self.reachability.is_check_pending = self.reachability.is_needed() && !self.ending;
        if self.reachability.is_check_pending {
            self.timers.schedule_reachability_check();
        }
    }

    fn apply_reachability_action(&mut self, action: Option<ReachabilityAction>) {
        match action.filter(|_| !self.ending) {
            Some(ReachabilityAction::Warn(text)) => self.print_line(&text),
            Some(ReachabilityAction::End(text)) => {
                self.print_line(&text);
                self.end_job(EXIT_FAILURE, SIGTERM);
            }
            None => {}
        }
    }

    /// Compares the job-wide settings of a host's ranks, as `rank` has reported them, with those of the hosts that
    /// reported before, and ends the job if they differ.
    fn compare_settings(&mut self, number: usize, rank: u32, settings: String) {
        let host = self.hosts[number].name.clone();
        let rank_settings = RankSettings { rank, host, settings: JobSettings::from_text(settings) };
        if let SettingsCheck::Different(text) = self.agreed_settings.check(rank_settings)
            && !self.ending
        {
            self.print_line(&text);
            self.end_job(EXIT_FAILURE, SIGTERM);
        }
    }

    /// Handles a rank that has ended without MPI_Init, once another rank has called MPI_Init and so waits for it
    /// there. In a job of one host the agent does that.
    fn check_missing_ranks(&mut self) {
        if self.any_attached
            && let Some((number, failure)) = self.left_before_init.take()
        {
            self.handle_failure(number, failure);
        }
    }
}
