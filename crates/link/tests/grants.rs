//! Tests the sum of the receive credit that a rank grants to all its peers, read from the wire (P21): endpoints
//! with a wire that loses nothing.

use hawser_link::frame::{DropReason, Frame, FrameKind, JobKey, PeerPair};
use hawser_link::{Config, Endpoint, FrameSender, Message, MessageClass, PathId, PortTraits, RemotePort, Seq, ack};
use std::collections::BTreeMap;
use std::io::IoSlice;

const FRAME: usize = 548;
const SLOTS: usize = 600;
/// The number of messages of each sender, and bytes of one.
const MESSAGES: usize = 300;
const BYTES: usize = 8000;

fn key() -> JobKey {
    JobKey::new(*b"the job's secret")
}

/// Frames of one rank, with their receivers and flows.
#[derive(Default)]
struct Tape(Vec<(u32, u8, Vec<u8>)>);

impl FrameSender for Tape {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        self.0.extend(frames.iter().map(|frame| (peer, path_id.flow, frame.to_vec())));
        frames.len()
    }
}

/// A path to rank 0, as its frames show it: its first number, the end of its credit, and the number behind the last
/// frame.
#[derive(Default)]
struct AdvertisedCredit {
    first: Seq,
    until: Option<Seq>,
    end: Seq,
}

/// Rank 0 and the ranks that send first, by several paths each to its only port.
struct World {
    ranks: Vec<Endpoint>,
    paths: BTreeMap<(u32, u8), AdvertisedCredit>,
    now_ns: u64,
    received: usize,
}

impl World {
    fn new(senders: u32, flows: u8, capacity: u32) -> World {
        let ranks = senders + 1;
        let endpoint = |me: u32| {
            let config = Config {
                me,
                ranks,
                key: key(),
                frame_max: FRAME,
                send_slots: SLOTS,
                reassembly_slots: SLOTS,
                ports: vec![PortTraits::default()],
            };
            let mut endpoint = Endpoint::new(config, 5);
            endpoint.set_receive_capacity(0, capacity);
            for flow in 0..if me > 0 { flows } else { 0 } {
                endpoint.open_path(
                    0,
                    PathId { local_port: 0, remote_port: 0, flow },
                    RemotePort { nic: 0, frame_max: FRAME },
                );
            }
            endpoint
        };
        World { ranks: (0..ranks).map(endpoint).collect(), paths: BTreeMap::new(), now_ns: 1, received: 0 }
    }

    /// Delivers a sender's frame to rank 0.
    fn deliver_to_receiver(&mut self, me: u32, flow: u8, bytes: &[u8]) {
        let (head, payload) = Frame::parse(bytes).unwrap().check(&key(), PeerPair { from: me, to: 0 }).unwrap();
        let received = &mut self.received;
        let result = self.ranks[0].handle_frame(0, bytes, self.now_ns, &mut |_, _, _: Message<'_>| *received += 1);
        let path = self.paths.entry((me, flow)).or_default();
        match head.kind {
            FrameKind::Hello => path.first = Seq(u32::from_le_bytes(payload[4..8].try_into().unwrap())),
            // The frame counts as not arrived while there is no memory for it (P20).
            FrameKind::Data if result == Err(DropReason::NoMemory) => {}
            FrameKind::Data => path.end = head.sequence.next(),
            _ => result.unwrap(),
        }
    }

    /// Delivers a frame of rank 0 with its credit to its receiver.
    fn deliver_from_receiver(&mut self, to: u32, flow: u8, bytes: &[u8]) {
        let (head, payload) = Frame::parse(bytes).unwrap().check(&key(), PeerPair { from: 0, to }).unwrap();
        let path = self.paths.get_mut(&(to, flow)).expect("it sent first");
        let end = match head.kind {
            FrameKind::Welcome => {
                path.end = path.first;
                path.first
            }
            FrameKind::Ack => ack::read(head.expected, payload).unwrap().end(),
            _ => head.expected,
        };
        let until = end + u32::from(head.credit);
        path.until = Some(path.until.filter(|&was| until.is_at_or_before(was)).unwrap_or(until));
        self.ranks[to as usize].handle_frame(0, bytes, self.now_ns, &mut |_, _, _: Message<'_>| {}).unwrap();
    }

    /// All senders send as much as they may; then rank 0 replies. Returns the frames for which it has granted
    /// credit then.
    fn step(&mut self, left: &mut [usize]) -> u32 {
        self.now_ns += 20_000;
        for (me, left) in (1..).zip(left) {
            let sender = &mut self.ranks[me as usize];
            while *left > 0 && sender.send(0, 0, BYTES, MessageClass::Payload, |_, into| into.fill(1)).is_ok() {
                *left -= 1;
            }
            let mut tape = Tape::default();
            sender.transmit(self.now_ns, &mut tape);
            tape.0.iter().for_each(|(_, flow, bytes)| self.deliver_to_receiver(me, *flow, bytes));
        }
        let mut tape = Tape::default();
        self.ranks[0].transmit(self.now_ns, &mut tape);
        tape.0.iter().for_each(|(to, flow, bytes)| self.deliver_from_receiver(*to, *flow, bytes));
        self.paths.values().filter_map(|path| Some(path.end.distance_to(path.until?))).sum()
    }
}

/// P21: returns the most credit that was granted at once, in frames, to so many senders with `flows` paths each, by
/// a receive capacity, when all messages have arrived.
fn most(senders: u32, flows: u8, capacity: u32) -> u32 {
    let mut world = World::new(senders, flows, capacity);
    let mut left = vec![MESSAGES; senders as usize];
    let mut most = 0;
    for _ in 0..1_000_000 {
        most = most.max(world.step(&mut left));
        if world.received == MESSAGES * senders as usize {
            assert_eq!(world.paths.len(), senders as usize * usize::from(flows));
            return most;
        }
    }
    panic!("{} messages came of {senders} senders", world.received);
}

#[test]
fn what_all_speakers_are_granted_fits_the_room() {
    for (senders, flows) in [(1, 1), (8, 1), (64, 1), (1, 4), (8, 3)] {
        let most = most(senders, flows, 2137);
        println!("{senders} senders by {flows} paths each were granted {most} of 2137");
        assert!((200..=2137).contains(&most), "{senders} senders by {flows} paths: {most}");
    }
}

/// Two frames each are always granted, or some could never continue.
#[test]
fn where_there_is_hardly_room_everybody_goes_on() {
    for (senders, flows) in [(8, 1), (64, 1), (8, 3)] {
        let most = most(senders, flows, 20);
        assert!(most <= 20 + 2 * senders * u32::from(flows), "{senders} senders by {flows} paths: {most}");
    }
}
