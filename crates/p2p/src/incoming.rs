//! Posts receives to the matching engine; a short one may bypass it (fast path).
//!
//! A short message from a known peer whose queues are empty is taken directly from that peer's ring, without a posted
//! receive and without a request. Every other receive is posted. Used by the user's calls (MPI: `pt2pt`, `persistent`,
//! `partitioned`, `collective`); uses `matching` and `transport::Channel`.

use crate::buffer::Buffer;
use crate::lane::{Core, Lane};
use crate::matching::{Posted, Want};
use crate::message::Body;
use crate::request::Note;
use crate::wire;
use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Header, Payload};

/// Polls of one ring alone before a receive is posted and everything is polled.
pub const TURNS: u32 = 2000;
/// The same limit for a peer on another host, where each poll is a system call: some 30 us, as transport::idle spins.
const TURNS_FAR: u32 = 16;
/// The same limit while other threads may want the lane.
pub const TURNS_SHARED: u32 = 20;
const _: () = assert!(TURNS_FAR < TURNS_SHARED && TURNS_SHARED < TURNS);

/// A message that was taken directly from its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    pub tag: i32,
    /// The length of the message, in bytes; it may exceed the buffer's.
    pub bytes: u64,
}

impl<N: Note> Lane<N> {
    /// Posts a receive that ends with `request`.
    pub fn post(&mut self, want: Want, buffer: Buffer, request: u32) {
        let shared = want.source.is_some_and(|source| self.core.room_key(source, &buffer).is_some());
        let engine = &mut self.core.engine;
        let (op, posted) =
            if shared { engine.post_shared(want, buffer.len()) } else { engine.post_recv(want, buffer.len()) };
        self.core.requests.begun(request, op);
        self.core.bind(op, Body::Buffer(buffer), Some(request));
        if want.source.is_none() && posted == Posted::Waits && !self.core.engine.gone().is_empty() {
            self.core.give_up_if_missing(op);
        }
        if posted == Posted::Matched || self.core.engine.has_effects() {
            self.settle();
        }
    }

    /// Posts the next receives of the requests in `Requests::next`. Returns whether there were any.
    #[cold]
    pub(crate) fn go_on(&mut self) -> bool {
        let next = std::mem::take(&mut self.core.requests.next);
        for &index in &next {
            self.post_next(index);
        }
        !next.is_empty()
    }

    /// Posts the next receives of a request with several operations.
    pub fn post_next(&mut self, index: u32) {
        for (want, buffer) in N::receives(self.core.requests.get(index)) {
            self.post(want, buffer, index);
        }
        N::begun(self.core.requests.get(index));
    }

    /// Polls the peer's ring alone for the wanted message, up to `turns` times, while the fast path is allowed and
    /// worthwhile. `is_near` returns whether the peer is on this host.
    #[inline(always)]
    pub fn take_directly(
        &mut self,
        want: &Want,
        peer: Peer,
        mem: UserMem,
        turns: impl FnOnce() -> u32,
        is_near: impl FnOnce() -> bool,
    ) -> Option<Taken> {
        let engine = &self.core.engine;
        if self.is_long(peer, mem) || !self.is_quiet() || !engine.quick_recv(want.context, peer) {
            return None;
        }
        let turns = turns();
        let (mut turn, mut is_near) = (0, Some(is_near));
        let Lane { channel, core, .. } = &mut *self;
        let mut direct = Direct { core, want, mem, got: None };
        while !channel.poll_from(peer, &mut direct) {
            turn += 1;
            if turn >= turns || turn == TURNS_FAR && is_near.take().is_some_and(|is_near| !is_near()) {
                return None;
            }
            std::hint::spin_loop();
        }
        let got = direct.got;
        if self.core.engine.has_effects() {
            self.settle();
        }
        got // None: another message arrived first, and the engine has it
    }

    /// Whether a message may take several packets. Its receive must be posted before the first packet arrives, or the
    /// message is kept as unexpected.
    #[inline(always)]
    pub fn is_long(&self, peer: Peer, mem: UserMem) -> bool {
        mem.len() as u64 > self.core.engine.limits().packet || mem.len() > self.channel.longest(peer)
    }
}

/// Takes the awaited message directly from the device; hands everything else to the engine.
struct Direct<'a, N: Note> {
    core: &'a mut Core<N>,
    want: &'a Want,
    mem: UserMem<'a>,
    got: Option<Taken>,
}

impl<N: Note> Delivery for Direct<'_, N> {
    #[inline]
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        let tag = header.b as i32;
        let is_another = self.got.is_some() || self.want.source != Some(from);
        if is_another
            || !wire::is_eager(&header, self.want.context)
            || self.want.tag.is_some_and(|wanted| wanted != tag)
        {
            return self.core.deliver(from, header, payload);
        }
        let bytes = payload.len();
        payload.copy_to(self.mem.slice(0, bytes.min(self.mem.len())));
        self.core.engine.took_directly(from, bytes as u64);
        self.got = Some(Taken { tag, bytes: bytes as u64 });
    }

    fn lost(&mut self, peer: Peer) {
        self.core.lost(peer);
    }

    fn returned(&mut self, ticket: u32, taken: u64) {
        self.core.returned(ticket, taken);
    }
}

#[cfg(test)]
mod tests;
