//! Paths between three nodes over a network that loses, duplicates, reorders, changes, cuts and severs: every number's
//! content reaches its peer or is returned, nothing is taken twice, and once the faults end all of it arrives. Where
//! one side alone sends, the round trip that it measures is a true one.

use hawser_link::ack::{self, ACK_MAX};
use hawser_link::endpoint::Drops;
use hawser_link::frame::{Cover, Dropped, Ends, Flags, Frame, Head, Key, Kind};
use hawser_link::path::{Due, Numbers, Path, Word};
use hawser_link::pool::{Pool, Queue};
use hawser_link::room::Room;
use hawser_link::rtt::ACK_DELAY_NS;
use hawser_link::{Seq, WINDOW};
use hawser_sim::{Arrival, Dice, Faults, Network};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const NODES: usize = 3;
/// Bytes of a content's number.
const CONTENT: usize = 4;
/// Frames that each side has room for: never the limit here.
const ROOM: u16 = 2 * WINDOW as u16;
const MS: u64 = 1_000_000;
/// The time that a path may take for the rest once its faults have ended, in ns: the longest back-off, then all of it.
const PATIENCE_NS: u64 = 20_000 * MS;
/// The latency from one node to another without faults, in ns.
const LATENCY_NS: u64 = 30_000;
/// The longest valid round trip where one side alone sends and nothing is late, in ns: an acknowledgement is delayed.
const ROUND_TRIP_NS: u64 = 2 * LATENCY_NS + ACK_DELAY_NS + 10_000;

/// One node's end of a path.
struct End {
    path: Path,
    /// Frames in flight: contents.
    pool: Pool,
    room: Room,
    /// Contents to be sent, and lost ones to be retransmitted.
    waiting: VecDeque<u32>,
    /// The contents that the peer has acknowledged, and those of the peer that were taken.
    settled: BTreeSet<u32>,
    taken: BTreeSet<u32>,
    /// The numbers that were taken.
    numbers: BTreeSet<u32>,
}

impl End {
    fn new(path: Path, contents: u32) -> End {
        let none = BTreeSet::new;
        let pool = Pool::new(WINDOW as usize, CONTENT);
        End {
            path,
            pool,
            room: Room::new(u32::from(ROOM)),
            waiting: (0..contents).collect(),
            settled: none(),
            taken: none(),
            numbers: none(),
        }
    }

    /// Returns the contents of frames that are no longer in flight.
    fn take_back(&mut self, queue: Queue) -> Vec<u32> {
        let content = |slot| u32::from_le_bytes(self.pool.frame(slot).try_into().unwrap());
        let contents = self.pool.each(&queue).map(content).collect();
        self.pool.give_all(queue);
        contents
    }
}

struct World {
    seed: u64,
    network: Network,
    dice: Dice,
    ends: BTreeMap<(usize, usize), End>,
    /// The most frames in flight.
    burst: u32,
    /// Node 0 alone has something to send, and nothing arrives late.
    one_way: bool,
    dropped: Drops,
}

fn first(node: usize, peer: usize) -> Seq {
    // Some pairs' numbers wrap.
    Seq(u32::MAX - 2020) + 1000 * (node * NODES + peer) as u32
}

fn key() -> Key {
    Key::new([7; 16])
}

/// A content's bytes, unlike any other's.
fn bytes_of(content: u32) -> Vec<u8> {
    let len = Dice::new(u64::from(content)).below(200) as usize;
    [content.to_le_bytes().to_vec(), (0..len).map(|i| (content as usize + 3 * i) as u8).collect()].concat()
}

impl World {
    fn new(seed: u64, contents: u32) -> World {
        let mut dice = Dice::new(!seed);
        let one_way = dice.one_in(8);
        let mut ends = BTreeMap::new();
        for node in 0..NODES {
            for peer in (0..NODES).filter(|&peer| peer != node) {
                let path = Path::new(first(node, peer), first(peer, node), ROOM);
                ends.insert((node, peer), End::new(path, if one_way && node > 0 { 0 } else { contents }));
            }
        }
        let burst = if contents > WINDOW { WINDOW } else { dice.one_of(&[10, 40, 200, WINDOW]) };
        let network = Network::new(seed, LATENCY_NS);
        World { seed, network, dice, ends, burst, one_way, dropped: Drops::default() }
    }

    fn write(&mut self, from: usize, to: usize, kind: Kind, flags: Flags, numbers: Numbers, payload: &[u8]) {
        let Numbers { sequence, open, expected } = numbers;
        let head = Head { kind, flags, path: to as u32, sequence, expected, credit: ROOM, open };
        let ends = Ends { from: from as u32, to: to as u32 };
        let header = head.write(&key(), ends, payload, Cover::All);
        self.network.send(from, to, &[&header, payload].concat());
    }

    fn transmit(&mut self, at: (usize, usize), content: u32) {
        let now_ns = self.network.now_ns();
        let End { path, pool, .. } = self.ends.get_mut(&at).unwrap();
        let numbers = path.numbers(0);
        let slot = pool.take(CONTENT).unwrap();
        pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
        path.sent(pool, slot, now_ns);
        self.write(at.0, at.1, Kind::Data, Flags::default(), numbers, &bytes_of(content));
    }

    fn ask(&mut self, at: (usize, usize)) {
        let now_ns = self.network.now_ns();
        let End { path, pool, .. } = self.ends.get_mut(&at).unwrap();
        let numbers = path.numbers(0);
        path.asked(pool, now_ns);
        self.write(at.0, at.1, Kind::Data, Flags::ASK, numbers, &[]);
    }

