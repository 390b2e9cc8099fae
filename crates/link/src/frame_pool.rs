//! The pool of memory for frames, shared by all peers, just as PM had buffers for each channel and not for each peer
//! (PM, 4.3). A slot holds one frame, and the state that its path needs while the frame is in flight. Queues link
//! slots, and need no memory of their own.
//!
//! Nothing is allocated after `new`. Used by `connection`, `in_flight` and `reassembly`; uses `seq`.

use crate::seq::Seq;

/// The index of a slot in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSlot(u32);

const NONE: u32 = u32::MAX;

/// The number under which a frame was sent, and the time at which it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendStamp {
    pub seq: Seq,
    pub sent_ns: u64,
}

/// The pool. See the module.
#[derive(Debug)]
pub struct FramePool {
    bytes: Box<[u8]>,
    stride: usize,
    lengths: Box<[u32]>,
    /// For each slot the next one of the queue that contains it.
    next: Box<[u32]>,
    /// The stamps of slots in flight, as tuples of number and time: zeroed tuples cost only address space until they
    /// are written.
    stamps: Box<[(u32, u64)]>,
    free: FrameQueue,
}

/// A queue of slots, all of one pool.
#[must_use = "its slots are to be given back"]
#[derive(PartialEq, Eq, Debug)]
pub struct FrameQueue {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for FrameQueue {
    fn default() -> FrameQueue {
        FrameQueue { first: NONE, last: NONE, len: 0 }
    }
}

impl FrameQueue {
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    pub fn first(&self) -> Option<FrameSlot> {
        (self.first != NONE).then_some(FrameSlot(self.first))
    }

    pub fn last(&self) -> Option<FrameSlot> {
        (self.last != NONE).then_some(FrameSlot(self.last))
    }
}

impl FramePool {
    /// A pool of `slots` frames of at most `stride` bytes. Slots that were never used cost only address space.
    pub fn new(slots: usize, stride: usize) -> FramePool {
        assert!(slots < NONE as usize);
        let mut pool = FramePool {
            bytes: vec![0; slots * stride].into_boxed_slice(),
            stride,
            lengths: vec![0; slots].into_boxed_slice(),
            next: vec![NONE; slots].into_boxed_slice(),
            stamps: vec![(0, 0); slots].into_boxed_slice(),
            free: FrameQueue::default(),
        };
        let mut free = FrameQueue::default();
        (0..slots as u32).for_each(|slot| pool.push(&mut free, FrameSlot(slot)));
        pool.free = free;
        pool
    }

    /// The number of free slots.
    #[inline]
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// The bytes that a slot can hold.
    pub fn stride(&self) -> usize {
        self.stride
    }

    pub fn slots(&self) -> usize {
        self.next.len()
    }

    /// Takes a free slot, for a frame of `len` bytes. Returns None if no slot is free.
    pub fn allocate(&mut self, len: usize) -> Option<FrameSlot> {
        assert!(len <= self.stride, "a frame of {len} bytes in a slot of {}", self.stride);
        let mut free = std::mem::take(&mut self.free);
        let slot = self.pop(&mut free);
        self.free = free;
        if let Some(slot) = slot {
            self.lengths[slot.0 as usize] = len as u32;
        }
        slot
    }

    /// Frees a slot that is in no queue. The next slot to be allocated is the one that was freed last, because it is
    /// in the cache.
    pub fn release(&mut self, slot: FrameSlot) {
        let mut free = std::mem::take(&mut self.free);
        self.push_front(&mut free, slot);
        self.free = free;
    }

    /// Frees all slots of a queue. Returns their number.
    pub fn release_all(&mut self, queue: FrameQueue) -> usize {
        if queue.last != NONE {
            self.next[queue.last as usize] = self.free.first;
            let last = if self.free.is_empty() { queue.last } else { self.free.last };
            self.free = FrameQueue { first: queue.first, last, len: queue.len + self.free.len };
        }
        queue.len()
    }

    pub fn set_stamp(&mut self, slot: FrameSlot, stamp: SendStamp) {
        self.stamps[slot.0 as usize] = (stamp.seq.0, stamp.sent_ns);
    }

    pub fn stamp(&self, slot: FrameSlot) -> SendStamp {
        let (number, at_ns) = self.stamps[slot.0 as usize];
        SendStamp { seq: Seq(number), sent_ns: at_ns }
    }

    pub fn frame(&self, slot: FrameSlot) -> &[u8] {
        let at = slot.0 as usize * self.stride;
        &self.bytes[at..at + self.lengths[slot.0 as usize] as usize]
    }

    pub fn frame_mut(&mut self, slot: FrameSlot) -> &mut [u8] {
        let at = slot.0 as usize * self.stride;
        &mut self.bytes[at..at + self.lengths[slot.0 as usize] as usize]
    }

    /// Cuts the frame in `slot` to its first `len` bytes, and moves the rest into the frame in `other`, from byte
    /// `at` to its end.
    pub fn move_tail(&mut self, slot: FrameSlot, len: usize, other: FrameSlot, at: usize) {
        let length = std::mem::replace(&mut self.lengths[slot.0 as usize], len as u32) as usize;
        assert!(length - len == self.frame(other).len() - at, "what is moved fits");
        let from = slot.0 as usize * self.stride;
        self.bytes.copy_within(from + len..from + length, other.0 as usize * self.stride + at);
    }

    pub fn push(&mut self, queue: &mut FrameQueue, slot: FrameSlot) {
        self.next[slot.0 as usize] = NONE;
        match queue.last {
            NONE => queue.first = slot.0,
            last => self.next[last as usize] = slot.0,
        }
        queue.last = slot.0;
        queue.len += 1;
    }

