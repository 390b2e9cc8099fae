//! Replies to tools that query a job of several hosts (`hawser-info`), for all hosts at once.
//!
//! The listener has the job's own name; the agents of the hosts reply for their parts (`inspect`).

use hawser_boot::protocol::{AgentMessage, InspectRequest};
use hawser_host::listener::{Accepted, CLIENTS_PER_TURN, ClientInput, ClientListener};
use hawser_os::epoll::Epoll;
use std::io;

pub struct ToolServer {
    listener: ClientListener,
}

/// The event number of the listener; the connection of client N has the event number N + 1.
const LISTENER: u64 = 0;

impl ToolServer {
    /// Opens the listener of the job. The epoll tokens of its events are `token` plus an event number.
    pub fn listen(job: &str, epoll: &mut Epoll, token: u64) -> io::Result<ToolServer> {
        Ok(ToolServer { listener: ClientListener::open(job, 0, epoll, token + LISTENER)? })
    }

    /// Handles the event number `event`, whose epoll token was `token + event`. Returns a client's number and its
    /// request; None if no request has arrived.
    pub fn handle_event(&mut self, epoll: &mut Epoll, token: u64, event: u64) -> Option<(u32, InspectRequest)> {
        if event != LISTENER {
            return self.receive_query((event - 1) as u32);
        }
        for _ in 0..CLIENTS_PER_TURN {
            match self.listener.accept_client(epoll, |number| token + 1 + u64::from(number)) {
                Accepted::Client(number) => {
                    if let Some(query) = self.receive_query(number) {
                        return Some(query);
                    }
                }
                Accepted::OtherUser => {}
                // A client that cannot be accepted now is accepted later: there is nothing to report.
                Accepted::None | Accepted::Paused(_) => return None,
            }
        }
        None
    }

    fn receive_query(&mut self, number: u32) -> Option<(u32, InspectRequest)> {
        match self.listener.receive(number) {
            ClientInput::Message(AgentMessage::Inspect(request)) => Some((number, request)),
            ClientInput::Nothing => None,
            // Only tools may connect here: any other message ends the connection.
            _ => {
                self.listener.close(number);
                None
            }
        }
    }

    /// The time at which `reopen` must be called: the listener's pause is over, or the rest of a reply can be sent.
    /// None if neither is pending.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.listener.deadline_ns()
    }

    pub fn reopen(&mut self, epoll: &mut Epoll) {
        self.listener.handle_timeout(epoll);
    }

    pub fn reply(&mut self, number: u32, text: &str) {
        self.listener.reply_and_close(number, text);
    }
}
