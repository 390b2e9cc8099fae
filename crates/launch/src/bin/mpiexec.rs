//! mpiexec: reads the command line, then runs the job (`job_control`). With certain first arguments it is one of the
//! processes that mpiexec itself starts: the agent, an agent's supervisor, the heartbeat process, the relay to a
//! worker, or those between it and an agent that Flux has started.
#![forbid(unsafe_code)]

use hawser_launch::args::{self, JobOptions, NothingToRun};
use hawser_launch::failure::{EXIT_FAILURE, EXIT_SIGNAL, EXIT_USAGE};
use hawser_launch::params;
use hawser_launch::worker::listener::{self, NoWorkers, Worker};
use hawser_launch::worker::token::Token;
use hawser_launch::worker::{self, relay, worker_host};
use hawser_launch::{agent, flux_exec, heartbeat, info, job_control};
use hawser_node::profile::{self, ProfileStatus};
use hawser_node::unknown_variables;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::exit;
use std::time::Duration;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = arguments.first().and_then(|first| run_subcommand(first.to_str()?, &arguments[1..])) {
        exit(code);
    }
    let environment = |name: &str| std::env::var(name).ok();
    let mut options = args::parse(&arguments, &environment).unwrap_or_else(run_nothing);
    if options.worker.is_none() && options.workers.is_none() {
        exit(start(options, Vec::new()));
    }
    let setting = Token::from_environment(&environment).and_then(|token| Ok((token, worker::timeout_s(&environment)?)));
    let (token, timeout_s) = setting.unwrap_or_else(|error| fail(&error, EXIT_USAGE));
    if let Some(worker) = &options.worker {
        exit(worker_host::run(worker, &token, timeout_s));
    }
    let Some(expected) = &options.workers else { return };
    match listener::await_workers(expected, &token, timeout_s, options.verbose) {
        Ok(workers) => {
            if let Err(reason) = args::place_on_workers(&mut options, listener::hosts(&workers)) {
                run_nothing(reason);
            }
            exit(start(options, workers))
        }
        Err(NoWorkers::Error(text)) => fail(&text, EXIT_FAILURE),
        Err(NoWorkers::Signal(signal)) => exit(EXIT_SIGNAL + signal),
    }
}

/// Prints why there is nothing to run, and ends.
fn run_nothing(reason: NothingToRun) -> JobOptions {
    match reason {
        NothingToRun::Print(text) => print(&text),
        NothingToRun::UsageError(text) => fail(&text, EXIT_USAGE),
    }
    exit(0)
}

/// Runs one of the processes that mpiexec starts from its own binary, and returns its exit code; None if `subcommand`
/// names none.
fn run_subcommand(subcommand: &str, rest: &[OsString]) -> Option<i32> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let supervisor_pid = || rest.first()?.to_str()?.parse().ok();
    match subcommand {
        agent::SUBCOMMAND => Some(agent::main(stdin.as_fd(), stdout.as_fd(), supervisor_pid())),
        agent::supervisor::SUBCOMMAND => Some(agent::supervisor::main(stdout.as_fd())),
        relay::SUBCOMMAND => {
            let (local, connection) = (stdin.as_fd().try_clone_to_owned(), stdout.as_fd().try_clone_to_owned());
            Some(local.and_then(|local| Ok(relay::main(local, connection?))).unwrap_or(EXIT_FAILURE))
        }
        flux_exec::SUBCOMMAND => Some(flux_exec::main(rest)),
        flux_exec::ENCODER => Some(flux_exec::encode()),
        heartbeat::SUBCOMMAND => Some(stdin.as_fd().try_clone_to_owned().map_or(EXIT_FAILURE, heartbeat::main)),
        _ => None,
    }
}

fn start(mut options: JobOptions, workers: Vec<Worker>) -> i32 {
    options.profile = match params::check().and_then(|()| profile::find()) {
        Ok(profile) => profile,
        Err(error) => fail(error.cause(), EXIT_USAGE),
    };
    let set = options.apps.iter().flat_map(|app| app.set.iter().map(|(name, _)| name.clone()));
    for line in unknown_variables::warnings(std::env::vars_os().map(|(name, _)| name).chain(set)) {
        let _ = writeln!(io::stderr(), "mpiexec: {line}");
    }
    if matches!(options.profile, ProfileStatus::Ignored { .. }) && !options.info {
        let _ = writeln!(io::stderr(), "mpiexec: profile {}", options.profile);
    }
    if let Some(variable) = options.hosts_variable.filter(|_| options.verbose) {
        let _ = writeln!(io::stderr(), "mpiexec: the hosts are those of {variable}");
    }
    // If hosts are named, `job_control` requests the information from their agents.
    if options.info && options.hosts.is_empty() {
        let ranks = options.apps.iter().map(|app| app.ranks).sum::<u32>().max(2);
        let text = info::text(ranks as usize, &options.profile);
        if options.apps.is_empty() {
            print(&text);
            return 0;
        }
        eprint!("{text}");
    }
    if options.timeout.is_none() {
        options.timeout = params::TIMEOUT.number().ok().filter(|&s| s > 0).map(Duration::from_secs);
    }
    let stats = options.stats || params::STATS.flag().unwrap_or(false);
    let hang_s = params::HANG.number().unwrap_or(0);
    let unreached_s = params::UNREACHED.number().unwrap_or(0);
    match job_control::run(&options, workers, stats, hang_s, unreached_s) {
        Ok(code) => code,
        Err(error) => fail(&error.to_string(), EXIT_FAILURE),
    }
}

/// Prints `text` to the standard output. It is no error if the reader of the output is gone.
fn print(text: &str) {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&format!("standard output cannot be written: {error}; send it elsewhere"), EXIT_FAILURE)
        }
        _ => {}
    }
}

fn fail(text: &str, code: i32) -> ! {
    let _ = writeln!(io::stderr(), "mpiexec: {text}");
    exit(code)
}
