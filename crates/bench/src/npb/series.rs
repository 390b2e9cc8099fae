//! Runs every program on every library, in turns: in each round all libraries run the same job, one after another.
//!
//! A job that fails, or whose program finds its result wrong, is noted and has no figures; the others go on. Used by
//! `command`; uses `sources`, `job` and `output`, and leaves the results in the `record`.

use super::program::{NpbProgram, ProblemClass};
use super::record::{JobRecord, NpbRecord};
use super::sources::{Compilers, ProgramBuilder};
use super::{job, output};
use crate::library::{LibraryAbi, MpiLibrary, RankBinding};
use crate::run;
use crate::testbed::{self, TestBed};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The jobs of a series.
pub struct SeriesConfig {
    pub programs: Vec<NpbProgram>,
    pub classes: Vec<ProblemClass>,
    pub ranks: Vec<u32>,
    pub rounds: u32,
    /// The options of the Fortran compilers.
    pub fortran_flags: String,
    /// The time limit of a job, in seconds.
    pub timeout_s: u64,
}

/// The state of a series; see the module.
pub struct Series<'a> {
    pub config: SeriesConfig,
    pub libraries: Vec<MpiLibrary>,
    pub testbed: &'a TestBed,
    /// The folder of NPB-MPI.
    pub sources: &'a Path,
    /// A folder that all hosts of the test bed have, for the programs.
    pub scratch: &'a Path,
    pub record: &'a mut NpbRecord,
    pub stop: &'a AtomicBool,
}

/// Returns the wrappers that compile programs for a library: its own for Open MPI, otherwise those of the installation
/// of this program, so that all libraries of one ABI run the same binary.
fn compilers(library: &MpiLibrary) -> Compilers {
    let own = testbed::own_prefix();
    let (prefix, suffix) = match library.abi() {
        LibraryAbi::OpenMpi => (&library.spec().prefix, ""),
        LibraryAbi::Mpich => (&own, ""),
        LibraryAbi::Standard => (&own, "_abi"),
    };
    let wrapper = |name: &str| prefix.join(format!("bin/{name}{suffix}"));
    Compilers { fortran: wrapper("mpifort"), c: wrapper("mpicc") }
}

impl Series<'_> {
    /// Runs all jobs, or those until `stop` is set. An error means that nothing can be built.
    pub fn run(&mut self) -> Result<(), String> {
        let mut builders: Vec<ProgramBuilder> = Vec::new();
        for library in &self.libraries {
            let compilers = compilers(library);
            if builders.iter().all(|builder| *builder.compilers() != compilers) {
                let folder = self.scratch.join(format!("programs-{}", builders.len()));
                builders.push(ProgramBuilder::new(self.sources, folder, compilers, &self.config.fortran_flags)?);
            }
        }
        let progress = run::progress(self.job_count());
        for class in self.config.classes.clone() {
            for program in self.config.programs.clone() {
                progress.set_message(format!("build {}.{}", program.name(), class.name()));
                let programs = self.build(&builders, program, class, &progress);
                for ranks in self.config.ranks.clone() {
                    if program.takes(ranks) {
                        self.run_rounds((program, class, ranks), &programs, &progress);
                    }
                }
            }
        }
        progress.finish_and_clear();
        if self.stop.load(Relaxed) {
            self.record.complete = false;
            self.record.notes.push("the command was stopped before its end: jobs are missing".into());
        }
        Ok(())
    }

    fn job_count(&self) -> u64 {
        let SeriesConfig { programs, classes, ranks, rounds, .. } = &self.config;
        let of_program =
            |program: &NpbProgram| ranks.iter().filter(|&&ranks| program.takes(ranks)).count() * classes.len();
        let jobs: usize = programs.iter().map(of_program).sum();
        jobs as u64 * self.libraries.len() as u64 * u64::from(*rounds)
    }

    /// Returns the binary of each library; None where there is none, which is noted once for each compiler.
    fn build(
        &mut self,
        builders: &[ProgramBuilder],
        program: NpbProgram,
        class: ProblemClass,
        progress: &ProgressBar,
    ) -> Vec<Option<PathBuf>> {
        if self.stop.load(Relaxed) {
            return vec![None; self.libraries.len()];
        }
        let mut built = Vec::new();
        for builder in builders {
            let path = builder.build(program, class);
            if let (Err(cause), false) = (&path, self.stop.load(Relaxed)) {
                self.note(cause.clone(), progress);
            }
            built.push((builder.compilers(), path.ok()));
        }
        let of_library = |library| {
            let compilers = compilers(library);
            built.iter().find(|(other, _)| **other == compilers).and_then(|(_, path)| path.clone())
        };
        self.libraries.iter().map(of_library).collect()
    }

    fn run_rounds(
        &mut self,
        of: (NpbProgram, ProblemClass, u32),
        programs: &[Option<PathBuf>],
        progress: &ProgressBar,
    ) {
        let mut turns: Vec<usize> = (0..programs.len()).collect();
        for _ in 0..self.config.rounds {
            for &at in &turns {
                if let (Some(program), false) = (&programs[at], self.stop.load(Relaxed)) {
                    let name = self.libraries[at].spec().name.clone();
                    progress.set_message(format!("{}.{}, {} ranks, {name}", of.0.name(), of.1.name(), of.2));
                    match self.run_job(&self.libraries[at], program, of) {
                        Ok(Some(job)) => self.record.jobs.push(job),
                        Ok(None) => {}
                        Err(cause) => {
                            let (program, class, ranks) = (of.0.name(), of.1.name(), of.2);
                            self.note(format!("{name}, {program}.{class} on {ranks} ranks: {cause}"), progress);
                        }
                    }
                }
                progress.inc(1);
            }
            // Each round begins with another library, so that none always pays for being the first.
            turns.rotate_left(1);
        }
    }

    /// Runs a job. Returns None if it was stopped.
    fn run_job(
        &self,
        library: &MpiLibrary,
        binary: &Path,
        (program, class, ranks): (NpbProgram, ProblemClass, u32),
    ) -> Result<Option<JobRecord>, String> {
        let job = library.job(ranks as usize, self.testbed, RankBinding::ByLauncher);
        let mut command = job.map_err(|unusable| unusable.to_string())?;
        if library.is_hawser() {
            command.arg("--stats");
        }
        command.arg(binary);
        // A program may write files to the folder in which it is started.
        command.current_dir(self.scratch);
        let Some(finished) = job::run(command, self.config.timeout_s, self.stop)? else { return Ok(None) };
        let result = output::program_result(&finished.output).ok_or("the program has printed no result")?;
        if !result.is_verified {
            return Err("the program found its result wrong (Verification = UNSUCCESSFUL)".into());
        }
        Ok(Some(JobRecord {
            library: library.spec().name.clone(),
            program,
            class,
            ranks,
            seconds: result.seconds,
            mop_s: result.mop_s,
            elapsed_s: finished.elapsed_s,
            counters: output::counters(&finished.errors),
        }))
    }

    fn note(&mut self, note: String, progress: &ProgressBar) {
        self.record.complete = false;
        progress.suspend(|| eprintln!("hawser-bench: {note}"));
        self.record.notes.push(note);
    }
}
