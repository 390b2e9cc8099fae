//! The connection to a server of PMI: sends a request, and receives its reply within a limit, in the format of either
//! version.
//!
//! It knows no request, and never waits without a limit. A message is sent by one call, so that the request which ends
//! the job may be sent while another thread waits for a reply. Used by `pmi1`, `pmi2` and `pmi` itself; uses `message`,
//! `frame`.

use super::errors::{failed, refused};
use super::frame;
use super::message::{self, Message};
use super::variables::FD_VARIABLE;
use crate::pmi_interface::AbortFn;
use hawser_base::Result;
use hawser_os::clock;
use hawser_os::inherited::InheritedStream;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The time, in ms, within which the server replies to everything that waits for no other process. Most replies come
/// from a process of this host; Hydra's asks mpiexec for keys that it does not know yet.
pub const REPLY_TIMEOUT_MS: u64 = 10_000;
/// The time, in ms, that a process waits for the reply to its last request.
pub const FINALIZE_TIMEOUT_MS: u64 = 1000;
/// The time for which the launcher passes on what a process has printed before it is asked to end the job. Hydra does
/// not wait for output: in two of six jobs on two hosts the cause was lost.
const TEXT_TIME: Duration = Duration::from_millis(100);
/// The bytes that are received at a time.
const RECEIVED_AT_ONCE: usize = 1024;

/// The format of messages. A connection begins with lines, whichever version follows.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    Lines,
    Frames,
}

impl Format {
    fn encode(self, message: &Message) -> Option<Vec<u8>> {
        match self {
            Format::Lines => message.encode(),
            Format::Frames => frame::encode(message),
        }
    }

    fn take(self, received: &mut Vec<u8>) -> io::Result<Option<Message>> {
        let taken = match self {
            Format::Lines => message::take(received),
            Format::Frames => frame::take(received),
        };
        taken.map_err(io::Error::other)
    }
}

pub struct Connection {
    stream: Arc<InheritedStream>,
    /// The bytes that have arrived behind the last reply.
    received: Vec<u8>,
    pub format: Format,
}

impl Connection {
    /// Takes the connection that the launcher has opened under the number `fd`.
    pub fn open(fd: i32) -> Result<Connection> {
        let stream = InheritedStream::open(fd).map_err(|error| failed(FD_VARIABLE, &format!("{fd}: {error}")))?;
        Ok(Connection { stream: Arc::new(stream), received: Vec::new(), format: Format::Lines })
    }

    /// Sends `request`, and returns the reply, which must be `command` and no refusal.
    pub fn request(&mut self, request: &Message, command: &str) -> Result<Message> {
        let reply = self.ask(request, command, deadline_ns(REPLY_TIMEOUT_MS));
        let reply = reply.map_err(|error| failed(request.command(), &error.to_string()))?;
        match refusal(&reply) {
            None => Ok(reply),
            Some(why) => Err(refused(request.command(), &why)),
        }
    }

    /// Sends `request`, and returns the reply, which must be `command`.
    pub fn ask(&mut self, request: &Message, command: &str, deadline_ns: u64) -> io::Result<Message> {
        let reply = self.exchange(request, deadline_ns)?;
        match reply.command() == command {
            true => Ok(reply),
            false => Err(io::Error::other(format!("it replies {:?} instead of {command:?}", reply.command()))),
        }
    }

    /// Sends `request`, and receives the message that follows.
    pub fn exchange(&mut self, request: &Message, deadline_ns: u64) -> io::Result<Message> {
        let bytes = self.format.encode(request);
        let bytes = bytes.ok_or_else(|| io::Error::other("the request does not fit into a message of PMI"))?;
        self.stream.send(&bytes)?;
        loop {
            if let Some(message) = self.format.take(&mut self.received)? {
                return Ok(message);
            }
            let left_ms = deadline_ns.saturating_sub(clock::now_ns()).div_ceil(1_000_000);
            let mut place = [0; RECEIVED_AT_ONCE];
            match self.stream.receive(&mut place, left_ms)? {
                0 => return Err(io::Error::other("the connection has ended")),
                len => self.received.extend_from_slice(&place[..len]),
            }
        }
    }

    /// A function that sends the request of an exit code. The request has no reply, so that it can be sent while a
    /// reply to another one is awaited.
    pub fn abort_fn(&self, request: fn(i32) -> Message) -> AbortFn {
        let (stream, format) = (self.stream.clone(), self.format);
        Arc::new(move |code| send_last(&stream, format, &request(code)))
    }
}

/// The time at which a limit that begins now ends.
pub fn deadline_ns(limit_ms: u64) -> u64 {
    clock::now_ns().saturating_add(limit_ms.saturating_mul(1_000_000))
}

/// Sends the request that ends the job, TEXT_TIME after what this process may have printed.
pub fn send_last(stream: &InheritedStream, format: Format, request: &Message) {
    std::thread::sleep(TEXT_TIME);
    if let Some(bytes) = format.encode(request) {
        // If the launcher is gone, it has ended the job.
        let _ = stream.send(&bytes);
    }
}

/// The reason for which a reply refuses its request; None if its return code is none or 0.
pub fn refusal(reply: &Message) -> Option<String> {
    let code = reply.value("rc").filter(|text| text.parse::<i64>() != Ok(0))?;
    let text = reply.value("msg").or(reply.value("errmsg"));
    Some(text.map_or_else(|| format!("code {code}"), str::to_owned))
}
