//! The side of a host's first rank: it accepts each of the other ranks once, compares the settings of all, and hands
//! the segment to all when the last one has come. If a rank does not come, or ends, or has different settings, no rank
//! gets the segment, and each receives the cause. Uses `bootstrap_file`, `listener`, `facts` and `segment`; used by
//! `gathering`.

use super::bootstrap_file::BootstrapFileContent;
use super::{Gathering, Place};
use crate::facts;
use crate::listener::{Accepted, CLIENTS_PER_TURN, ClientInput, ClientListener, MESSAGES_PER_TURN};
use crate::segment::LocalRanks;
use hawser_boot::job_settings::{CommonSettings, JobSettings, RankSettings, SettingsCheck};
use hawser_boot::protocol::{AgentMessage, VERSION, Welcome};
use hawser_job::{RankPhase, Segment};
use hawser_os::epoll::Epoll;
use hawser_os::{clock, host};
use std::collections::BTreeMap;

/// The epoll token of the listener's events; those of a connection have its number.
const LISTENER: u64 = u64::MAX;

struct GatheringServer<'a> {
    gathering: &'a Gathering,
    host: String,
    epoll: Epoll,
    listener: ClientListener,
    common_settings: CommonSettings,
    /// The ranks that have joined.
    joined: BTreeMap<u32, JoiningRank>,
}

struct JoiningRank {
    pid: i32,
    /// The number of its connection.
    connection: u32,
}

/// Serves the other ranks. Returns the segment, or an error that says why the job does not begin.
pub fn serve(gathering: &Gathering, settings: JobSettings) -> Result<Segment, String> {
    let (host, pid, size) = (host::name(), host::pid(), gathering.size);
    let Gathering { job_id, local, hosts, .. } = gathering;
    let local_ranks = LocalRanks { job_id, host: &host, size, ranks: local.clone(), hosts };
    let segment = local_ranks.segment(facts::without_fork()).map_err(|error| error.to_string())?;
    let mut epoll = Epoll::new().map_err(|error| error.to_string())?;
    let listener = match &gathering.place {
        Place::File(_) => ClientListener::open(job_id, local.len(), &mut epoll, LISTENER),
        Place::Socket(name) => ClientListener::bind(name.clone(), local.len(), &mut epoll, LISTENER),
    };
    let listener = listener.map_err(|error| error.to_string())?;
    let content = BootstrapFileContent { host: host.clone(), pid, socket: listener.name.clone() };
    let mut common_settings = CommonSettings::without_launcher();
    common_settings.check(RankSettings { rank: gathering.rank, host: host.clone(), settings });
    let _posted = match &gathering.place {
        Place::File(file) => Some(content.create(file)?),
        Place::Socket(_) => None,
    };
    let mut server = GatheringServer { gathering, host, epoll, listener, common_settings, joined: BTreeMap::new() };
    match server.wait() {
        Ok(()) => Ok(server.start_job(segment)),
        Err(text) => {
            server.send_to_all(&AgentMessage::Refused(text.clone()));
            Err(text)
        }
    }
}

