//! Direct connections between two devices by TCP over the loopback interface, with a proxy between them that cuts,
//! keeps or forges their data, of connections for frames too: every byte of every message arrives once, whatever
//! happens to them (P32, P36, P37).

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_ether::card::{Card, End};
use hawser_dev_ether::port::{Address, Carries, GREETING, Greeting, PortOf, PortRange, Seal, StreamPort};
use hawser_dev_ether::{EtherDevice, Opened, Setup};
use hawser_device::{Delivery, Device, Header, Payload, Port, Source};
use hawser_job::counters::Counters;
use hawser_job::{Ending, Lives};
use hawser_link::frame::Key;
use hawser_link::{Grade, Rail};
use hawser_os::interfaces;
use hawser_sim::Dice;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const SECRET: [u8; 16] = [5; 16];
const DATA: u8 = 5;
/// Bytes of a message that is longer than an eager one.
const LONG: usize = 200_001;

/// The fate of a direct connection after a number of bytes behind its greeting.
#[derive(Clone, Copy)]
enum Fate {
    Passes,
    Cut {
        after: usize,
    },
    /// The bytes are taken, so that TCP acknowledges them, and never passed on.
    Kept {
        after: usize,
    },
    /// One bit differs there.
    Forged {
        at: usize,
    },
}

/// The proxy: the fates of the direct connections still to come, and how many connections have ended by theirs.
#[derive(Default)]
struct Between {
    fates: Mutex<Vec<Fate>>,
    met: Mutex<usize>,
    /// One bit in this many bytes of connections for frames is changed; none if it is 0. And the number of those
    /// connections.
    spoils: AtomicU64,
    called: AtomicUsize,
}

impl Between {
    /// Returns an address at which the proxy accepts callers of `to`.
    fn before(self: &Arc<Between>, to: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let this = self.clone();
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let (this, heard) = (this.clone(), TcpStream::connect(to));
                thread::spawn(move || heard.map(|heard| this.pass(caller, heard)));
            }
        });
        address
    }

    fn pass(&self, mut caller: TcpStream, mut heard: TcpStream) {
        // The called end sends nothing: if it ends the connection, it ends for the caller too.
        let (mut back, ended) = (heard.try_clone().unwrap(), caller.try_clone().unwrap());
        thread::spawn(move || {
            let _ = back.read(&mut [0]);
            let _ = ended.shutdown(Shutdown::Both);
        });
        let mut front = [0; GREETING];
        if caller.read_exact(&mut front).is_err() || heard.write_all(&front).is_err() {
            return;
        }
        let is_direct = front[0] == Carries::Messages as u8;
        let fate = if is_direct { self.fates.lock().unwrap().pop() } else { None };
        let call = self.called.fetch_add(usize::from(!is_direct), Relaxed);
        let mut dice = Dice::new(call as u64);
        let (mut at, mut bytes) = (0, vec![0; 30_000]);
        while let Ok(got) = caller.read(&mut bytes)
            && got > 0
        {
            let (from, behind) = (at, at + got);
            at = behind;
            let here = |place: usize| place.checked_sub(from).filter(|&place| place < got);
            let mut passed = got;
            let spoils = self.spoils.load(Relaxed);
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
                Fate::Cut { after } | Fate::Kept { after } if after < from => passed = 0,
                Fate::Cut { after } | Fate::Kept { after } => passed = here(after).unwrap_or(got),
                Fate::Forged { at } => {
                    if let Some(place) = here(at) {
                        bytes[place] ^= 4;
                        *self.met.lock().unwrap() += 1;
                    }
                }
            }
            if heard.write_all(&bytes[..passed]).is_err() {
                return;
            }
            if passed < got {
                *self.met.lock().unwrap() += 1;
                if let Some(Fate::Cut { .. }) = fate {
                    let _ = (caller.shutdown(Shutdown::Both), heard.shutdown(Shutdown::Both));
                    return;
                }
            }
        }
        let _ = heard.shutdown(Shutdown::Both);
    }
}

/// Makes two devices that reach each other only past `between`. `checked`: all payload between them has a CRC.
fn pair(between: &Arc<Between>, checked: bool) -> Vec<EtherDevice> {
    mortal(between, checked, &Lives::private(2))
}

