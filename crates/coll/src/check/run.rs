//! The network of the checker: it runs the rounds of all ranks, in random order of the ranks, until all schedules
//! have ended.
//!
//! Messages between two ranks match in the order in which the schedules list sends and receives. The seed decides
//! whether a message is eager (its send completes at once) or synchronous (its send completes when the receive has
//! been posted); a schedule must be correct with both. Used by tests; uses the other modules of `check`.

use super::expressions::ExprTable;
use super::memory::{CellLayout, SymbolicCell, SymbolicMemory, UNWRITTEN};
use super::message_queues::{CheckedMessage, MessageQueues};
use super::recycled;
use crate::schedule::{
    BufferId, CommStep, LocalStep, MemberSet, OperandOrder, RankSlot, Schedule, ScratchSpec, ShmStep, Span, SpanUnit,
    VALUE_BYTES,
};
use std::iter::repeat_n;

/// One rank: its buffers and its schedule.
pub struct CheckedRank {
    pub send: SymbolicMemory,
    pub recv: SymbolicMemory,
    pub schedule: Schedule,
}

impl Drop for CheckedRank {
    fn drop(&mut self) {
        recycled::keep_schedule(std::mem::take(&mut self.schedule));
    }
}

/// The rules that the run checks the schedules by.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The seed of the order of ranks and of the choice of the eager messages.
    pub seed: u64,
    /// The maximum length of a contribution to a shm step, in bytes. If it is 0, no shm step may occur.
    pub shm_step_bytes: u64,
    /// The number of bytes that a cell of user memory stands for.
    pub cell_bytes: u64,
}

/// Runs all schedules to their end. If a check fails in a round, the error text names the rank, the round and the
/// reason; if the schedules do not all come to their end, it names the ranks that wait (`finish`).
pub fn run(members: &mut [CheckedRank], rules: Rules, expressions: &mut ExprTable) -> Result<(), String> {
    let mut network = CheckedNetwork::new(members, rules, expressions);
    network.ready.extend(0..network.ranks.len());
    while !network.ready.is_empty() {
        let pick = network.random() as usize % network.ready.len();
        let rank = network.ready.swap_remove(pick);
        network.step(rank).map_err(|reason| format!("rank {rank}, round {}: {reason}", network.ranks[rank].round))?;
    }
    network.finish()
}

struct RankProgress {
    send: SymbolicMemory,
    recv: SymbolicMemory,
    scratch: Vec<SymbolicMemory>,
    schedule: Schedule,
    round: usize,
    /// The communication of the current round is posted.
    posted: bool,
    /// The number of communication steps of the current round that have not ended.
    open_steps: usize,
}

/// Memory for the two operands of a local step or a `ReduceSlot`, kept from step to step.
#[derive(Default)]
struct ScratchCells {
    from: Vec<SymbolicCell>,
    into: Vec<SymbolicCell>,
}

struct CheckedNetwork<'a> {
    members: &'a mut [CheckedRank],
    ranks: Vec<RankProgress>,
    queues: MessageQueues,
    scratch: ScratchCells,
    /// The shm step that each rank has begun, `None` for ranks that have not come to it. The step runs when all ranks
    /// have.
    shm_steps: Vec<Option<ShmStep>>,
    ready: Vec<usize>,
    expressions: &'a mut ExprTable,
    rules: Rules,
    random_state: u64,
    epoch: u32,
}

