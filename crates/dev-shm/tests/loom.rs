//! The protocols of rings, chunks and notify bits over all interleavings and reorderings.
//!
//! The code that runs is the device's own (`ring`, `pool`, `notify`) on the model's atomics; bodies and chunks are
//! cells in which the model sees every unordered access. The last test takes a barrier away and must see a loss.

use hawser_base::Peer;
use hawser_dev_shm::notify::{self, BitWord, NotifyBits};
use hawser_dev_shm::pool::ChunkPool;
use hawser_dev_shm::retained::{RetainedChunks, ReturnBits, WORDS};
use hawser_dev_shm::ring::{Consumer, Producer, RingMemory};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread;

const LINES: u32 = 8;

struct Storage {
    words: [AtomicU64; LINES as usize],
    bodies: [UnsafeCell<[u8; 56]>; LINES as usize],
    credit: AtomicU32,
    returns: [AtomicU64; WORDS],
}

impl Storage {
    fn new() -> Storage {
        Storage {
            words: std::array::from_fn(|_| AtomicU64::new(0)),
            bodies: std::array::from_fn(|_| UnsafeCell::new([0; 56])),
            credit: AtomicU32::new(0),
            returns: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

#[derive(Clone, Copy)]
struct Model<'a>(&'a Storage);

impl RingMemory for Model<'_> {
    const SLOTS: u32 = LINES;

    fn load(self, slot: u32) -> u64 {
        self.0.words[slot as usize].load(Acquire)
    }

    fn publish(self, slot: u32, word: u64) {
        self.0.words[slot as usize].store(word, Release);
    }

    fn write<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R {
        self.0.bodies[slot as usize].with_mut(|body| f(body.cast()))
    }

    fn read<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R {
        self.0.bodies[slot as usize].with(|body| f(body.cast_mut().cast()))
    }

    fn consumed(self) -> u32 {
        self.0.credit.load(Acquire)
    }

    fn set_consumed(self, count: u32) {
        self.0.credit.store(count, Release);
    }
}

impl ReturnBits for Model<'_> {
    fn load(self, word: usize) -> u64 {
        self.0.returns[word].load(Acquire)
    }

    fn store(self, word: usize, bits: u64) {
        self.0.returns[word].store(bits, Release);
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // Enough to find every bug that was put in on purpose; unbounded runs take hours.
    builder.preemption_bound = Some(3);
    builder.check(check);
}

/// Writes a packet of `lines` slots, each with the numbers of its packet and slot. Waits for space for all of it.
fn put(tx: &mut Producer<Model>, packet: u8, lines: u8) {
    while !tx.has_space(lines.into(), LINES) {
        thread::yield_now();
        tx.refresh();
    }
    let mut writer = tx.packet();
    for line in 0..lines {
        // SAFETY: the body of a slot that is the writer's alone, of 56 bytes; the model sees it otherwise.
        writer.put(u64::from(lines) << 8, |body| unsafe { body.cast::<[u8; 2]>().write([packet, line]) });
    }
    writer.finish(tx);
}

/// Reads the packet slot by slot as its slots arrive, the first `read` of them.
fn get(rx: &mut Consumer<Model>, packet: u8, read: u8) {
    let mut cursor = rx.cursor();
    let mut lines = 1;
    let mut line = 0;
    while line < lines.min(read.max(1)) {
        let Some(word) = cursor.word() else {
            thread::yield_now();
            continue;
        };
        if line == 0 {
            lines = (word >> 8) as u8;
        }
        // SAFETY: the body of a slot that has been written and is not returned; the model sees it otherwise.
        assert_eq!(cursor.read(|body| unsafe { body.cast::<[u8; 2]>().read() }), [packet, line]);
        cursor.step();
        line += 1;
    }
    rx.advance(lines.into(), false);
}

/// Passes packets through a ring. `before` packets of two slots pass first, in one thread, to bring both positions
/// near the ring's end.
fn ring(before: u8, packets: &'static [u8], read: u8) {
    model(move || {
        let storage = Arc::new(Storage::new());
        // SAFETY: both threads keep the storage until they no longer use the ring.
        let place: &'static Storage = unsafe { &*Arc::as_ptr(&storage) };
        let (mut tx, mut rx) = (Producer::new(Model(place)), Consumer::new(Model(place)));
        for packet in 0..before {
            put(&mut tx, packet, 2);
            get(&mut rx, packet, 2);
        }
        let writer = {
            let storage = storage.clone();
            thread::spawn(move || {
                for (i, &lines) in packets.iter().enumerate() {
                    put(&mut tx, 100 + i as u8, lines);
                }
                drop(storage);
            })
        };
        for i in 0..packets.len() {
            get(&mut rx, 100 + i as u8, read);
        }
        writer.join().unwrap();
        assert!(rx.peek().is_none(), "nothing is left");
    });
}

#[test]
fn packets_of_several_lines_arrive_whole_over_the_end_of_the_ring() {
    ring(3, &[3, 1, 2], 9);
}

#[test]
fn a_full_ring_is_written_again_only_where_it_was_read() {
    // Credit is published every two slots: the second and third packet wait for it.
    ring(2, &[6, 3, 4], 9);
}

#[test]
fn lines_can_be_skipped_before_they_are_written() {
    ring(3, &[4, 2, 4], 1);
}

const CHUNKS: usize = 4;

struct WithChunks {
    storage: Storage,
    back: Storage,
    chunks: [UnsafeCell<u32>; CHUNKS],
}

impl WithChunks {
    fn new() -> WithChunks {
        let chunks = std::array::from_fn(|_| UnsafeCell::new(0));
        WithChunks { storage: Storage::new(), back: Storage::new(), chunks }
    }

