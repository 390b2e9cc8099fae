//! Ranks with every fault: networks that lose, duplicate, reorder, change, cut and sever, with one to three rails each;
//! the ranks compute, stop for a minute, and die. Messages that arrive are right (`world`), or their peer was forgotten
//! after a report of its host's agent; once the faults end the world continues, and all memory is released.

use crate::world::{MS, Setting, Traffic, US, World, key};
use hawser_link::endpoint::DropCounts;
use hawser_link::frame::{DropReason, PeerPair};
use hawser_link::{LatencyClass, PortTraits};
use hawser_sim::{ArrivedPacket, Faults, Rng};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Messages of all seeds that arrived with other bytes where the medium should have checked them: the network did
/// change such frames.
pub static CHANGED: AtomicU64 = AtomicU64::new(0);

/// The time that the rest may take once the faults have ended, in ns: the longest back-offs, and then all of it.
const TIMEOUT_NS: u64 = 60_000 * MS;
/// The time that a few further messages may take in a world without faults, in ns: a HELLO's longest back-off, and that
/// of the frames that wait for its path.
const CALM_NS: u64 = 4_000 * MS;
/// Messages that each rank sends to each at the end.
const LAST: usize = 3;

/// The world of the ranks' incarnation `incarnation`.
pub fn world(seed: u64, incarnation: u64, bulk: bool) -> World {
    let mut rng = Rng::new(!seed);
    let ranks = rng.choose(&[3, 3, 3, 3, 3, 4, 4, 6]);
    let traffic = if bulk { Traffic::Bulk } else { rng.choose(&[Traffic::Mixed, Traffic::Mixed, Traffic::Incast]) };
    let frames: Vec<usize> = (0..rng.choose(&[1, 1, 2, 3])).map(|_| rng.choose(&[548, 1472, 1472, 8972])).collect();
    // Chosen by a random generator of their own: everything else is as it was before there were such rails.
    let mut checks = Rng::new(seed.rotate_left(32));
    let checked: Vec<bool> = frames.iter().map(|_| !checks.one_in(4)).collect();
    // A rail that is taken for lossless but loses frames is slow, not wrong: a broken connection does.
    let lossless: Vec<bool> = frames.iter().map(|_| checks.one_in(8)).collect();
    // The third rail is on demand: for single frames where the first rail, over the same NIC, is not answered;
    // otherwise for bulk.
    let stands_in = checks.one_in(2);
    let flows = if checks.one_in(4) || bulk { 3 } else { 1 };
    let rail = |rail: usize| PortTraits {
        latency_class: [
            LatencyClass::Lowest,
            LatencyClass::Bulk,
            if stands_in { LatencyClass::Low } else { LatencyClass::Bulk },
        ][rail],
        nic: if stands_in { 0 } else { rail as u8 / 2 },
        has_full_crc: checked[rail],
        is_lossless: lossless[rail],
        is_on_demand: rail == 2,
        flows_max: flows,
    };
    let setting = Setting {
        ranks,
        traffic,
        ports: (0..frames.len()).map(rail).collect(),
        counts: vec![frames.len(); ranks as usize],
        crossed: false,
        known: false,
        frames,
        // Few slots, so that they run out; hardly more than an endpoint must have, where all send to one.
        slots: if bulk { 3000 } else { 260 + rng.index(40) },
        rooms: if bulk { &[2000] } else { &[1, 8, 64, 500] },
        sockets: if bulk { &[4000] } else { &[50, 1000] },
    };
    World::new(seed, incarnation, rng, setting)
}

impl World {
    fn disturb(&mut self) {
        let late_ns = self.rng.choose(&[200 * US, 200 * US, 20 * MS]);
        let mut chance = |chances: &[u32]| self.rng.choose(chances);
        let faults = Faults {
            loss: chance(&[0, 0, 10, 100, 300]),
            duplicate: chance(&[0, 0, 10, 100, 500]),
            reorder: chance(&[0, 0, 10, 100, 300]),
            delay_max_ns: late_ns,
            corrupt: chance(&[0, 0, 10, 100, 300]),
            truncate: chance(&[0, 0, 10, 100]),
        };
        self.network.set_faults(faults);
        self.partition();
        let (someone, busy_ns) = (self.rng.index(self.nodes.len()), self.rng.below(40) * MS);
        let long_ns = self.rng.choose(&[0, 0, 0, 0, 0, 0, 0, 0, 3_000 * MS, 60_000 * MS]);
        self.nodes[someone].busy_until_ns = self.network.now_ns() + busy_ns + long_ns;
        if self.rng.per_mille(40) {
            self.die();
        }
    }

