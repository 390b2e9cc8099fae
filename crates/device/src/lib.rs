//! Floor 2: the contract between the transport and a device.
//!
//! A device carries packets to some of the peers, each peer's in order and none lost, or says that the
//! peer is lost. A packet is a header of a few words that the device does not understand, and a payload.
//! A device never waits, never matches and never sends from inside a delivery. What it can do is said in
//! numbers (`Limits`), not by its name; `conformance` is the suite that every device passes.
//!
//! State is per lane: a `Port` belongs to one lane and is used under that lane's lock alone, so that two
//! lanes never share a written cache line.
//!
//! Before it: `transport`. After it: `dev-shm`, `loopback` here, later `dev-ether`.

#![forbid(unsafe_code)]

pub mod conformance;
mod loopback;
mod view;

pub use loopback::Loopback;
pub use view::View;

use hawser_base::{Lane, Peer, Region, SharedMem, UserMem};
use std::os::fd::BorrowedFd;

/// A protocol above the transport, which takes packets of its own: the upper half of `Header::kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protocol(u8);

impl Protocol {
    /// How many there can be.
    pub const COUNT: usize = 1 << (u8::BITS - Protocol::KIND_BITS);
    /// Bits of `Header::kind` that are the protocol's own.
    const KIND_BITS: u32 = 4;

    /// Messages between processes (`p2p::wire`).
    pub const MESSAGES: Protocol = Protocol::new(0);

    pub const fn new(number: u8) -> Protocol {
        assert!((number as usize) < Protocol::COUNT);
        Protocol(number)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// `Header::kind` of the protocol's packets of kind `own`, of which each protocol has 16.
    pub const fn kind(self, own: u8) -> u8 {
        assert!(own >> Protocol::KIND_BITS == 0);
        self.0 << Protocol::KIND_BITS | own
    }
}

/// The words in front of every payload; the packet's protocol gives them their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    pub kind: u8,
    pub aux: u16,
    pub a: u32,
    pub b: u32,
}

impl Header {
    #[inline(always)]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.kind >> Protocol::KIND_BITS)
    }

    /// The header of the piece of a stream that begins `bytes` later: `b`, and above it `aux`, say where one begins.
    #[inline]
    pub fn moved(self, bytes: u64) -> Header {
        let at = (u64::from(self.aux) << 32 | u64::from(self.b)).wrapping_add(bytes);
        Header { aux: (at >> 32) as u16, b: at as u32, ..self }
    }
}

/// Words of control data that may stand between a header and its payload.
pub const PREFIX_MAX: usize = 40;

/// Where a payload comes from; it is copied (or packed) while `send` runs and not looked at later.
pub enum Source<'a> {
    None,
    /// Contiguous memory of the application, or of ours.
    Mem(UserMem<'a>),
    /// `len` bytes that `pack` writes piece by piece, front to back, to where the device wants them.
    Pack {
        len: usize,
        pack: &'a mut dyn FnMut(SharedMem),
    },
}

impl Source<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Source::None => 0,
            Source::Mem(mem) => mem.len(),
            Source::Pack { len, .. } => *len,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a packet was not taken. It left nothing behind and may be tried again, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No room now; `poll` makes room as the peer takes packets.
    Full,
    /// The peer is gone.
    Lost,
}

/// Figures of a device toward a peer: what the choice of a method is made of.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest payload (prefix included) of the cheapest kind of packet, in bytes.
    pub short: usize,
    /// Longest payload (prefix included) of one packet, in bytes.
    pub packet: usize,
    /// How streams are cut.
    pub pieces: Pieces,
    /// Longest message worth pushing without asking, in bytes.
    pub eager: usize,
    /// Shortest exposed buffer that is better read remotely than streamed, in bytes, if any is.
    pub read_from: Option<usize>,
}

impl Limits {
    /// Longest payload that is best sent in one packet, in bytes: both ends copy such a one in turn, not at once, but a
    /// second packet costs more; unless a packet is itself cut into frames.
    pub fn longest(&self) -> usize {
        match self.pieces {
            Pieces::Frames(frame) => frame,
            Pieces::Pages(_) => self.packet - PREFIX_MAX,
        }
    }
}

/// How the bytes of a long message are cut into packets.
#[derive(Clone, Copy, Debug)]
pub enum Pieces {
    /// Of what a frame carries, in bytes: at most so much, and on the way to a peer what `Port::piece` says.
    Frames(usize),
    /// Of whole pages, about as long as this says, in bytes, for a stream of `total`; at most `Limits::packet`. Short
    /// streams want short pieces (both ends copy at once) and long ones long pieces.
    Pages(fn(total: usize) -> usize),
}

impl Pieces {
    /// The best length of a piece of a stream of `total` bytes, in bytes.
    pub fn best(&self, total: usize) -> usize {
        match self {
            Pieces::Frames(frame) => *frame,
            Pieces::Pages(best) => best(total),
        }
    }
}

/// A payload as it lies at the receiver. It must be consumed before `deliver` returns, front to back;
/// what is not consumed is dropped.
pub trait Payload {
    /// Bytes that are left.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next contiguous piece, at most `max` bytes; `None` at the end, or if the peer died while it wrote.
    fn next(&mut self, max: usize) -> Option<SharedMem<'_>>;

