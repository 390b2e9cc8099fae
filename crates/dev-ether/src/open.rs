//! Opens the ports of a rank. Each rail of the rank's host gets a port for raw Ethernet, if that is allowed. For each
//! address family of the rail (IPv4, IPv6) it gets a port for UDP, one for UDP by raw frames, if they are allowed,
//! and one for TCP. For raw frames `xdp` and `xdp-udp` are used if they are requested and available, otherwise
//! `packet` and `packet-udp`.
//!
//! `link` finds out which of these ports reach a peer, when it connects to it. Used by `node`; uses `config` and
//! `discovery`.

use crate::config::{EtherConfig, Method};
use crate::discovery::{InterfacePorts, PortAttempt, discover_ports};
use crate::port::{FramePort, RankCredentials};
use crate::port_list::PortList;
use crate::rails::InterfaceStatus;
use hawser_base::{Class, Error, Result};
use hawser_link::frame::JobKey;
use std::io;

/// The rank that owns the ports, and its job.
#[derive(Clone)]
pub struct LocalRank {
    /// A number that distinguishes frames of this job from those of others on the same wire; it is no secret.
    pub job: u32,
    pub local_rank: u16,
    /// The number of ranks on the rank's host.
    pub local_ranks: u16,
    /// The rank's identity, for the peers that it connects to.
    pub credentials: RankCredentials,
}

/// A port, the number of its rail on this host, the name of the rail's interface, and the port's properties for
/// `link`.
pub struct OpenPort {
    pub port: Box<dyn FramePort>,
    pub rail: u8,
    pub interface: String,
    pub traits: hawser_link::PortTraits,
}

/// Opens the ports. Returns at least one port, and at least one of each method that the user has named; otherwise an
/// error with all attempts.
pub fn open_ports(rank: &LocalRank, config: &EtherConfig) -> Result<Vec<OpenPort>> {
    let found = discover_ports(config, &config.methods, rank)?;
    let unmatched =
        config.interfaces.unmatched_text(&config.interfaces_setting(), found.iter().map(|found| &found.rail.interface));
    let left_out = left_out_text(&found, config);
    let replacements: Vec<_> = found.iter().filter_map(replacement_text).collect();
    let ports = choose_ports(found, config)?;
    // Print one line per host, as Open MPI does for btl_tcp_if_include: hosts of one job may differ in their
    // interfaces' names.
    for text in unmatched.into_iter().chain(left_out).chain(replacements).filter(|_| rank.local_rank == 0) {
        hawser_os::host::print_error(&format!("hawser: on host {}: {text}", hawser_os::host::name()));
    }
    Ok(ports)
}

/// Returns the ports that a rank would have, each as the index of its rail in `found` and the index of its attempt
/// there. Ports that may not be needed come last. Also returns how many of the ports, counted from the first, the
/// rank's business card has space for.
pub fn ports_by_need(found: &[InterfacePorts], config: &EtherConfig) -> (Vec<(usize, usize)>, usize) {
    let is_wanted = |on: &InterfacePorts, attempt: &PortAttempt| {
        attempt.result.is_ok() && config.permits(&on.rail.interface, attempt.method)
    };
    let each = found.iter().enumerate().flat_map(|(rail, found)| (0..found.attempts.len()).map(move |at| (rail, at)));
    let mut candidates: Vec<_> =
        each.filter(|&(rail, at)| is_wanted(&found[rail], &found[rail].attempts[at])).collect();
    let attempt = |&(rail, at): &(usize, usize)| &found[rail].attempts[at];
    candidates.sort_by_key(|candidate| Need::of_attempt(attempt(candidate), config));
    let addresses = candidates.iter().filter_map(|candidate| Some(attempt(candidate).result.as_ref().ok()?.address()));
    let fit_count = PortList::count_fitting(addresses);
    (candidates, fit_count)
}

/// The degree to which a port is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Always,
    Reserve,
    Spare,
}

impl LocalRank {
    /// Returns the only rank of a dummy job, for listing the ports that are available.
    pub fn dummy() -> LocalRank {
        let credentials = RankCredentials { key: JobKey::new([0; 16]), me: 0, ranks: 1 };
        LocalRank { job: 0, local_rank: 0, local_ranks: 1, credentials }
    }
}

impl Need {
    fn of_attempt(attempt: &PortAttempt, config: &EtherConfig) -> Need {
        match attempt.is_spare {
            true => Need::Spare,
            false if config.is_in_reserve(attempt.method) => Need::Reserve,
            false => Need::Always,
        }
    }
}

/// Returns a text about ports that are left out because a business card has no space for them; None if there are
/// none.
fn left_out_text(found: &[InterfacePorts], config: &EtherConfig) -> Option<String> {
    let (candidates, fit_count) = ports_by_need(found, config);
    let omitted = candidates[fit_count..].iter().map(|&(rail, at)| (&found[rail].rail, &found[rail].attempts[at]));
    let omitted = omitted.filter(|(_, attempt)| Need::of_attempt(attempt, config) == Need::Always);
    let names: Vec<_> = omitted.map(|(rail, attempt)| name(&rail.interface.name, attempt.method)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "a rank can use only {fit_count} of the {} ports of this host and omits {}; name the rails to use in \
             HAWSER_RAILS",
            candidates.len(),
            names.join(", ")
        )
    })
}

