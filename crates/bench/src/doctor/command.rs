//! `hawser-bench doctor`: its options, the hosts that they name, and the order of what is done with them.
//!
//! Used by `main`; uses `hosts`, `pair`, `record`, `text`.

use super::hosts::{Host, Launch, Lost, STARTS_WITHIN, STEP};
use super::orders::{Order, Reply};
use super::pair::{self, Pair};
use super::ports::Ports;
use super::record::{self, Between, Record};
use super::{look, text};
use crate::command::{INTERRUPTED, stopped_by_ctrl_c};
use clap::Args;
use hawser_boot::hosts as names;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Args)]
pub struct Options {
    /// The hosts of a job, as in a,b,c; without any this machine alone is looked at
    #[arg(value_name = "HOST,...", conflicts_with = "host_file")]
    hosts: Option<String>,
    /// A file of hosts, one a line, as mpiexec takes it
    #[arg(short = 'f', long = "hostfile", alias = "machinefile", value_name = "FILE")]
    host_file: Option<PathBuf>,
    /// What starts processes on other hosts, as for mpiexec: ssh (the default), rsh; fork for none, all run here
    #[arg(long, alias = "bootstrap", value_parser = ["ssh", "rsh", "fork"])]
    launcher: Option<String>,
    /// The remote shell to use, with its options, as for mpiexec
    #[arg(long, alias = "bootstrap-exec", value_name = "COMMAND")]
    launcher_exec: Option<String>,
    /// Where Hawser is installed on other hosts, if elsewhere than here
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Write all that was found to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The exit code if something does not work. Advice does not count.
const BROKEN: u8 = 1;
/// The exit code of clap for wrong options.
const USAGE: u8 = 2;

pub fn run(options: &Options) -> Result<u8, String> {
    let possible = options.json.as_deref().map_or(Ok(()), Record::try_place);
    let hosts = match possible.and_then(|()| named(options)) {
        Ok(hosts) => hosts,
        Err(wrong) => {
            eprintln!("hawser-bench: doctor: {wrong}");
            return Ok(USAGE);
        }
    };
    let stop = if hosts.is_empty() { Arc::default() } else { stopped_by_ctrl_c()? };
    let mut record = Record::begun();
    let expected = if hosts.is_empty() {
        let facts = look::here();
        add(&mut record, record::Host::found(&facts.name.clone(), facts));
        0
    } else {
        visit(&hosts, options, &mut record, &stop)?
    };
    let is_interrupted = stop.load(Relaxed);
    record.complete = record.is_whole() && !is_interrupted;
    if is_interrupted {
        eprintln!("hawser-bench: doctor: interrupted: {} of {expected} pairs tested", record.tested());
    }
    say(&format!("\n{}", text::changes(&record)));
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
fn named(options: &Options) -> Result<Vec<String>, String> {
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
struct Present<'a> {
    host: &'a mut Host,
    ports: Ports,
}

fn random<const N: usize>() -> Result<[u8; N], String> {
    hawser_os::host::random().map_err(|error| error.to_string())
}

/// Examines hosts and pairs. Returns how many pairs there are to test.
fn visit(hosts: &[String], options: &Options, record: &mut Record, stop: &AtomicBool) -> Result<usize, String> {
    let launch = Launch {
        launcher: options.launcher.clone(),
        launcher_exec: options.launcher_exec.clone(),
        prefix: options.prefix.clone(),
    };
    let is_elsewhere = options.launcher.as_deref() != Some("fork");

    let (job, secret) = (u32::from_le_bytes(random()?), random()?);
    // All hosts at once: each may take its time to log in, and to end.
    let mut started: Vec<_> = hosts.iter().map(|name| (name, Host::start(name, &launch))).collect();
    let present = present(&mut started, is_elsewhere, record, stop);
    let mut with_ports = Vec::new();
    let mut count = present.len();
    let ranks = count as u32;
    for (rank, host) in (0..ranks).zip(present) {
        let open = Order::Open { job, secret, rank, ranks };
        // A single host has no paths to be tested.
        match if count < 2 { break } else { ports_of(host, rank, &open, stop) } {
            Ok(ports) => with_ports.push(Present { host, ports }),
            Err(Lost::Interrupted) => break,
            Err(Lost::Cause(cause)) => {
                count -= 1;
                lost(record, &host.name, cause);
            }
        }
    }
    if !stop.load(Relaxed) {
        // The token is random, so that no other user knows which frames are ours.
        pairs(&mut with_ports, record, u32::from_le_bytes(random()?), stop);
    }
    drop(with_ports);
    started.iter_mut().filter_map(|(_, host)| host.as_mut().ok()).for_each(Host::dismiss);
    Ok(count * count.saturating_sub(1) / 2)
}

/// The hosts that could be examined, and those that were not because of Ctrl-C.
fn present<'a>(
    started: &'a mut [(&String, Result<Host, Lost>)],
    is_elsewhere: bool,
    record: &mut Record,
    stop: &AtomicBool,
) -> Vec<&'a mut Host> {
    let mut present = Vec::new();
    for (name, host) in started {
        let host = match host {
            Ok(host) => host,
            Err(why) => {
                lost(record, name, why.to_string());
                continue;
            }
        };
        match look_at(host, stop) {
            Ok(found) if is_elsewhere && is_known(record, &found) => {
                say(&format!("host {name} is one of these by another name\n"));
            }
            Ok(found) => {
                add(record, found);
                present.push(host);
            }
            Err(Lost::Interrupted) => present.push(host),
            Err(Lost::Cause(cause)) => lost(record, name, cause),
        }
    }
    present
}

