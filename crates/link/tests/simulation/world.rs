//! Whole endpoints over a network: ranks with rails, on some of which the CRC covers the front of payloads alone
//! (P6), send each other messages of all lengths, compute, and get reports of deaths. Every message arrives once,
//! whole and in order, or the test panics; by rails of the latter kind bytes may differ behind the front.
//!
//! The faults are chosen by its users, `ranks` and `rails`; it uses `monitor` and `strangers`.

use crate::monitor::{Monitor, ParsedFrame};
use crate::strangers::Strangers;
use hawser_link::fragment::FRAGMENT_HEADER_BYTES;
use hawser_link::frame::{COVERED_BYTES, JobKey};
use hawser_link::{Config, Endpoint, FrameSender, Message, MessageClass, PathId, PortTraits, RemotePort};
use hawser_sim::{ArrivedPacket, Faults, Rng, SimNetwork};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::IoSlice;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
/// The longest time after which a waiting program polls again, in ns.
const TICK_NS: u64 = MS;
/// Bytes at the front of a message that are covered on every rail.
const FRONT: usize = COVERED_BYTES - FRAGMENT_HEADER_BYTES;
/// Messages of at least this many bytes begin with their number, and may arrive early.
const NUMBERED: usize = 50;

/// The wire: puts frames into the network, refuses some of them, and loses frames that are too long for the rail.
struct NetworkSender<'a> {
    network: &'a mut SimNetwork,
    monitor: &'a mut Monitor,
    strangers: &'a mut Strangers,
    rng: &'a mut Rng,
    me: u32,
    flows: usize,
    rails: &'a [usize],
    checked: &'a [bool],
    down: &'a BTreeMap<usize, usize>,
}

impl FrameSender for NetworkSender<'_> {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        let lengths = frames.iter().map(|frame| frame.len());
        assert!(lengths.clone().max() == frames.first().map(|f| f.len()), "one length, the last may be shorter");
        let place = |node: u32, rail: u8| (node as usize * self.rails.len() + usize::from(rail)) * self.flows;
        let (down, flow) = (place(self.me, path_id.local_port), usize::from(path_id.flow));
        let (from, to) = (down + flow, place(peer, path_id.remote_port) + flow);
        if self.down.get(&down).is_some_and(|&most| frames[0].len() > most) {
            return 0;
        }
        let taken = if self.rng.one_in(50) { self.rng.index(frames.len() + 1) } else { frames.len() };
        for frame in &frames[..taken] {
            self.monitor.sent((from, to), frame, self.checked[usize::from(path_id.local_port)]);
            if frame.len() > self.rails[usize::from(path_id.local_port)] {
                continue;
            }
            if self.rng.one_in(16) {
                self.strangers.record(self.rng, &ArrivedPacket { from, to, bytes: frame.to_vec() });
            }
            self.network.send(from, to, frame);
        }
        taken
    }
}

pub struct Node {
    pub endpoint: Endpoint,
    /// The receive capacity that each of its ports was last given, in frames.
    pub rooms: Vec<u32>,
    /// Lengths of messages to be sent to each rank, and how many were sent.
    pub plans: Vec<VecDeque<usize>>,
    pub sent: Vec<u64>,
    /// The number of messages that arrived from each rank.
    pub came: Vec<u64>,
    /// Messages that arrived before earlier ones: sender and number.
    pub early: BTreeSet<(u32, u64)>,
    /// Frames that the kernel holds for it, and how many it can hold.
    pub socket: VecDeque<ArrivedPacket>,
    pub socket_room: usize,
    /// It computes, and does not poll, until this time; and polls again at this one.
    pub busy_until_ns: u64,
    pub next_ns: u64,
    pub forgot: BTreeSet<u32>,
    /// The dead ranks, and the times at which that is reported.
    pub deaths: Vec<(u64, u32)>,
    pub dead: bool,
}

