//! The rings by which an AF_XDP socket and the kernel hand each other frames (linux/if_xdp.h): mapped memory, in which
//! each of two counters is written by one side alone.
//!
//! Counters increase and wrap around; a place in a ring is a counter modulo its length. Only the process that owns the
//! socket maps these. Used by `xsk`.

use crate::map;
use hawser_base::Region;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// XDP_RING_NEED_WAKEUP.
const NEED_WAKEUP: u32 = 1;

/// An entry of a receiving or sending ring: `struct xdp_desc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset in the memory of frames.
    pub at: u64,
    pub len: u32,
    /// XDP_PKT_CONTD: the frame continues in the next part.
    pub goes_on: bool,
}

/// Bytes of a part, and of an entry in rings that hold addresses alone.
pub(crate) const PART: usize = 16;
pub(crate) const ADDRESS: usize = 8;
/// XDP_PKT_CONTD.
const GOES_ON: u32 = 1;

/// A ring's memory.
pub(crate) struct Memory {
    region: Region,
    offsets: libc::xdp_ring_offset,
    places: u32,
}

impl Memory {
    /// Maps a ring of `places` (a power of two) of `bytes` each, which is at `at` of its socket.
    pub fn map(
        fd: BorrowedFd,
        at: u64,
        offsets: libc::xdp_ring_offset,
        places: u32,
        bytes: usize,
    ) -> io::Result<Memory> {
        assert!(places.is_power_of_two());
        let region = map::shared(fd, at, offsets.desc as usize + places as usize * bytes)?;
        Ok(Memory { region, offsets, places })
    }

    /// Returns the offset of the place of a counter.
    fn place(&self, counter: u32, bytes: usize) -> usize {
        self.offsets.desc as usize + (counter & (self.places - 1)) as usize * bytes
    }

    fn address(&self, counter: u32) -> u64 {
        self.region.u64(self.place(counter, ADDRESS)).load(Relaxed)
    }

    fn set_address(&self, counter: u32, address: u64) {
        self.region.u64(self.place(counter, ADDRESS)).store(address, Relaxed);
    }

    fn part(&self, counter: u32) -> Part {
        let place = self.place(counter, PART);
        let [at, len, options] = [0, 8, 12].map(|offset| place + offset);
        Part {
            at: self.region.u64(at).load(Relaxed),
            len: self.region.u32(len).load(Relaxed),
            goes_on: self.region.u32(options).load(Relaxed) & GOES_ON != 0,
        }
    }

    fn set_part(&self, counter: u32, part: Part) {
        let place = self.place(counter, PART);
        self.region.u64(place).store(part.at, Relaxed);
        self.region.u32(place + 8).store(part.len, Relaxed);
        self.region.u32(place + 12).store(if part.goes_on { GOES_ON } else { 0 }, Relaxed);
    }
}

/// A ring that the kernel writes and we read: of received frames, of memory that was sent.
pub(crate) struct Inlet {
    memory: Memory,
    /// The number of places that we have read, and the number that the kernel had written as last loaded.
    read: u32,
    written: u32,
}

impl Inlet {
    pub fn new(memory: Memory) -> Inlet {
        Inlet { memory, read: 0, written: 0 }
    }

    /// Returns the places that can be read. A load, if there was nothing left.
    #[inline]
    pub fn ready(&mut self) -> usize {
        if self.read == self.written {
            let producer = self.memory.region.u32(self.memory.offsets.producer as usize);
            self.written = producer.load(Acquire); // partner: the kernel's store once places are written
        }
        self.written.wrapping_sub(self.read) as usize
    }

    /// Returns the next place that is ready, of a ring of parts, which stays the next one.
    pub fn peek_part(&self) -> Part {
        self.memory.part(self.read)
    }

    /// Takes the next place that is ready, of a ring of parts; it stays ours until `release`.
    pub fn next_part(&mut self) -> Part {
        self.read = self.read.wrapping_add(1);
        self.memory.part(self.read.wrapping_sub(1))
    }

