//! The rings by which an AF_XDP socket and the kernel hand each other frames (linux/if_xdp.h): mapped memory, in which
//! each of two counters is written by one side alone.
//!
//! Counters increase and wrap around; the number of a slot is a counter modulo the number of slots. Only the process
//! that owns the socket maps its rings. Used by `xsk`.

use crate::map;
use hawser_base::Region;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// XDP_RING_NEED_WAKEUP.
const NEED_WAKEUP: u32 = 1;

/// An entry of a receiving or sending ring: `struct xdp_desc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct XdpDesc {
    /// Offset in the memory of frames.
    pub at: u64,
    pub len: u32,
    /// XDP_PKT_CONTD: the frame continues in the next descriptor.
    pub continues: bool,
}

/// Bytes of a descriptor, and bytes of an entry of a ring that holds only addresses.
pub(crate) const DESC_BYTES: usize = 16;
pub(crate) const ADDRESS_BYTES: usize = 8;
/// XDP_PKT_CONTD.
const CONTINUES: u32 = 1;

/// A ring's memory.
pub(crate) struct XskRingMapping {
    region: Region,
    offsets: libc::xdp_ring_offset,
    slots: u32,
}

impl XskRingMapping {
    /// Maps the ring that is at offset `at` of the socket `fd`: `slots` slots (a power of two) of `bytes` each.
    /// `offsets` says where the counters and the slots are in the mapping.
    pub fn map(
        fd: BorrowedFd,
        at: u64,
        offsets: libc::xdp_ring_offset,
        slots: u32,
        bytes: usize,
    ) -> io::Result<XskRingMapping> {
        assert!(slots.is_power_of_two());
        let region = map::shared(fd, at, offsets.desc as usize + slots as usize * bytes)?;
        Ok(XskRingMapping { region, offsets, slots })
    }

    /// Returns the offset, in the mapping, of the slot that a counter names.
    fn slot_offset(&self, counter: u32, bytes: usize) -> usize {
        self.offsets.desc as usize + (counter & (self.slots - 1)) as usize * bytes
    }

    fn address(&self, counter: u32) -> u64 {
        self.region.u64(self.slot_offset(counter, ADDRESS_BYTES)).load(Relaxed)
    }

    fn set_address(&self, counter: u32, address: u64) {
        self.region.u64(self.slot_offset(counter, ADDRESS_BYTES)).store(address, Relaxed);
    }

    fn desc(&self, counter: u32) -> XdpDesc {
        let place = self.slot_offset(counter, DESC_BYTES);
        let [at, len, options] = [0, 8, 12].map(|offset| place + offset);
        XdpDesc {
            at: self.region.u64(at).load(Relaxed),
            len: self.region.u32(len).load(Relaxed),
            continues: self.region.u32(options).load(Relaxed) & CONTINUES != 0,
        }
    }

    fn set_desc(&self, counter: u32, desc: XdpDesc) {
        let place = self.slot_offset(counter, DESC_BYTES);
        self.region.u64(place).store(desc.at, Relaxed);
        self.region.u32(place + 8).store(desc.len, Relaxed);
        self.region.u32(place + 12).store(if desc.continues { CONTINUES } else { 0 }, Relaxed);
    }
}

/// A ring that the kernel writes and we read: the RX ring has received frames, the completion ring has chunks whose
/// frames were sent.
pub(crate) struct ConsumerRing {
    memory: XskRingMapping,
    /// The counter of slots that we have read, and the counter of slots that the kernel had written when we loaded it
    /// last.
    read: u32,
    written: u32,
}

impl ConsumerRing {
    pub fn new(memory: XskRingMapping) -> ConsumerRing {
        ConsumerRing { memory, read: 0, written: 0 }
    }

    /// Returns the number of slots that can be read. Loads the kernel's counter only if all slots known so far are
    /// read.
    #[inline]
    pub fn ready(&mut self) -> usize {
        if self.read == self.written {
            let producer = self.memory.region.u32(self.memory.offsets.producer as usize);
            self.written = producer.load(Acquire); // partner: the kernel's store once slots are written
        }
        self.written.wrapping_sub(self.read) as usize
    }

    /// Returns the next descriptor without taking it. The ring must hold descriptors, and one must be ready.
    pub fn peek_desc(&self) -> XdpDesc {
        self.memory.desc(self.read)
    }

    /// Takes the next descriptor; its slot stays ours until `release`. The ring must hold descriptors, and one must
    /// be ready.
    pub fn next_desc(&mut self) -> XdpDesc {
        self.read = self.read.wrapping_add(1);
        self.memory.desc(self.read.wrapping_sub(1))
    }

