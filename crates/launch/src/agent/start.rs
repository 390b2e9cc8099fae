//! Starts the program of one rank, with its environment, its three standard streams and its options (cores, limits).

use super::mpi_library::{self, ForeignMpi};
use crate::failure::{EXIT_FAILURE, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, FailureKind};
use crate::frames::{App, HostJob};
use hawser_boot::foreign_launcher::{RANK_NAMES, SERVERS, SIZE_NAMES};
use hawser_boot::protocol::{ADDRESS_VARIABLE, AgentAddress, PROGRAM_SIZE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE};
use hawser_node::profile;
use hawser_os::host;
use hawser_os::pipe;
use hawser_os::spawn::{self, SpawnOptions};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A rank that is to be started: its number among the ranks of this host (`local`), and the host's part of the job.
pub struct RankSpec<'a> {
    pub job: &'a HostJob,
    pub local: usize,
    pub socket: &'a str,
    /// The directory of Hawser's libraries, which is put first into LD_LIBRARY_PATH; None if it is unknown.
    pub libraries: Option<&'a Path>,
    pub spawn_options: SpawnOptions,
}

/// A started program and our ends of its pipes.
pub struct StartedRank {
    pub pid: i32,
    pub out: OwnedFd,
    pub err: OwnedFd,
    /// Our end of the pipe to a rank that reads mpiexec's input; None for the other ranks, which read /dev/null.
    pub input: Option<OwnedFd>,
}

pub fn start(spec: &RankSpec) -> Result<StartedRank, FailureKind> {
    let (world, app) = spec.job.ranks[spec.local];
    let app = &spec.job.apps[app as usize];
    let directory = directory(spec.job, app);
    if !directory.is_dir() {
        let text = format!("its working directory {} does not exist on this host", directory.display());
        return Err(FailureKind::NotStarted { code: EXIT_FAILURE, text });
    }
    check_architecture(&app.arch)?;
    let named = find_in_folders(app, &directory);
    let program = named.as_deref().map_or(OsStr::from_bytes(&app.program), Path::as_os_str);
    let program_path = named.clone().or_else(|| program_file(app, &directory));
    if let Some(foreign) = spec
        .libraries
        .zip(program_path.as_deref())
        .and_then(|(own_directory, file)| mpi_library::foreign_mpi(file, own_directory))
    {
        let (file, by_rpath) = match foreign {
            ForeignMpi::Name(file) => (file, false),
            ForeignMpi::ByRpath(file) => (file, true),
        };
        return Err(FailureKind::foreign_mpi(&program.to_string_lossy(), &file, by_rpath, spec.libraries));
    }
    let result = match spawn_program(spec, app, program, &directory, world) {
        // As under Hydra, a program of the working directory needs no "./".
        Err(error) if is_missing(&error) && !app.program.contains(&b'/') && directory.join(program).is_file() => {
            spawn_program(spec, app, Path::new(".").join(program).as_os_str(), &directory, world)
        }
        result => result,
    };
    result.map_err(|error| not_started(program, program_path.as_deref(), &error))
}

/// The program's file in the folders that -path names; None if none of them has it, or if the program is named with a
/// slash.
fn find_in_folders(app: &App, directory: &Path) -> Option<PathBuf> {
    let program = OsStr::from_bytes(&app.program);
    let folders =
        app.path.split(|&byte| byte == b':').filter(|folder| !folder.is_empty() && !app.program.contains(&b'/'));
    folders.map(|folder| directory.join(OsStr::from_bytes(folder)).join(program)).find(|file| file.is_file())
}

/// Refuses a program that is for another processor (-arch) than this host has.
fn check_architecture(wanted: &str) -> Result<(), FailureKind> {
    let plain = |name: &str| match name.to_ascii_lowercase().as_str() {
        "amd64" | "x86-64" | "x64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        name => name.to_owned(),
    };
    let own_machine = host::machine();
    if wanted.is_empty() || plain(wanted) == plain(&own_machine) {
        return Ok(());
    }
    let text = format!("-arch {wanted}: this host's processor is {own_machine}; name {wanted} hosts with -hosts");
    Err(FailureKind::NotStarted { code: EXIT_FAILURE, text })
}

