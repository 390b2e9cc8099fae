//! The device: it carries packets of the lanes as messages of `link`, over the ports of this rank.
//!
//! It must never wait, nor send from inside a delivery. A NIC is shared, so all lanes of all users share one endpoint
//! and its lock; a packet for a lane that is not polled waits in that lane's inbox. This file has the ports of the
//! first user (MPI), whose own credits bound its inboxes; those of further users (`user_port`) are bounded by a credit
//! for each peer. Used by `transport`; uses `link::Endpoint` and `ends`.

use crate::answers::{self, Answers};
use crate::by_lane::{ByLane, is_first};
use crate::card::NAME;
use crate::counters::Page;
use crate::direct::{self, Direct, Lent};
use crate::endpoint::{self, RUN_BYTES, Rank};
use crate::ends::Ends;
use crate::inbox::Inbox;
use crate::message::{HEADER, Incoming, Outgoing, class_of, refusal};
use crate::open::Opened;
use crate::parting::Parting;
use crate::remote::{self, Order, Remote};
use crate::unanswered::{Openings, Tell};
use crate::user_port::UserPort;
use crate::users::{self, Users};
use hawser_base::{Class as ErrorClass, Error, Lane, Peer, Result as Outcome, UserMem};
use hawser_device::cards::{Card, Resolve};
use hawser_device::{
    Bytes, Capabilities, Delivery, Device, Fault, Header, Limits, PREFIX_MAX, Payload, Pieces, Port, Refusal,
    Registration, Registry, RemoteKey, Source, Taken, Ticket, User,
};
use hawser_job::Lives;
use hawser_job::counters::Counters;
use hawser_link::frame::{HEADER as FRAME_HEADER, Key};
use hawser_link::record::RECORD;
use hawser_link::{Class, Endpoint, Kept, Message};
use hawser_os::clock;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// Longest packet, prefix included, in bytes: with the shortest frames (548 bytes) still within link's fragments.
pub const PACKET: usize = (16 << 10) + PREFIX_MAX;

/// Longest eager message, in bytes.
const EAGER: usize = 64 << 10;

/// Calls of `receive` between two updates of the page of counters: some milliseconds.
const PAGE_TURNS: u32 = 4096;

/// The parameters of a rank's device.
pub struct Setup {
    /// The rank's process number (`Peer`), and the count of numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
    pub key: Key,
    /// Seed of numbers that others must not guess.
    pub seed: u64,
    pub ports: Vec<Opened>,
    /// Looks up the cards of other ranks.
    pub cards: Resolve,
    /// Called whenever all ports were polled: a rank that polls them answers HELLO.
    pub looked: Box<dyn Fn() + Send>,
    /// Receives the reports of peers that do not answer.
    pub tell: Tell,
    /// Receives, now and then, the ports by which peers have answered.
    pub answers: answers::Tell,
    /// The rank's counters, and the first slot of this device's.
    pub counters: (Counters, usize),
    /// The process numbers that have ended.
    pub lives: Lives,
    /// Returns whether a rank is reached by this device and no better one.
    pub serves: Box<dyn Fn(Peer) -> bool + Send + Sync>,
}

pub struct State {
    pub endpoint: Endpoint,
    ends: Ends,
    direct: Direct,
    remote: Remote,
    /// Memory that each lane has reserved.
    pub kept: ByLane<Option<Kept>>,
    openings: Openings,
    looked: Box<dyn Fn() + Send>,
    pub inboxes: ByLane<Inbox>,
    /// Further users, and the progress of each with its peers.
    pub users: Users,
    /// Whether something was put into the inboxes since the rank last prepared to sleep: no descriptor or doorbell
    /// signals it.
    set_aside: bool,
    /// Peers that have ended.
    pub parting: Parting,
    /// Buffer for a packet's bytes that a delivery takes piece by piece.
    scratch: Vec<u8>,
    /// Bytes of pieces that were accepted and not yet sent.
    pub kept_back: usize,
    answers: Answers,
    page: Page,
    /// Messages that were no packets; and calls of `receive`, which decide when the page is updated.
    unread: u64,
    turns: u32,
}

