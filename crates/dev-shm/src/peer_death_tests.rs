//! Tests of a peer that ends: while it writes a packet, arranged slot by slot; and the memory kept for one that has
//! ended.

use crate::device::ShmDevice;
use crate::layout::DeviceLayout;
use crate::ring::Producer;
use crate::ring_mapping::RingMapping;
use crate::ring_slot;
use allocation_counter::measure;
use hawser_base::{Lane, Peer};
use hawser_device::{Delivery, Device, DevicePort, Header, Payload, PayloadSource, SendError};
use hawser_job::{ExitKind, HostFacts, Segment, SegmentSpec};
use std::time::Duration;

fn segment() -> Segment {
    let facts = HostFacts::default();
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("t", "h", 2, vec![0, 1]) };
    Segment::create(&spec).unwrap()
}

/// Writes `whole` packets of three ring slots from rank 1 to rank 0, and `lines` slots of one more.
fn write(segment: &Segment, whole: u32, lines: u32) {
    let (area, layout) = (segment.device_area(), DeviceLayout { ranks: 2 });
    let mut ring = Producer::new(RingMapping::new(&area, layout.ring(0, 0, 1), layout.credit(1, 0, 0)));
    let (mut tx, len) = (ring.packet(), ring_slot::payload_of_slots(3));
    for packet in 0..=whole {
        for line in 0..if packet < whole { 3 } else { lines } {
            let header = Header::new(0, 0, packet, 0);
            let word = if line == 0 { ring_slot::inline_word(&header, len) } else { 0 };
            // SAFETY: the body begins with the second word.
            tx.put(word, |body| unsafe { body.cast::<u64>().write(ring_slot::second_word(&header)) });
        }
    }
    tx.finish(&mut ring);
    area.u64(layout.notify_bits(0, 0, 1)).store(2, std::sync::atomic::Ordering::Release);
}

#[derive(Default)]
struct Seen {
    whole: u32,
    cut: u32,
    lost: u32,
    /// Bytes of a packet to take at once; 0 takes all by `copy_to`.
    ragged: usize,
}

impl Delivery for Seen {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        assert_eq!((from, header.a(), self.lost), (Peer(1), self.whole, 0));
        let len = payload.len();
        let whole = if self.ragged == 0 {
            payload.copy_to(hawser_base::UserMem::of_slice(&mut vec![0; len]))
        } else {
            let mut got = 0;
            while let Some(piece) = payload.next(self.ragged) {
                got += piece.len();
            }
            assert!(payload.next(1).is_none());
            got == len
        };
        *(if whole { &mut self.whole } else { &mut self.cut }) += 1;
    }

    fn peer_failed(&mut self, peer: Peer) {
        assert_eq!(peer, Peer(1));
        self.lost += 1;
    }
}

fn port(segment: &Segment) -> Box<dyn DevicePort> {
    ShmDevice::new(segment.clone(), 0).port(Lane(0))
}

#[test]
fn a_packet_that_its_writer_left_unfinished_ends_early_and_then_the_writer_is_lost() {
    for lines in [1, 2] {
        for (ragged, by_name) in [(0, false), (0, true), (7, false), (1000, true)] {
            let segment = segment();
            let mut port = port(&segment);
            write(&segment, 2, lines);
            segment.record_exit(Peer(1), ExitKind::Failed);
            let mut seen = Seen { ragged, ..Seen::default() };
            for _ in 0..10 {
                if by_name {
                    port.poll_from(Peer(1), &mut seen);
                } else {
                    port.poll(&mut seen);
                }
            }
            assert_eq!((seen.whole, seen.cut, seen.lost), (2, 1, 1), "{lines} lines");
        }
    }
}

#[test]
fn a_receiver_in_the_middle_of_a_packet_learns_of_the_writers_death() {
    for ragged in [0, 100] {
        let segment = segment();
        let mut port = port(&segment);
        write(&segment, 0, 2);
        let mut seen = Seen { ragged, ..Seen::default() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                segment.record_exit(Peer(1), ExitKind::Failed);
            });
            while seen.lost == 0 {
                port.poll(&mut seen);
            }
        });
        assert_eq!((seen.whole, seen.cut, seen.lost), (0, 1, 1));
    }
}

#[test]
fn a_line_that_comes_late_is_waited_for() {
    let segment = segment();
    let mut port = port(&segment);
    write(&segment, 0, 2);
    let mut seen = Seen::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            write(&segment, 0, 3);
        });
        while seen.whole == 0 {
            port.poll(&mut seen);
        }
    });
    assert_eq!((seen.whole, seen.cut, seen.lost), (1, 0, 0));
}

/// Counts the lost peers.
struct Lost(u32);

impl Delivery for Lost {
    fn deliver(&mut self, _: Peer, _: Header, _: &mut dyn Payload) {}

    fn peer_failed(&mut self, _: Peer) {
        self.0 += 1;
    }
}

#[test]
fn a_peer_that_is_lost_gives_its_memory_back_and_stays_lost() {
    const RANKS: u32 = 300;
    let others = || (1..RANKS).map(Peer);
    let facts = HostFacts::default();
    let (world, world_ranks) = (RANKS as usize, (0..RANKS).collect());
    let segment =
        Segment::create(&SegmentSpec { facts, ..SegmentSpec::without_spares("t", "h", world, world_ranks) }).unwrap();
    let mut port = port(&segment);
    let send = |port: &mut dyn DevicePort, to: Peer| port.send(to, Header::default(), &[], PayloadSource::None);
    let spoken = measure(|| others().for_each(|peer| send(&mut *port, peer).unwrap())).bytes_current;
    assert!(spoken >= 128 * i64::from(RANKS - 1), "{spoken} bytes of peers that were spoken to");
    others().for_each(|peer| segment.record_exit(peer, ExitKind::Failed));
    let mut lost = Lost(0);
    let left = spoken + measure(|| _ = port.poll(&mut lost)).bytes_current;
    assert!(lost.0 == RANKS - 1 && left < 2 * i64::from(RANKS), "{left} bytes of {} peers that are lost", lost.0);
    for peer in others() {
        assert_eq!(send(&mut *port, peer), Err(SendError::PeerFailed));
        assert!(!port.poll_from(peer, &mut lost) && !port.reserve(peer, 8));
    }
    assert_eq!(lost.0, RANKS - 1, "each is reported once");
}
