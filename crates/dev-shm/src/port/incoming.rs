//! The receiving side of a port: packets, notifications, and the ends of peers.
//!
//! Used by `poll` and `poll_from` of `port`. Uses `payload`, `poll_set` and `peer_liveness`.

use super::peer_rings::{PeerRingState, bit};
use super::{BURST, INLINE_MAX, ShmPort};
use crate::layout::WORD_BITS;
use crate::notify;
use crate::payload::{ChunkedPayload, InlinePayload};
use crate::poll_set::PollSetChange;
use crate::ring::{Cursor, RingMemory};
use crate::ring_slot::{self, FIRST_PAYLOAD};
use hawser_base::Peer;
use hawser_base::copy;
use hawser_device::{Delivery, DevicePort};
use hawser_job::doorbell::DoorbellWord;

/// The number of slots behind the first slot of a packet without chunks that are prefetched while it is delivered: the
/// rest of it, or the next packets. In a stream these have usually arrived by then and lie in the peer's cache: two
/// slots raise the rate of messages of 8 bytes from 10.0 to 10.4 million a second. In a ping-pong they lie in our own
/// cache, and nothing happens.
const PREFETCHED_SLOTS: u32 = 2;

/// Prefetches the `slots` slots behind that of the cursor, whether they have arrived or not: nothing is read.
#[inline(always)]
fn prefetch_behind<S: RingMemory>(mut cursor: Cursor<S>, slots: u32) {
    for _ in 0..slots {
        cursor.step();
        cursor.read(|body| copy::fetch(body));
    }
}

impl ShmPort {
    /// Delivers the next packet of `from`, if there is one. Returns whether every poll reads the peer's ring; None if
    /// there was no packet.
    #[inline(always)]
    pub(super) fn deliver_next(&mut self, from: Peer, delivery: &mut dyn Delivery) -> Option<bool> {
        let ShmPort { peers, words, pool, retained, liveness, .. } = self;
        let rings = peers.get_mut(from)?;
        let word = rings.rx.peek()?;
        let cursor = rings.rx.cursor();
        // SAFETY: the body begins with the second word.
        let second = cursor.read(|body| unsafe { body.cast::<u64>().read() });
        let header = ring_slot::header(word, second);
        let (slots, given_back) = if ring_slot::is_in_chunks(word) {
            let is_reply = ring_slot::is_reply_in_place(word);
            let chunks = words.pool(if is_reply { words.me } else { rings.local() }).as_ptr();
            // SAFETY: a pool has space for every number of a byte, and `words` keeps it mapped.
            let mut payload = unsafe { ChunkedPayload::new(cursor, word, chunks) };
            // In a stream the next slot has usually arrived by now and lies in the peer's cache. Prefetch it while
            // this packet is copied.
            prefetch_behind(cursor, 1);
            delivery.deliver(from, header, &mut payload);
            let numbers = payload.numbers();
            // Chunks of our pool have come back with a reply. Chunks of the peer's pool may serve for our reply.
            let given_back = match is_reply {
                true => {
                    pool.reclaim_with_reply(from, numbers);
                    false
                }
                false => retained[from].retain(numbers, rings.rx.memory()),
            };
            (1, given_back)
        } else {
            let len = ring_slot::len(word).min(INLINE_MAX);
            prefetch_behind(cursor, PREFETCHED_SLOTS);
            delivery.deliver(from, header, &mut InlinePayload::new(cursor, len, liveness, from));
            (if len <= FIRST_PAYLOAD { 1 } else { ring_slot::slots_of(len) }, false)
        };
        rings.busy = true;
        if rings.rx.advance(slots, given_back) {
            rings.wake();
        }
        Some(rings.is_polled)
    }

    /// Delivers packets of `from`: the first one, and then further ones until the delivery expects no more, at most
    /// BURST. Returns how many were delivered.
    #[inline]
    pub(super) fn deliver_some(&mut self, from: Peer, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while count < BURST && self.deliver_next(from, delivery).is_some() {
            count += 1;
            if !delivery.expects(from) {
                break;
            }
        }
        count
    }

