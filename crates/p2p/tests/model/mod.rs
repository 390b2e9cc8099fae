//! A world of a few ranks, each with an engine and a program, and the wires between them.
//!
//! The world does what `mpi::pt2pt` and the transport do around the engine, with real bytes: it carries out placements
//! and effects, and keeps the buffers and streams. One `Action` is one step of the world; its caller picks the actions
//! (all of them in `explore`, a seeded choice in `random_runs`). After each action the world checks the engine against
//! `oracle`, which knows nothing of methods, credits or RTRs.

pub mod checks;
pub mod effects;
pub mod oracle;
pub mod program;

use hawser_base::Peer;
use hawser_p2p::matching::{Engine, OpId, Packet, PayloadPlacement, ProtocolLimits, SendSpec, SendStart};
use oracle::{Message, Oracle};
use program::Step;
use std::collections::VecDeque;

/// The constant part of a world.
#[derive(Clone, Debug)]
pub struct Setup {
    pub limits: ProtocolLimits,
    pub programs: Vec<Vec<Step>>,
    /// `Packet::Data` may be overtaken by later packets of its pair.
    pub unordered: bool,
    /// The packets of an engine to its peers wait in an outbox, while the messages that its application sends leave
    /// at once, as in `p2p::lane`.
    pub outbox: bool,
    /// This rank may die at any moment, and its failure is reported to the others at any moment after.
    pub failing_rank: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub ranks: Vec<Rank>,
    /// Packets from rank `f` to rank `t`, at index `f * ranks + t`.
    pub wires: Vec<VecDeque<Parcel>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rank {
    pub engine: Engine,
    pub oracle: Oracle,
    /// The index of the next step of its program.
    pub next: usize,
    pub steps: Vec<Progress>,
    /// By operation number: the memory of the application or the library that it borrows.
    pub live: Vec<Option<Live>>,
    pub streams: Vec<Stream>,
    pub pulls: Vec<Pull>,
    pub writes: Vec<Write>,
    pub outbox: VecDeque<(Peer, Parcel)>,
    pub dead: bool,
}

/// The progress of a step of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Progress {
    Ahead,
    Pending(OpId),
    /// A matched probe has claimed this message.
    Claimed(OpId, Message),
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Live {
    Send { step: usize },
    Recv { step: usize, buffer: Vec<u8> },
    Unexpected { buffer: Vec<u8> },
}

/// A packet in flight, and the message that it belongs to, for the oracle.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parcel {
    pub packet: Packet,
    pub payload: Vec<u8>,
    pub message: Option<Message>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stream {
    pub op: OpId,
    pub to: Peer,
    pub number: u32,
    pub at: u64,
    pub until: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pull {
    pub op: OpId,
    pub message: Message,
    pub readable: bool,
    pub from: u64,
    pub until: u64,
}

/// A pending remote write of bytes of the send `op` to the receive `step` of `to`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    pub op: OpId,
    pub to: Peer,
    pub step: usize,
    pub writable: bool,
    pub from: u64,
    pub until: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The rank takes the next step of its program.
    Step(usize),
    /// The packet at this index of the wire arrives.
    Deliver { from: usize, to: usize, at: usize },
    /// The rank hands the next fragment of a stream to its device.
    Fragment { rank: usize, stream: usize },
    /// The rank sends the first packet of its outbox.
    Flush(usize),
    /// The rank reads a peer's memory.
    Pull { rank: usize, pull: usize },
    /// The rank writes a peer's memory.
    Write { rank: usize, write: usize },
    /// The rank dies.
    Die(usize),
    /// The failure of the peer is reported to the rank.
    Lose { rank: usize, peer: usize },
}

pub type Verdict<T = ()> = Result<T, String>;

impl World {
    pub fn new(setup: &Setup) -> World {
        let count = setup.programs.len();
        let rank = |program: &Vec<Step>| Rank {
            engine: Engine::new(setup.limits),
            oracle: Oracle::default(),
            next: 0,
            steps: vec![Progress::Ahead; program.len()],
            live: Vec::new(),
            streams: Vec::new(),
            pulls: Vec::new(),
            writes: Vec::new(),
            outbox: VecDeque::new(),
            dead: false,
        };
        World { ranks: setup.programs.iter().map(rank).collect(), wires: vec![VecDeque::new(); count * count] }
    }

    /// Returns all actions that can happen next.
    pub fn actions(&self, setup: &Setup) -> Vec<Action> {
        let mut all = Vec::new();
        let count = self.ranks.len();
        (0..count).for_each(|rank| self.actions_of(setup, rank, &mut all));
        if let Some(failing) = setup.failing_rank {
            if !self.ranks[failing].dead {
                all.push(Action::Die(failing));
            } else {
                let knows = |r: &Rank| r.dead || r.engine.has_failed(Peer(failing as u32));
                let ignorant = (0..count).filter(|&rank| !knows(&self.ranks[rank]));
                all.extend(ignorant.map(|rank| Action::Lose { rank, peer: failing }));
            }
        }
        all
    }

