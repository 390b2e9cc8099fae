//! The memory of MPI_Alloc_mem (MPI-5.0 §9.2). It lies in the rank's arena in the job's segment, which peers on this
//! host can map, so that a transfer from it is one plain copy.
//!
//! A piece is what one call of MPI_Alloc_mem gets. A long piece has a span of the arena for itself; short pieces
//! share a slab, which is a span of SLAB bytes. Every span is announced to the devices as long as it is mapped. Used
//! by `alloc` and `process`; uses `job::arena`, and the devices through `transport::Fabric`.

use hawser_base::{Class, Error, Region, Result};
use hawser_job::Segment;
use hawser_job::arena::{Arena, Span};
use hawser_os::map::{self, PAGE};
use hawser_transport::Fabric;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// The alignment of every piece in bytes: a cache line, and no less than any datatype requires.
pub const ALIGN: usize = 64;
/// The length of a slab, in bytes. Only its touched pages take memory, so its length costs only addresses.
const SLAB: usize = 256 << 10;
/// The largest length of a short piece, in bytes: at least eight pieces fit into a slab.
const SHORT: usize = SLAB / 8;

// Spans of the arena begin at a page.
const _: () = assert!(SLAB.is_multiple_of(PAGE) && SHORT.is_multiple_of(ALIGN) && PAGE.is_multiple_of(ALIGN));

/// All memory that MPI_Alloc_mem gave out in this process.
pub struct SharedAllocator {
    arena: Arena,
    fabric: &'static Fabric,
    allocations: Mutex<Allocations>,
}

#[derive(Default)]
struct Allocations {
    /// The spans of long pieces, by the address that was given out.
    long: BTreeMap<usize, MappedSpan>,
    /// The slabs by the address of their first byte.
    slabs: BTreeMap<usize, Slab>,
}

/// A mapped span of the arena. If the arena is short or empty and has no space left, `span` is None, and `region` is
/// private memory that no peer can map.
struct MappedSpan {
    span: Option<Span>,
    region: Region,
}

struct Slab {
    mapped: MappedSpan,
    /// The pieces in use: offset to length, in bytes.
    used: BTreeMap<usize, usize>,
}

impl SharedAllocator {
    /// Makes the allocator of local rank `local`, once, in that rank's process.
    pub fn new(segment: &Segment, local: usize, fabric: &'static Fabric) -> SharedAllocator {
        SharedAllocator { arena: Arena::new(segment, local), fabric, allocations: Mutex::default() }
    }

    fn lock_allocations(&self) -> MutexGuard<'_, Allocations> {
        self.allocations.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn alloc(&self, size: usize, align: usize) -> Result<*mut u8> {
        if size <= SHORT && align <= PAGE {
            self.alloc_short(size, align.max(ALIGN))
        } else {
            self.alloc_long(size, align)
        }
    }

    fn alloc_short(&self, size: usize, align: usize) -> Result<*mut u8> {
        let len = size.max(1).next_multiple_of(ALIGN);
        let mut allocations = self.lock_allocations();
        if let Some(at) = allocations.slabs.values_mut().find_map(|slab| slab.take(len, align)) {
            return Ok(at);
        }
        let mut slab = Slab { mapped: self.map(SLAB)?, used: BTreeMap::new() };
        let at = slab.take(len, align).expect("a short piece fits into an empty slab");
        allocations.slabs.insert(slab.mapped.region.as_ptr().addr(), slab);
        Ok(at)
    }

    fn alloc_long(&self, size: usize, align: usize) -> Result<*mut u8> {
        // Spans begin at a page. For a wider alignment the span is longer, and the piece begins inside of it.
        let mapped_bytes = size.max(1).saturating_add(align.saturating_sub(PAGE));
        let mapped = self.map(mapped_bytes)?;
        let base = mapped.region.as_ptr();
        let at = base.wrapping_add(base.addr().next_multiple_of(align) - base.addr());
        self.lock_allocations().long.insert(at.addr(), mapped);
        Ok(at)
    }

    pub fn free(&self, base: *mut u8) -> Result<()> {
        let mut allocations = self.lock_allocations();
        let mapped = match allocations.long.remove(&base.addr()) {
            Some(mapped) => mapped,
            None => match allocations.free_short(base.addr()).ok_or_else(|| not_allocated(base))? {
                Some(slab) => slab.mapped,
                None => return Ok(()),
            },
        };
        drop(allocations);
        self.unmap(mapped)
    }

