//! The conformance suite of all frame ports, each between two hosts: network namespaces with a cable (veth) between.
//!
//! The cases run one after the other in a `main` of their own, because they enter namespaces, and a user namespace
//! requires a single thread. Without the privilege for either the test prints that and tests nothing. A case that hangs
//! is a failure.

use hawser_dev_ether::port::{
    ConnectionKind, FanoutSocket, FramePort, FrameSendError, GREETING_BYTES, Greeting, NicQueues, PacketPort,
    PacketUdpPort, PortAddress, PortDrops, PortId, PortRange, RankCredentials, StreamPort, UdpPort, XdpPort,
    XdpUdpPort,
};
use hawser_dev_ether::rails::{self, InterfaceFilter, InterfaceStatus};
use hawser_link::frame::JobKey;
use hawser_os::bpf::LoadField;
use hawser_os::ebpf::{FrameMatch, redirect_matching};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::interfaces::Interface;
use hawser_os::limits::{self, Limit, Resource};
use hawser_os::packet::PacketSocket;
use hawser_os::veth_pair::{NetnsHost, VethPair};
use hawser_os::xdp::{XdpProgram, XskMap};
use hawser_os::xsk::{UmemConfig, XskSocket as Queue};
use resident::on_host;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{IoSlice, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

mod resident;

const JOB: u32 = 0x0bad_cafe;
const SECRET: [u8; 16] = *b"the job's secret";
/// The shortest frame of `link`: its header.
const SHORTEST: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Packet,
    /// A port whose sockets one process made for all.
    PacketGroup,
    PacketUdp4,
    PacketUdp6,
    PacketUdpLinkLocal,
    Xdp,
    XdpUdp4,
    XdpUdp6,
    XdpUdpLinkLocal,
    Udp4,
    Udp6,
    UdpLinkLocal,
    Stream4,
    Stream6,
}
use Kind::*;

impl Kind {
    /// Returns whether it uses a program on the NIC, of which there is one.
    fn is_xdp(self) -> bool {
        BY_QUEUES.contains(&self)
    }

    /// Returns the kind that is the same on the wire, by a packet socket.
    fn without_xdp(self) -> Kind {
        match self {
            Xdp => Packet,
            XdpUdp4 => PacketUdp4,
            XdpUdp6 => PacketUdp6,
            XdpUdpLinkLocal => PacketUdpLinkLocal,
            other => other,
        }
    }
}

const ALL: &[Kind] = &[
    Packet,
    PacketGroup,
    Xdp,
    PacketUdp4,
    PacketUdp6,
    PacketUdpLinkLocal,
    XdpUdp4,
    XdpUdp6,
    XdpUdpLinkLocal,
    Udp4,
    Udp6,
    UdpLinkLocal,
    Stream4,
    Stream6,
];
const OWN_HEADERS: &[Kind] = &[PacketUdp4, PacketUdp6, PacketUdpLinkLocal, XdpUdp4, XdpUdp6, XdpUdpLinkLocal];
const BY_QUEUES: &[Kind] = &[Xdp, XdpUdp4, XdpUdp6, XdpUdpLinkLocal];

type Port = Box<dyn FramePort>;
/// A promise, the kinds of ports that it is about, and the function that tries it.
type Case = (&'static str, &'static [Kind], fn(Kind));

fn main() {
    if let Err(error) = hawser_os::netns::become_root().and_then(|()| VethPair::new(1500).map(drop)) {
        return println!("ports: NOT TESTED, namespaces are refused here: {error}");
    }
    let no_xdp = without_xdp();
    if let Some(error) = &no_xdp {
        println!("ports: xdp NOT TESTED, it is refused here: {error}");
    }
    let suite: &[Case] = &[
        ("frames of every length pass both ways", ALL, every_length_passes),
        ("runs of frames pass whole", ALL, runs_pass),
        ("what is too long is refused", ALL, too_long_is_refused),
        ("an interface may get a shorter mtu", &[Packet, PacketUdp4, PacketUdp6, Udp4, Udp6], a_shorter_mtu),
        ("as much as is promised is kept, and more does not hurt", ALL, a_full_buffer),
        ("a sleeper wakes when a frame has come", ALL, a_sleeper_wakes),
        ("an interface goes down and up", &[Packet, PacketGroup, Xdp, PacketUdp4, XdpUdp4, Udp4, Stream4], down_and_up),
        ("what others send does no harm", ALL, rubbish),
        ("an address of another kind is refused", ALL, foreign_address),
        ("nobody there does no harm", ALL, nobody_there),
        (
            "a peer that comes again is reached again",
            &[PacketUdp4, XdpUdp4, Udp4, Stream4, Stream6],
            a_peer_comes_again,
        ),
        ("the kernel's own sockets take what we write", OWN_HEADERS, as_the_kernel),
        ("a port that nobody calls has no ring", &[PacketUdp4], no_ring_for_nobody),
        ("a neighbour with another ethernet address is found", &[PacketUdp4, PacketUdp6, XdpUdp4], another_neighbour),
        ("many selectors share a nic", &[Packet, PacketGroup], many_selectors),
        ("a frame whose connection is not yet open waits", &[Stream4], first_frames_wait),
        ("strangers are bounded", &[Stream4], strangers_are_bounded),
        ("a greeting opens one connection, whoever says it again", &[Stream4, Stream6], replays_are_refused),
        ("a later connection of a caller takes the place of the earlier one", &[Stream4], a_later_one_takes_its_place),
        ("a connection that is cut is called again, by a higher number", &[Stream4], a_cut_one_is_called_again),
        ("peers pass strangers who call without end", &[Stream4], peers_pass_strangers),
        ("callers wait where there are no descriptors", &[Stream4], without_descriptors),
        ("packet and xdp meet", BY_QUEUES, packet_meets_xdp),
        ("what the kernel's own udp sends comes by xdp", &[XdpUdp4, XdpUdp6, XdpUdpLinkLocal], kernel_meets_xdp),
        ("ports of xdp share a nic", &[Xdp], shared_queues),
        ("a nic has one port of xdp, and is free after it", &[Xdp], one_for_a_nic),
        ("frames of a queue without a socket come too", &[Xdp, XdpUdp4], further_queues),
        ("a driver may have no xdp", &[Xdp], no_xdp_in_driver),
        ("a driver runs a program of xdp", &[Xdp], xdp_by_driver),
        ("other traffic passes by xdp", &[Udp4, Stream4], others_pass),
        ("decoys are told from rails", &[Packet], decoys),
    ];
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, kinds, case) in suite {
        let is_wanted = |kind: &Kind| format!("{name} {kind:?}").contains(&filter);
        let wants_xdp = |kind: Kind| kind.is_xdp() || name.contains("xdp");
        for &kind in kinds.iter().filter(|kind| is_wanted(kind) && !(no_xdp.is_some() && wants_xdp(**kind))) {
            end_in_time(name);
            case(kind);
            println!("test {name}: {kind:?} ... ok");
        }
    }
}

/// Returns why no program may be attached here: in a user namespace, or without CAP_BPF.
fn without_xdp() -> Option<std::io::Error> {
    let cable = VethPair::new(1500).unwrap();
    let refused = cable.a.within(|| NicQueues::open(&cable.a.interface())).err()?;
    let is_privilege = refused.kind() == std::io::ErrorKind::PermissionDenied;
    if is_privilege { Some(refused) } else { panic!("{refused}") }
}

/// Ends the program if a case has not ended after this time, and none after it has begun.
fn end_in_time(case: &'static str) {
    static CASES: AtomicUsize = AtomicUsize::new(0);
    let mine = CASES.fetch_add(1, SeqCst) + 1;
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(100));
        if CASES.load(SeqCst) == mine {
            eprintln!("test {case} hangs");
            std::process::abort();
        }
    });
}

