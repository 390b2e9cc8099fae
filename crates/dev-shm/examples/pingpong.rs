//! Half round trips between two pinned processes through the device's contract, beside the lower bound of the
//! hardware.
//!
//! `cargo run --release -p hawser-dev-shm --example pingpong [-- repetitions [longest]]`. Prints medians in
//! microseconds. That bound (one cache line there and back, halved; "floor") is printed before and after: hosts
//! move virtual cores about, and figures of runs with different floors cannot be compared.

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Device, DeviceLimits, DevicePort, Header, Payload, PayloadSource};
use hawser_job::{HostFacts, Segment, SegmentSpec};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Instant;

/// NetPIPE's sizes, thinned.
const SIZES: &[usize] = &[
    1,
    8,
    48,
    64,
    128,
    256,
    512,
    768,
    1024,
    2048,
    4096,
    8192,
    16384,
    32768,
    65536,
    131_072,
    262_144,
    1 << 20,
    4 << 20,
];

/// Receives one message into a buffer.
struct Sink<'a> {
    buffer: UserMem<'a>,
    left: usize,
}

impl Delivery for Sink<'_> {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        let len = payload.len();
        assert!(payload.copy_to(self.buffer.slice(header.a() as usize, len)));
        self.left -= len;
    }

    fn peer_failed(&mut self, peer: Peer) {
        panic!("rank {peer} is lost");
    }
}

struct Player {
    me: u32,
    port: Box<dyn DevicePort>,
    limits: DeviceLimits,
    segment: Segment,
    rounds: u64,
}

impl Player {
    fn peer(&self) -> Peer {
        Peer(1 - self.me)
    }

    fn send(&mut self, from: UserMem) {
        let to = self.peer();
        if from.len() <= self.limits.short {
            while self.port.send_short(to, Header::default(), from).is_err() {
                std::hint::spin_loop();
            }
            return;
        }
        let piece = self.limits.fragmentation.piece_len(from.len());
        let mut at = 0;
        while at < from.len() {
            let part = piece.min(from.len() - at);
            let header = Header::new(0, 0, at as u32, 0);
            while self.port.send(to, header, &[], PayloadSource::Mem(from.slice(at, part))).is_err() {
                std::hint::spin_loop();
            }
            at += part;
        }
    }

    fn receive(&mut self, into: UserMem) {
        let from = self.peer();
        let mut sink = Sink { buffer: into, left: into.len() };
        while sink.left > 0 {
            if !self.port.poll_from(from, &mut sink) {
                std::hint::spin_loop();
            }
        }
    }

    /// Synchronizes both sides, through words at the end of the device area.
    fn meet(&mut self) {
        self.rounds += 1;
        let area = self.segment.device_area();
        let word = |who: u32| area.len() - 8192 + 128 * who as usize;
        area.u64(word(self.me)).store(self.rounds, Release);
        while area.u64(word(1 - self.me)).load(Acquire) < self.rounds {
            std::hint::spin_loop();
        }
    }

    fn floor_us(&mut self) -> f64 {
        self.meet();
        let area = self.segment.device_area();
        let (there, back) = (area.u64(area.len() - 4096), area.u64(area.len() - 4096 + 128));
        let base = there.load(Acquire);
        self.meet();
        median((0..7).map(|round| {
            let (start, turns) = (Instant::now(), 20_000);
            for turn in base + round * turns + 1..=base + (round + 1) * turns {
                if self.me == 0 {
                    there.store(turn, Release);
                    while back.load(Acquire) != turn {}
                } else {
                    while there.load(Acquire) != turn {}
                    back.store(turn, Release);
                }
            }
            start.elapsed().as_secs_f64() / turns as f64 / 2.0 * 1e6
        }))
    }

    fn pass_us(&mut self, turns: u32, out: UserMem, into: UserMem) -> f64 {
        self.meet();
        let start = Instant::now();
        for _ in 0..turns {
            if self.me == 0 {
                self.send(out);
                self.receive(into);
            } else {
                self.receive(into);
                self.send(out);
            }
        }
        start.elapsed().as_secs_f64() / f64::from(turns) / 2.0 * 1e6
    }
}

/// Returns the cost of the instructions without any traffic between caches: one thread sends and receives.
fn alone_ns(segment: &Segment, size: usize) -> f64 {
    let [mut sender, mut receiver] = [0, 1].map(|rank| ShmDevice::new(segment.clone(), rank).port(Lane(7)));
    let (mut out, mut into) = (vec![1; size], vec![0; size]);
    let (from, to) = (UserMem::of_slice(&mut out), UserMem::of_slice(&mut into));
    median((0..15).map(|_| {
        let (start, turns) = (Instant::now(), 20_000);
        for _ in 0..turns {
            sender.send_short(Peer(1), Header::default(), from).expect("an empty ring");
            receiver.poll_from(Peer(0), &mut Sink { buffer: to, left: size });
        }
        start.elapsed().as_secs_f64() / f64::from(turns) * 1e9
    }))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn pin(core: usize) {
    // SAFETY: a zeroed set is an empty one; the calls only read it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|arg| arg.parse::<usize>().ok());
    let (repetitions, most) = (argument(1).unwrap_or(7), argument(2).unwrap_or(4 << 20));
    let facts = HostFacts { membarrier: hawser_os::membarrier::is_supported(), ..HostFacts::default() };
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("pp", "here", 2, vec![0, 1]) };
    let segment = Segment::create(&spec).expect("a segment");
    // SAFETY: one thread.
    let child = unsafe { libc::fork() };
    let me = u32::from(child == 0);
    pin(me as usize);
    if facts.membarrier {
        hawser_os::membarrier::register().expect("membarrier is supported");
    }
    let device = ShmDevice::new(segment.clone(), me as usize);
    let limits = device.limits();
    let mut player = Player { me, port: device.port(Lane(0)), limits, segment, rounds: 0 };

    if me == 0 {
        for size in [1, 48, 512] {
            // A segment of its own, since ports begin with empty rings.
            let segment = Segment::create(&spec).expect("a segment");
            println!("{size:>8} bytes sent and received by one thread: {:.1} ns", alone_ns(&segment, size));
        }
    }

    let (mut out, mut into) = (vec![me as u8 + 1; most], vec![0; most]);
    let before = player.floor_us();
    if me == 0 {
        println!("{:>8} {:>9} {:>9} {:>9}   half round trip, us", "bytes", "median", "best", "GB/s");
    }
    for &size in SIZES.iter().filter(|&&size| size <= most) {
        let (from, to) = (UserMem::of_slice(&mut out[..size]), UserMem::of_slice(&mut into[..size]));
        let turns = (2_000_000 / (size + 200)).clamp(10, 10_000) as u32;
        player.pass_us(turns / 10 + 1, from, to);
        let times: Vec<f64> = (0..repetitions).map(|_| player.pass_us(turns, from, to)).collect();
        let best = times.iter().copied().fold(f64::MAX, f64::min);
        let middle = median(times.into_iter());
        assert!(into[..size].iter().all(|&byte| byte == 2 - me as u8), "wrong bytes arrived");
        if me == 0 {
            println!("{size:>8} {middle:>9.4} {best:>9.4} {:>9.2}", size as f64 / middle / 1e3);
        }
    }
    let after = player.floor_us();
    if me == 0 {
        println!("   floor {before:.4} before, {after:.4} after");
        // SAFETY: our child, which ends by itself.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}
