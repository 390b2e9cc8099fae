//! P40: peers come and go in a simulated network, and the numbers of their paths are used again. Late frames of peers
//! that are gone do not affect those that have their path numbers; nor do late frames of and to peers whose process
//! numbers and addresses others have by now; and there may be more than 65,536 paths.

use hawser_base::Peer as Name;
use hawser_link::frame::JobKey;
use hawser_link::{Config, Endpoint, FrameSender, Message, MessageClass, PathId, PortTraits, RemotePort};
use hawser_sim::{Rng, for_each_seed, seeds};
use std::collections::BTreeMap;
use std::io::IoSlice;

const FRAME: usize = 548;
const HUB: u32 = 0;
/// More peers than a run has.
const RANKS: u32 = 1 << 20;
/// The number of peers that live at once, and of paths of each.
const ALIVE: usize = 5;
const FLOWS: u8 = 3;
/// The number of seeds of a run that names none, and of steps of each.
const SEEDS: u64 = 300;
const STEPS: u64 = 400;
const STEP_NS: u64 = 100_000;

/// Frames that were sent, with their receivers.
#[derive(Default)]
struct Tape(Vec<(u32, Vec<u8>)>);

impl FrameSender for Tape {
    fn send(&mut self, peer: u32, _: PathId, frames: &[IoSlice<'_>]) -> usize {
        self.0.extend(frames.iter().map(|frame| (peer, frame.to_vec())));
        frames.len()
    }
}

fn endpoint(me: u32, seed: u64) -> Endpoint {
    let ports = vec![PortTraits { flows_max: FLOWS, ..PortTraits::default() }];
    let key = JobKey::new([5; 16]);
    let config = Config { me, ranks: RANKS, key, frame_max: FRAME, send_slots: 400, reassembly_slots: 400, ports };
    let mut endpoint = Endpoint::new(config, seed);
    endpoint.set_receive_capacity(0, 1000);
    endpoint
}

fn open(endpoint: &mut Endpoint, to: u32, flow: u8) {
    endpoint.open_path(to, PathId { local_port: 0, remote_port: 0, flow }, RemotePort { nic: 0, frame_max: FRAME });
}

/// Message `number` of a rank.
fn text(rank: u32, number: u32) -> [u8; 8] {
    (u64::from(rank) << 32 | u64::from(number)).to_le_bytes()
}

fn send_text(endpoint: &mut Endpoint, to: u32, text: [u8; 8]) -> bool {
    let fill = |at: usize, into: &mut [u8]| into.copy_from_slice(&text[at..at + into.len()]);
    endpoint.send(to, 0, text.len(), MessageClass::Payload, fill).is_ok()
}

/// A living peer: the messages that it and the hub have sent to each other, and those that have arrived.
struct Peer {
    name: u32,
    endpoint: Endpoint,
    sent: [u32; 2],
    received: [u32; 2],
}

struct World {
    seed: u64,
    rng: Rng,
    now_ns: u64,
    hub: Endpoint,
    alive: BTreeMap<u32, Peer>,
    next: u32,
    joined: u32,
    /// The numbers of dead peers, which may be used again.
    free: Vec<u32>,
    /// Frames in flight: arrival time, sender and receiver.
    in_flight: Vec<(u64, u32, u32, Vec<u8>)>,
    is_lossless: bool,
    /// Frames of dead peers that arrived, frames to dead peers that arrived at later owners of their numbers, and
    /// the highest index that a number had.
    late_frames: usize,
    misdelivered: usize,
    highest_index: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let hub = endpoint(HUB, seed);
        let (alive, flying) = (BTreeMap::new(), Vec::new());
        let (rng, is_lossless) = (Rng::new(seed), false);
        World {
            seed,
            rng,
            now_ns: 1,
            hub,
            alive,
            next: 1,
            joined: 0,
            free: Vec::new(),
            in_flight: flying,
            is_lossless,
            late_frames: 0,
            misdelivered: 0,
            highest_index: 0,
        }
    }