    /// Sends a packet in one chunk, one of four, of which one peer of many may hold two.
    fn send(&self, tx: &mut Producer<Model>, pool: &mut ChunkPool, packet: u32) {
        while !pool.may_take(Peer(1), 1) || !tx.has_space(1, LINES) {
            thread::yield_now();
            tx.refresh();
            pool.reclaim(Peer(1), tx.memory());
        }
        let numbers = pool.take(Peer(1), 1);
        self.write(tx, numbers, packet);
    }

    fn write(&self, tx: &mut Producer<Model>, numbers: [u8; 8], packet: u32) {
        // SAFETY: the pool has assigned this chunk to no other packet; the model sees it otherwise.
        self.chunks[usize::from(numbers[0])].with_mut(|chunk| unsafe { *chunk = packet });
        let mut writer = tx.packet();
        // SAFETY: as in `put`.
        writer.put(0, |body| unsafe { body.cast::<[u8; 8]>().write(numbers) });
        writer.finish(tx);
    }

    /// Reads a packet; the chunk is still its sender's or ours to return.
    fn read(&self, rx: &mut Consumer<Model>, packet: u32) -> [u8; 8] {
        while rx.peek().is_none() {
            thread::yield_now();
        }
        // SAFETY: as in `get`.
        let numbers = rx.cursor().read(|body| unsafe { body.cast::<[u8; 8]>().read() });
        // SAFETY: its sender fills it again only when it was returned; the model sees it otherwise.
        self.chunks[usize::from(numbers[0])].with(|chunk| assert_eq!(unsafe { *chunk }, packet));
        rx.advance(1, false);
        numbers
    }
}

#[test]
fn a_chunk_is_filled_again_only_after_it_was_read() {
    model(|| {
        let shared = Arc::new(WithChunks::new());
        // SAFETY: both threads keep it until they have done with it.
        let place: &'static WithChunks = unsafe { &*Arc::as_ptr(&shared) };
        let (mut tx, mut rx) = (Producer::new(Model(&place.storage)), Consumer::new(Model(&place.storage)));
        let (mut pool, mut retained) = (ChunkPool::new(64), RetainedChunks::new(0));
        let mut receive = move |packet| {
            let numbers = place.read(&mut rx, packet);
            retained.retain(&numbers[..1], rx.memory());
        };
        for packet in 0..2 {
            place.send(&mut tx, &mut pool, packet);
            receive(packet);
        }
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                // The fifth of these is the first to use a chunk that was in use since the threads parted.
                (2..7).for_each(|packet| place.send(&mut tx, &mut pool, packet));
                drop(shared);
            })
        };
        (2..7).for_each(&mut receive);
        writer.join().unwrap();
    });
}

