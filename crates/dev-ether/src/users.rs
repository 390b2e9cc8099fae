//! Users of the device beside the first (MPI): the assignment of a peer's packets to them, and the credit that bounds
//! unread packets.
//!
//! Nothing here is sent from inside a delivery: messages to send wait for `work`. A user may have other lanes at its
//! peer, or not be open there yet. Before the first packet to a peer it sends a request (ASK: its name and its lanes),
//! and is answered when the peer's user of that name is open (GRANT); nothing is sent before that, and packets for
//! other lanes than the requested ones are dropped (P42). GRANT also carries how many of the packets the user there has
//! taken: the sender may be PAYLOAD beyond that, or CONTROL without payload, so that the inboxes of a user that does
//! not poll are bounded for each peer, and only that user is refused. The count of packets taken is reported every
//! quarter of that, by messages of link on a channel of their own.
//!
//! Link keeps the order of messages, so a packet never arrives before its ASK. Long messages go in packets: a direct
//! connection is shared by all users, and one that does not poll would have to stop it. Used by `device` and
//! `user_port`; uses `link::Endpoint`.

use crate::message::{Outgoing, take};
use hawser_base::{LANES, Lane, UserMem};
use hawser_device::{Refusal, Source, User};
use hawser_link::{Class, Endpoint, Message, Party};
use std::collections::HashMap;

/// The channel of messages about users.
pub const CHANNEL: u8 = 253;

/// Packets with payload that a user may have in flight to a peer, taken there by link and not by the user: 2 MiB of the
/// longest. As many more may be without payload, and one for each lane that has reserved memory.
pub const PAYLOAD: u32 = 128;
const CONTROL: u32 = 2 * PAYLOAD;
const MOST: u32 = CONTROL + u8::BITS * 4;
/// Maximum packets taken between two reports of a receiver: the sender never waits for less than its receiver has space
/// for.
const LAZY: u32 = PAYLOAD / 4;

/// The longest name in a message, as in the host's segment (`job::users`).
const NAME_MAX: usize = hawser_job::users::NAME_MAX;
/// Maximum users of a peer that are kept, open here or not: a peer may send any names.
const OF_PEER: usize = 16;

const ASK: u8 = 1;
const GRANT: u8 = 2;
/// Bytes of a message in front of a name: its kind, the sender's or asker's first lane, lanes or 0, the name's length
/// or 0; behind GRANT the packets taken, little-endian.
const FRONT: usize = 4;
const WORD: usize = FRONT + NAME_MAX;

/// A user of this process.
struct Here {
    user: User,
    party: Party,
    /// The progress with each peer that it has sent to.
    to: HashMap<u32, To>,
}

/// The progress of a user here with the packets that it sends to a peer.
#[derive(Default)]
struct To {
    asked: bool,
    /// Packets that the user there has taken, once it is known to be open.
    taken: Option<u32>,
    sent: u32,
}

/// A user of a peer's.
struct There {
    name: String,
    /// Its first lane there, and the number of its lanes.
    first: u8,
    count: u8,
    /// The index of our user of that name, once it is open.
    ours: Option<usize>,
    /// Packets that arrived, packets that the user here has taken, and the latter as last reported to its peer.
    came: u32,
    taken: u32,
    told: u32,
    /// Whether a report to the peer is due.
    owes: bool,
}

impl There {
    fn has(&self, lane: u8) -> bool {
        lane.checked_sub(self.first).is_some_and(|at| at < self.count)
    }
}

/// The further users of this process and of its peers.
#[derive(Default)]
pub struct Users {
    here: Vec<Here>,
    there: HashMap<u32, Vec<There>>,
    /// Peers to which a message is due.
    active: Vec<u32>,
}

impl Users {
    /// Opens a user of this process, with its share of link's memory.
    pub fn open(&mut self, user: User, party: Party) {
        let place = self.here.len();
        for (&peer, all) in &mut self.there {
            if let Some(there) = all.iter_mut().find(|there| is_of(there, &user)) {
                (there.ours, there.owes) = (Some(place), true);
                self.active.push(peer);
            }
        }
        self.here.push(Here { user, party, to: HashMap::new() });
    }

    /// Returns the index of the user that has a lane, and its share.
    pub fn of(&self, lane: Lane) -> Option<(usize, Party)> {
        let place = self.here.iter().position(|here| here.user.lanes().contains(&lane.index()))?;
        Some((place, self.here[place].party))
    }