    fn map(&self, len: usize) -> Result<MappedSpan> {
        match self.arena.allocate(len) {
            Ok((span, region)) => {
                self.fabric.share(span.offset, &region);
                Ok(MappedSpan { span: Some(span), region })
            }
            Err(_) if self.arena.is_short() => {
                let region = map::private(len).map_err(|error| Error::new(Class::NoMem, error.to_string()))?;
                Ok(MappedSpan { span: None, region })
            }
            Err(error) => Err(error),
        }
    }

    fn unmap(&self, mapped: MappedSpan) -> Result<()> {
        let Some(span) = mapped.span else { return Ok(()) };
        self.fabric.unshare(&mapped.region);
        drop(mapped.region);
        self.arena.free(span)
    }
}

impl Allocations {
    /// Frees a short piece. None: there is no such piece. `Some(Some(slab))`: the slab is empty and not needed any
    /// more, so the caller unmaps it.
    fn free_short(&mut self, addr: usize) -> Option<Option<Slab>> {
        let (&start, slab) = self.slabs.range_mut(..=addr).next_back()?;
        slab.used.remove(&(addr - start))?;
        // One empty slab is kept for the next short piece.
        let is_spare = slab.used.is_empty() && self.slabs.len() > 1;
        Some(if is_spare { self.slabs.remove(&start) } else { None })
    }
}

impl Slab {
    /// Takes the first gap that holds an aligned piece of `len` bytes; returns the address of the piece. None: there
    /// is no such gap.
    fn take(&mut self, len: usize, align: usize) -> Option<*mut u8> {
        let mut gap = 0;
        for (&at, &used) in &self.used {
            if gap + len <= at {
                break;
            }
            gap = (at + used).next_multiple_of(align);
        }
        if gap + len > SLAB {
            return None;
        }
        self.used.insert(gap, len);
        Some(self.mapped.region.bytes(gap, len).as_ptr())
    }
}

