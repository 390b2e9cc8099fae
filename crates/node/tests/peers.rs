//! The memory that a whole rank keeps for its peers, in all crates together: devices, transport, matching and waits.
//! Every allocation of the thread is counted; the job's segment is the host's and not the rank's.

use allocation_counter::measure;
use hawser_base::{Context, LANES, Peer, Peers, UserMem};
use hawser_dev_ether::port::{PortRange, UdpPort};
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Loopback};
use hawser_job::counters::Counters;
use hawser_job::{RankPage, Segment, SegmentSpec};
use hawser_link::PortTraits;
use hawser_link::frame::JobKey;
use hawser_os::interfaces;
use hawser_p2p::counters::sleep_counters;
use hawser_p2p::lanes::{Lanes, LanesConfig};
use hawser_p2p::matching::{MatchSpec, ProtocolLimits};
use hawser_p2p::message::Destination;
use hawser_p2p::minimal_data::MinimalData;
use hawser_transport::{Fabric, WaitPolicy};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Bytes that a peer may cost that is known and without traffic so far, and one that is connected and quiet, a path
/// (docs/performance.md, Targets).
const UNKNOWN: f64 = 16.0;
const QUIET: i64 = 1 << 10;

const LIMITS: ProtocolLimits = ProtocolLimits {
    packet: 1024,
    eager: 4096,
    first: 1024,
    rtr_from: 4097,
    credit: 1 << 16,
    ..ProtocolLimits::DEFAULT
};

type Cards = Arc<Mutex<HashMap<u32, Vec<u8>>>>;

/// A job of `world` ranks, of which the first `local` are on one host.
struct Job {
    world: u32,
    segment: Segment,
    cards: Cards,
}

/// A rank, and the bytes that it has.
struct Rank {
    me: Peer,
    lanes: Lanes<MinimalData>,
    bytes: Cell<i64>,
}

impl Job {
    fn new(world: u32, local: u32) -> Job {
        let spec =
            SegmentSpec { world: world as usize, world_ranks: (0..local).collect(), ..SegmentSpec::alone("a", "test") };
        Job { world, segment: Segment::create(&spec).unwrap(), cards: Cards::default() }
    }

    /// A rank of the first host.
    fn near(&self, local: usize) -> Rank {
        self.rank(local as u32, &self.segment, local)
    }

    /// A rank that is alone on its host.
    fn far(&self, me: u32) -> Rank {
        let spec = SegmentSpec { world: self.world as usize, world_ranks: vec![me], ..SegmentSpec::alone("b", "test") };
        self.rank(me, &Segment::create(&spec).unwrap(), 0)
    }

    fn rank(&self, me: u32, segment: &Segment, local: usize) -> Rank {
        let mut made = None;
        let memory = measure(|| made = Some(self.lanes(Peer(me), segment, local)));
        Rank { me: Peer(me), lanes: made.unwrap(), bytes: Cell::new(memory.bytes_current) }
    }

    /// The lanes, as `node` makes them from the agent's message.
    fn lanes(&self, me: Peer, segment: &Segment, local: usize) -> Lanes<MinimalData> {
        let page = segment.rank(local);
        let devices: Vec<Box<dyn Device>> = vec![
            Box::new(Loopback::new(me)),
            Box::new(ShmDevice::new(segment.clone(), local)),
            Box::new(self.ether(me, segment)),
        ];
        let fabric =
            Box::leak(Box::new(Fabric::new(devices, &Peers::Consecutive { first: Peer(0), len: self.world }).unwrap()));
        let pages = segment.clone();
        let others = move |number: usize| -> Option<(RankPage, bool)> {
            let other = number + usize::from(number >= local);
            (other < pages.local_size()).then(|| (pages.rank(other), true))
        };
        let wait_policy =
            WaitPolicy::new(0, &page, Arc::new(others), sleep_counters(&page.counters()), fabric).unwrap();
        let counters = page.counters();
        Lanes::new(LanesConfig {
            fabric,
            limits: LIMITS.into(),
            wait_policy,
            counters,
            progress_sleep: None,
            abort_out_of_memory: |text| panic!("{text}"),
        })
    }