pub struct World {
    pub seed: u64,
    pub network: SimNetwork,
    pub monitor: Monitor,
    pub strangers: Strangers,
    pub rng: Rng,
    pub nodes: Vec<Node>,
    /// The longest frame that each rail carries.
    pub rails: Vec<usize>,
    /// Places of a rail, one for each flow by which it may send (P39): each has wires of its own, to those of the same
    /// flow.
    pub flows: usize,
    /// Further flows are opened together with the paths, not when there is bulk.
    opened: bool,
    /// For each rail, whether the CRC covers whole payloads on it.
    checked: Vec<bool>,
    /// Messages that arrived with other bytes behind the front, by rails where the CRC does not cover them.
    pub changed: u64,
    /// Places (rank and rail, the first of its flows) that take no longer frame than this.
    pub down: BTreeMap<usize, usize>,
    /// The number of rails of each rank; whether each of one's is tried with each of the other's; and, in `apart`,
    /// missing wires.
    pub counts: Vec<usize>,
    pub crossed: bool,
    known: bool,
    /// The NIC of each rail.
    nics: Vec<u8>,
    pub apart: BTreeSet<(usize, usize)>,
    /// Frames with payload that were accepted between two places, and the longest of them, in bytes.
    pub carried: BTreeMap<(usize, usize), (u64, usize)>,
    /// Frames of each pool of an endpoint.
    pub slots: usize,
}

/// A byte of message `n` from one rank to another, unlike those of others.
fn byte(from: u32, to: u32, n: u64, at: usize, total: usize) -> u8 {
    match at < 8 && total >= NUMBERED {
        true => n.to_le_bytes()[at],
        false => (u64::from(from) * 7 + u64::from(to) * 31 + n * 13 + at as u64 * 5 + (at as u64 >> 8)) as u8,
    }
}

/// The class of a rank's message `n` to a peer.
pub fn class(n: u64, total: usize) -> MessageClass {
    match total < NUMBERED {
        true => MessageClass::Control,
        false if n % 3 == 1 => MessageClass::OrderFree,
        false => MessageClass::Payload,
    }
}

pub fn key() -> JobKey {
    JobKey::new([7; 16])
}

/// The parts of a world.
pub struct Setting {
    pub ranks: u32,
    pub traffic: Traffic,
    /// The longest frame that each rail carries, and the rail's properties for its endpoints.
    pub frames: Vec<usize>,
    pub ports: Vec<PortTraits>,
    /// The number of rails of each rank, and whether each of one's is tried with each of the other's.
    pub counts: Vec<usize>,
    pub crossed: bool,
    /// Each end knows what its rails take; otherwise it assumes that all take the longest frames of all.
    pub known: bool,
    /// Frames of each pool of an endpoint.
    pub slots: usize,
    /// Alternatives, one of which is chosen: the receive capacity of a rank's port, and the most frames that the
    /// kernel holds for it.
    pub rooms: &'static [u32],
    pub sockets: &'static [usize],
}

fn choose<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    if of.len() == 1 { of[0] } else { rng.choose(of) }
}

