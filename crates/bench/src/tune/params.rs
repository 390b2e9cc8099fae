//! The parameters that are tuned, with the values that are tried and the messages by which they are compared.
//!
//! A new parameter is a row of the table. Used by `tune`; names parameters of `hawser-node`, `-dev-shm` and
//! `-transport`.

use crate::task::TrafficPattern;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// The search for the best value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchMethod {
    /// Measures each of these values over all sizes.
    Values(&'static [&'static str]),
    /// The parameter divides messages between two methods: with the value `all_short` all messages use the method of
    /// short messages, with `all_long` all use that of long messages. The best value is where the times of both
    /// methods cross.
    Crossover { all_short: &'static str, all_long: &'static str, side: ThresholdSide },
}

/// The side of a threshold to which its own value belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdSide {
    /// The value is the longest short message.
    LongestShort,
    /// The value is the shortest long message.
    ShortestLong,
}

/// The test beds on which a parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EffectiveOn {
    Memory,
    Network,
    Both,
}

/// A parameter to tune.
#[derive(Clone, Copy, Debug)]
pub struct TunedParam {
    pub name: &'static str,
    pub search: SearchMethod,
    pub patterns: &'static [TrafficPattern],
    /// The shortest and the longest message, in bytes, for which the parameter matters.
    pub sizes: (u64, u64),
    pub effective_on: EffectiveOn,
}

const ONE_WAY_AND_BACK: &[TrafficPattern] = &[TrafficPattern::PingPong, TrafficPattern::Stream];

/// The parameters in the order in which they are tuned: the copy methods come before the limits that depend on them,
/// and waiting comes last.
pub static TUNED_PARAMS: &[TunedParam] = &[
    TunedParam {
        name: "HAWSER_PIECE",
        search: SearchMethod::Values(&["2k", "4k", "8k", "16k", "32k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (24 * K, 4 * M),
        effective_on: EffectiveOn::Memory,
    },
    TunedParam {
        name: "HAWSER_STRING_COPIES",
        search: SearchMethod::Values(&["on", "off"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (24 * K, 4 * M),
        effective_on: EffectiveOn::Memory,
    },
    TunedParam {
        name: "HAWSER_PROCESS_VM_FROM",
        search: SearchMethod::Crossover { all_short: "1024g", all_long: "8k", side: ThresholdSide::ShortestLong },
        patterns: ONE_WAY_AND_BACK,
        sizes: (32 * K, 4 * M),
        effective_on: EffectiveOn::Memory,
    },
    TunedParam {
        name: "HAWSER_PACKET",
        search: SearchMethod::Values(&["4k", "8k", "24k", "32k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (3 * K, 48 * K),
        effective_on: EffectiveOn::Both,
    },
    TunedParam {
        name: "HAWSER_FIRST",
        search: SearchMethod::Values(&["2k", "4k", "12k", "16k"]),
        patterns: ONE_WAY_AND_BACK,
        sizes: (24 * K, 512 * K),
        effective_on: EffectiveOn::Memory,
    },
    TunedParam {
        name: "HAWSER_EAGER",
        search: SearchMethod::Crossover { all_short: "1m", all_long: "0", side: ThresholdSide::LongestShort },
        patterns: ONE_WAY_AND_BACK,
        sizes: (16 * K, M),
        effective_on: EffectiveOn::Both,
    },
    TunedParam {
        name: "HAWSER_WINDOW",
        search: SearchMethod::Values(&["256k", "4m", "16m"]),
        patterns: &[TrafficPattern::Stream],
        sizes: (4 * K, 256 * K),
        effective_on: EffectiveOn::Both,
    },
    TunedParam {
        name: "HAWSER_JOIN",
        search: SearchMethod::Values(&["0", "8k", "256k"]),
        patterns: &[TrafficPattern::Stream],
        sizes: (64, 256 * K),
        effective_on: EffectiveOn::Network,
    },
    TunedParam {
        name: "HAWSER_SPIN",
        search: SearchMethod::Values(&["100", "300", "3000", "10000"]),
        patterns: &[TrafficPattern::PingPong, TrafficPattern::Allreduce],
        sizes: (8, M),
        effective_on: EffectiveOn::Both,
    },
    TunedParam {
        name: "HAWSER_YIELD",
        search: SearchMethod::Values(&["0", "16", "4096"]),
        patterns: &[TrafficPattern::PingPong, TrafficPattern::Allreduce],
        sizes: (8, M),
        effective_on: EffectiveOn::Both,
    },
];

impl TunedParam {
    /// Tells whether the parameter has an effect in one host's memory, or else between hosts.
    pub fn matters(&self, is_one_host: bool) -> bool {
        self.effective_on != if is_one_host { EffectiveOn::Network } else { EffectiveOn::Memory }
    }

    /// The sizes that are measured: powers of two and the middles between them, or, over a wide range in which
    /// little differs, a few of them.
    pub fn sizes(&self) -> Vec<u64> {
        let (min, max) = self.sizes;
        let sizes = crate::sizes::sizes(min, max, 0);
        if max / min > 1 << 12 { sizes.into_iter().step_by(6).collect() } else { sizes }
    }

    /// The values that are measured beside the default.
    pub fn candidates(&self) -> Vec<&'static str> {
        match self.search {
            SearchMethod::Values(values) => values.to_vec(),
            SearchMethod::Crossover { all_short, all_long, .. } => vec![all_short, all_long],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_a_parameter_of_ranks_that_takes_its_values() {
        let known = hawser_node::params();
        for tuned in TUNED_PARAMS {
            let param = known.iter().find(|param| param.name == tuned.name).expect(tuned.name);
            tuned.candidates().into_iter().for_each(|value| param.accepts(value).unwrap());
            assert!(tuned.sizes().len() >= 3, "{}", tuned.name);
        }
    }
}
