//! The device: it carries packets of the lanes as messages of `link`, over the ports of this rank.
//!
//! It must never wait, nor send from inside a delivery. A NIC is shared, so all lanes of all users share one endpoint
//! and its lock; a packet for a lane that is not polled waits in that lane's inbox. This file has the ports of the
//! first user (MPI), whose own credit bounds the inboxes of its lanes. The inboxes of further users (`user_port`) are
//! bounded by a credit for each peer (`user_table`). Used by `transport`; uses `link::Endpoint` and `ports`.

use crate::counters::CounterPage;
use crate::direct::{self, Arrival, DirectConnections, DirectPacket, LinkOrder, ZeroCopySend};
use crate::endpoint::{self, RUN_BYTES, RankConfig};
use crate::inbox::Inbox;
use crate::message::{HEADER, MessagePayload, PacketMessage, class_of, send_error};
use crate::open::OpenPort;
use crate::peer_drain::PeerDrain;
use crate::per_lane::{PerLane, is_first};
use crate::port::raw_frame_max;
use crate::port_list::NAME;
use crate::ports::PortSet;
use crate::reachability_report::{self, ReachabilityReport};
use crate::remote::{self, EtherRma, OpRequest};
use crate::unreachable::{StatusReportFn, UnreachablePeers};
use crate::user_port::UserPort;
use crate::user_table::{self, UserTable};
use hawser_base::{Class as ErrorClass, Error, Lane, Peer, Result as Outcome, UserMem};
use hawser_device::business_card::{CardEntry, CardLookup};
use hawser_device::{
    Capabilities, CompletionToken, Delivery, Device, DeviceLimits, DevicePort, Fragmentation, Header, PREFIX_MAX,
    Payload, PayloadSource, PayloadView, Registration, RegistrationTable, RemoteError, RemoteKey, SendError, Submitted,
    TransportUser, WriteSource,
};
use hawser_job::ExitLog;
use hawser_job::counters::Counters;
use hawser_link::fragment::FRAGMENT_HEADER_BYTES;
use hawser_link::frame::{HEADER_BYTES as FRAME_HEADER, JobKey};
use hawser_link::{Endpoint, Message, MessageClass, SendReservation};
use hawser_os::clock;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// Longest packet, prefix included, in bytes. Even with the shortest frames (548 bytes) it has no more fragments than
/// link permits.
pub const PACKET_MAX_BYTES: usize = (16 << 10) + PREFIX_MAX;

/// Longest eager message, in bytes.
const EAGER_MAX_BYTES: usize = direct::REST_MAX_BYTES;

/// Shortest rest of a message, in bytes, that is sent zero-copy if the message did not go as a direct packet: each that
/// might find no space for one. A shorter one is copied instead, so that its sender need not wait for the receiver's
/// report.
const ZERO_COPY_FROM_BYTES: usize = direct::PARTLY_TAKEN_MAX + 1;

/// The MTU of jumbo frames, in bytes; some NICs have slightly more.
const JUMBO_MTU: usize = 9216;

/// Shortest message, in bytes, that may go as a direct packet, but for raw frames (`direct_packet_from`).
const DIRECT_PACKET_FROM_BYTES: usize = 3 << 10;

/// Longest message, in bytes, that is joined with others. A longer one costs little more by a system call of its own.
const JOIN_MAX_BYTES: usize = 64 << 10;

/// Calls of `receive` between two looks for direct connections that have stalled: a small part of the time after which
/// one has (`direct::sender`).
const DIRECT_STALL_POLLS: u32 = 64;

/// Sends read the ports, while something of ours waits, if nothing else has read them for this time, in ns. It is the
/// time for which a receiver may delay an acknowledgement (P13).
const LOOK_INTERVAL_NS: u64 = hawser_link::rtt::ACK_DELAY_NS;

/// Reads of the ports in one send. Some ports give one frame for a read; a further send reads the rest.
const READS_PER_SEND_MAX: u32 = 64;
/// A send reads the ports only if the inboxes together have fewer packets than the first number for each peer, and
/// fewer than the second one: a packet has up to 16 KiB.
const INBOX_PACKETS_PER_PEER: usize = 64;
const INBOX_PACKETS_MAX: usize = 1024;

/// Reads of the ports between two updates of the page of counters: some milliseconds.
const RECEIVES_PER_PAGE: u32 = 4096;