    /// Lets a node do everything that it can do now.
    fn work(&mut self, at: (usize, usize)) {
        let now_ns = self.network.now_ns();
        let end = self.ends.get_mut(&at).unwrap();
        match end.path.handle_timeout(&end.pool, now_ns) {
            Due::Probe if end.path.may_ask() => self.ask(at),
            Due::Timeout(lost) => {
                let lost = end.take_back(lost);
                end.waiting.extend(lost);
            }
            _ => {}
        }
        let burst = self.dice.one_of(&[0, 1, 8, 40, 40, self.burst]);
        while let end = self.ends.get_mut(&at).unwrap()
            && end.path.room() > 0
            && end.path.under_way() < burst
            && let Some(content) = end.waiting.pop_front()
        {
            self.transmit(at, content);
        }
        if let Some(reply) = self.ends.get_mut(&at).unwrap().path.poll_reply(now_ns) {
            let mut payload = [0; ACK_MAX];
            let len = ack::write(&reply.ack, &mut payload);
            let numbers = Numbers { sequence: Seq(0), open: 0, expected: reply.ack.expected };
            self.write(at.0, at.1, Kind::Ack, reply.flags, numbers, &payload[..len]);
        }
    }

    fn receive(&mut self, arrival: &Arrival) {
        let (seed, from, to) = (self.seed, arrival.from, arrival.to);
        let mut came = Vec::new();
        if let Err(reason) = self.try_receive(arrival, &mut came) {
            self.dropped[reason as usize] += 1;
        }
        if self.one_way {
            let measured_ns = self.ends[&(to, from)].path.round_trip_ns();
            assert!(measured_ns <= ROUND_TRIP_NS, "seed {seed}: a round trip of {measured_ns} ns");
        }
        for content in came {
            assert!(
                self.ends[&(from, to)].taken.contains(&content),
                "seed {seed}: {content} of {to} was acknowledged by {from}, who has it not"
            );
            self.ends.get_mut(&(to, from)).unwrap().settled.insert(content);
        }
    }

    /// Takes a frame; `came` gets the contents that it acknowledges.
    fn try_receive(&mut self, arrival: &Arrival, came: &mut Vec<u32>) -> Result<(), Dropped> {
        let &Arrival { from, to, ref bytes } = arrival;
        let (seed, now_ns) = (self.seed, self.network.now_ns());
        let (head, payload) = Frame::of(bytes)?.check(&key(), Ends { from: from as u32, to: to as u32 })?;
        let end = self.ends.get_mut(&(to, from)).unwrap();
        let word = Word { expected: head.expected, credit: head.credit, stop: false };
        match head.kind {
            Kind::Ack => {
                let ack = ack::read(head.expected, payload)?;
                let fates = end.path.handle_ack(&mut end.pool, &ack, &word, now_ns)?;
                came.extend(end.take_back(fates.came));
                let lost = end.take_back(fates.lost);
                end.waiting.extend(lost);
                Ok(())
            }
            _ => {
                let settled = end.path.handle_word(&mut end.pool, &word, now_ns)?;
                came.extend(end.take_back(settled));
                end.path.handle_numbered(&mut end.room, head.sequence, head.open, head.flags, now_ns)?;
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
            let next = deadlines.chain(self.network.next_at_ns()).min().unwrap_or(until_ns);
            // Also when nothing is due: a burst of none may have been rolled.
            let next = next.max(self.network.now_ns() + 1).min(self.network.now_ns() + MS).min(until_ns);
            if let Some(arrival) = self.network.next(next) {
                self.receive(&arrival);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.ends.values().all(|end| end.waiting.is_empty() && end.path.under_way() == 0)
    }

    fn disturb(&mut self) {
        let late_ns = if self.one_way { 0 } else { self.dice.one_of(&[200_000, 200_000, 20 * MS]) };
        let mut chance = |most: u32| self.dice.one_of(&[0, 0, 10, 100, most]);
        let faults = Faults {
            lose: chance(300),
            double: chance(500),
            reorder: chance(300),
            late_ns,
            corrupt: chance(300),
            cut: chance(100),
        };
        self.network.set_faults(faults);
        let (from, to) = (self.dice.index(NODES), self.dice.index(NODES));
        let cut = self.dice.per_mille(300);
        self.network.sever(from, to, cut);
    }

    fn heal(&mut self) {
        self.network.set_faults(Faults::default());
        (0..NODES * NODES).for_each(|pair| self.network.sever(pair / NODES, pair % NODES, false));
    }
}

/// P4, P10 to P18 together. P18: a severed path continues when it is joined. Returns the dropped frames by reason.
pub fn run(seed: u64) -> Drops {
    let contents = 20 + Dice::new(seed).below(if seed.is_multiple_of(100) { 3000 } else { 200 }) as u32;
    let mut world = World::new(seed, contents);
    let phases = 1 + world.dice.below(6);
    for _ in 0..phases {
        world.disturb();
        let length_ns = world.dice.below(60) * MS;
        let until = world.network.now_ns() + length_ns;
        world.run(until);
    }
    world.heal();
    let until = world.network.now_ns() + PATIENCE_NS;
    world.run(until);
    assert!(world.is_done(), "seed {seed}: not all has arrived {PATIENCE_NS} ns after the last fault");
    for (&(node, peer), end) in &world.ends {
        let of = |sender: usize| (0..if world.one_way && sender > 0 { 0 } else { contents }).collect::<BTreeSet<_>>();
        assert!(end.taken == of(peer), "seed {seed}: {node} has not all of {peer}'s");
        assert!(end.settled == of(node), "seed {seed}: {node} does not know that {peer} has all");
    }
    world.dropped
}
