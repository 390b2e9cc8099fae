//! The port of one lane: it chooses the form of each packet to send, delivers what has arrived, and reports peers
//! that have ended.
//!
//! A port is used under its lane's lock alone. A refused packet leaves nothing behind: the port finds space for the
//! whole packet before it writes the first slot. A peer has a `PeerRings` from its first use until its end is
//! reported. Used by `transport`; uses `peer_rings`, `ring`, `pool`, `payload` and `poll_set`.

mod incoming;
mod peer_rings;

use crate::device::copies_by_string;
use crate::layout::DeviceLayout;
use crate::peer_liveness::PeerLiveness;
use crate::poll_set::PollSet;
use crate::pool::{self, CHUNK, ChunkPool};
use crate::remote::ShmRegistrations;
use crate::retained::RetainedChunks;
use crate::ring::{SLOTS, publish_interval};
use crate::ring_mapping::RingMapping;
use crate::ring_slot::{self, BODY, CHUNKS, CHUNKS_AT, FIRST_PAYLOAD, FIRST_PAYLOAD_AT};
use hawser_base::peer_table::PeerTable;
use hawser_base::{Lane, Peer, SharedMem, UserMem, copy};
use hawser_device::{
    AtomicRequest, CompletionToken, Delivery, DevicePort, Header, PREFIX_MAX, PayloadSource, RemoteError, RemoteKey,
    SendError, Submitted, WriteSource,
};
use hawser_job::Segment;
use peer_rings::{LaneWords, PeerRingState, PeerRings};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

/// The longest payload, in bytes, that goes in ring slots. For longer payload a chunk is faster (from a length
/// between 768 and 1024 bytes on, as measured).
pub const SHORT: usize = ring_slot::payload_of_slots(14);

/// Maximum slots of a ring that may be unread. Control packets may use all slots; payload leaves some free for them.
const CONTROL_LIMIT: u32 = SLOTS;
const PAYLOAD_LIMIT: u32 = SLOTS - 16;

/// Maximum slots of a packet. So many fit once the peer has read everything, even if it has not published its last
/// reads yet.
const PACKET_SLOTS_MAX: u32 = PAYLOAD_LIMIT - publish_interval::<RingMapping>();

/// The longest payload, in bytes, that can go in slots if there is no chunk. So even a peer that can have no chunk
/// gets packets of this length, through its ring.
pub const INLINE_MAX: usize = ring_slot::payload_of_slots(PACKET_SLOTS_MAX);

const _: () = assert!(SHORT <= INLINE_MAX && CHUNK + PREFIX_MAX <= INLINE_MAX);

/// Returns the number of chunks of a packet of `total` bytes, prefix included. If no more than PREFIX_MAX bytes, with
/// the prefix, are left beyond whole chunks, these bytes go in the slot.
#[inline(always)]
fn chunks_of(total: usize) -> usize {
    if total >= CHUNK && total % CHUNK <= PREFIX_MAX { total / CHUNK } else { total.div_ceil(CHUNK) }
}

/// Minimum length of packets, in bytes, that may be written past the caches or by the string instruction. Shorter
/// packets gained nothing past the caches: to wait until the stores have drained costs as much as they save.
const LONG: usize = 2 * CHUNK;

/// Minimum length of packets, in bytes, that are written by the string instruction into chunks that this core may have
/// in its cache. A ping-pong of shorter messages lost up to a tenth (docs/measurements/2026-11-28-string-copies.md).
const CACHED_STRING_FROM: usize = 16 << 10;

/// The number of long packets from one measurement of a peer's distance to the next.
const DISTANCE_PERIOD: u8 = 4;

/// Maximum packets of one peer that a poll delivers before it reads the next peer's ring.
const BURST: usize = 16;

/// The port of one lane.
pub struct ShmPort {
    peers: PeerTable<PeerRings>,
    words: LaneWords,
    pool: ChunkPool,
    /// Chunks of each peer's pool that are retained for a reply.
    retained: PeerTable<RetainedChunks>,
    poll_set: PollSet,
    liveness: PeerLiveness,
    /// Peers that have ended and are not yet reported.
    exited: Vec<Peer>,
    /// Buffer for packed payload that goes in slots.
    scratch: Vec<u8>,
    registrations: Arc<ShmRegistrations>,
    /// Whether long pieces are copied into chunks by the string instruction.
    copies_by_string: bool,
}

/// A function that copies `len` bytes between ranges that do not overlap.
type CopyFn = unsafe fn(to: *mut u8, from: *const u8, len: usize);

