//! Direct connections between two devices by TCP over the loopback interface, with a proxy between them that cuts,
//! keeps or forges their data, of connections for frames too: every byte of every message arrives once, whatever
//! happens to them (P32, P36, P37, P43).

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_ether::port::{
    ConnectionKind, GREETING_BYTES, Greeting, PortAddress, PortId, PortRange, RankCredentials, StreamPort,
};
use hawser_dev_ether::port_list::{CardPort, PortList};
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort};
use hawser_device::{Delivery, Device, DevicePort, Header, Payload, PayloadSource};
use hawser_job::counters::Counters;
use hawser_job::{ExitKind, ExitLog};
use hawser_link::frame::JobKey;
use hawser_link::{LatencyClass, PortTraits};
use hawser_os::interfaces;
use hawser_sim::Rng;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const SECRET: [u8; 16] = [5; 16];
const DATA: u8 = 5;
/// A packet that announces message `a`, and is packet number `b` of its rank.
const ANNOUNCEMENT: u8 = 6;
/// Bytes of a message that is long enough for a zero-copy send.
const LONG: usize = 200_001;

/// A copy of `bytes` that begins `offset` bytes behind a page's start, in memory that is never freed: with an offset
/// of 16 its part is padded (`direct::padding`), with 0 not.
fn borrowed(bytes: &[u8], offset: usize) -> UserMem<'static> {
    const PAGE_BYTES: usize = 4096;
    let memory = vec![0; bytes.len() + 2 * PAGE_BYTES].leak();
    let start = memory.as_ptr().addr().wrapping_neg() % PAGE_BYTES + offset;
    memory[start..][..bytes.len()].copy_from_slice(bytes);
    UserMem::of_slice(&mut memory[start..][..bytes.len()])
}
/// Bytes of the longest eager message, for which a connection that carries others has no space at once.
const LONGEST_EAGER: usize = 896 << 10;

/// The fate of a direct connection after a number of bytes behind its greeting.
#[derive(Clone, Copy)]
enum Fate {
    Passes,
    Cut {
        after: usize,
    },
    /// The bytes are taken, so that TCP acknowledges them, and never passed on.
    Withheld {
        after: usize,
    },
    /// One bit differs there.
    Forged {
        at: usize,
    },
}

/// The proxy: the fates of the direct connections still to come, and how many connections have ended by theirs.
#[derive(Default)]
struct Proxy {
    fates: Mutex<Vec<Fate>>,
    applied_fates: Mutex<usize>,
    /// One bit in this many bytes of connections for frames is changed; none if it is 0. And the number of those
    /// connections.
    corrupts_one_in: AtomicU64,
    frame_connections: AtomicUsize,
}

impl Proxy {
    /// Returns an address at which the proxy accepts callers of `to`.
    fn address_before(self: &Arc<Proxy>, to: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let this = self.clone();
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let (this, called) = (this.clone(), TcpStream::connect(to));
                thread::spawn(move || called.map(|heard| this.relay(caller, heard)));
            }
        });
        address
    }

    fn relay(&self, mut caller: TcpStream, mut called: TcpStream) {
        // The called end sends nothing: if it ends the connection, it ends for the caller too.
        let (mut back, ended) = (called.try_clone().unwrap(), caller.try_clone().unwrap());
        thread::spawn(move || {
            let _ = back.read(&mut [0]);
            let _ = ended.shutdown(Shutdown::Both);
        });
        let mut greeting_bytes = [0; GREETING_BYTES];
        if caller.read_exact(&mut greeting_bytes).is_err() || called.write_all(&greeting_bytes).is_err() {
            return;
        }
        let is_direct = greeting_bytes[0] == ConnectionKind::Messages as u8;
        let fate = if is_direct { self.fates.lock().unwrap().pop() } else { None };
        let call = self.frame_connections.fetch_add(usize::from(!is_direct), Relaxed);
        let mut dice = Rng::new(call as u64);
        let (mut at, mut bytes) = (0, vec![0; 30_000]);
        while let Ok(got) = caller.read(&mut bytes)
            && got > 0
        {
            let (from, behind) = (at, at + got);
            at = behind;
            let here = |place: usize| place.checked_sub(from).filter(|&place| place < got);
            let mut passed = got;
            let spoils = self.corrupts_one_in.load(Relaxed);
            if !is_direct && spoils > 0 {
                let whole = got as u64 / spoils;
                let count = whole + u64::from(dice.below(spoils) < got as u64 % spoils);
                for _ in 0..count {
                    let bit = dice.index(8 * got);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }
            match fate.unwrap_or(Fate::Passes) {
                Fate::Passes => {}
                Fate::Cut { after } | Fate::Withheld { after } if after < from => passed = 0,
                Fate::Cut { after } | Fate::Withheld { after } => passed = here(after).unwrap_or(got),
                Fate::Forged { at } => {
                    if let Some(place) = here(at) {
                        bytes[place] ^= 4;
                        *self.applied_fates.lock().unwrap() += 1;
                    }
                }
            }
            if called.write_all(&bytes[..passed]).is_err() {
                return;
            }
            if passed < got {
                *self.applied_fates.lock().unwrap() += 1;
                if let Some(Fate::Cut { .. }) = fate {
                    let _ = (caller.shutdown(Shutdown::Both), called.shutdown(Shutdown::Both));
                    return;
                }
            }
        }
        let _ = called.shutdown(Shutdown::Both);
    }
}

