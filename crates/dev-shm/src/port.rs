//! The port of one lane: it chooses the form of each packet to send, delivers what has arrived, and reports peers that
//! have ended.
//!
//! A port is used under its lane's lock alone. A refused packet leaves nothing behind: space for all of it is found
//! before its first line is written. A peer has an `End` from its first use until it is lost. Used by `transport`; uses
//! `end`, `ring`, `pool`, `payload` and `attention`.

mod end;
mod incoming;

use crate::attention::Attention;
use crate::copy;
use crate::layout::Layout;
use crate::life::Life;
use crate::line::{self, BODY, CHUNKS, CHUNKS_AT, FRONT, FRONT_AT};
use crate::loan::{Borrower, HOMEWARD};
use crate::memory::Memory;
use crate::pool::{self, CHUNK, Pool};
use crate::remote::Remote;
use crate::ring::{LINES, lazy};
use end::{End, Seat, State};
use hawser_base::paged::Paged;
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use hawser_device::{
    Atomic, Bytes, Delivery, Fault, Header, PREFIX_MAX, Port, Refusal, RemoteKey, Source, Taken, Ticket,
};
use hawser_job::Segment;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

/// Payload, in bytes, up to which lines are the rule. Beyond it a chunk is faster (measured between 768 and 1024).
pub const SHORT: usize = line::fits_in(14);

/// Lines that may be unread in a ring: control packets may use all, payload leaves some.
const CONTROL_LIMIT: u32 = LINES;
const PAYLOAD_LIMIT: u32 = LINES - 16;

/// The most lines of a packet: as many as fit once the peer has read everything, whether it has published that or not.
const MOST_LINES: u32 = PAYLOAD_LIMIT - lazy::<Memory>();

/// Payload that can go in lines, if there is no chunk: a peer's share of a pool is never less than its ring.
pub const LONGEST_IN_LINES: usize = line::fits_in(MOST_LINES);

const _: () = assert!(SHORT <= LONGEST_IN_LINES && CHUNK + PREFIX_MAX <= LONGEST_IN_LINES);

/// Returns the chunks of a packet of `total` bytes, prefix included: a small rest beyond whole chunks goes into the
/// line beside the prefix.
#[inline(always)]
fn chunks_of(total: usize) -> usize {
    if total >= CHUNK && total % CHUNK <= PREFIX_MAX { total / CHUNK } else { total.div_ceil(CHUNK) }
}

/// Packets of this length or more may be written past the caches. Shorter ones gained nothing: waiting for the stores
/// to drain costs as much as each saves.
const LONG: usize = 2 * CHUNK;

/// Maximum packets of one peer that a poll delivers before it looks at the next peer.
const BURST: usize = 16;

/// The port of one lane.
pub struct ShmPort {
    ends: Paged<End>,
    seat: Seat,
    pool: Pool,
    /// Chunks of each peer's pool that are retained for a reply.
    borrowed: Paged<Borrower>,
    attention: Attention,
    life: Life,
    /// Peers that have ended and are not yet reported.
    gone: Vec<Peer>,
    /// Buffer for packed payload that goes in lines.
    scratch: Vec<u8>,
    remote: Arc<Remote>,
}

impl ShmPort {
    pub(crate) fn new(segment: &Segment, me: usize, lane: Lane, remote: Arc<Remote>) -> ShmPort {
        let ranks = segment.rooms();
        ShmPort {
            ends: Paged::new(End::blank()),
            seat: Seat { area: segment.device_area(), layout: Layout { ranks }.lane(lane.index()), me },
            pool: Pool::new(ranks),
            borrowed: Paged::new(Borrower::new(pool::keep(ranks))),
            attention: Attention::new(),
            life: Life::new(segment.clone()),
            gone: Vec::new(),
            scratch: Vec::new(),
            remote,
        }
    }

    /// Returns the local number of a peer of this host whose memory can be used.
    fn owner(&self, peer: Peer) -> Result<usize, Fault> {
        let owner = self.life.local(peer).filter(|_| !self.life.has_ended(peer));
        owner.ok_or(Fault::Lost)
    }

