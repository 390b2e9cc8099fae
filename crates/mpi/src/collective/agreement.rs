//! With `HAWSER_CHECK` the members of a communicator compare their calls before each collective. If these do not match,
//! every member fails with the same text, which names the call of each member.
//!
//! Each member's call is one line of text: the function, and those of its arguments that are the same on all members
//! (MPI-5.0 §6.2); and, where the blocks of a call have lengths of their own, the bytes that it sends to and receives
//! from each member. An allgather in a context of its own collects them: whatever the members called, they do this
//! first, and all of them come to the same verdict. A nonblocking collective's task does it before its own steps. On an
//! intercommunicator the members of both groups do it together.
//!
//! Used by `Desk::execute` and `nonblocking`; uses `run`.

use super::run::{Progress, Team};
use super::team::Words;
use crate::comm::{Comm, CommRef};
use crate::desk::Job;
use crate::desk::run::Run;
use crate::group::Group;
use crate::process::{self, Process};
use crate::task::Id;
use hawser_base::{Class, Error, Peer, Result};
use hawser_coll::{Blocks, Call, Data, Forced, Limits, Model, NOBODY, Place, Reduction, Sides, Tuning, plan};
use hawser_job::Waiting;
use std::sync::Arc;

/// Room for a line, in words.
const LINE: usize = 16;
const LINE_BYTES: usize = LINE * size_of::<u64>();

/// Lists of counts longer than this are sent as their sum and a hash.
const LIST_BYTES: usize = 40;

/// Groups of members, or pairs of them, that a text names.
const GROUPS: usize = 8;

/// The most members that compare the bytes which they send to and receive from each other: n * n numbers on each of n.
const PAIRS_MOST: u32 = 256;

/// The word of a member that does not know another's part.
const UNSAID: u64 = u64::MAX;

/// The arguments of a member that has MPI_PROC_NULL as the root.
const NO_ROOT: &str = " (root MPI_PROC_NULL)";

/// One agreement, which may be run again and again.
pub struct Agreement {
    run: Run,
    team: Team,
    words: Words,
    /// This member's words.
    said: Vec<u64>,
    name: &'static str,
}

impl Agreement {
    /// Makes the agreement for a call on `comm`; agreements in progress at the same time have different tags.
    pub fn new(comm: &CommRef, tag: i32, name: &'static str, call: &Call<'_>, job: &Job) -> Agreement {
        let Place { rank, size } = all_of(comm);
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: Model::SHARED_MEMORY,
            limits: Limits::DEFAULT,
            forced: Forced::default(),
        };
        let mut run = Run::default();
        let mut said = words(&line(name, call, job, comm));
        if size <= PAIRS_MOST {
            said.extend(pairs(call, comm));
        }
        let blocks = Blocks::regular(said.len() as u64, size_of::<u64>() as u64);
        let nothing = Data { count: 0, type_size: size_of::<u64>() as u64, dense: true };
        let gather = Call::Allgather { send: nothing, recv: blocks, in_place: true };
        plan(&gather, Place { rank, size }, &tuning, &mut run.schedule);
        let context = comm.context().agreement();
        let team = Team { comm: comm.clone(), group: comm.everybody().clone(), context, tag };
        Agreement { run, team, words: Words::new(size as usize * said.len()), said, name }
    }

    /// Begins a comparison; called before the first step of each call.
    pub fn begin(&mut self) -> Result<()> {
        self.words.set(all_of(&self.team.comm).rank as usize * self.said.len(), &self.said);
        self.run.begin(Job { recv: self.words.side(), ..Job::default() })
    }

    /// Runs the comparison, and waits until all members have come.
    pub fn come_to(mut self, process: &'static Process) -> Result<()> {
        self.begin()?;
        self.run.complete(process, &self.team, &mut None, self.name)?;
        self.verdict()
    }

    /// Advances as far as it can without waiting. None: not complete yet.
    pub fn advance(&mut self, process: &'static Process, me: Id) -> Option<Result<()>> {
        self.run.task = Some(me);
        match self.run.advance(process, &self.team, &mut None, false) {
            Progress::Ended => Some(self.run.finish().and_then(|()| self.verdict())),
            _ => None,
        }
    }

    pub fn reason(&self) -> Waiting {
        self.run.reason(&self.team, self.name)
    }

    fn verdict(&mut self) -> Result<()> {
        let comm = &self.team.comm;
        let mut words = vec![0; all_of(comm).size as usize * self.said.len()];
        self.words.get(&mut words);
        let said: Vec<&[u64]> = words.chunks_exact(self.said.len()).collect();
        let lines: Vec<String> = said.iter().map(|words| text(&words[..LINE])).collect();
        let pairs: Vec<&[u64]> = said.iter().map(|words| &words[LINE..]).collect();
        // Ranks of two groups mean nothing without their group.
        let (known, of) = if comm.is_inter() { Naming::of(comm).split() } else { (None, "") };
        let named = |at: usize| known.as_ref().map_or(at, |naming| naming.number(at as u32) as usize);
        let found = differences(&lines, named, of).or_else(|| misfits(&pairs, named, of));
        let Some(found) = found else { return Ok(()) };
        let text = format!(
            "{found}. All members call the same collectives in one order, with arguments that go together (MPI-5.0 \
             §6.2; compared because of HAWSER_CHECK)"
        );
        Err(Error::new(Class::Arg, text))
    }
}

