//! A rank that sleeps is woken by each event that it waits for: a packet, and space for packets of its own.

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Device, DevicePort, Header, Payload, PayloadSource, SendError};
use hawser_job::doorbell::WakeReason;
use hawser_job::{HostFacts, Segment, SegmentSpec};

/// Timeout so long that only a missed ring of the doorbell lets it pass.
const LONG_NS: u64 = 20_000_000_000;

#[derive(Default)]
struct DeliveredCount(usize);

impl Delivery for DeliveredCount {
    fn deliver(&mut self, _from: Peer, _header: Header, _payload: &mut dyn Payload) {
        self.0 += 1;
    }

    fn peer_failed(&mut self, peer: Peer) {
        panic!("rank {peer} is lost");
    }
}

fn two_ranks() -> (Segment, [Box<dyn DevicePort>; 2]) {
    let facts = HostFacts { cores: 1, ..HostFacts::default() };
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("waking", "here", 2, vec![0, 1]) };
    let segment = Segment::create(&spec).unwrap();
    let ports = [0, 1].map(|me| ShmDevice::new(segment.clone(), me).port(Lane(0)));
    (segment, ports)
}

/// Sends packets of `len` bytes until one is refused. Returns how many were accepted.
fn fill(port: &mut dyn DevicePort, len: usize) -> usize {
    let mut bytes = vec![7; len];
    let mem = UserMem::of_slice(&mut bytes);
    let mut sent = 0;
    loop {
        match port.send(Peer(1), Header::default(), &[], PayloadSource::Mem(mem)) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => return sent,
            Err(SendError::PeerFailed) => panic!("nobody died"),
        }
    }
}

fn a_sleeper_wakes_when_there_is_room(len: usize) {
    let (segment, [mut sender, mut receiver]) = two_ranks();
    let sent = fill(&mut *sender, len);
    assert!(sent > 0);
    let bell = segment.rank(0).doorbell();
    let armed = bell.arm();
    assert_eq!(fill(&mut *sender, len), 0, "the last look before sleeping finds no room");
    let woken = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut taken = DeliveredCount::default();
            while taken.0 < sent {
                receiver.poll(&mut taken);
            }
        });
        bell.sleep(armed, Some(LONG_NS))
    });
    assert_ne!(woken, WakeReason::TimedOut);
    assert!(fill(&mut *sender, len) > 0);
}

#[test]
fn a_sender_asleep_is_woken_when_lines_are_free_again() {
    a_sleeper_wakes_when_there_is_room(8);
}

#[test]
fn a_sender_asleep_is_woken_when_chunks_come_back() {
    a_sleeper_wakes_when_there_is_room(32 << 10);
}

#[test]
fn a_receiver_asleep_is_woken_by_a_packet() {
    let (segment, [mut sender, mut receiver]) = two_ranks();
    let bell = segment.rank(1).doorbell();
    let armed = bell.arm();
    assert_eq!(receiver.poll(&mut DeliveredCount::default()), 0);
    sender.send(Peer(1), Header::default(), &[], PayloadSource::None).unwrap();
    assert_ne!(bell.sleep(armed, Some(LONG_NS)), WakeReason::TimedOut);
}
