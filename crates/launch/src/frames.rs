//! The frames that mpiexec and an agent exchange.
//!
//! `ToAgent` frames go to the agent, `FromAgent` frames come from it; `channel` carries both. An agent's first frame
//! has the agent's version, and mpiexec goes on only if that is its own version. So no end ever decodes a frame of
//! another version, apart from that first one. A frame that does not parse ends the connection.

use crate::binding::Binding;
use crate::encoding::{FieldReader, FieldWriter};
use crate::failure::RankFailure;
use hawser_boot::protocol::{JobSecret, PeerReachability};
use hawser_job::{
    HostFacts, NetworkStatus, OwnedWaitReason, PendingCount, ProcessVm, UnreachablePeer, WaitPeer, WaitTag,
};
use hawser_os::cpus::TopologyLevel;

/// The version of the frames. Raise it with every change of a frame. The first frame (`FromAgent::Ready`) must never
/// change, because all versions must understand it.
const VERSION: u32 = 11;

/// The version of this program and of its frames, which mpiexec and its agents must have in common.
pub fn version() -> String {
    format!("{} (frames {VERSION})", env!("CARGO_PKG_VERSION"))
}

/// A program of the job and how to start it; `ranks` ranks of the job run it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct App {
    pub ranks: u32,
    pub program: Vec<u8>,
    pub args: Vec<Vec<u8>>,
    /// The program's working directory, if relative below `HostJob::directory`; empty: `HostJob::directory` itself.
    pub directory: Vec<u8>,
    /// Folders, separated by colons, in which the program is searched before the folders of its PATH.
    pub path: Vec<u8>,
    /// The processor that the program is for; empty for any.
    pub arch: String,
    /// The program's whole environment, except the variables that the agent adds.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
}

/// One host's part of a job, which the host's agent must run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostJob {
    pub id: String,
    /// The user's name for the host; empty: the host's own name.
    pub host: String,
    /// The secret by which a rank proves that its frames on the network belong to this job. The agent passes it on to
    /// each rank that attaches.
    pub secret: JobSecret,
    pub size: u32,
    /// The ranks of this host: the world rank of each, and the index of its program in `apps`.
    pub ranks: Vec<(u32, u32)>,
    /// The number of the host of each world rank; empty if the job has only one host.
    pub hosts: Vec<u32>,
    pub apps: Vec<App>,
    pub directory: Vec<u8>,
    pub binding: Binding,
    /// The world ranks that read mpiexec's standard input.
    pub readers: Vec<u32>,
    pub stats: bool,
    /// The value of HAWSER_MEMBARRIER in mpiexec's environment.
    pub membarrier: bool,
    /// The other ranks go on when a rank ends by a fault (-disable-auto-cleanup).
    pub continues_after_fault: bool,
    /// The profile of mpiexec's machine, in one line (`node::profile`); empty if there is none.
    pub profile_line: String,
}

/// A rank and the business card that it publishes to all others.
pub type RankBusinessCard = (u32, Vec<u8>);

