//! The results of `hawser-bench npb` as they are stored, and the medians that its tables show.
//!
//! Used by `series`, which makes the record, and `tables`.

use super::program::{NpbProgram, ProblemClass};
use crate::record::MachineInfo;
use crate::sample::median;
use hawser_node::CountedBytes;
use serde::Serialize;

/// The number of the file format.
pub const FORMAT: u32 = 1;

/// All jobs of a command; if it was cut off, those until then.
#[derive(Clone, Debug, Serialize)]
pub struct NpbRecord {
    pub format: u32,
    /// The command, as one would type it again.
    pub command: String,
    /// The time at which it began, RFC 3339, UTC.
    pub date: String,
    pub machine: MachineInfo,
    /// False if a job failed, or its result was wrong, or is missing.
    pub complete: bool,
    pub notes: Vec<String>,
    /// The libraries, in the order in which they were named; the first of Hawser is compared with the others.
    pub libraries: Vec<LibraryRecord>,
    pub jobs: Vec<JobRecord>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LibraryRecord {
    pub name: String,
    pub is_hawser: bool,
}

/// A job whose result was right.
#[derive(Clone, Debug, Serialize)]
pub struct JobRecord {
    pub library: String,
    pub program: NpbProgram,
    pub class: ProblemClass,
    pub ranks: u32,
    /// The time of the program's measured part, in seconds, in hundredths, as it printed it.
    pub seconds: f64,
    /// Millions of operations per second.
    pub mop_s: f64,
    /// The time of the whole job, in seconds.
    pub elapsed_s: f64,
    /// The counters of all ranks over the whole job; empty for another library than Hawser.
    pub counters: Vec<(String, u64)>,
}

impl NpbRecord {
    /// Returns the rounds of a library for a program on so many ranks.
    fn rounds<'a>(
        &'a self,
        library: &'a str,
        (program, class, ranks): (NpbProgram, ProblemClass, u32),
    ) -> impl Iterator<Item = &'a JobRecord> {
        self.jobs
            .iter()
            .filter(move |job| job.library == library && (job.program, job.class, job.ranks) == (program, class, ranks))
    }

    /// The median of a library's rates for a program, in millions of operations per second.
    pub fn mop_s(&self, library: &str, of: (NpbProgram, ProblemClass, u32)) -> Option<f64> {
        let mut rates: Vec<f64> = self.rounds(library, of).map(|job| job.mop_s).collect();
        rates.sort_by(f64::total_cmp);
        (!rates.is_empty() && rates[0] > 0.0).then(|| median(&rates))
    }

    /// The number of operations of a program, in millions. Programs print their times in hundredths of a second only,
    /// so that it is taken from the longest run.
    pub fn operations(&self, program: NpbProgram, class: ProblemClass) -> Option<f64> {
        let jobs = self.jobs.iter().filter(|job| job.program == program && job.class == class);
        let longest = jobs.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
        (longest.seconds > 0.0).then_some(longest.seconds * longest.mop_s)
    }

    /// The median time of a program's measured part, in seconds.
    pub fn seconds(&self, library: &str, of: (NpbProgram, ProblemClass, u32)) -> Option<f64> {
        Some(self.operations(of.0, of.1)? / self.mop_s(library, of)?)
    }

    /// The counters of a library's last round, with the time of this job.
    pub fn counted(&self, library: &str, of: (NpbProgram, ProblemClass, u32)) -> Option<Counted> {
        let last = self.rounds(library, of).filter(|job| !job.counters.is_empty()).last()?;
        let (names, values) = last.counters.iter().cloned().unzip();
        Some(Counted { names, values, elapsed_s: last.elapsed_s })
    }

    /// The programs, classes and numbers of ranks of which there are jobs, each once, in ascending order.
    pub fn programs(&self, class: ProblemClass) -> Vec<NpbProgram> {
        sorted(self.jobs.iter().filter(|job| job.class == class).map(|job| job.program))
    }

    pub fn classes(&self) -> Vec<ProblemClass> {
        sorted(self.jobs.iter().map(|job| job.class))
    }

    pub fn ranks(&self, class: ProblemClass) -> Vec<u32> {
        sorted(self.jobs.iter().filter(|job| job.class == class).map(|job| job.ranks))
    }

    /// The library that is compared with the others: the first of Hawser.
    pub fn ours(&self) -> Option<&str> {
        self.libraries.iter().find(|library| library.is_hawser).map(|library| library.name.as_str())
    }

    pub fn others(&self) -> impl Iterator<Item = &str> {
        self.libraries.iter().filter(|library| !library.is_hawser).map(|library| library.name.as_str())
    }
}

/// The counters of a job.
pub struct Counted {
    names: Vec<String>,
    values: Vec<u64>,
    /// The time from the launcher's start to its end, in seconds: over it the ranks counted.
    pub elapsed_s: f64,
}

impl Counted {
    pub fn bytes(&self) -> CountedBytes<'_> {
        CountedBytes { names: &self.names, values: &self.values }
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    values.dedup();
    values
}
