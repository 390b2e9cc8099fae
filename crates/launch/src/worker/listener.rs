//! The place where workers come to mpiexec: it listens for connections until the right number of workers has proved
//! that they have the token.
//!
//! A connection that proves nothing is kept for some seconds, and can do no more. A worker that goes away before the
//! job starts, or whose host falls silent, may be replaced by another one of the same name. Nothing here starts a
//! process. Used by the program `mpiexec`; the connections then go to `job_control::host`.

use super::handshake::{self, HostDescription, Nonce, Parsed, Session, Verdict};
use super::token::Token;
use super::{START_SILENCE_S, WorkersOptions};
use crate::frames;
use crate::hosts::HostEntry;
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{self, SIGHUP, SIGINT, SIGTERM, SignalFd};
use hawser_os::{clock, cpus, host, tcp};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// The time for which a connection may take to prove that it has the token.
const PROOF_NS: u64 = 5_000_000_000;
/// The maximum number of connections that have proved nothing yet; the oldest one makes room for another.
const UNPROVED_MAX: usize = 64;
/// The maximum number of lines about connections that are refused.
const WARNINGS_MAX: usize = 16;
/// The maximum number of bytes that a worker sends before the job starts.
const RECEIVED_MAX: usize = 4096;

/// Descriptors that mpiexec needs besides those of connections.
const DESCRIPTORS: u64 = 32;
/// The maximum number of connections that are accepted before signals and others are looked after.
const ACCEPTED_IN_TURN: usize = 16;

/// The epoll tokens of the signals and of the listeners; those of connections follow.
const SIGNALS: u64 = 0;
const LISTENER: u64 = 1;
const FIRST_CONNECTION: u64 = 2;

/// A worker that has come, with the connection that becomes the channel to its agent.
pub struct Worker {
    pub name: String,
    pub slots: u32,
    pub address: SocketAddr,
    pub connection: TcpStream,
    pub session: Session,
}

impl Worker {
    /// Tells the worker to start its agent, whose channel the connection is from now on (`Verdict::Start`), or why
    /// not. If the worker is gone, the connection has ended, which the reader of the channel finds.
    pub fn send_verdict(&mut self, verdict: &Verdict) {
        let _ = self.connection.write_all(&verdict.encode(&self.session));
    }
}

/// The reason why the job cannot start.
pub enum NoWorkers {
    /// An error, in one line.
    Error(String),
    /// mpiexec was asked to end.
    Signal(i32),
}

/// The hosts of a job with workers: this one, and those of the workers.
pub fn hosts(workers: &[Worker]) -> Vec<HostEntry> {
    let entry = |name: &str, slots| HostEntry { name: name.into(), slots, max: u32::MAX };
    let own = entry(&host::name(), cpus::available() as u32);
    std::iter::once(own).chain(workers.iter().map(|worker| entry(&worker.name, worker.slots))).collect()
}

/// Waits until all workers have come, at most `timeout_s` seconds. Returns them in the order of their numbers
/// (`HostDescription::index`), and those without a number behind the others in the order of their arrival.
pub fn await_workers(
    options: &WorkersOptions,
    token: &Token,
    timeout_s: u64,
    is_verbose: bool,
) -> Result<Vec<Worker>, NoWorkers> {
    let wanted: Vec<i32> = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&it| !signals::is_ignored(it)).collect();
    let signals = SignalFd::block(&wanted).map_err(|error| NoWorkers::Error(error.to_string()))?;
    let workers =
        WorkerListener::open(options, token, is_verbose).and_then(|mut listener| listener.run(&signals, timeout_s));
    // `job_control` blocks the signals anew.
    let _ = signals.saved_mask().restore();
    workers
}

/// A connection, and what is known about it.
struct Arrival {
    id: u64,
    connection: TcpStream,
    address: SocketAddr,
    nonce: Nonce,
    received: Vec<u8>,
    /// The time at which the connection is dropped unless it has proved that it has the token.
    deadline_ns: u64,
    /// The description of the worker's host, and the session with it, once it has proved that it has the token.
    accepted: Option<(HostDescription, Session)>,
}

