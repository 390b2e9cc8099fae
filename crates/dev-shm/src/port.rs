//! One lane's end of the device: what to send in which form, what has come, who is gone.
//!
//! Used under its lane's lock alone. A refused packet leaves nothing behind: room for all of it is found before its
//! first line is written. Before it: `transport`; after it: `ring`, `pool`, `payload`, `attention`.

mod incoming;

use crate::attention::Attention;
use crate::distance::Distance;
use crate::layout::Layout;
use crate::life::Life;
use crate::line::{self, BODY, CHUNKS, CHUNKS_AT, FRONT, FRONT_AT};
use crate::loan::{Borrower, HOMEWARD};
use crate::memory::Memory;
use crate::pool::{self, CHUNK, Pool};
use crate::ring::{LINES, Rx, Tx, lazy};
use crate::{copy, watch};
use hawser_base::{Lane, Peer, Region, SharedMem, UserMem};
use hawser_device::{Delivery, Header, PREFIX_MAX, Port, Refusal, Source};
use hawser_job::Segment;
use hawser_job::doorbell::Doorbell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Payload that goes in lines as a rule. From here on a chunk is faster (measured between 768 and 1024).
pub const SHORT: usize = line::fits_in(14);

/// Lines that may be unread in a ring: control may use all, payload leaves some.
const CONTROL_LIMIT: u32 = LINES;
const PAYLOAD_LIMIT: u32 = LINES - 16;

/// The most lines of a packet: as many as there is room for once the peer has read everything, told or not.
const MOST_LINES: u32 = PAYLOAD_LIMIT - lazy::<Memory>();

/// Payload that can go in lines, if there is no chunk: a peer's share of a pool is never less than its ring.
pub const LONGEST_IN_LINES: usize = line::fits_in(MOST_LINES);

const _: () = assert!(SHORT <= LONGEST_IN_LINES && CHUNK + PREFIX_MAX <= LONGEST_IN_LINES);

/// Chunks of a packet of `total` bytes, prefix included: what is more than whole chunks, but not much, goes into
/// the line beside the prefix.
#[inline(always)]
fn chunks_of(total: usize) -> usize {
    if total >= CHUNK && total % CHUNK <= PREFIX_MAX { total / CHUNK } else { total.div_ceil(CHUNK) }
}

/// Packets from here on may be written past the caches. Shorter ones gained nothing: to wait until the stores are
/// out costs as much as each saves.
const LONG: usize = 2 * CHUNK;

/// Packets of one peer that a poll delivers at most before it looks at the next.
const BURST: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    There,
    /// Gone, but what it had written is not delivered yet.
    Gone,
    Lost,
}

/// What sending to and receiving from one peer touches: one cache line.
#[repr(align(64))]
struct End {
    tx: Tx<Memory>,
    rx: Rx<Memory>,
    /// The peer's word of bits that says whether it watches us.
    watches_us: *const AtomicU64,
    state: State,
    /// Whether we look at its ring in every poll.
    watched: bool,
    /// Whether something came from it since `attention` last asked.
    busy: bool,
    distance: Distance,
}

const _: () = assert!(size_of::<End>() == 64);

// SAFETY: addresses in a mapping that the port keeps; all access is by atomics and the ring's protocol.
unsafe impl Send for End {}

/// The port of one lane.
pub struct ShmPort {
    ends: Box<[End]>,
    bells: Box<[Doorbell]>,
    /// Local index of each world rank.
    locals: Arc<[u32]>,
    /// World rank of each local index.
    ranks: Box<[Peer]>,
    me: usize,
    lane: usize,
    layout: Layout,
    /// Keeps everything mapped that the ends point to.
    area: Region,
    pool: Pool,
    /// Chunks of each peer's pool that are kept for an answer.
    borrowed: Box<[Borrower]>,
    attention: Attention,
    life: Life,
    /// Peers that are gone and not yet reported.
    gone: Vec<usize>,
    /// Where packed payload is put together that goes in lines.
    scratch: Vec<u8>,
}