fn ports_of(host: &mut Host, rank: u32, open: &Order, stop: &AtomicBool) -> Result<Ports, Lost> {
    match host.ask(open, STEP, stop)? {
        Reply::Ports(ends) => Ports::of(rank, ends).ok_or_else(|| host.strange()),
        _ => Err(host.strange()),
    }
}

/// Whether a host that was examined has another name beside this one.
fn is_known(record: &Record, found: &record::Host) -> bool {
    let identity = |host: &record::Host| host.facts.as_ref().and_then(|facts| facts.identity.clone());
    let own = identity(found);
    own.is_some() && record.hosts.iter().any(|host| identity(host) == own)
}

fn look_at(host: &mut Host, stop: &AtomicBool) -> Result<record::Host, Lost> {
    match host.ask(&Order::Look, STARTS_WITHIN, stop)? {
        Reply::Facts(facts) => Ok(record::Host::found(&host.name, *facts)),
        _ => Err(host.strange()),
    }
}

/// Tests each pair in turn: two at once would share the network.
fn pairs(present: &mut [Present<'_>], record: &mut Record, mut token: u32, stop: &AtomicBool) {
    for first in 0..present.len() {
        for second in first + 1..present.len() {
            let (before, behind) = present.split_at_mut(second);
            let both = [&mut before[first], &mut behind[0]];
            let hosts = [0, 1].map(|side| both[side].host.name.clone());
            let versions = [0, 1].map(|side| version_of(record, &hosts[side]));
            let mut pair = Pair { hosts, versions, ..Pair::default() };
            pair.cut_off = pair
                .hosts
                .iter()
                .find(|name| is_lost(record, name))
                .map(|name| Lost::Cause(format!("host {name} is lost")));
            if pair.cut_off.is_none() {
                test(&mut pair, both, record, &mut token, stop);
            }
            add_pair(record, Between::found(pair));
            if stop.load(Relaxed) {
                return;
            }
        }
    }
}

fn test(pair: &mut Pair, both: [&mut Present<'_>; 2], record: &mut Record, token: &mut u32, stop: &AtomicBool) {
    if io::stderr().is_terminal() {
        eprintln!("hawser-bench: doctor: testing {}", pair.hosts.join(" - "));
    }
    let [one, other] = both;
    let ports = [&one.ports, &other.ports];
    let Err(why) = pair::measure(pair, [&mut *one.host, &mut *other.host], ports, token, stop) else { return };
    pair.cut_off = Some(why.clone());
    let Lost::Cause(cause) = why else { return };
    eprintln!("hawser-bench: doctor: {cause}");
    *token = token.wrapping_add(1);
    for host in [&mut *one.host, &mut *other.host] {
        if !host.comes_to_rest(*token, stop) && !stop.load(Relaxed) {
            mark_lost(record, &host.name, cause.clone());
        }
    }
}

fn is_lost(record: &Record, name: &str) -> bool {
    record.hosts.iter().any(|host| host.name == name && host.lost.is_some())
}

/// The version of Hawser on a host that was examined.
fn version_of(record: &Record, name: &str) -> String {
    let facts = record.hosts.iter().find(|host| host.name == name).and_then(|host| host.facts.as_ref());
    facts.map_or_else(String::new, |facts| facts.version.clone())
}

fn add(record: &mut Record, host: record::Host) {
    say(&text::host(&host));
    record.hosts.push(host);
}

fn add_pair(record: &mut Record, between: Between) {
    say(&format!("\n{}", text::between(&between)));
    record.pairs.push(between);
}

/// A reader that has gone away is not an error.
fn say(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn lost(record: &mut Record, name: &str, cause: String) {
    eprintln!("hawser-bench: doctor: {cause}");
    mark_lost(record, name, cause);
}

fn mark_lost(record: &mut Record, name: &str, cause: String) {
    match record.hosts.iter_mut().find(|host| host.name == name) {
        Some(host) => host.lost = Some(cause),
        None => record.hosts.push(record::Host::lost(name, cause)),
    }
}
