//! A text for `mpiexec --info` about the rails and ports of this host: which of them exist, which of them a rank
//! would use, and why it would not use the others.
//!
//! Every port is really opened, for a dummy job. Only a job shows whether peers answer by a port
//! (`reachability_report`). Used by `node`, and by `bench`, which uses the same list; uses `discovery`.

use crate::config::{EtherConfig, Method};
use crate::discovery::{InterfacePorts, PortAttempt, discover_ports};
use crate::open::{LocalRank, ports_by_need};
use crate::port::NicQueues;
use hawser_os::interfaces::Interface;
use hawser_os::offloads;

/// The offloads that affect the speed of frames, by their names in `ethtool -k`. If the NIC computes no checksums,
/// older kernels accept no runs of UDP datagrams (`port::udp`).
const OFFLOADS: [&str; 10] = [
    "tx-udp-segmentation",
    "tx-tcp-segmentation",
    "tx-generic-segmentation",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "rx-checksum",
    "rx-gro",
    "rx-gro-hw",
    "rx-lro",
];

/// Returns the interfaces, and on each rail the attempts to open ports of all methods, whether requested or not; of
/// `xdp` and `xdp-udp` only if requested.
pub fn discover_all_ports(config: &EtherConfig) -> hawser_base::Result<Vec<InterfacePorts>> {
    let rank = LocalRank::dummy();
    // Do not try xdp without a request: its program on the NIC would affect all of the NIC's traffic.
    let is_tried = |method: &Method| method.fallback().is_none() || config.methods.contains(method);
    let methods: Vec<_> = Method::ALL.into_iter().filter(is_tried).collect();
    discover_ports(config, &methods, &rank)
}

/// Returns the text: lines, each with its line end.
pub fn describe(config: &EtherConfig) -> String {
    match discover_all_ports(config) {
        Ok(found) => {
            let unmatched = config
                .interfaces
                .unmatched_text(&config.interfaces_setting(), found.iter().map(|found| &found.rail.interface));
            let unmatched = unmatched.map(|text| format!("  {text}\n"));
            let (candidates, fit_count) = ports_by_need(&found, config);
            let fits = |rail: usize, at: usize| !candidates[fit_count..].contains(&(rail, at));
            let sections = found.iter().enumerate();
            let sections = sections.map(|(rail, found)| lines(found, config, |at| fits(rail, at)));
            unmatched.into_iter().chain(sections).collect()
        }
        Err(error) => format!("  {}\n", error.cause()),
    }
}

/// Returns the lines of one interface. `fits`: whether the business card of a rank has space for the port of an
/// attempt.
fn lines(
    InterfacePorts { rail, attempts }: &InterfacePorts,
    config: &EtherConfig,
    fits: impl Fn(usize) -> bool,
) -> String {
    let heading = format!("  {}: {} ({})\n", rail.interface.name, rail.status.text(), interface_facts(&rail.interface));
    let offloads = if attempts.is_empty() { String::new() } else { offloads(&rail.interface.name) };
    let line =
        |attempt: &PortAttempt, fits| line(attempt, config, config.permits(&rail.interface, attempt.method), fits);
    let each = attempts.iter().enumerate().map(|(at, attempt)| line(attempt, fits(at)));
    let xdp_line = if attempts.is_empty() || config.methods.iter().any(|method| method.fallback().is_some()) {
        String::new()
    } else {
        describe_unrequested_xdp(&rail.interface)
    };
    each.fold(heading + &offloads, |text, line| text + &line) + &xdp_line
}

/// Returns the line about xdp, if neither it nor xdp-udp is requested.
fn describe_unrequested_xdp(interface: &Interface) -> String {
    let owner = NicQueues::attached_program(interface).ok().flatten();
    let owner = owner.map_or_else(String::new, |id| format!("; the NIC has another XDP program (id {id})"));
    format!("    xdp: not tried, because HAWSER_PORT does not request it{owner}\n")
}

