//! The listener (`ClientListener`) of ranks and tools: the first process's local socket, and the connections made to
//! it.
//!
//! Only the job's own user (and root) gets a reply; `client_rank` decides which client becomes which rank. Any
//! process of the machine can connect, without end. Therefore one turn of the first process's event loop takes a
//! bounded number of clients and of messages, and clients that send nothing are dropped when too many wait. The
//! listener is never closed for good: if the system gives no descriptor it pauses for a moment. Used by `rank_server`
//! and `gathering`.

use hawser_boot::protocol::{AgentMessage, MESSAGE_MAX, SOCKET_PREFIX};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::unix::{Credentials, SeqpacketListener, SeqpacketSocket};
use hawser_os::{ErrorContext, clock, host};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The maximum number of clients that are accepted in one turn. A client of another user costs about 5 us, so other
/// events wait for less than a millisecond.
pub const CLIENTS_PER_TURN: usize = 64;
/// A number of clients that is larger than the listener's backlog (`SeqpacketListener::bind` sets it): to accept that
/// many is to accept all that wait.
pub const ALL_CLIENTS: usize = 4097;
/// The maximum number of messages that are received from one client in one turn.
pub const MESSAGES_PER_TURN: usize = 300;
/// The maximum number of messages that are received from a client that has ended: more than its socket holds. Each
/// message takes at least 768 bytes of the socket's buffer, so that this number empties a buffer of 48 MiB. The
/// buffer has net.core.wmem_default bytes, 208 KiB if it was not raised.
pub const ALL_MESSAGES: usize = 65536;
/// The maximum number of clients, in addition to the ranks, that have sent nothing yet: tools, and processes of the
/// job's user that are not of the job.
const SILENT_CLIENTS: usize = 32;
/// The maximum number of silent clients of one process: a rank or a tool makes one connection, and sends at once.
const SILENT_PER_PROCESS: usize = 4;
/// The number of descriptors that a listener takes in addition to those of the ranks' connections.
pub const DESCRIPTORS: u64 = SILENT_CLIENTS as u64 + 1;
/// The interval at which more of a reply is sent to a client whose socket was full, and the time after which a reply
/// to a socket that is still full is given up, both in ns.
const REPLY_RETRY_NS: u64 = 10_000_000;
const REPLY_TIMEOUT_NS: u64 = 30_000_000_000;
/// The time that the listener pauses when a client cannot be accepted.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;

pub struct ClientListener {
    listener: SeqpacketListener,
    pub name: String,
    /// The epoll token of the listener's events.
    token: u64,
    connections: HashMap<u32, SeqpacketSocket>,
    next: u32,
    /// The clients that have sent nothing yet, each with its process, the earliest first; and the maximum number of
    /// them.
    silent: VecDeque<(u32, i32)>,
    silent_max: usize,
    /// Clients whose sockets had no space for their whole reply.
    pending_replies: HashMap<u32, PendingReply>,
    /// The time until which the listener is out of the epoll set.
    paused_until_ns: Option<u64>,
    /// Whether a failure to accept clients has been reported.
    is_failure_reported: bool,
}

/// The rest of a reply, which did not fit into the client's socket.
struct PendingReply {
    parts: VecDeque<AgentMessage>,
    until_ns: u64,
}

/// The result of accepting a client.
pub enum Accepted {
    Client(u32),
    /// A process of another user, which has been dropped.
    OtherUser,
    None,
    /// The listener pauses, because of this error; None if an error was reported before.
    Paused(Option<io::Error>),
}

/// The result of receiving from a connection.
pub enum ClientInput {
    Message(AgentMessage),
    /// No message has arrived.
    Nothing,
    /// The connection is over and forgotten.
    Closed,
}

impl ClientListener {
    /// Listens under a name that shows the user and the job, and cannot be foreseen, for `ranks` ranks and tools.
    pub fn open(job: &str, ranks: usize, epoll: &mut Epoll, token: u64) -> io::Result<ClientListener> {
        let secret = u64::from_ne_bytes(host::random()?);
        ClientListener::bind(format!("{SOCKET_PREFIX}{}-{job}-{secret:016x}", host::user()), ranks, epoll, token)
    }

