//! Failing rails: ranks whose rails have unlike rates, buffers, latencies and numbers lose one, or all but one, for
//! short and for long; a rail refuses frames or loses them, only sends, only receives, loses some, or passes
//! shorter ones than before. While one rail works in both directions everything arrives in bounded time (P24, P25),
//! and when the faults end every rail carries bulk again.
//!
//! `world` checks that the messages are right.

use crate::ranks;
use crate::world::{MS, Setting, Traffic, US, World};
use hawser_link::fragment::FRAGMENT_HEADER_BYTES;
use hawser_link::frame::HEADER_BYTES;
use hawser_link::{PathId, PortTraits};
use hawser_sim::{Faults, Rng, SwitchPort};

/// The time in which all must have arrived by the other rails while one is down, a tenth of what the longest back-offs
/// would take, and in which a rail that is up again must have been probed, in ns.
const OUTAGE_NS: u64 = 3_000 * MS;
/// The time in which a path over a rail that carries only the shortest frames is open, in ns: nine longer HELLOs and
/// their back-offs.
const OPENING_NS: u64 = 4_500 * MS;
/// The time in which a path over a rail that carries all is open, in ns: twice the second HELLO.
const OPEN_NS: u64 = 60 * MS;
/// The time in which the last messages have arrived by the slowest rails alone, in ns.
const BACK_NS: u64 = 20_000 * MS;
/// The time in which a path whose frames had to be the shortest has grown again, in ns: the longest back-off after
/// phases as long as here.
const GROWING_NS: u64 = 8_000 * MS;
/// Messages by which each rank shows that all rails are up again: more than the windows of all rails but one hold.
const BACK: usize = 100;
const BACK_BYTES: usize = 20_000;

/// Longest frames of the networks behind a rail, from HELLO's steps and between them.
const MTUS: [usize; 7] = [548, 600, 1231, 1232, 1400, 1452, 1472];

impl World {
    fn place(&self, rank: usize, rail: usize) -> usize {
        (rank * self.rails.len() + rail) * self.flows
    }

    /// The first of the places of its rail.
    fn first(&self, place: usize) -> usize {
        place - place % self.flows
    }

    /// Severs those of a rail's wires that are chosen by their ends, the first places there.
    fn cut(&mut self, rail: usize, chosen: impl Fn(usize, usize) -> bool) {
        for (from, to) in self.wires(rail) {
            if chosen(self.first(from), self.first(to)) {
                self.network.set_severed(from, to, true);
            }
        }
    }

    /// Returns every two places of two ranks that a wire of this rail joins.
    fn wires(&self, rail: usize) -> Vec<(usize, usize)> {
        let on = |rank: usize| (rail < self.counts[rank]).then(|| self.place(rank, rail));
        let ranks = self.nodes.len();
        let pairs = (0..ranks * ranks).filter_map(|pair| Some((on(pair / ranks)?, on(pair % ranks)?)));
        let each = pairs.flat_map(|(a, b)| (0..self.flows).map(move |flow| (a + flow, b + flow)));
        each.filter(|pair| pair.0 != pair.1 && !self.apart.contains(pair)).collect()
    }

    /// Whether there is a wire for every path id.
    fn leads_everywhere(&self) -> bool {
        let routes = |a: usize, b: usize| self.flows * if self.crossed { a * b } else { a.min(b) };
        let each = self.counts.iter().enumerate();
        let pairs =
            each.clone().flat_map(|(a, count)| each.clone().map(move |(b, other)| (a != b, routes(*count, *other))));
        let all: usize = pairs.filter(|pair| pair.0).map(|pair| pair.1).sum();
        (0..self.rails.len()).map(|rail| self.wires(rail).len()).sum::<usize>() == all
    }

    /// Takes one rail down: its wires refuse frames, or accept and lose them.
    fn lose_rail(&mut self, rail: usize, refused: bool) {
        for (from, to) in self.wires(rail) {
            self.network.set_severed(from, to, true);
            if refused {
                self.down.insert(self.first(from), 0);
            }
        }
    }