/// Opens a port of this kind on a host, as its `nth`.
fn open(kind: Kind, host: &NetnsHost, nth: u16) -> Port {
    host.within(|| {
        let interface = host.interface();
        match kind {
            Packet => Box::new(PacketPort::open(&interface, JOB, nth).unwrap()) as Port,
            PacketGroup => {
                let member = FanoutSocket::group(&interface, JOB, nth + 1).unwrap().pop().unwrap();
                Box::new(PacketPort::with_socket(member, &interface, JOB, nth).unwrap())
            }
            Xdp => Box::new(xdp(&interface, nth).unwrap()),
            over_ip => at_address(over_ip, host, PortRange::ANY, 0),
        }
    })
}

/// Opens a port of this kind at the host's address for it, as the `nth` of a range.
fn at_address(kind: Kind, host: &NetnsHost, range: PortRange, nth: usize) -> Port {
    let interface = host.interface();
    let is_wanted = |ip: &IpAddr| match (kind, ip) {
        (PacketUdpLinkLocal | XdpUdpLinkLocal | UdpLinkLocal, IpAddr::V6(ip)) => ip.is_unicast_link_local(),
        (PacketUdp6 | XdpUdp6 | Udp6 | Stream6, IpAddr::V6(ip)) => !ip.is_unicast_link_local(),
        (PacketUdp4 | XdpUdp4 | Udp4 | Stream4, IpAddr::V4(_)) => true,
        _ => false,
    };
    let local = interface.addresses.iter().find(|address| is_wanted(&address.ip)).unwrap();
    match kind {
        Udp4 | Udp6 | UdpLinkLocal => Box::new(UdpPort::open(&interface, local, range, nth).unwrap()),
        Stream4 | Stream6 => {
            let mut port = StreamPort::open(&interface, local, range, nth, credentials(host)).unwrap();
            port.set_peer(PortId { rank: 1 - rank(host), index: 0 });
            on_host(host, port)
        }
        PacketUdp4 | PacketUdp6 | PacketUdpLinkLocal => {
            on_host(host, PacketUdpPort::open(&interface, local, range, nth).unwrap())
        }
        XdpUdp4 | XdpUdp6 | XdpUdpLinkLocal => {
            let queues = NicQueues::open(&interface).unwrap();
            on_host(host, XdpUdpPort::open(&queues, &interface, local, range, nth).unwrap())
        }
        Packet | PacketGroup | Xdp => unreachable!("a port of raw Ethernet"),
    }
}

/// Returns which of the two ranks lives on a host of the cable.
fn rank(host: &NetnsHost) -> u32 {
    u32::from(host.interface().addresses.iter().all(|address| address.ip.to_string() != "10.77.0.1"))
}

fn credentials(host: &NetnsHost) -> RankCredentials {
    RankCredentials { key: JobKey::new(SECRET), me: rank(host), ranks: 2 }
}

/// Returns the greeting of the port of rank 0 at `index` to the port of rank 1.
fn greeting(index: u8, number: u32) -> [u8; GREETING_BYTES] {
    let from = PortId { rank: 0, index };
    Greeting { kind: ConnectionKind::Frames, from, number }.encode(PortId { rank: 1, index: 0 }, &JobKey::new(SECRET))
}

/// Opens a port of raw Ethernet that owns the NIC's queues.
fn xdp(interface: &Interface, selector: u16) -> std::io::Result<XdpPort> {
    XdpPort::open(&NicQueues::open(interface)?, interface, JOB, selector)
}

struct Pair {
    cable: VethPair,
    a: Port,
    b: Port,
}

fn pair(kind: Kind, mtu: usize) -> Pair {
    thread_local!(static CABLES: RefCell<HashMap<usize, VethPair>> = RefCell::default());
    let shared = CABLES.with_borrow_mut(|all| all.entry(mtu).or_insert_with(|| VethPair::new(mtu).unwrap()).clone());
    pair_over(shared, kind)
}

/// Makes a pair with a cable of its own, for a case that changes the cable.
fn pair_apart(kind: Kind) -> Pair {
    pair_over(VethPair::new(1500).unwrap(), kind)
}

fn pair_over(cable: VethPair, kind: Kind) -> Pair {
    let (a, b) = (open(kind, &cable.a, 0), open(kind, &cable.b, 0));
    Pair { cable, a, b }
}

