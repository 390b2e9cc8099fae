//! `hawser-bench doctor`: its options, the hosts that they name, and the order of what is done with them.
//!
//! Used by `main`; uses `hosts`, `pair`, `record`, `text`.

use super::hosts::{HostError, HostProcess, LaunchOptions, START_TIMEOUT, STEP_TIMEOUT};
use super::pair::{self, HostPair};
use super::ports::RankPorts;
use super::protocol::{DoctorCommand, DoctorReply};
use super::record::{self, DoctorRecord, PairRecord};
use super::{collect, text};
use crate::command::{INTERRUPTED, stopped_by_ctrl_c};
use clap::Args;
use hawser_boot::hosts as names;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Args)]
pub struct DoctorOptions {
    /// Hosts of a job, for example a,b,c (default: only this machine)
    #[arg(value_name = "HOST,...", conflicts_with = "host_file")]
    hosts: Option<String>,
    /// Read the hosts from this file, one per line, in mpiexec's format
    #[arg(short = 'f', long = "hostfile", alias = "machinefile", value_name = "FILE")]
    host_file: Option<PathBuf>,
    /// Program that starts processes on other hosts, as for mpiexec: ssh (default), rsh, slurm or flux; fork: all run
    /// on this host
    #[arg(long, alias = "bootstrap", value_parser = ["ssh", "rsh", "slurm", "flux", "fork"])]
    launcher: Option<String>,
    /// Remote shell to use, with its options, as for mpiexec
    #[arg(long, alias = "bootstrap-exec", value_name = "COMMAND")]
    launcher_exec: Option<String>,
    /// Installation prefix of Hawser on other hosts, if it differs from this host's
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Write all results to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The exit code if something does not work. Advice does not count.
const BROKEN: u8 = 1;
/// The exit code of clap for wrong options.
const USAGE: u8 = 2;

pub fn run(options: &DoctorOptions) -> Result<u8, String> {
    let possible = options.json.as_deref().map_or(Ok(()), DoctorRecord::check_writable);
    let hosts = match possible.and_then(|()| host_names(options)) {
        Ok(hosts) => hosts,
        Err(error) => {
            eprintln!("hawser-bench: doctor: {error}");
            return Ok(USAGE);
        }
    };
    let stop = if hosts.is_empty() { Arc::default() } else { stopped_by_ctrl_c()? };
    let mut record = DoctorRecord::new();
    let expected = if hosts.is_empty() {
        let facts = collect::host_facts();
        add_host(&mut record, record::HostRecord::examined(&facts.name.clone(), facts));
        0
    } else {
        inspect_hosts(&hosts, options, &mut record, &stop)?
    };
    let is_interrupted = stop.load(Relaxed);
    record.complete = record.is_uninterrupted() && !is_interrupted;
    if is_interrupted {
        eprintln!("hawser-bench: doctor: interrupted: {} of {expected} pairs tested", record.tested_pairs());
    }
    print_text(&format!("\n{}", text::remedies_text(&record)));
    if let Some(path) = &options.json {
        record.write(path)?;
    }
    Ok(match (is_interrupted, record.is_well()) {
        (true, _) => INTERRUPTED,
        (false, true) => 0,
        (false, false) => BROKEN,
    })
}

/// The names of the hosts, each once, as they are written.
fn host_names(options: &DoctorOptions) -> Result<Vec<String>, String> {
    let entries = match (&options.hosts, &options.host_file) {
        (Some(list), _) => names::list(list)?,
        (None, Some(file)) => names::read(file)?,
        (None, None) => Vec::new(),
    };
    let mut hosts: Vec<String> = Vec::new();
    for entry in entries {
        if !hosts.contains(&entry.name) {
            hosts.push(entry.name);
        }
    }
    Ok(hosts)
}

/// A host that was reached, and the ports of a rank on it.
struct ReachableHost<'a> {
    host: &'a mut HostProcess,
    ports: RankPorts,
}

fn random<const N: usize>() -> Result<[u8; N], String> {
    hawser_os::host::random().map_err(|error| error.to_string())
}

/// Examines hosts and pairs. Returns how many pairs there are to test.
fn inspect_hosts(
    hosts: &[String],
    options: &DoctorOptions,
    record: &mut DoctorRecord,
    stop: &AtomicBool,
) -> Result<usize, String> {
    let launch = LaunchOptions {
        launcher: options.launcher.clone(),
        launcher_exec: options.launcher_exec.clone(),
        prefix: options.prefix.clone(),
    };
    let is_elsewhere = options.launcher.as_deref() != Some("fork");

    let (job, secret) = (u32::from_le_bytes(random()?), random()?);
    // All hosts at once: each may take its time to log in, and to end.
    let mut started: Vec<_> = hosts.iter().map(|name| (name, HostProcess::start(name, &launch))).collect();
    let reachable = reachable_hosts(&mut started, is_elsewhere, record, stop);
    let mut with_ports = Vec::new();
    let mut count = reachable.len();
    let ranks = count as u32;
    for (rank, host) in (0..ranks).zip(reachable) {
        let open = DoctorCommand::Open { job, secret, rank, ranks };
        // A single host has no paths to be tested.
        match if count < 2 { break } else { ports_of(host, rank, &open, stop) } {
            Ok(ports) => with_ports.push(ReachableHost { host, ports }),
            Err(HostError::Interrupted) => break,
            Err(HostError::Cause(cause)) => {
                count -= 1;
                report_lost(record, &host.name, cause);
            }
        }
    }
    if !stop.load(Relaxed) {
        // The token is random, so that no other user knows which frames are ours.
        test_pairs(&mut with_ports, record, u32::from_le_bytes(random()?), stop);
    }
    drop(with_ports);
    started.iter_mut().filter_map(|(_, host)| host.as_mut().ok()).for_each(HostProcess::terminate);
    Ok(count * count.saturating_sub(1) / 2)
}