    /// Takes the next address; its slot stays ours until `release`. The ring must hold addresses, and one must be
    /// ready.
    pub fn next_address(&mut self) -> u64 {
        self.read = self.read.wrapping_add(1);
        self.memory.address(self.read.wrapping_sub(1))
    }

    /// Returns to the kernel the slots that were read.
    pub fn release(&self) {
        let consumer = self.memory.region.u32(self.memory.offsets.consumer as usize);
        consumer.store(self.read, Release); // partner: the kernel's load before it writes slots again
    }
}

/// A ring that we write and the kernel reads: the fill ring has chunks for frames to receive, the TX ring has frames
/// to send.
pub(crate) struct ProducerRing {
    memory: XskRingMapping,
    written: u32,
}

impl ProducerRing {
    pub fn new(memory: XskRingMapping) -> ProducerRing {
        ProducerRing { memory, written: 0 }
    }

    /// Returns the number of slots that the kernel has not read.
    pub fn pending(&self) -> usize {
        let consumer = self.memory.region.u32(self.memory.offsets.consumer as usize);
        self.written.wrapping_sub(consumer.load(Acquire)) as usize // partner: the kernel's store once it has read slots
    }

    pub fn free_slots(&self) -> usize {
        self.memory.slots as usize - self.pending()
    }

    /// Writes a descriptor into the next slot, which must be free; the kernel sees it after `publish`.
    pub fn put_desc(&mut self, desc: XdpDesc) {
        self.memory.set_desc(self.written, desc);
        self.written = self.written.wrapping_add(1);
    }

    pub fn put_address(&mut self, address: u64) {
        self.memory.set_address(self.written, address);
        self.written = self.written.wrapping_add(1);
    }

    pub fn publish(&self) {
        let producer = self.memory.region.u32(self.memory.offsets.producer as usize);
        producer.store(self.written, Release); // partner: the kernel's load before it reads slots
    }

    /// Returns whether the kernel reads the ring only when it is called.
    pub fn needs_wakeup(&self) -> bool {
        self.memory.region.u32(self.memory.offsets.flags as usize).load(Relaxed) & NEED_WAKEUP != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memfd;
    use std::os::fd::AsFd;

    const OFFSETS: libc::xdp_ring_offset = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 68, desc: 128 };

    /// Makes a ring as the kernel sees it and as we do, whose counters are about to wrap around.
    fn ring(bytes: usize) -> (XskRingMapping, XskRingMapping) {
        let fd = memfd::create(c"hawser-test", 4096).unwrap();
        let map = || XskRingMapping::map(fd.as_fd(), 0, OFFSETS, 4, bytes).unwrap();
        let memory = map();
        [0, 64].into_iter().for_each(|at| memory.region.u32(at).store(u32::MAX - 1, Relaxed));
        (memory, map())
    }

    fn producer(memory: XskRingMapping) -> ProducerRing {
        ProducerRing { memory, written: u32::MAX - 1 }
    }

    fn consumer(memory: XskRingMapping) -> ConsumerRing {
        ConsumerRing { memory, read: u32::MAX - 1, written: u32::MAX - 1 }
    }

    #[test]
    fn what_is_put_into_a_ring_comes_out_of_it_in_order() {
        let (ours, theirs) = ring(DESC_BYTES);
        let (mut out, mut into) = (producer(ours), consumer(theirs));
        for round in 0..5 {
            assert_eq!((out.free_slots(), out.pending(), into.ready()), (4, 0, 0));
            let part = |n: u32| XdpDesc { at: u64::from(round * 4096 + n), len: n, continues: n % 2 == 1 };
            (0..4).for_each(|n| out.put_desc(part(n)));
            assert_eq!((out.free_slots(), into.ready()), (0, 0), "not before they are published");
            out.publish();
            assert_eq!((into.ready(), into.peek_desc(), into.peek_desc()), (4, part(0), part(0)));
            (0..3).for_each(|n| assert_eq!(into.next_desc(), part(n)));
            assert_eq!((into.ready(), out.free_slots()), (1, 0), "not before they are released");
            assert_eq!(into.next_desc(), part(3));
            into.release();
        }
    }

    #[test]
    fn addresses_pass_too_and_a_call_is_asked_for() {
        let (ours, theirs) = ring(ADDRESS_BYTES);
        let (mut out, mut into) = (producer(ours), consumer(theirs));
        [7, u64::MAX].into_iter().for_each(|address| out.put_address(address));
        out.publish();
        assert_eq!((into.ready(), into.next_address(), into.next_address()), (2, 7, u64::MAX));
        assert!(!out.needs_wakeup());
        into.memory.region.u32(68).store(1, Relaxed);
        assert!(out.needs_wakeup());
    }
}
