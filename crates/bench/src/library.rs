//! A message-passing library under measurement: its location, its ABI, and how its launcher starts a program on it.
//!
//! One worker, compiled once for each ABI, serves all libraries that have this ABI. Open MPI has an ABI of its own:
//! for it the worker is compiled on the spot, by its mpicc. Used by `command`, `tune` and `npb`; uses
//! `measured_system`.

use crate::measured_system::SystemSpec;
use crate::record::CurveLevel;
use crate::task::TrafficPattern;
use crate::testbed::{self, TestBed};
use clap::ValueEnum;
use hawser_boot::hosts::ALLOCATION_VARIABLES;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// The worker's source, which is compiled here if no installed worker fits.
const SOURCE: &str = include_str!("../worker/mpi.c");

/// `NAME=PREFIX[,VARIABLE=VALUE...]`, as the user gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct LibrarySpec {
    pub name: String,
    pub prefix: PathBuf,
    /// Variables that are set for this library's job alone, so that one library can be measured twice.
    pub variables: Vec<(String, String)>,
}

impl LibrarySpec {
    /// The library of the installation that this program is part of.
    pub fn of_this_installation() -> LibrarySpec {
        LibrarySpec { name: "hawser".into(), prefix: testbed::own_prefix(), variables: Vec::new() }
    }
}

impl FromStr for LibrarySpec {
    type Err = String;

    fn from_str(text: &str) -> Result<LibrarySpec, String> {
        let mut parts = text.split(',');
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
        let (name, prefix) = parts
            .next()
            .and_then(pair)
            .filter(|(name, prefix)| !name.is_empty() && !prefix.is_empty())
            .ok_or("expected NAME=PREFIX[,VARIABLE=VALUE...], for example mpich=/opt/mpich")?;
        let variables =
            parts.map(|part| pair(part).ok_or(format!("`{part}` is not VARIABLE=VALUE"))).collect::<Result<_, _>>()?;
        Ok(LibrarySpec { name, prefix: prefix.into(), variables })
    }
}

/// The family of the launcher: families differ in the options of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LauncherFamily {
    Hawser,
    Mpich,
    IntelMpi,
    OpenMpi,
}

/// The reason why a library cannot be measured.
#[derive(Debug)]
pub enum LibraryError {
    NoLauncher { launcher: PathBuf },
    UnknownLauncher { launcher: PathBuf, output: String },
    NoAbi { folder: PathBuf },
    NotCompiled { compiler: PathBuf, output: String },
    OneHostOnly,
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LibraryError::NoLauncher { launcher } => {
                write!(f, "there is no {}; give the library's PREFIX, which has bin/mpiexec", launcher.display())
            }
            LibraryError::UnknownLauncher { launcher, output } => {
                let launcher = launcher.display();
                write!(
                    f,
                    "{launcher} is not the launcher of Hawser, MPICH, Intel MPI or Open MPI; --version prints: {output}"
                )
            }
            LibraryError::NoAbi { folder } => write!(
                f,
                "{} has no libmpi.so.12 (MPICH's ABI), libmpi_abi.so.1 (the standard's) or libmpi.so.40 (Open MPI's), the ABIs \
                 that the benchmark supports",
                folder.display()
            ),
            LibraryError::NotCompiled { compiler, output } => {
                write!(f, "{} does not compile the benchmark's program: {output}", compiler.display())
            }
            LibraryError::OneHostOnly => {
                write!(f, "Open MPI's TCP does not connect between network namespaces; measure it on one host only")
            }
        }
    }
}

/// The binary interface of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryAbi {
    /// MPICH's, `libmpi.so.12`.
    Mpich,
    /// The MPI standard's, `libmpi_abi.so.1`.
    Standard,
    /// Open MPI's, `libmpi.so.40`, for which programs are compiled by its own wrappers.
    OpenMpi,
}

/// Decides which cores the ranks of a job may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RankBinding {
    /// The program pins its ranks itself, alike for every library; the launcher is told to leave them alone.
    ByProgram,
    /// The launcher binds them, or does not, as it does for its users.
    ByLauncher,
}

/// A library that can be started.
#[derive(Debug)]
pub struct MpiLibrary {
    spec: LibrarySpec,
    family: LauncherFamily,
    abi: LibraryAbi,
}

