//! Whole endpoints over a faulty network: three or four ranks with one to three rails, of which some check payloads themselves
//! (P6), send each other messages of all lengths.
//! They compute, stop for a minute, and die. Every message arrives once, whole and in order, or its peer was forgotten by
//! word of its host's agent; once the faults end the world goes on, and all memory comes back.

use crate::monitor::Monitor;
use crate::strangers::Strangers;
use hawser_link::endpoint::Drops;
use hawser_link::frame::{Dropped, Ends, HEADER, Key};
use hawser_link::{Class, Config, Endpoint, Grade, Message, Rail, Route, Wire};
use hawser_sim::{Arrival, Dice, Faults, Network};
use std::collections::{BTreeSet, VecDeque};
use std::io::IoSlice;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// How long all that is left may take once the faults have ended: back-offs at their longest, and then all of it.
const PATIENCE_NS: u64 = 60_000 * MS;
/// How long a few messages more may take in a world where nothing is wrong any more: a HELLO's longest back-off, and that of
/// what waits for its path.
const CALM_NS: u64 = 4_000 * MS;
/// In which all must have arrived by the other rails while one is gone, a tenth of what back-offs at their longest would take,
/// and in which a rail that is back must have been asked.
const OUTAGE_NS: u64 = 3_000 * MS;
/// In which a path over a rail that carries only the shortest frames is open: nine longer HELLOs and their back-offs.
const OPENING_NS: u64 = 3_500 * MS;
/// A program that waits for something looks again after this time at most.
const TICK_NS: u64 = MS;
/// Messages that each sends to each at last.
const LAST: usize = 3;

/// Messages of so many bytes say their number first, and may come early.
const NUMBERED: usize = 50;

/// What a wire does with frames: into the network, some of them refused, and what is too long for the rail lost.
struct Cable<'a> {
    network: &'a mut Network,
    monitor: &'a mut Monitor,
    strangers: &'a mut Strangers,
    dice: &'a mut Dice,
    me: u32,
    rails: &'a [usize],
    checked: &'a [bool],
    down: Option<u8>,
}

impl Wire for Cable<'_> {
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize {
        let lengths = frames.iter().map(|frame| frame.len());
        assert!(lengths.clone().max() == frames.first().map(|f| f.len()), "one length, the last may be shorter");
        if self.down == Some(route.ours) {
            return 0;
        }
        let taken = if self.dice.one_in(50) { self.dice.index(frames.len() + 1) } else { frames.len() };
        let place = |node: u32, rail: u8| node as usize * self.rails.len() + usize::from(rail);
        let (from, to) = (place(self.me, route.ours), place(peer, route.theirs));
        for frame in &frames[..taken] {
            self.monitor.sent((from, to), frame, self.checked[usize::from(route.ours)]);
            if frame.len() > self.rails[usize::from(route.ours)] {
                continue;
            }
            if self.dice.one_in(16) {
                self.strangers.record(self.dice, &Arrival { from, to, bytes: frame.to_vec() });
            }
            self.network.send(from, to, frame);
        }
        taken
    }
}

struct Node {
    endpoint: Endpoint,
    /// What each of its rails keeps for it, in frames, as it was told.
    rooms: Vec<u32>,
    /// Lengths of messages to be sent to each rank, and how many were.
    plans: Vec<VecDeque<usize>>,
    sent: Vec<u64>,
    /// How many came from each rank.
    came: Vec<u64>,
    /// Those that came before earlier ones: of whom, and which.
    early: BTreeSet<(u32, u64)>,
    /// What the kernel has for it, up to so many frames.
    socket: VecDeque<Arrival>,
    socket_room: usize,
    /// It computes, and looks at nothing, until this time; and looks again at this one.
    busy_until_ns: u64,
    next_ns: u64,
    forgot: BTreeSet<u32>,
    /// Those who died, and when it is told so.
    deaths: Vec<(u64, u32)>,
    dead: bool,
}

