//! A host of the job as mpiexec sees it: its agent, the channel to it, its stage, and the messages about its loss.
//!
//! An agent of this host is a child of mpiexec; one of another host is reached through a remote shell, whose streams
//! are the channel. The duration of each step is bounded here; `conduct` decides what follows when a step fails.

use crate::agent::{SUBCOMMAND, guard};
use crate::channel::Channel;
use crate::frames::{Counts, Down, HostJob};
use crate::hosts::Launcher;
use crate::info;
use crate::pulse::{SILENCE_S, Silence};
use hawser_os::signals::{self, SIGKILL, Signals};
use hawser_os::spawn::{self, End, Terms};
use hawser_os::{During, clock, host, pipe};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The time limit from starting a remote shell to the agent's first frame: logging in takes seconds on some clusters.
const CALL_S: u64 = 30;
/// The time limit from an agent's last frame, or the end of its channel, to the end of its process.
const LEAVE_NS: u64 = 1_700_000_000;
/// Longer lines of a remote shell are cut.
const LINE_MAX: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The agent has sent nothing yet.
    Calling,
    /// The agent is connected, and mpiexec waits for the others.
    Ready,
    Running,
    /// Nothing of the job is left on the host.
    Finished,
    /// The channel has ended too early; the end of its process is not known yet.
    Closed,
    Gone,
}

/// The step that has taken too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// An agent that has done its work does not exit.
    Leaving,
    /// The channel is closed, and how its process ended is not known.
    Closed,
    /// Nothing is received from the host.
    Silent,
}

pub struct Host {
    pub name: String,
    pub job: HostJob,
    pub channel: Channel,
    pub stage: Stage,
    /// The agent was connected at some time.
    pub was_ready: bool,
    /// The agent, or the remote shell that leads to it, and how that ended.
    pub process: i32,
    pub end: Option<End>,
    /// The agent's process id on its own host.
    pub agent: i32,
    pub far: Option<Far>,
    /// The time limit of the stage.
    pub due_ns: Option<u64>,
    /// The interest that epoll was last given for each descriptor.
    pub watched: [bool; 3],
    /// Bytes of input that were sent to the host and that its readers have not taken yet.
    pub on_the_way: usize,
    /// The number of times that its ranks have left MPI.
    pub departures: u32,
    pub counts: Option<Counts>,
    pub info: Option<String>,
}

/// The state of a host that is reached by a remote shell.
pub struct Far {
    /// The remote shell with its options.
    shell: String,
    /// The mpiexec that the shell must start.
    program: PathBuf,
    errors: Option<OwnedFd>,
    partial: Vec<u8>,
    /// The shell's last line. It may tell why the shell ends, so it is held until the agent's next sign of life.
    last_line: Option<String>,
    pub silence: Silence,
}

impl Host {
    /// Starts the agent, or the shell that will.
    pub fn call(mut job: HostJob, launcher: &Launcher, signals: &Signals) -> io::Result<Host> {
        let name = if job.host.is_empty() { host::name() } else { job.host.clone() };
        let shell = if job.host.is_empty() { None } else { launcher.shell(&job.host) };
        let (process, channel, far) = match shell {
            None => start_here(signals)?,
            Some(shell) => {
                // HOSTNAME is true on this host only.
                job.apps.iter_mut().for_each(|app| app.environment.retain(|(name, _)| name != b"HOSTNAME"));
                start_there(&name, &shell, launcher, signals)?
            }
        };
        Ok(Host {
            name,
            job,
            channel: channel.awaiting_mark(),
            stage: Stage::Calling,
            was_ready: false,
            process,
            end: None,
            agent: process,
            far,
            due_ns: Some(clock::now_ns() + CALL_S * 1_000_000_000),
            watched: [false; 3],
            on_the_way: 0,
            departures: 0,
            counts: None,
            info: None,
        })
    }

    pub fn down(&mut self, down: &Down) {
        // If the agent is gone, the next read from it reports that.
        let _ = self.channel.send(&down.encode());
    }

    /// Requests what the host detects, as the job's first program would find it; without a program, with our own
    /// environment.
    pub fn ask_info(&mut self) {
        let settings = self.job.apps.first().map_or_else(info::own_settings, |app| info::settings(&app.environment));
        self.down(&Down::Info { ranks: self.job.ranks.len().max(2) as u32, settings });
    }

    /// The command that reaches another host, for -v.
    pub fn call_line(&self) -> Option<String> {
        let far = self.far.as_ref()?;
        Some(format!("host {0}: {1} {0} {2} {3}", self.name, far.shell, far.program.display(), guard::SUBCOMMAND))
    }

    /// Whether frames from its agent may still arrive.
    pub fn is_open(&self) -> bool {
        self.stage <= Stage::Finished
    }

