//! The floor of all shared memory: one cache line there and back between two cores, halved.

use crate::sample;
use hawser_base::Region;
use std::sync::atomic::Ordering::{Acquire, Release};

const ROUNDS: u32 = 50_000;

pub fn run(cores: &[usize], repetitions: usize) {
    let lines = Region::private(256);
    let (there, back) = (lines.u32(0), lines.u32(128));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sample::pin(cores, 1);
            for turn in 1..=ROUNDS * repetitions as u32 {
                while there.load(Acquire) != turn {
                    std::hint::spin_loop();
                }
                back.store(turn, Release); // partner: the load below
            }
        });
        sample::pin(cores, 0);
        let mut turn = 0;
        let samples = sample::times(repetitions, 2 * ROUNDS as usize, || {
            for _ in 0..ROUNDS {
                turn += 1;
                there.store(turn, Release); // partner: the load above
                while back.load(Acquire) != turn {
                    std::hint::spin_loop();
                }
            }
        });
        sample::show("line", &samples);
    });
}
