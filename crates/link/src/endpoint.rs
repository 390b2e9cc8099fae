//! The endpoint of a rank: all its peers, the assignment of their frames, and the memory that they share.
//!
//! Frames enter by `handle_frame` and leave by `transmit`; messages enter by `send` and leave by a call of `deliver`.
//! Time is an argument. A peer is given up by `forget` alone, never for its silence (P18). Used by `dev-ether`; uses
//! `connection`.

use crate::connection::{Connection, Counts, SPARE, Shared, Wire};
use crate::frame::{Dropped, Ends, Frame, HEADER, Key, Kind};
use crate::length::SHORTEST;
use crate::marks::{Mark, mark};
use crate::numbers::{Numbers, Owner, PLACES};
use crate::parties::{Parties, Party};
use crate::peers::Peers;
use crate::planted::{Bug, planted};
use crate::pool::Pool;
use crate::rail::Rail;
use crate::reach::{Reach, Standing};
use crate::reassembly::{Deliver, Holding, RESERVE};
use crate::record::{FRAGMENTS, RECORD};
use crate::room::Room;
use crate::seq::Seq;
use crate::strand::{Far, HELLO, Hello, Route, Strand};
use crate::survey::Survey;
use hawser_base::Peer;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::Range;

/// Slots for sending that payload leaves free for messages without payload: envelopes can always be sent, so that legal
/// programs cannot wait for each other's credits for ever (docs/adr/0005-credits.md).
const CONTROL: usize = 64;

/// The divisor of the memory for sending for a party's share: with half of all for the first user, four parties may
/// have one. Of 1024 frames 128 are 180 KiB of Ethernet's, in flight at once.
const SHARES: usize = 8;

/// Paths that a peer may open: all pairs of eight rails with four ports each. The limit keeps a peer from taking all
/// memory with HELLOs.
const PATHS: usize = 256;

/// The configuration of an endpoint.
pub struct Config {
    /// This process (`Peer`), and the number of process numbers in its universe.
    pub me: u32,
    pub ranks: u32,
    pub key: Key,
    /// The longest frame of any of our ports, in bytes.
    pub frame_max: usize,
    /// Frames that may wait or be in flight, and fragments that may wait for earlier ones; for all peers together.
    pub sending: usize,
    pub holding: usize,
    /// The properties of each of our ports.
    pub rails: Vec<Rail>,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Without payload: it may use memory that payload may not.
    Control,
    Payload,
    /// Order-free payload: it is delivered regardless of earlier messages, as the receiver knows where it belongs.
    Placed,
}

/// The reason for which a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no memory for it now; acknowledgements free some.
    Full,
    /// There is no connection: none was begun, or the peer was forgotten.
    NotConnected,
}

/// Memory that is reserved for one message to a peer: it is used by `send_kept`, or given back.
#[derive(Debug)]
#[must_use = "the memory is kept until it is given back"]
pub struct Kept {
    peer: u32,
    /// The longest message for which it suffices, in bytes.
    total: usize,
    slots: usize,
    /// The party whose share it is of; None: of no party's.
    party: Option<Party>,
}

/// Returns the slots of a message of `total` bytes in frames of `frame` bytes.
fn slots_in(frame: usize, total: usize) -> usize {
    total.div_ceil(frame - HEADER - RECORD).max(1)
}

impl Kept {
    pub fn is_for(&self, peer: u32, total: usize) -> bool {
        self.peer == peer && total <= self.total
    }
}

/// The number of dropped frames for each reason.
pub type Drops = [u64; Dropped::ALL.len()];

/// The endpoint of a rank. See the module.
pub struct Endpoint {
    shared: Shared,
    ranks: u32,
    peers: Peers,
    numbers: Numbers,
    /// Peers with something to do, and those of them with something to do at once; each is listed once.
    active: Vec<u32>,
    ready: Vec<u32>,
    /// The time before which the others have nothing to do.
    rests_until_ns: u64,
    drops: Drops,
    /// The source of path numbers and first frame numbers.
    random: SipHasher24,
    /// Paths that were ever begun, each of which has random numbers of its own.
    begun: u64,
}

