//! mpiexec's command line, in the spellings of MPICH and Open MPI, which mean the same here.
//!
//! Both write long options with one dash; `normalise` gives them two before clap sees them, and finds where the
//! program's own arguments begin. Options that have no effect here are accepted silently. Nothing is started here.

use crate::allocation;
use crate::args_file;
use crate::binding::{self, Binding};
use crate::flux;
use crate::foreign_variables::{self, Environment, NamedHosts};
use crate::hosts::{self, HostEntry, Launcher, LauncherKind};
use crate::pattern::{OutputOptions, OutputPattern};
use crate::worker::{self, WorkerOptions, WorkersOptions};
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use hawser_job::layout::MAX_WORLD;
use hawser_node::profile::ProfileStatus;
use hawser_os::cpus;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Start the ranks of an MPI program.
#[derive(Parser, Debug)]
#[command(
    name = "mpiexec",
    version = concat!("(Hawser) ", env!("CARGO_PKG_VERSION")),
    about = "Starts the ranks of an MPI program under Hawser",
    override_usage = "mpiexec [OPTIONS] PROGRAM [ARGS] [: [OPTIONS] PROGRAM [ARGS]]...",
    after_help = "Long options may have one dash. Exit codes: the first failing rank's; 128 + N after signal N; 124 after \
                  --timeout; 127 or 126 if a program is not found or cannot be executed; 2 for a wrong command line."
)]
struct RawOptions {
    /// Number of ranks
    #[arg(short = 'n', short_alias = 'c', long = "np", alias = "n", value_name = "N")]
    ranks: Option<u32>,
    /// Number of ranks on each host before the next host is used
    #[arg(short = 'N', long = "ppn", aliases = ["perhost", "npernode"], value_name = "N")]
    per_host: Option<u32>,
    /// ppr:N:WHAT places N ranks on each node (host), socket, numa or core; other mappings are ignored silently
    #[arg(long = "map-by", value_name = "HOW")]
    map_by: Vec<String>,
    #[arg(long = "npersocket", value_name = "N", hide = true)]
    per_socket: Option<u32>,
    #[arg(long = "pernode", hide = true)]
    one_per_host: bool,
    /// Acceptable numbers of ranks, as in 2,4 or FROM:TO:STEP; the greatest one that is not above -n is used
    #[arg(long = "soft", value_name = "SET", allow_hyphen_values = true)]
    soft: Option<String>,
    /// Processor type that the program needs; a host of another type is an error
    #[arg(long = "arch", value_name = "NAME")]
    arch: Option<String>,
    /// Folders in which to search for the program before PATH
    #[arg(long = "path", value_name = "DIR[:DIR]...")]
    path: Option<OsString>,
    /// Read the programs and their options from a file instead, one program per line
    #[arg(long = "configfile", aliases = ["file", "app"], value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// Working directory of the program
    #[arg(long = "wdir", alias = "wd", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Set a variable for this program
    #[arg(long = "env", num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    env: Vec<OsString>,
    /// Set a variable for all programs
    #[arg(long = "genv", num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    genv: Vec<OsString>,
    /// Set or pass on a variable
    #[arg(short = 'x', value_name = "NAME[=VALUE]")]
    export: Vec<OsString>,
    /// Pass on only these variables
    #[arg(long = "genvlist", alias = "envlist", value_name = "NAME,...")]
    env_list: Option<OsString>,
    /// Pass on no variables
    #[arg(long = "genvnone", alias = "envnone")]
    env_none: bool,
    /// Pass on all variables (the default)
    #[arg(long = "genvall", alias = "envall")]
    env_all: bool,
    /// Begin every line of output with its rank
    #[arg(short = 'l', long = "prepend-rank", alias = "tag-output")]
    label: bool,
    /// Begin every line of output with this: %r is the rank, %h its host, %p the host's number,
    /// %g the process group (0)
    #[arg(long = "prepend-pattern", value_name = "PATTERN", allow_hyphen_values = true)]
    prepend: Option<OsString>,
    /// Write standard output to files of these names instead; placeholders as for --prepend-pattern
    #[arg(long = "outfile-pattern", value_name = "PATTERN")]
    out_file: Option<OsString>,
    /// The same for standard error
    #[arg(long = "errfile-pattern", value_name = "PATTERN")]
    err_file: Option<OsString>,
    /// Also write the output to DIR/1/rank.N/stdout and stderr; nojobid omits the 1, nocopy writes it only there
    #[arg(long = "output-filename", value_name = "DIR[:nojobid,nocopy]")]
    output_folder: Option<OsString>,
    /// Open MPI 5's spelling of `-l` and `--output-filename`
    #[arg(long = "output", value_name = "HOW", hide = true)]
    output: Vec<String>,
    /// Report the state of each rank and end the job after this time
    #[arg(short = 't', long = "timeout", value_name = "SECONDS", allow_negative_numbers = true)]
    timeout_s: Option<f64>,
    /// Bind ranks to cores: none (the default); core or hwthread (one for each rank); socket, numa, l1cache to
    /// l3cache (in turn); WHAT:N for N of them for each rank; user:0,2+3,... for these cores, rank by rank
    #[arg(long = "bind-to", alias = "binding", value_name = "WHAT")]
    bind_to: Option<String>,
    #[arg(long = "bind-to-core", hide = true)]
    bind_to_core: bool,
    #[arg(long = "bind-to-socket", hide = true)]
    bind_to_socket: bool,
    #[arg(long = "bind-to-none", hide = true)]
    bind_to_none: bool,
    /// Ranks that read standard input: 0 (the default), 1,3-5, all or none
    #[arg(short = 's', long = "stdin", value_name = "RANKS")]
    stdin: Option<String>,
    /// Hosts to run on, and the number of ranks on each before the next host is used (1)
    #[arg(short = 'H', long = "hosts", aliases = ["host"], value_name = "HOST[:N],...")]
    hosts: Option<String>,
    /// Read the hosts from a file, one per line: HOST[:N] or HOST slots=N max_slots=N
    #[arg(short = 'f', long = "hostfile", aliases = ["machinefile", "default-hostfile"], value_name = "FILE")]
    host_file: Option<PathBuf>,
    /// Program that starts the agents on other hosts: ssh (the default), rsh, slurm (srun) or flux (flux exec); with
    /// fork all ranks run on this host
    #[arg(long = "launcher", alias = "bootstrap", value_name = "WHICH")]
    launcher: Option<String>,
    /// The remote shell to use, with its options
    #[arg(long = "launcher-exec", alias = "bootstrap-exec", value_name = "COMMAND")]
    launcher_exec: Option<String>,
    /// Installation folder of Hawser on other hosts, if it is not the same as here
    #[arg(long = "prefix", value_name = "DIR")]
    installed: Option<PathBuf>,
    /// Wait for N workers, which connect to this mpiexec, and run on their hosts and this one; they and mpiexec have the
    /// same HAWSER_TOKEN
    #[arg(long = "workers", value_name = "N")]
    workers: Option<u32>,
    /// TCP port on which to wait for workers (7117)
    #[arg(long = "worker-port", value_name = "PORT")]
    worker_port: Option<u16>,
    /// Be a worker: offer this host to the mpiexec on HOST that waits for workers
    #[arg(long = "worker", value_name = "HOST[:PORT]")]
    worker: Option<String>,
    /// Number of ranks that a worker's host takes before the next host is used (its processors)
    #[arg(long = "worker-slots", value_name = "N")]
    worker_slots: Option<u32>,
    /// Let the hosts of an allocation take more ranks than it has slots there
    #[arg(long = "oversubscribe")]
    oversubscribes: bool,
    /// Let the other ranks continue when one has ended; operations that need it fail (MPI_ERR_PROC_ABORTED)
    #[arg(long = "disable-auto-cleanup", alias = "enable-recovery")]
    keeps: bool,
    /// Print every rank's counters at the end
    #[arg(long = "stats")]
    stats: bool,
    /// Print the detected cores, devices and interfaces, and all parameters; without a program, exit afterwards
    #[arg(long = "info")]
    info: bool,
    /// Print each step
    #[arg(short = 'v', long = "verbose")]
    verbose: bool,
    /// Behind the `--` of `normalise`, where nothing is an option.
    #[arg(last = true, hide = true)]
    command: Vec<OsString>,
}

