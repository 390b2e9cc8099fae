//! Job control, mpiexec itself: starts the agents, relays streams and signals, and decides when and how the job ends.
//!
//! No program is started before every host's agent is connected. The first rank failure ends the job and gives the exit
//! code. When the agents are gone, every process left below mpiexec is ended here. `agents` handles the frames of
//! agents. Used by the program `mpiexec`; uses `agents`, `host` and `clockwork`, and starts `agent`.

mod agents;
pub mod clockwork;
pub mod files;
pub mod host;
pub mod input;
pub mod output;
pub mod plan;
mod policy;
pub mod questions;
pub mod unanswered;
pub mod unfinished;
pub mod visitors;

use crate::agent::KILL_LIMIT_MS;
use crate::args::Options;
use crate::frames::{Card, Down, HostJob, RankState, Stream};
use crate::pattern::{Pattern, Place};
use crate::trouble::{EXIT_FAILURE, EXIT_SIGNAL, EXIT_TIMEOUT, Trouble};
use crate::{pulse, report, stats};
use clockwork::{Clockwork, Due};
use files::Files;
use hawser_boot::protocol::Inspect;
use hawser_boot::terms::Agreed;
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{
    self, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXFSZ,
    Signals,
};
use hawser_os::spawn::{self, End, Reaped, Terms};
use hawser_os::unix::Packets;
use hawser_os::{During, clock, host as this_host, tree};
use host::{Host, Late, Stage};
use input::Input;
use output::{Label, Lines, Sink};
use policy::Ends;
use questions::{Questions, Why};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use unanswered::Reach;
use unfinished::Unfinished;
use visitors::Visitors;

/// The signals that mpiexec reads; signals that were ignored when it was started stay ignored. SIGXFSZ is among them so
/// that a file that has reached the limit on file sizes is an error of the write, which is reported, instead of
/// mpiexec's end.
const SIGNALS: [i32; 10] = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD, SIGXFSZ];

/// The backlog of output, in bytes, above which the agents are left unread.
const BACKLOG_MAX: usize = 1 << 20;

/// Open files that mpiexec and its agent have before the agent raises the limit, with some to spare; and those for each
/// further host.
const DESCRIPTORS: u64 = 16;
const DESCRIPTORS_PER_HOST: u64 = 6;

/// The source of an event: one of these, or `HOST` and more (`host_token`).
const SIGNAL: u64 = 0;
const INPUT: u64 = 1;
const STDOUT: u64 = 2;
const STDERR: u64 = 3;
const HOST: u64 = 4;
/// The source of an event of a host.
const CHANNEL_IN: u64 = 0;
const CHANNEL_OUT: u64 = 1;
const ERRORS: u64 = 2;

/// Tokens from this one on are events of `visitors`.
const VISITORS: u64 = 1 << 32;

fn host_token(number: usize, what: u64) -> u64 {
    HOST + 4 * number as u64 + what
}

struct Conductor<'a> {
    options: &'a Options,
    epoll: Epoll,
    signals: Signals,
    hosts: Vec<Host>,
    /// The process that writes heartbeats into the channels to other hosts, and the socket to it.
    pulse: Option<(i32, Packets)>,
    /// The listener for tools that query a job of several hosts.
    visitors: Option<Visitors>,
    input: Input<'a>,
    lines: Lines<'a>,
    files: Files,
    out: Sink<'a>,
    err: Sink<'a>,
    /// The interest that epoll was last given for descriptors that are only watched at times.
    watched: [bool; HOST as usize],
    clockwork: Clockwork,
    questions: Questions,
    /// The ranks that others cannot reach.
    reach: Reach,
    /// The job-wide settings that the ranks of all hosts have agreed on.
    agreed: Agreed,
    /// Business cards that are published and not yet passed on.
    cards: Vec<Card>,
    /// In a job of several hosts: whether a rank has called MPI_Init. `left` is a rank that has left without, and its
    /// host.
    attached: bool,
    /// Ranks that have come to the end of MPI_Finalize.
    finalized: u32,
    /// The ranks whose process is gone.
    ends: Ends,
    left: Option<(usize, Trouble)>,
    /// The ranks that have ended well but for MPI_Finalize.
    unfinished: Unfinished,
    /// The exit code, once something has decided it.
    code: Option<i32>,
    ending: bool,
    /// An agent was lost: the processes that it has left below mpiexec are ended at the end.
    lost: bool,
}

