//! Judges the paths between two hosts for a job: a table of checks.
//!
//! Neighbours are two rails whose interfaces have addresses of one network (`PathRecord::neighbours`). It does no
//! I/O. Used by `record`; uses `pair`, which measures the paths, and `check_result`.

use super::check_result::{CheckResult, DoctorCheck, advice, broken, well};
use super::hosts::HostError;
use super::pair::{HostPair, PathRecord};
use super::protocol::EchoCounts;
use std::io;

pub static CHECKS: &[DoctorCheck<HostPair>] = &[
    DoctorCheck { name: "versions", run: versions },
    DoctorCheck { name: "reached", run: paths_found },
    DoctorCheck { name: "one way only", run: one_way },
    DoctorCheck { name: "filtered", run: filtered },
    DoctorCheck { name: "rails", run: rails },
    DoctorCheck { name: "MTU", run: mtu },
    DoctorCheck { name: "path MTU", run: path_mtu },
    DoctorCheck { name: "stalled", run: stalled },
    DoctorCheck { name: "loss", run: loss },
    DoctorCheck { name: "drops", run: drops },
    DoctorCheck { name: "clocks", run: clocks },
];

/// The number of lost frames, of a thousand, from which on a loss counts as a fault: fewer may be frames that arrived
/// too late.
const LOST_TOO_MANY: u64 = 3;
/// A difference of clocks that is more than NTP leaves between hosts.
const CLOCK_OFFSET_MAX_S: f64 = 0.1;

fn versions(pair: &HostPair) -> Vec<CheckResult> {
    let ([one, other], [its, others]) = (&pair.hosts, &pair.versions);
    if its == others {
        return Vec::new();
    }
    vec![advice(
        format!("{one} has Hawser {its}, {other} has {others}"),
        "install the same version on both",
        "only ranks of the same version are certain to work together",
    )]
}

fn paths_found(pair: &HostPair) -> Vec<CheckResult> {
    let carrying = pair.ways.iter().filter(|path| path.is_measured()).count();
    match &pair.cut_off {
        Some(HostError::Interrupted) => {
            return vec![advice(
                format!("the test was interrupted ({carrying} paths passed so far)"),
                "run the test again",
                "its paths are known",
            )];
        }
        Some(HostError::Cause(cause)) => {
            return vec![broken(
                format!("the test did not complete: {cause}"),
                "fix that host, then run the test again",
                "its paths are known",
            )];
        }
        None => {}
    }
    if carrying > 0 {
        return vec![well(format!("{carrying} paths pass in both directions"))];
    }
    if pair.ways.is_empty() {
        return vec![broken(
            "the hosts have no matching ports",
            "name a method in HAWSER_PORT that both hosts have, and give both addresses of one family (IPv4 or IPv6)",
            "a job over both hosts can start",
        )];
    }
    if pair.ways.iter().any(PathRecord::passes) {
        return vec![broken(
            format!(
                "test frames pass in both directions, but later frames get no reply: {}",
                tried_paths(pair, PathRecord::passes)
            ),
            "check for a link that goes up and down, and for rate limits (policers, firewalls that count)",
            "a job over both hosts can start",
        )];
    }
    vec![broken(
        format!("no path passes in both directions: {}", tried_paths(pair, |_| true)),
        "allow UDP and TCP between the hosts, on the ports of HAWSER_PORT_RANGE, in the firewalls of both hosts and \
         between them; if the hosts share no network, add a route",
        "a job over both hosts can start",
    )]
}