/// Options of other launchers that change nothing here, grouped by the number of values that they take.
const IGNORED_OPTIONS: [&[&str]; 3] = [
    &[
        "nooversubscribe",
        "allow-run-as-root",
        "use-hwthread-cpus",
        "quiet",
        "q",
        "nolocal",
        "bynode",
        "byslot",
        "bycore",
        "bysocket",
        "display-map",
        "display-allocation",
        "display-topo",
        "report-bindings",
        "report-state-on-timeout",
        "get-stack-traces",
        "silent-abort",
        "disable-hostname-propagation",
        "print-rank-map",
        "print-all-exitcodes",
        "tag-output-fully",
        "do-not-launch",
        "localonly",
        "noprefix",
    ],
    &["rank-by", "order-nodes", "rmk", "iface", "usize", "display", "membind", "topolib", "runtime-options", "ckpoint"],
    &["mca", "gmca", "prtemca", "pmixmca", "omca"],
];

/// The number of ranks of a program that has one for each slot of hosts that are not known yet.
const RANK_PER_SLOT: u32 = 0;

/// A program, its ranks and its environment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AppOptions {
    pub ranks: u32,
    /// The hosts of this program; empty for those of the job.
    pub hosts: Vec<HostEntry>,
    pub directory: Option<PathBuf>,
    /// Folders in which the program is looked for first, separated by colons.
    pub path: OsString,
    /// The processor that the host must have; empty for any.
    pub arch: String,
    pub command: Vec<OsString>,
    /// Variables to set, later ones override earlier ones; one without a value is passed on unchanged.
    pub set: Vec<(OsString, Option<OsString>)>,
    pub inherit: EnvInheritance,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum EnvInheritance {
    #[default]
    All,
    None,
    Only(Vec<OsString>),
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JobOptions {
    pub apps: Vec<AppOptions>,
    /// The hosts of the job; empty for this host.
    pub hosts: Vec<HostEntry>,
    /// The variable that has named the hosts or their file; None if the command line names them, or nothing does.
    pub hosts_variable: Option<&'static str>,
    /// The number of ranks placed on a host before the next host's turn, instead of its slots.
    pub per_host: Option<u32>,
    pub launcher: Launcher,
    /// The workers to wait for before the job starts. The hosts are then this one and theirs.
    pub workers: Option<WorkersOptions>,
    /// The worker that this process is; then there is no job here.
    pub worker: Option<WorkerOptions>,
    pub timeout: Option<Duration>,
    pub binding: Binding,
    /// The ranks that read standard input, as the user names them, and their numbers.
    pub stdin: String,
    pub readers: Vec<u32>,
    pub outputs: OutputOptions,
    /// The job goes on when ranks end (`job_control::failure_policy`).
    pub continues_after_fault: bool,
    pub stats: bool,
    pub info: bool,
    pub verbose: bool,
    /// The machine's profile, which the ranks use; it is not from the command line.
    pub profile: ProfileStatus,
}

/// The reason why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NothingToRun {
    /// Help or version, to be printed.
    Print(String),
    /// An error, in one line.
    UsageError(String),
}

