//! The parameters that are tuned, with the values that are tried and the messages by which they are compared.
//!
//! A new one is a row. Used by `tune`; names parameters of `hawser-node`, `-dev-shm` and `-transport`.

use crate::task::Pattern;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// The search for the best value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    /// Measures each of these values over all sizes.
    Values(&'static [&'static str]),
    /// The parameter divides messages between two methods: at `all_short` all use that of short ones, at `all_long`
    /// that of long ones. The best value is where the times of both methods cross.
    Crossing { all_short: &'static str, all_long: &'static str, bound: Bound },
}

/// The side of a threshold to which its own value belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It is the longest short message.
    LongestShort,
    /// It is the shortest long one.
    ShortestLong,
}

/// A parameter to tune.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    pub name: &'static str,
    pub search: Search,
    pub patterns: &'static [Pattern],
    /// The shortest and the longest message, in bytes, for which it matters.
    pub sizes: (u64, u64),
}

const ONE_WAY_AND_BACK: &[Pattern] = &[Pattern::PingPong, Pattern::Stream];

/// The parameters in the order in which they are tuned: the copy methods before the limits that depend on them, waiting
/// last.
pub static KNOBS: &[Knob] = &[
    Knob {
        name: "HAWSER_PIECE",
        search: Search::Values(&["2k", "4k", "8k", "16k", "32k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (24 * K, 4 * M),
    },
    Knob {
        name: "HAWSER_PROCESS_VM_FROM",
        search: Search::Crossing { all_short: "1024g", all_long: "8k", bound: Bound::ShortestLong },
        patterns: ONE_WAY_AND_BACK,
        sizes: (32 * K, 4 * M),
    },
    Knob {
        name: "HAWSER_PACKET",
        search: Search::Values(&["4k", "8k", "24k", "32k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (3 * K, 48 * K),
    },
    Knob {
        name: "HAWSER_FIRST",
        search: Search::Values(&["2k", "4k", "12k", "16k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (24 * K, 512 * K),
    },
    Knob {
        name: "HAWSER_EAGER",
        search: Search::Crossing { all_short: "1m", all_long: "0", bound: Bound::LongestShort },
        patterns: ONE_WAY_AND_BACK,
        sizes: (16 * K, M),
    },
    Knob {
        name: "HAWSER_WINDOW",
        search: Search::Values(&["256k", "4m", "16m"]),
        patterns: &[Pattern::Stream],
        sizes: (4 * K, 256 * K),
    },
    Knob {
        name: "HAWSER_SPIN",
        search: Search::Values(&["100", "300", "3000", "10000"]),
        patterns: &[Pattern::PingPong, Pattern::Allreduce],
        sizes: (8, M),
    },
    Knob {
        name: "HAWSER_YIELD",
        search: Search::Values(&["0", "16", "4096"]),
        patterns: &[Pattern::PingPong, Pattern::Allreduce],
        sizes: (8, M),
    },
];

impl Knob {
    /// The sizes that are played: powers of two and the middles between them, or, over a wide range in which little
    /// differs, a few of them.
    pub fn sizes(&self) -> Vec<u64> {
        let (min, max) = self.sizes;
        let sizes = crate::sizes::sizes(min, max, 0);
        if max / min > 1 << 12 { sizes.into_iter().step_by(6).collect() } else { sizes }
    }

    /// The values that are measured beside the default.
    pub fn candidates(&self) -> Vec<&'static str> {
        match self.search {
            Search::Values(values) => values.to_vec(),
            Search::Crossing { all_short, all_long, .. } => vec![all_short, all_long],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_a_parameter_of_ranks_that_takes_its_values() {
        let known = hawser_node::params();
        for knob in KNOBS {
            let param = known.iter().find(|param| param.name == knob.name).expect(knob.name);
            knob.candidates().into_iter().for_each(|value| param.accepts(value).unwrap());
            assert!(knob.sizes().len() >= 3, "{}", knob.name);
        }
    }
}