    /// Returns the end of a peer, opened by its first use; none if the peer is lost.
    #[inline]
    fn open(&mut self, peer: Peer) -> Option<&mut End> {
        // The local slot of a lost peer can still be written by others, and nobody polls it again.
        if self.ends[peer].state == State::Unused && self.life.is_known_ended(peer) {
            return None;
        }
        self.open_any(peer)
    }

    /// Returns the same, also of a peer that has just ended.
    fn open_any(&mut self, peer: Peer) -> Option<&mut End> {
        if self.ends[peer].state == State::Unused {
            let local = self.life.local(peer).filter(|&local| local != self.seat.me)?;
            self.ends[peer] = End::new(&self.seat, local, self.life.bell(local));
        }
        self.ends.get_mut(peer)
    }

    /// Returns the end of a peer that `open` has opened.
    #[inline(always)]
    fn end(&mut self, peer: Peer) -> &mut End {
        self.ends.get_mut(peer).expect("it was opened")
    }

    /// Returns whether the peer's ring has space, by the last known credit; for a peer that was never used it has none.
    #[inline(always)]
    fn has_lines(&mut self, to: Peer, lines: u32, limit: u32) -> bool {
        self.ends.get_mut(to).is_some_and(|end| end.tx.has_room(lines, limit))
    }

    /// Writes a packet into lines. `from` is valid for `len` bytes.
    #[inline(always)]
    fn put_lines<const PREFIX: bool>(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        from: UserMem,
        limit: u32,
    ) -> Result<(), Refusal> {
        let prefix = if PREFIX { prefix } else { &[] };
        let (len, total) = (from.len(), prefix.len() + from.len());
        let lines = if total <= FRONT { 1 } else { line::lines_of(total) };
        let end = match self.ends.get_mut(to) {
            Some(end) if end.tx.has_room(lines, limit) => end,
            _ => {
                self.make_room(to, lines, limit)?;
                self.ends.get_mut(to).expect("there is room")
            }
        };
        let from = from.as_ptr();
        let front = len.min(FRONT - prefix.len());
        let mut packet = end.tx.packet();
        // SAFETY: `from` has `len` bytes (its maker vouches) of which `at` are copied; a body has BODY bytes and the
        // prefix and front fit behind its second word.
        unsafe {
            packet.put(line::word_in_lines(header, total), |body| {
                body.cast::<u64>().write(line::second_word(header));
                copy::short(body.add(FRONT_AT), prefix.as_ptr(), prefix.len());
                copy::short(body.add(FRONT_AT + prefix.len()), from, front);
            });
            let mut at = front;
            while len - at >= BODY {
                packet.put(0, |body| copy::exactly::<BODY>(body, from.add(at)));
                at += BODY;
            }
            if at < len {
                packet.put(0, |body| copy::short(body, from.add(at), len - at));
            }
        }
        packet.end(&mut end.tx);
        self.seat.notify(end);
        Ok(())
    }

    /// Finds space for `lines` lines of payload, reading the peer's credit if necessary.
    #[inline]
    fn find_lines(&mut self, to: Peer, lines: u32) -> Result<(), Refusal> {
        if self.has_lines(to, lines, PAYLOAD_LIMIT) { Ok(()) } else { self.make_room(to, lines, PAYLOAD_LIMIT) }
    }