/// Options that hold for all programs, and the variables of mpiexec itself.
struct GlobalOptions<'a> {
    set: Vec<(OsString, Option<OsString>)>,
    inherit: EnvInheritance,
    stdin: Option<String>,
    names_launcher: bool,
    /// The first segment, or the first line of a file of programs, names hosts.
    names_hosts: bool,
    oversubscribes: bool,
    environment: Environment<'a>,
}

/// Reads the arguments after the program's own name, and those variables in `environment` that count beside them.
pub fn parse(arguments: &[OsString], environment: Environment) -> Result<JobOptions, NothingToRun> {
    let mut command = command();
    command.build();
    let mut options = JobOptions::default();
    let (set, inherit) = (Vec::new(), EnvInheritance::All);
    let mut global = GlobalOptions {
        set,
        inherit,
        stdin: None,
        names_launcher: false,
        names_hosts: false,
        oversubscribes: false,
        environment,
    };
    for (number, segment) in arguments.split(|argument| argument == ":").enumerate() {
        let raw = parse_segment(&command, segment)?;
        if let Some(worker) = worker(&raw, segment.len() == arguments.len())? {
            return Ok(JobOptions { worker: Some(worker), ..options });
        }
        take_options(&raw, &mut options, &mut global)?;
        if let Some(file) = &raw.config_file {
            read_programs(&command, file, &raw, &mut options, &mut global)?;
            continue;
        }
        match app(raw, &options)? {
            Some(app) => options.apps.push(app),
            None if number == 0 && options.info && segment.len() == arguments.len() => {}
            None => return Err(NothingToRun::UsageError("no program is given; see mpiexec --help".into())),
        }
    }
    for app in &mut options.apps {
        let own = std::mem::take(&mut app.set);
        app.set = global.set.iter().cloned().chain(own).collect();
        if app.inherit == EnvInheritance::All {
            app.inherit = global.inherit.clone();
        }
    }
    let has_hosts = !options.hosts.is_empty() || options.apps.iter().any(|app| !app.hosts.is_empty());
    if has_hosts && options.workers.is_none() {
        let variable = options.hosts_variable;
        foreign_variables::complete(environment, &mut options.launcher, global.names_launcher, variable)
            .map_err(NothingToRun::UsageError)?;
        if options.launcher.kind == LauncherKind::Slurm {
            // An error counts where the hosts are those of the job (`allocation::hosts`).
            options.launcher.components = allocation::components(environment).unwrap_or_default();
        }
        let may_oversubscribe = || global.oversubscribes || foreign_variables::may_oversubscribe(environment);
        if variable.is_some_and(allocation::is_of_manager) && may_oversubscribe() {
            options.hosts.iter_mut().for_each(|host| host.max = u32::MAX);
        }
        find_brokers(&mut options).map_err(NothingToRun::UsageError)?;
    }
    options.stdin = global.stdin.take().unwrap_or_else(|| "0".into());
    if options.workers.is_some() {
        // The number of ranks may depend on the workers (`place_on_workers`).
        check_workers(&options, &global)?;
    } else {
        take_readers(&mut options)?;
    }
    Ok(options)
}

