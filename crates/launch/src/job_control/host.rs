//! A host of the job as mpiexec sees it: its agent, the channel to it, its state, and the messages about its loss.
//!
//! The agent of mpiexec's own host is a child of mpiexec. The agent of another host is reached through a remote
//! shell, whose streams are the channel, or by the connection of a worker (`worker`), to which a process relays. The
//! duration of each step is bounded here; `job_control` decides what follows when a step fails.

use crate::agent::{SUBCOMMAND, supervisor};
use crate::channel::AgentChannel;
use crate::frames::{HostCounters, HostJob, ToAgent};
use crate::heartbeat::{SILENCE_S, SilenceTimer};
use crate::hosts::Launcher;
use crate::info;
use crate::worker::handshake::{Session, Verdict};
use crate::worker::listener::Worker;
use crate::worker::{relay, token, worker_host};
use hawser_os::signals::{self, SIGKILL, SignalFd};
use hawser_os::spawn::{self, ExitStatus, Leads, SpawnOptions};
use hawser_os::{ErrorContext, clock, host, pipe};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The time limit from an agent's last frame, or the end of its channel, to the end of its process.
const AGENT_EXIT_NS: u64 = 1_700_000_000;
/// The age, in ns, from which on a heartbeat releases the last line of a remote shell (`LastLine`): longer than an
/// agent and its supervisor take to end.
const LAST_LINE_NS: u64 = 2_000_000_000;
/// The variables whose values are right on mpiexec's own host only: its name, and the number of its pod in an indexed
/// Job of Kubernetes.
const OF_HOST: [&str; 2] = ["HOSTNAME", worker_host::INDEX_VARIABLE];
/// The length in bytes above which a line of a remote shell is cut into several.
const LINE_MAX: usize = 4096;

/// The state of a host of the job, as mpiexec sees it. Later states are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HostState {
    /// The agent has sent nothing yet.
    Connecting,
    /// The agent is connected, and mpiexec waits for the agents of the other hosts.
    Ready,
    /// The agent was requested to start the host's ranks.
    Running,
    /// The agent has reported that nothing of the job is left on the host.
    Finished,
    /// The channel has ended before the host was finished, and how the agent or remote shell has ended is not known
    /// yet.
    Closed,
    /// Nothing more is expected from the host.
    Exited,
}

hawser_base::state_machine! {
    impl HostState {
        start Connecting;
        /// The agent's first frame has arrived.
        agent_connected(Connecting => Ready);
        /// All agents are connected, and the job is started.
        job_started(Ready => Running);
        /// The agent has reported that nothing of the job is left on the host.
        job_finished(Connecting | Ready | Running => Finished);
        /// The channel has ended.
        channel_ended(Connecting | Ready | Running => Closed, Finished => Exited);
        /// mpiexec gives the host up, or all is known about its end.
        forgotten(Connecting | Ready | Running | Finished | Closed => Exited);
    }
}

/// The step that has taken too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverdueStep {
    /// An agent that has done its work does not exit.
    Leaving,
    /// The channel is closed, and how the agent or remote shell has ended is still not known.
    Closed,
    /// Nothing is received from the host.
    Silent,
}

pub struct JobHost {
    pub name: String,
    pub job: HostJob,
    pub channel: AgentChannel,
    pub state: HostState,
    /// The agent was connected at some time.
    pub was_ready: bool,
    /// The process id of the agent, or of the remote shell that leads to it.
    pub child_pid: i32,
    /// The exit status of that process; None until it is known.
    pub end: Option<ExitStatus>,
    /// The agent's process id on its own host.
    pub agent_pid: i32,
    /// The way to the host; None for mpiexec's own.
    pub remote: Option<RemoteAgent>,
    /// The time at which the present state has lasted too long; None if it has no limit.
    pub deadline_ns: Option<u64>,
    /// Whether each descriptor is in the epoll set: the channel's input, its output, and the standard error of the
    /// remote shell.
    pub watched: [bool; 3],
    /// Bytes of input that were sent to the host and that its readers have not taken yet.
    pub stdin_in_flight: usize,
    /// The number of times that ranks of this host have left MPI.
    pub finalized_count: u32,
    pub counters: Option<HostCounters>,
    pub info: Option<String>,
}

