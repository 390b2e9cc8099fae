//! The network of the checker: every rank's rounds, run in random order until all are done.
//!
//! Messages of a pair match in order, as sends and receives are listed. A message is eager (its send
//! completes at once) or synchronous (when the receive has come), by the seed: a schedule must do with both.

use super::memory::{Cell, Layout, Memory, UNWRITTEN};
use super::pairs::{Message, Pairs};
use super::spare;
use super::terms::Terms;
use crate::schedule::{Buffer, Comm, Giver, HostStep, Local, Order, Ranks, Schedule, Scratch, Span, Unit, WORD};
use std::iter::repeat_n;

/// One rank: its buffers and its schedule.
pub struct Member {
    pub send: Memory,
    pub recv: Memory,
    pub schedule: Schedule,
}

impl Drop for Member {
    fn drop(&mut self) {
        spare::keep_schedule(std::mem::take(&mut self.schedule));
    }
}

/// The rules that the run checks the schedules by.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Order of ranks, and which messages are eager.
    pub seed: u64,
    /// Most bytes of a shm step; none may occur where it is 0.
    pub host_bytes: u64,
    /// Bytes that a cell of user memory stands for.
    pub cell_bytes: u64,
}

/// Runs all schedules to their end, or returns which rank failed where and why.
pub fn run(members: &mut [Member], rules: Rules, terms: &mut Terms) -> Result<(), String> {
    let mut net = Net::new(members, rules, terms);
    net.ready.extend(0..net.ranks.len());
    while !net.ready.is_empty() {
        let pick = net.random() as usize % net.ready.len();
        let rank = net.ready.swap_remove(pick);
        net.step(rank).map_err(|why| format!("rank {rank}, round {}: {why}", net.ranks[rank].round))?;
    }
    net.finish()
}

struct Rank {
    send: Memory,
    recv: Memory,
    scratch: Vec<Memory>,
    schedule: Schedule,
    round: usize,
    /// The round's communication is posted.
    posted: bool,
    /// Communication steps still open.
    open: usize,
}

/// Room for the two sides of a local step, kept from step to step.
#[derive(Default)]
struct Room {
    from: Vec<Cell>,
    into: Vec<Cell>,
}

struct Net<'a> {
    members: &'a mut [Member],
    ranks: Vec<Rank>,
    pairs: Pairs,
    room: Room,
    /// The shm step that is gathering: each rank's, as they come.
    host: Vec<Option<HostStep>>,
    ready: Vec<usize>,
    terms: &'a mut Terms,
    rules: Rules,
    state: u64,
    epoch: u32,
}