#[test]
fn a_chunk_comes_home_with_an_answer_or_by_its_bit_and_never_twice() {
    model(|| {
        let shared = Arc::new(WithChunks::new());
        // SAFETY: both threads keep it until they have done with it.
        let place: &'static WithChunks = unsafe { &*Arc::as_ptr(&shared) };
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (mut rx, mut tx) = (Consumer::new(Model(&place.storage)), Producer::new(Model(&place.back)));
                let mut retained = RetainedChunks::new(1);
                // Three arrive; two go back by their bits, the third is retained and returns with the reply.
                for packet in 0..3 {
                    let numbers = place.read(&mut rx, packet);
                    retained.retain(&numbers[..1], rx.memory());
                }
                place.write(&mut tx, retained.take(1).unwrap(), 100);
                drop(shared);
            })
        };
        let (mut tx, mut rx) = (Producer::new(Model(&place.storage)), Consumer::new(Model(&place.back)));
        let mut pool = ChunkPool::new(64);
        (0..3).for_each(|packet| place.send(&mut tx, &mut pool, packet));
        let home = place.read(&mut rx, 100);
        pool.reclaim_with_reply(Peer(1), &home[..1]);
        // A chunk that returned may be written at once; no other that the peer may still read is.
        place.send(&mut tx, &mut pool, 3);
        peer.join().unwrap();
    });
}

struct Word(AtomicU64);

impl BitWord for Word {
    fn load(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, bits: u64) {
        self.0.fetch_or(bits, Release);
    }

    fn clear(&self, bits: u64) {
        self.0.fetch_and(!bits, Relaxed);
    }

    fn take(&self) -> u64 {
        self.0.swap(0, Acquire)
    }
}

/// Lets two senders write a slot each while the receiver, which polls the first of them, stops polling.
fn unwatching(barriers: bool) {
    struct Shared {
        rings: [Storage; 2],
        watched: Word,
        calling: Word,
    }
    model(move || {
        let shared = Arc::new(Shared {
            rings: [Storage::new(), Storage::new()],
            watched: Word(AtomicU64::new(1)),
            calling: Word(AtomicU64::new(0)),
        });
        let sender = |me: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                put(&mut Producer::new(Model(&shared.rings[me])), me as u8, 1);
                if barriers {
                    fence(SeqCst);
                }
                let calling = || NotifyBits { word: &shared.calling, overview: None };
                notify::notify_unless_polled(&shared.watched, calling, 1 << me);
            })
        };
        let senders = [sender(0), sender(1)];
        let mut rings: Vec<_> = shared.rings.iter().map(|ring| Consumer::new(Model(ring))).collect();
        let mut heard = [false; 2];
        notify::stop_polling(&shared.watched, 1, || fence(SeqCst));
        heard[0] = rings[0].peek().is_some();
        let mut answer = || {
            let callers = notify::take_notified(&shared.calling);
            for me in (0..2).filter(|me| callers & 1 << me != 0) {
                assert!(rings[me].peek().is_some(), "who calls has written");
                heard[me] = true;
            }
        };
        answer();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        answer();
        assert_eq!(heard, [true; 2], "a line is written and never looked at");
        (0..2).for_each(|me| get(&mut rings[me], me as u8, 1));
    });
}

/// Two senders with a word each notify the receiver, which polls the overview alone.
#[test]
fn whoever_calls_in_any_word_is_found_by_the_overview() {
    struct Shared {
        rings: [Storage; 2],
        watched: Word,
        calling: [Word; 2],
        overview: Word,
    }
    let word = || Word(AtomicU64::new(0));
    model(move || {
        let rings = [Storage::new(), Storage::new()];
        let shared = Arc::new(Shared { rings, watched: word(), calling: [word(), word()], overview: word() });
        let sender = |me: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                put(&mut Producer::new(Model(&shared.rings[me])), me as u8, 1);
                let overview = Some((&shared.overview, 1 << me));
                notify::notify_unless_polled(
                    &shared.watched,
                    || NotifyBits { word: &shared.calling[me], overview },
                    1 << 5,
                );
            })
        };
        let senders = [sender(0), sender(1)];
        let rings: Vec<_> = shared.rings.iter().map(|ring| Consumer::new(Model(ring))).collect();
        let mut heard = [false; 2];
        let mut answer = || {
            let words = notify::take_notified(&shared.overview);
            for me in (0..2).filter(|me| words & 1 << me != 0) {
                assert_eq!(notify::take_notified(&shared.calling[me]), 1 << 5, "a word that is named has a caller");
                assert!(rings[me].peek().is_some(), "who calls has written");
                heard[me] = true;
            }
        };
        answer();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        answer();
        assert_eq!(heard, [true; 2], "a line is written and never looked at");
    });
}

#[test]
fn nobody_is_forgotten_when_a_ring_is_no_longer_watched() {
    unwatching(true);
}

#[test]
#[should_panic(expected = "never looked at")]
fn without_the_senders_barrier_a_line_is_forgotten() {
    unwatching(false);
}
