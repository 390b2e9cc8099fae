//! AF_XDP sockets: frames of one queue of a NIC, in memory that the process shares with the kernel (UMEM), or with the
//! NIC itself if the driver has zero-copy. Needs CAP_NET_RAW.
//!
//! The memory is cut into chunks: some are for received frames, the others for frames to send. A chunk is the
//! kernel's from the moment when its slot in a ring is published until it returns in another ring; otherwise it is
//! ours: only for this reason is a slice of its bytes sound. The contents of the rings are checked nevertheless. A
//! program (`xdp`) decides which frames arrive. Used by `dev-ether`; uses `xsk_ring`.

use crate::errno::restarted;
use crate::fd_identity::CheckedFd;
use crate::xsk_ring::{ADDRESS_BYTES, ConsumerRing, DESC_BYTES, ProducerRing, XdpDesc, XskRingMapping};
use crate::{ErrorContext, map, sockopt};
use hawser_base::Region;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The division of a socket's memory, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmemConfig {
    /// Bytes of a chunk, a power of two from 2048 up to a page. Longer frames come in several chunks.
    pub chunk_bytes: u32,
    /// The number of chunks for received frames that have not been taken yet, a power of two.
    pub receive: u32,
    /// The number of further chunks for receiving. A NIC that writes into the chunks itself must always have free
    /// ones, even if no frame is taken for a long time, because all traffic of this queue passes through them.
    pub reserve: u32,
    /// The number of chunks for frames to send: a power of two, or 0.
    pub send: u32,
}

impl UmemConfig {
    /// Returns the number of slots of the fill ring: at least twice the number of chunks for receiving. In a ring
    /// without spare slots, each address would be written into the cache line that the kernel reads next.
    fn fill(&self) -> u32 {
        2 * (self.receive + self.reserve).next_power_of_two()
    }

    fn chunks(&self) -> u32 {
        self.receive + self.reserve + self.send
    }
}

/// Bytes in front of a frame that the kernel keeps free in each chunk (XDP_PACKET_HEADROOM).
const HEADROOM: u32 = 256;

/// Returns the longest frame that comes in one chunk.
pub const fn longest_in_one_chunk(chunk_bytes: u32) -> usize {
    (chunk_bytes - HEADROOM) as usize
}

pub struct XskSocket {
    fd: CheckedFd,
    frames: Region,
    chunk_bytes: u32,
    rx: ConsumerRing,
    fill: ProducerRing,
    tx_rings: Option<TxRings>,
    zero_copy: bool,
    /// The bytes received so far of a frame that is not complete yet.
    partial: Vec<u8>,
}

/// The state that only a sending socket has.
struct TxRings {
    tx: ProducerRing,
    completion: ConsumerRing,
    /// Addresses of the chunks for sending that are ours.
    free: Vec<u64>,
    /// The maximum number of calls per `flush`: the kernel takes at most BATCH frames in one call.
    max_calls: usize,
}

/// The maximum number of frames that the kernel sends in one call (TX_BATCH_SIZE in the kernel's net/xdp/xsk.c).
const BATCH: usize = 32;

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Makes a socket without memory or queue.
pub fn open_unbound() -> io::Result<OwnedFd> {
    sockopt::socket(libc::AF_XDP, libc::SOCK_RAW, 0).context(|| "making an AF_XDP socket (needs CAP_NET_RAW)".into())
}

impl XskSocket {
    /// Opens a socket for queue `queue` of an interface. With `zero_copy` it fails if the driver has no zero-copy;
    /// without it the kernel copies frames. `in_parts`: frames may be longer than a chunk (Linux 6.6). The error
    /// `InvalidInput` means that there is no such queue.
    pub fn open(
        interface: u32,
        queue: u32,
        config: UmemConfig,
        zero_copy: bool,
        in_parts: bool,
    ) -> io::Result<XskSocket> {
        let fd = open_unbound()?;
        let frames = map::private(config.chunks() as usize * config.chunk_bytes as usize)?;
        register(fd.as_fd(), &frames, config.chunk_bytes).context(|| {
            format!("sharing {} KiB with the kernel (does `ulimit -l` limit locked memory?)", frames.len() >> 10)
        })?;
        let rings = XskRings::make(fd.as_fd(), config).context(|| "making the rings of an AF_XDP socket".into())?;
        let (came, mut fill) = (ConsumerRing::new(rings.rx), ProducerRing::new(rings.fill));
        let chunk = |nth: u32| u64::from(nth) * u64::from(config.chunk_bytes);
        let (incoming, all) = (config.receive + config.reserve, config.chunks());
        (0..incoming).for_each(|nth| fill.put_address(chunk(nth)));
        fill.publish();
        bind(fd.as_fd(), interface, queue, zero_copy, in_parts).context(|| {
            format!("binding to queue {queue}{}", if in_parts { " (frames in parts need Linux 6.6)" } else { "" })
        })?;
        let sending = rings.tx.map(|out| TxRings {
            tx: ProducerRing::new(out),
            completion: ConsumerRing::new(rings.completion),
            free: (incoming..all).map(chunk).collect(),
            max_calls: config.send as usize / BATCH + 1,
        });
        let partial = Vec::new();
        Ok(XskSocket {
            fd: CheckedFd::new(fd),
            frames,
            chunk_bytes: config.chunk_bytes,
            rx: came,
            fill,
            tx_rings: sending,
            zero_copy,
            partial,
        })
    }