/// The parameters of a rank's device.
pub struct EtherDeviceSetup {
    /// The rank's process number (`Peer`), and the number of process numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
    pub key: JobKey,
    /// The seed of random numbers that others must not guess.
    pub seed: u64,
    pub ports: Vec<OpenPort>,
    /// Looks up the business cards of other ranks.
    pub card_lookup: CardLookup,
    /// Called whenever all ports have been polled since the last call: a rank that polls its ports answers HELLO.
    pub on_all_polled: Box<dyn Fn() + Send>,
    /// Wakes a thread of the rank that sleeps until something arrives.
    pub wake_rank: Box<dyn Fn() + Send>,
    /// Receives the reports of peers that do not answer.
    pub report_status: StatusReportFn,
    /// Receives, now and then, the ports by which peers have answered, and what was found best.
    pub report_reachability: reachability_report::ReachabilityReportFn,
    /// The rank's counters, and the first slot of this device's.
    pub counters: (Counters, usize),
    /// The log of the processes that have ended.
    pub exit_log: ExitLog,
    /// Returns whether a rank is reached by this device and no better one.
    pub reaches: Box<dyn Fn(Peer) -> bool + Send + Sync>,
}

pub struct DeviceState {
    pub endpoint: Endpoint,
    port_set: PortSet,
    direct: DirectConnections,
    rma: EtherRma,
    /// Memory that each lane has reserved.
    pub reservations: PerLane<Option<SendReservation>>,
    unreachable_peers: UnreachablePeers,
    on_all_polled: Box<dyn Fn() + Send>,
    wake_rank: Box<dyn Fn() + Send>,
    pub inboxes: PerLane<Inbox>,
    /// Further users, and the progress of each with its peers.
    pub users: UserTable,
    /// Whether something was put into the inboxes since the rank last prepared to sleep: no descriptor or doorbell
    /// signals it.
    has_inbox_news: bool,
    /// Peers that have ended.
    pub peer_drain: PeerDrain,
    /// Buffer for a packet's bytes that a delivery takes piece by piece.
    scratch: Vec<u8>,
    /// Bytes of pieces that were accepted and not yet sent.
    pub unsent_bytes: usize,
    /// The time from which a send reads the ports if something of ours waits.
    look_at_ns: u64,
    reachability_report: ReachabilityReport,
    counter_page: CounterPage,
    /// Messages that were no packets; and reads of the ports, which decide when the page is updated.
    malformed_messages: u64,
    port_reads: u32,
}

/// The device of a rank, as the module describes it.
pub struct EtherDevice {
    state: Arc<Mutex<DeviceState>>,
    /// Longest payload of a frame on the ports that short messages use.
    short_max_bytes: usize,
    /// Registered memory. It has a lock of its own, so that a registration may end inside a delivery.
    registry: Arc<RegistrationTable>,
    reaches_peer: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
}

impl EtherDevice {
    pub const NAME: &'static str = NAME;

    /// Makes a device with at least one port.
    pub fn new(setup: EtherDeviceSetup) -> EtherDevice {
        let EtherDeviceSetup {
            me,
            ranks,
            key,
            seed,
            ports,
            card_lookup,
            on_all_polled,
            wake_rank,
            report_status,
            report_reachability,
            counters,
            exit_log,
            reaches,
        } = setup;
        let reaches_peer: Arc<dyn Fn(Peer) -> bool + Send + Sync> = reaches.into();
        let short_max_bytes = short_max_bytes(&ports);
        let direct = DirectConnections::new(key.clone(), me);
        let rma = EtherRma::new(&key, me);
        let registry = rma.registry();
        let card_lookup = Box::new(move |peer| card_lookup(Peer(peer), NAME));
        let (endpoint, port_set) = endpoint::with_ports(ports, card_lookup, RankConfig { me, ranks, key, seed });
        let unreachable_peers = UnreachablePeers::new(report_status, &port_set);
        let state = DeviceState {
            endpoint,
            port_set,
            direct,
            rma,
            reservations: PerLane::default(),
            unreachable_peers,
            on_all_polled,
            wake_rank,
            inboxes: PerLane::default(),
            users: UserTable::default(),
            has_inbox_news: false,
            peer_drain: PeerDrain::new(&exit_log, reaches_peer.clone()),
            scratch: Vec::new(),
            unsent_bytes: 0,
            look_at_ns: 0,
            reachability_report: ReachabilityReport::new(report_reachability),
            counter_page: CounterPage::new(counters.0, counters.1),
            malformed_messages: 0,
            port_reads: 0,
        };
        EtherDevice { state: Arc::new(Mutex::new(state)), short_max_bytes, registry, reaches_peer }
    }

    /// Returns the bytes of this rank's port list, for its business card.
    pub fn encoded_port_list(&self) -> Vec<u8> {
        lock(&self.state).port_set.own_port_list().encode()
    }
}

