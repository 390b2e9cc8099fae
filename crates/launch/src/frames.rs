//! The frames that mpiexec and an agent exchange.
//!
//! `Down` goes to the agent, `Up` comes from it; `channel` carries them. Both ends are of the same version, which the
//! agent's first frame carries, so no other version is decoded; a frame that does not parse ends the connection.

use crate::binding::Binding;
use crate::trouble::Trouble;
use crate::wire::{Reader, Writer};
use hawser_boot::protocol::{Secret, Unanswered};
use hawser_job::{Facts, Open, ProcessVm, Silent, Tag, WaitPeer, Waiting, Ways};
use hawser_os::cpus::Unit;

/// The version of the frames; raise it with every change of a frame but the first, which all versions understand.
const VERSION: u32 = 11;

/// The version that both ends must have in common.
pub fn version() -> String {
    format!("{} (frames {VERSION})", env!("CARGO_PKG_VERSION"))
}

/// A program and how to start it; `ranks` of it are in the job.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct App {
    pub ranks: u32,
    pub program: Vec<u8>,
    pub args: Vec<Vec<u8>>,
    /// The directory in which it starts; empty for the one in which mpiexec was started.
    pub directory: Vec<u8>,
    /// Folders in which the program is looked for before its PATH, separated by colons.
    pub path: Vec<u8>,
    /// The processor that the program is for; empty for any.
    pub arch: String,
    /// Its whole environment except what the agent adds.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The job of one host, which its agent must run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostJob {
    pub id: String,
    /// The user's name for the host; empty for its own name.
    pub host: String,
    /// The proof that a frame on the network is of this job. The secret travels here, and to the ranks when they
    /// attach.
    pub secret: Secret,
    pub size: u32,
    /// The world ranks of this host, with the index of each one's app.
    pub ranks: Vec<(u32, u32)>,
    /// The host number of each world rank; empty where there is one host.
    pub hosts: Vec<u32>,
    pub apps: Vec<App>,
    pub directory: Vec<u8>,
    pub binding: Binding,
    /// The world ranks that read mpiexec's standard input.
    pub readers: Vec<u32>,
    pub stats: bool,
    /// The value of HAWSER_MEMBARRIER where mpiexec runs.
    pub membarrier: bool,
    /// The other ranks go on when a rank ends (-disable-auto-cleanup).
    pub keeps: bool,
    /// The profile of the machine that mpiexec is on, in one line (`node::profile`); empty for none.
    pub tuned: String,
}

/// A rank and the business card that it publishes to all others.
pub type Card = (u32, Vec<u8>);

/// A rank whose process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankEnd {
    pub rank: u32,
    /// The rank had not left MPI, nor done its work (`job::lives::Ending`).
    pub failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Down {
    Start(Box<HostJob>),
    /// Input for the ranks that read it; empty at the end of the input.
    Input(Vec<u8>),
    /// A signal to be sent to every rank.
    Signal(i32),
    /// Requests `Up::Snapshot`.
    Snapshot,
    /// Ends every rank, with this signal first; `code` is for ranks that poll the abort flag.
    End {
        signal: i32,
        code: i32,
    },
    /// Business cards that ranks of any host have published.
    Cards(Vec<Card>),
    /// Every rank has come to the end of MPI_Finalize: no rank needs an answer of another any more. `heard` is the
    /// number of `Up::Finalized` of this host that had arrived before.
    AllFinalized {
        heard: u32,
    },
    /// Ranks, of other hosts as a rule, whose processes are gone.
    Ended(Vec<RankEnd>),
    /// Requests `Up::Counts`.
    Counts,
    /// Requests `Up::Info`, measured for `ranks` ranks; `settings` are the Hawser variables of their environment.
    Info {
        ranks: u32,
        settings: Vec<(Vec<u8>, Vec<u8>)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Out,
    Err,
}

/// The activity of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The program runs but has not called MPI_Init.
    NotInit,
    /// The rank is inside MPI_Init, or between MPI calls, or spinning in one.
    Initializing,
    Computing,
    /// The rank sleeps in a call, or polls. `since_ns` and `polled_ns` of the reason are ages here: clocks of hosts
    /// differ.
    Waiting(Waiting),
    Finalized,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankState {
    pub rank: u32,
    pub pid: i32,
    pub doing: Doing,
    /// The number of times it has polled its network (`job::RankPage::looks`).
    pub looks: u64,
    /// The packets that it found changed in transit: the counters that are not 0.
    pub changed: Vec<(String, u64)>,
    /// Its report of its paths to other hosts.
    pub ways: Ways,
}

/// The counters of a host's ranks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    pub names: Vec<String>,
    pub ranks: Vec<Counted>,
}

