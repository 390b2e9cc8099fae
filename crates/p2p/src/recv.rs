//! Posts receives to the matching engine; a short one may bypass it (fast path).
//!
//! A short message from a known peer whose queues are empty is taken directly from that peer's ring, without a posted
//! receive and without a request. Every other receive is posted. Used by the user's calls (MPI: `pt2pt`, `persistent`,
//! `partitioned`, `collective`); uses `matching` and `transport::Channel`.

use crate::buffer::Buffer;
use crate::counters::Counter;
use crate::lane::{LaneCore, LaneState};
use crate::matching::{MatchSpec, PostOutcome};
use crate::message::MessageMemory;
use crate::request::RequestData;
use crate::wire;
use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Header, Payload};

/// The maximum number of polls of only one ring, before a receive is posted and everything is polled.
pub const DIRECT_POLLS: u32 = 2000;
/// The maximum number of such polls for a peer on another host. Each poll is a system call there, so that these polls
/// take about 30 us, the time for which `transport::wait_policy` spins.
const DIRECT_POLLS_REMOTE: u32 = 16;
/// The maximum number of such polls if other threads may want the lane.
pub const DIRECT_POLLS_SHARED: u32 = 20;
const _: () = assert!(DIRECT_POLLS_REMOTE < DIRECT_POLLS_SHARED && DIRECT_POLLS_SHARED < DIRECT_POLLS);

/// A message that was taken directly from its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectRecv {
    pub tag: i32,
    /// The length of the message, in bytes; it may exceed the buffer's.
    pub bytes: u64,
}

impl<N: RequestData> LaneState<N> {
    /// Posts a receive that ends with `request`.
    pub fn post(&mut self, spec: MatchSpec, buffer: Buffer, request: u32) {
        let exposed = spec.source.is_some_and(|source| self.core.recv_rkey(source, &buffer).is_some());
        let engine = &mut self.core.engine;
        let (op, posted) =
            if exposed { engine.post_exposed(spec, buffer.len()) } else { engine.post_recv(spec, buffer.len()) };
        self.core.requests.set_active(request, op);
        self.core.bind(op, MessageMemory::Buffer(buffer), Some(request));
        if spec.source.is_none() && posted == PostOutcome::Queued && !self.core.engine.failed_peers().is_empty() {
            self.core.fail_if_peer_failed(op);
        }
        if posted == PostOutcome::Matched || self.core.engine.has_effects() {
            self.flush_effects();
            self.read_for_threads();
        }
    }

    /// Posts the next receives of the requests in `Requests::to_continue`. Returns whether there were any.
    #[cold]
    pub(crate) fn post_continuations(&mut self) -> bool {
        let next = std::mem::take(&mut self.core.requests.to_continue);
        for &index in &next {
            self.post_next(index);
        }
        !next.is_empty()
    }

    /// Posts the next receives of a request with several operations.
    pub fn post_next(&mut self, index: u32) {
        for (spec, buffer) in N::next_receives(self.core.requests.get(index)) {
            self.post(spec, buffer, index);
        }
        N::on_receives_posted(self.core.requests.get(index));
    }

    /// Polls only the peer's ring for the wanted message, up to `max_polls` times, if the fast path is allowed and
    /// worthwhile. The message is copied to `mem`. None if it was not received: the receive must be posted then.
    /// `is_local` returns whether the peer is on this host.
    #[inline(always)]
    pub fn recv_directly(
        &mut self,
        spec: &MatchSpec,
        peer: Peer,
        mem: UserMem,
        max_polls: impl FnOnce() -> u32,
        is_local: impl FnOnce() -> bool,
    ) -> Option<DirectRecv> {
        let engine = &self.core.engine;
        if self.is_long(peer, mem) || !self.is_idle() || !engine.may_recv_directly(spec.context, peer) {
            return None;
        }
        self.send_run.end();
        let max_polls = max_polls();
        let (mut polls, mut is_local) = (0, Some(is_local));
        let LaneState { channel, core, .. } = &mut *self;
        let mut delivery = DirectDelivery { core, spec, mem, received: None };
        while !channel.poll_from(peer, &mut delivery) {
            polls += 1;
            if polls >= max_polls || polls == DIRECT_POLLS_REMOTE && is_local.take().is_some_and(|is_local| !is_local())
            {
                return None;
            }
            std::hint::spin_loop();
        }
        let received = delivery.received;
        if self.core.engine.has_effects() {
            self.flush_effects();
        }
        received // None: another message arrived first, and the engine has it
    }

    /// Returns whether a message that fills `mem` may come in several packets. The receive of such a message must be
    /// posted before its first packet arrives, because the message is otherwise kept as unexpected.
    #[inline(always)]
    pub fn is_long(&self, peer: Peer, mem: UserMem) -> bool {
        let limits = self.core.engine.limits_of(peer);
        mem.len() as u64 >= limits.stream_from.min(limits.packet + 1)
            || mem.len() > self.channel.max_single_packet(peer)
    }
}

/// Takes the awaited message directly from the device; hands everything else to the engine.
struct DirectDelivery<'a, N: RequestData> {
    core: &'a mut LaneCore<N>,
    spec: &'a MatchSpec,
    mem: UserMem<'a>,
    received: Option<DirectRecv>,
}

impl<N: RequestData> Delivery for DirectDelivery<'_, N> {
    #[inline]
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        let tag = header.b() as i32;
        let is_another = self.received.is_some() || self.spec.source != Some(from);
        if is_another
            || !wire::is_eager(&header, self.spec.context)
            || self.spec.tag.is_some_and(|wanted| wanted != tag)
        {
            return self.core.deliver(from, header, payload);
        }
        let bytes = payload.len();
        payload.copy_to(self.mem.slice(0, bytes.min(self.mem.len())));
        self.core.engine.count_direct_recv(from, bytes as u64);
        self.core.counters.add(Counter::BytesReceived as usize, bytes as u64);
        self.received = Some(DirectRecv { tag, bytes: bytes as u64 });
    }

    fn peer_failed(&mut self, peer: Peer) {
        self.core.peer_failed(peer);
    }

    fn zero_copy_done(&mut self, token: u32, delivered: u64) {
        self.core.zero_copy_done(token, delivered);
    }
}

#[cfg(test)]
mod tests;
