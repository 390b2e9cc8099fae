//! The ring through which a packet socket hands over its frames (TPACKET_V2): mapped memory, in which an empty poll
//! costs one load.
//!
//! Each slot begins with a status word, by which the kernel and this process pass the slot to and fro. While a slot
//! is ours, the kernel does not touch it, and no other process maps it: only for this reason is a slice of its bytes
//! sound. The offsets and lengths in the slot's header are checked nevertheless.

use crate::map;
use crate::packet::{PacketSocket, RingConfig};
use hawser_base::Region;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// linux/if_packet.h: TP_STATUS_KERNEL and the bit TP_STATUS_USER.
const KERNEL: u32 = 0;
const USER: u32 = 1;

/// Offsets of the fields of `struct tpacket2_hdr`.
const STATUS: usize = 0;
const LENGTH: usize = 4;
const CAPTURED: usize = 8;
/// Offset of two 16-bit numbers: the offset of the Ethernet header in the slot, and that of the bytes behind this
/// header.
const OFFSETS: usize = 12;

/// The number of bytes of a slot in front of the bytes behind a frame's Ethernet header: TPACKET2_HDRLEN (52) and 16
/// bytes, rounded up to a multiple of 16. The Ethernet header is the last part of them.
pub const SLOT_HEAD: usize = 80;

pub struct PacketRing {
    socket: PacketSocket,
    region: Region,
    config: RingConfig,
    /// The slot to be read next: its number in its block, its offset, and the offset of its block.
    nth: u32,
    slot_at: usize,
    block_at: usize,
}

impl PacketRing {
    /// Maps the ring that `set_ring` has made for `socket` with the same configuration. It takes ownership of the
    /// socket: a second `PacketRing` over the same slots would return them to the kernel while the first one still
    /// passes out their bytes.
    pub fn map(socket: PacketSocket, shape: RingConfig) -> io::Result<PacketRing> {
        let slots_a_block = shape.block_bytes.checked_div(shape.slot_bytes).unwrap_or(0);
        assert!(slots_a_block > 0 && shape.slots == slots_a_block * shape.blocks, "a ring of shape {shape:?}");
        assert!(shape.slot_bytes as usize >= SLOT_HEAD && shape.slot_bytes.is_multiple_of(16));
        let region = map::shared(socket.as_fd(), 0, shape.block_bytes as usize * shape.blocks as usize)?;
        Ok(PacketRing { socket, region, config: shape, nth: 0, slot_at: 0, block_at: 0 })
    }

    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Calls `take` with each received frame, including its Ethernet header; empties at most `limit` slots. Frames
    /// that the kernel cut are skipped. Returns the number of emptied slots, those of skipped frames included.
    #[inline]
    pub fn receive(&mut self, limit: usize, mut take: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < limit && self.region.u32(self.slot_at + STATUS).load(Acquire) & USER != 0 {
            if let Some(range) = self.frame() {
                // SAFETY: inside the mapping (checked by `frame`); the slot is ours until its status changes below.
                take(unsafe { std::slice::from_raw_parts(self.region.as_ptr().add(range.start), range.len()) });
            }
            self.region.u32(self.slot_at + STATUS).store(KERNEL, Release); // partner: the kernel's load of the status
            self.advance();
            count += 1;
        }
        count
    }

    /// Returns the range of the frame in this slot, if it is whole and inside the slot.
    fn frame(&self) -> Option<std::ops::Range<usize>> {
        let word = |at: usize| self.region.u32(self.slot_at + at).load(Relaxed);
        let length = word(LENGTH) as usize;
        let offsets = word(OFFSETS).to_ne_bytes();
        let begin = usize::from(u16::from_ne_bytes([offsets[0], offsets[1]]));
        let fits = word(CAPTURED) as usize == length && begin + length <= self.config.slot_bytes as usize;
        fits.then(|| self.slot_at + begin..self.slot_at + begin + length)
    }

    fn advance(&mut self) {
        self.nth += 1;
        self.slot_at += self.config.slot_bytes as usize;
        if (self.nth + 1) * self.config.slot_bytes > self.config.block_bytes {
            self.nth = 0;
            self.block_at += self.config.block_bytes as usize;
            if self.block_at == self.region.len() {
                self.block_at = 0;
            }
            self.slot_at = self.block_at;
        }
    }
}
