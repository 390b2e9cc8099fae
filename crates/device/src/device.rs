//! The device interface: the peers that it reaches, its abilities, its ports, and its registered memory.
//!
//! Used by `transport` and `node`; uses `port`, `limits`, `remote` and `business_card`.

use crate::business_card::CardEntry;
use crate::limits::DeviceLimits;
use crate::packet::PayloadSource;
use crate::port::DevicePort;
use crate::remote::{Capabilities, Registration};
use crate::user::TransportUser;
use hawser_base::{Lane, Peer, Region, Result, UserMem};
use std::os::fd::BorrowedFd;

/// The rkey of a buffer that is exposed for one message, as a packet carries it.
pub type ExposedKey = [u64; 3];

/// A device, shared by all lanes of the process.
///
/// # A complete small device
///
/// `QueueDevice` is a device between two ranks of one process: the sender appends a packet to a queue, from which the
/// receiver takes it when it polls. It shows the order in which to write a device: report whom it reaches and its
/// limits, then take packets or refuse them, then deliver; run the suite at every step, as it names the broken promise.
/// The defaults of `Device` and `DevicePort` are right for such a device: it has no business cards, no memory of peers
/// (`Capabilities::NONE`, and each operation refused), and no descriptor to sleep on but the rank's doorbell.
///
/// ```
/// use hawser_base::{Lane, Peer, SharedMem};
/// use hawser_device::conformance::{self, TestNet};
/// use hawser_device::{Delivery, Device, DeviceLimits, DevicePort, Fragmentation, Header, PayloadSource, PayloadView};
/// use hawser_device::SendError;
/// use std::collections::{HashMap, VecDeque};
/// use std::sync::{Arc, Mutex};
///
/// /// The longest packet, in bytes.
/// const PACKET: usize = 4096;
/// /// The maximum number of packets with payload in one queue. Control may use as much space again, so that envelopes
/// /// travel where payload is refused.
/// const QUEUE_MAX: usize = 32;
///
/// /// Packets in the order in which they were sent, by lane, sender and receiver.
/// type Queues = HashMap<(Lane, Peer, Peer), VecDeque<(Header, Vec<u8>)>>;
///
/// #[derive(Clone)]
/// struct QueueDevice {
///     me: Peer,
///     queues: Arc<Mutex<Queues>>,
/// }
///
/// impl Device for QueueDevice {
///     fn name(&self) -> &'static str {
///         "queue"
///     }
///     fn reaches(&self, peer: Peer) -> bool {
///         peer.0 < 2 && peer != self.me
///     }
///     fn limits(&self) -> DeviceLimits {
///         let fragmentation = Fragmentation::Pages(|_| PACKET);
///         DeviceLimits { short: PACKET, packet: PACKET, fragmentation, eager: PACKET, remote_read_from: None }
///     }
///     fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
///         Box::new(QueuePort { device: self.clone(), lane })
///     }
/// }
///
/// struct QueuePort {
///     device: QueueDevice,
///     lane: Lane,
/// }
///
/// impl DevicePort for QueuePort {
///     fn send(
///         &mut self,
///         to: Peer,
///         header: Header,
///         prefix: &[u8],
///         source: PayloadSource<'_>,
///     ) -> Result<(), SendError> {
///         let mut queues = self.device.queues.lock().unwrap();
///         let queue = queues.entry((self.lane, self.device.me, to)).or_default();
///         // A refusal leaves nothing behind: it comes before anything is packed.
///         if queue.len() >= if let PayloadSource::None = source { 2 * QUEUE_MAX } else { QUEUE_MAX } {
///             return Err(SendError::Full);
///         }
///         let mut bytes = prefix.to_vec();
///         bytes.resize(prefix.len() + source.len(), 0);
///         match source {
///             PayloadSource::None => {}
///             PayloadSource::Mem(mem) => mem.read(&mut bytes[prefix.len()..]),
///             PayloadSource::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[prefix.len()..])),
///         }
///         queue.push_back((header, bytes));
///         Ok(())
///     }
///     /// No other port fills this queue, so that what is free now stays free until this port sends.
///     fn reserve(&mut self, to: Peer, _len: usize) -> bool {
///         let queues = self.device.queues.lock().unwrap();
///         queues.get(&(self.lane, self.device.me, to)).is_none_or(|queue| queue.len() < QUEUE_MAX)
///     }
///     /// Delivers at most as many packets as a queue can hold: the next poll delivers those that arrive meanwhile.
///     fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
///         let from = Peer(1 - self.device.me.0);
///         (0..2 * QUEUE_MAX).take_while(|_| self.poll_from(from, delivery)).count()
///     }
///     fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
///         // The lock is not held while the packet is delivered.
///         let key = (self.lane, from, self.device.me);
///         let first = self.device.queues.lock().unwrap().get_mut(&key).and_then(VecDeque::pop_front);
///         let Some((header, mut bytes)) = first else { return false };
///         delivery.deliver(from, header, &mut PayloadView { bytes: &mut bytes, at: 0 });
///         true
///     }
/// }
///
/// let net = || {
///     let queues = Arc::default();
///     let device = |me| Arc::new(QueueDevice { me: Peer(me), queues: Arc::clone(&queues) }) as Arc<dyn Device>;
///     TestNet { devices: vec![device(0), device(1)], kill: Box::new(|_| ()) }
/// };
/// // Between two ends: lengths, order, refusals, room.
/// conformance::wire(net);
/// // Random traffic both ways, and of two lanes that do not meet.
/// conformance::soak(&net(), 2_000, 1);
/// conformance::lanes_are_independent(&net(), 500);
/// // Operations that it lacks are refused.
/// conformance::remote(|| (net(), Box::new(|_, len| conformance::words(len))));
/// ```
///
/// A device for memory of peers adds `capabilities` and `register` here and `write`, `read`, `atomic` and `flush` to
/// its port: where the owner carries operations out, [`RegistrationTable`](crate::RegistrationTable) keeps the memory
/// and its keys (`loopback.rs` does it in its calls, `dev-ether` by messages); a device whose peers can die calls
/// `Delivery::peer_failed` and runs [`conformance::a_peer_dies`](crate::conformance::a_peer_dies) too.
pub trait Device: Send + Sync {
    /// The name, as in `mpiexec --info`.
    fn name(&self) -> &'static str;

