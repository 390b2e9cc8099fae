//! Frames that do not belong to the world, made of those on its wires: frames that are repeated much later, of an
//! earlier incarnation of the same ranks, of another job, and of a rank that does not keep to the protocol. None of
//! them may have an effect.

use crate::monitor::{Monitor, ParsedFrame};
use hawser_link::frame::{CrcCoverage, Frame, FrameHeader, FrameKind, JobKey, PeerPair};
use hawser_sim::{ArrivedPacket, Rng};
use std::collections::VecDeque;

/// The number of frames that are remembered.
const TAPE: usize = 24;

/// The recorded frames. See the module.
#[derive(Default)]
pub struct Strangers {
    /// The last frames, and some of those before them.
    recent: VecDeque<ArrivedPacket>,
    older: VecDeque<ArrivedPacket>,
    /// Frames of an earlier incarnation.
    past: Vec<ArrivedPacket>,
}

fn keep(tape: &mut VecDeque<ArrivedPacket>, packet: ArrivedPacket) -> Option<ArrivedPacket> {
    tape.push_back(packet);
    (tape.len() > TAPE).then(|| tape.pop_front()).flatten()
}

impl Strangers {
    pub fn record(&mut self, rng: &mut Rng, packet: &ArrivedPacket) {
        let falls_out = keep(&mut self.recent, packet.clone());
        if let Some(old) = falls_out.filter(|_| rng.one_in(20)) {
            keep(&mut self.older, old);
        }
    }

    /// Takes the frames that another world has recorded as this one's past, except those that would open paths: a rank
    /// lives once.
    pub fn remember(&mut self, other: Strangers) {
        let all = other.older.into_iter().chain(other.recent);
        self.past.extend(all.filter(|frame| ParsedFrame::of(&frame.bytes).kind > 2));
    }

    /// Returns a frame of this world to be delivered once more.
    pub fn repeated(&self, rng: &mut Rng) -> Option<ArrivedPacket> {
        (!self.older.is_empty()).then(|| self.older[rng.index(self.older.len())].clone())
    }

    /// Returns a frame from outside this world. `tag` gives the key and the peers with which ranks of it tag
    /// theirs.
    pub fn strange(
        &self,
        rng: &mut Rng,
        tag: impl Fn(&ArrivedPacket) -> (JobKey, PeerPair),
        monitor: &Monitor,
    ) -> Option<ArrivedPacket> {
        if !self.past.is_empty() && rng.one_in(3) {
            let old = &self.past[rng.index(self.past.len())];
            return (!monitor.is_path(ParsedFrame::of(&old.bytes).path)).then(|| old.clone());
        }
        if self.recent.is_empty() {
            return None;
        }
        let like = &self.recent[rng.index(self.recent.len())];
        let (key, peers) = tag(like);
        let bytes = forge(rng, like, &key, peers, monitor)?;
        Some(ArrivedPacket { bytes, ..*like })
    }
}

/// Returns a frame like this one, with a right tag except in the first two cases, that breaks one rule; its other
/// contents would have effects if it were accepted.
fn forge(rng: &mut Rng, like: &ArrivedPacket, key: &JobKey, peers: PeerPair, monitor: &Monitor) -> Option<Vec<u8>> {
    let (mut head, payload) = Frame::parse(&like.bytes).ok()?.check(key, peers).ok()?;
    let mut payload = payload.to_vec();
    let write = |head: FrameHeader, payload: &[u8], key: &JobKey, peers: PeerPair| {
        let header = head.write(key, peers, payload, CrcCoverage::All);
        [&header[..], payload].concat()
    };
    head.credit = u16::MAX;
    match rng.below(5) {
        0 => return Some(write(head, &payload, &JobKey::new([8; 16]), peers)),
        1 => return Some(write(head, &payload, key, PeerPair { from: peers.to, to: peers.from })),
        2 => {
            head.path_number ^= 1 << rng.below(16);
            if monitor.is_path(head.path_number) {
                return None;
            }
        }
        _ => match head.kind {
            FrameKind::Data if payload.is_empty() || rng.one_in(2) => head.open = 1024 + rng.below(64_000) as u16,
            FrameKind::Data if rng.one_in(2) => payload[9 + rng.index(3)] = 2,
            FrameKind::Data => payload.truncate(1 + rng.index(11)),
            FrameKind::Ack if rng.one_in(2) => payload.resize(if rng.one_in(2) { 136 } else { payload.len() + 3 }, 0),
            FrameKind::Ack => head.expected = head.expected + 5000,
            FrameKind::Hello | FrameKind::Welcome => match rng.below(2) {
                0 => payload.truncate(rng.index(12)),
                // Another beginning of a path; on a path that is not open it would be the first.
                _ if monitor.is_open((like.to, like.from)) => payload[4] ^= 1,
                _ => return None,
            },
        },
    }
    Some(write(head, &payload, key, peers))
}