    pub fn push_front(&mut self, queue: &mut FrameQueue, slot: FrameSlot) {
        self.next[slot.0 as usize] = queue.first;
        queue.first = slot.0;
        if queue.last == NONE {
            queue.last = slot.0;
        }
        queue.len += 1;
    }

    pub fn pop(&mut self, queue: &mut FrameQueue) -> Option<FrameSlot> {
        self.remove_after(queue, None)
    }

    /// Removes and returns the slot behind `before`, which is in the queue, or the first slot if `before` is None.
    /// Returns None if there is no such slot.
    pub fn remove_after(&mut self, queue: &mut FrameQueue, before: Option<FrameSlot>) -> Option<FrameSlot> {
        let slot = self.after_or_first(queue, before)?;
        let next = self.next[slot.0 as usize];
        match before {
            Some(before) => self.next[before.0 as usize] = next,
            None => queue.first = next,
        }
        if next == NONE {
            queue.last = before.map_or(NONE, |before| before.0);
        }
        queue.len -= 1;
        Some(slot)
    }

    /// Inserts a slot behind `before`, which is in the queue.
    pub fn insert_after(&mut self, queue: &mut FrameQueue, before: FrameSlot, slot: FrameSlot) {
        self.next[slot.0 as usize] = self.next[before.0 as usize];
        self.next[before.0 as usize] = slot.0;
        if queue.last == before.0 {
            queue.last = slot.0;
        }
        queue.len += 1;
    }

    /// Returns the slot behind `before`, or the first slot of the queue if `before` is None. Returns None if there is
    /// no such slot.
    pub fn after_or_first(&self, queue: &FrameQueue, before: Option<FrameSlot>) -> Option<FrameSlot> {
        before.map_or(queue.first(), |before| self.after(before))
    }

    /// Returns the slot behind `slot` in its queue; None if `slot` is the last one.
    pub fn after(&self, slot: FrameSlot) -> Option<FrameSlot> {
        let next = self.next[slot.0 as usize];
        (next != NONE).then_some(FrameSlot(next))
    }

    /// Iterates over the slots of a queue from the first one on.
    pub fn iter<'a>(&'a self, queue: &FrameQueue) -> impl Iterator<Item = FrameSlot> + use<'a> {
        std::iter::successors(queue.first(), |&slot| self.after(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pool_has_as_many_slots_as_it_was_made_for() {
        let mut pool = FramePool::new(3, 10);
        let slots: Vec<_> = (0..3).map(|n| pool.allocate(n).unwrap()).collect();
        assert_eq!((pool.allocate(1), pool.free_slots()), (None, 0));
        pool.frame_mut(slots[2]).copy_from_slice(b"ab");
        assert_eq!((pool.frame(slots[2]), pool.frame(slots[0])), (&b"ab"[..], &b""[..]));
        pool.release(slots[1]);
        assert_eq!((pool.free_slots(), pool.allocate(10)), (1, Some(slots[1])));
        let mut queue = FrameQueue::default();
        slots.iter().for_each(|&slot| pool.push(&mut queue, slot));
        assert_eq!((pool.release_all(queue), pool.release_all(FrameQueue::default()), pool.free_slots()), (3, 0, 3));
        assert_eq!((0..4).filter_map(|_| pool.allocate(1)).count(), 3);
    }

    #[test]
    fn the_end_of_a_frame_moves_to_another() {
        let mut pool = FramePool::new(2, 10);
        let (long, other) = (pool.allocate(8).unwrap(), pool.allocate(5).unwrap());
        pool.frame_mut(long).copy_from_slice(b"HHabcdef");
        pool.frame_mut(other).fill(b'-');
        pool.move_tail(long, 5, other, 2);
        assert_eq!((pool.frame(long), pool.frame(other)), (&b"HHabc"[..], &b"--def"[..]));
    }

    proptest! {
        #[test]
        fn a_queue_is_what_a_list_is(steps in prop::collection::vec(0..30u8, 0..200)) {
            let mut pool = FramePool::new(50, 1);
            let (mut queue, mut list) = (FrameQueue::default(), std::collections::VecDeque::new());
            for step in steps {
                match (step, pool.free_slots()) {
                    (0..6, 1..) => {
                        let slot = pool.allocate(1).unwrap();
                        pool.push(&mut queue, slot);
                        list.push_back(slot);
                    }
                    (6..12, 1..) => {
                        let slot = pool.allocate(1).unwrap();
                        pool.push_front(&mut queue, slot);
                        list.push_front(slot);
                    }
                    (12..17, 1..) => if let Some(&middle) = list.get(list.len() / 2) {
                        let slot = pool.allocate(1).unwrap();
                        pool.insert_after(&mut queue, middle, slot);
                        list.insert(list.len() / 2 + 1, slot);
                    }
                    (17..21, _) => if let Some(&middle) = list.get(list.len() / 2) {
                        let slot = pool.remove_after(&mut queue, Some(middle));
                        prop_assert_eq!(slot, list.remove(list.len() / 2 + 1));
                        slot.into_iter().for_each(|slot| pool.release(slot));
                    }
                    (21, _) => {
                        list.clear();
                        pool.release_all(std::mem::take(&mut queue));
                    }
                    _ => {
                        let slot = pool.pop(&mut queue);
                        prop_assert_eq!(slot, list.pop_front());
                        slot.into_iter().for_each(|slot| pool.release(slot));
                    }
                }
                prop_assert_eq!(pool.iter(&queue).collect::<Vec<_>>(), list.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((queue.first(), queue.last()), (list.front().copied(), list.back().copied()));
                prop_assert_eq!((queue.len(), pool.free_slots() + list.len()), (list.len(), 50));
            }
        }
    }
}
