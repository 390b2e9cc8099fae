//! The listener's events: clients become ranks, and ranks send their messages.
//!
//! Each turn takes a bounded number of clients and of messages. The reports of a rank whose program has closed the
//! connection are read from its page. Nothing here makes a rank's end known: that comes from the kernel (`exits`).
//! Uses `listener`, `client_rank`, `disconnected` and the events; used by `rank_server`.

use super::{CallContext, EventSource, RankEvent, RankFault, RankServer};
use crate::client_rank::ClientResolver;
use crate::disconnected::PageReport;
use crate::listener::{self, Accepted, ClientInput};
use crate::rank_process::Attached;
use hawser_boot::job_settings::{JobSettings, RankSettings, SettingsCheck};
use hawser_boot::protocol::{AgentMessage, Welcome};
use hawser_job::layout::BUSINESS_CARD_MAX;
use hawser_job::{ProcessVm, RankPhase};
use hawser_os::epoll::Interest;
use hawser_os::tether::Tether;
use std::os::fd::AsFd;

impl RankServer {
    /// Accepts clients, at most `limit`.
    pub(super) fn accept_clients(&mut self, call: &mut CallContext, limit: usize) {
        for _ in 0..limit {
            match self.listener.accept_client(call.epoll, |number| EventSource::Connection(number).encode()) {
                Accepted::Client(number) => self.receive_messages(call, number, listener::MESSAGES_PER_TURN),
                Accepted::OtherUser => {}
                Accepted::Paused(Some(error)) => return self.events.push_back(RankEvent::AcceptPaused { error }),
                Accepted::Paused(None) | Accepted::None => return,
            }
        }
    }

    /// Receives a client's messages, at most `limit`. Messages that are left make another event.
    pub(super) fn receive_messages(&mut self, call: &mut CallContext, number: u32, limit: usize) {
        for _ in 0..limit {
            match self.listener.receive(number) {
                // Only one request is taken, because its reply ends the connection.
                ClientInput::Message(AgentMessage::Inspect(what))
                    if !self.index.by_connection.contains_key(&number) =>
                {
                    return self.events.push_back(RankEvent::InspectRequested { client: number, request: what });
                }
                ClientInput::Message(message) => self.handle_message(call, number, message),
                ClientInput::Closed => return self.handle_disconnect(call, number),
                ClientInput::Nothing => return,
            }
        }
    }

    fn handle_message(&mut self, call: &mut CallContext, number: u32, message: AgentMessage) {
        let local = self.index.by_connection.get(&number).copied();
        match (message, local) {
            (AgentMessage::Hello { version, rank, settings: terms }, None) => {
                self.handle_hello(call, number, (version, rank), JobSettings::from_text(terms));
            }
            (AgentMessage::Finalize, Some(local)) => self.handle_left(local, true),
            (AgentMessage::Back, Some(local)) => self.handle_left(local, false),
            (AgentMessage::BusinessCard(card), Some(local)) if card.len() <= BUSINESS_CARD_MAX => {
                self.events.push_back(RankEvent::BusinessCard { rank: self.ranks[local].world, card });
            }
            (AgentMessage::Reachability(what), Some(local)) if what.peer < self.spec.size => {
                self.events.push_back(RankEvent::Reachability { rank: self.ranks[local].world, report: what });
            }
            (AgentMessage::Abort { code, text }, Some(local)) => {
                self.segment.rank(local).set_phase(RankPhase::Aborted);
                self.handle_fault(local, RankFault::Aborted { code, text });
            }
            // Any other message closes the connection. Further reports of a rank are then read from its page.
            _ => {
                self.listener.close(number);
                self.handle_disconnect(call, number);
            }
        }
    }

    /// Handles a closed connection. If the end of the rank's process is not known, its program may have closed what
    /// it had not opened: the rank's reports are read from its page from now on.
    fn handle_disconnect(&mut self, call: &CallContext, number: u32) {
        let Some(&local) = self.index.by_connection.get(&number) else { return };
        if self.ranks[local].attached.as_ref().is_some_and(|attached| !attached.has_exited) {
            self.disconnected.add(local, call.now_ns);
        }
    }

    /// Reads the reports of ranks whose connection is closed.
    pub(super) fn read_pages(&mut self, call: &CallContext) {
        let RankServer { disconnected, ranks, segment, .. } = self;
        let reports = disconnected.poll_pages(call.now_ns, |local| {
            let attached = ranks[local].attached.as_ref().filter(|attached| !attached.has_exited)?;
            Some((segment.rank(local), attached.finalized))
        });
        for (local, report) in reports {
            let rank = self.ranks[local].world;
            match report {
                PageReport::Reachability(what) if what.peer < self.spec.size => {
                    self.events.push_back(RankEvent::Reachability { rank, report: what });
                }
                PageReport::Reachability(_) => {}
                PageReport::Finalized(yes) => self.handle_left(local, yes),
            }
        }
    }