    /// Copies the front to all of `to`. False if the peer died while it wrote.
    fn copy_to(&mut self, to: UserMem) -> bool {
        let mut at = 0;
        while at < to.len() {
            let Some(piece) = self.next(to.len() - at) else { return false };
            piece.read_user(to.slice(at, piece.len()));
            at += piece.len();
        }
        true
    }

    /// Copies the front to `to`, for prefixes. False if there is not as much.
    fn read(&mut self, to: &mut [u8]) -> bool {
        let mut at = 0;
        while at < to.len() {
            let Some(piece) = self.next(to.len() - at) else { return false };
            piece.read(&mut to[at..at + piece.len()]);
            at += piece.len();
        }
        true
    }
}

/// Who takes what a port delivers.
pub trait Delivery {
    /// A packet of `from`. It must not send: what it wants to send it notes for later.
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);
    /// Whether another packet of `from` is waited for. If not, the next is best left where it lies for now: its receive may be posted
    /// before it is looked for again, and it need not be kept meanwhile.
    fn expects(&self, from: Peer) -> bool {
        let _ = from;
        true
    }
    /// Nothing will come from `peer` any more, and nothing will reach it. Said once.
    fn lost(&mut self, peer: Peer);
    /// What was lent (`Port::lend`) is the program's again: so many bytes of its front are the receiver's, the rest is to be sent
    /// otherwise.
    fn returned(&mut self, ticket: u32, taken: u64) {
        unreachable!("{taken} bytes of {ticket} come back, and nothing was lent")
    }
}

/// One lane's end of a device.
pub trait Port: Send {
    /// Sends a packet: `prefix`, at most PREFIX_MAX bytes, and then `source`. A packet without a source is
    /// control: it may use room that payload may not, so that envelopes travel when payload is refused.
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal>;

    /// The leanest send: contiguous bytes, at most `Limits::short`, no prefix.
    fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> Result<(), Refusal> {
        self.send(to, header, &[], Source::Mem(bytes))
    }

    /// How long the pieces of a stream of `total` bytes to the peer are at best, in bytes, where frames say it.
    fn piece(&mut self, to: Peer, total: usize) -> Option<usize> {
        let _ = (to, total);
        None
    }

    /// Sends a piece of a stream, which may be kept back until `push`, so that several leave at once. `placed`: the peer knows where
    /// it belongs, so it may be delivered before what was sent earlier.
    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: Source<'_>,
        placed: bool,
    ) -> Result<(), Refusal> {
        let _ = placed;
        self.send(to, header, prefix, source)
    }

    /// Sends what `send_piece` has kept back.
    fn push(&mut self) {}

    /// Takes a stream of `mem` to be sent from where it lies, until `Delivery::returned` says `ticket`, or `lost` its peer. It comes as
    /// packets of any length, with `header` moved (`Header::moved`) to where each begins. `placed` as in `send_piece`. False: nothing
    /// was taken, and it is better sent in pieces.
    fn lend(&mut self, to: Peer, header: Header, mem: UserMem<'static>, placed: bool, ticket: u32) -> bool {
        let _ = (to, header, mem, placed, ticket);
        false
    }

    /// Whether a payload of `len` bytes, or of any fewer, would be taken now (prefixes included).
    fn has_room(&mut self, to: Peer, len: usize) -> bool;

    /// Delivers what has arrived from anybody, a bounded number of packets. How many there were.
    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize;

    /// Looks for a packet of `from`, in the leanest way. Whether any was delivered: where frames come in runs all of a run are, and
    /// those of others with it.
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool;
}

/// A remote buffer's name that travels in a packet.
pub type RemoteKey = [u64; 3];

/// A device, shared by all lanes of the process.
pub trait Device: Send + Sync {
    /// As in `mpiexec --info`.
    fn name(&self) -> &'static str;

    /// Whether it reaches the peer.
    fn reaches(&self, peer: Peer) -> bool;

    /// Its figures, toward every peer that it reaches.
    fn limits(&self) -> Limits;

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

    /// Says that `memory` of this process lies at byte `at` of its rank's arena in the job's segment, where
    /// peers of this host can map it.
    fn register(&self, at: u64, memory: &Region) {
        let _ = (at, memory);
    }

    /// Takes `register` back, before the memory is unmapped.
    fn deregister(&self, memory: &Region) {
        let _ = memory;
    }

    /// Names `mem` so that a peer may read it while the send is open; `None` if reading would not be better.
    fn expose(&self, mem: UserMem<'static>) -> Option<RemoteKey> {
        let _ = mem;
        None
    }

    /// Copies `into.len()` bytes from byte `at` of the peer's exposed buffer. False if it could not: then
    /// nothing that matters was written and the peer is asked to send.
    fn read(&self, peer: Peer, key: &RemoteKey, at: u64, into: UserMem) -> bool {
        let _ = (peer, key, at, into);
        false
    }

    /// Names `mem` so that a peer may write it while the receive is open; `None` if writing would not be better.
    fn expose_to_write(&self, mem: UserMem<'static>) -> Option<RemoteKey> {
        let _ = mem;
        None
    }

    /// Copies all of `source` to byte `at` of the peer's exposed buffer. False if it could not: then nothing beyond
    /// the place for these bytes was written and they are sent.
    fn write(&self, peer: Peer, key: &RemoteKey, at: u64, source: Source<'_>) -> bool {
        let _ = (peer, key, at, source);
        false
    }
}
