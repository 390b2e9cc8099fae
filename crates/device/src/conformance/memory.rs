//! The contract in the plainest code: devices of several ranks in one memory, whose deaths are simulated. The suite is
//! checked against it, its promises about many peers and about peers that die too, with no system beneath.

use super::{
    Net, a_peer_dies, a_peer_dies_while_it_is_polled, a_peer_that_nobody_spoke_to_dies, lanes_are_independent,
    many_to_one, soak, talkers_take_turns, wire,
};
use crate::View;
use crate::{Delivery, Device, Header, Limits, Pieces, Port, Refusal, Source};
use hawser_base::{Lane, Peer, SharedMem};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Packets that wait from one rank to another at most; control may use twice as many places.
const QUEUE: usize = 32;
const PACKET: usize = 8 << 10;

type Queue = VecDeque<(Header, Vec<u8>)>;

/// What all ranks see.
#[derive(Default)]
struct Host {
    /// By lane, sender and receiver.
    queues: HashMap<(u8, Peer, Peer), Queue>,
    dead: HashSet<Peer>,
}

struct Memory {
    me: Peer,
    ranks: u32,
    host: Arc<Mutex<Host>>,
}

struct MemoryPort {
    me: Peer,
    ranks: u32,
    lane: u8,
    host: Arc<Mutex<Host>>,
    /// Whose loss was reported.
    lost: HashSet<Peer>,
}

impl Device for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn reaches(&self, peer: Peer) -> bool {
        peer.0 < self.ranks
    }

    fn limits(&self) -> Limits {
        Limits { short: 100, packet: PACKET, pieces: Pieces::Pages(|_| PACKET), eager: PACKET, read_from: None }
    }

    fn port(&self, lane: Lane) -> Box<dyn Port> {
        let (me, ranks, host) = (self.me, self.ranks, self.host.clone());
        Box::new(MemoryPort { me, ranks, lane: lane.0, host, lost: HashSet::new() })
    }
}

impl MemoryPort {
    fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap()
    }
}

impl Port for MemoryPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        let mut host = self.host();
        if host.dead.contains(&to) || host.dead.contains(&self.me) {
            return Err(Refusal::Lost);
        }
        let queue = host.queues.entry((self.lane, self.me, to)).or_default();
        if queue.len() >= if let Source::None = source { 2 * QUEUE } else { QUEUE } {
            return Err(Refusal::Full);
        }
        let mut bytes = prefix.to_vec();
        bytes.resize(prefix.len() + source.len(), 0);
        match source {
            Source::None => {}
            Source::Mem(mem) => mem.read(&mut bytes[prefix.len()..]),
            Source::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[prefix.len()..])),
        }
        queue.push_back((header, bytes));
        Ok(())
    }

    fn has_room(&mut self, to: Peer, _len: usize) -> bool {
        let host = self.host();
        !host.dead.contains(&to) && host.queues.get(&(self.lane, self.me, to)).is_none_or(|queue| queue.len() < QUEUE)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        // All that waits, and the word of a death behind it.
        let ranks = self.ranks;
        let of_one = |from| (0..=2 * QUEUE).take_while(|_| self.poll_from(Peer(from), delivery)).count();
        (0..ranks).map(of_one).sum()
    }

    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let mut host = self.host();
        let packet = host.queues.get_mut(&(self.lane, from, self.me)).and_then(Queue::pop_front);
        let is_dead = host.dead.contains(&from);
        drop(host);
        let Some((header, mut bytes)) = packet else {
            if is_dead && self.lost.insert(from) {
                delivery.lost(from);
            }
            return false;
        };
        delivery.deliver(from, header, &mut View { bytes: &mut bytes, at: 0 });
        true
    }
}

fn net(ranks: u32) -> Net {
    let host = Arc::new(Mutex::new(Host::default()));
    let device = |rank| -> Arc<dyn Device> { Arc::new(Memory { me: Peer(rank), ranks, host: host.clone() }) };
    let devices = (0..ranks).map(device).collect();
    let kill = move |rank| {
        host.lock().unwrap().dead.insert(Peer(rank as u32));
    };
    Net { devices, kill: Box::new(kill) }
}

#[test]
fn one_rank_or_two_keep_the_promises_of_a_wire() {
    wire(|| net(1));
    wire(|| net(2));
}

#[test]
fn many_ranks_keep_the_promises_to_many() {
    many_to_one(&net(9), 500);
    talkers_take_turns(&net(9), 50);
    lanes_are_independent(&net(2), 5000);
    soak(&net(2), 5000, 20_261_122);
}

#[test]
fn a_death_is_reported_once_and_after_the_last_packet() {
    a_peer_dies(|| net(3));
    a_peer_dies_while_it_is_polled(|| net(3));
    a_peer_that_nobody_spoke_to_dies(|| net(3));
}
