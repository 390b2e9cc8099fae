//! What the ways between two hosts mean for a job: a table of examinations, a row each.
//!
//! No I/O. Before it: `command`; after it: `finding`.

use super::finding::{Row, Said, advice, broken, well};
use super::pair::{Pair, Way};
use std::io;

pub static EXAMINATIONS: &[Row<Pair>] = &[
    Row { name: "reached", say: reached },
    Row { name: "one way only", say: one_way },
    Row { name: "filtered", say: filtered },
    Row { name: "rails", say: rails },
    Row { name: "MTU", say: mtu },
    Row { name: "path MTU", say: path_mtu },
    Row { name: "loss", say: loss },
    Row { name: "drops", say: drops },
    Row { name: "clocks", say: clocks },
];

/// Of a thousand: fewer may be one that came too late.
const LOST_TOO_MANY: u32 = 3;
/// More than NTP leaves between hosts.
const APART_S: f64 = 0.1;

fn reached(pair: &Pair) -> Vec<Said> {
    if let Some(cause) = &pair.cut_off {
        return vec![broken(
            format!("not tested to the end: {cause}"),
            "see to that host, then ask again",
            "its ways are known",
        )];
    }
    let passing = pair.ways.iter().filter(|way| way.passes()).count();
    if passing > 0 {
        return vec![well(format!("{passing} ways pass in both directions"))];
    }
    if pair.ways.is_empty() {
        return vec![broken(
            "no two ports of them go together",
            "let HAWSER_PORT name a kind of port that both have, and give both addresses of one family (IPv4 or IPv6)",
            "a job over both hosts can start",
        )];
    }
    vec![broken(
        format!("nothing passes in both directions; tried were {}", tried(pair)),
        "let UDP and TCP through between them, on the ports of HAWSER_PORT_RANGE, in the firewalls of both hosts and between; if they \
         share no network, add a route",
        "a job over both hosts can start",
    )]
}

fn tried(pair: &Pair) -> String {
    let told = pair.ways.iter().map(|way| {
        let [there, back] = &way.directions;
        let refused = there.heard.refused.or(back.heard.refused);
        let why = refused.map_or_else(String::new, |number| format!(" ({})", io::Error::from_raw_os_error(number)));
        format!("{} {}{why}", way.method, between(way))
    });
    told.collect::<Vec<_>>().join(", ")
}

fn one_way(pair: &Pair) -> Vec<Said> {
    let told = |way: &Way| {
        let [there, back] = way.directions.map(|direction| direction.heard.frames > 0);
        if there == back {
            return None;
        }
        let (from, to) = if there { (1, 0) } else { (0, 1) };
        let at = |side: usize| format!("{} of {}", way.rails[side], pair.hosts[side]);
        let refused = way.directions[usize::from(there)].heard.refused;
        let why = refused.map_or_else(String::new, |number| format!(" ({})", io::Error::from_raw_os_error(number)));
        Some(advice(
            format!("{} passes one way only: from {} to {} nothing comes{why}", way.method, at(from), at(to)),
            opened_by(way, &pair.hosts[to]),
            "a way is used only if it passes both ways",
        ))
    };
    pair.ways.iter().filter_map(told).collect()
}

/// What lets a kind of port through.
fn opened_by(way: &Way, host: &str) -> String {
    let protocol = match way.method.as_str() {
        _ if way.is_raw_ethernet() => {
            return format!(
                "let frames of EtherType 0x88B5 pass the switches and bridges between them, and nft or tc at the interface {} of {host}",
                way.rails[1]
            );
        }
        "stream" => "tcp",
        _ => "udp",
    };
    format!(
        "let {protocol} into {host}: nft add rule inet filter input {protocol} dport 40000-40999 accept, with HAWSER_PORT_RANGE=40000-40999 for jobs \
         (or firewall-cmd --add-port=40000-40999/{protocol}, or the cloud's security group)"
    )
}