/// A rank whose process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankExit {
    pub rank: u32,
    /// Whether the rank had neither left MPI nor done its work (`job::exit_log::ExitKind::Failed`).
    pub failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToAgent {
    Start(Box<HostJob>),
    /// Input for the ranks that read mpiexec's standard input; empty at the end of the input.
    Input(Vec<u8>),
    /// A signal to be sent to every rank.
    Signal(i32),
    /// Requests `FromAgent::Snapshot`.
    Snapshot,
    /// Ends every rank: by `signal` first, and by SIGKILL after a grace period. `code` is the exit code of the job,
    /// for ranks that poll the abort flag of the segment.
    End {
        signal: i32,
        code: i32,
    },
    /// Business cards that ranks of any host have published.
    BusinessCards(Vec<RankBusinessCard>),
    /// Every rank of the job has come to the end of MPI_Finalize or has ended without it, so no rank needs a reply
    /// from another one any more. `finalized_seen` is the number of `FromAgent::Finalized` frames that mpiexec had
    /// received from this host; the agent ignores this frame if a rank has begun another session since.
    AllFinalized {
        finalized_seen: u32,
    },
    /// Ranks whose processes are gone: ranks of other hosts, and ranks of this host that have ended without MPI_Init
    /// (`job_control::failure_policy`).
    RanksExited(Vec<RankExit>),
    /// Requests `FromAgent::Counters`.
    Counters,
    /// Requests `FromAgent::Info`, measured for `ranks` ranks; `settings` are the Hawser variables of the ranks'
    /// environment.
    Info {
        ranks: u32,
        settings: Vec<(Vec<u8>, Vec<u8>)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    Out,
    Err,
}

/// The activity of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankActivity {
    /// The program runs but has not called MPI_Init.
    NotInit,
    /// The rank is inside MPI_Init.
    Initializing,
    /// The rank is between MPI calls, or spins in one.
    Computing,
    /// The rank sleeps in an MPI call, or calls MPI_Test or the like again and again. In a frame, `since_ns` and
    /// `polled_ns` of the reason are ages instead of times, because the clocks of hosts differ.
    Waiting(OwnedWaitReason),
    Finalized,
    Exited,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankState {
    pub rank: u32,
    pub pid: i32,
    pub activity: RankActivity,
    /// The number of times that the rank has polled its network (`job::RankPage::net_polls`).
    pub net_polls: u64,
    /// The counters of received packets that were changed in transit, with their names; counters of 0 are left out.
    pub corruption_counts: Vec<(String, u64)>,
    /// The rank's own report on its ports and on the peers that it cannot reach.
    pub network_status: NetworkStatus,
}

/// The counters of a host's ranks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostCounters {
    pub names: Vec<String>,
    pub ranks: Vec<RankCounters>,
}

/// The counters of one rank, and the text about the ports by which its peers on other hosts replied.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RankCounters {
    pub rank: u32,
    pub values: Vec<u64>,
    pub reachability: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// The first frame of an agent, in every version.
    Ready {
        version: String,
        pid: i32,
    },
    /// The ranks are being started. `notes` are messages for the user, such as the reason why no rank is bound to
    /// cores.
    Started {
        host: String,
        facts: HostFacts,
        notes: Vec<String>,
    },
    Output {
        rank: u32,
        stream: OutputStream,
        bytes: Vec<u8>,
    },
    /// The ranks that read input have taken this many bytes of it, so mpiexec may send as many more.
    InputTaken(u32),
    Failure(RankFailure),
    /// The process of a rank is gone. Sent as soon as that is known, and only in a job of several hosts. `has_left`:
    /// the rank had left MPI. `is_fault_pending`: a `FromAgent::Failure` for the rank's end follows, at once or when
    /// the fault is known.
    RankExited {
        exit: RankExit,
        has_left: bool,
        is_fault_pending: bool,
    },
    /// The last process of a rank has ended, with this exit code; mpiexec prints it with -v.
    RankExitCode {
        rank: u32,
        pid: i32,
        code: i32,
    },
    Snapshot(Vec<RankState>),
    Counters(HostCounters),
    /// A message that mpiexec prints in a line.
    Note(String),
    /// The agent has ended its part of the job, and has sent all output. `clean`: no process of the job is left on
    /// the host.
    Finished {
        clean: bool,
    },
    BusinessCard(RankBusinessCard),
    /// The first rank of this host has called MPI_Init. Sent in a job of several hosts.
    Attached,
    /// The job-wide settings of this host's ranks, as the first rank reported them (`boot::job_settings`). Sent in a
    /// job of several hosts, before any business card of this host.
    JobSettings {
        rank: u32,
        text: String,
    },
    /// A rank has come to the end of MPI_Finalize, or of its last session. Sent in a job of several hosts.
    Finalized,
    /// A rank that was reported by `Finalized` has begun another session. Sent in a job of several hosts.
    SessionReopened,
    /// A rank has ended well without MPI_Init. Sent in a job of several hosts.
    ExitedWithoutInit {
        rank: u32,
        pid: i32,
    },
    /// The properties that were detected on this host, as text (`info::host_text`).
    Info(String),
    /// A rank's report about its paths to another rank.
    Reachability {
        rank: u32,
        report: PeerReachability,
    },
}