    pub fn actions_of(&self, setup: &Setup, index: usize, all: &mut Vec<Action>) {
        let (rank, count) = (&self.ranks[index], self.ranks.len());
        if rank.dead {
            return;
        }
        if rank.next < rank.steps.len() {
            all.push(Action::Step(index));
        }
        for from in 0..count {
            let wire = &self.wires[from * count + index];
            all.extend(deliverable(wire, setup.unordered).map(|at| Action::Deliver { from, to: index, at }));
        }
        if !rank.outbox.is_empty() {
            all.push(Action::Flush(index));
        }
        all.extend((0..rank.streams.len()).map(|stream| Action::Fragment { rank: index, stream }));
        all.extend((0..rank.pulls.len()).map(|pull| Action::Pull { rank: index, pull }));
        all.extend((0..rank.writes.len()).map(|write| Action::Write { rank: index, write }));
    }

    pub fn act(&mut self, setup: &Setup, action: Action) -> Verdict {
        match action {
            Action::Step(rank) => self.step(setup, rank),
            Action::Deliver { from, to, at } => self.deliver(setup, from, to, at),
            Action::Fragment { rank, stream } => self.fragment(setup, rank, stream),
            Action::Pull { rank, pull } => self.pull(setup, rank, pull),
            Action::Write { rank, write } => self.write(setup, rank, write),
            Action::Flush(rank) => {
                let (to, parcel) = self.ranks[rank].outbox.pop_front().ok_or("an empty outbox")?;
                self.wire(rank, to.index()).push_back(parcel);
                Ok(())
            }
            Action::Die(rank) => {
                self.ranks[rank].dead = true;
                Ok(())
            }
            Action::Lose { rank, peer } => self.lose(setup, rank, peer),
        }
    }

    pub fn wire(&mut self, from: usize, to: usize) -> &mut VecDeque<Parcel> {
        let count = self.ranks.len();
        &mut self.wires[from * count + to]
    }

    fn step(&mut self, setup: &Setup, index: usize) -> Verdict {
        let rank = &mut self.ranks[index];
        let at = rank.next;
        rank.next += 1;
        match setup.programs[index][at] {
            Step::Send(spec) => {
                let message = Message { rank: index as u8, step: at as u16 };
                let to = spec.to.index();
                let was_lost = rank.engine.has_failed(spec.to);
                let wanted = spec.with_key(message, setup.limits.packet);
                let start = match rank.engine.start_send(wanted) {
                    // The device has space when it is asked again.
                    SendStart::WaitForSpace => {
                        expect(!spec.eager && !spec.sync, || "a send waits that need not".into())?;
                        rank.engine.start_send(SendSpec { has_space: true, ..wanted })
                    }
                    start => start,
                };
                let has_space = spec.eager || spec.bytes <= setup.limits.eager && !spec.sync;
                let parcel = match start {
                    SendStart::PeerFailed => {
                        rank.steps[at] = Progress::Done;
                        return expect(was_lost, || "a send to a living peer was refused".into());
                    }
                    SendStart::WaitForSpace => return Err("a send waits for space that is there".into()),
                    SendStart::Whole { packet } => {
                        rank.steps[at] = Progress::Done;
                        expect(!spec.sync && has_space, || "a send that may not left as a whole".into())?;
                        Parcel { packet, payload: message.bytes(0, spec.bytes), message: Some(message) }
                    }
                    SendStart::Begin { op, packet, first_bytes: front } => {
                        rank.steps[at] = Progress::Pending(op);
                        rank.bind_memory(op, Live::Send { step: at })?;
                        expect(front <= setup.limits.packet, || format!("a front of {front} bytes"))?;
                        expect(has_space || front == 0, || "payload for a device that takes none".into())?;
                        Parcel { packet, payload: message.bytes(0, front), message: Some(message) }
                    }
                };
                self.wire(index, to).push_back(parcel);
            }
            Step::Recv { spec, capacity, shared } => {
                let expected = rank.oracle.post(setup, at, &spec);
                let (op, posted) = match shared {
                    Some(_) => rank.engine.post_exposed(spec, capacity),
                    None => rank.engine.post_recv(spec, capacity),
                };
                rank.steps[at] = Progress::Pending(op);
                rank.bind_memory(op, Live::Recv { step: at, buffer: vec![0; capacity as usize] })?;
                let lost = spec.source.is_some_and(|peer| rank.engine.has_failed(peer));
                let at_once = posted == hawser_p2p::matching::PostOutcome::Matched;
                expect(at_once == (expected.is_some() || lost), || format!("step {at}: {posted:?}, due {expected:?}"))?;
            }
            Step::CancelSend(earlier) => {
                if let Progress::Pending(op) = rank.steps[earlier] {
                    rank.engine.cancel_send(op);
                }
                rank.steps[at] = Progress::Done;
            }
            Step::CancelRecv(earlier) => {
                if let Progress::Pending(op) = rank.steps[earlier] {
                    let due = rank.oracle.cancel(earlier);
                    let done = rank.engine.cancel_recv(op);
                    expect(due == done, || format!("step {earlier} cancelled: {done}, due {due}"))?;
                }
                rank.steps[at] = Progress::Done;
            }
            Step::Probe(spec) => {
                let due = rank.oracle.first(setup, &spec).map(|m| m.envelope(setup));
                let seen = rank.engine.probe(&spec);
                rank.steps[at] = Progress::Done;
                expect(due == seen, || format!("probe saw {seen:?}, due {due:?}"))?;
            }
            Step::Claim(spec) => {
                let due = rank.oracle.claim(setup, &spec);
                let seen = rank.engine.claim(&spec);
                let same = due.map(|m| m.envelope(setup)) == seen.map(|(_, envelope)| envelope);
                expect(same, || format!("claimed {seen:?}, due {due:?}"))?;
                rank.steps[at] = match (seen, due) {
                    (Some((unexpected, _)), Some(message)) => Progress::Claimed(unexpected, message),
                    _ => Progress::Done,
                };
            }
            Step::RecvClaimed { claim, capacity, .. } => {
                rank.steps[at] = Progress::Done;
                if let Progress::Claimed(unexpected, message) = rank.steps[claim] {
                    rank.steps[claim] = Progress::Done;
                    let op = rank.engine.recv_claimed(unexpected, capacity).ok_or("a claimed message is gone")?;
                    rank.oracle.matched.push((at, message));
                    rank.steps[at] = Progress::Pending(op);
                    rank.bind_memory(op, Live::Recv { step: at, buffer: vec![0; capacity as usize] })?;
                }
            }
        }
        self.run_effects(setup, index)
    }

