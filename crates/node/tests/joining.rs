//! Processes join a running job and leave it, below MPI: three hosts, each a segment of its own, in one process, with
//! shared memory within a host and UDP over the loopback interface between them. The test assigns process numbers, as a
//! job's launcher would, and updates the segments, as each host's first process would.

use hawser_base::{Context, Lane as LaneId, Peer, Peers, UserMem};
use hawser_dev_ether::port::{PortRange, UdpPort};
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, DeviceLimits, DevicePort, ExposedKey, Loopback, PayloadSource};
use hawser_job::counters::Counters;
use hawser_job::{ExitKind, Segment, SegmentSpec};
use hawser_link::PortTraits;
use hawser_link::frame::JobKey;
use hawser_os::interfaces;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::counters::sleep_counters;
use hawser_p2p::lanes::{Lanes, LanesConfig};
use hawser_p2p::matching::{MatchSpec, OpOutcome, ProtocolLimits};
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_p2p::minimal_data::MinimalData;
use hawser_p2p::request::Request;
use hawser_transport::{Fabric, WaitPolicy};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The hosts of the processes with which the job begins: two on the first host, one on each other.
const BEGIN: [u32; 4] = [0, 0, 1, 2];
const HOSTS: usize = 3;
/// The local slots of each host, and the process numbers of the job, for processes that join later.
const SPARE: usize = 2;

const LIMITS: ProtocolLimits = ProtocolLimits {
    packet: 1024,
    eager: 4096,
    first: 1024,
    rtr_from: 4097,
    credit: 1 << 16,
    ..ProtocolLimits::DEFAULT
};
/// The lengths of an eager message, an eager stream and a rendezvous.
const LENGTHS: [usize; 3] = [8, 3000, 100_000];

/// Contexts on two lanes.
const CONTEXTS: [Context; 2] = [Context::new(0, 0), Context::new(3, 0)];

/// The device between hosts, to which the test reports ends too.
struct ReportingDevice(Arc<EtherDevice>);

impl Device for ReportingDevice {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn reaches(&self, peer: Peer) -> bool {
        self.0.reaches(peer)
    }
    fn limits(&self) -> DeviceLimits {
        self.0.limits()
    }
    fn port(&self, lane: LaneId) -> Box<dyn DevicePort> {
        self.0.port(lane)
    }
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        self.0.descriptors(each);
    }
    fn before_sleep(&self) -> Option<u64> {
        self.0.before_sleep()
    }
    fn flush(&self) -> bool {
        self.0.flush()
    }
    fn expose(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        self.0.expose(mem)
    }
    fn read(&self, peer: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        self.0.read(peer, key, at, into)
    }
    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        self.0.write(peer, key, at, source)
    }
}

/// A process of the job.
struct Process {
    peer: Peer,
    host: usize,
    local_slot: usize,
    lanes: Lanes<MinimalData>,
    ether: Arc<EtherDevice>,
}

/// The job: the segment of each host, and the processes that are there.
struct Job {
    segments: Vec<Segment>,
    processes: Vec<Process>,
}

impl Job {
    fn begin() -> Job {
        let segment = |host: usize| {
            let world_ranks = (0..4).filter(|&rank| BEGIN[rank as usize] == host as u32).collect();
            let spec = SegmentSpec::without_spares("joining", "host", BEGIN.len(), world_ranks);
            let segment =
                Segment::create(&SegmentSpec { spare_local_slots: SPARE, spare_numbers: SPARE, ..spec }).unwrap();
            segment.set_hosts(&BEGIN);
            segment
        };
        let mut job = Job { segments: (0..HOSTS).map(segment).collect(), processes: Vec::new() };
        for (number, host) in (0..).zip(BEGIN) {
            let process = job.start(Peer(number), host as usize);
            for segment in &job.segments {
                assert!(segment.set_business_card(process.peer, &process.ether.encoded_port_list()));
            }
            job.processes.push(process);
        }
        job
    }