/// Returns the longest payload of a frame on ports of the latency class that short messages use.
fn short_max_bytes(ports: &[OpenPort]) -> usize {
    let first = ports.iter().map(|opened| opened.traits.latency_class).min().expect("a port");
    let frames =
        ports.iter().filter(|opened| opened.traits.latency_class == first).map(|opened| opened.port.frame_max());
    payload_capacity(frames.max().expect("a port").min(PACKET_MAX_BYTES))
}

/// Returns the limits of this device if frames with short messages carry up to `short_max_bytes` bytes of payload.
fn limits(short_max_bytes: usize) -> DeviceLimits {
    DeviceLimits {
        short: short_max_bytes,
        packet: PACKET_MAX_BYTES,
        fragmentation: Fragmentation::Frames(short_max_bytes),
        eager: EAGER_MAX_BYTES,
        zero_copy_from: Some(ZERO_COPY_FROM_BYTES),
        stream_from: Some(direct_packet_from(short_max_bytes)),
        join_max: JOIN_MAX_BYTES,
        remote_read_from: None,
        private_read_from: None,
        copy_trial_from: None,
    }
}

/// Returns the length, in bytes, of the shortest message that may go as a direct packet, if a frame carries `frame`
/// bytes of payload. Raw frames carry one of a single frame faster. A message of two takes 4.8 us by frames of MTU 1500
/// and 5.1 by a direct connection, but 8.2 and 6.5 with MTU 9000: copies make longer frames slower. Frames that are
/// longer still are those of TCP itself.
fn direct_packet_from(frame: usize) -> usize {
    match frame {
        0..DIRECT_PACKET_FROM_BYTES => 2 * frame + 1,
        _ if frame < raw_frame_max(JUMBO_MTU) => frame + 1,
        _ => DIRECT_PACKET_FROM_BYTES,
    }
}

/// Returns the limits of this device over a NIC with this MTU, in bytes, for tools: short messages go in raw frames.
pub fn limits_by_mtu(mtu: usize) -> DeviceLimits {
    limits(payload_capacity(raw_frame_max(mtu)))
}

/// Returns the bytes of payload that fit into a frame of `frame` bytes.
fn payload_capacity(frame: usize) -> usize {
    frame - FRAME_HEADER - FRAGMENT_HEADER_BYTES - HEADER
}

pub fn lock(state: &Mutex<DeviceState>) -> MutexGuard<'_, DeviceState> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Device for EtherDevice {
    fn name(&self) -> &'static str {
        EtherDevice::NAME
    }

    fn reaches(&self, peer: Peer) -> bool {
        (self.reaches_peer)(peer)
    }

    fn limits(&self) -> DeviceLimits {
        limits(self.short_max_bytes)
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        lock(&self.state).port_set.descriptors(each);
    }

    fn card_entries(&self) -> Vec<CardEntry> {
        vec![CardEntry { name: NAME.to_owned(), bytes: self.encoded_port_list() }]
    }

    fn capabilities(&self) -> Capabilities {
        remote::CAPABILITIES
    }

    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        Some(self.registry.register(mem, remote::CAPABILITIES))
    }

    fn before_sleep(&self) -> Option<u64> {
        let mut state = lock(&self.state);
        // Send acknowledgements now: otherwise peers would wait for them until this rank wakes up.
        if state.endpoint.is_active() && state.endpoint.is_timer_due(clock::now_ns()) {
            state.receive_in_send();
        }
        let DeviceState { endpoint, direct, .. } = &mut *state;
        direct.expedite_reports(endpoint);
        endpoint.expedite_acks();
        state.transmit_after_receive();
        state.endpoint.record_sleep();
        state.port_set.poll_all_next();
        // An interface that goes down leaves an error, which would end this sleep and every later one at once.
        state.port_set.take_errors();
        let now_ns = clock::now_ns();
        if state.counter_page.is_old(now_ns) {
            state.write_page(now_ns);
        }
        if std::mem::take(&mut state.has_inbox_news) || !state.peer_drain.is_drained() {
            return Some(0);
        }
        let DeviceState { endpoint, direct, unreachable_peers, port_set, .. } = &mut *state;
        let all =
            [port_set.deadline_ns(), endpoint.deadline_ns(), direct.deadline_ns(), unreachable_peers.deadline_ns()];
        let deadline_ns = all.into_iter().flatten().min();
        deadline_ns.map(|at_ns| at_ns.saturating_sub(now_ns))
    }

    fn flush(&self) -> bool {
        let mut state = lock(&self.state);
        state.direct.expedite_queries();
        state.receive(None, &mut NoDelivery);
        let now_ns = clock::now_ns();
        if state.counter_page.is_old(now_ns) {
            state.write_page(now_ns);
        }
        state.endpoint.is_all_acked() && state.direct.is_idle() && state.rma.is_idle()
    }

    fn on_idle(&self) {
        let mut state = lock(&self.state);
        state.write_page(clock::now_ns());
        let DeviceState { reachability_report, endpoint, port_set, direct, .. } = &mut *state;
        reachability_report.report(endpoint, port_set, direct);
    }

    fn admit(&self, user: &TransportUser) -> Outcome<()> {
        lock(&self.state).admit(user)
    }

    fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
        let port = EtherPort { state: self.state.clone(), lane };
        match is_first(lane) {
            true => Box::new(port),
            false => Box::new(UserPort::new(port).unwrap_or_else(|| panic!("nobody has opened {lane:?}"))),
        }
    }
}

