//! The pool of memory for frames, shared by all peers: PM's buffers per channel instead of per peer (PM, 4.3). A slot
//! holds one frame, and the state that its path needs while the frame is in flight; queues of slots need no memory of
//! their own.
//!
//! Nothing is allocated after `new`. Used by `connection` and `sent`; uses no other module.

use crate::seq::Seq;

/// The index of a frame in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(u32);

const NONE: u32 = u32::MAX;

/// The number under which a frame was sent, and the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    pub number: Seq,
    pub at_ns: u64,
}

/// The pool. See the module.
#[derive(Debug)]
pub struct Pool {
    bytes: Box<[u8]>,
    stride: usize,
    lengths: Box<[u32]>,
    /// The next slot of the queue to which a slot belongs.
    next: Box<[u32]>,
    /// The stamps of slots in flight. They are tuples, as zeroed ones cost address space alone.
    stamps: Box<[(u32, u64)]>,
    free: Queue,
}

/// A queue of slots, all of one pool.
#[must_use = "its slots are to be given back"]
#[derive(PartialEq, Eq, Debug)]
pub struct Queue {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { first: NONE, last: NONE, len: 0 }
    }
}

impl Queue {
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    pub fn first(&self) -> Option<Slot> {
        (self.first != NONE).then_some(Slot(self.first))
    }

    pub fn last(&self) -> Option<Slot> {
        (self.last != NONE).then_some(Slot(self.last))
    }
}

impl Pool {
    /// A pool of `slots` frames of at most `stride` bytes. Unused memory costs address space alone.
    pub fn new(slots: usize, stride: usize) -> Pool {
        assert!(slots < NONE as usize);
        let mut pool = Pool {
            bytes: vec![0; slots * stride].into_boxed_slice(),
            stride,
            lengths: vec![0; slots].into_boxed_slice(),
            next: vec![NONE; slots].into_boxed_slice(),
            stamps: vec![(0, 0); slots].into_boxed_slice(),
            free: Queue::default(),
        };
        let mut free = Queue::default();
        (0..slots as u32).for_each(|slot| pool.push(&mut free, Slot(slot)));
        pool.free = free;
        pool
    }

    /// The number of free slots.
    #[inline]
    pub fn left(&self) -> usize {
        self.free.len()
    }

    /// The bytes that a slot can hold.
    pub fn stride(&self) -> usize {
        self.stride
    }

    pub fn slots(&self) -> usize {
        self.next.len()
    }

