//! One lane's end of a device, and who takes what it delivers.
//!
//! A port is used under its lane's lock alone. Nothing is sent or begun from inside a delivery; no call waits for a
//! peer. Before it: `transport`; after it: the devices.

use crate::header::Header;
use crate::packet::{Payload, Refusal, Source};
use crate::remote::{Atomic, Bytes, Fault, RemoteKey, Taken, Ticket};
use hawser_base::{Peer, UserMem};

/// Takes what a port delivers.
pub trait Delivery {
    /// A packet of `from`. It must not send: what it wants to send it notes for later.
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);
    /// Whether another packet of `from` is waited for. If not, the next is best left where it lies for now: its receive
    /// may be posted before it is looked for again, and it need not be kept meanwhile.
    fn expects(&self, from: Peer) -> bool {
        let _ = from;
        true
    }
    /// Nothing will come from `peer` any more, and nothing will reach it. Said once.
    fn lost(&mut self, peer: Peer);
    /// What was lent (`Port::lend`) is the program's again: so many bytes of its front are the receiver's, the rest is
    /// to be sent otherwise.
    fn returned(&mut self, ticket: u32, taken: u64) {
        unreachable!("{taken} bytes of {ticket} come back, and nothing was lent")
    }
    /// An operation of this port has ended that was in flight (`Taken::InFlight`): with what an atomic found, else 0,
    /// or with why it failed. Said once, and then what was lent to it is the program's again. As in `deliver` nothing
    /// may be sent, and no operation begun.
    fn done(&mut self, ticket: Ticket, outcome: Result<u64, Fault>) {
        unreachable!("{ticket:?} ends with {outcome:?}, and nothing was in flight")
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

    /// Sends a piece of a stream, which may be kept back until `push`, so that several leave at once. `placed`: the
    /// peer knows where it belongs, so it may be delivered before what was sent earlier.
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

    /// Takes a stream of `mem` to be sent from where it lies, until `Delivery::returned` says `ticket`, or `lost` its
    /// peer. It comes as packets of any length, with `header` moved (`Header::moved`) to where each begins. `placed` as
    /// in `send_piece`. False: nothing was taken, and it is better sent in pieces.
    fn lend(&mut self, to: Peer, header: Header, mem: UserMem<'static>, placed: bool, ticket: u32) -> bool {
        let _ = (to, header, mem, placed, ticket);
        false
    }

    /// Keeps room for one packet to the peer with a payload of `len` bytes or of any fewer, prefix included. It is kept
    /// until the next call of this port that sends, reserves or polls: if that sends such a packet it is taken,
    /// whatever other lanes do meanwhile, unless the peer is lost. False: there is no room now. Where `len` is more
    /// than a packet (`Limits::packet`), it says whether as much would be taken now in several, and keeps nothing.
    fn reserve(&mut self, to: Peer, len: usize) -> bool;

    /// Delivers what has arrived from anybody, a bounded number of packets. How many there were.
    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize;

    /// Looks for a packet of `from`, in the leanest way. Whether any was delivered: where frames come in runs all of a
    /// run are, and those of others with it.
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool;

    /// Writes `source` to byte `at` of what `key` names in the peer's memory. For this and the next three, how they end
    /// and what has an order stands in `remote`. A device without them refuses them with `Fault::Unsupported`.
    fn write(&mut self, to: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, ticket: Ticket) -> Result<Taken, Fault> {
        let _ = (to, key, at, source, ticket);
        Err(Fault::Unsupported)
    }

    /// Reads all of `into`, which is lent until the read has ended, from byte `at` of what `key` names in the peer's
    /// memory.
    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: Ticket,
    ) -> Result<Taken, Fault> {
        let _ = (from, key, at, into, ticket);
        Err(Fault::Unsupported)
    }

    /// Carries `atomic` out on the word at byte `at` of what `key` names in the peer's memory. What was found comes
    /// with its end.
    fn atomic(&mut self, to: Peer, key: &RemoteKey, at: u64, atomic: Atomic, ticket: Ticket) -> Result<Taken, Fault> {
        let _ = (to, key, at, atomic, ticket);
        Err(Fault::Unsupported)
    }

    /// Ends well when all operations of this port to the peer that were begun before it have ended, however they did.
    fn flush(&mut self, to: Peer, ticket: Ticket) -> Result<Taken, Fault> {
        let _ = (to, ticket);
        Ok(Taken::Done(0))
    }
}
