//! The ring of one ordered pair of ranks in one lane. Each of its slots holds a generation, and the reader reports
//! only now and then how much it has read (the credit).
//!
//! One process writes the slots, and one reads them. The first word of a slot is written last and holds the slot's
//! generation, so that a slot can be read as soon as it has arrived, whether or not the slots after it have arrived.
//! The reader publishes the number of slots that it has read after every quarter of a ring, and whenever it returns
//! chunks, whose bits lie in the same cache line (`retained`).
//!
//! Generic over the storage of slots (`RingMemory`): `ring_mapping` in production, loom's atomics in
//! `tests/loom.rs`. Used by `port` and `payload`.

/// The number of slots of a ring. They take two pages (8 KiB), of which the second is touched only by pairs that
/// exchange many packets. 64 to 1024 slots measured equal in latency and in rate.
pub const SLOTS: u32 = 128;

/// The storage of a ring's slots and of its credit word.
pub trait RingMemory: Copy {
    /// Number of slots: a power of two.
    const SLOTS: u32;
    /// Loads the first word of a slot. Acquire: pairs with `publish`.
    fn load(self, slot: u32) -> u64;
    /// Writes the first word of a slot. Release: pairs with `load`.
    fn publish(self, slot: u32, word: u64);
    /// Lets `f` write the body of a slot that the caller alone uses.
    fn write<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// Lets `f` read the body of a slot whose first word has shown that it has arrived.
    fn read<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R;
    /// Returns the number of slots read. Acquire: pairs with `set_consumed`.
    fn consumed(self) -> u32;
    /// Publishes the number of slots read. Release: pairs with `consumed`.
    fn set_consumed(self, count: u32);
}

/// Returns the number of slots after which the reader publishes its count.
pub const fn publish_interval<S: RingMemory>() -> u32 {
    S::SLOTS / 4
}

#[inline(always)]
fn slot<S: RingMemory>(position: u32) -> u32 {
    position & (S::SLOTS - 1)
}

/// Returns the generation of the slot at a position. It is one more in each round through the ring, modulo 256, and
/// so never that of the round before. Zeroed memory has generation 0, the first round has 1. Positions may wrap,
/// because 2^32 / SLOTS is a multiple of 256.
#[inline(always)]
fn generation<S: RingMemory>(position: u32) -> u8 {
    (position / S::SLOTS).wrapping_add(1) as u8
}

/// The writing end of a ring.
#[derive(Clone)]
pub struct Producer<S> {
    memory: S,
    /// Slots written.
    head: u32,
    /// Slots read, as of our last load of the credit.
    seen: u32,
}

impl<S: RingMemory> Producer<S> {
    pub fn new(memory: S) -> Producer<S> {
        Producer { memory, head: 0, seen: 0 }
    }

    /// Returns the storage of its slots and its credit.
    #[inline(always)]
    pub fn memory(&self) -> S {
        self.memory
    }

    /// Returns whether `slots` more slots fit, by the last known credit, if at most `limit` slots may be unread.
    #[inline(always)]
    pub fn has_space(&self, slots: u32, limit: u32) -> bool {
        self.head.wrapping_sub(self.seen) + slots <= limit
    }

    /// Reads the peer's credit. Returns whether it has changed.
    #[inline]
    pub fn refresh(&mut self) -> bool {
        let consumed = self.memory.consumed();
        // Ignore a count that is not between the last known count and the number of slots that we wrote: no correct
        // reader has written it.
        let sane = consumed.wrapping_sub(self.seen) <= self.head.wrapping_sub(self.seen);
        let changed = sane && consumed != self.seen;
        if changed {
            self.seen = consumed;
        }
        changed
    }

    /// Makes the ring look full for good, because no peer uses it.
    pub fn close(&mut self) {
        self.seen = self.head.wrapping_sub(S::SLOTS);
    }

    /// Begins a packet. The caller has checked that there is space for its slots; `PacketWriter::finish` records how
    /// many were written.
    #[inline(always)]
    pub fn packet(&self) -> PacketWriter<S> {
        PacketWriter { memory: self.memory, head: self.head }
    }
}

/// A packet that is being written. It is separate from `Producer`, so that it stays in registers from slot to slot.
#[must_use = "without `finish` the slots are written over"]
pub struct PacketWriter<S> {
    memory: S,
    head: u32,
}

impl<S: RingMemory> PacketWriter<S> {
    /// Writes a slot: `fill` writes its body, `word` is its first word without the generation.
    #[inline(always)]
    pub fn put(&mut self, word: u64, fill: impl FnOnce(*mut u8)) {
        let slot = slot::<S>(self.head);
        self.memory.write(slot, fill);
        self.memory.publish(slot, word | u64::from(generation::<S>(self.head)));
        self.head = self.head.wrapping_add(1);
    }

    #[inline(always)]
    pub fn finish(self, tx: &mut Producer<S>) {
        tx.head = self.head;
    }
}

/// The reading end of a ring.
#[derive(Clone)]
pub struct Consumer<S> {
    memory: S,
    /// Slots read.
    tail: u32,
    /// The count that was published to the writer.
    published: u32,
}

impl<S: RingMemory> Consumer<S> {
    pub fn new(memory: S) -> Consumer<S> {
        Consumer { memory, tail: 0, published: 0 }
    }

    /// Returns the first word of the next slot, if it has arrived.
    #[inline(always)]
    pub fn peek(&self) -> Option<u64> {
        self.cursor().word()
    }

    /// Returns the storage of its slots and its credit.
    #[inline(always)]
    pub fn memory(&self) -> S {
        self.memory
    }

    /// Returns a cursor that reads the next slot and those after it; `advance` takes them.
    #[inline(always)]
    pub fn cursor(&self) -> Cursor<S> {
        Cursor { memory: self.memory, at: self.tail }
    }

    /// Takes `slots` slots, whether they were read or not; slots that are not written yet are skipped once they are
    /// written. Publishes the count after a quarter of a ring, or at once if `at_once`. Returns whether the count was
    /// published: then the caller must wake the writer, which may sleep until there is space.
    #[inline(always)]
    pub fn advance(&mut self, slots: u32, at_once: bool) -> bool {
        self.tail = self.tail.wrapping_add(slots);
        let tells = at_once || self.tail.wrapping_sub(self.published) >= publish_interval::<S>();
        if tells {
            self.published = self.tail;
            self.memory.set_consumed(self.tail);
        }
        tells
    }
}

/// A position in a ring, to read from.
#[derive(Clone, Copy)]
pub struct Cursor<S> {
    memory: S,
    at: u32,
}

impl<S: RingMemory> Cursor<S> {
    /// Returns the slot's first word, if the slot has arrived.
    #[inline(always)]
    pub fn word(&self) -> Option<u64> {
        let word = self.memory.load(slot::<S>(self.at));
        (word as u8 == generation::<S>(self.at)).then_some(word)
    }

    /// Reads the body of the slot, which `word` has shown to be there.
    #[inline(always)]
    pub fn read<R>(&self, f: impl FnOnce(*mut u8) -> R) -> R {
        self.memory.read(slot::<S>(self.at), f)
    }

    #[inline(always)]
    pub fn step(&mut self) {
        self.at = self.at.wrapping_add(1);
    }
}
