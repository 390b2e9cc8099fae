//! The memory from which messages are sent and into which they are received: a pool of slots that are used in turn.
//! Each slot is dirtied or filled before it is sent, as in worker/mpi.c.
//!
//! Used by `pattern_driver` and `layer`; uses no other module.

use hawser_base::UserMem;

/// The same values as in worker/mpi.c.
const POOL_BYTES: usize = 1 << 20;
const SLOTS_MAX: usize = 64;
const LINE_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;

/// The division of a pool into slots.
#[derive(Clone, Copy, Default)]
struct SlotLayout {
    bytes: usize,
    step: usize,
    count: usize,
}

impl SlotLayout {
    /// Slots for messages of `bytes` bytes.
    fn of(bytes: usize) -> SlotLayout {
        let step = bytes.next_multiple_of(LINE_BYTES) + LINE_BYTES;
        SlotLayout { bytes, step, count: (POOL_BYTES / step).clamp(2, SLOTS_MAX) }
    }

    /// The bytes of all slots.
    fn total_bytes(&self) -> usize {
        self.step * self.count
    }

    /// The offset of the slot of message `number`.
    fn offset(&self, number: u64) -> usize {
        (number % self.count as u64) as usize * self.step
    }
}

/// The memory for one direction at one of the two ends. It is kept for all tasks.
#[derive(Default)]
pub struct BufferPool {
    memory: Vec<u8>,
    layout: SlotLayout,
}

impl BufferPool {
    /// Makes room for messages of `bytes` bytes, from now on.
    pub fn reserve(&mut self, bytes: usize) {
        self.layout = SlotLayout::of(bytes);
        if self.layout.total_bytes() > self.memory.len() {
            self.memory.resize(self.layout.total_bytes(), 1);
        }
    }

    /// Overwrites the pool, so that data of an earlier task cannot be taken for data of the next one.
    pub fn clear(&mut self) {
        self.memory.fill(0xa5);
    }

    /// Returns the slot of message `number`.
    pub fn slot(&mut self, number: u64) -> &mut [u8] {
        let at = self.layout.offset(number);
        &mut self.memory[at..at + self.layout.bytes]
    }
}

/// A pool of memory that a device may still borrow after an error. Therefore the memory is never freed, not even when
/// it has become too short and is replaced.
#[derive(Default)]
pub struct ZeroCopyPool {
    memory: Option<UserMem<'static>>,
    layout: SlotLayout,
}

impl ZeroCopyPool {
    /// Makes room for messages of `bytes` bytes, from now on.
    pub fn reserve(&mut self, bytes: usize) {
        self.layout = SlotLayout::of(bytes);
        let all = self.layout.total_bytes();
        if self.memory.is_none_or(|memory| memory.len() < all) {
            self.memory = Some(UserMem::of_slice(vec![1; all].leak()));
        }
    }

    /// Returns the slot of message `number`.
    pub fn slot(&self, number: u64) -> UserMem<'static> {
        self.memory.unwrap_or(UserMem::EMPTY).slice(self.layout.offset(number), self.layout.bytes)
    }
}

/// Stores the low byte of the message's number into each page, so that successive messages differ and each comes from
/// the sender's cache.
pub fn dirty(message: &mut [u8], number: u64) {
    message.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = number as u8);
}

/// Does the same as `dirty`, in borrowed memory.
pub fn dirty_borrowed(message: UserMem, number: u64) {
    (0..message.len()).step_by(PAGE_BYTES).for_each(|at| message.slice(at, 1).write(&[number as u8]));
}

fn expected_byte(number: u64, at: usize) -> u8 {
    (number as usize * 7).wrapping_add(at * 13 + (at >> 8) + (at >> 16) * 5) as u8
}

pub fn fill(message: &mut [u8], number: u64) {
    message.iter_mut().enumerate().for_each(|(at, byte)| *byte = expected_byte(number, at));
}

/// Does the same as `fill`, in borrowed memory.
pub fn fill_borrowed(message: UserMem, number: u64) {
    let mut bytes = vec![0; message.len()];
    fill(&mut bytes, number);
    message.write(&bytes);
}

/// Reports the first byte that differs from what `fill` wrote.
pub fn compare(message: &[u8], number: u64) -> Result<(), String> {
    match message.iter().enumerate().find(|&(at, &byte)| byte != expected_byte(number, at)) {
        None => Ok(()),
        Some((at, byte)) => Err(format!("byte {at} of message {number} is {byte}, not {}", expected_byte(number, at))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other_and_come_again() {
        let mut pool = BufferPool::default();
        pool.reserve(1 << 20);
        let [first, second, third] = [0, 1, 2].map(|number| pool.slot(number).as_ptr() as usize);
        assert!(first != second && first == third);
        pool.reserve(1);
        assert_eq!((pool.layout.count, pool.slot(7).len()), (SLOTS_MAX, 1));
    }

    #[test]
    fn what_is_lent_looks_the_same_and_is_never_freed() {
        let (mut pool, mut zero_copy) = (BufferPool::default(), ZeroCopyPool::default());
        zero_copy.reserve(10_000);
        let early = zero_copy.slot(1);
        zero_copy.reserve(2 << 20);
        pool.reserve(10_000);
        for write in [true, false] {
            let message = pool.slot(1);
            if write {
                fill(message, 3);
                fill_borrowed(early, 3);
            } else {
                dirty(message, 4);
                dirty_borrowed(early, 4);
            }
            let mut there = vec![0; 10_000];
            early.read(&mut there);
            assert!(there == message, "the same bytes, in memory of before");
        }
    }

    #[test]
    fn a_byte_that_changed_is_found() {
        let mut message = vec![0; 5000];
        fill(&mut message, 3);
        assert_eq!(compare(&message, 3), Ok(()));
        assert!(compare(&message, 4).is_err());
        message[4097] ^= 1;
        assert!(compare(&message, 3).unwrap_err().starts_with("byte 4097 of message 3"));
    }

    /// The length of the pieces is the longest into which any layer cuts messages.
    #[test]
    fn pieces_that_took_each_others_place_are_found() {
        let mut message = vec![0; 1 << 20];
        for piece in (8..20).map(|power| 1 << power) {
            fill(&mut message, 0);
            message.rotate_left(piece);
            assert!(compare(&message, 0).is_err(), "{piece}");
        }
    }
}