/// The counters of one rank, and the ports by which its peers on other hosts answered.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Counted {
    pub rank: u32,
    pub values: Vec<u64>,
    pub answers: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    /// The first frame of an agent, in every version.
    Ready {
        version: String,
        pid: i32,
    },
    /// The ranks are being started; the texts are what was detected and chosen.
    Started {
        host: String,
        facts: Facts,
        notes: Vec<String>,
    },
    Output {
        rank: u32,
        stream: Stream,
        bytes: Vec<u8>,
    },
    /// The readers have taken this many bytes of input: as many more may be sent.
    InputTaken(u32),
    Trouble(Trouble),
    /// The process of a rank is gone; sent as soon as that is known, in a job of several hosts. `has_left`: it had left
    /// MPI. `unclear`: its fault follows, at once or when it is known (`Up::Trouble`).
    Ended {
        end: RankEnd,
        has_left: bool,
        unclear: bool,
    },
    /// The end of a rank, for -v.
    RankEnded {
        rank: u32,
        pid: i32,
        code: i32,
    },
    Snapshot(Vec<RankState>),
    Counts(Counts),
    /// A message that mpiexec prints in a line.
    Note(String),
    /// Nothing of the job is left on the host, and all its output has been sent.
    Finished {
        clean: bool,
    },
    Card(Card),
    /// The first rank of this host has called MPI_Init. Sent in a job of several hosts.
    Attached,
    /// The job-wide settings of this host's ranks, as its first one reported them (`boot::terms`). Sent in a job of
    /// several hosts, before any business card of this host.
    Terms {
        rank: u32,
        text: String,
    },
    /// A rank has come to the end of MPI_Finalize, or of its last session.
    Finalized,
    /// The rank has begun another session.
    Back,
    /// A rank has ended well without MPI_Init. Sent in a job of several hosts.
    Left {
        rank: u32,
        pid: i32,
    },
    /// The text of what was detected on this host.
    Info(String),
    /// A rank's report about its paths to another one.
    Unanswered {
        rank: u32,
        what: Unanswered,
    },
}

impl Down {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Down::Start(job) => put_job(to.u8(0), job),
            Down::Input(bytes) => to.u8(1).bytes(bytes).done(),
            Down::Signal(signal) => to.u8(2).u32(*signal as u32).done(),
            Down::Snapshot => to.u8(3).done(),
            Down::End { signal, code } => to.u8(4).u32(*signal as u32).u32(*code as u32).done(),
            Down::Cards(cards) => to.u8(5).list(cards, put_card).done(),
            Down::Counts => to.u8(6).done(),
            Down::Info { ranks, settings } => {
                to.u8(7).u32(*ranks).list(settings, |to, (name, value)| to.bytes(name).bytes(value).done()).done();
            }
            Down::AllFinalized { heard } => to.u8(8).u32(*heard).done(),
            Down::Ended(ends) => to.u8(9).list(ends, put_end).done(),
        }
        to.0
    }

    pub fn decode(body: &[u8]) -> Option<Down> {
        let from = &mut Reader(body);
        Some(match from.u8()? {
            0 => Down::Start(Box::new(get_job(from)?)),
            1 => Down::Input(from.bytes()?),
            2 => Down::Signal(from.u32()? as i32),
            3 => Down::Snapshot,
            4 => Down::End { signal: from.u32()? as i32, code: from.u32()? as i32 },
            5 => Down::Cards(from.list(get_card)?),
            6 => Down::Counts,
            7 => Down::Info { ranks: from.u32()?, settings: from.list(|from| Some((from.bytes()?, from.bytes()?)))? },
            8 => Down::AllFinalized { heard: from.u32()? },
            9 => Down::Ended(from.list(get_end)?),
            _ => return None,
        })
    }
}

