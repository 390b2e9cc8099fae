//! Heartbeats between hosts, by which a silent network or a machine without power is distinguished from a process
//! that is merely stopped.
//!
//! Every second a heartbeat is written into each direction of the channel between mpiexec and an agent on another
//! host: on mpiexec's side by a helper process (`main`), on the agent's side by the agent's supervisor
//! (`agent::supervisor`). If mpiexec or the agent is stopped, its heartbeats continue, and so the other side waits
//! for it. There is silence only if the writer of the heartbeats is stopped or gone too, or if the network delivers
//! nothing. A heartbeat is one write that the kernel never divides (`channel`), so it may fall between two writes of
//! mpiexec or the agent.

use crate::channel::HEARTBEAT;
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, pipe};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The subcommand by which mpiexec starts the process that writes its heartbeats.
pub const SUBCOMMAND: &str = "__pulse";

const HEARTBEAT_NS: u64 = 1_000_000_000;
/// The time in seconds without a received byte after which the other side counts as lost. Together with the time that
/// ending the rest of the job takes, it is less than 10 s.
pub const SILENCE_S: u32 = 7;

/// The duration of the other side's silence, counted in checks that are one second apart. If the process that checks
/// was itself stopped meanwhile, that time counts as one check, however long it was.
pub struct SilenceTimer {
    check_at_ns: u64,
    missed: u32,
}

impl Default for SilenceTimer {
    fn default() -> SilenceTimer {
        SilenceTimer { check_at_ns: clock::now_ns() + HEARTBEAT_NS, missed: 0 }
    }
}

impl SilenceTimer {
    /// Sets the duration to zero: something was received, or this process did not read, so that nothing could be
    /// received.
    pub fn reset(&mut self) {
        self.missed = 0;
    }

    /// The time of the next check.
    pub fn check_at_ns(&self) -> u64 {
        self.check_at_ns
    }

    /// Counts a check if its time (`check_at_ns`) has come. Returns whether `SILENCE_S` checks have found silence.
    pub fn has_expired(&mut self) -> bool {
        let now_ns = clock::now_ns();
        if now_ns >= self.check_at_ns {
            self.check_at_ns = now_ns + HEARTBEAT_NS;
            self.missed += 1;
        }
        self.missed >= SILENCE_S
    }
}

/// The time in ms until the next heartbeat is due, if the last one was written at `last_ns`; 0 if it is due now.
pub fn next_heartbeat_ms(last_ns: u64) -> u64 {
    (last_ns + HEARTBEAT_NS).saturating_sub(clock::now_ns()).div_ceil(1_000_000)
}

/// Writes one heartbeat. Returns whether the channel still has a reader. If the channel is full, no heartbeat is
/// written: the data that fills the channel is a sign of life too.
pub fn send_heartbeat(channel: &OwnedFd) -> bool {
    match pipe::write(channel.as_fd(), &HEARTBEAT) {
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        Ok(_) => true,
    }
}

/// Writes heartbeats into every channel that mpiexec hands over on `socket`, until mpiexec is gone. Returns the exit
/// code.
pub fn main(socket: OwnedFd) -> i32 {
    match serve(SeqpacketSocket::from(socket)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("mpiexec's heartbeat process failed: {error}");
            1
        }
    }
}

fn serve(socket: SeqpacketSocket) -> io::Result<()> {
    let mut epoll = Epoll::new()?;
    epoll.add(socket.as_fd(), 0, Interest::Read)?;
    let (mut channels, mut events) = (Vec::new(), Vec::new());
    let mut last_ns = clock::now_ns();
    loop {
        epoll.wait(&mut events, Some(next_heartbeat_ms(last_ns)))?;
        if !events.is_empty() {
            match socket.receive(&mut [0; 8])? {
                (0, _) => return Ok(()),
                (_, channel) => channels.extend(channel),
            }
        }
        if next_heartbeat_ms(last_ns) == 0 {
            last_ns = clock::now_ns();
            channels.retain(send_heartbeat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{AgentChannel, Received};
    use std::time::Duration;

    #[test]
    fn silence_is_counted_in_looks_and_broken_by_any_sign() {
        let mut silence = SilenceTimer { check_at_ns: 0, missed: 0 };
        // A long stop counts as one check all the same.
        assert!(!silence.has_expired() && !silence.has_expired());
        for _ in 2..SILENCE_S {
            silence.check_at_ns = 0;
            assert!(!silence.has_expired());
        }
        silence.reset();
        silence.check_at_ns = 0;
        assert!(!silence.has_expired());
        silence.missed = SILENCE_S - 1;
        silence.check_at_ns = 0;
        assert!(silence.has_expired());
    }

    #[test]
    fn beats_come_between_frames_and_are_none() {
        let (ours, theirs) = SeqpacketSocket::pair().unwrap();
        let (input, output) = pipe::pipe().unwrap();
        let (_, unused) = pipe::pipe().unwrap();
        let (reader, writer) = (unused.try_clone().unwrap(), output.try_clone().unwrap());
        let mut sender = AgentChannel::new(reader, writer).unwrap();
        let mut receiver = AgentChannel::new(input, unused).unwrap();
        ours.send(b"c", Some(output.as_fd())).unwrap();
        let process = std::thread::spawn(move || main(theirs.into()));
        std::thread::sleep(Duration::from_millis(1300));
        sender.send(b"frame").unwrap();
        assert_eq!(receiver.receive(), Received::Frame(b"frame".to_vec()));
        std::thread::sleep(Duration::from_millis(1000));
        assert!(
            receiver.take_activity()
                && receiver.receive() == Received::Nothing
                && receiver.take_activity()
                && !receiver.take_activity()
        );
        drop(ours);
        assert_eq!(process.join().unwrap(), 0);
    }
}
