//! A text for `mpiexec --info` about the rails and ports of this host: which there are, which a rank would use, and why
//! not the rest.
//!
//! Every port is really opened, for a dummy job. Whether a peer answers it, only a job finds out (`reached`). Used by
//! `node`, and by `bench`, which uses the same list; uses `survey`.

use crate::open::{Who, ranked};
use crate::port::Queues;
use crate::survey::{Attempt, Found, survey};
use crate::wishes::{Method, Wishes};
use hawser_os::interfaces::Interface;
use hawser_os::offloads;

/// The offloads that affect the speed of frames, by their names in `ethtool -k`. If the NIC makes no checksums, older
/// kernels take no runs of UDP (`port::udp`).
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

/// Returns the interfaces, and on each rail all ports that could be opened, whether requested or not; those of xdp only
/// if requested.
pub fn found(wishes: &Wishes) -> hawser_base::Result<Vec<Found>> {
    let who = Who::nobody();
    // A program on the NIC would affect all its traffic.
    let asked = |method: &Method| method.stand_in().is_none() || wishes.methods.contains(method);
    let methods: Vec<_> = Method::ALL.into_iter().filter(asked).collect();
    survey(wishes, &methods, &who)
}

/// Returns the text: lines, each with its line end.
pub fn describe(wishes: &Wishes) -> String {
    match found(wishes) {
        Ok(found) => {
            let strays = wishes.rails.astray(&wishes.of_rails(), found.iter().map(|found| &found.rail.interface));
            let strays = strays.map(|text| format!("  {text}\n"));
            let (places, fits) = ranked(&found, wishes);
            let has_room = |rail: usize, at: usize| !places[fits..].contains(&(rail, at));
            let told = found.iter().enumerate();
            let told = told.map(|(rail, found)| lines(found, wishes, |at| has_room(rail, at)));
            strays.into_iter().chain(told).collect()
        }
        Err(error) => format!("  {}\n", error.cause()),
    }
}

/// Returns the lines of one interface. `has_room`: whether the card of a rank has space for the port of an attempt.
fn lines(Found { rail, attempts }: &Found, wishes: &Wishes, has_room: impl Fn(usize) -> bool) -> String {
    let heading = format!("  {}: {} ({})\n", rail.interface.name, rail.verdict.text(), facts(&rail.interface));
    let offloads = if attempts.is_empty() { String::new() } else { offloads(&rail.interface.name) };
    let line =
        |attempt: &Attempt, has_room| line(attempt, wishes, wishes.permits(&rail.interface, attempt.method), has_room);
    let each = attempts.iter().enumerate().map(|(at, attempt)| line(attempt, has_room(at)));
    let unasked = if attempts.is_empty() || wishes.methods.iter().any(|method| method.stand_in().is_some()) {
        String::new()
    } else {
        unasked(&rail.interface)
    };
    each.fold(heading + &offloads, |text, line| text + &line) + &unasked
}

/// Returns the line about xdp, if neither it nor xdp-udp is requested.
fn unasked(interface: &Interface) -> String {
    let owner = Queues::owner(interface).ok().flatten();
    let owner = owner.map_or_else(String::new, |id| format!("; the NIC has another program of XDP (id {id})"));
    format!("    xdp: not tried, for HAWSER_PORT does not ask for it{owner}\n")
}

fn offloads(name: &str) -> String {
    let on = offloads::active(name);
    let on = on.map(|on| OFFLOADS.into_iter().filter(|known| on.iter().any(|name| name == known)).collect());
    let text = on.map_or_else(|| "not told by the kernel".into(), |on: Vec<_>| on.join(", "));
    format!("    offloads: {}\n", if text.is_empty() { "none" } else { &text })
}

fn facts(interface: &Interface) -> String {
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

fn line(attempt: &Attempt, wishes: &Wishes, wanted: bool, has_room: bool) -> String {
    let name = attempt.method.name();
    let by = attempt.ip.map_or_else(String::new, |ip| format!(" over {ip}"));
    let port = match &attempt.made {
        Err(error) => return format!("    {name}{by}: cannot be used: {error}\n"),
        Ok(port) => port,
    };
    let choice = match (wanted, attempt.spare) {
        _ if !has_room => "left out, for a rank has no room for so many ports: name the rails to use in HAWSER_RAILS",
        (false, _) => "can be used, but HAWSER_PORT does not ask for it",
        (true, true) => "tried with hosts that have no IPv4",
        (true, false) => match attempt.method {
            Method::Xdp => "tried by the first rank of this host, while all others use packet",
            Method::XdpUdp if wishes.reserves(attempt.method) => {
                "kept by the first rank of this host for short messages where xdp is not answered, while all others keep packet-udp"
            }
            Method::XdpUdp => "tried by the first rank of this host, while all others use packet-udp",
            method if !wishes.named.is_empty() && !wishes.reserves(method) => "tried",
            Method::Packet => "tried for short messages",
            Method::PacketUdp => "kept for short messages where packet is not answered",
            Method::Udp => "tried for bulk, and for short messages where nothing shorter passes",
            Method::Stream => "kept for bulk where it measures better than udp, and for where nothing else passes",
        },
    };
    let manner = port.manner().map_or_else(String::new, |manner| format!("; {manner}"));
    format!(
        "    {name}{by}: {choice}; frames of {} bytes, room for {} KiB{manner}\n",
        port.frame_max(),
        port.room() >> 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_told_with_its_ports_and_the_rest_with_the_reason() {
        let told = describe(&Wishes::parse("udp", "lo", "").unwrap());
        assert!(
            told.contains("  lo: a rail (") && told.contains("    udp over 127.0.0.1: tried; frames of "),
            "{told}"
        );
        assert!(told.contains("    offloads: ") && told.contains("tx-tcp-segmentation, "), "{told}");
        assert!(told.contains("    packet: cannot be used: interface lo is no Ethernet\n"), "{told}");
        assert!(
            told.contains("    stream over 127.0.0.1: can be used, but HAWSER_PORT does not ask for it;"),
            "{told}"
        );
        let told = describe(&Wishes::parse("", "nosuch0", "").unwrap());
        assert!(told.starts_with("  HAWSER_RAILS=nosuch0: nosuch0 names no interface of this host\n"), "{told}");
        assert!(told.contains("  lo: not named in HAWSER_RAILS (") && !told.contains("udp"), "{told}");
    }
}
