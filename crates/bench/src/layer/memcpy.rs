//! The lower limit for all copying: a message from one place of memory to another, by one core.
//!
//! Used by `worker`; uses no other module.

use super::row::Layer;
use crate::buffers::{self, Pool};
use crate::task::{Played, Task};
use hawser_os::usage;
use std::hint::black_box;
use std::io;
use std::time::Instant;

#[derive(Default)]
struct Memcpy {
    from: Pool,
    to: Pool,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    Ok(Box::new(Memcpy::default()))
}

impl Layer for Memcpy {
    fn play(&mut self, task: &Task) -> io::Result<Played> {
        let bytes = task.bytes as usize;
        let Memcpy { from, to } = self;
        [&mut *from, &mut *to].into_iter().for_each(|pool| pool.reserve(bytes));
        if task.check {
            to.clear();
        }
        let mut right = Ok(());
        let (before, start) = (usage::thread_cpu_s(), Instant::now());
        for number in 0..task.messages() {
            let (from, to) = (from.place(number), to.place(number));
            if task.check {
                buffers::fill(from, number);
            } else {
                buffers::dirty(from, number);
            }
            black_box(&mut *to).copy_from_slice(black_box(from));
            if task.check {
                right = right.and(buffers::compare(to, number).map_err(io::Error::other));
            }
        }
        let (seconds, cpu_s) = (start.elapsed().as_secs_f64(), usage::thread_cpu_s() - before);
        right.map(|()| Played { seconds, cpu_s, hidden: 0.0 })
    }
}