    /// Listens under `name`. Any process of the machine may have taken a name that can be foreseen: it is an error
    /// then.
    pub fn bind(name: String, ranks: usize, epoll: &mut Epoll, token: u64) -> io::Result<ClientListener> {
        let listener = SeqpacketListener::bind(&name).context(|| "opening the socket that ranks connect to".into())?;
        epoll.add(listener.as_fd(), token, Interest::Read)?;
        Ok(ClientListener {
            listener,
            name,
            token,
            connections: HashMap::new(),
            next: 0,
            silent: VecDeque::new(),
            silent_max: ranks + SILENT_CLIENTS,
            pending_replies: HashMap::new(),
            paused_until_ns: None,
            is_failure_reported: false,
        })
    }

    /// Accepts a client, and adds it to the epoll set under the token that `token_of` makes of the client's number.
    /// The caller must receive the client's messages before it accepts the next one, and must accept at most
    /// `CLIENTS_PER_TURN` clients in one turn; clients that are left in the backlog make another event. If accepting
    /// fails, the listener pauses and then tries again; only the first error is returned.
    pub fn accept_client(&mut self, epoll: &mut Epoll, token_of: impl Fn(u32) -> u64) -> Accepted {
        match self.accept() {
            Ok(Some(connection)) => {
                let number = self.admit(connection);
                if let Some((number, line)) = number.and_then(|number| Some((number, self.connection(number)?))) {
                    let _ = epoll.add(line, token_of(number), Interest::Read);
                }
                number.map_or(Accepted::OtherUser, Accepted::Client)
            }
            Ok(None) => Accepted::None,
            Err(error) => {
                epoll.remove(self.listener.as_fd());
                self.paused_until_ns = Some(clock::now_ns() + ACCEPT_PAUSE_NS);
                let is_news = !std::mem::replace(&mut self.is_failure_reported, true);
                Accepted::Paused(is_news.then_some(error))
            }
        }
    }

    /// Accepts the next connection. If there is no descriptor for it, the client that has been silent for longest
    /// is dropped.
    fn accept(&mut self) -> io::Result<Option<SeqpacketSocket>> {
        match self.listener.accept() {
            Err(error) => match self.silent.front().copied() {
                Some((first, _)) => {
                    self.close(first);
                    self.listener.accept()
                }
                None => Err(error),
            },
            result => result,
        }
    }

    /// Adds a connection. Returns the number of the client; None if it is of another user.
    fn admit(&mut self, connection: SeqpacketSocket) -> Option<u32> {
        let Credentials { pid, user } = connection.peer().ok()?;
        if user != host::user() && user != 0 {
            return None;
        }
        if let Some(first) = self.client_to_drop(pid) {
            self.close(first);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.connections.insert(number, connection);
        self.silent.push_back((number, pid));
        Some(number)
    }

    /// Returns the silent client that must be dropped before a client of process `pid` is added; None if there is
    /// space. If that process has many silent clients, its earliest one is dropped, so that it displaces no other
    /// process's client. A process that this host cannot name has number 0.
    fn client_to_drop(&self, pid: i32) -> Option<u32> {
        let mut same = self.silent.iter().filter(|(_, other)| *other == pid && pid != 0);
        let first_of_same = same.next().map(|(number, _)| *number);
        if same.count() + 1 >= SILENT_PER_PROCESS {
            return first_of_same;
        }
        let is_full = self.silent.len() >= self.silent_max;
        self.silent.front().map(|(number, _)| *number).filter(|_| is_full)
    }

    /// Returns the time at which `handle_timeout` has something to do: when the listener's pause is over, or when
    /// there may be space for more of a reply.
    pub fn deadline_ns(&self) -> Option<u64> {
        let more_ns = (!self.pending_replies.is_empty()).then(|| clock::now_ns() + REPLY_RETRY_NS);
        self.paused_until_ns.into_iter().chain(more_ns).min()
    }

    /// Accepts clients again once the pause is over, and continues with replies.
    pub fn handle_timeout(&mut self, epoll: &mut Epoll) {
        let now_ns = clock::now_ns();
        let waiting: Vec<u32> = self.pending_replies.keys().copied().collect();
        waiting.into_iter().for_each(|number| self.continue_reply(number, now_ns));
        if self.paused_until_ns.is_some_and(|at| at <= now_ns) {
            let added = epoll.add(self.listener.as_fd(), self.token, Interest::Read);
            self.paused_until_ns = added.is_err().then_some(now_ns + ACCEPT_PAUSE_NS);
        }
    }

    pub fn connection(&self, number: u32) -> Option<BorrowedFd<'_>> {
        self.connections.get(&number).map(AsFd::as_fd)
    }