impl ToAgent {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = FieldWriter::default();
        match self {
            ToAgent::Start(job) => put_job(to.u8(0), job),
            ToAgent::Input(bytes) => to.u8(1).bytes(bytes).done(),
            ToAgent::Signal(signal) => to.u8(2).u32(*signal as u32).done(),
            ToAgent::Snapshot => to.u8(3).done(),
            ToAgent::End { signal, code } => to.u8(4).u32(*signal as u32).u32(*code as u32).done(),
            ToAgent::BusinessCards(cards) => to.u8(5).list(cards, put_business_card).done(),
            ToAgent::Counters => to.u8(6).done(),
            ToAgent::Info { ranks, settings } => {
                to.u8(7).u32(*ranks).list(settings, |to, (name, value)| to.bytes(name).bytes(value).done()).done();
            }
            ToAgent::AllFinalized { finalized_seen } => to.u8(8).u32(*finalized_seen).done(),
            ToAgent::RanksExited(ends) => to.u8(9).list(ends, put_exit).done(),
        }
        to.0
    }

    pub fn decode(body: &[u8]) -> Option<ToAgent> {
        let from = &mut FieldReader(body);
        Some(match from.u8()? {
            0 => ToAgent::Start(Box::new(get_job(from)?)),
            1 => ToAgent::Input(from.bytes()?),
            2 => ToAgent::Signal(from.u32()? as i32),
            3 => ToAgent::Snapshot,
            4 => ToAgent::End { signal: from.u32()? as i32, code: from.u32()? as i32 },
            5 => ToAgent::BusinessCards(from.list(get_business_card)?),
            6 => ToAgent::Counters,
            7 => {
                ToAgent::Info { ranks: from.u32()?, settings: from.list(|from| Some((from.bytes()?, from.bytes()?)))? }
            }
            8 => ToAgent::AllFinalized { finalized_seen: from.u32()? },
            9 => ToAgent::RanksExited(from.list(get_exit)?),
            _ => return None,
        })
    }
}

