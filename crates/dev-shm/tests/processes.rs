//! The shared-memory device between processes: traffic, sleep, memory, and deaths at random moments.
//!
//! The tests fork, hence they have their own `main` and run one case after the other.

use hawser_base::{Lane, Peer, SharedMem, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::conformance::{PayloadForm, ReceivedLog, TestEndpoint, TestNet, converse};
use hawser_device::{
    AtomicOp, AtomicOps, AtomicRequest, CompletionToken, Delivery, Device, DevicePort, ExposedKey, Header, Payload,
    PayloadSource, Protocol, RemoteError, RemoteKey, Submitted, Width, WriteSource,
};
use hawser_job::{ExitKind, HostFacts, ProcessVm, Segment, SegmentSpec};
use hawser_os::{copy_timing, process_vm};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

fn main() {
    let cases: &[(&str, fn())] = &[
        ("two processes converse", two_processes_converse),
        ("sixteen processes send to one", sixteen_send_to_one),
        ("a sleeper is woken by a packet", a_sleeper_is_woken),
        ("a shared buffer is read where it lies", a_shared_buffer_is_read),
        ("a shared buffer is written where it lies", a_shared_buffer_is_written),
        ("a private buffer is read where that is allowed and faster", a_private_buffer_is_read),
        ("registered memory is worked on by another process", registered_memory_is_worked_on),
        ("an alltoall among 64 stays within its memory", alltoall_among_64_touches_little),
        ("a process killed at a random moment is lost once", killed_at_random),
    ];
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, case) in cases.iter().filter(|(name, _)| name.contains(&filter)) {
        end_in_time();
        case();
        println!("test {name} ... ok");
    }
}

fn segment(ranks: usize, membarrier: bool) -> Segment {
    let membarrier = membarrier && hawser_os::membarrier::is_supported();
    segment_with(ranks, HostFacts { membarrier, ..HostFacts::default() })
}

fn segment_with(ranks: usize, facts: HostFacts) -> Segment {
    let world_ranks = (0..ranks as u32).collect();
    Segment::create(&SegmentSpec { facts, ..SegmentSpec::without_spares("t", "h", ranks, world_ranks) }).unwrap()
}

/// Fails a test that hangs. The alarm is not inherited by children.
fn end_in_time() {
    // SAFETY: a plain number.
    unsafe { libc::alarm(150) };
}

/// Runs `body` in its own process as `rank`.
fn fork(segment: &Segment, rank: usize, body: impl FnOnce()) -> i32 {
    // SAFETY: this process has one thread when it forks.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child > 0 {
        return child;
    }
    // SAFETY: plain numbers. Nobody outlives a failed test.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        end_in_time();
        attach(segment, rank);
        body();
    }));
    // SAFETY: leaves without running what the parent has set up.
    unsafe { libc::_exit(i32::from(result.is_err())) }
}

fn attach(segment: &Segment, rank: usize) {
    segment.rank(rank).set_pid(hawser_os::host::pid());
    if segment.facts().membarrier {
        hawser_os::membarrier::register().unwrap();
    }
}