/// The way to an agent on another host.
enum Way {
    Shell {
        /// The remote shell with its options, and the name of the host.
        shell: String,
        /// The mpiexec that the shell must start.
        program: PathBuf,
    },
    /// The address from which the host's worker has connected, and what a verdict for it needs.
    Worker(SocketAddr, Session),
}

/// An agent on another host, and the process that leads to it: a remote shell, or a relay.
pub struct RemoteAgent {
    way: Way,
    /// The time limit, in seconds, for the agent's first frame.
    connect_s: u64,
    stderr: Option<OwnedFd>,
    partial: Vec<u8>,
    last_line: LastLine,
    pub silence: SilenceTimer,
}

/// The last line that a remote shell has printed. It may explain why the shell ends, so it is kept for the message
/// about that end. It is released, and then printed by itself, when the agent sends a frame, or when a heartbeat
/// arrives at least `LAST_LINE_NS` after the line. An earlier heartbeat does not release it: the supervisor may write
/// one just after the agent's last words.
#[derive(Default)]
struct LastLine {
    text: Option<String>,
    printed_at_ns: u64,
}

impl LastLine {
    /// Keeps `text` as the last line, printed at `now_ns`.
    fn keep(&mut self, text: Option<String>, now_ns: u64) {
        *self = LastLine { text, printed_at_ns: now_ns };
    }

    /// Removes and returns the line if it can explain no end any more. To be called when a frame (`is_frame`) or a
    /// heartbeat has arrived.
    fn release(&mut self, is_frame: bool, now_ns: u64) -> Option<String> {
        let is_old = now_ns.saturating_sub(self.printed_at_ns) >= LAST_LINE_NS;
        if is_frame || is_old { self.text.take() } else { None }
    }
}

impl JobHost {
    /// Starts the agent, or the remote shell that starts it on another host.
    pub fn start_agent(
        mut job: HostJob,
        launcher: &Launcher,
        worker: Option<Worker>,
        signals: &SignalFd,
    ) -> io::Result<JobHost> {
        let name = if job.host.is_empty() { host::name() } else { job.host.clone() };
        let shell = if job.host.is_empty() { None } else { launcher.shell(&job.host, job.hosts.is_empty()) };
        let (child_pid, channel, remote) = match (worker, shell) {
            (Some(worker), _) => start_relay(worker, signals)?,
            (None, Some(shell)) => start_remote(&name, &shell, launcher, signals)?,
            (None, None) => start_local(launcher.has_workers, signals)?,
        };
        if remote.is_some() {
            let is_of_host = |name: &[u8]| OF_HOST.iter().any(|of_host| name == of_host.as_bytes());
            job.apps.iter_mut().for_each(|app| app.environment.retain(|(name, _)| !is_of_host(name)));
        }
        Ok(JobHost {
            name,
            job,
            channel: channel.awaiting_mark(),
            state: HostState::Connecting,
            was_ready: false,
            child_pid,
            end: None,
            agent_pid: child_pid,
            remote,
            deadline_ns: Some(clock::now_ns() + launcher.connect_s() * 1_000_000_000),
            watched: [false; 3],
            stdin_in_flight: 0,
            finalized_count: 0,
            counters: None,
            info: None,
        })
    }

    pub fn send(&mut self, frame: &ToAgent) {
        // If the agent is gone, the next read from it reports that.
        let _ = self.channel.send(&frame.encode());
    }

