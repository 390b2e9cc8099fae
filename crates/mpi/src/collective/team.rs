//! Small collectives of the library's own, on words: those that creating communicators needs.
//!
//! Used by `comm_create`; uses the same engine that runs the application's collectives.

use super::run::{Progress, Team};
use super::{at_desk, forced, model};
use crate::comm::CommRef;
use crate::desk::memory::Side;
use crate::desk::run::Run;
use crate::desk::{Job, Way};
use crate::group::Group;
use crate::ops::Reducer;
use crate::process::Process;
use crate::task;
use hawser_base::handle::{datatype, op};
use hawser_base::{Context, Handle, Result};
use hawser_coll::{Blocks, Call, Data, Ints, Limits, Place, Reduction, Tuning, plan};
use hawser_datatype::{Basic, Datatype, Scratch};
use hawser_job::Waiting;
use std::sync::Arc;

/// The collective scope (`Venue`): the members that take part, and how their messages are distinguished from others.
pub enum Venue<'a> {
    /// All members of a communicator, as in any other collective on it; on an intercommunicator of both groups.
    Comm(&'a CommRef),
    /// Members of `group` alone, on a communicator that has them all. `tag` must be negative: the
    /// application's collectives have the others.
    Some { comm: &'a CommRef, group: Arc<Group>, context: Context, tag: i32 },
}

fn place_in(group: &Group) -> Place {
    Place { rank: group.rank().expect("only members take part"), size: group.size() }
}

const WORD_BYTES: usize = 8;

/// Words in memory that the engine can work on.
pub(super) struct Words {
    scratch: Scratch,
    count: usize,
}

impl Words {
    pub fn new(count: usize) -> Words {
        let mut scratch = Scratch::default();
        scratch.reserve((count * WORD_BYTES).max(1));
        Words { scratch, count }
    }

    pub fn set(&mut self, at: usize, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.scratch.bytes((at + i) * WORD_BYTES, WORD_BYTES).write(&word.to_ne_bytes());
        }
    }

    pub fn get(&mut self, words: &mut [u64]) {
        for (i, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; WORD_BYTES];
            self.scratch.bytes(i * WORD_BYTES, WORD_BYTES).read(&mut bytes);
            *word = u64::from_ne_bytes(bytes);
        }
    }

    /// Records that the collective on them is over.
    pub fn returned(&mut self) {
        self.scratch.returned();
    }

    /// The buffer of a collective on the words, until `returned` is called.
    pub fn side(&mut self) -> Side {
        let datatype = Datatype::basic(Basic::Uint64);
        Side::One {
            at: self.scratch.lend_elements(0, datatype, self.count as u64),
            count: self.count as u64,
            datatype: datatype.clone(),
        }
    }
}

/// Adjoining runs of words, one a rank.
struct Runs {
    counts: Vec<i64>,
    starts: Vec<i64>,
    total: usize,
}

impl Runs {
    fn of(lengths: impl Iterator<Item = i64>) -> Runs {
        let counts: Vec<i64> = lengths.collect();
        let mut total = 0;
        let starts = counts.iter().map(|count| {
            total += count;
            total - count
        });
        Runs { starts: starts.collect(), counts, total: total as usize }
    }

    fn blocks(&self) -> Blocks<'_> {
        Blocks::vector(Ints::Count(&self.counts), Ints::Count(&self.starts), WORD_BYTES as u64)
    }
}