/// The device of a rank, as the module describes it.
pub struct EtherDevice {
    state: Arc<Mutex<State>>,
    /// Longest payload of a frame on the ports that short messages use.
    short: usize,
    /// Registered memory. It has a lock of its own, so that a registration may end inside a delivery.
    registry: Arc<Registry>,
    serves: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
}

impl EtherDevice {
    pub const NAME: &'static str = NAME;

    /// Makes a device with at least one port.
    pub fn new(setup: Setup) -> EtherDevice {
        let Setup { me, ranks, key, seed, ports, cards, looked, tell, answers, counters, lives, serves } = setup;
        let serves: Arc<dyn Fn(Peer) -> bool + Send + Sync> = serves.into();
        let short = short(&ports);
        let direct = Direct::new(key.clone(), me);
        let remote = Remote::new(&key, me);
        let registry = remote.registry();
        let cards = Box::new(move |peer| cards(Peer(peer), NAME));
        let (endpoint, ends) = endpoint::over(ports, cards, Rank { me, ranks, key, seed });
        let openings = Openings::new(tell, &ends);
        let state = State {
            endpoint,
            ends,
            direct,
            remote,
            kept: ByLane::default(),
            openings,
            looked,
            inboxes: ByLane::default(),
            users: Users::default(),
            set_aside: false,
            parting: Parting::new(&lives, serves.clone()),
            scratch: Vec::new(),
            kept_back: 0,
            answers: Answers::new(answers),
            page: Page::new(counters.0, counters.1),
            unread: 0,
            turns: 0,
        };
        EtherDevice { state: Arc::new(Mutex::new(state)), short, registry, serves }
    }

    /// Returns this rank's card, for its peers.
    pub fn card(&self) -> Vec<u8> {
        lock(&self.state).ends.card().encode()
    }
}

/// Returns the longest payload of a frame on ports of the latency class that short messages take.
fn short(ports: &[Opened]) -> usize {
    let first = ports.iter().map(|opened| opened.traits.grade).min().expect("a port");
    let frames = ports.iter().filter(|opened| opened.traits.grade == first).map(|opened| opened.port.frame_max());
    room_in(frames.max().expect("a port").min(PACKET))
}

/// Returns the bytes of payload that fit into a frame of `frame` bytes.
fn room_in(frame: usize) -> usize {
    frame - FRAME_HEADER - RECORD - HEADER
}

pub fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Device for EtherDevice {
    fn name(&self) -> &'static str {
        EtherDevice::NAME
    }

    fn reaches(&self, peer: Peer) -> bool {
        (self.serves)(peer)
    }

    fn limits(&self) -> Limits {
        Limits { short: self.short, packet: PACKET, pieces: Pieces::Frames(self.short), eager: EAGER, read_from: None }
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        lock(&self.state).ends.descriptors(each);
    }

    fn cards(&self) -> Vec<Card> {
        vec![Card { name: NAME.to_owned(), bytes: self.card() }]
    }

    fn capabilities(&self) -> Capabilities {
        remote::CAPABILITIES
    }

    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        Some(self.registry.register(mem, remote::CAPABILITIES))
    }

    fn before_sleep(&self) -> Option<u64> {
        let mut state = lock(&self.state);
        // Otherwise the peer would wait for its acknowledgement as long as this rank sleeps.
        state.endpoint.acknowledge();
        state.transmit();
        state.endpoint.sleep();
        state.ends.look_anew();
        // An interface that goes down leaves an error, which would end this sleep and every later one at once.
        state.ends.take_errors();
        let now_ns = clock::now_ns();
        if state.page.is_old(now_ns) {
            state.write_page(now_ns);
        }
        if std::mem::take(&mut state.set_aside) || !state.parting.is_through() {
            return Some(0);
        }
        let State { endpoint, direct, openings, ends, .. } = &mut *state;
        let all = [ends.deadline_ns(), endpoint.deadline_ns(), direct.deadline_ns(), openings.deadline_ns()];
        let deadline_ns = all.into_iter().flatten().min();
        deadline_ns.map(|at_ns| at_ns.saturating_sub(now_ns))
    }

    fn flush(&self) -> bool {
        let mut state = lock(&self.state);
        state.receive(None, &mut Nobody);
        let now_ns = clock::now_ns();
        if state.page.is_old(now_ns) {
            state.write_page(now_ns);
        }
        state.endpoint.is_quiet() && state.direct.is_quiet() && state.remote.is_quiet()
    }

    fn rest(&self) {
        let mut state = lock(&self.state);
        state.write_page(clock::now_ns());
        let State { answers, endpoint, ends, .. } = &mut *state;
        answers.tell(endpoint, ends);
    }

    fn admit(&self, user: &User) -> Outcome<()> {
        lock(&self.state).admit(user)
    }

    fn port(&self, lane: Lane) -> Box<dyn Port> {
        let port = LanePort { state: self.state.clone(), lane };
        match is_first(lane) {
            true => Box::new(port),
            false => Box::new(UserPort::new(port).unwrap_or_else(|| panic!("nobody has opened {lane:?}"))),
        }
    }
}

