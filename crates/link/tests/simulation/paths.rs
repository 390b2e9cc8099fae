//! Paths between three nodes over a network that loses, duplicates, reorders, changes, cuts and severs: every number's
//! content reaches its peer or is returned, nothing is taken twice, and once the faults end all of it arrives. Where
//! one side alone sends, the round trip that it measures is a true one.

use hawser_link::ack::{self, ACK_BYTES_MAX};
use hawser_link::endpoint::DropCounts;
use hawser_link::established::{AckHeader, EstablishedPath, SequenceFields, TimerEvent};
use hawser_link::frame::{CrcCoverage, DropReason, Frame, FrameFlags, FrameHeader, FrameKind, JobKey, PeerPair};
use hawser_link::frame_pool::{FramePool, FrameQueue};
use hawser_link::receive_capacity::ReceiveCapacity;
use hawser_link::rtt::ACK_DELAY_NS;
use hawser_link::{SEQ_WINDOW, Seq};
use hawser_sim::{ArrivedPacket, Faults, Rng, SimNetwork};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const NODES: usize = 3;
/// Bytes of a content's number.
const CONTENT: usize = 4;
/// The credit that each side grants, in frames: never the limit here.
const ROOM: u16 = 2 * SEQ_WINDOW as u16;
const MS: u64 = 1_000_000;
/// The time that a path may take for the rest once its faults have ended, in ns: the longest back-off, then all of it.
const TIMEOUT_NS: u64 = 20_000 * MS;
/// The latency from one node to another without faults, in ns.
const LATENCY_NS: u64 = 30_000;
/// The longest valid round trip where one side alone sends and nothing is late, in ns: an acknowledgement is delayed.
const ROUND_TRIP_NS: u64 = 2 * LATENCY_NS + ACK_DELAY_NS + 10_000;

/// One node's end of a path.
struct End {
    path: EstablishedPath,
    /// Frames in flight: contents.
    pool: FramePool,
    capacity: ReceiveCapacity,
    /// Contents to be sent, and lost ones to be retransmitted.
    waiting: VecDeque<u32>,
    /// The contents that the peer has acknowledged, and those of the peer that were taken.
    settled: BTreeSet<u32>,
    taken: BTreeSet<u32>,
    /// The numbers that were taken.
    numbers: BTreeSet<u32>,
}

impl End {
    fn new(path: EstablishedPath, contents: u32) -> End {
        let none = BTreeSet::new;
        let pool = FramePool::new(SEQ_WINDOW as usize, CONTENT);
        End {
            path,
            pool,
            capacity: ReceiveCapacity::new(u32::from(ROOM)),
            waiting: (0..contents).collect(),
            settled: none(),
            taken: none(),
            numbers: none(),
        }
    }

    /// Returns the contents of frames that are no longer in flight.
    fn take_back(&mut self, queue: FrameQueue) -> Vec<u32> {
        let content = |slot| u32::from_le_bytes(self.pool.frame(slot).try_into().unwrap());
        let contents = self.pool.iter(&queue).map(content).collect();
        self.pool.release_all(queue);
        contents
    }
}

struct World {
    seed: u64,
    network: SimNetwork,
    rng: Rng,
    ends: BTreeMap<(usize, usize), End>,
    /// The most frames in flight.
    burst: u32,
    /// Node 0 alone has something to send, and nothing arrives late.
    one_way: bool,
    dropped: DropCounts,
}

fn first(node: usize, peer: usize) -> Seq {
    // Some pairs' numbers wrap.
    Seq(u32::MAX - 2020) + 1000 * (node * NODES + peer) as u32
}

fn key() -> JobKey {
    JobKey::new([7; 16])
}

/// A content's bytes, unlike any other's.
fn bytes_of(content: u32) -> Vec<u8> {
    let len = Rng::new(u64::from(content)).below(200) as usize;
    [content.to_le_bytes().to_vec(), (0..len).map(|i| (content as usize + 3 * i) as u8).collect()].concat()
}

