//! `HAWSER_CHECK`: before a collective begins its members tell each other what they called, and fail if that does not go
//! together, with one text on all of them that says who called what.
//!
//! What a member called is a line of text: the function, and those of its arguments that are the same on all members
//! (MPI-5.0 §6.2). The lines travel in a context of their own, as the words of an allgather: whatever the members called,
//! they all do this first. A nonblocking collective's task does it before its own steps.
//!
//! Before it: `Desk::execute`, `nonblocking`; after it: `run`.

use super::Job;
use super::run::{Progress, Run, Team};
use super::team::Words;
use crate::comm::CommRef;
use crate::process::Process;
use crate::task::Id;
use hawser_base::{Class, Error, Result};
use hawser_coll::{Blocks, Call, Data, Forced, Limits, Model, Place, Reduction, Tuning, plan};
use hawser_job::Waiting;

/// Room for a line, in words.
const LINE: usize = 16;
const LINE_BYTES: usize = LINE * size_of::<u64>();

/// Lists of counts longer than this are told by their sum and a hash.
const LIST_BYTES: usize = 40;

/// Groups of members that a text names.
const GROUPS: usize = 8;

/// One agreement, which may be come to again and again.
pub struct Agreement {
    run: Run,
    team: Team,
    words: Words,
    line: String,
    name: &'static str,
}

impl Agreement {
    /// For a call on `comm`; agreements under way at the same time have different tags.
    pub fn new(comm: &CommRef, tag: i32, name: &'static str, call: &Call<'_>, job: &Job) -> Agreement {
        let (rank, size) = (comm.rank(), comm.size());
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: Model::SHARED_MEMORY,
            limits: Limits::DEFAULT,
            forced: Forced::default(),
        };
        let mut run = Run::default();
        let blocks = Blocks::regular(LINE as u64, size_of::<u64>() as u64);
        let nothing = Data { count: 0, type_size: size_of::<u64>() as u64, dense: true };
        let gather = Call::Allgather { send: nothing, recv: blocks, in_place: true };
        plan(&gather, Place { rank, size }, &tuning, &mut run.schedule);
        let context = comm.context().agreement();
        let team = Team { comm: comm.clone(), group: comm.group().clone(), context, tag };
        let mut line = line(name, call, job, Place { rank, size });
        line.truncate((0..=LINE_BYTES).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0));
        Agreement { run, team, words: Words::new(size as usize * LINE), line, name }
    }

    /// Before the first step, each time.
    pub fn begin(&mut self) -> Result<()> {
        let mut bytes = self.line.clone().into_bytes();
        bytes.resize(LINE_BYTES, 0);
        let word = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("a word has eight bytes"));
        let words: Vec<u64> = bytes.chunks_exact(size_of::<u64>()).map(word).collect();
        self.words.set(self.team.comm.rank() as usize * LINE, &words);
        self.run.begin(Job { recv: self.words.side(), ..Job::default() })
    }

    /// Comes to the agreement, or waits until all have come.
    pub fn come_to(mut self, process: &'static Process) -> Result<()> {
        self.begin()?;
        self.run.complete(process, &self.team, &mut None, self.name)?;
        self.verdict()
    }

    /// Goes on as far as it can without waiting. None: not yet.
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
        let mut words = vec![0; self.team.comm.size() as usize * LINE];
        self.words.get(&mut words);
        let lines: Vec<String> = words.chunks_exact(LINE).map(text).collect();
        let Some(differences) = differences(&lines) else { return Ok(()) };
        let text = format!(
            "{differences}. All members call the same collectives in one order, with arguments that go together (MPI-5.0 \
             §6.2; compared because of HAWSER_CHECK)"
        );
        Err(Error::new(Class::Arg, text))
    }
}

fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `ranks 0, 2-3 called MPI_Barrier; rank 1 called MPI_Bcast (root 0, 4 bytes)`; None if all called the same.
fn differences(lines: &[String]) -> Option<String> {
    let mut groups: Vec<(&String, Vec<usize>)> = Vec::new();
    for (rank, line) in lines.iter().enumerate() {
        match groups.iter_mut().find(|(other, _)| *other == line) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((line, vec![rank])),
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let tell = |(line, all): &(&String, Vec<usize>)| format!("{} called {line}", ranks(all));
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

/// The function and what of its arguments is the same everywhere. Of a collective that is a part of another function
/// (MPI_Comm_dup, MPI_Finalize) the function says enough.
fn line(name: &str, call: &Call<'_>, job: &Job, place: Place) -> String {
    let (own, arguments) = arguments(call, job, place);
    let is_own = name.to_ascii_lowercase().contains(own);
    if is_own && !arguments.is_empty() { format!("{name} ({})", arguments.join(", ")) } else { name.to_owned() }
}

/// What the collective is called, and its arguments.
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
        // What a neighbour sends is between the two of them.
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

/// `3+4+5`; long ones by their sum and what tells them apart.
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

    #[test]
    fn who_called_what_is_one_text() {
        assert_eq!(differences(&lines(&["a", "a", "a"])), None);
        assert_eq!(differences(&lines(&["a"])), None);
        assert_eq!(differences(&lines(&["a", "b"])).unwrap(), "rank 0 called a; rank 1 called b");
        let many = lines(&["a", "b", "a", "a", "c", "b", "b", "a"]);
        assert_eq!(differences(&many).unwrap(), "ranks 0, 2-3, 7 called a; ranks 1, 5-6 called b; rank 4 called c");
        let all: Vec<String> = (0..20).map(|rank| rank.to_string()).collect();
        assert!(differences(&all).unwrap().ends_with("rank 7 called 7; others called 12 more"));
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
        let said = |name, call: &Call<'_>| line(name, call, &Job::default(), place);
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