impl DeviceState {
    /// Opens the lanes of a further user.
    fn admit(&mut self, user: &TransportUser) -> Outcome<()> {
        let (lanes, last) = (user.lanes(), usize::from(user_table::CHANNEL));
        assert!(
            !is_first(user.first_lane) && lanes.end <= last,
            "{user:?} has lanes of the first user, or lanes that do not exist"
        );
        let share = self.endpoint.add_user(lanes.start as u8..lanes.end as u8).ok_or_else(|| {
            let text = format!(
                "Ethernet has no memory for frames left for user {} in this process: MPI has half of it, and four \
                 other users have an eighth each; open it in another process",
                user.name
            );
            Error::new(ErrorClass::Other, text)
        })?;
        self.reservations.grow(lanes.end);
        self.inboxes.grow(lanes.end);
        self.peer_drain.grow(lanes.end);
        self.users.open(user.clone(), share);
        // Answer peers that have requested this user.
        self.users.send_due(&mut self.endpoint);
        self.transmit();
        Ok(())
    }

    /// Begins to connect, if the peer's business card is known by now. `Full` if it is not, or if no path can be
    /// opened; `PeerFailed` if the peer has ended.
    fn connect(&mut self, peer: Peer) -> Result<(), SendError> {
        if self.peer_drain.has_ended(peer) {
            return Err(SendError::PeerFailed);
        }
        let paths = self.port_set.paths_to(peer.0).ok_or(SendError::Full)?;
        if paths.is_empty() {
            self.unreachable_peers.report_no_port_pair(peer.0, &mut self.port_set);
            return Err(SendError::Full);
        }
        for (path_id, remote_port) in paths {
            self.endpoint.open_path(peer.0, path_id, remote_port);
        }
        if !self.endpoint.is_connected(peer.0) {
            return Err(SendError::Full); // there are too many paths (P40): the packet waits until another peer ends
        }
        self.unreachable_peers.note_connecting(peer.0);
        Ok(())
    }

    fn send(
        &mut self,
        lane: Lane,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
    ) -> Result<(), SendError> {
        self.accept_packet(lane, to, header, prefix, source, false)?;
        self.transmit();
        Ok(())
    }

    /// Sends the pieces that were accepted and not yet sent.
    pub fn flush_pieces(&mut self) {
        if std::mem::take(&mut self.unsent_bytes) > 0 {
            self.transmit();
        }
    }

    /// Sends the messages that were joined and not yet sent.
    fn flush_joined(&mut self) {
        if self.direct.has_joined() {
            self.direct.flush_joined(clock::now_ns(), &mut self.port_set);
        }
    }

