//! Tests of promises about memory of a peer: abilities, writes, reads, atomics, flush, keys, and peers that die.
//!
//! The peer's part in an operation is only that its device is flushed (`Device::flush`); its user polls no lane. Each
//! test uses the operations that the registration's capabilities name; all other operations must be refused. Used by
//! the devices' tests.

use super::endpoints::{PayloadForm, ReceivedLog, TestEndpoint, TestNet};
use crate::port::Delivery;
use crate::remote::{
    AtomicOp, AtomicRequest, Capabilities, CompletionToken, Registration, RemoteError, RemoteKey, Submitted, Width,
    WriteSource,
};
use crate::{Device, DevicePort, Header, Payload, Protocol, SendError};
use hawser_base::{Peer, SharedMem, UserMem};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// A function of a rank and a length in bytes. It returns zeroed memory of that length that the rank's device can
/// register. The memory is aligned for words of eight bytes, and never freed.
pub type MakeMemory = Box<dyn Fn(usize, usize) -> UserMem<'static> + Send + Sync>;

/// The length of the tested memory, in bytes: more than any device that carries operations by packets moves at once.
const MEM_BYTES: usize = 400_000;

/// Tests any device, whatever its capabilities. `make` returns a fresh net of one device that reaches itself, or of
/// several, and the maker of their memory.
pub fn all(make: impl Fn() -> (TestNet, MakeMemory)) {
    let (net, memory) = make();
    what_a_device_cannot_do_it_refuses(&net, memory(net.last(), 64));
    if net.devices[net.last()].register(memory(net.last(), 64)).is_none() {
        return;
    }
    let cases: [fn(&RegisteredNet); 9] = [
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
        case(&RegisteredNet::new(make()));
    }
    tickets_end_once_and_what_is_full_works_again(&RegisteredNet::new(make()));
}

/// Returns memory that no peer can map, for devices that do not need mappable memory.
pub fn words(len: usize) -> UserMem<'static> {
    let words: &'static mut [u64] = vec![0; len.div_ceil(8)].leak();
    UserMem::of_words(words).slice(0, len)
}

/// A net whose last rank has registered memory.
struct RegisteredNet {
    net: TestNet,
    make_memory: MakeMemory,
    mem: UserMem<'static>,
    registration: Registration,
}

impl RegisteredNet {
    fn new((net, make_memory): (TestNet, MakeMemory)) -> RegisteredNet {
        let mem = make_memory(net.last(), MEM_BYTES);
        let registration = net.devices[net.last()].register(mem).expect("the device registers memory");
        RegisteredNet { net, make_memory, mem, registration }
    }

    fn capabilities(&self) -> Capabilities {
        self.registration.capabilities()
    }

    fn initiator(&self, lane: u8) -> Initiator {
        Initiator::new(&self.net, lane, self.registration.key())
    }

    /// Returns the contents of the registered memory.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MEM_BYTES];
        self.mem.read(&mut bytes);
        bytes
    }
}

/// The operations and packets that a port has reported.
#[derive(Default)]
struct CompletionLog {
    log: ReceivedLog,
    completions: Vec<(u32, Result<u64, RemoteError>)>,
}

impl Delivery for CompletionLog {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        self.log.deliver(from, header, payload);
    }

    fn peer_failed(&mut self, peer: Peer) {
        self.log.peer_failed(peer);
    }

    fn op_completed(&mut self, token: CompletionToken, outcome: Result<u64, RemoteError>) {
        assert!(self.log.failed.is_empty(), "operations with a peer end before its failure is reported");
        assert_eq!(token.protocol, PROTOCOL, "a token is reported as it was passed");
        assert!(self.completions.iter().all(|&(number, _)| number != token.number), "{token:?} ends once");
        assert_ne!(outcome, Err(RemoteError::Full), "what was taken is not full");
        self.completions.push((token.number, outcome));
    }
}

const PROTOCOL: Protocol = Protocol::new(9);

