//! The comparison of calls (`HAWSER_CHECK`): before each collective, the members of a communicator compare their
//! calls. If the calls do not match, every member fails with the same text, which names the call of each member.
//!
//! Each member describes its call by one line of text: the function, and those of its arguments that must be the same
//! on all members (MPI-5.0 §6.2). If the blocks of a call may have different lengths, the description also has the
//! number of bytes that the member sends to and receives from each member. An allgather in a context of its own
//! collects the descriptions. Every member executes this allgather before its call, whichever function it calls, so
//! that all members come to the same result. The task of a nonblocking collective executes it before its own steps.
//! On an intercommunicator the members of both groups execute it together.
//!
//! Used by `CollectiveEngine::execute` and `nonblocking`; uses `run`, `schedule_run` and, for the buffer of words,
//! `internal`.

use super::internal::WordBuffer;
use super::run::{RunProgress, RunScope};
use crate::comm::{Comm, CommRef};
use crate::engine::CallBuffers;
use crate::engine::schedule_run::ScheduleRun;
use crate::group::Group;
use crate::process::{self, Process};
use crate::task::TaskId;
use hawser_base::{Class, Error, Peer, Result};
use hawser_coll::{
    BlockArray, BlockBuffer, CollectiveCall, CostModel, ForcedAlgorithms, InterPlace, NO_ROOT, RankAndSize,
    ReductionArgs, ScheduleLimits, Tuning, plan,
};
use hawser_job::OwnedWaitReason;
use std::sync::Arc;

/// The length to which a line is cut or padded, in words of 8 bytes.
const LINE_WORDS: usize = 16;
const LINE_BYTES: usize = LINE_WORDS * size_of::<u64>();

/// The maximum length, in bytes of text, of a list of counts. A longer list is replaced by its sum and a hash.
const LIST_BYTES: usize = 40;

/// The maximum number of different calls, or of pairs of members, that an error text lists.
const LISTED_MOST: usize = 8;

/// The maximum size of a communicator whose members compare the lengths of the blocks that they exchange. With n
/// members each of them needs memory for 2 * n * n lengths.
const PAIRS_MOST: u32 = 256;

/// Stands for the length of a block that the call does not have, or that is not significant on the member.
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// The text that stands for the arguments of a member whose root is MPI_PROC_NULL.
const NO_ROOT_TEXT: &str = " (root MPI_PROC_NULL)";

/// The comparison of the members' calls of one collective. A persistent collective runs it at each start.
pub struct CollectiveCheck {
    run: ScheduleRun,
    scope: RunScope,
    words: WordBuffer,
    /// This member's line and lengths, as words.
    own_words: Vec<u64>,
    name: &'static str,
}