impl Venue<'_> {
    fn place(&self) -> Place {
        match self {
            Venue::Comm(comm) => place_in(comm.everybody()),
            Venue::Some { group, .. } => place_in(group),
        }
    }

    fn execute(&self, process: &'static Process, name: &'static str, call: &Call<'_>, job: Job) -> Result<()> {
        let (comm, group, context, tag) = match self {
            Venue::Comm(comm) if !comm.is_inter() => {
                return at_desk(process, comm, |desk| desk.execute(process, comm, name, call, job));
            }
            Venue::Comm(comm) => {
                return at_desk(process, comm, |desk| {
                    let tag = desk.next_tag(Way::Blocking);
                    desk.run(process, comm, tag, name, job, |tuning, schedule| {
                        plan(call, self.place(), tuning, schedule);
                    })
                });
            }
            Venue::Some { comm, group, context, tag } => (*comm, group, *context, *tag),
        };
        debug_assert!(tag < 0);
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: model(process, comm),
            limits: Limits::DEFAULT,
            forced: forced()?,
        };
        let mut run = Run::default();
        plan(call, self.place(), &tuning, &mut run.schedule);
        let team = Team { comm: comm.clone(), group: group.clone(), context, tag };
        run.begin(job)?;
        run.complete(process, &team, &mut None, name)
    }

    /// Computes the bitwise AND of all members' words.
    pub fn and(&self, process: &'static Process, name: &'static str, words: &mut [u64]) -> Result<()> {
        self.fold(process, name, op::BAND, words)
    }

    /// Computes the maximum of all members' words.
    pub fn max(&self, process: &'static Process, name: &'static str, word: u64) -> Result<u64> {
        let mut words = [word];
        self.max_each(process, name, &mut words)?;
        Ok(words[0])
    }

    /// Computes the maximum over all members for each word.
    pub fn max_each(&self, process: &'static Process, name: &'static str, words: &mut [u64]) -> Result<()> {
        self.fold(process, name, op::MAX, words)
    }

    fn fold(&self, process: &'static Process, name: &'static str, op: Handle, words: &mut [u64]) -> Result<()> {
        let mut folding = OnWords::fold(op, words)?;
        let over = self.execute(process, name, &folding.call, folding.job);
        folding.words.returned();
        over?;
        folding.words.get(words);
        Ok(())
    }

    /// Returns all members' words, in rank order.
    pub fn gather_all(&self, process: &'static Process, name: &'static str, mine: &[u64]) -> Result<Vec<u64>> {
        let Place { rank, size } = self.place();
        let mut all = Words::new(size as usize * mine.len());
        all.set(rank as usize * mine.len(), mine);
        let blocks = Blocks::regular(mine.len() as u64, WORD_BYTES as u64);
        let data = Data { count: 0, type_size: WORD_BYTES as u64, dense: true };
        let job = Job { recv: all.side(), ..Job::default() };
        let over = self.execute(process, name, &Call::Allgather { send: data, recv: blocks, in_place: true }, job);
        all.returned();
        over?;
        let mut words = vec![0; all.count];
        all.get(&mut words);
        Ok(words)
    }

    /// Sends words from each member to each: `out` has those for each rank, and the result those from it.
    pub fn exchange(&self, process: &'static Process, name: &'static str, out: &[Vec<u64>]) -> Result<Vec<Vec<u64>>> {
        let ranks = out.len();
        let (mut given, mut taken) = (Words::new(ranks), Words::new(ranks));
        given.set(0, &out.iter().map(|words| words.len() as u64).collect::<Vec<u64>>());
        let one = Blocks::regular(1, WORD_BYTES as u64);
        let job = Job { send: given.side(), recv: taken.side(), ..Job::default() };
        let over = self.execute(process, name, &Call::Alltoall { send: one, recv: one, in_place: false }, job);
        given.returned();
        taken.returned();
        over?;
        let mut lengths = vec![0; ranks];
        taken.get(&mut lengths);

        let sent = Runs::of(out.iter().map(|words| words.len() as i64));
        let told = Runs::of(lengths.iter().map(|&length| length as i64));
        let (mut given, mut taken) = (Words::new(sent.total), Words::new(told.total));
        given.set(0, &out.concat());
        let job = Job { send: given.side(), recv: taken.side(), ..Job::default() };
        let call = Call::Alltoallv { send: sent.blocks(), recv: told.blocks(), in_place: false };
        let over = self.execute(process, name, &call, job);
        given.returned();
        taken.returned();
        over?;
        let mut words = vec![0; told.total];
        taken.get(&mut words);
        let mut rest = words.into_iter();
        Ok(lengths.iter().map(|&length| rest.by_ref().take(length as usize).collect()).collect())
    }

    /// Returns the word of rank 0.
    pub fn spread(&self, process: &'static Process, name: &'static str, word: u64) -> Result<u64> {
        let mut word = [word];
        self.spread_from(process, name, 0, &mut word)?;
        Ok(word[0])
    }

    /// Returns the words of rank `root`.
    pub fn spread_from(
        &self,
        process: &'static Process,
        name: &'static str,
        root: u32,
        words: &mut [u64],
    ) -> Result<()> {
        let mut spreading = OnWords::spread(root, words);
        let over = self.execute(process, name, &spreading.call, spreading.job);
        spreading.words.returned();
        over?;
        spreading.words.get(words);
        Ok(())
    }
}