    /// Records that a rank has left MPI, or is back.
    fn handle_left(&mut self, local: usize, has_left: bool) {
        let Some(attached) = &mut self.ranks[local].attached else { return };
        attached.finalized = has_left;
        self.departures += u32::from(has_left);
        if !has_left {
            // The rank has cleared this itself; but that all ranks have left may have been recorded again before its
            // message came here.
            self.segment.set_all_finalized(false);
        }
        let rank = self.ranks[local].world;
        self.events.push_back(if has_left { RankEvent::Left { rank } } else { RankEvent::Back { rank } });
        self.check_all_left();
    }

    /// Handles the Hello of a process: it has the version of the boot protocol, the rank `world` and the job-wide
    /// settings of the process.
    fn handle_hello(
        &mut self,
        call: &mut CallContext,
        number: u32,
        (version, world): (u32, u32),
        settings: JobSettings,
    ) {
        let client_pid = self.listener.credentials(number).map_or(0, |credentials| credentials.pid);
        let RankServer { segment, spec, ranks, .. } = self;
        match (ClientResolver { segment, host: &spec.host, ranks }).resolve(version, world, client_pid) {
            Ok(local) if self.check_settings(local, settings) => self.admit(call, number, local, client_pid),
            // The settings differ. The client gets no reply, and waits for one until the job has ended.
            Ok(_) => {}
            Err(reply) => {
                self.listener.send(number, &reply, None);
                self.listener.close(number);
            }
        }
    }

    /// Compares a rank's settings with those of the earlier ranks of this host. Returns whether they are alike; if
    /// not, reports a fault, by which the job ends.
    fn check_settings(&mut self, local: usize, settings: JobSettings) -> bool {
        let (rank, text) = (self.ranks[local].world, settings.text().to_owned());
        match self.common_settings.check(RankSettings { rank, host: self.spec.host.clone(), settings }) {
            SettingsCheck::First => self.events.push_back(RankEvent::Settings { rank, text }),
            SettingsCheck::Same => {}
            SettingsCheck::Different(text) => {
                self.handle_fault(local, RankFault::SettingsDiffer { text });
                return false;
            }
        }
        true
    }

    /// Makes process `client_pid` a rank.
    fn admit(&mut self, call: &mut CallContext, number: u32, local: usize, client_pid: i32) {
        let page = self.segment.rank(local);
        page.set_pid(client_pid);
        page.set_phase(RankPhase::Attached);
        self.index.any_attached = true;
        let rank = &mut self.ranks[local];
        let process = if client_pid > 0 && client_pid != rank.child { self.listener.process(number) } else { None };
        if let Some(process) = &process {
            let _ = call.epoll.add(process.as_fd(), EventSource::Process(local as u32).encode(), Interest::Read);
        }
        // If there is no pidfd of the process, the end of the child counts as its end.
        let pid = if process.is_some() { client_pid } else { rank.child };
        // The process may leave the child's process group at any time: therefore it gets a tether of its own.
        let tether = process.as_ref().filter(|_| self.spec.has_tethers);
        let tether = tether.and_then(|process| Tether::tie_process(client_pid, process.as_fd()).ok());
        rank.attached = Some(Attached {
            pid,
            connection: number,
            process,
            tether,
            finalized: false,
            has_exited: false,
            status: None,
        });
        let world = rank.world;
        self.index.by_process.insert(pid, local);
        self.index.by_connection.insert(number, local);
        self.listener.send(number, &AgentMessage::Welcome(self.welcome_of(local)), Some(self.segment.fd()));
        self.events.push_back(RankEvent::Joined { rank: world, pid });
        self.decide_missing_init();
    }

    /// Returns the Welcome of a rank: its identity, and facts of its job and its host.
    fn welcome_of(&self, local: usize) -> Welcome {
        let rank = &self.ranks[local];
        Welcome {
            rank: rank.world,
            size: self.spec.size,
            local_rank: local as u32,
            local_size: self.ranks.len() as u32,
            appnum: rank.app,
            program_size: self.spec.programs[rank.app as usize],
            universe: self.spec.size,
            membarrier: self.facts.membarrier,
            process_vm: self.facts.process_vm == ProcessVm::Allowed,
            secret: self.spec.secret,
        }
    }

    /// Reports a fault of a rank, whose end then needs no further report.
    fn handle_fault(&mut self, local: usize, fault: RankFault) {
        self.ranks[local].is_fault_decided = true;
        self.report_fault(local, fault);
    }
}
