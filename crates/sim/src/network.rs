//! Simulates links between nodes: a frame arrives later, or never, or twice, or out of order, or changed.
//!
//! A link is one direction between two nodes. It has the settings of the network, but may have a latency, faults and
//! a longest frame of its own. It may lead through a switch port that it shares with other links.

use crate::port::SwitchPort;
use crate::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// The faults of a link. All fields but `delay_max_ns` are chances per mille for each frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub loss: u32,
    pub duplicate: u32,
    /// The frame arrives up to `delay_max_ns` later than it would, perhaps behind frames that were sent after it.
    pub reorder: u32,
    pub delay_max_ns: u64,
    /// One to eight bits of the frame are flipped.
    pub corrupt: u32,
    /// The end of the frame is cut off.
    pub truncate: u32,
}

/// The settings of one link. If a setting is None, the link has the network's latency or faults, frames of any length
/// pass, or it leads through no switch port.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimLink {
    pub latency_ns: Option<u64>,
    pub faults: Option<Faults>,
    /// The longest frame that passes, in bytes; longer ones are lost without a report.
    pub mtu: Option<usize>,
    /// The number of a switch port, from `add_port`: frames queue there before they travel.
    pub port: Option<usize>,
}

/// A packet that arrives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrivedPacket {
    pub from: usize,
    pub to: usize,
    pub bytes: Vec<u8>,
}

/// A simulated network; see the module.
pub struct SimNetwork {
    rng: Rng,
    latency_ns: u64,
    faults: Faults,
    /// The links that carry nothing, as (from, to).
    severed: BTreeSet<(usize, usize)>,
    links: BTreeMap<(usize, usize), SimLink>,
    ports: Vec<SwitchPort>,
    /// The frames in flight, by the time of arrival, and among equals in the order of sending.
    in_flight: BTreeMap<(u64, u64), ArrivedPacket>,
    count: u64,
    now_ns: u64,
}

