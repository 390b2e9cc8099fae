//! Job control, mpiexec itself: starts the agents, relays streams and signals, and decides when and how the job ends.
//!
//! No program is started before every host's agent is connected. By default the first rank failure ends the job and
//! gives the exit code (`failure_policy`). When the agents are gone, every process left below mpiexec is ended here.
//! `agents` handles the frames of agents, `host` has the state of each host, and `timers` has the deadlines. Used by
//! the program `mpiexec`; starts `agent`.

mod agents;
mod failure_policy;
pub mod files;
pub mod host;
pub mod host_jobs;
pub mod input;
pub mod no_finalize;
pub mod output;
pub mod queries;
pub mod reachability;
pub mod timers;
pub mod tool_server;

use crate::agent::KILL_LIMIT_MS;
use crate::args::JobOptions;
use crate::failure::{EXIT_FAILURE, EXIT_SIGNAL, EXIT_TIMEOUT, RankFailure};
use crate::frames::{HostJob, OutputStream, RankBusinessCard, RankState, ToAgent};
use crate::pattern::{OutputPattern, RankLocation};
use crate::worker::handshake::Verdict;
use crate::worker::listener::Worker;
use crate::worker::token;
use crate::{heartbeat, report, stats};
use failure_policy::ExitedRanks;
use files::OutputFiles;
use hawser_boot::job_settings::CommonSettings;
use hawser_boot::protocol::InspectRequest;
use hawser_os::epoll::{Epoll, EpollEvent, Interest};
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{
    self, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGXFSZ,
    SignalFd,
};
use hawser_os::spawn::{self, ExitStatus, Reaped};
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{ErrorContext, clock, host as this_host, process_tree};
use host::{HostState, JobHost, OverdueStep};
use input::StdinForwarder;
use no_finalize::UnfinalizedRanks;
use output::{LinePrefix, LineSplitter, OutputFd};
use queries::{PendingQueries, QueryReason};
use reachability::ReachabilityMonitor;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use timers::{Timer, Timers};
use tool_server::ToolServer;

/// The signals that mpiexec reads from a descriptor; a signal that was ignored when mpiexec was started stays
/// ignored. SIGXFSZ is among them, and has no further effect, so that a write beyond the limit on file sizes fails,
/// which is reported, instead of killing mpiexec.
const SIGNALS: [i32; 10] = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD, SIGXFSZ];

/// The backlog of output, in bytes, above which the agents are left unread.
const BACKLOG_MAX: usize = 1 << 20;

/// The time limit, in ms, for relays to pass on the exit code of the job.
const RELAY_LIMIT_MS: u64 = 4000;

/// Descriptors that mpiexec and its agent need before the agent raises its own limit, with some to spare; and further
/// ones of mpiexec for each further host.
const DESCRIPTORS: u64 = 16;
const DESCRIPTORS_PER_HOST: u64 = 6;

/// The epoll tokens of events: one of these four, or `HOST` and above for the events of hosts (`host_token`).
const SIGNAL: u64 = 0;
const INPUT: u64 = 1;
const STDOUT: u64 = 2;
const STDERR: u64 = 3;
const HOST: u64 = 4;
/// The sources of a host's events: the channel can be read, the channel can be written, or the remote shell has
/// written to its standard error.
const CHANNEL_IN: u64 = 0;
const CHANNEL_OUT: u64 = 1;
const REMOTE_STDERR: u64 = 2;

/// Tokens from this one on are events of `tool_server`.
const TOOLS: u64 = 1 << 32;

fn host_token(number: usize, source: u64) -> u64 {
    HOST + 4 * number as u64 + source
}