    /// Returns whether the NIC reads and writes the memory itself.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Calls `take` with each received frame, including its Ethernet header; takes at most `limit` chunks. Returns
    /// the number of frames. An empty poll costs one load.
    #[inline]
    pub fn receive(&mut self, limit: usize, take: impl FnMut(&[u8])) -> usize {
        self.receive_while(limit, |_| true, take)
    }

    /// Receives as `receive` does, but only up to the first frame that `is_wanted` rejects by its first chunk. That
    /// frame stays the next one.
    #[inline]
    pub fn receive_while(
        &mut self,
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut take: impl FnMut(&[u8]),
    ) -> usize {
        let ready = self.rx.ready().min(limit);
        let (mut count, mut parts) = (0, 0);
        while parts < ready && self.is_next_wanted(&is_wanted) {
            let part = self.rx.next_desc();
            count += self.take_desc(part, &mut take);
            parts += 1;
        }
        if parts > 0 {
            self.rx.release();
            self.fill.publish();
        }
        self.wake_driver();
        count
    }

    /// Returns whether the next descriptor belongs to a wanted frame.
    fn is_next_wanted(&self, is_wanted: &impl Fn(&[u8]) -> bool) -> bool {
        // The rest of a frame whose first chunk was wanted is wanted, and a descriptor outside the memory is to be
        // removed.
        !self.partial.is_empty() || frame_bytes(&self.frames, self.rx.peek_desc()).is_none_or(is_wanted)
    }

    /// Takes a descriptor, and calls `take` if it completes a frame. Returns the number of frames that it completes,
    /// 0 or 1. The chunk is the kernel's again from the next `publish` on. A descriptor outside the memory is
    /// ignored.
    fn take_desc(&mut self, desc: XdpDesc, take: &mut impl FnMut(&[u8])) -> usize {
        let Some(bytes) = frame_bytes(&self.frames, desc) else { return 0 };
        let is_whole = !desc.continues;
        if is_whole && self.partial.is_empty() {
            take(bytes);
        } else {
            self.partial.extend_from_slice(bytes);
            if is_whole {
                take(&self.partial);
                self.partial.clear();
            }
        }
        self.fill.put_address(desc.at & !u64::from(self.chunk_bytes - 1));
        usize::from(is_whole)
    }

