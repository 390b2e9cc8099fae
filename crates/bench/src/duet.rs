//! The patterns between two ends of a raw layer, written once for all of them.
//!
//! Used by `worker`; uses the `End`s in `layer`.

use crate::buffers::{self, Lendable, Pool};
use crate::task::{Pattern, Played, Task};
use hawser_base::UserMem;
use hawser_os::usage;
use std::io;
use std::time::Instant;

/// The patterns that a player supports.
pub const PATTERNS: &[Pattern] = &[Pattern::PingPong, Pattern::Stream, Pattern::Bidirectional];

/// The number of messages in one direction after which the receiver answers, as in worker/mpi.c.
const WINDOW: u64 = 64;

/// One end of a layer between two processes or threads.
pub trait End {
    /// Whether a device may still borrow the message after an exchange has failed: then messages are sent by
    /// `exchange_lent`.
    const LENDS: bool = false;

    /// Called before a play.
    fn begin(&mut self) {}

    /// Called after a play; the end is not served until the next one.
    fn rest(&mut self) {}

    /// Sends `out` and receives all of `into`, both at once; either may be empty. The memory of `out` is free for use
    /// afterwards.
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()>;

    /// Does the same from memory that is never freed.
    fn exchange_lent(&mut self, out: UserMem<'static>, into: &mut [u8]) -> io::Result<()> {
        unreachable!("{} bytes are lent for {} by an end that lends nothing", out.len(), into.len())
    }

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
    out: Out,
    into: Pool,
}

/// The memory that messages are sent from: one of the two, depending on the end.
#[derive(Default)]
struct Out {
    pool: Pool,
    lendable: Lendable,
}

impl Out {
    /// Makes room for messages of `bytes` bytes, from now on.
    fn reserve<E: End>(&mut self, bytes: usize) {
        if E::LENDS { self.lendable.reserve(bytes) } else { self.pool.reserve(bytes) }
    }

    /// Sends the message of this number and receives all of `into`, which may be empty.
    fn exchange<E: End>(&mut self, end: &mut E, task: &Task, number: u64, into: &mut [u8]) -> io::Result<()> {
        if E::LENDS {
            let message = self.lendable.place(number);
            if task.check {
                buffers::fill_lent(message, number)
            } else {
                buffers::dirty_lent(message, number)
            }
            return end.exchange_lent(message, into);
        }
        let message = self.pool.place(number);
        if task.check {
            buffers::fill(message, number)
        } else {
            buffers::dirty(message, number)
        }
        end.exchange(message, into)
    }
}

impl<E: End> Player<E> {
    pub fn new(end: E) -> Player<E> {
        Player { end, out: Out::default(), into: Pool::default() }
    }

    /// Plays its part. Returns the time and the CPU time of this end. A wrong byte is reported at the end: the other
    /// end goes on until then.
    pub fn play(&mut self, role: Role, task: &Task) -> io::Result<Played> {
        let bytes = task.bytes as usize;
        self.out.reserve::<E>(bytes);
        self.into.reserve(bytes);
        if task.check {
            self.into.clear();
        }
        self.end.begin();
        // Both ends are ready, with their memory, before the clock starts.
        self.end.exchange(&mut [0], &mut [0])?;
        let (before, start) = (usage::thread_cpu_s(), Instant::now());
        let right = self.messages(role, task)?;
        let played =
            Played { seconds: start.elapsed().as_secs_f64(), cpu_s: usage::thread_cpu_s() - before, hidden: 0.0 };
        self.end.rest();
        right.map(|()| played)
    }

    /// Exchanges all messages. The inner result: whether all bytes were right.
    fn messages(&mut self, role: Role, task: &Task) -> io::Result<io::Result<()>> {
        let (end, mut right) = (&mut self.end, Ok(()));
        for number in 0..task.count {
            let (out, into) = (&mut self.out, self.into.place(number));
            match (task.pattern, role) {
                (Pattern::PingPong, Role::Near) => {
                    out.exchange(end, task, number, &mut [])?;
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                }
                (Pattern::PingPong, Role::Far) => {
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                    out.exchange(end, task, number, &mut [])?;
                }
                (Pattern::Stream, Role::Near) => out.exchange(end, task, number, &mut [])?,
                (Pattern::Stream, Role::Far) => {
                    end.receive(into)?;
                    right = right.and(look(task, into, number));
                }
                _ => {
                    out.exchange(end, task, number, into)?;
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

/// The receiver's answer: without it the sender could finish by merely queueing its messages.
fn answer(end: &mut impl End, role: Role) -> io::Result<()> {
    match role {
        Role::Near => end.receive(&mut [0]),
        Role::Far => end.send(&mut [0]),
    }
}

fn look(task: &Task, message: &[u8], number: u64) -> io::Result<()> {
    if task.check { buffers::compare(message, number).map_err(io::Error::other) } else { Ok(()) }
}
