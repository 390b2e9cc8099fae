//! Answers tools that query a job of several hosts (`hawser-info`), for all hosts at once.
//!
//! The listener has the job's own name; the agents of the hosts answer for their parts (`inspect`).

use hawser_boot::protocol::{Inspect, Message};
use hawser_host::door::{CALLERS_PER_TURN, Door, Heard, Knock};
use hawser_os::epoll::Epoll;
use std::io;

pub struct Visitors {
    door: Door,
}

/// The source of an event: the listener, or the connection of the client with this number less one.
const DOOR: u64 = 0;

impl Visitors {
    /// Opens the listener. Its events are those from `token` on.
    pub fn receive(job: &str, epoll: &mut Epoll, token: u64) -> io::Result<Visitors> {
        Ok(Visitors { door: Door::open(job, 0, epoll, token + DOOR)? })
    }

    /// Handles the event `event` past `token`. Returns the client's number and its request, if that has arrived.
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
                // A client that cannot be accepted now is accepted later: there is nothing to report.
                Knock::Nobody | Knock::Rest(_) => return None,
            }
        }
        None
    }

    fn hear_one(&mut self, number: u32) -> Option<(u32, Inspect)> {
        match self.door.hear(number) {
            Heard::Message(Message::Inspect(what)) => Some((number, what)),
            Heard::Nothing => None,
            // Ranks must not connect here.
            _ => {
                self.door.hang_up(number);
                None
            }
        }
    }

    /// The time at which a listener that rests must be opened again.
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