impl Up {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Up::Started { host, facts, notes } => {
                put_facts(to.u8(0).text(host), facts);
                to.list(notes, |to, note| to.text(note).done());
            }
            Up::Output { rank, stream, bytes } => to.u8(1).u32(*rank).u8(*stream as u8).bytes(bytes).done(),
            Up::InputTaken(len) => to.u8(2).u32(*len).done(),
            Up::Trouble(trouble) => trouble.put(to.u8(3)),
            Up::RankEnded { rank, pid, code } => to.u8(4).u32(*rank).u32(*pid as u32).u32(*code as u32).done(),
            Up::Snapshot(states) => to.u8(5).list(states, put_state).done(),
            Up::Counts(counts) => {
                to.u8(6).list(&counts.names, |to, name| to.text(name).done());
                to.list(&counts.ranks, |to, Counted { rank, values, answers }| {
                    to.u32(*rank).text(answers).list(values, |to, count| to.u64(*count).done()).done()
                });
            }
            Up::Note(text) => to.u8(7).text(text).done(),
            Up::Finished { clean } => to.u8(8).u8(u8::from(*clean)).done(),
            Up::Ready { version, pid } => to.u8(9).text(version).u32(*pid as u32).done(),
            Up::Card(card) => put_card(to.u8(10), card),
            Up::Attached => to.u8(11).done(),
            Up::Terms { rank, text } => to.u8(17).u32(*rank).text(text).done(),
            Up::Finalized => to.u8(14).done(),
            Up::Back => to.u8(16).done(),
            Up::Ended { end, has_left, unclear } => {
                put_end(to.u8(18), end);
                to.u8(u8::from(*has_left)).u8(u8::from(*unclear)).done();
            }
            Up::Info(text) => to.u8(12).text(text).done(),
            Up::Left { rank, pid } => to.u8(13).u32(*rank).u32(*pid as u32).done(),
            Up::Unanswered { rank, what } => {
                to.u8(15).u32(*rank).u32(what.peer).u8(u8::from(what.hopeless)).u8(u8::from(what.was_open));
                to.u8(u8::from(what.answers)).text(&what.pairs).done();
            }
        }
        to.0
    }

    pub fn decode(body: &[u8]) -> Option<Up> {
        let from = &mut Reader(body);
        Some(match from.u8()? {
            0 => Up::Started { host: from.text()?, facts: get_facts(from)?, notes: from.list(Reader::text)? },
            1 => Up::Output {
                rank: from.u32()?,
                stream: if from.u8()? == Stream::Out as u8 { Stream::Out } else { Stream::Err },
                bytes: from.bytes()?,
            },
            2 => Up::InputTaken(from.u32()?),
            3 => Up::Trouble(Trouble::get(from)?),
            4 => Up::RankEnded { rank: from.u32()?, pid: from.u32()? as i32, code: from.u32()? as i32 },
            5 => Up::Snapshot(from.list(get_state)?),
            6 => Up::Counts(Counts {
                names: from.list(Reader::text)?,
                ranks: from.list(|from| {
                    let (rank, answers) = (from.u32()?, from.text()?);
                    Some(Counted { rank, answers, values: from.list(Reader::u64)? })
                })?,
            }),
            7 => Up::Note(from.text()?),
            8 => Up::Finished { clean: from.u8()? == 1 },
            9 => Up::Ready { version: from.text()?, pid: from.u32()? as i32 },
            10 => Up::Card(get_card(from)?),
            11 => Up::Attached,
            17 => Up::Terms { rank: from.u32()?, text: from.text()? },
            14 => Up::Finalized,
            16 => Up::Back,
            18 => Up::Ended { end: get_end(from)?, has_left: from.u8()? == 1, unclear: from.u8()? == 1 },
            12 => Up::Info(from.text()?),
            13 => Up::Left { rank: from.u32()?, pid: from.u32()? as i32 },
            15 => Up::Unanswered {
                rank: from.u32()?,
                what: Unanswered {
                    peer: from.u32()?,
                    hopeless: from.u8()? == 1,
                    was_open: from.u8()? == 1,
                    answers: from.u8()? == 1,
                    pairs: from.text()?,
                },
            },
            _ => return None,
        })
    }
}

