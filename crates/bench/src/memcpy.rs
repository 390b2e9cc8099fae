//! Copies within one core's memory: what no transfer of private memory can beat.

use crate::sample;
use std::hint::black_box;

const LARGEST: usize = 4 << 20;

pub fn run(repetitions: usize) {
    let from = vec![1u8; LARGEST];
    let mut to = vec![2u8; LARGEST];
    let mut size = 1024;
    while size <= LARGEST {
        let count = if size < 65_536 { 5000 } else { 100 };
        let samples = sample::times(repetitions, count, || {
            for _ in 0..count {
                to[..size].copy_from_slice(black_box(&from[..size]));
                black_box(&mut to);
            }
        });
        sample::show(&format!("memcpy{size}"), &samples);
        size *= 4;
    }
}
