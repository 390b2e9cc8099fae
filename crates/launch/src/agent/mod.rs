//! The agent of one host: the same binary as mpiexec, started by mpiexec. It has one thread and decides no policy.
//!
//! The agent exchanges frames with mpiexec over its standard input and output. It has one rule of its own: when
//! mpiexec is gone, it ends every process below itself and exits. mpiexec does the same when the agent is gone, so no
//! process of a job outlives either. On another host than mpiexec's a `supervisor` is the agent's parent in mpiexec's
//! place, and the agent also ends when it has received nothing from mpiexec's host for some seconds (`heartbeat`).
//! Started by `job_control`; starts the ranks.

pub mod libraries;
pub mod mpi_library;
pub mod rank_state;
pub mod run;
pub mod start;
pub mod streams;
pub mod supervisor;

use crate::channel::{AgentChannel, Received};
use crate::failure::EXIT_FAILURE;
use crate::frames::{self, FromAgent, ToAgent};
use crate::heartbeat::{SILENCE_S, SilenceTimer};
use crate::info;
use hawser_host::rank_server::EventSource;
use hawser_os::epoll::{Epoll, EpollEvent, Interest};
use hawser_os::signals::{self, SIGCHLD, SIGHUP, SignalFd};
use hawser_os::{clock, host, pidfd, process_tree, spawn};
use run::HostRun;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The argument that makes mpiexec an agent; the process id of its supervisor follows, if it has one.
pub const SUBCOMMAND: &str = hawser_boot::protocol::AGENT_ARGUMENT;

/// The time limit in ms for killed processes to be gone: the kernel frees their memory in that time.
pub const KILL_LIMIT_MS: u64 = 1000;

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventToken {
    ChannelIn,
    ChannelOut,
    Signals,
    /// The input pipe of a rank that reads mpiexec's input, by the number of that reader (`streams`).
    Input(u32),
    /// An output of a rank, by the number of its pipe (`streams`).
    Pipe(u32),
    /// The supervisor's process.
    Supervisor,
    /// A descriptor of the rank server (`host::rank_server`).
    RankServer(EventSource),
}

impl EventToken {
    pub fn encode(self) -> u64 {
        let (kind, number) = match self {
            EventToken::ChannelIn => (0, 0),
            EventToken::ChannelOut => (1, 0),
            EventToken::Signals => (2, 0),
            EventToken::Input(number) => (3, number),
            EventToken::Pipe(number) => (4, number),
            EventToken::Supervisor => (5, 0),
            EventToken::RankServer(source) => return source.encode(),
        };
        kind << 32 | u64::from(number)
    }

    pub fn decode(token: u64) -> EventToken {
        if let Some(source) = EventSource::decode(token) {
            return EventToken::RankServer(source);
        }
        let number = token as u32;
        match token >> 32 {
            0 => EventToken::ChannelIn,
            1 => EventToken::ChannelOut,
            2 => EventToken::Signals,
            3 => EventToken::Input(number),
            4 => EventToken::Pipe(number),
            _ => EventToken::Supervisor,
        }
    }
}

/// The context that all parts of the agent share: the channel to mpiexec, the epoll set and the signals.
pub struct AgentContext {
    pub channel: AgentChannel,
    pub epoll: Epoll,
    pub signals: SignalFd,
    supervisor: Option<SupervisorWatch>,
}

/// The evidence that mpiexec is gone, or the reason why the agent cannot find out.
#[derive(Debug)]
enum MpiexecLost {
    /// The channel to or from mpiexec has ended, or has delivered bytes that are no frame.
    ChannelClosed,
    /// Nothing was received from mpiexec for some seconds.
    Silent,
    /// The agent's supervisor is gone.
    SupervisorGone,
    /// The agent cannot wait for events.
    WaitFailed(io::Error),
}

impl MpiexecLost {
    /// The last line that an agent on another host prints; None if its supervisor is gone. mpiexec puts the line into
    /// its own message about the lost host, if mpiexec still runs after all.
    fn final_message(self) -> Option<String> {
        match self {
            MpiexecLost::ChannelClosed => Some("the agent there has lost its connection to mpiexec".into()),
            MpiexecLost::Silent => Some(format!("the agent there has received nothing from mpiexec for {SILENCE_S} s")),
            MpiexecLost::SupervisorGone => None,
            MpiexecLost::WaitFailed(error) => Some(format!("the agent there cannot wait for events: {error}")),
        }
    }
}