    /// Returns a descriptor of the client's process, as the kernel knows it.
    pub fn process(&self, number: u32) -> Option<OwnedFd> {
        self.connections.get(&number)?.peer_process().ok()
    }

    pub fn credentials(&self, number: u32) -> Option<Credentials> {
        self.connections.get(&number)?.peer().ok()
    }

    /// Receives a client's next message. The caller must receive at most `MESSAGES_PER_TURN` messages in one turn. A
    /// message that cannot be decoded closes the connection.
    pub fn receive(&mut self, number: u32) -> ClientInput {
        let Some(connection) = self.connections.get(&number) else { return ClientInput::Nothing };
        let mut bytes = [0; MESSAGE_MAX];
        match connection.receive(&mut bytes) {
            Ok((len @ 1.., _)) => match AgentMessage::decode(&bytes[..len]) {
                Some(message) => {
                    self.mark_active(number);
                    ClientInput::Message(message)
                }
                None => self.close(number),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ClientInput::Nothing,
            _ => self.close(number),
        }
    }

    /// Sends a message; returns whether that succeeded.
    pub fn send(&mut self, number: u32, message: &AgentMessage, fd: Option<BorrowedFd>) -> bool {
        self.connections.get(&number).is_some_and(|line| line.send(&message.encode(), fd).is_ok())
    }

    /// Sends a reply to a tool as its socket gets space, now and in `handle_timeout`, and then closes the connection.
    /// A tool gets only one reply.
    pub fn reply_and_close(&mut self, number: u32, text: &str) {
        if self.pending_replies.contains_key(&number) || !self.connections.contains_key(&number) {
            return;
        }
        let mut parts = VecDeque::new();
        // A message takes as many whole lines as fit, so that no character is cut.
        let mut part = String::new();
        for line in text.lines() {
            if part.len() + line.len() > 8 << 10 {
                parts.push_back(AgentMessage::Text(std::mem::take(&mut part)));
            }
            part.push_str(line);
            part.push('\n');
        }
        parts.push_back(AgentMessage::Text(part));
        let now_ns = clock::now_ns();
        self.pending_replies.insert(number, PendingReply { parts, until_ns: now_ns + REPLY_TIMEOUT_NS });
        self.continue_reply(number, now_ns);
    }

    /// Sends as much of a reply as the socket takes now.
    fn continue_reply(&mut self, number: u32, now_ns: u64) {
        let (Some(connection), Some(waiting)) = (self.connections.get(&number), self.pending_replies.get_mut(&number))
        else {
            return;
        };
        while let Some(part) = waiting.parts.front() {
            match connection.try_send(&part.encode()) {
                Ok(()) => drop(waiting.parts.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && now_ns < waiting.until_ns => return,
                Err(_) => break,
            }
        }
        self.close(number);
    }

    /// Ends the connection. Closing takes its descriptor out of every epoll set.
    pub fn close(&mut self, number: u32) -> ClientInput {
        self.connections.remove(&number);
        self.pending_replies.remove(&number);
        self.mark_active(number);
        ClientInput::Closed
    }

    fn mark_active(&mut self, number: u32) {
        // The search begins with the latest clients, because ranks send as soon as they have connected.
        if let Some(at) = self.silent.iter().rposition(|&(silent, _)| silent == number) {
            self.silent.remove(at);
        }
    }
}