/// The rank that accesses the memory of the last rank, with its port.
struct Initiator {
    endpoint: TestEndpoint,
    completed: CompletionLog,
    target_device: Arc<dyn Device>,
    to: Peer,
    key: RemoteKey,
    next: u32,
}

impl Initiator {
    fn new(net: &TestNet, lane: u8, key: RemoteKey) -> Initiator {
        let target_device = net.devices[net.last()].clone();
        Initiator {
            endpoint: net.endpoint(0, lane),
            completed: CompletionLog::default(),
            target_device,
            to: Peer(net.last() as u32),
            key,
            next: 0,
        }
    }

    /// Flushes the peer's device, which needs no lane, and polls the initiator's own port.
    fn progress(&mut self) {
        self.target_device.flush();
        self.endpoint.port.poll(&mut self.completed);
    }

    /// Begins an operation as soon as there is room. Returns the operation's number, and its state when the call
    /// returned.
    fn begin(
        &mut self,
        mut call: impl FnMut(&mut dyn DevicePort, Peer, &RemoteKey, CompletionToken) -> Result<Submitted, RemoteError>,
    ) -> Result<(u32, Submitted), RemoteError> {
        self.next += 1;
        let token = CompletionToken { protocol: PROTOCOL, number: self.next };
        let start = Instant::now();
        loop {
            match call(&mut *self.endpoint.port, self.to, &self.key, token) {
                Err(RemoteError::Full) => self.progress(),
                submitted => return submitted.map(|taken| (self.next, taken)),
            }
            assert!(start.elapsed().as_secs() < 60, "there is room after a minute");
        }
    }

    fn outcome(&self, number: u32) -> Option<Result<u64, RemoteError>> {
        self.completed.completions.iter().find(|ended| ended.0 == number).map(|ended| ended.1)
    }

    /// Waits for the end of an operation, and returns its outcome.
    fn wait_for(&mut self, begun: Result<(u32, Submitted), RemoteError>) -> Result<u64, RemoteError> {
        let (number, submitted) = begun?;
        if let Submitted::Done(found) = submitted {
            return Ok(found);
        }
        let start = Instant::now();
        while self.outcome(number).is_none() {
            self.progress();
            assert!(start.elapsed().as_secs() < 60, "an operation ends within a minute");
        }
        self.outcome(number).expect("it has ended")
    }

    fn write(&mut self, at: u64, bytes: &'static mut [u8]) -> Result<u64, RemoteError> {
        let mem = UserMem::of_slice(bytes);
        let begun = self.begin(|port, to, key, token| port.write(to, key, at, WriteSource::InPlace(mem), token));
        self.wait_for(begun)
    }

    /// Same as `write`, with a packed source.
    fn write_packed(&mut self, at: u64, bytes: &[u8]) -> Result<u64, RemoteError> {
        let mut packed = 0;
        let begun = self.begin(|port, to, key, token| {
            let mut pack = |piece: SharedMem| {
                piece.write(&bytes[packed..packed + piece.len()]);
                packed += piece.len();
            };
            port.write(to, key, at, WriteSource::Pack { len: bytes.len(), pack: &mut pack }, token)
        });
        assert_eq!(packed, if begun.is_ok() { bytes.len() } else { 0 }, "all of a taken write is packed, else nothing");
        self.wait_for(begun)
    }

    fn read(&mut self, at: u64, len: usize) -> Result<Vec<u8>, RemoteError> {
        let into = words(len + 16);
        into.write(&vec![0xEE; len + 16]);
        let mem = into.slice(8, len);
        let begun = self.begin(|port, to, key, token| port.read(to, key, at, mem, token));
        let end = self.wait_for(begun);
        let mut bytes = vec![0; len + 16];
        into.read(&mut bytes);
        assert!(bytes[..8] == [0xEE; 8] && bytes[8 + len..] == [0xEE; 8], "nothing is written beside what is read");
        end.map(|_| bytes[8..8 + len].to_vec())
    }