impl State {
    /// Opens the lanes of a further user.
    fn admit(&mut self, user: &User) -> Outcome<()> {
        let (lanes, last) = (user.lanes(), usize::from(users::CHANNEL));
        assert!(!is_first(user.first) && lanes.end <= last, "{user:?} has lanes of the first, or none that there are");
        let party = self.endpoint.admit(lanes.start as u8..lanes.end as u8).ok_or_else(|| {
            let text = format!(
                "user {} would be one too many of Ethernet in this process: MPI needs half of the memory for frames, \
                 and four others have an eighth each; open it in another process",
                user.name
            );
            Error::new(ErrorClass::Other, text)
        })?;
        self.kept.grow(lanes.end);
        self.inboxes.grow(lanes.end);
        self.parting.grow(lanes.end);
        self.users.open(user.clone(), party);
        // Answer peers that have asked for this user.
        self.users.work(&mut self.endpoint);
        self.transmit();
        Ok(())
    }

    /// Begins to connect, if the peer's card is known by now.
    fn connect(&mut self, peer: Peer) -> Result<(), Refusal> {
        if self.parting.has_ended(peer) {
            return Err(Refusal::Lost);
        }
        let routes = self.ends.routes_to(peer.0).ok_or(Refusal::Full)?;
        if routes.is_empty() {
            self.openings.give_up(peer.0, &mut self.ends);
            return Err(Refusal::Full);
        }
        for (route, far) in routes {
            self.endpoint.open(peer.0, route, far);
        }
        if !self.endpoint.is_connected(peer.0) {
            return Err(Refusal::Full); // there are too many paths (P40): the packet waits until another peer has gone
        }
        self.openings.begin(peer.0);
        Ok(())
    }

    fn send(&mut self, lane: Lane, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        self.take(lane, to, header, prefix, source, false)?;
        self.transmit();
        Ok(())
    }

    /// Sends the packets that were held back.
    pub fn push(&mut self) {
        if std::mem::take(&mut self.kept_back) > 0 {
            self.transmit();
        }
    }

    /// Accepts a packet, which `transmit` sends.
    fn take(
        &mut self,
        lane: Lane,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: Source<'_>,
        placed: bool,
    ) -> Result<(), Refusal> {
        if !self.endpoint.is_connected(to.0) {
            self.connect(to)?;
        }
        let class = class_of(&source, placed);
        let mut writer = Outgoing::new(header, prefix, source);
        let total = writer.total();
        let kept = self.kept[lane].take();
        let taken = match kept {
            Some(kept) if class != Class::Control && kept.is_for(to.0, total) => {
                self.endpoint.send_kept(kept, lane.0, total, class, |at, into| writer.write(at, into))
            }
            kept => {
                kept.into_iter().for_each(|kept| self.endpoint.give_back(kept));
                self.endpoint.send(to.0, lane.0, total, class, |at, into| writer.write(at, into))
            }
        };
        taken.map_err(refusal)
    }

