//! The Ethernet device under the suite of every device, by UDP over the loopback interface; threads stand for processes.

use hawser_base::Peer;
use hawser_dev_ether::port::{PortRange, UdpPort};
use hawser_dev_ether::{EtherDevice, Opened, Setup};
use hawser_device::Device;
use hawser_device::conformance::{self, Net};
use hawser_job::counters::Counters;
use hawser_link::Rail;
use hawser_link::frame::Key;
use hawser_os::interfaces::{self, Interface};
use std::sync::{Arc, Mutex};

/// The loopback interface, as if it took no more than an Ethernet.
fn loopback(mtu: usize) -> Interface {
    let all = interfaces::all().unwrap();
    let found = all.into_iter().find(|interface| interface.flags.loopback).expect("there is a loopback interface");
    Interface { mtu, ..found }
}

fn net(ranks: usize, mtu: usize) -> Net {
    let interface = loopback(mtu);
    let local = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let cards = Arc::new(Mutex::new(vec![None; ranks]));
    let device = |rank: usize| {
        let port = UdpPort::open(&interface, local, PortRange::ANY, rank).unwrap();
        let theirs = cards.clone();
        let device = EtherDevice::new(Setup {
            me: rank as u32,
            ranks: ranks as u32,
            key: Key::new([5; 16]),
            seed: rank as u64,
            ports: vec![Opened { port: Box::new(port), rail: 0, interface: "lo".into(), traits: Rail::default() }],
            cards: Box::new(move |peer: u32| theirs.lock().unwrap()[peer as usize].clone()),
            looked: Box::new(|| ()),
            tell: Box::new(|_| true),
            answers: Box::new(|_| ()),
            counters: (Counters::private(), 0),
            serves: Box::new(move |peer: Peer| peer != Peer(rank as u32)),
        });
        cards.lock().unwrap()[rank] = Some(device.card());
        Arc::new(device)
    };
    let devices: Vec<_> = (0..ranks).map(device).collect();
    let mortal = devices.clone();
    let kill = move |dead: usize| mortal.iter().for_each(|device| device.lose(Peer(dead as u32)));
    Net { devices: devices.into_iter().map(|device| device as Arc<dyn Device>).collect(), kill: Box::new(kill) }
}

#[test]
fn two_ranks_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(2, 1500));
}

#[test]
fn long_frames_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(3, 9000));
}

#[test]
fn many_send_to_one() {
    conformance::many_to_one(&net(16, 1500), 300);
    conformance::many_to_one(&net(3, 1500), 5_000);
}

#[test]
fn two_lanes_in_two_threads_do_not_meet() {
    conformance::lanes_are_independent(&net(2, 1500), 5_000);
}

#[test]
fn random_traffic_arrives_as_sent() {
    for (seed, mtu) in [(1, 1500), (0xfeed_beef, 576), (0x1234_5678_9abc, 9000)] {
        conformance::soak(&net(2, mtu), 5_000, seed);
    }
    conformance::soak(&net(10, 1500), 5_000, 42);
}