/// The watch of an agent on another host over its supervisor and over mpiexec.
struct SupervisorWatch {
    /// The pidfd of the supervisor's process, kept open because epoll reports the end of that process by it.
    _process: OwnedFd,
    /// The duration of the silence of mpiexec's host.
    silence: SilenceTimer,
}

impl SupervisorWatch {
    fn start(pid: i32, epoll: &mut Epoll) -> io::Result<SupervisorWatch> {
        let process = pidfd::open(pid)?;
        if host::parent() != pid {
            return Err(io::Error::other(format!("its supervisor, process {pid}, is gone")));
        }
        epoll.add(process.as_fd(), EventToken::Supervisor.encode(), Interest::Read)?;
        Ok(SupervisorWatch { _process: process, silence: SilenceTimer::default() })
    }
}

impl AgentContext {
    /// Sends to mpiexec. If mpiexec is gone, the next read from it reports that.
    pub fn send(&mut self, frame: &FromAgent) {
        let _ = self.channel.send(&frame.encode());
    }
}

/// Runs the agent to its end and returns its exit code.
pub fn main(input: BorrowedFd, output: BorrowedFd, supervisor_pid: Option<i32>) -> i32 {
    match AgentContext::open(input, output, supervisor_pid) {
        Ok(mut context) => {
            let ready = FromAgent::Ready { version: frames::version(), pid: host::pid() };
            // If mpiexec is gone, the next read from it reports that.
            let _ = context.channel.send_first_frame(&ready.encode());
            serve(context)
        }
        Err(error) => {
            eprintln!("mpiexec's agent cannot start: {error}");
            1
        }
    }
}

impl AgentContext {
    fn open(input: BorrowedFd, output: BorrowedFd, supervisor_pid: Option<i32>) -> io::Result<AgentContext> {
        spawn::become_subreaper();
        signals::restore_default(SIGCHLD);
        // An agent that receives SIGHUP ends the ranks before itself. The kernel sends SIGHUP too if the supervisor
        // is killed while this process is stopped (POSIX: an orphaned process group with a stopped member).
        let signals = SignalFd::block(&[SIGCHLD, SIGHUP])?;
        let mut channel = AgentChannel::new(input.try_clone_to_owned()?, output.try_clone_to_owned()?)?;
        let mut epoll = Epoll::new()?;
        let supervisor = supervisor_pid.map(|pid| SupervisorWatch::start(pid, &mut epoll)).transpose()?;
        if supervisor.is_some() {
            channel = channel.with_heartbeats();
        }
        epoll.add(channel.input(), EventToken::ChannelIn.encode(), Interest::Read)?;
        epoll.add(channel.output(), EventToken::ChannelOut.encode(), Interest::Nothing)?;
        epoll.add(signals.as_fd(), EventToken::Signals.encode(), Interest::Read)?;
        Ok(AgentContext { channel, epoll, signals, supervisor })
    }

