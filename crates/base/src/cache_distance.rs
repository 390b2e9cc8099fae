//! The distance to a peer's cache, as measured. Its users decide by it whether long packets are written through our
//! caches or past them (where they are not written by the string instruction), and where the root of a reduction
//! computes the result.
//!
//! Two cores that share a last-level cache (near) pass on the data of ordinary stores at memcpy's speed. Streaming
//! stores bypass the caches. Between cores that share no cache (far: other core complexes, other sockets) they measured
//! twice as fast as ordinary stores, and between near cores half as fast. A host may move virtual cores at any moment,
//! so the topology is not consulted: the rank that decides times the load of a cache line that the peer writes and that
//! the rank has to read anyway. Used by `dev-shm` and `mpi`.

/// Thresholds between near and far, in ticks of the time-stamp counter, with a gap so that noise does not flip the
/// choice. Measured in the middle of a stream at 2.45 GHz, the timing included: near 120 to 170, far 340 to 450.
const NEAR_BELOW: u16 = 250;
const FAR_ABOVE: u16 = 310;

/// The measured distance of one peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheDistance {
    /// Moving average of the measured loads, in ticks.
    ticks: u16,
    uses_since: u8,
    far: bool,
}

impl CacheDistance {
    /// Makes the distance of a peer that counts as far until some loads have shown otherwise, for tests.
    pub fn far() -> CacheDistance {
        CacheDistance { ticks: 8 * FAR_ABOVE, uses_since: 0, far: true }
    }

    /// Counts a use of the distance. Returns whether it is time to measure again, which is so at each `period`th use:
    /// a measurement costs a load of a cache line that the peer writes, which is slow if the peer is far.
    #[inline]
    pub fn is_due(&mut self, period: u8) -> bool {
        self.uses_since = (self.uses_since + 1) % period;
        self.uses_since == 0 && cfg!(target_arch = "x86_64")
    }

    /// Times `load`, a load of a word that the peer writes. The time counts only if the word had changed: otherwise
    /// the cache line was still in our own cache.
    pub fn time(&mut self, load: impl FnOnce() -> bool) {
        let before = ticks();
        let changed = load();
        let passed = ticks().wrapping_sub(before);
        if changed {
            self.record(passed);
        }
    }

    fn record(&mut self, passed: u64) {
        // Clamp the time, so that an interrupt during the load counts as one very far load and no more.
        let passed = passed.min(8 * u64::from(FAR_ABOVE)) as u16;
        self.ticks = if self.ticks == 0 { passed } else { (7 * self.ticks + passed) / 8 };
        self.far = if self.far { self.ticks >= NEAR_BELOW } else { self.ticks > FAR_ABOVE };
    }

    /// Returns whether the peer is far.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.far
    }
}

const _: () = assert!(7 * 8 * FAR_ABOVE as u32 + 8 * FAR_ABOVE as u32 <= u16::MAX as u32);

/// Reads the time-stamp counter, not reordered with earlier or later loads.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_follows_the_distance_and_not_the_noise() {
        let mut distance = CacheDistance::default();
        (0..100).for_each(|i| distance.record(if i % 20 == 10 { 450 } else { 150 }));
        assert!(!distance.is_far());
        (0..20).for_each(|_| distance.record(360));
        assert!(distance.is_far());
        // One in eight of far lines has arrived before the load.
        (0..100).for_each(|i| distance.record(if i % 8 == 0 { 60 } else { 360 }));
        assert!(distance.is_far());
        (0..20).for_each(|_| distance.record(150));
        assert!(!distance.is_far());
        distance.record(u64::MAX);
        assert!(distance.ticks < 8 * FAR_ABOVE);
    }
}