/// Gives a job with workers (`JobOptions::workers`) its hosts, now that these have come. A program without a number of
/// ranks has one for each slot.
pub fn place_on_workers(options: &mut JobOptions, hosts: Vec<HostEntry>) -> Result<(), NothingToRun> {
    let slots = hosts::slots(&hosts, options.per_host);
    options.apps.iter_mut().filter(|app| app.ranks == RANK_PER_SLOT).for_each(|app| app.ranks = slots);
    options.hosts = hosts;
    take_readers(options)
}

/// Takes the ranks that read standard input, of a job whose number of ranks is known.
fn take_readers(options: &mut JobOptions) -> Result<(), NothingToRun> {
    // A larger job is refused later (`job_control::host_jobs`).
    let size = options.apps.iter().map(|app| u64::from(app.ranks)).sum::<u64>().min(MAX_WORLD as u64);
    options.readers = readers(&options.stdin, size)?;
    Ok(())
}

/// Reads the programs of a `-configfile`, which is named in the segment `file_options`.
fn read_programs(
    command: &Command,
    file: &Path,
    file_options: &RawOptions,
    options: &mut JobOptions,
    global: &mut GlobalOptions,
) -> Result<(), NothingToRun> {
    let name = file.display();
    if let Some(program) = file_options.command.first() {
        let program = program.to_string_lossy();
        return Err(NothingToRun::UsageError(format!(
            "-configfile {name} names the programs: {program} cannot follow it"
        )));
    }
    if file_options.ranks.is_some() {
        return Err(NothingToRun::UsageError(format!("-configfile {name} names the programs: put -n into its lines")));
    }
    let lines = args_file::read(file).map_err(NothingToRun::UsageError)?;
    if lines.is_empty() {
        return Err(NothingToRun::UsageError(format!("-configfile {name} names no program")));
    }
    for (number, words) in lines {
        let of_line = |reason| match reason {
            NothingToRun::UsageError(text) => NothingToRun::UsageError(format!("line {number} of {name}: {text}")),
            reason => reason,
        };
        for segment in words.split(|word| word == ":") {
            let app = parse_segment(command, segment).and_then(|raw| {
                worker(&raw, false)?;
                take_options(&raw, options, global)?;
                match raw.config_file {
                    Some(_) => Err(NothingToRun::UsageError("a file of programs cannot name another one".into())),
                    None => app(raw, options)?.ok_or_else(|| NothingToRun::UsageError("no program is given".into())),
                }
            });
            options.apps.push(app.map_err(of_line)?);
        }
    }
    Ok(())
}

fn command() -> Command {
    let mut command = RawOptions::command();
    for (values, names) in IGNORED_OPTIONS.iter().enumerate() {
        for name in *names {
            let arg = Arg::new(*name).hide(true);
            let mut letters = name.chars();
            let arg = match (letters.next(), letters.next()) {
                (Some(letter), None) => arg.short(letter),
                _ => arg.long(*name),
            };
            command = command.arg(match values {
                0 => arg.action(ArgAction::Count),
                n => arg.num_args(n).action(ArgAction::Append).allow_hyphen_values(true),
            });
        }
    }
    command
}

fn parse_segment(command: &Command, segment: &[OsString]) -> Result<RawOptions, NothingToRun> {
    let tokens = std::iter::once("mpiexec".into()).chain(normalise(command, segment)?);
    let matches: Result<ArgMatches, clap::Error> = command.clone().try_get_matches_from(tokens);
    matches.and_then(|matches| RawOptions::from_arg_matches(&matches)).map_err(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => {
            NothingToRun::Print(error.to_string())
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            NothingToRun::UsageError(format!(
                "{}; mpiexec --help lists the options",
                first.trim_start_matches("error: ")
            ))
        }
    })
}

/// Gives long options their second dash, and puts `--` before the program.
fn normalise(command: &Command, segment: &[OsString]) -> Result<Vec<OsString>, NothingToRun> {
    let mut tokens = Vec::new();
    let mut rest = segment.iter();
    while let Some(token) = rest.next() {
        let text = token.to_string_lossy();
        if !text.starts_with('-') || text == "-" || text == "--" {
            tokens.push("--".into());
            tokens.extend((text != "--").then(|| token.clone()));
            tokens.extend(rest.cloned());
            break;
        }
        let name = text.trim_start_matches('-');
        let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
        if let Some((name, number)) = attached_value(name) {
            tokens.extend([format!("--{name}").into(), number.into()]);
            continue;
        }
        let Some((arg, long)) = find(command, name) else {
            return Err(NothingToRun::UsageError(format!("there is no option {text}; mpiexec --help lists them")));
        };
        let dashes = if long { "--" } else { "-" };
        let bare = token.as_bytes().iter().position(|&b| b != b'-').unwrap_or(0);
        tokens.push([OsStr::new(dashes), OsStr::from_bytes(&token.as_bytes()[bare..])].into_iter().collect());
        let values = if has_value { 0 } else { arg.get_num_args().map_or(0, |range| range.max_values()) };
        let takes_values = arg.get_action().takes_values();
        // MPICH takes NAME=VALUE for NAME VALUE.
        let pair = rest.as_slice().first().filter(|_| matches!(name, "env" | "genv") && !has_value);
        match pair.and_then(|pair| assignment(pair)).filter(|(name, _)| !name.is_empty()) {
            Some((name, value)) => {
                rest.next();
                tokens.extend([name, value]);
            }
            None => tokens.extend(rest.by_ref().take(if takes_values { values } else { 0 }).cloned()),
        }
    }
    Ok(tokens)
}