    fn join(&mut self) {
        self.joined += 1;
        let rank = if self.free.is_empty() || self.rng.one_in(3) {
            self.next += 1;
            self.next - 1
        } else {
            let dead = self.free.swap_remove(self.rng.index(self.free.len()));
            Name(dead).successor().unwrap().0
        };
        let mut endpoint = endpoint(rank, self.seed);
        for flow in 0..1 + self.rng.below(FLOWS.into()) as u8 {
            let (from, to) = if self.rng.one_in(2) { (&mut endpoint, HUB) } else { (&mut self.hub, rank) };
            open(from, to, flow);
        }
        self.alive.insert(rank, Peer { name: rank, endpoint, sent: [0; 2], received: [0; 2] });
    }

    /// One peer dies, and its death is reported to the hub; its frames are still in flight.
    fn die(&mut self) {
        let rank = *self.alive.keys().nth(self.rng.index(self.alive.len())).unwrap();
        self.alive.remove(&rank);
        self.hub.forget(rank);
        self.free.push(rank);
    }

    fn send_some(&mut self) {
        for (&rank, peer) in &mut self.alive {
            for _ in 0..self.rng.below(4) {
                let number = peer.sent[1];
                peer.sent[1] += u32::from(send_text(&mut peer.endpoint, HUB, text(rank, number)));
                let number = peer.sent[0];
                peer.sent[0] += u32::from(send_text(&mut self.hub, rank, text(rank, number)));
            }
        }
    }

    /// Puts all sent frames in flight: late, lost or duplicated.
    fn transmit(&mut self) {
        let mut sent = Vec::new();
        let hub = (&HUB, &mut self.hub);
        for (&from, endpoint) in self.alive.iter_mut().map(|(rank, peer)| (rank, &mut peer.endpoint)).chain([hub]) {
            let mut tape = Tape::default();
            endpoint.transmit(self.now_ns, &mut tape);
            sent.extend(tape.0.into_iter().map(|(to, bytes)| (from, to, bytes)));
        }
        for (from, to, bytes) in sent {
            for _ in 0..if self.is_lossless { 1 } else { self.rng.choose(&[0, 1, 1, 1, 1, 1, 1, 2]) } {
                let late = if self.is_lossless { 1 } else { self.rng.choose(&[1, 1, 1, 5, 60, 200]) };
                self.in_flight.push((self.now_ns + late * STEP_NS, from, to, bytes.clone()));
            }
        }
    }

    fn arrive(&mut self) {
        let (due, rest) = std::mem::take(&mut self.in_flight).into_iter().partition(|frame| frame.0 <= self.now_ns);
        self.in_flight = rest;
        let seed = self.seed;
        for (_, from, to, bytes) in due {
            let (one, side) = if to == HUB { (from, 1) } else { (to, 0) };
            let there = self.alive.get_mut(&one);
            if to == HUB && bytes[0] & 15 > 2 {
                self.highest_index =
                    self.highest_index.max(u32::from_le_bytes(bytes[4..8].try_into().unwrap()) & 0xff_ffff);
            }
            let mut received = there.as_ref().map(|peer| peer.received[side]);
            let mut deliver = |sender: u32, _: u8, mut message: Message<'_>| {
                let number = received.as_mut().unwrap_or_else(|| panic!("seed {seed}: a message of the dead {one}"));
                assert_eq!(sender, from, "seed {seed}");
                assert_eq!(message.next(8), Some(&text(one, *number)[..]), "seed {seed}: {from} to {to}");
                *number += 1;
            };
            match (to, there) {
                (HUB, None) => {
                    let taken = self.hub.handle_frame(0, &bytes, self.now_ns, &mut deliver);
                    assert!(taken.is_err(), "seed {seed}: a frame of {from}, which is dead, was taken");
                    self.late_frames += 1;
                }
                (HUB, Some(peer)) => {
                    _ = self.hub.handle_frame(0, &bytes, self.now_ns, &mut deliver);
                    peer.received[side] = received.unwrap();
                }
                (_, Some(peer)) => {
                    _ = peer.endpoint.handle_frame(0, &bytes, self.now_ns, &mut deliver);
                    peer.received[side] = received.unwrap();
                }
                (_, None) => {
                    let has_number = |peer: &&mut Peer| Name(peer.name).index() == Name(one).index();
                    let Some(peer) = self.alive.values_mut().find(has_number) else { continue };
                    let taken = peer.endpoint.handle_frame(0, &bytes, self.now_ns, &mut deliver);
                    assert!(taken.is_err(), "seed {seed}: {} has taken a frame to {one}, which is dead", peer.name);
                    self.misdelivered += 1;
                }
            }
        }
    }

    fn step(&mut self) {
        self.now_ns += STEP_NS;
        self.transmit();
        self.arrive();
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        if world.alive.len() < ALIVE && world.rng.one_in(4) {
            world.join();
        } else if world.alive.len() > 1 && world.rng.one_in(12) {
            world.die();
        }
        world.send_some();
        world.step();
    }
    world.is_lossless = true;
    let is_done = |world: &World| {
        world.hub.is_all_acked()
            && world.alive.values().all(|peer| peer.endpoint.is_all_acked() && peer.received == peer.sent)
    };
    while !is_done(&world) {
        world.step();
        assert!(world.now_ns < 1_000_000 * STEP_NS, "seed {seed}: not all has arrived");
    }
    assert!(
        world.late_frames > 20 && world.joined > 3 * ALIVE as u32,
        "seed {seed}: {} frames of the dead",
        world.late_frames
    );
    assert!(world.misdelivered > 0, "seed {seed}: nothing arrived at a later owner of the number of a dead peer");
    let most = ALIVE * usize::from(FLOWS);
    assert!(world.hub.path_count() <= most, "seed {seed}: {} paths of the hub", world.hub.path_count());
    assert!(world.highest_index < most as u32, "seed {seed}: index {} of at most {most}", world.highest_index);
}

