//! The paths between two hosts: those that exist between the ports of a rank at each, those that pass, and what each
//! carries, in both directions.
//!
//! Only ports that can be connected are tried, as by ranks (`dev-ether`, ends). Used by `command`; uses `hosts`, whose
//! processes measure.

use super::facts::Network;
use super::hosts::{Host, Lost, STEP};
use super::orders::{Answered, End, Figures, Heard, Order, Reply, WayTo};
use super::ports::Ports;
use crate::net;
use hawser_dev_ether::{Method, meet};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// The facts of two hosts and the paths between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// The names as the user has written them.
    pub hosts: [String; 2],
    /// The versions of Hawser there.
    pub versions: [String; 2],
    /// The rails of each host that have ports.
    pub rails: [Vec<String>; 2],
    pub ways: Vec<Way>,
    /// The reason why no more is known.
    pub cut_off: Option<Lost>,
}

/// A path between a port of each host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Way {
    pub method: String,
    pub rails: [String; 2],
    /// The interfaces have addresses of one network, and not the same one.
    pub neighbours: bool,
    /// The addresses are of IPv6.
    pub v6: bool,
    /// The longest frame that each port takes.
    pub frames: [usize; 2],
    /// The direction from the first to the second host, and that back.
    pub directions: [Direction; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Direction {
    /// The calls that arrived, and the system's error number where it refused to send them.
    pub heard: Heard,
    pub figures: Option<Figures>,
    pub answered: Option<Answered>,
}

impl Pair {
    /// Whether a path is worth measuring: it passes, and where both of its rails have neighbours it is between
    /// neighbours. (Between others the kernel carries IP over a rail of its own choice.)
    pub fn is_of_use(&self, way: &Way) -> bool {
        let has_neighbour = |side: usize| {
            let of_rail = |other: &&Way| other.neighbours && other.rails[side] == way.rails[side];
            self.ways.iter().filter(of_rail).any(Way::passes)
        };
        way.passes() && (way.neighbours || !(has_neighbour(0) && has_neighbour(1)))
    }

    /// Whether a path must be shown: it is of use, or should be.
    pub fn matters(&self, way: &Way) -> bool {
        let is_deaf = way.directions.iter().all(|direction| direction.heard.frames == 0);
        way.neighbours || self.is_of_use(way) || !(is_deaf || way.passes())
    }
}

impl Way {
    pub fn passes(&self) -> bool {
        self.directions.iter().all(|direction| direction.heard.frames > 0)
    }

    /// Whether it was measured, and something came back in both directions.
    pub fn carries(&self) -> bool {
        let half_us = |direction: &Direction| direction.figures.and_then(|figures| figures.half_us);
        self.passes() && self.directions.iter().all(|direction| half_us(direction).is_some())
    }

    pub fn is_raw_ethernet(&self) -> bool {
        matches!(self.method.as_str(), "packet" | "xdp")
    }
}

impl Direction {
    /// The number of frames sent at a steady pace that were lost, and the number sent.
    pub fn lost(&self) -> Option<(u32, u32)> {
        let (figures, answered) = (self.figures?, self.answered?);
        Some((figures.paced.saturating_sub(answered.paced), figures.paced))
    }
}

/// Measures all paths that pass between two hosts, whose processes have opened these ports. Results found
/// before an error stay in the pair.
pub fn measure(
    pair: &mut Pair,
    hosts: [&mut Host; 2],
    ports: [&Ports; 2],
    token: &mut u32,
    stop: &AtomicBool,
) -> Result<(), Lost> {
    let ([one, other], ends) = (hosts, ports.map(|ports| ports.ends.as_slice()));
    pair.rails = ends.map(rails_of);
    let ways = ways(ports);
    *token = token.wrapping_add(1);
    let there: Vec<WayTo> = ways.iter().map(|[there, _]| there.clone()).collect();
    let back: Vec<WayTo> = ways.iter().map(|[_, back]| back.clone()).collect();
    one.tell(&Order::Call { token: *token, ways: there })?;
    other.tell(&Order::Call { token: *token, ways: back })?;
    // The calls that arrived at one host left the other; the sender reports those that were refused.
    let (came_back, came_there) = (heard(one, stop)?, heard(other, stop)?);
    pair.ways = ways.iter().map(|ways| way(ends, ways)).collect();
    for ((way, back), there) in pair.ways.iter_mut().zip(came_back).zip(came_there) {
        way.directions[0].heard = Heard { frames: there.frames, refused: back.refused };
        way.directions[1].heard = Heard { frames: back.frames, refused: there.refused };
    }
    let measured: Vec<bool> = pair.ways.iter().map(|way| pair.is_of_use(way)).collect();
    let each = pair.ways.iter_mut().zip(&ways).zip(measured);
    for ((way, [there, back]), _) in each.filter(|&(_, is_of_use)| is_of_use) {
        *token = token.wrapping_add(1);
        direction(&mut way.directions[0], [&mut *one, &mut *other], [there, back], *token, stop)?;
        *token = token.wrapping_add(1);
        direction(&mut way.directions[1], [&mut *other, &mut *one], [back, there], *token, stop)?;
    }
    Ok(())
}

fn heard(host: &mut Host, stop: &AtomicBool) -> Result<Vec<Heard>, Lost> {
    match host.hear(STEP, stop)? {
        Reply::Heard(heard) => Ok(heard),
        _ => Err(host.strange()),
    }
}

/// Measures one direction of a path, from the first of these hosts to the second.
fn direction(
    found: &mut Direction,
    [near, far]: [&mut Host; 2],
    [there, back]: [&WayTo; 2],
    token: u32,
    stop: &AtomicBool,
) -> Result<(), Lost> {
    let Reply::Ready = far.ask(&Order::Answer { token, way: back.clone() }, STEP, stop)? else {
        return Err(far.strange());
    };
    let measured = near.ask(&Order::Measure { token, way: there.clone() }, STEP, stop);
    // The far end spins until it is ordered to rest, whatever has become of the near one.
    let answered = far.ask(&Order::Rest, STEP, stop)?;
    match (measured?, answered) {
        (Reply::Figures(figures), Reply::Answered(answered)) => {
            (found.figures, found.answered) = (Some(figures), Some(answered));
            Ok(())
        }
        _ => Err(near.strange()),
    }
}

/// The paths, each as it is sent to either host: rail by rail, with the kinds of ports in the order in which they are
/// best for short messages.
fn ways(ports: [&Ports; 2]) -> Vec<[WayTo; 2]> {
    let ends = ports.map(|ports| &ports.ends);
    let mut met = meet(&ports[0].card, &ports[1].card);
    // The best kind of port for short messages first.
    let place = |end: &End| Method::ALL.iter().position(|method| method.name() == end.method);
    met.sort_by_key(|&(ours, theirs, _)| (ends[0][ours].rail, ends[1][theirs].rail, place(&ends[0][ours])));
    let to = |way, port, side: usize, place: usize, frame| {
        let (rank, far) = (ports[side].rank, &ends[side][place]);
        WayTo { way, port, rank, place: place as u8, address: far.address.clone(), frame, room: far.room }
    };
    let both = |((ours, theirs, frame), way): ((usize, usize, usize), u16)| {
        [to(way, ours, 1, theirs, frame), to(way, theirs, 0, ours, frame)]
    };
    met.into_iter().zip(0_u16..).map(both).collect()
}

fn way(ends: [&[End]; 2], [there, back]: &[WayTo; 2]) -> Way {
    let [one, other] = [&ends[0][there.port], &ends[1][back.port]];
    Way {
        method: one.method.clone(),
        rails: [one.interface.clone(), other.interface.clone()],
        v6: net::read(&one.address).and_then(|address| address.ip()).is_some_and(|ip| ip.is_ipv6()),
        neighbours: are_neighbours(&one.networks, &other.networks),
        frames: [one.frame_max, other.frame_max],
        directions: Default::default(),
    }
}

/// Whether they have addresses of one network. An address that both have (as the bridges of containers) connects no
/// hosts, nor does a link-local one: all links have those.
fn are_neighbours(one: &[Network], other: &[Network]) -> bool {
    let is_global = |own: &&Network| !own.ip.to_string().starts_with("fe80:");
    let shares = |own: &Network| other.iter().any(|far| far.ip != own.ip && contains(own, far) && contains(far, own));
    let has_same = one.iter().filter(is_global).any(|own| other.iter().any(|far| far.ip == own.ip));
    !has_same && one.iter().filter(is_global).any(shares)
}

fn contains(network: &Network, other: &Network) -> bool {
    hawser_os::interfaces::Network { ip: network.ip, prefix: network.prefix, scope: 0 }.contains(&other.ip)
}

fn rails_of(ends: &[End]) -> Vec<String> {
    let mut rails: Vec<_> = ends.iter().map(|end| (end.rail, end.interface.clone())).collect();
    rails.sort();
    rails.dedup();
    rails.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_network_are_neighbours_and_those_of_like_bridges_are_not() {
        let networks = |texts: &[&str]| -> Vec<Network> {
            let parts = texts.iter().map(|text| text.split_once('/').unwrap());
            parts.map(|(ip, prefix)| Network { ip: ip.parse().unwrap(), prefix: prefix.parse().unwrap() }).collect()
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