impl Endpoint {
    pub fn new(config: Config, seed: u64) -> Endpoint {
        let Config { me, ranks, key, frame_max, sending, holding, rails } = config;
        assert!(
            !rails.is_empty()
                && sending > 2 * CONTROL
                && holding > 4 * RESERVE
                && frame_max > HEADER + RECORD.max(HELLO)
        );
        let shared = Shared {
            key,
            me,
            sending: Pool::new(sending, frame_max),
            kept: 0,
            parties: Parties::default(),
            holding: Holding::new(holding, frame_max - HEADER),
            rooms: vec![Room::new(0); rails.len()].into_boxed_slice(),
            survey: Survey::new(&rails),
            rails: rails.into_boxed_slice(),
            counts: Counts::default(),
        };
        Endpoint {
            shared,
            ranks,
            peers: Peers::new(),
            numbers: Numbers::new(PLACES),
            active: Vec::new(),
            ready: Vec::new(),
            rests_until_ns: u64::MAX,
            drops: Drops::default(),
            random: SipHasher24::new_with_keys(seed, u64::from(me)),
            begun: 0,
        }
    }

    /// Sets how many frames our port `rail` buffers: its paths share them (P21).
    pub fn set_room(&mut self, rail: usize, frames: u32) {
        self.shared.rooms[rail].set(frames);
    }

    pub fn is_connected(&self, peer: u32) -> bool {
        self.peers.get(peer).is_some()
    }