/// Returns a frame of `len` bytes that differs from every other one: by its length, its number and in each byte.
fn frame(len: usize, number: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|i| (i * 7 + len + number as usize * 13) as u8).collect();
    bytes[..4].copy_from_slice(&(len as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Returns whether `bytes` is `frame(len, number)` for some values.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= SHORTEST && {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        word(0) as usize == bytes.len() && frame(bytes.len(), word(4)) == bytes
    }
}

/// Sends a frame, repeatedly while there is no space; `to` receives meanwhile.
fn insist(from: &mut Port, to: &mut Port, bytes: &[u8], got: &mut Vec<Vec<u8>>) {
    let address = to.address();
    loop {
        match from.send(&address, bytes) {
            Ok(()) => return,
            Err(FrameSendError::Full) => drop(receive(from, to, got)),
            Err(refused) => panic!("{} to {address}: {refused:?}", from.name()),
        }
    }
}

/// Polls once; the sender sends the bytes that it held back.
fn receive(from: &mut Port, to: &mut Port, got: &mut Vec<Vec<u8>>) -> usize {
    from.receive(&mut |_| panic!("a frame came to its sender"));
    to.receive(&mut |bytes| got.push(bytes.to_vec()))
}

/// Sends frames one by one, each when the one before has arrived, and checks that they arrive complete.
fn pass(from: &mut Port, to: &mut Port, lengths: impl Iterator<Item = usize>) {
    for (number, len) in lengths.enumerate() {
        let mut got = Vec::new();
        let sent = frame(len, number as u32);
        insist(from, to, &sent, &mut got);
        while got.is_empty() {
            receive(from, to, &mut got);
        }
        assert!(
            got.len() == 1 && got[0] == sent,
            "{}: {len} bytes came as {} x {}",
            from.name(),
            got.len(),
            got[0].len()
        );
    }
}

/// Checks that both directions work, whatever happened before.
fn works(pair: &mut Pair) {
    pass(&mut pair.a, &mut pair.b, [SHORTEST, 500].into_iter());
    pass(&mut pair.b, &mut pair.a, [SHORTEST, 500].into_iter());
}

fn every_length_passes(kind: Kind) {
    for mtu in [1500, 9000, 1280] {
        let mut pair = pair(kind, mtu);
        let longest = pair.a.frame_max();
        assert!(matches!(kind, Stream4 | Stream6) || (mtu - 48..mtu).contains(&longest), "{longest} of {mtu}");
        // Only some of TCP's long frames are tried.
        let lengths = || (SHORTEST..=longest).filter(|&len| len <= 9000 || len % 211 == 0 || len + 3 > longest);
        pass(&mut pair.a, &mut pair.b, lengths());
        pass(&mut pair.b, &mut pair.a, lengths());
    }
}

/// P31
fn runs_pass(kind: Kind) {
    let mut pair = pair(kind, 1500);
    let longest = pair.a.frame_max().min(4000);
    let runs = [(longest, 50, longest), (longest, 7, SHORTEST), (SHORTEST, 120, SHORTEST), (999, 1, 40)];
    for (flow, (size, count, last)) in (0..).zip(runs) {
        let mut run: Vec<u8> = (0..count - 1).flat_map(|number| frame(size, number)).collect();
        run.extend(frame(last, count));
        let frames: Vec<IoSlice> = run.chunks(size).map(IoSlice::new).collect();
        let (mut done, mut got) = (0, Vec::new());
        while done < count as usize {
            let (a, to) = (&mut pair.a, pair.b.address());
            match pair.cable.a.within(|| a.send_by_flow(flow, &to, &frames[done..])) {
                Ok(sent) => done += sent,
                Err(refused) => assert_eq!(refused, FrameSendError::Full),
            }
            receive(&mut pair.a, &mut pair.b, &mut got);
        }
        while got.len() < count as usize {
            receive(&mut pair.a, &mut pair.b, &mut got);
        }
        got.sort_by_key(|bytes| u32::from_le_bytes(bytes[4..8].try_into().unwrap()));
        assert_eq!(got.concat(), run, "{count} frames of {size} bytes");
    }
    // P39: either all requested sockets are there, or the port has none of them.
    let flows = if matches!(kind, Udp4 | Udp6 | UdpLinkLocal) { runs.len() } else { 1 };
    assert_eq!(pair.a.flow_count(), flows);
}

fn too_long_is_refused(kind: Kind) {
    let mut pair = pair(kind, 1500);
    let (to, len) = (pair.b.address(), pair.a.frame_max() + 1);
    assert_eq!(pair.a.send(&to, &frame(len, 0)), Err(FrameSendError::TooLong));
    assert_eq!(pair.a.send_run(&to, &[IoSlice::new(&vec![0; len]); 3]), Err(FrameSendError::TooLong));
    works(&mut pair);
}

fn a_shorter_mtu(kind: Kind) {
    let mut pair = pair_apart(kind);
    pair.cable.a.ip("link set e0 mtu 1300").unwrap();
    let (to, len) = (pair.b.address(), pair.a.frame_max());
    assert_eq!(pair.a.send(&to, &frame(len, 0)), Err(FrameSendError::TooLong));
    assert_eq!(pair.a.send_run(&to, &[IoSlice::new(&vec![0; len]); 3]), Err(FrameSendError::TooLong));
    works(&mut pair);
}

fn a_full_buffer(kind: Kind) {
    let mut pair = pair(kind, 1500);
    let (to, len) = (pair.b.address(), pair.a.frame_max());
    let (mut sent, mut got) = (0, Vec::new());
    // Establish a connection first: the promise is for one.
    works(&mut pair);
    while sent * len < 4 * pair.b.receive_buffer_bytes() {
        match pair.a.send(&to, &frame(len, sent as u32)) {
            Ok(()) => sent += 1,
            Err(refused) => {
                assert_eq!(refused, FrameSendError::Full);
                break;
            }
        }
    }
    let loses_nothing = matches!(kind, Stream4 | Stream6);
    let promised = if loses_nothing { sent } else { pair.b.receive_buffer_bytes() / len };
    while got.len() < promised || receive(&mut pair.a, &mut pair.b, &mut got) > 0 {
        receive(&mut pair.a, &mut pair.b, &mut got);
    }
    assert!(got.len() <= sent && got.iter().all(|bytes| is_whole(bytes)), "{} of {sent}", got.len());
    let (lost, PortDrops { frames, .. }) = (sent - got.len(), pair.b.drops());
    println!("     {kind:?}: {promised} promised, {} of {sent} kept, {frames} counted as dropped", got.len());
    assert_eq!((frames > 0, frames <= lost as u64), (lost > 0, true), "{lost} lost");
    works(&mut pair);
}

/// Returns whether the port's descriptor becomes readable within `wait_ms`.
fn is_readable_within(port: &Port, wait_ms: u64) -> bool {
    let mut epoll = Epoll::new().unwrap();
    let mut events = Vec::new();
    port.descriptors(&mut |fd| epoll.add(fd, 1, Interest::Read).unwrap());
    epoll.wait(&mut events, Some(wait_ms)).unwrap();
    !events.is_empty()
}

/// Empties the port and its errors, as a rank does before it sleeps, until nothing is reported.
fn drain(port: &mut Port) {
    while is_readable_within(port, 0) {
        if port.receive(&mut |_| {}) == 0 {
            port.take_error();
        }
    }
}

fn a_sleeper_wakes(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    drain(&mut pair.a);
    drain(&mut pair.b);
    for number in 0..300 {
        assert!(!is_readable_within(&pair.b, 0));
        pair.a.send(&pair.b.address(), &frame(100, number)).unwrap();
        let mut got = Vec::new();
        while got.is_empty() {
            assert!(is_readable_within(&pair.b, 10_000), "nobody woke for frame {number}");
            pair.b.receive(&mut |bytes| got.push(bytes.to_vec()));
        }
        assert_eq!(got, [frame(100, number)]);
    }
}

fn down_and_up(kind: Kind) {
    let mut pair = pair_apart(kind);
    works(&mut pair);
    pair.cable.a.ip("link set e0 down").unwrap();
    let to = pair.b.address();
    let down = (0..3).map(|number| pair.a.send(&to, &frame(64, number)));
    let down: Vec<_> = down.collect();
    // TCP keeps it for later, and a queue keeps the first one; an unreachable network is reported.
    let expected =
        |result: &Result<(), FrameSendError>| matches!(result, Err(FrameSendError::Unreachable(number)) if *number > 0);
    assert!(kind == Stream4 || down[usize::from(kind.is_xdp())..].iter().all(expected), "{down:?}");
    drain(&mut pair.a);
    pair.cable.a.ip("link set e0 up").unwrap();
    // It takes the kernel a moment to see the carrier; frames may be lost meanwhile, and old ones arrive.
    for (from, to) in [(0, 1), (1, 0)] {
        let ports = [&mut pair.a, &mut pair.b];
        let address = ports[to].address();
        let mut back = false;
        for number in 0.. {
            let _ = ports[from].send(&address, &frame(64, number));
            ports[from].receive(&mut |_| {});
            ports[to].receive(&mut |bytes| back |= is_whole(bytes));
            if back {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    while pair.a.receive(&mut |_| {}) + pair.b.receive(&mut |_| {}) > 0
        || is_readable_within(&pair.a, 5)
        || is_readable_within(&pair.b, 5)
    {}
    works(&mut pair);
}

/// P30, P32
fn rubbish(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    let mut delivered = Vec::new();
    match pair.b.address() {
        PortAddress::Ether { mac, selector } => {
            let stranger = pair.cable.a.within(|| {
                let socket = PacketSocket::unbound().unwrap();
                socket.bind(pair.cable.a.interface().index, 0).unwrap();
                socket
            });
            let good = |ether_type: u16, job: u32, selector: u16, mac: [u8; 6]| {
                let head = [
                    &mac[..],
                    &[2, 0, 0, 0, 0, 7],
                    &ether_type.to_be_bytes(),
                    &job.to_be_bytes(),
                    &selector.to_be_bytes(),
                ];
                head.concat()
            };
            for head in [
                good(0x0800, JOB, selector, mac),
                good(0x88b6, JOB, selector, mac),
                good(0x88b5, JOB, selector + 1, mac),
                good(0x88b5, JOB, u16::MAX, mac),
                good(0x88b5, JOB + 1, selector, mac),
                good(0x88b5, JOB, selector, [0xff; 6]),
                good(0x88b5, JOB, selector, [2, 1, 1, 1, 1, 1]),
                good(0x88b5, JOB, selector, mac)[..19].to_vec(),
                good(0x88b5, JOB, selector, mac)[..14].to_vec(),
            ] {
                let mut whole = head.clone();
                if head.len() == 20 {
                    whole.extend(frame(100, 0));
                }
                stranger.send(&whole).unwrap();
            }
            // A forged frame with the right addresses arrives, and its padding too: link detects it by its tag.
            let forged = [good(0x88b5, JOB, selector, mac), b"forged".to_vec()].concat();
            stranger.send(&forged).unwrap();
            while delivered.is_empty() {
                pair.b.receive(&mut |bytes| delivered.push(bytes.to_vec()));
            }
            assert_eq!(delivered, [b"forged"]);
        }
        PortAddress::PacketUdp(to) => packet_udp_rubbish(&mut pair, to),
        PortAddress::Udp(to) => {
            let to = with_scope_of(to, &pair.cable.a);
            let local = match kind {
                Udp4 => "0.0.0.0:0",
                _ => "[::]:0",
            };
            let stranger = pair.cable.a.within(|| UdpSocket::bind(local).unwrap());
            let all = [0, 1, 31, 1400, 30_000].map(|len| vec![0xa5; len]);
            for bytes in &all {
                stranger.send_to(bytes, to).unwrap();
            }
            while delivered.len() < 4 {
                pair.b.receive(&mut |bytes| delivered.push(bytes.to_vec()));
            }
            assert_eq!(delivered, all[1..]);
        }
        PortAddress::Tcp(to) => {
            let call = || pair.cable.a.within(|| TcpStream::connect(to).unwrap());
            let whole = |bytes: &[u8]| [&length_prefix(bytes.len() as u16)[..], bytes].concat();
            // As another port of the peer's rank would.
            let mut number = 0;
            let mut greeted = |rest: &[u8]| {
                number += 1;
                [&greeting(7, number)[..], rest].concat()
            };
            let hung_up = |mut stranger: TcpStream, port: &mut Port| {
                stranger.set_nonblocking(true).unwrap();
                let mut got = Vec::new();
                while matches!(stranger.read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
                {
                    port.receive(&mut |bytes| got.push(bytes.to_vec()));
                }
                got
            };
            for (words, comes) in [
                (b"GET / HTTP/1.1\r\nHost: you\r\n\r\n".to_vec(), 0),
                (greeted(&[0, 0, 0xff, 0xff, 3]), 0),
                (greeted(&length_prefix(u16::MAX - 1)), 0),
                (greeted(&[0xff; 60]), 0),
                ([&greeting(7, 1)[..], &whole(b"what was taken before")].concat(), 0),
                (greeted(&[whole(b"a"), whole(b"frame"), vec![0xff; 70_000]].concat()), 2),
            ] {
                let mut stranger = call();
                let _ = stranger.write_all(&words);
                assert_eq!(hung_up(stranger, &mut pair.b).len(), comes);
            }
            assert_eq!(pair.b.drops(), PortDrops { connections: 2, corrupted: 4, ..PortDrops::default() });
            // One caller with a right greeting that stops within a frame, one that sends half a greeting: they are
            // kept, and leave again.
            let stay: Vec<TcpStream> = [greeted(&[9, 0, 0xf6, 0xff, 1]), greeting(7, 99)[..9].to_vec()]
                .map(|words| {
                    let mut stranger = call();
                    stranger.write_all(&words).unwrap();
                    stranger
                })
                .into();
            works(&mut pair);
            drop(stay);
            drain(&mut pair.b);
        }
    }
    works(&mut pair);
}

/// P38: frames for others are not handed over, fragments of a datagram neither, and frames for the port arrive, whoever
/// sent them.
fn packet_udp_rubbish(pair: &mut Pair, to: SocketAddr) {
    let stranger = pair.cable.a.within(|| {
        let socket = PacketSocket::unbound().unwrap();
        socket.bind(pair.cable.a.interface().index, 0).unwrap();
        socket
    });
    let mac = pair.cable.b.interface().mac.unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = [&mac[..], &[2, 0, 0, 0, 0, 7]].concat();
        let (ip, from) = match to.ip() {
            IpAddr::V4(ip) => (ip.octets().to_vec(), vec![10, 77, 0, 1]),
            IpAddr::V6(ip) => (ip.octets().to_vec(), vec![0xfd; 16]),
        };
        match to.is_ipv4() {
            true => bytes.extend([8, 0, 0x45, 0, 0, 34, 0, 0, 0x40, 0, 9, 17, 0, 0]),
            false => bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 14, 17, 9]),
        }
        bytes.extend([from, ip, 7_u16.to_be_bytes().into(), to.port().to_be_bytes().into()].concat());
        bytes.extend([0, 14, 0, 0]);
        bytes.extend(b"forged");
        bytes[at] = byte;
        bytes
    };
    let head = changed(0, mac[0]).len() - 6;
    // Changed fields: destination MAC address, EtherType, protocol, address and port.
    let mut wrong = vec![(5, !mac[5]), (0, 0xff), (13, 6), (head - 9, 0xee), (head - 5, !to.port().to_be_bytes()[1])];
    if to.is_ipv4() {
        // Changed fields: TCP; a header with options; the first of several fragments, and the last one.
        wrong.extend([(23, 6), (14, 0x46), (20, 0x20), (21, 1)]);
    } else {
        // Changed fields: TCP; a fragment header.
        wrong.extend([(20, 6), (20, 44)]);
    }
    wrong.into_iter().for_each(|(at, byte)| stranger.send(&changed(at, byte)).unwrap());
    for cut in [13, 20, head - 4, head] {
        stranger.send(&changed(0, mac[0])[..cut.max(14)]).unwrap();
    }
    stranger.send(&changed(0, mac[0])).unwrap();
    let mut delivered = Vec::new();
    while delivered.last().is_none_or(|last: &Vec<u8>| last != b"forged") {
        pair.b.receive(&mut |bytes| delivered.push(bytes.to_vec()));
    }
    // The headers without a frame are for us too.
    delivered.retain(|bytes| !bytes.is_empty());
    assert_eq!(delivered, [b"forged"]);
}

/// Returns how many datagrams a host's own UDP has sent, how many arrived that it refused, and how many it handed over.
fn kernel_udp_counts(host: &NetnsHost) -> [u64; 3] {
    let count = |file: &str, name: &str| -> u64 {
        let text = host.within(|| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let of = |name: &str| lines.iter().find(|words| words[0] == name).map(|words| words[1].parse().unwrap());
        if let Some(count) = of(name) {
            return count;
        }
        let mut udp = lines.iter().filter(|words| words[0] == "Udp:");
        let (names, values) = (udp.next().unwrap(), udp.next().unwrap());
        values[names.iter().position(|&word| word == name).unwrap()].parse().unwrap()
    };
    let sum = |v4: &str, v6: &str| count("snmp", v4) + count("snmp6", v6);
    [sum("OutDatagrams", "Udp6OutDatagrams"), sum("InErrors", "Udp6InErrors"), sum("InDatagrams", "Udp6InDatagrams")]
}

/// P38: lengths, addresses and checksums are as the kernel's UDP requires, which itself has sent almost none of the
/// frames.
fn as_the_kernel(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    let PortAddress::PacketUdp(there) = pair.b.address() else { panic!("an address of IP") };
    let there = with_scope_of(there, &pair.cable.b);
    let kernel_socket = pair.cable.b.within(|| {
        UdpSocket::bind(SocketAddr::new(there.ip(), 0)).or_else(|_| {
            let SocketAddr::V6(v6) = there else { panic!("an address of one link") };
            UdpSocket::bind(std::net::SocketAddrV6::new(*v6.ip(), 0, 0, v6.scope_id()))
        })
    });
    let ears = kernel_socket.unwrap();
    ears.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut to = there;
    to.set_port(ears.local_addr().unwrap().port());
    let to = PortAddress::PacketUdp(to);
    let [sent_before, refused_before] = [kernel_udp_counts(&pair.cable.a)[0], kernel_udp_counts(&pair.cable.b)[1]];
    let longest = pair.a.frame_max();
    let mut buffer = [0; 2000];
    for len in 8..=longest {
        pair.a.send(&to, &frame(len, 1)).unwrap();
        let (got, from) = ears.recv_from(&mut buffer).unwrap();
        assert!(buffer[..got] == frame(len, 1) && Some(from.ip()) == pair.a.address().ip(), "{len} from {from}");
    }
    let run: Vec<Vec<u8>> = (0..9).map(|number| frame(700 - number / 8, number as u32)).collect();
    let run: Vec<IoSlice> = run.iter().map(|bytes| IoSlice::new(bytes)).collect();
    assert_eq!(pair.a.send_run(&to, &run), Ok(9));
    for bytes in &run {
        let got = ears.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..got], **bytes);
    }
    let by_kernel = kernel_udp_counts(&pair.cable.a)[0] - sent_before;
    assert!(by_kernel < longest as u64 / 4, "{by_kernel} of {longest} went by the kernel's UDP");
    assert_eq!(kernel_udp_counts(&pair.cable.b)[1], refused_before);
}

/// Returns the number of a host's packet sockets that serve a protocol: those of rings.
fn rings(host: &NetnsHost) -> usize {
    let text = host.within(|| std::fs::read_to_string("/proc/thread-self/net/packet").unwrap());
    text.lines().skip(1).filter(|line| line.split_whitespace().nth(3) != Some("0000")).count()
}

fn no_ring_for_nobody(kind: Kind) {
    let mut pair = pair_apart(kind);
    let (a, b) = (pair.cable.a.clone(), pair.cable.b.clone());
    for _ in 0..3 {
        let _ = pair.a.send(&PortAddress::PacketUdp("10.77.0.2:9".parse().unwrap()), &frame(64, 0));
        pair.a.receive(&mut |_| {});
    }
    assert_eq!((rings(&a), rings(&b)), (0, 0));
    pass(&mut pair.a, &mut pair.b, [SHORTEST].into_iter());
    assert_eq!((rings(&a), rings(&b)), (0, 1));
    pass(&mut pair.b, &mut pair.a, [SHORTEST].into_iter());
    assert_eq!((rings(&a), rings(&b)), (1, 1));
}

/// P38
fn another_neighbour(kind: Kind) {
    let mut pair = pair_apart(kind);
    works(&mut pair);
    for number in 1..3 {
        pair.cable.b.ip(&format!("link set e0 address 02:00:00:00:77:0{number}")).unwrap();
        // A host that replaces a gateway announces it; here it does so by resolving an address.
        let ip = if kind != PacketUdp6 { "10.77.0.1:9" } else { "[fd77::1]:9" };
        let stranger = pair.cable.b.within(|| UdpSocket::bind(if kind != PacketUdp6 { "0.0.0.0:0" } else { "[::]:0" }));
        stranger.unwrap().send_to(b"here", ip).unwrap();
        let to = pair.b.address();
        let mut back = false;
        while !back {
            pair.a.send(&to, &frame(64, number)).unwrap();
            pair.b.receive(&mut |bytes| back |= is_whole(bytes));
            std::thread::sleep(Duration::from_millis(1));
        }
        while pair.b.receive(&mut |_| {}) > 0 || is_readable_within(&pair.b, 5) {}
    }
}

/// Returns the address as host `from` has to write it.
fn with_scope_of(to: SocketAddr, from: &NetnsHost) -> SocketAddr {
    let SocketAddr::V6(mut v6) = to else { return to };
    if v6.ip().is_unicast_link_local() {
        v6.set_scope_id(from.interface().index);
    }
    v6.into()
}

fn foreign_address(kind: Kind) {
    let mut pair = pair(kind, 1500);
    let foreign = match pair.a.address() {
        PortAddress::Ether { .. } => PortAddress::Udp("10.77.0.2:9".parse().unwrap()),
        PortAddress::Udp(address) => PortAddress::Tcp(address),
        PortAddress::PacketUdp(address) => PortAddress::Udp(address),
        PortAddress::Tcp(_) => PortAddress::Ether { mac: [2; 6], selector: 0 },
    };
    assert!(matches!(pair.a.send(&foreign, &frame(64, 0)), Err(FrameSendError::Unreachable(_))));
    assert!(matches!(pair.a.send_run(&foreign, &[IoSlice::new(&frame(64, 0))]), Err(FrameSendError::Unreachable(_))));
    works(&mut pair);
}

/// Returns an address of the same family that no host has (RFC 5737, RFC 3849).
fn unknown(address: SocketAddr) -> SocketAddr {
    if address.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::9]:9" }.parse().unwrap()
}