    /// Starts a process, as `node` does it.
    fn start(&self, peer: Peer, host: usize) -> Process {
        let segment = &self.segments[host];
        let local_slot = (0..segment.local_slots())
            .find(|&room| segment.process_in(room) == Some(peer))
            .expect("it has a local slot");
        if segment.joined_late(peer) {
            ShmDevice::clean(segment, local_slot).unwrap();
        }
        let ether = Arc::new(ether(peer, segment));
        let devices: Vec<Box<dyn Device>> = vec![
            Box::new(Loopback::new(peer)),
            Box::new(ShmDevice::new(segment.clone(), local_slot)),
            Box::new(ReportingDevice(ether.clone())),
        ];
        // Its own world is one process; all others are reported to it later.
        let fabric = Box::leak(Box::new(Fabric::new(devices, &Peers::from_list(vec![peer])).unwrap()));
        let page = segment.rank(local_slot);
        let wait_policy =
            WaitPolicy::new(0, &page, Arc::new(|_| None), sleep_counters(&page.counters()), fabric).unwrap();
        let lanes = Lanes::new(LanesConfig {
            fabric,
            limits: LIMITS.into(),
            wait_policy,
            counters: page.counters(),
            progress_sleep: None,
            abort_out_of_memory: |text| panic!("{text}"),
        });
        Process { peer, host, local_slot, lanes, ether }
    }

    /// Adds a process to a host: that host knows it when this returns, the others do not yet.
    fn add(&mut self, peer: Peer, host: usize) -> usize {
        self.segments[host].reserve_local_slot(peer, host as u32).unwrap();
        let process = self.start(peer, host);
        assert!(self.segments[host].set_business_card(peer, &process.ether.encoded_port_list()));
        self.segments[host].announce(peer);
        self.processes.push(process);
        self.processes.len() - 1
    }

    /// Reports a process to another host.
    fn report_to(&self, host: usize, process_index: usize) {
        let process = &self.processes[process_index];
        self.segments[host].add_remote(process.peer, process.host as u32, &process.ether.encoded_port_list()).unwrap();
    }

    fn join(&mut self, peer: Peer, host: usize) -> usize {
        let process_index = self.add(peer, host);
        (0..HOSTS).filter(|&other| other != host).for_each(|other| self.report_to(other, process_index));
        process_index
    }

    /// Ends a process; its host's first process reports it to all hosts.
    fn end(&mut self, process_index: usize) -> Process {
        let gone = self.processes.remove(process_index);
        self.segments.iter().for_each(|segment| segment.record_exit(gone.peer, ExitKind::InOrder));
        self.segments.iter().for_each(|segment| segment.request_release(gone.peer));
        gone
    }

    /// Every process releases what it can of the ended processes. Returns whether all have released `gone`.
    fn release_all(&self, gone: Peer) -> bool {
        for process in &self.processes {
            let segment = &self.segments[process.host];
            process.lanes.handle_release_request(segment, &segment.rank(process.local_slot));
        }
        self.segments.iter().all(|segment| segment.is_released(gone))
    }

    fn vacate(&self, gone: Peer) {
        self.segments.iter().for_each(|segment| segment.remove_process(gone));
    }

    fn find(&self, peer: Peer) -> &Process {
        self.processes.iter().find(|process| process.peer == peer).expect("it is there")
    }

    /// One turn of all processes.
    fn turn(&self) {
        for process in &self.processes {
            for context in CONTEXTS {
                process.lanes.lane(context.lane()).enter().progress();
            }
        }
    }

    fn until(&self, mut done: impl FnMut() -> bool) {
        let begin = std::time::Instant::now();
        while !done() {
            self.turn();
            assert!(begin.elapsed().as_secs() < 60, "nothing moves any more");
        }
    }

    /// Sends messages of all lengths on both lanes from one process to another.
    fn exchange_messages(&self, from: Peer, to: Peer) {
        for (tag, context) in (0..).zip(CONTEXTS) {
            for len in LENGTHS {
                let (from, to) = (self.find(from), self.find(to));
                let send = from.send(to.peer, context, tag, len);
                let receive = to.receive(Some(from.peer), context, tag, len);
                self.until(|| from.is_over(context, send) && to.is_over(context, receive.request));
                assert!(from.end(context, send).error.is_none());
                to.check(context, receive, from.peer, len);
            }
        }
    }

    /// All processes exchange messages with each other, and each with itself.
    fn greet(&self) {
        let names: Vec<Peer> = self.processes.iter().map(|process| process.peer).collect();
        for &from in &names {
            names.iter().for_each(|&to| self.exchange_messages(from, to));
        }
    }
}

/// A pending receive.
struct Receive {
    request: u32,
    buffer: UserMem<'static>,
}

/// The contents of a message of a process, different from any other's, whatever its incarnation.
fn text(from: Peer, len: usize) -> Vec<u8> {
    let words = (0..len).map(|at| (at as u32).wrapping_mul(31).wrapping_add(from.0.rotate_left(8)) as u8);
    words.collect()
}