/// Makes two devices that reach each other only past `proxy`. `checked`: all payload between them has a CRC.
fn pair(proxy: &Arc<Proxy>, checked: bool) -> Vec<EtherDevice> {
    devices_with_exits(proxy, checked, &ExitLog::private(2))
}

/// Makes the same; `exit_log` records which of them have ended.
fn devices_with_exits(proxy: &Arc<Proxy>, checked: bool, exit_log: &ExitLog) -> Vec<EtherDevice> {
    let all = interfaces::all().unwrap();
    let interface = all.into_iter().find(|interface| interface.flags.loopback).expect("there is a loopback interface");
    let local = *interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let cards = Arc::new(Mutex::new(vec![None; 2]));
    let device = |rank: usize| {
        let credentials = RankCredentials { key: JobKey::new(SECRET), me: rank as u32, ranks: 2 };
        let port = StreamPort::open(&interface, &local, PortRange::ANY, rank, credentials).unwrap();
        let (theirs, key) = (cards.clone(), JobKey::new(SECRET));
        let traits = PortTraits {
            latency_class: LatencyClass::BulkOnly,
            has_full_crc: checked,
            is_lossless: true,
            ..PortTraits::default()
        };
        let device = EtherDevice::new(EtherDeviceSetup {
            me: rank as u32,
            ranks: 2,
            key,
            seed: rank as u64,
            ports: vec![OpenPort { port: Box::new(port), rail: 0, interface: "lo".into(), traits }],
            card_lookup: Box::new(move |peer: Peer, _| theirs.lock().unwrap()[peer.index()].clone()),
            on_all_polled: Box::new(|| ()),
            wake_rank: Box::new(|| ()),
            report_status: Box::new(|_| true),
            report_reachability: Box::new(|_| ()),
            counters: (Counters::private(), 0),
            exit_log: exit_log.clone(),
            reaches: Box::new(move |peer: Peer| peer != Peer(rank as u32)),
        });
        let port_list = PortList::decode(&device.encoded_port_list()).unwrap();
        let listed = port_list.ports().iter().map(|port| match port.address {
            PortAddress::Tcp(to) => CardPort { address: PortAddress::Tcp(proxy.address_before(to)), ..*port },
            _ => unreachable!("there is TCP alone"),
        });
        cards.lock().unwrap()[rank] = Some(PortList::new(listed.collect()).encode());
        device
    };
    (0..2).map(device).collect()
}

/// A message that is sent: its bytes, how many were handed over, and whether its memory is borrowed.
struct Sending {
    bytes: Vec<u8>,
    at: usize,
    is_borrowed: bool,
}

/// A rank: the messages that it sends, and those that it got.
struct Rank {
    device: EtherDevice,
    port: Box<dyn DevicePort>,
    to: Peer,
    lane: u8,
    sending: Vec<Sending>,
    announced: u32,
    received: TestDelivery,
}

#[derive(Default)]
struct TestDelivery {
    /// For each message the bytes that came, each with the number of times.
    messages: Vec<Vec<(u8, u8)>>,
    /// For each message that was announced, its length. Announcements come in their order.
    announced: HashMap<usize, usize>,
    returned: Vec<(u32, u64)>,
    lost: bool,
}