/// P40
#[test]
fn peers_that_come_and_go_use_numbers_again_and_what_is_late_of_them_does_nothing() {
    for_each_seed(seeds(SEEDS), run);
}

/// P40
#[test]
fn the_path_behind_65536_others_is_opened_and_carries_messages() {
    const OTHERS: u32 = 70_000;
    let (mut hub, mut far) = (endpoint(HUB, 1), endpoint(OTHERS, 1));
    (1..=OTHERS).for_each(|peer| open(&mut hub, peer, 0));
    assert_eq!(hub.path_count(), OTHERS as usize);
    assert!(send_text(&mut hub, OTHERS, text(OTHERS, 7)));
    let (mut received, mut number) = (0, 0);
    for turn in 1..100 {
        let (mut there, mut back) = (Tape::default(), Tape::default());
        hub.transmit(turn * STEP_NS, &mut there);
        for (_, frame) in there.0.iter().filter(|&&(to, _)| to == OTHERS) {
            _ = far.handle_frame(0, frame, turn * STEP_NS, &mut |_, _, message: Message<'_>| received += message.len());
        }
        far.transmit(turn * STEP_NS, &mut back);
        for (_, frame) in &back.0 {
            if frame[0] & 15 > 2 {
                number = u32::from_le_bytes(frame[4..8].try_into().unwrap()) & 0xff_ffff;
            }
            _ = hub.handle_frame(0, frame, turn * STEP_NS, &mut |_, _, _: Message<'_>| {});
        }
    }
    assert_eq!((received, hub.silent_since_ns(OTHERS), number), (8, None, OTHERS - 1));
    assert!(hub.unreachable_paths(OTHERS).is_none() && hub.is_all_acked());
}

/// P40
#[test]
fn a_peer_that_is_forgotten_gives_its_numbers_and_its_memory_back() {
    let mut hub = endpoint(HUB, 1);
    let cycle = |hub: &mut Endpoint, peers: std::ops::Range<u32>| {
        for peer in peers {
            (0..FLOWS).for_each(|flow| open(hub, peer, flow));
            hub.transmit(1, &mut Tape::default());
            hub.forget(peer);
        }
    };
    cycle(&mut hub, 1..100);
    let memory = allocation_counter::measure(|| cycle(&mut hub, 100..30_100));
    assert_eq!((hub.path_count(), hub.free_slots()), (0, (400, 400)));
    // One byte per forgotten peer, in pages.
    assert!(memory.bytes_current < 3 * 30_000, "{memory:?}");
}