impl Process {
    fn send(&self, to: Peer, context: Context, tag: i32, len: usize) -> u32 {
        let mem = UserMem::of_slice(Box::leak(text(self.peer, len).into_boxed_slice()));
        let mut lane = self.lanes.lane(context.lane()).enter();
        let request = lane.core.requests.insert(Request::new(MinimalData { peer: Some(to) })).unwrap();
        let to = Destination { peer: to, context, tag };
        lane.start(PendingSend { to, body: MessageMemory::Buffer(Buffer::Dense(mem)), sync: false, request });
        request
    }

    fn receive(&self, from: Option<Peer>, context: Context, tag: i32, len: usize) -> Receive {
        let room = UserMem::of_slice(Box::leak(vec![0; len].into_boxed_slice()));
        let mut lane = self.lanes.lane(context.lane()).enter();
        let request = lane.core.requests.insert(Request::new(MinimalData { peer: from })).unwrap();
        lane.post(MatchSpec { context, source: from, tag: Some(tag) }, Buffer::Dense(room), request);
        Receive { request, buffer: room }
    }

    fn is_over(&self, context: Context, request: u32) -> bool {
        self.lanes.lane(context.lane()).enter().core.requests.get(request).is_complete()
    }

    fn end(&self, context: Context, request: u32) -> OpOutcome {
        self.lanes.lane(context.lane()).enter().core.requests.remove(request).outcome().unwrap()
    }

    /// Checks that the bytes received are those that the process has sent.
    fn check(&self, context: Context, Receive { request, buffer: room }: Receive, from: Peer, len: usize) {
        let outcome = self.end(context, request);
        assert_eq!((outcome.error, outcome.envelope.source, outcome.envelope.bytes), (None, from, len as u64));
        let mut got = vec![0; len];
        room.read(&mut got);
        assert!(got == text(from, len), "{len} bytes of {from}");
    }

    /// Returns whether no message waits here to be received.
    fn is_empty(&self) -> bool {
        CONTEXTS.iter().all(|context| self.lanes.lane(context.lane()).enter().core.engine.is_idle())
    }
}

/// UDP over the loopback interface, with frames no longer than on an Ethernet.
fn ether(peer: Peer, segment: &Segment) -> EtherDevice {
    let found = interfaces::all().unwrap().into_iter().find(|interface| interface.flags.loopback);
    let interface = interfaces::Interface { mtu: 1500, ..found.expect("there is a loopback interface") };
    let address = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let port = UdpPort::open(&interface, address, PortRange::ANY, 0).unwrap();
    let (cards, hosts) = (segment.clone(), segment.clone());
    EtherDevice::new(EtherDeviceSetup {
        me: peer.0,
        ranks: segment.layout().numbers as u32,
        key: JobKey::new([5; 16]),
        seed: peer.0.into(),
        ports: vec![OpenPort { port: Box::new(port), rail: 0, interface: "lo".into(), traits: PortTraits::default() }],
        card_lookup: Box::new(move |peer, _| cards.business_card(peer)),
        on_all_polled: Box::new(|| ()),
        wake_rank: Box::new(|| ()),
        report_status: Box::new(|_| true),
        report_reachability: Box::new(|_| ()),
        counters: (Counters::private(), 0),
        exit_log: segment.exit_log().clone(),
        reaches: Box::new(move |peer| hosts.is_known(peer) && hosts.local_slot_of(peer).is_none()),
    })
}

#[test]
fn a_process_joins_on_two_hosts_and_all_speak_with_it() {
    let mut job = Job::begin();
    job.greet();
    job.join(Peer(4), 0);
    job.greet();
    job.join(Peer(5), 1);
    job.greet();
}

/// The agents of a job are notified one after the other.
#[test]
fn what_comes_before_its_sender_is_known_here_is_delivered_after_that() {
    let mut job = Job::begin();
    let new = job.add(Peer(4), 1);
    let (here, context) = (job.find(Peer(3)), CONTEXTS[0]);
    let receive = here.receive(None, context, 1, 8);
    let send = job.find(Peer(4)).send(Peer(3), context, 1, 8);
    (0..2000).for_each(|_| job.turn());
    assert!(!here.is_over(context, receive.request), "no route leads back yet");
    job.report_to(2, new);
    job.until(|| here.is_over(context, receive.request) && job.find(Peer(4)).is_over(context, send));
    here.check(context, receive, Peer(4), 8);
    job.report_to(0, new);
    job.greet();
}