impl FromAgent {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = FieldWriter::default();
        match self {
            FromAgent::Started { host, facts, notes } => {
                put_facts(to.u8(0).text(host), facts);
                to.list(notes, |to, note| to.text(note).done());
            }
            FromAgent::Output { rank, stream, bytes } => to.u8(1).u32(*rank).u8(*stream as u8).bytes(bytes).done(),
            FromAgent::InputTaken(len) => to.u8(2).u32(*len).done(),
            FromAgent::Failure(failure) => failure.put(to.u8(3)),
            FromAgent::RankExitCode { rank, pid, code } => {
                to.u8(4).u32(*rank).u32(*pid as u32).u32(*code as u32).done()
            }
            FromAgent::Snapshot(states) => to.u8(5).list(states, put_state).done(),
            FromAgent::Counters(counters) => {
                to.u8(6).list(&counters.names, |to, name| to.text(name).done());
                to.list(&counters.ranks, |to, RankCounters { rank, values, reachability }| {
                    to.u32(*rank).text(reachability).list(values, |to, count| to.u64(*count).done()).done()
                });
            }
            FromAgent::Note(text) => to.u8(7).text(text).done(),
            FromAgent::Finished { clean } => to.u8(8).u8(u8::from(*clean)).done(),
            FromAgent::Ready { version, pid } => to.u8(9).text(version).u32(*pid as u32).done(),
            FromAgent::BusinessCard(business_card) => put_business_card(to.u8(10), business_card),
            FromAgent::Attached => to.u8(11).done(),
            FromAgent::JobSettings { rank, text } => to.u8(17).u32(*rank).text(text).done(),
            FromAgent::Finalized => to.u8(14).done(),
            FromAgent::SessionReopened => to.u8(16).done(),
            FromAgent::RankExited { exit, has_left, is_fault_pending } => {
                put_exit(to.u8(18), exit);
                to.u8(u8::from(*has_left)).u8(u8::from(*is_fault_pending)).done();
            }
            FromAgent::Info(text) => to.u8(12).text(text).done(),
            FromAgent::ExitedWithoutInit { rank, pid } => to.u8(13).u32(*rank).u32(*pid as u32).done(),
            FromAgent::Reachability { rank, report } => {
                to.u8(15)
                    .u32(*rank)
                    .u32(report.peer)
                    .u8(u8::from(report.has_no_port_pair))
                    .u8(u8::from(report.was_open));
                to.u8(u8::from(report.is_reachable)).text(&report.pairs).done();
            }
        }
        to.0
    }

    pub fn decode(body: &[u8]) -> Option<FromAgent> {
        let from = &mut FieldReader(body);
        Some(match from.u8()? {
            0 => {
                FromAgent::Started { host: from.text()?, facts: get_facts(from)?, notes: from.list(FieldReader::text)? }
            }
            1 => FromAgent::Output {
                rank: from.u32()?,
                stream: if from.u8()? == OutputStream::Out as u8 { OutputStream::Out } else { OutputStream::Err },
                bytes: from.bytes()?,
            },
            2 => FromAgent::InputTaken(from.u32()?),
            3 => FromAgent::Failure(RankFailure::get(from)?),
            4 => FromAgent::RankExitCode { rank: from.u32()?, pid: from.u32()? as i32, code: from.u32()? as i32 },
            5 => FromAgent::Snapshot(from.list(get_state)?),
            6 => FromAgent::Counters(HostCounters {
                names: from.list(FieldReader::text)?,
                ranks: from.list(|from| {
                    let (rank, reachability) = (from.u32()?, from.text()?);
                    Some(RankCounters { rank, reachability, values: from.list(FieldReader::u64)? })
                })?,
            }),
            7 => FromAgent::Note(from.text()?),
            8 => FromAgent::Finished { clean: from.u8()? == 1 },
            9 => FromAgent::Ready { version: from.text()?, pid: from.u32()? as i32 },
            10 => FromAgent::BusinessCard(get_business_card(from)?),
            11 => FromAgent::Attached,
            17 => FromAgent::JobSettings { rank: from.u32()?, text: from.text()? },
            14 => FromAgent::Finalized,
            16 => FromAgent::SessionReopened,
            18 => FromAgent::RankExited {
                exit: get_exit(from)?,
                has_left: from.u8()? == 1,
                is_fault_pending: from.u8()? == 1,
            },
            12 => FromAgent::Info(from.text()?),
            13 => FromAgent::ExitedWithoutInit { rank: from.u32()?, pid: from.u32()? as i32 },
            15 => FromAgent::Reachability {
                rank: from.u32()?,
                report: PeerReachability {
                    peer: from.u32()?,
                    has_no_port_pair: from.u8()? == 1,
                    was_open: from.u8()? == 1,
                    is_reachable: from.u8()? == 1,
                    pairs: from.text()?,
                },
            },
            _ => return None,
        })
    }
}

fn put_exit(to: &mut FieldWriter, exit: &RankExit) {
    to.u32(exit.rank).u8(u8::from(exit.failed)).done();
}

fn get_exit(from: &mut FieldReader) -> Option<RankExit> {
    Some(RankExit { rank: from.u32()?, failed: from.u8()? == 1 })
}

fn put_business_card(to: &mut FieldWriter, (rank, bytes): &RankBusinessCard) {
    to.u32(*rank).bytes(bytes).done();
}

fn get_business_card(from: &mut FieldReader) -> Option<RankBusinessCard> {
    Some((from.u32()?, from.bytes()?))
}

