//! mpiexec itself: starts the agent, carries streams and signals, and decides when and how the job ends.
//!
//! The first trouble ends the job and gives the exit code. When the agent is gone, whatever is left below mpiexec is
//! ended here. Before it: `args`; after it: `agent`.

pub mod clockwork;
pub mod input;
pub mod output;
pub mod plan;

use crate::agent::{KILL_LIMIT_MS, SUBCOMMAND};
use crate::args::Options;
use crate::channel::{Channel, Received};
use crate::frames::{Down, HostJob, RankState, Stream, Up};
use crate::trouble::{EXIT_FAILURE, EXIT_SIGNAL, EXIT_TIMEOUT, Trouble};
use crate::{info, report, stats};
use clockwork::{Clockwork, Due};
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{
    self, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, Signals,
};
use hawser_os::spawn::{self, End, Terms};
use hawser_os::{During, tree, tty};
use input::Input;
use output::{Lines, Sink};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Signals that mpiexec reads; those that it was started to ignore stay ignored.
const SIGNALS: [i32; 9] = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD];

/// What waits to be written before the agent is left unread.
const BACKLOG_MAX: usize = 1 << 20;

/// Open files that mpiexec and its agent have before the agent sees to more, and some beside.
const DESCRIPTORS: u64 = 16;

/// What an event is about.
const CHANNEL_IN: u64 = 0;
const CHANNEL_OUT: u64 = 1;
const SIGNAL: u64 = 2;
const INPUT: u64 = 3;
const STDOUT: u64 = 4;
const STDERR: u64 = 5;

/// Why the agent was asked what its ranks do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    Timeout,
    Asked,
    IsItStuck,
}

struct Conductor<'a> {
    options: &'a Options,
    epoll: Epoll,
    signals: Signals,
    channel: Channel,
    agent: i32,
    host: String,
    input: Input<'a>,
    lines: Lines,
    out: Sink<'a>,
    err: Sink<'a>,
    /// What epoll was last told about the descriptors that are only watched at times.
    watched: [bool; 6],
    clockwork: Clockwork,
    questions: VecDeque<Why>,
    /// The exit code, once something decided it.
    code: Option<i32>,
    ending: bool,
    finished: bool,
    /// The agent's side of the channel is closed.
    agent_gone: bool,
}

/// Runs the job and gives mpiexec's exit code.
pub fn run(options: &Options, stats: bool, hang_s: u64) -> io::Result<i32> {
    let descriptors = limits::get(Resource::Descriptors).soft;
    if descriptors < DESCRIPTORS {
        let text = format!(
            "mpiexec needs {DESCRIPTORS} open files, and the limit is {descriptors}; raise it (ulimit -n {DESCRIPTORS})"
        );
        return Err(io::Error::other(text));
    }
    let job = plan::host_job(options, stats)?;
    spawn::become_subreaper()?;
    signals::restore_default(SIGCHLD);
    let taken: Vec<i32> = SIGNALS.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
    let signals = Signals::take(&taken)?;
    let (agent, channel) = start_agent(&signals)?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let mut conductor = Conductor {
        options,
        epoll: Epoll::new()?,
        signals,
        channel,
        agent,
        host: hawser_os::host::name(),
        input: Input::new(stdin.as_fd(), !options.readers.is_empty()),
        lines: Lines::new(options.prefix),
        out: Sink::new(stdout.as_fd()),
        err: Sink::new(stderr.as_fd()),
        watched: [false; 6],
        clockwork: Clockwork::new(options.timeout, hang_s),
        questions: VecDeque::new(),
        code: None,
        ending: false,
        finished: false,
        agent_gone: false,
    };
    conductor.begin(job)?;
    let result = conductor.conduct();
    if !tree::await_children(if conductor.finished { KILL_LIMIT_MS } else { 0 }) {
        tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
    }
    // A job whose output is lost has not ended well.
    let well = if conductor.out.lost || conductor.err.lost { EXIT_FAILURE } else { 0 };
    result.map(|()| conductor.code.filter(|&code| code != 0).unwrap_or(well))
}

fn start_agent(signals: &Signals) -> io::Result<(i32, Channel)> {
    let (ours, theirs) = UnixStream::pair().during(|| "making the channel to the agent".into())?;
    let theirs: OwnedFd = theirs.into();
    let mut command = Command::new("/proc/self/exe");
    command.arg0("mpiexec").arg(SUBCOMMAND).stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    let terms = Terms { mask: Some(signals.before()), own_group: true, at_terminal: true, ..Terms::default() };
    let agent = spawn::spawn(&mut command, terms)
        .during(|| "starting the agent of this host from /proc/self/exe (is /proc mounted?)".into())?
        .id() as i32;
    Ok((agent, Channel::new(ours.try_clone()?.into(), ours.into())?))
}