#[test]
fn who_has_left_is_given_back_when_nothing_of_it_is_left_and_its_number_and_room_are_used_again() {
    let mut job = Job::begin();
    let (old, context) = (Peer(4), CONTEXTS[0]);
    let process_index = job.join(old, 0);
    job.greet();
    // Two messages without a receive: by shared memory and by Ethernet.
    let kept = [Peer(1), Peer(3)].map(|to| (to, job.processes[process_index].send(to, context, 9, 8)));
    job.until(|| kept.iter().all(|&(_, send)| job.processes[process_index].is_over(context, send)));
    job.until(|| kept.iter().all(|&(to, _)| !job.find(to).is_empty()));
    // And some receives that wait for it.
    let in_vain = [Peer(0), Peer(2)].map(|to| (to, job.find(to).receive(Some(old), context, 7, 8)));
    let gone = job.end(process_index);
    assert!(!job.release_all(old) && !job.release_all(old), "messages of its wait to be received");
    for (to, receive) in in_vain {
        assert!(job.find(to).is_over(context, receive.request), "a receive of {to} from the ended process");
        assert!(job.find(to).end(context, receive.request).error.is_some());
    }
    for (to, _) in kept {
        let receive = job.find(to).receive(Some(old), context, 9, 8);
        job.until(|| job.find(to).is_over(context, receive.request));
        job.find(to).check(context, receive, old, 8);
    }
    assert!(job.release_all(old));
    job.vacate(old);
    // Its number and its local slot go to another process.
    let new = old.successor().unwrap();
    let next = job.join(new, 0);
    assert_eq!((job.processes[next].local_slot, new.index()), (gone.local_slot, old.index()));
    job.greet();
    let stale = job.find(Peer(1)).receive(Some(old), context, 0, 8);
    assert!(job.find(Peer(1)).is_over(context, stale.request), "nothing comes from an ended process");
    assert!(job.find(Peer(1)).end(context, stale.request).error.is_some());
    let send = job.find(Peer(1)).send(old, context, 0, 8);
    job.until(|| job.find(Peer(1)).is_over(context, send));
    assert!(job.find(Peer(1)).end(context, send).error.is_some(), "nothing goes to an ended process");
    assert!(job.processes.iter().all(Process::is_empty));
}

/// The number goes to another host, and messages that the former process still sends from its own host arrive late.
#[test]
fn nothing_of_the_former_reaches_anybody() {
    let mut job = Job::begin();
    let (old, context) = (Peer(4), CONTEXTS[0]);
    let process_index = job.join(old, 2);
    job.greet();
    let ghost = job.end(process_index);
    assert!(job.release_all(old));
    job.vacate(old);
    let new = old.successor().unwrap();
    job.join(new, 0);
    // It continues with its connections, and opens new ones: it knew nothing of the processes that came after it.
    let late: Vec<u32> = [Peer(0), Peer(1), Peer(2)].map(|to| ghost.send(to, context, 0, 8)).to_vec();
    let all = [Peer(0), Peer(1), Peer(2), new];
    let receives = all.map(|to| (to, job.find(to).receive(None, context, 0, 8)));
    for _ in 0..2000 {
        job.turn();
        ghost.lanes.lane(context.lane()).enter().progress();
    }
    for (to, receive) in &receives {
        assert!(!job.find(*to).is_over(context, receive.request), "{to} received a message of the former");
    }
    assert_eq!(late.len(), 3);
    // A message of the new process is received, though it has the former's number.
    for (to, receive) in receives {
        let from = if to == new { Peer(3) } else { new };
        let send = job.find(from).send(to, context, 0, 8);
        job.until(|| job.find(to).is_over(context, receive.request) && job.find(from).is_over(context, send));
        job.find(to).check(context, receive, from, 8);
    }
    job.greet();
}

#[test]
fn a_number_and_a_room_are_used_many_times() {
    let mut job = Job::begin();
    let mut name = Peer(5);
    for round in 0..6 {
        let process_index = job.join(name, round % HOSTS);
        job.greet();
        job.end(process_index);
        assert!(job.release_all(name), "round {round}");
        job.vacate(name);
        name = name.successor().unwrap();
    }
    // One that was there at the start ends too.
    let process_index = job.processes.iter().position(|process| process.peer == Peer(1)).unwrap();
    job.end(process_index);
    assert!(job.release_all(Peer(1)));
    job.vacate(Peer(1));
    job.join(Peer(1).successor().unwrap(), 1);
    job.greet();
}