/// Splits `NAME=VALUE` into name and value.
fn assignment(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=')?;
    Some((OsStr::from_bytes(&bytes[..at]).into(), OsStr::from_bytes(&bytes[at + 1..]).into()))
}

/// Splits `-n4` and its like into the long name of the option and the number.
fn attached_value(name: &str) -> Option<(&'static str, &str)> {
    let (letters, number) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
    let long = match letters {
        "n" | "np" | "c" => "np",
        "N" | "ppn" => "ppn",
        _ => return None,
    };
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((long, number))
}

/// The option called `name`, and whether that is a long name.
fn find<'a>(command: &'a Command, name: &str) -> Option<(&'a Arg, bool)> {
    command.get_arguments().find_map(|arg| {
        let long = arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name);
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        let short = letter.is_some_and(|l| {
            arg.get_short() == Some(l) || arg.get_all_short_aliases().unwrap_or_default().contains(&l)
        });
        (long || short).then_some((arg, long))
    })
}

/// Takes the options that hold for the whole job. Hosts, and the choice of variables that are passed on, are among
/// them only up to the segment of the first program; the others hold for the whole job wherever they are written.
fn take_options(raw: &RawOptions, options: &mut JobOptions, global: &mut GlobalOptions) -> Result<(), NothingToRun> {
    take_outputs(raw, &mut options.outputs)?;
    options.continues_after_fault |= raw.keeps;
    options.stats |= raw.stats;
    options.info |= raw.info;
    options.verbose |= raw.verbose;
    if let Some(seconds) = raw.timeout_s {
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|t| !t.is_zero());
        let wrong = || NothingToRun::UsageError(format!("--timeout {seconds} is not a positive number of seconds"));
        options.timeout = Some(timeout.ok_or_else(wrong)?);
    }
    let old = [(raw.bind_to_core, "core"), (raw.bind_to_socket, "socket"), (raw.bind_to_none, "none")];
    let old = old.into_iter().find_map(|(is_given, what)| is_given.then_some(what));
    if let Some(binding_text) = raw.bind_to.as_deref().or(old) {
        options.binding = binding::parse(binding_text).map_err(NothingToRun::UsageError)?;
    }
    options.per_host = per_host(raw)?.or(options.per_host);
    global.stdin = raw.stdin.clone().or(global.stdin.take());
    take_launcher(raw, &mut options.launcher)?;
    global.names_launcher |= raw.launcher.is_some() || raw.launcher_exec.is_some();
    let mut mapping_words = raw.map_by.iter().flat_map(|mapping| mapping.split(':'));
    global.oversubscribes |= raw.oversubscribes || mapping_words.any(|word| word.eq_ignore_ascii_case("oversubscribe"));
    global.set.extend(pairs("-genv", &raw.genv)?);
    if !options.apps.is_empty() && (raw.workers.is_some() || raw.worker_port.is_some()) {
        return Err(NothingToRun::UsageError("-workers belongs before the first program".into()));
    }
    if options.apps.is_empty() {
        // With a file of programs this runs twice, for the segment that names the file and for the file's first line:
        // what the line leaves out must not undo what the segment gives.
        options.workers = workers(raw)?.or(options.workers.take());
        // A host file that is a program is not run in vain.
        global.names_hosts |= raw.hosts.is_some() || raw.host_file.is_some();
        let (inherit, hosts) = (inherit(raw), if options.workers.is_some() { Vec::new() } else { hosts(raw)? });
        if inherit != EnvInheritance::All {
            global.inherit = inherit;
        }
        if !hosts.is_empty() {
            (options.hosts, options.hosts_variable) = (hosts, None);
        } else if options.workers.is_some() {
            // No remote shell leads to any of them.
            (options.launcher.kind, options.launcher.has_workers) = (LauncherKind::Fork, true);
        } else if options.hosts.is_empty()
            && raw.config_file.is_none()
            && let Some((hosts, variable)) = hosts_of_variables(global.environment, raw.info && raw.command.is_empty())?
        {
            (options.hosts, options.hosts_variable) = (hosts, Some(variable));
        }
    }
    Ok(())
}

