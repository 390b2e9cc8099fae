//! Tests of promises about memory of a peer: abilities, writes, reads, atomics, flush, keys, and peers that die.
//!
//! The peer takes part by `Device::flush` alone: its user uses no lane for these operations. Each case follows the
//! registration's capabilities; operations that it lacks must be refused. Used by the devices' tests.

use super::endpoints::{Endpoint, Form, Net, Record};
use crate::port::Delivery;
use crate::remote::{Atomic, Bytes, Capabilities, Fault, Registration, RemoteKey, Taken, Ticket, Update, Width};
use crate::{Device, Header, Payload, Port, Protocol, Refusal};
use hawser_base::{Peer, SharedMem, UserMem};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Makes zeroed memory of the given length that the device of a rank can register, and that is never freed; it is
/// aligned for words of eight bytes.
pub type Memory = Box<dyn Fn(usize, usize) -> UserMem<'static> + Send + Sync>;

/// The length of the tested memory, in bytes: more than any device moves at once.
const ROOM: usize = 400_000;

/// Tests any device, whatever its capabilities. `make` returns a fresh net of one device that reaches itself, or of
/// several, and the maker of their memory.
pub fn all(make: impl Fn() -> (Net, Memory)) {
    let (net, memory) = make();
    what_a_device_cannot_do_it_refuses(&net, memory(net.last(), 64));
    if net.devices[net.last()].register(memory(net.last(), 64)).is_none() {
        return;
    }
    let cases: [fn(&Ground); 9] = [
        a_registration_can_do_no_more_than_its_device,
        writes_of_every_length_arrive_whole_and_nowhere_else,
        reads_of_every_length_come_whole,
        atomics_find_and_leave_what_they_say,
        atomics_of_many_are_not_lost,
        nothing_outside_is_reached,
        a_key_ends_with_its_registration,
        what_has_ended_is_seen_behind_a_later_packet,
        a_flush_ends_behind_all_that_was_begun,
    ];
    for case in cases {
        case(&Ground::new(make()));
    }
    tickets_end_once_and_what_is_full_works_again(&Ground::new(make()));
}

/// Returns memory that no peer can map, for devices that do not need mappable memory.
pub fn words(len: usize) -> UserMem<'static> {
    let words: &'static mut [u64] = vec![0; len.div_ceil(8)].leak();
    UserMem::of_words(words).slice(0, len)
}

/// A net whose last rank has registered memory.
struct Ground {
    net: Net,
    make_memory: Memory,
    mem: UserMem<'static>,
    registration: Registration,
}

impl Ground {
    fn new((net, make_memory): (Net, Memory)) -> Ground {
        let mem = make_memory(net.last(), ROOM);
        let registration = net.devices[net.last()].register(mem).expect("the device registers memory");
        Ground { net, make_memory, mem, registration }
    }

    fn can(&self) -> Capabilities {
        self.registration.capabilities()
    }

    fn near(&self, lane: u8) -> Near {
        Near::new(&self.net, lane, self.registration.key())
    }

    /// Returns the contents of the registered memory.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; ROOM];
        self.mem.read(&mut bytes);
        bytes
    }
}

/// The operations and packets that a port has reported.
#[derive(Default)]
struct Ended {
    record: Record,
    all: Vec<(u32, Result<u64, Fault>)>,
}

impl Delivery for Ended {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        self.record.deliver(from, header, payload);
    }

    fn lost(&mut self, peer: Peer) {
        self.record.lost(peer);
    }

    fn done(&mut self, ticket: Ticket, outcome: Result<u64, Fault>) {
        assert!(self.record.lost.is_empty(), "operations with a peer end before its loss is reported");
        assert_eq!(ticket.protocol, PROTOCOL, "a ticket comes back as it was given");
        assert!(self.all.iter().all(|&(number, _)| number != ticket.number), "{ticket:?} ends once");
        assert_ne!(outcome, Err(Fault::Full), "what was taken is not full");
        self.all.push((ticket.number, outcome));
    }
}

const PROTOCOL: Protocol = Protocol::new(9);

/// The end that accesses another one's memory.
struct Near {
    end: Endpoint,
    ended: Ended,
    far: Arc<dyn Device>,
    to: Peer,
    key: RemoteKey,
    next: u32,
}

