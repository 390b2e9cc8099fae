//! The listener (`Door`) of ranks and tools: the first process's local socket and the connections made to it.
//!
//! Only the job's own user (and root) is answered; `callers` decides which caller becomes which rank. Any process of
//! the machine can connect, without end, so each turn takes a bounded number of callers and of messages, and callers
//! that send nothing are dropped when too many wait. The listener is never closed for good: if the system gives no
//! descriptor it rests for a moment. Used by `gate`.

use hawser_boot::protocol::{MESSAGE_MAX, Message, SOCKET_PREFIX};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::unix::{Credentials, Listener, Packets};
use hawser_os::{During, clock, host};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Callers taken in one turn: a stranger costs some 5 us, so other events wait for less than a millisecond.
pub const CALLERS_PER_TURN: usize = 64;
/// More callers than can wait in the listener's backlog at one moment (`Listener::bind` sets it).
pub const ALL_CALLERS: usize = 4097;
/// Messages received from one caller in one turn.
pub const MESSAGES_PER_TURN: usize = 300;
/// Messages received from a caller that has ended: more than its socket holds, each of which takes 768 bytes of its
/// buffer at least. The buffer is of net.core.wmem_default, 208 KiB unless it was raised, and of 48 MiB here.
pub const ALL_MESSAGES: usize = 65536;
/// Callers beside the ranks that may be silent at once: tools, and strangers to the job with its user's rights.
const SILENT_CALLERS: usize = 32;
/// Silent callers of one process: a rank or a tool makes one connection, and sends at once.
const SILENT_PER_PROCESS: usize = 4;
/// Descriptors that a listener takes beside those of the ranks' connections.
pub const DESCRIPTORS: u64 = SILENT_CALLERS as u64 + 1;
/// The interval at which more of an answer is sent to a caller whose socket was full, and the time for which it may
/// stay full.
const MORE_NS: u64 = 10_000_000;
const PATIENCE_NS: u64 = 30_000_000_000;
/// The time that the listener rests when a caller cannot be accepted.
const REST_NS: u64 = 100_000_000;

pub struct Door {
    listener: Listener,
    pub name: String,
    /// The epoll token of the listener's events.
    token: u64,
    lines: HashMap<u32, Packets>,
    next: u32,
    /// Callers that have sent nothing yet and their processes, the first comer first, and the most of them that are
    /// kept.
    silent: VecDeque<(u32, i32)>,
    silent_max: usize,
    /// Callers whose sockets had no room for their whole answer.
    waiting: HashMap<u32, Waiting>,
    /// The listener is out of the epoll set until then.
    rests_until_ns: Option<u64>,
    /// The failure to accept callers has been reported.
    is_told: bool,
}

/// The rest of an answer.
struct Waiting {
    parts: VecDeque<Message>,
    until_ns: u64,
}

/// The result of accepting a caller.
pub enum Knock {
    Caller(u32),
    /// A process of another user, which has been dropped.
    Stranger,
    Nobody,
    /// The listener rests, for this reason if that is news.
    Rest(Option<io::Error>),
}

/// The result of receiving from a connection.
pub enum Heard {
    Message(Message),
    /// Nothing more for now.
    Nothing,
    /// The connection is over and forgotten.
    Closed,
}

impl Door {
    /// Listens under a name that shows the user and the job, and cannot be foreseen, for `ranks` ranks and tools.
    pub fn open(job: &str, ranks: usize, epoll: &mut Epoll, token: u64) -> io::Result<Door> {
        let secret = u64::from_ne_bytes(host::random()?);
        let name = format!("{SOCKET_PREFIX}{}-{job}-{secret:016x}", host::user());
        let listener = Listener::bind(&name).during(|| "opening the socket that ranks connect to".into())?;
        epoll.add(listener.as_fd(), token, Interest::Read)?;
        Ok(Door {
            listener,
            name,
            token,
            lines: HashMap::new(),
            next: 0,
            silent: VecDeque::new(),
            silent_max: ranks + SILENT_CALLERS,
            waiting: HashMap::new(),
            rests_until_ns: None,
            is_told: false,
        })
    }

    /// Accepts a caller. An error is returned once: the listener tries again after a rest. A turn takes no more than
    /// `CALLERS_PER_TURN`; callers left in the backlog make another event. A caller is in the epoll set under the
    /// number that `token_of` makes of its own, and its messages are to be received before the next one is accepted.
    pub fn answer(&mut self, epoll: &mut Epoll, token_of: impl Fn(u32) -> u64) -> Knock {
        match self.accept() {
            Ok(Some(line)) => {
                let number = self.admit(line);
                if let Some((number, line)) = number.and_then(|number| Some((number, self.line(number)?))) {
                    let _ = epoll.add(line, token_of(number), Interest::Read);
                }
                number.map_or(Knock::Stranger, Knock::Caller)
            }
            Ok(None) => Knock::Nobody,
            Err(error) => {
                epoll.remove(self.listener.as_fd());
                self.rests_until_ns = Some(clock::now_ns() + REST_NS);
                let is_news = !std::mem::replace(&mut self.is_told, true);
                Knock::Rest(is_news.then_some(error))
            }
        }
    }

