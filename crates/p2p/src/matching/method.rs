//! Chooses how a message is transferred, by pure functions of the route's limits, the state of the peer, and the
//! message; nothing here has state, or knows a device by name. The fast paths of `send` and `recv` compare a length
//! with a limit themselves, and come to the same result (`tests/quick_path.rs`).
//!
//! In the order of a message: `poll_before_send`, `is_device_stream` and `of_send` (its beginning), `announces` (the
//! RTR of a posted receive), `reply_to_rts` (the reply to an RTS), `of_rest` (the bytes behind the first packet).
//! `method_table` shows all of it for people (`hawser-info --methods`).
//!
//! Used by `post`, `rtr` and `arrive`, and by `send` and `lane`, which carry the methods out; uses `limits`.

use super::limits::ProtocolLimits;
use super::operation::cost;

/// The facts by which a sender chooses: the message, its peer and the route when the send begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendFacts {
    /// The length of the message, in bytes.
    pub bytes: u64,
    /// Whether the send completes only when it is matched (MPI_Ssend, MPI-5.0 §3.4).
    pub sync: bool,
    /// Whether the receiver can read the message from the sender's memory: an rkey was made.
    pub is_readable: bool,
    /// Whether the device has space for payload now. If not, only packets without payload can be sent, which may wait
    /// in the channel's backlog.
    pub has_space: bool,
    /// Credit left for eager payload to the peer, in bytes.
    pub credit: u64,
    /// The capacity, in bytes, of the receive whose RTR the message matches, if there is one.
    pub rtr_capacity: Option<u64>,
    /// Longest payload that is best sent in one packet on the route now, in bytes.
    pub packet: u64,
    /// Payload that is best sent in the first packet of an eager stream now, in bytes.
    pub first: u64,
}

/// The beginning of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMethod {
    /// One packet with the whole message, within the receiver's credit.
    Eager,
    /// A packet with the first `first_bytes` bytes, within the receiver's credit; the rest follows at once.
    EagerStream { first_bytes: u64 },
    /// The receive was posted first and has told so by an RTR: a reply with the first `first_bytes` bytes, without
    /// credit; the rest follows at once (the write protocol of MPI/MBCF §3.1).
    RtrReply { first_bytes: u64 },
    /// An RTS with the first `first_bytes` bytes; the rest waits for a CTS.
    Rendezvous { first_bytes: u64 },
    /// An RTS with an rkey: the receiver reads the message from the sender's memory.
    RemoteRead,
    /// Nothing is sent before the device has space. A rendezvous would take three packets, and space returns as soon
    /// as the peer polls.
    WaitForSpace,
}

/// The reason for which a send polls its peer before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PollBeforeSend {
    /// It does not poll: the receiver will read the message from the sender's memory, for which neither an RTR nor
    /// credit is needed.
    None,
    /// As long as there is not enough credit and packets arrive: one of them may return credit.
    ForCredit,
    /// Once, because an RTR may lie in the ring that the send could reply to. (Without that poll, 85 % of the long
    /// messages of a ping-pong sent an RTS.)
    ForRtr,
}

/// Chooses whether a send polls its peer before it begins. `is_readable`: see `SendFacts`.
pub fn poll_before_send(limits: &ProtocolLimits, bytes: u64, is_readable: bool) -> PollBeforeSend {
    if is_readable {
        PollBeforeSend::None
    } else if bytes > limits.eager || bytes >= limits.reply_from {
        PollBeforeSend::ForRtr
    } else {
        PollBeforeSend::ForCredit
    }
}

/// Returns whether the device is asked to send an eager message by a method of its own, before its packets are.
pub fn is_device_stream(limits: &ProtocolLimits, bytes: u64) -> bool {
    (limits.stream_from..=limits.eager).contains(&bytes) && bytes < limits.read_from
}

/// Returns whether a message that others follow at once goes with them by the device's own method.
pub fn is_joined(limits: &ProtocolLimits, bytes: u64) -> bool {
    bytes > 0 && bytes < limits.join_below.min(limits.read_from)
}

/// Chooses how a send begins.
pub fn of_send(limits: &ProtocolLimits, facts: &SendFacts) -> SendMethod {
    let SendFacts { bytes, has_space, credit, .. } = *facts;
    let longest = facts.packet.min(limits.packet);
    // A synchronous send needs the reply to its RTS; a remote read copies once, which is better than any stream.
    let may_stream = !facts.sync && !facts.is_readable;
    let fits_rtr = facts.rtr_capacity.is_some_and(|capacity| bytes <= capacity);
    if may_stream && fits_rtr && bytes >= limits.reply_from {
        // A message of one packet goes with the reply. A longer one follows it: its pieces have the best lengths.
        return SendMethod::RtrReply { first_bytes: if has_space && bytes <= longest { bytes } else { 0 } };
    }
    if may_stream && bytes <= limits.eager {
        if !has_space {
            return SendMethod::WaitForSpace;
        }
        if credit >= cost(bytes) {
            let first_bytes = facts.first.min(longest);
            return if bytes <= longest { SendMethod::Eager } else { SendMethod::EagerStream { first_bytes } };
        }
    }
    if may_stream && fits_rtr {
        return SendMethod::RtrReply { first_bytes: 0 };
    }
    if facts.is_readable {
        return SendMethod::RemoteRead;
    }
    let first_bytes = bytes.min(limits.first).min(longest);
    let is_paid = has_space && first_bytes > 0 && credit >= cost(first_bytes);
    SendMethod::Rendezvous { first_bytes: if is_paid { first_bytes } else { 0 } }
}

/// The announcement, to its source, of a receive that is posted before its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Announcement {
    /// Nothing: the sender begins in any case.
    None,
    /// An RTR, so that the sender may reply to it without an RTS.
    Rtr,
}

/// Chooses what a posted receive of `capacity` bytes tells its source. `is_writable`: the sender can write into the
/// receive's memory, by the rkey of a CTS, so that an RTS is wanted.
pub fn announces(limits: &ProtocolLimits, capacity: u64, is_writable: bool) -> Announcement {
    let is_announced = (limits.rtr_from..limits.private_read_from).contains(&capacity) && !is_writable;
    if is_announced { Announcement::Rtr } else { Announcement::None }
}

/// The reply to an RTS, by which the receiver gets the bytes that did not come with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtsReply {
    /// All wanted bytes are here: a FIN.
    Fin,
    /// The receiver reads the rest from the sender's memory, then sends a FIN.
    Read,
    /// A CTS: the sender streams the rest, or writes it if the CTS has an rkey.
    Cts,
}

/// Chooses the reply to an RTS of which `missing` wanted bytes are not here.
pub fn reply_to_rts(missing: u64, has_key: bool) -> RtsReply {
    match (missing, has_key) {
        (0, _) => RtsReply::Fin,
        (_, true) => RtsReply::Read,
        (_, false) => RtsReply::Cts,
    }
}

/// The method for the bytes of a message that did not go in its first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestMethod {
    /// In pieces, which the device copies or frames.
    Pieces,
    /// The device sends them from the application's memory, if it can now; else they go in pieces.
    ZeroCopy,
}

/// Chooses how the last `rest` bytes of a message leave. `is_dense`: they lie in one piece in the application's memory.
/// `overtakes`: earlier bytes to this peer wait, which a zero-copy send must not overtake.
pub fn of_rest(limits: &ProtocolLimits, rest: u64, is_dense: bool, overtakes: bool) -> RestMethod {
    if is_dense && !overtakes && rest >= limits.zero_copy_from { RestMethod::ZeroCopy } else { RestMethod::Pieces }
}