impl Near {
    fn new(net: &Net, lane: u8, key: RemoteKey) -> Near {
        let far = net.devices[net.last()].clone();
        Near { end: net.endpoint(0, lane), ended: Ended::default(), far, to: Peer(net.last() as u32), key, next: 0 }
    }

    /// Lets the peer's device work without a lane of its user, and polls this one's lane.
    fn turn(&mut self) {
        self.far.flush();
        self.end.port.poll(&mut self.ended);
    }

    /// Begins an operation as soon as there is room. Returns its number.
    fn begin(
        &mut self,
        mut call: impl FnMut(&mut dyn Port, Peer, &RemoteKey, Ticket) -> Result<Taken, Fault>,
    ) -> Result<(u32, Taken), Fault> {
        self.next += 1;
        let ticket = Ticket { protocol: PROTOCOL, number: self.next };
        let start = Instant::now();
        loop {
            match call(&mut *self.end.port, self.to, &self.key, ticket) {
                Err(Fault::Full) => self.turn(),
                taken => return taken.map(|taken| (self.next, taken)),
            }
            assert!(start.elapsed().as_secs() < 60, "there is room after a minute");
        }
    }

    fn outcome(&self, number: u32) -> Option<Result<u64, Fault>> {
        self.ended.all.iter().find(|ended| ended.0 == number).map(|ended| ended.1)
    }

    /// Waits for the end of an operation.
    fn end(&mut self, begun: Result<(u32, Taken), Fault>) -> Result<u64, Fault> {
        let (number, taken) = begun?;
        if let Taken::Done(found) = taken {
            return Ok(found);
        }
        let start = Instant::now();
        while self.outcome(number).is_none() {
            self.turn();
            assert!(start.elapsed().as_secs() < 60, "an operation ends within a minute");
        }
        self.outcome(number).expect("it has ended")
    }

    fn write(&mut self, at: u64, bytes: &'static mut [u8]) -> Result<u64, Fault> {
        let mem = UserMem::of_slice(bytes);
        let begun = self.begin(|port, to, key, ticket| port.write(to, key, at, Bytes::Lent(mem), ticket));
        self.end(begun)
    }

    /// Same as `write`, with a packed source.
    fn write_packed(&mut self, at: u64, bytes: &[u8]) -> Result<u64, Fault> {
        let mut packed = 0;
        let begun = self.begin(|port, to, key, ticket| {
            let mut pack = |piece: SharedMem| {
                piece.write(&bytes[packed..packed + piece.len()]);
                packed += piece.len();
            };
            port.write(to, key, at, Bytes::Pack { len: bytes.len(), pack: &mut pack }, ticket)
        });
        assert_eq!(packed, if begun.is_ok() { bytes.len() } else { 0 }, "all of a taken write is packed, else nothing");
        self.end(begun)
    }

    fn read(&mut self, at: u64, len: usize) -> Result<Vec<u8>, Fault> {
        let into = words(len + 16);
        into.write(&vec![0xEE; len + 16]);
        let mem = into.slice(8, len);
        let begun = self.begin(|port, to, key, ticket| port.read(to, key, at, mem, ticket));
        let end = self.end(begun);
        let mut bytes = vec![0; len + 16];
        into.read(&mut bytes);
        assert!(bytes[..8] == [0xEE; 8] && bytes[8 + len..] == [0xEE; 8], "nothing is written beside what is read");
        end.map(|_| bytes[8..8 + len].to_vec())
    }

    fn atomic(&mut self, at: u64, atomic: Atomic) -> Result<u64, Fault> {
        let begun = self.begin(|port, to, key, ticket| port.atomic(to, key, at, atomic, ticket));
        self.end(begun)
    }

    fn flush(&mut self) -> Result<u64, Fault> {
        let begun = self.begin(|port, to, _, ticket| port.flush(to, ticket));
        self.end(begun)
    }
}

fn bytes(seed: u32, len: usize) -> Vec<u8> {
    super::endpoints::payload(seed, len)
}

/// Lengths that a device may treat in different ways, as far as it supports them.
fn lengths(most: usize) -> impl Iterator<Item = usize> {
    let all = [0, 1, 3, 8, 64, 100, 1000, 1400, 1473, 4096, 8192, 10_001, 16_384, 61_441, 100_000, 300_007];
    all.into_iter().filter(move |&len| most > 0 && len <= most)
}

