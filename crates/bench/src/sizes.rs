//! Message sizes in the manner of NetPIPE: regular steps, each with a size a little below and a little above, which
//! reveal the costs of alignment and of the edges of protocols (NetPIPE's comparison, section 2: docs/heritage.md).
//!
//! Used by `command`, which knows the bounds, and `tune`.

/// The default distance of the sizes around a step from the step, in bytes; it is NetPIPE's default.
pub const PERTURBATION: u64 = 3;

/// Returns the sizes from `min` to `max` bytes, ascending: the bases, which are the powers of two and the middles
/// between them; the two bounds; and the sizes a perturbation below and above each base of more than four
/// perturbations (around smaller bases they would overlap).
pub fn sizes(min: u64, max: u64, perturbation: u64) -> Vec<u64> {
    let bases = (0..63).map(|power| 1_u64 << power).flat_map(|base| [base, base + base / 2]);
    let around = |base: u64| match perturbation > 0 && base > 4 * perturbation {
        true => vec![base - perturbation, base, base + perturbation],
        false => vec![base],
    };
    let mut sizes: Vec<u64> = bases.take_while(|&base| base <= max).flat_map(around).collect();
    sizes.retain(|size| (min..=max).contains(size));
    sizes.extend([min, max]);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_as_netpipes_do() {
        let first = [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61, 64];
        assert_eq!(sizes(1, 64, 3), first);
    }

    #[test]
    fn bounds_are_sizes_themselves_and_nothing_lies_beyond_them() {
        assert_eq!(sizes(100, 130, 3), [100, 125, 128, 130]);
        assert_eq!(sizes(7, 7, 3), [7]);
        assert_eq!(sizes(1, 1 << 20, 0).len(), 40);
    }

    #[test]
    fn without_a_perturbation_there_are_bases_alone() {
        assert_eq!(sizes(1, 16, 0), [1, 2, 3, 4, 6, 8, 12, 16]);
    }
}