impl World {
    fn new(seed: u64, contents: u32) -> World {
        let mut rng = Rng::new(!seed);
        let one_way = rng.one_in(8);
        let mut ends = BTreeMap::new();
        for node in 0..NODES {
            for peer in (0..NODES).filter(|&peer| peer != node) {
                let path = EstablishedPath::new(first(node, peer), first(peer, node), ROOM);
                ends.insert((node, peer), End::new(path, if one_way && node > 0 { 0 } else { contents }));
            }
        }
        let burst = if contents > SEQ_WINDOW { SEQ_WINDOW } else { rng.choose(&[10, 40, 200, SEQ_WINDOW]) };
        let network = SimNetwork::new(seed, LATENCY_NS);
        World { seed, network, rng, ends, burst, one_way, dropped: DropCounts::default() }
    }

    fn write(
        &mut self,
        from: usize,
        to: usize,
        kind: FrameKind,
        flags: FrameFlags,
        fields: SequenceFields,
        payload: &[u8],
    ) {
        let SequenceFields { sequence, open, expected } = fields;
        let head = FrameHeader { kind, flags, path_number: to as u32, sequence, expected, credit: ROOM, open };
        let peers = PeerPair { from: from as u32, to: to as u32 };
        let header = head.write(&key(), peers, payload, CrcCoverage::All);
        self.network.send(from, to, &[&header, payload].concat());
    }

    fn transmit(&mut self, at: (usize, usize), content: u32) {
        let now_ns = self.network.now_ns();
        let End { path, pool, .. } = self.ends.get_mut(&at).unwrap();
        let fields = path.sequence_fields(0);
        let slot = pool.allocate(CONTENT).unwrap();
        pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
        path.on_sent(pool, slot, now_ns);
        self.write(at.0, at.1, FrameKind::Data, FrameFlags::default(), fields, &bytes_of(content));
    }

    fn send_probe(&mut self, at: (usize, usize)) {
        let now_ns = self.network.now_ns();
        let End { path, pool, .. } = self.ends.get_mut(&at).unwrap();
        let fields = path.sequence_fields(0);
        path.on_probe_sent(pool, now_ns);
        self.write(at.0, at.1, FrameKind::Data, FrameFlags::ACK_NOW, fields, &[]);
    }

    /// Lets a node do everything that it can do now.
    fn work(&mut self, at: (usize, usize)) {
        let now_ns = self.network.now_ns();
        let end = self.ends.get_mut(&at).unwrap();
        match end.path.handle_timeout(&end.pool, now_ns) {
            TimerEvent::Probe if end.path.can_probe() => self.send_probe(at),
            TimerEvent::Timeout(lost) => {
                let lost = end.take_back(lost);
                end.waiting.extend(lost);
            }
            _ => {}
        }
        let burst = self.rng.choose(&[0, 1, 8, 40, 40, self.burst]);
        while let end = self.ends.get_mut(&at).unwrap()
            && end.path.sendable_frames() > 0
            && end.path.frames_in_flight() < burst
            && let Some(content) = end.waiting.pop_front()
        {
            self.transmit(at, content);
        }
        if let Some(pending) = self.ends.get_mut(&at).unwrap().path.poll_ack(now_ns) {
            let mut payload = [0; ACK_BYTES_MAX];
            let len = ack::write(&pending.ack, &mut payload);
            let fields = SequenceFields { sequence: Seq(0), open: 0, expected: pending.ack.expected };
            self.write(at.0, at.1, FrameKind::Ack, pending.flags, fields, &payload[..len]);
        }
    }

    fn receive(&mut self, packet: &ArrivedPacket) {
        let (seed, from, to) = (self.seed, packet.from, packet.to);
        let mut acked = Vec::new();
        if let Err(reason) = self.try_receive(packet, &mut acked) {
            self.dropped[reason as usize] += 1;
        }
        if self.one_way {
            let measured_ns = self.ends[&(to, from)].path.round_trip_ns();
            assert!(measured_ns <= ROUND_TRIP_NS, "seed {seed}: a round trip of {measured_ns} ns");
        }
        for content in acked {
            assert!(
                self.ends[&(from, to)].taken.contains(&content),
                "seed {seed}: {content} of {to} was acknowledged by {from}, who has it not"
            );
            self.ends.get_mut(&(to, from)).unwrap().settled.insert(content);
        }
    }

