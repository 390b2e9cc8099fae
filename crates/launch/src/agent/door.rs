//! Where ranks and tools knock: the agent's local socket and the connections made to it.
//!
//! Only the job's own user (and root) is answered. Who is let in as which rank is decided in `run`.

use hawser_boot::protocol::{MESSAGE_MAX, Message, SOCKET_PREFIX};
use hawser_os::unix::{Credentials, Listener, Packets};
use hawser_os::{During, host};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

pub struct Door {
    listener: Listener,
    pub name: String,
    lines: HashMap<u32, Packets>,
    next: u32,
}

/// What a connection brought.
pub enum Heard {
    Message(Message),
    /// Nothing more for now.
    Nothing,
    /// The connection is over and forgotten.
    Closed,
}

impl Door {
    /// Listens under a name that shows the user and the job, and cannot be foreseen.
    pub fn open(job: &str) -> io::Result<Door> {
        let secret = u64::from_ne_bytes(host::random()?);
        let name = format!("{SOCKET_PREFIX}{}-{job}-{secret:016x}", host::user());
        let listener = Listener::bind(&name).during(|| "opening the socket that ranks connect to".into())?;
        Ok(Door { listener, name, lines: HashMap::new(), next: 0 })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// The next caller, by number. Strangers are dropped.
    pub fn accept(&mut self) -> io::Result<Option<u32>> {
        while let Some(line) = self.listener.accept()? {
            let user = line.peer()?.user;
            if user == host::user() || user == 0 {
                let number = self.next;
                self.next = self.next.wrapping_add(1);
                self.lines.insert(number, line);
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    pub fn line(&self, number: u32) -> Option<BorrowedFd<'_>> {
        self.lines.get(&number).map(AsFd::as_fd)
    }

    pub fn caller(&self, number: u32) -> Option<Credentials> {
        self.lines.get(&number)?.peer().ok()
    }

    pub fn hear(&mut self, number: u32) -> Heard {
        let Some(line) = self.lines.get(&number) else { return Heard::Nothing };
        let mut bytes = [0; MESSAGE_MAX];
        match line.receive(&mut bytes) {
            Ok((len @ 1.., _)) => match Message::decode(&bytes[..len]) {
                Some(message) => Heard::Message(message),
                None => self.hang_up(number),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Heard::Nothing,
            _ => self.hang_up(number),
        }
    }

    /// Answers; whether that arrived.
    pub fn say(&mut self, number: u32, message: &Message, fd: Option<BorrowedFd>) -> bool {
        self.lines.get(&number).is_some_and(|line| line.send(&message.encode(), fd).is_ok())
    }

    /// Answers a tool and ends the connection.
    pub fn tell(&mut self, number: u32, text: &str) {
        // As many whole lines as fit into a message, so that no character is cut.
        let mut part = String::new();
        for line in text.lines() {
            if part.len() + line.len() > 8 << 10 {
                self.say(number, &Message::Text(std::mem::take(&mut part)), None);
            }
            part.push_str(line);
            part.push('\n');
        }
        self.say(number, &Message::Text(part), None);
        self.hang_up(number);
    }

    /// Ends the connection. Closing takes its descriptor out of every epoll set.
    pub fn hang_up(&mut self, number: u32) -> Heard {
        self.lines.remove(&number);
        Heard::Closed
    }
}