/// The file of the program, found by the PATH of its environment; None if it is not found.
fn program_file(app: &App, directory: &Path) -> Option<PathBuf> {
    let path = app.environment.iter().find(|(name, _)| name == b"PATH");
    let path = path.map_or("".into(), |(_, value)| String::from_utf8_lossy(value));
    mpi_library::find_program(Path::new(OsStr::from_bytes(&app.program)), directory, &path)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Explains why a program could not be started; `path` is the program's file.
fn not_started(program: &OsStr, path: Option<&Path>, error: &io::Error) -> FailureKind {
    let kind = path.and_then(|file| file.metadata().ok());
    let (is_directory, may_run) = kind.map_or((false, true), |kind| (kind.is_dir(), kind.mode() & 0o111 != 0));
    let program = program.to_string_lossy();
    let (code, text) = match error.kind() {
        io::ErrorKind::NotFound if program.contains('/') => (
            EXIT_NOT_FOUND,
            format!("the program {program}, or the interpreter that it names, does not exist on this host"),
        ),
        io::ErrorKind::NotFound => {
            (EXIT_NOT_FOUND, format!("the program {program} was found neither in PATH nor in the working directory"))
        }
        io::ErrorKind::PermissionDenied if is_directory => {
            (EXIT_NOT_EXECUTABLE, format!("{program} is a directory; name the program in it"))
        }
        io::ErrorKind::PermissionDenied if !may_run => {
            (EXIT_NOT_EXECUTABLE, format!("the program {program} is not executable (chmod +x?)"))
        }
        io::ErrorKind::PermissionDenied => (
            EXIT_NOT_EXECUTABLE,
            format!(
                "the program {program} may not be executed here; check the permissions and mount options (noexec) of \
                 its directories"
            ),
        ),
        _ => (EXIT_NOT_EXECUTABLE, format!("the program {program} cannot be executed: {error}")),
    };
    FailureKind::NotStarted { code, text }
}

fn directory(job: &HostJob, app: &App) -> PathBuf {
    Path::new(OsStr::from_bytes(&job.directory)).join(OsStr::from_bytes(&app.directory))
}

fn spawn_program(spec: &RankSpec, app: &App, program: &OsStr, directory: &Path, world: u32) -> io::Result<StartedRank> {
    let (out, out_end) = pipe::pipe()?;
    let (err, err_end) = pipe::pipe()?;
    let mut command = Command::new(program);
    let (input, stdin) = if spec.job.readers.contains(&world) {
        let (input_end, input) = pipe::pipe()?;
        (Some(input), Stdio::from(input_end))
    } else {
        let null = File::open("/dev/null");
        (None, null.map_err(|error| io::Error::other(format!("its standard input, /dev/null: {error}")))?.into())
    };
    command.args(app.args.iter().map(|arg| OsStr::from_bytes(arg)));
    command.current_dir(directory).stdin(stdin).stdout(out_end).stderr(err_end).env_clear();
    command.envs(app.environment.iter().map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))));
    // The variables of a launcher above this mpiexec are for mpiexec, not for the ranks.
    for name in SERVERS {
        command.env_remove(name);
    }
    command.envs(added_variables(spec, app, world));
    if !app.directory.is_empty() {
        command.env("PWD", directory);
    }
    let pid = spawn::spawn(&mut command, spec.spawn_options.clone())?.id() as i32;
    Ok(StartedRank { pid, out, err, input })
}

/// A variable that Hydra sets. PETSc's configure knows MPICH's launcher by its beginning, and otherwise takes one that
/// sets OMPI_COMM_WORLD_SIZE for Open MPI's, which it refuses with MPICH's `mpi.h`.
const HYDRA_HOST_VARIABLE: &str = "MPIR_CVAR_CH3_INTERFACE_HOSTNAME";

