//! The ring of one ordered pair in one lane: lines with a generation in each, and lazy credit.
//!
//! One process writes lines, one reads them. A line's first word is written last and holds the line's
//! generation, so that a line can be read as soon as it is there, whatever came of those after it. The reader
//! tells how far it has read every quarter of a ring only, and when it gives chunks back in the same line (`loan`).
//!
//! Generic over where lines lie (`Lines`): `memory` in production, loom's atomics in `tests/loom.rs`.
//! Before it: `port` and `payload`.

/// Lines of a ring: 8 KiB a pair, two pages of which the second is touched only by who talks a lot.
/// 64 to 1024 lines measured equal in latency and in rate.
pub const LINES: u32 = 128;

/// The storage of a ring's lines and of its credit word.
pub trait Lines: Copy {
    /// How many lines there are: a power of two.
    const LINES: u32;
    /// The first word of a line. Acquire: pairs with `publish`.
    fn load(self, slot: u32) -> u64;
    /// Writes the first word of a line. Release: pairs with `load`.
    fn publish(self, slot: u32, word: u64);
    /// Lets `f` write the body of a line that is the caller's alone.
    fn write<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// Lets `f` read the body of a line whose first word said that it is there.
    fn read<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// How many lines have been read. Acquire: pairs with `set_consumed`.
    fn consumed(self) -> u32;
    /// Release: pairs with `consumed`.
    fn set_consumed(self, count: u32);
}

/// After how many lines the reader publishes its count at the latest.
pub const fn lazy<S: Lines>() -> u32 {
    S::LINES / 4
}

#[inline(always)]
fn slot<S: Lines>(position: u32) -> u32 {
    position & (S::LINES - 1)
}

/// The generation of the line at a position: one more each time round, never that of the time before.
/// Zeroed memory is generation 0, the first time round is 1. Positions may wrap: 2^32 / LINES is a multiple of 256.
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
    /// Lines read, as far as we have looked.
    seen: u32,
}

impl<S: Lines> Tx<S> {
    pub fn new(lines: S) -> Tx<S> {
        Tx { lines, head: 0, seen: 0 }
    }

    /// Where its lines and its credit lie.
    #[inline(always)]
    pub fn lines(&self) -> S {
        self.lines
    }

    /// Whether `lines` more fit if at most `limit` may be unread, by what is known.
    #[inline(always)]
    pub fn has_room(&self, lines: u32, limit: u32) -> bool {
        self.head.wrapping_sub(self.seen) + lines <= limit
    }

    /// Looks at how far the peer has read. Whether that has changed.
    #[inline]
    pub fn refresh(&mut self) -> bool {
        let consumed = self.lines.consumed();
        // A count that is not between what we knew and what we wrote is a scribble: ignored.
        let sane = consumed.wrapping_sub(self.seen) <= self.head.wrapping_sub(self.seen);
        let changed = sane && consumed != self.seen;
        if changed {
            self.seen = consumed;
        }
        changed
    }

    /// Makes the ring look full for good: it is nobody's.
    pub fn close(&mut self) {
        self.seen = self.head.wrapping_sub(S::LINES);
    }

    /// To write a packet's lines, for which there is room; `end` keeps where that came to.
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
    /// Writes a line: `fill` its body, `word` its first word but for the generation.
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
    /// What the writer has been told.
    told: u32,
}

impl<S: Lines> Rx<S> {
    pub fn new(lines: S) -> Rx<S> {
        Rx { lines, tail: 0, told: 0 }
    }

    /// The first word of the next line, if it is there.
    #[inline(always)]
    pub fn peek(&self) -> Option<u64> {
        self.cursor().word()
    }

    /// Where its lines and its credit lie.
    #[inline(always)]
    pub fn lines(&self) -> S {
        self.lines
    }

    /// To read the next line and those after it; `advance` takes them.
    #[inline(always)]
    pub fn cursor(&self) -> Cursor<S> {
        Cursor { lines: self.lines, at: self.tail }
    }

    /// Takes `lines` lines, read or not: those that are not written yet are skipped when they are.
    /// Tells the writer now and then, or `at_once`; whether it did: a writer that waits for room may sleep.
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
    /// The line's first word, if the line is there.
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