    /// Takes the next place of a ring of addresses, likewise.
    pub fn next_address(&mut self) -> u64 {
        self.read = self.read.wrapping_add(1);
        self.memory.address(self.read.wrapping_sub(1))
    }

    /// Returns to the kernel the places that were read.
    pub fn release(&self) {
        let consumer = self.memory.region.u32(self.memory.offsets.consumer as usize);
        consumer.store(self.read, Release); // partner: the kernel's load before it writes places again
    }
}

/// A ring that we write and the kernel reads: of memory for frames to receive, of frames to send.
pub(crate) struct Outlet {
    memory: Memory,
    written: u32,
}

impl Outlet {
    pub fn new(memory: Memory) -> Outlet {
        Outlet { memory, written: 0 }
    }

    /// Returns the places that the kernel has not read.
    pub fn waiting(&self) -> usize {
        let consumer = self.memory.region.u32(self.memory.offsets.consumer as usize);
        self.written.wrapping_sub(consumer.load(Acquire)) as usize // partner: the kernel's store once it has read places
    }

    pub fn room(&self) -> usize {
        self.memory.places as usize - self.waiting()
    }

    /// Writes the next place, for which there is space; the kernel sees it after `publish`.
    pub fn put_part(&mut self, part: Part) {
        self.memory.set_part(self.written, part);
        self.written = self.written.wrapping_add(1);
    }

    pub fn put_address(&mut self, address: u64) {
        self.memory.set_address(self.written, address);
        self.written = self.written.wrapping_add(1);
    }

    pub fn publish(&self) {
        let producer = self.memory.region.u32(self.memory.offsets.producer as usize);
        producer.store(self.written, Release); // partner: the kernel's load before it reads places
    }

    /// Returns whether the kernel reads the ring only when it is called.
    pub fn wants_call(&self) -> bool {
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
    fn ring(bytes: usize) -> (Memory, Memory) {
        let fd = memfd::create(c"hawser-test", 4096).unwrap();
        let map = || Memory::map(fd.as_fd(), 0, OFFSETS, 4, bytes).unwrap();
        let memory = map();
        [0, 64].into_iter().for_each(|at| memory.region.u32(at).store(u32::MAX - 1, Relaxed));
        (memory, map())
    }

    fn outlet(memory: Memory) -> Outlet {
        Outlet { memory, written: u32::MAX - 1 }
    }

    fn inlet(memory: Memory) -> Inlet {
        Inlet { memory, read: u32::MAX - 1, written: u32::MAX - 1 }
    }

    #[test]
    fn what_is_put_into_a_ring_comes_out_of_it_in_order() {
        let (ours, theirs) = ring(PART);
        let (mut out, mut into) = (outlet(ours), inlet(theirs));
        for round in 0..5 {
            assert_eq!((out.room(), out.waiting(), into.ready()), (4, 0, 0));
            let part = |n: u32| Part { at: u64::from(round * 4096 + n), len: n, goes_on: n % 2 == 1 };
            (0..4).for_each(|n| out.put_part(part(n)));
            assert_eq!((out.room(), into.ready()), (0, 0), "not before they are published");
            out.publish();
            assert_eq!((into.ready(), into.peek_part(), into.peek_part()), (4, part(0), part(0)));
            (0..3).for_each(|n| assert_eq!(into.next_part(), part(n)));
            assert_eq!((into.ready(), out.room()), (1, 0), "not before they are released");
            assert_eq!(into.next_part(), part(3));
            into.release();
        }
    }

    #[test]
    fn addresses_pass_too_and_a_call_is_asked_for() {
        let (ours, theirs) = ring(ADDRESS);
        let (mut out, mut into) = (outlet(ours), inlet(theirs));
        [7, u64::MAX].into_iter().for_each(|address| out.put_address(address));
        out.publish();
        assert_eq!((into.ready(), into.next_address(), into.next_address()), (2, 7, u64::MAX));
        assert!(!out.wants_call());
        into.memory.region.u32(68).store(1, Relaxed);
        assert!(out.wants_call());
    }
}
