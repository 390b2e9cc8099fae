//! The contract in the simplest code: devices of several ranks in one memory, whose deaths are simulated. The suite is
//! checked against it, including its promises about many peers and about peers that die, with no system beneath.
//! Operations on a peer's memory are carried out when the owner's device is flushed (`Device::flush`), so that some
//! are in flight during the tests.

use super::{
    MakeMemory as Maker, TestNet, a_peer_dies, a_peer_dies_while_it_is_polled, a_peer_dies_with_operations_in_flight,
    a_peer_that_nobody_spoke_to_dies, lanes_are_independent, many_to_one, remote, soak, talkers_take_turns, wire,
    words,
};
use crate::registry::{RegistrationTable, check_bounds};
use crate::remote::{
    AtomicOps, AtomicRequest, Capabilities, CompletionToken, Registration, RemoteError, RemoteKey, Submitted,
    WriteSource,
};
use crate::{Delivery, Device, DeviceLimits, DevicePort, Fragmentation, Header, PayloadSource, PayloadView, SendError};
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// The maximum number of packets that are queued from one rank to another in a lane; twice as many if the next packet
/// is a control packet, which has no payload.
const QUEUE: usize = 32;
const PACKET: usize = 8 << 10;

type Queue = VecDeque<(Header, Vec<u8>)>;

/// The maximum number of operations of a lane that are in flight to one peer.
const IN_FLIGHT: usize = 16;

/// The device has no packed writes. It has atomics of eight bytes only, which the owner carries out by its atomic
/// instructions.
const CAPABILITIES: Capabilities = Capabilities {
    write: 200_000,
    read: 100_000,
    atomics_8: AtomicOps::ALL,
    in_flight: IN_FLIGHT,
    needs_peer: true,
    ..Capabilities::NONE
};

/// An operation that the owner of the memory must carry out.
struct QueuedOp {
    from: Peer,
    lane: u8,
    token: CompletionToken,
    key: RemoteKey,
    at: u64,
    body: OpBody,
}

