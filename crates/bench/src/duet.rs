//! The patterns between two ends of a raw layer, written once for all of them.
//!
//! Before it: `worker`; after it: the `End`s in `layer`.

use crate::buffers::{self, Pool};
use crate::task::{Pattern, Played, Task};
use hawser_os::usage;
use std::io;
use std::time::Instant;

/// Patterns that a player has.
pub const PATTERNS: &[Pattern] = &[Pattern::PingPong, Pattern::Stream, Pattern::Bidirectional];

/// After so many messages one way the receiver answers, as in worker/mpi.c.
const WINDOW: u64 = 64;

/// One end of a layer between two processes or threads.
pub trait End {
    /// Before a play.
    fn begin(&mut self) {}

    /// After a play; nobody works for this end until the next one.
    fn rest(&mut self) {}

    /// Sends `out` and receives all of `into`, both at once; either may be empty. What was sent may be used again afterwards.
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()>;

    fn send(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.exchange(message, &mut [])
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.exchange(&mut [], into)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Near,
    Far,
}

/// An end, with the memory that it plays from.
pub struct Player<E> {
    end: E,
    out: Pool,
    into: Pool,
}

impl<E: End> Player<E> {
    pub fn new(end: E) -> Player<E> {
        Player { end, out: Pool::default(), into: Pool::default() }
    }

    /// Plays its part; the time and the CPU time of this end. A byte that is wrong is told at the end: the other end goes on until then.
    pub fn play(&mut self, role: Role, task: &Task) -> io::Result<Played> {
        let bytes = task.bytes as usize;
        [&mut self.out, &mut self.into].into_iter().for_each(|pool| pool.reserve(bytes));
        if task.check {
            self.into.clear();
        }
        self.end.begin();
        // Both are there, with their memory, before the clock starts.
        self.end.exchange(&mut [0], &mut [0])?;
        let (before, start) = (usage::thread_cpu_s(), Instant::now());
        let right = self.messages(role, task)?;
        let played =
            Played { seconds: start.elapsed().as_secs_f64(), cpu_s: usage::thread_cpu_s() - before, hidden: 0.0 };
        self.end.rest();
        right.map(|()| played)
    }

    /// Whether all bytes were right.
    fn messages(&mut self, role: Role, task: &Task) -> io::Result<io::Result<()>> {
        let (end, mut right) = (&mut self.end, Ok(()));
        for number in 0..task.count {
            let (out, into) = (self.out.place(number), self.into.place(number));
            match (task.pattern, role) {
                (Pattern::PingPong, Role::Near) => {
                    prepare(task, out, number);
                    end.send(out)?;
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                }
                (Pattern::PingPong, Role::Far) => {
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                    prepare(task, out, number);
                    end.send(out)?;
                }
                (Pattern::Stream, Role::Near) => {
                    prepare(task, out, number);
                    end.send(out)?;
                }
                (Pattern::Stream, Role::Far) => {
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                }
                _ => {
                    prepare(task, out, number);
                    end.exchange(out, into)?;
                    right = right.and(look(task, into, number));
                }
            }
            if task.pattern == Pattern::Stream && (number + 1 == task.count || (number + 1) % WINDOW == 0) {
                answer(end, role)?;
            }
        }
        Ok(right)
    }
}

/// Nobody can only note what is to be sent.
fn answer(end: &mut impl End, role: Role) -> io::Result<()> {
    match role {
        Role::Near => end.receive(&mut [0]),
        Role::Far => end.send(&mut [0]),
    }
}

fn prepare(task: &Task, message: &mut [u8], number: u64) {
    if task.check { buffers::fill(message, number) } else { buffers::dirty(message, number) }
}

fn look(task: &Task, message: &[u8], number: u64) -> io::Result<()> {
    if task.check { buffers::compare(message, number).map_err(io::Error::other) } else { Ok(()) }
}
