//! Prints the cost of a message in the matching engine, in nanoseconds: `cargo run --release -p hawser-p2p --example
//! matching_speed`.

use hawser_base::{Context, Peer};
use hawser_p2p::matching::{Effect, Engine, MatchSpec, Packet, ProtocolLimits, SendSpec};
use std::hint::black_box;
use std::time::Instant;

const LIMITS: ProtocolLimits = ProtocolLimits {
    packet: 4096,
    eager: 16384,
    first: 4096,
    rtr_from: 16384,
    credit: 1 << 20,
    ..ProtocolLimits::DEFAULT
};
const CONTEXT: Context = Context(0);
const BYTES: u64 = 8;
/// Enough messages that the clock's resolution does not matter.
const MESSAGES: u32 = 2_000_000;

fn main() {
    let spec = MatchSpec { context: CONTEXT, source: Some(Peer(1)), tag: Some(7) };
    measure("posted, then it arrives", |e| {
        e.post_recv(black_box(spec), BYTES);
        arrive(e, 7);
    });
    measure("it arrives, then it is received", |e| {
        arrive(e, 7);
        e.post_recv(black_box(spec), BYTES);
    });
    measure("posted from any source, then it arrives", |e| {
        e.post_recv(black_box(MatchSpec { source: None, ..spec }), BYTES);
        arrive(e, 7);
    });
    measure("it arrives, then it is received from any source", |e| {
        arrive(e, 7);
        e.post_recv(black_box(MatchSpec { source: None, ..spec }), BYTES);
    });
    measure("taken directly", |e| {
        assert!(e.may_recv_directly(black_box(CONTEXT), Peer(1)));
        e.count_direct_recv(Peer(1), BYTES);
    });
    measure("sent, and its window comes back", |e| {
        let spec = SendSpec {
            to: Peer(1),
            context: CONTEXT,
            tag: 7,
            bytes: BYTES,
            sync: false,
            has_space: true,
            packet: LIMITS.packet,
            first_bytes: LIMITS.first,
            key: None,
        };
        black_box(e.start_send(black_box(spec)));
        let _ = black_box(e.handle_packet(Peer(1), Packet::Credit { bytes: 64 }, 0));
    });
    measure("sent quickly, and its window comes back", |e| {
        assert!(e.fast_send(black_box(Peer(1)), BYTES));
        let _ = black_box(e.handle_packet(Peer(1), Packet::Credit { bytes: 64 }, 0));
    });
    let windows = |e: &mut Engine, is_announced: bool| {
        let capacity = if is_announced { LIMITS.rtr_from } else { BYTES };
        for _ in 0..1000 {
            e.post_recv(black_box(spec), capacity);
        }
        drain(e);
        for _ in 0..1000 {
            arrive(e, 7);
            drain(e);
        }
    };
    measure_many("1000 posted, then they arrive", 1000, |e| windows(e, false));
    measure_many("1000 posted and offered, then they arrive", 1000, |e| windows(e, true));
}

fn arrive(engine: &mut Engine, tag: i32) {
    let packet = Packet::Eager { context: CONTEXT, tag };
    black_box(engine.handle_packet(Peer(1), black_box(packet), BYTES)).expect("an eager message fits");
}

fn drain(engine: &mut Engine) {
    while let Some(effect) = engine.next_effect() {
        black_box::<Effect>(effect);
    }
}

fn measure(name: &str, one: impl FnMut(&mut Engine)) {
    measure_many(name, 1, one);
}

/// Returns the best of five rounds: other load of the machine can only add time.
fn measure_many(name: &str, messages: u32, mut turn: impl FnMut(&mut Engine)) {
    let mut engine = Engine::new(LIMITS);
    let rounds = (0..5).map(|_| {
        let started = Instant::now();
        for _ in 0..MESSAGES / messages / 5 {
            turn(&mut engine);
            drain(&mut engine);
        }
        started.elapsed().as_nanos() as f64 / (MESSAGES / 5) as f64
    });
    let best = rounds.fold(f64::INFINITY, f64::min);
    println!("{best:7.1} ns  {name}");
}