enum OpBody {
    Write(UserMem<'static>),
    Read(UserMem<'static>),
    Atomic(AtomicRequest),
    Flush,
}

impl QueuedOp {
    fn execute(&self, registry: &RegistrationTable) -> Result<u64, RemoteError> {
        match self.body {
            OpBody::Write(from) => registry.with(&self.key, self.at, from.len(), |mem| mem.copy_from(from))?,
            OpBody::Read(into) => registry.with(&self.key, self.at, into.len(), |mem| into.copy_from(mem))?,
            OpBody::Atomic(atomic) => {
                let found = registry.with(&self.key, self.at, atomic.width.bytes(), |mem| atomic.apply(mem))?;
                return found.ok_or(RemoteError::Unsupported);
            }
            OpBody::Flush => {}
        }
        Ok(0)
    }
}

type EndedOp = (Peer, CompletionToken, Result<u64, RemoteError>);

/// The state that all ranks share.
#[derive(Default)]
struct SharedState {
    /// Packets by lane, sender and receiver.
    queues: HashMap<(u8, Peer, Peer), Queue>,
    failed: HashSet<Peer>,
    /// Requested operations by owner.
    pending: HashMap<Peer, VecDeque<QueuedOp>>,
    /// Ended operations by lane and requester: the owner, the token, the outcome.
    completed: HashMap<(u8, Peer), VecDeque<EndedOp>>,
}

impl SharedState {
    /// Counts the operations of a lane on memory of `to` whose ends were not reported to the lane yet.
    fn in_flight(&self, lane: u8, from: Peer, to: Peer) -> usize {
        let pending =
            self.pending.get(&to).into_iter().flatten().filter(|asked| (asked.lane, asked.from) == (lane, from));
        let completed = self.completed.get(&(lane, from)).into_iter().flatten().filter(|ended| ended.0 == to);
        pending.count() + completed.count()
    }

    fn complete(&mut self, owner: Peer, op: &QueuedOp, outcome: Result<u64, RemoteError>) {
        self.completed.entry((op.lane, op.from)).or_default().push_back((owner, op.token, outcome));
    }
}

struct MemoryDevice {
    me: Peer,
    ranks: u32,
    shared: Arc<Mutex<SharedState>>,
    registry: Arc<RegistrationTable>,
}

struct MemoryPort {
    me: Peer,
    ranks: u32,
    lane: u8,
    shared: Arc<Mutex<SharedState>>,
    /// The peers whose failure was reported.
    reported: HashSet<Peer>,
}

impl Device for MemoryDevice {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn reaches(&self, peer: Peer) -> bool {
        peer.0 < self.ranks
    }

    fn limits(&self) -> DeviceLimits {
        DeviceLimits {
            short: 100,
            packet: PACKET,
            fragmentation: Fragmentation::Pages(|_| PACKET),
            eager: PACKET,
            zero_copy_from: None,
            stream_from: None,
            join_max: 0,
            remote_read_from: None,
            private_read_from: None,
            copy_trial_from: None,
        }
    }

    fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
        let (me, ranks, shared) = (self.me, self.ranks, self.shared.clone());
        Box::new(MemoryPort { me, ranks, lane: lane.0, shared, reported: HashSet::new() })
    }

    fn flush(&self) -> bool {
        let mut shared = self.shared.lock().unwrap();
        while let Some(op) = shared.pending.get_mut(&self.me).and_then(VecDeque::pop_front) {
            let outcome = op.execute(&self.registry);
            shared.complete(self.me, &op, outcome);
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
    fn shared(&self) -> MutexGuard<'_, SharedState> {
        self.shared.lock().unwrap()
    }

    fn enqueue(&mut self, to: Peer, op: QueuedOp) -> Result<Submitted, RemoteError> {
        let mut shared = self.shared();
        if shared.failed.contains(&to) {
            return Err(RemoteError::PeerFailed);
        }
        if shared.in_flight(self.lane, self.me, to) >= IN_FLIGHT {
            return Err(RemoteError::Full);
        }
        shared.pending.entry(to).or_default().push_back(op);
        Ok(Submitted::InFlight)
    }

    fn new_op(&self, key: &RemoteKey, at: u64, token: CompletionToken, body: OpBody) -> QueuedOp {
        QueuedOp { from: self.me, lane: self.lane, token, key: *key, at, body }
    }

    /// Reports ended operations; all operations at dead owners have ended.
    fn report_completions(&mut self, delivery: &mut dyn Delivery) {
        let mut shared = self.shared();
        let failed: Vec<Peer> = shared.failed.iter().copied().collect();
        for owner in failed {
            for op in shared.pending.remove(&owner).unwrap_or_default() {
                shared.complete(owner, &op, Err(RemoteError::PeerFailed));
            }
        }
        let completed = shared.completed.remove(&(self.lane, self.me)).unwrap_or_default();
        drop(shared);
        completed.into_iter().for_each(|(_, token, outcome)| delivery.op_completed(token, outcome));
    }
}

impl DevicePort for MemoryPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        let mut shared = self.shared();
        if shared.failed.contains(&to) || shared.failed.contains(&self.me) {
            return Err(SendError::PeerFailed);
        }
        let queue = shared.queues.entry((self.lane, self.me, to)).or_default();
        if queue.len() >= if let PayloadSource::None = source { 2 * QUEUE } else { QUEUE } {
            return Err(SendError::Full);
        }
        let mut bytes = prefix.to_vec();
        bytes.resize(prefix.len() + source.len(), 0);
        match source {
            PayloadSource::None => {}
            PayloadSource::Mem(mem) => mem.read(&mut bytes[prefix.len()..]),
            PayloadSource::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[prefix.len()..])),
        }
        queue.push_back((header, bytes));
        Ok(())
    }

    fn reserve(&mut self, to: Peer, _len: usize) -> bool {
        let shared = self.shared();
        !shared.failed.contains(&to)
            && shared.queues.get(&(self.lane, self.me, to)).is_none_or(|queue| queue.len() < QUEUE)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        // Delivers all waiting packets, and the report of a death behind them.
        let ranks = self.ranks;
        let of_one = |from| (0..=2 * QUEUE).take_while(|_| self.poll_from(Peer(from), delivery)).count();
        (0..ranks).map(of_one).sum()
    }

    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.report_completions(delivery);
        let mut shared = self.shared();
        let packet = shared.queues.get_mut(&(self.lane, from, self.me)).and_then(Queue::pop_front);
        let has_failed = shared.failed.contains(&from);
        drop(shared);
        let Some((header, mut bytes)) = packet else {
            if has_failed && self.reported.insert(from) {
                delivery.peer_failed(from);
            }
            return false;
        };
        delivery.deliver(from, header, &mut PayloadView { bytes: &mut bytes, at: 0 });
        true
    }

    fn write(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let WriteSource::InPlace(mem) = source else { return Err(RemoteError::Unsupported) };
        if mem.len() > CAPABILITIES.write {
            return Err(RemoteError::Unsupported);
        }
        self.enqueue(to, self.new_op(key, at, token, OpBody::Write(mem)))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        check_bounds(at, into.len(), key.0[2])?;
        if into.len() > CAPABILITIES.read {
            return Err(RemoteError::Unsupported);
        }
        self.enqueue(from, self.new_op(key, at, token, OpBody::Read(into)))
    }

    fn atomic(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        atomic: AtomicRequest,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        if !CAPABILITIES.atomics(atomic.width).has(atomic.op) {
            return Err(RemoteError::Unsupported);
        }
        self.enqueue(to, self.new_op(key, at, token, OpBody::Atomic(atomic)))
    }

    fn flush(&mut self, to: Peer, token: CompletionToken) -> Result<Submitted, RemoteError> {
        if self.shared().in_flight(self.lane, self.me, to) == 0 {
            return Ok(Submitted::Done(0));
        }
        self.enqueue(to, self.new_op(&RemoteKey([0; 3]), 0, token, OpBody::Flush))
    }
}

fn registered_net(ranks: u32) -> (TestNet, Maker) {
    (net(ranks), Box::new(|_, len| words(len)))
}

fn net(ranks: u32) -> TestNet {
    let shared = Arc::new(Mutex::new(SharedState::default()));
    let device = |rank: u32| -> Arc<dyn Device> {
        let registry = RegistrationTable::new(u64::from(rank));
        Arc::new(MemoryDevice { me: Peer(rank), ranks, shared: shared.clone(), registry })
    };
    let devices = (0..ranks).map(device).collect();
    let kill = move |rank| {
        shared.lock().unwrap().failed.insert(Peer(rank as u32));
    };
    TestNet { devices, kill: Box::new(kill) }
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
    remote(|| registered_net(1));
    remote(|| registered_net(2));
    a_peer_dies_with_operations_in_flight(|| registered_net(3));
}