    fn atomic(&mut self, at: u64, atomic: AtomicRequest) -> Result<u64, RemoteError> {
        let begun = self.begin(|port, to, key, token| port.atomic(to, key, at, atomic, token));
        self.wait_for(begun)
    }

    fn flush(&mut self) -> Result<u64, RemoteError> {
        let begun = self.begin(|port, to, _, token| port.flush(to, token));
        self.wait_for(begun)
    }
}

fn bytes(seed: u32, len: usize) -> Vec<u8> {
    super::endpoints::payload(seed, len)
}

/// Returns lengths that a device may treat in different ways, up to the longest length `most` that it supports.
fn lengths(most: usize) -> impl Iterator<Item = usize> {
    let all = [0, 1, 3, 8, 64, 100, 1000, 1400, 1473, 4096, 8192, 10_001, 16_384, 61_441, 100_000, 300_007];
    all.into_iter().filter(move |&len| most > 0 && len <= most)
}

const UPDATES: [AtomicOp; 6] = [
    AtomicOp::Add,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Swap,
    AtomicOp::CompareSwap { expected: 0x1122_3344_5566_7788 },
];

/// Checks that every operation that `capabilities` lacks is refused. They are the device's or the registration's.
fn refuses(initiator: &mut Initiator, capabilities: Capabilities) {
    let source = WriteSource::InPlace(words(8));
    let token = CompletionToken { protocol: PROTOCOL, number: u32::MAX };
    let (to, key) = (initiator.to, initiator.key);
    let port = &mut *initiator.endpoint.port;
    if capabilities.write == 0 {
        assert_eq!(port.write(to, &key, 0, source, token), Err(RemoteError::Unsupported), "writes");
    }
    if capabilities.packed == 0 {
        let pack = &mut |_: SharedMem| panic!("nothing is packed of what is refused");
        assert_eq!(
            port.write(to, &key, 0, WriteSource::Pack { len: 8, pack }, token),
            Err(RemoteError::Unsupported),
            "packed"
        );
    }
    if capabilities.read == 0 {
        assert_eq!(port.read(to, &key, 0, words(8), token), Err(RemoteError::Unsupported), "reads");
    }
    for (width, op) in [Width::Four, Width::Eight].into_iter().flat_map(|w| UPDATES.map(|update| (w, update))) {
        if !capabilities.atomics(width).has(op) {
            let atomic = AtomicRequest { op, width, operand: 1 };
            assert_eq!(port.atomic(to, &key, 0, atomic, token), Err(RemoteError::Unsupported), "{atomic:?}");
        }
    }
}

fn what_a_device_cannot_do_it_refuses(net: &TestNet, mem: UserMem<'static>) {
    let capabilities = net.devices[net.last()].capabilities();
    let registration = net.devices[net.last()].register(mem);
    if capabilities == Capabilities::NONE {
        assert!(registration.is_none(), "what peers can do nothing with is not registered");
    }
    let key = registration.as_ref().map_or(RemoteKey([1, 0, 64]), Registration::key);
    let mut initiator = Initiator::new(net, 0, key);
    refuses(&mut initiator, capabilities);
    assert_eq!(initiator.flush(), Ok(0), "there is nothing to flush");
}

fn a_registration_can_do_no_more_than_its_device(net: &RegisteredNet) {
    let (all, capabilities) = (net.net.devices[net.net.last()].capabilities(), net.capabilities());
    assert!(capabilities.write <= all.write && capabilities.packed <= all.packed && capabilities.read <= all.read);
    assert!(capabilities.atomics_4.is_within(all.atomics_4) && capabilities.atomics_8.is_within(all.atomics_8));
    assert!(all.alignment > 0 && capabilities.alignment == all.alignment);
    let mut initiator = net.initiator(0);
    refuses(&mut initiator, capabilities);
    let more = |most: usize| (1..MEM_BYTES).contains(&most).then(|| most + 1);
    if let Some(len) = more(capabilities.write) {
        assert_eq!(initiator.write(0, vec![7; len].leak()), Err(RemoteError::Unsupported), "a write of {len} bytes");
    }
    if let Some(len) = more(capabilities.packed) {
        assert_eq!(
            initiator.write_packed(0, &vec![7; len]),
            Err(RemoteError::Unsupported),
            "a packed write of {len} bytes"
        );
    }
    if let Some(len) = more(capabilities.read) {
        assert_eq!(initiator.read(0, len), Err(RemoteError::Unsupported), "a read of {len} bytes");
    }
    assert!(net.bytes().iter().all(|&byte| byte == 0), "nothing was written");
}

