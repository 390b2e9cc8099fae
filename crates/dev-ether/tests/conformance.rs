//! The Ethernet device under the conformance suite of every device, by UDP over the loopback interface; threads stand
//! in for processes.

use hawser_base::{LANES, Lane, Peer};
use hawser_dev_ether::port::{FramePort, PortRange, UdpPort};
use hawser_device::conformance::{self, MakeMemory, PayloadForm, ReceivedLog, TestNet};
use hawser_device::{Device, DeviceLimits, DevicePort, Header, PayloadSource, TransportUser};
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

fn net(ranks: usize, mtu: usize) -> TestNet {
    net_counting_reports(ranks, mtu, Arc::default())
}

/// Makes the same; `report_count` counts the reports of answers.
fn net_counting_reports(ranks: usize, mtu: usize, report_count: Arc<AtomicU32>) -> TestNet {
    let interface = loopback(mtu);
    let local = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let port = |rank| Box::new(UdpPort::open(&interface, local, PortRange::ANY, rank).unwrap()) as Box<dyn FramePort>;
    nets::net((0..ranks).map(port).collect(), "lo", &report_count)
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
fn a_sender_to_many_needs_no_other_call() {
    conformance::a_sender_to_many_needs_no_other_call(&net(9, 1500), 100);
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

/// The end of a peer is a flag in memory: no descriptor signals it to a rank that no longer polls for what lies in
/// its ports.
#[test]
fn an_end_that_no_lane_was_told_of_keeps_the_rank_awake() {
    let net = net(2, 1500);
    let mut left = net.endpoint(0, 0);
    (net.kill)(1);
    assert_eq!(left.device.before_sleep(), Some(0));
    left.device.flush();
    assert_eq!(left.device.before_sleep(), Some(0), "the lane was not notified");
    let mut record = ReceivedLog::default();
    left.port.poll(&mut record);
    assert_eq!(record.failed, [1]);
    assert_ne!(left.device.before_sleep(), Some(0));
}

/// Otherwise the rank would sleep although it has taken the packet from the kernel itself: for a second, because nobody
/// waits for an acknowledgement.
#[test]
fn what_came_for_another_lane_keeps_the_rank_awake_once() {
    let net = net(2, 1500);
    let (mut sender, mut receiver) = (net.endpoint(0, 1), net.endpoint(1, 1));
    let mut other = net.endpoint(1, 0);
    while sender.send(1, 7, 100, 0, PayloadForm::Mem).is_err() {
        sender.port.poll(&mut ReceivedLog::default());
        assert!(!other.port.poll_from(Peer(0), &mut ReceivedLog::default()), "nothing was sent to this lane");
    }
    while !sender.device.flush() {
        assert!(!other.port.poll_from(Peer(0), &mut ReceivedLog::default()), "nothing was sent to this lane");
    }
    assert_eq!(receiver.device.before_sleep(), Some(0));
    assert_ne!(receiver.device.before_sleep(), Some(0), "a lane that nobody has yet must not keep it awake for ever");
    let mut record = ReceivedLog::default();
    receiver.port.poll(&mut record);
    assert_eq!(record.arrived, [(0, 7, 100)]);
}

fn net_and_memory(ranks: usize, mtu: usize) -> (TestNet, MakeMemory) {
    (net(ranks, mtu), Box::new(|_, len| conformance::words(len)))
}

#[test]
fn memory_of_a_peer_is_worked_on_by_its_device() {
    for mtu in [1500, 576, 9000] {
        conformance::remote(|| net_and_memory(2, mtu));
    }
    conformance::remote(|| net_and_memory(5, 1500));
}

#[test]
fn operations_end_with_the_peer_and_are_told_before_its_loss() {
    conformance::a_peer_dies_with_operations_in_flight(|| net_and_memory(3, 1500));
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
    let report_count = Arc::<AtomicU32>::default();
    let net = net_counting_reports(2, 1500, report_count.clone());
    let header = Header::new(1, 0, 0, 0);
    net.devices[0].port(Lane(0)).send(Peer(1), header, &[], PayloadSource::None).unwrap();
    let began = Instant::now();
    let waited = (0..20_000).filter(|_| !net.devices[0].flush()).count();
    let most = 2 + began.elapsed().as_millis() / 10;
    assert!(
        waited == 20_000 && u128::from(report_count.load(Relaxed)) <= most,
        "reported {report_count:?} times, not {most}"
    );
    while !(net.devices[0].flush() & net.devices[1].flush()) {}
    let before = report_count.load(Relaxed);
    net.devices[0].on_idle();
    assert!(report_count.load(Relaxed) == before + 1, "it may be the last time");
}

/// The device as a user other than MPI sees it, in lanes of its own.
struct UserDevice {
    device: Arc<dyn Device>,
    user: TransportUser,
}

impl Device for UserDevice {
    fn name(&self) -> &'static str {
        self.device.name()
    }
    fn reaches(&self, peer: Peer) -> bool {
        self.device.reaches(peer)
    }
    fn limits(&self) -> DeviceLimits {
        self.device.limits()
    }
    fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
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
fn user_net(ranks: usize, mtu: usize) -> TestNet {
    let TestNet { devices, kill } = net(ranks, mtu);
    let of_user = |(rank, device): (usize, Arc<dyn Device>)| {
        let user = TransportUser { name: "user".into(), first_lane: Lane((LANES + rank) as u8), lane_count: 3 };
        device.admit(&user).unwrap();
        Arc::new(UserDevice { device, user })
    };
    let devices: Vec<_> = devices.into_iter().enumerate().map(of_user).collect();
    for (rank, device) in devices.iter().enumerate() {
        let mut port = device.port(Lane(0));
        for other in (0..ranks).filter(|&other| other != rank) {
            while !port.reserve(Peer(other as u32), 1) {
                devices.iter().for_each(|device| _ = device.flush());
            }
        }
        port.poll(&mut ReceivedLog::default());
    }
    let net = TestNet { devices: devices.into_iter().map(|device| device as Arc<dyn Device>).collect(), kill };
    net.flush_all();
    net
}

/// P42: the device keeps the same contract for a further user.
#[test]
fn a_further_user_is_promised_the_same() {
    conformance::wire(|| user_net(2, 1500));
    conformance::what_a_lane_has_reserved_no_other_takes(&user_net(2, 576));
    conformance::many_to_one(&user_net(8, 1500), 300);
    conformance::lanes_are_independent(&user_net(2, 1500), 5_000);
    conformance::soak(&user_net(3, 1500), 3_000, 7);
    conformance::a_peer_dies(|| user_net(3, 1500));
    conformance::a_peer_that_nobody_spoke_to_dies(|| user_net(3, 1500));
}