    /// Takes a free slot, for `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<Slot> {
        assert!(len <= self.stride, "a frame of {len} bytes in a slot of {}", self.stride);
        let mut free = std::mem::take(&mut self.free);
        let slot = self.pop(&mut free);
        self.free = free;
        if let Some(slot) = slot {
            self.lengths[slot.0 as usize] = len as u32;
        }
        slot
    }

    /// Frees a slot that is in no queue. The slot freed last is taken first: it is in the cache.
    pub fn give(&mut self, slot: Slot) {
        let mut free = std::mem::take(&mut self.free);
        self.push_front(&mut free, slot);
        self.free = free;
    }

    /// Frees all slots of a queue. Returns their number.
    pub fn give_all(&mut self, queue: Queue) -> usize {
        if queue.last != NONE {
            self.next[queue.last as usize] = self.free.first;
            let last = if self.free.is_empty() { queue.last } else { self.free.last };
            self.free = Queue { first: queue.first, last, len: queue.len + self.free.len };
        }
        queue.len()
    }

    pub fn set_stamp(&mut self, slot: Slot, stamp: Stamp) {
        self.stamps[slot.0 as usize] = (stamp.number.0, stamp.at_ns);
    }

    pub fn stamp(&self, slot: Slot) -> Stamp {
        let (number, at_ns) = self.stamps[slot.0 as usize];
        Stamp { number: Seq(number), at_ns }
    }

    pub fn frame(&self, slot: Slot) -> &[u8] {
        let at = slot.0 as usize * self.stride;
        &self.bytes[at..at + self.lengths[slot.0 as usize] as usize]
    }

    pub fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        let at = slot.0 as usize * self.stride;
        &mut self.bytes[at..at + self.lengths[slot.0 as usize] as usize]
    }

    /// Keeps the first `len` bytes of a frame, and moves the rest to the end of another one, from `at` on.
    pub fn move_end(&mut self, slot: Slot, len: usize, other: Slot, at: usize) {
        let length = std::mem::replace(&mut self.lengths[slot.0 as usize], len as u32) as usize;
        assert!(length - len == self.frame(other).len() - at, "what is moved fits");
        let from = slot.0 as usize * self.stride;
        self.bytes.copy_within(from + len..from + length, other.0 as usize * self.stride + at);
    }

    pub fn push(&mut self, queue: &mut Queue, slot: Slot) {
        self.next[slot.0 as usize] = NONE;
        match queue.last {
            NONE => queue.first = slot.0,
            last => self.next[last as usize] = slot.0,
        }
        queue.last = slot.0;
        queue.len += 1;
    }

    pub fn push_front(&mut self, queue: &mut Queue, slot: Slot) {
        self.next[slot.0 as usize] = queue.first;
        queue.first = slot.0;
        if queue.last == NONE {
            queue.last = slot.0;
        }
        queue.len += 1;
    }

    pub fn pop(&mut self, queue: &mut Queue) -> Option<Slot> {
        self.remove_behind(queue, None)
    }

    /// Removes the slot behind `before`, which is in the queue; behind None is the first one.
    pub fn remove_behind(&mut self, queue: &mut Queue, before: Option<Slot>) -> Option<Slot> {
        let slot = self.behind(queue, before)?;
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
    pub fn insert_after(&mut self, queue: &mut Queue, before: Slot, slot: Slot) {
        self.next[slot.0 as usize] = self.next[before.0 as usize];
        self.next[before.0 as usize] = slot.0;
        if queue.last == before.0 {
            queue.last = slot.0;
        }
        queue.len += 1;
    }

    /// Returns the slot behind `before`; behind None is the first one.
    pub fn behind(&self, queue: &Queue, before: Option<Slot>) -> Option<Slot> {
        before.map_or(queue.first(), |before| self.after(before))
    }

    /// Returns the slot behind `slot` in its queue.
    pub fn after(&self, slot: Slot) -> Option<Slot> {
        let next = self.next[slot.0 as usize];
        (next != NONE).then_some(Slot(next))
    }

    /// Iterates over the slots of a queue from the first one on.
    pub fn each<'a>(&'a self, queue: &Queue) -> impl Iterator<Item = Slot> + use<'a> {
        std::iter::successors(queue.first(), |&slot| self.after(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pool_has_as_many_slots_as_it_was_made_for() {
        let mut pool = Pool::new(3, 10);
        let slots: Vec<_> = (0..3).map(|n| pool.take(n).unwrap()).collect();
        assert_eq!((pool.take(1), pool.left()), (None, 0));
        pool.frame_mut(slots[2]).copy_from_slice(b"ab");
        assert_eq!((pool.frame(slots[2]), pool.frame(slots[0])), (&b"ab"[..], &b""[..]));
        pool.give(slots[1]);
        assert_eq!((pool.left(), pool.take(10)), (1, Some(slots[1])));
        let mut queue = Queue::default();
        slots.iter().for_each(|&slot| pool.push(&mut queue, slot));
        assert_eq!((pool.give_all(queue), pool.give_all(Queue::default()), pool.left()), (3, 0, 3));
        assert_eq!((0..4).filter_map(|_| pool.take(1)).count(), 3);
    }

    #[test]
    fn the_end_of_a_frame_moves_to_another() {
        let mut pool = Pool::new(2, 10);
        let (long, other) = (pool.take(8).unwrap(), pool.take(5).unwrap());
        pool.frame_mut(long).copy_from_slice(b"HHabcdef");
        pool.frame_mut(other).fill(b'-');
        pool.move_end(long, 5, other, 2);
        assert_eq!((pool.frame(long), pool.frame(other)), (&b"HHabc"[..], &b"--def"[..]));
    }

    proptest! {
        #[test]
        fn a_queue_is_what_a_list_is(steps in prop::collection::vec(0..30u8, 0..200)) {
            let mut pool = Pool::new(50, 1);
            let (mut queue, mut list) = (Queue::default(), std::collections::VecDeque::new());
            for step in steps {
                match (step, pool.left()) {
                    (0..6, 1..) => {
                        let slot = pool.take(1).unwrap();
                        pool.push(&mut queue, slot);
                        list.push_back(slot);
                    }
                    (6..12, 1..) => {
                        let slot = pool.take(1).unwrap();
                        pool.push_front(&mut queue, slot);
                        list.push_front(slot);
                    }
                    (12..17, 1..) => if let Some(&middle) = list.get(list.len() / 2) {
                        let slot = pool.take(1).unwrap();
                        pool.insert_after(&mut queue, middle, slot);
                        list.insert(list.len() / 2 + 1, slot);
                    }
                    (17..21, _) => if let Some(&middle) = list.get(list.len() / 2) {
                        let slot = pool.remove_behind(&mut queue, Some(middle));
                        prop_assert_eq!(slot, list.remove(list.len() / 2 + 1));
                        slot.into_iter().for_each(|slot| pool.give(slot));
                    }
                    (21, _) => {
                        list.clear();
                        pool.give_all(std::mem::take(&mut queue));
                    }
                    _ => {
                        let slot = pool.pop(&mut queue);
                        prop_assert_eq!(slot, list.pop_front());
                        slot.into_iter().for_each(|slot| pool.give(slot));
                    }
                }
                prop_assert_eq!(pool.each(&queue).collect::<Vec<_>>(), list.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((queue.first(), queue.last()), (list.front().copied(), list.back().copied()));
                prop_assert_eq!((queue.len(), pool.left() + list.len()), (list.len(), 50));
            }
        }
    }
}