const UPDATES: [Update; 6] = [
    Update::Add,
    Update::And,
    Update::Or,
    Update::Xor,
    Update::Swap,
    Update::CompareSwap { expected: 0x1122_3344_5566_7788 },
];

/// Checks refusals by the capabilities of the device, or by those of the registration.
fn refuses(near: &mut Near, can: Capabilities) {
    let lent = Bytes::Lent(words(8));
    let ticket = Ticket { protocol: PROTOCOL, number: u32::MAX };
    let (to, key) = (near.to, near.key);
    let port = &mut *near.end.port;
    if can.write == 0 {
        assert_eq!(port.write(to, &key, 0, lent, ticket), Err(Fault::Unsupported), "writes");
    }
    if can.packed == 0 {
        let pack = &mut |_: SharedMem| panic!("nothing is packed of what is refused");
        assert_eq!(port.write(to, &key, 0, Bytes::Pack { len: 8, pack }, ticket), Err(Fault::Unsupported), "packed");
    }
    if can.read == 0 {
        assert_eq!(port.read(to, &key, 0, words(8), ticket), Err(Fault::Unsupported), "reads");
    }
    for (width, update) in [Width::Four, Width::Eight].into_iter().flat_map(|w| UPDATES.map(|update| (w, update))) {
        if !can.atomics(width).has(update) {
            let atomic = Atomic { update, width, operand: 1 };
            assert_eq!(port.atomic(to, &key, 0, atomic, ticket), Err(Fault::Unsupported), "{atomic:?}");
        }
    }
}

fn what_a_device_cannot_do_it_refuses(net: &Net, mem: UserMem<'static>) {
    let can = net.devices[net.last()].capabilities();
    let registration = net.devices[net.last()].register(mem);
    if can == Capabilities::NONE {
        assert!(registration.is_none(), "what peers can do nothing with is not registered");
    }
    let key = registration.as_ref().map_or(RemoteKey([1, 0, 64]), Registration::key);
    let mut near = Near::new(net, 0, key);
    refuses(&mut near, can);
    assert_eq!(near.flush(), Ok(0), "there is nothing to flush");
}

fn a_registration_can_do_no_more_than_its_device(ground: &Ground) {
    let (all, can) = (ground.net.devices[ground.net.last()].capabilities(), ground.can());
    assert!(can.write <= all.write && can.packed <= all.packed && can.read <= all.read);
    assert!(can.atomics_4.is_within(all.atomics_4) && can.atomics_8.is_within(all.atomics_8));
    assert!(all.alignment > 0 && can.alignment == all.alignment);
    let mut near = ground.near(0);
    refuses(&mut near, can);
    let more = |most: usize| (1..ROOM).contains(&most).then(|| most + 1);
    if let Some(len) = more(can.write) {
        assert_eq!(near.write(0, vec![7; len].leak()), Err(Fault::Unsupported), "a write of {len} bytes");
    }
    if let Some(len) = more(can.packed) {
        assert_eq!(near.write_packed(0, &vec![7; len]), Err(Fault::Unsupported), "a packed write of {len} bytes");
    }
    if let Some(len) = more(can.read) {
        assert_eq!(near.read(0, len), Err(Fault::Unsupported), "a read of {len} bytes");
    }
    assert!(ground.bytes().iter().all(|&byte| byte == 0), "nothing was written");
}

fn writes_of_every_length_arrive_whole_and_nowhere_else(ground: &Ground) {
    let (mut near, mut due) = (ground.near(0), vec![0; ROOM]);
    let mut seed = 0;
    for (most, is_packed) in [(ground.can().write, false), (ground.can().packed, true)] {
        for len in lengths(most) {
            for at in [0, 4096 - 1, ROOM - len] {
                let at = at / ground.can().alignment * ground.can().alignment;
                seed += 1;
                let mut sent = bytes(seed, len);
                due[at..at + len].copy_from_slice(&sent);
                let end = match is_packed {
                    true => near.write_packed(at as u64, &sent),
                    false => near.write(at as u64, std::mem::take(&mut sent).leak()),
                };
                assert_eq!(end, Ok(0), "{len} bytes at {at}");
                assert!(ground.bytes() == due, "{len} bytes at {at}, packed {is_packed}, and nothing else");
            }
        }
    }
}