    /// Accepts a packet, which `transmit` sends.
    fn accept_packet(
        &mut self,
        lane: Lane,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> Result<(), SendError> {
        if !self.endpoint.is_connected(to.0) {
            self.connect(to)?;
        }
        let class = class_of(&source, order_free);
        // Direct packets are those of the first user alone (P42).
        let has_order = is_first(lane) && class != MessageClass::OrderFree;
        let order = if has_order { self.direct.link_order(to.0) } else { LinkOrder::Unordered };
        let mut writer = PacketMessage::new(header, prefix, source).with_order(order);
        let total = writer.total();
        let reservation = self.reservations[lane].take();
        let result = match reservation {
            Some(reservation) if class != MessageClass::Control && reservation.is_for(to.0, total) => {
                self.endpoint.send_reserved(reservation, lane.0, total, class, |at, into| writer.write(at, into))
            }
            reservation => {
                reservation.into_iter().for_each(|reservation| self.endpoint.release(reservation));
                self.endpoint.send(to.0, lane.0, total, class, |at, into| writer.write(at, into))
            }
        };
        result.map_err(send_error)
    }

    /// Releases memory that a lane has reserved and not used.
    #[inline]
    pub fn release_reservation(&mut self, lane: Lane) {
        if let Some(reservation) = self.reservations[lane].take() {
            self.endpoint.release(reservation);
        }
    }

    /// Sends the messages of operations on a peer's memory, as far as link has memory for them.
    fn send_rma(&mut self) {
        // Keep the rank awake for an operation that could continue at once.
        self.has_inbox_news |= self.rma.send_pending(&mut self.endpoint);
    }

    /// Puts completed operations into their lanes' inboxes. The caller reports those of lane `polling_lane` at once;
    /// for other lanes the rank must stay awake.
    fn store_completed_ops(&mut self, polling_lane: Option<Lane>) {
        for completed in self.rma.completed_ops.drain(..) {
            self.has_inbox_news |= polling_lane != Some(completed.lane);
            self.inboxes[completed.lane].push_completed_op(completed);
        }
    }

    /// Checks that a peer can be reached, before memory is reserved for it or an operation with it begins.
    pub fn ensure_connected(&mut self, peer: Peer) -> Result<(), SendError> {
        match self.endpoint.is_connected(peer.0) {
            true if self.peer_drain.has_ended(peer) => Err(SendError::PeerFailed),
            true => Ok(()),
            false => self.connect(peer),
        }
    }

    fn write_page(&mut self, now_ns: u64) {
        self.counter_page.write(now_ns, &self.endpoint, &mut self.port_set, &self.direct, self.malformed_messages);
        self.reachability_report.report_if_due(now_ns, &self.endpoint, &self.port_set, &self.direct);
        self.unreachable_peers.check(now_ns, &self.endpoint, &mut self.port_set);
    }

    /// Sends everything that may be sent now. A program that sends and makes no other call leaves the acknowledgements
    /// in the ports. So they are read before frames would count as lost, and now and then while something waits for
    /// credit.
    pub fn transmit(&mut self) {
        if !self.endpoint.is_active() {
            return self.unreachable_peers.check_if_needed(&self.endpoint, &mut self.port_set);
        }
        let mut now_ns = clock::now_ns();
        if self.endpoint.is_timer_due(now_ns) {
            self.receive_in_send();
            now_ns = clock::now_ns();
        }
        self.endpoint.transmit(now_ns, &mut self.port_set);
        self.unreachable_peers.check_if_needed(&self.endpoint, &mut self.port_set);
        if self.endpoint.has_waiting() && now_ns >= self.look_at_ns {
            self.receive_in_send();
        }
    }

    /// Sends everything that may be sent now, after the ports were read.
    fn transmit_after_receive(&mut self) {
        if self.endpoint.is_active() {
            let now_ns = clock::now_ns();
            self.look_at_ns = now_ns + LOOK_INTERVAL_NS;
            self.endpoint.transmit(now_ns, &mut self.port_set);
        }
        self.unreachable_peers.check_if_needed(&self.endpoint, &mut self.port_set);
    }

    /// Reads the ports until they are empty, in a call that does not poll. Packets go to the inboxes, and a thread of
    /// this rank that sleeps until something arrives is woken for them. Nothing is read if many packets are in the
    /// inboxes already: the peers may have sent as much as the program's receives permit.
    #[cold]
    #[inline(never)]
    fn receive_in_send(&mut self) {
        let packets: usize = self.inboxes.first_user().iter().map(Inbox::len).sum();
        if packets >= INBOX_PACKETS_MAX.min(INBOX_PACKETS_PER_PEER * self.endpoint.peers_max()) {
            self.look_at_ns = clock::now_ns() + LOOK_INTERVAL_NS;
            return;
        }
        self.port_set.poll_all_next();
        let mut reads = 0;
        while reads < READS_PER_SEND_MAX && self.receive_frames(None, &mut NoDelivery).1 {
            reads += 1;
        }
        self.handle_received(reads > 0, None, &mut NoDelivery);
        // A thread may wait for what these frames have confirmed, and not for a packet.
        if reads > 0 {
            (self.wake_rank)();
        }
    }

    /// Receives from all ports. Packets of lane `polling_lane` are delivered; all others go to the inboxes of their
    /// lanes. Returns the number of packets and completions that were delivered.
    pub fn receive(&mut self, polling_lane: Option<Lane>, delivery: &mut dyn Delivery) -> usize {
        if self.peer_drain.begin_poll() {
            self.port_set.poll_all_next();
        }
        let (count, has_received) = self.receive_frames(polling_lane, delivery);
        count + self.handle_received(has_received, polling_lane, delivery)
    }

    /// Does what is due after `receive_frames`, and sends. Returns the number of completions that were delivered.
    fn handle_received(
        &mut self,
        has_received: bool,
        polling_lane: Option<Lane>,
        delivery: &mut dyn Delivery,
    ) -> usize {
        if self.port_reads.is_multiple_of(RECEIVES_PER_PAGE) {
            self.write_page(clock::now_ns());
        }
        let mut count = 0;
        while let Some(peer) = self.peer_drain.next_drained(has_received) {
            self.forget(peer);
        }
        if self.rma.has_work() {
            self.send_rma();
        }
        if self.users.has_work() {
            self.users.send_due(&mut self.endpoint);
        }
        if !self.rma.completed_ops.is_empty() {
            self.store_completed_ops(polling_lane);
            count = polling_lane.map_or(0, |lane| self.inboxes[lane].report_completed_ops(delivery));
        }
        if self.port_set.has_polled_all() {
            (self.on_all_polled)();
        }
        self.transmit_after_receive();
        count
    }

    /// Receives the frames that have arrived at all ports, and reads the direct connections. Returns the number of
    /// packets delivered, and whether any frame has arrived.
    fn receive_frames(&mut self, polling_lane: Option<Lane>, delivery: &mut dyn Delivery) -> (usize, bool) {
        let DeviceState {
            endpoint,
            port_set,
            direct,
            rma,
            inboxes,
            users,
            has_inbox_news,
            scratch,
            malformed_messages,
            port_reads,
            ..
        } = self;
        *port_reads = port_reads.wrapping_add(1);
        let (mut now_ns, mut has_received) = (0, false);
        let mut dispatcher =
            Dispatcher { polling_lane, delivery, inboxes, users, has_inbox_news, malformed_messages, count: 0 };
        for at in 0..port_set.ports.len() {
            let mut bytes = 0;
            let received = port_set.receive(at, &mut |frame| {
                bytes += frame.len() as u64;
                if now_ns == 0 {
                    now_ns = clock::now_ns();
                }
                let mut deliver = |from: u32, channel: u8, mut message: Message<'_>| {
                    if channel == remote::CHANNEL {
                        *dispatcher.malformed_messages += u64::from(!rma.handle_message(from, &mut message));
                        return;
                    }
                    if channel == user_table::CHANNEL {
                        // A lane may wait for credit that arrives while another one is polled.
                        *dispatcher.has_inbox_news = true;
                        *dispatcher.malformed_messages +=
                            u64::from(!dispatcher.users.handle_message(from, &mut message));
                        return;
                    }
                    let Some((header, order, mut packet)) = MessagePayload::parse(message, scratch) else {
                        *dispatcher.malformed_messages += 1;
                        return;
                    };
                    if channel != direct::CHANNEL {
                        return dispatcher.dispatch_in_order(direct, (from, order), channel, header, &mut packet);
                    }
                    let mut count = [0; 8];
                    let is_valid = packet.read(&mut count)
                        && direct.handle_message(from, &header, u64::from_le_bytes(count), now_ns);
                    *dispatcher.malformed_messages += u64::from(!is_valid);
                };
                // The endpoint counts faulty frames.
                let _ = endpoint.handle_frame(at as u8, frame, now_ns, &mut deliver);
            });
            if !received {
                continue;
            }
            has_received = true;
            port_set.count_received(at, bytes);
            // Messages that link has released come before the bytes of a connection that follow it.
            dispatcher.release_held(direct);
            direct.receive(at, clock::now_ns(), (&mut *endpoint, &mut *port_set), &mut dispatcher.dispatch_fn());
        }
        if port_reads.is_multiple_of(DIRECT_STALL_POLLS) {
            direct.query_stalled(clock::now_ns());
        }
        dispatcher.progress_direct(direct, endpoint, port_set);
        (dispatcher.count, has_received)
    }