impl Conductor<'_> {
    fn begin(&mut self, job: HostJob) -> io::Result<()> {
        if self.options.verbose {
            self.say(&format!("job {} of {} ranks", job.id, job.size));
        }
        self.epoll.add(self.channel.input(), CHANNEL_IN, Interest::Read)?;
        self.watched[CHANNEL_IN as usize] = true;
        self.epoll.add(self.signals.as_fd(), SIGNAL, Interest::Read)?;
        let _ = self.channel.send(&Down::Start(job).encode());
        Ok(())
    }

    /// A line of mpiexec's own.
    fn say(&mut self, text: &str) {
        self.err.pending.extend(format!("mpiexec: {text}\n").bytes());
    }

    fn down(&mut self, down: Down) {
        // That the agent is gone shows when its side is read.
        let _ = self.channel.send(&down.encode());
    }

    /// Until the agent is gone and everything is written.
    fn conduct(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.watch()?;
            if self.agent_gone && self.out.backlog() + self.err.backlog() == 0 {
                return Ok(());
            }
            self.epoll.wait(&mut events, self.clockwork.timeout_ms())?;
            for event in &events {
                self.event(*event);
            }
            self.timers();
        }
    }

    /// Tells epoll what is wanted now. Descriptors without interest are taken out: a hang-up would be told for ever.
    fn watch(&mut self) -> io::Result<()> {
        let room = self.out.backlog() + self.err.backlog() < BACKLOG_MAX;
        let live = !self.agent_gone && !self.finished;
        let wanted = [
            (CHANNEL_IN, self.channel.input(), Interest::Read, room && !self.agent_gone),
            (CHANNEL_OUT, self.channel.output(), Interest::Write, self.channel.backlog() > 0 && live),
            (INPUT, self.input.fd(), Interest::Read, live && !self.ending && self.input.wants()),
            (STDOUT, self.out.fd(), Interest::Write, self.out.backlog() > 0),
            (STDERR, self.err.fd(), Interest::Write, self.err.backlog() > 0),
        ];
        for (token, fd, interest, wanted) in wanted {
            let watched = &mut self.watched[token as usize];
            if wanted && !*watched {
                match self.epoll.add(fd, token, interest) {
                    Ok(()) => *watched = true,
                    // A standard descriptor that was closed before mpiexec began.
                    Err(_) if token == INPUT => drop(self.input.read()),
                    Err(_) if token == STDOUT => self.out.pending.clear(),
                    Err(_) if token == STDERR => self.err.pending.clear(),
                    Err(error) => return Err(error),
                }
            } else if !wanted && *watched {
                self.epoll.remove(fd);
                *watched = false;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event) {
        match event.token {
            CHANNEL_IN => self.receive(),
            CHANNEL_OUT => drop(self.channel.flush()),
            SIGNAL => {
                while let Some(signal) = self.signals.next() {
                    self.signal(signal);
                }
            }
            INPUT => {
                if let Some(bytes) = self.input.read() {
                    self.down(Down::Input(bytes));
                }
            }
            STDOUT => {
                if self.out.backlog() > 0
                    && let Err(error) = self.out.write_some()
                {
                    self.output_lost(&error);
                }
            }
            _ => {
                if self.err.backlog() > 0 {
                    // There is nowhere to say it: the job goes on, but has not ended well (`Sink::lost`).
                    let _ = self.err.write_some();
                }
            }
        }
    }

    /// The standard output takes no more.
    fn output_lost(&mut self, error: &io::Error) {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Nobody reads it (`mpiexec … | head`): as SIGPIPE would have it.
            return self.end(EXIT_SIGNAL + SIGPIPE, SIGTERM);
        }
        self.say(&format!(
            "standard output cannot be written: {error}; what the ranks wrote is lost, and the job ends; \
             make room for it or send it elsewhere"
        ));
        self.end(EXIT_FAILURE, SIGTERM);
    }

    fn receive(&mut self) {
        while self.out.backlog() + self.err.backlog() < BACKLOG_MAX {
            match self.channel.receive() {
                Received::Frame(body) => match Up::decode(&body) {
                    Some(up) => self.up(up),
                    None => return self.agent_ended(),
                },
                Received::Nothing => return,
                Received::End => return self.agent_ended(),
            }
        }
    }

    fn up(&mut self, up: Up) {
        match up {
            Up::Started { host, facts, notes } => {
                self.host = host;
                notes.iter().for_each(|note| self.say(note));
                if self.options.verbose {
                    let text = info::facts(&facts);
                    self.say(&format!("started on host {}: {text}", self.host));
                }
            }
            Up::Output { rank, stream, bytes } => {
                let sink = if stream == Stream::Out { &mut self.out } else { &mut self.err };
                self.lines.push(rank, stream, &bytes, &mut sink.pending);
                if self.options.readers.contains(&rank) && tty::is_terminal(self.input.fd()) {
                    self.clockwork.prompt_comes();
                }
            }
            Up::InputTaken(len) => self.input.taken(len as usize),
            Up::Trouble(trouble) => self.trouble(&trouble),
            Up::RankEnded { rank, pid, code } => {
                if self.options.verbose {
                    self.say(&format!("rank {rank} (pid {pid}) has ended with code {code}"));
                }
            }
            Up::Snapshot(states) => self.answer(&states),
            Up::Counts(counts) => {
                let text = stats::text(&counts);
                self.say("what the ranks counted:");
                self.err.pending.extend(text.bytes());
            }
            Up::Note(text) => self.say(&text),
            Up::Finished { clean } => {
                self.finished = true;
                self.clockwork.stop();
                // It leaves now; should it not, it is ended.
                self.clockwork.ending();
                self.release_lines();
                if !clean {
                    self.say(&format!("some processes of the job on host {} do not end (in the kernel?)", self.host));
                }
            }
        }
    }

    fn release_lines(&mut self) {
        self.lines.finish(Stream::Out, &mut self.out.pending);
        self.lines.finish(Stream::Err, &mut self.err.pending);
    }

    fn trouble(&mut self, trouble: &Trouble) {
        // What follows from the end of the job is no news.
        if !self.ending {
            self.say(&trouble.line(&self.host));
            self.end(trouble.exit_code(), SIGTERM);
        }
    }

    /// Ends the job. The first code stays.
    fn end(&mut self, code: i32, signal: i32) {
        let code = *self.code.get_or_insert(code);
        self.ending = true;
        self.clockwork.ending();
        self.down(Down::End { signal, code });
    }

    fn agent_ended(&mut self) {
        self.agent_gone = true;
        if self.finished {
            return;
        }
        let mut how = None;
        tree::kill_descendants(KILL_LIMIT_MS, |pid, end| how = if pid == self.agent { Some(end) } else { how });
        self.clockwork.stop();
        self.release_lines();
        if !self.ending {
            let how = match how {
                Some(End::Killed { signal, .. }) => {
                    format!("was killed by signal {signal} ({})", signals::description(signal))
                }
                _ => "ended unexpectedly".into(),
            };
            self.say(&format!("the agent on host {} (pid {}) {how}; the job is ended", self.host, self.agent));
        }
        self.code.get_or_insert(EXIT_FAILURE);
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            SIGHUP | SIGINT | SIGTERM => {
                if self.ending {
                    return self.down(Down::End { signal: SIGKILL, code: EXIT_SIGNAL + signal });
                }
                self.say(&format!("signal {signal} ({}) ends the job", signals::description(signal)));
                self.end(EXIT_SIGNAL + signal, signal);
            }
            SIGQUIT => self.ask(Why::Asked),
            SIGUSR1 | SIGUSR2 | SIGCONT => self.down(Down::Signal(signal)),
            SIGTSTP => {
                self.down(Down::Signal(signal));
                signals::stop_self();
            }
            _ => {}
        }
    }

    fn ask(&mut self, why: Why) {
        self.questions.push_back(why);
        self.down(Down::Snapshot);
    }

    /// The agent has said what its ranks do.
    fn answer(&mut self, states: &[RankState]) {
        let why = match self.questions.pop_front() {
            Some(Why::Timeout) => format!("the job's time (--timeout {}) is over", seconds(self.options)),
            Some(Why::Asked) => "asked by signal 3 (Quit)".into(),
            Some(Why::IsItStuck) => match self.clockwork.stuck(report::stuck_ns(states)) {
                Some(hang_s) => format!("no rank has made progress for {hang_s} s"),
                None => return,
            },
            None => return,
        };
        let located: Vec<_> = states.iter().map(|state| (self.host.as_str(), state)).collect();
        let text = report::report(&why, &located);
        self.err.pending.extend(text.bytes());
    }

    fn timers(&mut self) {
        while let Some(due) = self.clockwork.due() {
            match due {
                Due::Timeout => {
                    self.ask(Why::Timeout);
                    self.end(EXIT_TIMEOUT, SIGTERM);
                }
                Due::LookForHang => self.ask(Why::IsItStuck),
                Due::ShowPrompt => {
                    for &rank in &self.options.readers {
                        self.lines.release(rank, Stream::Out, &mut self.out.pending);
                        self.lines.release(rank, Stream::Err, &mut self.err.pending);
                    }
                }
                // The agent does not do what it was told: everything below is ended from here. What it had sent
                // is read on, to the end.
                Due::Overdue => {
                    tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
                }
            }
        }
    }
}

fn seconds(options: &Options) -> String {
    options.timeout.map_or_else(String::new, |timeout| timeout.as_secs_f64().to_string())
}