fn reads_of_every_length_come_whole(ground: &Ground) {
    let (mut near, all) = (ground.near(0), bytes(3, ROOM));
    ground.mem.write(&all);
    for len in lengths(ground.can().read) {
        for at in [0, 4096 - 1, ROOM - len] {
            let at = at / ground.can().alignment * ground.can().alignment;
            let read = near.read(at as u64, len).expect("a read that is possible ends well");
            assert!(read == all[at..at + len], "{len} bytes from {at}");
        }
    }
}

fn atomics_find_and_leave_what_they_say(ground: &Ground) {
    let mut near = ground.near(0);
    for (width, at) in [(Width::Four, 12), (Width::Eight, 4096)] {
        let mask = if width == Width::Four { u64::from(u32::MAX) } else { u64::MAX };
        let standing = || {
            let mut word = [0; 8];
            ground.mem.slice(at, width.bytes()).read(&mut word[..width.bytes()]);
            u64::from_le_bytes(word)
        };
        let (before, operand) = (0x1122_3344_5566_7788_u64 & mask, 0xF0F0_0F0F_F00F_0FF0_u64 & mask);
        for update in UPDATES.into_iter().filter(|&update| ground.can().atomics(width).has(update)) {
            let after = match update {
                Update::Add => before.wrapping_add(operand) & mask,
                Update::And => before & operand,
                Update::Or => before | operand,
                Update::Xor => before ^ operand,
                Update::Swap | Update::CompareSwap { .. } => operand,
            };
            ground.mem.slice(at, 8).write(&before.to_le_bytes());
            let beside = ground.bytes();
            let atomic = Atomic { update, width, operand };
            assert_eq!(near.atomic(at as u64, atomic), Ok(before), "{atomic:?} says what was found");
            assert_eq!(standing(), after, "{atomic:?}");
            let mut now = ground.bytes();
            now[at..at + width.bytes()].copy_from_slice(&beside[at..at + width.bytes()]);
            assert!(now == beside, "{atomic:?} changes nothing else");
            let (askew, fault) = (at as u64 + 1, Err(Fault::Unsupported));
            assert_eq!(near.atomic(askew, atomic), fault, "a word is where a multiple of its width is");
            if let Update::CompareSwap { .. } = update {
                assert_eq!(near.atomic(at as u64, atomic), Ok(operand), "it finds something else");
                assert_eq!(standing(), operand, "and leaves it");
            }
        }
    }
}

fn atomics_of_many_are_not_lost(ground: &Ground) {
    let add = Atomic { update: Update::Add, width: Width::Eight, operand: 1 };
    if !ground.can().atomics(Width::Eight).has(Update::Add) {
        return;
    }
    thread::scope(|scope| {
        for lane in 0..3 {
            let mut near = ground.near(lane);
            scope.spawn(move || {
                let mut last = None;
                for _ in 0..500 {
                    let found = near.atomic(8, add).expect("an addition");
                    assert!(last.is_none_or(|last| found > last), "each finds more than the last of its own");
                    last = Some(found);
                }
            });
        }
        // The owner's own instructions take part.
        let word = ground.mem.u64(8).expect("a word");
        (0..500).for_each(|_| _ = add.update_u64(word));
    });
    assert_eq!(ground.bytes()[8..16], 2000_u64.to_le_bytes());
}

fn nothing_outside_is_reached(ground: &Ground) {
    let (can, room) = (ground.can(), ROOM as u64);
    let mut near = ground.near(0);
    let step = can.alignment.max(8) as u64;
    for at in [room - step + 1, room, room + 1, u64::MAX - step + 1, u64::MAX].map(|at| at / step * step) {
        let len = 2 * step as usize;
        if can.write >= len {
            assert_eq!(near.write(at, vec![7; len].leak()), Err(Fault::Range), "write at {at}");
        }
        if can.packed >= len {
            assert_eq!(near.write_packed(at, &vec![7; len]), Err(Fault::Range), "packed write at {at}");
        }
        if can.read >= len {
            assert_eq!(near.read(at, len), Err(Fault::Range), "read at {at}");
        }
    }
    for at in [room, u64::MAX - 7] {
        for width in [Width::Four, Width::Eight].into_iter().filter(|&width| can.atomics(width).has(Update::Add)) {
            let atomic = Atomic { update: Update::Add, width, operand: 1 };
            assert_eq!(near.atomic(at, atomic), Err(Fault::Range), "{atomic:?} at {at}");
        }
    }
    assert!(ground.bytes().iter().all(|&byte| byte == 0), "nothing was written");
}