fn nobody_there(kind: Kind) {
    let mut pair = pair(kind, 1500);
    // A NIC has one port of xdp.
    let gone = open(kind.without_xdp(), &pair.cable.b, 1).address();
    for number in 0..20 {
        // There is no answer, or an ICMP error, or a reset: the port may report it, and lives.
        let result = pair.a.send(&gone, &frame(64, number));
        assert!(!matches!(result, Err(FrameSendError::TooLong)), "{result:?}");
        works(&mut pair);
        drain(&mut pair.a);
    }
    let unknown = match gone {
        PortAddress::Ether { selector, .. } => PortAddress::Ether { mac: [2, 9, 9, 9, 9, 9], selector },
        PortAddress::Udp(address) => PortAddress::Udp(unknown(address)),
        PortAddress::PacketUdp(address) => PortAddress::PacketUdp(unknown(address)),
        PortAddress::Tcp(address) => PortAddress::Tcp(unknown(address)),
    };
    let result = pair.a.send(&unknown, &frame(64, 0));
    // A socket that is bound to its interface takes every address for a neighbour's, or has no route.
    assert!(matches!(result, Ok(()) | Err(FrameSendError::Unreachable(_))), "{result:?}");
    works(&mut pair);
}

fn a_peer_comes_again(kind: Kind) {
    let Pair { cable, mut a, b } = pair(kind, 1500);
    let (PortAddress::Udp(address) | PortAddress::Tcp(address) | PortAddress::PacketUdp(address)) = b.address() else {
        panic!("an address of IP")
    };
    let there = b.address();
    let mut pair = Pair { cable, a, b };
    for incarnation in 1..6 {
        works(&mut pair);
        drop(std::mem::replace(&mut pair.b, open(kind.without_xdp(), &pair.cable.a, 9)));
        for number in 0..3 {
            let _ = pair.a.send(&there, &frame(64, number));
            drain(&mut pair.a);
        }
        pair.b = reopen(kind, &pair.cable.b, address.port(), incarnation);
        // No rank rejoins a job: here its port does, at another index of its business card.
        pair.a.set_peer(PortId { rank: 1, index: incarnation });
        assert_eq!(pair.b.address(), there);
        a = pair.a;
        let mut back = false;
        while !back {
            // The first send may still report how the last connection ended.
            let _ = a.send(&there, &frame(64, 0));
            a.receive(&mut |_| {});
            pair.b.receive(&mut |bytes| back |= is_whole(bytes));
        }
        pair.a = a;
        while pair.b.receive(&mut |_| {}) > 0 || is_readable_within(&pair.b, 5) {}
    }
}