impl ShmPort {
    pub(crate) fn new(segment: &Segment, me: usize, lane: Lane, registrations: Arc<ShmRegistrations>) -> ShmPort {
        let ranks = segment.local_slots();
        ShmPort {
            peers: PeerTable::new(PeerRings::blank()),
            words: LaneWords { area: segment.device_area(), layout: DeviceLayout { ranks }.lane(lane.index()), me },
            pool: ChunkPool::new(ranks),
            retained: PeerTable::new(RetainedChunks::new(pool::retained_max(ranks))),
            poll_set: PollSet::new(),
            liveness: PeerLiveness::new(segment.clone()),
            exited: Vec::new(),
            scratch: Vec::new(),
            registrations,
            copies_by_string: copies_by_string(&segment.facts()),
        }
    }

    /// Returns the local number of a peer of this host whose memory can be used.
    fn owner(&self, peer: Peer) -> Result<usize, RemoteError> {
        let owner = self.liveness.local(peer).filter(|_| !self.liveness.has_ended(peer));
        owner.ok_or(RemoteError::PeerFailed)
    }

    /// Returns the rings of a peer, which are opened at its first use. None if they are not open and the peer is
    /// known to have ended, is on another host or is this rank.
    #[inline]
    fn open(&mut self, peer: Peer) -> Option<&mut PeerRings> {
        // Do not open the rings of a peer that has ended: others can still write to its local slot, and nobody would
        // poll it.
        if self.peers[peer].state == PeerRingState::Unused && self.liveness.is_known_ended(peer) {
            return None;
        }
        self.open_any(peer)
    }

    /// Returns the rings of a peer as `open` does, but also if the peer has ended.
    fn open_any(&mut self, peer: Peer) -> Option<&mut PeerRings> {
        if self.peers[peer].state == PeerRingState::Unused {
            let local = self.liveness.local(peer).filter(|&local| local != self.words.me)?;
            self.peers[peer] = PeerRings::new(&self.words, local, self.liveness.doorbell(local));
        }
        self.peers.get_mut(peer)
    }

    /// Returns the rings of a peer that `open` has opened.
    #[inline(always)]
    fn rings_of(&mut self, peer: Peer) -> &mut PeerRings {
        self.peers.get_mut(peer).expect("it was opened")
    }

    /// Returns whether the ring to a peer has space for `slots` slots, by the last known credit. False for a peer
    /// that was never used.
    #[inline(always)]
    fn has_slots(&mut self, to: Peer, slots: u32, limit: u32) -> bool {
        self.peers.get_mut(to).is_some_and(|rings| rings.tx.has_space(slots, limit))
    }

    /// Writes a packet with the bytes of `from` into slots. Without `PREFIX` it has no prefix. `Full` if there is no
    /// space.
    #[inline(always)]
    fn put_inline<const PREFIX: bool>(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        from: UserMem,
        limit: u32,
    ) -> Result<(), SendError> {
        let prefix = if PREFIX { prefix } else { &[] };
        let (len, total) = (from.len(), prefix.len() + from.len());
        let lines = if total <= FIRST_PAYLOAD { 1 } else { ring_slot::slots_of(total) };
        let rings = match self.peers.get_mut(to) {
            Some(rings) if rings.tx.has_space(lines, limit) => rings,
            _ => {
                self.refresh_credit(to, lines, limit)?;
                self.peers.get_mut(to).expect("there is space")
            }
        };
        let from = from.as_ptr();
        let front = len.min(FIRST_PAYLOAD - prefix.len());
        let mut packet = rings.tx.packet();
        // SAFETY: `from` has `len` bytes (its maker ensures it) of which `at` are copied; a body has BODY bytes and
        // the prefix and front fit behind its second word.
        unsafe {
            packet.put(ring_slot::inline_word(header, total), |body| {
                body.cast::<u64>().write(ring_slot::second_word(header));
                copy::short(body.add(FIRST_PAYLOAD_AT), prefix.as_ptr(), prefix.len());
                copy::short(body.add(FIRST_PAYLOAD_AT + prefix.len()), from, front);
            });
            let mut at = front;
            while len - at >= BODY {
                packet.put(0, |body| copy::exactly::<BODY>(body, from.add(at)));
                at += BODY;
            }
            if at < len {
                packet.put(0, |body| copy::short(body, from.add(at), len - at));
            }
        }
        packet.finish(&mut rings.tx);
        self.words.notify(rings);
        Ok(())
    }

    /// Checks that there is space for `slots` slots of payload, and reads the peer's credit if necessary.
    #[inline]
    fn find_slots(&mut self, to: Peer, slots: u32) -> Result<(), SendError> {
        if self.has_slots(to, slots, PAYLOAD_LIMIT) { Ok(()) } else { self.refresh_credit(to, slots, PAYLOAD_LIMIT) }
    }