fn a_key_ends_with_its_registration(ground: &Ground) {
    let (far, can) = (&ground.net.devices[ground.net.last()], ground.can());
    let mem = (ground.make_memory)(ground.net.last(), 4096);
    let mut standing = vec![0; 4096];
    let register = || far.register(mem).expect("the device registers memory");
    let old = register();
    let key = old.key();
    assert_eq!(RemoteKey::from_bytes(&key.to_bytes()), key);
    let mut near = Near::new(&ground.net, 0, key);
    let mut work = |near: &mut Near, expected: Result<u64, Fault>| {
        let step = can.alignment.max(8);
        if can.write >= step {
            assert_eq!(near.write(0, vec![near.next as u8; step].leak()), expected, "write");
            if expected.is_ok() {
                standing[..step].fill(near.next as u8 - 1);
            }
        }
        if can.packed >= step {
            assert_eq!(near.write_packed(0, &vec![1; step]), expected, "packed write");
            if expected.is_ok() {
                standing[..step].fill(1);
            }
        }
        if can.read >= step {
            assert_eq!(near.read(0, step).map(|_| 0), expected, "read");
        }
        if can.atomics_8.has(Update::Or) {
            let nothing = Atomic { update: Update::Or, width: Width::Eight, operand: 0 };
            assert_eq!(near.atomic(0, nothing).map(|_| 0), expected, "atomic");
        }
        let mut bytes = vec![0; 4096];
        mem.read(&mut bytes);
        assert!(bytes == standing, "by an old key nothing is written");
    };
    work(&mut near, Ok(0));
    drop(old);
    work(&mut near, Err(Fault::Stale));
    let new = register();
    work(&mut near, Err(Fault::Stale));
    near.key = new.key();
    work(&mut near, Ok(0));
    if ground.net.last() != 0 {
        let own = ground.net.devices[0].register((ground.make_memory)(0, 4096)).expect("the device registers memory");
        near.key = own.key();
        work(&mut near, Err(Fault::Stale));
    }
}

fn what_has_ended_is_seen_behind_a_later_packet(ground: &Ground) {
    let (mut near, to) = (ground.near(0), ground.net.last());
    let far = (to != 0).then(|| ground.net.endpoint(to, 0));
    let most = ground.can().write.min(30_000);
    if most == 0 {
        return;
    }
    thread::scope(|scope| {
        let hear = move |mut far: Endpoint| {
            for seed in 1..50 {
                let mut record = Record::default();
                far.poll_until(&mut record, |record| !record.arrived.is_empty(), "a packet behind a write");
                assert_eq!(record.arrived[0].1, seed);
                assert!(ground.bytes()[..most] == bytes(seed, most), "the packet tells of what was written");
                while far.send(0, seed, 8, 0, Form::Mem) == Err(Refusal::Full) {
                    far.port.poll(&mut Record::default());
                }
            }
            ground.net.settle();
        };
        let is_apart = far.is_some();
        far.map(|far| scope.spawn(move || hear(far)));
        for seed in 1..50 {
            assert_eq!(near.write(0, bytes(seed, most).leak()), Ok(0));
            while near.end.send(to, seed, 8, 0, Form::Mem) == Err(Refusal::Full) {
                near.turn();
            }
            let start = Instant::now();
            while near.ended.record.arrived.len() < seed as usize {
                near.end.device.flush();
                near.end.port.poll(&mut near.ended);
                assert!(start.elapsed().as_secs() < 60, "an answer within a minute");
            }
            assert!(is_apart || ground.bytes()[..most] == bytes(seed, most));
        }
        ground.net.settle();
    });
}

