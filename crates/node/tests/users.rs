//! Several users of the transport in one process: between two processes of a host by shared memory, and to others by
//! UDP over the loopback interface. None is held up by what another leaves unread, by what another has filled, or by
//! peers that have opened users in another order, later, or not at all.

use hawser_base::{LANES, Lane, Peer, Peers, UserMem};
use hawser_dev_ether::port::{PortRange, UdpPort};
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Header, Loopback, Payload, PayloadSource};
use hawser_job::counters::Counters;
use hawser_job::{Segment, SegmentSpec};
use hawser_link::PortTraits;
use hawser_link::frame::JobKey;
use hawser_os::interfaces;
use hawser_transport::{Channel, Transport};
use std::collections::HashMap;
use std::time::Instant;

/// The host of each process.
const HOSTS: [u32; 5] = [0, 0, 1, 2, 3];
/// The peers to which process 0 sends by shared memory and by Ethernet.
const NEAR: u32 = 1;
const FAR: u32 = 2;

/// The messages received of each peer, by their headers' `a`; payload is checked as it comes.
#[derive(Default)]
struct ReceivedMessages(HashMap<u32, Vec<u32>>);

impl Delivery for ReceivedMessages {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        let mut bytes = vec![0; payload.len()];
        assert!(
            payload.read(&mut bytes) && bytes == text(header.a(), bytes.len()),
            "packet {} is as it was sent",
            header.a()
        );
        self.0.entry(from.0).or_default().push(header.a());
    }
    fn peer_failed(&mut self, peer: Peer) {
        panic!("{peer} lives");
    }
}

fn text(a: u32, len: usize) -> Vec<u8> {
    (0..len).map(|at| (a as usize * 31 + at * 7) as u8).collect()
}

/// A process's end of a user: its first lane, and the packets that have come there.
struct UserChannel {
    channel: Channel,
    received: ReceivedMessages,
}

impl UserChannel {
    fn send(&mut self, to: u32, a: u32, len: usize) -> bool {
        let mut bytes = text(a, len);
        self.channel.send(Peer(to), Header::new(0x70, 0, a, 0), &[], PayloadSource::Mem(UserMem::of_slice(&mut bytes)))
    }

    fn poll(&mut self) {
        self.channel.poll(&mut self.received);
    }

    fn of(&self, from: u32) -> &[u32] {
        self.received.0.get(&from).map_or(&[], |got| got)
    }
}

/// The job's processes, all in this one.
struct Job {
    services: Vec<Transport>,
}

impl Job {
    fn new() -> Job {
        let segment = |host: u32| {
            let world_ranks = (0..HOSTS.len() as u32).filter(|&rank| HOSTS[rank as usize] == host).collect();
            let segment =
                Segment::create(&SegmentSpec::without_spares("users", "host", HOSTS.len(), world_ranks)).unwrap();
            segment.set_hosts(&HOSTS);
            segment
        };
        let segments: Vec<_> = (0..4).map(segment).collect();
        let service = |(number, host): (u32, u32)| {
            let (me, own) = (Peer(number), &segments[host as usize]);
            let ether = ether(me, own);
            assert!(segments.iter().all(|segment| segment.set_business_card(me, &ether.encoded_port_list())));
            let local_slot = own.local_slot_of(me).expect("it is here");
            let shm = ShmDevice::new(own.clone(), local_slot);
            Transport::new(vec![Box::new(Loopback::new(me)), Box::new(shm), Box::new(ether)], own.clone())
        };
        Job { services: (0..).zip(HOSTS).map(service).collect() }
    }

    /// A process opens a user, of which the test uses the first lane.
    fn open(&self, process: u32, name: &str) -> UserChannel {
        let (peers, lanes) = (Peers::Consecutive { first: Peer(0), len: HOSTS.len() as u32 }, lanes_of(name));
        let fabric = self.services[process as usize].open(name, lanes, &peers).unwrap();
        UserChannel { channel: fabric.channel(Lane(0)), received: ReceivedMessages::default() }
    }
}

