//! The programs of the NAS Parallel Benchmarks and their classes, and what the paper of MPI/MBCF reports of them.
//!
//! Used by all of `npb`.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A program of NPB-MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NpbProgram {
    /// Random numbers; no messages but sums at the end
    Ep,
    /// Multigrid solver: faces of a cube, short and long
    Mg,
    /// Conjugate gradients: messages of some KiB, and sums
    Cg,
    /// Fourier transforms: all-to-all of long messages
    Ft,
    /// Integer sort (C): all-to-all of long messages
    Is,
    /// Solver by sweeps: very many short messages
    Lu,
    /// Solver by lines, pentadiagonal: messages of some ten KiB
    Sp,
    /// Solver by lines, block tridiagonal: messages of some ten KiB
    Bt,
}

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[value(rename_all = "verbatim")]
pub enum ProblemClass {
    S,
    W,
    A,
    B,
    C,
}

/// A row of table 4.3: class W with 8 processes, 9 of SP and BT, on a network of 100 Mbit/s.
pub struct PaperRow {
    pub mbyte_s: f64,
    pub messages_s: f64,
    /// The share of the bytes that its write protocol carried, in per cent.
    pub availability: f64,
}

impl NpbProgram {
    /// The name, as `make` and the tables have it.
    pub fn name(self) -> &'static str {
        match self {
            NpbProgram::Ep => "ep",
            NpbProgram::Mg => "mg",
            NpbProgram::Cg => "cg",
            NpbProgram::Ft => "ft",
            NpbProgram::Is => "is",
            NpbProgram::Lu => "lu",
            NpbProgram::Sp => "sp",
            NpbProgram::Bt => "bt",
        }
    }

    /// Whether all ranks of a job of this size take part: squares for SP and BT, powers of two for the others.
    pub fn takes(self, ranks: u32) -> bool {
        match self {
            NpbProgram::Sp | NpbProgram::Bt => ranks.isqrt().pow(2) == ranks,
            _ => ranks.is_power_of_two(),
        }
    }

    /// The paper's row; FT was not measured there.
    pub fn paper(self) -> Option<PaperRow> {
        let row = |mbyte_s, messages_s, availability| Some(PaperRow { mbyte_s, messages_s, availability });
        match self {
            NpbProgram::Ep => row(0.00, 4.0, 51.10),
            NpbProgram::Mg => row(9.68, 4670.0, 0.01),
            NpbProgram::Cg => row(12.69, 2138.0, 53.33),
            NpbProgram::Ft => None,
            NpbProgram::Is => row(13.58, 466.0, 99.22),
            NpbProgram::Lu => row(1.89, 1199.0, 13.37),
            NpbProgram::Sp => row(7.83, 421.0, 49.01),
            NpbProgram::Bt => row(5.32, 488.0, 47.24),
        }
    }
}

impl ProblemClass {
    /// The letter.
    pub fn name(self) -> &'static str {
        match self {
            ProblemClass::S => "S",
            ProblemClass::W => "W",
            ProblemClass::A => "A",
            ProblemClass::B => "B",
            ProblemClass::C => "C",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_takes_the_sizes_of_which_all_ranks_take_part() {
        let sizes = |program: NpbProgram| (1..=16).filter(|&ranks| program.takes(ranks)).collect::<Vec<u32>>();
        assert_eq!(sizes(NpbProgram::Sp), [1, 4, 9, 16]);
        assert_eq!(sizes(NpbProgram::Is), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn names_are_those_of_the_options() {
        for program in NpbProgram::value_variants() {
            assert_eq!(program.to_possible_value().unwrap().get_name(), program.name());
        }
        for class in ProblemClass::value_variants() {
            assert_eq!(class.to_possible_value().unwrap().get_name(), class.name());
        }
    }
}