impl CollectiveCheck {
    /// Makes the comparison for a call on `comm`. Comparisons that are in progress at the same time must have
    /// different tags.
    pub fn new(
        comm: &CommRef,
        tag: i32,
        name: &'static str,
        call: &CollectiveCall<'_>,
        buffers: &CallBuffers,
    ) -> CollectiveCheck {
        let RankAndSize { rank, size } = rank_and_size(comm);
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: CostModel::SHARED_MEMORY,
            limits: ScheduleLimits::DEFAULT,
            forced: ForcedAlgorithms::default(),
        };
        let mut run = ScheduleRun::default();
        let mut own_words = words_of_call(&call_line(name, call, buffers, comm));
        if size <= PAIRS_MOST {
            own_words.extend(block_lengths(call, comm));
        }
        let blocks = BlockArray::regular(own_words.len() as u64, size_of::<u64>() as u64);
        let nothing = BlockBuffer { count: 0, type_size: size_of::<u64>() as u64, dense: true };
        let gather = CollectiveCall::Allgather { send: nothing, recv: blocks, in_place: true };
        plan(&gather, RankAndSize { rank, size }, &tuning, &mut run.schedule);
        let context = comm.context().agreement();
        let scope = RunScope { comm: comm.clone(), group: comm.all_members().clone(), context, tag };
        CollectiveCheck { run, scope, words: WordBuffer::new(size as usize * own_words.len()), own_words, name }
    }

    /// Begins the comparison: writes this member's description into the buffer of the allgather. It is called before
    /// the first step of each run.
    pub fn begin(&mut self) -> Result<()> {
        self.words.write(rank_and_size(&self.scope.comm).rank as usize * self.own_words.len(), &self.own_words);
        self.run.begin(CallBuffers { recv: self.words.user_buffer(), ..CallBuffers::default() })
    }

    /// Begins the comparison and waits for its end, which comes when all members have called a collective. Fails if
    /// the calls do not match.
    pub fn run_check(mut self, process: &'static Process) -> Result<()> {
        self.begin()?;
        self.run.complete(process, &self.scope, &mut None, self.name)?;
        self.compare()
    }

    /// Advances the comparison as far as possible without waiting, as a part of the task `me`. Returns its result,
    /// which is an error if the calls do not match; `None` while it is in progress.
    pub fn advance(&mut self, process: &'static Process, me: TaskId) -> Option<Result<()>> {
        self.run.task = Some(me);
        match self.run.advance(process, &self.scope, &mut None, false) {
            RunProgress::Ended => Some(self.run.finish().and_then(|()| self.compare())),
            _ => None,
        }
    }

    pub fn reason(&self) -> OwnedWaitReason {
        self.run.reason(&self.scope, self.name)
    }

    fn compare(&mut self) -> Result<()> {
        let comm = &self.scope.comm;
        let mut words = vec![0; rank_and_size(comm).size as usize * self.own_words.len()];
        self.words.read(&mut words);
        let all_words: Vec<&[u64]> = words.chunks_exact(self.own_words.len()).collect();
        let lines: Vec<String> = all_words.iter().map(|words| call_from_words(&words[..LINE_WORDS])).collect();
        let pairs: Vec<&[u64]> = all_words.iter().map(|words| &words[LINE_WORDS..]).collect();
        // On an intercommunicator a rank is ambiguous, because both groups count from 0; other numbers name the
        // members.
        let (rank_naming, suffix) = if comm.is_inter() { RankNaming::of(comm).with_suffix() } else { (None, "") };
        let rank_number = |at: usize| rank_naming.as_ref().map_or(at, |naming| naming.number(at as u32) as usize);
        let difference =
            call_differences(&lines, rank_number, suffix).or_else(|| length_mismatches(&pairs, rank_number, suffix));
        let Some(difference) = difference else { return Ok(()) };
        let text = format!(
            "{difference}. All members must call the same collectives in the same order, with matching arguments \
             (MPI-5.0 §6.2; checked because HAWSER_CHECK is set)"
        );
        Err(Error::new(Class::Arg, text))
    }
}

/// Returns this member's number among all members, of both groups on an intercommunicator, and the number of members.
fn rank_and_size(comm: &Comm) -> RankAndSize {
    comm.sides().map_or(RankAndSize { rank: comm.rank(), size: comm.size() }, |sides| sides.among_all())
}

/// The numbers that name the members of an intercommunicator in error texts, which must be the same on all members:
/// ranks in MPI_COMM_WORLD if all members are in it, otherwise process numbers of the job.
struct RankNaming {
    members: Arc<Group>,
    world: Option<Arc<Group>>,
}

impl RankNaming {
    fn of(comm: &Comm) -> RankNaming {
        let members = comm.all_members().clone();
        let world = process::get().ok().map(|process| process.world().group().clone());
        let world = world.filter(|world| members.peers().all(|peer| world.rank_of(peer).is_some()));
        RankNaming { members, world }
    }

    fn number(&self, at: u32) -> u32 {
        let number = |peer: Peer| match &self.world {
            Some(world) => world.rank_of(peer),
            None => Some(peer.index() as u32),
        };
        self.members.peer(at).and_then(number).unwrap_or(at)
    }