    /// Releases memory that a lane has reserved and not used.
    #[inline]
    pub fn give_back(&mut self, lane: Lane) {
        if let Some(kept) = self.kept[lane].take() {
            self.endpoint.give_back(kept);
        }
    }

    /// Sends the messages that operations on memory have to send.
    fn work_remote(&mut self) {
        // Keep the rank awake for an operation that could continue at once.
        self.set_aside |= self.remote.work(&mut self.endpoint);
    }

    /// Puts completed operations into their lanes' inboxes; those of lane `to` are delivered at once.
    fn set_ended_aside(&mut self, to: Option<Lane>) {
        for ended in self.remote.ended.drain(..) {
            self.set_aside |= to != Some(ended.lane);
            self.inboxes[ended.lane].end(ended);
        }
    }

    /// Checks that a peer can be reached, before memory is reserved for it or an operation with it begins.
    pub fn reach(&mut self, peer: Peer) -> Result<(), Refusal> {
        match self.endpoint.is_connected(peer.0) {
            true if self.parting.has_ended(peer) => Err(Refusal::Lost),
            true => Ok(()),
            false => self.connect(peer),
        }
    }

    fn write_page(&mut self, now_ns: u64) {
        self.page.write(now_ns, &self.endpoint, &mut self.ends, &self.direct, self.unread);
        self.answers.look(now_ns, &self.endpoint, &self.ends);
        self.openings.look_again(now_ns, &self.endpoint, &mut self.ends);
    }

    pub fn transmit(&mut self) {
        if self.endpoint.is_active() {
            self.endpoint.transmit(clock::now_ns(), &mut self.ends);
        }
        self.openings.look(&self.endpoint, &mut self.ends);
    }

    /// Receives from all ports: packets of one lane are delivered, all others go to their inboxes. Returns the number
    /// delivered.
    pub fn receive(&mut self, to: Option<Lane>, delivery: &mut dyn Delivery) -> usize {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(PAGE_TURNS) {
            self.write_page(clock::now_ns());
        }
        if self.parting.begin() {
            self.ends.look_anew();
        }
        let State { endpoint, ends, direct, remote, inboxes, users, set_aside, scratch, unread, .. } = self;
        let (mut now_ns, mut has_come) = (0, false);
        let mut desk = Desk { to, delivery, inboxes, users, set_aside, unread, count: 0 };
        for at in 0..ends.ports.len() {
            let mut bytes = 0;
            let came = ends.receive(at, &mut |frame| {
                bytes += frame.len() as u64;
                if now_ns == 0 {
                    now_ns = clock::now_ns();
                }
                let mut deliver = |from: u32, channel: u8, mut message: Message<'_>| {
                    if channel == remote::CHANNEL {
                        *desk.unread += u64::from(!remote.hear(from, &mut message));
                        return;
                    }
                    if channel == users::CHANNEL {
                        // A lane may wait for credit that arrives while another one is polled.
                        *desk.set_aside = true;
                        *desk.unread += u64::from(!desk.users.hear(from, &mut message));
                        return;
                    }
                    let Some((header, mut packet)) = Incoming::of(message, scratch) else {
                        *desk.unread += 1;
                        return;
                    };
                    if channel != direct::CHANNEL {
                        return desk.take(Peer(from), channel, header, &mut packet, Incoming::keep);
                    }
                    let mut count = [0; 8];
                    let is_said =
                        packet.read(&mut count) && direct.hear(from, &header, u64::from_le_bytes(count), now_ns);
                    *desk.unread += u64::from(!is_said);
                };
                // The endpoint counts faulty frames.
                let _ = endpoint.handle_frame(at as u8, frame, now_ns, &mut deliver);
            });
            if !came {
                continue;
            }
            has_come = true;
            ends.count_received(at, bytes);
            direct.receive(at, clock::now_ns(), (&mut *endpoint, &mut *ends), &mut desk.taker());
        }
        if !direct.is_quiet() {
            direct.work(clock::now_ns(), (&mut *endpoint, &mut *ends), &mut desk.taker());
            desk.return_all(direct);
        }
        let mut count = desk.count;
        while let Some(peer) = self.parting.next(has_come) {
            self.forget(peer);
        }
        if self.remote.has_work() {
            self.work_remote();
        }
        if self.users.has_work() {
            self.users.work(&mut self.endpoint);
        }
        if !self.remote.ended.is_empty() {
            self.set_ended_aside(to);
            count += to.map_or(0, |to| self.inboxes[to].end_all(delivery));
        }
        if self.ends.has_looked() {
            (self.looked)();
        }
        self.transmit();
        count
    }

    /// Forgets a peer that has ended, once all that it sent was received: nothing is sent to it or accepted from it any
    /// more.
    #[cold]
    fn forget(&mut self, peer: Peer) {
        self.endpoint.forget(peer.0);
        self.openings.forget(peer.0);
        self.direct.forget(peer.0, &mut self.ends);
        self.ends.forget(peer.0);
        self.remote.forget(peer.0);
        self.users.forget(peer.0);
        // Other lanes report it when they are polled.
        self.set_aside = true;
    }
}