    /// Calls the kernel if the driver needs that: a driver with zero-copy that has run out of chunks takes new ones
    /// only when it is called.
    #[inline]
    fn wake_driver(&self) {
        if self.zero_copy && self.fill.needs_wakeup() {
            // SAFETY: no memory is given; nothing is received but the call's effect.
            unsafe { libc::recv(self.fd.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        }
    }

    /// Copies a frame of `head` and `body` into chunks, to be sent by `flush`. Returns whether there was space;
    /// always false if the socket has no chunks for sending.
    pub fn enqueue(&mut self, head: &[u8], body: &[u8]) -> bool {
        let Some(sending) = &mut self.tx_rings else { return false };
        let (chunk, total) = (self.chunk_bytes as usize, head.len() + body.len());
        let parts = total.div_ceil(chunk);
        // Sent chunks are taken back at once: the chunk that was sent last is used next, and is still in the cache.
        sending.collect();
        if sending.free.len() < parts || sending.tx.free_slots() < parts {
            return false;
        }
        assert!(head.len() <= chunk);
        let first = body.len().min(chunk - head.len());
        let mut rest = &body[first..];
        let mut at = sending.free.pop().expect("enough are free");
        self.frames.bytes(at as usize, head.len()).write(head);
        self.frames.bytes(at as usize + head.len(), first).write(&body[..first]);
        let mut len = head.len() + first;
        loop {
            sending.tx.put_desc(XdpDesc { at, len: len as u32, continues: !rest.is_empty() });
            if rest.is_empty() {
                return true;
            }
            let next;
            (next, rest) = rest.split_at(rest.len().min(chunk));
            at = sending.free.pop().expect("enough are free");
            self.frames.bytes(at as usize, next.len()).write(next);
            len = next.len();
        }
    }

    /// Hands the enqueued frames over to the kernel. Frames for which the NIC has no space wait for the next call.
    /// After an error all remaining frames wait, too; the error keeps its number.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(sending) = &mut self.tx_rings else { return Ok(()) };
        sending.tx.publish();
        for _ in 0..sending.max_calls {
            if !sending.tx.needs_wakeup() || sending.tx.pending() == 0 {
                return Ok(());
            }
            match wake_kernel(&self.fd) {
                Ok(()) => {}
                // The kernel has lost one frame, or has sent a batch: there may be more frames.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN | libc::ENOBUFS)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns whether the kernel has not taken all enqueued frames.
    pub fn has_pending(&self) -> bool {
        self.tx_rings.as_ref().is_some_and(|sending| sending.tx.pending() > 0)
    }

    /// Returns the number of frames that came for this socket and were dropped so far, because there was no space.
    pub fn drops(&self) -> u64 {
        // SAFETY: plain numbers.
        let mut counts: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        let _ = sockopt::fill(self.fd.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS, &mut counts);
        counts.rx_dropped + counts.rx_ring_full
    }

    /// Takes the pending error, such as that of an interface that is gone. Returns its number, 0 for none.
    pub fn take_error(&self) -> i32 {
        sockopt::take_error(self.fd.as_fd())
    }
}

/// Returns the bytes that a descriptor names; None if they do not lie in the memory of frames.
fn frame_bytes(frames: &Region, desc: XdpDesc) -> Option<&[u8]> {
    let begin = desc.at as usize;
    let fits = begin.checked_add(desc.len as usize).is_some_and(|end| end <= frames.len());
    // SAFETY: inside the mapping (checked); the chunk is ours until its address is published in the ring `fill`.
    fits.then(|| unsafe { std::slice::from_raw_parts(frames.as_ptr().add(begin), desc.len as usize) })
}

impl TxRings {
    /// Takes back the chunks of frames that were sent.
    fn collect(&mut self) {
        let ready = self.completion.ready();
        if ready == 0 {
            return;
        }
        (0..ready).for_each(|_| self.free.push(self.completion.next_address()));
        self.completion.release();
    }
}

fn wake_kernel(fd: &CheckedFd) -> io::Result<()> {
    let (nothing, fd) = (std::ptr::null(), fd.as_raw_fd());
    // SAFETY: no memory is given: the frames to send are in the ring.
    restarted(|| unsafe { libc::send(fd, nothing, 0, libc::MSG_DONTWAIT) as i64 }).map(drop)
}

fn register(fd: BorrowedFd, frames: &Region, chunk_bytes: u32) -> io::Result<()> {
    let memory = libc::xdp_umem_reg {
        addr: frames.as_ptr() as u64,
        len: frames.len() as u64,
        chunk_size: chunk_bytes,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    sockopt::set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)
}

/// The memory of a socket's rings.
struct XskRings {
    rx: XskRingMapping,
    fill: XskRingMapping,
    tx: Option<XskRingMapping>,
    completion: XskRingMapping,
}

impl XskRings {
    fn make(fd: BorrowedFd, config: UmemConfig) -> io::Result<XskRings> {
        let places = |option: i32, places: u32| sockopt::set(fd, libc::SOL_XDP, option, &places);
        // A socket that sends nothing has no TX ring, but all the other rings: the completion ring has one slot then.
        let sent = config.send.max(1);
        places(libc::XDP_UMEM_FILL_RING, config.fill())?;
        places(libc::XDP_UMEM_COMPLETION_RING, sent)?;
        places(libc::XDP_RX_RING, config.receive)?;
        if config.send > 0 {
            places(libc::XDP_TX_RING, config.send)?;
        }
        // SAFETY: plain numbers.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let filled = sockopt::fill(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        if filled < size_of_val(&offsets) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is older than Linux 5.4"));
        }
        let out = || XskRingMapping::map(fd, libc::XDP_PGOFF_TX_RING as u64, offsets.tx, config.send, DESC_BYTES);
        Ok(XskRings {
            rx: XskRingMapping::map(fd, libc::XDP_PGOFF_RX_RING as u64, offsets.rx, config.receive, DESC_BYTES)?,
            fill: XskRingMapping::map(fd, libc::XDP_UMEM_PGOFF_FILL_RING, offsets.fr, config.fill(), ADDRESS_BYTES)?,
            tx: (config.send > 0).then(out).transpose()?,
            completion: XskRingMapping::map(fd, libc::XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr, sent, ADDRESS_BYTES)?,
        })
    }
}

fn bind(fd: BorrowedFd, interface: u32, queue: u32, zero_copy: bool, in_parts: bool) -> io::Result<()> {
    let mode = if zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    let parts = if in_parts { libc::XDP_USE_SG } else { 0 };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: mode | parts | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a valid address of that length.
    restarted(|| unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}
