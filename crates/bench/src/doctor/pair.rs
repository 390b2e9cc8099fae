//! The paths between two hosts, in both directions: which paths exist between the ports of a rank at each host, which
//! of them pass, and what each carries.
//!
//! Only ports that can be connected are tried, as by ranks (`dev-ether`, ports). Used by `command`; uses `hosts`,
//! whose processes measure.

use super::facts::InterfaceAddress;
use super::hosts::{HostError, HostProcess, STEP_TIMEOUT};
use super::ports::RankPorts;
use super::protocol::{DoctorCommand, DoctorReply, EchoCounts, PathFigures, PathSpec, PortInfo, ReceivedCount};
use crate::net;
use hawser_dev_ether::{Method, port_pairs};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// The facts of two hosts and the paths between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostPair {
    /// The names as the user has written them.
    pub hosts: [String; 2],
    /// The versions of Hawser on the two hosts.
    pub versions: [String; 2],
    /// The rails of each host that have ports.
    pub rails: [Vec<String>; 2],
    pub ways: Vec<PathRecord>,
    /// The reason why the test ended early; None if it was completed.
    pub cut_off: Option<HostError>,
}

/// A path between a port of each host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathRecord {
    pub method: String,
    pub rails: [String; 2],
    /// Whether the two interfaces have addresses of one network, which are not the same address.
    pub neighbours: bool,
    /// Whether the addresses are of IPv6.
    pub v6: bool,
    /// The longest frame that each port takes.
    pub frames: [usize; 2],
    /// The direction from the first to the second host, and the direction back.
    pub directions: [DirectionRecord; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DirectionRecord {
    /// The test frames that arrived, and the system's error number if it refused to send them.
    pub heard: ReceivedCount,
    pub figures: Option<PathFigures>,
    pub answered: Option<EchoCounts>,
}

impl HostPair {
    /// Whether a path is worth measuring. It must pass; and if each of its two rails has a neighbour that it reaches,
    /// the path must be between neighbours. (Between other rails the kernel carries IP over a rail of its own
    /// choice.)
    pub fn is_worth_measuring(&self, path: &PathRecord) -> bool {
        let has_neighbour = |side: usize| {
            let of_rail = |other: &&PathRecord| other.neighbours && other.rails[side] == path.rails[side];
            self.ways.iter().filter(of_rail).any(PathRecord::passes)
        };
        path.passes() && (path.neighbours || !(has_neighbour(0) && has_neighbour(1)))
    }

    /// Whether a path is shown: it is between neighbours, is worth measuring, or passes in one direction only.
    pub fn is_shown(&self, path: &PathRecord) -> bool {
        let is_blocked = path.directions.iter().all(|direction| direction.heard.frames == 0);
        path.neighbours || self.is_worth_measuring(path) || !(is_blocked || path.passes())
    }
}

impl PathRecord {
    pub fn passes(&self) -> bool {
        self.directions.iter().all(|direction| direction.heard.frames > 0)
    }

    /// Whether the path was measured, and echoes came back in both directions.
    pub fn is_measured(&self) -> bool {
        let half_us = |direction: &DirectionRecord| direction.figures.and_then(|figures| figures.half_us);
        self.passes() && self.directions.iter().all(|direction| half_us(direction).is_some())
    }

    pub fn is_raw_ethernet(&self) -> bool {
        matches!(self.method.as_str(), "packet" | "xdp")
    }
}

impl DirectionRecord {
    /// The number of frames sent at a steady pace that were lost, and the number sent.
    pub fn lost_frames(&self) -> Option<(u32, u32)> {
        let (figures, answered) = (self.figures?, self.answered?);
        Some((figures.paced.saturating_sub(answered.paced), figures.paced))
    }
}

/// Measures all paths between two hosts that are worth measuring; the hosts' processes have opened these ports.
/// Results found before an error stay in the pair.
pub fn measure(
    pair: &mut HostPair,
    hosts: [&mut HostProcess; 2],
    ports: [&RankPorts; 2],
    token: &mut u32,
    stop: &AtomicBool,
) -> Result<(), HostError> {
    let ([one, other], infos) = (hosts, ports.map(|ports| ports.infos.as_slice()));
    pair.rails = infos.map(rails_of);
    let specs = path_specs(ports);
    *token = token.wrapping_add(1);
    let there: Vec<PathSpec> = specs.iter().map(|[there, _]| there.clone()).collect();
    let back: Vec<PathSpec> = specs.iter().map(|[_, back]| back.clone()).collect();
    one.send(&DoctorCommand::Call { token: *token, ways: there })?;
    other.send(&DoctorCommand::Call { token: *token, ways: back })?;
    // A frame is counted by the host at which it arrives; a refused frame is reported by the host that sends.
    let (received_back, received_there) = (received_counts(one, stop)?, received_counts(other, stop)?);
    pair.ways = specs.iter().map(|specs| path_record(infos, specs)).collect();
    for ((path, back), there) in pair.ways.iter_mut().zip(received_back).zip(received_there) {
        path.directions[0].heard = ReceivedCount { frames: there.frames, refused: back.refused };
        path.directions[1].heard = ReceivedCount { frames: back.frames, refused: there.refused };
    }
    let is_measured: Vec<bool> = pair.ways.iter().map(|path| pair.is_worth_measuring(path)).collect();
    let each = pair.ways.iter_mut().zip(&specs).zip(is_measured);
    for ((path, [there, back]), _) in each.filter(|&(_, is_of_use)| is_of_use) {
        *token = token.wrapping_add(1);
        measure_direction(&mut path.directions[0], [&mut *one, &mut *other], [there, back], *token, stop)?;
        *token = token.wrapping_add(1);
        measure_direction(&mut path.directions[1], [&mut *other, &mut *one], [back, there], *token, stop)?;
    }
    Ok(())
}

fn received_counts(host: &mut HostProcess, stop: &AtomicBool) -> Result<Vec<ReceivedCount>, HostError> {
    match host.receive_reply(STEP_TIMEOUT, stop)? {
        DoctorReply::Heard(heard) => Ok(heard),
        _ => Err(host.protocol_error()),
    }
}

/// Measures one direction of a path, from the first of these hosts to the second.
fn measure_direction(
    found: &mut DirectionRecord,
    [sender, receiver]: [&mut HostProcess; 2],
    [there, back]: [&PathSpec; 2],
    token: u32,
    stop: &AtomicBool,
) -> Result<(), HostError> {
    let DoctorReply::Ready =
        receiver.request_reply(&DoctorCommand::Answer { token, way: back.clone() }, STEP_TIMEOUT, stop)?
    else {
        return Err(receiver.protocol_error());
    };
    let measured = sender.request_reply(&DoctorCommand::Measure { token, way: there.clone() }, STEP_TIMEOUT, stop);
    // The receiver spins until it is sent `Rest`, whatever has become of the sender.
    let answered = receiver.request_reply(&DoctorCommand::Rest, STEP_TIMEOUT, stop)?;
    match (measured?, answered) {
        (DoctorReply::Figures(figures), DoctorReply::Answered(answered)) => {
            (found.figures, found.answered) = (Some(figures), Some(answered));
            Ok(())
        }
        _ => Err(sender.protocol_error()),
    }
}

/// Returns the paths, each in the form for either host. They are sorted by rails, and between two rails by method,
/// the best one for short messages first.
fn path_specs(ports: [&RankPorts; 2]) -> Vec<[PathSpec; 2]> {
    let infos = ports.map(|ports| &ports.infos);
    let mut matches = port_pairs(&ports[0].business_card, &ports[1].business_card);
    // The best method for short messages comes first.
    let method_order = |end: &PortInfo| Method::ALL.iter().position(|method| method.name() == end.method);
    matches
        .sort_by_key(|&(ours, theirs, _)| (infos[0][ours].rail, infos[1][theirs].rail, method_order(&infos[0][ours])));
    let spec = |path, port, side: usize, index: usize, frame| {
        let (rank, far) = (ports[side].rank, &infos[side][index]);
        PathSpec { way: path, port, rank, place: index as u8, address: far.address.clone(), frame, room: far.room }
    };
    let both = |((ours, theirs, frame), path): ((usize, usize, usize), u16)| {
        [spec(path, ours, 1, theirs, frame), spec(path, theirs, 0, ours, frame)]
    };
    matches.into_iter().zip(0_u16..).map(both).collect()
}

fn path_record(infos: [&[PortInfo]; 2], [there, back]: &[PathSpec; 2]) -> PathRecord {
    let [one, other] = [&infos[0][there.port], &infos[1][back.port]];
    PathRecord {
        method: one.method.clone(),
        rails: [one.interface.clone(), other.interface.clone()],
        v6: net::decode_address(&one.address).and_then(|address| address.ip()).is_some_and(|ip| ip.is_ipv6()),
        neighbours: are_neighbours(&one.networks, &other.networks),
        frames: [one.frame_max, other.frame_max],
        directions: Default::default(),
    }
}

/// Whether two interfaces are neighbours: they have addresses of one network. Interfaces that have the same address (as
/// bridges of containers have on every host) are no neighbours. Link-local addresses do not count, because all links
/// have one.
fn are_neighbours(one: &[InterfaceAddress], other: &[InterfaceAddress]) -> bool {
    let is_global = |own: &&InterfaceAddress| !own.ip.to_string().starts_with("fe80:");
    let shares =
        |own: &InterfaceAddress| other.iter().any(|far| far.ip != own.ip && contains(own, far) && contains(far, own));
    let has_same = one.iter().filter(is_global).any(|own| other.iter().any(|far| far.ip == own.ip));
    !has_same && one.iter().filter(is_global).any(shares)
}

fn contains(network: &InterfaceAddress, other: &InterfaceAddress) -> bool {
    hawser_os::interfaces::IpNetwork { ip: network.ip, prefix: network.prefix, scope: 0 }.contains(&other.ip)
}

fn rails_of(infos: &[PortInfo]) -> Vec<String> {
    let mut rails: Vec<_> = infos.iter().map(|end| (end.rail, end.interface.clone())).collect();
    rails.sort();
    rails.dedup();
    rails.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_network_are_neighbours_and_those_of_like_bridges_are_not() {
        let networks = |texts: &[&str]| -> Vec<InterfaceAddress> {
            let parts = texts.iter().map(|text| text.split_once('/').unwrap());
            parts
                .map(|(ip, prefix)| InterfaceAddress { ip: ip.parse().unwrap(), prefix: prefix.parse().unwrap() })
                .collect()
        };
        let are = |one: &[&str], other: &[&str]| are_neighbours(&networks(one), &networks(other));
        assert!(are(&["10.77.0.1/24", "fe80::1/64"], &["10.77.0.2/24", "fe80::2/64"]));
        assert!(are(&["fd77::1/64"], &["fd77::2/64"]));
        assert!(!are(&["10.77.0.1/24"], &["10.77.1.2/24"]));
        assert!(!are(&["10.77.0.1/25"], &["10.77.0.130/25"]), "a router is between them");
        assert!(!are(&["172.17.0.1/16"], &["172.17.0.1/16"]), "a bridge of containers on each");
        assert!(!are(&["fe80::1/64"], &["fe80::2/64"]) && !are(&[], &[]));
    }
}