impl Delivery for TestDelivery {
    fn deliver(&mut self, _: Peer, header: Header, payload: &mut dyn Payload) {
        if header.kind() == ANNOUNCEMENT {
            assert_eq!(header.b() as usize, self.announced.len(), "announcements came out of order");
            let mut len = [0; 8];
            assert!(payload.read(&mut len) && payload.is_empty());
            self.announced.insert(header.a() as usize, u64::from_le_bytes(len) as usize);
            return;
        }
        if header.kind() != DATA {
            return;
        }
        if header.aux() == 1 {
            assert!(self.announced.contains_key(&(header.a() as usize)), "bytes came before their announcement");
        }
        let (message, at) = (header.a() as usize, header.b() as usize);
        let mut bytes = vec![0; payload.len()];
        assert!(payload.read(&mut bytes));
        if self.messages.len() <= message {
            self.messages.resize_with(message + 1, Vec::new);
        }
        let received = &mut self.messages[message];
        received.resize(received.len().max(at + bytes.len()), (0, 0));
        received[at..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = (byte, to.1 + 1));
    }

    fn peer_failed(&mut self, _: Peer) {
        self.lost = true;
    }

    fn zero_copy_done(&mut self, ticket: u32, taken: u64) {
        self.returned.push((ticket, taken));
    }
}

fn content(message: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + message * 31 + at / 251) as u8).collect()
}

fn header(message: usize, at: usize) -> Header {
    Header::new(DATA, 0, message as u32, at as u32)
}

impl Rank {
    /// Begins to send a message. Returns whether its memory was borrowed.
    fn send(&mut self, len: usize) -> bool {
        let message = self.sending.len();
        let bytes = content(message, len);
        // The first part of a connection is not padded, so that faults have a known place.
        let has_begun = self.sending.iter().any(|sending| sending.is_borrowed);
        let mem = borrowed(&bytes, if has_begun && message % 2 == 1 { 16 } else { 0 });
        let is_borrowed =
            self.port.send_zero_copy(self.to, header(message, 0), mem, message.is_multiple_of(2), message as u32);
        self.sending.push(Sending { bytes, at: 0, is_borrowed });
        is_borrowed
    }

    /// Sends a message behind an announcement, as a direct packet if the device takes it. Returns whether it did.
    fn send_announced(&mut self, len: usize) -> bool {
        let message = self.sending.len();
        let announcement = Header::new(ANNOUNCEMENT, 0, message as u32, self.announced);
        let prefix = (len as u64).to_le_bytes();
        let mut bytes = content(message, len);
        let rest = Header::new(DATA, 1, message as u32, 0);
        // Every other one goes by link in any case.
        let is_direct = self.announced.is_multiple_of(2)
            && self.port.send_stream(self.to, announcement, &prefix, rest, UserMem::of_slice(&mut bytes));
        while !is_direct && self.port.send(self.to, announcement, &prefix, PayloadSource::None).is_err() {
            self.step();
        }
        self.announced += 1;
        let at = if is_direct { len } else { 0 };
        self.sending.push(Sending { bytes, at, is_borrowed: false });
        is_direct
    }

    /// Continues the messages that are sent in pieces, and receives.
    fn step(&mut self) {
        self.port.poll(&mut self.received);
        for (ticket, taken) in self.received.returned.drain(..) {
            let sending = &mut self.sending[ticket as usize];
            assert!(std::mem::replace(&mut sending.is_borrowed, false), "message {ticket} came back twice");
            sending.at = taken as usize;
        }
        for (message, sending) in self.sending.iter_mut().enumerate().filter(|(_, sending)| !sending.is_borrowed) {
            let piece = self.port.piece_len(self.to, sending.bytes.len()).unwrap_or(1_000);
            while sending.at < sending.bytes.len() {
                let len = piece.min(sending.bytes.len() - sending.at);
                let source = PayloadSource::Mem(UserMem::of_slice(&mut sending.bytes[sending.at..][..len]));
                let head = header(message, sending.at);
                if self.port.send_piece(self.to, head, &[], source, message.is_multiple_of(2)).is_err() {
                    break;
                }
                sending.at += len;
            }
        }
        self.port.flush_pieces();
    }

    fn has_sent(&self) -> bool {
        self.sending.iter().all(|sending| !sending.is_borrowed && sending.at == sending.bytes.len())
    }

