//! What comes in at a port: packets, calls for attention, and word that somebody is gone.
//!
//! Before it: `port`'s `poll` and `poll_from`. After it: `payload`, `attention`, `life`.

use super::{BURST, LONGEST_IN_LINES, ShmPort, State};
use crate::attention::Change;
use crate::copy;
use crate::line::{self, FRONT};
use crate::memory::Memory;
use crate::payload::{InChunks, InLines};
use crate::pool::CHUNK;
use crate::ring::Rx;
use crate::watch;
use hawser_device::Delivery;
use hawser_job::doorbell::Word;

impl ShmPort {
    /// Delivers the next packet of `from`, if there is one.
    #[inline(always)]
    pub(super) fn deliver_next(&mut self, from: usize, delivery: &mut dyn Delivery) -> bool {
        let rx = &self.ends[from].rx;
        let Some(word) = rx.peek() else { return false };
        let cursor = rx.cursor();
        // SAFETY: the body begins with the second word.
        let second = cursor.read(|body| unsafe { body.cast::<u64>().read() });
        let (peer, header) = (self.ranks[from], line::header(word, second));
        if line::is_in_chunks(word) {
            let home = line::is_home(word);
            let owner = if home { self.me } else { from };
            let pool = self.area.bytes(self.layout.pool(owner, self.lane), CHUNK << u8::BITS).as_ptr();
            // SAFETY: a pool has room for every number of a byte, and `area` keeps it mapped.
            let mut payload = unsafe { InChunks::new(cursor, word, pool) };
            let mut next = cursor;
            next.step();
            // Of a stream it is there by now, in the peer's cache, and comes while this packet is copied.
            next.read(|body| copy::fetch(body));
            delivery.deliver(peer, header, &mut payload);
            let given_back = self.let_go(from, home, payload.numbers());
            self.take(from, 1, given_back);
        } else {
            let len = line::len(word).min(LONGEST_IN_LINES);
            delivery.deliver(peer, header, &mut InLines::new(cursor, len, &self.life, from));
            self.take(from, if len <= FRONT { 1 } else { line::lines_of(len) }, false);
        }
        true
    }

    /// After a packet is delivered.
    #[inline(always)]
    fn take(&mut self, from: usize, lines: u32, given_back: bool) {
        let end = &mut self.ends[from];
        end.busy = true;
        if end.rx.advance(lines, given_back) {
            self.bells[from].ring();
        }
    }

    /// After a packet in chunks is read: ours have come home, the peer's may be of use for an answer. Whether some
    /// were given back.
    #[inline]
    fn let_go(&mut self, from: usize, home: bool, numbers: &[u8]) -> bool {
        if home {
            self.pool.come_home(from, numbers);
            return false;
        }
        self.borrowed[from].keep(numbers, self.ends[from].rx.lines())
    }

    /// Delivers packets of `from` as long as more are expected, but for the first.
    #[inline]
    pub(super) fn deliver_some(&mut self, from: usize, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while count < BURST && self.deliver_next(from, delivery) {
            count += 1;
            if !delivery.expects(self.ranks[from]) {
                break;
            }
        }
        count
    }

    /// Delivers what those have sent who call for attention.
    #[inline(always)]
    pub(super) fn answer_calls(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        for first in (0..self.layout.ranks).step_by(64) {
            let callers = watch::callers(self.area.u64(self.layout.calling(self.me, self.lane, first)));
            if callers != 0 {
                count += self.answer(first, callers, delivery);
            }
        }
        count
    }

    #[inline(never)]
    fn answer(&mut self, first: usize, mut callers: u64, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while callers != 0 {
            let peer = first + callers.trailing_zeros() as usize;
            callers &= callers - 1;
            if peer >= self.layout.ranks || peer == self.me || self.ends[peer].state == State::Lost {
                continue;
            }
            count += self.deliver_some(peer, delivery);
            self.heed(peer);
        }
        count
    }

    /// Somebody has been heard whose ring is not watched, or was not a moment ago.
    #[cold]
    #[inline(never)]
    pub(super) fn heed(&mut self, peer: usize) {
        let ends = &mut self.ends;
        match self.attention.called(peer, |watched| std::mem::take(&mut ends[watched].busy)) {
            Change::None => {}
            Change::Watch => self.watch(peer),
            Change::WatchInsteadOf(quiet) => {
                self.watch(peer);
                self.ends[quiet].watched = false;
                let watched = self.area.u64(self.layout.watched(self.me, self.lane, quiet));
                watch::unwatch(watched, 1 << (quiet % 64), || self.bells[self.me].sleeper_barrier());
                self.call_again(quiet);
            }
        }
        if !self.ends[peer].watched {
            self.call_again(peer);
        }
    }

    /// Calls in the place of a peer that will not, if there is something of it left.
    fn call_again(&self, peer: usize) {
        if self.ends[peer].rx.peek().is_some() {
            watch::Bits::set(self.area.u64(self.layout.calling(self.me, self.lane, peer)), 1 << (peer % 64));
        }
    }

    fn watch(&mut self, peer: usize) {
        self.ends[peer].watched = true;
        watch::Bits::set(self.area.u64(self.layout.watched(self.me, self.lane, peer)), 1 << (peer % 64));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_ended(&mut self) {
        for peer in self.life.ended() {
            if peer != self.me && self.ends[peer].state == State::There {
                self.ends[peer].state = State::Gone;
                self.gone.push(peer);
            }
        }
    }

    /// Delivers the last packets of those who are gone, and reports them.
    #[cold]
    #[inline(never)]
    pub(super) fn bury(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while let Some(peer) = self.gone.pop() {
            while self.deliver_next(peer, delivery) {
                count += 1;
            }
            self.lose(peer, delivery);
        }
        count
    }

    /// Reports a peer of which nothing is left.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, peer: usize, delivery: &mut dyn Delivery) {
        let end = &mut self.ends[peer];
        end.state = State::Lost;
        end.tx.close();
        // Others can still write where the peer did.
        end.rx = Rx::new(Memory::silent());
        self.pool.reclaim_all(peer);
        self.borrowed[peer].forget();
        self.attention.forget(peer);
        delivery.lost(self.ranks[peer]);
    }

    /// `poll_from` when nothing was there and somebody is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_gone(&mut self, from: usize, delivery: &mut dyn Delivery) -> bool {
        if self.life.has_news() {
            self.note_ended();
        }
        let Some(index) = self.gone.iter().position(|&peer| peer == from) else { return false };
        if self.deliver_next(from, delivery) {
            return true;
        }
        self.gone.swap_remove(index);
        self.lose(from, delivery);
        false
    }
}