    fn deliver(&mut self, setup: &Setup, from: usize, to: usize, at: usize) -> Verdict {
        let parcel = self.wire(from, to).remove(at).ok_or("no such packet")?;
        let rank = &mut self.ranks[to];
        let Parcel { packet, payload, message } = parcel;
        let begins = matches!(
            packet,
            Packet::Eager { .. } | Packet::EagerFirst { .. } | Packet::RtrReply { .. } | Packet::Rts { .. }
        );
        let mut due = None;
        match (packet, message) {
            (_, Some(message)) if begins => {
                due = Some(rank.oracle.arrive(setup, message, payload.len() as u64, is_rts(&packet)));
            }
            (Packet::Data { .. }, Some(message)) => rank.oracle.more(message, payload.len() as u64),
            (Packet::Cancel { .. }, Some(message)) => rank.oracle.cancel_send(message),
            _ => {}
        }
        let placement = rank.engine.handle_packet(Peer(from as u32), packet, payload.len() as u64);
        let placement = placement.map_err(|_| format!("{packet:?} from {from} to {to} is invalid"))?;
        if let Some(due) = due {
            let got = match placement {
                PayloadPlacement::Into { op, .. } => rank.step_of(op),
                _ => None,
            };
            expect(due == got, || format!("{packet:?} went to step {got:?}, due {due:?}"))?;
        }
        rank.place_payload(placement, &payload)?;
        self.run_effects(setup, to)
    }

    fn fragment(&mut self, setup: &Setup, index: usize, stream: usize) -> Verdict {
        let rank = &mut self.ranks[index];
        let Stream { op, to, number, at, until } = rank.streams[stream].clone();
        let step = rank.step_of(op).ok_or("a stream of no operation")?;
        let message = Message { rank: index as u8, step: step as u16 };
        let end = until.min(at + setup.limits.packet.max(1));
        rank.streams[stream].at = end;
        let ended = end == until;
        if ended {
            rank.streams.remove(stream);
            rank.engine.stream_done(op);
        }
        if end > at {
            let packet = Packet::Data { message: number, at };
            let parcel = Parcel { packet, payload: message.bytes(at, end - at), message: Some(message) };
            self.wire(index, to.index()).push_back(parcel);
        }
        self.run_effects(setup, index)
    }