/// Runs the job and gives mpiexec's exit code.
pub fn run(options: &Options, stats: bool, hang_s: u64, unreached_s: u64) -> io::Result<i32> {
    let jobs = plan::host_jobs(options, stats)?;
    let descriptors = DESCRIPTORS + DESCRIPTORS_PER_HOST * (jobs.len() as u64 - 1);
    let limit = limits::get(Resource::Descriptors).soft;
    if limit < descriptors && (jobs.len() == 1 || limits::raise(Resource::Descriptors, descriptors).soft < descriptors)
    {
        let text = format!(
            "mpiexec needs {descriptors} open files, and the limit is {limit}; raise it (ulimit -n {descriptors})"
        );
        return Err(io::Error::other(text));
    }
    let places = files::places(&jobs);
    let files = Files::make(&options.outputs, &places)?;
    let label = options.outputs.label.as_ref();
    let lines = Lines::new(label.map(|pattern| -> Label { Box::new(|rank| label_of(pattern, &places, rank)) }));
    spawn::become_subreaper();
    signals::restore_default(SIGCHLD);
    let taken: Vec<i32> = SIGNALS.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
    let signals = Signals::take(&taken)?;
    let hosts = call(jobs, options, &signals)?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let mut conductor = Conductor {
        options,
        epoll: Epoll::new()?,
        signals,
        hosts,
        pulse: None,
        visitors: None,
        input: Input::new(stdin.as_fd(), !options.readers.is_empty()),
        lines,
        files,
        out: Sink::new(stdout.as_fd()),
        err: Sink::new(stderr.as_fd()),
        watched: [false; HOST as usize],
        clockwork: Clockwork::new(options.timeout, hang_s),
        questions: Questions::default(),
        reach: Reach::new(unreached_s),
        agreed: Agreed::default(),
        cards: Vec::new(),
        attached: false,
        finalized: 0,
        ends: Ends::default(),
        left: None,
        unfinished: Unfinished::default(),
        code: None,
        ending: false,
        lost: false,
    };
    conductor.begin()?;
    let result = conductor.conduct();
    conductor.pulse = None;
    if !tree::await_children(if conductor.lost { 0 } else { KILL_LIMIT_MS }) {
        tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
    }
    // A job whose output is lost has not ended well.
    let is_lost = conductor.out.lost || conductor.err.lost || conductor.files.has_broken();
    let well = if is_lost { EXIT_FAILURE } else { 0 };
    result.map(|()| conductor.code.filter(|&code| code != 0).unwrap_or(well))
}

fn label_of(pattern: &Pattern, places: &[Place], rank: u32) -> Vec<u8> {
    places.get(rank as usize).map_or_else(Vec::new, |place| pattern.at(place))
}

/// Starts the agents, all at once. If one cannot be started, the others are ended.
fn call(jobs: Vec<HostJob>, options: &Options, signals: &Signals) -> io::Result<Vec<Host>> {
    let hosts: io::Result<Vec<Host>> =
        jobs.into_iter().map(|job| Host::call(job, &options.launcher, signals)).collect();
    if hosts.is_err() {
        tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
    }
    hosts
}

/// Starts the process that writes heartbeats into the channels that are handed over to it on the socket.
fn start_pulse(signals: &Signals) -> io::Result<(i32, Packets)> {
    let (ours, theirs) = Packets::pair()?;
    let mut command = Command::new(this_host::program());
    command.arg0("mpiexec").arg(pulse::SUBCOMMAND).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
    let terms = Terms { mask: Some(signals.before()), own_group: true, at_terminal: true, ..Terms::default() };
    let pulse = spawn::spawn(&mut command, terms)
        .during(|| "starting the process that tells other hosts that this one lives".into())?;
    Ok((pulse.id() as i32, ours))
}

