//! Tests what an endpoint allocates: nothing once its paths are open and had a gap, and little for an idle path. Every
//! allocation of the thread is counted.

use allocation_counter::measure;
use hawser_link::frame::JobKey;
use hawser_link::{Config, Endpoint, FrameSender, Message, MessageClass, PathId, PortTraits, RemotePort};
use hawser_sim::Rng;
use std::io::IoSlice;
use std::time::Instant;

const FRAME: usize = 1472;
const SLOTS: usize = 2000;
const RANKS: u32 = 40;
/// The ranks of a large job, and the slots of each.
const MANY: u32 = 1001;
const MANY_SLOTS: usize = 400;
/// Bytes that an open and idle path may have (docs/performance.md, Targets).
const PATH: i64 = 1 << 10;

/// Frames that wait in memory of their own; `lose` of a thousand are lost.
struct LossyQueue {
    bytes: Vec<u8>,
    /// The receiver, port and length of each frame.
    frames: Vec<(u32, u8, usize)>,
    rng: Rng,
    lose: u32,
}

impl FrameSender for LossyQueue {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        for frame in frames {
            if !self.rng.per_mille(self.lose) {
                self.bytes.extend_from_slice(frame);
                self.frames.push((peer, path_id.remote_port, frame.len()));
            }
        }
        frames.len()
    }
}

fn config(me: u32, ranks: u32, slots: usize, ports: usize) -> Config {
    Config {
        me,
        ranks,
        key: JobKey::new([3; 16]),
        frame_max: FRAME,
        send_slots: slots,
        reassembly_slots: slots,
        ports: vec![PortTraits::default(); ports],
    }
}

fn endpoint(config: Config) -> Endpoint {
    let ports = config.ports.len();
    let mut endpoint = Endpoint::new(config, 9);
    (0..ports).for_each(|port| endpoint.set_receive_capacity(port, 1000));
    endpoint
}

/// Rank 0, and the others.
struct World {
    ranks: Vec<Endpoint>,
    ports: usize,
    queue: LossyQueue,
    now_ns: u64,
    received: usize,
}

impl World {
    fn new(lose: u32) -> World {
        World::of(lose, RANKS, SLOTS, 1)
    }

    fn of(lose: u32, ranks: u32, slots: usize, ports: usize) -> World {
        let queue = LossyQueue {
            bytes: Vec::with_capacity(1 << 24),
            frames: Vec::with_capacity(1 << 16),
            rng: Rng::new(1),
            lose,
        };
        World {
            ranks: (0..ranks).map(|me| endpoint(config(me, ranks, slots, ports))).collect(),
            ports,
            queue,
            now_ns: 1,
            received: 0,
        }
    }

    /// Every rank sends what it can; it arrives 50 us later.
    fn step(&mut self) {
        self.now_ns += 50_000;
        for me in 0..self.ranks.len() {
            self.queue.bytes.clear();
            self.queue.frames.clear();
            self.ranks[me].transmit(self.now_ns, &mut self.queue);
            let mut at = 0;
            for &(to, port, len) in &self.queue.frames {
                let received = &mut self.received;
                let mut deliver = |_: u32, _: u8, message: Message<'_>| *received += message.len();
                let frame = &self.queue.bytes[at..at + len];
                _ = self.ranks[to as usize].handle_frame(port, frame, self.now_ns, &mut deliver);
                at += len;
            }
        }
    }

    fn run_until_idle(&mut self) {
        for _ in 0..100_000 {
            self.step();
            if self.ranks.iter().all(Endpoint::is_all_acked)
                && self.ranks.iter().all(|rank| rank.deadline_ns().is_none())
            {
                return;
            }
        }
        panic!("it does not become idle");
    }

    fn connect(&mut self, peers: u32) {
        for peer in 1..=peers {
            for port in 0..self.ports as u8 {
                self.ranks[0].open_path(
                    peer,
                    PathId { local_port: port, remote_port: port, flow: 0 },
                    RemotePort { nic: port, frame_max: FRAME },
                );
            }
        }
        self.run_until_idle();
    }

    /// 2000 messages of all lengths to each of some peers.
    fn send_messages(&mut self, peers: u32) {
        let mut left: Vec<usize> = vec![2000; peers as usize];
        while left.iter().any(|&left| left > 0) {
            for (peer, left) in (1..).zip(&mut left) {
                let total = self.queue.rng.index(17_000);
                if *left > 0
                    && self.ranks[0].send(peer, 0, total, MessageClass::Payload, |_, into| into.fill(1)).is_ok()
                {
                    *left -= 1;
                }
            }
            self.step();
        }
        self.run_until_idle();
    }
}

#[test]
fn nothing_is_asked_for_once_paths_are_open() {
    let mut world = World::new(20);
    world.connect(3);
    // Each path has its first gap.
    world.send_messages(3);
    world.received = 0;
    let memory = measure(|| world.send_messages(3));
    assert!(world.received > 3 * 2000 * 8000 && world.ranks[0].counters().lost > 100);
    // The vector of `send_messages` alone.
    assert_eq!(memory.count_total, 1, "{memory:?}");
}

/// State of a peer (docs/performance.md, Targets).
#[test]
fn a_quiet_path_has_little() {
    let mut world = World::new(0);
    world.connect(3);
    let peers = i64::from(RANKS - 1);
    let memory = measure(|| world.connect(RANKS - 1));
    // Both ends of the paths of all but the first three.
    let path = memory.bytes_current / (2 * (peers - 3));
    println!("{path} bytes for a path that is open and quiet");
    assert!(path <= PATH, "{path} bytes for a path");
    let of = |ranks: u32| measure(|| drop(Endpoint::new(config(0, ranks, SLOTS, 1), 1))).bytes_max;
    let unknown = (of(1_001_000) - of(1_000)) / 1_000_000;
    println!("{unknown} bytes for a peer that was never spoken to");
    assert!(unknown == 0, "{unknown} bytes for a peer that was never spoken to");
}

/// State of a thousand peers (docs/performance.md, Targets): connecting them takes no time either.
#[test]
fn a_thousand_peers_have_little_and_are_connected_at_once() {
    for ports in [1, 4] {
        let mut world = World::of(0, MANY, MANY_SLOTS, ports);
        let (begin_ns, begin) = (world.now_ns, Instant::now());
        let memory = measure(|| world.connect(MANY - 1));
        let (took_ns, took) = (world.now_ns - begin_ns, begin.elapsed());
        let paths = i64::from(MANY - 1) * ports as i64;
        let path = memory.bytes_current / (2 * paths);
        println!("{paths} paths to {} peers: {path} bytes each, {took_ns} ns simulated, {took:?} real", MANY - 1);
        assert!(path <= PATH, "{path} bytes for a path, of {ports} to each peer");
        assert!(took_ns < 1_000_000_000, "{took_ns} ns until all are connected");
        assert!((1..MANY).all(|peer| world.ranks[0].unreachable_paths(peer).is_none()));
    }
}