impl World {
    /// `incarnation`: the incarnation of the ranks; the last one is the one under test.
    pub fn new(seed: u64, incarnation: u64, mut rng: Rng, setting: Setting) -> World {
        let Setting { ranks, traffic, frames, ports: rails, counts, crossed, known, slots, rooms, sockets } = setting;
        let nics = rails.iter().map(|rail| rail.nic).collect();
        let flows = rails.iter().map(|rail| usize::from(rail.flows_max)).max().expect("there are rails");
        let nodes = counts.iter().zip(0..ranks).map(|(&count, me)| {
            let config = Config {
                me,
                ranks,
                key: key(),
                frame_max: *frames.iter().max().expect("there are rails"),
                send_slots: slots,
                reassembly_slots: slots,
                ports: rails[..count].to_vec(),
            };
            let mut endpoint = Endpoint::new(config, seed.wrapping_add(incarnation << 32));
            // Few worlds have as much bulk as comes before the first trial otherwise. (Bulk is in one of 100 seeds.)
            if (seed / 2 + seed / 100).is_multiple_of(2) {
                endpoint.set_first_trial_bytes(0);
            }
            endpoint.set_opens_bulk_early(seed.is_multiple_of(3));
            let rooms: Vec<u32> = (0..count).map(|_| choose(&mut rng, rooms)).collect();
            rooms.iter().enumerate().for_each(|(rail, &capacity)| endpoint.set_receive_capacity(rail, capacity));
            let plans = (0..ranks).map(|to| plan(&mut rng, me, to, traffic)).collect();
            Node {
                endpoint,
                rooms,
                plans,
                sent: vec![0; ranks as usize],
                came: vec![0; ranks as usize],
                early: BTreeSet::new(),
                socket: VecDeque::new(),
                socket_room: choose(&mut rng, sockets),
                busy_until_ns: 0,
                next_ns: 0,
                forgot: BTreeSet::new(),
                deaths: Vec::new(),
                dead: false,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let checked: Vec<bool> = rails.iter().map(|rail| rail.has_full_crc).collect();
        World {
            seed,
            network: SimNetwork::new(seed, 30 * US),
            monitor: Monitor::default(),
            strangers: Strangers::default(),
            rng,
            nodes,
            rails: frames,
            flows,
            opened: traffic != Traffic::Bulk,
            checked,
            changed: 0,
            down: BTreeMap::new(),
            counts,
            crossed,
            known,
            nics,
            apart: BTreeSet::new(),
            carried: BTreeMap::new(),
            slots,
        }
    }

    pub fn ranks(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Places of a rank.
    pub fn width(&self) -> usize {
        self.rails.len() * self.flows
    }

    fn open(&mut self, from: u32, to: u32) {
        let most = self.nodes[from as usize].endpoint.frame_max();
        let takes = |rail: u8| if self.known { self.rails[usize::from(rail)] } else { most };
        for ours in 0..self.counts[from as usize] as u8 {
            for theirs in (0..self.counts[to as usize] as u8).filter(|&theirs| self.crossed || ours == theirs) {
                let far = RemotePort { nic: self.nics[usize::from(theirs)], frame_max: takes(ours).min(takes(theirs)) };
                let flows = if self.opened { self.flows as u8 } else { 1 };
                for flow in 0..flows {
                    self.nodes[from as usize].endpoint.open_path(
                        to,
                        PathId { local_port: ours, remote_port: theirs, flow },
                        far,
                    );
                }
            }
        }
    }

    /// Lets node `me` take arrived frames, send what it can, and set the time of its next poll.
    fn work(&mut self, me: u32) {
        let (now_ns, width) = (self.network.now_ns(), self.width());
        let node = &mut self.nodes[me as usize];
        while let Some(at) = node.deaths.iter().position(|&(at_ns, _)| at_ns <= now_ns) {
            let (_, dead) = node.deaths.swap_remove(at);
            node.endpoint.forget(dead);
            node.forgot.insert(dead);
            let place = |rank: u32, nth: usize| rank as usize * width + nth;
            (0..width).for_each(|nth| self.monitor.forgotten((place(dead, nth), place(me, nth))));
        }
        while let Some(packet) = self.nodes[me as usize].socket.pop_front() {
            self.receive(&packet, false);
        }
        let mut goes_on = false;
        for to in (0..self.ranks()).filter(|&to| to != me) {
            goes_on |= self.send(me, to);
        }
        if self.rng.one_in(8) {
            self.nodes[me as usize].endpoint.expedite_acks();
        }
        self.monitor.begin();
        let World { network, monitor, strangers, rng, nodes, rails, checked, down, .. } = self;
        let (node, flows) = (&mut nodes[me as usize], self.flows);
        let mut sender = NetworkSender { network, monitor, strangers, rng, me, flows, rails, checked, down };
        node.endpoint.transmit(now_ns, &mut sender);
        for (rail, &capacity) in node.rooms.iter().enumerate() {
            let first = (me as usize * rails.len() + rail) * flows;
            monitor.check(first..first + flows, capacity);
        }
        // A node that has sent all, or was refused, polls again when a frame arrives or a timer is due.
        let tick_ns = if goes_on { now_ns + 20 * US + rng.below(TICK_NS) } else { u64::MAX };
        let due_ns = node.endpoint.deadline_ns().unwrap_or(u64::MAX).max(now_ns + 10 * US);
        let words = node.deaths.iter().map(|&(at_ns, _)| at_ns).min().unwrap_or(u64::MAX);
        node.next_ns = due_ns.min(words).min(tick_ns).max(node.busy_until_ns);
    }

    /// Sends some of the messages of `me` to `to`. Returns whether there are more, and they are not refused.
    fn send(&mut self, me: u32, to: u32) -> bool {
        let node = &mut self.nodes[me as usize];
        if node.forgot.contains(&to) || node.plans[to as usize].is_empty() {
            return false;
        }
        if !node.endpoint.is_connected(to) {
            self.open(me, to);
        }
        let node = &mut self.nodes[me as usize];
        for _ in 0..self.rng.index(6) {
            let Some(&total) = node.plans[to as usize].front() else { return false };
            let n = node.sent[to as usize];
            let fill = |at: usize, into: &mut [u8]| {
                into.iter_mut().enumerate().for_each(|(i, b)| *b = byte(me, to, n, at + i, total));
            };
            // A device looks for a path past link for its eager messages. The length stands for many of them.
            if self.seed % 2 == 1 {
                let _ = node.endpoint.bypass_path(to, 200 << 10);
            }
            if node.endpoint.send(to, (n % 5) as u8, total, class(n, total), fill).is_err() {
                return false;
            }
            node.plans[to as usize].pop_front();
            node.sent[to as usize] += 1;
        }
        true
    }

    /// Delivers a frame to its endpoint. `strange`: it must not have any effect.
    pub fn receive(&mut self, packet: &ArrivedPacket, strange: bool) {
        let &ArrivedPacket { from, to, ref bytes } = packet;
        let (me, rail) = (to / self.width(), (to / self.flows % self.rails.len()) as u8);
        let is_bare = self.checked.contains(&false);
        let World { seed, network, nodes, monitor, carried, changed, .. } = self;
        let Node { endpoint, came: received, early, forgot, .. } = &mut nodes[me];
        let mut deliver = |from: u32, channel: u8, mut message: Message<'_>| {
            assert!(!forgot.contains(&from), "seed {seed}: a message of one who was forgotten");
            let next = received[from as usize];
            let mut whole = Vec::new();
            let total = message.len();
            while let Some(piece) = message.next(1000) {
                whole.extend_from_slice(piece);
            }
            assert_eq!(whole.len(), total, "seed {seed}");
            let n = if total < NUMBERED { next } else { u64::from_le_bytes(*whole.first_chunk().unwrap()) };
            // The front of the message's first fragment is covered, and no less of its later ones.
            let is_right = |(i, &b): (usize, &u8)| b == byte(from, me as u32, n, i, total);
            let right = whole.iter().enumerate().take(FRONT).all(is_right);
            let is_same = whole.iter().enumerate().all(is_right);
            assert!(is_same || is_bare, "seed {seed}: {n} of {from} to {me} differs, and all rails are checked");
            *changed += u64::from(!is_same);
            assert!(right && u64::from(channel) == n % 5, "seed {seed}: {n} of {from} to {me} is not what it was");
            // In order, or early if that was allowed; and once.
            assert!(
                n == next || n > next && class(n, total) == MessageClass::OrderFree,
                "seed {seed}: {n} of {from} came for {next}"
            );
            assert!(early.insert((from, n)), "seed {seed}: {n} of {from} came twice");
            while early.remove(&(from, received[from as usize])) {
                received[from as usize] += 1;
            }
        };
        let result = endpoint.handle_frame(rail, bytes, network.now_ns(), &mut deliver);
        assert!(!strange || result.is_err(), "seed {seed}: {me} took what a stranger sent");
        if result.is_ok() && ParsedFrame::of(bytes).is_fragment() {
            let (count, longest) = carried.entry((from, to)).or_default();
            (*count, *longest) = (*count + 1, bytes.len().max(*longest));
        }
        monitor.on_received((from, to), bytes, result);
    }

    pub fn run(&mut self, until_ns: u64) {
        while self.network.now_ns() < until_ns && !self.is_done() {
            self.step(until_ns);
        }
    }

    pub fn step(&mut self, until_ns: u64) {
        for me in 0..self.ranks() {
            let node = &self.nodes[me as usize];
            if !node.dead && node.next_ns.max(node.busy_until_ns) <= self.network.now_ns() {
                self.work(me);
            }
        }
        let awake = self.nodes.iter().filter(|node| !node.dead);
        let next = awake.map(|node| node.next_ns.max(node.busy_until_ns)).min().unwrap_or(until_ns);
        let now_ns = self.network.now_ns();
        let next =
            next.min(self.network.next_arrival_ns().unwrap_or(u64::MAX)).clamp(now_ns + 1, until_ns.max(now_ns + 1));
        let width = self.width();
        while let Some(packet) = self.network.next(next) {
            let node = &mut self.nodes[packet.to / width];
            if node.socket.len() < node.socket_room {
                node.socket.push_back(packet);
            }
            node.next_ns = 0;
        }
    }

    pub fn is_done(&self) -> bool {
        self.nodes.iter().filter(|node| !node.dead).all(|node| !node.has_plans() && node.endpoint.is_all_acked())
    }

    /// Ends all faults.
    pub fn heal(&mut self) {
        self.down.clear();
        self.network.set_faults(Faults::default());
        self.network.links_mut().for_each(|wire| (wire.faults, wire.mtu) = (None, None));
        let places = self.nodes.len() * self.width();
        let pairs = (0..places * places).map(|pair| (pair / places, pair % places));
        pairs.for_each(|(from, to)| self.network.set_severed(from, to, self.apart.contains(&(from, to))));
    }

    /// Runs until everything is done, or for `ns` after all ranks have returned to their calls.
    pub fn run_for(&mut self, ns: u64) {
        let busy = self.nodes.iter().filter(|node| !node.dead).map(|node| node.busy_until_ns);
        let until = busy.max().unwrap_or(0).max(self.network.now_ns()) + ns;
        self.run(until);
        assert!(self.is_done(), "seed {}: not all has arrived {ns} ns after the last fault", self.seed);
    }

    pub fn check(&self) {
        let seed = self.seed;
        for (me, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.dead) {
            for (from, other) in self.nodes.iter().enumerate().filter(|(from, other)| *from != me && !other.dead) {
                assert_eq!(node.came[from], other.sent[me], "seed {seed}: messages of {from} that came to {me}");
            }
            let back = node.endpoint.free_slots();
            assert_eq!(back, (self.slots, self.slots), "seed {seed}: memory of {me} that came back");
        }
    }
}

/// The traffic pattern.
#[derive(Clone, Copy, PartialEq)]
pub enum Traffic {
    /// Messages of all lengths to every rank, or very many envelopes.
    Mixed,
    /// Long ones to one of them, little to others.
    Incast,
    /// Much more than windows from one to another: a trial of the paths ends.
    Bulk,
}

/// The lengths of the messages of `me` to `to`.
fn plan(rng: &mut Rng, me: u32, to: u32, traffic: Traffic) -> VecDeque<usize> {
    let (messages, longest): (usize, &[usize]) = match traffic {
        _ if me == to => (0, &[1]),
        Traffic::Bulk if (me, to) == (0, 1) => (900, &[17_000]),
        Traffic::Incast if to == 0 => (20, &[17_000, 17_000, 1000]),
        Traffic::Incast => (rng.index(3), &[100]),
        _ if rng.one_in(40) => (400, &[1]),
        _ => (rng.choose(&[0, 5, 10, 20, 60]), &[1, 100, 1000, 1000, 17_000]),
    };
    let mut length = || {
        let most = rng.choose(longest);
        rng.index(most)
    };
    (0..messages).map(|_| length()).collect()
}

impl Node {
    /// Whether there are messages to send, or deaths to report.
    fn has_plans(&self) -> bool {
        let plans = self.plans.iter().enumerate();
        let mut left = plans.filter(|&(to, plan)| !plan.is_empty() && !self.forgot.contains(&(to as u32)));
        left.next().is_some() || !self.deaths.is_empty()
    }
}