struct JobControl<'a> {
    options: &'a JobOptions,
    epoll: Epoll,
    signals: SignalFd,
    hosts: Vec<JobHost>,
    /// The process that writes heartbeats into the channels to other hosts, and the socket to it.
    heartbeat_process: Option<(i32, SeqpacketSocket)>,
    /// The listener for tools that query a job of several hosts or of a remote host.
    tool_server: Option<ToolServer>,
    input: StdinForwarder<'a>,
    lines: LineSplitter<'a>,
    files: OutputFiles,
    out: OutputFd<'a>,
    err: OutputFd<'a>,
    /// Whether the descriptor of INPUT, STDOUT and STDERR, by these tokens, is in the epoll set. That of SIGNAL
    /// always is, and its entry is unused.
    watched: [bool; HOST as usize],
    timers: Timers,
    queries: PendingQueries,
    /// The ranks that others cannot reach.
    reachability: ReachabilityMonitor,
    /// The job-wide settings that the ranks of all hosts have agreed on.
    agreed_settings: CommonSettings,
    /// Business cards that were published and are not yet sent to the hosts.
    business_cards: Vec<RankBusinessCard>,
    /// Whether a rank has called MPI_Init; known only in a job of several hosts.
    any_attached: bool,
    /// The number of ranks that have come to the end of MPI_Finalize.
    finalized: u32,
    /// The ranks whose process is gone.
    exited_ranks: ExitedRanks,
    /// A rank that has ended well without MPI_Init, with the number of its host; a failure once `any_attached`.
    left_before_init: Option<(usize, RankFailure)>,
    /// The ranks that have ended with exit code 0 but without MPI_Finalize.
    unfinalized: UnfinalizedRanks,
    /// The exit code, once something has decided it.
    exit_code: Option<i32>,
    ending: bool,
    /// An agent was lost: processes that it has left below mpiexec are killed at the end, without waiting for them.
    agent_lost: bool,
}

/// Runs the job and returns mpiexec's exit code. `workers` are those that have come for it. `hang_s` and `unreached_s`
/// are the values of HAWSER_HANG_S and HAWSER_UNREACHED_S.
pub fn run(options: &JobOptions, workers: Vec<Worker>, stats: bool, hang_s: u64, unreached_s: u64) -> io::Result<i32> {
    let jobs = host_jobs::host_jobs(options, stats)?;
    let descriptors = DESCRIPTORS + DESCRIPTORS_PER_HOST * (jobs.len() as u64 - 1);
    let limit = limits::get(Resource::Descriptors).soft;
    if limit < descriptors && (jobs.len() == 1 || limits::raise(Resource::Descriptors, descriptors).soft < descriptors)
    {
        let text = format!(
            "mpiexec needs {descriptors} open files, and the limit is {limit}; raise it (ulimit -n {descriptors})"
        );
        return Err(io::Error::other(text));
    }
    let locations = files::rank_locations(&jobs);
    let files = OutputFiles::make(&options.outputs, &locations)?;
    let label = options.outputs.label.as_ref();
    let lines =
        LineSplitter::new(label.map(|pattern| -> LinePrefix { Box::new(|rank| label_of(pattern, &locations, rank)) }));
    spawn::become_subreaper();
    signals::restore_default(SIGCHLD);
    let taken: Vec<i32> = SIGNALS.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
    let signals = SignalFd::block(&taken)?;
    let hosts = start_agents(jobs, options, workers, &signals)?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let mut job_control = JobControl {
        options,
        epoll: Epoll::new()?,
        signals,
        hosts,
        heartbeat_process: None,
        tool_server: None,
        input: StdinForwarder::new(stdin.as_fd(), !options.readers.is_empty()),
        lines,
        files,
        out: OutputFd::new(stdout.as_fd()),
        err: OutputFd::new(stderr.as_fd()),
        watched: [false; HOST as usize],
        timers: Timers::new(options.timeout, hang_s),
        queries: PendingQueries::default(),
        reachability: ReachabilityMonitor::new(unreached_s),
        agreed_settings: CommonSettings::default(),
        business_cards: Vec::new(),
        any_attached: false,
        finalized: 0,
        exited_ranks: ExitedRanks::default(),
        left_before_init: None,
        unfinalized: UnfinalizedRanks::default(),
        exit_code: None,
        ending: false,
        agent_lost: false,
    };
    job_control.begin()?;
    let result = job_control.run_event_loop();
    job_control.leave(result)
}

fn label_of(pattern: &OutputPattern, locations: &[RankLocation], rank: u32) -> Vec<u8> {
    locations.get(rank as usize).map_or_else(Vec::new, |location| pattern.expand(location))
}

