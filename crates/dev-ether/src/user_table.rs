//! The further users of the device, those beside the first (MPI): the assignment of a peer's packets to them, and the
//! credit that bounds their unread packets.
//!
//! Nothing here is sent from inside a delivery: messages to send wait for `send_due`. At the peer a user may have
//! lanes of other numbers, or may not be open yet. So before its first packet to a peer a user sends OPEN_REQUEST
//! with its name and its lanes (P42 of docs/protocol.md), and the peer replies with OPEN_REPLY once its own user of
//! that name is open. No packet is sent before that reply, and packets for lanes that were not requested are dropped.
//! OPEN_REPLY also carries the number of packets that the peer's user has taken. A user may have sent at most
//! PAYLOAD_CREDIT packets more than that number, or CONTROL_CREDIT if the packet has no payload. So the inboxes of a
//! user that does not poll are bounded for each peer, and only packets of that user are refused. OPEN_REPLY is sent
//! again after each TAKEN_PER_REPORT packets that were taken. All these messages use a channel of link of their own.
//!
//! Link keeps the order of messages, so a packet never arrives before its OPEN_REQUEST. Long messages of further
//! users go in packets and not by a direct connection: all users would share that connection, and a user that does
//! not poll would block it. Used by `device` and `user_port`; uses `link::Endpoint`.

use crate::message::{PacketMessage, read_exact};
use hawser_base::{LANES, Lane, UserMem};
use hawser_device::{PayloadSource, SendError, TransportUser};
use hawser_link::{Endpoint, Message, MessageClass, ShareId};
use std::collections::HashMap;

/// The channel of messages about users.
pub const CHANNEL: u8 = 253;

/// Maximum packets with payload that a user may have sent to a peer and that the peer's user has not taken: 2 MiB, if
/// all have the maximum length. CONTROL_CREDIT permits as many more without payload, and CREDIT_MAX one more for each
/// lane that has reserved memory.
pub const PAYLOAD_CREDIT: u32 = 128;
const CONTROL_CREDIT: u32 = 2 * PAYLOAD_CREDIT;
const CREDIT_MAX: u32 = CONTROL_CREDIT + u8::BITS * 4;
/// Maximum packets that a user takes before the sender gets a report. So a sender waits for credit only if more than
/// PAYLOAD_CREDIT - TAKEN_PER_REPORT of its packets are not taken yet.
const TAKEN_PER_REPORT: u32 = PAYLOAD_CREDIT / 4;

/// The longest name in a message, as in the host's segment (`job::users`).
const NAME_MAX: usize = hawser_job::users::NAME_MAX;
/// Maximum users of each peer that are recorded, whether they are open here or not: a peer could request any number
/// of names.
const USERS_PER_PEER_MAX: usize = 16;

const OPEN_REQUEST: u8 = 1;
const OPEN_REPLY: u8 = 2;
/// Bytes of a message in front of a name: the kind, the first lane at the sender of OPEN_REQUEST, the number of its
/// lanes (0 in OPEN_REPLY), and the length of the name (0 in OPEN_REPLY). In OPEN_REPLY the number of packets taken
/// follows, little-endian.
const HEADER_BYTES: usize = 4;
const MESSAGE_MAX_BYTES: usize = HEADER_BYTES + NAME_MAX;

/// A user of this process.
struct LocalUser {
    user: TransportUser,
    share: ShareId,
    /// The packets to each peer, by process number.
    send_states: HashMap<u32, UserSendState>,
}

/// The packets that a user of this process sends to a peer.
#[derive(Default)]
struct UserSendState {
    is_requested: bool,
    /// The number of packets that the peer's user has taken; None until that user is known to be open.
    taken: Option<u32>,
    sent: u32,
}

/// A user of a peer, as its OPEN_REQUEST describes it.
struct RemoteUser {
    name: String,
    /// The user's first lane at the peer, and the number of its lanes.
    first_lane: u8,
    lane_count: u8,
    /// The index of our user of that name, once it is open.
    local_index: Option<usize>,
    /// The number of packets that have arrived, the number of those that the user here has taken, and the latter
    /// number as last reported to the peer.
    arrived: u32,
    taken: u32,
    reported: u32,
    /// Whether a report to the peer is due.
    is_report_due: bool,
}

