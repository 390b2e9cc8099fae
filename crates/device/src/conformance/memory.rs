//! The contract in the simplest code: devices of several ranks in one memory, whose deaths are simulated. The suite is
//! checked against it, including its promises about many peers and about peers that die, with no system beneath.
//! Operations on a peer's memory are carried out when the owner's device works, so that some are in flight during the
//! tests.

use super::{
    Memory as Maker, Net, a_peer_dies, a_peer_dies_while_it_is_polled, a_peer_dies_with_operations_in_flight,
    a_peer_that_nobody_spoke_to_dies, lanes_are_independent, many_to_one, remote, soak, talkers_take_turns, wire,
    words,
};
use crate::registry::{Registry, within};
use crate::remote::{Atomic, Atomics, Bytes, Capabilities, Fault, Registration, RemoteKey, Taken, Ticket};
use crate::{Delivery, Device, Header, Limits, Pieces, Port, Refusal, Source, View};
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// The most packets that wait from one rank to another; control may use twice as many places.
const QUEUE: usize = 32;
const PACKET: usize = 8 << 10;

type Queue = VecDeque<(Header, Vec<u8>)>;

/// Operations of a lane that may be in flight to one peer.
const IN_FLIGHT: usize = 16;

/// The device has no packed writes, and only atomics of eight bytes, like its owner's instructions.
const CAPABILITIES: Capabilities = Capabilities {
    write: 200_000,
    read: 100_000,
    atomics_8: Atomics::ALL,
    in_flight: IN_FLIGHT,
    needs_peer: true,
    ..Capabilities::NONE
};

/// An operation that its owner must carry out.
struct Asked {
    from: Peer,
    lane: u8,
    ticket: Ticket,
    key: RemoteKey,
    at: u64,
    work: Work,
}