fn writes_of_every_length_arrive_whole_and_nowhere_else(net: &RegisteredNet) {
    let (mut initiator, mut expected) = (net.initiator(0), vec![0; MEM_BYTES]);
    let mut seed = 0;
    for (most, is_packed) in [(net.capabilities().write, false), (net.capabilities().packed, true)] {
        for len in lengths(most) {
            for at in [0, 4096 - 1, MEM_BYTES - len] {
                let at = at / net.capabilities().alignment * net.capabilities().alignment;
                seed += 1;
                let mut sent = bytes(seed, len);
                expected[at..at + len].copy_from_slice(&sent);
                let end = match is_packed {
                    true => initiator.write_packed(at as u64, &sent),
                    false => initiator.write(at as u64, std::mem::take(&mut sent).leak()),
                };
                assert_eq!(end, Ok(0), "{len} bytes at {at}");
                assert!(net.bytes() == expected, "{len} bytes at {at}, packed {is_packed}, and nothing else");
            }
        }
    }
}

fn reads_of_every_length_come_whole(net: &RegisteredNet) {
    let (mut initiator, all) = (net.initiator(0), bytes(3, MEM_BYTES));
    net.mem.write(&all);
    for len in lengths(net.capabilities().read) {
        for at in [0, 4096 - 1, MEM_BYTES - len] {
            let at = at / net.capabilities().alignment * net.capabilities().alignment;
            let read = initiator.read(at as u64, len).expect("a read that is possible ends well");
            assert!(read == all[at..at + len], "{len} bytes from {at}");
        }
    }
}

fn atomics_find_and_leave_what_they_say(net: &RegisteredNet) {
    let mut initiator = net.initiator(0);
    for (width, at) in [(Width::Four, 12), (Width::Eight, 4096)] {
        let mask = if width == Width::Four { u64::from(u32::MAX) } else { u64::MAX };
        let current = || {
            let mut word = [0; 8];
            net.mem.slice(at, width.bytes()).read(&mut word[..width.bytes()]);
            u64::from_le_bytes(word)
        };
        let (before, operand) = (0x1122_3344_5566_7788_u64 & mask, 0xF0F0_0F0F_F00F_0FF0_u64 & mask);
        for op in UPDATES.into_iter().filter(|&update| net.capabilities().atomics(width).has(update)) {
            let after = match op {
                AtomicOp::Add => before.wrapping_add(operand) & mask,
                AtomicOp::And => before & operand,
                AtomicOp::Or => before | operand,
                AtomicOp::Xor => before ^ operand,
                AtomicOp::Swap | AtomicOp::CompareSwap { .. } => operand,
            };
            net.mem.slice(at, 8).write(&before.to_le_bytes());
            let original = net.bytes();
            let atomic = AtomicRequest { op, width, operand };
            assert_eq!(initiator.atomic(at as u64, atomic), Ok(before), "{atomic:?} reports the value found");
            assert_eq!(current(), after, "{atomic:?}");
            let mut now = net.bytes();
            now[at..at + width.bytes()].copy_from_slice(&original[at..at + width.bytes()]);
            assert!(now == original, "{atomic:?} changes nothing else");
            let (askew, error) = (at as u64 + 1, Err(RemoteError::Unsupported));
            assert_eq!(initiator.atomic(askew, atomic), error, "a word is where a multiple of its width is");
            if let AtomicOp::CompareSwap { .. } = op {
                assert_eq!(initiator.atomic(at as u64, atomic), Ok(operand), "it finds something else");
                assert_eq!(current(), operand, "and leaves it");
            }
        }
    }
}

