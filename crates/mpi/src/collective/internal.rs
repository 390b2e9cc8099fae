//! Collectives of the library itself, on words of 64 bits: the creation of communicators and graphs and MPIX_EQUAL
//! need them.
//!
//! Used by `comm_create`, `comm_idup`, `inter`, `group_bootstrap`, `topology::dist_graph` and `equal`, and, for its
//! buffer of words, by `argument_compare`; uses the engine that also runs the application's collectives.

use super::run::{RunProgress, RunScope};
use super::{forced, model, with_engine};
use crate::comm::CommRef;
use crate::engine::run_memory::UserBuffer;
use crate::engine::schedule_run::ScheduleRun;
use crate::engine::{CallBuffers, CallForm};
use crate::group::Group;
use crate::ops::Reducer;
use crate::process::Process;
use crate::task;
use hawser_base::handle::{datatype, op};
use hawser_base::{Context, Handle, Result};
use hawser_coll::{
    BlockArray, BlockBuffer, CollectiveCall, IntArray, RankAndSize, ReductionArgs, ScheduleLimits, Tuning, plan,
};
use hawser_datatype::{Basic, Datatype, ScratchBuffer};
use hawser_job::OwnedWaitReason;
use std::sync::Arc;

/// The collective scope (`CollectiveScope`): the members that take part, and how their messages are distinguished
/// from others.
pub enum CollectiveScope<'a> {
    /// All members of a communicator, in the same way as in the application's collectives; on an intercommunicator
    /// the members of both groups.
    Comm(&'a CommRef),
    /// The members of `group` alone, all of which are members of `comm`. `tag` must be negative, because the
    /// application's collectives use the other tags.
    Group { comm: &'a CommRef, group: Arc<Group>, context: Context, tag: i32 },
}

fn rank_and_size_in(group: &Group) -> RankAndSize {
    RankAndSize { rank: group.rank().expect("only members take part"), size: group.size() }
}

const WORD_BYTES: usize = 8;

/// Words in memory that a collective can use as a buffer.
pub(super) struct WordBuffer {
    scratch: ScratchBuffer,
    count: usize,
}

impl WordBuffer {
    pub fn new(count: usize) -> WordBuffer {
        let mut scratch = ScratchBuffer::default();
        scratch.reserve((count * WORD_BYTES).max(1));
        WordBuffer { scratch, count }
    }

    pub fn write(&mut self, at: usize, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.scratch.bytes((at + i) * WORD_BYTES, WORD_BYTES).write(&word.to_ne_bytes());
        }
    }

    pub fn read(&mut self, words: &mut [u64]) {
        for (i, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; WORD_BYTES];
            self.scratch.bytes(i * WORD_BYTES, WORD_BYTES).read(&mut bytes);
            *word = u64::from_ne_bytes(bytes);
        }
    }

    /// Records that the collective on the words has ended.
    pub fn take_back(&mut self) {
        self.scratch.release_views();
    }

    /// Returns the words as the buffer of a collective, which may use it until `take_back` is called.
    pub fn user_buffer(&mut self) -> UserBuffer {
        let datatype = Datatype::basic(Basic::Uint64);
        UserBuffer::Uniform {
            at: self.scratch.view_elements(0, datatype, self.count as u64),
            count: self.count as u64,
            datatype: datatype.clone(),
        }
    }
}

/// The layout of adjoining blocks of words, one for each rank. Counts and starts are in words.
struct WordBlocks {
    counts: Vec<i64>,
    starts: Vec<i64>,
    total: usize,
}

impl WordBlocks {
    fn of(lengths: impl Iterator<Item = i64>) -> WordBlocks {
        let counts: Vec<i64> = lengths.collect();
        let mut total = 0;
        let starts = counts.iter().map(|count| {
            total += count;
            total - count
        });
        WordBlocks { starts: starts.collect(), counts, total: total as usize }
    }

    fn blocks(&self) -> BlockArray<'_> {
        BlockArray::vector(IntArray::Count(&self.counts), IntArray::Count(&self.starts), WORD_BYTES as u64)
    }
}