impl MpiLibrary {
    /// Finds the library at the prefix.
    pub fn find(spec: LibrarySpec) -> Result<MpiLibrary, LibraryError> {
        let family = launcher_family(&spec.prefix)?;
        let folder = spec.prefix.join("lib");
        let abi = if family == LauncherFamily::OpenMpi && folder.join("libmpi.so.40").exists() {
            LibraryAbi::OpenMpi
        } else if folder.join("libmpi.so.12").exists() {
            LibraryAbi::Mpich
        } else if folder.join("libmpi_abi.so.1").exists() {
            LibraryAbi::Standard
        } else {
            return Err(LibraryError::NoAbi { folder });
        };
        Ok(MpiLibrary { spec, family, abi })
    }

    pub fn spec(&self) -> &LibrarySpec {
        &self.spec
    }

    pub fn abi(&self) -> LibraryAbi {
        self.abi
    }

    /// Whether the launcher is Hawser's, which prints the counters of the ranks.
    pub fn is_hawser(&self) -> bool {
        self.family == LauncherFamily::Hawser
    }

    /// Plans a job of the benchmark's worker with `ranks` ranks. The worker is compiled in `scratch` if the library is
    /// Open MPI, or if the installation of this program has none for its ABI.
    pub fn system_spec(&self, ranks: usize, testbed: &TestBed, scratch: &Path) -> Result<SystemSpec, LibraryError> {
        let worker = match self.abi {
            LibraryAbi::OpenMpi => {
                let spec = &self.spec;
                compile_worker(&spec.prefix.join("bin/mpicc"), &scratch.join(format!("mpi-{}", spec.name)))?
            }
            LibraryAbi::Mpich => installed_worker("mpich", scratch)?,
            LibraryAbi::Standard => installed_worker("std", scratch)?,
        };
        let mut command = self.job(ranks, testbed, RankBinding::ByProgram)?;
        command.arg(worker);
        command.env("HAWSER_BENCH_CORES", testbed.cores()).env("HAWSER_BENCH_RANKS", ranks.to_string());
        Ok(SystemSpec {
            name: self.spec.name.clone(),
            level: CurveLevel::Library,
            command,
            bytes_max: None,
            has_payload: true,
            patterns: TrafficPattern::value_variants(),
        })
    }

    /// Returns the launcher's command for a job of `ranks` ranks, to which options, a program and its arguments are
    /// added; an error for Open MPI on several hosts.
    pub fn job(&self, ranks: usize, testbed: &TestBed, binding: RankBinding) -> Result<Command, LibraryError> {
        let spec = &self.spec;
        if self.family == LauncherFamily::OpenMpi && !testbed.is_one_host() {
            return Err(LibraryError::OneHostOnly);
        }
        let mut command = testbed.local_command(&spec.prefix.join("bin/mpiexec"));
        command.args(self.launcher_options(ranks, testbed, binding));
        let library_path = prepend_path(&spec.prefix.join("lib"), "LD_LIBRARY_PATH");
        command.env("LD_LIBRARY_PATH", library_path).env("PATH", prepend_path(&spec.prefix.join("bin"), "PATH"));
        if testbed.multi_host_job().is_none() {
            // All ranks are to run on this host, though it may be one of an allocation's.
            for name in ALLOCATION_VARIABLES {
                command.env_remove(name);
            }
        }
        command.envs(self.variables(testbed, binding)).envs(spec.variables.iter().cloned());
        Ok(command)
    }

    fn launcher_options(&self, ranks: usize, testbed: &TestBed, binding: RankBinding) -> Vec<OsString> {
        let mut options: Vec<OsString> = Vec::new();
        if self.family == LauncherFamily::OpenMpi {
            options.extend(["--allow-run-as-root", "--oversubscribe"].map(Into::into));
        }
        if binding == RankBinding::ByProgram {
            match self.family {
                LauncherFamily::OpenMpi => options.extend(["--bind-to", "none"].map(Into::into)),
                LauncherFamily::Hawser | LauncherFamily::Mpich => options.extend(["-bind-to", "none"].map(Into::into)),
                // A variable says so.
                LauncherFamily::IntelMpi => {}
            }
        }
        if let Some(job) = testbed.multi_host_job() {
            options.extend(["-launcher", "ssh"].map(Into::into));
            if let Some(rsh) = &job.remote_shell {
                options.extend(["-launcher-exec".into(), rsh.into()]);
            }
            let per_host = ranks.div_ceil(job.hosts.len()).to_string();
            options.extend(["-hosts".into(), job.hosts.join(",").into(), "-ppn".into(), per_host.into()]);
        }
        options.extend(["-n".into(), ranks.to_string().into()]);
        options
    }