/// Opens a port of this kind at this very port number, and at `index` of its rank's business card.
fn reopen(kind: Kind, host: &NetnsHost, port: u16, index: u8) -> Port {
    let mut reopened = host.within(|| at_address(kind, host, PortRange::between(port, port).unwrap(), 3));
    if let Some(stream) = reopened.as_stream() {
        stream.set_port_index(index);
    }
    reopened
}

fn many_selectors(kind: Kind) {
    const RANKS: u16 = 9;
    let cable = VethPair::new(1500).unwrap();
    let mut a = open(Packet, &cable.a, 0);
    let mut all: Vec<Port> = cable.b.within(|| {
        let interface = cable.b.interface();
        let alone = |selector| Box::new(PacketPort::open(&interface, JOB, selector).unwrap()) as Port;
        if kind == Packet {
            return (0..RANKS).map(alone).collect();
        }
        let members = FanoutSocket::group(&interface, JOB, RANKS).unwrap();
        // Another job has a group of its own on the same NIC.
        let others = FanoutSocket::group(&interface, JOB + 1, RANKS).unwrap();
        let over =
            |(member, selector)| Box::new(PacketPort::with_socket(member, &interface, JOB, selector).unwrap()) as Port;
        let ports = members.into_iter().zip(0..).map(over).collect();
        drop(others);
        ports
    });
    for round in 0..3 {
        for (at, port) in all.iter().enumerate() {
            a.send(&port.address(), &frame(100 + at, round)).unwrap();
        }
        for (at, port) in all.iter_mut().enumerate() {
            let mut got = Vec::new();
            port.receive(&mut |bytes| got.push(bytes.to_vec()));
            assert_eq!(got, [frame(100 + at, round)], "selector {at}");
        }
        // After down and up the indices in the group are the same.
        cable.b.ip("link set e0 down").unwrap();
        cable.b.ip("link set e0 up").unwrap();
        while a.send(&all[0].address(), &frame(40, 0)).is_err() || all[0].receive(&mut |_| {}) == 0 {}
        for port in &mut all {
            drain(port);
        }
    }
}