impl CollectiveScope<'_> {
    fn rank_and_size(&self) -> RankAndSize {
        match self {
            CollectiveScope::Comm(comm) => rank_and_size_in(comm.all_members()),
            CollectiveScope::Group { group, .. } => rank_and_size_in(group),
        }
    }

    fn execute(
        &self,
        process: &'static Process,
        name: &'static str,
        call: &CollectiveCall<'_>,
        buffers: CallBuffers,
    ) -> Result<()> {
        let (comm, group, context, tag) = match self {
            CollectiveScope::Comm(comm) if !comm.is_inter() => {
                return with_engine(process, comm, |engine| engine.execute(process, comm, name, call, buffers));
            }
            CollectiveScope::Comm(comm) => {
                return with_engine(process, comm, |engine| {
                    let tag = engine.next_tag(CallForm::Blocking);
                    engine.run(process, comm, tag, name, buffers, |tuning, schedule| {
                        plan(call, self.rank_and_size(), tuning, schedule);
                    })
                });
            }
            CollectiveScope::Group { comm, group, context, tag } => (*comm, group, *context, *tag),
        };
        debug_assert!(tag < 0);
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: model(process, comm),
            limits: ScheduleLimits::DEFAULT,
            forced: forced()?,
        };
        let mut run = ScheduleRun::default();
        plan(call, self.rank_and_size(), &tuning, &mut run.schedule);
        let scope = RunScope { comm: comm.clone(), group: group.clone(), context, tag };
        run.begin(buffers)?;
        run.complete(process, &scope, &mut None, name)
    }

    /// Replaces each of `words` by its bitwise AND over all members.
    pub fn allreduce_and(&self, process: &'static Process, name: &'static str, words: &mut [u64]) -> Result<()> {
        self.allreduce(process, name, op::BAND, words)
    }

    /// Returns the maximum of `word` over all members.
    pub fn allreduce_max(&self, process: &'static Process, name: &'static str, word: u64) -> Result<u64> {
        let mut words = [word];
        self.allreduce_max_each(process, name, &mut words)?;
        Ok(words[0])
    }

    /// Replaces each of `words` by its maximum over all members.
    pub fn allreduce_max_each(&self, process: &'static Process, name: &'static str, words: &mut [u64]) -> Result<()> {
        self.allreduce(process, name, op::MAX, words)
    }

    fn allreduce(&self, process: &'static Process, name: &'static str, op: Handle, words: &mut [u64]) -> Result<()> {
        let mut reduction = WordCollective::allreduce(op, words)?;
        let result = self.execute(process, name, &reduction.call, reduction.buffers);
        reduction.words.take_back();
        result?;
        reduction.words.read(words);
        Ok(())
    }

    /// Returns the words of all members, in rank order. All members must pass the same number of words.
    pub fn allgather(&self, process: &'static Process, name: &'static str, mine: &[u64]) -> Result<Vec<u64>> {
        let RankAndSize { rank, size } = self.rank_and_size();
        let mut all = WordBuffer::new(size as usize * mine.len());
        all.write(rank as usize * mine.len(), mine);
        let blocks = BlockArray::regular(mine.len() as u64, WORD_BYTES as u64);
        let data = BlockBuffer { count: 0, type_size: WORD_BYTES as u64, dense: true };
        let buffers = CallBuffers { recv: all.user_buffer(), ..CallBuffers::default() };
        let result = self.execute(
            process,
            name,
            &CollectiveCall::Allgather { send: data, recv: blocks, in_place: true },
            buffers,
        );
        all.take_back();
        result?;
        let mut words = vec![0; all.count];
        all.read(&mut words);
        Ok(words)
    }

    /// Sends `out[i]` to rank i, for each rank, and returns what each rank has sent to this one, in rank order. The
    /// numbers of words may differ.
    pub fn alltoallv(&self, process: &'static Process, name: &'static str, out: &[Vec<u64>]) -> Result<Vec<Vec<u64>>> {
        let ranks = out.len();
        let (mut send_buffer, mut recv_buffer) = (WordBuffer::new(ranks), WordBuffer::new(ranks));
        send_buffer.write(0, &out.iter().map(|words| words.len() as u64).collect::<Vec<u64>>());
        let one = BlockArray::regular(1, WORD_BYTES as u64);
        let buffers =
            CallBuffers { send: send_buffer.user_buffer(), recv: recv_buffer.user_buffer(), ..CallBuffers::default() };
        let result =
            self.execute(process, name, &CollectiveCall::Alltoall { send: one, recv: one, in_place: false }, buffers);
        send_buffer.take_back();
        recv_buffer.take_back();
        result?;
        let mut lengths = vec![0; ranks];
        recv_buffer.read(&mut lengths);

        let sent_layout = WordBlocks::of(out.iter().map(|words| words.len() as i64));
        let received_layout = WordBlocks::of(lengths.iter().map(|&length| length as i64));
        let (mut send_buffer, mut recv_buffer) =
            (WordBuffer::new(sent_layout.total), WordBuffer::new(received_layout.total));
        send_buffer.write(0, &out.concat());
        let buffers =
            CallBuffers { send: send_buffer.user_buffer(), recv: recv_buffer.user_buffer(), ..CallBuffers::default() };
        let call =
            CollectiveCall::Alltoallv { send: sent_layout.blocks(), recv: received_layout.blocks(), in_place: false };
        let result = self.execute(process, name, &call, buffers);
        send_buffer.take_back();
        recv_buffer.take_back();
        result?;
        let mut words = vec![0; received_layout.total];
        recv_buffer.read(&mut words);
        let mut rest = words.into_iter();
        Ok(lengths.iter().map(|&length| rest.by_ref().take(length as usize).collect()).collect())
    }

    /// Returns the word that rank 0 passes.
    pub fn bcast(&self, process: &'static Process, name: &'static str, word: u64) -> Result<u64> {
        let mut word = [word];
        self.bcast_from(process, name, 0, &mut word)?;
        Ok(word[0])
    }

    /// Broadcasts the words of rank `root` into `words`, which has the same length on all members.
    pub fn bcast_from(
        &self,
        process: &'static Process,
        name: &'static str,
        root: u32,
        words: &mut [u64],
    ) -> Result<()> {
        let mut bcast = WordCollective::bcast(root, words);
        let result = self.execute(process, name, &bcast.call, bcast.buffers);
        bcast.words.take_back();
        result?;
        bcast.words.read(words);
        Ok(())
    }
}

