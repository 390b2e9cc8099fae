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
    /// Takes a packet of `from`. An implementation must not send from here; it records packets that are to be sent
    /// later.
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);
    /// Whether another packet of `from` is awaited. If not, a poll should leave further packets of `from` in the
    /// device: if the receive for such a packet is posted before the next poll, no copy of an unexpected message is
    /// made.
    fn expects(&self, from: Peer) -> bool {
        let _ = from;
        true
    }
    /// Called once when a peer has failed or ended: no packet will come from `peer`, and none will reach it.
    fn peer_failed(&mut self, peer: Peer);
    /// Called once when the memory of zero-copy send `token` (`DevicePort::send_zero_copy`) belongs to the
    /// application again. The receiver has its first `delivered` bytes; the caller must send the remaining bytes as
    /// packets.
    fn zero_copy_done(&mut self, token: u32, delivered: u64) {
        unreachable!("{delivered} bytes of {token} are released, and no zero-copy send is open")
    }
    /// Called once when an operation of this port that was in flight (`Submitted::InFlight`) has ended. `outcome` is
    /// the value that an atomic found, 0 for other operations, or the reason of the failure. Memory that the
    /// operation has borrowed belongs to the application again. As in `deliver`, no packet may be sent and no
    /// operation begun from here.
    fn op_completed(&mut self, token: CompletionToken, outcome: Result<u64, RemoteError>) {
        unreachable!("{token:?} ends with {outcome:?}, and nothing was in flight")
    }
}

/// One lane's port of a device.
pub trait DevicePort: Send {
    /// Sends a packet: `prefix`, at most PREFIX_MAX bytes, and then `source`. A packet whose source is
    /// `PayloadSource::None` is a control packet: it may use room that is closed to payload, so that envelopes can be
    /// sent when payload is refused.
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError>;

    /// Sends a packet without prefix on the fast path: `bytes` has at most `DeviceLimits::short` bytes.
    fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> Result<(), SendError> {
        self.send(to, header, &[], PayloadSource::Mem(bytes))
    }

    /// Returns the best length of the pieces of a stream of `total` bytes to the peer, in bytes, if the device sends
    /// in frames (`Fragmentation::Frames`); otherwise None.
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

    /// Sends the pieces that `send_piece` has delayed, and the messages that `join_stream` has.
    fn flush_pieces(&mut self) {}

    /// Starts a zero-copy send of `mem`. The device transmits from `mem`, which is borrowed until
    /// `Delivery::zero_copy_done` reports `token`, or `Delivery::peer_failed` reports the peer. The bytes arrive as
    /// packets of any length, each with `header` moved (`Header::moved`) to the position of the packet's first byte.
    /// `order_free` means the same as in `send_piece`. Returns false if nothing was accepted: then `send_piece` is
    /// better.
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

    /// Sends a whole message of two packets at once, if the device has a method of its own for that: a packet with
    /// `header` and `prefix` and no payload, and behind it one with `rest_header` and `mem` as its payload, which may
    /// arrive in pieces. Neither `prefix` nor `mem` may be empty. Both packets keep their order with packets sent
    /// before and after, and `mem` is not used afterwards. Returns false if nothing was sent, also if the peer has
    /// failed: the caller must send the message by other calls then.
    fn send_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        let _ = (to, header, prefix, rest_header, mem);
        false
    }

    /// Does the same as `send_stream` for a message of at most `DeviceLimits::join_max` bytes that others follow at
    /// once: the device may copy the message and delay it until `flush_pieces`, so that several leave together.
    fn join_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        self.send_stream(to, header, prefix, rest_header, mem)
    }

    /// Reserves room for one packet to the peer with a payload of at most `len` bytes, prefix included. The room is
    /// reserved until the next call of this port that sends, reserves or polls. If that call sends such a packet, the
    /// device accepts it whatever other lanes have done since, except if the peer has failed or ended. Returns false
    /// if there is no room now. If `len` is longer than a packet (`DeviceLimits::packet`), nothing is reserved, and
    /// the result is whether the device would now accept `len` bytes in several packets.
    fn reserve(&mut self, to: Peer, len: usize) -> bool;

    /// Delivers packets that have arrived from any peer, a bounded number of them. Returns how many were delivered.
    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize;

    /// Returns whether an empty poll costs much more than a look at shared memory: a lock, or a system call. Such a
    /// port is polled less often while other devices deliver packets (`transport::Channel::poll`).
    fn is_poll_costly(&self) -> bool {
        false
    }

    /// Delivers the next packet of `from`, on the fast path. Returns whether any packet was delivered. A device that
    /// receives frames in batches delivers all packets of a batch, including those of other peers.
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool;

    /// Writes `source` to byte `at` of the peer's memory that `key` names. The module `remote` defines how `write`,
    /// `read`, `atomic` and `flush` end, and which of them have an order. A device without writes, reads or atomics
    /// refuses them with `RemoteError::Unsupported`.
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

    /// Carries out `atomic` on the word at byte `at` of the peer's memory that `key` names. The value that was found
    /// in the word is reported when the operation ends.
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