/// Takes the destinations of the ranks' output, and the label of its lines.
fn take_outputs(raw: &RawOptions, outputs: &mut OutputOptions) -> Result<(), NothingToRun> {
    let pattern = |option: &str, text: &Option<OsString>| {
        let pattern = text.as_ref().map(|text| OutputPattern::parse(option, text));
        pattern.transpose().map_err(NothingToRun::UsageError)
    };
    if raw.label {
        outputs.label.get_or_insert_with(OutputPattern::rank_label);
    }
    for value in &raw.output {
        take_output(value, outputs)?;
    }
    if let Some(folder) = &raw.output_folder {
        outputs.take_folder(folder);
    }
    outputs.label = pattern("-prepend-pattern", &raw.prepend)?.or(outputs.label.take());
    let files = [pattern("-outfile-pattern", &raw.out_file)?, pattern("-errfile-pattern", &raw.err_file)?];
    if files.iter().any(Option::is_some) {
        if outputs.makes_folders {
            return Err(NothingToRun::UsageError(
                "files for the output are named twice; use one option for them".into(),
            ));
        }
        let [out, err] = files;
        (outputs.out, outputs.err) = (out.or(outputs.out.take()), err.or(outputs.err.take()));
    }
    Ok(())
}

/// Parses Open MPI 5's `--output`: labels, `dir=DIR` and `file=NAME`, with `nocopy` behind a colon.
fn take_output(value: &str, outputs: &mut OutputOptions) -> Result<(), NothingToRun> {
    // The words may stand in any order.
    let mut copies = true;
    for word in value.split([',', ':']) {
        match word.split_once('=').unwrap_or((word, "")) {
            ("tag" | "tag-detailed" | "tag-fullname" | "rank", "") => {
                outputs.label.get_or_insert_with(OutputPattern::rank_label);
            }
            ("dir", folder) if !folder.is_empty() => outputs.take_folder(folder.as_ref()),
            ("file", name) if !name.is_empty() => {
                let name = format!("{name}.");
                outputs.out = Some(OutputPattern::around_rank(name.as_ref(), true, ".out"));
                outputs.err = Some(OutputPattern::around_rank(name.as_ref(), true, ".err"));
                (outputs.makes_folders, outputs.copies) = (true, true);
            }
            ("nocopy", "") => copies = false,
            _ => {
                let text = format!("--output {word} is not supported, only tag, dir=DIR, file=NAME and nocopy");
                return Err(NothingToRun::UsageError(text));
            }
        }
    }
    outputs.copies &= copies;
    Ok(())
}

fn take_launcher(raw: &RawOptions, launcher: &mut Launcher) -> Result<(), NothingToRun> {
    if let Some(name) = &raw.launcher {
        let wrong = || {
            NothingToRun::UsageError(format!("--launcher {name} is not supported; ssh, rsh, slurm, flux and fork are"))
        };
        launcher.kind = LauncherKind::parse(name).ok_or_else(wrong)?;
    }
    if let Some(exec) = &raw.launcher_exec {
        if exec.trim().is_empty() {
            return Err(NothingToRun::UsageError("--launcher-exec names no command".into()));
        }
        launcher.exec = Some(exec.clone());
    }
    launcher.prefix = raw.installed.clone().or(launcher.prefix.take());
    Ok(())
}

/// Completes a launcher that must know the brokers of the hosts.
fn find_brokers(options: &mut JobOptions) -> Result<(), String> {
    if options.launcher.kind == LauncherKind::Flux {
        let hosts = options.hosts.iter().chain(options.apps.iter().flat_map(|app| &app.hosts));
        let names = hosts.map(|host| host.name.as_str()).filter(|name| options.launcher.shell(name, false).is_some());
        options.launcher.broker_ranks = flux::ranks(names.collect())?;
    }
    Ok(())
}

/// The hosts that the variables of other launchers name, or else those of the resource manager's allocation, and the
/// variable that names them. `--info` alone (`is_info`) is about this host, unless others are named.
fn hosts_of_variables(environment: Environment, is_info: bool) -> Result<Option<NamedHosts>, NothingToRun> {
    let named = foreign_variables::hosts(environment).map_err(NothingToRun::UsageError)?;
    if named.is_some() || is_info {
        Ok(named)
    } else {
        allocation::hosts(environment).map_err(NothingToRun::UsageError)
    }
}

/// Refuses what cannot be asked of a job with workers.
fn check_workers(options: &JobOptions, global: &GlobalOptions) -> Result<(), NothingToRun> {
    let error = if global.names_hosts || options.apps.iter().any(|app| !app.hosts.is_empty()) {
        "hosts are given twice; wait for workers (-workers) or name hosts, not both"
    } else if global.names_launcher {
        "workers connect by themselves: -workers takes no -launcher"
    } else if options.apps.is_empty() {
        "-workers needs a program"
    } else {
        return Ok(());
    };
    Err(NothingToRun::UsageError(error.into()))
}

