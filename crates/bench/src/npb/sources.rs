//! The sources of the NAS Parallel Benchmarks, which the user has fetched, and the programs that are built of a copy of
//! them: the user's folder is never written to.
//!
//! Used by `series`; runs `make` and the compiler wrappers of a library.

use super::program::{NpbProgram, ProblemClass};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of NPB-MPI in a distribution of NPB 3.4.
const MPI_FOLDER: &str = "NPB3.4-MPI";
/// The file that a folder of NPB-MPI has.
const MARK: &str = "sys/setparams.c";
/// The scripts that `make` runs. Copies of the sources in repositories have lost the permission to execute them.
const SCRIPTS: [&str; 2] = ["sys/print_header", "sys/print_instructions"];
/// The number of the last lines of `make` that an error shows.
const TAIL_LINES: usize = 3;

/// The compiler wrappers for programs in Fortran and in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilers {
    pub fortran: PathBuf,
    pub c: PathBuf,
}

/// The compilers' options: the same for every library. `-w`: the programs' warnings are their authors' business.
pub const FLAGS: &str = "-O2 -w";

/// A copy of the sources, configured for some compilers.
pub struct ProgramBuilder {
    folder: PathBuf,
    compilers: Compilers,
}

/// Finds the folder of NPB-MPI: `dir` itself or the folder in it.
pub fn find(dir: &Path) -> Result<PathBuf, String> {
    let places = [dir.to_path_buf(), dir.join(MPI_FOLDER)];
    let found = places.into_iter().find(|folder| folder.join(MARK).exists());
    let found = found.ok_or_else(|| {
        format!(
            "{} has no {MARK}; give the folder {MPI_FOLDER} of the NAS Parallel Benchmarks 3.4 \
             (https://www.nas.nasa.gov/software/npb.html)",
            dir.display()
        )
    })?;
    // Until 3.3 a program was compiled for a number of processes.
    if !found.join("common/get_active_nprocs.f90").exists() {
        return Err(format!("{} is of a version before 3.4; version 3.4 or a later one is needed", found.display()));
    }
    Ok(found)
}

impl ProgramBuilder {
    /// Copies the sources in `from` to the new folder `folder` and configures them; `fortran_flags` are the options of
    /// the Fortran compiler.
    pub fn new(
        from: &Path,
        folder: PathBuf,
        compilers: Compilers,
        fortran_flags: &str,
    ) -> Result<ProgramBuilder, String> {
        let failed = |error: io::Error| format!("the sources cannot be copied to {}: {error}", folder.display());
        copy(from, &folder).map_err(failed)?;
        fs::create_dir_all(folder.join("bin")).map_err(failed)?;
        SCRIPTS.iter().try_for_each(|script| make_executable(&folder.join(script))).map_err(failed)?;
        fs::write(folder.join("config/make.def"), make_def(&compilers, fortran_flags)).map_err(failed)?;
        Ok(ProgramBuilder { folder, compilers })
    }

    pub fn compilers(&self) -> &Compilers {
        &self.compilers
    }

    /// Builds a program and returns its path.
    pub fn build(&self, program: NpbProgram, class: ProblemClass) -> Result<PathBuf, String> {
        let (program, class) = (program.name(), class.name());
        let made = Command::new("make").arg(program).arg(format!("CLASS={class}")).current_dir(&self.folder).output();
        let made = made.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "there is no `make`; install it (Debian: apt install make)".into(),
            _ => format!("make: {error}"),
        })?;
        let path = self.folder.join(format!("bin/{program}.{class}.x"));
        if made.status.success() && path.exists() {
            return Ok(path);
        }
        let errors = String::from_utf8_lossy(&made.stderr).into_owned();
        let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join(" | ");
        Err(format!("{program}.{class} cannot be built with {}: {last}", self.compilers.fortran.display()))
    }
}

/// The configuration.
fn make_def(compilers: &Compilers, fortran_flags: &str) -> String {
    let (fortran, c) = (compilers.fortran.display(), compilers.c.display());
    format!(
        "MPIFC = {fortran}\nFLINK = $(MPIFC)\nFMPI_LIB =\nFMPI_INC =\nFFLAGS = {fortran_flags}\n\
         FLINKFLAGS = $(FFLAGS)\nMPICC = {c}\nCLINK = $(MPICC)\nCMPI_LIB =\nCMPI_INC =\nCFLAGS = {FLAGS}\n\
         CLINKFLAGS = $(CFLAGS)\nCC = cc -g\nBINDIR = ../bin\nRAND = randi8\n"
    )
}

/// Permits the execution of a file, if there is one.
fn make_executable(path: &Path) -> io::Result<()> {
    match fs::set_permissions(path, fs::Permissions::from_mode(0o755)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies the files of a folder and of those in it, without what earlier builds there have left.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_built = matches!(extension, "o" | "mod" | "x") || name == "npbparams.h" || name == "setparams";
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.is_file() && !is_built {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn compilers() -> Compilers {
        Compilers { fortran: "/opt/my mpi/mpifort".into(), c: "/opt/mpicc".into() }
    }

    #[test]
    fn the_folder_is_found_and_another_is_refused_with_what_is_missing() {
        let scratch = tempfile::tempdir().unwrap();
        let inner = scratch.path().join(MPI_FOLDER);
        let error = find(scratch.path()).unwrap_err();
        assert!(error.contains("has no sys/setparams.c") && error.contains("https://"), "{error}");
        write(&inner, &[(MARK, "")]);
        let error = find(scratch.path()).unwrap_err();
        assert!(error.contains("before 3.4"), "{error}");
        write(&inner, &[("common/get_active_nprocs.f90", "")]);
        assert_eq!((find(scratch.path()), find(&inner)), (Ok(inner.clone()), Ok(inner.clone())));
    }

    #[test]
    fn programs_are_built_of_a_copy() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        let makefile = "mg:\n\ttest -e MG/mg.f90 -a ! -e MG/mg.o\n\tsys/print_header\n\ttouch bin/mg.$(CLASS).x\nis:\n\techo no such \
                        compiler >&2; false\nep:\n\ttrue\n";
        write(
            &from,
            &[
                ("Makefile", makefile),
                ("MG/mg.f90", ""),
                ("MG/mg.o", ""),
                ("config/x", ""),
                (SCRIPTS[0], "#!/bin/sh\n"),
            ],
        );
        let builder = ProgramBuilder::new(&from, scratch.path().join("copy"), compilers(), "-O1").unwrap();
        let built = builder.build(NpbProgram::Mg, ProblemClass::W).unwrap();
        assert_eq!(built, scratch.path().join("copy/bin/mg.W.x"));
        assert!(!from.join("bin").exists());
        let make_def = fs::read_to_string(scratch.path().join("copy/config/make.def")).unwrap();
        assert!(make_def.contains("MPIFC = /opt/my mpi/mpifort\n") && make_def.contains("MPICC = /opt/mpicc\n"));
        assert!(make_def.contains("\nFFLAGS = -O1\n") && make_def.contains("\nCFLAGS = -O2 -w\n"), "{make_def}");
        let error = builder.build(NpbProgram::Is, ProblemClass::S).unwrap_err();
        assert!(error.starts_with("is.S cannot be built") && error.contains("no such compiler"), "{error}");
        assert!(builder.build(NpbProgram::Ep, ProblemClass::S).is_err(), "make made nothing");
    }
}