/// Makes the same; `lives` holds whether they live.
fn mortal(between: &Arc<Between>, checked: bool, lives: &Lives) -> Vec<EtherDevice> {
    let all = interfaces::all().unwrap();
    let interface = all.into_iter().find(|interface| interface.flags.loopback).expect("there is a loopback interface");
    let local = *interface.addresses.iter().find(|address| address.ip.is_ipv4()).expect("127.0.0.1");
    let cards = Arc::new(Mutex::new(vec![None; 2]));
    let device = |rank: usize| {
        let seal = Seal { key: Key::new(SECRET), me: rank as u32, ranks: 2 };
        let port = StreamPort::open(&interface, &local, PortRange::ANY, rank, seal).unwrap();
        let (theirs, key) = (cards.clone(), Key::new(SECRET));
        let traits = Rail { grade: Grade::BulkAlone, checked, lossless: true, ..Rail::default() };
        let device = EtherDevice::new(Setup {
            me: rank as u32,
            ranks: 2,
            key,
            seed: rank as u64,
            ports: vec![Opened { port: Box::new(port), rail: 0, interface: "lo".into(), traits }],
            cards: Box::new(move |peer: Peer, _| theirs.lock().unwrap()[peer.index()].clone()),
            looked: Box::new(|| ()),
            tell: Box::new(|_| true),
            answers: Box::new(|_| ()),
            counters: (Counters::private(), 0),
            lives: lives.clone(),
            serves: Box::new(move |peer: Peer| peer != Peer(rank as u32)),
        });
        let card = Card::decode(&device.card()).unwrap();
        let met = card.ends().iter().map(|end| match end.address {
            Address::Tcp(to) => End { address: Address::Tcp(between.before(to)), ..*end },
            _ => unreachable!("there is TCP alone"),
        });
        cards.lock().unwrap()[rank] = Some(Card::new(met.collect()).encode());
        device
    };
    (0..2).map(device).collect()
}

/// A message that is sent: its bytes, how many were handed over, and whether its memory is lent.
struct Sending {
    bytes: Vec<u8>,
    at: usize,
    lent: bool,
}

/// A rank: the messages that it sends, and those that it got.
struct Rank {
    device: EtherDevice,
    port: Box<dyn Port>,
    to: Peer,
    lane: u8,
    sending: Vec<Sending>,
    got: Got,
}

#[derive(Default)]
struct Got {
    /// For each message the bytes that came, each with the number of times.
    messages: Vec<Vec<(u8, u8)>>,
    returned: Vec<(u32, u64)>,
    lost: bool,
}

impl Delivery for Got {
    fn deliver(&mut self, _: Peer, header: Header, payload: &mut dyn Payload) {
        if header.kind != DATA {
            return;
        }
        let (message, at) = (header.a as usize, header.b as usize);
        let mut bytes = vec![0; payload.len()];
        assert!(payload.read(&mut bytes));
        if self.messages.len() <= message {
            self.messages.resize_with(message + 1, Vec::new);
        }
        let place = &mut self.messages[message];
        place.resize(place.len().max(at + bytes.len()), (0, 0));
        place[at..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = (byte, to.1 + 1));
    }

    fn lost(&mut self, _: Peer) {
        self.lost = true;
    }

    fn returned(&mut self, ticket: u32, taken: u64) {
        self.returned.push((ticket, taken));
    }
}

fn content(message: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + message * 31 + at / 251) as u8).collect()
}

fn header(message: usize, at: usize) -> Header {
    Header { kind: DATA, aux: 0, a: message as u32, b: at as u32 }
}

impl Rank {
    /// Begins to send a message. Returns whether its memory was lent.
    fn send(&mut self, len: usize) -> bool {
        let message = self.sending.len();
        let bytes = content(message, len);
        // Lent memory is never freed.
        let mem = UserMem::of_slice(bytes.clone().leak());
        let lent = self.port.lend(self.to, header(message, 0), mem, message.is_multiple_of(2), message as u32);
        self.sending.push(Sending { bytes, at: 0, lent });
        lent
    }

    /// Continues the messages that are sent in pieces, and receives.
    fn turn(&mut self) {
        self.port.poll(&mut self.got);
        for (ticket, taken) in self.got.returned.drain(..) {
            let sending = &mut self.sending[ticket as usize];
            assert!(std::mem::replace(&mut sending.lent, false), "message {ticket} came back twice");
            sending.at = taken as usize;
        }
        for (message, sending) in self.sending.iter_mut().enumerate().filter(|(_, sending)| !sending.lent) {
            let piece = self.port.piece(self.to, sending.bytes.len()).unwrap_or(1_000);
            while sending.at < sending.bytes.len() {
                let len = piece.min(sending.bytes.len() - sending.at);
                let source = Source::Mem(UserMem::of_slice(&mut sending.bytes[sending.at..][..len]));
                let head = header(message, sending.at);
                if self.port.send_piece(self.to, head, &[], source, message.is_multiple_of(2)).is_err() {
                    break;
                }
                sending.at += len;
            }
        }
        self.port.push();
    }