/// The workers that a segment waits for.
fn workers(raw: &RawOptions) -> Result<Option<WorkersOptions>, NothingToRun> {
    let usage_error = |text: &str| Err(NothingToRun::UsageError(text.into()));
    match (raw.workers, raw.worker_port) {
        (None, Some(_)) => usage_error("-worker-port is the port of -workers N; a worker names it: -worker HOST:PORT"),
        (None, None) => Ok(None),
        (Some(0), _) => usage_error("-workers 0: leave the option out to run on this host alone"),
        (_, Some(0)) => usage_error("-worker-port 0 is no port; 1 to 65535 are"),
        (Some(count), port) => Ok(Some(WorkersOptions { count, port: port.unwrap_or(worker::PORT) })),
    }
}

/// The worker that the command line asks this process to be. `is_only`: there is no other segment.
fn worker(raw: &RawOptions, is_only: bool) -> Result<Option<WorkerOptions>, NothingToRun> {
    let usage_error = |text: String| Err(NothingToRun::UsageError(text));
    let Some(mpiexec) = &raw.worker else {
        return match raw.worker_slots {
            Some(_) => usage_error("-worker-slots is an option of a worker (-worker HOST)".into()),
            None => Ok(None),
        };
    };
    if !raw.command.is_empty() || !is_only || raw.workers.is_some() || raw.config_file.is_some() {
        return usage_error(
            "-worker takes no program: the mpiexec that waits for workers (-workers N) names it".into(),
        );
    }
    if raw.worker_port.is_some() {
        return usage_error(format!("-worker takes the port with the host: -worker {mpiexec}:PORT"));
    }
    match raw.worker_slots.map_or_else(cpus::available, |slots| slots as usize) {
        0 => usage_error("-worker-slots 0: a worker takes at least one rank".into()),
        slots => match WorkerOptions::parse(mpiexec, slots as u32) {
            None => usage_error(format!("-worker {mpiexec} is not HOST or HOST:PORT")),
            options => Ok(options),
        },
    }
}

/// The hosts that a segment names.
fn hosts(raw: &RawOptions) -> Result<Vec<HostEntry>, NothingToRun> {
    match (&raw.hosts, &raw.host_file) {
        (Some(_), Some(_)) => {
            Err(NothingToRun::UsageError("hosts are given twice; name them or their file, not both".into()))
        }
        (Some(list), None) => hosts::list(list).map_err(NothingToRun::UsageError),
        (None, Some(file)) => hosts::read(file).map_err(NothingToRun::UsageError),
        (None, None) => Ok(Vec::new()),
    }
}

/// Makes the program of a segment; None if the segment names none. Call it after `take_options` of the same segment.
fn app(raw: RawOptions, options: &JobOptions) -> Result<Option<AppOptions>, NothingToRun> {
    if raw.command.is_empty() {
        return Ok(None);
    }
    let own_hosts = if options.apps.is_empty() { Vec::new() } else { hosts(&raw)? };
    let hosts = if own_hosts.is_empty() { &options.hosts } else { &own_hosts };
    let soft = raw.soft.as_deref().map(|soft| apply_soft(soft, raw.ranks)).transpose()?;
    let ranks = match (soft.or(raw.ranks), options.per_host) {
        (Some(0), _) => return Err(NothingToRun::UsageError("-n 0: a program needs at least one rank".into())),
        (Some(ranks), _) => ranks,
        (None, _) if options.workers.is_some() => RANK_PER_SLOT,
        (None, per_host) if hosts.is_empty() => per_host.unwrap_or(1),
        (None, per_host) => hosts::slots(hosts, per_host),
    };
    let inherit = inherit(&raw);
    let mut set = pairs("-env", &raw.env)?;
    for text in &raw.export {
        let (name, value) = assignment(text).map_or((text.clone(), None), |(name, value)| (name, Some(value)));
        set.push((checked_name("-x", name)?, value));
    }
    Ok(Some(AppOptions {
        ranks,
        hosts: own_hosts,
        directory: raw.directory,
        path: raw.path.unwrap_or_default(),
        arch: raw.arch.unwrap_or_default(),
        command: raw.command,
        set,
        inherit,
    }))
}

/// The greatest number that is in the set of -soft (MPI-5.0 §11.8.4) and not above that of -n (`most`). It is an
/// error if there is none.
fn apply_soft(soft: &str, most: Option<u32>) -> Result<u32, NothingToRun> {
    let usage_error = |problem: &str| NothingToRun::UsageError(format!("-soft {soft} {problem}"));
    let most = i64::from(most.unwrap_or(u32::MAX));
    let all: Option<Vec<i64>> = soft.split(',').map(|triplet| greatest(triplet, most)).collect();
    let all = all.ok_or_else(|| usage_error("is no set of numbers such as 2,4 or 1:16:2"))?;
    match all.into_iter().max().filter(|&number| number > 0) {
        Some(number) => Ok(number as u32),
        None => Err(usage_error("has no number that -n allows")),
    }
}