    /// Reads the peer's credit again, and returns whether the peer has read enough meanwhile.
    #[cold]
    #[inline(never)]
    fn refresh_credit(&mut self, to: Peer, slots: u32, limit: u32) -> Result<(), SendError> {
        let rings = self.open(to).ok_or(SendError::PeerFailed)?;
        rings.tx.refresh();
        if rings.tx.has_space(slots, limit) { Ok(()) } else { Err(SendError::Full) }
    }

    /// Returns whether there are `count` chunks for a packet to `to`. If there are not, takes back returned chunks
    /// first.
    #[inline]
    fn find_chunks(&mut self, to: Peer, count: usize) -> bool {
        self.retained[to].has(count) || self.pool.may_take(to, count) || self.collect_chunks(to, count)
    }

    #[cold]
    #[inline(never)]
    fn collect_chunks(&mut self, to: Peer, count: usize) -> bool {
        // In a long stream packets come here again and again, and usually the receiver itself has returned chunks. So
        // try it first: then no list of all holders is made.
        if self.reclaim_for(to, count, to) {
            return true;
        }
        self.pool.holders().into_iter().any(|peer| self.reclaim_for(to, count, peer))
    }

    /// Takes back the chunks that `from` has returned. Returns whether `count` are then available for `to`.
    fn reclaim_for(&mut self, to: Peer, count: usize, from: Peer) -> bool {
        let words = self.rings_of(from).tx.memory();
        self.pool.reclaim(from, words);
        self.pool.may_take(to, count)
    }

    /// Returns the copy function that fills chunks for a packet of `len` bytes to the peer. Must be called before
    /// `find_chunks`, which loads the cache line whose load is timed here.
    ///
    /// The string instruction writes well into caches near and far. Without it, chunks are written past the caches if
    /// the peer is far and they last came back by their bits. Chunks that come back with a reply, to us or to the peer,
    /// are best written through the caches by registers, whether the peer is near or far.
    #[inline]
    fn copy_for(&mut self, to: Peer, len: usize, count: usize) -> CopyFn {
        if len < LONG {
            return copy::long;
        }
        let may_be_cached = self.retained[to].has(count) || self.pool.is_warm(count);
        if self.copies_by_string {
            return if may_be_cached && len < CACHED_STRING_FROM { copy::long } else { copy::by_string };
        }
        if may_be_cached {
            return copy::long;
        }
        let PeerRings { tx, distance, .. } = self.rings_of(to);
        if distance.is_due(DISTANCE_PERIOD) {
            distance.time(|| tx.refresh());
        }
        if distance.is_far() { copy::past_caches } else { copy::long }
    }

    /// Writes a packet with `len` bytes into chunks, filled front to back by `fill`, and its prefix into a slot. The
    /// chunks are those of the peer's pool that we retain, if there are enough, and otherwise chunks of our own pool.
    fn put_chunks(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        len: usize,
        fill: &mut dyn FnMut(SharedMem),
    ) -> Result<(), SendError> {
        let count = chunks_of(prefix.len() + len);
        let inline = len.saturating_sub(count * CHUNK);
        let (len, in_line) = (len - inline, prefix.len() + inline);
        let mut front = [0; PREFIX_MAX];
        front[..prefix.len()].copy_from_slice(prefix);
        if inline > 0 {
            fill(SharedMem::of_slice(&mut front[prefix.len()..in_line]));
        }
        let (owner, numbers) = match self.retained[to].take(count) {
            Some(retained) => (self.rings_of(to).local(), retained),
            None => (self.words.me, self.pool.take(to, count)),
        };
        let room = self.words.pool(owner);
        let mut first = 0;
        while first < count {
            let (number, next) = (usize::from(numbers[first]), first + pool::contiguous(&numbers, first, count));
            fill(room.slice(number * CHUNK, (next * CHUNK).min(len) - first * CHUNK));
            first = next;
        }
        let rings = self.peers.get_mut(to).expect("it has space");
        let mut packet = rings.tx.packet();
        packet.put(ring_slot::chunked_word(header, in_line, len, owner != self.words.me), |body| {
            // SAFETY: a body holds the second word, PREFIX_MAX bytes of prefix and the chunk numbers.
            unsafe {
                body.cast::<u64>().write(ring_slot::second_word(header));
                copy::exactly::<PREFIX_MAX>(body.add(FIRST_PAYLOAD_AT), front.as_ptr());
                body.add(CHUNKS_AT).cast::<[u8; CHUNKS]>().write(numbers);
            }
        });
        packet.finish(&mut rings.tx);
        self.words.notify(rings);
        Ok(())
    }