fn a_flush_ends_behind_all_that_was_begun(ground: &Ground) {
    let (mut near, mut other) = (ground.near(0), ground.near(1));
    let piece = ground.can().write.min(5000);
    if piece == 0 {
        return;
    }
    let mut due = vec![0; ROOM];
    for round in 0..5 {
        let mut numbers = Vec::new();
        for at in (0..20).map(|i| i * piece) {
            let sent = bytes(round * 100 + at as u32, piece);
            due[at..at + piece].copy_from_slice(&sent);
            let mem = UserMem::of_slice(sent.leak());
            let write = |port: &mut dyn Port, to, key: &RemoteKey, ticket| {
                port.write(to, key, at as u64, Bytes::Lent(mem), ticket)
            };
            let (number, taken) = near.begin(write).expect("a write");
            numbers.extend((taken == Taken::InFlight).then_some(number));
        }
        assert_eq!(other.flush(), Ok(0), "another lane has begun nothing");
        assert_eq!(near.flush(), Ok(0));
        assert!(numbers.iter().all(|&number| near.outcome(number) == Some(Ok(0))), "all have ended before the flush");
        assert!(ground.bytes() == due, "and what they wrote is there");
        near.ended.all.clear();
    }
}

fn tickets_end_once_and_what_is_full_works_again(ground: &Ground) {
    let (can, mut near) = (ground.can(), ground.near(0));
    if can.in_flight == 0 {
        return;
    }
    for _ in 0..3 {
        near.ended.all.clear();
        let mut taken = 0;
        let (to, key) = (near.to, near.key);
        loop {
            near.next += 1;
            let ticket = Ticket { protocol: PROTOCOL, number: near.next };
            let begun = match taken % 2 == 0 && can.write > 0 {
                true => near.end.port.write(to, &key, 64, Bytes::Lent(words(2000.min(can.write))), ticket),
                false => near.end.port.read(to, &key, 64, words(2000.min(can.read)), ticket),
            };
            match begun {
                Ok(how) => assert_eq!(how, Taken::InFlight),
                Err(fault) => break assert_eq!(fault, Fault::Full),
            }
            taken += 1;
            assert!(taken <= can.in_flight, "no more are in flight than is told");
        }
        let start = Instant::now();
        while near.ended.all.len() < taken {
            near.turn();
            assert!(start.elapsed().as_secs() < 60, "{} of {taken} have ended", near.ended.all.len());
        }
        assert!(taken > 0 && near.ended.all.iter().all(|ended| ended.1 == Ok(0)));
    }
    (0..10).for_each(|_| near.turn());
    ground.net.settle();
}

/// A peer dies with operations on its memory in flight: each ends, the incomplete ones with `Lost`, and then its loss
/// is reported. Later ones are refused. The net has three ranks.
pub fn a_peer_dies_with_operations_in_flight(make: impl Fn() -> (Net, Memory)) {
    for turns in 0..4 {
        let ground = Ground::new(make());
        let (mut near, can) = (ground.near(0), ground.can());
        let mut numbers = Vec::new();
        for _ in 0..8 {
            let (write, read) = (words(100_000), words(100_000));
            let begun = near.begin(|port, to, key, ticket| port.write(to, key, 0, Bytes::Lent(write), ticket));
            numbers.push(begun.expect("a write"));
            let begun = near.begin(|port, to, key, ticket| port.read(to, key, 0, read, ticket));
            numbers.push(begun.expect("a read"));
        }
        (0..turns).for_each(|_| near.turn());
        let flush = near.begin(|port, to, _, ticket| port.flush(to, ticket)).expect("a flush");
        (ground.net.kill)(ground.net.last());
        let start = Instant::now();
        while near.ended.record.lost.is_empty() {
            near.end.port.poll(&mut near.ended);
            assert!(start.elapsed().as_secs() < 60, "a death is reported");
        }
        for (number, taken) in numbers {
            let outcome = near.outcome(number);
            let is_told = matches!(outcome, Some(Ok(0) | Err(Fault::Lost)));
            assert_eq!(is_told, taken == Taken::InFlight, "{number} {outcome:?}");
        }
        assert_eq!(near.outcome(flush.0).is_some(), flush.1 == Taken::InFlight);
        for _ in 0..3 {
            assert_eq!(near.write(0, vec![1; 8].leak()), Err(Fault::Lost));
            assert_eq!(near.read(0, 8), Err(Fault::Lost));
            if can.atomics_8.has(Update::Add) {
                let add = Atomic { update: Update::Add, width: Width::Eight, operand: 1 };
                assert_eq!(near.atomic(0, add), Err(Fault::Lost));
            }
            near.end.port.poll(&mut near.ended);
        }
        assert_eq!(near.ended.record.lost, [ground.net.last()], "once");
    }
}