/// The hosts that could be examined, and those that were not because of Ctrl-C.
fn reachable_hosts<'a>(
    started: &'a mut [(&String, Result<HostProcess, HostError>)],
    is_elsewhere: bool,
    record: &mut DoctorRecord,
    stop: &AtomicBool,
) -> Vec<&'a mut HostProcess> {
    let mut reachable = Vec::new();
    for (name, host) in started {
        let host = match host {
            Ok(host) => host,
            Err(error) => {
                report_lost(record, name, error.to_string());
                continue;
            }
        };
        match inspect_host(host, stop) {
            Ok(found) if is_elsewhere && is_known(record, &found) => {
                print_text(&format!("host {name} is another name of a host already listed\n"));
            }
            Ok(found) => {
                add_host(record, found);
                reachable.push(host);
            }
            Err(HostError::Interrupted) => reachable.push(host),
            Err(HostError::Cause(cause)) => report_lost(record, name, cause),
        }
    }
    reachable
}

fn ports_of(
    host: &mut HostProcess,
    rank: u32,
    open: &DoctorCommand,
    stop: &AtomicBool,
) -> Result<RankPorts, HostError> {
    match host.request_reply(open, STEP_TIMEOUT, stop)? {
        DoctorReply::Ports(ends) => RankPorts::of(rank, ends).ok_or_else(|| host.protocol_error()),
        _ => Err(host.protocol_error()),
    }
}

/// Whether this host was already examined, under another name.
fn is_known(record: &DoctorRecord, found: &record::HostRecord) -> bool {
    let identity = |host: &record::HostRecord| host.facts.as_ref().and_then(|facts| facts.identity.clone());
    let own = identity(found);
    own.is_some() && record.hosts.iter().any(|host| identity(host) == own)
}

fn inspect_host(host: &mut HostProcess, stop: &AtomicBool) -> Result<record::HostRecord, HostError> {
    match host.request_reply(&DoctorCommand::Look, START_TIMEOUT, stop)? {
        DoctorReply::Facts(facts) => Ok(record::HostRecord::examined(&host.name, *facts)),
        _ => Err(host.protocol_error()),
    }
}

/// Tests each pair in turn: two at once would share the network.
fn test_pairs(reachable: &mut [ReachableHost<'_>], record: &mut DoctorRecord, mut token: u32, stop: &AtomicBool) {
    for first in 0..reachable.len() {
        for second in first + 1..reachable.len() {
            let (before, behind) = reachable.split_at_mut(second);
            let both = [&mut before[first], &mut behind[0]];
            let hosts = [0, 1].map(|side| both[side].host.name.clone());
            let versions = [0, 1].map(|side| version_of(record, &hosts[side]));
            let mut pair = HostPair { hosts, versions, ..HostPair::default() };
            pair.cut_off = pair
                .hosts
                .iter()
                .find(|name| is_lost(record, name))
                .map(|name| HostError::Cause(format!("host {name} is lost")));
            if pair.cut_off.is_none() {
                test_pair(&mut pair, both, record, &mut token, stop);
            }
            add_pair(record, PairRecord::examined(pair));
            if stop.load(Relaxed) {
                return;
            }
        }
    }
}

fn test_pair(
    pair: &mut HostPair,
    both: [&mut ReachableHost<'_>; 2],
    record: &mut DoctorRecord,
    token: &mut u32,
    stop: &AtomicBool,
) {
    if io::stderr().is_terminal() {
        eprintln!("hawser-bench: doctor: testing {}", pair.hosts.join(" - "));
    }
    let [one, other] = both;
    let ports = [&one.ports, &other.ports];
    let Err(error) = pair::measure(pair, [&mut *one.host, &mut *other.host], ports, token, stop) else { return };
    pair.cut_off = Some(error.clone());
    let HostError::Cause(cause) = error else { return };
    eprintln!("hawser-bench: doctor: {cause}");
    *token = token.wrapping_add(1);
    for host in [&mut *one.host, &mut *other.host] {
        if !host.becomes_idle(*token, stop) && !stop.load(Relaxed) {
            mark_lost(record, &host.name, cause.clone());
        }
    }
}

fn is_lost(record: &DoctorRecord, name: &str) -> bool {
    record.hosts.iter().any(|host| host.name == name && host.lost.is_some())
}

/// The version of Hawser on a host that was examined.
fn version_of(record: &DoctorRecord, name: &str) -> String {
    let facts = record.hosts.iter().find(|host| host.name == name).and_then(|host| host.facts.as_ref());
    facts.map_or_else(String::new, |facts| facts.version.clone())
}

fn add_host(record: &mut DoctorRecord, host: record::HostRecord) {
    print_text(&text::host_text(&host));
    record.hosts.push(host);
}

fn add_pair(record: &mut DoctorRecord, pair: PairRecord) {
    print_text(&format!("\n{}", text::pair_text(&pair)));
    record.pairs.push(pair);
}

/// A reader that has gone away is not an error.
fn print_text(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn report_lost(record: &mut DoctorRecord, name: &str, cause: String) {
    eprintln!("hawser-bench: doctor: {cause}");
    mark_lost(record, name, cause);
}

fn mark_lost(record: &mut DoctorRecord, name: &str, cause: String) {
    match record.hosts.iter_mut().find(|host| host.name == name) {
        Some(host) => host.lost = Some(cause),
        None => record.hosts.push(record::HostRecord::lost(name, cause)),
    }
}