impl<'a> CheckedNetwork<'a> {
    fn new(members: &'a mut [CheckedRank], rules: Rules, expressions: &'a mut ExprTable) -> CheckedNetwork<'a> {
        let ranks: Vec<RankProgress> = members.iter_mut().map(RankProgress::new).collect();
        let (host, queues) = (vec![None; ranks.len()], MessageQueues::new(ranks.len()));
        let (ready, scratch, state) = (Vec::new(), ScratchCells::default(), rules.seed | 1);
        CheckedNetwork {
            members,
            ranks,
            queues,
            scratch,
            shm_steps: host,
            ready,
            expressions,
            rules,
            random_state: state,
            epoch: 0,
        }
    }

    /// Returns the next number of the generator xorshift64. Any sequence of numbers would do.
    fn random(&mut self) -> u64 {
        self.random_state ^= self.random_state << 13;
        self.random_state ^= self.random_state >> 7;
        self.random_state ^= self.random_state << 17;
        self.random_state >> 16
    }

    /// Continues with a rank that has no open communication steps: ends its current round, and posts the next round.
    fn step(&mut self, rank: usize) -> Result<(), String> {
        if self.ranks[rank].posted {
            self.ranks[rank].finish_round(self.expressions, &mut self.scratch)?;
        }
        if self.ranks[rank].round == self.ranks[rank].schedule.len() && !self.ranks[rank].continue_schedule()? {
            return Ok(());
        }
        self.ranks[rank].posted = true;
        self.epoch += 1;
        let steps = self.ranks[rank].comms().len();
        // One more than the steps, so that the round does not end before all of it is posted.
        self.ranks[rank].open_steps = steps + 1;
        let posted = (0..steps).try_for_each(|i| self.post(rank, self.ranks[rank].comms()[i], steps));
        self.complete_step(rank);
        posted
    }

    fn post(&mut self, rank: usize, comm: CommStep, steps: usize) -> Result<(), String> {
        match comm {
            CommStep::Send { to, from } => self.send(rank, to as usize, &from),
            CommStep::Recv { from, into } => self.recv(rank, from as usize, into),
            CommStep::Shm(ShmStep::Exchange { slot_bytes, .. }) if slot_bytes > self.rules.shm_step_bytes => {
                Err(format!("a host step has {slot_bytes} bytes, the limit is {}", self.rules.shm_step_bytes))
            }
            CommStep::Shm(step @ ShmStep::Exchange { .. }) => self.join_shm_step(rank, step),
            CommStep::Shm(_) if steps > 1 => Err("a host step is not alone in its round".to_owned()),
            CommStep::Shm(step) => self.join_shm_step(rank, step),
            // These steps run as a part of the exchange, when all ranks have come to it.
            CommStep::WriteSlot { .. } | CommStep::ReadSlot { .. } | CommStep::ReduceSlot { .. } => {
                self.complete_step(rank);
                Ok(())
            }
        }
    }

    fn send(&mut self, rank: usize, to: usize, from: &Span) -> Result<(), String> {
        if to >= self.ranks.len() || to == rank {
            return Err(format!("sends to rank {to}"));
        }
        let epoch = self.epoch;
        let memory = self.ranks[rank].memory(from.buffer)?;
        memory.touch(from, epoch, false)?;
        let mut data = recycled::cells();
        memory.read(from, &mut data)?;
        // The lowest bits of the seed decide: all messages are eager, all are synchronous, or each is one of both by
        // chance.
        let synchronous = match self.rules.seed & 3 {
            0 => false,
            1 => true,
            _ => self.random() & 1 == 0,
        };
        if !synchronous {
            self.complete_step(rank);
        }
        let message = CheckedMessage { data, synchronous };
        match self.queues.send(rank, to, message) {
            Some((message, into)) => self.deliver(rank, to, message, &into),
            None => Ok(()),
        }
    }

    fn recv(&mut self, rank: usize, from: usize, into: Span) -> Result<(), String> {
        if from >= self.ranks.len() || from == rank {
            return Err(format!("receives from rank {from}"));
        }
        let epoch = self.epoch;
        self.ranks[rank].memory(into.buffer)?.touch(&into, epoch, true)?;
        match self.queues.post(from, rank, into) {
            Some(message) => self.deliver(from, rank, message, &into),
            None => Ok(()),
        }
    }

    /// Delivers a message to the receive that it matches.
    fn deliver(&mut self, from: usize, to: usize, message: CheckedMessage, into: &Span) -> Result<(), String> {
        let memory = self.ranks[to].memory(into.buffer)?;
        if into.is_empty() && message.data.is_empty() {
            // A message without data needs no memory.
        } else {
            memory.write(into, &message.data).map_err(|reason| format!("message from {from} to {to}: {reason}"))?;
        }
        self.complete_step(to);
        if message.synchronous {
            self.complete_step(from);
        }
        recycled::keep_cells(message.data);
        Ok(())
    }

    fn complete_step(&mut self, rank: usize) {
        self.ranks[rank].open_steps -= 1;
        if self.ranks[rank].open_steps == 0 {
            self.ready.push(rank);
        }
    }

    fn join_shm_step(&mut self, rank: usize, step: ShmStep) -> Result<(), String> {
        let spans = match step {
            ShmStep::Barrier => [Span::EMPTY; 2],
            ShmStep::Bcast { span, .. } => [span, Span::EMPTY],
            ShmStep::Reduce { from, into, .. } | ShmStep::Allreduce { from, into } => [from, into],
            ShmStep::Exchange { .. } => [Span::EMPTY; 2],
        };
        let (limit, cell_bytes) = (self.rules.shm_step_bytes, self.rules.cell_bytes);
        for span in spans.iter().filter(|span| !span.is_empty()) {
            let cells = self.ranks[rank].memory(span.buffer)?.volume(span)? as u64;
            let bytes = if span.unit == SpanUnit::Byte { cells } else { cells * cell_bytes };
            if bytes > limit {
                return Err(format!("a host step has {bytes} bytes, the limit is {limit}"));
            }
        }
        if self.rules.shm_step_bytes == 0 {
            return Err("a host step, and the ranks are not on one host".to_owned());
        }
        self.shm_steps[rank] = Some(step);
        if self.shm_steps.iter().all(Option::is_some) {
            let steps: Vec<ShmStep> = self.shm_steps.iter_mut().filter_map(Option::take).collect();
            self.run_shm_step(&steps)?;
            (0..self.ranks.len()).for_each(|rank| self.complete_step(rank));
        }
        Ok(())
    }

    fn run_shm_step(&mut self, steps: &[ShmStep]) -> Result<(), String> {
        let mut data = Vec::new();
        match steps[0] {
            ShmStep::Exchange { .. } => return self.run_exchange(steps),
            ShmStep::Barrier => {}
            ShmStep::Bcast { root, .. } => {
                let ShmStep::Bcast { span, .. } = steps[root as usize] else { return Err(mismatched_steps(steps)) };
                self.ranks[root as usize].memory(span.buffer)?.read(&span, &mut data)?;
            }
            ShmStep::Reduce { .. } | ShmStep::Allreduce { .. } => data = self.fold(steps)?,
        }
        for (rank, step) in steps.iter().enumerate() {
            let progress = &mut self.ranks[rank];
            match (steps[0], *step) {
                (ShmStep::Barrier, ShmStep::Barrier) => {}
                (ShmStep::Bcast { root, .. }, ShmStep::Bcast { root: same, span }) if root == same => {
                    if rank != root as usize {
                        progress.memory(span.buffer)?.write(&span, &data)?;
                    }
                }
                (ShmStep::Reduce { root, .. }, ShmStep::Reduce { root: same, into, .. }) if root == same => {
                    if rank == root as usize {
                        progress.memory(into.buffer)?.write(&into, &data)?;
                    } else if !into.is_empty() {
                        return Err(format!("rank {rank} has a result of a host step with root {root}"));
                    }
                }
                (ShmStep::Allreduce { .. }, ShmStep::Allreduce { into, .. }) => {
                    if let Some(ahead) = progress.schedule.contributed_after(progress.round)
                        && ahead.buffer == into.buffer
                        && progress.memory(into.buffer)?.overlap(&ahead, &into)?
                    {
                        return Err(format!("rank {rank}: {ahead:?} is contributed before {into:?} is there"));
                    }
                    progress.memory(into.buffer)?.write(&into, &data)?;
                }
                _ => return Err(mismatched_steps(steps)),
            }
        }
        Ok(())
    }

    /// Returns the reduction of all contributions from the left in rank order.
    fn fold(&mut self, steps: &[ShmStep]) -> Result<Vec<SymbolicCell>, String> {
        let (mut result, mut data): (Vec<SymbolicCell>, Vec<SymbolicCell>) = (Vec::new(), Vec::new());
        for (rank, step) in steps.iter().enumerate() {
            let (ShmStep::Reduce { from, into, .. } | ShmStep::Allreduce { from, into }) = *step else {
                return Err(mismatched_steps(steps));
            };
            let memory = self.ranks[rank].memory(from.buffer)?;
            if from != into && from.buffer == into.buffer && !into.is_empty() && memory.overlap(&from, &into)? {
                return Err(format!("rank {rank}: {from:?} and {into:?} overlap"));
            }
            data.clear();
            memory.read(&from, &mut data)?;
            if rank == 0 {
                result.clone_from(&data);
            } else if data.len() != result.len() {
                return Err(mismatched_steps(steps));
            } else {
                self.expressions.combine_all(&result, &mut data)?;
                std::mem::swap(&mut result, &mut data);
            }
        }
        Ok(result)
    }

    fn run_exchange(&mut self, steps: &[ShmStep]) -> Result<(), String> {
        let mut slots = Vec::with_capacity(steps.len());
        for (rank, step) in steps.iter().enumerate() {
            let ShmStep::Exchange { slot_bytes, .. } = *step else { return Err(mismatched_steps(steps)) };
            slots.push(self.fill_slot(rank, slot_bytes)?);
        }
        (0..steps.len()).try_for_each(|rank| self.read_slots(rank, steps, &slots))
    }

    /// Converts a number of bytes of a slot to a number of cells of user memory.
    fn cells(&self, bytes: u64) -> usize {
        (bytes / self.rules.cell_bytes) as usize
    }

    /// Returns the contents of a rank's slot. Fails if a part of the slot is not written, or is written twice.
    fn fill_slot(&mut self, rank: usize, slot_bytes: u64) -> Result<Vec<SymbolicCell>, String> {
        let mut slot = vec![UNWRITTEN; self.cells(slot_bytes)];
        let mut data = Vec::new();
        for i in 0..self.ranks[rank].comms().len() {
            let comm = self.ranks[rank].comms()[i];
            let CommStep::WriteSlot { at, from: span } = comm else { continue };
            let at = self.cells(at);
            data.clear();
            self.ranks[rank].memory(span.buffer)?.read(&span, &mut data)?;
            let part = slot.get_mut(at..at + data.len()).ok_or_else(|| format!("{comm:?} is outside its slot"))?;
            if part.iter().any(|&cell| cell != UNWRITTEN) {
                return Err(format!("{comm:?} overlaps another part of its slot"));
            }
            part.copy_from_slice(&data);
        }
        if slot.contains(&UNWRITTEN) { Err(format!("rank {rank} leaves a part of its slot empty")) } else { Ok(slot) }
    }

    fn read_slots(&mut self, rank: usize, steps: &[ShmStep], slots: &[Vec<SymbolicCell>]) -> Result<(), String> {
        let ShmStep::Exchange { sources, .. } = steps[rank] else { return Err(mismatched_steps(steps)) };
        let mut seen = vec![false; steps.len()];
        for i in 0..self.ranks[rank].comms().len() {
            let comm = self.ranks[rank].comms()[i];
            let (CommStep::ReadSlot { slot, .. } | CommStep::ReduceSlot { slot, .. }) = comm else { continue };
            let RankSlot { rank: owner, bytes } = slot;
            seen[owner as usize] = true;
            let ShmStep::Exchange { slot_bytes, readers, .. } = steps[owner as usize] else {
                return Err(mismatched_steps(steps));
            };
            let is_own = owner as usize == rank;
            let is_agreed = includes(readers, owner as usize, rank) && includes(sources, rank, owner as usize);
            if bytes != slot_bytes || readers == MemberSet::Empty {
                return Err(format!("{comm:?} of a slot with {slot_bytes} bytes for {readers:?}"));
            }
            if !is_own && !is_agreed {
                return Err(format!("{comm:?} between ranks that do not name each other"));
            }
            self.read_slot(rank, comm, &slots[owner as usize])?;
        }
        let waits_for = |other: usize| other == rank || seen[other];
        match sources == MemberSet::All && !(0..steps.len()).all(waits_for) {
            true => Err("not all are waited for".to_owned()),
            false => Ok(()),
        }
    }

    fn read_slot(&mut self, rank: usize, comm: CommStep, slot: &[SymbolicCell]) -> Result<(), String> {
        let outside = || format!("{comm:?} is outside its slot");
        match comm {
            CommStep::ReadSlot { at, into, .. } => {
                let (at, memory) = (self.cells(at), self.ranks[rank].memory(into.buffer)?);
                let cells = memory.volume(&into)?;
                let data = slot.get(at..at + cells).ok_or_else(outside)?;
                memory.write(&into, data)
            }
            CommStep::ReduceSlot { at, into, .. } => {
                let at = self.cells(at);
                let own = &mut self.scratch.into;
                own.clear();
                let memory = self.ranks[rank].memory(into.buffer)?;
                memory.read(&into, own)?;
                let data = slot.get(at..at + own.len()).ok_or_else(outside)?;
                self.expressions.combine_all(data, own)?;
                memory.write(&into, own)
            }
            _ => unreachable!("requested for steps that read a slot alone"),
        }
    }

    /// Ends the run. Fails if a schedule has not come to its end, or a message was not received. Otherwise gives the
    /// ranks their buffers and schedules back.
    fn finish(self) -> Result<(), String> {
        let waiting: Vec<String> = (self.ranks.iter().enumerate())
            .filter(|(_, rank)| rank.round < rank.schedule.len())
            .map(|(i, rank)| format!("rank {i} in round {} of {}", rank.round, rank.schedule.len()))
            .collect();
        if !waiting.is_empty() {
            return Err(format!("deadlock: {}", waiting.join(", ")));
        }
        if let Some((from, to)) = self.queues.never_received() {
            return Err(format!("a message from {from} to {to} is never received"));
        }
        for (member, rank) in self.members.iter_mut().zip(self.ranks) {
            *member = CheckedRank { send: rank.send, recv: rank.recv, schedule: rank.schedule };
        }
        Ok(())
    }
}