fn atomics_of_many_are_not_lost(net: &RegisteredNet) {
    let add = AtomicRequest { op: AtomicOp::Add, width: Width::Eight, operand: 1 };
    if !net.capabilities().atomics(Width::Eight).has(AtomicOp::Add) {
        return;
    }
    thread::scope(|scope| {
        for lane in 0..3 {
            let mut initiator = net.initiator(lane);
            scope.spawn(move || {
                let mut last = None;
                for _ in 0..500 {
                    let found = initiator.atomic(8, add).expect("an addition");
                    assert!(last.is_none_or(|last| found > last), "each finds more than the last of its own");
                    last = Some(found);
                }
            });
        }
        // The owner adds too, by its own atomic instructions.
        let word = net.mem.u64(8).expect("a word");
        (0..500).for_each(|_| _ = add.apply_u64(word));
    });
    assert_eq!(net.bytes()[8..16], 2000_u64.to_le_bytes());
}

fn nothing_outside_is_reached(net: &RegisteredNet) {
    let (capabilities, mem_bytes) = (net.capabilities(), MEM_BYTES as u64);
    let mut initiator = net.initiator(0);
    let step = capabilities.alignment.max(8) as u64;
    for at in [mem_bytes - step + 1, mem_bytes, mem_bytes + 1, u64::MAX - step + 1, u64::MAX].map(|at| at / step * step)
    {
        let len = 2 * step as usize;
        if capabilities.write >= len {
            assert_eq!(initiator.write(at, vec![7; len].leak()), Err(RemoteError::OutOfBounds), "write at {at}");
        }
        if capabilities.packed >= len {
            assert_eq!(
                initiator.write_packed(at, &vec![7; len]),
                Err(RemoteError::OutOfBounds),
                "packed write at {at}"
            );
        }
        if capabilities.read >= len {
            assert_eq!(initiator.read(at, len), Err(RemoteError::OutOfBounds), "read at {at}");
        }
    }
    for at in [mem_bytes, u64::MAX - 7] {
        for width in
            [Width::Four, Width::Eight].into_iter().filter(|&width| capabilities.atomics(width).has(AtomicOp::Add))
        {
            let atomic = AtomicRequest { op: AtomicOp::Add, width, operand: 1 };
            assert_eq!(initiator.atomic(at, atomic), Err(RemoteError::OutOfBounds), "{atomic:?} at {at}");
        }
    }
    assert!(net.bytes().iter().all(|&byte| byte == 0), "nothing was written");
}

fn a_key_ends_with_its_registration(registered: &RegisteredNet) {
    let (target_device, capabilities) = (&registered.net.devices[registered.net.last()], registered.capabilities());
    let mem = (registered.make_memory)(registered.net.last(), 4096);
    let mut expected_bytes = vec![0; 4096];
    let register = || target_device.register(mem).expect("the device registers memory");
    let old = register();
    let key = old.key();
    assert_eq!(RemoteKey::from_bytes(&key.to_bytes()), key);
    let mut initiator = Initiator::new(&registered.net, 0, key);
    let mut check_all = |initiator: &mut Initiator, expected: Result<u64, RemoteError>| {
        let step = capabilities.alignment.max(8);
        if capabilities.write >= step {
            assert_eq!(initiator.write(0, vec![initiator.next as u8; step].leak()), expected, "write");
            if expected.is_ok() {
                expected_bytes[..step].fill(initiator.next as u8 - 1);
            }
        }
        if capabilities.packed >= step {
            assert_eq!(initiator.write_packed(0, &vec![1; step]), expected, "packed write");
            if expected.is_ok() {
                expected_bytes[..step].fill(1);
            }
        }
        if capabilities.read >= step {
            assert_eq!(initiator.read(0, step).map(|_| 0), expected, "read");
        }
        if capabilities.atomics_8.has(AtomicOp::Or) {
            let nothing = AtomicRequest { op: AtomicOp::Or, width: Width::Eight, operand: 0 };
            assert_eq!(initiator.atomic(0, nothing).map(|_| 0), expected, "atomic");
        }
        let mut bytes = vec![0; 4096];
        mem.read(&mut bytes);
        assert!(bytes == expected_bytes, "by an old key nothing is written");
    };
    check_all(&mut initiator, Ok(0));
    drop(old);
    check_all(&mut initiator, Err(RemoteError::InvalidKey));
    let new = register();
    check_all(&mut initiator, Err(RemoteError::InvalidKey));
    initiator.key = new.key();
    check_all(&mut initiator, Ok(0));
    if registered.net.last() != 0 {
        let own =
            registered.net.devices[0].register((registered.make_memory)(0, 4096)).expect("the device registers memory");
        initiator.key = own.key();
        check_all(&mut initiator, Err(RemoteError::InvalidKey));
    }
}

