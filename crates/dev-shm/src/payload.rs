//! The payload of a packet, read where it lies: in ring slots that may still be arriving, or in chunks.
//!
//! Nothing outside the peer's ring and the pool that holds the chunks is touched, whatever a peer wrote. Ring slots
//! are copied as they arrive; this is the only place where a port waits for a peer, and only for a peer that is in
//! the middle of writing a packet. Chunks are complete before their slot is written. Used by `port`; called by the
//! transport's delivery.

use crate::peer_liveness::PeerLiveness;
use crate::pool::{self, CHUNK};
use crate::ring::Cursor;
use crate::ring_mapping::RingMapping;
use crate::ring_slot::{self, BODY, CHUNKS, CHUNKS_AT, FIRST_PAYLOAD_AT};
use hawser_base::copy;
use hawser_base::{Peer, SharedMem, UserMem};
use hawser_device::Payload;
use hawser_os::host;

/// The number of pause instructions for which a port waits for a slot before it yields the core: a microsecond or two
/// in all, longer than a slot takes to be written.
const SPINS: u32 = 64;

/// Payload in ring slots.
pub struct InlinePayload<'a> {
    cursor: Cursor<RingMapping>,
    /// The offset of the next byte in the body of the cursor's slot.
    at: usize,
    /// Bytes of the payload that are left.
    left: usize,
    liveness: &'a PeerLiveness,
    writer: Peer,
}

impl<'a> InlinePayload<'a> {
    /// Makes the payload of a packet whose first slot is at `cursor` and has arrived.
    #[inline(always)]
    pub fn new(cursor: Cursor<RingMapping>, len: usize, liveness: &'a PeerLiveness, writer: Peer) -> InlinePayload<'a> {
        InlinePayload { cursor, at: FIRST_PAYLOAD_AT, left: len, liveness, writer }
    }

    /// Moves the cursor to the slot that holds the next byte, if necessary, and waits until that slot has arrived.
    /// False if the writer ended before it wrote the slot.
    #[inline(always)]
    fn ready(&mut self) -> bool {
        if self.at < BODY {
            return true;
        }
        self.cursor.step();
        self.at = 0;
        if self.cursor.word().is_some() || self.wait(self.cursor) {
            return true;
        }
        self.left = 0;
        false
    }

    /// Waits for the slot at `cursor`. False if the writer ended before it wrote the slot.
    #[inline(never)]
    fn wait(&self, cursor: Cursor<RingMapping>) -> bool {
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if cursor.word().is_some() {
                return true;
            }
        }
        loop {
            // Query first whether the writer has ended, and load the slot afterwards: then everything that the writer
            // wrote before its end is visible.
            let ended = self.liveness.has_ended(self.writer);
            if cursor.word().is_some() {
                return true;
            }
            if ended {
                return false;
            }
            host::yield_core();
        }
    }

    /// Copies the first `len` bytes of the payload to `to`, which has space for them. False if fewer are left, or the
    /// writer ended before it wrote them.
    #[inline(always)]
    fn copy_out(&mut self, to: *mut u8, len: usize) -> bool {
        if len > self.left || (len > 0 && !self.ready()) {
            return false;
        }
        let (mut cursor, mut at, mut done) = (self.cursor, self.at, 0);
        loop {
            let part = (BODY - at).min(len - done);
            cursor.read(|body| {
                // SAFETY: `at + part` is at most BODY, `done + part` at most `len`; ring and buffer do not overlap.
                unsafe {
                    match part {
                        BODY => copy::exactly::<BODY>(to.add(done), body),
                        _ => copy::short(to.add(done), body.add(at), part),
                    }
                }
            });
            at += part;
            done += part;
            if done == len {
                break;
            }
            cursor.step();
            at = 0;
            if cursor.word().is_none() && !self.wait(cursor) {
                self.left = 0;
                return false;
            }
        }
        (self.cursor, self.at, self.left) = (cursor, at, self.left - len);
        true
    }
}