    /// Severs or joins one direction: of a wire, of all wires between two ranks, or of all that one sends by.
    fn partition(&mut self) {
        let places = self.nodes.len() * self.width();
        let (from, to, cut) = (self.rng.index(places), self.rng.index(places), self.rng.per_mille(300));
        let whole = self.rng.below(3);
        let width = self.width();
        let rank = |place: usize| place / width;
        for (a, b) in (0..places * places).map(|pair| (pair / places, pair % places)) {
            let in_it = match whole {
                0 => (a, b) == (from, to),
                1 => (rank(a), rank(b)) == (rank(from), rank(to)),
                _ => rank(a) == rank(from),
            };
            if in_it {
                self.network.set_severed(a, b, cut);
            }
        }
    }

    /// Kills one rank, which takes and sends nothing any more. The agents report it to the others, each at its own
    /// time.
    fn die(&mut self) {
        let dead = self.rng.index(self.nodes.len());
        if self.nodes.iter().filter(|node| !node.dead).count() == 1 || self.nodes[dead].dead {
            return;
        }
        self.nodes[dead].dead = true;
        let (now_ns, late_ns) = (self.network.now_ns(), self.rng.choose(&[1, 50, 3_000]) * MS);
        for node in self.nodes.iter_mut().filter(|node| !node.dead) {
            let at_ns = now_ns + self.rng.below(late_ns);
            node.deaths.push((at_ns, dead as u32));
            node.next_ns = node.next_ns.min(at_ns);
        }
    }

    /// Delivers frames from outside this world to each rank that polls its socket now.
    fn deliver_foreign_frames(&mut self) {
        for _ in 0..self.rng.below(8) {
            let width = self.width();
            if let Some(old) = self.strangers.repeated(&mut self.rng) {
                self.network.send(old.from, old.to, &old.bytes);
            }
            let tag = |frame: &ArrivedPacket| {
                (key(), PeerPair { from: (frame.from / width) as u32, to: (frame.to / width) as u32 })
            };
            if let Some(strange) = self.strangers.strange(&mut self.rng, tag, &self.monitor)
                && !self.nodes[strange.to / width].dead
            {
                self.receive(&strange, true);
            }
        }
    }
}

/// P3, P5, P7, P8, P20 to P23, and all others together. Returns the dropped frames by reason.
pub fn run(seed: u64) -> DropCounts {
    let bulk = seed.is_multiple_of(100);
    let mut world = self::world(seed, 1, bulk);
    if seed.is_multiple_of(4) && !bulk {
        let mut past = self::world(seed, 0, false);
        past.run(2 * MS);
        world.strangers.remember(past.strangers);
    }
    let phases = 1 + world.rng.below(6);
    for _ in 0..phases {
        world.disturb();
        let length_ns = world.rng.below(60) * MS + world.rng.choose(&[0, 0, 0, 0, 0, 0, 0, 4_000]) * MS;
        let until = world.network.now_ns() + length_ns;
        world.run(until);
        world.deliver_foreign_frames();
    }
    world.heal();
    world.run_for(TIMEOUT_NS);
    for (me, node) in world.nodes.iter_mut().enumerate() {
        let others = node.plans.iter_mut().enumerate().filter(|&(to, _)| to != me);
        others.for_each(|(_, plan)| plan.extend([7; LAST]));
        node.next_ns = 0;
    }
    world.run_for(CALM_NS);
    world.check();
    CHANGED.fetch_add(world.changed, Relaxed);
    let mut drops = DropCounts::default();
    for node in &world.nodes {
        drops.iter_mut().zip(node.endpoint.drop_counts()).for_each(|(all, one)| *all += one);
    }
    drops
}

/// The reasons for dropping a frame that did not occur.
pub fn unmet(drops: &DropCounts) -> Vec<DropReason> {
    DropReason::ALL.into_iter().filter(|&reason| drops[reason as usize] == 0).collect()
}