/// A collective on words, with the memory of the words.
struct WordCollective {
    words: WordBuffer,
    call: CollectiveCall<'static>,
    buffers: CallBuffers,
}

impl WordCollective {
    fn allreduce(op: Handle, mine: &[u64]) -> Result<WordCollective> {
        let mut words = WordBuffer::new(mine.len());
        words.write(0, mine);
        let (count, type_size) = (mine.len() as u64, WORD_BYTES as u64);
        let data = ReductionArgs { count, type_size, dense: true, commutative: true, in_place: true };
        let reducer = Reducer::new(op, datatype::UINT64_T)?;
        let reduction = Some((reducer, Datatype::basic(Basic::Uint64).clone()));
        let buffers = CallBuffers { send: UserBuffer::None, recv: words.user_buffer(), reduction };
        Ok(WordCollective { words, call: CollectiveCall::Allreduce(data), buffers })
    }

    /// Makes the broadcast from `root`.
    fn bcast(root: u32, mine: &[u64]) -> WordCollective {
        let mut words = WordBuffer::new(mine.len());
        words.write(0, mine);
        let data = BlockBuffer { count: mine.len() as u64, type_size: WORD_BYTES as u64, dense: true };
        let buffers = CallBuffers { recv: words.user_buffer(), ..CallBuffers::default() };
        WordCollective { words, call: CollectiveCall::Bcast { root, data }, buffers }
    }
}

/// A sequence of collectives on words, among all members of a communicator, that runs without waiting as a part of a
/// task. One collective runs after the other. All of them have the same tag, because each collective has ended on
/// this member before the next begins, and messages between two members keep their order.
pub struct AsyncCollectives {
    scope: RunScope,
    tuning: Tuning<'static>,
    run: ScheduleRun,
    words: WordBuffer,
}

impl AsyncCollectives {
    /// Makes the sequence. It counts as one nonblocking collective of the communicator.
    pub fn new(process: &'static Process, comm: &CommRef) -> Result<AsyncCollectives> {
        let tag = with_engine(process, comm, |engine| Ok(engine.next_tag(CallForm::Nonblocking)))?;
        let tuning = Tuning {
            one_host: false,
            hosts: None,
            model: model(process, comm),
            limits: ScheduleLimits::DEFAULT,
            forced: forced()?,
        };
        let scope =
            RunScope { comm: comm.clone(), group: comm.all_members().clone(), context: comm.collective_context(), tag };
        Ok(AsyncCollectives { scope, tuning, run: ScheduleRun::default(), words: WordBuffer::new(0) })
    }

    /// Returns a number that is the same on all members, and differs from that of every other sequence in progress on
    /// this communicator.
    pub fn sequence_number(&self) -> u32 {
        self.scope.tag as u32
    }

    /// Begins the bitwise AND of each of `words` over all members.
    pub fn allreduce_and(&mut self, words: &[u64]) -> Result<()> {
        self.begin(WordCollective::allreduce(op::BAND, words)?)
    }

    /// Begins the maximum of `word` over all members.
    pub fn allreduce_max(&mut self, word: u64) -> Result<()> {
        self.begin(WordCollective::allreduce(op::MAX, &[word])?)
    }

    /// Begins the broadcast of the word that rank 0 passes.
    pub fn bcast(&mut self, word: u64) -> Result<()> {
        self.begin(WordCollective::bcast(0, &[word]))
    }

    fn begin(&mut self, collective: WordCollective) -> Result<()> {
        plan(&collective.call, rank_and_size_in(&self.scope.group), &self.tuning, &mut self.run.schedule);
        self.words = collective.words;
        self.run.begin(collective.buffers)
    }

    /// Advances the collective in progress as far as possible without waiting, as a part of the task `me`. Returns
    /// the resulting words, or an error, when this member's part has ended (the root of a broadcast may end before
    /// other members have begun); `None` before.
    pub fn advance(&mut self, process: &'static Process, me: task::TaskId) -> Option<Result<Vec<u64>>> {
        self.run.task = Some(me);
        if self.run.advance(process, &self.scope, &mut None, false) != RunProgress::Ended {
            return None;
        }
        let result = self.run.finish();
        self.words.take_back();
        Some(result.map(|()| {
            let mut words = vec![0; self.words.count];
            self.words.read(&mut words);
            words
        }))
    }

    pub fn reason(&self, name: &'static str) -> OwnedWaitReason {
        self.run.reason(&self.scope, name)
    }
}
