//! Ping-pong through the shared-memory device alone: lines, chunks and pieces as MPI will use them.

use crate::sample;
use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Device, Header, Limits, Payload, Port, Source};
use hawser_job::{Facts, Segment, Spec};

const SIZES: &[usize] = &[1, 8, 48, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20, 4 << 20];

/// Receives one message into a buffer.
struct Sink {
    buffer: UserMem,
    left: usize,
}

impl Delivery for Sink {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        let len = payload.len();
        assert!(payload.copy_to(self.buffer.slice(header.a as usize, len)));
        self.left -= len;
    }

    fn lost(&mut self, peer: Peer) {
        panic!("rank {peer} is lost");
    }
}

struct Player {
    peer: Peer,
    port: Box<dyn Port>,
    limits: Limits,
}

impl Player {
    fn new(segment: &Segment, me: u32) -> Player {
        let device = ShmDevice::new(segment.clone(), me as usize);
        let peer = Peer(1 - me);
        let limits = device.limits(peer).expect("two ranks of one host reach each other");
        Player { peer, port: device.port(Lane(0)), limits }
    }

    fn send(&mut self, from: UserMem) {
        if from.len() <= self.limits.short {
            while self.port.send_short(self.peer, Header::default(), from).is_err() {
                std::hint::spin_loop();
            }
            return;
        }
        let piece = self.limits.pieces.best(from.len());
        let mut at = 0;
        while at < from.len() {
            let part = from.slice(at, piece.min(from.len() - at));
            let header = Header { a: at as u32, ..Header::default() };
            while self.port.send(self.peer, header, &[], Source::Mem(part)).is_err() {
                std::hint::spin_loop();
            }
            at += part.len();
        }
    }

    fn receive(&mut self, buffer: UserMem) {
        let mut sink = Sink { buffer, left: buffer.len() };
        while sink.left > 0 {
            if !self.port.poll_from(self.peer, &mut sink) {
                std::hint::spin_loop();
            }
        }
    }
}

/// Repetitions of a size that take about a hundredth of a second.
fn count(size: usize) -> usize {
    (20_000 / (1 + size / 1024)).max(20)
}

pub fn run(cores: &[usize], repetitions: usize) {
    let facts = Facts { cores: cores.len() as u32, ..Facts::default() };
    let spec = Spec { job_id: "bench".into(), host: "here".into(), world: 2, world_ranks: vec![0, 1], facts };
    let segment = match Segment::create(&spec) {
        Ok(segment) => segment,
        Err(error) => return eprintln!("hawser-bench: ring: {error}"),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sample::pin(cores, 1);
            let mut player = Player::new(&segment, 1);
            play(&mut player, repetitions, |player, out, back| {
                player.receive(back);
                player.send(out);
            });
        });
        sample::pin(cores, 0);
        let mut player = Player::new(&segment, 0);
        let samples = play(&mut player, repetitions, |player, out, back| {
            player.send(out);
            player.receive(back);
        });
        for (size, samples) in SIZES.iter().zip(samples) {
            sample::show(&format!("ring{size}"), &samples);
        }
    });
}

/// Plays `turn` as often as both sides agree on; the half round trips of each size.
fn play(player: &mut Player, repetitions: usize, turn: impl Fn(&mut Player, UserMem, UserMem)) -> Vec<Vec<f64>> {
    let measure = |&size: &usize| {
        let (mut out, mut back) = (vec![1u8; size], vec![2u8; size]);
        let (out, back) = (UserMem::of_slice(&mut out), UserMem::of_slice(&mut back));
        turn(player, out, back);
        sample::times(repetitions, 2 * count(size), || {
            for _ in 0..count(size) {
                turn(player, out, back);
            }
        })
    };
    SIZES.iter().map(measure).collect()
}
