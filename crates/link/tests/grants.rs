//! Tests the sum of a rank's grants to all its peers, read from the wire (P21): endpoints with a wire that loses
//! nothing.

use hawser_link::frame::{Dropped, Ends, Frame, Key, Kind};
use hawser_link::{Class, Config, Endpoint, Far, Message, Rail, Route, Seq, Wire, ack};
use std::collections::BTreeMap;
use std::io::IoSlice;

const FRAME: usize = 548;
const SLOTS: usize = 600;
/// The number of messages of each speaker, and bytes of one.
const MESSAGES: usize = 300;
const BYTES: usize = 8000;

fn key() -> Key {
    Key::new(*b"the job's secret")
}

/// Frames of one rank, with their receivers and flows.
#[derive(Default)]
struct Tape(Vec<(u32, u8, Vec<u8>)>);

impl Wire for Tape {
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize {
        self.0.extend(frames.iter().map(|frame| (peer, route.flow, frame.to_vec())));
        frames.len()
    }
}

/// A path to rank 0, as its frames show it: its first number, the end of its credit, and the number behind the last
/// frame.
#[derive(Default)]
struct Granted {
    first: Seq,
    until: Option<Seq>,
    end: Seq,
}

/// Rank 0 and the ranks that send first, by several paths each to its only port.
struct World {
    ranks: Vec<Endpoint>,
    paths: BTreeMap<(u32, u8), Granted>,
    now_ns: u64,
    came: usize,
}

impl World {
    fn new(speakers: u32, flows: u8, room: u32) -> World {
        let ranks = speakers + 1;
        let endpoint = |me: u32| {
            let config = Config {
                me,
                ranks,
                key: key(),
                frame_max: FRAME,
                sending: SLOTS,
                holding: SLOTS,
                rails: vec![Rail::default()],
            };
            let mut endpoint = Endpoint::new(config, 5);
            endpoint.set_room(0, room);
            for flow in 0..if me > 0 { flows } else { 0 } {
                endpoint.open(0, Route { ours: 0, theirs: 0, flow }, Far { nic: 0, frame: FRAME });
            }
            endpoint
        };
        World { ranks: (0..ranks).map(endpoint).collect(), paths: BTreeMap::new(), now_ns: 1, came: 0 }
    }

    /// Delivers a speaker's frame to rank 0.
    fn speaks(&mut self, me: u32, flow: u8, bytes: &[u8]) {
        let (head, payload) = Frame::of(bytes).unwrap().check(&key(), Ends { from: me, to: 0 }).unwrap();
        let came = &mut self.came;
        let result = self.ranks[0].handle_frame(0, bytes, self.now_ns, &mut |_, _, _: Message<'_>| *came += 1);
        let path = self.paths.entry((me, flow)).or_default();
        match head.kind {
            Kind::Hello => path.first = Seq(u32::from_le_bytes(payload[4..8].try_into().unwrap())),
            // The frame counts as not arrived while there is no memory for it (P20).
            Kind::Data if result == Err(Dropped::NoRoom) => {}
            Kind::Data => path.end = head.sequence.next(),
            _ => result.unwrap(),
        }
    }

    /// Takes a frame of rank 0 with its grant to its receiver.
    fn answers(&mut self, to: u32, flow: u8, bytes: &[u8]) {
        let (head, payload) = Frame::of(bytes).unwrap().check(&key(), Ends { from: 0, to }).unwrap();
        let path = self.paths.get_mut(&(to, flow)).expect("it spoke first");
        let end = match head.kind {
            Kind::Welcome => {
                path.end = path.first;
                path.first
            }
            Kind::Ack => ack::read(head.expected, payload).unwrap().end(),
            _ => head.expected,
        };
        let until = end + u32::from(head.credit);
        path.until = Some(path.until.filter(|&was| until.is_by(was)).unwrap_or(until));
        self.ranks[to as usize].handle_frame(0, bytes, self.now_ns, &mut |_, _, _: Message<'_>| {}).unwrap();
    }

    /// All speakers send as much as they may; then rank 0 replies. Returns what it has granted then.
    fn step(&mut self, left: &mut [usize]) -> u32 {
        self.now_ns += 20_000;
        for (me, left) in (1..).zip(left) {
            let speaker = &mut self.ranks[me as usize];
            while *left > 0 && speaker.send(0, 0, BYTES, Class::Payload, |_, into| into.fill(1)).is_ok() {
                *left -= 1;
            }
            let mut tape = Tape::default();
            speaker.transmit(self.now_ns, &mut tape);
            tape.0.iter().for_each(|(_, flow, bytes)| self.speaks(me, *flow, bytes));
        }
        let mut tape = Tape::default();
        self.ranks[0].transmit(self.now_ns, &mut tape);
        tape.0.iter().for_each(|(to, flow, bytes)| self.answers(*to, *flow, bytes));
        self.paths.values().filter_map(|path| Some(path.end.until(path.until?))).sum()
    }
}

/// P21: returns the most that was granted at once, for speakers, paths of each, and room, when all messages have
/// arrived.
fn most(speakers: u32, flows: u8, room: u32) -> u32 {
    let mut world = World::new(speakers, flows, room);
    let mut left = vec![MESSAGES; speakers as usize];
    let mut most = 0;
    for _ in 0..1_000_000 {
        most = most.max(world.step(&mut left));
        if world.came == MESSAGES * speakers as usize {
            assert_eq!(world.paths.len(), speakers as usize * usize::from(flows));
            return most;
        }
    }
    panic!("{} messages came of {speakers} speakers", world.came);
}

#[test]
fn what_all_speakers_are_granted_fits_the_room() {
    for (speakers, flows) in [(1, 1), (8, 1), (64, 1), (1, 4), (8, 3)] {
        let most = most(speakers, flows, 2137);
        println!("{speakers} speakers by {flows} paths each were granted {most} of 2137");
        assert!((200..=2137).contains(&most), "{speakers} speakers by {flows} paths: {most}");
    }
}

/// Two frames each are always granted, or some could never continue.
#[test]
fn where_there_is_hardly_room_everybody_goes_on() {
    for (speakers, flows) in [(8, 1), (64, 1), (8, 3)] {
        let most = most(speakers, flows, 20);
        assert!(most <= 20 + 2 * speakers * u32::from(flows), "{speakers} speakers by {flows} paths: {most}");
    }
}