fn reap(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: a child of ours and room for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

fn net(segment: &Segment) -> TestNet {
    let device = |rank| Arc::new(ShmDevice::new(segment.clone(), rank)) as Arc<dyn Device>;
    TestNet { devices: (0..segment.local_size()).map(device).collect(), kill: Box::new(|_| ()) }
}

fn two_processes_converse() {
    for (ranks, seed) in [(2, 3), (2, 77), (33, 5)] {
        let segment = segment(ranks, true);
        let net = net(&segment);
        let child = fork(&segment, 1, || converse(&mut net.endpoint(1, 0), 0, 100_000, 0, seed));
        attach(&segment, 0);
        converse(&mut net.endpoint(0, 0), 1, 100_000, 0, seed + 1);
        assert_eq!(reap(child), 0);
    }
}

fn sixteen_send_to_one() {
    let (segment, packets) = (segment(17, true), 3000);
    let net = net(&segment);
    let children: Vec<i32> = (1..17)
        .map(|rank| {
            fork(&segment, rank, || {
                let mut end = net.endpoint(rank, 0);
                for seed in 0..packets {
                    let len = [0, 30, 500, 4000][seed as usize % 4];
                    while end.send(0, seed, len, 0, PayloadForm::Mem).is_err() {
                        hawser_os::host::yield_core();
                    }
                }
            })
        })
        .collect();
    attach(&segment, 0);
    let mut record = ReceivedLog::default();
    net.endpoint(0, 0).poll_until(&mut record, |r| r.arrived.len() >= 16 * packets as usize, "sixteen to one");
    (1..17).for_each(|rank| record.expect_seeds(rank, 0..packets, "in order"));
    children.into_iter().for_each(|child| assert_eq!(reap(child), 0));
}

/// Passes a packet to and fro; the waiting side sleeps without a timeout, so that a lost wake-up hangs.
fn a_sleeper_is_woken() {
    for membarrier in [false, true] {
        let segment = segment(2, membarrier);
        let net = net(&segment);
        let play = |me: usize| {
            let mut end = net.endpoint(me, 0);
            let bell = segment.rank(me).doorbell();
            let mut record = ReceivedLog::default();
            for turn in 0..10_000 {
                let len = [1, 300, 3000][turn as usize % 3];
                if me == 0 {
                    end.send(1, turn, len, 0, PayloadForm::Mem).unwrap();
                }
                while record.arrived.len() <= turn as usize {
                    let armed = bell.arm();
                    if end.port.poll(&mut record) == 0 {
                        bell.sleep(armed, None);
                    } else {
                        bell.disarm();
                    }
                }
                if me == 1 {
                    end.send(0, turn, len, 0, PayloadForm::Mem).unwrap();
                }
            }
        };
        let child = fork(&segment, 1, || play(1));
        attach(&segment, 0);
        play(0);
        assert_eq!(reap(child), 0);
    }
}

fn a_shared_buffer_is_read() {
    let segment = segment(2, false);
    let len = (64 << 20) + 12_345;
    let at = 60_000_001;
    let child = fork(&segment, 1, || {
        let device = ShmDevice::new(segment.clone(), 1);
        let arena = hawser_job::arena::Arena::new(&segment, 1);
        let (span, region) = arena.allocate(len).unwrap();
        let bytes: Vec<u8> = (0..len).map(|i| ((i * 13) >> 3) as u8).collect();
        region.bytes(0, len).write(&bytes);
        // SAFETY: mapped as long as `region` lives.
        let mem = unsafe { UserMem::new(region.as_ptr(), len) };
        assert_eq!(device.expose(mem), None, "this memory was not registered as shared");
        device.share(span.offset, &region);
        assert_eq!(device.expose(mem.slice(0, 100)), None, "short messages are sent");
        let key = device.expose(mem.slice(1000, len - 1000)).unwrap();
        let mut port = device.port(Lane(0));
        send_key(&mut *port, &key);
        await_packet(&mut *port);
        device.unshare(&region);
        assert_eq!(device.expose(mem), None);
    });
    let device = ShmDevice::new(segment.clone(), 0);
    let mut port = device.port(Lane(0));
    let key = await_key(&mut *port);
    let mut into = vec![0; 9_000_000];
    assert!(device.read(Peer(1), &key, at - 1000, UserMem::of_slice(&mut into[..4_000_000])), "over a window's end");
    assert!(into[..4_000_000].iter().enumerate().all(|(i, &byte)| byte == (((i + at as usize) * 13) >> 3) as u8));
    assert!(!device.read(Peer(1), &key, at, UserMem::of_slice(&mut into)), "nothing beyond the buffer");
    assert!(!device.read(Peer(1), &[1, u64::MAX, 8], 0, UserMem::of_slice(&mut into[..8])), "nor outside the arena");
    assert!(!device.read(Peer(1), &[9, 0, 8], 0, UserMem::of_slice(&mut into[..8])), "nor by a key of no kind");
    port.send(Peer(1), Header::default(), b"done", PayloadSource::None).unwrap();
    assert_eq!(reap(child), 0);
}

/// Reads by process_vm_readv, as the host's facts allow; a read that fails is the last that is tried.
fn a_private_buffer_is_read() {
    let speeds = HostFacts { through_memory_mb_s: 1000, process_vm_mb_s: 900, ..HostFacts::default() };
    let faster = HostFacts { process_vm: ProcessVm::Allowed, cores: 2, ..speeds };
    let bytes: Vec<u8> = (0..300_000).map(|i| ((i * 13) >> 3) as u8).collect();
    // Memory that a peer may read is never freed.
    let mem = UserMem::of_slice(bytes.clone().leak());
    let key_among = |ranks, facts: HostFacts| {
        let segment = segment_with(ranks, facts);
        attach(&segment, 0);
        ShmDevice::new(segment, 0).expose(mem)
    };
    let key_by = |facts: HostFacts| key_among(2, facts);
    assert!(key_by(faster).is_some());
    assert_eq!(key_by(HostFacts { process_vm: ProcessVm::Forbidden, ..faster }), None);
    assert_eq!(key_by(HostFacts { process_vm_mb_s: 500, ..faster }), None, "two copies are faster");
    assert_eq!(key_by(HostFacts { through_memory_mb_s: 0, ..faster }), None, "nothing was measured");
    assert!(key_among(3, HostFacts { process_vm_mb_s: 500, ..faster }).is_some(), "more ranks than cores");
    assert_eq!(key_among(2, HostFacts { process_vm_mb_s: 500, ..faster }), None, "a core for each rank");

    if !copy_timing::is_allowed_between_children() {
        println!("     process_vm_readv is forbidden here");
        return;
    }
    let segment = segment_with(2, faster);
    attach(&segment, 0);
    segment.rank(1).set_pid(hawser_os::host::pid());
    assert_eq!(ShmDevice::new(segment.clone(), 1).expose(mem).map(|key| key[2]), Some(300_000));
    segment.rank(1).set_pid(hawser_os::host::pid() + 1);
    assert_eq!(ShmDevice::new(segment.clone(), 1).expose(mem), None, "peers know it by another number");

    let child = fork(&segment, 1, || {
        let device = ShmDevice::new(segment.clone(), 1);
        let mut port = device.port(Lane(0));
        let words = device.expose(mem).unwrap().map(u64::to_ne_bytes).concat();
        port.send(Peer(0), Header::default(), &words, PayloadSource::None).unwrap();
        let mut done = Reply(None);
        while done.0.is_none() {
            port.poll(&mut done);
        }
    });
    let device = ShmDevice::new(segment.clone(), 0);
    let mut port = device.port(Lane(0));
    let mut answer = Reply(None);
    while answer.0.is_none() {
        port.poll(&mut answer);
    }
    let words = answer.0.unwrap();
    let key = [0, 8, 16].map(|i| u64::from_ne_bytes(words[i..i + 8].try_into().unwrap()));
    let mut into = vec![0; 200_000];
    assert!(device.read(Peer(1), &key, 100_000, UserMem::of_slice(&mut into)));
    assert!(into == bytes[100_000..]);
    assert!(!device.read(Peer(1), &key, 100_001, UserMem::of_slice(&mut into)), "nothing beyond the buffer");
    port.send(Peer(1), Header::default(), b"done", PayloadSource::None).unwrap();
    assert_eq!(reap(child), 0);
    assert!(!device.read(Peer(1), &key, 0, UserMem::of_slice(&mut into)), "its owner is gone");
    assert_eq!(device.expose(mem), None, "what failed once is not tried again");
}

fn a_shared_buffer_is_written() {
    let segment = segment(2, false);
    let len = (128 << 20) + 12_345;
    // Start of the buffer in its memory; offsets at which it is written, and bytes written: each crosses a window's
    // end.
    let (front, spots, count) = (1000, [(64 << 20) - 20_001, (128 << 20) - 20_001], 30_000);
    let byte = |i: usize| ((i * 7) >> 2) as u8;
    let child = fork(&segment, 1, || {
        let device = ShmDevice::new(segment.clone(), 1);
        let (span, region) = hawser_job::arena::Arena::new(&segment, 1).allocate(len).unwrap();
        // SAFETY: mapped as long as `region` lives.
        let mem = unsafe { UserMem::new(region.as_ptr(), len) }.slice(front, len - front);
        assert_eq!(device.expose_to_write(mem), None, "this memory was not registered as shared");
        device.share(span.offset, &region);
        assert_eq!(device.expose_to_write(mem.slice(0, 100)), None, "short messages are sent");
        let private = UserMem::of_slice(vec![0; 1 << 20].leak());
        assert_eq!(device.expose_to_write(private), None, "private memory");
        let mut port = device.port(Lane(0));
        send_key(&mut *port, &device.expose_to_write(mem).unwrap());
        await_packet(&mut *port);
        let mut bytes = vec![0; len];
        region.bytes(0, len).read(&mut bytes);
        let spot = |i: usize| spots.into_iter().find(|at| (front + at..front + at + count).contains(&i));
        let due = |i: usize| spot(i).map_or(0, |at| byte(i - front - at));
        assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == due(i)), "what was written, and nothing else");
    });
    let device = ShmDevice::new(segment.clone(), 0);
    let mut port = device.port(Lane(0));
    let key = await_key(&mut *port);
    let mut bytes: Vec<u8> = (0..count).map(byte).collect();
    let write = |key: ExposedKey, at: u64, source: PayloadSource<'_>| device.write(Peer(1), &key, at, source);
    assert!(
        !write(key, (len - front - 7) as u64, PayloadSource::Mem(UserMem::of_slice(&mut bytes[..8]))),
        "beyond its end"
    );
    assert!(!write(key, u64::MAX, PayloadSource::Mem(UserMem::of_slice(&mut bytes[..8]))));
    assert!(!write([1, u64::MAX, 8], 0, PayloadSource::Mem(UserMem::of_slice(&mut bytes[..8]))), "outside the arena");
    assert!(!write([2, key[1], key[2]], 0, PayloadSource::Mem(UserMem::of_slice(&mut bytes[..8]))), "private memory");
    assert!(write(key, spots[0] as u64, PayloadSource::Mem(UserMem::of_slice(&mut bytes))));
    let mut packed = 0;
    let mut pack = |piece: SharedMem| {
        piece.write(&bytes[packed..packed + piece.len()]);
        packed += piece.len();
    };
    assert!(write(key, spots[1] as u64, PayloadSource::Pack { len: count, pack: &mut pack }));
    assert_eq!(packed, count);
    port.send(Peer(1), Header::default(), b"done", PayloadSource::None).unwrap();
    assert_eq!(reap(child), 0);
    assert!(write(key, 0, PayloadSource::Mem(UserMem::of_slice(&mut bytes))), "to write to the dead harms nobody");
}

