//! The sending end of a direct connection, without I/O. It knows which message occupies which bytes of the connection
//! and how many bytes the peer has, and decides when the connection is given up (P37 of docs/protocol.md).
//!
//! A position is a number of bytes behind the greeting. Used by `direct`; uses no module but `wire`.

use super::wire::{PART_HEADER_BYTES, SenderControl, encode_part_header};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{JobKey, PeerPair};
use std::collections::VecDeque;

/// Time without progress after which the peer's position is queried. It is longer than several round trips of any
/// network, and only a quarter of TCP's minimum time to retransmit (200 ms), because bytes that stall can be sent by
/// link instead.
const STALL_NS: u64 = 50_000_000;

/// Minimum time from the end of a connection to the next attempt. It doubles with each connection that ends before a
/// send was complete, RETRY_DOUBLINGS times at most.
const RETRY_NS: u64 = 1_000_000_000;
const RETRY_DOUBLINGS: u32 = 6;

/// A part of a message that is sent zero-copy.
#[derive(Clone, Copy, Debug)]
pub struct ZeroCopySend {
    pub lane: Lane,
    pub ticket: u32,
    pub mem: UserMem<'static>,
}

/// A zero-copy send that is complete: its first `delivered` bytes have reached the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeroCopyDone {
    pub lane: Lane,
    pub ticket: u32,
    pub delivered: u64,
}

/// The state of the sending end of a direct connection (P37).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DirectState {
    /// There is no connection.
    Idle,
    /// A connection was opened, and the peer has not confirmed that it reads it.
    Connecting,
    /// The peer reads the connection.
    Open,
    /// The connection broke or stalled: the peer's count decides which bytes go by link.
    Closing,
}

hawser_base::state_machine! {
    impl DirectState {
        start Idle;
        /// A connection is being opened.
        connect_started(Idle => Connecting);
        /// The peer has confirmed that it reads the connection, by its first POSITION or a later one.
        confirmed(Connecting | Open => Open);
        /// The connection broke or stalled while messages are in it; a CLOSE requests the peer's count.
        close_requested(Open => Closing);
        /// The peer has sent CLOSED, or the connection broke without a message in it.
        ended(Connecting | Open | Closing => Idle);
    }
}

struct QueuedSend {
    send: ZeroCopySend,
    header: [u8; PART_HEADER_BYTES],
    /// The position of the part header.
    start: u64,
}

impl QueuedSend {
    fn payload_start(&self) -> u64 {
        self.start + PART_HEADER_BYTES as u64
    }

    fn end(&self) -> u64 {
        self.payload_start() + self.send.mem.len() as u64
    }

    fn completion(&self, received_bytes: u64) -> ZeroCopyDone {
        let delivered = received_bytes.saturating_sub(self.payload_start()).min(self.send.mem.len() as u64);
        ZeroCopyDone { lane: self.send.lane, ticket: self.send.ticket, delivered }
    }
}

/// The state of the sending end.
pub struct DirectSender {
    state: DirectState,
    /// Number of this connection, or of the last one.
    number: u32,
    queue: VecDeque<QueuedSend>,
    end: u64,
    written: u64,
    /// The peer has read, or guarantees to read, all bytes before this position.
    acked: u64,
    pending_control: Option<SenderControl>,
    /// The values of `written` and `acked` when the peer's position was queried.
    queried_at: Option<(u64, u64)>,
    stalled_at_ns: u64,
    failures: u32,
    retry_at_ns: u64,
}

impl DirectSender {
    pub fn new() -> DirectSender {
        DirectSender {
            state: DirectState::Idle,
            number: 0,
            queue: VecDeque::new(),
            end: 0,
            written: 0,
            acked: 0,
            pending_control: None,
            queried_at: None,
            stalled_at_ns: 0,
            failures: 0,
            retry_at_ns: 0,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == DirectState::Open
    }

    /// Returns whether a connection is open or being opened.
    pub fn has_connection(&self) -> bool {
        matches!(self.state, DirectState::Connecting | DirectState::Open)
    }

    pub fn may_connect(&self, now_ns: u64) -> bool {
        self.state == DirectState::Idle && now_ns >= self.retry_at_ns
    }

    /// Begins to open a connection. Returns its number.
    pub fn connect(&mut self) -> u32 {
        debug_assert!(self.state == DirectState::Idle && self.queue.is_empty());
        self.number += 1;
        self.state.connect_started();
        (self.end, self.written, self.acked) = (0, 0, 0);
        (self.pending_control, self.queried_at) = (None, None);
        self.number
    }

    /// Returns whether no memory is borrowed and no message is due.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.pending_control.is_none() && self.state != DirectState::Closing
    }

