//! A packet's payload where it lies: in lines that may still be arriving, or in its sender's chunks.
//!
//! Lines are copied as they come; only here does a port wait for a peer, and only for one that is in the middle
//! of writing. Chunks are complete before their line is written. Whatever a peer wrote, nothing outside its ring
//! and its pool is touched. Before it: `port`; after it: the transport's delivery.

use crate::copy;
use crate::life::Life;
use crate::line::{self, BODY, CHUNKS, CHUNKS_AT, FRONT_AT};
use crate::memory::Memory;
use crate::pool::{self, CHUNK};
use crate::ring::Cursor;
use hawser_base::{Peer, SharedMem, UserMem};
use hawser_device::Payload;
use hawser_os::host;

/// Turns to wait for a line with the core's pause: a microsecond or two, longer than a line takes to be written.
const SPINS: u32 = 64;

/// Payload in lines.
pub struct InLines<'a> {
    cursor: Cursor<Memory>,
    /// The next byte in the body of the cursor's line.
    at: usize,
    /// Bytes of the payload that are left.
    left: usize,
    life: &'a Life,
    writer: Peer,
}

impl<'a> InLines<'a> {
    /// `cursor` stands on the packet's first line, which is there.
    #[inline(always)]
    pub fn new(cursor: Cursor<Memory>, len: usize, life: &'a Life, writer: Peer) -> InLines<'a> {
        InLines { cursor, at: FRONT_AT, left: len, life, writer }
    }

    /// Makes the cursor's line one that holds the next byte. False if the writer died before it wrote it.
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

    /// Waits for the line at `cursor`. False if it never comes.
    #[inline(never)]
    fn wait(&self, cursor: Cursor<Memory>) -> bool {
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if cursor.word().is_some() {
                return true;
            }
        }
        loop {
            // Asked before the line is looked at: what the writer wrote before its end is then seen.
            let ended = self.life.has_ended(self.writer);
            if cursor.word().is_some() {
                return true;
            }
            if ended {
                return false;
            }
            host::yield_core();
        }
    }

    /// Copies the front of the payload to `to`, which has room for `len` bytes: as many as there are.
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

impl Payload for InLines<'_> {
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

/// Payload with its prefix in a line and the rest in chunks.
pub struct InChunks<'a> {
    prefix: SharedMem<'a>,
    /// Room for all chunk numbers that a byte can name.
    pool: *mut u8,
    chunks: [u8; CHUNKS],
    /// The next byte, counted from the first chunk's first.
    at: usize,
    end: usize,
}

impl<'a> InChunks<'a> {
    /// `cursor` stands on the packet's line, whose first word is `word`; the pool that it names lies at `pool`.
    ///
    /// # Safety
    /// POOL_CHUNKS chunks are mapped at `pool`, as long as the value is used.
    #[inline]
    pub unsafe fn new(cursor: Cursor<Memory>, word: u64, pool: *mut u8) -> InChunks<'a> {
        cursor.read(|body| {
            // SAFETY: prefix and numbers lie in the body: at most PREFIX_MAX bytes, then CHUNKS.
            unsafe {
                InChunks {
                    prefix: SharedMem::new(body.add(FRONT_AT), line::prefix_len(word)),
                    pool,
                    chunks: body.add(CHUNKS_AT).cast::<[u8; CHUNKS]>().read(),
                    at: 0,
                    end: line::len(word).min(CHUNKS * CHUNK),
                }
            }
        })
    }

    /// The chunks of the packet, whose lengths were given by a peer.
    #[inline]
    pub fn numbers(&self) -> &[u8] {
        &self.chunks[..self.end.div_ceil(CHUNK)]
    }

    /// The next piece of at most `max` bytes that lies in one place: chunks that follow each other are one.
    #[inline]
    fn piece(&mut self, max: usize) -> SharedMem<'_> {
        let left = (self.end - self.at).min(max);
        let (first, within) = (self.at / CHUNK, self.at % CHUNK);
        let number = usize::from(self.chunks[first]);
        let len = (pool::run(&self.chunks, first, CHUNKS) * CHUNK - within).min(left);
        self.at += len;
        // SAFETY: chunk numbers are bytes and the pool has room for as many; the piece ends in the last of its chunks.
        unsafe { SharedMem::new(self.pool.add(number * CHUNK + within), len) }
    }
}

impl Payload for InChunks<'_> {
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