    fn has_sent(&self) -> bool {
        self.sending.iter().all(|sending| !sending.lent && sending.at == sending.bytes.len())
    }

    /// Returns whether all of the other's messages have arrived.
    fn has_all_of(&self, other: &Rank) -> bool {
        let whole = |(message, sent): (usize, &Sending)| {
            let came = self.got.messages.get(message);
            came.is_some_and(|came| came.len() == sent.bytes.len() && came.iter().all(|&(_, times)| times > 0))
        };
        other.sending.iter().enumerate().all(whole)
    }

    fn check(&self, other: &Rank) {
        for (message, (came, sent)) in self.got.messages.iter().zip(&other.sending).enumerate() {
            assert!(came.iter().all(|&(_, times)| times == 1), "bytes of message {message} came twice");
            assert!(came.iter().map(|&(byte, _)| byte).eq(sent.bytes.iter().copied()), "message {message} differs");
        }
    }
}

/// Makes two ranks, on a lane.
fn ranks(between: &Arc<Between>, lane: u8) -> [Rank; 2] {
    ranks_of(pair(between, false), lane)
}

fn ranks_of(devices: Vec<EtherDevice>, lane: u8) -> [Rank; 2] {
    let mut devices = devices.into_iter();
    [0, 1].map(|rank| {
        let device = devices.next().unwrap();
        let port = device.port(Lane(lane));
        Rank { device, port, to: Peer(1 - rank), lane, sending: Vec::new(), got: Got::default() }
    })
}

/// Sends messages until one is lent: paths for bulk are tried first, and a connection is opened.
fn warm_up(ranks: &mut [Rank; 2], from: usize) {
    for _ in 0..200 {
        if ranks[from].send(LONG) {
            return finish(ranks);
        }
        finish(ranks);
    }
    panic!("nothing was lent");
}

fn finish(ranks: &mut [Rank; 2]) {
    loop {
        ranks.iter_mut().for_each(Rank::turn);
        let [one, two] = &*ranks;
        if one.has_sent() && two.has_sent() && one.has_all_of(two) && two.has_all_of(one) {
            one.check(two);
            return two.check(one);
        }
    }
}

/// Sends messages of these lengths. Returns how many were lent.
fn lend(rank: &mut Rank, lengths: impl Iterator<Item = usize>) -> usize {
    lengths.filter(|&len| rank.send(len)).count()
}

#[test]
fn long_messages_pass_both_ways_at_once() {
    let mut ranks = ranks(&Arc::default(), 0);
    warm_up(&mut ranks, 0);
    warm_up(&mut ranks, 1);
    let mut lent = 0;
    for round in 0..20 {
        for rank in &mut ranks {
            lent += lend(rank, (0..5).map(|nth| 65_537 + 70_001 * (nth * nth * round % 17)));
        }
        finish(&mut ranks);
    }
    assert!(lent > 100, "only {lent} of 200 were lent");
    // Flush each rank, even if it is quiet.
    while ranks.iter().filter(|rank| !rank.device.flush()).count() > 0 {}
}

/// P37
#[test]
fn a_connection_that_is_cut_anywhere_loses_and_doubles_nothing() {
    let between = Arc::<Between>::default();
    for after in [0, 1, 39, 40, 41, 70_000, LONG + 39, LONG + 40, LONG + 41, 2 * LONG + 17] {
        let mut ranks = ranks(&between, 0);
        between.fates.lock().unwrap().push(Fate::Cut { after: LONG + 40 + after });
        let met = *between.met.lock().unwrap();
        warm_up(&mut ranks, 0);
        let lent = lend(&mut ranks[0], [LONG; 4].into_iter());
        finish(&mut ranks);
        assert!(lent > 0 && *between.met.lock().unwrap() == met + 1, "after {after}: {lent} were lent");
    }
}

/// P37: bytes that TCP has acknowledged need not have reached the peer.
#[test]
fn a_connection_that_keeps_what_it_took_is_given_up() {
    let between = Arc::<Between>::default();
    between.fates.lock().unwrap().push(Fate::Kept { after: LONG + 40 + 100_000 });
    let mut ranks = ranks(&between, 0);
    warm_up(&mut ranks, 0);
    assert!(lend(&mut ranks[0], [LONG; 3].into_iter()) > 0);
    finish(&mut ranks);
    assert!(*between.met.lock().unwrap() > 0);
}

/// P37: a front that is not the peer's ends the connection, and is counted by its receiver.
#[test]
fn a_forged_front_is_refused() {
    let between = Arc::<Between>::default();
    for at in [0, 3, 17, 39] {
        between.fates.lock().unwrap().push(Fate::Forged { at: LONG + 40 + at });
        let mut ranks = ranks(&between, 0);
        warm_up(&mut ranks, 0);
        assert!(lend(&mut ranks[0], [LONG; 2].into_iter()) > 0);
        finish(&mut ranks);
    }
    assert_eq!(*between.met.lock().unwrap(), 4);
}