    /// Requests the properties that the host's agent detects, for the Hawser variables of the job's first program;
    /// without a program, for those of mpiexec.
    pub fn request_info(&mut self) {
        let settings = self.job.apps.first().map_or_else(info::own_settings, |app| info::settings(&app.environment));
        self.send(&ToAgent::Info { ranks: self.job.ranks.len().max(2) as u32, settings });
    }

    /// Tells a worker the exit code of the job, with which it ends too: the last bytes of the channel. If the worker is
    /// gone, nobody needs it.
    pub fn send_exit_code(&mut self, code: i32) {
        if let Some(RemoteAgent { way: Way::Worker(_, session), .. }) = &self.remote {
            self.channel.send_last(&Verdict::Ended(code).encode(session));
        }
    }

    /// The command that reaches another host, for -v; None for an agent of mpiexec's own host.
    pub fn start_command(&self) -> Option<String> {
        let text = match &self.remote.as_ref()?.way {
            Way::Shell { shell, program } => format!("{shell} {} {}", program.display(), supervisor::SUBCOMMAND),
            Way::Worker(address, _) => format!("its worker at {address}"),
        };
        Some(format!("host {}: {text}", self.name))
    }

    /// Whether frames from its agent may still arrive.
    pub fn is_open(&self) -> bool {
        self.state <= HostState::Finished
    }