/// Neighbours between which one kind of port does not pass, and another does.
fn filtered(pair: &Pair) -> Vec<Said> {
    let is_joined = |way: &Way| pair.ways.iter().any(|other| other.rails == way.rails && other.passes());
    let is_deaf = |way: &&Way| way.directions.iter().all(|direction| direction.heard.frames == 0);
    let told = |way: &Way| {
        let [one, other] = &pair.hosts;
        let instead =
            pair.ways.iter().filter(|other| other.rails == way.rails && other.passes()).map(|way| way.method.as_str());
        advice(
            format!("{} does not pass {}", what(way), between(way)),
            opened_by(way, &format!("{one} and {other}")),
            format!("{}; until then {} is used", gives(way), instead.collect::<Vec<_>>().join(", ")),
        )
    };
    pair.ways.iter().filter(is_deaf).filter(|way| way.neighbours && is_joined(way)).map(told).collect()
}

fn what(way: &Way) -> &'static str {
    match way.method.as_str() {
        "packet" | "xdp" => "raw Ethernet (EtherType 0x88B5)",
        "packet-udp" | "xdp-udp" => "UDP by raw frames",
        "udp" => "UDP",
        _ => "TCP",
    }
}

fn gives(way: &Way) -> &'static str {
    match way.method.as_str() {
        "packet" | "xdp" => "the shortest way for short messages; packet-udp, which stands in, is nearly as quick",
        "packet-udp" | "xdp-udp" => "the second shortest way for short messages, needed where raw Ethernet is dropped",
        "udp" => "bulk where runs of frames are cut by the NIC, and a way that needs no privilege",
        _ => "bulk where TCP measures better, as on many NICs of 10 Gbit/s and more",
    }
}

/// Rails of either that reach nothing.
fn rails(pair: &Pair) -> Vec<Said> {
    let of = |side: usize| {
        let unused = pair.rails[side]
            .iter()
            .filter(move |rail| !pair.ways.iter().any(|way| way.passes() && way.rails[side] == **rail));
        unused.map(move |rail| unused_rail(pair, side, rail))
    };
    if !pair.ways.iter().any(Way::passes) {
        return Vec::new();
    }
    of(0).chain(of(1)).collect()
}

fn unused_rail(pair: &Pair, side: usize, rail: &str) -> Said {
    let (host, other) = (&pair.hosts[side], &pair.hosts[1 - side]);
    let neighbour = pair.ways.iter().find(|way| way.neighbours && way.rails[side] == rail);
    match neighbour {
        Some(way) => advice(
            format!(
                "{rail} of {host} and {} of {other} have addresses of one network, and nothing passes between them",
                way.rails[1 - side]
            ),
            format!("see the cable and the switch (ip link, ethtool {rail}), VLANs, and the firewalls of both"),
            "one rail more: the rates of rails add up",
        ),
        None => well(format!(
            "{rail} of {host} leads to no rail of {other}; that costs a HELLO a second, HAWSER_RAILS leaves it out"
        )),
    }
}

fn mtu(pair: &Pair) -> Vec<Said> {
    let mut told: Vec<[String; 2]> = Vec::new();
    let mut said = Vec::new();
    for way in pair.ways.iter().filter(|way| way.passes() && way.frames[0] != way.frames[1]) {
        if told.contains(&way.rails) {
            continue;
        }
        told.push(way.rails.clone());
        let [one, other] = &pair.hosts;
        let narrow = usize::from(way.frames[1] < way.frames[0]);
        said.push(advice(
            format!(
                "{} of {one} and {} of {other} have unlike MTUs: frames of {} take {} and {} bytes",
                way.rails[0], way.rails[1], way.method, way.frames[0], way.frames[1]
            ),
            format!("ip link set {} mtu MTU on {}, if the switches carry it", way.rails[narrow], pair.hosts[narrow]),
            "fewer, longer frames; now the shorter ones are used",
        ));
    }
    said
}