impl<'a> Net<'a> {
    fn new(members: &'a mut [Member], rules: Rules, terms: &'a mut Terms) -> Net<'a> {
        let ranks: Vec<Rank> = members.iter_mut().map(Rank::new).collect();
        let (host, pairs) = (vec![None; ranks.len()], Pairs::among(ranks.len()));
        let (ready, room, state) = (Vec::new(), Room::default(), rules.seed | 1);
        Net { members, ranks, pairs, room, host, ready, terms, rules, state, epoch: 0 }
    }

    /// xorshift64; any sequence will do.
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 16
    }

    /// Continues with a rank that has nothing open: ends its round, and posts the next.
    fn step(&mut self, rank: usize) -> Result<(), String> {
        if self.ranks[rank].posted {
            self.ranks[rank].finish_round(self.terms, &mut self.room)?;
        }
        if self.ranks[rank].round == self.ranks[rank].schedule.len() && !self.ranks[rank].go_on()? {
            return Ok(());
        }
        self.ranks[rank].posted = true;
        self.epoch += 1;
        let steps = self.ranks[rank].comms().len();
        // One more, so that the round does not end while it is being posted.
        self.ranks[rank].open = steps + 1;
        let posted = (0..steps).try_for_each(|i| self.post(rank, self.ranks[rank].comms()[i], steps));
        self.close(rank);
        posted
    }

    fn post(&mut self, rank: usize, comm: Comm, steps: usize) -> Result<(), String> {
        match comm {
            Comm::Send { to, from } => self.send(rank, to as usize, &from),
            Comm::Recv { from, into } => self.recv(rank, from as usize, into),
            Comm::Host(HostStep::Exchange { gives, .. }) if gives > self.rules.host_bytes => {
                Err(format!("a host step has {gives} bytes, the limit is {}", self.rules.host_bytes))
            }
            Comm::Host(step @ HostStep::Exchange { .. }) => self.join_host(rank, step),
            Comm::Host(_) if steps > 1 => Err("a host step is not alone in its round".to_owned()),
            Comm::Host(step) => self.join_host(rank, step),
            // Done when all have come to the exchange.
            Comm::Put { .. } | Comm::Take { .. } | Comm::Fold { .. } => {
                self.close(rank);
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
        let mut data = spare::cells();
        memory.read(from, &mut data)?;
        // Bits of the seed: all eager, all synchronous, or each by chance.
        let synchronous = match self.rules.seed & 3 {
            0 => false,
            1 => true,
            _ => self.random() & 1 == 0,
        };
        if !synchronous {
            self.close(rank);
        }
        let message = Message { data, synchronous };
        match self.pairs.send(rank, to, message) {
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
        match self.pairs.post(from, rank, into) {
            Some(message) => self.deliver(from, rank, message, &into),
            None => Ok(()),
        }
    }

    /// Delivers a message to the receive that it matches.
    fn deliver(&mut self, from: usize, to: usize, message: Message, into: &Span) -> Result<(), String> {
        let memory = self.ranks[to].memory(into.buffer)?;
        if into.is_empty() && message.data.is_empty() {
            // A signal: it needs no memory.
        } else {
            memory.write(into, &message.data).map_err(|why| format!("message from {from} to {to}: {why}"))?;
        }
        self.close(to);
        if message.synchronous {
            self.close(from);
        }
        spare::keep_cells(message.data);
        Ok(())
    }

    fn close(&mut self, rank: usize) {
        self.ranks[rank].open -= 1;
        if self.ranks[rank].open == 0 {
            self.ready.push(rank);
        }
    }

    fn join_host(&mut self, rank: usize, step: HostStep) -> Result<(), String> {
        let spans = match step {
            HostStep::Barrier => [Span::EMPTY; 2],
            HostStep::Bcast { span, .. } => [span, Span::EMPTY],
            HostStep::Reduce { from, into, .. } | HostStep::Allreduce { from, into } => [from, into],
            HostStep::Exchange { .. } => [Span::EMPTY; 2],
        };
        let (limit, cell_bytes) = (self.rules.host_bytes, self.rules.cell_bytes);
        for span in spans.iter().filter(|span| !span.is_empty()) {
            let cells = self.ranks[rank].memory(span.buffer)?.volume(span)? as u64;
            let bytes = if span.unit == Unit::Byte { cells } else { cells * cell_bytes };
            if bytes > limit {
                return Err(format!("a host step has {bytes} bytes, the limit is {limit}"));
            }
        }
        if self.rules.host_bytes == 0 {
            return Err("a host step, and the ranks are not on one host".to_owned());
        }
        self.host[rank] = Some(step);
        if self.host.iter().all(Option::is_some) {
            let steps: Vec<HostStep> = self.host.iter_mut().filter_map(Option::take).collect();
            self.run_host(&steps)?;
            (0..self.ranks.len()).for_each(|rank| self.close(rank));
        }
        Ok(())
    }

    fn run_host(&mut self, steps: &[HostStep]) -> Result<(), String> {
        let mut data = Vec::new();
        match steps[0] {
            HostStep::Exchange { .. } => return self.run_exchange(steps),
            HostStep::Barrier => {}
            HostStep::Bcast { root, .. } => {
                let HostStep::Bcast { span, .. } = steps[root as usize] else { return Err(mixed(steps)) };
                self.ranks[root as usize].memory(span.buffer)?.read(&span, &mut data)?;
            }
            HostStep::Reduce { .. } | HostStep::Allreduce { .. } => data = self.fold(steps)?,
        }
        for (rank, step) in steps.iter().enumerate() {
            let me = &mut self.ranks[rank];
            match (steps[0], *step) {
                (HostStep::Barrier, HostStep::Barrier) => {}
                (HostStep::Bcast { root, .. }, HostStep::Bcast { root: same, span }) if root == same => {
                    if rank != root as usize {
                        me.memory(span.buffer)?.write(&span, &data)?;
                    }
                }
                (HostStep::Reduce { root, .. }, HostStep::Reduce { root: same, into, .. }) if root == same => {
                    if rank == root as usize {
                        me.memory(into.buffer)?.write(&into, &data)?;
                    } else if !into.is_empty() {
                        return Err(format!("rank {rank} has a result of a host step with root {root}"));
                    }
                }
                (HostStep::Allreduce { .. }, HostStep::Allreduce { into, .. }) => {
                    if let Some(ahead) = me.schedule.contributed_after(me.round)
                        && ahead.buffer == into.buffer
                        && me.memory(into.buffer)?.overlap(&ahead, &into)?
                    {
                        return Err(format!("rank {rank}: {ahead:?} is contributed before {into:?} is there"));
                    }
                    me.memory(into.buffer)?.write(&into, &data)?;
                }
                _ => return Err(mixed(steps)),
            }
        }
        Ok(())
    }

    /// The fold from the left in rank order.
    fn fold(&mut self, steps: &[HostStep]) -> Result<Vec<Cell>, String> {
        let (mut result, mut data): (Vec<Cell>, Vec<Cell>) = (Vec::new(), Vec::new());
        for (rank, step) in steps.iter().enumerate() {
            let (HostStep::Reduce { from, into, .. } | HostStep::Allreduce { from, into }) = *step else {
                return Err(mixed(steps));
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
                return Err(mixed(steps));
            } else {
                self.terms.combine_all(&result, &mut data)?;
                std::mem::swap(&mut result, &mut data);
            }
        }
        Ok(result)
    }

    fn run_exchange(&mut self, steps: &[HostStep]) -> Result<(), String> {
        let mut slots = Vec::with_capacity(steps.len());
        for (rank, step) in steps.iter().enumerate() {
            let HostStep::Exchange { gives, .. } = *step else { return Err(mixed(steps)) };
            slots.push(self.fill_slot(rank, gives)?);
        }
        (0..steps.len()).try_for_each(|rank| self.empty_slots(rank, steps, &slots))
    }

    /// Bytes of a slot as cells: user memory counts them, whatever bytes they stand for.
    fn cells(&self, bytes: u64) -> usize {
        (bytes / self.rules.cell_bytes) as usize
    }

    /// Checks that all data of a slot are written, once.
    fn fill_slot(&mut self, rank: usize, gives: u64) -> Result<Vec<Cell>, String> {
        let mut slot = vec![UNWRITTEN; self.cells(gives)];
        let mut data = Vec::new();
        for i in 0..self.ranks[rank].comms().len() {
            let comm = self.ranks[rank].comms()[i];
            let Comm::Put { at, from: span } = comm else { continue };
            let at = self.cells(at);
            data.clear();
            self.ranks[rank].memory(span.buffer)?.read(&span, &mut data)?;
            let room = slot.get_mut(at..at + data.len()).ok_or_else(|| format!("{comm:?} is outside its slot"))?;
            if room.iter().any(|&cell| cell != UNWRITTEN) {
                return Err(format!("{comm:?} overlaps another part of its slot"));
            }
            room.copy_from_slice(&data);
        }
        if slot.contains(&UNWRITTEN) { Err(format!("rank {rank} leaves a part of its slot empty")) } else { Ok(slot) }
    }

    fn empty_slots(&mut self, rank: usize, steps: &[HostStep], slots: &[Vec<Cell>]) -> Result<(), String> {
        let HostStep::Exchange { sources, .. } = steps[rank] else { return Err(mixed(steps)) };
        let mut seen = vec![false; steps.len()];
        for i in 0..self.ranks[rank].comms().len() {
            let comm = self.ranks[rank].comms()[i];
            let (Comm::Take { slot, .. } | Comm::Fold { slot, .. }) = comm else { continue };
            let Giver { rank: owner, bytes } = slot;
            seen[owner as usize] = true;
            let HostStep::Exchange { gives, readers, .. } = steps[owner as usize] else { return Err(mixed(steps)) };
            let is_own = owner as usize == rank;
            let is_agreed = names(readers, owner as usize, rank) && names(sources, rank, owner as usize);
            if bytes != gives || readers == Ranks::Nobody {
                return Err(format!("{comm:?} of a slot with {gives} bytes for {readers:?}"));
            }
            if !is_own && !is_agreed {
                return Err(format!("{comm:?} between ranks that do not name each other"));
            }
            self.take_out(rank, comm, &slots[owner as usize])?;
        }
        let waits_for = |other: usize| other == rank || seen[other];
        match sources == Ranks::All && !(0..steps.len()).all(waits_for) {
            true => Err("not all are waited for".to_owned()),
            false => Ok(()),
        }
    }

    fn take_out(&mut self, rank: usize, comm: Comm, slot: &[Cell]) -> Result<(), String> {
        let outside = || format!("{comm:?} is outside its slot");
        match comm {
            Comm::Take { at, into, .. } => {
                let (at, memory) = (self.cells(at), self.ranks[rank].memory(into.buffer)?);
                let cells = memory.volume(&into)?;
                let data = slot.get(at..at + cells).ok_or_else(outside)?;
                memory.write(&into, data)
            }
            Comm::Fold { at, into, .. } => {
                let at = self.cells(at);
                let own = &mut self.room.into;
                own.clear();
                let memory = self.ranks[rank].memory(into.buffer)?;
                memory.read(&into, own)?;
                let data = slot.get(at..at + own.len()).ok_or_else(outside)?;
                self.terms.combine_all(data, own)?;
                memory.write(&into, own)
            }
            _ => unreachable!("asked for what takes alone"),
        }
    }

    /// All must have come to their ends with no message left.
    fn finish(self) -> Result<(), String> {
        let waiting: Vec<String> = (self.ranks.iter().enumerate())
            .filter(|(_, rank)| rank.round < rank.schedule.len())
            .map(|(i, rank)| format!("rank {i} in round {} of {}", rank.round, rank.schedule.len()))
            .collect();
        if !waiting.is_empty() {
            return Err(format!("deadlock: {}", waiting.join(", ")));
        }
        if let Some((from, to)) = self.pairs.never_received() {
            return Err(format!("a message from {from} to {to} is never received"));
        }
        for (member, rank) in self.members.iter_mut().zip(self.ranks) {
            *member = Member { send: rank.send, recv: rank.recv, schedule: rank.schedule };
        }
        Ok(())
    }
}

/// The memory that a schedule needs; its elements are as the receive buffer's.
fn scratch_of(schedule: &Schedule, layout: Layout) -> Vec<Memory> {
    let scratch = |s: &Scratch| match s.unit {
        Unit::Byte => Memory::new(repeat_n(UNWRITTEN, s.count as usize), Layout::CELL, true),
        _ => Memory::new(repeat_n(UNWRITTEN, s.count as usize * layout.extent), layout, true),
    };
    schedule.scratch().iter().map(scratch).collect()
}

/// A byte of a word that a rank sends, which is no data of the call.
const TOLD: Cell = 1 << 63;

fn words(cells: &[Cell]) -> Result<Vec<u64>, String> {
    if let Some(cell) = cells.iter().find(|&cell| cell & TOLD == 0) {
        return Err(format!("cell {cell} is read as a word"));
    }
    let word = |cells: &[Cell]| cells.iter().rev().fold(0, |word, cell| word << 8 | cell & 0xff);
    Ok(cells.chunks(WORD as usize).map(word).collect())
}

/// Tells whether `ranks`, from the view of `speaker`, include `other`.
fn names(ranks: Ranks, speaker: usize, other: usize) -> bool {
    match ranks {
        Ranks::Nobody => false,
        Ranks::One(rank) => rank as usize == other,
        Ranks::Below => other < speaker,
        Ranks::Above => other > speaker,
        Ranks::All => true,
    }
}

fn mixed(steps: &[HostStep]) -> String {
    format!("the ranks' host steps do not belong together: {steps:?}")
}

impl Rank {
    fn new(member: &mut Member) -> Rank {
        Rank {
            scratch: scratch_of(&member.schedule, member.recv.layout),
            send: std::mem::replace(&mut member.send, Memory::none()),
            recv: std::mem::replace(&mut member.recv, Memory::none()),
            schedule: std::mem::take(&mut member.schedule),
            round: 0,
            posted: false,
            open: 0,
        }
    }

    fn memory(&mut self, buffer: Buffer) -> Result<&mut Memory, String> {
        match buffer {
            Buffer::Send => Ok(&mut self.send),
            Buffer::Recv => Ok(&mut self.recv),
            Buffer::Scratch(i) => self.scratch.get_mut(i as usize).ok_or_else(|| format!("there is no scratch {i}")),
        }
    }

    /// Continues after the last round: false, or the rest is planned and has a round.
    fn go_on(&mut self) -> Result<bool, String> {
        let Some(sequel) = self.schedule.sequel().cloned() else { return Ok(false) };
        let mut cells = Vec::new();
        self.memory(sequel.told.buffer)?.read(&sequel.told, &mut cells)?;
        let mut rest = Schedule::new();
        sequel.plan(&words(&cells)?, &mut rest);
        if let Some(misfit) = rest.misfit() {
            return Err(format!("{misfit:?}"));
        }
        self.scratch = scratch_of(&rest, self.recv.layout);
        (self.schedule, self.round) = (rest, 0);
        Ok(!self.schedule.is_empty())
    }

    /// The communication of its round.
    fn comms(&self) -> &[Comm] {
        self.schedule.round(self.round).comms
    }

    fn finish_round(&mut self, terms: &mut Terms, room: &mut Room) -> Result<(), String> {
        let schedule = std::mem::take(&mut self.schedule);
        let done = schedule.round(self.round).locals.iter().try_for_each(|local| self.local(local, terms, room));
        self.schedule = schedule;
        self.round += 1;
        self.posted = false;
        done
    }

    fn local(&mut self, local: &Local, terms: &mut Terms, room: &mut Room) -> Result<(), String> {
        let (from, into) = match *local {
            Local::Copy { from, into } | Local::Reduce { from, into, .. } => (from, into),
            Local::Say { word, into } if matches!(into.buffer, Buffer::Scratch(_)) => {
                let cells = word.to_le_bytes().map(|byte| TOLD | Cell::from(byte));
                return self.memory(into.buffer)?.write(&into, &cells);
            }
            Local::Say { .. } => return Err(format!("{local:?} writes what is not scratch")),
        };
        if from.buffer == into.buffer && self.memory(from.buffer)?.overlap(&from, &into)? {
            return Err(format!("{local:?} overlaps itself"));
        }
        let Room { from: data, into: own } = room;
        data.clear();
        self.memory(from.buffer)?.read(&from, data)?;
        let Local::Reduce { order, .. } = *local else { return self.memory(into.buffer)?.write(&into, data) };
        if from.unit != Unit::Element || into.unit != Unit::Element {
            return Err(format!("{local:?} reduces bytes"));
        }
        own.clear();
        self.memory(into.buffer)?.read(&into, own)?;
        if own.len() != data.len() {
            return Err(format!("{local:?}: the lengths differ"));
        }
        if order == Order::FromFirst {
            terms.combine_all(data, own)?;
            return self.memory(into.buffer)?.write(&into, own);
        }
        terms.combine_all(own, data)?;
        if !matches!(from.buffer, Buffer::Scratch(_)) {
            return Err(format!("{local:?} spends what is not scratch"));
        }
        self.memory(from.buffer)?.spend(&from)?;
        self.memory(into.buffer)?.write(&into, data)
    }
}