/// Works on registered memory in an arena, and in private memory where that is allowed; then its owner ends.
fn registered_memory_is_worked_on() {
    let facts = HostFacts { process_vm: ProcessVm::Allowed, cores: 64, ..HostFacts::default() };
    let ticket = CompletionToken { protocol: Protocol::MESSAGES, number: 1 };
    let len = 100_000;
    for is_private in [false, true] {
        if is_private && !copy_timing::is_allowed_between_children() {
            println!("     process_vm_readv is forbidden here");
            continue;
        }
        let segment = segment_with(2, facts);
        attach(&segment, 0);
        let child = fork(&segment, 1, || {
            process_vm::allow_peers();
            let device = ShmDevice::new(segment.clone(), 1);
            let (span, region) = hawser_job::arena::Arena::new(&segment, 1).allocate(len).unwrap();
            device.share(span.offset, &region);
            let private = hawser_device::conformance::words(len);
            // SAFETY: mapped as long as `region` lives.
            let mem = if is_private { private } else { unsafe { UserMem::new(region.as_ptr(), len) } };
            let registration = device.register(mem).unwrap();
            assert_eq!(registration.capabilities().atomics_8 == AtomicOps::NONE, is_private);
            let mut port = device.port(Lane(0));
            port.send(Peer(0), Header::default(), &registration.key().to_bytes(), PayloadSource::None).unwrap();
            await_packet(&mut *port);
            let mut bytes = vec![0; len];
            mem.read(&mut bytes);
            let due = |i: usize| if (1000..61_000).contains(&i) { (i % 251) as u8 } else { 0 };
            let counter = if is_private { [0; 8] } else { 7_u64.to_ne_bytes() };
            assert!(bytes[8..16] == counter && bytes[16..].iter().enumerate().all(|(i, &byte)| byte == due(i + 16)));
            drop(registration);
            port.send(Peer(0), Header::default(), b"dropped", PayloadSource::None).unwrap();
            await_packet(&mut *port);
        });
        let device = ShmDevice::new(segment.clone(), 0);
        let mut port = device.port(Lane(0));
        let words = await_packet(&mut *port);
        let key = RemoteKey::from_bytes(words[..].try_into().unwrap());
        let bytes: Vec<u8> = (1000..61_000).map(|i| (i % 251) as u8).collect();
        let from = UserMem::of_slice(bytes.clone().leak());
        assert_eq!(port.write(Peer(1), &key, 1000, WriteSource::InPlace(from), ticket), Ok(Submitted::Done(0)));
        let into = hawser_device::conformance::words(60_000);
        assert_eq!(port.read(Peer(1), &key, 1000, into, ticket), Ok(Submitted::Done(0)));
        let mut read = vec![0; 60_000];
        into.read(&mut read);
        assert!(read == bytes);
        let add = AtomicRequest { op: AtomicOp::Add, width: Width::Eight, operand: 7 };
        let found = if is_private { Err(RemoteError::Unsupported) } else { Ok(Submitted::Done(0)) };
        assert_eq!(port.atomic(Peer(1), &key, 8, add, ticket), found);
        port.send(Peer(1), Header::default(), b"look", PayloadSource::None).unwrap();
        await_packet(&mut *port);
        assert_eq!(port.read(Peer(1), &key, 0, into, ticket), Err(RemoteError::InvalidKey));
        port.send(Peer(1), Header::default(), b"done", PayloadSource::None).unwrap();
        assert_eq!(reap(child), 0);
        segment.record_exit(Peer(1), ExitKind::Failed);
        assert_eq!(port.read(Peer(1), &key, 0, into, ticket), Err(RemoteError::PeerFailed));
    }
}