    /// Whether the device reaches the peer.
    fn reaches(&self, peer: Peer) -> bool;

    /// The limits, which apply to every peer that it reaches.
    fn limits(&self) -> DeviceLimits;

    /// Admits a user other than the first (MPI), which has these lanes of this process; called once for each, before
    /// its ports are requested. Packets that the user leaves unread must not delay others: a packet for a lane of its
    /// own that the peer has not opened, or does not poll, waits or is refused for this user alone. A device whose
    /// lanes share nothing has nothing to do.
    fn admit(&self, user: &TransportUser) -> Result<()> {
        let _ = user;
        Ok(())
    }

    /// Returns the port of lane `lane`; called once for each lane.
    fn port(&self, lane: Lane) -> Box<dyn DevicePort>;

    /// Calls `each` with each descriptor that becomes readable when a packet arrives; none if a shared flag is set
    /// instead.
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        let _ = each;
    }

    /// Prepares for a sleep of the rank: sends what is owed to peers, and returns how long the rank may sleep, in
    /// nanoseconds.
    fn before_sleep(&self) -> Option<u64> {
        None
    }

    /// Works on packets that were taken and have not reached their peers yet, without any lane. Returns whether none is
    /// left. For MPI_Finalize; a device whose packets are at their peers when `send` returns has nothing to do.
    fn flush(&self) -> bool {
        true
    }

    /// Called when no thread sends or polls any more for now: the device publishes its counters as they are.
    fn on_idle(&self) {}

    /// Returns this device's entries of the business card, by which peers reach it, each under a name of its own. The
    /// owner of the device publishes them to all peers, and gives the device a `business_card::CardLookup` that finds
    /// theirs. A device that finds its peers without a card has none.
    fn card_entries(&self) -> Vec<CardEntry> {
        Vec::new()
    }

    /// Announces that `memory` of this process lies at byte `at` of its rank's arena in the job's segment, where peers
    /// of this host can map it.
    fn share(&self, at: u64, memory: &Region) {
        let _ = (at, memory);
    }

    /// Reverts `share`, before the memory is unmapped.
    fn unshare(&self, memory: &Region) {
        let _ = memory;
    }

    /// The operations that its ports support on remote memory; a registration may support fewer.
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Registers memory of this process, so that holders of the key can access it until the registration is dropped
    /// (see `remote`). It must stay mapped until then. None: peers cannot access it at all, or there are too many
    /// registrations.
    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        let _ = mem;
        None
    }

    /// Exposes `mem` so that a peer may read it while the send is open; `None` if reading would not be better.
    fn expose(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies `into.len()` bytes from byte `at` of the peer's exposed buffer. False if it could not: then no byte
    /// outside `into` was written, and the peer is requested to send.
    fn read(&self, peer: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        let _ = (peer, key, at, into);
        false
    }

    /// Exposes `mem` so that a peer may write it while the receive is open; `None` if writing would not be better.
    fn expose_to_write(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies all of `source` to byte `at` of the peer's exposed buffer. False if it could not: then no byte outside
    /// that range was written, and the bytes are sent.
    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        let _ = (peer, key, at, source);
        false
    }
}
