//! mpiexec's command line: MPICH's and Open MPI's spellings, one meaning.
//!
//! Both write long options with one dash; `normalise` gives them two before clap sees them, and finds where the
//! program's own arguments begin. Options that mean nothing here are taken silently. Nothing is started here.

use crate::frames::Binding;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use hawser_os::host;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Start the ranks of an MPI program.
#[derive(Parser, Debug)]
#[command(
    name = "mpiexec",
    version,
    about = "Starts the ranks of an MPI program under Hawser",
    override_usage = "mpiexec [OPTIONS] PROGRAM [ARGS] [: [OPTIONS] PROGRAM [ARGS]]...",
    after_help = "Long options may have one dash. Exit codes: the first failing rank's; 128 + N after signal N; 124 after \
                  --timeout; 127 or 126 if a program is not found or cannot be executed; 2 for a wrong command line."
)]
struct Raw {
    /// Number of ranks
    #[arg(short = 'n', short_alias = 'c', long = "np", alias = "n", value_name = "N")]
    ranks: Option<u32>,
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
    /// Open MPI 5's way to say `-l`
    #[arg(long = "output", value_name = "HOW", hide = true)]
    output: Vec<String>,
    /// Report and end the job after this time
    #[arg(short = 't', long = "timeout", value_name = "SECONDS", allow_negative_numbers = true)]
    timeout_s: Option<f64>,
    /// Give each rank a core of its own: core or none (the default)
    #[arg(long = "bind-to", value_name = "WHAT")]
    bind_to: Option<String>,
    /// Hosts to run on: this one only, in this version
    #[arg(short = 'H', long = "hosts", aliases = ["host"], value_name = "HOST,...")]
    hosts: Option<String>,
    /// A file of hosts
    #[arg(short = 'f', long = "hostfile", aliases = ["machinefile", "default-hostfile"], value_name = "FILE")]
    host_file: Option<PathBuf>,
    /// Print every rank's counters at the end
    #[arg(long = "stats")]
    stats: bool,
    /// Print what was detected and chosen; without a program that is all
    #[arg(long = "info")]
    info: bool,
    /// Say what is done
    #[arg(short = 'v', long = "verbose")]
    verbose: bool,
    /// Behind the `--` of `normalise`, where nothing is an option.
    #[arg(last = true, hide = true)]
    command: Vec<OsString>,
}

/// Options of other launchers that change nothing here, by the number of values that they take.
const SILENT: [&[&str]; 3] = [
    &[
        "oversubscribe",
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
        "enable-recovery",
        "disable-auto-cleanup",
        "disable-hostname-propagation",
        "print-rank-map",
        "print-all-exitcodes",
        "tag-output-fully",
        "do-not-launch",
        "localonly",
        "noprefix",
    ],
    &[
        "map-by",
        "rank-by",
        "ppn",
        "perhost",
        "N",
        "npernode",
        "npersocket",
        "order-nodes",
        "rmk",
        "launcher",
        "bootstrap",
        "launcher-exec",
        "iface",
        "usize",
        "prefix",
        "display",
        "membind",
        "topolib",
        "runtime-options",
        "ckpoint",
    ],
    &["mca", "gmca", "prtemca", "pmixmca", "omca"],
];

/// A program, its ranks and its environment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AppOptions {
    pub ranks: u32,
    pub directory: Option<PathBuf>,
    pub command: Vec<OsString>,
    /// Variables that are set, later ones over earlier ones; no value: passed on as it is.
    pub set: Vec<(OsString, Option<OsString>)>,
    pub inherit: Inherit,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Inherit {
    #[default]
    All,
    None,
    Only(Vec<OsString>),
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    pub apps: Vec<AppOptions>,
    pub timeout: Option<Duration>,
    pub binding: Binding,
    pub prefix: bool,
    pub stats: bool,
    pub info: bool,
    pub verbose: bool,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Help or version, to be printed.
    Print(String),
    /// One line.
    Wrong(String),
}

/// Reads the arguments after the program's own name.
pub fn parse(arguments: &[OsString]) -> Result<Options, Stop> {
    let mut command = command();
    command.build();
    let mut options = Options::default();
    let mut general = AppOptions::default();
    for (number, segment) in arguments.split(|argument| argument == ":").enumerate() {
        let raw = raw(&command, segment)?;
        take_options(&raw, &mut options, &mut general)?;
        match app(raw)? {
            Some(app) => options.apps.push(app),
            None if number == 0 && options.info && segment.len() == arguments.len() => {}
            None => return Err(Stop::Wrong("no program is given; mpiexec --help tells how".into())),
        }
    }
    for app in &mut options.apps {
        let own = std::mem::take(&mut app.set);
        app.set = general.set.iter().cloned().chain(own).collect();
        if app.inherit == Inherit::All {
            app.inherit = general.inherit.clone();
        }
    }
    Ok(options)
}