/// Sets epoll's interest in a descriptor. A descriptor without interest is removed: its hang-up would be reported for
/// ever.
fn watch(
    epoll: &mut Epoll,
    watched: &mut bool,
    fd: BorrowedFd,
    token: u64,
    interest: Interest,
    wanted: bool,
) -> io::Result<()> {
    if wanted && !*watched {
        epoll.add(fd, token, interest)?;
    } else if !wanted && *watched {
        epoll.remove(fd);
    }
    *watched = wanted;
    Ok(())
}

fn note_end(hosts: &mut [Host], pid: i32, end: End) {
    if let Some(host) = hosts.iter_mut().find(|host| host.process == pid && host.end.is_none()) {
        host.end = Some(end);
    }
}

impl Conductor<'_> {
    fn begin(&mut self) -> io::Result<()> {
        if self.options.verbose {
            let (id, size) = (self.hosts[0].job.id.clone(), self.hosts[0].job.size);
            self.say(&format!("job {id} of {size} ranks"));
            let calls: Vec<String> = self.hosts.iter().filter_map(Host::call_line).collect();
            calls.iter().for_each(|line| self.say(line));
        }
        if self.hosts.len() > 1 || self.hosts[0].far.is_some() {
            let job = &self.hosts[0].job.id;
            self.visitors = Some(Visitors::receive(job, &mut self.epoll, VISITORS)?);
        }
        self.epoll.add(self.signals.as_fd(), SIGNAL, Interest::Read)
    }

    /// Prints a line of mpiexec's own.
    fn say(&mut self, text: &str) {
        self.err.pending.extend(format!("mpiexec: {text}\n").bytes());
    }

    /// Sends to every host that runs.
    fn down_all(&mut self, down: &Down) {
        self.hosts.iter_mut().filter(|host| host.stage == Stage::Running).for_each(|host| host.down(down));
    }

    /// Runs until the agents are gone and everything is written.
    fn conduct(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.watch()?;
            let gone = self.hosts.iter().all(|host| host.stage == Stage::Gone);
            if gone && self.out.backlog() + self.err.backlog() == 0 {
                return Ok(());
            }
            let timeout_ms = self.timeout_ms();
            self.epoll.wait(&mut events, timeout_ms)?;
            for event in &events {
                self.event(*event);
            }
            self.timers();
            self.pass_on();
        }
    }

    fn has_room(&self) -> bool {
        self.out.backlog() + self.err.backlog() < BACKLOG_MAX
    }

    /// The most bytes of input that a host has still to take.
    fn on_the_way(&self) -> usize {
        self.hosts.iter().filter(|host| host.stage <= Stage::Running).map(|host| host.on_the_way).max().unwrap_or(0)
    }

    fn watch(&mut self) -> io::Result<()> {
        let room = self.has_room();
        let runs = self.hosts.iter().any(|host| host.stage == Stage::Running);
        let input = runs && !self.ending && self.input.wants(self.on_the_way());
        for (number, host) in self.hosts.iter_mut().enumerate() {
            let [listens, speaks, errs] = &mut host.watched;
            let (reads, writes) = (room && host.stage <= Stage::Finished, host.stage <= Stage::Running);
            let writes = writes && host.channel.backlog() > 0;
            let (into, out) = (host_token(number, CHANNEL_IN), host_token(number, CHANNEL_OUT));
            watch(&mut self.epoll, listens, host.channel.input(), into, Interest::Read, reads)?;
            watch(&mut self.epoll, speaks, host.channel.output(), out, Interest::Write, writes)?;
            match host.far.as_ref().and_then(host::Far::errors) {
                Some(fd) => watch(&mut self.epoll, errs, fd, host_token(number, ERRORS), Interest::Read, room)?,
                // A closed descriptor has left the set.
                None => *errs = false,
            }
        }
        let wanted = [
            (INPUT, self.input.fd(), Interest::Read, input),
            (STDOUT, self.out.fd(), Interest::Write, self.out.backlog() > 0),
            (STDERR, self.err.fd(), Interest::Write, self.err.backlog() > 0),
        ];
        for (token, fd, interest, wanted) in wanted {
            match watch(&mut self.epoll, &mut self.watched[token as usize], fd, token, interest, wanted) {
                // A standard descriptor that was closed before mpiexec began.
                Err(_) if token == INPUT => drop(self.input.read(0)),
                Err(_) if token == STDOUT => self.out.pending.clear(),
                Err(_) if token == STDERR => self.err.pending.clear(),
                result => result?,
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event) {
        match event.token {
            SIGNAL => {
                while let Some(signal) = self.signals.next() {
                    self.signal(signal);
                }
            }
            INPUT => self.pass_input(),
            STDOUT => {
                if self.out.backlog() > 0
                    && let Err(error) = self.out.write_some()
                {
                    self.output_lost(&error);
                }
            }
            STDERR => {
                if self.err.backlog() > 0 {
                    // There is nowhere to report it: the job goes on, but has not ended well (`Sink::lost`).
                    let _ = self.err.write_some();
                }
            }
            token @ VISITORS.. => {
                let visitors = self.visitors.as_mut();
                let wish = visitors.and_then(|v| v.hear(&mut self.epoll, VISITORS, token - VISITORS));
                if let Some((number, what)) = wish {
                    self.ask(Why::Tool(number, what));
                }
            }
            token => {
                let number = ((token - HOST) / 4) as usize;
                match (token - HOST) % 4 {
                    CHANNEL_IN => self.receive(number),
                    CHANNEL_OUT => drop(self.hosts[number].channel.flush()),
                    _ => self.read_errors(number),
                }
            }
        }
    }

    fn pass_input(&mut self) {
        let Some(bytes) = self.input.read(self.on_the_way()) else { return };
        let down = Down::Input(bytes);
        let Down::Input(bytes) = &down else { return };
        for host in self.hosts.iter_mut().filter(|host| host.stage == Stage::Running && !host.job.readers.is_empty()) {
            host.on_the_way += bytes.len();
            host.down(&down);
        }
    }

    /// Passes on the standard error of a remote shell.
    fn read_errors(&mut self, number: usize) {
        for line in self.hosts[number].read_errors() {
            self.say_for(number, &line);
        }
        self.settle(number);
    }

    fn say_for(&mut self, number: usize, line: &str) {
        self.say(&format!("host {}: {line}", self.hosts[number].name));
    }

    /// Handles the loss of the standard output.
    fn output_lost(&mut self, error: &io::Error) {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // No process reads it (`mpiexec … | head`): the job ends as by SIGPIPE.
            return self.end(EXIT_SIGNAL + SIGPIPE, SIGTERM);
        }
        self.say(&format!(
            "standard output cannot be written: {error}; what the ranks wrote is lost, and the job ends; \
             make room for it or send it elsewhere"
        ));
        self.end(EXIT_FAILURE, SIGTERM);
    }

    /// Lets the heartbeat process write into the channel.
    fn beat(&mut self, number: usize) -> io::Result<()> {
        if self.pulse.is_none() {
            self.pulse = Some(start_pulse(&self.signals)?);
        }
        let channel = self.hosts[number].channel.output();
        self.pulse.as_ref().map_or(Ok(()), |(_, pulse)| pulse.send(b"c", Some(channel)))
    }

    /// Replaces the heartbeat process, which is gone.
    fn mend_pulse(&mut self) {
        self.pulse = None;
        for number in 0..self.hosts.len() {
            let host = &self.hosts[number];
            if host.far.is_some() && (Stage::Ready..=Stage::Running).contains(&host.stage) {
                // If the new process cannot, the host will be lost by its silence.
                let _ = self.beat(number);
            }
        }
    }

    fn release_lines(&mut self) {
        for stream in [Stream::Out, Stream::Err] {
            for (rank, line) in self.lines.finish(stream) {
                self.put(rank, stream, line);
            }
        }
    }

    /// Writes whole lines of a rank to their destination.
    fn put(&mut self, rank: u32, stream: Stream, bytes: Vec<u8>) {
        let written = self.files.write(rank, stream, bytes);
        let sink = if stream == Stream::Out { &mut self.out } else { &mut self.err };
        sink.pending.extend(written.rest);
        if let Some(text) = written.trouble {
            self.say(&text);
        }
    }

    /// Takes output of a rank.
    fn take_output(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        if self.files.is_for(rank, stream) {
            let mut whole = Vec::new();
            self.lines.push(rank, stream, bytes, &mut whole);
            return self.put(rank, stream, whole);
        }
        let sink = if stream == Stream::Out { &mut self.out } else { &mut self.err };
        self.lines.push(rank, stream, bytes, &mut sink.pending);
    }

    /// Ends the job. The first exit code stays.
    fn end(&mut self, code: i32, signal: i32) {
        let code = *self.code.get_or_insert(code);
        self.ending = true;
        self.clockwork.ending();
        self.down_all(&Down::End { signal, code });
        for number in 0..self.hosts.len() {
            // A host on which nothing has been started needs no time to end.
            if self.hosts[number].stage < Stage::Running {
                self.lose(number, None);
            }
        }
    }

    /// Handles the end of a host's channel. If that is too early, the end of its process is awaited, and then reported.
    fn closed(&mut self, number: usize) {
        self.hosts[number].close();
        self.settle(number);
    }

    /// Reports an early end once all is known about it.
    fn settle(&mut self, number: usize) {
        let host = &self.hosts[number];
        if host.is_told() {
            self.lose(number, Some(host.loss()));
        }
    }

    /// Removes a host from the job; `text` is the reason, if that is not known yet.
    fn lose(&mut self, number: usize, text: Option<String>) {
        self.hosts[number].let_go();
        self.lost = true;
        self.questions.forget(number);
        if self.hosts.iter().all(|host| host.stage == Stage::Gone) {
            self.kill_all();
            self.clockwork.stop();
            self.release_lines();
        }
        if let Some(text) = text.filter(|_| !self.ending) {
            self.say(&text);
            self.end(EXIT_FAILURE, SIGTERM);
        }
        self.code.get_or_insert(EXIT_FAILURE);
    }

    /// Records how processes of ours have ended.
    fn reap(&mut self) {
        while let Reaped::Ended(pid, end) = spawn::reap() {
            note_end(&mut self.hosts, pid, end);
            if self.pulse.as_ref().is_some_and(|(pulse, _)| *pulse == pid) {
                self.mend_pulse();
            }
        }
        (0..self.hosts.len()).for_each(|number| self.settle(number));
    }

    fn kill_all(&mut self) {
        tree::kill_descendants(KILL_LIMIT_MS, |pid, end| note_end(&mut self.hosts, pid, end));
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            SIGHUP | SIGINT | SIGTERM => {
                if self.ending {
                    return self.down_all(&Down::End { signal: SIGKILL, code: EXIT_SIGNAL + signal });
                }
                self.say(&format!("signal {signal} ({}) ends the job", signals::description(signal)));
                self.end(EXIT_SIGNAL + signal, signal);
            }
            SIGQUIT => self.ask(Why::Asked),
            SIGUSR1 | SIGUSR2 | SIGCONT => self.down_all(&Down::Signal(signal)),
            SIGTSTP => {
                self.down_all(&Down::Signal(signal));
                signals::stop_self();
            }
            SIGCHLD => self.reap(),
            _ => {}
        }
    }

    fn ask(&mut self, why: Why) {
        let running = (0..self.hosts.len()).filter(|&number| self.hosts[number].stage == Stage::Running);
        self.questions.ask(why, running.collect());
        self.down_all(if matches!(why, Why::Tool(_, Inspect::Stats)) { &Down::Counts } else { &Down::Snapshot });
    }

    /// Passes on what has been collected: ends and cards to all hosts, answers to the tools that requested them.
    fn pass_on(&mut self) {
        self.pass_ends_on();
        let cards = std::mem::take(&mut self.cards);
        // Ranks of a job that is ending, which may differ in job-wide settings, must not connect to each other.
        if !cards.is_empty() && !self.ending {
            self.down_all(&Down::Cards(cards));
        }
        while let Some((why, states)) = self.questions.answered() {
            self.answer(why, &states);
        }
    }

    /// Uses the agents' reports of what their ranks do.
    fn answer(&mut self, why: Why, states: &[(usize, RankState)]) {
        let runs = self.hosts.iter().all(|host| host.stage >= Stage::Running);
        let why = match why {
            Why::Timeout => format!("the job's time (--timeout {}) is over", seconds(self.options)),
            Why::Asked => "asked by signal 3 (Quit)".into(),
            Why::IsItStuck => {
                let stuck_ns = report::stuck_ns(states.iter().map(|(_, state)| state)).filter(|_| runs);
                match self.clockwork.stuck(stuck_ns) {
                    Some(hang_s) => report::stop(hang_s, states.iter().map(|(_, state)| state)),
                    None => return,
                }
            }
            Why::IsItReached => return self.look_for_unreached(states),
            Why::Tool(number, what) => return self.tell(number, what, states),
        };
        let text = self.report(&why, states);
        self.err.pending.extend(text.bytes());
    }

    /// Answers a tool.
    fn tell(&mut self, number: u32, what: Inspect, states: &[(usize, RankState)]) {
        let text = match what {
            Inspect::Stats => stats::text(&self.counts()),
            Inspect::Report => self.report(&format!("job {} runs", self.hosts[0].job.id), states),
        };
        if let Some(visitors) = &mut self.visitors {
            visitors.tell(number, &text);
        }
    }

    fn report(&self, why: &str, states: &[(usize, RankState)]) -> String {
        let located: Vec<_> = states.iter().map(|(host, state)| (self.hosts[*host].name.as_str(), state)).collect();
        let unreached = self.reach.report(&host::host_of(&self.hosts));
        report::report(why, &located) + &unreached.map_or_else(String::new, |text| format!("mpiexec: {text}\n"))
    }

    /// The time until the next deadline.
    fn timeout_ms(&mut self) -> Option<u64> {
        let door = self.visitors.as_ref().and_then(Visitors::deadline_ns);
        let next = self.hosts.iter().filter_map(Host::next_ns).chain(door).min();
        let next_ms = next.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        self.clockwork.timeout_ms().into_iter().chain(next_ms).min()
    }

    fn timers(&mut self) {
        while let Some(due) = self.clockwork.due() {
            match due {
                Due::Timeout => {
                    self.ask(Why::Timeout);
                    self.end(EXIT_TIMEOUT, SIGTERM);
                }
                Due::LookForHang => self.ask(Why::IsItStuck),
                Due::LookForUnreached => self.ask(Why::IsItReached),
                Due::ShowPrompt => {
                    for &rank in &self.options.readers {
                        for stream in [Stream::Out, Stream::Err] {
                            let mut line = Vec::new();
                            self.lines.release(rank, stream, &mut line);
                            self.put(rank, stream, line);
                        }
                    }
                }
                Due::Unfinished => self.tell_unfinished(),
                // An agent does not obey: everything below it is ended from here. The frames that it has sent are still
                // read, to the end.
                Due::Overdue => self.kill_all(),
            }
        }
        if let Some(visitors) = &mut self.visitors {
            visitors.wake(&mut self.epoll);
        }
        let listens = self.has_room();
        for number in 0..self.hosts.len() {
            match self.hosts[number].late(clock::now_ns(), listens) {
                Some(Late::Leaving) => self.hosts[number].let_go(),
                Some(Late::Closed) => {
                    let text = self.hosts[number].loss();
                    self.lose(number, Some(text));
                }
                Some(Late::Silent) => {
                    let text = self.hosts[number].silence();
                    self.lose(number, Some(text));
                }
                None => {}
            }
        }
    }
}

fn seconds(options: &Options) -> String {
    options.timeout.map_or_else(String::new, |timeout| timeout.as_secs_f64().to_string())
}