fn send_key(port: &mut dyn DevicePort, key: &ExposedKey) {
    let words = key.map(u64::to_ne_bytes).concat();
    port.send(Peer(0), Header::default(), &words, PayloadSource::None).unwrap();
}

fn await_key(port: &mut dyn DevicePort) -> ExposedKey {
    let words = await_packet(port);
    [0, 8, 16].map(|i| u64::from_ne_bytes(words[i..i + 8].try_into().unwrap()))
}

fn await_packet(port: &mut dyn DevicePort) -> Vec<u8> {
    let mut answer = Reply(None);
    loop {
        port.poll(&mut answer);
        if let Some(bytes) = answer.0 {
            return bytes;
        }
    }
}

struct Reply(Option<Vec<u8>>);

impl Delivery for Reply {
    fn deliver(&mut self, _from: Peer, _header: Header, payload: &mut dyn Payload) {
        let mut bytes = vec![0; payload.len()];
        assert!(payload.read(&mut bytes));
        self.0 = Some(bytes);
    }

    fn peer_failed(&mut self, _peer: Peer) {}
}

/// Counts bytes by sender.
struct ByteCounts(Vec<usize>);

impl Delivery for ByteCounts {
    fn deliver(&mut self, from: Peer, _header: Header, payload: &mut dyn Payload) {
        while let Some(piece) = payload.next(usize::MAX) {
            let mut bytes = [0];
            piece.read(&mut bytes);
            assert_eq!(bytes[0], from.0 as u8 + 1);
            self.0[from.index()] += piece.len();
        }
    }

