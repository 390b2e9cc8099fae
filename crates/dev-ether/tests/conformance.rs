//! The Ethernet device under the conformance suite of every device, by UDP over the loopback interface; threads stand
//! in for processes.

use hawser_base::{LANES, Lane, Peer};
use hawser_dev_ether::port::{FramePort, PortRange, UdpPort};
use hawser_device::conformance::{self, Form, Memory, Net, Record};
use hawser_device::{Device, Header, Limits, Port, Source, User};
use hawser_os::interfaces::{self, Interface};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

mod nets;

/// Returns the loopback interface with the MTU of an Ethernet.
fn loopback(mtu: usize) -> Interface {
    let all = interfaces::all().unwrap();
    let found = all.into_iter().find(|interface| interface.flags.loopback).expect("there is a loopback interface");
    Interface { mtu, ..found }
}

fn net(ranks: usize, mtu: usize) -> Net {
    net_that_tells(ranks, mtu, Arc::default())
}

/// Makes the same; `told` counts the reports of answers.
fn net_that_tells(ranks: usize, mtu: usize, told: Arc<AtomicU32>) -> Net {
    let interface = loopback(mtu);
    let local = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let port = |rank| Box::new(UdpPort::open(&interface, local, PortRange::ANY, rank).unwrap()) as Box<dyn FramePort>;
    nets::net((0..ranks).map(port).collect(), "lo", &told)
}

#[test]
fn two_ranks_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(2, 1500));
}

#[test]
fn long_frames_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(3, 9000));
}

/// With the shortest frames a packet takes most memory of link.
#[test]
fn what_a_lane_has_reserved_no_other_takes() {
    conformance::what_a_lane_has_reserved_no_other_takes(&net(2, 576));
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
fn a_death_is_reported_once_and_after_the_last_packet() {
    conformance::a_peer_dies(|| net(3, 1500));
    conformance::a_peer_dies(|| net(16, 9000));
    conformance::a_peer_dies_while_it_is_polled(|| net(3, 1500));
    conformance::a_peer_that_nobody_spoke_to_dies(|| net(3, 1500));
}

/// The end of a peer is a word in memory: no descriptor signals it to a rank that no longer polls for what lies in its
/// ports.
#[test]
fn an_end_that_no_lane_was_told_of_keeps_the_rank_awake() {
    let net = net(2, 1500);
    let mut left = net.endpoint(0, 0);
    (net.kill)(1);
    assert_eq!(left.device.before_sleep(), Some(0));
    left.device.flush();
    assert_eq!(left.device.before_sleep(), Some(0), "the lane does not know");
    let mut record = Record::default();
    left.port.poll(&mut record);
    assert_eq!(record.lost, [1]);
    assert_ne!(left.device.before_sleep(), Some(0));
}

/// Otherwise the rank would sleep although it has taken the packet from the kernel itself: for a second, because nobody
/// waits for an acknowledgement.
#[test]
fn what_came_for_another_lane_keeps_the_rank_awake_once() {
    let net = net(2, 1500);
    let (mut sender, mut receiver) = (net.endpoint(0, 1), net.endpoint(1, 1));
    let mut other = net.endpoint(1, 0);
    while sender.send(1, 7, 100, 0, Form::Mem).is_err() {
        sender.port.poll(&mut Record::default());
        assert!(!other.port.poll_from(Peer(0), &mut Record::default()), "nothing was sent to this lane");
    }
    while !sender.device.flush() {
        assert!(!other.port.poll_from(Peer(0), &mut Record::default()), "nothing was sent to this lane");
    }
    assert_eq!(receiver.device.before_sleep(), Some(0));
    assert_ne!(receiver.device.before_sleep(), Some(0), "a lane that nobody has yet must not keep it awake for ever");
    let mut record = Record::default();
    receiver.port.poll(&mut record);
    assert_eq!(record.arrived, [(0, 7, 100)]);
}

fn ground(ranks: usize, mtu: usize) -> (Net, Memory) {
    (net(ranks, mtu), Box::new(|_, len| conformance::words(len)))
}

#[test]
fn memory_of_a_peer_is_worked_on_by_its_device() {
    for mtu in [1500, 576, 9000] {
        conformance::remote(|| ground(2, mtu));
    }
    conformance::remote(|| ground(5, 1500));
}

#[test]
fn operations_end_with_the_peer_and_are_told_before_its_loss() {
    conformance::a_peer_dies_with_operations_in_flight(|| ground(3, 1500));
}

#[test]
fn random_traffic_arrives_as_sent() {
    for (seed, mtu) in [(1, 1500), (0xfeed_beef, 576), (0x1234_5678_9abc, 9000)] {
        conformance::soak(&net(2, mtu), 5_000, seed);
    }
    conformance::soak(&net(10, 1500), 5_000, 42);
}

/// MPI_Finalize flushes again and again; the page of counters, for which every port makes system calls, can wait.
#[test]
fn a_device_that_waits_for_a_peer_tells_what_it_counts_now_and_then() {
    let told = Arc::<AtomicU32>::default();
    let net = net_that_tells(2, 1500, told.clone());
    let header = Header { kind: 1, aux: 0, a: 0, b: 0 };
    net.devices[0].port(Lane(0)).send(Peer(1), header, &[], Source::None).unwrap();
    let began = Instant::now();
    let waited = (0..20_000).filter(|_| !net.devices[0].flush()).count();
    let most = 2 + began.elapsed().as_millis() / 10;
    assert!(waited == 20_000 && u128::from(told.load(Relaxed)) <= most, "told {told:?} times, not {most}");
    while !(net.devices[0].flush() & net.devices[1].flush()) {}
    let before = told.load(Relaxed);
    net.devices[0].rest();
    assert!(told.load(Relaxed) == before + 1, "it may be the last time");
}

/// The device as a user other than MPI sees it, in lanes of its own.
struct OfUser {
    device: Arc<dyn Device>,
    user: User,
}

impl Device for OfUser {
    fn name(&self) -> &'static str {
        self.device.name()
    }
    fn reaches(&self, peer: Peer) -> bool {
        self.device.reaches(peer)
    }
    fn limits(&self) -> Limits {
        self.device.limits()
    }
    fn port(&self, lane: Lane) -> Box<dyn Port> {
        self.device.port(self.user.lane(lane))
    }
    fn before_sleep(&self) -> Option<u64> {
        self.device.before_sleep()
    }
    fn flush(&self) -> bool {
        self.device.flush()
    }
}