    /// Returns the variables without which the library does not run on this test bed, or pins its ranks itself.
    fn variables(&self, testbed: &TestBed, binding: RankBinding) -> Vec<(&'static str, &'static str)> {
        let mut variables = Vec::new();
        if self.family == LauncherFamily::IntelMpi && binding == RankBinding::ByProgram {
            variables.push(("I_MPI_PIN", "0"));
        }
        match (self.family, testbed) {
            (LauncherFamily::IntelMpi, TestBed::Cable { .. }) => variables.push(("FI_PROVIDER", "tcp")),
            (LauncherFamily::Mpich, TestBed::Cable { .. }) => {
                variables.extend([("FI_PROVIDER", "tcp"), ("MPIR_CVAR_CH4_NETMOD", "ofi")]);
            }
            _ => {}
        }
        variables
    }
}

fn launcher_family(prefix: &Path) -> Result<LauncherFamily, LibraryError> {
    let launcher = prefix.join("bin/mpiexec");
    if !launcher.exists() {
        return Err(LibraryError::NoLauncher { launcher });
    }
    // Versions before December 2026 do not print the name.
    if prefix.join("bin/hawser-info").exists() {
        return Ok(LauncherFamily::Hawser);
    }
    let output = Command::new(&launcher)
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let output = output.unwrap_or_else(|error| error.to_string());
    let families = [
        ("(Hawser)", LauncherFamily::Hawser),
        ("Intel(R) MPI", LauncherFamily::IntelMpi),
        ("Open MPI", LauncherFamily::OpenMpi),
        ("HYDRA", LauncherFamily::Mpich),
    ];
    let found = families.into_iter().find(|(mark, _)| output.contains(mark));
    found
        .map(|(_, family)| family)
        .ok_or_else(|| LibraryError::UnknownLauncher { launcher, output: output.trim().into() })
}

/// Returns the worker for an ABI: the one in the installation of this program, or one that the compiler wrapper of
/// this installation makes in `scratch`, for the ABI's header.
fn installed_worker(abi: &str, scratch: &Path) -> Result<PathBuf, LibraryError> {
    let prefix = testbed::own_prefix();
    let there = prefix.join(format!("libexec/hawser/bench-{abi}"));
    if there.exists() {
        return Ok(there);
    }
    let wrapper = if abi == "std" { "bin/mpicc_abi" } else { "bin/mpicc" };
    compile_worker(&prefix.join(wrapper), &scratch.join(format!("mpi-{abi}")))
}

fn compile_worker(compiler: &Path, program: &Path) -> Result<PathBuf, LibraryError> {
    let source = program.with_extension("c");
    let failed = |output: String| LibraryError::NotCompiled { compiler: compiler.into(), output };
    std::fs::write(&source, SOURCE).map_err(|error| failed(format!("{}: {error}", source.display())))?;
    let mut command = Command::new(compiler);
    let output = command.args(["-O2", "-o"]).arg(program).arg(&source).output();
    match output {
        Err(error) => Err(failed(error.to_string())),
        Ok(output) if output.status.success() => Ok(program.into()),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().into())),
    }
}

/// The value of an environment variable with this folder in front.
fn prepend_path(folder: &Path, variable: &str) -> OsString {
    let mut value = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os(variable) {
        value.push(":");
        value.push(rest);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_with_its_prefix_and_variables() {
        let named: LibrarySpec = "udp=/opt/hawser,HAWSER_PORT=udp,HAWSER_SPIN=1".parse().unwrap();
        assert_eq!((named.name.as_str(), named.prefix.as_path()), ("udp", Path::new("/opt/hawser")));
        assert_eq!(named.variables, [("HAWSER_PORT".into(), "udp".into()), ("HAWSER_SPIN".into(), "1".into())]);
        for wrong in ["", "mpich", "=/opt", "mpich=", "mpich=/opt,HAWSER_PORT"] {
            assert!(wrong.parse::<LibrarySpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_library_is_said_with_what_is_missing() {
        let scratch = std::env::temp_dir().join(format!("hawser-bench-test-{}", std::process::id()));
        std::fs::create_dir_all(scratch.join("bin")).unwrap();
        let find = || MpiLibrary::find(LibrarySpec { name: "x".into(), prefix: scratch.clone(), variables: vec![] });
        assert!(matches!(find(), Err(LibraryError::NoLauncher { .. })));
        std::os::unix::fs::symlink("/bin/echo", scratch.join("bin/mpiexec")).unwrap();
        assert!(matches!(find(), Err(LibraryError::UnknownLauncher { output: said, .. }) if said.contains("echo")));
        std::fs::write(scratch.join("bin/hawser-info"), "").unwrap();
        assert!(matches!(find(), Err(LibraryError::NoAbi { .. })));
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