    fn peer_failed(&mut self, _peer: Peer) {}
}

/// Sends `len` bytes from every rank to every other, in pieces, to all at once: the worst case for the pools.
/// `counting` continues from one exchange to the next: fast ranks are ahead of slow ones.
fn alltoall(end: &mut TestEndpoint, counting: &mut ByteCounts, me: usize, len: usize, at_once: bool) {
    let (ranks, limits) = (counting.0.len(), end.limits((me + 1) % counting.0.len()));
    let port = &mut end.port;
    let mut bytes = vec![me as u8 + 1; len];
    let mut sent = vec![0; ranks];
    sent[me] = len;
    counting.0[me] += len;
    let expected = counting.0[me];
    while sent.iter().any(|&sent| sent < len) || counting.0.iter().any(|&got| got < expected) {
        let mut moved = port.poll(counting);
        for peer in (1..ranks).map(|i| (me + i) % ranks) {
            while sent[peer] < len {
                let part = limits.fragmentation.piece_len(len).min(len - sent[peer]);
                let piece = UserMem::of_slice(&mut bytes[..part]);
                if port.send(Peer(peer as u32), Header::default(), &[], PayloadSource::Mem(piece)).is_err() {
                    break;
                }
                sent[peer] += part;
                moved += 1;
            }
            if !at_once && sent[peer] < len {
                break;
            }
        }
        if moved == 0 {
            hawser_os::host::yield_core();
        }
    }
}

