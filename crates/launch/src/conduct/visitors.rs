//! Tools that ask about a job of several hosts (`hawser-info`): they are answered here, for all hosts at once.
//!
//! Under the job's own name; the hosts' agents answer for their parts (`inspect`).

use hawser_boot::protocol::{Inspect, Message};
use hawser_host::door::{CALLERS_PER_TURN, Door, Heard, Knock};
use hawser_os::epoll::Epoll;
use std::io;

pub struct Visitors {
    door: Door,
}

/// What an event is about: the door, or the line of the visitor with this number before it.
const DOOR: u64 = 0;

impl Visitors {
    /// Opens the door. Its events are those from `token` on.
    pub fn receive(job: &str, epoll: &mut Epoll, token: u64) -> io::Result<Visitors> {
        Ok(Visitors { door: Door::open(job, 0, epoll, token + DOOR)? })
    }

    /// Something has happened at `event` past `token`: the visitor's number and what he wants, if he has said it.
    pub fn hear(&mut self, epoll: &mut Epoll, token: u64, event: u64) -> Option<(u32, Inspect)> {
        if event != DOOR {
            return self.hear_one((event - 1) as u32);
        }
        for _ in 0..CALLERS_PER_TURN {
            match self.door.answer(epoll, |number| token + 1 + u64::from(number)) {
                Knock::Caller(number) => {
                    if let Some(wish) = self.hear_one(number) {
                        return Some(wish);
                    }
                }
                Knock::Stranger => {}
                // A visitor who cannot be let in now is let in later: there is nothing to say.
                Knock::Nobody | Knock::Rest(_) => return None,
            }
        }
        None
    }

    fn hear_one(&mut self, number: u32) -> Option<(u32, Inspect)> {
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

    /// When the door is to be opened again, should it rest.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.door.deadline_ns()
    }

    pub fn wake(&mut self, epoll: &mut Epoll) {
        self.door.wake(epoll);
    }

    pub fn tell(&mut self, number: u32, text: &str) {
        self.door.tell(number, text);
    }
}