    /// Forgets a peer that has ended, once all that it sent was received: nothing is sent to it or accepted from it any
    /// more.
    #[cold]
    fn forget(&mut self, peer: Peer) {
        self.endpoint.forget(peer.0);
        self.unreachable_peers.forget(peer.0);
        self.direct.forget(peer.0, &mut self.port_set);
        self.port_set.forget(peer.0);
        self.rma.forget(peer.0);
        self.users.forget(peer.0);
        // Keep the rank awake: other lanes report the end of the peer when they are polled.
        self.has_inbox_news = true;
    }
}

/// The destination of received packets: the lane that polls, or the inbox of another one.
struct Dispatcher<'a> {
    polling_lane: Option<Lane>,
    delivery: &'a mut dyn Delivery,
    inboxes: &'a mut PerLane<Inbox>,
    users: &'a mut UserTable,
    has_inbox_news: &'a mut bool,
    malformed_messages: &'a mut u64,
    count: usize,
}

impl Dispatcher<'_> {
    /// Delivers a packet if its lane is the one that polls, otherwise puts it into its lane's inbox; `copy_payload`
    /// copies its payload into memory.
    fn dispatch<P: Payload>(
        &mut self,
        from: Peer,
        lane: u8,
        header: Header,
        packet: &mut P,
        copy_payload: fn(&mut P, Vec<u8>) -> Vec<u8>,
    ) {
        let Some(inbox) = self.inboxes.get_first(lane) else {
            return self.dispatch_to_user(from, lane, header, packet, copy_payload);
        };
        if self.polling_lane.is_some_and(|to| to.0 == lane) {
            self.delivery.deliver(from, header, packet);
            self.count += 1;
        } else {
            inbox.push(from, header, |memory| copy_payload(packet, memory));
            *self.has_inbox_news = true;
        }
    }

    /// Takes a packet of a further user, for the lane that its sender calls `channel`.
    #[cold]
    #[inline(never)]
    fn dispatch_to_user<P: Payload>(
        &mut self,
        from: Peer,
        channel: u8,
        header: Header,
        packet: &mut P,
        copy_payload: fn(&mut P, Vec<u8>) -> Vec<u8>,
    ) {
        // Drop a longer packet: the bound on an inbox counts packets of at most this length.
        let lane = if packet.len() <= PACKET_MAX_BYTES { self.users.admit_packet(from.0, channel) } else { None };
        let Some(lane) = lane else {
            *self.malformed_messages += 1;
            return;
        };
        if self.polling_lane == Some(lane) {
            self.users.count_taken(from.0, lane);
            self.delivery.deliver(from, header, packet);
            self.count += 1;
        } else {
            self.inboxes[lane].push(from, header, |memory| copy_payload(packet, memory));
            *self.has_inbox_news = true;
        }
    }

    /// Continues the direct connections, and dispatches what they have released.
    #[inline]
    fn progress_direct(&mut self, direct: &mut DirectConnections, endpoint: &mut Endpoint, port_set: &mut PortSet) {
        self.release_held(direct);
        if direct.has_work() {
            direct.progress(clock::now_ns(), (endpoint, port_set), &mut self.dispatch_fn());
            self.release_held(direct);
        }
        if !direct.zero_copy_done.is_empty() {
            self.store_zero_copy_done(direct);
        }
    }

    /// Dispatches a packet that link has delivered, or holds it for direct packets.
    #[inline]
    fn dispatch_in_order(
        &mut self,
        direct: &mut DirectConnections,
        (from, order): (u32, LinkOrder),
        channel: u8,
        header: Header,
        packet: &mut MessagePayload<'_>,
    ) {
        if let Arrival::Hold { behind } = direct.arrive(from, order) {
            let bytes = packet.copy_payload(Vec::new());
            return direct.hold(from, channel, header, bytes, behind);
        }
        self.dispatch(Peer(from), channel, header, packet, MessagePayload::copy_payload);
        if order == LinkOrder::Resent {
            self.release_held(direct);
        }
    }

    /// Dispatches the messages of link whose direct packets were delivered.
    #[inline]
    fn release_held(&mut self, direct: &mut DirectConnections) {
        if direct.holds_any() {
            direct.release_held(&mut |from, lane, header, packet| self.dispatch(from, lane, header, packet, copy_view));
        }
    }

    /// Returns the function that dispatches packets that arrive by direct connections.
    fn dispatch_fn(&mut self) -> impl FnMut(Peer, u8, Header, &mut direct::SocketPayload<'_>) {
        |from, lane, header, packet| self.dispatch(from, lane, header, packet, direct::SocketPayload::copy_payload)
    }

    /// Puts completed zero-copy sends, whose memory belongs to the program again, into their lanes' inboxes.
    fn store_zero_copy_done(&mut self, direct: &mut DirectConnections) {
        for done in direct.zero_copy_done.drain(..) {
            self.inboxes[done.lane].push_zero_copy_done(done);
            *self.has_inbox_news |= self.polling_lane != Some(done.lane);
        }
        if let Some(lane) = self.polling_lane {
            self.count += self.inboxes[lane].report_zero_copy_done(self.delivery);
        }
    }
}