    /// Takes a frame; `acked` gets the contents that it acknowledges.
    fn try_receive(&mut self, packet: &ArrivedPacket, acked: &mut Vec<u32>) -> Result<(), DropReason> {
        let &ArrivedPacket { from, to, ref bytes } = packet;
        let (seed, now_ns) = (self.seed, self.network.now_ns());
        let (head, payload) = Frame::parse(bytes)?.check(&key(), PeerPair { from: from as u32, to: to as u32 })?;
        let end = self.ends.get_mut(&(to, from)).unwrap();
        let ack_header = AckHeader { expected: head.expected, credit: head.credit, stop: false };
        match head.kind {
            FrameKind::Ack => {
                let ack = ack::read(head.expected, payload)?;
                let result = end.path.handle_ack(&mut end.pool, &ack, &ack_header, now_ns)?;
                acked.extend(end.take_back(result.acked));
                let lost = end.take_back(result.lost);
                end.waiting.extend(lost);
                Ok(())
            }
            _ => {
                let settled = end.path.handle_ack_header(&mut end.pool, &ack_header, now_ns)?;
                acked.extend(end.take_back(settled));
                end.path.handle_numbered(&mut end.capacity, head.sequence, head.open, head.flags, now_ns)?;
                assert!(
                    end.numbers.insert(head.sequence.0),
                    "seed {seed}: {:?} of {from} was taken twice",
                    head.sequence
                );
                if !payload.is_empty() {
                    let content = u32::from_le_bytes(payload[..4].try_into().unwrap());
                    assert_eq!(payload, bytes_of(content), "seed {seed}: {content} of {from} is not what it was");
                    end.taken.insert(content);
                }
                Ok(())
            }
        }
    }

    /// Runs until `until_ns`, or until everything is done.
    fn run(&mut self, until_ns: u64) {
        let pairs: Vec<_> = self.ends.keys().copied().collect();
        while self.network.now_ns() < until_ns && !self.is_done() {
            pairs.iter().for_each(|&at| self.work(at));
            let deadlines = self.ends.values().filter_map(|end| end.path.deadline_ns());
            let next = deadlines.chain(self.network.next_arrival_ns()).min().unwrap_or(until_ns);
            // Also when nothing is due: a burst of none may have been rolled.
            let next = next.max(self.network.now_ns() + 1).min(self.network.now_ns() + MS).min(until_ns);
            if let Some(packet) = self.network.next(next) {
                self.receive(&packet);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.ends.values().all(|end| end.waiting.is_empty() && end.path.frames_in_flight() == 0)
    }

    fn disturb(&mut self) {
        let late_ns = if self.one_way { 0 } else { self.rng.choose(&[200_000, 200_000, 20 * MS]) };
        let mut chance = |most: u32| self.rng.choose(&[0, 0, 10, 100, most]);
        let faults = Faults {
            loss: chance(300),
            duplicate: chance(500),
            reorder: chance(300),
            delay_max_ns: late_ns,
            corrupt: chance(300),
            truncate: chance(100),
        };
        self.network.set_faults(faults);
        let (from, to) = (self.rng.index(NODES), self.rng.index(NODES));
        let cut = self.rng.per_mille(300);
        self.network.set_severed(from, to, cut);
    }

    fn heal(&mut self) {
        self.network.set_faults(Faults::default());
        (0..NODES * NODES).for_each(|pair| self.network.set_severed(pair / NODES, pair % NODES, false));
    }
}

/// P4, P10 to P18 together. P18: a severed path continues when it is joined. Returns the dropped frames by reason.
pub fn run(seed: u64) -> DropCounts {
    let contents = 20 + Rng::new(seed).below(if seed.is_multiple_of(100) { 3000 } else { 200 }) as u32;
    let mut world = World::new(seed, contents);
    let phases = 1 + world.rng.below(6);
    for _ in 0..phases {
        world.disturb();
        let length_ns = world.rng.below(60) * MS;
        let until = world.network.now_ns() + length_ns;
        world.run(until);
    }
    world.heal();
    let until = world.network.now_ns() + TIMEOUT_NS;
    world.run(until);
    assert!(world.is_done(), "seed {seed}: not all has arrived {TIMEOUT_NS} ns after the last fault");
    for (&(node, peer), end) in &world.ends {
        let of = |sender: usize| (0..if world.one_way && sender > 0 { 0 } else { contents }).collect::<BTreeSet<_>>();
        assert!(end.taken == of(peer), "seed {seed}: {node} has not all of {peer}'s");
        assert!(end.settled == of(node), "seed {seed}: {node} does not know that {peer} has all");
    }
    world.dropped
}
