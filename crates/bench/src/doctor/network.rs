//! Judges the paths between two hosts for a job: a table of examinations, a row each.
//!
//! No I/O. Used by `command`; uses `finding`.

use super::finding::{Row, Said, advice, broken, well};
use super::hosts::Lost;
use super::orders::Answered;
use super::pair::{Pair, Way};
use std::io;

pub static EXAMINATIONS: &[Row<Pair>] = &[
    Row { name: "versions", say: versions },
    Row { name: "reached", say: reached },
    Row { name: "one way only", say: one_way },
    Row { name: "filtered", say: filtered },
    Row { name: "rails", say: rails },
    Row { name: "MTU", say: mtu },
    Row { name: "path MTU", say: path_mtu },
    Row { name: "stalled", say: stalled },
    Row { name: "loss", say: loss },
    Row { name: "drops", say: drops },
    Row { name: "clocks", say: clocks },
];

/// The losses, of a thousand frames, that count as a fault: fewer may be frames that arrived too late.
const LOST_TOO_MANY: u64 = 3;
/// A difference of clocks that is more than NTP leaves between hosts.
const APART_S: f64 = 0.1;

fn versions(pair: &Pair) -> Vec<Said> {
    let ([one, other], [its, others]) = (&pair.hosts, &pair.versions);
    if its == others {
        return Vec::new();
    }
    vec![advice(
        format!("{one} has Hawser {its}, {other} has {others}"),
        "install the same version on both",
        "only ranks of one version are sure to understand each other",
    )]
}

fn reached(pair: &Pair) -> Vec<Said> {
    let carrying = pair.ways.iter().filter(|way| way.carries()).count();
    match &pair.cut_off {
        Some(Lost::Interrupted) => {
            return vec![advice(
                format!("not tested to the end: interrupted ({carrying} ways were found to carry)"),
                "ask again",
                "its ways are known",
            )];
        }
        Some(Lost::Cause(cause)) => {
            return vec![broken(
                format!("not tested to the end: {cause}"),
                "see to that host, then ask again",
                "its ways are known",
            )];
        }
        None => {}
    }
    if carrying > 0 {
        return vec![well(format!("{carrying} ways carry in both directions"))];
    }
    if pair.ways.is_empty() {
        return vec![broken(
            "no two ports of them go together",
            "let HAWSER_PORT name a kind of port that both have, and give both addresses of one family (IPv4 or IPv6)",
            "a job over both hosts can start",
        )];
    }
    if pair.ways.iter().any(Way::passes) {
        return vec![broken(
            format!(
                "calls pass in both directions, and nothing comes back of what follows: {}",
                tried(pair, Way::passes)
            ),
            "see whether a link comes and goes, and who limits how much passes (policers, firewalls that count)",
            "a job over both hosts can start",
        )];
    }
    vec![broken(
        format!("nothing passes in both directions: {}", tried(pair, |_| true)),
        "let UDP and TCP through between them, on the ports of HAWSER_PORT_RANGE, in the firewalls of both hosts and between; if they \
         share no network, add a route",
        "a job over both hosts can start",
    )]
}

/// The paths that were tried: between neighbours, or between all rails where there are none.
fn tried(pair: &Pair, is_meant: impl Fn(&Way) -> bool) -> String {
    let mut tried: Vec<&Way> = pair.ways.iter().filter(|way| is_meant(way)).collect();
    if tried.iter().any(|way| way.neighbours) {
        tried.retain(|way| way.neighbours);
    }
    let told = tried.iter().map(|way| {
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
            opened_by(pair, way, &[to]),
            "a way is used only if it passes both ways",
        ))
    };
    pair.ways.iter().filter_map(told).collect()
}

/// The change that lets a kind of port through to the hosts of these sides.
fn opened_by(pair: &Pair, way: &Way, sides: &[usize]) -> String {
    let named = |name: &dyn Fn(usize) -> String| sides.iter().map(|&side| name(side)).collect::<Vec<_>>().join(" and ");
    let protocol = match way.method.as_str() {
        _ if way.is_raw_ethernet() => {
            let ends = named(&|side| format!("{} of {}", way.rails[side], pair.hosts[side]));
            return format!(
                "let frames of EtherType 0x88B5 pass the switches and bridges between them, and nft or tc at {ends}"
            );
        }
        "stream" => "tcp",
        _ => "udp",
    };
    let hosts = named(&|side| pair.hosts[side].clone());
    format!(
        "let {protocol} into {hosts}: nft add rule inet filter input {protocol} dport 40000-40999 accept, with HAWSER_PORT_RANGE=40000-40999 for jobs \
         (or firewall-cmd --add-port=40000-40999/{protocol}, or the cloud's security group)"
    )
}