fn offloads(name: &str) -> String {
    let on = offloads::active(name);
    let on = on.map(|on| OFFLOADS.into_iter().filter(|known| on.iter().any(|name| name == known)).collect());
    let text = on.map_or_else(|| "not reported by the kernel".into(), |on: Vec<_>| on.join(", "));
    format!("    offloads: {}\n", if text.is_empty() { "none" } else { &text })
}

fn interface_facts(interface: &Interface) -> String {
    let Interface { mtu, mac, speed_mbit, driver, addresses, .. } = interface;
    let mac = mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":"));
    let facts = [
        Some(driver.clone().unwrap_or_else(|| "driver unknown".into())),
        Some(format!("MTU {mtu}")),
        Some(speed_mbit.map_or_else(|| "speed unknown".into(), |speed| format!("{speed} Mbit/s"))),
        mac,
    ];
    let addresses = addresses.iter().map(|own| Some(format!("{}/{}", own.ip, own.prefix)));
    facts.into_iter().chain(addresses).flatten().collect::<Vec<_>>().join(", ")
}

fn line(attempt: &PortAttempt, config: &EtherConfig, is_requested: bool, fits: bool) -> String {
    let name = attempt.method.name();
    let by = attempt.ip.map_or_else(String::new, |ip| format!(" over {ip}"));
    let port = match &attempt.result {
        Err(error) => return format!("    {name}{by}: cannot be used: {error}\n"),
        Ok(port) => port,
    };
    let choice = match (is_requested, attempt.is_spare) {
        _ if !fits => "left out, because a rank has no space for so many ports: name the rails to use in HAWSER_RAILS",
        (false, _) => "can be used, but HAWSER_PORT does not request it",
        (true, true) => "tried with hosts that have no IPv4",
        (true, false) => match attempt.method {
            Method::Xdp => "tried by the first rank of this host, while all others use packet",
            Method::XdpUdp if config.is_in_reserve(attempt.method) => {
                "in reserve on the first rank of this host for short messages to peers that do not answer by xdp, \
                 while all others have packet-udp"
            }
            Method::XdpUdp => "tried by the first rank of this host, while all others use packet-udp",
            method if !config.named.is_empty() && !config.is_in_reserve(method) => "tried",
            Method::Packet => "tried for short messages",
            Method::PacketUdp => "in reserve for short messages to peers that do not answer by packet",
            Method::Udp => "tried for bulk, and for short messages if no method of lower latency works",
            Method::Stream => {
                "in reserve for messages from 3 KiB on unless others measure faster, and for all if no other method works"
            }
        },
    };
    let details = port.details().map_or_else(String::new, |manner| format!("; {manner}"));
    format!(
        "    {name}{by}: {choice}; frames of {} bytes, receive buffer of {} KiB{details}\n",
        port.frame_max(),
        port.receive_buffer_bytes() >> 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_told_with_its_ports_and_the_rest_with_the_reason() {
        let text = describe(&EtherConfig::parse("udp", "lo", "").unwrap());
        assert!(
            text.contains("  lo: a rail (") && text.contains("    udp over 127.0.0.1: tried; frames of "),
            "{text}"
        );
        assert!(text.contains("    offloads: ") && text.contains("tx-tcp-segmentation, "), "{text}");
        assert!(text.contains("    packet: cannot be used: interface lo is not Ethernet\n"), "{text}");
        assert!(
            text.contains("    stream over 127.0.0.1: can be used, but HAWSER_PORT does not request it;"),
            "{text}"
        );
        let text = describe(&EtherConfig::parse("", "nosuch0", "").unwrap());
        assert!(text.starts_with("  HAWSER_RAILS=nosuch0: nosuch0 names no interface of this host\n"), "{text}");
        assert!(text.contains("  lo: not named in HAWSER_RAILS (") && !text.contains("udp"), "{text}");
    }
}