fn path_mtu(pair: &Pair) -> Vec<Said> {
    let passing = pair.ways.iter().filter(|way| way.passes());
    let each = passing.flat_map(|way| [(way, 0), (way, 1)]);
    let narrow = each.filter_map(|(way, from)| {
        let figures = way.directions[from].figures.filter(|figures| figures.half_us.is_some() && figures.largest != Some(figures.frame))?;
        let [one, other] = [&pair.hosts[from], &pair.hosts[1 - from]];
        let [rail, far] = [&way.rails[from], &way.rails[1 - from]];
        let found = match figures.largest {
            Some(largest) => format!("frames of {largest} bytes pass, of {} at most", figures.frame),
            None => format!("short frames pass, those of {} bytes do not", figures.frame),
        };
        Some(advice(
            format!("the path from {rail} of {one} to {far} of {other} is narrower than the interfaces say: by {} {found}", way.method),
            match figures.largest {
                Some(largest) => format!(
                    "give the switches and routers between them the MTU of the interfaces, or ip link set {rail} mtu {} on {one} (and so on all hosts)",
                    largest + overhead(way)
                ),
                None => "give the switches and routers between them the MTU of the interfaces; sysctl net.ipv4.tcp_mtu_probing=1 lets TCP find its way".into(),
            },
            "long frames are lost and nobody is told: Hawser finds the length that passes at the start of each connection, TCP hangs",
        ))
    });
    narrow.collect()
}

/// What the MTU counts beside a frame.
fn overhead(way: &Way) -> usize {
    let v6 = 20;
    match way.method.as_str() {
        // Job and selector behind the Ethernet header.
        "packet" | "xdp" => 6,
        _ if way.v6 => 28 + v6,
        _ => 28,
    }
}

fn loss(pair: &Pair) -> Vec<Said> {
    let passing = pair.ways.iter().filter(|way| way.passes());
    let each = passing.flat_map(|way| [(way, 0), (way, 1)]);
    let lossy = each.filter_map(|(way, from)| {
        let direction = way.directions[from];
        let (lost, of) = direction.lost().filter(|&(lost, _)| lost >= LOST_TOO_MANY)?;
        // What the host itself dropped is told as that.
        if u64::from(lost) <= direction.answered?.dropped {
            return None;
        }
        let [one, other] = [&pair.hosts[from], &pair.hosts[1 - from]];
        let [rail, far] = [&way.rails[from], &way.rails[1 - from]];
        Some(advice(
            format!("from {rail} of {one} to {far} of {other} {lost} of {of} short frames are lost (by {}, at a slow pace)", way.method),
            format!("ethtool -S {far} on {other} and {rail} on {one}: errors, drops, pauses; the cable, the switch's counters, tc qdisc show"),
            "lost frames are sent again after a round trip or more; a rail that loses carries less and delays short messages",
        ))
    });
    lossy.collect()
}

fn drops(pair: &Pair) -> Vec<Said> {
    let each = pair.ways.iter().flat_map(|way| [(way, 0), (way, 1)]);
    let dropped = each.filter_map(|(way, from)| {
        let answered = way.directions[from].answered.filter(|answered| answered.dropped > 0)?;
        let (host, rail) = (&pair.hosts[1 - from], &way.rails[1 - from]);
        Some(advice(
            format!("the kernel of {host} dropped {} frames that had come to {rail} (by {})", answered.dropped, way.method),
            "sysctl net.core.rmem_max=4194304, and a core that is free for the rank",
            "there was no room in the port's buffer while the process was not run; links with credits (a job) overrun it less",
        ))
    });
    dropped.collect()
}

fn clocks(pair: &Pair) -> Vec<Said> {
    let Some([ahead_s, sure_s]) = ahead(pair) else { return Vec::new() };
    let [one, other] = &pair.hosts;
    let word = if ahead_s >= 0.0 { "ahead of" } else { "behind" };
    let told = format!(
        "the clock of {other} is {:.3} ms {word} that of {one}, sure to {:.3} ms",
        ahead_s.abs() * 1e3,
        sure_s * 1e3
    );
    if ahead_s.abs() - sure_s < APART_S {
        return vec![well(told)];
    }
    vec![advice(
        told,
        "chronyc makestep, with chrony or systemd-timesyncd running on both",
        "Hawser does not need it; times in logs and on files of a shared file system (make) go together",
    )]
}

/// The surest.
fn ahead(pair: &Pair) -> Option<[f64; 2]> {
    let figures = pair.ways.iter().filter_map(|way| way.directions[0].figures);
    figures.filter_map(|figures| figures.ahead_s).min_by(|a, b| a[1].total_cmp(&b[1]))
}

fn between(way: &Way) -> String {
    format!("between {} and {}", way.rails[0], way.rails[1])
}