    /// Returns whether all of the other's messages have arrived.
    fn has_all_of(&self, other: &Rank) -> bool {
        let whole = |(message, sent): (usize, &Sending)| {
            let arrived = self.received.messages.get(message);
            arrived.is_some_and(|came| came.len() == sent.bytes.len() && came.iter().all(|&(_, times)| times > 0))
        };
        other.sending.iter().enumerate().all(whole)
    }

    fn check(&self, other: &Rank) {
        for (message, (arrived, sent)) in self.received.messages.iter().zip(&other.sending).enumerate() {
            assert!(arrived.iter().all(|&(_, times)| times == 1), "bytes of message {message} came twice");
            assert!(arrived.iter().map(|&(byte, _)| byte).eq(sent.bytes.iter().copied()), "message {message} differs");
        }
    }
}

/// Makes two ranks, on a lane.
fn ranks(proxy: &Arc<Proxy>, lane: u8) -> [Rank; 2] {
    ranks_of(pair(proxy, false), lane)
}

fn ranks_of(devices: Vec<EtherDevice>, lane: u8) -> [Rank; 2] {
    let mut devices = devices.into_iter();
    [0, 1].map(|rank| {
        let device = devices.next().unwrap();
        let port = device.port(Lane(lane));
        Rank {
            device,
            port,
            to: Peer(1 - rank),
            lane,
            sending: Vec::new(),
            announced: 0,
            received: TestDelivery::default(),
        }
    })
}

/// Sends messages until one is sent zero-copy: paths for bulk are tried first, and a connection is opened.
fn send_until_zero_copy(ranks: &mut [Rank; 2], from: usize) {
    for _ in 0..200 {
        if ranks[from].send(LONG) {
            return finish(ranks);
        }
        finish(ranks);
    }
    panic!("nothing was sent zero-copy");
}

fn finish(ranks: &mut [Rank; 2]) {
    loop {
        ranks.iter_mut().for_each(Rank::step);
        let [one, two] = &*ranks;
        if one.has_sent() && two.has_sent() && one.has_all_of(two) && two.has_all_of(one) {
            one.check(two);
            return two.check(one);
        }
    }
}

/// Sends messages of these lengths. Returns how many were sent zero-copy.
fn count_zero_copy(rank: &mut Rank, lengths: impl Iterator<Item = usize>) -> usize {
    lengths.filter(|&len| rank.send(len)).count()
}

#[test]
fn long_messages_pass_both_ways_at_once() {
    let mut ranks = ranks(&Arc::default(), 0);
    send_until_zero_copy(&mut ranks, 0);
    send_until_zero_copy(&mut ranks, 1);
    let mut count = 0;
    for round in 0..20 {
        for rank in &mut ranks {
            count += count_zero_copy(rank, (0..5).map(|nth| 65_537 + 70_001 * (nth * nth * round % 17)));
        }
        finish(&mut ranks);
    }
    assert!(count > 100, "only {count} of 200 were zero-copy");
    // Flush each rank, even if it is quiet.
    while ranks.iter().filter(|rank| !rank.device.flush()).count() > 0 {}
}

/// Sends announced messages both ways, between others. Returns how many were direct packets.
fn pass_announced(ranks: &mut [Rank; 2], count: usize, dice: &mut Rng) -> usize {
    let mut direct = 0;
    for _ in 0..count {
        for rank in &mut *ranks {
            match dice.below(8) {
                0 => _ = rank.send(1 + dice.index(300)),
                1 => _ = rank.send(LONG),
                2 => direct += usize::from(rank.send_announced(1 + dice.index(LONGEST_EAGER))),
                _ => direct += usize::from(rank.send_announced(1 + dice.index(70_000))),
            }
        }
        if dice.one_in(3) {
            ranks[dice.index(2)].step();
        }
    }
    finish(ranks);
    for rank in 0..2 {
        assert_eq!(ranks[rank].received.announced.len(), ranks[1 - rank].announced as usize);
    }
    direct
}