fn lanes_of(name: &str) -> usize {
    match name {
        "mpi" => LANES,
        "pm" => 2,
        _ => 1,
    }
}

/// UDP over the loopback interface, with frames no longer than on an Ethernet.
fn ether(me: Peer, segment: &Segment) -> EtherDevice {
    let found = interfaces::all().unwrap().into_iter().find(|interface| interface.flags.loopback);
    let interface = interfaces::Interface { mtu: 1500, ..found.expect("there is a loopback interface") };
    let address = interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let port = UdpPort::open(&interface, address, PortRange::ANY, 0).unwrap();
    let (cards, hosts) = (segment.clone(), segment.clone());
    EtherDevice::new(EtherDeviceSetup {
        me: me.0,
        ranks: segment.layout().numbers as u32,
        key: JobKey::new([5; 16]),
        seed: me.0.into(),
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

/// Turns until `done`, for a minute at most.
fn until(mut turn: impl FnMut() -> bool, what: &str) {
    let begin = Instant::now();
    while !turn() {
        assert!(begin.elapsed().as_secs() < 60, "not after a minute: {what}");
    }
}

fn is_run(got: &[u32], len: u32) -> bool {
    got.iter().copied().eq(0..len)
}

/// Packets of the idle user that are tried at most: those of MPI are bounded by its own credits alone (`p2p`).
const TRIED: u32 = 500;

/// `idle` does not poll at its receiver while `busy` moves a thousand packets there; then it polls.
fn one_idles(to: u32, idle: &str, busy: &str, len: usize) {
    let job = Job::new();
    // The receiver opens them the other way around.
    let (mut idle_here, mut busy_here) = (job.open(0, idle), job.open(0, busy));
    let (mut busy_there, mut idle_there) = (job.open(to, busy), job.open(to, idle));
    let (mut taken, mut sent, mut refusals) = (0, 0, 0);
    let what = format!("{busy} moves while {idle} does not poll, to {to}, {len} bytes");
    let mut turn = || {
        match taken < TRIED && idle_here.send(to, taken, len) {
            true => taken += 1,
            false => refusals += 1,
        }
        sent += u32::from(sent < 1000 && busy_here.send(to, sent, len));
        idle_here.poll();
        busy_here.poll();
        busy_there.poll();
        busy_there.of(0).len() == 1000
    };
    until(&mut turn, &what);
    // And no more packets of the idle one are taken than there is space for, or than were tried.
    (0..2000).for_each(|_| _ = turn());
    assert!(is_run(busy_there.of(0), 1000) && idle_there.of(0).is_empty() && taken > 0 && refusals > 0, "{what}");
    assert!(taken < TRIED || idle == "mpi" || len <= 8 && to == NEAR, "{taken} packets are taken of {idle}, to {to}");
    let then = format!("{idle} polls at last, to {to}, {len} bytes");
    until(
        || {
            idle_there.poll();
            idle_here.poll();
            idle_there.of(0).len() as u32 == taken
        },
        &then,
    );
    let before = taken;
    until(
        || {
            taken += u32::from(taken < before + 1000 && idle_here.send(to, taken, len));
            idle_here.poll();
            idle_there.poll();
            idle_there.of(0).len() as u32 == before + 1000
        },
        &then,
    );
    assert!(is_run(idle_there.of(0), taken), "{then}");
    assert!(is_run(busy_there.of(0), 1000), "nothing of one comes to the other");
}

#[test]
fn a_user_that_does_not_poll_holds_up_no_other() {
    for to in [NEAR, FAR] {
        for (idle, busy) in [("pm", "madeleine"), ("pm", "mpi"), ("mpi", "pm")] {
            [8, 3000, 12_000].into_iter().for_each(|len| one_idles(to, idle, busy, len));
        }
    }
}

#[test]
fn what_is_sent_to_a_user_that_is_not_open_there_waits_for_it_and_for_nobody_else() {
    for to in [NEAR, FAR] {
        let job = Job::new();
        let mut pm = job.open(0, "pm");
        let mut mad = job.open(0, "madeleine");
        let mut mad_there = job.open(to, "madeleine");
        let (mut taken, mut sent) = (0, 0);
        let mut turn = |pm: &mut UserChannel| {
            taken += u32::from(taken < 400 && pm.send(to, taken, 2000));
            sent += u32::from(sent < 500 && mad.send(to, sent, 2000));
            pm.poll();
            mad.poll();
            mad_there.poll();
            mad_there.of(0).len() == 500
        };
        until(|| turn(&mut pm), "the user that is open there");
        (0..2000).for_each(|_| _ = turn(&mut pm));
        let mut pm_there = job.open(to, "pm");
        until(
            || {
                turn(&mut pm);
                pm_there.poll();
                pm_there.of(0).len() == 400
            },
            "the user that was opened late",
        );
        assert!(is_run(pm_there.of(0), 400) && is_run(mad_there.of(0), 500), "to {to}");
        // And the other direction, for which no open request has been sent yet.
        let mut back = 0;
        until(
            || {
                back += u32::from(back < 100 && pm_there.send(0, back, 8));
                pm_there.poll();
                pm.poll();
                pm.of(to).len() == 100
            },
            "the answers",
        );
        assert!(is_run(pm.of(to), 100) && mad.of(to).is_empty(), "to {to}");
    }
}

/// Two processes have stopped, and a user has filled its memory for frames to them.
#[test]
fn what_a_user_has_filled_leaves_another_its_share() {
    for (full, other) in [("mpi", "pm"), ("pm", "mpi"), ("pm", "madeleine")] {
        let job = Job::new();
        let mut ends: Vec<_> = (0..HOSTS.len() as u32).map(|at| (job.open(at, full), job.open(at, other))).collect();
        let stopped = [2, 3];
        let live = 4;
        // All are connected before two of them stop.
        for to in [2, 3, 4] {
            until(
                || {
                    ends[to as usize].0.send(0, 0, 8);
                    ends.iter_mut().for_each(|(one, other)| {
                        one.poll();
                        other.poll();
                    });
                    !ends[0].0.of(to).is_empty()
                },
                "connecting",
            );
            let mut said = false;
            until(
                || {
                    said = said || ends[0].0.send(to, 0, 8);
                    ends.iter_mut().for_each(|(one, _)| one.poll());
                    ends[to as usize].0.of(0).len() == 1
                },
                "asking",
            );
        }
        let (mut taken, mut refused) = ([1; 2], 0);
        while refused < 2000 {
            let before = taken;
            for (count, to) in taken.iter_mut().zip(stopped) {
                *count += u32::from(ends[0].0.send(to, *count, 1000));
            }
            refused = if taken == before { refused + 1 } else { 0 };
            ends[0].0.poll();
        }
        assert!(taken.iter().all(|&count| count > 20), "{taken:?}");
        let mut sent = 0;
        until(
            || {
                sent += u32::from(sent < 1000 && ends[0].1.send(live, sent, 1000));
                ends[0].1.poll();
                ends[live as usize].1.poll();
                ends[live as usize].1.of(0).len() == 1000
            },
            "the other user",
        );
        assert!(is_run(ends[live as usize].1.of(0), 1000), "{other} beside {full}");
        // The processes that had stopped continue.
        for (count, to) in taken.into_iter().zip(stopped) {
            until(
                || {
                    ends[0].0.poll();
                    ends[to as usize].0.poll();
                    ends[to as usize].0.of(0).len() as u32 == count
                },
                "those that had stopped",
            );
            assert!(is_run(ends[to as usize].0.of(0), count));
        }
    }
}

/// To oneself too.
#[test]
fn each_user_has_its_own_way_to_its_own_process() {
    let job = Job::new();
    let (mut pm, mut mpi) = (job.open(0, "pm"), job.open(0, "mpi"));
    assert!(pm.send(0, 0, 8) && mpi.send(0, 0, 9) && pm.send(0, 1, 10));
    pm.poll();
    assert_eq!((pm.of(0), mpi.of(0)), (&[0, 1][..], &[][..]));
    mpi.poll();
    assert_eq!(mpi.of(0), [0]);
}