struct WorkerListener<'a> {
    count: usize,
    port: u16,
    token: &'a Token,
    own_name: String,
    is_verbose: bool,
    listeners: Vec<TcpListener>,
    epoll: Epoll,
    arrivals: Vec<Arrival>,
    next_id: u64,
    /// The lines that were printed about connections that were refused.
    warned: BTreeSet<String>,
}

impl Arrival {
    /// Reads what has arrived. Returns false if the connection has ended.
    fn receive(&mut self) -> bool {
        let mut bytes = [0; RECEIVED_MAX];
        loop {
            match self.connection.read(&mut bytes) {
                Ok(0) => return false,
                Ok(len) if self.received.len() + len > RECEIVED_MAX => return false,
                Ok(len) => self.received.extend(&bytes[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Sends a verdict to the worker of `session`. It fits into the socket's buffer; if the worker is gone, the next
    /// read from it reports that.
    fn send(&mut self, session: &Session, verdict: &Verdict) {
        let _ = self.connection.write_all(&verdict.encode(session));
    }
}

/// Whether nobody waits to be accepted.
fn is_empty(accepted: &io::Result<(TcpStream, SocketAddr)>) -> bool {
    accepted.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

impl<'a> WorkerListener<'a> {
    fn open(options: &WorkersOptions, token: &'a Token, is_verbose: bool) -> Result<WorkerListener<'a>, NoWorkers> {
        let error = |error: io::Error| {
            NoWorkers::Error(format!(
                "workers cannot be waited for on TCP port {}: {error}; name another port for mpiexec (-worker-port N) \
                 and its workers (-worker HOST:N)",
                options.port
            ))
        };
        // A socket of IPv6 takes connections by IPv4 too, unless the system is set otherwise; there may be no IPv6.
        let addresses: [SocketAddr; 2] =
            [(Ipv6Addr::UNSPECIFIED, options.port).into(), (Ipv4Addr::UNSPECIFIED, options.port).into()];
        let (listeners, errors): (Vec<_>, Vec<_>) =
            addresses.into_iter().map(TcpListener::bind).partition(Result::is_ok);
        let listeners: Vec<TcpListener> = listeners.into_iter().flatten().collect();
        if listeners.is_empty() {
            // Where there is no IPv6, the error of IPv4 is the one that says more.
            let last = errors.into_iter().filter_map(Result::err).last();
            return Err(error(last.unwrap_or_else(|| io::Error::other("no address"))));
        }
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true)).map_err(error)?;
        let needed = u64::from(options.count) + UNPROVED_MAX as u64 + DESCRIPTORS;
        if limits::raise(Resource::Descriptors, needed).soft < needed {
            return Err(NoWorkers::Error(format!(
                "mpiexec needs {needed} open files for {} workers; raise the limit (ulimit -Hn {needed})",
                options.count
            )));
        }
        Ok(WorkerListener {
            count: options.count as usize,
            port: options.port,
            token,
            own_name: host::name(),
            is_verbose,
            listeners,
            epoll: Epoll::new().map_err(error)?,
            arrivals: Vec::new(),
            next_id: FIRST_CONNECTION,
            warned: BTreeSet::new(),
        })
    }

    fn run(&mut self, signals: &SignalFd, timeout_s: u64) -> Result<Vec<Worker>, NoWorkers> {
        let error = |error: io::Error| NoWorkers::Error(format!("mpiexec cannot wait for workers: {error}"));
        self.epoll.add(signals.as_fd(), SIGNALS, Interest::Read).map_err(error)?;
        for listener in &self.listeners {
            self.epoll.add(listener.as_fd(), LISTENER, Interest::Read).map_err(error)?;
        }
        self.note(&format!("waiting for {} workers on TCP port {}", self.count, self.port));
        let deadline_ns = clock::now_ns().saturating_add(timeout_s.saturating_mul(1_000_000_000));
        let mut events = Vec::new();
        while self.accepted().count() < self.count {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return Err(NoWorkers::Error(self.give_up(timeout_s)));
            }
            self.arrivals.retain(|arrival| arrival.accepted.is_some() || arrival.deadline_ns > now_ns);
            let unproved = self.arrivals.iter().filter(|arrival| arrival.accepted.is_none());
            let next_ns = unproved.map(|arrival| arrival.deadline_ns).chain([deadline_ns]).min().unwrap_or(deadline_ns);
            self.epoll.wait(&mut events, Some((next_ns - now_ns).div_ceil(1_000_000))).map_err(error)?;
            for event in &events {
                match event.token {
                    SIGNALS => {
                        if let Some(signal) = signals.next() {
                            self.refuse_all(&format!("mpiexec has got signal {signal}"));
                            return Err(NoWorkers::Signal(signal));
                        }
                    }
                    LISTENER => self.accept(),
                    id => self.handle_arrival(id),
                }
            }
        }
        self.take_workers().map_err(error)
    }

    fn note(&self, text: &str) {
        if self.is_verbose {
            let _ = writeln!(io::stderr(), "mpiexec: {text}");
        }
    }

    fn warn(&mut self, text: String) {
        if self.warned.len() < WARNINGS_MAX && self.warned.insert(text.clone()) {
            let _ = writeln!(io::stderr(), "mpiexec: {text}");
        }
    }

    fn accepted(&self) -> impl Iterator<Item = &HostDescription> {
        self.arrivals.iter().filter_map(|arrival| Some(&arrival.accepted.as_ref()?.0))
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED_IN_TURN {
            let accepted = self.listeners.iter().map(TcpListener::accept);
            let accepted: Vec<_> = accepted.filter(|it| !is_empty(it)).collect();
            if accepted.is_empty() {
                return;
            }
            for result in accepted {
                match result {
                    Ok((connection, address)) => self.admit(connection, address),
                    // There are no descriptors left, or the connection has ended already.
                    Err(_) => self.drop_oldest_unproved(),
                }
            }
        }
    }

    /// Makes room for a connection: that which has had the most time to prove that it has the token must go.
    fn drop_oldest_unproved(&mut self) {
        let unproved = self.arrivals.iter().filter(|arrival| arrival.accepted.is_none());
        if let Some(id) = unproved.map(|arrival| arrival.id).min() {
            self.arrivals.retain(|arrival| arrival.id != id);
        }
    }

    fn admit(&mut self, connection: TcpStream, address: SocketAddr) {
        // An address of IPv4 as people write it.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let Ok(nonce) = host::random() else { return };
        if self.arrivals.iter().filter(|arrival| arrival.accepted.is_none()).count() >= UNPROVED_MAX {
            self.drop_oldest_unproved();
        }
        let (id, deadline_ns) = (self.next_id, clock::now_ns() + PROOF_NS);
        self.next_id += 1;
        tcp::detect_silence(connection.as_fd(), START_SILENCE_S);
        let is_ready = connection.set_nonblocking(true).is_ok()
            && connection.set_nodelay(true).is_ok()
            && self.epoll.add(connection.as_fd(), id, Interest::Read).is_ok()
            && (&connection).write_all(&handshake::challenge(&nonce)).is_ok();
        if is_ready {
            let (received, accepted) = (Vec::new(), None);
            self.arrivals.push(Arrival { id, connection, address, nonce, received, deadline_ns, accepted });
        }
    }

    /// Handles bytes of a connection, or its end. A closed connection leaves the epoll set.
    fn handle_arrival(&mut self, id: u64) {
        let Some(at) = self.arrivals.iter().position(|arrival| arrival.id == id) else { return };
        let arrival = &mut self.arrivals[at];
        if !arrival.receive() || arrival.accepted.is_some() && !arrival.received.is_empty() {
            let arrival = self.arrivals.swap_remove(at);
            if let Some((description, _)) = arrival.accepted {
                self.note(&format!("the worker {} at {} has left", description.name, arrival.address));
            }
            return;
        }
        if arrival.accepted.is_some() {
            return;
        }
        let address = arrival.address;
        match HostDescription::parse(self.token, arrival.nonce, &arrival.received) {
            Parsed::Incomplete => {}
            Parsed::Malformed => drop(self.arrivals.swap_remove(at)),
            Parsed::OtherToken => {
                if let Ok(random) = host::random() {
                    let _ = arrival.connection.write_all(&handshake::unproved_verdict(&random));
                }
                self.arrivals.swap_remove(at);
                self.warn(format!(
                    "a worker at {} is refused: it has another token than mpiexec; give both the same HAWSER_TOKEN",
                    address.ip()
                ));
            }
            Parsed::Message((description, session), _) => self.handle_description(at, description, session),
        }
    }

    fn handle_description(&mut self, at: usize, description: HostDescription, session: Session) {
        let (address, refusal) = (self.arrivals[at].address, self.refusal(&description));
        let arrival = &mut self.arrivals[at];
        if let Some(reason) = refusal {
            arrival.send(&session, &Verdict::Refused(reason.clone()));
            self.arrivals.swap_remove(at);
            self.warn(format!("the worker {} at {} is refused: {reason}", description.name, address.ip()));
            return;
        }
        arrival.received.clear();
        arrival.send(&session, &Verdict::Accepted);
        let line = format!("the worker {} at {address} has come, with {} slots", description.name, description.slots);
        arrival.accepted = Some((description, session));
        self.note(&line);
    }

    /// The reason why a worker that has the token is not accepted, if there is one.
    fn refusal(&self, description: &HostDescription) -> Option<String> {
        let own_version = frames::version();
        if description.version != own_version {
            return Some(format!(
                "it is Hawser {}, and mpiexec is Hawser {own_version}; install the same version",
                description.version
            ));
        }
        if self.accepted().count() >= self.count {
            return Some(format!("all {} workers have come already", self.count));
        }
        if description.name == self.own_name {
            return Some("it runs on the host of mpiexec, or that has the same name".into());
        }
        let twin = self.arrivals.iter().find(|arrival| {
            let is_twin = |known: &HostDescription| {
                known.name == description.name || known.index.is_some() && known.index == description.index
            };
            arrival.accepted.as_ref().is_some_and(|(known, _)| is_twin(known))
        })?;
        let (known, _) = twin.accepted.as_ref()?;
        Some(match known.name == description.name {
            true => format!("a worker of this name has come from {} already", twin.address.ip()),
            false => {
                format!("it has the number {}, as the worker {} has", description.index.unwrap_or_default(), known.name)
            }
        })
    }

    fn refuse_all(&mut self, reason: &str) {
        for arrival in &mut self.arrivals {
            if let Some((_, session)) = arrival.accepted.take() {
                arrival.send(&session, &Verdict::Refused(reason.to_owned()));
            }
        }
    }

    /// Ends the wait at its deadline; returns the message.
    fn give_up(&mut self, timeout_s: u64) -> String {
        let names: Vec<&str> = self.accepted().map(|description| description.name.as_str()).collect();
        let here = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let text = format!("{} of {} workers have come within {timeout_s} s{here}", names.len(), self.count);
        self.refuse_all(&text);
        format!(
            "{text}; start `mpiexec -worker {}` on each of their hosts, or increase the time limit \
             (HAWSER_RENDEZVOUS_S)",
            self.own_name
        )
    }

    fn take_workers(&mut self) -> io::Result<Vec<Worker>> {
        let mut arrivals: Vec<Arrival> = self.arrivals.drain(..).filter(|arrival| arrival.accepted.is_some()).collect();
        arrivals.sort_by_key(|arrival| {
            let index = arrival.accepted.as_ref().and_then(|(description, _)| description.index);
            (index.is_none(), index, arrival.id)
        });
        let mut workers = Vec::new();
        for arrival in arrivals {
            let Some((description, session)) = arrival.accepted else { continue };
            let Arrival { connection, address, .. } = arrival;
            // From now on heartbeats tell whether the host is there.
            tcp::tolerate_silence(connection.as_fd());
            connection.set_nonblocking(false)?;
            workers.push(Worker { name: description.name, slots: description.slots, address, connection, session });
        }
        Ok(workers)
    }
}