    /// Whether the rank at `from` counts this wire's path as one that responds.
    fn answers(&self, from: usize, to: usize) -> bool {
        let (width, at) = (self.width(), |place: usize| (place / self.flows % self.rails.len()) as u8);
        let path_id = PathId { local_port: at(from), remote_port: at(to), flow: (from % self.flows) as u8 };
        self.nodes[from / width].endpoint.is_path_responding((to / width) as u32, path_id)
    }

    fn step_for(&mut self, ns: u64) {
        let until_ns = self.network.now_ns() + ns;
        while self.network.now_ns() < until_ns {
            self.step(until_ns);
        }
    }

    /// Adds messages of this length for every rank to every other.
    fn add_plans(&mut self, count: usize, len: usize) {
        for (me, node) in self.nodes.iter_mut().enumerate() {
            let others = node.plans.iter_mut().enumerate().filter(|&(to, _)| to != me);
            others.for_each(|(_, plan)| plan.extend(std::iter::repeat_n(len, count)));
            node.next_ns = 0;
        }
    }

    /// Causes a fault of a rail, or ends one; time passes meanwhile.
    fn fail_rail(&mut self, rng: &mut Rng, rail: usize) {
        let rank = rng.index(self.nodes.len());
        let one = self.place(rank, rail);
        match rng.below(7) {
            0 => self.lose_rail(rail, rng.one_in(2)),
            // The rail's cable at one rank.
            1 => {
                self.cut(rail, |from, to| from == one || to == one);
                if rng.one_in(2) {
                    self.down.insert(one, 0);
                }
            }
            2 => self.cut(rail, |from, _| from == one),
            3 => self.cut(rail, |_, to| to == one),
            4 => {
                let lose = rng.choose(&[10, 50, 300]);
                let faults = Faults { loss: lose, reorder: 100, delay_max_ns: 200 * US, ..Faults::default() };
                self.wires(rail).into_iter().for_each(|(a, b)| self.network.link_mut(a, b).faults = Some(faults));
            }
            kind => self.shrink(rng, rail, (kind == 5).then_some(one)),
        }
    }

    /// Makes a rail lose longer frames: those of all places, or of one, possibly with a refusal.
    fn shrink(&mut self, rng: &mut Rng, rail: usize, one: Option<usize>) {
        let (most, is_refused) = (rng.choose(&MTUS), rng.one_in(2));
        for (from, to) in self.wires(rail) {
            if one.is_none_or(|one| self.first(from) == one) {
                self.network.link_mut(from, to).mtu = Some(most);
            }
        }
        if let Some(one) = one.filter(|_| is_refused) {
            self.down.insert(one, most);
        }
    }

    /// Takes a rail down and up, several times.
    fn flap(&mut self, rng: &mut Rng, rail: usize) {
        let period_ns = rng.choose(&[100 * US, MS, 10 * MS, 100 * MS]);
        let refused = rng.one_in(2);
        for _ in 0..2 + rng.below(4) {
            self.lose_rail(rail, refused);
            self.run(self.network.now_ns() + period_ns);
            for (from, to) in self.wires(rail) {
                self.network.set_severed(from, to, false);
                self.down.remove(&self.first(from));
            }
            self.run(self.network.now_ns() + rng.below(2 * period_ns));
        }
    }

    /// Connects rails of one place to each other, except that one may be two networks, each of which reaches some
    /// ranks.
    fn part(&mut self, rng: &mut Rng) {
        let (rails, ranks, width) = (self.rails.len(), self.nodes.len(), self.width());
        let places = ranks * width;
        let pairs = (0..places * places).map(|pair| (pair / places, pair % places));
        self.apart.extend(pairs.filter(|(from, to)| from % width != to % width));
        if rails > 1 && rng.one_in(4) {
            let (rail, half) = (1 + rng.index(rails - 1), rng.index(ranks));
            let is_near = |place: usize| place / width <= half;
            let far: Vec<_> = self.wires(rail).into_iter().filter(|&(a, b)| is_near(a) != is_near(b)).collect();
            self.apart.extend(far);
        }
    }