    /// Reads the peer's credit again, in case it has read enough meanwhile.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, to: Peer, lines: u32, limit: u32) -> Result<(), Refusal> {
        let end = self.open(to).ok_or(Refusal::Lost)?;
        end.tx.refresh();
        if end.tx.has_room(lines, limit) { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Returns whether `count` chunks can be had for `to`, after collecting those that were given back.
    #[inline]
    fn find_chunks(&mut self, to: Peer, count: usize) -> bool {
        self.borrowed[to].has(count) || self.pool.may_take(to, count) || self.collect_chunks(to, count)
    }

    #[cold]
    #[inline(never)]
    fn collect_chunks(&mut self, to: Peer, count: usize) -> bool {
        // In a long stream every packet comes here, and the peer itself has given back: no list is made for it.
        if self.reclaim_for(to, count, to) {
            return true;
        }
        self.pool.holders().into_iter().any(|peer| self.reclaim_for(to, count, peer))
    }

    /// Takes back the chunks that `from` has given back. Returns whether `count` are then available for `to`.
    fn reclaim_for(&mut self, to: Peer, count: usize, from: Peer) -> bool {
        let words = self.end(from).tx.lines();
        self.pool.reclaim(from, words);
        self.pool.may_take(to, count)
    }

    /// Returns the copy function that fills chunks for a packet of `len` bytes to the peer: past the caches if the peer
    /// is far and the chunks will come back by their bits. Chunks that return with a reply, either way, are best in a
    /// cache for both sides, near or far. Call it before looking for chunks: that fetches the line whose load is timed
    /// here.
    #[inline]
    fn copy_for(&mut self, to: Peer, len: usize, count: usize) -> unsafe fn(*mut u8, *const u8, usize) {
        if len < LONG || self.borrowed[to].has(count) || (count <= HOMEWARD && self.pool.is_warm(count)) {
            return copy::long;
        }
        let End { tx, distance, .. } = self.end(to);
        if distance.is_due() {
            distance.time(|| tx.refresh());
        }
        if distance.is_far() { copy::past_caches } else { copy::long }
    }

    /// Writes a packet with `len` bytes into chunks, filled front to back by `fill`, and its prefix into a line. The
    /// chunks are the peer's if we retain some of its, otherwise ours.
    fn put_chunks(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        len: usize,
        fill: &mut dyn FnMut(SharedMem),
    ) -> Result<(), Refusal> {
        let count = chunks_of(prefix.len() + len);
        let inline = len.saturating_sub(count * CHUNK);
        let (len, in_line) = (len - inline, prefix.len() + inline);
        let mut front = [0; PREFIX_MAX];
        front[..prefix.len()].copy_from_slice(prefix);
        if inline > 0 {
            fill(SharedMem::of_slice(&mut front[prefix.len()..in_line]));
        }
        let (owner, numbers) = match self.borrowed[to].take(count) {
            Some(borrowed) => (self.end(to).local(), borrowed),
            None => (self.seat.me, self.pool.take(to, count)),
        };
        let room = self.seat.pool(owner);
        let mut first = 0;
        while first < count {
            let (number, next) = (usize::from(numbers[first]), first + pool::run(&numbers, first, count));
            fill(room.slice(number * CHUNK, (next * CHUNK).min(len) - first * CHUNK));
            first = next;
        }
        let end = self.ends.get_mut(to).expect("it has room");
        let mut packet = end.tx.packet();
        packet.put(line::word_in_chunks(header, in_line, len, owner != self.seat.me), |body| {
            // SAFETY: a body holds the second word, PREFIX_MAX bytes of prefix and the chunk numbers.
            unsafe {
                body.cast::<u64>().write(line::second_word(header));
                copy::exactly::<PREFIX_MAX>(body.add(FRONT_AT), front.as_ptr());
                body.add(CHUNKS_AT).cast::<[u8; CHUNKS]>().write(numbers);
            }
        });
        packet.end(&mut end.tx);
        self.seat.notify(end);
        Ok(())
    }

    /// Packs payload that goes in lines into private memory first.
    fn pack_in_lines(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        len: usize,
        pack: &mut dyn FnMut(SharedMem),
    ) -> Result<(), Refusal> {
        self.find_lines(to, line::lines_of(prefix.len() + len))?; // before anything is packed
        let mut packed = std::mem::take(&mut self.scratch);
        packed.resize(LONGEST_IN_LINES, 0);
        pack(SharedMem::of_slice(&mut packed[..len]));
        let sent = self.put_lines::<true>(to, header, prefix, UserMem::of_slice(&mut packed[..len]), PAYLOAD_LIMIT);
        self.scratch = packed;
        sent
    }
}

impl Port for ShmPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        let len = source.len();
        let total = prefix.len() + len;
        assert!(prefix.len() <= PREFIX_MAX && total <= CHUNKS * CHUNK + PREFIX_MAX, "a packet of {total} bytes");
        if let Source::None = source {
            return self.put_lines::<true>(to, &header, prefix, UserMem::EMPTY, CONTROL_LIMIT);
        }
        if total > SHORT {
            self.find_lines(to, 1)?;
            let count = chunks_of(total);
            let copy = self.copy_for(to, len, count);
            if self.find_chunks(to, count) {
                return match source {
                    Source::Mem(mem) => {
                        let mut at = 0;
                        self.put_chunks(to, &header, prefix, len, &mut |piece| {
                            // SAFETY: `put_chunks` requests `len` bytes in all, which `mem` has; pools and user buffers
                            // do not overlap.
                            unsafe { copy(piece.as_ptr(), mem.as_ptr().add(at), piece.len()) };
                            at += piece.len();
                        })
                    }
                    Source::Pack { pack, .. } => self.put_chunks(to, &header, prefix, len, pack),
                    Source::None => unreachable!("handled above"),
                };
            }
        }
        if total > LONGEST_IN_LINES {
            return Err(Refusal::Full);
        }
        match source {
            Source::Mem(mem) => self.put_lines::<true>(to, &header, prefix, mem, PAYLOAD_LIMIT),
            Source::Pack { len, pack } => self.pack_in_lines(to, &header, prefix, len, pack),
            Source::None => unreachable!("handled above"),
        }
    }

    #[inline]
    fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> Result<(), Refusal> {
        debug_assert!(bytes.len() <= SHORT);
        self.put_lines::<false>(to, &header, &[], bytes, PAYLOAD_LIMIT)
    }

    /// Reserves by looking: nobody else uses this port's rings and pools, so that space that was found stays.
    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        if len <= SHORT {
            return self.find_lines(to, line::lines_of(len)).is_ok();
        }
        if self.ends[to].state == State::Unused && self.open(to).is_none() {
            return false;
        }
        let chunks = self.find_chunks(to, chunks_of(len));
        if !chunks && len > LONGEST_IN_LINES {
            return false;
        }
        // A shorter payload may go in lines where this one would go in chunks.
        let lines = if chunks { line::lines_of(SHORT) } else { line::lines_of(len) };
        self.find_lines(to, lines).is_ok()
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        for place in 0..self.attention.len() {
            count += self.deliver_some(self.attention.peer(place), delivery);
        }
        count += self.answer_calls(delivery);
        if self.life.has_news() {
            self.note_ended();
        }
        if !self.gone.is_empty() {
            count += self.bury(delivery);
        }
        count
    }

    #[inline]
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let is_used = match self.ends.get_mut(from) {
            Some(end) if end.rx.peek().is_some() => {
                if self.deliver_next(from, delivery) == Some(false) {
                    self.heed(from);
                }
                return true;
            }
            Some(end) => end.state != State::Unused,
            None => false,
        };
        (!is_used || self.life.has_news() || !self.gone.is_empty()) && self.poll_seldom(from, delivery)
    }

    fn write(&mut self, to: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, _: Ticket) -> Result<Taken, Fault> {
        self.remote.write(self.owner(to)?, key, at, source).map(|()| Taken::Done(0))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        _: Ticket,
    ) -> Result<Taken, Fault> {
        self.remote.read(self.owner(from)?, key, at, into).map(|()| Taken::Done(0))
    }

    fn atomic(&mut self, to: Peer, key: &RemoteKey, at: u64, atomic: Atomic, _: Ticket) -> Result<Taken, Fault> {
        self.remote.atomic(self.owner(to)?, key, at, atomic).map(Taken::Done)
    }

    /// Returns at once, because every operation has ended in its call.
    fn flush(&mut self, _: Peer, _: Ticket) -> Result<Taken, Fault> {
        fence(SeqCst);
        Ok(Taken::Done(0))
    }
}
