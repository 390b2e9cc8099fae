//! Tests what an endpoint allocates: nothing once its paths are open and had a gap, and little for an idle path. Every
//! allocation of the thread is counted.

use allocation_counter::measure;
use hawser_link::frame::Key;
use hawser_link::{Class, Config, Endpoint, Far, Message, Rail, Route, Wire};
use hawser_sim::Dice;
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

/// Frames that wait in memory of their own, one in `lose` of which is lost.
struct Line {
    bytes: Vec<u8>,
    /// The receiver, port and length of each frame.
    frames: Vec<(u32, u8, usize)>,
    dice: Dice,
    lose: u32,
}

impl Wire for Line {
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize {
        for frame in frames {
            if !self.dice.per_mille(self.lose) {
                self.bytes.extend_from_slice(frame);
                self.frames.push((peer, route.theirs, frame.len()));
            }
        }
        frames.len()
    }
}

fn config(me: u32, ranks: u32, slots: usize, rails: usize) -> Config {
    Config {
        me,
        ranks,
        key: Key::new([3; 16]),
        frame_max: FRAME,
        sending: slots,
        holding: slots,
        rails: vec![Rail::default(); rails],
    }
}

fn endpoint(config: Config) -> Endpoint {
    let rails = config.rails.len();
    let mut endpoint = Endpoint::new(config, 9);
    (0..rails).for_each(|rail| endpoint.set_room(rail, 1000));
    endpoint
}

/// Rank 0, and the others.
struct World {
    ranks: Vec<Endpoint>,
    rails: usize,
    line: Line,
    now_ns: u64,
    came: usize,
}

impl World {
    fn new(lose: u32) -> World {
        World::of(lose, RANKS, SLOTS, 1)
    }

    fn of(lose: u32, ranks: u32, slots: usize, rails: usize) -> World {
        let line =
            Line { bytes: Vec::with_capacity(1 << 24), frames: Vec::with_capacity(1 << 16), dice: Dice::new(1), lose };
        World {
            ranks: (0..ranks).map(|me| endpoint(config(me, ranks, slots, rails))).collect(),
            rails,
            line,
            now_ns: 1,
            came: 0,
        }
    }

    /// Every rank sends what it can; it arrives 50 us later.
    fn step(&mut self) {
        self.now_ns += 50_000;
        for me in 0..self.ranks.len() {
            self.line.bytes.clear();
            self.line.frames.clear();
            self.ranks[me].transmit(self.now_ns, &mut self.line);
            let mut at = 0;
            for &(to, rail, len) in &self.line.frames {
                let came = &mut self.came;
                let mut deliver = |_: u32, _: u8, message: Message<'_>| *came += message.len();
                let frame = &self.line.bytes[at..at + len];
                _ = self.ranks[to as usize].handle_frame(rail, frame, self.now_ns, &mut deliver);
                at += len;
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..100_000 {
            self.step();
            if self.ranks.iter().all(Endpoint::is_quiet) && self.ranks.iter().all(|rank| rank.deadline_ns().is_none()) {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn connect(&mut self, peers: u32) {
        for peer in 1..=peers {
            for rail in 0..self.rails as u8 {
                self.ranks[0].open(peer, Route { ours: rail, theirs: rail, flow: 0 }, Far { nic: rail, frame: FRAME });
            }
        }
        self.settle();
    }

    /// 2000 messages of all lengths to each of some peers.
    fn talk(&mut self, peers: u32) {
        let mut left: Vec<usize> = vec![2000; peers as usize];
        while left.iter().any(|&left| left > 0) {
            for (peer, left) in (1..).zip(&mut left) {
                let total = self.line.dice.index(17_000);
                if *left > 0 && self.ranks[0].send(peer, 0, total, Class::Payload, |_, into| into.fill(1)).is_ok() {
                    *left -= 1;
                }
            }
            self.step();
        }
        self.settle();
    }
}

#[test]
fn nothing_is_asked_for_once_paths_are_open() {
    let mut world = World::new(20);
    world.connect(3);
    // Each path has its first gap.
    world.talk(3);
    world.came = 0;
    let memory = measure(|| world.talk(3));
    assert!(world.came > 3 * 2000 * 8000 && world.ranks[0].counts().lost > 100);
    // The vector of `talk` alone.
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
    for rails in [1, 4] {
        let mut world = World::of(0, MANY, MANY_SLOTS, rails);
        let (begin_ns, begin) = (world.now_ns, Instant::now());
        let memory = measure(|| world.connect(MANY - 1));
        let (took_ns, took) = (world.now_ns - begin_ns, begin.elapsed());
        let paths = i64::from(MANY - 1) * rails as i64;
        let path = memory.bytes_current / (2 * paths);
        println!("{paths} paths to {} peers: {path} bytes each, {took_ns} ns simulated, {took:?} real", MANY - 1);
        assert!(path <= PATH, "{path} bytes for a path, of {rails} to each peer");
        assert!(took_ns < 1_000_000_000, "{took_ns} ns until all are connected");
        assert!((1..MANY).all(|peer| world.ranks[0].unanswered(peer).is_none()));
    }
}