impl SimNetwork {
    pub fn new(seed: u64, latency_ns: u64) -> SimNetwork {
        SimNetwork {
            rng: Rng::new(seed),
            latency_ns,
            faults: Faults::default(),
            severed: BTreeSet::new(),
            links: BTreeMap::new(),
            ports: Vec::new(),
            in_flight: BTreeMap::new(),
            count: 0,
            now_ns: 0,
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Sets the faults of all links that have none of their own, from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Cuts the link between two nodes in one direction, or joins it again.
    pub fn set_severed(&mut self, from: usize, to: usize, cut: bool) {
        if cut {
            self.severed.insert((from, to));
        } else {
            self.severed.remove(&(from, to));
        }
    }

    /// Returns the settings of this link; changes affect frames that are sent from now on.
    pub fn link_mut(&mut self, from: usize, to: usize) -> &mut SimLink {
        self.links.entry((from, to)).or_default()
    }

    /// Returns the settings of all links for which `link_mut` was called.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut SimLink> {
        self.links.values_mut()
    }

    /// Adds a switch port that links may pass. Returns its number.
    pub fn add_port(&mut self, port: SwitchPort) -> usize {
        self.ports.push(port);
        self.ports.len() - 1
    }

    pub fn ports(&self) -> &[SwitchPort] {
        &self.ports
    }

    pub fn send(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let link = self.links.get(&(from, to)).copied().unwrap_or_default();
        let faults = link.faults.unwrap_or(self.faults);
        let is_long = link.mtu.is_some_and(|mtu| bytes.len() > mtu);
        if is_long || self.severed.contains(&(from, to)) || self.rng.per_mille(faults.loss) {
            return;
        }
        let copies = 1 + u64::from(self.rng.per_mille(faults.duplicate));
        for _ in 0..copies {
            let mut bytes = bytes.to_vec();
            self.corrupt(&faults, &mut bytes);
            let late = faults.delay_max_ns > 0 && self.rng.per_mille(faults.reorder);
            let late_ns = if late { self.rng.below(faults.delay_max_ns) } else { 0 };
            let Some(leaves_ns) = self.departure_ns(link.port, bytes.len()) else { continue };
            self.count += 1;
            let at = (leaves_ns + link.latency_ns.unwrap_or(self.latency_ns) + late_ns, self.count);
            self.in_flight.insert(at, ArrivedPacket { from, to, bytes });
        }
    }

    /// The time at which a frame that enters this port now has left it, or the current time if there is no port; None
    /// if the port drops the frame.
    fn departure_ns(&mut self, port: Option<usize>, len: usize) -> Option<u64> {
        let Some(port) = port else { return Some(self.now_ns) };
        self.ports[port].enqueue(len, self.now_ns)
    }

    fn corrupt(&mut self, faults: &Faults, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        if self.rng.per_mille(faults.corrupt) {
            for _ in 0..=self.rng.below(8) {
                let bit = self.rng.index(8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        if self.rng.per_mille(faults.truncate) {
            let left = self.rng.index(bytes.len());
            bytes.truncate(left);
        }
    }

    /// Returns the next frame that arrives no later than `until_ns`, and advances the clock to its arrival. If there
    /// is none, it returns None, and advances the clock to `until_ns`.
    pub fn next(&mut self, until_ns: u64) -> Option<ArrivedPacket> {
        match self.in_flight.first_entry().filter(|first| first.key().0 <= until_ns) {
            Some(first) => {
                let ((at_ns, _), packet) = first.remove_entry();
                self.now_ns = self.now_ns.max(at_ns);
                Some(packet)
            }
            None => {
                self.now_ns = self.now_ns.max(until_ns);
                None
            }
        }
    }

    /// The time of the next arrival; None if no frame is in flight.
    pub fn next_arrival_ns(&self) -> Option<u64> {
        self.in_flight.keys().next().map(|&(at_ns, _)| at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, faults: Faults) -> Vec<(u64, Vec<u8>)> {
        let mut network = SimNetwork::new(seed, 100);
        network.set_faults(faults);
        (0..200u8).for_each(|n| network.send(0, 1, &[n; 16]));
        let mut arrived = Vec::new();
        while let Some(packet) = network.next(1_000_000) {
            arrived.push((network.now_ns(), packet.bytes));
        }
        arrived
    }

    #[test]
    fn a_good_network_carries_all_in_order() {
        let arrived = run(1, Faults::default());
        assert_eq!(arrived, (0..200u8).map(|n| (100, vec![n; 16])).collect::<Vec<_>>());
    }

    #[test]
    fn every_fault_happens_and_a_seed_repeats_them() {
        let of = |faults| run(7, faults);
        assert!((100..180).contains(&of(Faults { loss: 300, ..Faults::default() }).len()));
        assert!(of(Faults { duplicate: 300, ..Faults::default() }).len() > 230);
        let late = of(Faults { reorder: 300, delay_max_ns: 50, ..Faults::default() });
        assert!(!late.is_sorted_by_key(|(_, bytes)| bytes[0]) && late.iter().all(|&(at, _)| at < 150));
        assert!(
            of(Faults { corrupt: 300, ..Faults::default() })
                .iter()
                .any(|(_, bytes)| bytes.iter().any(|b| *b != bytes[15]))
        );
        assert!(of(Faults { truncate: 300, ..Faults::default() }).iter().any(|(_, bytes)| bytes.len() < 16));
        let all = Faults { loss: 100, duplicate: 100, reorder: 100, delay_max_ns: 500, corrupt: 100, truncate: 100 };
        assert_eq!(of(all), of(all));
        assert_ne!(of(all), run(8, all));
    }

    /// The arrivals: time, sender, receiver.
    fn times(network: &mut SimNetwork) -> Vec<(u64, usize, usize)> {
        let (mut arrived, until_ns) = (Vec::new(), network.now_ns() + 1_000_000);
        while let Some(packet) = network.next(until_ns) {
            arrived.push((network.now_ns(), packet.from, packet.to));
        }
        arrived
    }

    #[test]
    fn wires_that_pass_one_port_share_its_rate_and_its_buffer() {
        let mut network = SimNetwork::new(0, 100);
        // A byte takes a nanosecond.
        let port = network.add_port(SwitchPort::new(8_000_000_000, 30));
        network.link_mut(0, 2).port = Some(port);
        *network.link_mut(1, 2) = SimLink { port: Some(port), latency_ns: Some(500), ..SimLink::default() };
        (0..4).for_each(|n| network.send(n % 2, 2, &[0; 10]));
        assert_eq!(times(&mut network), [(110, 0, 2), (130, 0, 2), (520, 1, 2)]);
        assert_eq!(network.ports()[port].dropped(), 1);
    }

    #[test]
    fn what_is_longer_than_a_wire_passes_is_lost_there_alone_as_long_as_it_is_so() {
        let mut network = SimNetwork::new(0, 100);
        let sent = |network: &mut SimNetwork| {
            [10, 11].iter().for_each(|&len| (0..2).for_each(|to| network.send(5, to, &vec![0; len])));
            times(network).len()
        };
        assert_eq!(sent(&mut network), 4);
        network.link_mut(5, 1).mtu = Some(10);
        assert_eq!(sent(&mut network), 3);
        network.link_mut(5, 1).mtu = None;
        assert_eq!(sent(&mut network), 4);
    }

    #[test]
    fn a_wire_with_faults_of_its_own_has_no_others() {
        let mut network = SimNetwork::new(0, 100);
        network.set_faults(Faults { loss: 1000, ..Faults::default() });
        network.link_mut(0, 1).faults = Some(Faults::default());
        (0..3).for_each(|to| network.send(0, to, b"it"));
        assert_eq!(times(&mut network), [(100, 0, 1)]);
    }

    #[test]
    fn a_severed_direction_carries_nothing() {
        let mut network = SimNetwork::new(0, 5);
        network.set_severed(0, 1, true);
        network.send(0, 1, b"no");
        network.send(1, 0, b"yes");
        assert_eq!(network.next(100).unwrap().bytes, b"yes");
        assert_eq!((network.next(100), network.now_ns()), (None, 100));
        network.set_severed(0, 1, false);
        network.send(0, 1, b"again");
        assert_eq!((network.next_arrival_ns(), network.next(200).unwrap().to), (Some(105), 1));
    }
}