    /// Accepts the next connection. If there is no descriptor for it, the caller that has been silent for longest is
    /// dropped.
    fn accept(&mut self) -> io::Result<Option<Packets>> {
        match self.listener.accept() {
            Err(error) => match self.silent.front().copied() {
                Some((first, _)) => {
                    self.hang_up(first);
                    self.listener.accept()
                }
                None => Err(error),
            },
            result => result,
        }
    }

    /// The number of a caller, if it is none of another user.
    fn admit(&mut self, line: Packets) -> Option<u32> {
        let Credentials { pid, user } = line.peer().ok()?;
        if user != host::user() && user != 0 {
            return None;
        }
        if let Some(first) = self.must_leave(pid) {
            self.hang_up(first);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.lines.insert(number, line);
        self.silent.push_back((number, pid));
        Some(number)
    }

    /// The silent caller that is dropped for one more of process `pid`: one of that process if it has many, so that it
    /// displaces no other one. A process that this host cannot name has number 0.
    fn must_leave(&self, pid: i32) -> Option<u32> {
        let mut same = self.silent.iter().filter(|(_, other)| *other == pid && pid != 0);
        let first_of_same = same.next().map(|(number, _)| *number);
        if same.count() + 1 >= SILENT_PER_PROCESS {
            return first_of_same;
        }
        let is_full = self.silent.len() >= self.silent_max;
        self.silent.front().map(|(number, _)| *number).filter(|_| is_full)
    }

    /// The time at which the listener's rest is over, or there may be room for more of an answer.
    pub fn deadline_ns(&self) -> Option<u64> {
        let more_ns = (!self.waiting.is_empty()).then(|| clock::now_ns() + MORE_NS);
        self.rests_until_ns.into_iter().chain(more_ns).min()
    }

    /// Accepts callers again once the rest is over, and continues with answers.
    pub fn wake(&mut self, epoll: &mut Epoll) {
        let now_ns = clock::now_ns();
        let told: Vec<u32> = self.waiting.keys().copied().collect();
        told.into_iter().for_each(|number| self.tell_more(number, now_ns));
        if self.rests_until_ns.is_some_and(|at| at <= now_ns) {
            let added = epoll.add(self.listener.as_fd(), self.token, Interest::Read);
            self.rests_until_ns = added.is_err().then_some(now_ns + REST_NS);
        }
    }

    pub fn line(&self, number: u32) -> Option<BorrowedFd<'_>> {
        self.lines.get(&number).map(AsFd::as_fd)
    }

    /// A descriptor of the caller's process, which the kernel vouches for.
    pub fn process(&self, number: u32) -> Option<OwnedFd> {
        self.lines.get(&number)?.peer_process().ok()
    }

    pub fn caller(&self, number: u32) -> Option<Credentials> {
        self.lines.get(&number)?.peer().ok()
    }

    /// Receives a caller's next message. No more than `MESSAGES_PER_TURN` are to be received in one turn.
    pub fn hear(&mut self, number: u32) -> Heard {
        let Some(line) = self.lines.get(&number) else { return Heard::Nothing };
        let mut bytes = [0; MESSAGE_MAX];
        match line.receive(&mut bytes) {
            Ok((len @ 1.., _)) => match Message::decode(&bytes[..len]) {
                Some(message) => {
                    self.no_longer_silent(number);
                    Heard::Message(message)
                }
                None => self.hang_up(number),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Heard::Nothing,
            _ => self.hang_up(number),
        }
    }

    /// Sends an answer; returns whether that succeeded.
    pub fn say(&mut self, number: u32, message: &Message, fd: Option<BorrowedFd>) -> bool {
        self.lines.get(&number).is_some_and(|line| line.send(&message.encode(), fd).is_ok())
    }

    /// Answers a tool and ends the connection, both as soon as its socket takes it. It gets one answer only.
    pub fn tell(&mut self, number: u32, text: &str) {
        if self.waiting.contains_key(&number) || !self.lines.contains_key(&number) {
            return;
        }
        let mut parts = VecDeque::new();
        // A message takes as many whole lines as fit, so that no character is cut.
        let mut part = String::new();
        for line in text.lines() {
            if part.len() + line.len() > 8 << 10 {
                parts.push_back(Message::Text(std::mem::take(&mut part)));
            }
            part.push_str(line);
            part.push('\n');
        }
        parts.push_back(Message::Text(part));
        let now_ns = clock::now_ns();
        self.waiting.insert(number, Waiting { parts, until_ns: now_ns + PATIENCE_NS });
        self.tell_more(number, now_ns);
    }

    /// Sends as much of an answer as the socket takes now.
    fn tell_more(&mut self, number: u32, now_ns: u64) {
        let (Some(line), Some(waiting)) = (self.lines.get(&number), self.waiting.get_mut(&number)) else { return };
        while let Some(part) = waiting.parts.front() {
            match line.send_now(&part.encode()) {
                Ok(()) => drop(waiting.parts.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && now_ns < waiting.until_ns => return,
                Err(_) => break,
            }
        }
        self.hang_up(number);
    }

    /// Ends the connection. Closing takes its descriptor out of every epoll set.
    pub fn hang_up(&mut self, number: u32) -> Heard {
        self.lines.remove(&number);
        self.waiting.remove(&number);
        self.no_longer_silent(number);
        Heard::Closed
    }

    fn no_longer_silent(&mut self, number: u32) {
        // The latest comers send first: ranks do so at once.
        if let Some(at) = self.silent.iter().rposition(|&(silent, _)| silent == number) {
            self.silent.remove(at);
        }
    }
}
