//! Frames that do not belong to the world, made of those on its wires: frames that are repeated much later, of an
//! earlier incarnation of the same ranks, of another job, and of a rank that does not keep to the protocol. None of
//! them may have an effect.

use crate::monitor::{Monitor, Said};
use hawser_link::frame::{Cover, Ends, Frame, Head, Key, Kind};
use hawser_sim::{Arrival, Dice};
use std::collections::VecDeque;

/// The number of frames that are remembered.
const TAPE: usize = 24;

/// The recorded frames. See the module.
#[derive(Default)]
pub struct Strangers {
    /// The last frames, and some of those before them.
    recent: VecDeque<Arrival>,
    older: VecDeque<Arrival>,
    /// Frames of an earlier incarnation.
    past: Vec<Arrival>,
}

fn keep(tape: &mut VecDeque<Arrival>, arrival: Arrival) -> Option<Arrival> {
    tape.push_back(arrival);
    (tape.len() > TAPE).then(|| tape.pop_front()).flatten()
}

impl Strangers {
    pub fn record(&mut self, dice: &mut Dice, arrival: &Arrival) {
        let falls_out = keep(&mut self.recent, arrival.clone());
        if let Some(old) = falls_out.filter(|_| dice.one_in(20)) {
            keep(&mut self.older, old);
        }
    }

    /// Takes the frames that another world has recorded as this one's past, except those that would open paths: a rank
    /// lives once.
    pub fn remember(&mut self, other: Strangers) {
        let all = other.older.into_iter().chain(other.recent);
        self.past.extend(all.filter(|frame| Said::of(&frame.bytes).kind > 2));
    }

    /// Returns a frame of this world to be delivered once more.
    pub fn repeated(&self, dice: &mut Dice) -> Option<Arrival> {
        (!self.older.is_empty()).then(|| self.older[dice.index(self.older.len())].clone())
    }

    /// Returns a frame from outside this world. `tag` gives the key and the ends with which ranks of it tag theirs.
    pub fn strange(
        &self,
        dice: &mut Dice,
        tag: impl Fn(&Arrival) -> (Key, Ends),
        monitor: &Monitor,
    ) -> Option<Arrival> {
        if !self.past.is_empty() && dice.one_in(3) {
            let old = &self.past[dice.index(self.past.len())];
            return (!monitor.is_path(Said::of(&old.bytes).path)).then(|| old.clone());
        }
        if self.recent.is_empty() {
            return None;
        }
        let like = &self.recent[dice.index(self.recent.len())];
        let (key, ends) = tag(like);
        let bytes = lie(dice, like, &key, ends, monitor)?;
        Some(Arrival { bytes, ..*like })
    }
}

/// Returns a frame like this one, with a right tag except in the first two cases, that breaks one rule; its other
/// contents would have effects if it were accepted.
fn lie(dice: &mut Dice, like: &Arrival, key: &Key, ends: Ends, monitor: &Monitor) -> Option<Vec<u8>> {
    let (mut head, payload) = Frame::of(&like.bytes).ok()?.check(key, ends).ok()?;
    let mut payload = payload.to_vec();
    let write = |head: Head, payload: &[u8], key: &Key, ends: Ends| {
        let header = head.write(key, ends, payload, Cover::All);
        [&header[..], payload].concat()
    };
    head.credit = u16::MAX;
    match dice.below(5) {
        0 => return Some(write(head, &payload, &Key::new([8; 16]), ends)),
        1 => return Some(write(head, &payload, key, Ends { from: ends.to, to: ends.from })),
        2 => {
            head.path ^= 1 << dice.below(16);
            if monitor.is_path(head.path) {
                return None;
            }
        }
        _ => match head.kind {
            Kind::Data if payload.is_empty() || dice.one_in(2) => head.open = 1024 + dice.below(64_000) as u16,
            Kind::Data if dice.one_in(2) => payload[9 + dice.index(3)] = 2,
            Kind::Data => payload.truncate(1 + dice.index(11)),
            Kind::Ack if dice.one_in(2) => payload.resize(if dice.one_in(2) { 136 } else { payload.len() + 3 }, 0),
            Kind::Ack => head.expected = head.expected + 5000,
            Kind::Hello | Kind::Welcome => match dice.below(2) {
                0 => payload.truncate(dice.index(12)),
                // Another beginning of a path; on a path that is not open it would be the first.
                _ if monitor.is_open((like.to, like.from)) => payload[4] ^= 1,
                _ => return None,
            },
        },
    }
    Some(write(head, &payload, key, ends))
}