    /// Sends a packet in slots whose payload must be packed: packs it into private memory first.
    fn pack_inline(
        &mut self,
        to: Peer,
        header: &Header,
        prefix: &[u8],
        len: usize,
        pack: &mut dyn FnMut(SharedMem),
    ) -> Result<(), SendError> {
        self.find_slots(to, ring_slot::slots_of(prefix.len() + len))?; // before anything is packed
        let mut packed = std::mem::take(&mut self.scratch);
        packed.resize(INLINE_MAX, 0);
        pack(SharedMem::of_slice(&mut packed[..len]));
        let sent = self.put_inline::<true>(to, header, prefix, UserMem::of_slice(&mut packed[..len]), PAYLOAD_LIMIT);
        self.scratch = packed;
        sent
    }
}

impl DevicePort for ShmPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        let len = source.len();
        let total = prefix.len() + len;
        assert!(prefix.len() <= PREFIX_MAX && total <= CHUNKS * CHUNK + PREFIX_MAX, "a packet of {total} bytes");
        if let PayloadSource::None = source {
            return self.put_inline::<true>(to, &header, prefix, UserMem::EMPTY, CONTROL_LIMIT);
        }
        if total > SHORT {
            self.find_slots(to, 1)?;
            let count = chunks_of(total);
            let copy = self.copy_for(to, len, count);
            if self.find_chunks(to, count) {
                return match source {
                    PayloadSource::Mem(mem) => {
                        let mut at = 0;
                        self.put_chunks(to, &header, prefix, len, &mut |piece| {
                            // SAFETY: `put_chunks` requests `len` bytes in all, which `mem` has; pools and user
                            // buffers do not overlap.
                            unsafe { copy(piece.as_ptr(), mem.as_ptr().add(at), piece.len()) };
                            at += piece.len();
                        })
                    }
                    PayloadSource::Pack { pack, .. } => self.put_chunks(to, &header, prefix, len, pack),
                    PayloadSource::None => unreachable!("handled above"),
                };
            }
        }
        if total > INLINE_MAX {
            return Err(SendError::Full);
        }
        match source {
            PayloadSource::Mem(mem) => self.put_inline::<true>(to, &header, prefix, mem, PAYLOAD_LIMIT),
            PayloadSource::Pack { len, pack } => self.pack_inline(to, &header, prefix, len, pack),
            PayloadSource::None => unreachable!("handled above"),
        }
    }

    #[inline]
    fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> Result<(), SendError> {
        debug_assert!(bytes.len() <= SHORT);
        self.put_inline::<false>(to, &header, &[], bytes, PAYLOAD_LIMIT)
    }

    /// Reserves by a check alone: no other thread uses this port's rings and pools, so that space that was found
    /// stays.
    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        if len <= SHORT {
            return self.find_slots(to, ring_slot::slots_of(len)).is_ok();
        }
        if self.peers[to].state == PeerRingState::Unused && self.open(to).is_none() {
            return false;
        }
        let chunks = self.find_chunks(to, chunks_of(len));
        if !chunks && len > INLINE_MAX {
            return false;
        }
        // A shorter payload may go in slots where this one would go in chunks.
        let lines = if chunks { ring_slot::slots_of(SHORT) } else { ring_slot::slots_of(len) };
        self.find_slots(to, lines).is_ok()
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        for place in 0..self.poll_set.len() {
            count += self.deliver_some(self.poll_set.peer(place), delivery);
        }
        count += self.serve_notified(delivery);
        if self.liveness.has_new_exits() {
            self.note_exits();
        }
        if !self.exited.is_empty() {
            count += self.drain_exited(delivery);
        }
        count
    }

    #[inline]
    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let is_used = match self.peers.get_mut(from) {
            Some(rings) if rings.rx.peek().is_some() => {
                if self.deliver_next(from, delivery) == Some(false) {
                    self.handle_notification(from);
                }
                return true;
            }
            Some(rings) => rings.state != PeerRingState::Unused,
            None => false,
        };
        (!is_used || self.liveness.has_new_exits() || !self.exited.is_empty()) && self.poll_unused(from, delivery)
    }

    fn write(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.registrations.write(self.owner(to)?, key, at, source).map(|()| Submitted::Done(0))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.registrations.read(self.owner(from)?, key, at, into).map(|()| Submitted::Done(0))
    }

    fn atomic(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        atomic: AtomicRequest,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.registrations.atomic(self.owner(to)?, key, at, atomic).map(Submitted::Done)
    }

    /// Returns at once, because every operation has ended in its call.
    fn flush(&mut self, _: Peer, _: CompletionToken) -> Result<Submitted, RemoteError> {
        fence(SeqCst);
        Ok(Submitted::Done(0))
    }
}