impl Payload for InlinePayload<'_> {
    fn len(&self) -> usize {
        self.left
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        if self.left == 0 || max == 0 || !self.ready() {
            return None;
        }
        let part = (BODY - self.at).min(self.left).min(max);
        let at = self.at;
        self.at += part;
        self.left -= part;
        // SAFETY: `at + part` is at most BODY; the port keeps the ring mapped.
        Some(self.cursor.read(|body| unsafe { SharedMem::new(body.add(at), part) }))
    }

    #[inline]
    fn copy_to(&mut self, to: UserMem) -> bool {
        self.copy_out(to.as_ptr(), to.len())
    }

    #[inline]
    fn read(&mut self, to: &mut [u8]) -> bool {
        self.copy_out(to.as_mut_ptr(), to.len())
    }
}

/// Payload with its prefix in a slot and the rest in chunks.
pub struct ChunkedPayload<'a> {
    prefix: SharedMem<'a>,
    /// The beginning of the pool. Its mapping is long enough for every chunk number that a byte can name.
    pool: *mut u8,
    chunks: [u8; CHUNKS],
    /// Offset of the next byte, counted from the start of the first chunk.
    at: usize,
    end: usize,
}

impl<'a> ChunkedPayload<'a> {
    /// Makes the payload of a packet whose slot is at `cursor`; the slot's first word is `word`, the pool that it
    /// names lies at `pool`.
    ///
    /// # Safety
    /// POOL_CHUNKS chunks are mapped at `pool`, as long as the value is used.
    #[inline]
    pub unsafe fn new(cursor: Cursor<RingMapping>, word: u64, pool: *mut u8) -> ChunkedPayload<'a> {
        cursor.read(|body| {
            // SAFETY: prefix and numbers lie in the body: at most PREFIX_MAX bytes, then CHUNKS.
            unsafe {
                ChunkedPayload {
                    prefix: SharedMem::new(body.add(FIRST_PAYLOAD_AT), ring_slot::prefix_len(word)),
                    pool,
                    chunks: body.add(CHUNKS_AT).cast::<[u8; CHUNKS]>().read(),
                    at: 0,
                    end: ring_slot::len(word).min(CHUNKS * CHUNK),
                }
            }
        })
    }

    /// Returns the chunk numbers of the packet. Their count follows from the length that the peer wrote.
    #[inline]
    pub fn numbers(&self) -> &[u8] {
        &self.chunks[..self.end.div_ceil(CHUNK)]
    }

    /// Returns the next contiguous piece of at most `max` bytes: consecutive chunks are one piece.
    #[inline]
    fn piece(&mut self, max: usize) -> SharedMem<'_> {
        let left = (self.end - self.at).min(max);
        let (first, within) = (self.at / CHUNK, self.at % CHUNK);
        let number = usize::from(self.chunks[first]);
        let len = (pool::contiguous(&self.chunks, first, CHUNKS) * CHUNK - within).min(left);
        self.at += len;
        // SAFETY: chunk numbers are bytes and the pool has space for as many; the piece ends in the last of its
        // chunks.
        unsafe { SharedMem::new(self.pool.add(number * CHUNK + within), len) }
    }
}

impl Payload for ChunkedPayload<'_> {
    fn len(&self) -> usize {
        self.prefix.len() + self.end - self.at
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        if !self.prefix.is_empty() && max > 0 {
            let part = self.prefix.len().min(max);
            let piece = self.prefix.slice(0, part);
            self.prefix = self.prefix.slice(part, self.prefix.len() - part);
            return Some(piece);
        }
        (self.at < self.end && max > 0).then(|| self.piece(max))
    }

    fn copy_to(&mut self, to: UserMem) -> bool {
        let mut done = 0;
        while done < to.len() {
            let Some(piece) = self.next(to.len() - done) else { return false };
            let part = to.slice(done, piece.len());
            // SAFETY: both views have piece.len() bytes; a user's buffer does not overlap the pools.
            unsafe { copy::long(part.as_ptr(), piece.as_ptr(), piece.len()) };
            done += piece.len();
        }
        true
    }
}