fn what_has_ended_is_seen_behind_a_later_packet(registered: &RegisteredNet) {
    let (mut initiator, to) = (registered.initiator(0), registered.net.last());
    let target = (to != 0).then(|| registered.net.endpoint(to, 0));
    let most = registered.capabilities().write.min(30_000);
    if most == 0 {
        return;
    }
    thread::scope(|scope| {
        let receive = move |mut target: TestEndpoint| {
            for seed in 1..50 {
                let mut record = ReceivedLog::default();
                target.poll_until(&mut record, |record| !record.arrived.is_empty(), "a packet behind a write");
                assert_eq!(record.arrived[0].1, seed);
                assert!(registered.bytes()[..most] == bytes(seed, most), "a packet follows the write");
                while target.send(0, seed, 8, 0, PayloadForm::Mem) == Err(SendError::Full) {
                    target.port.poll(&mut ReceivedLog::default());
                }
            }
            registered.net.flush_all();
        };
        let is_remote = target.is_some();
        target.map(|target| scope.spawn(move || receive(target)));
        for seed in 1..50 {
            assert_eq!(initiator.write(0, bytes(seed, most).leak()), Ok(0));
            while initiator.endpoint.send(to, seed, 8, 0, PayloadForm::Mem) == Err(SendError::Full) {
                initiator.progress();
            }
            let start = Instant::now();
            while initiator.completed.log.arrived.len() < seed as usize {
                initiator.endpoint.device.flush();
                initiator.endpoint.port.poll(&mut initiator.completed);
                assert!(start.elapsed().as_secs() < 60, "a reply within a minute");
            }
            assert!(is_remote || registered.bytes()[..most] == bytes(seed, most));
        }
        registered.net.flush_all();
    });
}

fn a_flush_ends_behind_all_that_was_begun(registered: &RegisteredNet) {
    let (mut initiator, mut other) = (registered.initiator(0), registered.initiator(1));
    let piece = registered.capabilities().write.min(5000);
    if piece == 0 {
        return;
    }
    let mut expected = vec![0; MEM_BYTES];
    for round in 0..5 {
        let mut numbers = Vec::new();
        for at in (0..20).map(|i| i * piece) {
            let sent = bytes(round * 100 + at as u32, piece);
            expected[at..at + piece].copy_from_slice(&sent);
            let mem = UserMem::of_slice(sent.leak());
            let write = |port: &mut dyn DevicePort, to, key: &RemoteKey, ticket| {
                port.write(to, key, at as u64, WriteSource::InPlace(mem), ticket)
            };
            let (number, submitted) = initiator.begin(write).expect("a write");
            numbers.extend((submitted == Submitted::InFlight).then_some(number));
        }
        assert_eq!(other.flush(), Ok(0), "another lane has begun nothing");
        assert_eq!(initiator.flush(), Ok(0));
        assert!(
            numbers.iter().all(|&number| initiator.outcome(number) == Some(Ok(0))),
            "all have ended before the flush"
        );
        assert!(registered.bytes() == expected, "and what they wrote is there");
        initiator.completed.completions.clear();
    }
}

