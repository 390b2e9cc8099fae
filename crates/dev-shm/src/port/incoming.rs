//! The receiving side of a port: packets, calls for attention, and the ends of peers.
//!
//! Used by `poll` and `poll_from` of `port`. Uses `payload`, `attention` and `life`.

use super::end::{State, bit};
use super::{BURST, LONGEST_IN_LINES, ShmPort};
use crate::attention::Change;
use crate::copy;
use crate::layout::WORD;
use crate::line::{self, FRONT};
use crate::payload::{InChunks, InLines};
use crate::watch;
use hawser_base::Peer;
use hawser_device::{Delivery, Port};
use hawser_job::doorbell::Word;

impl ShmPort {
    /// Delivers the next packet of `from`, if there is one. Returns whether every poll looks at its ring.
    #[inline(always)]
    pub(super) fn deliver_next(&mut self, from: Peer, delivery: &mut dyn Delivery) -> Option<bool> {
        let ShmPort { ends, seat, pool, borrowed, life, .. } = self;
        let end = ends.get_mut(from)?;
        let word = end.rx.peek()?;
        let cursor = end.rx.cursor();
        // SAFETY: the body begins with the second word.
        let second = cursor.read(|body| unsafe { body.cast::<u64>().read() });
        let header = line::header(word, second);
        let (lines, given_back) = if line::is_in_chunks(word) {
            let home = line::is_home(word);
            let chunks = seat.pool(if home { seat.me } else { end.local() }).as_ptr();
            // SAFETY: a pool has room for every number of a byte, and `seat` keeps it mapped.
            let mut payload = unsafe { InChunks::new(cursor, word, chunks) };
            let mut next = cursor;
            next.step();
            // In a stream the next line has arrived by now, in the peer's cache: it is fetched while this packet is
            // copied.
            next.read(|body| copy::fetch(body));
            delivery.deliver(from, header, &mut payload);
            let numbers = payload.numbers();
            // Chunks of ours have returned; the peer's may serve for a reply.
            let given_back = match home {
                true => {
                    pool.come_home(from, numbers);
                    false
                }
                false => borrowed[from].keep(numbers, end.rx.lines()),
            };
            (1, given_back)
        } else {
            let len = line::len(word).min(LONGEST_IN_LINES);
            delivery.deliver(from, header, &mut InLines::new(cursor, len, life, from));
            (if len <= FRONT { 1 } else { line::lines_of(len) }, false)
        };
        end.busy = true;
        if end.rx.advance(lines, given_back) {
            end.ring();
        }
        Some(end.watched)
    }

    /// Delivers packets of `from`: the first one, and more as long as the delivery expects more.
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

    /// Delivers the packets of the peers that call for attention.
    #[inline(always)]
    pub(super) fn answer_calls(&mut self, delivery: &mut dyn Delivery) -> usize {
        if !self.seat.has_overview() {
            return self.answer_word(0, delivery);
        }
        let (mut words, mut count) = (watch::callers(self.seat.overview(self.seat.me)), 0);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            count += self.answer_word(word * WORD, delivery);
        }
        count
    }

    /// Does the same for the ranks that share a word, of which `first` is the first.
    #[inline(always)]
    fn answer_word(&mut self, first: usize, delivery: &mut dyn Delivery) -> usize {
        let callers = watch::callers(self.seat.calling(self.seat.me, first).word);
        if callers == 0 { 0 } else { self.answer(first, callers, delivery) }
    }

    #[inline(never)]
    fn answer(&mut self, first: usize, mut callers: u64, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while callers != 0 {
            let local = first + callers.trailing_zeros() as usize;
            callers &= callers - 1;
            let Some(peer) = self.life.peer(local) else { continue };
            if self.open(peer).is_none() {
                continue;
            }
            count += self.deliver_some(peer, delivery);
            self.heed(peer);
        }
        count
    }

    /// Counts a call of a peer whose ring is not watched, or was not a moment ago.
    #[cold]
    #[inline(never)]
    pub(super) fn heed(&mut self, peer: Peer) {
        let ends = &mut self.ends;
        let was_busy = |watched| ends.get_mut(watched).is_some_and(|end| std::mem::take(&mut end.busy));
        match self.attention.called(peer, was_busy) {
            Change::None => {}
            Change::Watch => self.watch(peer),
            Change::WatchInsteadOf(quiet) => {
                self.watch(peer);
                let end = self.end(quiet);
                end.watched = false;
                let local = end.local();
                let barrier = || self.life.bell(self.seat.me).sleeper_barrier();
                watch::unwatch(self.seat.watched(local), bit(local), barrier);
                self.call_again(quiet);
            }
        }
        if !self.ends[peer].watched {
            self.call_again(peer);
        }
    }

    /// Calls in place of a peer that will not call, if packets of it are left.
    fn call_again(&self, peer: Peer) {
        let end = &self.ends[peer];
        if end.rx.peek().is_some() {
            self.seat.calling(self.seat.me, end.local()).call(bit(end.local()));
        }
    }

    fn watch(&mut self, peer: Peer) {
        let end = self.end(peer);
        end.watched = true;
        let local = end.local();
        watch::Bits::set(self.seat.watched(local), bit(local));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_ended(&mut self) {
        while let Some(peer) = self.life.next_end() {
            if let Some(end) = self.open_any(peer) {
                end.state = State::Gone;
                self.gone.push(peer);
            }
        }
    }

    /// Delivers the last packets of peers that have ended, and reports those peers.
    #[cold]
    #[inline(never)]
    pub(super) fn bury(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while let Some(peer) = self.gone.pop() {
            while self.deliver_next(peer, delivery).is_some() {
                count += 1;
            }
            self.lose(peer, delivery);
        }
        self.gone.shrink_to_fit();
        count
    }

    /// Reports a peer of which nothing is left to deliver.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, peer: Peer, delivery: &mut dyn Delivery) {
        if let Some(end) = self.ends.get_mut(peer).filter(|end| end.watched) {
            // Clear our watched bit: the next process of its local slot would rely on it, and not call.
            let local = end.local();
            watch::Bits::clear(self.seat.watched(local), bit(local));
        }
        self.ends.give_back(peer);
        self.pool.reclaim_all(peer);
        self.borrowed.give_back(peer);
        self.attention.forget(peer);
        delivery.lost(peer);
    }

    /// Continues `poll_from` after an empty poll, for a peer that was never used or while a peer has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_seldom(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        if self.ends[from].state == State::Unused && self.open(from).is_some() {
            return self.poll_from(from, delivery);
        }
        if self.life.has_news() {
            self.note_ended();
        }
        let Some(index) = self.gone.iter().position(|&peer| peer == from) else { return false };
        if self.deliver_next(from, delivery).is_some() {
            return true;
        }
        self.gone.swap_remove(index);
        self.lose(from, delivery);
        false
    }
}