/// The greatest number, not above `most`, of the set that `triplet` names: a single number, FROM:TO, or FROM:TO:STEP,
/// which counts down if STEP is negative. 0 if the set has no such number; None if the text names no set.
fn greatest(triplet: &str, most: i64) -> Option<i64> {
    let numbers: Option<Vec<i64>> =
        triplet.split(':').map(|number| number.trim().parse::<i32>().ok().map(i64::from)).collect();
    let (first, last, step) = match numbers?[..] {
        [only] => (only, only, 1),
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step),
        _ => return None,
    };
    let is_set = first >= 0 && last >= 0 && (step > 0 && first <= last || step < 0 && first >= last);
    // Counting down, the first number that is not above `most` may already be below `last`: then there is none.
    let found = match step > 0 {
        _ if !is_set => return None,
        true if first > most => 0,
        true => first + (last.min(most) - first) / step * step,
        false => first + ((first - most).max(0) - step - 1) / -step * step,
    };
    Some(if found < last.min(first) { 0 } else { found })
}

/// The number of ranks for each host, in the spelling of either launcher; None if no option gives it. Sockets, NUMA
/// nodes and cores are counted on this host.
fn per_host(raw: &RawOptions) -> Result<Option<u32>, NothingToRun> {
    let of_unit = |number: u32, unit_name: &str| match unit_name {
        "node" | "machine" | "board" => Some(number),
        _ => {
            Some(number.saturating_mul(cpus::domains(binding::unit(unit_name)?).map_or(1, |units| units.len() as u32)))
        }
    };
    let mut ranks = raw.per_host.or(raw.one_per_host.then_some(1));
    ranks = ranks.or(raw.per_socket.and_then(|number| of_unit(number, "socket")));
    for mapping in &raw.map_by {
        let mut words = mapping.split(':');
        if words.next() == Some("ppr") {
            let number = words.next().and_then(|number| number.parse().ok());
            ranks = number.zip(words.next()).and_then(|(number, unit_name)| of_unit(number, unit_name));
            if ranks.is_none() {
                return Err(NothingToRun::UsageError(format!(
                    "--map-by {mapping} is not ppr:N:node, ppr:N:socket, ppr:N:numa or ppr:N:core"
                )));
            }
        }
    }
    match ranks {
        Some(0) => Err(NothingToRun::UsageError("0 ranks for each host: a program needs at least one rank".into())),
        ranks => Ok(ranks),
    }
}

/// Parses the value of `--stdin`: `all`, `none`, or numbers and ranges of ranks. `size` is that of the job; 0 if it
/// has no program.
fn readers(stdin: &str, size: u64) -> Result<Vec<u32>, NothingToRun> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?)).filter(|(first, last)| first <= last)
    };
    match stdin {
        "none" => return Ok(Vec::new()),
        "all" => return Ok((0..size as u32).collect()),
        _ => {}
    }
    let Some(ranges) = stdin.split(',').map(range).collect::<Option<Vec<_>>>() else {
        return Err(NothingToRun::UsageError(format!(
            "--stdin {stdin} is neither all, none nor ranks such as 0 or 1,3-5"
        )));
    };
    if let Some((_, last)) = ranges.iter().find(|(_, last)| size > 0 && u64::from(*last) >= size) {
        return Err(NothingToRun::UsageError(format!("--stdin {stdin}: there is no rank {last} in a job of {size}")));
    }
    Ok(ranges.into_iter().flat_map(|(first, last)| (first..=last).take_while(|_| size > 0)).collect())
}

fn pairs(option: &str, flat: &[OsString]) -> Result<Vec<(OsString, Option<OsString>)>, NothingToRun> {
    flat.chunks_exact(2).map(|pair| Ok((checked_name(option, pair[0].clone())?, Some(pair[1].clone())))).collect()
}

/// Checks that a variable can have this name.
fn checked_name(option: &str, name: OsString) -> Result<OsString, NothingToRun> {
    match name.is_empty() || name.as_bytes().contains(&b'=') {
        true => Err(NothingToRun::UsageError(format!("{option}: a variable needs a name; write {option} NAME=VALUE"))),
        false => Ok(name),
    }
}

fn inherit(raw: &RawOptions) -> EnvInheritance {
    match &raw.env_list {
        Some(list) => EnvInheritance::Only(
            list.as_bytes().split(|&b| b == b',').map(|name| OsStr::from_bytes(name).into()).collect(),
        ),
        None if raw.env_none && !raw.env_all => EnvInheritance::None,
        None => EnvInheritance::All,
    }
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