impl ShmPort {
    pub(crate) fn new(segment: &Segment, me: usize, lane: Lane, locals: Arc<[u32]>) -> ShmPort {
        let (area, layout) = (segment.device_area(), Layout { ranks: segment.local_size() });
        let lane = lane.index();
        let end = |peer: usize| End {
            tx: Tx::new(Memory::new(&area, layout.ring(peer, lane, me), layout.credit(me, lane, peer))),
            rx: Rx::new(Memory::new(&area, layout.ring(me, lane, peer), layout.credit(peer, lane, me))),
            watches_us: area.u64(layout.watched(peer, lane, me)),
            state: State::There,
            watched: false,
            busy: false,
            distance: Distance::default(),
        };
        ShmPort {
            ends: (0..layout.ranks).map(end).collect(),
            bells: (0..layout.ranks).map(|local| segment.rank(local).doorbell()).collect(),
            locals,
            ranks: (0..layout.ranks).map(|local| Peer(segment.world_rank(local))).collect(),
            me,
            lane,
            layout,
            pool: Pool::new(layout.ranks),
            borrowed: (0..layout.ranks).map(|_| Borrower::new(pool::keep(layout.ranks))).collect(),
            attention: Attention::new(layout.ranks),
            life: Life::new(segment.clone()),
            gone: Vec::new(),
            scratch: Vec::new(),
            area,
        }
    }

    #[inline(always)]
    fn local(&self, peer: Peer) -> usize {
        self.locals[peer.index()] as usize
    }

    /// Writes a packet into lines. `from` is valid for `len` bytes.
    #[inline(always)]
    fn put_lines<const PREFIX: bool>(
        &mut self,
        to: usize,
        header: &Header,
        prefix: &[u8],
        from: UserMem,
        limit: u32,
    ) -> Result<(), Refusal> {
        let prefix = if PREFIX { prefix } else { &[] };
        let (len, total) = (from.len(), prefix.len() + from.len());
        let lines = if total <= FRONT { 1 } else { line::lines_of(total) };
        if !self.ends[to].tx.has_room(lines, limit) {
            self.make_room(to, lines, limit)?;
        }
        let from = from.as_ptr();
        let front = len.min(FRONT - prefix.len());
        let mut packet = self.ends[to].tx.packet();
        // SAFETY: `from` has `len` bytes (its maker vouches) of which `at` are done; a body has BODY bytes and the
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
        packet.end(&mut self.ends[to].tx);
        self.notify(to);
        Ok(())
    }

    /// After a packet is written: the peer is to see it, though it may sleep or not look at our ring.
    #[inline(always)]
    fn notify(&self, to: usize) {
        let bell = &self.bells[to];
        bell.waker_barrier();
        // SAFETY: the area is mapped and the word only used as an atomic.
        let watched = unsafe { &*self.ends[to].watches_us };
        if watch::call_unless_watched(
            watched,
            || self.area.u64(self.layout.calling(to, self.lane, self.me)),
            self.my_bit(),
        ) {
            // The call is to be seen before we ask whether the peer sleeps, as the packet was.
            bell.waker_barrier();
        }
        bell.ring_after_barrier();
    }

    #[inline(always)]
    fn my_bit(&self) -> u64 {
        1 << (self.me % 64)
    }