/// P32, P6: a length that was changed ends its connection, and the next one continues; all other changed frames are
/// dropped and retransmitted.
#[test]
fn streams_of_frames_in_which_any_bit_may_differ_carry_all() {
    let between = Arc::<Between>::default();
    let mut ranks = ranks_of(pair(&between, true), 0);
    ranks[0].send(LONG);
    finish(&mut ranks);
    let opened = between.called.load(Relaxed);
    between.spoils.store(20_000, Relaxed);
    let mut sent = 0;
    // Short messages: lengths are a greater part of their bytes.
    while between.called.load(Relaxed) < opened + 3 {
        for _ in 0..50 {
            ranks[0].send(1 + sent % 300);
            sent += 1;
        }
        finish(&mut ranks);
    }
    between.spoils.store(0, Relaxed);
    ranks[1].send(LONG);
    finish(&mut ranks);
}

/// P36: payload that must have a CRC goes by link.
#[test]
fn payload_that_is_to_be_checked_goes_by_no_direct_connection() {
    let mut ranks = ranks_of(pair(&Arc::default(), true), 0);
    for _ in 0..60 {
        assert!(!ranks[0].send(LONG), "it was lent");
        finish(&mut ranks);
    }
}

/// Returns the address of a rank's own port, past the proxy.
fn listener(rank: &EtherDevice) -> SocketAddr {
    let card = Card::decode(&rank.card()).unwrap();
    let Address::Tcp(to) = card.ends()[0].address else { unreachable!("there is TCP alone") };
    to
}

/// Returns the greeting of rank 0 to rank 1 for its direct connection `number`.
fn greeting(number: u32) -> [u8; GREETING] {
    let from = PortOf { rank: 0, place: 0 };
    Greeting { carries: Carries::Messages, from, number }.written(PortOf { rank: 1, place: 0 }, &Key::new(SECRET))
}

/// P36
#[test]
fn a_forged_greeting_is_refused() {
    let ranks = pair(&Arc::default(), false);
    let mut forged = greeting(1);
    forged[GREETING - 1] ^= 1;
    let mut caller = TcpStream::connect(listener(&ranks[1])).unwrap();
    caller.write_all(&forged).unwrap();
    for _ in 0..1_000 {
        ranks[1].port(Lane(0)).poll(&mut Got::default());
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
    warm_up(&mut ranks, 0);
    let to = listener(&ranks[1].device);
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let mut lent = 0;
    for _ in 0..25 {
        let mut again: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(to).unwrap()).collect();
        again.iter_mut().for_each(|caller| caller.write_all(&greeting(1)).unwrap());
        lent += lend(&mut ranks[0], [LONG].into_iter());
        finish(&mut ranks);
    }
    assert_eq!(lent, 25, "the connection was ended by what was recorded");
    // Other tests of this program have connections too.
    assert!(open_files() < before + 200, "{} descriptors", open_files());
}

/// A message for a lane that is not polled waits there, and continues when that lane is polled.
#[test]
fn messages_of_a_lane_that_is_not_polled_wait_for_it() {
    let mut ranks = ranks(&Arc::default(), 1);
    warm_up(&mut ranks, 0);
    assert_eq!(lend(&mut ranks[0], [LONG; 3].into_iter()), 3);
    let mut other = ranks[1].device.port(Lane(0));
    let mut none = Got::default();
    while !ranks[0].has_sent() {
        ranks[0].turn();
        other.poll(&mut none);
    }
    assert!(none.messages.is_empty() && ranks[1].lane == 1);
    finish(&mut ranks);
}

/// A peer that has ended gets nothing, and memory lent for it is returned by the report of its end alone.
#[test]
fn a_peer_that_is_gone_takes_nothing_back() {
    let lives = Lives::private(2);
    let mut ranks = ranks_of(mortal(&Arc::default(), false, &lives), 0);
    warm_up(&mut ranks, 0);
    assert_eq!(lend(&mut ranks[0], [20 * LONG].into_iter()), 1);
    lives.note(Peer(1), Ending::Failed);
    while !ranks[0].got.lost {
        let Rank { port, got, .. } = &mut ranks[0];
        port.poll(got);
    }
    assert!(ranks[0].got.returned.is_empty() && ranks[0].device.flush());
    let bytes = UserMem::of_slice(content(0, LONG).leak());
    assert!(!ranks[0].port.lend(Peer(1), header(0, 0), bytes, true, 0));
}