/// The destination of received packets: the lane that polls, or the inbox of another one.
struct Desk<'a> {
    to: Option<Lane>,
    delivery: &'a mut dyn Delivery,
    inboxes: &'a mut ByLane<Inbox>,
    users: &'a mut Users,
    set_aside: &'a mut bool,
    unread: &'a mut u64,
    count: usize,
}

impl Desk<'_> {
    /// Delivers a packet for a lane, or puts it into its inbox; `keep` copies its payload into memory.
    fn take<P: Payload>(
        &mut self,
        from: Peer,
        lane: u8,
        header: Header,
        packet: &mut P,
        keep: fn(&mut P, Vec<u8>) -> Vec<u8>,
    ) {
        let Some(inbox) = self.inboxes.get_first(lane) else {
            return self.take_of_user(from, lane, header, packet, keep);
        };
        if self.to.is_some_and(|to| to.0 == lane) {
            self.delivery.deliver(from, header, packet);
            self.count += 1;
        } else {
            inbox.push(from, header, |memory| keep(packet, memory));
            *self.set_aside = true;
        }
    }

    /// Takes a packet of a further user, for the lane that its sender calls `channel`.
    #[cold]
    #[inline(never)]
    fn take_of_user<P: Payload>(
        &mut self,
        from: Peer,
        channel: u8,
        header: Header,
        packet: &mut P,
        keep: fn(&mut P, Vec<u8>) -> Vec<u8>,
    ) {
        // Drop a longer packet: the bound on an inbox counts packets of at most this length.
        let lane = if packet.len() <= PACKET { self.users.came(from.0, channel) } else { None };
        let Some(lane) = lane else {
            *self.unread += 1;
            return;
        };
        if self.to == Some(lane) {
            self.users.took(from.0, lane);
            self.delivery.deliver(from, header, packet);
            self.count += 1;
        } else {
            self.inboxes[lane].push(from, header, |memory| keep(packet, memory));
            *self.set_aside = true;
        }
    }

    /// Returns `take` for packets that arrive by direct connections.
    fn taker(&mut self) -> impl FnMut(Peer, u8, Header, &mut direct::Arriving<'_>) {
        |from, lane, header, packet| self.take(from, lane, header, packet, direct::Arriving::keep)
    }

    /// Puts returned zero-copy sends, whose memory belongs to the program again, into their lanes' inboxes.
    fn return_all(&mut self, direct: &mut Direct) {
        for returned in direct.returned.drain(..) {
            self.inboxes[returned.lane].give_back(returned);
            *self.set_aside |= self.to != Some(returned.lane);
        }
        if let Some(to) = self.to {
            self.count += self.inboxes[to].return_all(self.delivery);
        }
    }
}

