//! The patterns between two ends of a raw layer, written once for all of them.
//!
//! Before it: `worker`; after it: the `End`s in `layer`.

use crate::buffers::{self, Pool};
use crate::task::{Pattern, Task};
use std::io;
use std::time::Instant;

/// Patterns that `play` has.
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

/// Plays its part; the seconds that it took. A byte that is wrong is told at the end: the other end goes on until then.
pub fn play(end: &mut dyn End, role: Role, task: &Task) -> io::Result<f64> {
    let bytes = task.bytes as usize;
    let (mut out, mut into) = (Pool::new(bytes), Pool::new(bytes));
    let mut right = Ok(());
    end.begin();
    let start = Instant::now();
    for number in 0..task.count {
        let (out, into) = (out.place(number), into.place(number));
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
    let seconds = start.elapsed().as_secs_f64();
    end.rest();
    right.map(|()| seconds)
}

/// Nobody can only note what is to be sent.
fn answer(end: &mut dyn End, role: Role) -> io::Result<()> {
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
