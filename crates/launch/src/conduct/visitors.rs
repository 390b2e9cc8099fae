//! Tools that ask about a job of several hosts (`hawser-info`): they are answered here, for all hosts at once.
//!
//! Under the job's own name; the hosts' agents answer for their parts (`inspect`).

use crate::agent::door::{Door, Heard};
use hawser_boot::protocol::{Inspect, Message};
use hawser_os::epoll::{Epoll, Interest};
use std::io;

pub struct Visitors {
    door: Door,
}

/// What an event is about: the door, or the line of the visitor with this number before it.
const DOOR: u64 = 0;

impl Visitors {
    /// Opens the door. Its events are those from `token` on.
    pub fn receive(job: &str, epoll: &mut Epoll, token: u64) -> io::Result<Visitors> {
        let door = Door::open(job)?;
        epoll.add(door.as_fd(), token + DOOR, Interest::Read)?;
        Ok(Visitors { door })
    }

    /// Something has happened at `event` past `token`: the visitor's number and what he wants, if he has said it.
    pub fn hear(&mut self, epoll: &mut Epoll, token: u64, event: u64) -> Option<(u32, Inspect)> {
        if event == DOOR {
            // One that cannot be let in asks again.
            while let Ok(Some(number)) = self.door.accept() {
                if let Some(line) = self.door.line(number) {
                    let _ = epoll.add(line, token + 1 + u64::from(number), Interest::Read);
                }
            }
            return None;
        }
        let number = (event - 1) as u32;
        match self.door.hear(number) {
            Heard::Message(Message::Inspect(what)) => Some((number, what)),
            Heard::Nothing => None,
            // No rank has business here.
            _ => {
                self.door.hang_up(number);
                None
            }
        }
    }

    pub fn tell(&mut self, number: u32, text: &str) {
        self.door.tell(number, text);
    }
}