    /// Gives every rail a switch, with a port to each rank.
    fn add_switches(&mut self, rng: &mut Rng) {
        let flows = self.flows;
        for rail in 0..self.rails.len() {
            let bits_per_s = rng.choose(&[50, 100, 500, 1000, 10_000]) * 1_000_000;
            let buffer_bytes = rng.choose(&[32, 64, 512]) << 10;
            let latency_ns = rng.choose(&[10, 30, 200, 2_000]) * US;
            for rank in 0..self.nodes.len() {
                let to = self.place(rank, rail);
                let port = self.network.add_port(SwitchPort::new(bits_per_s, buffer_bytes));
                for (from, to) in self.wires(rail).into_iter().filter(|wire| wire.1 - wire.1 % flows == to) {
                    let link = self.network.link_mut(from, to);
                    (link.port, link.latency_ns) = (Some(port), Some(latency_ns));
                }
            }
        }
    }
}

/// A world with rails of unlike kinds, of which the first one connects every rank to every other.
fn world(seed: u64) -> World {
    let mut rng = Rng::new(seed ^ 0x7261_696c);
    let ranks = rng.choose(&[2, 2, 2, 3, 4]);
    let count = rng.choose(&[1, 2, 2, 2, 3, 4]);
    let frames: Vec<usize> = (0..count).map(|_| rng.choose(&[1472, 1472, 8972])).collect();
    let is_even = rng.one_in(2);
    let counts: Vec<usize> = (0..ranks).map(|_| if is_even { count } else { 1 + rng.index(count) }).collect();
    let crossed = rng.one_in(3);
    let flows = if Rng::new(seed.rotate_left(48)).one_in(3) { 3 } else { 1 };
    let rail = |nic: usize| PortTraits {
        nic: nic as u8,
        has_full_crc: nic % 3 < 2,
        is_lossless: nic == 3,
        flows_max: flows,
        ..PortTraits::default()
    };
    let setting = Setting {
        ranks,
        traffic: Traffic::Mixed,
        ports: (0..count).map(rail).collect(),
        counts,
        crossed,
        known: true,
        frames,
        slots: 1024,
        rooms: &[2000, 500],
        sockets: &[4000],
    };
    let mut world = World::new(seed, 1, Rng::new(!seed), setting);
    world.part(&mut rng);
    world.add_switches(&mut rng);
    world.heal();
    world
}

/// P24, P25: rails fail, and recover.
pub fn run(seed: u64) {
    let (mut world, mut rng) = (world(seed), Rng::new(seed.rotate_left(16)));
    let rails = world.rails.len();
    let whole: Vec<usize> = (0..rails).filter(|&rail| is_whole(&world, rail)).collect();
    // Half of the worlds have opened their paths before any fault.
    let is_open = rng.one_in(2);
    if is_open {
        world.add_plans(1, 1);
        world.step_for(OPEN_NS);
        world.add_plans(10, 10_000);
    }
    world.run(world.network.now_ns() + rng.below(20) * MS);
    for _ in 0..1 + rng.below(4) {
        world.heal();
        // All messages may go by this rail, except long frames.
        let kept = rng.choose(&whole);
        for rail in (0..rails).filter(|&rail| rail != kept) {
            match rng.below(4) {
                0 => {}
                1 => world.flap(&mut rng, rail),
                _ => world.fail_rail(&mut rng, rail),
            }
        }
        if rng.one_in(4) {
            let one = rng.one_in(2).then(|| world.place(rng.index(world.nodes.len()), kept));
            world.shrink(&mut rng, kept, one);
        }
        let more = rng.index(10);
        world.add_plans(more, 1 + rng.index(17_000));
        let most_ms = rng.choose(&[10, 100, 1000]);
        let length_ns = rng.below(most_ms) * MS;
        world.run(world.network.now_ns() + length_ns);
    }
    world.run(world.network.now_ns() + OUTAGE_NS + if is_open { 0 } else { OPENING_NS });
    assert!(world.is_done(), "seed {seed}: with one rail of {:?} left not all has arrived", world.rails);
    world.check();
    come_back(seed, &mut world);
}

