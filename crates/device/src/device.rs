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
/// receiver takes it when it polls. It shows the order in which to write a device: first report the reachable peers
/// and the limits, then accept or refuse packets, then deliver them. Run the suite after every step: it names the
/// promise that is broken. The default methods of `Device` and `DevicePort` are right for such a device: it has no
/// entries in business cards, no operations on memory of peers (`Capabilities::NONE`; each operation is refused), and
/// no descriptors that wake a sleeping rank.
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
/// /// The number of queued packets from which payload is refused. Control packets are refused only from twice this
/// /// number on, so that envelopes can be sent when payload is refused.
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
///         DeviceLimits {
///             short: PACKET,
///             packet: PACKET,
///             fragmentation,
///             eager: PACKET,
///             zero_copy_from: None,
///             stream_from: None,
///             join_max: 0,
///             remote_read_from: None,
///             private_read_from: None,
///             copy_trial_from: None,
///         }
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
///         // Refuse before anything is packed: a refused packet must leave nothing behind.
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
///     /// No other port fills this queue, so space that is free now stays free until this port sends.
///     fn reserve(&mut self, to: Peer, _len: usize) -> bool {
///         let queues = self.device.queues.lock().unwrap();
///         queues.get(&(self.lane, self.device.me, to)).is_none_or(|queue| queue.len() < QUEUE_MAX)
///     }
///     /// Delivers at most 2 * QUEUE_MAX packets, so that a poll ends even if the peer never stops sending.
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
/// // Tests between one sender and one receiver: lengths, order, refusals, reservations.
/// conformance::wire(net);
/// // Random traffic in both directions, and traffic on two lanes that must not affect each other.
/// conformance::soak(&net(), 2_000, 1);
/// conformance::lanes_are_independent(&net(), 500);
/// // Operations on remote memory, all of which this device lacks, must be refused.
/// conformance::remote(|| (net(), Box::new(|_, len| conformance::words(len))));
/// ```
///
/// A device with operations on memory of peers also implements `capabilities` and `register` of `Device`, and
/// `write`, `read`, `atomic` and `flush` of its port. If the process that owns the memory carries the operations out,
/// [`RegistrationTable`](crate::RegistrationTable) keeps that memory and its keys (`loopback.rs` carries an operation
/// out within its call, `dev-ether` when a message arrives). A device whose peers can die calls
/// `Delivery::peer_failed`, and its tests also run [`conformance::a_peer_dies`](crate::conformance::a_peer_dies).
pub trait Device: Send + Sync {
    /// The name, as in `mpiexec --info`.
    fn name(&self) -> &'static str;

    /// Whether the device reaches the peer.
    fn reaches(&self, peer: Peer) -> bool;

    /// The limits, which are the same for every peer that the device reaches.
    fn limits(&self) -> DeviceLimits;

    /// Admits `user`, a user of the transport other than the first one (MPI), with its lanes in this process. Called
    /// once for each such user, before `port` is called for its lanes. Packets that a user leaves unread must not
    /// delay other users: if the peer has not opened the lane of a packet, or does not poll it, only packets of this
    /// user wait or are refused. An error if the device has no room for another user. The default does nothing, which
    /// suits a device whose lanes share nothing.
    fn admit(&self, user: &TransportUser) -> Result<()> {
        let _ = user;
        Ok(())
    }

    /// Returns the port of lane `lane`; called once for each lane.
    fn port(&self, lane: Lane) -> Box<dyn DevicePort>;

    /// Calls `each` with every descriptor that becomes readable when a packet arrives. Does not call it if the device
    /// announces packets by a flag in shared memory instead.
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        let _ = each;
    }

    /// Prepares a sleep of the rank: sends what peers wait for (acknowledgements), and returns the maximum time for
    /// which the rank may sleep, in nanoseconds. None: until something arrives.
    fn before_sleep(&self) -> Option<u64> {
        None
    }

    /// Makes progress, without using any lane, with packets that were accepted and have not reached their peers yet.
    /// Returns whether none is left. MPI_Finalize calls it until none is, or until all ranks have left. The default
    /// suits a device whose packets are at their peers when `send` returns.
    fn flush(&self) -> bool {
        true
    }

    /// Publishes the present values of the device's counters. Called when, for the time being, no thread sends or
    /// polls any more.
    fn on_idle(&self) {}

    /// Returns this device's entries of the business card, by which peers reach the device, each under a name of its
    /// own. The owner of the device (`node`) publishes the entries to all peers, and gave the device a
    /// `business_card::CardLookup` that finds the entries of peers. Empty for a device that finds its peers without
    /// business cards.
    fn card_entries(&self) -> Vec<CardEntry> {
        Vec::new()
    }

    /// Announces that `memory` of this process maps this rank's arena in the job's segment from byte `at` on, so that
    /// peers on this host can map the same bytes.
    fn share(&self, at: u64, memory: &Region) {
        let _ = (at, memory);
    }

    /// Reverts `share`. Must be called before the memory is unmapped.
    fn unshare(&self, memory: &Region) {
        let _ = memory;
    }

    /// The operations that the device's ports support on remote memory. A registration may support fewer.
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Registers memory of this process, so that holders of the key can access it until the registration is dropped
    /// (see `remote`). The memory must stay mapped until then. None if peers cannot access this memory at all, or if
    /// there are too many registrations.
    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        let _ = mem;
        None
    }

    /// Exposes `mem`, the memory of a send, so that the receiver may read it while the send is open. Returns the key
    /// that names the memory; `None` if peers cannot read it, or if packets are better.
    fn expose(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Does the same, but only if the memory is shared with the peer, so that a peer may read it without a system call.
    fn expose_shared(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies `into.len()` bytes from byte `at` of the peer's exposed buffer. Returns false if the copy failed: then
    /// no byte outside `into` was written, and the caller requests the peer to send the bytes.
    fn read(&self, peer: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        let _ = (peer, key, at, into);
        false
    }

    /// Exposes `mem`, the memory of a receive, so that the sender may write it while the receive is open. Returns the
    /// key that names the memory; `None` if peers cannot write it, or if packets are better.
    fn expose_to_write(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies all of `source` to byte `at` of the peer's exposed buffer. Returns false if the copy failed: then no
    /// byte outside that range was written, and the caller sends the bytes.
    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        let _ = (peer, key, at, source);
        false
    }
}