impl RemoteUser {
    fn has_lane(&self, lane: u8) -> bool {
        lane.checked_sub(self.first_lane).is_some_and(|at| at < self.lane_count)
    }
}

/// The further users of this process and of its peers.
#[derive(Default)]
pub struct UserTable {
    local_users: Vec<LocalUser>,
    remote_users: HashMap<u32, Vec<RemoteUser>>,
    /// Peers to which a message is due.
    active: Vec<u32>,
}

impl UserTable {
    /// Opens a user of this process, with its share of link's memory. OPEN_REPLY becomes due to peers that have
    /// requested it.
    pub fn open(&mut self, user: TransportUser, share: ShareId) {
        let index = self.local_users.len();
        for (&peer, all) in &mut self.remote_users {
            if let Some(remote) = all.iter_mut().find(|remote| is_same_user(remote, &user)) {
                (remote.local_index, remote.is_report_due) = (Some(index), true);
                self.active.push(peer);
            }
        }
        self.local_users.push(LocalUser { user, share, send_states: HashMap::new() });
    }

    /// Returns the index of the user that has a lane, and its share.
    pub fn user_of_lane(&self, lane: Lane) -> Option<(usize, ShareId)> {
        let index = self.local_users.iter().position(|local| local.user.lanes().contains(&lane.index()))?;
        Some((index, self.local_users[index].share))
    }

    /// Returns whether a message is due.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Sends the messages that are due, as far as link has space.
    #[cold]
    pub fn send_due(&mut self, endpoint: &mut Endpoint) {
        for peer in std::mem::take(&mut self.active) {
            let Some(all) = self.remote_users.get_mut(&peer) else { continue };
            let mut all_sent = true;
            for remote in all.iter_mut().filter(|remote| remote.is_report_due) {
                let mut message = [0; HEADER_BYTES + 4];
                message[..2].copy_from_slice(&[OPEN_REPLY, remote.first_lane]);
                message[HEADER_BYTES..].copy_from_slice(&remote.taken.to_le_bytes());
                remote.is_report_due = !send_control(peer, &message, endpoint);
                if !remote.is_report_due {
                    remote.reported = remote.taken;
                }
                all_sent &= !remote.is_report_due;
            }
            if !all_sent {
                self.active.push(peer);
            }
        }
    }

    /// Returns whether a packet of a user may be sent to a peer now; sends OPEN_REQUEST to the peer if that was not
    /// done. `is_reserved`: memory was reserved for the packet.
    pub fn may_send(
        &mut self,
        index: usize,
        peer: u32,
        is_control: bool,
        is_reserved: bool,
        endpoint: &mut Endpoint,
    ) -> Result<(), SendError> {
        let LocalUser { user, send_states, .. } = &mut self.local_users[index];
        let state = send_states.entry(peer).or_default();
        if !state.is_requested {
            state.is_requested = send_control(peer, &open_request(user), endpoint);
        }
        let credit = match is_control {
            true => CONTROL_CREDIT,
            false if is_reserved => CREDIT_MAX,
            false => PAYLOAD_CREDIT,
        };
        let has_credit = state.taken.is_some_and(|taken| state.sent.wrapping_sub(taken) < credit);
        if has_credit { Ok(()) } else { Err(SendError::Full) }
    }

    /// Counts a packet that a user has sent to a peer.
    pub fn count_sent(&mut self, index: usize, peer: u32) {
        let state = self.local_users[index].send_states.get_mut(&peer).expect("it was allowed");
        state.sent = state.sent.wrapping_add(1);
    }

    /// Handles a message of a peer about its users. False if the message is not valid.
    pub fn handle_message(&mut self, from: u32, message: &mut Message<'_>) -> bool {
        let mut bytes = [0; MESSAGE_MAX_BYTES];
        let len = message.len().min(MESSAGE_MAX_BYTES);
        let is_whole = message.len() == len && read_exact(message, UserMem::of_slice(&mut bytes[..len])).is_some();
        is_whole && self.handle_control(from, &bytes[..len])
    }