/// The variables that the agent adds to a rank's environment.
fn added_variables(spec: &RankSpec, app: &App, world: u32) -> Vec<(&'static str, OsString)> {
    let (local, local_size) = (spec.local.to_string(), spec.job.ranks.len().to_string());
    let address = AgentAddress { rank: world, socket: spec.socket.into() };
    let mut set: Vec<(&'static str, OsString)> = vec![
        (ADDRESS_VARIABLE, address.encode().into()),
        ("HAWSER_JOB", spec.job.id.clone().into()),
        (RANK_VARIABLE, world.to_string().into()),
        (SIZE_VARIABLE, spec.job.size.to_string().into()),
        (PROGRAM_SIZE_VARIABLE, app.ranks.to_string().into()),
        (profile::VARIABLE, spec.job.profile_line.clone().into()),
        ("HAWSER_LOCAL_RANK", local.clone().into()),
        ("HAWSER_LOCAL_SIZE", local_size.clone().into()),
        ("MPI_LOCALRANKID", local.clone().into()),
        ("MPI_LOCALNRANKS", local_size.clone().into()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local.into()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size.into()),
        (HYDRA_HOST_VARIABLE, host::name().into()),
    ];
    set.extend(RANK_NAMES.map(|name| (name, world.to_string().into())));
    set.extend(SIZE_NAMES.map(|name| (name, spec.job.size.to_string().into())));
    if let Some(libraries) = spec.libraries {
        let before = app.environment.iter().find(|(name, _)| name == b"LD_LIBRARY_PATH").map(|(_, value)| value);
        let mut path = libraries.as_os_str().to_owned();
        if let Some(before) = before.filter(|value| !value.is_empty()) {
            path.push(":");
            path.push(OsStr::from_bytes(before));
        }
        set.push(("LD_LIBRARY_PATH", path));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(program: &str, environment: &[(&str, &str)]) -> HostJob {
        let environment = environment.iter().map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())).collect();
        let app = App { ranks: 1, program: program.into(), environment, ..App::default() };
        HostJob {
            id: "j".into(),
            size: 4,
            ranks: vec![(2, 0)],
            apps: vec![app],
            directory: b"/".to_vec(),
            ..HostJob::default()
        }
    }

    fn rank_spec<'a>(job: &'a HostJob, libraries: Option<&'a Path>) -> RankSpec<'a> {
        RankSpec { job, local: 0, socket: "s", libraries, spawn_options: SpawnOptions::default() }
    }

    #[test]
    fn our_library_comes_first_and_scripts_learn_who_they_are() {
        let job = job("a", &[("LD_LIBRARY_PATH", "/old")]);
        let spec = rank_spec(&job, Some(Path::new("/ours/lib")));
        let set = added_variables(&spec, &job.apps[0], 2);
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).unwrap().1.to_str().unwrap().to_owned();
        assert_eq!(value("LD_LIBRARY_PATH"), "/ours/lib:/old");
        assert_eq!(
            (value("HAWSER_RANK"), value("HAWSER_SIZE"), value("MPI_LOCALNRANKS")),
            ("2".into(), "4".into(), "1".into())
        );
        assert_eq!(["PMI_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"].map(value), ["2", "2", "0"]);
        assert_eq!(value("MPIR_CVAR_CH3_INTERFACE_HOSTNAME"), host::name());
        assert_eq!(["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"].map(value), ["4", "4", "1"]);
        assert_eq!(AgentAddress::decode(&value("HAWSER_BOOT")), Ok(AgentAddress { rank: 2, socket: "s".into() }));
    }

    #[test]
    fn a_program_is_looked_for_in_path_and_only_on_its_processor() {
        let mut app = App { program: "passwd".into(), path: b"/no/such:/etc".into(), ..App::default() };
        assert_eq!(find_in_folders(&app, Path::new("/")), Some("/etc/passwd".into()));
        app.path = b"etc".into();
        assert_eq!(find_in_folders(&app, Path::new("/")), Some("/etc/passwd".into()));
        app.program = "./passwd".into();
        assert_eq!(find_in_folders(&app, Path::new("/")), None);
        assert!(check_architecture("").is_ok() && check_architecture(&host::machine()).is_ok());
        match check_architecture("sparc") {
            Err(FailureKind::NotStarted { code: 1, text }) => assert!(text.starts_with("-arch sparc: "), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn programs_that_cannot_start_are_told_apart() {
        let failed = |program: &str| {
            let job = job(program, &[("PATH", "/usr/bin:/bin")]);
            match start(&rank_spec(&job, None)) {
                Err(FailureKind::NotStarted { code, text }) => (code, text),
                _ => panic!("{program} started"),
            }
        };
        assert_eq!(failed("hawser-no-such-program").0, 127);
        assert_eq!(failed("/no/such").0, 127);
        assert_eq!(failed("/etc/passwd"), (126, "the program /etc/passwd is not executable (chmod +x?)".into()));
        assert_eq!(failed("/etc"), (126, "/etc is a directory; name the program in it".into()));
        assert_eq!(failed("./etc").1, "./etc is a directory; name the program in it");
    }
}