fn put_job(to: &mut FieldWriter, job: &HostJob) {
    to.text(&job.id).text(&job.host).bytes(&job.secret.0).u32(job.size);
    to.list(&job.ranks, |to, (rank, app)| to.u32(*rank).u32(*app).done());
    to.list(&job.hosts, |to, host| to.u32(*host).done());
    to.list(&job.apps, |to, app| {
        to.u32(app.ranks).bytes(&app.program).list(&app.args, |to, arg| to.bytes(arg).done()).bytes(&app.directory);
        to.bytes(&app.path).text(&app.arch);
        to.list(&app.environment, |to, (name, value)| to.bytes(name).bytes(value).done());
    });
    put_binding(to.bytes(&job.directory), &job.binding);
    to.list(&job.readers, |to, rank| to.u32(*rank).done()).u8(u8::from(job.stats)).u8(u8::from(job.membarrier));
    to.u8(u8::from(job.continues_after_fault)).text(&job.profile_line);
}

fn get_job(from: &mut FieldReader) -> Option<HostJob> {
    Some(HostJob {
        id: from.text()?,
        host: from.text()?,
        secret: JobSecret(from.bytes()?.try_into().ok()?),
        size: from.u32()?,
        ranks: from.list(|from| Some((from.u32()?, from.u32()?)))?,
        hosts: from.list(FieldReader::u32)?,
        apps: from.list(|from| {
            Some(App {
                ranks: from.u32()?,
                program: from.bytes()?,
                args: from.list(FieldReader::bytes)?,
                directory: from.bytes()?,
                path: from.bytes()?,
                arch: from.text()?,
                environment: from.list(|from| Some((from.bytes()?, from.bytes()?)))?,
            })
        })?,
        directory: from.bytes()?,
        binding: get_binding(from)?,
        readers: from.list(FieldReader::u32)?,
        stats: from.u8()? == 1,
        membarrier: from.u8()? == 1,
        continues_after_fault: from.u8()? == 1,
        profile_line: from.text()?,
    })
}

fn put_binding(to: &mut FieldWriter, binding: &Binding) {
    match binding {
        Binding::None => to.u8(0),
        Binding::Units { unit, count } => {
            let (kind, level) = match unit {
                TopologyLevel::Thread => (0, 0),
                TopologyLevel::Core => (1, 0),
                TopologyLevel::Cache(level) => (2, *level),
                TopologyLevel::Numa => (3, 0),
                TopologyLevel::Socket => (4, 0),
            };
            to.u8(1).u8(kind).u8(level).u32(*count)
        }
        Binding::User(entries) => {
            to.u8(2).list(entries, |to, cores| to.list(cores, |to, core| to.u32(*core).done()).done())
        }
    };
}

fn get_binding(from: &mut FieldReader) -> Option<Binding> {
    Some(match from.u8()? {
        0 => Binding::None,
        1 => {
            let unit = match (from.u8()?, from.u8()?) {
                (0, _) => TopologyLevel::Thread,
                (1, _) => TopologyLevel::Core,
                (2, level) => TopologyLevel::Cache(level),
                (3, _) => TopologyLevel::Numa,
                (4, _) => TopologyLevel::Socket,
                _ => return None,
            };
            Binding::Units { unit, count: from.u32()? }
        }
        2 => Binding::User(from.list(|from| from.list(FieldReader::u32))?),
        _ => return None,
    })
}

fn put_facts(to: &mut FieldWriter, facts: &HostFacts) {
    to.u32(facts.cores).u8(u8::from(facts.process_vm == ProcessVm::Allowed)).u32(facts.through_memory_mb_s);
    to.u32(facts.process_vm_mb_s).u32(facts.process_vm_call_ns).u8(u8::from(facts.membarrier));
    to.u8(u8::from(facts.string_copies));
}

fn get_facts(from: &mut FieldReader) -> Option<HostFacts> {
    Some(HostFacts {
        cores: from.u32()?,
        process_vm: if from.u8()? == 1 { ProcessVm::Allowed } else { ProcessVm::Forbidden },
        through_memory_mb_s: from.u32()?,
        process_vm_mb_s: from.u32()?,
        process_vm_call_ns: from.u32()?,
        membarrier: from.u8()? == 1,
        string_copies: from.u8()? == 1,
    })
}