fn command() -> Command {
    let mut command = Raw::command();
    for (values, names) in SILENT.iter().enumerate() {
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

fn raw(command: &Command, segment: &[OsString]) -> Result<Raw, Stop> {
    let tokens = std::iter::once("mpiexec".into()).chain(normalise(command, segment)?);
    let matches: Result<ArgMatches, clap::Error> = command.clone().try_get_matches_from(tokens);
    matches.and_then(|matches| Raw::from_arg_matches(&matches)).map_err(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => Stop::Print(error.to_string()),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Stop::Wrong(format!("{}; mpiexec --help lists the options", first.trim_start_matches("error: ")))
        }
    })
}

/// Long options get their second dash, and `--` is put before the program.
fn normalise(command: &Command, segment: &[OsString]) -> Result<Vec<OsString>, Stop> {
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
        let Some((arg, long)) = find(command, name) else {
            return Err(Stop::Wrong(format!("there is no option {text}; mpiexec --help lists them")));
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

/// The name and the value of `NAME=VALUE`.
fn assignment(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=')?;
    Some((OsStr::from_bytes(&bytes[..at]).into(), OsStr::from_bytes(&bytes[at + 1..]).into()))
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

/// What holds for the whole job, wherever it is written.
fn take_options(raw: &Raw, options: &mut Options, general: &mut AppOptions) -> Result<(), Stop> {
    options.prefix |= raw.label;
    for word in raw.output.iter().flat_map(|how| how.split([',', ':'])) {
        match word {
            "tag" | "tag-detailed" | "tag-fullname" | "rank" => options.prefix = true,
            _ => return Err(Stop::Wrong(format!("--output {word} is not offered here, only --output tag"))),
        }
    }
    options.stats |= raw.stats;
    options.info |= raw.info;
    options.verbose |= raw.verbose;
    if let Some(seconds) = raw.timeout_s {
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|t| !t.is_zero());
        options.timeout =
            Some(timeout.ok_or_else(|| Stop::Wrong(format!("--timeout {seconds} is no time in seconds")))?);
    }
    if let Some(what) = &raw.bind_to {
        options.binding = binding(what)?;
    }
    if let Some(hosts) = &raw.hosts {
        hosts.split(',').try_for_each(this_host)?;
    }
    if let Some(file) = &raw.host_file {
        read_host_file(file)?;
    }
    general.set.extend(pairs(&raw.genv));
    if options.apps.is_empty() {
        general.inherit = inherit(raw);
    }
    Ok(())
}

fn app(raw: Raw) -> Result<Option<AppOptions>, Stop> {
    if raw.command.is_empty() {
        return Ok(None);
    }
    let ranks = raw.ranks.unwrap_or(1);
    if ranks == 0 {
        return Err(Stop::Wrong("-n 0: a program needs at least one rank".into()));
    }
    let inherit = inherit(&raw);
    let mut set: Vec<_> = pairs(&raw.env).collect();
    set.extend(raw.export.iter().map(|text| match assignment(text) {
        Some((name, value)) => (name, Some(value)),
        None => (text.clone(), None),
    }));
    Ok(Some(AppOptions { ranks, directory: raw.directory, command: raw.command, set, inherit }))
}

fn pairs(flat: &[OsString]) -> impl Iterator<Item = (OsString, Option<OsString>)> + '_ {
    flat.chunks_exact(2).map(|pair| (pair[0].clone(), Some(pair[1].clone())))
}

fn inherit(raw: &Raw) -> Inherit {
    match &raw.env_list {
        Some(list) => {
            Inherit::Only(list.as_bytes().split(|&b| b == b',').map(|name| OsStr::from_bytes(name).into()).collect())
        }
        None if raw.env_none && !raw.env_all => Inherit::None,
        None => Inherit::All,
    }
}

/// `core`, or `core:overload-allowed` and other details that we need not tell apart.
fn binding(what: &str) -> Result<Binding, Stop> {
    match what.split(':').next().unwrap_or_default() {
        "core" | "hwthread" | "hwt" | "cpu" | "rr" => Ok(Binding::Core),
        "none" | "user" | "machine" | "board" | "socket" | "package" | "numa" | "l1cache" | "l2cache" | "l3cache"
        | "slot" => Ok(Binding::None),
        _ => Err(Stop::Wrong(format!("--bind-to {what} is neither core nor none"))),
    }
}

fn this_host(entry: &str) -> Result<(), Stop> {
    let own = host::name();
    let short = own.split('.').next().unwrap_or_default();
    let known = ["localhost", "127.0.0.1", "::1", &own, short];
    let entry = entry.trim();
    let name = if known.contains(&entry) { entry } else { entry.split(':').next().unwrap_or_default() };
    if known.contains(&name) {
        return Ok(());
    }
    Err(Stop::Wrong(format!(
        "host {name} is not this one: several hosts come with a later version; leave the option out or say localhost"
    )))
}

fn read_host_file(file: &Path) -> Result<(), Stop> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Stop::Wrong(format!("the file of hosts {} cannot be read: {error}", file.display())))?;
    let names = text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    names.into_iter().try_for_each(this_host)
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