    /// The next time limit of this host.
    pub fn next_ns(&self) -> Option<u64> {
        let far = self.far.as_ref().filter(|_| (Stage::Ready..=Stage::Running).contains(&self.stage));
        self.due_ns.into_iter().chain(far.map(|far| far.silence.look_at_ns())).min()
    }

    /// Returns the step that has taken too long. `listens`: frames from hosts are read at the moment.
    pub fn late(&mut self, now_ns: u64, listens: bool) -> Option<Late> {
        if self.due_ns.is_some_and(|at| at <= now_ns) {
            self.due_ns = None;
            return match self.stage {
                Stage::Finished => Some(Late::Leaving),
                Stage::Closed => Some(Late::Closed),
                _ => Some(Late::Silent),
            };
        }
        let far = self.far.as_mut().filter(|_| (Stage::Ready..=Stage::Running).contains(&self.stage))?;
        if !listens {
            far.silence.broken();
        }
        far.silence.is_death().then_some(Late::Silent)
    }

    /// Ends the silence if the agent has sent something since the last call. Returns the shell's last line then: it did
    /// not explain an end.
    pub fn heard(&mut self) -> Option<String> {
        let far = self.far.as_mut().filter(|_| self.channel.heard())?;
        far.silence.broken();
        far.last_line.take()
    }

    /// Reads the remote shell's standard error. Returns the lines that have another behind them.
    pub fn read_errors(&mut self) -> Vec<String> {
        let Some(far) = &mut self.far else { return Vec::new() };
        let mut bytes = [0; LINE_MAX];
        match far.errors.as_ref().map(|errors| pipe::read(errors.as_fd(), &mut bytes)) {
            Some(Ok(len @ 1..)) => far.partial.extend(&bytes[..len]),
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return Vec::new(),
            // A closed descriptor leaves the epoll set.
            _ => far.errors = None,
        }
        let whole = match far.partial.iter().rposition(|&byte| byte == b'\n') {
            _ if far.errors.is_none() || far.partial.len() > LINE_MAX => far.partial.len(),
            Some(at) => at + 1,
            None => 0,
        };
        let whole: Vec<u8> = far.partial.drain(..whole).collect();
        let text = String::from_utf8_lossy(&whole);
        let lines = text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = far.last_line.take().into_iter().chain(lines).collect();
        far.last_line = lines.pop();
        lines
    }

    /// Records that the channel has ended.
    pub fn close(&mut self) {
        self.stage = if self.stage == Stage::Finished { Stage::Gone } else { Stage::Closed };
        self.due_ns = (self.stage == Stage::Closed).then(|| clock::now_ns() + LEAVE_NS);
    }

    /// Records that nothing of the job is left there; its agent exits.
    pub fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.due_ns = Some(clock::now_ns() + LEAVE_NS);
    }

    /// Whether all is known about an early end.
    pub fn is_told(&self) -> bool {
        self.stage == Stage::Closed && self.end.is_some() && self.far.as_ref().is_none_or(|far| far.errors.is_none())
    }

    /// Expects no more from the host, and ends its process if that has not ended.
    pub fn let_go(&mut self) {
        if self.end.is_none() {
            let _ = signals::send(self.process, SIGKILL);
        }
        if let Some(far) = &mut self.far {
            far.errors = None;
        }
        (self.stage, self.due_ns) = (Stage::Gone, None);
    }

    /// The message about a host whose agent, or the channel to it, has ended too early.
    pub fn loss(&self) -> String {
        let name = &self.name;
        match &self.far {
            None => format!("the agent on host {name} (pid {}) {}; the job is ended", self.agent, how(self.end)),
            Some(far) if self.was_ready => {
                let shell = format!("{} {}", far.shell(), how(self.end));
                match &far.last_line {
                    Some(line) => format!("host {name} is lost: {line} ({shell}); the job is ended"),
                    None => format!("host {name} is lost: {shell}; the job is ended"),
                }
            }
            Some(far) => far.no_agent(name, self.end, self.channel.chatter()),
        }
    }

    /// The message about a host from which nothing is received.
    pub fn silence(&self) -> String {
        match &self.far {
            Some(far) if self.stage == Stage::Calling => {
                let last = far.last_words(self.channel.chatter());
                format!(
                    "host {0} has not answered for {CALL_S} s{last}; see whether `{1} {0} true` works there without a question",
                    self.name, far.shell
                )
            }
            Some(_) => format!(
                "host {} has been silent for {SILENCE_S} s (is it down, or the network to it?); the job is ended",
                self.name
            ),
            None => format!("the agent on host {} (pid {}) does not answer; the job is ended", self.name, self.agent),
        }
    }
}