/// The neighbours between which one kind of port does not pass, and another does.
fn filtered(pair: &Pair) -> Vec<Said> {
    let is_joined = |way: &Way| pair.ways.iter().any(|other| other.rails == way.rails && other.passes());
    let is_deaf = |way: &&Way| way.directions.iter().all(|direction| direction.heard.frames == 0);
    let told = |way: &Way| {
        let instead =
            pair.ways.iter().filter(|other| other.rails == way.rails && other.passes()).map(|way| way.method.as_str());
        advice(
            format!("{} does not pass {}", what(way), between(way)),
            opened_by(pair, way, &[0, 1]),
            format!("{}; until then there is {}", gives(way), instead.collect::<Vec<_>>().join(", ")),
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

/// The rails of either host that reach nothing, where others do.
fn rails(pair: &Pair) -> Vec<Said> {
    if !pair.ways.iter().any(Way::passes) {
        return Vec::new();
    }
    [0, 1].into_iter().flat_map(|side| unused_rails(pair, side)).collect()
}

fn is_reaching(pair: &Pair, side: usize, rail: &str) -> bool {
    pair.ways.iter().any(|way| pair.is_of_use(way) && way.rails[side] == rail)
}

/// The rails of a side that should reach something, each with a path by which it should.
fn dead_rails(pair: &Pair, side: usize) -> Vec<(&String, &Way)> {
    let neighbour = |rail: &String| pair.ways.iter().find(|way| way.neighbours && way.rails[side] == *rail);
    let unused = pair.rails[side].iter().filter(|rail| !is_reaching(pair, side, rail));
    unused.filter_map(|rail| Some((rail, neighbour(rail)?))).collect()
}

fn unused_rails(pair: &Pair, side: usize) -> Vec<Said> {
    let (host, other) = (&pair.hosts[side], &pair.hosts[1 - side]);
    let dead = dead_rails(pair, side);
    let is_dead = |rail: &String| dead.iter().any(|(name, _)| *name == rail);
    let apart = pair.rails[side].iter().filter(|rail| !is_reaching(pair, side, rail) && !is_dead(rail));
    let apart: Vec<_> = apart.map(String::as_str).collect();
    // Rails that concern both sides are reported for the first side.
    let is_told = |rail: &String| side == 1 && dead_rails(pair, 0).iter().any(|(_, way)| way.rails[1] == *rail);
    let mut said = Vec::new();
    for (rail, way) in dead.iter().filter(|(rail, _)| !is_told(rail)) {
        said.push(advice(
            format!(
                "{rail} of {host} and {} of {other} have addresses of one network, and nothing passes between them",
                way.rails[1 - side]
            ),
            format!("see the cable and the switch (ip link, ethtool {rail}), VLANs, and the firewalls of both"),
            "one rail more: the rates of rails add up",
        ));
    }
    if !apart.is_empty() {
        said.push(well(format!(
            "{} of {host}: nothing of {other} is reached over that; it costs a HELLO a second, and HAWSER_RAILS leaves it out",
            apart.join(", ")
        )));
    }
    said
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

/// Collects `found` for each path of one direction between two rails, one kind of port after the other.
fn by_direction(
    pair: &Pair,
    found: impl Fn(&Way, usize) -> Option<String>,
    say: impl Fn(&Toward<'_>, &str) -> Said,
) -> Vec<Said> {
    let mut told: Vec<(Toward<'_>, Vec<String>)> = Vec::new();
    for (way, from) in pair.ways.iter().flat_map(|way| [(way, 0), (way, 1)]) {
        let Some(found) = found(way, from) else { continue };
        match told.iter_mut().find(|(toward, _)| toward.from == from && toward.way.rails == way.rails) {
            Some((_, all)) => all.push(found),
            None => told.push((Toward { pair, way, from }, vec![found])),
        }
    }
    told.iter().map(|(toward, all)| say(toward, &all.join(", "))).collect()
}

/// A direction between two rails; `way` is the first of its paths.
struct Toward<'a> {
    pair: &'a Pair,
    way: &'a Way,
    from: usize,
}

impl Toward<'_> {
    fn near(&self) -> (&str, &str) {
        (&self.way.rails[self.from], &self.pair.hosts[self.from])
    }

    fn far(&self) -> (&str, &str) {
        (&self.way.rails[1 - self.from], &self.pair.hosts[1 - self.from])
    }

    /// The two ends as text for people.
    fn text(&self) -> String {
        let ((rail, host), (far_rail, far_host)) = (self.near(), self.far());
        format!("from {rail} of {host} to {far_rail} of {far_host}")
    }
}

fn path_mtu(pair: &Pair) -> Vec<Said> {
    let found = |way: &Way, from: usize| {
        let figures = way.directions[from].figures?;
        let is_narrow = figures.half_us.is_some() && figures.largest != Some(figures.frame);
        is_narrow.then(|| match figures.largest {
            Some(largest) => {
                format!("{} passes frames of {largest} bytes, of {} that it has", way.method, figures.frame)
            }
            None => format!("{} passes short frames, and none of {} bytes", way.method, figures.frame),
        })
    };
    by_direction(pair, found, |toward, found| {
        let (rail, host) = toward.near();
        let lower = narrowest(pair, &toward.way.rails);
        let lower = lower.map_or_else(String::new, |mtu| {
            format!(", or ip link set {rail} mtu {mtu} on {host}, and so on all hosts")
        });
        advice(
            format!("the path {} is narrower than the interfaces say: {found}", toward.text()),
            format!(
                "give the switches and routers between them the MTU of the interfaces{lower}; sysctl net.ipv4.tcp_mtu_probing=1 for TCP"
            ),
            "long frames are lost there and nobody is told: Hawser finds out and takes frames of 1452, 1232 or 548 bytes, TCP may hang",
        )
    })
}

/// Paths that passed in the call, and then no more: TCP that has swallowed what is too long for the path, or a cable
/// that was pulled.
fn stalled(pair: &Pair) -> Vec<Said> {
    let found = |way: &Way, from: usize| {
        let figures = way.directions[from].figures?;
        figures.half_us.is_none().then(|| way.method.clone())
    };
    by_direction(pair, found, |toward, found| {
        let how = if found == "stream" {
            "TCP hangs where long frames are lost (see path MTU): sysctl net.ipv4.tcp_mtu_probing=1"
        } else {
            "see who drops such frames after the first ones (raw ones do not reach the own host), or a link that comes and goes"
        };
        advice(
            format!("{} nothing comes back any more by {found}, which passed at first", toward.text()),
            how,
            "that way can be used",
        )
    })
}

/// The MTU by which all frames pass that were tried between two rails.
fn narrowest(pair: &Pair, rails: &[String; 2]) -> Option<usize> {
    let of_rails = pair.ways.iter().filter(|way| way.rails == *rails && way.method != "stream");
    let passed = of_rails.flat_map(|way| {
        let figures = way.directions.iter().filter_map(|direction| direction.figures);
        figures.filter_map(|figures| figures.largest).map(|largest| largest.saturating_add(overhead(way)))
    });
    passed.min()
}

/// The bytes of the MTU that are not part of a frame.
fn overhead(way: &Way) -> usize {
    let v6 = 20;
    match way.method.as_str() {
        // The job and the selector behind the Ethernet header.
        "packet" | "xdp" => 6,
        _ if way.v6 => 28 + v6,
        _ => 28,
    }
}

fn loss(pair: &Pair) -> Vec<Said> {
    let found = |way: &Way, from: usize| {
        let direction = way.directions[from];
        let (lost, of) = direction.lost()?;
        // Frames that the host itself dropped are reported separately.
        let on_the_way = u64::from(lost).saturating_sub(direction.answered?.dropped);
        let is_alive = direction.figures?.half_us.is_some();
        (is_alive && on_the_way >= LOST_TOO_MANY).then(|| format!("{on_the_way} of {of} by {}", way.method))
    };
    by_direction(pair, found, |toward, found| {
        let ((rail, host), (far_rail, far_host)) = (toward.near(), toward.far());
        advice(
            format!("{} short frames are lost, at a slow pace: {found}", toward.text()),
            format!(
                "ethtool -S {far_rail} on {far_host} and {rail} on {host}: errors, drops, pauses; the cable, the switch's counters, tc -s qdisc"
            ),
            "lost frames are sent again after a round trip or more: a rail that loses carries less and delays short messages",
        )
    })
}

fn drops(pair: &Pair) -> Vec<Said> {
    let found = |way: &Way, from: usize| {
        let Answered { dropped, dropped_in_bulk, .. } = way.directions[from].answered?;
        match (dropped, dropped_in_bulk) {
            (0, 0) => None,
            (0, bulk) => Some(format!("{bulk} in bulk by {}", way.method)),
            (short, 0) => Some(format!("{short} by {}", way.method)),
            (short, bulk) => Some(format!("{short} and {bulk} in bulk by {}", way.method)),
        }
    };
    by_direction(pair, found, |toward, found| {
        let (rail, host) = toward.far();
        // udp is named by itself, although "packet-udp" may be there too.
        let socket = if found.split(", ").any(|told| told.ends_with(" by udp")) {
            "; for udp a net.core.rmem_max of 4194304 or more (`socket buffers` of that host)"
        } else {
            ""
        };
        advice(
            format!("the kernel of {host} dropped frames that had come over {rail}, for want of room: {found}"),
            format!("a core that is free for each rank{socket}"),
            "the port's buffer was full while its process was not run; a job gives credits by that room, so it overruns it less",
        )
    })
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

/// The most exact value of the clocks' difference.
fn ahead(pair: &Pair) -> Option<[f64; 2]> {
    let figures = pair.ways.iter().filter_map(|way| way.directions[0].figures);
    figures.filter_map(|figures| figures.ahead_s).min_by(|a, b| a[1].total_cmp(&b[1]))
}

fn between(way: &Way) -> String {
    format!("between {} and {}", way.rails[0], way.rails[1])
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Finding, Verdict, examine};
    use super::super::orders::{Figures, Heard};
    use super::super::pair::Direction;
    use super::*;

    fn direction(frame: usize) -> Direction {
        let figures = Figures {
            half_us: Some(2.0),
            ahead_s: Some([0.0, 1e-6]),
            paced: 1000,
            frame,
            largest: Some(frame),
            gbyte_s: Some(1.0),
            bulk_lost: 0,
        };
        let answered = Answered { paced: 1000, ..Answered::default() };
        Direction { heard: Heard { frames: 9, refused: None }, figures: Some(figures), answered: Some(answered) }
    }

    fn way(method: &str, rail: &str, frame: usize) -> Way {
        Way {
            method: method.into(),
            rails: [rail.into(), rail.into()],
            neighbours: true,
            v6: false,
            frames: [frame; 2],
            directions: [direction(frame); 2],
        }
    }

    /// Two hosts with two rails each, on which everything is well.
    fn pair() -> Pair {
        let of = |rail: &str| {
            [("packet", 1494), ("udp", 1472), ("stream", 16640)].map(|(method, frame)| way(method, rail, frame))
        };
        Pair {
            hosts: ["a".into(), "b".into()],
            rails: [vec!["eth0".into(), "eth1".into()], vec!["eth0".into(), "eth1".into()]],
            ways: of("eth0").into_iter().chain(of("eth1")).collect(),
            ..Pair::default()
        }
    }

    /// The findings that are not well.
    fn told(pair: &Pair) -> Vec<Finding> {
        examine(EXAMINATIONS, pair).into_iter().filter(|finding| finding.verdict != Verdict::Well).collect()
    }

    fn told_names(pair: &Pair) -> Vec<&'static str> {
        told(pair).iter().map(|finding| finding.name).collect()
    }

    fn only(pair: &Pair, name: &str, verdict: Verdict) -> Finding {
        let told = told(pair);
        assert_eq!(
            told.iter().map(|finding| (finding.name, finding.verdict)).collect::<Vec<_>>(),
            [(name, verdict)],
            "{told:?}"
        );
        told.into_iter().next().unwrap()
    }

    fn silence(pair: &mut Pair, is_meant: impl Fn(&Way) -> bool, sides: &[usize]) {
        for way in pair.ways.iter_mut().filter(|way| is_meant(way)) {
            sides.iter().for_each(|&side| way.directions[side].heard.frames = 0);
            way.directions.iter_mut().for_each(|direction| (direction.figures, direction.answered) = (None, None));
        }
    }

    #[test]
    fn where_everything_is_well_nothing_is_to_be_changed() {
        assert_eq!(told(&pair()), []);
    }

    #[test]
    fn loss_is_told_once_for_a_rail_with_its_direction() {
        let mut pair = pair();
        for at in [3, 4] {
            pair.ways[at].directions[1].answered = Some(Answered { paced: 950, ..Answered::default() });
        }
        pair.ways[0].directions[0].answered = Some(Answered { paced: 998, ..Answered::default() });
        let found = only(&pair, "loss", Verdict::Advice).found;
        assert!(found.starts_with("from eth1 of b to eth1 of a short frames are lost"), "{found}");
        assert!(found.ends_with(": 50 of 1000 by packet, 50 of 1000 by udp"), "{found}");
    }

    #[test]
    fn what_the_host_itself_dropped_is_not_the_networks_loss() {
        let mut pair = pair();
        pair.ways[1].directions[0].answered = Some(Answered { paced: 950, dropped: 50, dropped_in_bulk: 7 });
        let found = only(&pair, "drops", Verdict::Advice);
        let told = "the kernel of b dropped frames that had come over eth0, for want of room: 50 and 7 in bulk by udp";
        assert_eq!(found.found, told);
        assert!(found.change.unwrap().how.contains("rmem_max"));
        // Later drops, in bulk, do not hide a loss by the network.
        pair.ways[1].directions[0].answered = Some(Answered { paced: 950, dropped: 0, dropped_in_bulk: 50 });
        assert_eq!(told_names(&pair), ["loss", "drops"]);
    }

    #[test]
    fn a_narrow_path_is_named_with_the_mtu_that_passes() {
        let mut pair = pair();
        for (at, largest) in [(0, 1394), (1, 1372)] {
            pair.ways[at].directions[0].figures.as_mut().unwrap().largest = Some(largest);
        }
        let finding = only(&pair, "path MTU", Verdict::Advice);
        assert!(finding.found.starts_with("the path from eth0 of a to eth0 of b is narrower"), "{}", finding.found);
        assert!(finding.found.contains("udp passes frames of 1372 bytes, of 1472"), "{}", finding.found);
        assert!(finding.change.unwrap().how.contains("ip link set eth0 mtu 1400 on a"));
    }

    #[test]
    fn a_filter_is_named_with_what_opens_it_and_what_is_used_meanwhile() {
        for (method, what, how) in [
            ("packet", "raw Ethernet (EtherType 0x88B5) does not pass", "EtherType 0x88B5"),
            ("udp", "UDP does not pass", "udp dport 40000-40999 accept"),
            ("stream", "TCP does not pass", "tcp dport 40000-40999 accept"),
        ] {
            let mut pair = pair();
            silence(&mut pair, |way| way.method == method && way.rails[0] == "eth0", &[0, 1]);
            let finding = only(&pair, "filtered", Verdict::Advice);
            let change = finding.change.unwrap();
            assert!(finding.found.starts_with(what) && change.how.contains(how), "{} {}", finding.found, change.how);
        }
    }

    #[test]
    fn beyond_a_router_raw_ethernet_is_not_missed() {
        let mut pair = pair();
        pair.ways.iter_mut().for_each(|way| way.neighbours = false);
        silence(&mut pair, |way| way.method == "packet", &[0, 1]);
        assert_eq!(told(&pair), []);
    }

    #[test]
    fn what_passes_one_way_only_names_the_deaf_direction() {
        let mut pair = pair();
        silence(&mut pair, |way| way.method == "udp" && way.rails[0] == "eth0", &[1]);
        let finding = only(&pair, "one way only", Verdict::Advice);
        assert_eq!(finding.found, "udp passes one way only: from eth0 of b to eth0 of a nothing comes");
        assert!(finding.change.unwrap().how.starts_with("let udp into a:"));
    }

    #[test]
    fn a_rail_that_reaches_nothing_is_told_if_it_should() {
        let mut pair = pair();
        silence(&mut pair, |way| way.rails[0] == "eth1", &[0, 1]);
        let found = only(&pair, "rails", Verdict::Advice).found;
        assert!(
            found.starts_with("eth1 of a and eth1 of b have addresses of one network, and nothing passes"),
            "{found}"
        );
        pair.ways.iter_mut().filter(|way| way.rails[0] == "eth1").for_each(|way| way.neighbours = false);
        assert_eq!(told(&pair), []);
    }

    #[test]
    fn two_hosts_that_nothing_joins_are_broken() {
        let mut pair = pair();
        silence(&mut pair, |_| true, &[0, 1]);
        let found = only(&pair, "reached", Verdict::Broken).found;
        assert!(found.contains("stream between eth1 and eth1"), "{found}");
        let cut_off = Pair { cut_off: Some(Lost::Cause("host b is lost".into())), ..Pair::default() };
        assert!(only(&cut_off, "reached", Verdict::Broken).found.contains("host b is lost"));
        let interrupted = Pair { cut_off: Some(Lost::Interrupted), ..Pair::default() };
        assert_eq!(only(&interrupted, "reached", Verdict::Advice).change.unwrap().how, "ask again");
        assert!(only(&Pair::default(), "reached", Verdict::Broken).found.contains("no two ports"));
    }

    #[test]
    fn what_passed_and_then_fell_silent_is_no_firewalls_and_no_long_frames_doing() {
        let mut pair = pair();
        for figures in pair.ways.iter_mut().flat_map(|way| &mut way.directions).filter_map(|it| it.figures.as_mut()) {
            (figures.half_us, figures.largest) = (None, None);
        }
        let told = told(&pair);
        let reached = told.iter().find(|finding| finding.name == "reached").unwrap();
        assert_eq!(reached.verdict, Verdict::Broken);
        assert!(reached.found.starts_with("calls pass in both directions"), "{}", reached.found);
        assert!(!reached.change.as_ref().unwrap().how.contains("let UDP"));
        let stalled: Vec<_> = told.iter().filter(|finding| finding.name == "stalled").collect();
        assert!(
            stalled.len() == 4 && stalled.iter().all(|it| !it.change.as_ref().unwrap().how.contains("mtu_probing"))
        );
    }

    #[test]
    fn interfaces_are_named_on_the_hosts_that_have_them() {
        let mut pair = pair();
        pair.ways.iter_mut().filter(|way| way.rails[0] == "eth1").for_each(|way| way.rails[1] = "ens3".into());
        pair.rails[1][1] = "ens3".into();
        let is_raw = |way: &Way| way.method == "packet" && way.rails[0] == "eth1";
        silence(&mut pair, is_raw, &[0]);
        assert!(only(&pair, "one way only", Verdict::Advice).change.unwrap().how.ends_with("at ens3 of b"));
        pair.ways[3]
            .directions
            .iter_mut()
            .for_each(|direction| direction.heard.frames = 1 - direction.heard.frames.min(1));
        assert!(only(&pair, "one way only", Verdict::Advice).change.unwrap().how.ends_with("at eth1 of a"));
        silence(&mut pair, is_raw, &[0, 1]);
        assert!(only(&pair, "filtered", Verdict::Advice).change.unwrap().how.ends_with("at eth1 of a and ens3 of b"));
    }

    /// Both NICs of b are on the network of a's only NIC.
    #[test]
    fn a_dead_rail_of_the_second_host_is_named_too() {
        let mut pair = pair();
        pair.ways.iter_mut().filter(|way| way.rails[1] == "eth1").for_each(|way| way.rails[0] = "eth0".into());
        pair.rails[0].pop();
        silence(&mut pair, |way| way.rails[1] == "eth1", &[0, 1]);
        let found = only(&pair, "rails", Verdict::Advice).found;
        assert!(found.starts_with("eth1 of b and eth0 of a have addresses of one network"), "{found}");
    }

    #[test]
    fn unlike_versions_are_told() {
        let pair = Pair { versions: ["0.1.0".into(), "0.2.0".into()], ..pair() };
        assert_eq!(only(&pair, "versions", Verdict::Advice).found, "a has Hawser 0.1.0, b has 0.2.0");
    }

    #[test]
    fn clocks_that_are_far_apart_are_told() {
        let mut pair = pair();
        pair.ways[0].directions[0].figures.as_mut().unwrap().ahead_s = Some([-2.0, 1e-7]);
        let found = only(&pair, "clocks", Verdict::Advice).found;
        assert!(found.starts_with("the clock of b is 2000.000 ms behind that of a"), "{found}");
    }

    #[test]
    fn unlike_mtus_and_a_stalled_way_are_told() {
        let mut pair = pair();
        pair.ways[0].frames = [8994, 1494];
        let finding = only(&pair, "MTU", Verdict::Advice);
        assert!(finding.change.unwrap().how.starts_with("ip link set eth0 mtu MTU on b"));
        pair.ways[0].frames = [1494; 2];
        let figures = pair.ways[2].directions[1].figures.as_mut().unwrap();
        (figures.half_us, figures.largest) = (None, None);
        let found = only(&pair, "stalled", Verdict::Advice).found;
        assert!(found.starts_with("from eth0 of b to eth0 of a nothing comes back any more by stream"), "{found}");
    }
}