    /// Looks whether the peer has read enough meanwhile.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, to: usize, lines: u32, limit: u32) -> Result<(), Refusal> {
        let end = &mut self.ends[to];
        if end.state == State::Lost {
            return Err(Refusal::Lost);
        }
        end.tx.refresh();
        if end.tx.has_room(lines, limit) { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Whether `count` chunks can be had for `to`, after looking who has given back what.
    #[inline]
    fn find_chunks(&mut self, to: usize, count: usize) -> bool {
        self.borrowed[to].has(count) || self.pool.may_take(to, count) || self.collect_chunks(to, count)
    }

    #[cold]
    #[inline(never)]
    fn collect_chunks(&mut self, to: usize, count: usize) -> bool {
        // In a long stream this is every packet's way, and the peer itself has given back: no list is made for it.
        if self.reclaim_for(to, count, to) {
            return true;
        }
        let holders: Vec<usize> = self.pool.holders().collect();
        holders.into_iter().any(|peer| self.reclaim_for(to, count, peer))
    }

    /// Takes back what `from` has given back. Whether that makes `count` chunks for `to`.
    fn reclaim_for(&mut self, to: usize, count: usize, from: usize) -> bool {
        self.pool.reclaim(from, self.ends[from].tx.lines());
        self.pool.may_take(to, count)
    }

    /// How to fill chunks for a packet of `len` bytes to the peer: past the caches if they are far and will come back
    /// by their bits. What goes home or came home from there is best found in a cache by both, near or far.
    /// To be asked before chunks are looked for: that fetches the line whose way is timed here.
    #[inline]
    fn copy_for(&mut self, to: usize, len: usize, count: usize) -> unsafe fn(*mut u8, *const u8, usize) {
        if len < LONG || self.borrowed[to].has(count) || (count <= HOMEWARD && self.pool.is_warm(count)) {
            return copy::long;
        }
        let End { tx, distance, .. } = &mut self.ends[to];
        if distance.is_due() {
            distance.time(|| tx.refresh());
        }
        if distance.is_far() { copy::past_caches } else { copy::long }
    }

    /// Writes a packet with `len` bytes into chunks, filled front to back by `fill`, and its prefix into a line. The
    /// chunks are the peer's where we have some of its, else ours.
    fn put_chunks(
        &mut self,
        to: usize,
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
            Some(borrowed) => (to, borrowed),
            None => (self.me, self.pool.take(to, count)),
        };
        let pool = self.area.bytes(self.layout.pool(owner, self.lane), CHUNK << u8::BITS);
        let mut first = 0;
        while first < count {
            let number = usize::from(numbers[first]);
            let mut next = first + 1;
            while next < count && usize::from(numbers[next]) == number + (next - first) {
                next += 1;
            }
            fill(pool.slice(number * CHUNK, (next * CHUNK).min(len) - first * CHUNK));
            first = next;
        }
        let mut packet = self.ends[to].tx.packet();
        packet.put(line::word_in_chunks(header, in_line, len, owner == to), |body| {
            // SAFETY: a body holds the second word, PREFIX_MAX bytes of prefix and the chunk numbers.
            unsafe {
                body.cast::<u64>().write(line::second_word(header));
                copy::exactly::<PREFIX_MAX>(body.add(FRONT_AT), front.as_ptr());
                body.add(CHUNKS_AT).cast::<[u8; CHUNKS]>().write(numbers);
            }
        });
        packet.end(&mut self.ends[to].tx);
        self.notify(to);
        Ok(())
    }

    /// Packs into private memory first what goes in lines.
    fn pack_in_lines(
        &mut self,
        to: usize,
        header: &Header,
        prefix: &[u8],
        len: usize,
        pack: &mut dyn FnMut(SharedMem),
    ) -> Result<(), Refusal> {
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
        let to = self.local(to);
        let len = source.len();
        let total = prefix.len() + len;
        assert!(prefix.len() <= PREFIX_MAX && total <= CHUNKS * CHUNK + PREFIX_MAX, "a packet of {total} bytes");
        if let Source::None = source {
            return self.put_lines::<true>(to, &header, prefix, UserMem::EMPTY, CONTROL_LIMIT);
        }
        if !self.ends[to].tx.has_room(1, PAYLOAD_LIMIT) {
            self.make_room(to, 1, PAYLOAD_LIMIT)?;
        }
        if total > SHORT {
            let count = chunks_of(total);
            let copy = self.copy_for(to, len, count);
            if self.find_chunks(to, count) {
                return match source {
                    Source::Mem(mem) => {
                        let mut at = 0;
                        self.put_chunks(to, &header, prefix, len, &mut |piece| {
                            // SAFETY: `put_chunks` asks for `len` bytes in all, which `mem` has; pools and user
                            // buffers do not overlap.
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
        let lines = line::lines_of(total);
        if !self.ends[to].tx.has_room(lines, PAYLOAD_LIMIT) {
            self.make_room(to, lines, PAYLOAD_LIMIT)?;
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
        let to = self.local(to);
        self.put_lines::<false>(to, &header, &[], bytes, PAYLOAD_LIMIT)
    }

    fn has_room(&mut self, to: Peer, len: usize) -> bool {
        let to = self.local(to);
        let chunks = len > SHORT && self.find_chunks(to, chunks_of(len));
        if !chunks && len > LONGEST_IN_LINES {
            return false;
        }
        // A shorter payload may go in lines where this one would go in chunks.
        let lines = if chunks { line::lines_of(SHORT) } else { line::lines_of(len) };
        self.ends[to].tx.has_room(lines, PAYLOAD_LIMIT) || self.make_room(to, lines, PAYLOAD_LIMIT).is_ok()
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
        let from = self.local(from);
        if self.deliver_next(from, delivery) {
            if !self.ends[from].watched {
                self.heed(from);
            }
            return true;
        }
        (self.life.has_news() || !self.gone.is_empty()) && self.poll_gone(from, delivery)
    }
}