    /// The next time limit of this host.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let remote = self.remote.as_ref().filter(|_| (HostState::Ready..=HostState::Running).contains(&self.state));
        self.deadline_ns.into_iter().chain(remote.map(|far| far.silence.check_at_ns())).min()
    }

    /// Returns the step that has taken too long, if there is one. `is_reading`: mpiexec reads frames from hosts at
    /// the moment; if it does not, the host's silence is not counted.
    pub fn overdue_step(&mut self, now_ns: u64, is_reading: bool) -> Option<OverdueStep> {
        if self.deadline_ns.is_some_and(|at| at <= now_ns) {
            self.deadline_ns = None;
            return match self.state {
                HostState::Finished => Some(OverdueStep::Leaving),
                HostState::Closed => Some(OverdueStep::Closed),
                _ => Some(OverdueStep::Silent),
            };
        }
        let remote = self.remote.as_mut().filter(|_| (HostState::Ready..=HostState::Running).contains(&self.state))?;
        if !is_reading {
            remote.silence.reset();
        }
        remote.silence.has_expired().then_some(OverdueStep::Silent)
    }

    /// Ends the host's silence if anything was received since the last call. `is_frame`: a frame of the agent was
    /// received, not only a heartbeat. Returns the remote shell's last line if it can explain no end any more
    /// (`LastLine`).
    pub fn note_activity(&mut self, is_frame: bool) -> Option<String> {
        let remote = self.remote.as_mut().filter(|_| self.channel.take_activity())?;
        remote.silence.reset();
        remote.last_line.release(is_frame, clock::now_ns())
    }

    /// Reads the remote shell's standard error. Returns the whole lines, apart from the last one, which is kept
    /// (`LastLine`).
    pub fn read_stderr(&mut self) -> Vec<String> {
        let Some(remote) = &mut self.remote else { return Vec::new() };
        let mut bytes = [0; LINE_MAX];
        match remote.stderr.as_ref().map(|errors| pipe::read(errors.as_fd(), &mut bytes)) {
            Some(Ok(len @ 1..)) => remote.partial.extend(&bytes[..len]),
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return Vec::new(),
            // A closed descriptor leaves the epoll set.
            _ => remote.stderr = None,
        }
        let complete_bytes = match remote.partial.iter().rposition(|&byte| byte == b'\n') {
            _ if remote.stderr.is_none() || remote.partial.len() > LINE_MAX => remote.partial.len(),
            Some(at) => at + 1,
            None => 0,
        };
        let complete_lines: Vec<u8> = remote.partial.drain(..complete_bytes).collect();
        let text = String::from_utf8_lossy(&complete_lines);
        let lines = text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = remote.last_line.text.take().into_iter().chain(lines).collect();
        remote.last_line.keep(lines.pop(), clock::now_ns());
        lines
    }

    /// Records that the channel has ended.
    pub fn close(&mut self) {
        if self.state.channel_ended() {
            self.deadline_ns = (self.state == HostState::Closed).then(|| clock::now_ns() + AGENT_EXIT_NS);
        }
    }

    /// Records that nothing of the job is left on the host; the agent must now exit within a time limit.
    pub fn finish(&mut self) {
        if self.state.job_finished() {
            self.deadline_ns = Some(clock::now_ns() + AGENT_EXIT_NS);
        }
    }

    /// Whether the channel has ended too early and everything about that is known: the exit status of the agent or
    /// remote shell, and the last line of the shell.
    pub fn is_end_known(&self) -> bool {
        // A relay goes on until mpiexec has told its worker the exit code.
        let has_ended = self.end.is_some() && self.remote.as_ref().is_none_or(|far| far.stderr.is_none());
        self.state == HostState::Closed && (self.is_relayed() || has_ended)
    }

    /// Expects no more from the host, and ends its process if that has not ended.
    pub fn kill_and_forget(&mut self) {
        if self.end.is_none() {
            let _ = signals::send(self.child_pid, SIGKILL);
        }
        self.forget();
    }

    /// Whether a relay leads to the host, which must live until the host's worker knows the exit code.
    pub fn is_relayed(&self) -> bool {
        self.end.is_none() && self.remote.as_ref().is_some_and(RemoteAgent::is_worker)
    }

    /// Expects no more from the host.
    pub fn forget(&mut self) {
        if let Some(remote) = &mut self.remote {
            remote.stderr = None;
        }
        self.state.forgotten();
        self.deadline_ns = None;
    }

    /// The message about a host whose agent, or the channel to it, has ended too early.
    pub fn lost_message(&self) -> String {
        let name = &self.name;
        match &self.remote {
            None => {
                format!("the agent on host {name} (pid {}) {}; the job is ended", self.agent_pid, exit_text(self.end))
            }
            Some(remote) => {
                let end = match &remote.way {
                    Way::Worker(address, _) => format!("its worker at {address} has ended, or the connection to it"),
                    Way::Shell { shell, .. } if self.was_ready => format!("{} {}", name_of(shell), exit_text(self.end)),
                    Way::Shell { shell, program } => {
                        let last = remote.last_line_text(self.channel.preamble());
                        return start_failure(name, name_of(shell), program, self.end, &last);
                    }
                };
                match &remote.last_line.text {
                    Some(line) => format!("host {name} is lost: {line} ({end}); the job is ended"),
                    None => format!("host {name} is lost: {end}; the job is ended"),
                }
            }
        }
    }

    /// The message about a host from which nothing was received for too long.
    pub fn timeout_message(&self) -> String {
        match &self.remote {
            Some(remote) if self.state == HostState::Connecting => {
                let last = remote.last_line_text(self.channel.preamble());
                let advice = match &remote.way {
                    Way::Shell { shell, .. } => format!("check that `{shell} true` works without a prompt"),
                    Way::Worker(address, _) => format!("see what its worker at {address} has printed"),
                };
                format!("host {} has not answered for {} s{last}; {advice}", self.name, remote.connect_s)
            }
            Some(_) => format!(
                "host {} has been silent for {SILENCE_S} s (is it down, or the network to it?); the job is ended",
                self.name
            ),
            None => {
                format!("the agent on host {} (pid {}) does not answer; the job is ended", self.name, self.agent_pid)
            }
        }
    }
}