    /// UDP over the loopback interface, with frames no longer than on an Ethernet.
    fn ether(&self, me: Peer, segment: &Segment) -> EtherDevice {
        let found = interfaces::all().unwrap().into_iter().find(|interface| interface.flags.loopback);
        let interface = interfaces::Interface { mtu: 1500, ..found.expect("there is a loopback interface") };
        let address = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
        let port = UdpPort::open(&interface, address, PortRange::ANY, 0).unwrap();
        let (cards, hosts) = (self.cards.clone(), segment.clone());
        let device = EtherDevice::new(EtherDeviceSetup {
            me: me.0,
            ranks: self.world,
            key: JobKey::new([5; 16]),
            seed: me.0.into(),
            ports: vec![OpenPort {
                port: Box::new(port),
                rail: 0,
                interface: "lo".into(),
                traits: PortTraits::default(),
            }],
            card_lookup: Box::new(move |peer, _| cards.lock().unwrap().get(&peer.0).cloned()),
            on_all_polled: Box::new(|| ()),
            wake_rank: Box::new(|| ()),
            report_status: Box::new(|_| true),
            report_reachability: Box::new(|_| ()),
            counters: (Counters::private(), 0),
            exit_log: segment.exit_log().clone(),
            reaches: Box::new(move |peer| hosts.local_slot_of(peer).is_none()),
        });
        self.cards.lock().unwrap().insert(me.0, device.encoded_port_list());
        device
    }
}

impl Rank {
    /// Calls `f`, and counts the bytes that it leaves allocated.
    fn counted<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut result = None;
        let memory = measure(|| result = Some(f()));
        self.bytes.set(self.bytes.get() + memory.bytes_current);
        result.unwrap()
    }

    /// Sends a message of eight bytes to the other, and waits until it has arrived.
    fn send_message(&self, to: &Rank, context: Context) {
        let mut bytes = [7; 8];
        let (from, target) = (self, Destination { peer: to.me, context, tag: 3 });
        let mem = UserMem::of_slice(Box::leak(Box::new([7_u8; 8])));
        let lane = context.lane();
        while !from.counted(|| from.lanes.lane(lane).enter().send_at_once(&target, mem)) {
            from.counted(|| from.lanes.lane(lane).enter().progress());
            to.counted(|| to.lanes.lane(lane).enter().progress_with(from.me));
        }
        let want = MatchSpec { context, source: Some(from.me), tag: Some(3) };
        let take = || {
            let mem = UserMem::of_slice(&mut bytes);
            to.lanes.lane(lane).enter().recv_directly(&want, from.me, mem, || 1, || true)
        };
        let mut take = take;
        while to.counted(&mut take).is_none() {
            from.counted(|| from.lanes.lane(lane).enter().progress());
        }
    }

    /// Sends a message each way, and waits until all is acknowledged.
    fn greet(&self, other: &Rank, context: Context) {
        self.send_message(other, context);
        other.send_message(self, context);
        while !(self.counted(|| self.lanes.fabric().flush()) & other.counted(|| other.lanes.fabric().flush())) {}
    }
}

/// The context of a communicator on each lane.
fn contexts() -> impl Iterator<Item = Context> {
    (0..LANES as u32).map(|number| Context::new(number, 0))
}

/// Returns the bytes of a rank in such a job that has exchanged messages on all lanes with the last peer of its
/// host and with the last of the job, when it was made and now, and the cost of one more of each.
fn of_job(world: u32, local: u32) -> ([i64; 2], [i64; 2]) {
    let job = Job::new(world, local);
    let rank = job.near(0);
    let made = rank.bytes.get();
    let (near, far) = (job.near(local as usize - 1), job.far(world - 1));
    contexts().for_each(|context| rank.greet(&near, context));
    contexts().for_each(|context| rank.greet(&far, context));
    let spoken = rank.bytes.get();
    let more = |other: Rank| {
        let before = rank.bytes.get();
        rank.greet(&other, Context::new(0, 0));
        rank.bytes.get() - before
    };
    ([made, spoken], [more(job.near(local as usize / 2)), more(job.far(local + (world - local) / 2))])
}

#[test]
fn a_peer_that_is_never_spoken_to_costs_a_rank_next_to_nothing_and_a_quiet_one_little() {
    let (least, _) = of_job(200, 100);
    for (world, local) in [(1_000, 500), (100_000, 1_000), (1_000_000, 4_000)] {
        let (bytes, [near, far]) = of_job(world, local);
        let [made, spoken] = [0, 1].map(|at| (bytes[at] - least[at]) as f64 / f64::from(world));
        println!(
            "{world} ranks, {local} of a host: {made:.1} bytes for a peer when the rank is made, {spoken:.1} when it has \
             spoken to the last one on all lanes; {near} for one more by shared memory, {far} by Ethernet"
        );
        assert!(made <= UNKNOWN && spoken <= UNKNOWN, "{spoken} bytes for a peer without traffic");
        assert!(near <= QUIET && far <= QUIET, "{near} and {far} bytes for a peer that is connected and quiet");
    }
}