/// Returns the scratch memory of a schedule. Its elements have the layout of those in the receive buffer.
fn scratch_of(schedule: &Schedule, layout: CellLayout) -> Vec<SymbolicMemory> {
    let scratch = |s: &ScratchSpec| match s.unit {
        SpanUnit::Byte => SymbolicMemory::new(repeat_n(UNWRITTEN, s.count as usize), CellLayout::CELL, true),
        _ => SymbolicMemory::new(repeat_n(UNWRITTEN, s.count as usize * layout.extent), layout, true),
    };
    schedule.scratch().iter().map(scratch).collect()
}

/// The bit that marks a cell as a byte of a length that ranks send each other: it is no data of the call.
const LENGTH_CELL: SymbolicCell = 1 << 63;

fn values_of(cells: &[SymbolicCell]) -> Result<Vec<u64>, String> {
    if let Some(cell) = cells.iter().find(|&cell| cell & LENGTH_CELL == 0) {
        return Err(format!("cell {cell} is read as a word"));
    }
    let value = |cells: &[SymbolicCell]| cells.iter().rev().fold(0, |value, cell| value << 8 | cell & 0xff);
    Ok(cells.chunks(VALUE_BYTES as usize).map(value).collect())
}

/// Tells whether `ranks`, from the view of `member`, include `other`.
fn includes(ranks: MemberSet, member: usize, other: usize) -> bool {
    match ranks {
        MemberSet::Empty => false,
        MemberSet::One(rank) => rank as usize == other,
        MemberSet::Below => other < member,
        MemberSet::Above => other > member,
        MemberSet::All => true,
    }
}