/// A collective on words, and their memory.
struct OnWords {
    words: Words,
    call: Call<'static>,
    job: Job,
}

impl OnWords {
    fn fold(op: Handle, mine: &[u64]) -> Result<OnWords> {
        let mut words = Words::new(mine.len());
        words.set(0, mine);
        let (count, type_size) = (mine.len() as u64, WORD_BYTES as u64);
        let data = Reduction { count, type_size, dense: true, commutative: true, in_place: true };
        let reducer = Reducer::new(op, datatype::UINT64_T)?;
        let reduction = Some((reducer, Datatype::basic(Basic::Uint64).clone()));
        let job = Job { send: Side::None, recv: words.side(), reduction };
        Ok(OnWords { words, call: Call::Allreduce(data), job })
    }

    /// Makes the broadcast from `root`.
    fn spread(root: u32, mine: &[u64]) -> OnWords {
        let mut words = Words::new(mine.len());
        words.set(0, mine);
        let data = Data { count: mine.len() as u64, type_size: WORD_BYTES as u64, dense: true };
        let job = Job { recv: words.side(), ..Job::default() };
        OnWords { words, call: Call::Bcast { root, data }, job }
    }
}

/// The same collectives of all members of a communicator one after the other, without waiting: parts of a task. They
/// share a tag, since each has ended here before the next one begins, and messages between two members keep their
/// order.
pub struct Meeting {
    team: Team,
    tuning: Tuning<'static>,
    run: Run,
    words: Words,
}

impl Meeting {
    /// Makes the sequence, which counts as one collective of the communicator.
    pub fn new(process: &'static Process, comm: &CommRef) -> Result<Meeting> {
        let tag = at_desk(process, comm, |desk| Ok(desk.next_tag(Way::Nonblocking)))?;
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: model(process, comm),
            limits: Limits::DEFAULT,
            forced: forced()?,
        };
        let team =
            Team { comm: comm.clone(), group: comm.everybody().clone(), context: comm.collective_context(), tag };
        Ok(Meeting { team, tuning, run: Run::default(), words: Words::new(0) })
    }

    /// A number that differs between agreements in progress at the same time on this communicator, and that all members
    /// know.
    pub fn number(&self) -> u32 {
        self.team.tag as u32
    }

    /// Begins the bitwise AND of all members' words.
    pub fn and(&mut self, words: &[u64]) -> Result<()> {
        self.begin(OnWords::fold(op::BAND, words)?)
    }

    /// Begins the maximum of all members' words.
    pub fn max(&mut self, word: u64) -> Result<()> {
        self.begin(OnWords::fold(op::MAX, &[word])?)
    }

    /// Begins the broadcast of rank 0's word.
    pub fn spread(&mut self, word: u64) -> Result<()> {
        self.begin(OnWords::spread(0, &[word]))
    }

    fn begin(&mut self, on: OnWords) -> Result<()> {
        plan(&on.call, place_in(&self.team.group), &self.tuning, &mut self.run.schedule);
        self.words = on.words;
        self.run.begin(on.job)
    }

    /// Advances; returns the words once all members have met.
    pub fn advance(&mut self, process: &'static Process, me: task::Id) -> Option<Result<Vec<u64>>> {
        self.run.task = Some(me);
        if self.run.advance(process, &self.team, &mut None, false) != Progress::Ended {
            return None;
        }
        let over = self.run.finish();
        self.words.returned();
        Some(over.map(|()| {
            let mut words = vec![0; self.words.count];
            self.words.get(&mut words);
            words
        }))
    }

    pub fn reason(&self, name: &'static str) -> Waiting {
        self.run.reason(&self.team, name)
    }
}
