//! The Ethernet device under the conformance suite of every device, by each kind of port between two hosts: network
//! namespaces with a cable (veth) between. `conformance` does the same by UDP without a privilege, and more of it.
//!
//! Rank 0 lives on one host, all others on the other one. The cases run one after the other in a `main` of their own,
//! because they enter namespaces, and a user namespace requires a single thread. Without the privilege the test prints
//! that and tests nothing.

use hawser_dev_ether::port::{FramePort, PacketPort, PacketUdpPort, PortRange, RankCredentials, StreamPort, UdpPort};
use hawser_device::conformance::{self, MakeMemory, TestNet};
use hawser_link::frame::JobKey;
use hawser_os::veth_pair::{NetnsHost, VethPair};
use nets::SECRET;
use resident::on_host;
use std::sync::Arc;

mod nets;
mod resident;

const JOB: u32 = 0x0bad_cafe;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Packet,
    PacketUdp,
    Udp,
    Stream,
}

const ALL: &[Kind] = &[Kind::Packet, Kind::PacketUdp, Kind::Udp, Kind::Stream];
/// The two least similar kinds, for cases that take seconds.
const TWO: &[Kind] = &[Kind::Packet, Kind::Stream];

/// A promise of a device, the ports by which it is tried, and the function that tries it over a cable.
type Case = (&'static str, &'static [Kind], fn(&VethPair, Kind));

fn main() {
    let cable = match hawser_os::netns::become_root().and_then(|()| VethPair::new(1500)) {
        Ok(cable) => cable,
        Err(error) => return println!("devices: NOT TESTED, namespaces are refused here: {error}"),
    };
    let suite: [Case; 5] = [
        ("two ranks keep the promises of a wire", TWO, |cable, kind| conformance::wire(|| net(cable, kind, 2))),
        ("random traffic arrives as sent", ALL, |cable, kind| conformance::soak(&net(cable, kind, 2), 2_000, 1)),
        ("a death is told once, and after the last packet", ALL, a_peer_dies),
        ("memory of a peer is worked on by its device", ALL, |cable, kind| {
            conformance::remote(|| ground(cable, kind, 2))
        }),
        ("operations end with the peer and are told before its loss", ALL, |cable, kind| {
            conformance::a_peer_dies_with_operations_in_flight(|| ground(cable, kind, 3));
        }),
    ];
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, kinds, case) in suite {
        for &kind in kinds.iter().filter(|kind| format!("{name} {kind:?}").contains(&filter)) {
            case(&cable, kind);
            println!("test {name}: {kind:?} ... ok");
        }
    }
}

fn a_peer_dies(cable: &VethPair, kind: Kind) {
    conformance::a_peer_dies(|| net(cable, kind, 3));
    conformance::a_peer_dies_while_it_is_polled(|| net(cable, kind, 3));
    conformance::a_peer_that_nobody_spoke_to_dies(|| net(cable, kind, 3));
}

fn ground(cable: &VethPair, kind: Kind, ranks: usize) -> (TestNet, MakeMemory) {
    (net(cable, kind, ranks), Box::new(|_, len| conformance::words(len)))
}

/// Opens a port of this kind on a host, as that of `rank`.
fn open(kind: Kind, host: &NetnsHost, rank: usize, ranks: usize) -> Box<dyn FramePort> {
    host.within(|| {
        let interface = host.interface();
        let local = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("a cable has addresses");
        match kind {
            Kind::Packet => Box::new(PacketPort::open(&interface, JOB, rank as u16).unwrap()) as Box<dyn FramePort>,
            Kind::PacketUdp => on_host(host, PacketUdpPort::open(&interface, local, PortRange::ANY, rank).unwrap()),
            Kind::Udp => on_host(host, UdpPort::open(&interface, local, PortRange::ANY, rank).unwrap()),
            Kind::Stream => {
                let credentials = RankCredentials { key: JobKey::new(SECRET), me: rank as u32, ranks: ranks as u32 };
                on_host(host, StreamPort::open(&interface, local, PortRange::ANY, rank, credentials).unwrap())
            }
        }
    })
}

fn net(cable: &VethPair, kind: Kind, ranks: usize) -> TestNet {
    let host = |rank: usize| if rank == 0 { &cable.a } else { &cable.b };
    let ports = (0..ranks).map(|rank| open(kind, host(rank), rank, ranks)).collect();
    nets::net(ports, "e0", &Arc::default())
}