/// Returns a text with the reason if packet replaces xdp, or packet-udp replaces xdp-udp, on a rail. If both are
/// replaced, the text is about the first one only.
fn replacement_text(found: &InterfacePorts) -> Option<String> {
    let replacement = |attempt: &PortAttempt| {
        let (error, stand_in) = (attempt.result.as_ref().err()?, attempt.method.fallback()?);
        let is_there = found.attempts.iter().any(|other| other.method == stand_in && other.result.is_ok());
        let name = || name(&found.rail.interface.name, attempt.method);
        is_there.then(|| format!("using {} instead of {}: {error}", stand_in.name(), name()))
    };
    found.attempts.iter().find_map(replacement)
}

fn name(interface: &str, method: Method) -> String {
    format!("{interface} by {}", method.name())
}

fn choose_ports(found: Vec<InterfacePorts>, config: &EtherConfig) -> Result<Vec<OpenPort>> {
    let failures = describe_failures(&found);
    check_any_selected(&found, config)?;
    if let Some(error) = port_range_error(&found, config) {
        return Err(Error::new(Class::Other, error.to_string()));
    }
    let (candidates, fit_count) = ports_by_need(&found, config);
    let lacks =
        |method: Method| candidates.iter().all(|&(rail, at)| !found[rail].attempts[at].method.satisfies(method));
    if let Some(method) = config.named.iter().find(|method| lacks(**method)) {
        let (param, method) = (config.methods_param(), method.name());
        let text = format!("{param} names {method}, which no rail of this host can use: {failures}");
        return Err(Error::new(Class::Other, text));
    }
    if candidates.is_empty() {
        return Err(Error::new(Class::Other, format!("no interface of this host leads to other hosts: {failures}")));
    }
    let mut found: Vec<_> =
        found.into_iter().map(|found| (found.rail, found.attempts.into_iter().map(Some).collect::<Vec<_>>())).collect();
    let opened = candidates[..fit_count].iter().filter_map(|&(rail, at)| {
        let (on, attempts) = &mut found[rail];
        let PortAttempt { method, result: made, .. } = attempts[at].take()?;
        let (rail, interface) = (rail as u8, on.interface.name.clone());
        let traits = config.traits(method, rail);
        made.ok().map(|port| traits.map(|traits| OpenPort { port, rail, interface, traits }))
    });
    let mut ports: Vec<OpenPort> = opened.collect::<Result<_>>()?;
    // The index of a port is its position in the business card, which lists the ports in this order.
    for (port_index, opened) in ports.iter_mut().enumerate() {
        if let Some(stream) = opened.port.as_stream() {
            stream.set_port_index(port_index as u8);
        }
    }
    Ok(ports)
}

/// Lists each interface that is no rail and each port that could not be opened, with the reason.
fn describe_failures(found: &[InterfacePorts]) -> String {
    let each = found.iter().flat_map(|InterfacePorts { rail, attempts }| {
        let name = &rail.interface.name;
        let verdict = (!rail.status.is_usable()).then(|| format!("{name} {}", rail.status.text()));
        let failed = attempts.iter().filter_map(|attempt| Some((attempt.method, attempt.result.as_ref().err()?)));
        verdict.into_iter().chain(failed.map(move |(method, error)| format!("{}: {error}", self::name(name, method))))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Returns an error if HAWSER_RAILS names no interface of this host.
fn check_any_selected(found: &[InterfacePorts], config: &EtherConfig) -> Result<()> {
    if found.iter().any(|found| found.rail.status != InterfaceStatus::NotSelected) {
        return Ok(());
    }
    let all: Vec<_> = found.iter().map(|found| found.rail.to_string()).collect();
    let (setting, all) = (config.interfaces_setting(), all.join("; "));
    let text = format!("{setting} names none of this host's interfaces or their networks, which are {all}");
    Err(Error::new(Class::Other, text))
}

/// Returns the error of a method for which all ports of HAWSER_PORT_RANGE are taken. Such an error is reported even
/// if ports of another method are there, but only for `udp`, `stream` and the methods that the user has named.
fn port_range_error<'a>(found: &'a [InterfacePorts], config: &EtherConfig) -> Option<&'a io::Error> {
    let is_requested = |attempt: &&PortAttempt| {
        config.is_named(attempt.method) || matches!(attempt.method, Method::Udp | Method::Stream)
    };
    let attempts = found.iter().flat_map(|found| &found.attempts).filter(is_requested);
    let errors = attempts.filter_map(|attempt| attempt.result.as_ref().err());
    errors.into_iter().find(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes `count` rails, each with the loopback interface's ports.
    fn test_rails(count: usize, config: &EtherConfig) -> Vec<InterfacePorts> {
        let rank = LocalRank::dummy();
        let loopback = || {
            discover_ports(config, &config.methods, &rank).unwrap().into_iter().find(|f| f.rail.interface.name == "lo")
        };
        (0..count).filter_map(|_| loopback()).collect()
    }

    /// A business card has space for 25 ports of UDP over IPv4.
    #[test]
    fn ports_that_a_card_has_no_room_for_are_told_but_not_those_in_reserve() {
        let config = EtherConfig::parse("", "127.0.0.0/8", "").unwrap();
        let found = test_rails(25, &config);
        assert_eq!((ports_by_need(&found, &config).1, left_out_text(&found, &config)), (25, None));
        assert!(choose_ports(found, &config).unwrap().iter().all(|opened| opened.port.name() == "udp"));
        let text = left_out_text(&test_rails(27, &config), &config).unwrap();
        let expected =
            "a rank can use only 25 of the 54 ports of this host and omits lo by udp, lo by udp; name the rails";
        assert!(text.starts_with(expected), "{text}");
    }
}