/// A delivery that is never called.
struct Nobody;

impl Delivery for Nobody {
    fn deliver(&mut self, _: Peer, _: Header, _: &mut dyn hawser_device::Payload) {
        unreachable!("all wait in their inboxes")
    }

    fn lost(&mut self, _: Peer) {
        unreachable!("a lane is told when it is polled")
    }
}

/// A lane's port.
pub struct LanePort {
    pub state: Arc<Mutex<State>>,
    pub lane: Lane,
}

impl Port for LanePort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        lock(&self.state).send(self.lane, to, header, prefix, source)
    }

    fn piece(&mut self, to: Peer, total: usize) -> Option<usize> {
        let state = lock(&self.state);
        let least = || state.ends.ports.iter().map(|port| port.frame_max()).min();
        state.endpoint.frame(to.0, total).or_else(least).map(|frame| room_in(frame.min(PACKET)))
    }

    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: Source<'_>,
        placed: bool,
    ) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        let bytes = source.len();
        let taken = state.take(self.lane, to, header, prefix, source, placed);
        state.kept_back += bytes;
        if taken.is_err() || state.kept_back >= RUN_BYTES {
            state.push();
        }
        taken
    }

    fn push(&mut self) {
        lock(&self.state).push();
    }

    fn lend(&mut self, to: Peer, header: Header, mem: UserMem<'static>, placed: bool, ticket: u32) -> bool {
        let mut state = lock(&self.state);
        // Shorter messages are eager, and complete before they are received.
        if mem.len() <= EAGER {
            return false;
        }
        state.give_back(self.lane);
        state.push();
        let State { direct, endpoint, ends, .. } = &mut *state;
        let lent = Lent { lane: self.lane, ticket, mem };
        direct.lend(to.0, lent, header, !placed, clock::now_ns(), (endpoint, ends))
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let mut state = lock(&self.state);
        state.give_back(self.lane);
        if state.reach(to).is_err() {
            return false;
        }
        if len > PACKET {
            return state.endpoint.has_room(to.0, HEADER + len, Class::Payload).is_ok();
        }
        let kept = state.endpoint.keep(to.0, HEADER + len).ok();
        let is_kept = kept.is_some();
        state.kept[self.lane] = kept;
        is_kept
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut state = lock(&self.state);
        state.give_back(self.lane);
        let waited = state.inboxes[self.lane].deliver_all(delivery);
        let count = waited + state.receive(Some(self.lane), delivery);
        // The inbox is empty now: all packets of a peer are delivered before its end is reported.
        state.parting.tell(self.lane, delivery);
        count
    }

    /// Polls all peers: the frames of one peer cannot be received apart from those of others.
    fn poll_from(&mut self, _: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }

    fn write(&mut self, to: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, ticket: Ticket) -> Result<Taken, Fault> {
        let order = Order { lane: self.lane, ticket, key: *key, at };
        self.begin(to, |remote, endpoint| remote.write(to, order, source, endpoint))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: Ticket,
    ) -> Result<Taken, Fault> {
        let order = Order { lane: self.lane, ticket, key: *key, at };
        self.begin(from, |remote, _| remote.read(from, order, into))
    }

    fn flush(&mut self, to: Peer, ticket: Ticket) -> Result<Taken, Fault> {
        let waits = lock(&self.state).remote.flush(to, self.lane, ticket)?;
        Ok(if waits { Taken::InFlight } else { Taken::Done(0) })
    }
}

impl LanePort {
    /// Begins an operation with a peer, and sends as much as there is credit for.
    fn begin(
        &self,
        peer: Peer,
        begin: impl FnOnce(&mut Remote, &mut Endpoint) -> Result<(), Fault>,
    ) -> Result<Taken, Fault> {
        let mut state = lock(&self.state);
        state.reach(peer)?;
        let State { remote, endpoint, .. } = &mut *state;
        begin(remote, endpoint)?;
        state.work_remote();
        state.transmit();
        Ok(Taken::InFlight)
    }
}