fn put_end(to: &mut Writer, end: &RankEnd) {
    to.u32(end.rank).u8(u8::from(end.failed)).done();
}

fn get_end(from: &mut Reader) -> Option<RankEnd> {
    Some(RankEnd { rank: from.u32()?, failed: from.u8()? == 1 })
}

fn put_card(to: &mut Writer, (rank, bytes): &Card) {
    to.u32(*rank).bytes(bytes).done();
}

fn get_card(from: &mut Reader) -> Option<Card> {
    Some((from.u32()?, from.bytes()?))
}

fn put_job(to: &mut Writer, job: &HostJob) {
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
    to.u8(u8::from(job.keeps)).text(&job.tuned);
}

fn get_job(from: &mut Reader) -> Option<HostJob> {
    Some(HostJob {
        id: from.text()?,
        host: from.text()?,
        secret: Secret(from.bytes()?.try_into().ok()?),
        size: from.u32()?,
        ranks: from.list(|from| Some((from.u32()?, from.u32()?)))?,
        hosts: from.list(Reader::u32)?,
        apps: from.list(|from| {
            Some(App {
                ranks: from.u32()?,
                program: from.bytes()?,
                args: from.list(Reader::bytes)?,
                directory: from.bytes()?,
                path: from.bytes()?,
                arch: from.text()?,
                environment: from.list(|from| Some((from.bytes()?, from.bytes()?)))?,
            })
        })?,
        directory: from.bytes()?,
        binding: get_binding(from)?,
        readers: from.list(Reader::u32)?,
        stats: from.u8()? == 1,
        membarrier: from.u8()? == 1,
        keeps: from.u8()? == 1,
        tuned: from.text()?,
    })
}

fn put_binding(to: &mut Writer, binding: &Binding) {
    match binding {
        Binding::None => to.u8(0),
        Binding::Units { unit, count } => {
            let (kind, level) = match unit {
                Unit::Thread => (0, 0),
                Unit::Core => (1, 0),
                Unit::Cache(level) => (2, *level),
                Unit::Numa => (3, 0),
                Unit::Socket => (4, 0),
            };
            to.u8(1).u8(kind).u8(level).u32(*count)
        }
        Binding::User(entries) => {
            to.u8(2).list(entries, |to, cores| to.list(cores, |to, core| to.u32(*core).done()).done())
        }
    };
}

fn get_binding(from: &mut Reader) -> Option<Binding> {
    Some(match from.u8()? {
        0 => Binding::None,
        1 => {
            let unit = match (from.u8()?, from.u8()?) {
                (0, _) => Unit::Thread,
                (1, _) => Unit::Core,
                (2, level) => Unit::Cache(level),
                (3, _) => Unit::Numa,
                (4, _) => Unit::Socket,
                _ => return None,
            };
            Binding::Units { unit, count: from.u32()? }
        }
        2 => Binding::User(from.list(|from| from.list(Reader::u32))?),
        _ => return None,
    })
}

fn put_facts(to: &mut Writer, facts: &Facts) {
    to.u32(facts.cores).u8(u8::from(facts.process_vm == ProcessVm::Allowed)).u32(facts.memcpy_mb_s);
    to.u32(facts.process_vm_mb_s).u32(facts.process_vm_fixed_ns).u8(u8::from(facts.membarrier));
}