/// Makes a net of a further user, which has other lanes in each process, once all requests have been answered.
fn net_of_user(ranks: usize, mtu: usize) -> Net {
    let Net { devices, kill } = net(ranks, mtu);
    let of_user = |(rank, device): (usize, Arc<dyn Device>)| {
        let user = User { name: "user".into(), first: Lane((LANES + rank) as u8), count: 3 };
        device.admit(&user).unwrap();
        Arc::new(OfUser { device, user })
    };
    let devices: Vec<_> = devices.into_iter().enumerate().map(of_user).collect();
    for (rank, device) in devices.iter().enumerate() {
        let mut port = device.port(Lane(0));
        for other in (0..ranks).filter(|&other| other != rank) {
            while !port.reserve(Peer(other as u32), 1) {
                devices.iter().for_each(|device| _ = device.flush());
            }
        }
        port.poll(&mut Record::default());
    }
    let net = Net { devices: devices.into_iter().map(|device| device as Arc<dyn Device>).collect(), kill };
    net.settle();
    net
}

/// P42: the device keeps the same contract for a further user.
#[test]
fn a_further_user_is_promised_the_same() {
    conformance::wire(|| net_of_user(2, 1500));
    conformance::what_a_lane_has_reserved_no_other_takes(&net_of_user(2, 576));
    conformance::many_to_one(&net_of_user(8, 1500), 300);
    conformance::lanes_are_independent(&net_of_user(2, 1500), 5_000);
    conformance::soak(&net_of_user(3, 1500), 3_000, 7);
    conformance::a_peer_dies(|| net_of_user(3, 1500));
    conformance::a_peer_that_nobody_spoke_to_dies(|| net_of_user(3, 1500));
}