fn mismatched_steps(steps: &[ShmStep]) -> String {
    format!("the ranks' host steps do not belong together: {steps:?}")
}

impl RankProgress {
    fn new(member: &mut CheckedRank) -> RankProgress {
        RankProgress {
            scratch: scratch_of(&member.schedule, member.recv.layout),
            send: std::mem::replace(&mut member.send, SymbolicMemory::none()),
            recv: std::mem::replace(&mut member.recv, SymbolicMemory::none()),
            schedule: std::mem::take(&mut member.schedule),
            round: 0,
            posted: false,
            open_steps: 0,
        }
    }

    fn memory(&mut self, buffer: BufferId) -> Result<&mut SymbolicMemory, String> {
        match buffer {
            BufferId::Send => Ok(&mut self.send),
            BufferId::Recv => Ok(&mut self.recv),
            BufferId::Scratch(i) => self.scratch.get_mut(i as usize).ok_or_else(|| format!("there is no scratch {i}")),
        }
    }

    /// Plans the rest of the schedule after its last round, if it has a continuation. Returns true if there is a rest
    /// with at least one round.
    fn continue_schedule(&mut self) -> Result<bool, String> {
        let Some(continuation) = self.schedule.continuation().cloned() else { return Ok(false) };
        let mut cells = Vec::new();
        self.memory(continuation.lengths.buffer)?.read(&continuation.lengths, &mut cells)?;
        let mut rest = Schedule::new();
        continuation.plan(&values_of(&cells)?, &mut rest);
        if let Some(mismatch) = rest.length_mismatch() {
            return Err(format!("{mismatch:?}"));
        }
        self.scratch = scratch_of(&rest, self.recv.layout);
        (self.schedule, self.round) = (rest, 0);
        Ok(!self.schedule.is_empty())
    }