    fn pull(&mut self, setup: &Setup, index: usize, pull: usize) -> Verdict {
        let Pull { op, message, readable, from, until } = self.ranks[index].pulls.remove(pull);
        let owner = &self.ranks[message.rank as usize];
        let exposed = matches!(owner.steps[message.step as usize], Progress::Pending(_));
        let read = readable && !owner.dead;
        expect(exposed || owner.dead, || format!("{message:?} is read after its send ended"))?;
        let rank = &mut self.ranks[index];
        if read {
            let placement = PayloadPlacement::Into { op, at: from, len: until - from };
            rank.place_payload(placement, &message.bytes(from, until - from))?;
        }
        rank.engine.pull_done(op, from, read);
        self.run_effects(setup, index)
    }

    fn write(&mut self, setup: &Setup, index: usize, write: usize) -> Verdict {
        let Write { op, to, step, writable, from, until } = self.ranks[index].writes.remove(write);
        let sender = self.ranks[index].step_of(op).ok_or("a write of no operation")?;
        let message = Message { rank: index as u8, step: sender as u16 };
        let owner = &mut self.ranks[to.index()];
        if !owner.dead {
            let Progress::Pending(receive) = owner.steps[step] else {
                return Err(format!("{message:?} is written to step {step} after that has ended"));
            };
            let matched = owner.oracle.match_of(step);
            expect(matched == Some(message), || format!("{message:?} is written to step {step}, due {matched:?}"))?;
            let len = if writable { until - from } else { 0 };
            owner.place_payload(PayloadPlacement::Into { op: receive, at: from, len }, &message.bytes(from, len))?;
        }
        self.ranks[index].engine.write_done(op, from, until, writable);
        self.run_effects(setup, index)
    }

    /// Reports the failure of `peer` to the engine of `index`; all packets between the two are dropped.
    fn lose(&mut self, setup: &Setup, index: usize, peer: usize) -> Verdict {
        self.wire(index, peer).clear();
        self.wire(peer, index).clear();
        self.ranks[index].outbox.retain(|(to, _)| to.index() != peer);
        let before = self.ranks[index].steps.clone();
        let fate = checks::fate_of_steps(setup, &self.ranks[index], index, peer);
        self.ranks[index].oracle.lose(setup, peer);
        self.ranks[index].engine.peer_failed(Peer(peer as u32));
        self.run_effects(setup, index)?;
        checks::only_the_fated_ended(&before, &self.ranks[index].steps, &fate)
    }
}

impl Rank {
    fn bind_memory(&mut self, op: OpId, live: Live) -> Verdict {
        let at = op.0 as usize;
        if at >= self.live.len() {
            self.live.resize(at + 1, None);
        }
        expect(self.live[at].is_none(), || format!("{op:?} is used twice: {:?} and {live:?}", self.live[at]))?;
        self.live[at] = Some(live);
        Ok(())
    }

    pub fn step_of(&self, op: OpId) -> Option<usize> {
        match self.live.get(op.0 as usize)?.as_ref()? {
            Live::Send { step } | Live::Recv { step, .. } => Some(*step),
            Live::Unexpected { .. } => None,
        }
    }

    fn place_payload(&mut self, placement: PayloadPlacement, payload: &[u8]) -> Verdict {
        let (op, at, len) = match placement {
            PayloadPlacement::Drop | PayloadPlacement::Written { .. } => return Ok(()),
            PayloadPlacement::NewUnexpected { op, bytes } => {
                self.bind_memory(op, Live::Unexpected { buffer: vec![0; bytes as usize] })?;
                (op, 0, payload.len())
            }
            PayloadPlacement::Into { op, at, len } => (op, at as usize, len as usize),
        };
        expect(len <= payload.len(), || format!("{len} bytes of {} are placed", payload.len()))?;
        match self.live.get_mut(op.0 as usize) {
            Some(Some(Live::Recv { buffer, .. } | Live::Unexpected { buffer })) => {
                let end = at + len;
                expect(end <= buffer.len(), || format!("{op:?} of {} bytes is written to {end}", buffer.len()))?;
                buffer[at..end].copy_from_slice(&payload[..len]);
                Ok(())
            }
            other => Err(format!("bytes for {op:?}, which is {other:?}")),
        }
    }
}

/// Returns the indices of a wire whose packets may arrive next: the first, and with unordered data also each one that
/// has only data before it.
fn deliverable(wire: &VecDeque<Parcel>, unordered: bool) -> impl Iterator<Item = usize> + '_ {
    let is_data = |p: &Parcel| matches!(p.packet, Packet::Data { .. });
    let front = wire.iter().take_while(|p| is_data(p)).count();
    let reach = if unordered { (front + 1).min(wire.len()) } else { wire.len().min(1) };
    0..reach
}

fn is_rts(packet: &Packet) -> bool {
    matches!(packet, Packet::Rts { .. })
}

pub fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}