fn get_facts(from: &mut Reader) -> Option<Facts> {
    Some(Facts {
        cores: from.u32()?,
        process_vm: if from.u8()? == 1 { ProcessVm::Allowed } else { ProcessVm::Forbidden },
        memcpy_mb_s: from.u32()?,
        process_vm_mb_s: from.u32()?,
        process_vm_fixed_ns: from.u32()?,
        membarrier: from.u8()? == 1,
    })
}

fn put_state(to: &mut Writer, state: &RankState) {
    to.u32(state.rank).u32(state.pid as u32).u64(state.looks);
    to.list(&state.changed, |to, (name, count)| to.text(name).u64(*count).done());
    put_ways(to, &state.ways);
    match &state.doing {
        Doing::NotInit => to.u8(0).done(),
        Doing::Initializing => to.u8(1).done(),
        Doing::Computing => to.u8(2).done(),
        Doing::Waiting(reason) => put_reason(to.u8(3), reason),
        Doing::Finalized => to.u8(4).done(),
        Doing::Ended => to.u8(5).done(),
    }
}

fn get_state(from: &mut Reader) -> Option<RankState> {
    let (rank, pid, looks) = (from.u32()?, from.u32()? as i32, from.u64()?);
    let changed = from.list(|from| Some((from.text()?, from.u64()?)))?;
    let ways = get_ways(from)?;
    let doing = match from.u8()? {
        0 => Doing::NotInit,
        1 => Doing::Initializing,
        2 => Doing::Computing,
        3 => Doing::Waiting(get_reason(from)?),
        4 => Doing::Finalized,
        5 => Doing::Ended,
        _ => return None,
    };
    Some(RankState { rank, pid, doing, looks, changed, ways })
}

fn put_ways(to: &mut Writer, ways: &Ways) {
    to.u8(u8::from(ways.gone)).text(&ways.faults);
    to.list(&ways.silent, |to, it| to.u32(it.peer).u8(u8::from(it.was_open)).text(&it.pairs).done());
}

fn get_ways(from: &mut Reader) -> Option<Ways> {
    let (gone, faults) = (from.u8()? == 1, from.text()?);
    let silent =
        from.list(|from| Some(Silent { peer: from.u32()?, was_open: from.u8()? == 1, pairs: from.text()? }))?;
    Some(Ways { gone, faults, silent })
}

/// The code for no rank of a remote group.
const NOT_REMOTE: u32 = u32::MAX;

fn put_reason(to: &mut Writer, reason: &Waiting) {
    to.u64(reason.since_ns).u64(reason.polled_ns).text(&reason.call).text(&reason.communicator).u32(reason.context);
    match reason.peer {
        WaitPeer::None => to.u8(0).u32(0),
        WaitPeer::Any => to.u8(1).u32(0),
        WaitPeer::Rank(rank) => to.u8(2).u32(rank),
    };
    to.u32(reason.remote.unwrap_or(NOT_REMOTE));
    match reason.tag {
        Tag::None => to.u8(0).u32(0),
        Tag::Any => to.u8(1).u32(0),
        Tag::Is(tag) => to.u8(2).u32(tag as u32),
    };
    to.u64(reason.bytes);
    match reason.open {
        Open::One => to.u8(0).u32(0),
        Open::Requests(count) => to.u8(1).u32(count),
        Open::Messages(count) => to.u8(2).u32(count),
    };
}

fn get_reason(from: &mut Reader) -> Option<Waiting> {
    Some(Waiting {
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
            (0, _) => Tag::None,
            (1, _) => Tag::Any,
            (_, tag) => Tag::Is(tag as i32),
        },
        bytes: from.u64()?,
        open: match (from.u8()?, from.u32()?) {
            (0, _) => Open::One,
            (1, count) => Open::Requests(count),
            (_, count) => Open::Messages(count),
        },
    })
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
