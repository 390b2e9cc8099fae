//! A poll that has delivered packets leaves those that the delivery does not expect in their ring; the next poll
//! delivers them.

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Device, Header, Payload, PayloadSource};
use hawser_job::{HostFacts, Segment, SegmentSpec};

/// A delivery that takes everything, and expects `wanted` packets.
struct Waits {
    wanted: usize,
    got: Vec<u32>,
}

impl Delivery for Waits {
    fn deliver(&mut self, _from: Peer, header: Header, _payload: &mut dyn Payload) {
        self.got.push(header.a());
    }

    fn expects(&self, _from: Peer) -> bool {
        self.got.len() < self.wanted
    }

    fn peer_failed(&mut self, peer: Peer) {
        panic!("rank {peer} is lost");
    }
}

#[test]
fn a_poll_ends_with_the_packet_that_was_waited_for() {
    let facts = HostFacts { cores: 1, ..HostFacts::default() };
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("expected", "here", 2, vec![0, 1]) };
    let segment = Segment::create(&spec).unwrap();
    let [mut sender, mut receiver] = [0, 1].map(|me| ShmDevice::new(segment.clone(), me).port(Lane(0)));
    let mut bytes = [7; 5000];
    let mem = UserMem::of_slice(&mut bytes);
    // The first packet goes in chunks, so that a prefetch follows; the rest in slots.
    for (a, len) in [(1, 5000), (2, 8), (3, 8), (4, 8)] {
        sender.send(Peer(1), Header::new(0, 0, a, 0), &[], PayloadSource::Mem(mem.slice(0, len))).unwrap();
    }
    let mut waits = Waits { wanted: 2, got: Vec::new() };
    assert_eq!((receiver.poll(&mut waits), &waits.got[..]), (2, &[1, 2][..]), "the third was not waited for");
    assert_eq!(
        (receiver.poll(&mut waits), &waits.got[..]),
        (1, &[1, 2, 3][..]),
        "it comes when it is looked for again"
    );
    waits.wanted = 9;
    assert_eq!((receiver.poll(&mut waits), receiver.poll(&mut waits)), (1, 0));
    assert_eq!(waits.got, [1, 2, 3, 4]);
}
