//! `hawser-bench doctor`: its options, the hosts that they name, and what is done with them in which order.
//!
//! Before it: `main`; after it: `hosts`, `pair`, `record`, `text`.

use super::hosts::{Host, Launch, Lost, STARTS_WITHIN, STEP};
use super::orders::{End, Order, Reply};
use super::pair::{self, Pair};
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

/// Something does not work. Advice is none of that.
const BROKEN: u8 = 1;
/// As clap has it.
const USAGE: u8 = 2;

pub fn run(options: &Options) -> Result<u8, String> {
    let hosts = match named(options) {
        Ok(hosts) => hosts,
        Err(wrong) => {
            eprintln!("hawser-bench: doctor: {wrong}");
            return Ok(USAGE);
        }
    };
    let stop = if hosts.is_empty() { Arc::default() } else { stopped_by_ctrl_c()? };
    let mut record =
        Record { command: crate::record::command(), date: crate::record::now(), hosts: Vec::new(), pairs: Vec::new() };
    if hosts.is_empty() {
        let facts = look::here();
        add(&mut record, record::Host::found(&facts.name.clone(), facts));
    } else {
        let launch = Launch {
            launcher: options.launcher.clone(),
            launcher_exec: options.launcher_exec.clone(),
            prefix: options.prefix.clone(),
        };
        visit(&hosts, &launch, &mut record, &stop)?;
    }
    say(&format!("\n{}", text::changes(&record)));
    if let Some(path) = &options.json {
        record.write(path)?;
    }
    Ok(match (stop.load(Relaxed), record.is_well()) {
        (true, _) => INTERRUPTED,
        (false, true) => 0,
        (false, false) => BROKEN,
    })
}

/// Each once, as it is written.
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

/// A host that is there, and the ports of a rank on it.
struct Present {
    host: Host,
    ends: Vec<End>,
}

fn visit(hosts: &[String], launch: &Launch, record: &mut Record, stop: &AtomicBool) -> Result<(), String> {
    // All at once: each may take its time to log in.
    let started: Vec<_> = hosts.iter().map(|name| Host::start(name, launch)).collect();
    let (job, pass) = (hawser_os::host::random().map(u32::from_le_bytes), hawser_os::host::random());
    let open =
        Order::Open { job: job.map_err(|error| error.to_string())?, pass: pass.map_err(|error| error.to_string())? };
    let mut present = Vec::new();
    for (name, started) in hosts.iter().zip(started) {
        let looked = started.and_then(|mut host| look_at(&mut host, stop).map(|found| (host, found)));
        match looked {
            Ok((_, found)) if launch.launcher.as_deref() != Some("fork") && is_known(record, &found) => {
                say(&format!("host {name} is one of these by another name\n"));
            }
            Ok((host, found)) => {
                add(record, found);
                present.push(host);
            }
            Err(Lost::Interrupted) => return Ok(()),
            Err(Lost::Cause(cause)) => lost(record, name, cause),
        }
    }
    if present.len() < 2 {
        return Ok(());
    }
    let mut with_ports = Vec::new();
    for mut host in present {
        match host.ask(&open, STEP, stop) {
            Ok(Reply::Ports(ends)) => with_ports.push(Present { host, ends }),
            Err(Lost::Interrupted) => return Ok(()),
            Ok(_) => lost(record, &host.name, format!("host {} answers what was not asked", host.name)),
            Err(Lost::Cause(cause)) => lost(record, &host.name, cause),
        }
    }
    pairs(&mut with_ports, record, stop);
    Ok(())
}

/// Whether a host that was looked at has another name beside this one.
fn is_known(record: &Record, found: &record::Host) -> bool {
    let identity = |host: &record::Host| host.facts.as_ref().and_then(|facts| facts.identity.clone());
    let own = identity(found);
    own.is_some() && record.hosts.iter().any(|host| identity(host) == own)
}

fn look_at(host: &mut Host, stop: &AtomicBool) -> Result<record::Host, Lost> {
    match host.ask(&Order::Look, STARTS_WITHIN, stop)? {
        Reply::Facts(facts) => Ok(record::Host::found(&host.name, *facts)),
        _ => Err(Lost::Cause(format!("host {} answers what was not asked; install the same version there", host.name))),
    }
}

/// Each pair in turn: they would share the wires.
fn pairs(present: &mut [Present], record: &mut Record, stop: &AtomicBool) {
    let mut token = 0;
    let mut gone = vec![false; present.len()];
    for first in 0..present.len() {
        for second in first + 1..present.len() {
            if gone[first] || gone[second] {
                continue;
            }
            let (before, behind) = present.split_at_mut(second);
            let (one, other) = (&mut before[first], &mut behind[0]);
            let hosts = [one.host.name.clone(), other.host.name.clone()];
            if io::stderr().is_terminal() {
                eprintln!("hawser-bench: doctor: testing {}", hosts.join(" - "));
            }
            let measured = pair::measure([&mut one.host, &mut other.host], [&one.ends, &other.ends], &mut token, stop);
            match measured {
                Ok(pair) => add_pair(record, Between::found(pair)),
                Err(Lost::Interrupted) => return,
                Err(Lost::Cause(cause)) => {
                    token += 1;
                    gone[first] = !one.host.comes_to_rest(token, stop);
                    gone[second] = !other.host.comes_to_rest(token, stop);
                    eprintln!("hawser-bench: doctor: {cause}");
                    add_pair(record, Between::found(Pair { hosts, cut_off: Some(cause), ..Pair::default() }));
                }
            }
        }
    }
}

fn add(record: &mut Record, host: record::Host) {
    say(&text::host(&host));
    record.hosts.push(host);
}

fn add_pair(record: &mut Record, between: Between) {
    say(&format!("\n{}", text::between(&between)));
    record.pairs.push(between);
}

/// A reader that has gone away is no reason to complain.
fn say(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn lost(record: &mut Record, name: &str, cause: String) {
    eprintln!("hawser-bench: doctor: {cause}");
    match record.hosts.iter_mut().find(|host| host.name == name) {
        Some(host) => host.lost = Some(cause),
        None => record.hosts.push(record::Host::lost(name, cause)),
    }
}