    /// Returns whether there are bytes to write.
    pub fn has_unwritten(&self) -> bool {
        self.state == DirectState::Open && self.written < self.end
    }

    /// Returns when `query_if_stalled` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let is_waiting = self.state == DirectState::Open && !self.queue.is_empty() && self.queried_at.is_none();
        is_waiting.then_some(self.stalled_at_ns)
    }

    /// Appends a zero-copy send. `after`: all messages of link before this number must be delivered before it.
    pub fn enqueue(
        &mut self,
        send: ZeroCopySend,
        header: Header,
        after: Option<Seq>,
        tag_key: (&JobKey, PeerPair),
        now_ns: u64,
    ) {
        debug_assert!(self.is_open() && !send.mem.is_empty());
        let (len, start) = (send.mem.len() as u64, self.end);
        let part_header = encode_part_header(send.lane, header, after, len, (self.number, start), tag_key);
        if self.queue.is_empty() {
            self.record_progress(now_ns);
        }
        let queued = QueuedSend { send, header: part_header, start };
        self.end = queued.end();
        self.queue.push_back(queued);
    }

    /// Returns the next bytes to write: of a part header, and of the program's memory behind it.
    pub fn next_bytes(&self) -> Option<(&[u8], UserMem<'static>)> {
        if !self.has_unwritten() {
            return None;
        }
        let queued = self.queue.iter().find(|queued| queued.end() > self.written)?;
        let done = (self.written - queued.start) as usize;
        let sent_payload = done.saturating_sub(PART_HEADER_BYTES);
        let mem = queued.send.mem;
        Some((&queued.header[done.min(PART_HEADER_BYTES)..], mem.slice(sent_payload, mem.len() - sent_payload)))
    }

    pub fn record_written(&mut self, bytes: usize, now_ns: u64) {
        self.written += bytes as u64;
        self.record_progress(now_ns);
    }

    fn record_progress(&mut self, now_ns: u64) {
        self.stalled_at_ns = now_ns + STALL_NS;
    }

    /// Queries the peer's position, if nothing has moved for too long.
    pub fn query_if_stalled(&mut self, now_ns: u64) {
        if self.deadline_ns().is_some_and(|at_ns| now_ns >= at_ns) {
            self.queried_at = Some((self.written, self.acked));
            self.pending_control = Some(SenderControl::Query { number: self.number });
        }
    }

    /// Handles a POSITION: the peer has read, or guarantees to read, `count` bytes of connection `number`. Calls
    /// `complete` for each send that is complete. An impossible number or count is ignored.
    pub fn handle_position(&mut self, number: u32, count: u64, now_ns: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        let is_possible = number == self.number && count >= self.acked && count <= self.written;
        if !is_possible || !self.state.confirmed() {
            return;
        }
        self.acked = count;
        while self.queue.front().is_some_and(|queued| queued.end() <= count) {
            self.queue.pop_front().into_iter().for_each(|queued| complete(queued.completion(count)));
            self.failures = 0;
        }
        match self.queried_at.take() {
            Some(then) if then == (self.written, count) && !self.queue.is_empty() => self.begin_close(),
            _ => self.record_progress(now_ns),
        }
    }

    /// Records that the connection has broken.
    pub fn handle_failure(&mut self, now_ns: u64) {
        match self.state {
            DirectState::Open if !self.queue.is_empty() => self.begin_close(),
            DirectState::Open | DirectState::Connecting => self.become_idle(now_ns),
            DirectState::Idle | DirectState::Closing => {}
        }
    }

    fn begin_close(&mut self) {
        self.state.close_requested();
        self.pending_control = Some(SenderControl::Close { number: self.number });
        self.queried_at = None;
    }

    /// Handles a CLOSED: the peer has read `count` bytes of connection `number`, and reads no more. Calls `complete`
    /// for all queued sends. An impossible number or count is ignored.
    pub fn handle_closed(&mut self, number: u32, count: u64, now_ns: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        if self.state == DirectState::Idle || number != self.number || count < self.acked || count > self.written {
            return;
        }
        self.queue.drain(..).for_each(|queued| complete(queued.completion(count)));
        self.become_idle(now_ns);
    }

    fn become_idle(&mut self, now_ns: u64) {
        self.state.ended();
        (self.pending_control, self.queried_at) = (None, None);
        self.retry_at_ns = now_ns + (RETRY_NS << self.failures);
        self.failures = (self.failures + 1).min(RETRY_DOUBLINGS);
    }

    /// Returns the message that is due to the peer, until `control_sent` reports that it was sent.
    pub fn pending_control(&self) -> Option<SenderControl> {
        self.pending_control
    }

    pub fn control_sent(&mut self) {
        self.pending_control = None;
    }
}