impl RemoteAgent {
    pub fn stderr(&self) -> Option<BorrowedFd<'_>> {
        self.stderr.as_ref().map(AsFd::as_fd)
    }

    fn new(way: Way, connect_s: u64, stderr: OwnedFd) -> RemoteAgent {
        RemoteAgent {
            way,
            connect_s,
            stderr: Some(stderr),
            partial: Vec::new(),
            last_line: LastLine::default(),
            silence: SilenceTimer::default(),
        }
    }

    fn is_worker(&self) -> bool {
        matches!(self.way, Way::Worker(..))
    }

    /// The last line of the remote shell's standard error or, if there is none, of its output before the mark, in
    /// parentheses for the end of a sentence; empty if there is neither.
    fn last_line_text(&self, preamble: &[u8]) -> String {
        let chatter = String::from_utf8_lossy(preamble);
        let last = chatter.lines().map(str::trim).rfind(|line| !line.is_empty());
        self.last_line.text.as_deref().or(last).map_or_else(String::new, |line| format!(" ({line})"))
    }
}

/// The name of a remote shell, which is given with its options, for messages.
fn name_of(shell: &str) -> &str {
    shell.split(' ').next().unwrap_or_default()
}

/// The message about the remote shell to the host `name` that has ended before the agent was connected. `last`: the
/// last line of the shell, in parentheses.
fn start_failure(name: &str, shell: &str, program: &Path, end: Option<ExitStatus>, last: &str) -> String {
    let program = program.display();
    match end {
        // The exit codes of shells: 127 for not found, 126 for not executable.
        Some(ExitStatus::Exited(127)) => format!(
            "host {name} has no {program}{last}; install Hawser in the same folder there, or name its folder \
             (--prefix DIR)"
        ),
        Some(ExitStatus::Exited(126)) => format!("host {name} cannot execute {program}{last}"),
        end => format!("host {name} cannot be reached: {shell} {}{last}", exit_text(end)),
    }
}

fn exit_text(end: Option<ExitStatus>) -> String {
    match end {
        Some(ExitStatus::Killed { signal, .. }) => {
            format!("was killed by signal {signal} ({})", signals::description(signal))
        }
        Some(ExitStatus::Exited(code)) => format!("ended with code {code}"),
        None => "closed its output".into(),
    }
}

/// The process that is the agent or leads to it, the channel, and the way to another host.
type StartedAgent = (i32, AgentChannel, Option<RemoteAgent>);

/// The options of a process that mpiexec starts from its own program or as a remote shell.
pub(super) fn spawn_options(signals: &SignalFd) -> SpawnOptions {
    SpawnOptions { mask: Some(signals.saved_mask()), leads: Leads::Group, at_terminal: true, ..SpawnOptions::default() }
}

fn start_local(has_workers: bool, signals: &SignalFd) -> io::Result<StartedAgent> {
    let (ours, theirs) = UnixStream::pair().context(|| "making the channel to the agent".into())?;
    let theirs: OwnedFd = theirs.into();
    let mut command = Command::new(host::program());
    command.arg0("mpiexec").arg(SUBCOMMAND).stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    if has_workers {
        token::remove_from(&mut command);
    }
    let spawn_options = spawn_options(signals);
    let agent = spawn::spawn(&mut command, spawn_options)
        .context(|| format!("starting the agent of this host from {}", host::program().display()))?
        .id() as i32;
    Ok((agent, AgentChannel::new(ours.try_clone()?.into(), ours.into())?, None))
}

fn start_remote(name: &str, shell: &[String], launcher: &Launcher, signals: &SignalFd) -> io::Result<StartedAgent> {
    let ((stdin, output), (input, stdout), (errors, stderr)) = (pipe::pipe()?, pipe::pipe()?, pipe::pipe()?);
    pipe::set_nonblocking(errors.as_fd())?;
    let (program, remote_command) = launcher.command(supervisor::SUBCOMMAND);
    let mut command = launcher.process(shell);
    command.arg(&remote_command).stdin(stdin).stdout(stdout).stderr(stderr);
    let spawn_options = SpawnOptions { die_with_parent: true, ..spawn_options(signals) };
    let process = spawn::spawn(&mut command, spawn_options).map_err(|error| {
        io::Error::other(format!(
            "host {name} cannot be reached: the remote shell {} cannot be started: {error}; install it or name another \
             (--launcher-exec COMMAND)",
            shell[0]
        ))
    })?;
    let remote = RemoteAgent::new(Way::Shell { shell: shell.join(" "), program }, launcher.connect_s(), errors);
    Ok((process.id() as i32, AgentChannel::new(input, output)?.with_heartbeats(), Some(remote)))
}