/// Whether the rail connects every rank to every other.
fn is_whole(world: &World, rail: usize) -> bool {
    let ranks = world.nodes.len();
    world.wires(rail).len() == ranks * (ranks - 1) * world.flows
}

/// Ends all faults: then no rank waits for anything, and messages go by every rail, in its longest frames.
fn come_back(seed: u64, world: &mut World) {
    world.heal();
    world.add_plans(1, 1);
    world.step_for(OUTAGE_NS);
    let waits = world.nodes.iter().any(|node| node.endpoint.deadline_ns().is_some());
    // Paths that reach no peer are tried for ever.
    assert!(!waits || !world.leads_everywhere(), "seed {seed}: all rails are back and still waited for");
    for rail in 0..world.rails.len() {
        for (from, to) in world.wires(rail) {
            let answers = world.answers(from, to);
            assert!(answers, "seed {seed}: {from} to {to} is back and counts as silent, of {:?}", world.rails);
        }
    }
    let until_ns = world.network.now_ns() + GROWING_NS;
    while world.network.now_ns() < until_ns {
        world.add_plans(1, 8_000);
        world.step_for(400 * MS);
    }
    // Messages are cut so that all of their paths take the pieces, which are of one length.
    let shared = *world.rails.iter().min().expect("there are rails");
    let piece = shared - HEADER_BYTES - FRAGMENT_HEADER_BYTES;
    world.carried.clear();
    world.add_plans(BACK / (world.nodes.len() - 1), BACK_BYTES / piece * piece);
    world.run_for(BACK_NS);
    world.check();
    for rail in 0..world.rails.len() {
        let wires = world.wires(rail);
        let carried = wires.iter().filter_map(|wire| world.carried.get(wire));
        let (count, longest) = carried.fold((0, 0), |all, one| (all.0 + one.0, all.1.max(one.1)));
        assert!(
            wires.is_empty() || count > 0,
            "seed {seed}: rail {rail} of {:?} is back and carries nothing",
            world.rails
        );
        assert!(
            wires.is_empty() || longest >= shared,
            "seed {seed}: rail {rail} is back and carries {longest} bytes of {shared}"
        );
    }
}

/// P24: a rail that is down costs little, and is used again when it is up.
pub fn outage(seed: u64) {
    let mut world = ranks::world(seed, 1, false);
    if world.rails.len() == 1 {
        return;
    }
    // Where rails carry less than their ends assume, frames that were cut for the longest of them must go by shorter
    // ones, which open later.
    let is_even = world.rng.one_in(2);
    if is_even {
        let longest = world.nodes[0].endpoint.frame_max();
        world.rails.fill(longest);
    }
    let timeout_ns = OUTAGE_NS + if is_even { 0 } else { OPENING_NS };
    let before_ns = world.rng.below(5) * MS;
    world.run(before_ns);
    let (rail, refused) = (world.rng.index(world.rails.len()), world.rng.one_in(2));
    world.lose_rail(rail, refused);
    world.run(world.network.now_ns() + timeout_ns);
    assert!(world.is_done(), "seed {seed}: without rail {rail} ({refused}) of {:?} not all has arrived", world.rails);
    world.check();
    // The rail is probed for ever, and answers when it is up: then no rank waits for anything.
    world.heal();
    world.step_for(timeout_ns);
    let waits = world.nodes.iter().any(|node| node.endpoint.deadline_ns().is_some());
    assert!(!waits, "seed {seed}: rail {rail} ({refused}) is back and still waited for");
}