/// P43
#[test]
fn direct_packets_keep_their_order_with_packets_of_link() {
    let mut ranks = ranks(&Arc::default(), 0);
    send_until_zero_copy(&mut ranks, 0);
    send_until_zero_copy(&mut ranks, 1);
    let mut dice = Rng::new(1);
    let direct: usize = (0..40).map(|_| pass_announced(&mut ranks, 20, &mut dice)).sum();
    assert!(direct > 200, "{direct} of about 600 were direct packets");
    while ranks.iter().filter(|rank| !rank.device.flush()).count() > 0 {
        ranks.iter_mut().for_each(Rank::step);
    }
}

/// P43, P37: what a connection did not deliver goes by link, in its place.
#[test]
fn direct_packets_of_a_connection_that_ends_anywhere_come_once_and_in_their_order() {
    let proxy = Arc::<Proxy>::default();
    let (mut dice, mut direct) = (Rng::new(2), 0);
    for round in 0..24 {
        let after = LONG + 40 + dice.index(if round % 2 == 0 { 200 } else { 400_000 });
        let fate = match round % 3 {
            0 => Fate::Cut { after },
            1 => Fate::Withheld { after },
            _ => Fate::Forged { at: LONG + 40 + dice.index(40) },
        };
        proxy.fates.lock().unwrap().push(fate);
        let mut ranks = ranks(&proxy, 0);
        send_until_zero_copy(&mut ranks, 0);
        direct += pass_announced(&mut ranks, 20, &mut dice);
        direct += pass_announced(&mut ranks, 20, &mut dice);
    }
    let applied = *proxy.applied_fates.lock().unwrap();
    assert!(direct > 100 && applied >= 16, "{direct} direct packets, and {applied} connections ended");
}

/// P37
#[test]
fn a_connection_that_is_cut_anywhere_loses_and_doubles_nothing() {
    let proxy = Arc::<Proxy>::default();
    for after in [0, 1, 39, 40, 41, 70_000, LONG + 39, LONG + 40, LONG + 41, 2 * LONG + 17] {
        let mut ranks = ranks(&proxy, 0);
        proxy.fates.lock().unwrap().push(Fate::Cut { after: LONG + 40 + after });
        let met = *proxy.applied_fates.lock().unwrap();
        send_until_zero_copy(&mut ranks, 0);
        let count = count_zero_copy(&mut ranks[0], [LONG; 4].into_iter());
        finish(&mut ranks);
        assert!(count > 0 && *proxy.applied_fates.lock().unwrap() == met + 1, "after {after}: {count} were zero-copy");
    }
}

/// P37: bytes that TCP has acknowledged need not have reached the peer.
#[test]
fn a_connection_that_keeps_what_it_took_is_given_up() {
    let proxy = Arc::<Proxy>::default();
    proxy.fates.lock().unwrap().push(Fate::Withheld { after: LONG + 40 + 100_000 });
    let mut ranks = ranks(&proxy, 0);
    send_until_zero_copy(&mut ranks, 0);
    assert!(count_zero_copy(&mut ranks[0], [LONG; 3].into_iter()) > 0);
    finish(&mut ranks);
    assert!(*proxy.applied_fates.lock().unwrap() > 0);
}

/// P37: a part header that is not the peer's ends the connection, and is counted by its receiver.
#[test]
fn a_forged_front_is_refused() {
    let proxy = Arc::<Proxy>::default();
    for at in [0, 3, 17, 39] {
        proxy.fates.lock().unwrap().push(Fate::Forged { at: LONG + 40 + at });
        let mut ranks = ranks(&proxy, 0);
        send_until_zero_copy(&mut ranks, 0);
        assert!(count_zero_copy(&mut ranks[0], [LONG; 2].into_iter()) > 0);
        finish(&mut ranks);
    }
    assert_eq!(*proxy.applied_fates.lock().unwrap(), 4);
}

/// P32, P6: a length that was changed ends its connection, and the next one continues; all other changed frames are
/// dropped and retransmitted.
#[test]
fn streams_of_frames_in_which_any_bit_may_differ_carry_all() {
    let proxy = Arc::<Proxy>::default();
    let mut ranks = ranks_of(pair(&proxy, true), 0);
    ranks[0].send(LONG);
    finish(&mut ranks);
    let opened = proxy.frame_connections.load(Relaxed);
    proxy.corrupts_one_in.store(20_000, Relaxed);
    let mut sent = 0;
    // Short messages: lengths are a greater part of their bytes.
    while proxy.frame_connections.load(Relaxed) < opened + 3 {
        for _ in 0..50 {
            ranks[0].send(1 + sent % 300);
            sent += 1;
        }
        finish(&mut ranks);
    }
    proxy.corrupts_one_in.store(0, Relaxed);
    ranks[1].send(LONG);
    finish(&mut ranks);
}