    /// Returns the naming, and the text that follows a number in error texts.
    fn with_suffix(self) -> (Option<RankNaming>, &'static str) {
        let suffix = if self.world.is_some() { " of MPI_COMM_WORLD" } else { " of the job" };
        (Some(self), suffix)
    }

    fn rank(self, at: u32) -> String {
        let number = self.number(at);
        format!("rank {number}{}", self.with_suffix().1)
    }
}

/// Converts a line to LINE_WORDS words: it is cut at the end of a character if it is too long, and padded with zeros.
fn words_of_call(line: &str) -> Vec<u64> {
    let end = (0..=LINE_BYTES).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let mut bytes = line.as_bytes()[..end].to_vec();
    bytes.resize(LINE_BYTES, 0);
    let word = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("a word has eight bytes"));
    bytes.chunks_exact(size_of::<u64>()).map(word).collect()
}

fn call_from_words(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a text such as `ranks 0, 2-3 called MPI_Barrier; rank 1 called MPI_Bcast (root 0, 4 bytes)`; `None` if all
/// lines are equal. A line with MPI_PROC_NULL as the root has no other arguments; it is ignored if another line has
/// the same function with a root.
fn call_differences(lines: &[String], rank_number: impl Fn(usize) -> usize, suffix: &str) -> Option<String> {
    let is_ignored = |line: &str| {
        let call = line.strip_suffix(NO_ROOT_TEXT).map(|name| format!("{name} ("));
        call.is_some_and(|call| lines.iter().any(|other| other.starts_with(&call) && !other.ends_with(NO_ROOT_TEXT)))
    };
    let mut groups: Vec<(&String, Vec<usize>)> = Vec::new();
    for (rank, line) in
        lines.iter().enumerate().filter(|(_, line)| !is_ignored(line)).map(|(at, line)| (rank_number(at), line))
    {
        match groups.iter_mut().find(|(other, _)| *other == line) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((line, vec![rank])),
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let describe = |(line, all): &(&String, Vec<usize>)| format!("{}{suffix} called {line}", ranks(all));
    let mut parts: Vec<String> = groups.iter().take(LISTED_MOST).map(describe).collect();
    if groups.len() > LISTED_MOST {
        parts.push(format!("others called {} more", groups.len() - LISTED_MOST));
    }
    Some(parts.join("; "))
}

/// Returns a list of ranks as text: `rank 1`, `ranks 0, 2-3`.
fn ranks(all: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let describe =
        |&(first, last): &(usize, usize)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    let list: Vec<String> = runs.iter().map(describe).collect();
    format!("rank{} {}", if all.len() == 1 { "" } else { "s" }, list.join(", "))
}

/// Returns the line of a call: the function, and those of its arguments that must be the same on all members. If the
/// collective is a part of another function (MPI_Comm_dup, MPI_Finalize), the line is only the name of that function.
fn call_line(name: &str, call: &CollectiveCall<'_>, buffers: &CallBuffers, comm: &Comm) -> String {
    if call.root() == Some(NO_ROOT) {
        return format!("{name}{NO_ROOT_TEXT}");
    }
    let (own, arguments) = match comm.sides() {
        None => arguments(call, buffers, rank_and_size(comm)),
        Some(sides) => arguments_between(call, buffers, sides, |at| RankNaming::of(comm).rank(at)),
    };
    call_text(name, own, &arguments)
}

fn call_text(name: &str, own: &str, arguments: &[String]) -> String {
    let is_own = name.to_ascii_lowercase().contains(own);
    if is_own && !arguments.is_empty() { format!("{name} ({})", arguments.join(", ")) } else { name.to_owned() }
}

/// Returns the name of the collective and its arguments, as `arguments` does, for an intercommunicator. The text must
/// be the same in both groups: it has the length of the blocks that the first group sends, then of those that the
/// second group sends. Lists of counts are left out, because the two groups pass different lists.
fn arguments_between(
    call: &CollectiveCall<'_>,
    buffers: &CallBuffers,
    sides: InterPlace,
    rank_number: impl Fn(u32) -> String,
) -> (&'static str, Vec<String>) {
    let both = |mine: u64, theirs: u64| {
        let (first, second) = if sides.first { (mine, theirs) } else { (theirs, mine) };
        vec![format!("blocks of {first} and {second} bytes")]
    };
    match call {
        CollectiveCall::Allgather { send, recv, .. } => ("allgather", both(send.bytes(), recv.bytes(0))),
        CollectiveCall::Alltoall { send, recv, .. } => ("alltoall", both(send.bytes(0), recv.bytes(0))),
        CollectiveCall::Allgatherv { .. } => ("allgatherv", vec![]),
        CollectiveCall::ReduceScatter { counts, .. } => {
            let sum: u64 = (0..sides.local.size).map(|rank| counts.at(rank) as u64).sum();
            ("reduce_scatter", vec![reduced(&sum.to_string(), buffers)])
        }
        CollectiveCall::ReduceScatterBlock(data) => {
            let sum = data.count * u64::from(sides.local.size);
            ("reduce_scatter", vec![reduced(&sum.to_string(), buffers)])
        }
        _ => {
            let (own, mut listed) = arguments(call, buffers, sides.among_all());
            if let Some(root) = call.root() {
                listed[0] = format!("root {}", rank_number(root));
            }
            (own, listed)
        }
    }
}

/// Returns the number of bytes that this member sends to each member, followed by the number that it receives from
/// each member; UNKNOWN_LENGTH where the call has no such block, or if the lengths of its blocks are not compared.
fn block_lengths(call: &CollectiveCall<'_>, comm: &Comm) -> Vec<u64> {
    let RankAndSize { rank, size } = rank_and_size(comm);
    // The call has a block for each of `others` members, which begin with the member number `first`.
    let (others, first) = match comm.sides() {
        None => (size, 0),
        Some(sides) => (sides.remote, sides.remote_number(0)),
    };
    let mut sent = vec![UNKNOWN_LENGTH; size as usize];
    let mut received = sent.clone();
    let each = |list: &mut [u64], bytes: &dyn Fn(u32) -> u64| {
        (0..others).for_each(|at| list[(first + at) as usize] = bytes(at));
    };
    match call {
        CollectiveCall::Alltoallv { send, recv, in_place } | CollectiveCall::Alltoallw { send, recv, in_place } => {
            let send = if *in_place { recv } else { send };
            each(&mut sent, &|at| send.bytes(at));
            each(&mut received, &|at| recv.bytes(at));
        }
        CollectiveCall::Allgatherv { send, recv, in_place } => {
            each(&mut sent, &|_| if *in_place { recv.bytes(rank) } else { send.bytes() });
            each(&mut received, &|at| recv.bytes(at));
        }
        CollectiveCall::Gatherv { root, send, recv, in_place } if *root != NO_ROOT => {
            if *root == rank {
                each(&mut received, &|at| recv.bytes(at));
            }
            let has_own = *root != rank || !*in_place && !comm.is_inter();
            sent[*root as usize] = if has_own { send.bytes() } else { UNKNOWN_LENGTH };
        }
        CollectiveCall::Scatterv { root, send, recv, in_place } if *root != NO_ROOT => {
            if *root == rank {
                each(&mut sent, &|at| send.bytes(at));
            }
            let has_own = *root != rank || !*in_place && !comm.is_inter();
            received[*root as usize] = if has_own { recv.bytes() } else { UNKNOWN_LENGTH };
        }
        _ => {}
    }
    [sent, received].concat()
}

/// Returns a text such as `rank 0 sends 8 bytes to rank 1, which expects 4`; `None` if for every pair of members the
/// length sent is the length expected. `pairs` has the result of `block_lengths` of each member.
fn length_mismatches(pairs: &[&[u64]], rank_number: impl Fn(usize) -> usize, suffix: &str) -> Option<String> {
    let size = pairs.len();
    if pairs.first().is_none_or(|one| one.is_empty()) {
        return None;
    }
    let all = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
    let amounts = all.map(|(from, to)| (from, to, pairs[from][to], pairs[to][size + from]));
    let mut wrong = amounts
        .filter(|&(_, _, sent, received)| sent != UNKNOWN_LENGTH && received != UNKNOWN_LENGTH && sent != received);
    let describe = |(from, to, sent, received): (usize, usize, u64, u64)| {
        format!(
            "rank {}{suffix} sends {sent} bytes to rank {}{suffix}, which expects {received}",
            rank_number(from),
            rank_number(to)
        )
    };
    let mut parts: Vec<String> = wrong.by_ref().take(LISTED_MOST).map(describe).collect();
    let more = wrong.count();
    if more > 0 {
        parts.push(format!("{more} more such pairs"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the name of the collective, and those of its arguments that must be the same on all members.
fn arguments(
    call: &CollectiveCall<'_>,
    buffers: &CallBuffers,
    RankAndSize { rank, size }: RankAndSize,
) -> (&'static str, Vec<String>) {
    let root = |root: &u32| format!("root {root}");
    let bytes = |bytes: u64| format!("{bytes} bytes");
    let each = |bytes: u64| format!("blocks of {bytes} bytes");
    let reduction = |data: &ReductionArgs| reduced(&data.count.to_string(), buffers);
    match call {
        CollectiveCall::Barrier => ("barrier", vec![]),
        CollectiveCall::Bcast { root: from, data } => ("bcast", vec![root(from), bytes(data.bytes())]),
        CollectiveCall::Reduce { root: to, data } => ("reduce", vec![root(to), reduction(data)]),
        CollectiveCall::Allreduce(data) => ("allreduce", vec![reduction(data)]),
        CollectiveCall::Scan(data) => ("scan", vec![reduction(data)]),
        CollectiveCall::Exscan(data) => ("exscan", vec![reduction(data)]),
        CollectiveCall::ReduceScatterBlock(data) => ("reduce_scatter", vec![reduction(data)]),
        CollectiveCall::ReduceScatter { counts, .. } => {
            ("reduce_scatter", vec![reduced(&list(size, |rank| counts.at(rank) as u64), buffers)])
        }
        CollectiveCall::Gather { root: to, send, recv, .. } => {
            ("gather", vec![root(to), each(if *to == rank { recv.bytes(rank) } else { send.bytes() })])
        }
        CollectiveCall::Scatter { root: from, send, recv, .. } => {
            ("scatter", vec![root(from), each(if *from == rank { send.bytes(rank) } else { recv.bytes() })])
        }
        CollectiveCall::Gatherv { root: to, .. } => ("gatherv", vec![root(to)]),
        CollectiveCall::Scatterv { root: from, .. } => ("scatterv", vec![root(from)]),
        CollectiveCall::Allgather { recv, .. } => ("allgather", vec![each(recv.bytes(rank))]),
        CollectiveCall::Allgatherv { recv, .. } => {
            ("allgatherv", vec![format!("blocks of {} bytes", list(size, |rank| recv.bytes(rank)))])
        }
        CollectiveCall::Alltoall { recv, .. } => ("alltoall", vec![each(recv.bytes(rank))]),
        CollectiveCall::Alltoallv { .. } => ("alltoallv", vec![]),
        CollectiveCall::Alltoallw { .. } => ("alltoallw", vec![]),
        // The length of a block concerns two neighbours alone, so no argument is the same on all members.
        CollectiveCall::NeighborAllgather { .. } => ("neighbor_allgather", vec![]),
        CollectiveCall::NeighborAlltoall { .. } => ("neighbor_alltoall", vec![]),
    }
}

/// Returns the arguments of a reduction as text, such as `4 MPI_INT, MPI_SUM`.
fn reduced(counts: &str, buffers: &CallBuffers) -> String {
    let Some((reducer, datatype)) = &buffers.reduction else { return counts.to_owned() };
    let datatype = match datatype.as_basic() {
        Some(basic) => basic.name().to_owned(),
        None => format!("elements of {} bytes", datatype.size()),
    };
    format!("{counts} {datatype}, {}", reducer.name())
}

/// Returns a list of counts as text, such as `3+4+5`. A list whose text is longer than LIST_BYTES is replaced by its
/// sum and a hash.
fn list(size: u32, at: impl Fn(u32) -> u64) -> String {
    let all: Vec<String> = (0..size).map(|rank| at(rank).to_string()).collect();
    let text = all.join("+");
    if text.len() <= LIST_BYTES {
        return text;
    }
    let sum = (0..size).map(at).fold(0, u64::wrapping_add);
    // FNV-1a, because it gives the same hash on all members (the standard library's hashes may differ).
    let hash =
        text.bytes().fold(0xcbf29ce484222325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3));
    format!("{sum} (hash {:08x})", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_coll::IntArray;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    fn told(lines: &[String]) -> Option<String> {
        call_differences(lines, |at| at, "")
    }

    #[test]
    fn who_has_no_root_knows_no_more_than_the_function() {
        let bcast = "MPI_Bcast (root rank 0 of MPI_COMM_WORLD, 4 bytes)";
        let aside = "MPI_Bcast (root MPI_PROC_NULL)";
        assert_eq!(told(&lines(&[bcast, aside, aside, bcast])), None);
        assert_eq!(told(&lines(&[aside, aside])), None);
        let difference =
            call_differences(&lines(&["MPI_Barrier", aside, aside]), |at| at + 4, " of MPI_COMM_WORLD").unwrap();
        assert_eq!(
            difference,
            "rank 4 of MPI_COMM_WORLD called MPI_Barrier; ranks 5-6 of MPI_COMM_WORLD called MPI_Bcast (root MPI_PROC_NULL)"
        );
    }

    #[test]
    fn what_one_sends_and_another_one_does_not_take_is_told() {
        let fits: [&[u64]; 2] = [&[1, 2, 1, 3], &[3, UNKNOWN_LENGTH, 2, 7]];
        assert_eq!(length_mismatches(&fits, |at| at, ""), None);
        assert_eq!(length_mismatches(&[&[], &[]], |at| at, ""), None);
        let wrong: [&[u64]; 2] = [&[1, 2, 1, 4], &[3, UNKNOWN_LENGTH, 5, 7]];
        let text = "rank 0 sends 2 bytes to rank 1, which expects 5; rank 1 sends 3 bytes to rank 0, which expects 4";
        assert_eq!(length_mismatches(&wrong, |at| at, "").unwrap(), text);
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
        let place = RankAndSize { rank: 1, size: 4 };
        let data = BlockBuffer { count: 4, type_size: 4, dense: true };
        let bcast = CollectiveCall::Bcast { root: 2, data };
        let said = |name, call: &CollectiveCall<'_>| {
            let (own, arguments) = arguments(call, &CallBuffers::default(), place);
            call_text(name, own, &arguments)
        };
        assert_eq!(said("MPI_Ibcast", &bcast), "MPI_Ibcast (root 2, 16 bytes)");
        assert_eq!(said("MPI_Comm_split", &bcast), "MPI_Comm_split");
        assert_eq!(said("MPI_Barrier", &CollectiveCall::Barrier), "MPI_Barrier");
        let blocks = BlockArray::regular(3, 8);
        let gather = |root| CollectiveCall::Gather { root, send: data, recv: blocks, in_place: false };
        assert_eq!(said("MPI_Gather", &gather(0)), "MPI_Gather (root 0, blocks of 16 bytes)");
        assert_eq!(said("MPI_Gather", &gather(1)), "MPI_Gather (root 1, blocks of 24 bytes)");
        let counts = [1, 2, 3, 4];
        let all = CollectiveCall::Allgatherv {
            send: data,
            recv: BlockArray::vector(IntArray::Int(&counts), IntArray::Int(&counts), 8),
            in_place: false,
        };
        assert_eq!(said("MPI_Allgatherv_init", &all), "MPI_Allgatherv_init (blocks of 8+16+24+32 bytes)");
    }
}