#[cold]
fn not_allocated(base: *mut u8) -> Error {
    Error::new(Class::Base, format!("{base:?} was not returned by MPI_Alloc_mem, or was freed before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::{Lane, Peer, Peers};
    use hawser_device::{Device, DeviceLimits, DevicePort, Loopback};
    use hawser_job::SegmentSpec;
    use std::sync::{Arc, Mutex as Lock};

    /// The shared memory that a device knows of: address to (offset in the arena, length).
    type Known = Arc<Lock<BTreeMap<usize, (u64, usize)>>>;

    /// A device that records the memory that it gets to know.
    struct Noting(Loopback, Known);

    impl Device for Noting {
        fn name(&self) -> &'static str {
            "noting"
        }
        fn reaches(&self, peer: Peer) -> bool {
            self.0.reaches(peer)
        }
        fn limits(&self) -> DeviceLimits {
            self.0.limits()
        }
        fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
            self.0.port(lane)
        }
        fn share(&self, at: u64, memory: &Region) {
            self.1.lock().unwrap().insert(memory.as_ptr().addr(), (at, memory.len()));
        }
        fn unshare(&self, memory: &Region) {
            assert!(self.1.lock().unwrap().remove(&memory.as_ptr().addr()).is_some());
        }
    }

    struct Bench {
        segment: Segment,
        memory: SharedAllocator,
        known: Known,
    }

    fn bench() -> Bench {
        let (segment, known) = (Segment::create(&SegmentSpec::alone("host", "job")).unwrap(), Known::default());
        let device = Noting(Loopback::new(Peer(0)), known.clone());
        let fabric =
            Box::leak(Box::new(Fabric::new(vec![Box::new(device)], &Peers::from_list(vec![Peer(0)])).unwrap()));
        Bench { memory: SharedAllocator::new(&segment, 0, fabric), segment, known }
    }

    impl Bench {
        /// Writes through the address that was given out and reads where a peer would map it.
        fn check_shared(&self, at: *mut u8, len: usize) {
            let known = self.known.lock().unwrap();
            let (&start, &(offset, mapped_bytes)) = known.range(..=at.addr()).next_back().expect("not shared");
            assert!(at.addr() - start + len <= mapped_bytes);
            let allocations = self.memory.lock_allocations();
            let mut regions = allocations.long.values().chain(allocations.slabs.values().map(|slab| &slab.mapped));
            let region = &regions.find(|mapped| mapped.region.as_ptr().addr() == start).unwrap().region;
            region.bytes(at.addr() - start, 1).write(b"!");
            let theirs = self.segment.map_span(Span { local: 0, offset, len: mapped_bytes as u64 }).unwrap();
            let mut seen = [0];
            theirs.bytes(at.addr() - start, 1).read(&mut seen);
            assert_eq!(&seen, b"!");
        }
    }

    #[test]
    fn pieces_of_every_length_are_shared_aligned_and_apart() {
        let bench = bench();
        let sizes = [0, 1, 63, 64, 65, 4096, SHORT, SHORT + 1, SLAB, 5 << 20];
        let allocations: Vec<_> = sizes.iter().map(|&size| (bench.memory.alloc(size, ALIGN).unwrap(), size)).collect();
        for (i, &(at, size)) in allocations.iter().enumerate() {
            assert!(at.addr().is_multiple_of(ALIGN));
            bench.check_shared(at, size);
            let apart = |&(other, len): &(*mut u8, usize)| {
                other.addr() >= at.addr() + size.max(1) || at.addr() >= other.addr() + len.max(1)
            };
            assert!(allocations.iter().enumerate().all(|(j, piece)| i == j || apart(piece)), "piece {i} overlaps");
        }
        allocations.iter().for_each(|&(at, _)| bench.memory.free(at).unwrap());
        assert_eq!(bench.known.lock().unwrap().len(), 1, "one empty slab stays");
    }

    #[test]
    fn wide_alignments_are_kept_for_short_and_long() {
        let bench = bench();
        bench.memory.alloc(1, ALIGN).unwrap();
        for align in [1, 128, 4096, 8192, 2 << 20] {
            for size in [0, 100, SHORT, SHORT + 1, 1 << 20] {
                let at = bench.memory.alloc(size, align).unwrap();
                assert!(at.addr().is_multiple_of(align.max(ALIGN)), "{size} bytes at {align}");
                bench.check_shared(at, size);
                bench.memory.free(at).unwrap();
            }
        }
    }

    #[test]
    fn freed_room_is_used_again_and_empty_slabs_go() {
        let bench = bench();
        let first = bench.memory.alloc(100, ALIGN).unwrap();
        let second = bench.memory.alloc(100, ALIGN).unwrap();
        bench.memory.free(first).unwrap();
        assert_eq!(bench.memory.alloc(120, ALIGN).unwrap(), first);
        assert_ne!(bench.memory.alloc(1, ALIGN).unwrap(), second);
        let many: Vec<_> = (0..3 * SLAB / SHORT).map(|_| bench.memory.alloc(SHORT, ALIGN).unwrap()).collect();
        assert!(bench.known.lock().unwrap().len() > 3);
        many.into_iter().for_each(|at| bench.memory.free(at).unwrap());
        assert_eq!(bench.known.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_was_not_given_out_or_was_freed_is_refused() {
        let bench = bench();
        let (short, long) = (bench.memory.alloc(100, ALIGN).unwrap(), bench.memory.alloc(SLAB, ALIGN).unwrap());
        let mut mine = 0;
        let foreign = [std::ptr::null_mut(), &raw mut mine, short.wrapping_add(64), long.wrapping_add(4096)];
        foreign.iter().for_each(|&at| assert_eq!(bench.memory.free(at).unwrap_err().class(), Class::Base));
        for at in [short, long] {
            bench.memory.free(at).unwrap();
            assert_eq!(bench.memory.free(at).unwrap_err().class(), Class::Base);
        }
    }

    #[test]
    fn too_much_is_no_mem_and_leaves_nothing() {
        let bench = bench();
        for (size, align) in [(usize::MAX, ALIGN), (usize::MAX, 1 << 40), (65 << 30, ALIGN), (1, 1 << 62)] {
            assert_eq!(bench.memory.alloc(size, align).unwrap_err().class(), Class::NoMem);
        }
        assert!(bench.known.lock().unwrap().is_empty());
    }
}