    /// Returns the communication steps of the current round.
    fn comms(&self) -> &[CommStep] {
        self.schedule.round(self.round).comms
    }

    fn finish_round(&mut self, expressions: &mut ExprTable, scratch: &mut ScratchCells) -> Result<(), String> {
        let schedule = std::mem::take(&mut self.schedule);
        let done =
            schedule.round(self.round).locals.iter().try_for_each(|local| self.local(local, expressions, scratch));
        self.schedule = schedule;
        self.round += 1;
        self.posted = false;
        done
    }

    fn local(
        &mut self,
        local: &LocalStep,
        expressions: &mut ExprTable,
        scratch: &mut ScratchCells,
    ) -> Result<(), String> {
        let (from, into) = match *local {
            LocalStep::Copy { from, into } | LocalStep::Reduce { from, into, .. } => (from, into),
            LocalStep::StoreValue { value, into } if matches!(into.buffer, BufferId::Scratch(_)) => {
                let cells = value.to_le_bytes().map(|byte| LENGTH_CELL | SymbolicCell::from(byte));
                return self.memory(into.buffer)?.write(&into, &cells);
            }
            LocalStep::StoreValue { .. } => return Err(format!("{local:?} writes what is not scratch")),
        };
        if from.buffer == into.buffer && self.memory(from.buffer)?.overlap(&from, &into)? {
            return Err(format!("{local:?} overlaps itself"));
        }
        let ScratchCells { from: data, into: own } = scratch;
        data.clear();
        self.memory(from.buffer)?.read(&from, data)?;
        let LocalStep::Reduce { order, .. } = *local else { return self.memory(into.buffer)?.write(&into, data) };
        if from.unit != SpanUnit::Element || into.unit != SpanUnit::Element {
            return Err(format!("{local:?} reduces bytes"));
        }
        own.clear();
        self.memory(into.buffer)?.read(&into, own)?;
        if own.len() != data.len() {
            return Err(format!("{local:?}: the lengths differ"));
        }
        if order == OperandOrder::FromFirst {
            expressions.combine_all(data, own)?;
            return self.memory(into.buffer)?.write(&into, own);
        }
        expressions.combine_all(own, data)?;
        if !matches!(from.buffer, BufferId::Scratch(_)) {
            return Err(format!("{local:?} spends what is not scratch"));
        }
        self.memory(from.buffer)?.spend(&from)?;
        self.memory(into.buffer)?.write(&into, data)
    }
}