fn tickets_end_once_and_what_is_full_works_again(registered: &RegisteredNet) {
    let (capabilities, mut initiator) = (registered.capabilities(), registered.initiator(0));
    if capabilities.in_flight == 0 {
        return;
    }
    for _ in 0..3 {
        initiator.completed.completions.clear();
        let mut in_flight = 0;
        let (to, key) = (initiator.to, initiator.key);
        loop {
            initiator.next += 1;
            let token = CompletionToken { protocol: PROTOCOL, number: initiator.next };
            let begun = match in_flight % 2 == 0 && capabilities.write > 0 {
                true => initiator.endpoint.port.write(
                    to,
                    &key,
                    64,
                    WriteSource::InPlace(words(2000.min(capabilities.write))),
                    token,
                ),
                false => initiator.endpoint.port.read(to, &key, 64, words(2000.min(capabilities.read)), token),
            };
            match begun {
                Ok(submitted) => assert_eq!(submitted, Submitted::InFlight),
                Err(error) => break assert_eq!(error, RemoteError::Full),
            }
            in_flight += 1;
            assert!(in_flight <= capabilities.in_flight, "no more are in flight than the capabilities permit");
        }
        let start = Instant::now();
        while initiator.completed.completions.len() < in_flight {
            initiator.progress();
            assert!(
                start.elapsed().as_secs() < 60,
                "{} of {in_flight} have ended",
                initiator.completed.completions.len()
            );
        }
        assert!(in_flight > 0 && initiator.completed.completions.iter().all(|ended| ended.1 == Ok(0)));
    }
    (0..10).for_each(|_| initiator.progress());
    registered.net.flush_all();
}

/// A peer dies with operations on its memory in flight: each operation ends, an incomplete one with `PeerFailed`, and
/// then the peer's failure is reported. Later operations are refused. The net has three ranks.
pub fn a_peer_dies_with_operations_in_flight(make: impl Fn() -> (TestNet, MakeMemory)) {
    for polls in 0..4 {
        let registered = RegisteredNet::new(make());
        let (mut initiator, capabilities) = (registered.initiator(0), registered.capabilities());
        let mut numbers = Vec::new();
        for _ in 0..8 {
            let (write, read) = (words(100_000), words(100_000));
            let begun =
                initiator.begin(|port, to, key, token| port.write(to, key, 0, WriteSource::InPlace(write), token));
            numbers.push(begun.expect("a write"));
            let begun = initiator.begin(|port, to, key, token| port.read(to, key, 0, read, token));
            numbers.push(begun.expect("a read"));
        }
        (0..polls).for_each(|_| initiator.progress());
        let flush = initiator.begin(|port, to, _, token| port.flush(to, token)).expect("a flush");
        (registered.net.kill)(registered.net.last());
        let start = Instant::now();
        while initiator.completed.log.failed.is_empty() {
            initiator.endpoint.port.poll(&mut initiator.completed);
            assert!(start.elapsed().as_secs() < 60, "a death is reported");
        }
        for (number, submitted) in numbers {
            let outcome = initiator.outcome(number);
            let is_reported = matches!(outcome, Some(Ok(0) | Err(RemoteError::PeerFailed)));
            assert_eq!(is_reported, submitted == Submitted::InFlight, "{number} {outcome:?}");
        }
        assert_eq!(initiator.outcome(flush.0).is_some(), flush.1 == Submitted::InFlight);
        for _ in 0..3 {
            assert_eq!(initiator.write(0, vec![1; 8].leak()), Err(RemoteError::PeerFailed));
            assert_eq!(initiator.read(0, 8), Err(RemoteError::PeerFailed));
            if capabilities.atomics_8.has(AtomicOp::Add) {
                let add = AtomicRequest { op: AtomicOp::Add, width: Width::Eight, operand: 1 };
                assert_eq!(initiator.atomic(0, add), Err(RemoteError::PeerFailed));
            }
            initiator.endpoint.port.poll(&mut initiator.completed);
        }
        assert_eq!(initiator.completed.log.failed, [registered.net.last()], "once");
    }
}