impl Far {
    pub fn errors(&self) -> Option<BorrowedFd<'_>> {
        self.errors.as_ref().map(AsFd::as_fd)
    }

    /// The name of its shell, for people.
    fn shell(&self) -> &str {
        self.shell.split(' ').next().unwrap_or_default()
    }

    /// The reason why a shell has ended before there was an agent.
    fn no_agent(&self, name: &str, end: Option<End>, chatter: &[u8]) -> String {
        let (shell, program, last) = (self.shell(), self.program.display(), self.last_words(chatter));
        match end {
            // The exit codes of shells: 127 for not found, 126 for not executable.
            Some(End::Exited(127)) => format!(
                "host {name} has no {program}{last}; install Hawser there as here, or say where it is (--prefix DIR)"
            ),
            Some(End::Exited(126)) => format!("host {name} cannot execute {program}{last}"),
            end => format!("host {name} cannot be reached: {shell} {}{last}", how(end)),
        }
    }

    /// The last line of either stream, to end a sentence with.
    fn last_words(&self, chatter: &[u8]) -> String {
        let chatter = String::from_utf8_lossy(chatter);
        let last = chatter.lines().map(str::trim).rfind(|line| !line.is_empty());
        self.last_line.as_deref().or(last).map_or_else(String::new, |line| format!(" ({line})"))
    }
}

fn how(end: Option<End>) -> String {
    match end {
        Some(End::Killed { signal, .. }) => format!("was killed by signal {signal} ({})", signals::description(signal)),
        Some(End::Exited(code)) => format!("ended with code {code}"),
        None => "closed its output".into(),
    }
}

type Called = (i32, Channel, Option<Far>);

fn start_here(signals: &Signals) -> io::Result<Called> {
    let (ours, theirs) = UnixStream::pair().during(|| "making the channel to the agent".into())?;
    let theirs: OwnedFd = theirs.into();
    let mut command = Command::new(host::program());
    command.arg0("mpiexec").arg(SUBCOMMAND).stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    let terms = Terms { mask: Some(signals.before()), own_group: true, at_terminal: true, ..Terms::default() };
    let agent = spawn::spawn(&mut command, terms)
        .during(|| format!("starting the agent of this host from {}", host::program().display()))?
        .id() as i32;
    Ok((agent, Channel::new(ours.try_clone()?.into(), ours.into())?, None))
}

fn start_there(name: &str, shell: &[String], launcher: &Launcher, signals: &Signals) -> io::Result<Called> {
    let ((stdin, output), (input, stdout), (errors, stderr)) = (pipe::pipe()?, pipe::pipe()?, pipe::pipe()?);
    pipe::set_nonblocking(errors.as_fd())?;
    let (program, line) = launcher.command(guard::SUBCOMMAND);
    let mut command = Command::new(&shell[0]);
    command.args(&shell[1..]).args([name, &line]).stdin(stdin).stdout(stdout).stderr(stderr);
    let (mask, own_group) = (Some(signals.before()), true);
    let terms = Terms { mask, own_group, at_terminal: true, die_with_parent: true, ..Terms::default() };
    let process = spawn::spawn(&mut command, terms).map_err(|error| {
        io::Error::other(format!(
            "host {name} cannot be reached: the remote shell {} cannot be started: {error}; install it or name another \
             (--launcher-exec COMMAND)",
            shell[0]
        ))
    })?;
    let far = Far {
        shell: shell.join(" "),
        program,
        errors: Some(errors),
        partial: Vec::new(),
        last_line: None,
        silence: Silence::default(),
    };
    Ok((process.id() as i32, Channel::new(input, output)?.with_pulse(), Some(far)))
}

/// Returns a function that gives the name of a rank's host.
pub(super) fn host_of(hosts: &[Host]) -> impl Fn(u32) -> String + '_ {
    move |rank| {
        let has = |host: &&Host| host.job.ranks.iter().any(|&(world, _)| world == rank);
        hosts.iter().find(has).map_or_else(String::new, |host| host.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_does_not_answer_is_late_once_after_its_time_and_told_how_to_try() {
        // The command prints something of its own, and nothing of an agent.
        let launcher = Launcher { exec: Some("tail -f /dev/null".into()), ..Launcher::default() };
        let job = HostJob { host: "far".into(), ..HostJob::default() };
        let began_ns = clock::now_ns();
        let mut host = Host::call(job, &launcher, &Signals::take(&[]).unwrap()).unwrap();
        let due_ns = host.next_ns().expect("calling has a deadline");
        assert!(due_ns >= began_ns + CALL_S * 1_000_000_000);
        let late: Vec<_> = [due_ns - 1, due_ns, u64::MAX].map(|now_ns| host.late(now_ns, true)).into();
        assert_eq!((late, host.next_ns()), (vec![None, Some(Late::Silent), None], None));
        let told = host.silence();
        assert!(
            told.starts_with("host far has not answered for 30 s") && told.contains("`tail -f /dev/null far true`"),
            "{told}"
        );
        host.let_go();
    }
}