    /// Returns whether a message is due.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Sends the messages that are due, as far as link has space.
    #[cold]
    pub fn work(&mut self, endpoint: &mut Endpoint) {
        for peer in std::mem::take(&mut self.active) {
            let Some(all) = self.there.get_mut(&peer) else { continue };
            let mut has_all = true;
            for there in all.iter_mut().filter(|there| there.owes) {
                let mut word = [0; FRONT + 4];
                word[..2].copy_from_slice(&[GRANT, there.first]);
                word[FRONT..].copy_from_slice(&there.taken.to_le_bytes());
                there.owes = !say(peer, &word, endpoint);
                if !there.owes {
                    there.told = there.taken;
                }
                has_all &= !there.owes;
            }
            if !has_all {
                self.active.push(peer);
            }
        }
    }

    /// Returns whether a packet of a user may be sent to a peer now; requests it from the peer if that was not done.
    /// `kept`: memory was reserved for it.
    pub fn may_send(
        &mut self,
        place: usize,
        peer: u32,
        is_control: bool,
        kept: bool,
        endpoint: &mut Endpoint,
    ) -> Result<(), Refusal> {
        let Here { user, to, .. } = &mut self.here[place];
        let to = to.entry(peer).or_default();
        if !to.asked {
            to.asked = say(peer, &ask(user), endpoint);
        }
        let most = match is_control {
            true => CONTROL,
            false if kept => MOST,
            false => PAYLOAD,
        };
        let has_room = to.taken.is_some_and(|taken| to.sent.wrapping_sub(taken) < most);
        if has_room { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Counts a packet that a user has sent to a peer.
    pub fn sent(&mut self, place: usize, peer: u32) {
        let to = self.here[place].to.get_mut(&peer).expect("it was allowed");
        to.sent = to.sent.wrapping_add(1);
    }

    /// Handles a message of a peer's users. False: there is no such message.
    pub fn hear(&mut self, from: u32, message: &mut Message<'_>) -> bool {
        let mut word = [0; WORD];
        let len = message.len().min(WORD);
        let is_whole = message.len() == len && take(message, UserMem::of_slice(&mut word[..len])).is_some();
        is_whole && self.hear_word(from, &word[..len])
    }

    fn hear_word(&mut self, from: u32, word: &[u8]) -> bool {
        let Some((&[kind, first, count, len], rest)) = word.split_first_chunk::<FRONT>() else { return false };
        match kind {
            ASK => self.hear_ask(from, (first, count), rest.get(..usize::from(len))),
            GRANT => rest.try_into().is_ok_and(|taken| self.hear_grant(from, first, taken)),
            _ => false,
        }
    }

    fn hear_ask(&mut self, from: u32, (first, count): (u8, u8), name: Option<&[u8]>) -> bool {
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let Some(name) = name.filter(|name| !name.is_empty()) else { return false };
        let all = self.there.entry(from).or_default();
        let end = usize::from(first) + usize::from(count);
        let is_new = |other: &There| {
            name != other.name
                && (end <= usize::from(other.first) || usize::from(other.first + other.count) <= first.into())
        };
        let is_sound = usize::from(first) >= LANES && count > 0 && end <= usize::from(CHANNEL);
        if !is_sound || all.len() >= OF_PEER || !all.iter().all(is_new) {
            return false;
        }
        let mut there = There { name: name.into(), first, count, ours: None, came: 0, taken: 0, told: 0, owes: false };
        there.ours = self.here.iter().position(|here| is_of(&there, &here.user));
        there.owes = there.ours.is_some();
        if there.owes {
            self.active.push(from);
        }
        all.push(there);
        true
    }

    fn hear_grant(&mut self, from: u32, first: u8, taken: [u8; 4]) -> bool {
        let here = self.here.iter_mut().find(|here| here.user.first.0 == first);
        let Some(to) = here.and_then(|here| here.to.get_mut(&from)) else { return false };
        let (before, taken) = (to.taken.unwrap_or(0), u32::from_le_bytes(taken));
        // A count that is not between the last known one and the sent one is invalid.
        let is_sound = taken.wrapping_sub(before) <= to.sent.wrapping_sub(before);
        if is_sound {
            to.taken = Some(taken);
        }
        is_sound
    }

    /// Returns the lane here for a packet on the sender's lane `channel`. None: no user has that lane, or its sender
    /// had no permission to send it.
    pub fn came(&mut self, from: u32, channel: u8) -> Option<Lane> {
        let there = self.there.get_mut(&from)?.iter_mut().find(|there| there.has(channel))?;
        let first = self.here[there.ours?].user.first;
        if there.came.wrapping_sub(there.taken) >= MOST {
            return None;
        }
        there.came = there.came.wrapping_add(1);
        Some(Lane(first.0 + channel - there.first))
    }

    /// Counts a packet of a peer's that the user with this lane has taken.
    pub fn took(&mut self, from: u32, lane: Lane) {
        let place = self.here.iter().position(|here| here.user.lanes().contains(&lane.index()));
        let Some(all) = self.there.get_mut(&from) else { return };
        let Some(there) = all.iter_mut().find(|there| there.ours == place) else { return };
        there.taken = there.taken.wrapping_add(1);
        if there.taken.wrapping_sub(there.told) >= LAZY && !there.owes {
            there.owes = true;
            self.active.push(from);
        }
    }

    /// Forgets a peer that has ended.
    pub fn forget(&mut self, peer: u32) {
        self.there.remove(&peer);
        self.active.retain(|&other| other != peer);
        self.here.iter_mut().for_each(|here| _ = here.to.remove(&peer));
    }
}

/// Returns the message that asks a peer for its user of the same name.
fn ask(user: &User) -> [u8; WORD] {
    let (mut word, name) = ([0; WORD], user.name.as_bytes());
    word[..FRONT].copy_from_slice(&[ASK, user.first.0, user.count as u8, name.len() as u8]);
    word[FRONT..FRONT + name.len()].copy_from_slice(name);
    word
}

/// Returns whether they are the same user: the same name, and as many lanes. Otherwise there would be lanes that the
/// other side does not have.
fn is_of(there: &There, user: &User) -> bool {
    there.name == user.name && usize::from(there.count) == user.count
}

/// Sends a message. Returns whether link took it; for a peer that has ended, as if it did.
fn say(peer: u32, word: &[u8], endpoint: &mut Endpoint) -> bool {
    let mut writer = Outgoing::behind(word, Source::None);
    let total = writer.total();
    let taken = endpoint.send(peer, CHANNEL, total, Class::Control, |at, into| writer.write(at, into));
    taken != Err(hawser_link::Refused::Full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_link::frame::Key;
    use hawser_link::{Config, Rail};

    /// Makes an endpoint without connections: a message to a peer goes nowhere.
    fn endpoint() -> Endpoint {
        let (key, rails) = (Key::new([1; 16]), vec![Rail::default()]);
        Endpoint::new(Config { me: 0, ranks: 2, key, frame_max: 1472, sending: 1024, holding: 1024, rails }, 1)
    }

    fn user(name: &str, first: u8, count: usize) -> User {
        User { name: name.into(), first: Lane(first), count }
    }

    /// Makes the users of a process.
    fn of(users: &[User]) -> (Users, Endpoint) {
        let (mut all, mut endpoint) = (Users::default(), endpoint());
        for user in users {
            let party = endpoint.admit(user.first.0..user.first.0 + user.count as u8).unwrap();
            all.open(user.clone(), party);
        }
        (all, endpoint)
    }

    fn grant(first: u8, taken: u32) -> Vec<u8> {
        [&[GRANT, first, 0, 0][..], &taken.to_le_bytes()].concat()
    }

    /// P42
    #[test]
    fn a_user_that_has_other_lanes_at_its_peer_is_understood_by_its_name() {
        let (mut here, _) = of(&[user("madeleine", 8, 1), user("pm", 9, 2)]);
        assert!(here.hear_word(5, &ask(&user("pm", 8, 2))) && here.has_work());
        assert!(here.hear_word(6, &ask(&user("pm", 20, 2))));
        let came = |here: &mut Users, from, lanes: [u8; 4]| lanes.map(|lane| here.came(from, lane).map(|lane| lane.0));
        assert_eq!(came(&mut here, 5, [7, 8, 9, 10]), [None, Some(9), Some(10), None]);
        assert_eq!(came(&mut here, 6, [8, 19, 20, 21]), [None, None, Some(9), Some(10)]);
        assert_eq!(here.came(7, 8), None, "who has not asked has no lane here");
    }

    /// P42
    #[test]
    fn nothing_goes_before_the_peers_user_is_open_and_then_as_much_as_it_has_room_for() {
        let (mut here, mut endpoint) = of(&[user("pm", 8, 2)]);
        let mut may = |here: &mut Users, is_control| here.may_send(0, 5, is_control, false, &mut endpoint).is_ok();
        assert!(!may(&mut here, true) && !may(&mut here, false));
        assert!(!here.hear_word(5, &grant(9, 0)) && !here.hear_word(6, &grant(8, 0)), "nobody asked that");
        assert!(!here.hear_word(5, &grant(8, 1)), "more than was sent");
        assert!(here.hear_word(5, &grant(8, 0)));
        let mut fill = |here: &mut Users, is_control| {
            let mut sent = 0;
            while may(here, is_control) {
                here.sent(0, 5);
                sent += 1;
            }
            sent
        };
        assert_eq!((fill(&mut here, false), fill(&mut here, true)), (PAYLOAD, CONTROL - PAYLOAD));
        assert!(here.hear_word(5, &grant(8, CONTROL)));
        assert!(!here.hear_word(5, &grant(8, CONTROL - 1)), "what was taken stays taken");
        assert_eq!(fill(&mut here, false), PAYLOAD);
        assert!(here.may_send(0, 5, false, true, &mut endpoint).is_ok(), "a place was kept");
        assert!(here.may_send(0, 6, false, false, &mut endpoint).is_err(), "another peer is asked first");
    }

    /// P42
    #[test]
    fn what_waits_is_bounded_whatever_a_peer_sends_and_what_is_taken_is_told() {
        let (mut here, mut endpoint) = of(&[user("pm", 8, 2)]);
        assert!(here.hear_word(5, &ask(&user("pm", 10, 2))));
        here.work(&mut endpoint);
        assert!(!here.has_work());
        let came = (0..10_000).filter(|_| here.came(5, 11).is_some()).count();
        assert_eq!(came, MOST as usize);
        (1..LAZY).for_each(|_| here.took(5, Lane(9)));
        assert!(!here.has_work());
        here.took(5, Lane(8));
        assert!(here.has_work());
        here.work(&mut endpoint);
        assert_eq!((0..10_000).filter(|_| here.came(5, 10).is_some()).count(), LAZY as usize);
        here.forget(5);
        assert_eq!(here.came(5, 10), None);
        here.took(5, Lane(8));
        assert!(!here.has_work(), "who is gone is told nothing");
    }

    #[test]
    fn a_peer_that_asked_early_is_answered_when_the_user_is_opened() {
        let (mut here, mut endpoint) = of(&[]);
        assert!(here.hear_word(5, &ask(&user("pm", 8, 2))) && here.hear_word(5, &ask(&user("other", 10, 1))));
        assert!(!here.has_work() && here.came(5, 8).is_none());
        let party = endpoint.admit(8..11).unwrap();
        here.open(user("pm", 9, 2), party);
        assert!(here.has_work());
        assert_eq!((here.came(5, 8), here.came(5, 10)), (Some(Lane(9)), None));
        // A user with another number of lanes is another user.
        let (mut here, _) = of(&[user("pm", 8, 2)]);
        assert!(here.hear_word(5, &ask(&user("pm", 8, 3))) && !here.has_work() && here.came(5, 8).is_none());
    }

    #[test]
    fn words_that_nobody_says_change_nothing() {
        let (mut here, _) = of(&[user("pm", 8, 2)]);
        let mut endless = ask(&user("a", 20, 1));
        endless[3] = 200;
        let mut garbled = ask(&user("a", 20, 1));
        garbled[FRONT] = 0xff;
        let last = CHANNEL - 1;
        let words = [
            &[][..],
            &[ASK, 8, 1],
            &[7; WORD],
            &endless,
            &garbled,
            &ask(&user("", 20, 1)),
            &ask(&user("a", 7, 1)),
            &ask(&user("a", 20, 0)),
            &ask(&user("a", last, 2)),
            &[GRANT, 8, 0, 0, 1],
        ];
        assert!(words.iter().all(|word| !here.hear_word(5, word)));
        assert!(here.hear_word(5, &ask(&user("a", 20, 2))));
        for again in [user("a", 30, 1), user("b", 21, 1), user("b", 19, 2), user("b", 20, 2)] {
            assert!(!here.hear_word(5, &ask(&again)), "{again:?}");
        }
        let names: Vec<String> = (0..50).map(|number| format!("u{number}")).collect();
        let kept = (0..).zip(&names).filter(|(at, name)| here.hear_word(5, &ask(&user(name, 30 + at, 1)))).count();
        assert_eq!(kept, OF_PEER - 1);
    }
}
