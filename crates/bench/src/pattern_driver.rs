//! The patterns between two ends of a raw layer, written once for all layers.
//!
//! Used by the modules of `layer`, which make the `PatternEndpoint`s; uses `buffers`.

use crate::buffers::{self, BufferPool, ZeroCopyPool};
use crate::task::{Measurement, TrafficPattern, WorkerTask};
use hawser_base::UserMem;
use hawser_os::usage;
use std::io;
use std::time::Instant;

/// The patterns that a driver supports.
pub const PATTERNS: &[TrafficPattern] =
    &[TrafficPattern::PingPong, TrafficPattern::Stream, TrafficPattern::Bidirectional];

/// The number of messages in one direction after which the receiver acknowledges, as in worker/mpi.c.
const ACK_INTERVAL: u64 = 64;

/// One end of a layer between two processes or threads.
pub trait PatternEndpoint {
    /// Whether a device may still borrow the message after an exchange has failed. If so, messages are sent by
    /// `exchange_zero_copy`.
    const ZERO_COPY: bool = false;

    /// Called before a task.
    fn begin(&mut self) {}

    /// Called after a task. The end is not polled until the next task.
    fn quiesce(&mut self) {}

    /// Sends `out` and receives all of `into`, both at once; either may be empty. The memory of `out` is free for use
    /// afterwards.
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()>;

    /// Does the same as `exchange`, with memory that is never freed.
    fn exchange_zero_copy(&mut self, out: UserMem<'static>, into: &mut [u8]) -> io::Result<()> {
        unreachable!("zero-copy send of {} bytes for {} by an end that has none", out.len(), into.len())
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
    Local,
    Remote,
}

/// An endpoint, with the memory that it sends from and receives into.
pub struct PatternDriver<E> {
    endpoint: E,
    send_buffers: SendBuffers,
    receive_pool: BufferPool,
}

/// The memory from which messages are sent: `zero_copy` if the endpoint has zero-copy sends, otherwise `pool`.
#[derive(Default)]
struct SendBuffers {
    pool: BufferPool,
    zero_copy: ZeroCopyPool,
}

impl SendBuffers {
    /// Makes room for messages of `bytes` bytes, from now on.
    fn reserve<E: PatternEndpoint>(&mut self, bytes: usize) {
        if E::ZERO_COPY { self.zero_copy.reserve(bytes) } else { self.pool.reserve(bytes) }
    }

    /// Sends message `number` and receives all of `into`, which may be empty.
    fn exchange<E: PatternEndpoint>(
        &mut self,
        end: &mut E,
        task: &WorkerTask,
        number: u64,
        into: &mut [u8],
    ) -> io::Result<()> {
        if E::ZERO_COPY {
            let message = self.zero_copy.slot(number);
            if task.check {
                buffers::fill_borrowed(message, number)
            } else {
                buffers::dirty_borrowed(message, number)
            }
            return end.exchange_zero_copy(message, into);
        }
        let message = self.pool.slot(number);
        if task.check {
            buffers::fill(message, number)
        } else {
            buffers::dirty(message, number)
        }
        end.exchange(message, into)
    }
}

impl<E: PatternEndpoint> PatternDriver<E> {
    pub fn new(end: E) -> PatternDriver<E> {
        PatternDriver { endpoint: end, send_buffers: SendBuffers::default(), receive_pool: BufferPool::default() }
    }

    /// Runs this end's part of a task. Returns the time and the CPU time of this end. A wrong byte is reported only
    /// after the task, because the other end goes on until then.
    pub fn run(&mut self, role: Role, task: &WorkerTask) -> io::Result<Measurement> {
        let bytes = task.bytes as usize;
        self.send_buffers.reserve::<E>(bytes);
        self.receive_pool.reserve(bytes);
        if task.check {
            self.receive_pool.clear();
        }
        self.endpoint.begin();
        // Both ends are ready, with their memory, before the clock starts.
        self.endpoint.exchange(&mut [0], &mut [0])?;
        let (before, start) = (usage::thread_cpu_s(), Instant::now());
        let checked = self.exchange_messages(role, task)?;
        let measurement = Measurement {
            seconds: start.elapsed().as_secs_f64(),
            cpu_s: usage::thread_cpu_s() - before,
            ..Measurement::default()
        };
        self.endpoint.quiesce();
        checked.map(|()| measurement)
    }

    /// Exchanges all messages. The inner result is an error if a byte was wrong.
    fn exchange_messages(&mut self, role: Role, task: &WorkerTask) -> io::Result<io::Result<()>> {
        let (end, mut checked) = (&mut self.endpoint, Ok(()));
        for number in 0..task.count {
            let (out, into) = (&mut self.send_buffers, self.receive_pool.slot(number));
            match (task.pattern, role) {
                (TrafficPattern::PingPong, Role::Local) => {
                    out.exchange(end, task, number, &mut [])?;
                    end.receive(into)?;
                    checked = checked.and(check_message(task, into, number));
                }
                (TrafficPattern::PingPong, Role::Remote) => {
                    end.receive(into)?;
                    checked = checked.and(check_message(task, into, number));
                    out.exchange(end, task, number, &mut [])?;
                }
                (TrafficPattern::Stream, Role::Local) => out.exchange(end, task, number, &mut [])?,
                (TrafficPattern::Stream, Role::Remote) => {
                    end.receive(into)?;
                    checked = checked.and(check_message(task, into, number));
                }
                _ => {
                    out.exchange(end, task, number, into)?;
                    checked = checked.and(check_message(task, into, number));
                }
            }
            if task.pattern == TrafficPattern::Stream && (number + 1 == task.count || (number + 1) % ACK_INTERVAL == 0)
            {
                acknowledge(end, role)?;
            }
        }
        Ok(checked)
    }
}

/// Sends the receiver's acknowledgement, or waits for it. Without acknowledgements the sender could finish by merely
/// queueing its messages.
fn acknowledge(end: &mut impl PatternEndpoint, role: Role) -> io::Result<()> {
    match role {
        Role::Local => end.receive(&mut [0]),
        Role::Remote => end.send(&mut [0]),
    }
}

fn check_message(task: &WorkerTask, message: &[u8], number: u64) -> io::Result<()> {
    if task.check { buffers::compare(message, number).map_err(io::Error::other) } else { Ok(()) }
}