impl GatheringServer<'_> {
    /// Waits until all ranks have joined, at most for the time that `gathering` permits.
    fn wait(&mut self) -> Result<(), String> {
        let deadline_ns = clock::now_ns() + self.gathering.timeout_s * 1_000_000_000;
        let mut events = Vec::new();
        while self.joined.len() + 1 < self.gathering.local.len() {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return Err(self.missing());
            }
            let until_ns = self.listener.deadline_ns().map_or(deadline_ns, |at_ns| at_ns.min(deadline_ns));
            let wait_ms = until_ns.saturating_sub(now_ns).div_ceil(1_000_000);
            self.epoll.wait(&mut events, Some(wait_ms)).map_err(|error| error.to_string())?;
            for event in std::mem::take(&mut events) {
                match event.token {
                    LISTENER => self.accept_clients()?,
                    number => self.receive_message(number as u32)?,
                }
            }
            self.listener.handle_timeout(&mut self.epoll);
        }
        Ok(())
    }

    fn accept_clients(&mut self) -> Result<(), String> {
        for _ in 0..CLIENTS_PER_TURN {
            match self.listener.accept_client(&mut self.epoll, u64::from) {
                Accepted::Client(number) => self.receive_message(number)?,
                Accepted::OtherUser => {}
                Accepted::None | Accepted::Paused(_) => break,
            }
        }
        Ok(())
    }

    /// Receives a client's messages, at most MESSAGES_PER_TURN of them.
    fn receive_message(&mut self, number: u32) -> Result<(), String> {
        for _ in 0..MESSAGES_PER_TURN {
            match self.listener.receive(number) {
                ClientInput::Message(AgentMessage::Hello { version, rank, settings: terms }) => {
                    self.handle_hello(number, version, rank, JobSettings::from_text(terms))?;
                }
                ClientInput::Message(_) => drop(self.listener.close(number)),
                ClientInput::Nothing => return Ok(()),
                ClientInput::Closed => return self.handle_disconnect(number),
            }
        }
        Ok(())
    }

    /// Handles the Hello of a process that is to become rank `rank`. A wrong version, process namespace or setting is
    /// an error, which ends the bootstrap; a process whose rank is taken or does not exist is only refused.
    fn handle_hello(&mut self, number: u32, version: u32, rank: u32, settings: JobSettings) -> Result<(), String> {
        let pid = self.listener.credentials(number).map_or(0, |credentials| credentials.pid);
        let first = self.gathering.rank;
        if let Some(text) = mismatch(rank, first, version, pid) {
            self.refuse(number, text.clone());
            return Err(text);
        }
        if let SettingsCheck::Different(text) =
            self.common_settings.check(RankSettings { rank, host: self.host.clone(), settings })
        {
            self.refuse(number, text.clone());
            return Err(text);
        }
        let taken = if rank == first { Some(host::pid()) } else { self.joined.get(&rank).map(|joining| joining.pid) };
        match taken {
            Some(pid) => {
                let text = format!("rank {rank} is process {pid} already; {}", self.gathering.place.remedy_of_twins());
                self.refuse(number, text)
            }
            None if self.gathering.page_of(rank).is_none() => {
                self.refuse(number, format!("there is no rank {rank} in a job of {} ranks", self.gathering.size))
            }
            None => {
                self.joined.insert(rank, JoiningRank { pid, connection: number });
            }
        }
        Ok(())
    }

    fn refuse(&mut self, number: u32, text: String) {
        self.listener.send(number, &AgentMessage::Refused(text), None);
        self.listener.close(number);
    }

    /// Handles the end of a connection. It is an error if the connection is that of a rank that has joined.
    fn handle_disconnect(&self, number: u32) -> Result<(), String> {
        let exited = self.joined.iter().find(|(_, joining)| joining.connection == number);
        exited.map_or(Ok(()), |(rank, joining)| {
            let size = self.gathering.size;
            Err(format!(
                "rank {rank} (process {}) has ended before all {size} ranks had joined; start all ranks again",
                joining.pid
            ))
        })
    }

    fn send_to_all(&mut self, message: &AgentMessage) {
        let connections: Vec<u32> = self.joined.values().map(|joining| joining.connection).collect();
        for connection in connections {
            self.listener.send(connection, message, None);
        }
    }

    /// Begins the job, after all ranks have joined: hands them the segment.
    fn start_job(&mut self, segment: Segment) -> Segment {
        let pids = self.joined.iter().map(|(&rank, joining)| (rank, joining.pid));
        let pages = std::iter::once((self.gathering.rank, host::pid())).chain(pids);
        for (number, pid) in pages.filter_map(|(rank, pid)| Some((self.gathering.page_of(rank)?, pid))) {
            let page = segment.rank(number);
            page.set_pid(pid);
            page.set_phase(RankPhase::Attached);
        }
        for (&rank, joining) in &self.joined {
            let welcome = Welcome { rank, size: self.gathering.size, ..Welcome::default() };
            // A failed send is ignored: all ranks see the end of a rank that is gone.
            self.listener.send(joining.connection, &AgentMessage::Welcome(welcome), Some(segment.fd()));
        }
        segment
    }

    #[cold]
    fn missing(&self) -> String {
        let Gathering { size, timeout_s, local, .. } = self.gathering;
        let has_joined = |rank: &u32| *rank == self.gathering.rank || self.joined.contains_key(rank);
        let missing: Vec<&u32> = local.iter().filter(|&rank| !has_joined(rank)).collect();
        let (first, rest) = (missing[0], missing.len() - 1);
        let others = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let remedy = self.gathering.remedy();
        format!("rank {first}{others} of {size} has not joined within {timeout_s} s; {remedy}")
    }
}

/// Returns the error for a process that cannot be a rank of the same job as this one, which is rank `first`; None if it
/// can.
fn mismatch(rank: u32, first: u32, version: u32, pid: i32) -> Option<String> {
    if version != VERSION {
        return Some(format!(
            "the library of rank {rank} uses version {version} of Hawser's bootstrap protocol, and that of rank {first} \
             uses version {VERSION}; all ranks must load the same library (LD_LIBRARY_PATH)"
        ));
    }
    (pid == 0).then(|| other_namespace(rank, first))
}

/// Returns the error for ranks in different process namespaces: ranks monitor each other's processes, whose numbers
/// must be the same for all of them.
#[cold]
pub fn other_namespace(rank: u32, first: u32) -> String {
    format!(
        "rank {rank} and rank {first} do not see each other's processes (PID namespaces); start all ranks in one container"
    )
}
