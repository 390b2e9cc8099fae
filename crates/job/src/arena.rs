//! A rank's arena: shared memory for MPI_Alloc_mem and windows, in spans of whole pages.
//!
//! Only the rank that owns an arena allocates and frees; any process of the host maps a span by (local rank, offset,
//! length). Freed pages are returned to the system at once. The bookkeeping is the owner's private memory: no lock is
//! shared.

use crate::layout::ARENA_BYTES;
use crate::segment::Segment;
use hawser_base::{Class, Error, Region, Result};
use hawser_os::map::PAGE;
use hawser_os::memfd;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A span: a piece of a rank's arena, in the form in which messages carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The arena's owner, by its local index.
    pub local: u32,
    pub offset: u64,
    pub len: u64,
}

/// The arena that this rank owns.
pub struct Arena {
    segment: Segment,
    local: usize,
    /// The free ranges: the length of each by its offset. Adjacent ranges are joined.
    free: Mutex<BTreeMap<u64, u64>>,
}

impl Arena {
    /// Makes the arena of local rank `local`. Make only one, in the process that is that rank.
    pub fn new(segment: &Segment, local: usize) -> Arena {
        Arena { segment: segment.clone(), local, free: Mutex::new(BTreeMap::from([(0, segment.layout().arena)])) }
    }

    /// Allocates at least `len` bytes of zeroes, aligned to a page, and maps them here. Pages take memory only after
    /// they are touched.
    pub fn allocate(&self, len: usize) -> Result<(Span, Region)> {
        let rounded_len = (len.max(1) as u64).checked_next_multiple_of(PAGE as u64).unwrap_or(u64::MAX);
        let offset = self.take(rounded_len).ok_or_else(|| {
            Error::new(
                Class::NoMem,
                format!(
                    "{len} bytes do not fit into this rank's {} MiB of shared memory",
                    self.segment.layout().arena >> 20
                ),
            )
        })?;
        let span = Span { local: self.local as u32, offset, len: rounded_len };
        match self.segment.map_span(span) {
            Ok(region) => Ok((span, region)),
            Err(error) => {
                self.give(offset, rounded_len);
                Err(error)
            }
        }
    }

    /// Returns whether the arena is smaller than ARENA_BYTES, because of the limit on file sizes.
    pub fn is_short(&self) -> bool {
        self.segment.layout().arena < ARENA_BYTES
    }

    /// Frees a span of this arena. Other processes may still have it mapped; they then read zeroes. If the program
    /// has closed the segment's descriptor, the pages stay until the job ends and are not allocated again, because
    /// they would not be zeroes.
    pub fn free(&self, span: Span) -> Result<()> {
        assert_eq!(span.local as usize, self.local, "a span of another rank's arena");
        let at = self.segment.layout().arena(self.local) + span.offset;
        let Ok(fd) = self.segment.live_fd() else { return Ok(()) };
        memfd::punch_hole(fd, at, span.len).map_err(|e| Error::new(Class::Other, e.to_string()))?;
        self.give(span.offset, span.len);
        Ok(())
    }

    fn take(&self, len: u64) -> Option<u64> {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (offset, range_len) = free.iter().map(|(&o, &r)| (o, r)).find(|&(_, room)| room >= len)?;
        free.remove(&offset);
        if range_len > len {
            free.insert(offset + len, range_len - len);
        }
        Some(offset)
    }

    fn give(&self, mut offset: u64, mut len: u64) {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(after) = free.remove(&(offset + len)) {
            len += after;
        }
        if let Some((&before, &range_len)) = free.range(..offset).next_back()
            && before + range_len == offset
        {
            (offset, len) = (before, range_len + len);
        }
        free.insert(offset, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SegmentSpec;

    #[test]
    fn a_span_is_seen_by_others_and_its_room_comes_back() {
        let segment = Segment::create(&SegmentSpec::alone("host", "job")).unwrap();
        let arena = Arena::new(&segment, 0);
        let (first, mine) = arena.allocate(5000).unwrap();
        let (second, _) = arena.allocate(1).unwrap();
        assert_eq!((first.len, second.offset, second.len), (8192, 8192, 4096));
        mine.bytes(4999, 1).write(b"!");
        let theirs = segment.map_span(first).unwrap();
        let mut out = [0];
        theirs.bytes(4999, 1).read(&mut out);
        assert_eq!(&out, b"!");
        arena.free(first).unwrap();
        theirs.bytes(4999, 1).read(&mut out);
        assert_eq!(out, [0]);
        arena.free(second).unwrap();
        assert_eq!(arena.free.lock().unwrap().len(), 1);
    }

    #[test]
    fn too_much_is_an_error_that_leaves_the_arena_whole() {
        let segment = Segment::create(&SegmentSpec::alone("host", "job")).unwrap();
        let arena = Arena::new(&segment, 0);
        assert_eq!(arena.allocate(usize::MAX - 5).err().unwrap().class(), Class::NoMem);
        assert_eq!(arena.allocate(65 << 30).err().unwrap().class(), Class::NoMem);
        assert_eq!(*arena.free.lock().unwrap(), BTreeMap::from([(0, ARENA_BYTES)]));
    }

    #[test]
    fn a_span_outside_the_arenas_is_refused() {
        let segment = Segment::create(&SegmentSpec::alone("host", "job")).unwrap();
        for span in [
            Span { local: 1, offset: 0, len: 4096 },
            Span { local: 0, offset: ARENA_BYTES, len: 4096 },
            Span { local: 0, offset: 100, len: 4096 },
            Span { local: 0, offset: 4096, len: u64::MAX },
        ] {
            assert!(segment.map_span(span).is_err(), "{span:?}");
        }
    }
}