enum Work {
    Write(UserMem<'static>),
    Read(UserMem<'static>),
    Atomic(Atomic),
    Flush,
}

impl Asked {
    fn carry_out(&self, registry: &Registry) -> Result<u64, Fault> {
        match self.work {
            Work::Write(from) => registry.with(&self.key, self.at, from.len(), |mem| mem.copy_from(from))?,
            Work::Read(into) => registry.with(&self.key, self.at, into.len(), |mem| into.copy_from(mem))?,
            Work::Atomic(atomic) => {
                let found = registry.with(&self.key, self.at, atomic.width.bytes(), |mem| atomic.update(mem))?;
                return found.ok_or(Fault::Unsupported);
            }
            Work::Flush => {}
        }
        Ok(0)
    }
}

type Ended = (Peer, Ticket, Result<u64, Fault>);

/// The state that all ranks share.
#[derive(Default)]
struct Host {
    /// Packets by lane, sender and receiver.
    queues: HashMap<(u8, Peer, Peer), Queue>,
    dead: HashSet<Peer>,
    /// Requested operations by owner.
    asked: HashMap<Peer, VecDeque<Asked>>,
    /// Ended operations by lane and requester: the owner, the ticket, the outcome.
    ended: HashMap<(u8, Peer), VecDeque<Ended>>,
}

impl Host {
    /// Counts operations of a lane at an owner whose ends were not reported to the lane.
    fn in_flight(&self, lane: u8, from: Peer, to: Peer) -> usize {
        let asked = self.asked.get(&to).into_iter().flatten().filter(|asked| (asked.lane, asked.from) == (lane, from));
        let ended = self.ended.get(&(lane, from)).into_iter().flatten().filter(|ended| ended.0 == to);
        asked.count() + ended.count()
    }

    fn end(&mut self, owner: Peer, asked: &Asked, outcome: Result<u64, Fault>) {
        self.ended.entry((asked.lane, asked.from)).or_default().push_back((owner, asked.ticket, outcome));
    }
}

struct Memory {
    me: Peer,
    ranks: u32,
    host: Arc<Mutex<Host>>,
    registry: Arc<Registry>,
}

struct MemoryPort {
    me: Peer,
    ranks: u32,
    lane: u8,
    host: Arc<Mutex<Host>>,
    /// The peers whose loss was reported.
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

    fn flush(&self) -> bool {
        let mut host = self.host.lock().unwrap();
        while let Some(asked) = host.asked.get_mut(&self.me).and_then(VecDeque::pop_front) {
            let outcome = asked.carry_out(&self.registry);
            host.end(self.me, &asked, outcome);
        }
        true
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        Some(self.registry.register(mem, CAPABILITIES))
    }
}

impl MemoryPort {
    fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap()
    }

    fn ask(&mut self, to: Peer, asked: Asked) -> Result<Taken, Fault> {
        let mut host = self.host();
        if host.dead.contains(&to) {
            return Err(Fault::Lost);
        }
        if host.in_flight(self.lane, self.me, to) >= IN_FLIGHT {
            return Err(Fault::Full);
        }
        host.asked.entry(to).or_default().push_back(asked);
        Ok(Taken::InFlight)
    }

    fn asked(&self, key: &RemoteKey, at: u64, ticket: Ticket, work: Work) -> Asked {
        Asked { from: self.me, lane: self.lane, ticket, key: *key, at, work }
    }

    /// Reports ended operations; all operations at dead owners have ended.
    fn tell(&mut self, delivery: &mut dyn Delivery) {
        let mut host = self.host();
        let dead: Vec<Peer> = host.dead.iter().copied().collect();
        for owner in dead {
            for asked in host.asked.remove(&owner).unwrap_or_default() {
                host.end(owner, &asked, Err(Fault::Lost));
            }
        }
        let ended = host.ended.remove(&(self.lane, self.me)).unwrap_or_default();
        drop(host);
        ended.into_iter().for_each(|(_, ticket, outcome)| delivery.done(ticket, outcome));
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

    fn reserve(&mut self, to: Peer, _len: usize) -> bool {
        let host = self.host();
        !host.dead.contains(&to) && host.queues.get(&(self.lane, self.me, to)).is_none_or(|queue| queue.len() < QUEUE)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        // Delivers all waiting packets, and the report of a death behind them.
        let ranks = self.ranks;
        let of_one = |from| (0..=2 * QUEUE).take_while(|_| self.poll_from(Peer(from), delivery)).count();
        (0..ranks).map(of_one).sum()
    }

    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.tell(delivery);
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

    fn write(&mut self, to: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, ticket: Ticket) -> Result<Taken, Fault> {
        let Bytes::Lent(mem) = source else { return Err(Fault::Unsupported) };
        if mem.len() > CAPABILITIES.write {
            return Err(Fault::Unsupported);
        }
        self.ask(to, self.asked(key, at, ticket, Work::Write(mem)))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: Ticket,
    ) -> Result<Taken, Fault> {
        within(at, into.len(), key.0[2])?;
        if into.len() > CAPABILITIES.read {
            return Err(Fault::Unsupported);
        }
        self.ask(from, self.asked(key, at, ticket, Work::Read(into)))
    }

    fn atomic(&mut self, to: Peer, key: &RemoteKey, at: u64, atomic: Atomic, ticket: Ticket) -> Result<Taken, Fault> {
        if !CAPABILITIES.atomics(atomic.width).has(atomic.update) {
            return Err(Fault::Unsupported);
        }
        self.ask(to, self.asked(key, at, ticket, Work::Atomic(atomic)))
    }

    fn flush(&mut self, to: Peer, ticket: Ticket) -> Result<Taken, Fault> {
        if self.host().in_flight(self.lane, self.me, to) == 0 {
            return Ok(Taken::Done(0));
        }
        self.ask(to, self.asked(&RemoteKey([0; 3]), 0, ticket, Work::Flush))
    }
}

fn ground(ranks: u32) -> (Net, Maker) {
    (net(ranks), Box::new(|_, len| words(len)))
}

fn net(ranks: u32) -> Net {
    let host = Arc::new(Mutex::new(Host::default()));
    let device = |rank: u32| -> Arc<dyn Device> {
        let registry = Registry::new(u64::from(rank));
        Arc::new(Memory { me: Peer(rank), ranks, host: host.clone(), registry })
    };
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

#[test]
fn memory_of_a_peer_is_worked_on_by_its_owner() {
    remote(|| ground(1));
    remote(|| ground(2));
    a_peer_dies_with_operations_in_flight(|| ground(3));
}