fn packet_meets_xdp(kind: Kind) {
    // Frames of one short chunk, of one long one, of several.
    for mtu in [1500, 3800, 9000] {
        let cable = VethPair::new(mtu).unwrap();
        let (a, b) = (open(kind.without_xdp(), &cable.a, 0), open(kind, &cable.b, 0));
        let mut pair = Pair { cable, a, b };
        assert_eq!(pair.a.frame_max(), pair.b.frame_max());
        let longest = pair.a.frame_max();
        let lengths: Vec<_> = (SHORTEST..=longest).step_by(37).chain([longest]).collect();
        pass(&mut pair.a, &mut pair.b, lengths.iter().copied());
        pass(&mut pair.b, &mut pair.a, lengths.into_iter());
        // The frames came by the queues alone: a UDP frame by the packet port would have made a ring.
        assert_eq!(rings(&pair.cable.b), usize::from(kind == Xdp));
    }
}

/// P38: datagrams with a checksum that only a NIC would have finished, and without any, arrive.
fn kernel_meets_xdp(kind: Kind) {
    let mut pair = pair(kind, 1500);
    let PortAddress::PacketUdp(to) = pair.b.address() else { panic!("an address of IP") };
    let to = with_scope_of(to, &pair.cable.a);
    let stranger = pair.cable.a.within(|| UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap());
    let before = kernel_udp_counts(&pair.cable.b)[2];
    for len in SHORTEST..=pair.b.frame_max() {
        let sent = frame(len, 5);
        stranger.send_to(&sent, to).unwrap();
        let mut got = Vec::new();
        while got.is_empty() {
            pair.b.receive(&mut |bytes| got.push(bytes.to_vec()));
        }
        assert_eq!(got, [sent]);
    }
    assert_eq!(
        (kernel_udp_counts(&pair.cable.b)[2], rings(&pair.cable.b)),
        (before, 0),
        "some came by the kernel's UDP"
    );
    works(&mut pair);
}

/// Returns the kind: raw Ethernet, or the family of its address.
fn kind_of(port: &Port) -> Option<bool> {
    port.address().ip().map(|ip| ip.is_ipv4())
}

/// A frame for one port stays there while the others are polled, in whatever order; a port that closes takes nothing
/// from the others.
fn shared_queues(_: Kind) {
    let cable = VethPair::new(1500).unwrap();
    let all = |host: &NetnsHost| -> Vec<Port> {
        host.within(|| {
            let (interface, any) = (host.interface(), PortRange::ANY);
            let queues = NicQueues::open(&interface).unwrap();
            let udp = |local| on_host(host, XdpUdpPort::open(&queues, &interface, local, any, 0).unwrap());
            let raw = Box::new(XdpPort::open(&queues, &interface, JOB, 0).unwrap()) as Port;
            assert!(XdpPort::open(&queues, &interface, JOB, 1).is_err(), "a second one of raw Ethernet");
            let global = interface.addresses.iter().filter(|address| address.scope == 0);
            let ports: Vec<Port> = std::iter::once(raw).chain(global.map(udp)).collect();
            assert_eq!(ports.len(), 3);
            ports
        })
    };
    let (mut near, mut far) = (all(&cable.a), all(&cable.b));
    let mut descriptors = Vec::new();
    near.iter().for_each(|port| port.descriptors(&mut |fd| descriptors.push(fd.as_raw_fd())));
    // One of each port's own, and those of the two queues.
    let count = descriptors.len();
    descriptors.sort_unstable();
    descriptors.dedup();
    assert_eq!((count, descriptors.len()), (5, 5));
    let meet = |near: &mut Vec<Port>, far: &mut Vec<Port>, count: u32| {
        let pairs = |far: &Vec<Port>, near: &Vec<Port>| -> Vec<(usize, PortAddress)> {
            let place = |port: &Port| near.iter().position(|other| kind_of(other) == kind_of(port)).unwrap();
            far.iter().map(|port| (place(port), port.address())).collect()
        };
        let pairs = pairs(far, near);
        let mut got = vec![Vec::new(); far.len()];
        for number in 0..count {
            for (at, (from, to)) in pairs.iter().enumerate() {
                while near[*from].send(to, &frame(100 + at, number)).is_err() {
                    near.iter_mut().for_each(|port| _ = port.receive(&mut |_| {}));
                }
            }
        }
        while got.iter().any(|got| got.len() < count as usize) {
            for at in (0..far.len()).rev() {
                far[at].receive(&mut |bytes| got[at].push(bytes.to_vec()));
            }
        }
        for (at, got) in got.iter().enumerate() {
            assert!((0..count).eq(got.iter().map(|bytes| u32::from_le_bytes(bytes[4..8].try_into().unwrap()))));
            assert!(got.iter().all(|bytes| is_whole(bytes) && bytes.len() == 100 + at));
        }
    };
    for _ in 0..5 {
        meet(&mut near, &mut far, 30);
        meet(&mut far, &mut near, 30);
    }
    // Frames that lie there for a port that closes are dropped, and do not block the others; so are frames that are
    // sent to it later.
    for gone in [1, 0] {
        let port = far.remove(gone);
        let from = near.iter().position(|near| kind_of(near) == kind_of(&port)).unwrap();
        let to = port.address();
        (0..3).for_each(|number| near[from].send(&to, &frame(64, number)).unwrap());
        drop(port);
        (0..3).for_each(|number| _ = near[from].send(&to, &frame(64, number)));
        meet(&mut near, &mut far, 30);
    }
}

fn one_for_a_nic(_: Kind) {
    let mut pair = pair(Xdp, 1500);
    let host = pair.cable.b.clone();
    let interface = host.interface();
    let again = |selector| host.within(|| xdp(&interface, selector));
    let id = host.within(|| NicQueues::attached_program(&interface)).unwrap().expect("a program is attached");
    let refused = again(1).err().unwrap();
    assert!(refused.to_string().contains(&format!("the NIC has another XDP program (id {id};")), "{refused}");
    works(&mut pair);
    // The kernel takes its time to free a queue.
    for _ in 0..30 {
        drop(pair.b);
        assert_eq!(host.within(|| NicQueues::attached_program(&interface)).unwrap(), None);
        pair.b = Box::new(again(0).unwrap());
    }
    works(&mut pair);
}

fn further_queues(kind: Kind) {
    const QUEUES: u32 = 10;
    let cable = VethPair::with_queues(1500, QUEUES).unwrap();
    let mut pair = pair_over(cable, kind);
    works(&mut pair);
    let mac = pair.cable.b.interface().mac.unwrap();
    let head = match pair.b.address() {
        PortAddress::Ether { selector, .. } => {
            [&mac[..], &[2, 0, 0, 0, 0, 7, 0x88, 0xb5], &JOB.to_be_bytes(), &selector.to_be_bytes()].concat()
        }
        PortAddress::PacketUdp(to) => {
            // From port 7, with a checksum over IP's header and none of UDP's.
            let ip = [0x45, 0, 0, 128, 0, 0, 0x40, 0, 64, 17, 0x25, 0xd1, 10, 77, 0, 1, 10, 77, 0, 2];
            [&mac[..], &[2, 0, 0, 0, 0, 7, 8, 0], &ip, &[0, 7], &to.port().to_be_bytes(), &[0, 108, 0, 0]].concat()
        }
        other => panic!("{other}"),
    };
    // Frames that leave a veth by a queue arrive by the same one. The first eight are those of the port at this end.
    let interface = pair.cable.a.interface();
    let shape = UmemConfig { chunk_bytes: 2048, receive: 4, reserve: 0, send: 4 };
    for queue in 8..QUEUES {
        let mut stranger = pair.cable.a.within(|| Queue::open(interface.index, queue, shape, false, false)).unwrap();
        for number in 0..3 {
            assert!(stranger.enqueue(&head, &frame(100, number)));
            stranger.flush().unwrap();
            let mut got = Vec::new();
            while got.is_empty() {
                pair.b.receive(&mut |bytes| got.push(bytes.to_vec()));
            }
            assert_eq!(got, [frame(100, number)]);
        }
    }
    // A port that would have no ring otherwise has opened one.
    assert_eq!(rings(&pair.cable.b), 1);
    works(&mut pair);
}