/// Starts the agents, all at once. If one cannot be started, the others are ended.
fn start_agents(
    jobs: Vec<HostJob>,
    options: &JobOptions,
    mut workers: Vec<Worker>,
    signals: &SignalFd,
) -> io::Result<Vec<JobHost>> {
    let mut start = |job: HostJob| {
        let worker = workers.iter().position(|worker| worker.name == job.host).map(|at| workers.swap_remove(at));
        JobHost::start_agent(job, &options.launcher, worker, signals)
    };
    let hosts: io::Result<Vec<JobHost>> = jobs.into_iter().map(&mut start).collect();
    if hosts.is_ok() {
        // No rank needs their hosts.
        workers.iter_mut().for_each(|worker| worker.send_verdict(&Verdict::NotNeeded));
    }
    if hosts.is_err() {
        process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
    }
    hosts
}

/// Starts the heartbeat process. Returns its process id, and the socket on which channels are handed over to it.
fn start_heartbeat_process(signals: &SignalFd) -> io::Result<(i32, SeqpacketSocket)> {
    let (ours, theirs) = SeqpacketSocket::pair()?;
    let mut command = Command::new(this_host::program());
    command.arg0("mpiexec").arg(heartbeat::SUBCOMMAND).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
    token::remove_from(&mut command);
    let spawn_options = host::spawn_options(signals);
    let process = spawn::spawn(&mut command, spawn_options).context(|| "starting the heartbeat process".into())?;
    Ok((process.id() as i32, ours))
}

