//! The ring of one ordered pair in one lane: slots (lines) with a generation in each, and lazy credit.
//!
//! One process writes lines, one reads them. A line's first word is written last and holds the line's generation, so
//! that a line can be read as soon as it has arrived, whether or not those after it have. The reader publishes how far
//! it has read only every quarter of a ring, and when it gives chunks back in the same line (`loan`).
//!
//! Generic over the storage of lines (`Lines`): `memory` in production, loom's atomics in `tests/loom.rs`. Used by
//! `port` and `payload`.

/// Lines of a ring: 8 KiB a pair, two pages, of which the second is touched only by pairs that exchange many packets.
/// 64 to 1024 lines measured equal in latency and in rate.
pub const LINES: u32 = 128;

/// The storage of a ring's lines and of its credit word.
pub trait Lines: Copy {
    /// Number of lines: a power of two.
    const LINES: u32;
    /// Loads the first word of a line. Acquire: pairs with `publish`.
    fn load(self, slot: u32) -> u64;
    /// Writes the first word of a line. Release: pairs with `load`.
    fn publish(self, slot: u32, word: u64);
    /// Lets `f` write the body of a line that is the caller's alone.
    fn write<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// Lets `f` read the body of a line whose first word has shown that it has arrived.
    fn read<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// Returns the number of lines read. Acquire: pairs with `set_consumed`.
    fn consumed(self) -> u32;
    /// Publishes the number of lines read. Release: pairs with `consumed`.
    fn set_consumed(self, count: u32);
}

/// Returns the maximum lines after which the reader publishes its count.
pub const fn lazy<S: Lines>() -> u32 {
    S::LINES / 4
}

#[inline(always)]
fn slot<S: Lines>(position: u32) -> u32 {
    position & (S::LINES - 1)
}

/// Returns the generation of the line at a position: one more in each round, never that of the round before. Zeroed
/// memory is generation 0, the first round is 1. Positions may wrap: 2^32 / LINES is a multiple of 256.
#[inline(always)]
fn generation<S: Lines>(position: u32) -> u8 {
    (position / S::LINES).wrapping_add(1) as u8
}

/// The writing end.
#[derive(Clone)]
pub struct Tx<S> {
    lines: S,
    /// Lines written.
    head: u32,
    /// Lines read, as of our last load of the credit.
    seen: u32,
}

impl<S: Lines> Tx<S> {
    pub fn new(lines: S) -> Tx<S> {
        Tx { lines, head: 0, seen: 0 }
    }

    /// Returns the storage of its lines and its credit.
    #[inline(always)]
    pub fn lines(&self) -> S {
        self.lines
    }

    /// Returns whether `lines` more fit if at most `limit` may be unread, by the last known credit.
    #[inline(always)]
    pub fn has_room(&self, lines: u32, limit: u32) -> bool {
        self.head.wrapping_sub(self.seen) + lines <= limit
    }

    /// Reads the peer's credit. Returns whether it has changed.
    #[inline]
    pub fn refresh(&mut self) -> bool {
        let consumed = self.lines.consumed();
        // Ignore a count that is not between the last known one and what we wrote: no reader wrote it.
        let sane = consumed.wrapping_sub(self.seen) <= self.head.wrapping_sub(self.seen);
        let changed = sane && consumed != self.seen;
        if changed {
            self.seen = consumed;
        }
        changed
    }

    /// Makes the ring look full for good, because no peer uses it.
    pub fn close(&mut self) {
        self.seen = self.head.wrapping_sub(S::LINES);
    }

    /// Begins a packet, for whose lines there is space; `Packet::end` records how far it went.
    #[inline(always)]
    pub fn packet(&self) -> Packet<S> {
        Packet { lines: self.lines, head: self.head }
    }
}

/// A packet that is being written. A value of its own so that it stays in registers from line to line.
#[must_use = "without `end` the lines are written over"]
pub struct Packet<S> {
    lines: S,
    head: u32,
}

impl<S: Lines> Packet<S> {
    /// Writes a line: `fill` writes its body, `word` is its first word without the generation.
    #[inline(always)]
    pub fn put(&mut self, word: u64, fill: impl FnOnce(*mut u8)) {
        let slot = slot::<S>(self.head);
        self.lines.write(slot, fill);
        self.lines.publish(slot, word | u64::from(generation::<S>(self.head)));
        self.head = self.head.wrapping_add(1);
    }

    #[inline(always)]
    pub fn end(self, tx: &mut Tx<S>) {
        tx.head = self.head;
    }
}

/// The reading end.
#[derive(Clone)]
pub struct Rx<S> {
    lines: S,
    /// Lines read.
    tail: u32,
    /// The count that was published to the writer.
    told: u32,
}

impl<S: Lines> Rx<S> {
    pub fn new(lines: S) -> Rx<S> {
        Rx { lines, tail: 0, told: 0 }
    }

    /// Returns the first word of the next line, if it has arrived.
    #[inline(always)]
    pub fn peek(&self) -> Option<u64> {
        self.cursor().word()
    }

    /// Returns the storage of its lines and its credit.
    #[inline(always)]
    pub fn lines(&self) -> S {
        self.lines
    }

    /// Returns a cursor that reads the next line and those after it; `advance` takes them.
    #[inline(always)]
    pub fn cursor(&self) -> Cursor<S> {
        Cursor { lines: self.lines, at: self.tail }
    }

    /// Takes `lines` lines, read or not: those that are not written yet are skipped once they are. Publishes the count
    /// every quarter of a ring, or `at_once`. Returns whether it did: a writer that waits for space may sleep.
    #[inline(always)]
    pub fn advance(&mut self, lines: u32, at_once: bool) -> bool {
        self.tail = self.tail.wrapping_add(lines);
        let tells = at_once || self.tail.wrapping_sub(self.told) >= lazy::<S>();
        if tells {
            self.told = self.tail;
            self.lines.set_consumed(self.tail);
        }
        tells
    }
}

/// A place in a ring, to read from.
#[derive(Clone, Copy)]
pub struct Cursor<S> {
    lines: S,
    at: u32,
}

impl<S: Lines> Cursor<S> {
    /// Returns the line's first word, if the line has arrived.
    #[inline(always)]
    pub fn word(&self) -> Option<u64> {
        let word = self.lines.load(slot::<S>(self.at));
        (word as u8 == generation::<S>(self.at)).then_some(word)
    }

    /// Reads the body of the line, which `word` has shown to be there.
    #[inline(always)]
    pub fn read<R>(&self, f: impl FnOnce(*mut u8) -> R) -> R {
        self.lines.read(slot::<S>(self.at), f)
    }

    #[inline(always)]
    pub fn step(&mut self) {
        self.at = self.at.wrapping_add(1);
    }
}
