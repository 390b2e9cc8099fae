//! The listener (`ClientListener`) of ranks and tools: the first process's local socket and the connections made to it.
//!
//! Only the job's own user (and root) gets a reply; `client_rank` decides which client becomes which rank. Any
//! process of the machine can connect, without end, so each turn takes a bounded number of clients and of messages,
//! and clients that send nothing are dropped when too many wait. The listener is never closed for good: if the
//! system gives no descriptor it pauses for a moment. Used by `rank_server`.

use hawser_boot::protocol::{AgentMessage, MESSAGE_MAX, SOCKET_PREFIX};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::unix::{Credentials, SeqpacketListener, SeqpacketSocket};
use hawser_os::{ErrorContext, clock, host};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Clients accepted in one turn: one of another user costs some 5 us, so other events wait for less than a
/// millisecond.
pub const CLIENTS_PER_TURN: usize = 64;
/// More clients than can wait in the listener's backlog at one moment (`SeqpacketListener::bind` sets it).
pub const ALL_CLIENTS: usize = 4097;
/// Messages received from one client in one turn.
pub const MESSAGES_PER_TURN: usize = 300;
/// Messages received from a client that has ended: more than its socket holds, each of which takes 768 bytes of its
/// buffer at least. The buffer is of net.core.wmem_default, 208 KiB unless it was raised, and of 48 MiB here.
pub const ALL_MESSAGES: usize = 65536;
/// Clients beside the ranks that may be silent at once: tools, and processes of the job's user that are not of the
/// job.
const SILENT_CLIENTS: usize = 32;
/// Silent clients of one process: a rank or a tool makes one connection, and sends at once.
const SILENT_PER_PROCESS: usize = 4;
/// Descriptors that a listener takes beside those of the ranks' connections.
pub const DESCRIPTORS: u64 = SILENT_CLIENTS as u64 + 1;
/// The interval at which more of a reply is sent to a client whose socket was full, and the time for which it may
/// stay full.
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
    /// Clients that have sent nothing yet and their processes, the earliest first, and the most of them that are
    /// kept.
    silent: VecDeque<(u32, i32)>,
    silent_max: usize,
    /// Clients whose sockets had no space for their whole reply.
    pending_replies: HashMap<u32, PendingReply>,
    /// The listener is out of the epoll set until then.
    paused_until_ns: Option<u64>,
    /// The failure to accept clients has been reported.
    is_failure_reported: bool,
}

/// The rest of a reply.
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
    /// The listener pauses, for this reason if that was not reported yet.
    Paused(Option<io::Error>),
}

/// The result of receiving from a connection.
pub enum ClientInput {
    Message(AgentMessage),
    /// Nothing more for now.
    Nothing,
    /// The connection is over and forgotten.
    Closed,
}

impl ClientListener {
    /// Listens under a name that shows the user and the job, and cannot be foreseen, for `ranks` ranks and tools.
    pub fn open(job: &str, ranks: usize, epoll: &mut Epoll, token: u64) -> io::Result<ClientListener> {
        let secret = u64::from_ne_bytes(host::random()?);
        let name = format!("{SOCKET_PREFIX}{}-{job}-{secret:016x}", host::user());
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

    /// Accepts a client. An error is returned once: the listener tries again after a pause. A turn takes no more
    /// than `CLIENTS_PER_TURN`; clients left in the backlog make another event. A client is in the epoll set under
    /// the number that `token_of` makes of its own, and its messages are to be received before the next one is
    /// accepted.
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

    /// Adds a connection. Returns the number of the client; none if it is of another user.
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

    /// Returns the silent client that is dropped for one more of process `pid`: one of that process if it has many,
    /// so that it displaces no other one. A process that this host cannot name has number 0.
    fn client_to_drop(&self, pid: i32) -> Option<u32> {
        let mut same = self.silent.iter().filter(|(_, other)| *other == pid && pid != 0);
        let first_of_same = same.next().map(|(number, _)| *number);
        if same.count() + 1 >= SILENT_PER_PROCESS {
            return first_of_same;
        }
        let is_full = self.silent.len() >= self.silent_max;
        self.silent.front().map(|(number, _)| *number).filter(|_| is_full)
    }

    /// The time at which the listener's pause is over, or there may be space for more of a reply.
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

    /// Receives a client's next message. No more than `MESSAGES_PER_TURN` are to be received in one turn.
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

    /// Replies to a tool and closes the connection, both as soon as its socket takes it. It gets one reply only.
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
        // The latest clients send first: ranks do so at once.
        if let Some(at) = self.silent.iter().rposition(|&(silent, _)| silent == number) {
            self.silent.remove(at);
        }
    }
}