    /// Returns a connection's path ids if none was ever answered, and how often each was tried. Such a peer is waited
    /// for like any other (P18); a caller that knows that the peer listens may report that nothing reaches it.
    pub fn unanswered(&self, peer: u32) -> Option<impl Iterator<Item = (Route, u32)> + '_> {
        let strands = self.peers.get(peer)?.strands();
        let tries = || strands.iter().filter_map(|strand| Some((strand.route, strand.tries()?)));
        (tries().count() == strands.len()).then(tries)
    }

    /// Returns the peers that had an open path and have none that answers now, though something of ours is not
    /// acknowledged yet, with the time since when. They are waited for (P18), as with `unanswered`.
    pub fn silent(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let since_ns = |&peer: &u32| Some((peer, self.silent_since_ns(peer)?));
        self.active.iter().filter_map(since_ns)
    }

    /// Same as `silent`, for one peer.
    pub fn silent_since_ns(&self, peer: u32) -> Option<u64> {
        self.peers.get(peer)?.silent_since_ns()
    }

    /// Returns the paths to a peer, further flows left out, and the state of each.
    pub fn ways(&self, peer: u32) -> impl Iterator<Item = (Route, Standing)> + '_ {
        let strands = self.peers.get(peer).into_iter().flat_map(|connection| connection.strands());
        strands.filter(|strand| !strand.is_further()).map(|strand| (strand.route, Standing::of(strand)))
    }

    /// Whether the path with this path id is open and not silent (P24).
    pub fn answers(&self, peer: u32, route: Route) -> bool {
        let connection = self.peers.get(peer);
        connection.is_some_and(|peer| peer.strand(route).is_some_and(|at| peer.strands()[at].answers()))
    }

    /// Returns the statistics of the paths from our port `rail`.
    pub fn reach(&self, rail: u8) -> Reach {
        self.peers.all().fold(Reach::default(), |reach, peer| reach.and(rail, peer.strands(), peer.bulk()))
    }

    /// Returns the longest frame, in bytes, for a message of `total` bytes to a peer, if there is a connection.
    pub fn frame(&self, peer: u32, total: usize) -> Option<usize> {
        Some(self.peers.get(peer)?.frame(total))
    }

    /// Returns the path that carries bulk to a peer best, if there is only one, it loses nothing while it stands (TCP),
    /// and payload on it needs no CRC; none during a trial. Bytes that are sent there past link must be reported
    /// (`count_direct`).
    pub fn direct(&mut self, peer: u32) -> Option<Route> {
        self.peers.get_mut(peer)?.direct(&mut self.shared.survey)
    }

    /// Records that `bytes` bytes of bulk were sent by that path.
    pub fn count_direct(&mut self, peer: u32, bytes: usize) {
        if let Some(connection) = self.peers.get_mut(peer) {
            connection.count_direct(&mut self.shared.survey, bytes);
        }
    }

    /// The number of the next message to a peer.
    pub fn next_message(&self, peer: u32) -> Option<Seq> {
        Some(self.peers.get(peer)?.next_message())
    }

    /// Whether all messages of a peer before this one were delivered.
    pub fn has_delivered(&self, peer: u32, before: Seq) -> bool {
        self.peers.get(peer).is_some_and(|connection| connection.has_delivered(before))
    }

    /// Begins to open a path, once for each path id; if this rank has too many paths none is opened (P40).
    pub fn open(&mut self, peer: u32, route: Route, far: Far) {
        assert!(!self.peers.is_forgotten(peer), "rank {peer} was forgotten");
        if self.numbers.left() == 0 {
            return;
        }
        let random = self.random(self.begun);
        let connection = self.peers.connect(peer);
        if connection.strand(route).is_some() {
            return;
        }
        self.begun += 1;
        let owner = Owner { peer, at: connection.strands().len() as u8 };
        let number = self.numbers.take(owner, random as u8).expect("one is left");
        // 31 bits, so that no path begins near the end of all numbers by design.
        let first = Seq((random >> 33) as u32);
        connection.add(Strand::new(route, self.shared.rail(route), number, first, far));
        // Reserved here, so that nothing is allocated once paths are open.
        self.active.reserve(self.peers.places() - self.active.len());
        self.ready.reserve(self.peers.places() - self.ready.len());
        self.activate(peer);
    }

    /// The number of paths of this rank with all its peers.
    pub fn paths(&self) -> usize {
        PLACES - self.numbers.left()
    }

    fn random(&self, number: u64) -> u64 {
        let mut hasher = self.random;
        hasher.write_u64(number);
        hasher.finish()
    }

    /// Lists a peer after a message to it or a frame from it.
    fn activate(&mut self, peer: u32) {
        let was_listed = self.peers.get_mut(peer).expect("it was opened").wake();
        if !was_listed.active {
            self.active.push(peer);
        }
        if !was_listed.ready {
            self.ready.push(peer);
        }
    }

    /// Whether a message of `total` bytes would be taken.
    pub fn has_room(&self, peer: u32, total: usize, class: Class) -> Result<(), Refused> {
        let connection = self.peers.get(peer).ok_or(Refused::NotConnected)?;
        self.has_slots(connection, slots_in(connection.frame(total), total), class)
    }

    fn has_slots(&self, connection: &Connection, needed: usize, class: Class) -> Result<(), Refused> {
        let control = class == Class::Control;
        let kept = if control { SPARE } else { CONTROL };
        // No peer takes all: another peer's messages pass one that does not answer.
        let fair = connection.slots() == 0 || connection.slots() + needed <= self.shared.sending.slots() / 2;
        let left = self.shared.sending.left().saturating_sub(self.shared.kept);
        let fits = needed + kept <= left && (fair || control);
        if fits && control && (!fair || needed + CONTROL > left) {
            mark(Mark::ControlPassed);
        }
        if fits {
            return Ok(());
        }
        mark(if needed + kept > left { Mark::SendingFull } else { Mark::SendingUnfair });
        Err(Refused::Full)
    }

    /// The longest message, in bytes: every path passes it in at most FRAGMENTS fragments.
    pub fn message_max(frame_min: usize) -> usize {
        (FRAGMENTS * (frame_min - HEADER - RECORD)).min(u16::MAX as usize)
    }

    /// Takes a message; `fill` writes its bytes from an offset on, front to back.
    pub fn send(
        &mut self,
        peer: u32,
        channel: u8,
        total: usize,
        class: Class,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Refused> {
        self.has_room(peer, total, class)?;
        self.take(None, (peer, channel), total, class, fill)
    }

    /// Takes a message for which there are slots, of a party's share or of no party's.
    #[inline]
    fn take(
        &mut self,
        party: Option<Party>,
        (peer, channel): (u32, u8),
        total: usize,
        class: Class,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Refused> {
        let connection = self.peers.get_mut(peer).ok_or(Refused::NotConnected)?;
        let before = connection.slots();
        connection.send(&mut self.shared, channel, total, class == Class::Placed, fill);
        if let Some(party) = party {
            let slots = connection.slots() - before;
            self.shared.parties.took(party, peer, slots);
            self.shared.kept -= slots;
        }
        self.activate(peer);
        Ok(())
    }

    /// Returns the most slots that a message of `total` bytes takes, in frames of any length.
    fn most_slots(&self, total: usize) -> usize {
        slots_in(SHORTEST.min(self.shared.sending.stride()), total)
    }

    /// Reserves memory for a message of at most `total` bytes with payload, in frames of any length.
    pub fn keep(&mut self, peer: u32, total: usize) -> Result<Kept, Refused> {
        let connection = self.peers.get(peer).ok_or(Refused::NotConnected)?;
        let slots = self.most_slots(total);
        self.has_slots(connection, slots, Class::Payload)?;
        self.shared.kept += slots;
        Ok(Kept { peer, total, slots, party: None })
    }

    /// Gives back reserved memory that was not used.
    pub fn give_back(&mut self, kept: Kept) {
        match kept.party {
            None => self.shared.kept -= kept.slots,
            Some(party) => self.shared.parties.give_back(party, kept.slots),
        }
    }

    /// Same as `send`, for a message for which memory was reserved: it is taken unless the peer was forgotten.
    pub fn send_kept(
        &mut self,
        kept: Kept,
        channel: u8,
        total: usize,
        class: Class,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Refused> {
        assert!(total <= kept.total, "{total} bytes, and memory was kept for {}", kept.total);
        let (peer, party) = (kept.peer, kept.party);
        self.give_back(kept);
        self.take(party, (peer, channel), total, class, fill)
    }

    /// Admits a further user, whose messages use these channels, with a share of the memory for sending. None: there
    /// are so many users that the first one would have less than half.
    pub fn admit(&mut self, channels: Range<u8>) -> Option<Party> {
        let Shared { sending, parties, kept, .. } = &mut self.shared;
        let share = sending.slots() / SHARES;
        if parties.slots() + share > sending.slots() / 2 {
            return None;
        }
        // Slots of the share that others use at the moment return to it before any other message gets them.
        *kept += share;
        Some(parties.add(channels, share))
    }

    /// Whether a message of `total` bytes of a party would be taken.
    pub fn has_room_of(&self, party: Party, peer: u32, total: usize, class: Class) -> Result<(), Refused> {
        let connection = self.peers.get(peer).ok_or(Refused::NotConnected)?;
        self.has_slots_of(party, peer, slots_in(connection.frame(total), total), class)
    }

    fn has_slots_of(&self, party: Party, peer: u32, needed: usize, class: Class) -> Result<(), Refused> {
        let Shared { sending, parties, .. } = &self.shared;
        let has_room = parties.has_room(party, peer, needed, class == Class::Control);
        if has_room && needed + SPARE <= sending.left() { Ok(()) } else { Err(Refused::Full) }
    }

    /// Same as `send`, for a party.
    pub fn send_of(
        &mut self,
        party: Party,
        (peer, channel): (u32, u8),
        total: usize,
        class: Class,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Refused> {
        self.has_room_of(party, peer, total, class)?;
        self.take(Some(party), (peer, channel), total, class, fill)
    }

    /// Same as `keep`, of a party's share; `send_kept` uses it.
    pub fn keep_of(&mut self, party: Party, peer: u32, total: usize) -> Result<Kept, Refused> {
        self.peers.get(peer).ok_or(Refused::NotConnected)?;
        let slots = self.most_slots(total);
        self.has_slots_of(party, peer, slots, Class::Payload)?;
        if self.shared.sending.left() < self.shared.kept {
            return Err(Refused::Full); // others used all slots when the share was made, and not all have returned
        }
        self.shared.parties.keep(party, slots);
        Ok(Kept { peer, total, slots, party: Some(party) })
    }

    /// Takes a frame that arrived by our port `rail`. Its replies are sent by `transmit`.
    pub fn handle_frame(
        &mut self,
        rail: u8,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut Deliver<'_>,
    ) -> Result<(), Dropped> {
        self.shared.survey.look(now_ns);
        let handled = self.try_handle(rail, bytes, now_ns, deliver);
        if let Err(reason) = handled {
            self.drops[reason as usize] += 1;
        }
        handled
    }

    fn try_handle(&mut self, rail: u8, bytes: &[u8], now_ns: u64, deliver: &mut Deliver<'_>) -> Result<(), Dropped> {
        let frame = Frame::of(bytes)?;
        if matches!(frame.kind(), Kind::Hello | Kind::Welcome) {
            return self.handle_hello(rail, &frame);
        }
        let Owner { peer, at } = self.numbers.owner(frame.path()).ok_or(Dropped::Path)?;
        let connection = self.peers.get_mut(peer).ok_or(Dropped::Path)?;
        // P40: the path's current number, not an earlier one of its place.
        if connection.strands()[usize::from(at)].ours != frame.path() && !planted(Bug::StalePath) {
            return Err(Dropped::Path);
        }
        let handled = connection.handle_frame(&mut self.shared, usize::from(at), &frame, now_ns, deliver);
        self.activate(peer);
        handled
    }

    fn handle_hello(&mut self, rail: u8, frame: &Frame<'_>) -> Result<(), Dropped> {
        let (peer, me) = (frame.path(), self.shared.me);
        if Peer(peer).index() >= self.ranks as usize || peer == me || self.peers.is_forgotten(peer) {
            return Err(Dropped::Path);
        }
        let (head, payload) = frame.check(&self.shared.key, Ends { from: peer, to: me })?;
        // A number is assigned again when all have forgotten its former owner
        // (docs/adr/0053-a-name-is-a-number-and-a-life.md): a connection that still exists here was opened by a late
        // HELLO.
        if let Some(other) = self.peers.namesake(peer) {
            if Peer(other).life() > Peer(peer).life() {
                return Err(Dropped::Path);
            }
            self.forget(other);
        }
        let hello = Hello::read(payload, head.credit)?;
        let len = HEADER + payload.len();
        let route = hello.route.reversed();
        let longest = self.shared.sending.stride();
        if route.ours != rail || len < SHORTEST.min(longest) || len > longest {
            return Err(Dropped::Hello);
        }
        let connection = self.peers.get(peer);
        if connection.is_none_or(|connection| connection.strand(route).is_none()) {
            if head.kind == Kind::Welcome {
                return Err(Dropped::Path);
            }
            let count = connection.map_or(0, |connection| connection.strands().len());
            if count >= PATHS || self.numbers.left() == 0 {
                return Err(Dropped::Hello);
            }
            mark(Mark::OpenedByPeer);
            self.open(peer, route, Far { nic: hello.nic, frame: len });
        }
        let connection = self.peers.get_mut(peer).expect("it was opened");
        let at = connection.strand(route).expect("it was opened");
        connection.handle_hello(&mut self.shared.survey, at, &hello, head.kind, len)?;
        self.activate(peer);
        Ok(())
    }

    /// Sends all that may be sent now.
    pub fn transmit(&mut self, now_ns: u64, wire: &mut dyn Wire) {
        self.shared.survey.look(now_ns);
        let wants_flows = if now_ns < self.rests_until_ns {
            self.transmit_ready(now_ns, wire)
        } else {
            self.transmit_active(now_ns, wire)
        };
        if let Some(peer) = wants_flows {
            self.open_flows(peer);
        }
    }

    /// Transmits to the peers that have something to do at once. Returns a peer that wants further flows.
    fn transmit_ready(&mut self, now_ns: u64, wire: &mut dyn Wire) -> Option<u32> {
        let Endpoint { shared, peers, ready, rests_until_ns, .. } = self;
        let mut wants_flows = None;
        ready.retain(|&peer| {
            let Some(connection) = peers.get_mut(peer) else { return false };
            connection.transmit(shared, now_ns, wire);
            wants_flows = wants_flows.or(connection.wants_flows().then_some(peer));
            let is_ready = connection.list_ready();
            if !is_ready {
                *rests_until_ns = connection.rests_until_ns().min(*rests_until_ns);
            }
            is_ready
        });
        wants_flows
    }

    /// Transmits to all peers that have something to do, as the time of one may have come. Returns a peer that wants
    /// further flows.
    fn transmit_active(&mut self, now_ns: u64, wire: &mut dyn Wire) -> Option<u32> {
        let Endpoint { shared, peers, active, ready, rests_until_ns, .. } = self;
        let mut wants_flows = None;
        *rests_until_ns = u64::MAX;
        ready.clear();
        active.retain(|&peer| {
            let Some(connection) = peers.get_mut(peer) else { return false };
            connection.transmit(shared, now_ns, wire);
            wants_flows = wants_flows.or(connection.wants_flows().then_some(peer));
            if connection.list_ready() {
                ready.push(peer);
            } else {
                *rests_until_ns = connection.rests_until_ns().min(*rests_until_ns);
            }
            connection.list_active()
        });
        wants_flows
    }

    /// P39: begins to open further flows to a peer, unless there are too many paths.
    #[cold]
    fn open_flows(&mut self, peer: u32) {
        let Some(connection) = self.peers.get_mut(peer) else { return };
        let (flows, count) = (connection.flows_wanted(), connection.strands().len());
        if count + flows.len() > PATHS || flows.len() > self.numbers.left() {
            return;
        }
        for (route, far) in flows {
            mark(Mark::FlowsCalled);
            self.open(peer, route, far);
        }
    }

    /// Whether there is anything to send, to acknowledge or to wait for.
    #[inline]
    pub fn is_active(&self) -> bool {
        !self.ready.is_empty() || self.rests_until_ns != u64::MAX
    }

    /// Makes owed acknowledgements due: they go with the next `transmit`, without waiting for data.
    pub fn acknowledge(&mut self) {
        for at in 0..self.active.len() {
            let peer = self.active[at];
            if let Some(connection) = self.peers.get_mut(peer).filter(|connection| connection.is_active()) {
                connection.acknowledge();
                self.activate(peer);
            }
        }
    }

    /// Records that this rank is going to sleep until a frame arrives, so that the gap does not count as a late poll.
    pub fn sleep(&mut self) {
        self.shared.survey.sleep();
    }

    /// The time at which `transmit` has something to do, if no frame arrives and no message is sent before.
    pub fn deadline_ns(&self) -> Option<u64> {
        let connections = self.active.iter().filter_map(|&peer| self.peers.get(peer));
        connections.filter_map(|connection| connection.deadline_ns()).min()
    }

    /// Whether everything that was sent has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.peers.all().all(Connection::is_quiet)
    }

    /// Forgets a peer that is gone: nothing is sent to it or taken from it any more.
    pub fn forget(&mut self, peer: u32) {
        if let Some(connection) = self.peers.forget(peer) {
            connection.strands().iter().for_each(|strand| self.numbers.give_back(strand.ours));
            connection.forget(&mut self.shared);
            self.active.retain(|&other| other != peer);
            self.ready.retain(|&other| other != peer);
        }
    }

    /// The longest frame of our ports, in bytes.
    pub fn frame_max(&self) -> usize {
        self.shared.sending.stride()
    }

    /// The free slots of the memory for sending and for holding.
    pub fn left(&self) -> (usize, usize) {
        (self.shared.sending.left(), self.shared.holding.left())
    }

    /// The counts of the protocol's events so far.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    pub fn drops(&self) -> &Drops {
        &self.drops
    }
}