/// The time limit, in seconds, from the start of a job to the first frame of a worker's agent: the worker runs already.
const WORKER_START_S: u64 = 30;

/// Tells a worker to start its agent, and starts the process that relays the agent's channel.
fn start_relay(mut worker: Worker, signals: &SignalFd) -> io::Result<StartedAgent> {
    let (ours, theirs) = UnixStream::pair().context(|| "making the channel to a worker".into())?;
    let (errors, stderr) = pipe::pipe()?;
    pipe::set_nonblocking(errors.as_fd())?;
    worker.send_verdict(&Verdict::Start);
    let (way, connection) = (Way::Worker(worker.address, worker.session), OwnedFd::from(worker.connection));
    let mut command = Command::new(host::program());
    command.arg0("mpiexec").arg(relay::SUBCOMMAND).stdin(OwnedFd::from(theirs)).stdout(connection).stderr(stderr);
    token::remove_from(&mut command);
    let spawn_options = SpawnOptions { die_with_parent: true, ..spawn_options(signals) };
    let process = spawn::spawn(&mut command, spawn_options).context(|| "starting the relay to a worker".into())?;
    let channel = AgentChannel::new(ours.try_clone()?.into(), ours.into())?.with_heartbeats();
    Ok((process.id() as i32, channel, Some(RemoteAgent::new(way, WORKER_START_S, errors))))
}

/// Returns a function that gives the name of a rank's host.
pub(super) fn host_of(hosts: &[JobHost]) -> impl Fn(u32) -> String + '_ {
    move |rank| {
        let has = |host: &&JobHost| host.job.ranks.iter().any(|&(world, _)| world == rank);
        hosts.iter().find(has).map_or_else(String::new, |host| host.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_kept_beyond_a_heartbeat_that_follows_it_at_once() {
        let mut last = LastLine::default();
        last.keep(Some("why".into()), 5);
        assert_eq!(last.release(false, 6), None, "the line may still explain an end");
        assert_eq!(last.release(false, 5 + LAST_LINE_NS).as_deref(), Some("why"));
        assert_eq!(last.release(false, 6 + LAST_LINE_NS), None);
        last.keep(Some("a greeting".into()), 7);
        assert_eq!(last.release(true, 8).as_deref(), Some("a greeting"), "the agent goes on");
    }

    #[test]
    fn a_shell_that_does_not_answer_is_late_once_after_its_time_and_told_how_to_try() {
        // The command prints something of its own, and nothing of an agent.
        let launcher = Launcher { exec: Some("tail -f /dev/null".into()), ..Launcher::default() };
        let job = HostJob { host: "far".into(), ..HostJob::default() };
        let start_ns = clock::now_ns();
        let mut host = JobHost::start_agent(job, &launcher, None, &SignalFd::block(&[]).unwrap()).unwrap();
        let deadline_ns = host.next_deadline_ns().expect("calling has a deadline");
        assert!(deadline_ns >= start_ns + launcher.connect_s() * 1_000_000_000);
        let overdue: Vec<_> =
            [deadline_ns - 1, deadline_ns, u64::MAX].map(|now_ns| host.overdue_step(now_ns, true)).into();
        assert_eq!((overdue, host.next_deadline_ns()), (vec![None, Some(OverdueStep::Silent), None], None));
        let message = host.timeout_message();
        assert!(
            message.starts_with("host far has not answered for 30 s")
                && message.contains("`tail -f /dev/null far true`"),
            "{message}"
        );
        host.kill_and_forget();
    }
}