fn put_state(to: &mut FieldWriter, state: &RankState) {
    to.u32(state.rank).u32(state.pid as u32).u64(state.net_polls);
    to.list(&state.corruption_counts, |to, (name, count)| to.text(name).u64(*count).done());
    put_network_status(to, &state.network_status);
    match &state.activity {
        RankActivity::NotInit => to.u8(0).done(),
        RankActivity::Initializing => to.u8(1).done(),
        RankActivity::Computing => to.u8(2).done(),
        RankActivity::Waiting(reason) => put_reason(to.u8(3), reason),
        RankActivity::Finalized => to.u8(4).done(),
        RankActivity::Exited => to.u8(5).done(),
    }
}

fn get_state(from: &mut FieldReader) -> Option<RankState> {
    let (rank, pid, net_polls) = (from.u32()?, from.u32()? as i32, from.u64()?);
    let corruption_counts = from.list(|from| Some((from.text()?, from.u64()?)))?;
    let network_status = get_network_status(from)?;
    let activity = match from.u8()? {
        0 => RankActivity::NotInit,
        1 => RankActivity::Initializing,
        2 => RankActivity::Computing,
        3 => RankActivity::Waiting(get_reason(from)?),
        4 => RankActivity::Finalized,
        5 => RankActivity::Exited,
        _ => return None,
    };
    Some(RankState { rank, pid, activity, net_polls, corruption_counts, network_status })
}

fn put_network_status(to: &mut FieldWriter, network_status: &NetworkStatus) {
    to.u8(u8::from(network_status.is_cut_off)).text(&network_status.port_faults);
    to.list(&network_status.unreachable, |to, it| to.u32(it.peer).u8(u8::from(it.was_open)).text(&it.pairs).done());
}

fn get_network_status(from: &mut FieldReader) -> Option<NetworkStatus> {
    let (is_cut_off, faults) = (from.u8()? == 1, from.text()?);
    let silent =
        from.list(|from| Some(UnreachablePeer { peer: from.u32()?, was_open: from.u8()? == 1, pairs: from.text()? }))?;
    Some(NetworkStatus { is_cut_off, port_faults: faults, unreachable: silent })
}

/// The code for `OwnedWaitReason::remote` without a rank.
const NOT_REMOTE: u32 = u32::MAX;

fn put_reason(to: &mut FieldWriter, reason: &OwnedWaitReason) {
    to.u64(reason.since_ns).u64(reason.polled_ns).text(&reason.call).text(&reason.communicator).u32(reason.context);
    match reason.peer {
        WaitPeer::None => to.u8(0).u32(0),
        WaitPeer::Any => to.u8(1).u32(0),
        WaitPeer::Rank(rank) => to.u8(2).u32(rank),
    };
    to.u32(reason.remote.unwrap_or(NOT_REMOTE));
    match reason.tag {
        WaitTag::None => to.u8(0).u32(0),
        WaitTag::Any => to.u8(1).u32(0),
        WaitTag::Is(tag) => to.u8(2).u32(tag as u32),
    };
    to.u64(reason.bytes);
    match reason.pending {
        PendingCount::One => to.u8(0).u32(0),
        PendingCount::Requests(count) => to.u8(1).u32(count),
        PendingCount::Messages(count) => to.u8(2).u32(count),
    };
}

fn get_reason(from: &mut FieldReader) -> Option<OwnedWaitReason> {
    Some(OwnedWaitReason {
        since_ns: from.u64()?,
        polled_ns: from.u64()?,
        call: from.text()?,
        communicator: from.text()?,
        context: from.u32()?,
        peer: match (from.u8()?, from.u32()?) {
            (0, _) => WaitPeer::None,
            (1, _) => WaitPeer::Any,
            (_, rank) => WaitPeer::Rank(rank),
        },
        remote: Some(from.u32()?).filter(|&rank| rank != NOT_REMOTE),
        tag: match (from.u8()?, from.u32()?) {
            (0, _) => WaitTag::None,
            (1, _) => WaitTag::Any,
            (_, tag) => WaitTag::Is(tag as i32),
        },
        bytes: from.u64()?,
        pending: match (from.u8()?, from.u32()?) {
            (0, _) => PendingCount::One,
            (1, count) => PendingCount::Requests(count),
            (_, count) => PendingCount::Messages(count),
        },
    })
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