/// Returns the paths that were tried, as text: those between neighbours or, if there are none, those between all
/// rails.
fn tried_paths(pair: &HostPair, is_meant: impl Fn(&PathRecord) -> bool) -> String {
    let mut tried: Vec<&PathRecord> = pair.ways.iter().filter(|path| is_meant(path)).collect();
    if tried.iter().any(|path| path.neighbours) {
        tried.retain(|path| path.neighbours);
    }
    let texts = tried.iter().map(|path| {
        let [there, back] = &path.directions;
        let refused = there.heard.refused.or(back.heard.refused);
        let reason = refused.map_or_else(String::new, |number| format!(" ({})", io::Error::from_raw_os_error(number)));
        format!("{} {}{reason}", path.method, rails_text(path))
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn one_way(pair: &HostPair) -> Vec<CheckResult> {
    let result = |path: &PathRecord| {
        let [there, back] = path.directions.map(|direction| direction.heard.frames > 0);
        if there == back {
            return None;
        }
        let (from, to) = if there { (1, 0) } else { (0, 1) };
        let at = |side: usize| format!("{} of {}", path.rails[side], pair.hosts[side]);
        let refused = path.directions[usize::from(there)].heard.refused;
        let reason = refused.map_or_else(String::new, |number| format!(" ({})", io::Error::from_raw_os_error(number)));
        Some(advice(
            format!(
                "{} passes in one direction only: from {} to {} nothing arrives{reason}",
                path.method,
                at(from),
                at(to)
            ),
            firewall_change(pair, path, &[to]),
            "Hawser uses a path only if it passes in both directions",
        ))
    };
    pair.ways.iter().filter_map(result).collect()
}

/// Returns the change that lets the frames of a path through to the hosts of these sides.
fn firewall_change(pair: &HostPair, path: &PathRecord, sides: &[usize]) -> String {
    let named = |name: &dyn Fn(usize) -> String| sides.iter().map(|&side| name(side)).collect::<Vec<_>>().join(" and ");
    let protocol = match path.method.as_str() {
        _ if path.is_raw_ethernet() => {
            let ends = named(&|side| format!("{} of {}", path.rails[side], pair.hosts[side]));
            return format!(
                "allow frames of EtherType 0x88B5 in the switches and bridges between them, and in nft or tc at {ends}"
            );
        }
        "stream" => "tcp",
        _ => "udp",
    };
    let hosts = named(&|side| pair.hosts[side].clone());
    format!(
        "allow {protocol} into {hosts}: nft add rule inet filter input {protocol} dport 40000-40999 accept, with \
         HAWSER_PORT_RANGE=40000-40999 for jobs \
         (or firewall-cmd --add-port=40000-40999/{protocol}, or the cloud's security group)"
    )
}

/// Finds the neighbours between which one method does not pass although another does.
fn filtered(pair: &HostPair) -> Vec<CheckResult> {
    let is_joined = |path: &PathRecord| pair.ways.iter().any(|other| other.rails == path.rails && other.passes());
    let is_blocked = |path: &&PathRecord| path.directions.iter().all(|direction| direction.heard.frames == 0);
    let result = |path: &PathRecord| {
        let instead = pair
            .ways
            .iter()
            .filter(|other| other.rails == path.rails && other.passes())
            .map(|path| path.method.as_str());
        advice(
            format!("{} does not pass {}", method_text(path), rails_text(path)),
            firewall_change(pair, path, &[0, 1]),
            format!("{}; until then there is only {}", expected_gain(path), instead.collect::<Vec<_>>().join(", ")),
        )
    };
    pair.ways.iter().filter(is_blocked).filter(|path| path.neighbours && is_joined(path)).map(result).collect()
}

fn method_text(path: &PathRecord) -> &'static str {
    match path.method.as_str() {
        "packet" | "xdp" => "raw Ethernet (EtherType 0x88B5)",
        "packet-udp" | "xdp-udp" => "UDP by raw frames",
        "udp" => "UDP",
        _ => "TCP",
    }
}

fn expected_gain(path: &PathRecord) -> &'static str {
    match path.method.as_str() {
        "packet" | "xdp" => "the fastest path for short messages; packet-udp, the substitute, is nearly as fast",
        "packet-udp" | "xdp-udp" => "the second fastest path for short messages, needed where raw Ethernet is dropped",
        "udp" => "bulk where the NIC segments runs of frames, and a path that needs no privilege",
        _ => "messages from 3 KiB on where TCP measures better, as on many NICs of 10 Gbit/s and more",
    }
}

/// Finds the rails of either host that reach nothing, if other rails do.
fn rails(pair: &HostPair) -> Vec<CheckResult> {
    if !pair.ways.iter().any(PathRecord::passes) {
        return Vec::new();
    }
    [0, 1].into_iter().flat_map(|side| unused_rails(pair, side)).collect()
}

fn reaches_other_host(pair: &HostPair, side: usize, rail: &str) -> bool {
    pair.ways.iter().any(|path| pair.is_worth_measuring(path) && path.rails[side] == rail)
}

/// The rails of a side that do not reach the other host, but should, each with a path by which it should.
fn unreachable_rails(pair: &HostPair, side: usize) -> Vec<(&String, &PathRecord)> {
    let neighbour = |rail: &String| pair.ways.iter().find(|path| path.neighbours && path.rails[side] == *rail);
    let unused = pair.rails[side].iter().filter(|rail| !reaches_other_host(pair, side, rail));
    unused.filter_map(|rail| Some((rail, neighbour(rail)?))).collect()
}

fn unused_rails(pair: &HostPair, side: usize) -> Vec<CheckResult> {
    let (host, other) = (&pair.hosts[side], &pair.hosts[1 - side]);
    let unreachable = unreachable_rails(pair, side);
    let is_unreachable = |rail: &String| unreachable.iter().any(|(name, _)| *name == rail);
    let unconnected =
        pair.rails[side].iter().filter(|rail| !reaches_other_host(pair, side, rail) && !is_unreachable(rail));
    let unconnected: Vec<_> = unconnected.map(String::as_str).collect();
    // Neighbours that do not reach each other concern both sides; they are reported for the first side only.
    let is_reported =
        |rail: &String| side == 1 && unreachable_rails(pair, 0).iter().any(|(_, path)| path.rails[1] == *rail);
    let mut results = Vec::new();
    for (rail, path) in unreachable.iter().filter(|(rail, _)| !is_reported(rail)) {
        results.push(advice(
            format!(
                "{rail} of {host} and {} of {other} have addresses of one network, and nothing passes between them",
                path.rails[1 - side]
            ),
            format!("check the cable and the switch (ip link, ethtool {rail}), VLANs, and the firewalls of both hosts"),
            "one more rail: the bandwidths of rails add up",
        ));
    }
    if !unconnected.is_empty() {
        results.push(well(format!(
            "{} of {host}: no path to {other}; it costs one HELLO per second, and HAWSER_RAILS can exclude it",
            unconnected.join(", ")
        )));
    }
    results
}

fn mtu(pair: &HostPair) -> Vec<CheckResult> {
    let mut reported: Vec<[String; 2]> = Vec::new();
    let mut results = Vec::new();
    for path in pair.ways.iter().filter(|path| path.passes() && path.frames[0] != path.frames[1]) {
        if reported.contains(&path.rails) {
            continue;
        }
        reported.push(path.rails.clone());
        let [one, other] = &pair.hosts;
        let narrow = usize::from(path.frames[1] < path.frames[0]);
        results.push(advice(
            format!(
                "{} of {one} and {} of {other} have different MTUs: frames of {} carry {} and {} bytes",
                path.rails[0], path.rails[1], path.method, path.frames[0], path.frames[1]
            ),
            format!("ip link set {} mtu MTU on {}, if the switches support it", path.rails[narrow], pair.hosts[narrow]),
            "fewer, longer frames; now the shorter ones are used",
        ));
    }
    results
}

/// Makes one result for each direction between two rails, from all that `found` returns for the paths of this
/// direction.
fn by_direction(
    pair: &HostPair,
    found: impl Fn(&PathRecord, usize) -> Option<String>,
    result: impl Fn(&PathDirection<'_>, &str) -> CheckResult,
) -> Vec<CheckResult> {
    let mut directions: Vec<(PathDirection<'_>, Vec<String>)> = Vec::new();
    for (path, from) in pair.ways.iter().flat_map(|path| [(path, 0), (path, 1)]) {
        let Some(found) = found(path, from) else { continue };
        match directions.iter_mut().find(|(direction, _)| direction.from == from && direction.path.rails == path.rails)
        {
            Some((_, all)) => all.push(found),
            None => directions.push((PathDirection { pair, path, from }, vec![found])),
        }
    }
    directions.iter().map(|(direction, all)| result(direction, &all.join(", "))).collect()
}

/// A direction between two rails; `path` is the first of its paths.
struct PathDirection<'a> {
    pair: &'a HostPair,
    path: &'a PathRecord,
    from: usize,
}

impl PathDirection<'_> {
    fn source(&self) -> (&str, &str) {
        (&self.path.rails[self.from], &self.pair.hosts[self.from])
    }

    fn destination(&self) -> (&str, &str) {
        (&self.path.rails[1 - self.from], &self.pair.hosts[1 - self.from])
    }

    /// The two ends as text for people.
    fn text(&self) -> String {
        let ((rail, host), (far_rail, far_host)) = (self.source(), self.destination());
        format!("from {rail} of {host} to {far_rail} of {far_host}")
    }
}

fn path_mtu(pair: &HostPair) -> Vec<CheckResult> {
    let found = |path: &PathRecord, from: usize| {
        let figures = path.directions[from].figures?;
        let is_narrow = figures.half_us.is_some() && figures.largest != Some(figures.frame);
        is_narrow.then(|| match figures.largest {
            Some(largest) => {
                format!("{} passes frames of up to {largest} bytes, not of {}", path.method, figures.frame)
            }
            None => format!("{} passes short frames, but none of {} bytes", path.method, figures.frame),
        })
    };
    by_direction(pair, found, |direction, found| {
        let (rail, host) = direction.source();
        let lower = path_mtu_between(pair, &direction.path.rails);
        let lower = lower.map_or_else(String::new, |mtu| {
            format!(", or ip link set {rail} mtu {mtu} on {host}, and likewise on all hosts")
        });
        advice(
            format!("the path {} has a smaller MTU than its interfaces: {found}", direction.text()),
            format!(
                "set the MTU of the interfaces on the switches and routers between them{lower}; for TCP \
                 sysctl net.ipv4.tcp_mtu_probing=1"
            ),
            "longer frames: now long ones are lost without an error; Hawser detects it and uses frames of 1452, 1232 \
             or 548 bytes, TCP may hang",
        )
    })
}

/// Finds paths that passed in the reachability test, and then carried nothing: TCP hangs after a frame that is too
/// long for the path, or a cable was pulled.
fn stalled(pair: &HostPair) -> Vec<CheckResult> {
    let found = |path: &PathRecord, from: usize| {
        let figures = path.directions[from].figures?;
        figures.half_us.is_none().then(|| path.method.clone())
    };
    by_direction(pair, found, |direction, found| {
        let how = if found == "stream" {
            "TCP hangs where long frames are lost (see path MTU): sysctl net.ipv4.tcp_mtu_probing=1"
        } else {
            "find the device that drops such frames after the first ones (raw ones do not reach the own host), or a \
             link that goes up and down"
        };
        advice(
            format!("{} no reply arrives any more by {found}, which passed at first", direction.text()),
            how,
            "that path can be used",
        )
    })
}

/// The MTU that suits all methods but TCP between two rails: of the longest frames that passed, each with its
/// headers, the shortest one of all paths and both directions. None if no frame length was measured.
fn path_mtu_between(pair: &HostPair, rails: &[String; 2]) -> Option<usize> {
    let of_rails = pair.ways.iter().filter(|path| path.rails == *rails && path.method != "stream");
    let passed = of_rails.flat_map(|path| {
        let figures = path.directions.iter().filter_map(|direction| direction.figures);
        figures.filter_map(|figures| figures.largest).map(|largest| largest.saturating_add(overhead(path)))
    });
    passed.min()
}

/// The number of bytes of the MTU that are not part of a frame.
fn overhead(path: &PathRecord) -> usize {
    let v6 = 20;
    match path.method.as_str() {
        // The six bytes of job and selector, which a raw frame has behind the Ethernet header.
        "packet" | "xdp" => 6,
        _ if path.v6 => 28 + v6,
        _ => 28,
    }
}

fn loss(pair: &HostPair) -> Vec<CheckResult> {
    let found = |path: &PathRecord, from: usize| {
        let direction = path.directions[from];
        let (lost, of) = direction.lost_frames()?;
        // Frames that the host itself dropped are reported separately.
        let on_the_way = u64::from(lost).saturating_sub(direction.answered?.dropped);
        let is_alive = direction.figures?.half_us.is_some();
        (is_alive && on_the_way >= LOST_TOO_MANY).then(|| format!("{on_the_way} of {of} by {}", path.method))
    };
    by_direction(pair, found, |direction, found| {
        let ((rail, host), (far_rail, far_host)) = (direction.source(), direction.destination());
        advice(
            format!("{} short frames are lost, although sent at a low rate: {found}", direction.text()),
            format!(
                "check ethtool -S {far_rail} on {far_host} and {rail} on {host} (errors, drops, pauses), the cable, \
                 the switch's counters, tc -s qdisc"
            ),
            "lost frames are retransmitted after a round trip or more: a rail that loses frames has less bandwidth and \
             delays short messages",
        )
    })
}

fn drops(pair: &HostPair) -> Vec<CheckResult> {
    let found = |path: &PathRecord, from: usize| {
        let EchoCounts { dropped, dropped_in_bulk, .. } = path.directions[from].answered?;
        match (dropped, dropped_in_bulk) {
            (0, 0) => None,
            (0, bulk) => Some(format!("{bulk} in bulk by {}", path.method)),
            (short, 0) => Some(format!("{short} by {}", path.method)),
            (short, bulk) => Some(format!("{short} and {bulk} in bulk by {}", path.method)),
        }
    };
    by_direction(pair, found, |direction, found| {
        let (rail, host) = direction.destination();
        // The method packet-udp may be there, too: its text does not end with " by udp".
        let socket = if found.split(", ").any(|text| text.ends_with(" by udp")) {
            "; for udp a net.core.rmem_max of 4194304 or more (`socket buffers` of that host)"
        } else {
            ""
        };
        advice(
            format!("the kernel of {host} dropped frames from {rail} because the receive buffer was full: {found}"),
            format!("a free core for each rank{socket}"),
            "fewer drops: the buffer filled while the process did not run; a job limits its credit to the buffer's \
             size, so it drops fewer frames than this test",
        )
    })
}

fn clocks(pair: &HostPair) -> Vec<CheckResult> {
    let Some([ahead_s, sure_s]) = clock_offset(pair) else { return Vec::new() };
    let [one, other] = &pair.hosts;
    let relation = if ahead_s >= 0.0 { "ahead of" } else { "behind" };
    let text = format!(
        "the clock of {other} is {:.3} ms {relation} that of {one}, accurate to {:.3} ms",
        ahead_s.abs() * 1e3,
        sure_s * 1e3
    );
    if ahead_s.abs() - sure_s < CLOCK_OFFSET_MAX_S {
        return vec![well(text)];
    }
    vec![advice(
        text,
        "chronyc makestep, with chrony or systemd-timesyncd running on both",
        "times in logs and on files of a shared file system (make) agree; Hawser does not need it",
    )]
}

/// Returns the difference of the clocks with the smallest uncertainty.
fn clock_offset(pair: &HostPair) -> Option<[f64; 2]> {
    let figures = pair.ways.iter().filter_map(|path| path.directions[0].figures);
    figures.filter_map(|figures| figures.ahead_s).min_by(|a, b| a[1].total_cmp(&b[1]))
}

fn rails_text(path: &PathRecord) -> String {
    format!("between {} and {}", path.rails[0], path.rails[1])
}

#[cfg(test)]
mod tests {
    use super::super::check_result::{Finding, Verdict, run_checks};
    use super::super::pair::DirectionRecord;
    use super::super::protocol::{PathFigures, ReceivedCount};
    use super::*;

    fn direction(frame: usize) -> DirectionRecord {
        let figures = PathFigures {
            half_us: Some(2.0),
            ahead_s: Some([0.0, 1e-6]),
            paced: 1000,
            frame,
            largest: Some(frame),
            gbyte_s: Some(1.0),
            bulk_lost: 0,
        };
        let answered = EchoCounts { paced: 1000, ..EchoCounts::default() };
        DirectionRecord {
            heard: ReceivedCount { frames: 9, refused: None },
            figures: Some(figures),
            answered: Some(answered),
        }
    }

    fn path(method: &str, rail: &str, frame: usize) -> PathRecord {
        PathRecord {
            method: method.into(),
            rails: [rail.into(), rail.into()],
            neighbours: true,
            v6: false,
            frames: [frame; 2],
            directions: [direction(frame); 2],
        }
    }

    /// Two hosts with two rails each, on which everything is well.
    fn pair() -> HostPair {
        let of = |rail: &str| {
            [("packet", 1494), ("udp", 1472), ("stream", 16640)].map(|(method, frame)| path(method, rail, frame))
        };
        HostPair {
            hosts: ["a".into(), "b".into()],
            rails: [vec!["eth0".into(), "eth1".into()], vec!["eth0".into(), "eth1".into()]],
            ways: of("eth0").into_iter().chain(of("eth1")).collect(),
            ..HostPair::default()
        }
    }

    /// The findings that are not well.
    fn findings(pair: &HostPair) -> Vec<Finding> {
        run_checks(CHECKS, pair).into_iter().filter(|finding| finding.verdict != Verdict::Well).collect()
    }

    fn finding_names(pair: &HostPair) -> Vec<&'static str> {
        findings(pair).iter().map(|finding| finding.name).collect()
    }

    fn only(pair: &HostPair, name: &str, verdict: Verdict) -> Finding {
        let findings = findings(pair);
        assert_eq!(
            findings.iter().map(|finding| (finding.name, finding.verdict)).collect::<Vec<_>>(),
            [(name, verdict)],
            "{findings:?}"
        );
        findings.into_iter().next().unwrap()
    }

    fn block(pair: &mut HostPair, is_meant: impl Fn(&PathRecord) -> bool, sides: &[usize]) {
        for path in pair.ways.iter_mut().filter(|path| is_meant(path)) {
            sides.iter().for_each(|&side| path.directions[side].heard.frames = 0);
            path.directions.iter_mut().for_each(|direction| (direction.figures, direction.answered) = (None, None));
        }
    }

    #[test]
    fn where_everything_is_well_nothing_is_to_be_changed() {
        assert_eq!(findings(&pair()), []);
    }

    #[test]
    fn loss_is_told_once_for_a_rail_with_its_direction() {
        let mut pair = pair();
        for at in [3, 4] {
            pair.ways[at].directions[1].answered = Some(EchoCounts { paced: 950, ..EchoCounts::default() });
        }
        pair.ways[0].directions[0].answered = Some(EchoCounts { paced: 998, ..EchoCounts::default() });
        let found = only(&pair, "loss", Verdict::Advice).found;
        assert!(found.starts_with("from eth1 of b to eth1 of a short frames are lost"), "{found}");
        assert!(found.ends_with(": 50 of 1000 by packet, 50 of 1000 by udp"), "{found}");
    }

    #[test]
    fn what_the_host_itself_dropped_is_not_the_networks_loss() {
        let mut pair = pair();
        pair.ways[1].directions[0].answered = Some(EchoCounts { paced: 950, dropped: 50, dropped_in_bulk: 7 });
        let found = only(&pair, "drops", Verdict::Advice);
        let expected =
            "the kernel of b dropped frames from eth0 because the receive buffer was full: 50 and 7 in bulk by udp";
        assert_eq!(found.found, expected);
        assert!(found.change.unwrap().how.contains("rmem_max"));
        // Later drops, in bulk, do not hide a loss by the network.
        pair.ways[1].directions[0].answered = Some(EchoCounts { paced: 950, dropped: 0, dropped_in_bulk: 50 });
        assert_eq!(finding_names(&pair), ["loss", "drops"]);
    }

    #[test]
    fn a_narrow_path_is_named_with_the_mtu_that_passes() {
        let mut pair = pair();
        for (at, largest) in [(0, 1394), (1, 1372)] {
            pair.ways[at].directions[0].figures.as_mut().unwrap().largest = Some(largest);
        }
        let finding = only(&pair, "path MTU", Verdict::Advice);
        assert!(finding.found.starts_with("the path from eth0 of a to eth0 of b has a smaller"), "{}", finding.found);
        assert!(finding.found.contains("udp passes frames of up to 1372 bytes, not of 1472"), "{}", finding.found);
        assert!(finding.change.unwrap().how.contains("ip link set eth0 mtu 1400 on a"));
    }

    #[test]
    fn a_filter_is_named_with_what_opens_it_and_what_is_used_meanwhile() {
        for (method, text, how) in [
            ("packet", "raw Ethernet (EtherType 0x88B5) does not pass", "EtherType 0x88B5"),
            ("udp", "UDP does not pass", "udp dport 40000-40999 accept"),
            ("stream", "TCP does not pass", "tcp dport 40000-40999 accept"),
        ] {
            let mut pair = pair();
            block(&mut pair, |path| path.method == method && path.rails[0] == "eth0", &[0, 1]);
            let finding = only(&pair, "filtered", Verdict::Advice);
            let change = finding.change.unwrap();
            assert!(finding.found.starts_with(text) && change.how.contains(how), "{} {}", finding.found, change.how);
        }
    }

    #[test]
    fn beyond_a_router_raw_ethernet_is_not_missed() {
        let mut pair = pair();
        pair.ways.iter_mut().for_each(|path| path.neighbours = false);
        block(&mut pair, |path| path.method == "packet", &[0, 1]);
        assert_eq!(findings(&pair), []);
    }

    #[test]
    fn what_passes_one_way_only_names_the_deaf_direction() {
        let mut pair = pair();
        block(&mut pair, |path| path.method == "udp" && path.rails[0] == "eth0", &[1]);
        let finding = only(&pair, "one way only", Verdict::Advice);
        assert_eq!(finding.found, "udp passes in one direction only: from eth0 of b to eth0 of a nothing arrives");
        assert!(finding.change.unwrap().how.starts_with("allow udp into a:"));
    }

    #[test]
    fn a_rail_that_reaches_nothing_is_told_if_it_should() {
        let mut pair = pair();
        block(&mut pair, |path| path.rails[0] == "eth1", &[0, 1]);
        let found = only(&pair, "rails", Verdict::Advice).found;
        assert!(
            found.starts_with("eth1 of a and eth1 of b have addresses of one network, and nothing passes"),
            "{found}"
        );
        pair.ways.iter_mut().filter(|path| path.rails[0] == "eth1").for_each(|path| path.neighbours = false);
        assert_eq!(findings(&pair), []);
    }

    #[test]
    fn two_hosts_that_nothing_joins_are_broken() {
        let mut pair = pair();
        block(&mut pair, |_| true, &[0, 1]);
        let found = only(&pair, "reached", Verdict::Broken).found;
        assert!(found.contains("stream between eth1 and eth1"), "{found}");
        let cut_off = HostPair { cut_off: Some(HostError::Cause("host b is lost".into())), ..HostPair::default() };
        assert!(only(&cut_off, "reached", Verdict::Broken).found.contains("host b is lost"));
        let interrupted = HostPair { cut_off: Some(HostError::Interrupted), ..HostPair::default() };
        assert_eq!(only(&interrupted, "reached", Verdict::Advice).change.unwrap().how, "run the test again");
        assert!(only(&HostPair::default(), "reached", Verdict::Broken).found.contains("no matching ports"));
    }

    #[test]
    fn what_passed_and_then_fell_silent_is_no_firewalls_and_no_long_frames_doing() {
        let mut pair = pair();
        for figures in pair.ways.iter_mut().flat_map(|path| &mut path.directions).filter_map(|it| it.figures.as_mut()) {
            (figures.half_us, figures.largest) = (None, None);
        }
        let findings = findings(&pair);
        let reached = findings.iter().find(|finding| finding.name == "reached").unwrap();
        assert_eq!(reached.verdict, Verdict::Broken);
        assert!(reached.found.starts_with("test frames pass in both directions"), "{}", reached.found);
        assert!(!reached.change.as_ref().unwrap().how.contains("allow UDP"));
        let stalled: Vec<_> = findings.iter().filter(|finding| finding.name == "stalled").collect();
        assert!(
            stalled.len() == 4 && stalled.iter().all(|it| !it.change.as_ref().unwrap().how.contains("mtu_probing"))
        );
    }

    #[test]
    fn interfaces_are_named_on_the_hosts_that_have_them() {
        let mut pair = pair();
        pair.ways.iter_mut().filter(|path| path.rails[0] == "eth1").for_each(|path| path.rails[1] = "ens3".into());
        pair.rails[1][1] = "ens3".into();
        let is_raw = |path: &PathRecord| path.method == "packet" && path.rails[0] == "eth1";
        block(&mut pair, is_raw, &[0]);
        assert!(only(&pair, "one way only", Verdict::Advice).change.unwrap().how.ends_with("at ens3 of b"));
        pair.ways[3]
            .directions
            .iter_mut()
            .for_each(|direction| direction.heard.frames = 1 - direction.heard.frames.min(1));
        assert!(only(&pair, "one way only", Verdict::Advice).change.unwrap().how.ends_with("at eth1 of a"));
        block(&mut pair, is_raw, &[0, 1]);
        assert!(only(&pair, "filtered", Verdict::Advice).change.unwrap().how.ends_with("at eth1 of a and ens3 of b"));
    }

    /// Both NICs of b are on the network of a's only NIC.
    #[test]
    fn a_dead_rail_of_the_second_host_is_named_too() {
        let mut pair = pair();
        pair.ways.iter_mut().filter(|path| path.rails[1] == "eth1").for_each(|path| path.rails[0] = "eth0".into());
        pair.rails[0].pop();
        block(&mut pair, |path| path.rails[1] == "eth1", &[0, 1]);
        let found = only(&pair, "rails", Verdict::Advice).found;
        assert!(found.starts_with("eth1 of b and eth0 of a have addresses of one network"), "{found}");
    }

    #[test]
    fn unlike_versions_are_told() {
        let pair = HostPair { versions: ["0.1.0".into(), "0.2.0".into()], ..pair() };
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
        assert!(found.starts_with("from eth0 of b to eth0 of a no reply arrives any more by stream"), "{found}");
    }
}