    /// Whether mpiexec is on another host.
    pub fn is_remote(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Waits for events until `deadline_ns`, or until mpiexec's silence is to be checked again.
    fn wait(&mut self, events: &mut Vec<EpollEvent>, deadline_ns: Option<u64>) -> io::Result<()> {
        let check_at_ns = self.supervisor.as_ref().map(|guard| guard.silence.check_at_ns());
        let next_ns = deadline_ns.into_iter().chain(check_at_ns).min();
        // Rounded up, so that the wait does not end before that time.
        let timeout_ms = next_ns.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        self.epoll.wait(events, timeout_ms)
    }

    /// Returns the evidence that mpiexec is gone, if there is any: the supervisor is gone, or nothing was received
    /// from mpiexec's host for `SILENCE_S`. Always None on mpiexec's own host, where the agent has no supervisor.
    fn mpiexec_lost(&mut self, events: &[EpollEvent]) -> Option<MpiexecLost> {
        let supervisor = self.supervisor.as_mut()?;
        if self.channel.take_activity() {
            supervisor.silence.reset();
        }
        if supervisor.silence.has_expired() {
            return Some(MpiexecLost::Silent);
        }
        events
            .iter()
            .any(|event| EventToken::decode(event.token) == EventToken::Supervisor)
            .then_some(MpiexecLost::SupervisorGone)
    }

    /// Ends the ranks, because mpiexec is gone and with it the job. Prints the reason if mpiexec is on another host.
    /// Returns the agent's exit code.
    fn exit_without_mpiexec(&self, loss: MpiexecLost) -> i32 {
        end_ranks();
        if let Some(message) = loss.final_message().filter(|_| self.is_remote()) {
            // The remote shell may be gone too.
            let _ = writeln!(io::stderr(), "{message}");
        }
        EXIT_FAILURE
    }

    /// Lets epoll report when the channel can be written, if there is a backlog.
    fn watch_backlog(&mut self) {
        let interest = if self.channel.backlog() > 0 { Interest::Write } else { Interest::Nothing };
        let _ = self.epoll.change(self.channel.output(), EventToken::ChannelOut.encode(), interest);
    }

    /// Appends all frames that have arrived from mpiexec to `frames`. It is an error if mpiexec is gone or a frame
    /// does not parse.
    fn receive(&mut self, frames: &mut Vec<ToAgent>) -> Result<(), MpiexecLost> {
        loop {
            match self.channel.receive() {
                Received::Frame(body) => frames.push(ToAgent::decode(&body).ok_or(MpiexecLost::ChannelClosed)?),
                Received::Nothing => return Ok(()),
                Received::End => return Err(MpiexecLost::ChannelClosed),
            }
        }
    }

    /// Writes the whole backlog, however slowly mpiexec reads it. Returns early if mpiexec is gone.
    fn send_rest(&mut self) {
        let mut events = Vec::new();
        while self.channel.flush().is_ok() && self.channel.backlog() > 0 {
            self.watch_backlog();
            let waited = self.wait(&mut events, None).is_ok();
            if !waited || self.receive(&mut Vec::new()).is_err() || self.mpiexec_lost(&events).is_some() {
                return;
            }
        }
    }
}

fn serve(mut context: AgentContext) -> i32 {
    let mut run: Option<HostRun> = None;
    let mut events: Vec<EpollEvent> = Vec::new();
    let mut incoming = Vec::new();
    loop {
        if let Err(error) = context.wait(&mut events, run.as_ref().and_then(HostRun::deadline_ns)) {
            return context.exit_without_mpiexec(MpiexecLost::WaitFailed(error));
        }
        for event in &events {
            match EventToken::decode(event.token) {
                EventToken::ChannelIn => {
                    if let Err(loss) = context.receive(&mut incoming) {
                        return context.exit_without_mpiexec(loss);
                    }
                }
                EventToken::ChannelOut => {
                    if context.channel.flush().is_err() {
                        return context.exit_without_mpiexec(MpiexecLost::ChannelClosed);
                    }
                }
                EventToken::Signals if context.signals.drain(SIGHUP) => {
                    end_ranks();
                    signals::die_of(SIGHUP)
                }
                token => {
                    if let Some(run) = &mut run {
                        run.handle_epoll_event(&mut context, token, *event);
                    }
                }
            }
        }
        if let Some(loss) = context.mpiexec_lost(&events) {
            return context.exit_without_mpiexec(loss);
        }
        for frame in incoming.drain(..) {
            match (frame, &mut run) {
                (ToAgent::Info { ranks, settings }, _) => {
                    context.send(&FromAgent::Info(info::host_text(ranks as usize, &settings)))
                }
                (ToAgent::Start(job), None) => {
                    run = HostRun::start(&mut context, *job);
                    if run.is_none() {
                        context.send_rest();
                        return 0;
                    }
                }
                (frame, Some(run)) => run.handle_frame(&mut context, frame),
                (_, None) => {}
            }
        }
        if let Some(running) = &mut run {
            running.handle_timers(&mut context);
            if running.is_over() {
                running.finish(&mut context);
                context.send_rest();
                return 0;
            }
        }
        context.watch_backlog();
    }
}

/// Ends every process below the agent: the job is over, because mpiexec is gone or because the agent has received
/// SIGHUP.
fn end_ranks() {
    process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for token in [
            EventToken::ChannelIn,
            EventToken::ChannelOut,
            EventToken::Signals,
            EventToken::Input(3),
            EventToken::Pipe(u32::MAX),
            EventToken::Supervisor,
            EventToken::RankServer(EventSource::Listener),
            EventToken::RankServer(EventSource::Connection(u32::MAX)),
            EventToken::RankServer(EventSource::Process(0)),
        ] {
            assert_eq!(EventToken::decode(token.encode()), token);
        }
    }
}