pub struct World {
    seed: u64,
    network: Network,
    monitor: Monitor,
    strangers: Strangers,
    dice: Dice,
    nodes: Vec<Node>,
    /// The longest frame that each rail carries.
    rails: Vec<usize>,
    /// Of each rail: payloads on it have a CRC; else its wires find what is changed there.
    checked: Vec<bool>,
    /// A rail that takes no frame.
    down: Option<u8>,
    /// Frames of each pool of an endpoint.
    slots: usize,
}

/// The bytes of message `n` from one to another, which no other has.
fn byte(from: u32, to: u32, n: u64, at: usize, total: usize) -> u8 {
    match at < 8 && total >= NUMBERED {
        true => n.to_le_bytes()[at],
        false => (u64::from(from) * 7 + u64::from(to) * 31 + n * 13 + at as u64 * 5 + (at as u64 >> 8)) as u8,
    }
}

/// Of what kind a rank's message `n` to a peer is.
fn class(n: u64, total: usize) -> Class {
    match total < NUMBERED {
        true => Class::Control,
        false if n % 3 == 1 => Class::Placed,
        false => Class::Payload,
    }
}

fn key() -> Key {
    Key::new([7; 16])
}

impl World {
    /// `life`: of the ranks, of which the last one is the one that is looked at.
    fn new(seed: u64, life: u64, bulk: bool) -> World {
        let mut dice = Dice::new(!seed);
        let ranks = dice.one_of(&[3, 3, 3, 3, 3, 4, 4, 6]);
        let traffic =
            if bulk { Traffic::Bulk } else { dice.one_of(&[Traffic::Mixed, Traffic::Mixed, Traffic::Incast]) };
        let rails: Vec<usize> =
            (0..dice.one_of(&[1, 1, 2, 3])).map(|_| dice.one_of(&[548, 1472, 1472, 8972])).collect();
        // By dice of their own: all else is as it was before there were such rails.
        let mut checks = Dice::new(seed.rotate_left(32));
        let checked: Vec<bool> = rails.iter().map(|_| !checks.one_in(4)).collect();
        // Who believes to lose nothing and does is slow, not wrong: a connection that breaks does.
        let lossless: Vec<bool> = rails.iter().map(|_| checks.one_in(8)).collect();
        // Kept for single frames where the first rail, over the same NIC, is not answered; else for bulk.
        let stands_in = checks.one_in(2);
        // Few, so that they run out; hardly more than an endpoint must have, where all send to one.
        let slots = if bulk { 3000 } else { 260 + dice.index(40) };
        let nodes = (0..ranks).map(|me| {
            let config = Config {
                me,
                ranks,
                key: key(),
                frame_max: *rails.iter().max().expect("there are rails"),
                sending: slots,
                holding: slots,
                rails: (0..rails.len())
                    .map(|rail| Rail {
                        grade: [Grade::Quick, Grade::Bulk, if stands_in { Grade::QuickEnough } else { Grade::Bulk }]
                            [rail],
                        nic: if stands_in { 0 } else { rail as u8 / 2 },
                        checked: checked[rail],
                        lossless: lossless[rail],
                        reserved: rail == 2,
                    })
                    .collect(),
            };
            let mut endpoint = Endpoint::new(config, seed.wrapping_add(life << 32));
            let rooms: Vec<u32> =
                rails.iter().map(|_| if bulk { 2000 } else { dice.one_of(&[1, 8, 64, 500]) }).collect();
            rooms.iter().enumerate().for_each(|(rail, &room)| endpoint.set_room(rail, room));
            let plans = (0..ranks).map(|to| plan(&mut dice, me, to, traffic)).collect();
            Node {
                endpoint,
                rooms,
                plans,
                sent: vec![0; ranks as usize],
                came: vec![0; ranks as usize],
                early: BTreeSet::new(),
                socket: VecDeque::new(),
                socket_room: if bulk { 4000 } else { dice.one_of(&[50, 1000]) },
                busy_until_ns: 0,
                next_ns: 0,
                forgot: BTreeSet::new(),
                deaths: Vec::new(),
                dead: false,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let mut network = Network::new(seed, 30 * US);
        let places = (0..nodes.len() * rails.len()).filter(|place| !checked[place % rails.len()]);
        places.for_each(|place| network.sum(place, HEADER));
        World {
            seed,
            network,
            monitor: Monitor::default(),
            strangers: Strangers::default(),
            dice,
            nodes,
            rails,
            checked,
            down: None,
            slots,
        }
    }

    fn ranks(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn open(&mut self, from: u32, to: u32) {
        // Each end thinks that its rails take the longest frames of all; only some do.
        let frame = self.nodes[from as usize].endpoint.frame_max();
        for rail in 0..self.rails.len() as u8 {
            self.nodes[from as usize].endpoint.open(to, Route { ours: rail, theirs: rail, flow: 0 }, frame);
        }
    }

    /// Node `me` takes what came, sends what it can, and says when it looks again.
    fn work(&mut self, me: u32) {
        let now_ns = self.network.now_ns();
        let node = &mut self.nodes[me as usize];
        while let Some(at) = node.deaths.iter().position(|&(at_ns, _)| at_ns <= now_ns) {
            let (_, dead) = node.deaths.swap_remove(at);
            node.endpoint.forget(dead);
            node.forgot.insert(dead);
            let count = self.rails.len();
            let place = |rank: u32, rail: usize| rank as usize * count + rail;
            (0..count).for_each(|rail| self.monitor.forgotten((place(dead, rail), place(me, rail))));
        }
        while let Some(arrival) = self.nodes[me as usize].socket.pop_front() {
            self.receive(&arrival, false);
        }
        let mut goes_on = false;
        for to in (0..self.ranks()).filter(|&to| to != me) {
            goes_on |= self.send(me, to);
        }
        if self.dice.one_in(8) {
            self.nodes[me as usize].endpoint.acknowledge();
        }
        self.monitor.begin();
        let World { network, monitor, strangers, dice, nodes, rails, checked, down, .. } = self;
        let node = &mut nodes[me as usize];
        let mut cable = Cable { network, monitor, strangers, dice, me, rails, checked, down: *down };
        node.endpoint.transmit(now_ns, &mut cable);
        for (rail, &room) in node.rooms.iter().enumerate() {
            monitor.check(me as usize * rails.len() + rail, room);
        }
        // Whoever has sent all, or was refused, looks again when something comes or is due.
        let tick_ns = if goes_on { now_ns + 20 * US + dice.below(TICK_NS) } else { u64::MAX };
        let due_ns = node.endpoint.deadline_ns().unwrap_or(u64::MAX).max(now_ns + 10 * US);
        let words = node.deaths.iter().map(|&(at_ns, _)| at_ns).min().unwrap_or(u64::MAX);
        node.next_ns = due_ns.min(words).min(tick_ns).max(node.busy_until_ns);
    }

    /// Some of what `me` has for `to`. Whether it has more, which is not refused.
    fn send(&mut self, me: u32, to: u32) -> bool {
        let node = &mut self.nodes[me as usize];
        if node.forgot.contains(&to) || node.plans[to as usize].is_empty() {
            return false;
        }
        if !node.endpoint.is_connected(to) {
            self.open(me, to);
        }
        let node = &mut self.nodes[me as usize];
        for _ in 0..self.dice.index(6) {
            let Some(&total) = node.plans[to as usize].front() else { return false };
            let n = node.sent[to as usize];
            let fill = |at: usize, into: &mut [u8]| {
                into.iter_mut().enumerate().for_each(|(i, b)| *b = byte(me, to, n, at + i, total));
            };
            if node.endpoint.send(to, (n % 5) as u8, total, class(n, total), fill).is_err() {
                return false;
            }
            node.plans[to as usize].pop_front();
            node.sent[to as usize] += 1;
        }
        true
    }

    /// A frame reaches its endpoint. `strange`: it must not do anything.
    fn receive(&mut self, arrival: &Arrival, strange: bool) {
        let &Arrival { from, to, ref bytes } = arrival;
        let (me, rail) = (to / self.rails.len(), (to % self.rails.len()) as u8);
        let World { seed, network, nodes, monitor, .. } = self;
        let Node { endpoint, came, early, forgot, .. } = &mut nodes[me];
        let mut deliver = |from: u32, channel: u8, mut message: Message<'_>| {
            assert!(!forgot.contains(&from), "seed {seed}: a message of one who was forgotten");
            let next = came[from as usize];
            let mut whole = Vec::new();
            let total = message.len();
            while let Some(piece) = message.next(1000) {
                whole.extend_from_slice(piece);
            }
            assert_eq!(whole.len(), total, "seed {seed}");
            let n = if total < NUMBERED { next } else { u64::from_le_bytes(*whole.first_chunk().unwrap()) };
            let right = whole.iter().enumerate().all(|(i, &b)| b == byte(from, me as u32, n, i, total));
            assert!(right && u64::from(channel) == n % 5, "seed {seed}: {n} of {from} to {me} is not what it was");
            // In order, or early if that was allowed; and once.
            assert!(
                n == next || n > next && class(n, total) == Class::Placed,
                "seed {seed}: {n} of {from} came for {next}"
            );
            assert!(early.insert((from, n)), "seed {seed}: {n} of {from} came twice");
            while early.remove(&(from, came[from as usize])) {
                came[from as usize] += 1;
            }
        };
        let result = endpoint.handle_frame(rail, bytes, network.now_ns(), &mut deliver);
        assert!(!strange || result.is_err(), "seed {seed}: {me} took what a stranger sent");
        monitor.heard((from, to), bytes, result);
    }

    fn run(&mut self, until_ns: u64) {
        while self.network.now_ns() < until_ns && !self.is_done() {
            self.step(until_ns);
        }
    }

    fn step(&mut self, until_ns: u64) {
        for me in 0..self.ranks() {
            let node = &self.nodes[me as usize];
            if !node.dead && node.next_ns.max(node.busy_until_ns) <= self.network.now_ns() {
                self.work(me);
            }
        }
        let awake = self.nodes.iter().filter(|node| !node.dead);
        let next = awake.map(|node| node.next_ns.max(node.busy_until_ns)).min().unwrap_or(until_ns);
        let now_ns = self.network.now_ns();
        let next = next.min(self.network.next_at_ns().unwrap_or(u64::MAX)).clamp(now_ns + 1, until_ns.max(now_ns + 1));
        while let Some(arrival) = self.network.next(next) {
            let node = &mut self.nodes[arrival.to / self.rails.len()];
            if node.socket.len() < node.socket_room {
                node.socket.push_back(arrival);
            }
            node.next_ns = 0;
        }
    }

    fn is_done(&self) -> bool {
        self.nodes.iter().filter(|node| !node.dead).all(|node| !node.has_plans() && node.endpoint.is_quiet())
    }

    fn disturb(&mut self) {
        let late_ns = self.dice.one_of(&[200 * US, 200 * US, 20 * MS]);
        let mut chance = |chances: &[u32]| self.dice.one_of(chances);
        let faults = Faults {
            lose: chance(&[0, 0, 10, 100, 300]),
            double: chance(&[0, 0, 10, 100, 500]),
            reorder: chance(&[0, 0, 10, 100, 300]),
            late_ns,
            corrupt: chance(&[0, 0, 10, 100, 300]),
            cut: chance(&[0, 0, 10, 100]),
        };
        self.network.set_faults(faults);
        self.partition();
        let (someone, busy_ns) = (self.dice.index(self.nodes.len()), self.dice.below(40) * MS);
        let long_ns = self.dice.one_of(&[0, 0, 0, 0, 0, 0, 0, 0, 3_000 * MS, 60_000 * MS]);
        self.nodes[someone].busy_until_ns = self.network.now_ns() + busy_ns + long_ns;
        if self.dice.per_mille(40) {
            self.die();
        }
    }

    /// One direction carries nothing, or does again: of a wire, of all wires between two, of all that one sends.
    fn partition(&mut self) {
        let places = self.nodes.len() * self.rails.len();
        let (from, to, cut) = (self.dice.index(places), self.dice.index(places), self.dice.per_mille(300));
        let whole = self.dice.below(3);
        let rank = |place: usize| place / self.rails.len();
        for (a, b) in (0..places * places).map(|pair| (pair / places, pair % places)) {
            let in_it = match whole {
                0 => (a, b) == (from, to),
                1 => (rank(a), rank(b)) == (rank(from), rank(to)),
                _ => rank(a) == rank(from),
            };
            if in_it {
                self.network.sever(a, b, cut);
            }
        }
    }

    /// One dies, and takes nothing and says nothing any more. The others are told by their agents, each in its time.
    fn die(&mut self) {
        let dead = self.dice.index(self.nodes.len());
        if self.nodes.iter().filter(|node| !node.dead).count() == 1 || self.nodes[dead].dead {
            return;
        }
        self.nodes[dead].dead = true;
        let (now_ns, late_ns) = (self.network.now_ns(), self.dice.one_of(&[1, 50, 3_000]) * MS);
        for node in self.nodes.iter_mut().filter(|node| !node.dead) {
            let at_ns = now_ns + self.dice.below(late_ns);
            node.deaths.push((at_ns, dead as u32));
            node.next_ns = node.next_ns.min(at_ns);
        }
    }

    /// Frames that are none of this world's reach whoever looks at its socket now.
    fn be_strange(&mut self) {
        for _ in 0..self.dice.below(8) {
            let rails = self.rails.len();
            if let Some(old) = self.strangers.repeated(&mut self.dice) {
                self.network.send(old.from, old.to, &old.bytes);
            }
            let tag =
                |frame: &Arrival| (key(), Ends { from: (frame.from / rails) as u32, to: (frame.to / rails) as u32 });
            if let Some(strange) = self.strangers.strange(&mut self.dice, tag, &self.monitor)
                && !self.nodes[strange.to / rails].dead
            {
                self.receive(&strange, true);
            }
        }
    }

    /// One rail of all is gone: their wires refuse its frames, or take them and they are lost.
    fn lose_rail(&mut self, rail: u8, refused: bool) {
        self.down = refused.then_some(rail);
        let (ranks, rails) = (self.nodes.len(), self.rails.len());
        let of = |rank| rank * rails + usize::from(rail);
        let pairs = (0..ranks * ranks).map(|pair| (pair / ranks, pair % ranks));
        pairs.for_each(|(from, to)| self.network.sever(of(from), of(to), true));
    }

    fn heal(&mut self) {
        self.down = None;
        self.network.set_faults(Faults::default());
        let places = self.nodes.len() * self.rails.len();
        (0..places * places).for_each(|pair| self.network.sever(pair / places, pair % places, false));
    }

    /// Until all is done, or for so long after all have come back to their calls.
    fn run_for(&mut self, ns: u64) {
        let busy = self.nodes.iter().filter(|node| !node.dead).map(|node| node.busy_until_ns);
        let until = busy.max().unwrap_or(0).max(self.network.now_ns()) + ns;
        self.run(until);
        assert!(self.is_done(), "seed {}: not all has arrived {ns} ns after the last fault", self.seed);
    }

    fn check(&self) {
        let seed = self.seed;
        for (me, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.dead) {
            for (from, other) in self.nodes.iter().enumerate().filter(|(from, other)| *from != me && !other.dead) {
                assert_eq!(node.came[from], other.sent[me], "seed {seed}: messages of {from} that came to {me}");
            }
            let back = node.endpoint.left();
            assert_eq!(back, (self.slots, self.slots), "seed {seed}: memory of {me} that came back");
        }
    }
}

/// Who sends what.
#[derive(Clone, Copy, PartialEq)]
enum Traffic {
    /// Messages of all lengths to everybody, or very many envelopes.
    Mixed,
    /// Long ones to one of them, little to others.
    Incast,
    /// More than three windows from one to another.
    Bulk,
}

/// Lengths of what `me` sends to `to`.
fn plan(dice: &mut Dice, me: u32, to: u32, traffic: Traffic) -> VecDeque<usize> {
    let (messages, longest): (usize, &[usize]) = match traffic {
        _ if me == to => (0, &[1]),
        Traffic::Bulk if (me, to) == (0, 1) => (300, &[17_000]),
        Traffic::Incast if to == 0 => (20, &[17_000, 17_000, 1000]),
        Traffic::Incast => (dice.index(3), &[100]),
        _ if dice.one_in(40) => (400, &[1]),
        _ => (dice.one_of(&[0, 5, 10, 20, 60]), &[1, 100, 1000, 1000, 17_000]),
    };
    let mut length = || {
        let most = dice.one_of(longest);
        dice.index(most)
    };
    (0..messages).map(|_| length()).collect()
}

impl Node {
    /// There is something to be sent, or to be told of.
    fn has_plans(&self) -> bool {
        let plans = self.plans.iter().enumerate();
        let mut left = plans.filter(|&(to, plan)| !plan.is_empty() && !self.forgot.contains(&(to as u32)));
        left.next().is_some() || !self.deaths.is_empty()
    }
}

/// P3, P5, P7, P8, P20 to P23, and all others together. What was dropped on the way.
pub fn run(seed: u64) -> Drops {
    let bulk = seed.is_multiple_of(100);
    let mut world = World::new(seed, 1, bulk);
    if seed.is_multiple_of(4) && !bulk {
        let mut past = World::new(seed, 0, false);
        past.run(2 * MS);
        world.strangers.remember(past.strangers);
    }
    let phases = 1 + world.dice.below(6);
    for _ in 0..phases {
        world.disturb();
        let length_ns = world.dice.below(60) * MS + world.dice.one_of(&[0, 0, 0, 0, 0, 0, 0, 4_000]) * MS;
        let until = world.network.now_ns() + length_ns;
        world.run(until);
        world.be_strange();
    }
    world.heal();
    world.run_for(PATIENCE_NS);
    for (me, node) in world.nodes.iter_mut().enumerate() {
        let others = node.plans.iter_mut().enumerate().filter(|&(to, _)| to != me);
        others.for_each(|(_, plan)| plan.extend([7; LAST]));
        node.next_ns = 0;
    }
    world.run_for(CALM_NS);
    world.check();
    let mut drops = Drops::default();
    for node in &world.nodes {
        drops.iter_mut().zip(node.endpoint.drops()).for_each(|(all, one)| *all += one);
    }
    drops
}

/// P24: a rail that is gone costs little, and is used again when it is back.
pub fn outage(seed: u64) {
    let mut world = World::new(seed, 1, false);
    if world.rails.len() == 1 {
        return;
    }
    // Where rails carry less than their ends think, what was cut for the longest of them must go by shorter ones, which open
    // later.
    let is_even = world.dice.one_in(2);
    if is_even {
        let longest = world.nodes[0].endpoint.frame_max();
        world.rails.fill(longest);
    }
    let patience_ns = OUTAGE_NS + if is_even { 0 } else { OPENING_NS };
    let before_ns = world.dice.below(5) * MS;
    world.run(before_ns);
    let (rail, refused) = (world.dice.index(world.rails.len()) as u8, world.dice.one_in(2));
    world.lose_rail(rail, refused);
    world.run(world.network.now_ns() + patience_ns);
    assert!(world.is_done(), "seed {seed}: without rail {rail} ({refused}) of {:?} not all has arrived", world.rails);
    world.check();
    // It is asked for ever, and answers when it is back: then nobody waits for anything.
    world.heal();
    let until_ns = world.network.now_ns() + patience_ns;
    while world.network.now_ns() < until_ns {
        world.step(until_ns);
    }
    let waits = world.nodes.iter().any(|node| node.endpoint.deadline_ns().is_some());
    assert!(!waits, "seed {seed}: rail {rail} ({refused}) is back and still waited for");
}

/// Reasons that were not met.
pub fn unmet(drops: &Drops) -> Vec<Dropped> {
    Dropped::ALL.into_iter().filter(|&reason| drops[reason as usize] == 0).collect()
}