/// Appends the payload of a held message to `memory`, and returns it.
fn copy_view(packet: &mut PayloadView<'_>, mut memory: Vec<u8>) -> Vec<u8> {
    memory.extend_from_slice(&packet.bytes[packet.at..]);
    memory
}

/// A delivery that is never called.
struct NoDelivery;

impl Delivery for NoDelivery {
    fn deliver(&mut self, _: Peer, _: Header, _: &mut dyn hawser_device::Payload) {
        unreachable!("all wait in their inboxes")
    }

    fn peer_failed(&mut self, _: Peer) {
        unreachable!("a lane is notified when it is polled")
    }
}

/// A lane's port.
pub struct EtherPort {
    pub state: Arc<Mutex<DeviceState>>,
    pub lane: Lane,
}

impl EtherPort {
    /// Sends a message as a direct packet, by one of the two calls for it.
    fn send_direct(
        &mut self,
        to: Peer,
        (header, prefix): (Header, &[u8]),
        (rest_header, mem): (Header, UserMem<'_>),
        send: direct::SendPacketFn,
    ) -> bool {
        let mut state = lock(&self.state);
        if state.peer_drain.has_ended(to) {
            return false;
        }
        state.release_reservation(self.lane);
        state.flush_pieces();
        let DeviceState { direct, endpoint, port_set, .. } = &mut *state;
        let packet = DirectPacket { lane: self.lane, header, prefix, rest_header };
        send(direct, to.0, &packet, mem, clock::now_ns(), (endpoint, port_set))
    }
}

impl DevicePort for EtherPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        lock(&self.state).send(self.lane, to, header, prefix, source)
    }

    fn piece_len(&mut self, to: Peer, total: usize) -> Option<usize> {
        let state = lock(&self.state);
        let least = || state.port_set.ports.iter().map(|port| port.frame_max()).min();
        state
            .endpoint
            .frame_for_message(to.0, total)
            .or_else(least)
            .map(|frame| payload_capacity(frame.min(PACKET_MAX_BYTES)))
    }

    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> Result<(), SendError> {
        let mut state = lock(&self.state);
        let bytes = source.len();
        let result = state.accept_packet(self.lane, to, header, prefix, source, order_free);
        state.unsent_bytes += bytes;
        if result.is_err() || state.unsent_bytes >= RUN_BYTES {
            state.flush_pieces();
        }
        result
    }

    fn flush_pieces(&mut self) {
        let mut state = lock(&self.state);
        state.flush_pieces();
        state.flush_joined();
    }

    fn send_zero_copy(
        &mut self,
        to: Peer,
        header: Header,
        mem: UserMem<'static>,
        order_free: bool,
        ticket: u32,
    ) -> bool {
        let mut state = lock(&self.state);
        state.release_reservation(self.lane);
        state.flush_pieces();
        let DeviceState { direct, endpoint, port_set, .. } = &mut *state;
        let send = ZeroCopySend { lane: self.lane, ticket, mem };
        direct.send_zero_copy(to.0, send, header, !order_free, clock::now_ns(), (endpoint, port_set))
    }

    fn send_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        self.send_direct(to, (header, prefix), (rest_header, mem), DirectConnections::send_packet)
    }

    fn join_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        self.send_direct(to, (header, prefix), (rest_header, mem), DirectConnections::join_packet)
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let mut state = lock(&self.state);
        state.release_reservation(self.lane);
        if state.ensure_connected(to).is_err() {
            return false;
        }
        if len > PACKET_MAX_BYTES {
            return state.endpoint.check_send(to.0, HEADER + len, MessageClass::Payload).is_ok();
        }
        let reservation = state.endpoint.reserve(to.0, HEADER + len).ok();
        let is_reserved = reservation.is_some();
        state.reservations[self.lane] = reservation;
        is_reserved
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut state = lock(&self.state);
        state.release_reservation(self.lane);
        let queued = state.inboxes[self.lane].deliver_all(delivery);
        let count = queued + state.receive(Some(self.lane), delivery);
        // The inbox is empty now: all packets of a peer are delivered before its end is reported.
        state.peer_drain.report(self.lane, delivery);
        count
    }

    fn is_poll_costly(&self) -> bool {
        true
    }

    /// Polls all peers: the frames of one peer cannot be received apart from those of others.
    fn poll_from(&mut self, _: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }

    fn write(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        ticket: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let request = OpRequest { lane: self.lane, ticket, key: *key, at };
        self.begin_op(to, |rma, endpoint| rma.write(to, request, source, endpoint))
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let request = OpRequest { lane: self.lane, ticket, key: *key, at };
        self.begin_op(from, |rma, _| rma.read(from, request, into))
    }

    fn flush(&mut self, to: Peer, ticket: CompletionToken) -> Result<Submitted, RemoteError> {
        let must_wait = lock(&self.state).rma.flush(to, self.lane, ticket)?;
        Ok(if must_wait { Submitted::InFlight } else { Submitted::Done(0) })
    }
}

impl EtherPort {
    /// Begins an operation with a peer, and sends its messages as far as link has memory for them.
    fn begin_op(
        &self,
        peer: Peer,
        begin: impl FnOnce(&mut EtherRma, &mut Endpoint) -> Result<(), RemoteError>,
    ) -> Result<Submitted, RemoteError> {
        let mut state = lock(&self.state);
        state.ensure_connected(peer)?;
        let DeviceState { rma, endpoint, .. } = &mut *state;
        begin(rma, endpoint)?;
        state.send_rma();
        state.transmit();
        Ok(Submitted::InFlight)
    }
}