    fn handle_control(&mut self, from: u32, bytes: &[u8]) -> bool {
        let Some((&[kind, first, count, len], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return false };
        match kind {
            OPEN_REQUEST => self.handle_request(from, (first, count), rest.get(..usize::from(len))),
            OPEN_REPLY => rest.try_into().is_ok_and(|taken_bytes| self.handle_reply(from, first, taken_bytes)),
            _ => false,
        }
    }

    fn handle_request(&mut self, from: u32, (first, count): (u8, u8), name: Option<&[u8]>) -> bool {
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let Some(name) = name.filter(|name| !name.is_empty()) else { return false };
        let all = self.remote_users.entry(from).or_default();
        let end = usize::from(first) + usize::from(count);
        let is_new = |other: &RemoteUser| {
            name != other.name
                && (end <= usize::from(other.first_lane)
                    || usize::from(other.first_lane + other.lane_count) <= first.into())
        };
        let is_valid = usize::from(first) >= LANES && count > 0 && end <= usize::from(CHANNEL);
        if !is_valid || all.len() >= USERS_PER_PEER_MAX || !all.iter().all(is_new) {
            return false;
        }
        let mut remote = RemoteUser {
            name: name.into(),
            first_lane: first,
            lane_count: count,
            local_index: None,
            arrived: 0,
            taken: 0,
            reported: 0,
            is_report_due: false,
        };
        remote.local_index = self.local_users.iter().position(|local| is_same_user(&remote, &local.user));
        remote.is_report_due = remote.local_index.is_some();
        if remote.is_report_due {
            self.active.push(from);
        }
        all.push(remote);
        true
    }

    fn handle_reply(&mut self, from: u32, first: u8, taken: [u8; 4]) -> bool {
        let local = self.local_users.iter_mut().find(|local| local.user.first_lane.0 == first);
        let Some(state) = local.and_then(|local| local.send_states.get_mut(&from)) else { return false };
        let (before, taken) = (state.taken.unwrap_or(0), u32::from_le_bytes(taken));
        // A count that is not between the last known one and the sent one is invalid.
        let is_valid = taken.wrapping_sub(before) <= state.sent.wrapping_sub(before);
        if is_valid {
            state.taken = Some(taken);
        }
        is_valid
    }

    /// Returns the local lane for a packet that arrives on the sender's lane `channel`, and counts the packet. None:
    /// no open user here has that lane, or the sender had no credit for the packet.
    pub fn admit_packet(&mut self, from: u32, channel: u8) -> Option<Lane> {
        let remote = self.remote_users.get_mut(&from)?.iter_mut().find(|remote| remote.has_lane(channel))?;
        let first = self.local_users[remote.local_index?].user.first_lane;
        if remote.arrived.wrapping_sub(remote.taken) >= CREDIT_MAX {
            return None;
        }
        remote.arrived = remote.arrived.wrapping_add(1);
        Some(Lane(first.0 + channel - remote.first_lane))
    }

    /// Counts a packet of a peer that the user with this lane has taken. OPEN_REPLY becomes due if enough were taken.
    pub fn count_taken(&mut self, from: u32, lane: Lane) {
        let index = self.local_users.iter().position(|local| local.user.lanes().contains(&lane.index()));
        let Some(all) = self.remote_users.get_mut(&from) else { return };
        let Some(remote) = all.iter_mut().find(|remote| remote.local_index == index) else { return };
        remote.taken = remote.taken.wrapping_add(1);
        if remote.taken.wrapping_sub(remote.reported) >= TAKEN_PER_REPORT && !remote.is_report_due {
            remote.is_report_due = true;
            self.active.push(from);
        }
    }

    /// Forgets a peer that has ended.
    pub fn forget(&mut self, peer: u32) {
        self.remote_users.remove(&peer);
        self.active.retain(|&other| other != peer);
        self.local_users.iter_mut().for_each(|local| _ = local.send_states.remove(&peer));
    }
}

/// Returns the message that requests a peer's user of the same name.
fn open_request(user: &TransportUser) -> [u8; MESSAGE_MAX_BYTES] {
    let (mut message, name) = ([0; MESSAGE_MAX_BYTES], user.name.as_bytes());
    message[..HEADER_BYTES].copy_from_slice(&[
        OPEN_REQUEST,
        user.first_lane.0,
        user.lane_count as u8,
        name.len() as u8,
    ]);
    message[HEADER_BYTES..HEADER_BYTES + name.len()].copy_from_slice(name);
    message
}

/// Returns whether the two are the same user: they have the same name and the same number of lanes. With different
/// numbers of lanes one side would have lanes that the other lacks.
fn is_same_user(remote: &RemoteUser, user: &TransportUser) -> bool {
    remote.name == user.name && usize::from(remote.lane_count) == user.lane_count
}

/// Sends a message. Returns false if link has no room for it now. For a peer that has ended the result is true,
/// although nothing is sent.
fn send_control(peer: u32, message: &[u8], endpoint: &mut Endpoint) -> bool {
    let mut writer = PacketMessage::with_header(message, PayloadSource::None);
    let total = writer.total();
    let result = endpoint.send(peer, CHANNEL, total, MessageClass::Control, |at, into| writer.write(at, into));
    result != Err(hawser_link::LinkSendError::Full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_link::frame::JobKey;
    use hawser_link::{Config, PortTraits};

    /// Makes an endpoint without connections: a message to a peer goes nowhere.
    fn endpoint() -> Endpoint {
        let (key, rails) = (JobKey::new([1; 16]), vec![PortTraits::default()]);
        Endpoint::new(
            Config { me: 0, ranks: 2, key, frame_max: 1472, send_slots: 1024, reassembly_slots: 1024, ports: rails },
            1,
        )
    }

    fn user(name: &str, first: u8, count: usize) -> TransportUser {
        TransportUser { name: name.into(), first_lane: Lane(first), lane_count: count }
    }

    /// Makes the users of a process.
    fn table_of(users: &[TransportUser]) -> (UserTable, Endpoint) {
        let (mut all, mut endpoint) = (UserTable::default(), endpoint());
        for user in users {
            let share = endpoint.add_user(user.first_lane.0..user.first_lane.0 + user.lane_count as u8).unwrap();
            all.open(user.clone(), share);
        }
        (all, endpoint)
    }

    fn open_reply(first: u8, taken: u32) -> Vec<u8> {
        [&[OPEN_REPLY, first, 0, 0][..], &taken.to_le_bytes()].concat()
    }

    /// P42
    #[test]
    fn a_user_that_has_other_lanes_at_its_peer_is_understood_by_its_name() {
        let (mut table, _) = table_of(&[user("madeleine", 8, 1), user("pm", 9, 2)]);
        assert!(table.handle_control(5, &open_request(&user("pm", 8, 2))) && table.has_work());
        assert!(table.handle_control(6, &open_request(&user("pm", 20, 2))));
        let lanes_of = |table: &mut UserTable, from, lanes: [u8; 4]| {
            lanes.map(|lane| table.admit_packet(from, lane).map(|lane| lane.0))
        };
        assert_eq!(lanes_of(&mut table, 5, [7, 8, 9, 10]), [None, Some(9), Some(10), None]);
        assert_eq!(lanes_of(&mut table, 6, [8, 19, 20, 21]), [None, None, Some(9), Some(10)]);
        assert_eq!(table.admit_packet(7, 8), None, "a peer without a request has no lane here");
    }

    /// P42
    #[test]
    fn nothing_goes_before_the_peers_user_is_open_and_then_as_much_as_it_has_room_for() {
        let (mut table, mut endpoint) = table_of(&[user("pm", 8, 2)]);
        let mut may =
            |table: &mut UserTable, is_control| table.may_send(0, 5, is_control, false, &mut endpoint).is_ok();
        assert!(!may(&mut table, true) && !may(&mut table, false));
        assert!(
            !table.handle_control(5, &open_reply(9, 0)) && !table.handle_control(6, &open_reply(8, 0)),
            "nothing was requested"
        );
        assert!(!table.handle_control(5, &open_reply(8, 1)), "more than was sent");
        assert!(table.handle_control(5, &open_reply(8, 0)));
        let mut fill = |table: &mut UserTable, is_control| {
            let mut sent = 0;
            while may(table, is_control) {
                table.count_sent(0, 5);
                sent += 1;
            }
            sent
        };
        assert_eq!(
            (fill(&mut table, false), fill(&mut table, true)),
            (PAYLOAD_CREDIT, CONTROL_CREDIT - PAYLOAD_CREDIT)
        );
        assert!(table.handle_control(5, &open_reply(8, CONTROL_CREDIT)));
        assert!(!table.handle_control(5, &open_reply(8, CONTROL_CREDIT - 1)), "what was taken stays taken");
        assert_eq!(fill(&mut table, false), PAYLOAD_CREDIT);
        assert!(table.may_send(0, 5, false, true, &mut endpoint).is_ok(), "memory was reserved");
        assert!(table.may_send(0, 6, false, false, &mut endpoint).is_err(), "another peer gets a request first");
    }

    /// P42
    #[test]
    fn what_waits_is_bounded_whatever_a_peer_sends_and_what_is_taken_is_told() {
        let (mut table, mut endpoint) = table_of(&[user("pm", 8, 2)]);
        assert!(table.handle_control(5, &open_request(&user("pm", 10, 2))));
        table.send_due(&mut endpoint);
        assert!(!table.has_work());
        let count = (0..10_000).filter(|_| table.admit_packet(5, 11).is_some()).count();
        assert_eq!(count, CREDIT_MAX as usize);
        (1..TAKEN_PER_REPORT).for_each(|_| table.count_taken(5, Lane(9)));
        assert!(!table.has_work());
        table.count_taken(5, Lane(8));
        assert!(table.has_work());
        table.send_due(&mut endpoint);
        assert_eq!((0..10_000).filter(|_| table.admit_packet(5, 10).is_some()).count(), TAKEN_PER_REPORT as usize);
        table.forget(5);
        assert_eq!(table.admit_packet(5, 10), None);
        table.count_taken(5, Lane(8));
        assert!(!table.has_work(), "a peer that has ended gets no report");
    }

    #[test]
    fn a_peer_that_asked_early_is_answered_when_the_user_is_opened() {
        let (mut table, mut endpoint) = table_of(&[]);
        assert!(
            table.handle_control(5, &open_request(&user("pm", 8, 2)))
                && table.handle_control(5, &open_request(&user("other", 10, 1)))
        );
        assert!(!table.has_work() && table.admit_packet(5, 8).is_none());
        let share = endpoint.add_user(8..11).unwrap();
        table.open(user("pm", 9, 2), share);
        assert!(table.has_work());
        assert_eq!((table.admit_packet(5, 8), table.admit_packet(5, 10)), (Some(Lane(9)), None));
        // A user with another number of lanes is another user.
        let (mut table, _) = table_of(&[user("pm", 8, 2)]);
        assert!(
            table.handle_control(5, &open_request(&user("pm", 8, 3)))
                && !table.has_work()
                && table.admit_packet(5, 8).is_none()
        );
    }

    #[test]
    fn words_that_nobody_says_change_nothing() {
        let (mut table, _) = table_of(&[user("pm", 8, 2)]);
        let mut endless = open_request(&user("a", 20, 1));
        endless[3] = 200;
        let mut garbled = open_request(&user("a", 20, 1));
        garbled[HEADER_BYTES] = 0xff;
        let last = CHANNEL - 1;
        let messages = [
            &[][..],
            &[OPEN_REQUEST, 8, 1],
            &[7; MESSAGE_MAX_BYTES],
            &endless,
            &garbled,
            &open_request(&user("", 20, 1)),
            &open_request(&user("a", 7, 1)),
            &open_request(&user("a", 20, 0)),
            &open_request(&user("a", last, 2)),
            &[OPEN_REPLY, 8, 0, 0, 1],
        ];
        assert!(messages.iter().all(|message| !table.handle_control(5, message)));
        assert!(table.handle_control(5, &open_request(&user("a", 20, 2))));
        for repeated in [user("a", 30, 1), user("b", 21, 1), user("b", 19, 2), user("b", 20, 2)] {
            assert!(!table.handle_control(5, &open_request(&repeated)), "{repeated:?}");
        }
        let names: Vec<String> = (0..50).map(|number| format!("u{number}")).collect();
        let kept = (0..)
            .zip(&names)
            .filter(|(at, name)| table.handle_control(5, &open_request(&user(name, 30 + at, 1))))
            .count();
        assert_eq!(kept, USERS_PER_PEER_MAX - 1);
    }
}