fn no_xdp_in_driver(_: Kind) {
    let cable = VethPair::new(1500).unwrap();
    let host = cable.b.clone();
    for command in ["link add br0 type bridge", "link set e0 master br0", "link set br0 up"] {
        host.ip(command).unwrap();
    }
    let bridge =
        || host.within(|| hawser_os::interfaces::all().unwrap()).into_iter().find(|i| i.name == "br0").unwrap();
    // It takes the kernel a moment to see the carrier.
    while !bridge().flags.running {}
    let b = host.within(|| Box::new(xdp(&bridge(), 0).unwrap()) as Port);
    let a = open(Xdp, &cable.a, 0);
    for (port, queues) in [(&a, 2), (&b, 1)] {
        let expected =
            format!("an XDP program run by the kernel, with copies, on the first {queues} of the NIC's queues");
        assert_eq!(port.details(), Some(expected));
    }
    let mut pair = Pair { cable, a, b };
    // A bridge learns where others are from the frames that it forwards.
    let (to, mut came) = (pair.b.address(), false);
    while !came {
        pair.a.send(&to, &frame(40, 0)).unwrap();
        pair.b.receive(&mut |_| came = true);
    }
    drain(&mut pair.b);
    works(&mut pair);
    pass(&mut pair.a, &mut pair.b, (SHORTEST..=1494).step_by(11));
    pass(&mut pair.b, &mut pair.a, (SHORTEST..=1494).step_by(11));
}

/// The program runs as it would for zero-copy, which no veth has.
fn xdp_by_driver(_: Kind) {
    for mtu in [1500, 9000] {
        let cable = VethPair::new(mtu).unwrap();
        let (mut a, host) = (open(Packet, &cable.a, 0), cable.b.clone());
        let interface = host.interface();
        let shape =
            |queue| UmemConfig { chunk_bytes: 4096, receive: 16, reserve: 0, send: if queue == 0 { 16 } else { 0 } };
        let (_link, mut queues) = host.within(|| {
            let sockets = XskMap::new(2).unwrap();
            let raw = FrameMatch { min_bytes: 14, fields: vec![(LoadField::Half(12), 0x88b5)] };
            let program = XdpProgram::load(&redirect_matching(&[raw], sockets.as_fd())).unwrap();
            let link = program.attach(interface.index, true).unwrap();
            assert!(Queue::open(interface.index, 0, shape(0), true, false).is_err(), "a veth has no zero-copy");
            let queues = [0, 1].map(|queue| Queue::open(interface.index, queue, shape(queue), false, true).unwrap());
            queues.iter().zip(0..).for_each(|(queue, nth)| sockets.set(nth, queue.as_fd()).unwrap());
            (link, queues)
        });
        let PortAddress::Ether { mac, selector } = a.address() else { panic!("an address of raw Ethernet") };
        let to = PortAddress::Ether { mac: interface.mac.unwrap(), selector: 0 };
        let head =
            [&mac[..], &interface.mac.unwrap(), &[0x88, 0xb5], &JOB.to_be_bytes(), &selector.to_be_bytes()].concat();
        for len in (SHORTEST..=a.frame_max()).step_by(61) {
            let sent = frame(len, 1);
            a.send(&to, &sent).unwrap();
            let mut got = Vec::new();
            while got.is_empty() {
                queues.iter_mut().for_each(|queue| _ = queue.receive(16, |bytes| got.push(bytes[20..].to_vec())));
            }
            assert_eq!(got, std::slice::from_ref(&sent));
            assert!(queues[0].enqueue(&head, &sent));
            queues[0].flush().unwrap();
            while a.receive(&mut |bytes| assert_eq!(bytes, sent)) == 0 {}
        }
    }
}

fn others_pass(kind: Kind) {
    let cable = VethPair::new(1500).unwrap();
    let mut raw = pair_over(cable.clone(), Xdp);
    let mut pair = pair_over(cable, kind);
    for _ in 0..3 {
        works(&mut pair);
        works(&mut raw);
    }
    let longest = pair.a.frame_max().min(9000);
    pass(&mut pair.a, &mut pair.b, (SHORTEST..=longest).step_by(97));
    works(&mut raw);
}