/// Puts a descriptor into the epoll set with `interest` if it is `wanted`, and takes it out otherwise; `watched` is
/// whether it is there. A descriptor without interest must not stay in the set: its hang-up would be reported for
/// ever.
fn set_interest(
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

fn record_end(hosts: &mut [JobHost], pid: i32, end: ExitStatus) {
    if let Some(host) = hosts.iter_mut().find(|host| host.child_pid == pid && host.end.is_none()) {
        host.end = Some(end);
    }
}

impl JobControl<'_> {
    /// Ends what is left of the job when the event loop has ended with `result`. Returns mpiexec's exit code.
    fn leave(mut self, result: io::Result<()>) -> io::Result<i32> {
        // A job whose output is lost has not ended well.
        let output_failed = self.out.has_failed || self.err.has_failed || self.files.has_failed();
        let success_code = if output_failed { EXIT_FAILURE } else { 0 };
        let code = result.map(|()| self.exit_code.filter(|&code| code != 0).unwrap_or(success_code));
        self.heartbeat_process = None;
        for host in &mut self.hosts {
            host.send_exit_code(*code.as_ref().unwrap_or(&EXIT_FAILURE));
        }
        // Relays end when the channels are closed, and the workers at their other ends have the exit code.
        let limit_ms = match self.hosts.iter().any(JobHost::is_relayed) {
            true => RELAY_LIMIT_MS,
            false if self.agent_lost => 0,
            false => KILL_LIMIT_MS,
        };
        self.hosts.clear();
        if !process_tree::await_children(limit_ms) {
            process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
        }
        code
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.options.verbose {
            let (id, size) = (self.hosts[0].job.id.clone(), self.hosts[0].job.size);
            self.print_line(&format!("job {id} of {size} ranks"));
            let commands: Vec<String> = self.hosts.iter().filter_map(JobHost::start_command).collect();
            commands.iter().for_each(|line| self.print_line(line));
        }
        if self.hosts.len() > 1 || self.hosts[0].remote.is_some() {
            let job = &self.hosts[0].job.id;
            self.tool_server = Some(ToolServer::listen(job, &mut self.epoll, TOOLS)?);
        }
        self.epoll.add(self.signals.as_fd(), SIGNAL, Interest::Read)
    }

    /// Prints a line of mpiexec's own on its standard error.
    fn print_line(&mut self, text: &str) {
        self.err.pending.extend(format!("mpiexec: {text}\n").bytes());
    }

    /// Sends `frame` to every host in state `Running`.
    fn send_to_all(&mut self, frame: &ToAgent) {
        self.hosts.iter_mut().filter(|host| host.state == HostState::Running).for_each(|host| host.send(frame));
    }

    /// Runs until the agents are gone and everything is written.
    fn run_event_loop(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.update_interest()?;
            let all_exited = self.hosts.iter().all(|host| host.state == HostState::Exited);
            if all_exited && self.out.backlog() + self.err.backlog() == 0 {
                return Ok(());
            }
            let timeout_ms = self.timeout_ms();
            self.epoll.wait(&mut events, timeout_ms)?;
            for event in &events {
                self.handle_event(*event);
            }
            self.handle_timers();
            self.forward_collected();
        }
    }

    fn can_buffer_output(&self) -> bool {
        self.out.backlog() + self.err.backlog() < BACKLOG_MAX
    }

    /// The maximum, over all hosts, of the bytes of input that a host has not taken yet.
    fn max_stdin_in_flight(&self) -> usize {
        self.hosts
            .iter()
            .filter(|host| host.state <= HostState::Running)
            .map(|host| host.stdin_in_flight)
            .max()
            .unwrap_or(0)
    }

    fn update_interest(&mut self) -> io::Result<()> {
        let can_buffer = self.can_buffer_output();
        let runs = self.hosts.iter().any(|host| host.state == HostState::Running);
        let input = runs && !self.ending && self.input.is_readable(self.max_stdin_in_flight());
        for (number, host) in self.hosts.iter_mut().enumerate() {
            let [input_watched, output_watched, stderr_watched] = &mut host.watched;
            let (reads, writes) = (can_buffer && host.state <= HostState::Finished, host.state <= HostState::Running);
            let writes = writes && host.channel.backlog() > 0;
            let (input_token, output_token) = (host_token(number, CHANNEL_IN), host_token(number, CHANNEL_OUT));
            set_interest(&mut self.epoll, input_watched, host.channel.input(), input_token, Interest::Read, reads)?;
            set_interest(
                &mut self.epoll,
                output_watched,
                host.channel.output(),
                output_token,
                Interest::Write,
                writes,
            )?;
            match host.remote.as_ref().and_then(host::RemoteAgent::stderr) {
                Some(fd) => set_interest(
                    &mut self.epoll,
                    stderr_watched,
                    fd,
                    host_token(number, REMOTE_STDERR),
                    Interest::Read,
                    can_buffer,
                )?,
                // A closed descriptor has left the epoll set.
                None => *stderr_watched = false,
            }
        }
        let wanted = [
            (INPUT, self.input.fd(), Interest::Read, input),
            (STDOUT, self.out.fd(), Interest::Write, self.out.backlog() > 0),
            (STDERR, self.err.fd(), Interest::Write, self.err.backlog() > 0),
        ];
        for (token, fd, interest, wanted) in wanted {
            match set_interest(&mut self.epoll, &mut self.watched[token as usize], fd, token, interest, wanted) {
                // This standard descriptor was closed before mpiexec began.
                Err(_) if token == INPUT => drop(self.input.read(0)),
                Err(_) if token == STDOUT => self.out.pending.clear(),
                Err(_) if token == STDERR => self.err.pending.clear(),
                result => result?,
            }
        }
        Ok(())
    }

    fn handle_event(&mut self, event: EpollEvent) {
        match event.token {
            SIGNAL => {
                while let Some(signal) = self.signals.next() {
                    self.handle_signal(signal);
                }
            }
            INPUT => self.forward_input(),
            STDOUT => {
                if self.out.backlog() > 0
                    && let Err(error) = self.out.write_some()
                {
                    self.handle_output_loss(&error);
                }
            }
            STDERR => {
                if self.err.backlog() > 0 {
                    // The loss of the standard error cannot be reported anywhere. The job goes on, but counts as
                    // failed (`OutputFd::has_failed`).
                    let _ = self.err.write_some();
                }
            }
            token @ TOOLS.. => {
                let tool_server = self.tool_server.as_mut();
                let query = tool_server.and_then(|v| v.handle_event(&mut self.epoll, TOOLS, token - TOOLS));
                if let Some((number, request)) = query {
                    self.query_agents(QueryReason::Tool(number, request));
                }
            }
            token => {
                let number = ((token - HOST) / 4) as usize;
                match (token - HOST) % 4 {
                    CHANNEL_IN => self.receive_frames(number),
                    CHANNEL_OUT => drop(self.hosts[number].channel.flush()),
                    _ => self.forward_remote_stderr(number),
                }
            }
        }
    }

    fn forward_input(&mut self) {
        let Some(bytes) = self.input.read(self.max_stdin_in_flight()) else { return };
        let frame = ToAgent::Input(bytes);
        let ToAgent::Input(bytes) = &frame else { return };
        for host in
            self.hosts.iter_mut().filter(|host| host.state == HostState::Running && !host.job.readers.is_empty())
        {
            host.stdin_in_flight += bytes.len();
            host.send(&frame);
        }
    }

    /// Prints what a remote shell has written to its standard error, except its last line, which may explain why the
    /// host is lost.
    fn forward_remote_stderr(&mut self, number: usize) {
        for line in self.hosts[number].read_stderr() {
            self.print_for_host(number, &line);
        }
        self.report_host_end(number);
    }

    fn print_for_host(&mut self, number: usize, line: &str) {
        self.print_line(&format!("host {}: {line}", self.hosts[number].name));
    }

    /// Ends the job because the standard output cannot be written.
    fn handle_output_loss(&mut self, error: &io::Error) {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // No process reads it (`mpiexec … | head`): the job ends as by SIGPIPE.
            return self.end_job(EXIT_SIGNAL + SIGPIPE, SIGTERM);
        }
        self.print_line(&format!(
            "standard output cannot be written: {error}; the ranks' output is lost, and the job ends; \
             free some space or redirect the output"
        ));
        self.end_job(EXIT_FAILURE, SIGTERM);
    }

    /// Lets the heartbeat process, which is started first if there is none, write into the channel to host `number`.
    fn start_heartbeat(&mut self, number: usize) -> io::Result<()> {
        if self.heartbeat_process.is_none() {
            self.heartbeat_process = Some(start_heartbeat_process(&self.signals)?);
        }
        let channel = self.hosts[number].channel.output();
        self.heartbeat_process.as_ref().map_or(Ok(()), |(_, socket)| socket.send(b"c", Some(channel)))
    }

    /// Replaces the heartbeat process, which is gone.
    fn restart_heartbeats(&mut self) {
        self.heartbeat_process = None;
        for number in 0..self.hosts.len() {
            let host = &self.hosts[number];
            let is_open = host.remote.is_some() && (HostState::Ready..=HostState::Running).contains(&host.state);
            if is_open || host.is_relayed() {
                // If this fails, the host's agent gets no heartbeats and ends, so the host is lost later.
                let _ = self.start_heartbeat(number);
            }
        }
    }

    fn flush_lines(&mut self) {
        for stream in [OutputStream::Out, OutputStream::Err] {
            for (rank, line) in self.lines.finish(stream) {
                self.write_output(rank, stream, line);
            }
        }
    }

    /// Writes output of a rank, usually whole lines, to its destination.
    fn write_output(&mut self, rank: u32, stream: OutputStream, bytes: Vec<u8>) {
        let written = self.files.write(rank, stream, bytes);
        let sink = if stream == OutputStream::Out { &mut self.out } else { &mut self.err };
        sink.pending.extend(written.rest);
        if let Some(text) = written.failure {
            self.print_line(&text);
        }
    }

    /// Takes output of a rank: whole lines go to their destination, the rest is kept in `lines`.
    fn handle_output(&mut self, rank: u32, stream: OutputStream, bytes: &[u8]) {
        if self.files.has_file(rank, stream) {
            let mut lines = Vec::new();
            self.lines.push(rank, stream, bytes, &mut lines);
            return self.write_output(rank, stream, lines);
        }
        let sink = if stream == OutputStream::Out { &mut self.out } else { &mut self.err };
        self.lines.push(rank, stream, bytes, &mut sink.pending);
    }

    /// Requests the agents to end the job, their ranks by `signal` first. mpiexec's exit code will be `code`, if none
    /// was decided before.
    fn end_job(&mut self, code: i32, signal: i32) {
        let code = *self.exit_code.get_or_insert(code);
        self.ending = true;
        self.timers.begin_termination();
        self.send_to_all(&ToAgent::End { signal, code });
        for number in 0..self.hosts.len() {
            // A host on which nothing has been started needs no time to end.
            if self.hosts[number].state < HostState::Running {
                self.handle_host_loss(number, None);
            }
        }
    }

    /// Handles the end of a host's channel. If the host's part of the job was not finished, mpiexec waits for the end
    /// of the agent or remote shell, and then reports the loss.
    fn handle_channel_end(&mut self, number: usize) {
        self.hosts[number].close();
        self.report_host_end(number);
    }

    /// Reports the loss of a host whose channel has ended too early, once the end of its agent or remote shell is
    /// known.
    fn report_host_end(&mut self, number: usize) {
        let host = &self.hosts[number];
        if host.is_end_known() {
            self.handle_host_loss(number, Some(host.lost_message()));
        }
    }

    /// Removes a host from the job. `text` is the reason if this is a loss: unless the job is ending already, it is
    /// printed, and the job ends. None if mpiexec itself gives the host up.
    fn handle_host_loss(&mut self, number: usize, text: Option<String>) {
        // A worker whose host mpiexec gives up still gets the exit code.
        match text.is_none() && self.hosts[number].is_relayed() {
            true => self.hosts[number].forget(),
            false => self.hosts[number].kill_and_forget(),
        }
        self.agent_lost = true;
        self.queries.forget(number);
        if self.hosts.iter().all(|host| host.state == HostState::Exited) {
            self.kill_all();
            self.timers.stop();
            self.flush_lines();
        }
        if let Some(text) = text.filter(|_| !self.ending) {
            self.print_line(&text);
            self.end_job(EXIT_FAILURE, SIGTERM);
        }
        self.exit_code.get_or_insert(EXIT_FAILURE);
    }

    /// Records how agents and remote shells have ended, and replaces the heartbeat process if it has ended.
    fn reap(&mut self) {
        while let Reaped::Ended(pid, end) = spawn::reap() {
            record_end(&mut self.hosts, pid, end);
            if self.heartbeat_process.as_ref().is_some_and(|(heartbeat_pid, _)| *heartbeat_pid == pid) {
                self.restart_heartbeats();
            }
        }
        (0..self.hosts.len()).for_each(|number| self.report_host_end(number));
    }

    fn kill_all(&mut self) {
        process_tree::kill_descendants(KILL_LIMIT_MS, |pid, end| record_end(&mut self.hosts, pid, end));
    }

    fn handle_signal(&mut self, signal: i32) {
        match signal {
            SIGHUP | SIGINT | SIGTERM => {
                if self.ending {
                    return self.send_to_all(&ToAgent::End { signal: SIGKILL, code: EXIT_SIGNAL + signal });
                }
                self.print_line(&format!("signal {signal} ({}) ends the job", signals::description(signal)));
                self.end_job(EXIT_SIGNAL + signal, signal);
            }
            SIGQUIT => self.query_agents(QueryReason::UserSignal),
            SIGUSR1 | SIGUSR2 | SIGCONT => self.send_to_all(&ToAgent::Signal(signal)),
            SIGTSTP => {
                self.send_to_all(&ToAgent::Signal(signal));
                signals::stop_self();
            }
            SIGCHLD => self.reap(),
            _ => {}
        }
    }

    fn query_agents(&mut self, reason: QueryReason) {
        let running = (0..self.hosts.len()).filter(|&number| self.hosts[number].state == HostState::Running);
        self.queries.add(reason, running.collect());
        self.send_to_all(if matches!(reason, QueryReason::Tool(_, InspectRequest::Stats)) {
            &ToAgent::Counters
        } else {
            &ToAgent::Snapshot
        });
    }

    /// Sends the collected business cards to all hosts, and the rank exits to the hosts that have not reported them.
    /// Handles the queries to which all agents have replied.
    fn forward_collected(&mut self) {
        self.broadcast_exits();
        let business_cards = std::mem::take(&mut self.business_cards);
        // Ranks of a job that is ending must not connect to each other: they may differ in job-wide settings.
        if !business_cards.is_empty() && !self.ending {
            self.send_to_all(&ToAgent::BusinessCards(business_cards));
        }
        while let Some((reason, states)) = self.queries.next_complete() {
            self.handle_replies(reason, &states);
        }
    }

    /// Handles the agents' replies to a query, as its reason requires: checks them, prints the report or sends it to
    /// a tool.
    fn handle_replies(&mut self, reason: QueryReason, states: &[(usize, RankState)]) {
        let runs = self.hosts.iter().all(|host| host.state >= HostState::Running);
        let headline = match reason {
            QueryReason::Timeout => format!("the time limit (--timeout {}) has expired", timeout_text(self.options)),
            QueryReason::UserSignal => "report requested by signal 3 (Quit)".into(),
            QueryReason::HangCheck => {
                let no_progress_ns = report::no_progress_ns(states.iter().map(|(_, state)| state)).filter(|_| runs);
                match self.timers.record_hang_check(no_progress_ns) {
                    Some(hang_s) => report::hang_summary(hang_s, states.iter().map(|(_, state)| state)),
                    None => return,
                }
            }
            QueryReason::ReachabilityCheck => return self.check_reachability(states),
            QueryReason::Tool(number, request) => return self.reply_to_tool(number, request, states),
        };
        let text = self.report_text(&headline, states);
        self.err.pending.extend(text.bytes());
    }

    /// Replies to the tool on connection `number` and closes the connection.
    fn reply_to_tool(&mut self, number: u32, request: InspectRequest, states: &[(usize, RankState)]) {
        let text = match request {
            InspectRequest::Stats => stats::text(&self.counters()),
            InspectRequest::Report => self.report_text(&format!("job {} runs", self.hosts[0].job.id), states),
        };
        if let Some(visitors) = &mut self.tool_server {
            visitors.reply(number, &text);
        }
    }

    fn report_text(&self, headline: &str, states: &[(usize, RankState)]) -> String {
        let located: Vec<_> = states.iter().map(|(host, state)| (self.hosts[*host].name.as_str(), state)).collect();
        let silent_pair = self.reachability.report(&host::host_of(&self.hosts));
        report::report(headline, &located) + &silent_pair.map_or_else(String::new, |text| format!("mpiexec: {text}\n"))
    }

    /// The time in ms until the next deadline; None if there is none.
    fn timeout_ms(&mut self) -> Option<u64> {
        let listener_ns = self.tool_server.as_ref().and_then(ToolServer::deadline_ns);
        let next = self.hosts.iter().filter_map(JobHost::next_deadline_ns).chain(listener_ns).min();
        let next_ms = next.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        self.timers.timeout_ms().into_iter().chain(next_ms).min()
    }

    fn handle_timers(&mut self) {
        while let Some(timer) = self.timers.next_expired() {
            match timer {
                Timer::Timeout => {
                    self.query_agents(QueryReason::Timeout);
                    self.end_job(EXIT_TIMEOUT, SIGTERM);
                }
                Timer::HangCheck => self.query_agents(QueryReason::HangCheck),
                Timer::ReachabilityCheck => self.query_agents(QueryReason::ReachabilityCheck),
                Timer::ShowPrompt => {
                    for &rank in &self.options.readers {
                        for stream in [OutputStream::Out, OutputStream::Err] {
                            let mut line = Vec::new();
                            self.lines.flush_partial(rank, stream, &mut line);
                            self.write_output(rank, stream, line);
                        }
                    }
                }
                Timer::NoFinalize => self.report_unfinalized(),
                // Some agent has not ended its part of the job: every process below mpiexec, agents included, is
                // killed from here. The frames that agents have sent are still read, to the end.
                Timer::Overdue => self.kill_all(),
            }
        }
        if let Some(tool_server) = &mut self.tool_server {
            tool_server.reopen(&mut self.epoll);
        }
        let is_reading = self.can_buffer_output();
        for number in 0..self.hosts.len() {
            match self.hosts[number].overdue_step(clock::now_ns(), is_reading) {
                Some(OverdueStep::Leaving) if self.hosts[number].is_relayed() => self.hosts[number].forget(),
                Some(OverdueStep::Leaving) => self.hosts[number].kill_and_forget(),
                Some(OverdueStep::Closed) => {
                    let text = self.hosts[number].lost_message();
                    self.handle_host_loss(number, Some(text));
                }
                Some(OverdueStep::Silent) => {
                    let text = self.hosts[number].timeout_message();
                    self.handle_host_loss(number, Some(text));
                }
                None => {}
            }
        }
    }
}

fn timeout_text(options: &JobOptions) -> String {
    options.timeout.map_or_else(String::new, |timeout| timeout.as_secs_f64().to_string())
}