    /// Delivers the packets of the peers that have notified this rank. Returns how many were delivered.
    #[inline(always)]
    pub(super) fn serve_notified(&mut self, delivery: &mut dyn Delivery) -> usize {
        if !self.words.has_overview() {
            return self.serve_word(0, delivery);
        }
        let (mut words, mut count) = (notify::take_notified(self.words.overview(self.words.me)), 0);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            count += self.serve_word(word * WORD_BITS, delivery);
        }
        count
    }

    /// Delivers the packets of the peers that have notified by one word: the word of the ranks from `first` on.
    #[inline(always)]
    fn serve_word(&mut self, first: usize, delivery: &mut dyn Delivery) -> usize {
        let notified = notify::take_notified(self.words.notify_bits(self.words.me, first).word);
        if notified == 0 { 0 } else { self.serve(first, notified, delivery) }
    }

    #[inline(never)]
    fn serve(&mut self, first: usize, mut notified: u64, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while notified != 0 {
            let local = first + notified.trailing_zeros() as usize;
            notified &= notified - 1;
            let Some(peer) = self.liveness.peer(local) else { continue };
            if self.open(peer).is_none() {
                continue;
            }
            count += self.deliver_some(peer, delivery);
            self.handle_notification(peer);
        }
        count
    }

    /// Counts a notification of a peer whose ring is not polled, or was not polled when it notified, and changes the
    /// poll set if necessary.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_notification(&mut self, peer: Peer) {
        let peers = &mut self.peers;
        let was_busy = |polled| peers.get_mut(polled).is_some_and(|rings| std::mem::take(&mut rings.busy));
        match self.poll_set.notified(peer, was_busy) {
            PollSetChange::None => {}
            PollSetChange::Add => self.add_to_poll_set(peer),
            PollSetChange::Replace(quiet) => {
                self.add_to_poll_set(peer);
                let rings = self.rings_of(quiet);
                rings.is_polled = false;
                let local = rings.local();
                let barrier = || self.liveness.doorbell(self.words.me).sleeper_barrier();
                notify::stop_polling(self.words.poll_bits(local), bit(local), barrier);
                self.renotify(quiet);
            }
        }
        if !self.peers[peer].is_polled {
            self.renotify(peer);
        }
    }

    /// Sets the notify bit of a peer in its place, if packets of the peer are left: the peer itself will not set the
    /// bit for them.
    fn renotify(&self, peer: Peer) {
        let rings = &self.peers[peer];
        if rings.rx.peek().is_some() {
            self.words.notify_bits(self.words.me, rings.local()).notify(bit(rings.local()));
        }
    }

    fn add_to_poll_set(&mut self, peer: Peer) {
        let rings = self.rings_of(peer);
        rings.is_polled = true;
        let local = rings.local();
        notify::BitWord::set(self.words.poll_bits(local), bit(local));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_exits(&mut self) {
        while let Some(peer) = self.liveness.next_exited() {
            if let Some(rings) = self.open_any(peer) {
                rings.state = PeerRingState::Draining;
                self.exited.push(peer);
            }
        }
    }

    /// Delivers the last packets of peers that have ended, and reports those peers.
    #[cold]
    #[inline(never)]
    pub(super) fn drain_exited(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while let Some(peer) = self.exited.pop() {
            while self.deliver_next(peer, delivery).is_some() {
                count += 1;
            }
            self.report_exit(peer, delivery);
        }
        self.exited.shrink_to_fit();
        count
    }

    /// Reports a peer that has ended and has no packets left to deliver, and releases everything that was kept for
    /// it.
    #[cold]
    #[inline(never)]
    fn report_exit(&mut self, peer: Peer, delivery: &mut dyn Delivery) {
        if let Some(rings) = self.peers.get_mut(peer).filter(|end| end.is_polled) {
            // Clear our poll bit for it: the next process in its local slot would rely on that bit, and not notify.
            let local = rings.local();
            notify::BitWord::clear(self.words.poll_bits(local), bit(local));
        }
        self.peers.reset(peer);
        self.pool.reclaim_all(peer);
        self.retained.reset(peer);
        self.poll_set.remove(peer);
        delivery.peer_failed(peer);
    }

    /// Continues `poll_from` after an empty poll, if the peer was never used, or if some peer has ended and its end
    /// is not reported yet.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_unused(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        if self.peers[from].state == PeerRingState::Unused && self.open(from).is_some() {
            return self.poll_from(from, delivery);
        }
        if self.liveness.has_new_exits() {
            self.note_exits();
        }
        let Some(index) = self.exited.iter().position(|&peer| peer == from) else { return false };
        if self.deliver_next(from, delivery).is_some() {
            return true;
        }
        self.exited.swap_remove(index);
        self.report_exit(from, delivery);
        false
    }
}
