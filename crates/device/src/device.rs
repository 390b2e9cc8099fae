//! A device as the rank sees it: whom it reaches, what it can do, its ports, the memory that it knows.
//!
//! Before it: `transport` and `node`; after it: `port`, `limits`, `remote`, `cards`.

use crate::cards::Card;
use crate::limits::Limits;
use crate::packet::Source;
use crate::port::Port;
use crate::remote::{Capabilities, Registration};
use crate::user::User;
use hawser_base::{Lane, Peer, Region, Result, UserMem};
use std::os::fd::BorrowedFd;

/// The name of a buffer that is exposed for one message, as it travels in a packet.
pub type ExposedKey = [u64; 3];

/// A device, shared by all lanes of the process.
///
/// # A small one, whole
///
/// `Table` is a device between two ranks of one process: whoever sends lays a packet on a table, whoever polls takes it
/// from there. It shows in which order to write one: say whom it reaches and its figures, then take packets or refuse
/// them, then deliver; run the suite at every step, for it names the promise that is broken. What `Device` and `Port`
/// do without being asked is right for such a device: it has no cards, no memory of peers (`Capabilities::NONE`, and
/// each operation refused), nothing to sleep on but the rank's doorbell.
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
/// (`loopback.rs` does it in its calls, `dev-ether` by messages); one whose peers die calls `Delivery::lost` and runs
/// [`conformance::a_peer_dies`](crate::conformance::a_peer_dies) too.
pub trait Device: Send + Sync {
    /// As in `mpiexec --info`.
    fn name(&self) -> &'static str;

    /// Whether it reaches the peer.
    fn reaches(&self, peer: Peer) -> bool;

    /// Its figures, toward every peer that it reaches.
    fn limits(&self) -> Limits;

    /// A user other than the first (MPI) has these lanes of this process; told once for each, before its ports are
    /// asked for. What it leaves unread must not hold up others: a packet for a lane of its own that the peer has not
    /// opened, or does not poll, waits or is refused for this user alone. Nothing is to be done where lanes share
    /// nothing.
    fn admit(&self, user: &User) -> Result<()> {
        let _ = user;
        Ok(())
    }

    /// The end of lane `lane`; asked for once a lane.
    fn port(&self, lane: Lane) -> Box<dyn Port>;

    /// Gives each descriptor that becomes readable when something comes; none where a shared word is rung instead.
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        let _ = each;
    }

    /// The rank is about to sleep: sends what is owed to peers, and says how long the rank may sleep, in nanoseconds.
    fn before_sleep(&self) -> Option<u64> {
        None
    }

    /// Works on packets that were taken and have not reached their peers yet, without any lane: whether none is left.
    /// For MPI_Finalize; a device whose packets are at their peers when `send` returns has nothing to do.
    fn flush(&self) -> bool {
        true
    }

    /// Nobody sends or polls any more, for now: what is counted is told as it is.
    fn rest(&self) {}

    /// Cards by which peers reach this device, each under a name of its own: whoever made it lets all peers know them,
    /// and gives it a `cards::Resolve` that finds theirs. None of a device that finds its peers without.
    fn cards(&self) -> Vec<Card> {
        Vec::new()
    }

    /// Says that `memory` of this process lies at byte `at` of its rank's arena in the job's segment, where
    /// peers of this host can map it.
    fn share(&self, at: u64, memory: &Region) {
        let _ = (at, memory);
    }

    /// Takes `share` back, before the memory is unmapped.
    fn unshare(&self, memory: &Region) {
        let _ = memory;
    }

    /// What its ports can do for remote memory; a registration may be less able.
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Registers memory of this process, so that who has the key can work on it until the registration is dropped (see
    /// `remote`). It must stay mapped until then. None: peers can do nothing with it, or there are too many
    /// registrations.
    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        let _ = mem;
        None
    }

    /// Names `mem` so that a peer may read it while the send is open; `None` if reading would not be better.
    fn expose(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies `into.len()` bytes from byte `at` of the peer's exposed buffer. False if it could not: then
    /// nothing that matters was written and the peer is asked to send.
    fn read(&self, peer: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        let _ = (peer, key, at, into);
        false
    }

    /// Names `mem` so that a peer may write it while the receive is open; `None` if writing would not be better.
    fn expose_to_write(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let _ = mem;
        None
    }

    /// Copies all of `source` to byte `at` of the peer's exposed buffer. False if it could not: then nothing beyond
    /// the place for these bytes was written and they are sent.
    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: Source<'_>) -> bool {
        let _ = (peer, key, at, source);
        false
    }
}