/// Returns the KiB of shared and of private memory that this process has touched.
fn touched_kib() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut shared, mut ours, mut private) = (0, false, 0);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !first.ends_with(':') {
            ours = line.contains("memfd:hawser");
        } else if ours && first == "Rss:" {
            shared += second.parse::<u64>().unwrap();
        } else if !ours && first == "Private_Dirty:" {
            private += second.parse::<u64>().unwrap();
        }
    }
    (shared, private)
}

fn alltoall_among_64_touches_little() {
    const RANKS: usize = 64;
    for at_once in [false, true] {
        let segment = segment(RANKS, true);
        let children: Vec<i32> = (0..RANKS)
            .map(|rank| {
                fork(&segment, rank, || {
                    let (_, before) = touched_kib();
                    let mut end = net(&segment).endpoint(rank, 0);
                    let mut counting = ByteCounts(vec![0; RANKS]);
                    alltoall(&mut end, &mut counting, rank, 1, at_once);
                    alltoall(&mut end, &mut counting, rank, 64 << 10, at_once);
                    let (shared, private) = touched_kib();
                    segment.device_area().u64(segment.device_area().len() - 4096).fetch_max(shared, Relaxed);
                    segment.device_area().u64(segment.device_area().len() - 4088).fetch_max(private - before, Relaxed);
                    assert!(shared < 4096, "rank {rank} touched {shared} KiB of shared memory");
                    assert!(private - before < 1024, "rank {rank} took {} KiB of its own", private - before);
                })
            })
            .collect();
        children.into_iter().for_each(|child| assert_eq!(reap(child), 0));
        let area = segment.device_area();
        let [shared, private] = [4096, 4088].map(|at| area.u64(area.len() - at).load(SeqCst));
        println!("     all at once: {at_once}; at most {shared} KiB shared, {private} KiB private a rank");
    }
}

/// The packets of a peer until it was killed: whole ones in order, at most one cut short at the end.
#[derive(Default)]
struct Last {
    next: u32,
    cut: bool,
    lost: u32,
}

impl Delivery for Last {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        assert!(!self.cut && self.lost == 0 && header.a() == self.next, "in order, nothing after a cut packet");
        self.next += 1;
        let mut left = payload.len();
        while let Some(piece) = payload.next(usize::MAX) {
            let mut ends = vec![0; piece.len()];
            piece.read(&mut ends);
            assert!(ends.iter().all(|&byte| byte == header.a() as u8), "what arrives is as it was sent");
            left -= piece.len();
        }
        self.cut = left > 0;
    }

    fn peer_failed(&mut self, peer: Peer) {
        assert_eq!(peer, Peer(1));
        self.lost += 1;
    }
}

fn killed_at_random() {
    let mut cut = 0;
    for round in 0..150_u64 {
        let segment = segment(2, round % 2 == 0);
        let child = fork(&segment, 1, || {
            let device = ShmDevice::new(segment.clone(), 1);
            let mut port = device.port(Lane(0));
            let mut bytes = vec![0; 40_000];
            for seed in 0.. {
                let len = [700, 0, 776, 3000, 60, 32_000][if round % 3 == 0 { 2 } else { seed as usize % 6 }];
                bytes[..len].fill(seed as u8);
                let header = Header::new(0, 0, seed, 0);
                while port.send(Peer(0), header, &[], PayloadSource::Mem(UserMem::of_slice(&mut bytes[..len]))).is_err()
                {
                }
            }
        });
        let mut last = Last::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(1000 + round * 7919 % 3000));
                // SAFETY: our own child.
                unsafe { libc::kill(child, libc::SIGKILL) };
                assert_eq!(reap(child), libc::SIGKILL);
                segment.record_exit(Peer(1), ExitKind::Failed);
            });
            let mut port = ShmDevice::new(segment.clone(), 0).port(Lane(0));
            while last.lost == 0 {
                if round % 5 == 0 {
                    port.poll_from(Peer(1), &mut last);
                } else {
                    port.poll(&mut last);
                }
            }
            for _ in 0..10 {
                port.poll(&mut last);
            }
        });
        assert_eq!(last.lost, 1);
        cut += u32::from(last.cut);
    }
    println!("     {cut} of 150 were in the middle of a packet");
}