fn first_frames_wait(kind: Kind) {
    let mut pair = pair_apart(kind);
    let to = pair.b.address();
    let mut sent = 0;
    // Before the three-way handshake is complete, the bytes that wait are bounded.
    pair.cable.b.ip("link set e0 down").unwrap();
    while pair.a.send(&to, &frame(1000, sent)).is_ok() {
        sent += 1;
        assert!(sent <= 6, "{sent} frames wait");
    }
    assert!(sent > 0);
    assert_eq!(pair.a.send_run(&to, &[IoSlice::new(&frame(1000, sent))]), Err(FrameSendError::Full));
    pair.cable.b.ip("link set e0 up").unwrap();
    let mut got = Vec::new();
    while got.len() < sent as usize {
        receive(&mut pair.a, &mut pair.b, &mut got);
    }
    assert_eq!(got, (0..sent).map(|number| frame(1000, number)).collect::<Vec<_>>());
    works(&mut pair);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the length in front of a frame, and its complement (P32).
fn length_prefix(len: u16) -> [u8; 4] {
    let [low, high] = len.to_le_bytes();
    [low, high, !low, !high]
}

/// Calls the port of rank 1 from the host of rank 0.
fn connect_stranger(pair: &Pair) -> TcpStream {
    let PortAddress::Tcp(to) = pair.b.address() else { panic!("an address of TCP") };
    pair.cable.a.within(|| TcpStream::connect(to).unwrap())
}

/// P32
fn strangers_are_bounded(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    let before = open_files();
    let mut strangers = Vec::new();
    for _ in 0..200 {
        strangers.push(connect_stranger(&pair));
        drain(&mut pair.b);
    }
    let held = open_files() - before - strangers.len();
    assert!((1..=64).contains(&held), "{held} unauthenticated connections are kept");
    assert_eq!(pair.b.drops().connections, 200 - held as u64);
    works(&mut pair);
    // The time of the others ends too, and a sleeper knows when.
    while pair.b.drops().connections < 200 {
        assert!(pair.b.deadline_ns().is_some());
        std::thread::sleep(Duration::from_millis(20));
        drain(&mut pair.b);
        pair.b.receive(&mut |_| {});
    }
    assert_eq!((open_files() - before, pair.b.deadline_ns()), (strangers.len(), None));
    works(&mut pair);
}

/// P32: all that rank 0 sent was recorded, and others replay it, whole and in parts.
fn replays_are_refused(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    let before = open_files();
    let recorded = [&greeting(0, 1)[..], &length_prefix(500), &frame(500, 1)].concat();
    for time in 1..=1_000_u64 {
        let mut replayed = connect_stranger(&pair);
        let sent_bytes = if time % 3 == 0 { GREETING_BYTES } else { recorded.len() };
        let _ = replayed.write_all(&recorded[..sent_bytes]);
        while pair.b.drops().connections < time {
            pair.b.receive(&mut |_| panic!("a frame that was recorded came"));
        }
        assert!(matches!(replayed.read(&mut [0]), Ok(0) | Err(_)), "it was kept");
        // The peer's own connection is still the first one: nothing is refused.
        if time % 50 == 0 {
            works(&mut pair);
        }
    }
    assert_eq!(open_files(), before);
    // The recording was for that port alone.
    let PortAddress::Tcp(to) = pair.a.address() else { panic!("an address of TCP") };
    let mut elsewhere = pair.cable.b.within(|| TcpStream::connect(to).unwrap());
    elsewhere.write_all(&recorded).unwrap();
    while pair.a.drops().connections == 0 {
        pair.a.receive(&mut |_| panic!("a frame that was recorded came"));
    }
    works(&mut pair);
}

/// P32
fn a_later_one_takes_its_place(kind: Kind) {
    let mut pair = pair(kind, 1500);
    works(&mut pair);
    let before = open_files();
    let mut earlier: Option<TcpStream> = None;
    for number in 1..100 {
        let mut caller = connect_stranger(&pair);
        let bytes = [&greeting(9, number)[..], &length_prefix(64), &frame(64, number)].concat();
        caller.write_all(&bytes).unwrap();
        while pair.b.receive(&mut |bytes| assert_eq!(bytes, frame(64, number))) == 0 {}
        let ended = earlier.replace(caller).map(|mut earlier| earlier.read(&mut [0]));
        assert!(ended.is_none_or(|ended| matches!(ended, Ok(0) | Err(_))), "both were kept");
        assert_eq!(open_files(), before + 2, "one of each side");
    }
    drop(earlier);
    drain(&mut pair.b);
    assert_eq!((open_files(), pair.b.drops().connections), (before, 0));
    works(&mut pair);
}

/// P32: a proxy between two ports cuts connections; the caller's next greeting is accepted.
fn a_cut_one_is_called_again(kind: Kind) {
    let mut pair = pair_apart(kind);
    let PortAddress::Tcp(to) = pair.b.address() else { panic!("an address of TCP") };
    let between = pair.cable.b.within(|| TcpListener::bind((to.ip(), 0)).unwrap());
    between.set_nonblocking(true).unwrap();
    let there = PortAddress::Tcp(between.local_addr().unwrap());
    for number in 0..10 {
        let (mut ends, mut came) = (None, false);
        while !came {
            // The first send may still report how the last connection ended.
            let _ = pair.a.send(&there, &frame(64, number));
            pair.a.receive(&mut |_| {});
            if let (None, Ok((caller, _))) = (&ends, between.accept()) {
                caller.set_nonblocking(true).unwrap();
                ends = Some((caller, pair.cable.a.within(|| TcpStream::connect(to).unwrap())));
            }
            if let Some((caller, called)) = &mut ends {
                let mut bytes = [0; 4096];
                let got = caller.read(&mut bytes).unwrap_or(0);
                called.write_all(&bytes[..got]).unwrap();
            }
            pair.b.receive(&mut |bytes| came |= bytes == frame(64, number));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!(pair.b.drops().connections, 0);
    works(&mut pair);
}

/// Unauthenticated connections with no greeting, with halves of one, with foreign ones: a peer that connects
/// meanwhile is accepted.
fn peers_pass_strangers(kind: Kind) {
    let mut pair = pair_apart(kind);
    let before = open_files();
    let mut strangers = Vec::new();
    let foreign = Greeting { kind: ConnectionKind::Frames, from: PortId { rank: 0, index: 0 }, number: 77 };
    let foreign = foreign.encode(PortId { rank: 1, index: 0 }, &JobKey::new(*b"of another job.."));
    for round in 0..300 {
        let mut stranger = connect_stranger(&pair);
        let words: [&[u8]; 4] = [&[], &greeting(0, 77)[..13], &foreign, &greeting(3, 1)[..1]];
        stranger.write_all(words[round % 4]).unwrap();
        strangers.push(stranger);
        pair.b.receive(&mut |_| panic!("a frame of an unauthenticated connection came"));
        if round % 60 == 30 {
            works(&mut pair);
        }
    }
    // A connection in each direction has two ends.
    let held = open_files() - before - strangers.len() - 4;
    assert!(held <= 64, "{held} unauthenticated connections are kept");
    works(&mut pair);
}

/// The process has no descriptor left: a caller waits in the kernel, and nothing spins.
fn without_descriptors(kind: Kind) {
    let mut pair = pair_apart(kind);
    let mut epoll = Epoll::new().unwrap();
    let mut events = Vec::new();
    pair.b.descriptors(&mut |fd| epoll.add(fd, 1, Interest::Read).unwrap());
    let to = pair.b.address();
    pair.a.send(&to, &frame(64, 1)).unwrap();
    epoll.wait(&mut events, Some(10_000)).unwrap();
    assert!(!events.is_empty(), "nobody has connected");
    let usual = limits::get(Resource::Descriptors);
    limits::set(Resource::Descriptors, Limit { soft: 3, ..usual }).unwrap();
    assert_eq!(pair.b.receive(&mut |_| {}), 0);
    epoll.wait(&mut events, Some(0)).unwrap();
    let (waits, is_awake) = (pair.b.drops().deferred, !events.is_empty());
    let deadline_ns = pair.b.deadline_ns();
    limits::set(Resource::Descriptors, usual).unwrap();
    assert_eq!((waits, is_awake, deadline_ns.is_some()), (1, false, true));
    let mut got = Vec::new();
    while got.is_empty() {
        receive(&mut pair.a, &mut pair.b, &mut got);
    }
    assert_eq!(got, [frame(64, 1)]);
    // An unauthenticated connection leaves its descriptor to the next caller.
    let strangers = [connect_stranger(&pair), connect_stranger(&pair)];
    drain(&mut pair.b);
    let refused = pair.b.drops().connections;
    let later = connect_stranger(&pair);
    limits::set(Resource::Descriptors, Limit { soft: 3, ..usual }).unwrap();
    while pair.b.drops().connections == refused {
        pair.b.receive(&mut |_| {});
    }
    limits::set(Resource::Descriptors, usual).unwrap();
    drop((strangers, later));
    works(&mut pair);
}

fn decoys(_: Kind) {
    let cable = VethPair::new(1500).unwrap();
    let host = &cable.a;
    for command in [
        "link set lo up",
        "link add docker0 type bridge",
        "addr add 172.17.0.1/16 dev docker0",
        "link set docker0 up",
        "link add off0 type veth peer name off1",
        "link add br0 type bridge",
        "link add part0 type veth peer name part1",
        "link set part0 master br0",
        "link set part0 up",
        "link set part1 up",
        "link set br0 up",
    ] {
        host.ip(command).unwrap();
    }
    let verdicts = |wanted: &InterfaceFilter| -> Vec<(String, InterfaceStatus)> {
        let all = host.within(|| hawser_os::interfaces::all().unwrap());
        rails::classify(all, wanted).into_iter().map(|rail| (rail.interface.name, rail.status)).collect()
    };
    let of = |name: &str| verdicts(&InterfaceFilter::default()).into_iter().find(|(n, _)| n == name).map(|(_, v)| v);
    assert_eq!(of("e0"), Some(InterfaceStatus::Rail));
    assert_eq!(of("lo"), Some(InterfaceStatus::Loopback));
    assert_eq!(of("docker0"), Some(InterfaceStatus::NoCarrier));
    assert_eq!(of("off0"), Some(InterfaceStatus::Down));
    // It takes the kernel a moment to see the carrier.
    while of("br0") != Some(InterfaceStatus::Rail) || of("part0") != Some(InterfaceStatus::Enslaved) {}
    let e0 = host.interface();
    assert_eq!((e0.mtu, e0.driver.as_deref(), e0.mac.is_some()), (1500, Some("veth"), true));
    assert!(e0.addresses.iter().any(|a| a.ip.to_string() == "10.77.0.1" && a.prefix == 24 && a.scope == 0));
    assert!(e0.addresses.iter().any(|a| a.ip.to_string().starts_with("fe80::") && a.scope == e0.index));
}
