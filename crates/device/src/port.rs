//! One lane's port of a device, and the receiver of its deliveries.
//!
//! A port is used under its lane's lock alone. No packet is sent and no operation begun from inside a delivery; no call
//! waits for a peer. Used by `transport`; implemented by the devices.

use crate::header::Header;
use crate::packet::{Payload, PayloadSource, SendError};
use crate::remote::{AtomicRequest, CompletionToken, RemoteError, RemoteKey, Submitted, WriteSource};
use hawser_base::{Peer, UserMem};

/// Receives the deliveries of a port.
pub trait Delivery {
    /// Takes a packet of `from`. It must not send: it records packets to be sent later.
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);
    /// Whether another packet of `from` is awaited. If false, leave further packets in the ring: a receive posted
    /// meanwhile saves the copy of an unexpected message.
    fn expects(&self, from: Peer) -> bool {
        let _ = from;
        true
    }
    /// Called once when a peer has failed or ended: no packet will come from `peer`, and none will reach it.
    fn peer_failed(&mut self, peer: Peer);
    /// Called when memory of a zero-copy send (`DevicePort::send_zero_copy`) is the application's again: the receiver
    /// has its first `delivered` bytes, and the caller must send the rest otherwise.
    fn zero_copy_done(&mut self, token: u32, delivered: u64) {
        unreachable!("{delivered} bytes of {token} are released, and no zero-copy send is open")
    }
    /// Called when an operation of this port that was in flight (`Submitted::InFlight`) has ended: with the value
    /// that an atomic found, else 0, or with the reason of its failure. Called once, and then the memory that it has
    /// borrowed is the application's again. As in `deliver` no packet may be sent, and no operation begun.
    fn op_completed(&mut self, token: CompletionToken, outcome: Result<u64, RemoteError>) {
        unreachable!("{token:?} ends with {outcome:?}, and nothing was in flight")
    }
}

/// One lane's port of a device.
pub trait DevicePort: Send {
    /// Sends a packet: `prefix`, at most PREFIX_MAX bytes, and then `source`. A packet without a source is control: it
    /// may use room that payload may not, so that envelopes can be sent when payload is refused.
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError>;

    /// The fast path of sends: contiguous bytes, at most `DeviceLimits::short`, no prefix.
    fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> Result<(), SendError> {
        self.send(to, header, &[], PayloadSource::Mem(bytes))
    }

    /// Returns the best length of the pieces of a stream of `total` bytes to the peer, in bytes, if it is sent in
    /// frames.
    fn piece_len(&mut self, to: Peer, total: usize) -> Option<usize> {
        let _ = (to, total);
        None
    }

    /// Sends a piece of a stream, which the port may delay until `flush_pieces`, so that several leave together.
    /// `order_free`: the peer knows where the piece belongs, so it may be delivered before earlier packets.
    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> Result<(), SendError> {
        let _ = order_free;
        self.send(to, header, prefix, source)
    }

    /// Sends the pieces that `send_piece` has delayed.
    fn flush_pieces(&mut self) {}

    /// Starts a zero-copy send: takes a stream of `mem` to be transmitted from the application's memory, until
    /// `Delivery::zero_copy_done` reports `token`, or `peer_failed` its peer. It arrives as packets of any length,
    /// with `header` moved (`Header::moved`) to where each begins. `order_free` as in `send_piece`. False: nothing
    /// was taken, and pieces are better.
    fn send_zero_copy(
        &mut self,
        to: Peer,
        header: Header,
        mem: UserMem<'static>,
        order_free: bool,
        token: u32,
    ) -> bool {
        let _ = (to, header, mem, order_free, token);
        false
    }

    /// Reserves room for one packet to the peer with a payload of at most `len` bytes, prefix included. It is
    /// reserved until the next call of this port that sends, reserves or polls: if that call sends such a packet it
    /// is taken, whatever other lanes do meanwhile, unless the peer has failed or ended. False: there is no room now.
    /// If `len` is more than a packet (`DeviceLimits::packet`), the result is whether so many bytes would be taken
    /// now in several packets, and nothing is reserved.
    fn reserve(&mut self, to: Peer, len: usize) -> bool;

    /// Delivers arrived packets of any peer, a bounded number. Returns their number.
    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize;

    /// Polls for a packet of `from`, by the fast path. Returns whether any was delivered: if frames arrive in runs, all
    /// packets of a run are, including those of other peers.
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool;

    /// Writes `source` to byte `at` of the peer's memory that `key` names. For this and the next three calls, `remote`
    /// defines how they end and what has an order. A device without them refuses them with `RemoteError::Unsupported`.
    fn write(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let _ = (to, key, at, source, token);
        Err(RemoteError::Unsupported)
    }

    /// Reads all of `into`, which is borrowed until the read has ended, from byte `at` of the peer's memory that
    /// `key` names.
    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let _ = (from, key, at, into, token);
        Err(RemoteError::Unsupported)
    }

    /// Carries out `atomic` on the word at byte `at` of the peer's memory that `key` names. The value found is reported
    /// with its end.
    fn atomic(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        atomic: AtomicRequest,
        token: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let _ = (to, key, at, atomic, token);
        Err(RemoteError::Unsupported)
    }

    /// Ends successfully when all operations of this port to the peer that were begun before it have ended,
    /// successfully or not.
    fn flush(&mut self, to: Peer, token: CompletionToken) -> Result<Submitted, RemoteError> {
        let _ = (to, token);
        Ok(Submitted::Done(0))
    }
}