/// This member among all that take part, of both groups of an intercommunicator.
fn all_of(comm: &Comm) -> Place {
    comm.sides().map_or(Place { rank: comm.rank(), size: comm.size() }, |sides| sides.among_all())
}

/// The names of members of both groups of an intercommunicator, alike on all of them: their ranks of MPI_COMM_WORLD if
/// all have the same one, otherwise their numbers in the job.
struct Naming {
    members: Arc<Group>,
    world: Option<Arc<Group>>,
}

impl Naming {
    fn of(comm: &Comm) -> Naming {
        let members = comm.everybody().clone();
        let world = process::get().ok().map(|process| process.world().group().clone());
        let world = world.filter(|world| members.peers().all(|peer| world.rank_of(peer).is_some()));
        Naming { members, world }
    }

    fn number(&self, at: u32) -> u32 {
        let number = |peer: Peer| match &self.world {
            Some(world) => world.rank_of(peer),
            None => Some(peer.index() as u32),
        };
        self.members.peer(at).and_then(number).unwrap_or(at)
    }

    /// Returns the naming, and the text that follows the numbers.
    fn split(self) -> (Option<Naming>, &'static str) {
        let of = if self.world.is_some() { " of MPI_COMM_WORLD" } else { " of the job" };
        (Some(self), of)
    }

    fn rank(self, at: u32) -> String {
        let number = self.number(at);
        format!("rank {number}{}", self.split().1)
    }
}

/// A line as words, cut where it is too long.
fn words(line: &str) -> Vec<u64> {
    let end = (0..=LINE_BYTES).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let mut bytes = line.as_bytes()[..end].to_vec();
    bytes.resize(LINE_BYTES, 0);
    let word = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("a word has eight bytes"));
    bytes.chunks_exact(size_of::<u64>()).map(word).collect()
}

fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `ranks 0, 2-3 called MPI_Barrier; rank 1 called MPI_Bcast (root 0, 4 bytes)`; None if all called the same. A member
/// that gives MPI_PROC_NULL as the root of another one's call knows no more of it.
fn differences(lines: &[String], named: impl Fn(usize) -> usize, of: &str) -> Option<String> {
    let aside = |line: &str| {
        let call = line.strip_suffix(NO_ROOT).map(|name| format!("{name} ("));
        call.is_some_and(|call| lines.iter().any(|other| other.starts_with(&call) && !other.ends_with(NO_ROOT)))
    };
    let mut groups: Vec<(&String, Vec<usize>)> = Vec::new();
    for (rank, line) in lines.iter().enumerate().filter(|(_, line)| !aside(line)).map(|(at, line)| (named(at), line)) {
        match groups.iter_mut().find(|(other, _)| *other == line) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((line, vec![rank])),
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let tell = |(line, all): &(&String, Vec<usize>)| format!("{}{of} called {line}", ranks(all));
    let mut told: Vec<String> = groups.iter().take(GROUPS).map(tell).collect();
    if groups.len() > GROUPS {
        told.push(format!("others called {} more", groups.len() - GROUPS));
    }
    Some(told.join("; "))
}

/// `rank 1`, `ranks 0, 2-3`.
fn ranks(all: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let tell =
        |&(first, last): &(usize, usize)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    let list: Vec<String> = runs.iter().map(tell).collect();
    format!("rank{} {}", if all.len() == 1 { "" } else { "s" }, list.join(", "))
}

/// The line of a call: the function and those arguments that are the same everywhere. For a collective that is a part
/// of another function (MPI_Comm_dup, MPI_Finalize) the function suffices.
fn line(name: &str, call: &Call<'_>, job: &Job, comm: &Comm) -> String {
    if call.root() == Some(NOBODY) {
        return format!("{name}{NO_ROOT}");
    }
    let (own, arguments) = match comm.sides() {
        None => arguments(call, job, all_of(comm)),
        Some(sides) => arguments_between(call, job, sides, |at| Naming::of(comm).rank(at)),
    };
    called(name, own, &arguments)
}

fn called(name: &str, own: &str, arguments: &[String]) -> String {
    let is_own = name.to_ascii_lowercase().contains(own);
    if is_own && !arguments.is_empty() { format!("{name} ({})", arguments.join(", ")) } else { name.to_owned() }
}

/// The same on an intercommunicator, as both groups see it: blocks are those that the first group sends, then the
/// other's. Lists of blocks are each group's own.
fn arguments_between(
    call: &Call<'_>,
    job: &Job,
    sides: Sides,
    named: impl Fn(u32) -> String,
) -> (&'static str, Vec<String>) {
    let both = |mine: u64, theirs: u64| {
        let (first, second) = if sides.first { (mine, theirs) } else { (theirs, mine) };
        vec![format!("blocks of {first} and {second} bytes")]
    };
    match call {
        Call::Allgather { send, recv, .. } => ("allgather", both(send.bytes(), recv.bytes(0))),
        Call::Alltoall { send, recv, .. } => ("alltoall", both(send.bytes(0), recv.bytes(0))),
        Call::Allgatherv { .. } => ("allgatherv", vec![]),
        Call::ReduceScatter { counts, .. } => {
            let sum: u64 = (0..sides.local.size).map(|rank| counts.at(rank) as u64).sum();
            ("reduce_scatter", vec![reduced(&sum.to_string(), job)])
        }
        Call::ReduceScatterBlock(data) => {
            let sum = data.count * u64::from(sides.local.size);
            ("reduce_scatter", vec![reduced(&sum.to_string(), job)])
        }
        _ => {
            let (own, mut found) = arguments(call, job, sides.among_all());
            if let Some(root) = call.root() {
                found[0] = format!("root {}", named(root));
            }
            (own, found)
        }
    }
}

/// The bytes that this member sends to each member, and then those that it receives from each, where the blocks of a
/// call have lengths of their own.
fn pairs(call: &Call<'_>, comm: &Comm) -> Vec<u64> {
    let Place { rank, size } = all_of(comm);
    // Blocks are those of the members that this one deals with.
    let (others, first) = match comm.sides() {
        None => (size, 0),
        Some(sides) => (sides.remote, sides.theirs(0)),
    };
    let mut sent = vec![UNSAID; size as usize];
    let mut taken = sent.clone();
    let each = |list: &mut [u64], bytes: &dyn Fn(u32) -> u64| {
        (0..others).for_each(|at| list[(first + at) as usize] = bytes(at));
    };
    match call {
        Call::Alltoallv { send, recv, in_place } | Call::Alltoallw { send, recv, in_place } => {
            let send = if *in_place { recv } else { send };
            each(&mut sent, &|at| send.bytes(at));
            each(&mut taken, &|at| recv.bytes(at));
        }
        Call::Allgatherv { send, recv, in_place } => {
            each(&mut sent, &|_| if *in_place { recv.bytes(rank) } else { send.bytes() });
            each(&mut taken, &|at| recv.bytes(at));
        }
        Call::Gatherv { root, send, recv, in_place } if *root != NOBODY => {
            if *root == rank {
                each(&mut taken, &|at| recv.bytes(at));
            }
            let has_own = *root != rank || !*in_place && !comm.is_inter();
            sent[*root as usize] = if has_own { send.bytes() } else { UNSAID };
        }
        Call::Scatterv { root, send, recv, in_place } if *root != NOBODY => {
            if *root == rank {
                each(&mut sent, &|at| send.bytes(at));
            }
            let has_own = *root != rank || !*in_place && !comm.is_inter();
            taken[*root as usize] = if has_own { recv.bytes() } else { UNSAID };
        }
        _ => {}
    }
    [sent, taken].concat()
}

/// `rank 0 sends 8 bytes to rank 1, which takes 4`; None if the bytes sent to each member are those that it takes.
fn misfits(pairs: &[&[u64]], named: impl Fn(usize) -> usize, of: &str) -> Option<String> {
    let size = pairs.len();
    if pairs.first().is_none_or(|one| one.is_empty()) {
        return None;
    }
    let all = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
    let amounts = all.map(|(from, to)| (from, to, pairs[from][to], pairs[to][size + from]));
    let mut wrong = amounts.filter(|&(_, _, sent, taken)| sent != UNSAID && taken != UNSAID && sent != taken);
    let tell = |(from, to, sent, taken): (usize, usize, u64, u64)| {
        format!("rank {}{of} sends {sent} bytes to rank {}{of}, which takes {taken}", named(from), named(to))
    };
    let mut told: Vec<String> = wrong.by_ref().take(GROUPS).map(tell).collect();
    let more = wrong.count();
    if more > 0 {
        told.push(format!("{more} more such pairs"));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// The name of the collective, and its arguments.
fn arguments(call: &Call<'_>, job: &Job, Place { rank, size }: Place) -> (&'static str, Vec<String>) {
    let root = |root: &u32| format!("root {root}");
    let bytes = |bytes: u64| format!("{bytes} bytes");
    let each = |bytes: u64| format!("blocks of {bytes} bytes");
    let folded = |data: &Reduction| reduced(&data.count.to_string(), job);
    match call {
        Call::Barrier => ("barrier", vec![]),
        Call::Bcast { root: from, data } => ("bcast", vec![root(from), bytes(data.bytes())]),
        Call::Reduce { root: to, data } => ("reduce", vec![root(to), folded(data)]),
        Call::Allreduce(data) => ("allreduce", vec![folded(data)]),
        Call::Scan(data) => ("scan", vec![folded(data)]),
        Call::Exscan(data) => ("exscan", vec![folded(data)]),
        Call::ReduceScatterBlock(data) => ("reduce_scatter", vec![folded(data)]),
        Call::ReduceScatter { counts, .. } => {
            ("reduce_scatter", vec![reduced(&list(size, |rank| counts.at(rank) as u64), job)])
        }
        Call::Gather { root: to, send, recv, .. } => {
            ("gather", vec![root(to), each(if *to == rank { recv.bytes(rank) } else { send.bytes() })])
        }
        Call::Scatter { root: from, send, recv, .. } => {
            ("scatter", vec![root(from), each(if *from == rank { send.bytes(rank) } else { recv.bytes() })])
        }
        Call::Gatherv { root: to, .. } => ("gatherv", vec![root(to)]),
        Call::Scatterv { root: from, .. } => ("scatterv", vec![root(from)]),
        Call::Allgather { recv, .. } => ("allgather", vec![each(recv.bytes(rank))]),
        Call::Allgatherv { recv, .. } => {
            ("allgatherv", vec![format!("blocks of {} bytes", list(size, |rank| recv.bytes(rank)))])
        }
        Call::Alltoall { recv, .. } => ("alltoall", vec![each(recv.bytes(rank))]),
        Call::Alltoallv { .. } => ("alltoallv", vec![]),
        Call::Alltoallw { .. } => ("alltoallw", vec![]),
        // The data that neighbours send concern the two of them alone.
        Call::NeighborAllgather { .. } => ("neighbor_allgather", vec![]),
        Call::NeighborAlltoall { .. } => ("neighbor_alltoall", vec![]),
    }
}

/// `4 MPI_INT, MPI_SUM`.
fn reduced(counts: &str, job: &Job) -> String {
    let Some((reducer, datatype)) = &job.reduction else { return counts.to_owned() };
    let datatype = match datatype.as_basic() {
        Some(basic) => basic.name().to_owned(),
        None => format!("elements of {} bytes", datatype.size()),
    };
    format!("{counts} {datatype}, {}", reducer.name())
}

/// `3+4+5`; long lists by their sum and a hash.
fn list(size: u32, at: impl Fn(u32) -> u64) -> String {
    let all: Vec<String> = (0..size).map(|rank| at(rank).to_string()).collect();
    let text = all.join("+");
    if text.len() <= LIST_BYTES {
        return text;
    }
    let sum = (0..size).map(at).fold(0, u64::wrapping_add);
    // FNV-1a, as it is the same on all members.
    let hash =
        text.bytes().fold(0xcbf29ce484222325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3));
    format!("{sum} (hash {:08x})", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_coll::Ints;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    fn told(lines: &[String]) -> Option<String> {
        differences(lines, |at| at, "")
    }

    #[test]
    fn who_has_no_root_knows_no_more_than_the_function() {
        let bcast = "MPI_Bcast (root rank 0 of MPI_COMM_WORLD, 4 bytes)";
        let aside = "MPI_Bcast (root MPI_PROC_NULL)";
        assert_eq!(told(&lines(&[bcast, aside, aside, bcast])), None);
        assert_eq!(told(&lines(&[aside, aside])), None);
        let found = differences(&lines(&["MPI_Barrier", aside, aside]), |at| at + 4, " of MPI_COMM_WORLD").unwrap();
        assert_eq!(
            found,
            "rank 4 of MPI_COMM_WORLD called MPI_Barrier; ranks 5-6 of MPI_COMM_WORLD called MPI_Bcast (root MPI_PROC_NULL)"
        );
    }

    #[test]
    fn what_one_sends_and_another_one_does_not_take_is_told() {
        let fits: [&[u64]; 2] = [&[1, 2, 1, 3], &[3, UNSAID, 2, 7]];
        assert_eq!(misfits(&fits, |at| at, ""), None);
        assert_eq!(misfits(&[&[], &[]], |at| at, ""), None);
        let wrong: [&[u64]; 2] = [&[1, 2, 1, 4], &[3, UNSAID, 5, 7]];
        let text = "rank 0 sends 2 bytes to rank 1, which takes 5; rank 1 sends 3 bytes to rank 0, which takes 4";
        assert_eq!(misfits(&wrong, |at| at, "").unwrap(), text);
    }

    #[test]
    fn who_called_what_is_one_text() {
        assert_eq!(told(&lines(&["a", "a", "a"])), None);
        assert_eq!(told(&lines(&["a"])), None);
        assert_eq!(told(&lines(&["a", "b"])).unwrap(), "rank 0 called a; rank 1 called b");
        let many = lines(&["a", "b", "a", "a", "c", "b", "b", "a"]);
        assert_eq!(told(&many).unwrap(), "ranks 0, 2-3, 7 called a; ranks 1, 5-6 called b; rank 4 called c");
        let all: Vec<String> = (0..20).map(|rank| rank.to_string()).collect();
        assert!(told(&all).unwrap().ends_with("rank 7 called 7; others called 12 more"));
    }

    #[test]
    fn lists_that_differ_are_told_differently_however_long() {
        assert_eq!(list(3, |rank| u64::from(rank) + 3), "3+4+5");
        let long = |odd: u32| list(100, |rank| if rank == odd { 1001 } else { 1000 });
        assert!(long(3).starts_with("100001 (hash ") && long(3) != long(4), "{}", long(3));
    }

    #[test]
    fn a_line_has_the_arguments_of_the_function_itself_alone() {
        let place = Place { rank: 1, size: 4 };
        let data = Data { count: 4, type_size: 4, dense: true };
        let bcast = Call::Bcast { root: 2, data };
        let said = |name, call: &Call<'_>| {
            let (own, arguments) = arguments(call, &Job::default(), place);
            called(name, own, &arguments)
        };
        assert_eq!(said("MPI_Ibcast", &bcast), "MPI_Ibcast (root 2, 16 bytes)");
        assert_eq!(said("MPI_Comm_split", &bcast), "MPI_Comm_split");
        assert_eq!(said("MPI_Barrier", &Call::Barrier), "MPI_Barrier");
        let blocks = Blocks::regular(3, 8);
        let gather = |root| Call::Gather { root, send: data, recv: blocks, in_place: false };
        assert_eq!(said("MPI_Gather", &gather(0)), "MPI_Gather (root 0, blocks of 16 bytes)");
        assert_eq!(said("MPI_Gather", &gather(1)), "MPI_Gather (root 1, blocks of 24 bytes)");
        let counts = [1, 2, 3, 4];
        let all = Call::Allgatherv {
            send: data,
            recv: Blocks::vector(Ints::Int(&counts), Ints::Int(&counts), 8),
            in_place: false,
        };
        assert_eq!(said("MPI_Allgatherv_init", &all), "MPI_Allgatherv_init (blocks of 8+16+24+32 bytes)");
    }
}