/// P36: payload that must have a CRC goes by link.
#[test]
fn payload_that_is_to_be_checked_goes_by_no_direct_connection() {
    let mut ranks = ranks_of(pair(&Arc::default(), true), 0);
    for _ in 0..60 {
        assert!(!ranks[0].send(LONG), "it was zero-copy");
        finish(&mut ranks);
    }
}

/// Returns the address of a rank's own port, past the proxy.
fn listener(rank: &EtherDevice) -> SocketAddr {
    let port_list = PortList::decode(&rank.encoded_port_list()).unwrap();
    let PortAddress::Tcp(to) = port_list.ports()[0].address else { unreachable!("there is TCP alone") };
    to
}

/// Returns the greeting of rank 0 to rank 1 for its direct connection `number`.
fn greeting(number: u32) -> [u8; GREETING_BYTES] {
    let from = PortId { rank: 0, index: 0 };
    Greeting { kind: ConnectionKind::Messages, from, number }.encode(PortId { rank: 1, index: 0 }, &JobKey::new(SECRET))
}

/// P36
#[test]
fn a_forged_greeting_is_refused() {
    let ranks = pair(&Arc::default(), false);
    let mut forged = greeting(1);
    forged[GREETING_BYTES - 1] ^= 1;
    let mut caller = TcpStream::connect(listener(&ranks[1])).unwrap();
    caller.write_all(&forged).unwrap();
    for _ in 0..1_000 {
        ranks[1].port(Lane(0)).poll(&mut TestDelivery::default());
    }
    caller.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let ended = caller.read(&mut [0]);
    assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it was kept");
    drop(ranks);
}

/// P36: a replayed greeting of an open connection opens none and ends none.
#[test]
fn a_greeting_that_was_recorded_does_not_end_the_connection() {
    let mut ranks = ranks(&Arc::default(), 0);
    send_until_zero_copy(&mut ranks, 0);
    let to = listener(&ranks[1].device);
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let mut count = 0;
    for _ in 0..25 {
        let mut replays: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(to).unwrap()).collect();
        replays.iter_mut().for_each(|caller| caller.write_all(&greeting(1)).unwrap());
        count += count_zero_copy(&mut ranks[0], [LONG].into_iter());
        finish(&mut ranks);
    }
    assert_eq!(count, 25, "the connection was ended by what was recorded");
    // Other tests of this program have connections too.
    assert!(open_files() < before + 200, "{} descriptors", open_files());
}

/// A message for a lane that is not polled waits there, and continues when that lane is polled.
#[test]
fn messages_of_a_lane_that_is_not_polled_wait_for_it() {
    let mut ranks = ranks(&Arc::default(), 1);
    send_until_zero_copy(&mut ranks, 0);
    assert_eq!(count_zero_copy(&mut ranks[0], [LONG; 3].into_iter()), 3);
    let mut other = ranks[1].device.port(Lane(0));
    let mut none = TestDelivery::default();
    while !ranks[0].has_sent() {
        ranks[0].step();
        other.poll(&mut none);
    }
    assert!(none.messages.is_empty() && ranks[1].lane == 1);
    finish(&mut ranks);
}

/// A peer that has ended gets nothing, and memory borrowed for it is returned by the report of its end alone.
#[test]
fn a_peer_that_is_gone_takes_nothing_back() {
    let exit_log = ExitLog::private(2);
    let mut ranks = ranks_of(devices_with_exits(&Arc::default(), false, &exit_log), 0);
    send_until_zero_copy(&mut ranks, 0);
    assert_eq!(count_zero_copy(&mut ranks[0], [20 * LONG].into_iter()), 1);
    exit_log.record(Peer(1), ExitKind::Failed);
    while !ranks[0].received.lost {
        let Rank { port, received: got, .. } = &mut ranks[0];
        port.poll(got);
    }
    assert!(ranks[0].received.returned.is_empty() && ranks[0].device.flush());
    let bytes = borrowed(&content(0, LONG), 0);
    assert!(!ranks[0].port.send_zero_copy(Peer(1), header(0, 0), bytes, true, 0));
}
