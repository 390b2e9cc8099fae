//! The lower limit for all copying: a message from one place of memory to another, by one core.
//!
//! Used by `layer`; uses `buffers`.

use super::layer_entry::Layer;
use crate::buffers::{self, BufferPool};
use crate::task::{Measurement, WorkerTask};
use hawser_os::usage;
use std::hint::black_box;
use std::io;
use std::time::Instant;

#[derive(Default)]
struct Memcpy {
    from: BufferPool,
    to: BufferPool,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    Ok(Box::new(Memcpy::default()))
}

impl Layer for Memcpy {
    fn run_task(&mut self, task: &WorkerTask) -> io::Result<Measurement> {
        let bytes = task.bytes as usize;
        let Memcpy { from, to } = self;
        [&mut *from, &mut *to].into_iter().for_each(|pool| pool.reserve(bytes));
        if task.check {
            to.clear();
        }
        let mut checked = Ok(());
        let (before, start) = (usage::thread_cpu_s(), Instant::now());
        for number in 0..task.messages() {
            let (from, to) = (from.slot(number), to.slot(number));
            if task.check {
                buffers::fill(from, number);
            } else {
                buffers::dirty(from, number);
            }
            black_box(&mut *to).copy_from_slice(black_box(from));
            if task.check {
                checked = checked.and(buffers::compare(to, number).map_err(io::Error::other));
            }
        }
        let (seconds, cpu_s) = (start.elapsed().as_secs_f64(), usage::thread_cpu_s() - before);
        checked.map(|()| Measurement { seconds, cpu_s, ..Measurement::default() })
    }
}
