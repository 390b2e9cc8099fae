//! The device interface: the peers that it reaches, its abilities, its ports, and its registered memory.
//!
//! Used by `transport` and `node`; uses `port`, `limits`, `remote` and `cards`.

use crate::cards::Card;
use crate::limits::Limits;
use crate::packet::Source;
use crate::port::Port;
use crate::remote::{Capabilities, Registration};
use crate::user::User;
use hawser_base::{Lane, Peer, Region, Result, UserMem};
use std::os::fd::BorrowedFd;

/// The rkey of a buffer that is exposed for one message, as a packet carries it.
pub type ExposedKey = [u64; 3];

/// A device, shared by all lanes of the process.
///
/// # A complete small device
///
/// `Table` is a device between two ranks of one process: the sender puts a packet on a table, the receiver takes it
/// from there when it polls. It shows the order in which to write a device: report whom it reaches and its limits, then
/// take packets or refuse them, then deliver; run the suite at every step, as it names the broken promise. The defaults
/// of `Device` and `Port` are right for such a device: it has no cards, no memory of peers (`Capabilities::NONE`, and
/// each operation refused), and no descriptor to sleep on but the rank's doorbell.
///
/// ```
/// use hawser_base::{Lane, Peer, SharedMem};
/// use hawser_device::conformance::{self, Net};
/// use hawser_device::{Delivery, Device, Header, Limits, Pieces, Port, Refusal, Source, View};
/// use std::collections::{HashMap, VecDeque};
/// use std::sync::{Arc, Mutex};
///
/// /// The longest packet, in bytes.
/// const PACKET: usize = 4096;
/// /// Packets with payload that lie on the table of one way at most. Control may use as many more places, so that
/// /// envelopes travel where payload is refused.
/// const PLACES: usize = 32;
///
/// /// Packets in the order in which they came, by lane, sender and receiver.
/// type Ways = HashMap<(Lane, Peer, Peer), VecDeque<(Header, Vec<u8>)>>;
///
/// #[derive(Clone)]
/// struct Table {
///     me: Peer,
///     ways: Arc<Mutex<Ways>>,
/// }
///
/// impl Device for Table {
///     fn name(&self) -> &'static str {
///         "table"
///     }
///     fn reaches(&self, peer: Peer) -> bool {
///         peer.0 < 2 && peer != self.me
///     }
///     fn limits(&self) -> Limits {
///         let pieces = Pieces::Pages(|_| PACKET);
///         Limits { short: PACKET, packet: PACKET, pieces, eager: PACKET, read_from: None }
///     }
///     fn port(&self, lane: Lane) -> Box<dyn Port> {
///         Box::new(TablePort { table: self.clone(), lane })
///     }
/// }
///
/// struct TablePort {
///     table: Table,
///     lane: Lane,
/// }
///
/// impl Port for TablePort {
///     fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
///         let mut ways = self.table.ways.lock().unwrap();
///         let way = ways.entry((self.lane, self.table.me, to)).or_default();
///         // A refusal leaves nothing behind: it comes before anything is packed.
///         if way.len() >= if let Source::None = source { 2 * PLACES } else { PLACES } {
///             return Err(Refusal::Full);
///         }
///         let mut bytes = prefix.to_vec();
///         bytes.resize(prefix.len() + source.len(), 0);
///         match source {
///             Source::None => {}
///             Source::Mem(mem) => mem.read(&mut bytes[prefix.len()..]),
///             Source::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[prefix.len()..])),
///         }
///         way.push_back((header, bytes));
///         Ok(())
///     }
///     /// Nobody else fills this way, so that what is free now stays free until this port sends.
///     fn reserve(&mut self, to: Peer, _len: usize) -> bool {
///         let ways = self.table.ways.lock().unwrap();
///         ways.get(&(self.lane, self.table.me, to)).is_none_or(|way| way.len() < PLACES)
///     }
///     /// As many as lie there at most: packets that come meanwhile have the next turn.
///     fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
///         let from = Peer(1 - self.table.me.0);
///         (0..2 * PLACES).take_while(|_| self.poll_from(from, delivery)).count()
///     }
///     fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
///         // The lock is not held while the packet is delivered.
///         let way = (self.lane, from, self.table.me);
///         let taken = self.table.ways.lock().unwrap().get_mut(&way).and_then(VecDeque::pop_front);
///         let Some((header, mut bytes)) = taken else { return false };
///         delivery.deliver(from, header, &mut View { bytes: &mut bytes, at: 0 });
///         true
///     }
/// }
///
/// let net = || {
///     let ways = Arc::default();
///     let table = |me| Arc::new(Table { me: Peer(me), ways: Arc::clone(&ways) }) as Arc<dyn Device>;
///     Net { devices: vec![table(0), table(1)], kill: Box::new(|_| ()) }
/// };
/// // Between two ends: lengths, order, refusals, room.
/// conformance::wire(net);
/// // Random traffic both ways, and of two lanes that do not meet.
/// conformance::soak(&net(), 2_000, 1);
/// conformance::lanes_are_independent(&net(), 500);
/// // What it does not have it refuses.
/// conformance::remote(|| (net(), Box::new(|_, len| conformance::words(len))));
/// ```
///
/// A device for memory of peers adds `capabilities` and `register` here and `write`, `read`, `atomic` and `flush` to
/// its port: where the owner carries operations out, [`Registry`](crate::Registry) keeps the memory and its keys
/// (`loopback.rs` does it in its calls, `dev-ether` by messages); a device whose peers can die calls `Delivery::lost`
/// and runs [`conformance::a_peer_dies`](crate::conformance::a_peer_dies) too.
pub trait Device: Send + Sync {
    /// The name, as in `mpiexec --info`.
    fn name(&self) -> &'static str;

    /// Whether the device reaches the peer.
    fn reaches(&self, peer: Peer) -> bool;

    /// The limits, which apply to every peer that it reaches.
    fn limits(&self) -> Limits;

    /// Admits a user other than the first (MPI), which has these lanes of this process; called once for each, before
    /// its ports are requested. Packets that the user leaves unread must not delay others: a packet for a lane of its
    /// own that the peer has not opened, or does not poll, waits or is refused for this user alone. A device whose
    /// lanes share nothing has nothing to do.
    fn admit(&self, user: &User) -> Result<()> {
        let _ = user;
        Ok(())
    }

    /// Returns the port of lane `lane`; called once for each lane.
    fn port(&self, lane: Lane) -> Box<dyn Port>;

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
    fn rest(&self) {}

    /// Returns the business cards by which peers reach this device, each under a name of its own. The owner of the
    /// device publishes them to all peers, and gives the device a `cards::Resolve` that finds theirs. None for a device
    /// that finds its peers without cards.
    fn cards(&self) -> Vec<Card> {
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
    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: Source<'_>) -> bool {
        let _ = (peer, key, at, source);
        false
    }
}
