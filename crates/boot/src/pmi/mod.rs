//! A client of PMI version 1, by which a process belongs to the job of a launcher that is not ours: MPICH's Hydra,
//! Intel MPI's, Slurm's srun with its plugin pmi2.
//!
//! The launcher has opened a connection to its server and named it by PMI_FD. The client asks the server for the
//! process's place, puts texts under keys, and gets those of others once all processes have passed a fence. It starts
//! no process, and every wait for a reply has a limit. Used by `launcher_server`; uses `message` and `node_map`.

pub mod message;
pub mod node_map;

use crate::launcher_server::{AbortFn, JobPlace, LauncherServer};
use hawser_base::{Class, Error, Result, hex};
use hawser_os::clock;
use hawser_os::inherited::InheritedStream;
use message::{MESSAGE_MAX, Message};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// The variables that the launcher sets: the number of the connection's descriptor, and this process's place.
pub const FD_VARIABLE: &str = "PMI_FD";
pub const RANK_VARIABLE: &str = "PMI_RANK";
pub const SIZE_VARIABLE: &str = "PMI_SIZE";

/// The key of the map of ranks to nodes.
const MAPPING_KEY: &str = "PMI_process_mapping";
/// The time, in ms, within which the server replies to everything but a fence. Most replies come from a process of this
/// host; Hydra's asks mpiexec for keys that it does not know yet.
const REPLY_TIMEOUT_MS: u64 = 10_000;
/// The time, in ms, that a process waits for the reply to its last request.
const FINALIZE_TIMEOUT_MS: u64 = 1000;
/// The time for which the launcher passes on what a process has printed before it is asked to end the job. Hydra does
/// not wait for output: in two of six jobs on two hosts the cause was lost.
const TEXT_TIME: Duration = Duration::from_millis(100);
/// The least that a server's values must hold: a secret, and the parts of a longer text.
const VALUE_LEAST: usize = 64;
/// The longest line of a server that is read: longer than any value that a server keeps.
const LINE_MAX: usize = 1 << 16;
/// The bytes of a `put` line besides the names and the value: `cmd=put kvsname= key= value=` and the line's end.
const PUT_BYTES: usize = 32;

/// The place of this process in its job, as the launcher's environment gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PmiPlace {
    pub fd: i32,
    pub rank: u32,
    pub size: u32,
}

/// Asks the launcher that the environment names to end the job with `code`, for a process that has not become a rank.
/// Prints `text` before, because the launcher may kill this process at once. Returns false, without effect, if the
/// environment names none.
pub fn abort_job(environment: impl Fn(&str) -> Option<String>, code: i32, text: &str) -> bool {
    let Ok(Some(place)) = PmiPlace::from_environment(environment) else { return false };
    let Ok(stream) = InheritedStream::open(place.fd) else { return false };
    eprintln!("hawser: {text}");
    send_abort(&stream, code);
    true
}

/// Asks for the end of the job, TEXT_TIME after what this process may have printed.
fn send_abort(stream: &InheritedStream, code: i32) {
    std::thread::sleep(TEXT_TIME);
    if let Some(line) = Message::new("abort").with("exitcode", &code.to_string()).encode() {
        // If the launcher is gone, it has ended the job.
        let _ = stream.send(&line);
    }
}

/// The connection to the launcher's server.
pub struct PmiConnection {
    stream: Arc<InheritedStream>,
    /// The bytes that have arrived behind the last reply.
    received: Vec<u8>,
    /// The process's place; the job is called as its keys are.
    place: JobPlace,
    /// The longest value, in bytes.
    value_max: usize,
}

impl PmiPlace {
    /// Reads the variables. None without PMI_FD; it is an error if the others do not fit it.
    pub fn from_environment(environment: impl Fn(&str) -> Option<String>) -> Result<Option<PmiPlace>> {
        let Some(text) = environment(FD_VARIABLE) else { return Ok(None) };
        let number = |variable: &str, least: i64, most: i64| {
            let text = environment(variable);
            let number = text.as_deref().and_then(|text| text.trim().parse().ok());
            number.filter(|number| (least..=most).contains(number)).ok_or_else(|| half_set(variable, text.as_deref()))
        };
        let fd = number(FD_VARIABLE, 0, i32::MAX.into()).map_err(|_| half_set(FD_VARIABLE, Some(&text)))?;
        let size = number(SIZE_VARIABLE, 1, i64::from(u32::MAX))?;
        let rank = number(RANK_VARIABLE, 0, size - 1)?;
        Ok(Some(PmiPlace { fd: fd as i32, rank: rank as u32, size: size as u32 }))
    }

    /// Whether the descriptor is open, and a connection of this host.
    pub fn is_open(&self) -> bool {
        InheritedStream::open(self.fd).is_ok()
    }
}

#[cold]
fn half_set(variable: &str, value: Option<&str>) -> Error {
    let is = value.map_or("is not set".to_owned(), |value| format!("is {value:?}"));
    let text = format!(
        "{variable} {is}, which does not fit the other variables of a PMI launcher ({FD_VARIABLE}, {RANK_VARIABLE}, \
         {SIZE_VARIABLE}); start the program by that launcher without changing them, or unset {FD_VARIABLE}, \
         {RANK_VARIABLE} and {SIZE_VARIABLE} to run it alone"
    );
    Error::new(Class::Other, text)
}

#[cold]
fn failed(doing: &str, why: &str) -> Error {
    let text = format!(
        "the launcher of this process does not answer by PMI ({doing}: {why}); it has ended, or {FD_VARIABLE} is not \
         this process's own: start the program by mpiexec or srun again, or unset {FD_VARIABLE}, {RANK_VARIABLE} and \
         {SIZE_VARIABLE} to run it alone"
    );
    Error::new(Class::Other, text)
}

#[cold]
fn refused(request: &str, why: &str) -> Error {
    let text = format!(
        "the PMI server of this process's launcher refuses a request ({request}: {why}); start the program by Hawser's \
         mpiexec instead"
    );
    Error::new(Class::Other, text)
}

impl PmiConnection {
    /// Connects to the server, and asks it for everything that is known from the start.
    pub fn open(place: PmiPlace) -> Result<PmiConnection> {
        let stream = InheritedStream::open(place.fd);
        let stream = stream.map_err(|error| failed(FD_VARIABLE, &format!("{}: {error}", place.fd)))?;
        let PmiPlace { rank, size, .. } = place;
        let place = JobPlace { rank, size, ..JobPlace::default() };
        let mut pmi = PmiConnection { stream: Arc::new(stream), received: Vec::new(), place, value_max: 0 };
        let version = Message::new("init").with("pmi_version", "1").with("pmi_subversion", "1");
        pmi.request(&version, "response_to_init", REPLY_TIMEOUT_MS)?;
        let maxes = pmi.request(&Message::new("get_maxes"), "maxes", REPLY_TIMEOUT_MS)?;
        let appnum = pmi.request(&Message::new("get_appnum"), "appnum", REPLY_TIMEOUT_MS)?;
        let universe = pmi.request(&Message::new("get_universe_size"), "universe_size", REPLY_TIMEOUT_MS)?;
        let name = pmi.request(&Message::new("get_my_kvsname"), "my_kvsname", REPLY_TIMEOUT_MS)?;
        let number = |message: &Message, word| message.number(word).and_then(|number| u32::try_from(number).ok());
        (pmi.place.appnum, pmi.place.universe_size) = (number(&appnum, "appnum"), number(&universe, "size"));
        pmi.place.job_name = name.value("kvsname").unwrap_or_default().to_owned();
        let key_max = number(&maxes, "keylen_max").unwrap_or(0) as usize;
        let space = MESSAGE_MAX.saturating_sub(PUT_BYTES + pmi.place.job_name.len() + key_max);
        pmi.value_max = space.min(number(&maxes, "vallen_max").unwrap_or(0) as usize);
        match pmi.place.job_name.is_empty() || pmi.value_max < VALUE_LEAST {
            true => Err(refused("get_maxes", "its keys and values are too short")),
            false => Ok(pmi),
        }
    }

    /// Puts `value`, at most `value_max` bytes without spaces, under `key`.
    fn put_text(&mut self, key: &str, value: &str) -> Result<()> {
        let request = Message::new("put").with("kvsname", &self.place.job_name).with("key", key).with("value", value);
        self.request(&request, "put_result", REPLY_TIMEOUT_MS).map(drop)
    }

    /// The value under `key`, which was put before the last fence or by the launcher; None if there is none.
    fn get_text(&mut self, key: &str) -> Result<Option<String>> {
        let request = Message::new("get").with("kvsname", &self.place.job_name).with("key", key);
        let reply = self.exchange(&request, REPLY_TIMEOUT_MS).and_then(|reply| expect(reply, "get_result"));
        let reply = reply.map_err(|error| failed(&format!("get {key}"), &error.to_string()))?;
        let is_found = matches!(return_code(&reply), Ok(0)) && reply.value("found") != Some("FALSE");
        Ok(reply.value("value").filter(|_| is_found).map(str::to_owned))
    }

    fn expected_text(&mut self, key: &str) -> Result<String> {
        self.get_text(key)?.ok_or_else(|| {
            let text = format!(
                "the launcher's PMI server does not know {key} after a fence; all processes of the job must load the \
                 same Hawser (install it on all hosts, and check LD_LIBRARY_PATH)"
            );
            Error::new(Class::Other, text)
        })
    }

    /// Sends `request`, and returns the reply, which must be `command` and no refusal.
    fn request(&mut self, request: &Message, command: &str, limit_ms: u64) -> Result<Message> {
        let reply = self.exchange(request, limit_ms).and_then(|reply| expect(reply, command));
        reply.map_err(|error| failed(request.command(), &error.to_string())).and_then(|it| check(request.command(), it))
    }

    /// Sends `request`, and receives the line that follows.
    fn exchange(&mut self, request: &Message, limit_ms: u64) -> io::Result<Message> {
        let line = request.encode().ok_or_else(|| io::Error::other("the request does not fit into a line of PMI"))?;
        self.stream.send(&line)?;
        let deadline_ns = clock::now_ns().saturating_add(limit_ms.saturating_mul(1_000_000));
        loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let line_text = String::from_utf8_lossy(&line).trim_end().to_owned();
                return Message::decode(&line)
                    .ok_or_else(|| io::Error::other(format!("its reply is no message of PMI: {line_text:?}")));
            }
            if self.received.len() > LINE_MAX {
                return Err(io::Error::other("its reply has no end"));
            }
            let left_ms = deadline_ns.saturating_sub(clock::now_ns()).div_ceil(1_000_000);
            let mut place = [0; MESSAGE_MAX];
            match self.stream.receive(&mut place, left_ms)? {
                0 => return Err(io::Error::other("the connection has ended")),
                len => self.received.extend_from_slice(&place[..len]),
            }
        }
    }
}

impl LauncherServer for PmiConnection {
    fn place(&self) -> &JobPlace {
        &self.place
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>> {
        let size = self.place.size;
        Ok(self.get_text(MAPPING_KEY)?.and_then(|text| node_map::parse(&text, size)))
    }

    /// Puts the bytes under as many keys as their text needs. The first value begins with the number of keys and a
    /// colon.
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let key = key_of(self.place.rank, key);
        // The number of keys and the colon take less than 16 bytes.
        let part_bytes = (self.value_max - 16) / 2;
        let count = bytes.len().div_ceil(part_bytes).max(1);
        let mut parts = bytes.chunks(part_bytes).map(hex::encode);
        self.put_text(&format!("{key}-0"), &format!("{count}:{}", parts.next().unwrap_or_default()))?;
        (1..).zip(parts).try_for_each(|(number, part): (u32, String)| self.put_text(&format!("{key}-{number}"), &part))
    }

    /// A fence.
    fn publish(&mut self, limit_s: u64) -> Result<()> {
        self.fence(limit_s)
    }

    /// Does not wait.
    fn get(&mut self, rank: u32, key: &str, _limit_s: u64) -> Result<Vec<u8>> {
        let key = key_of(rank, key);
        let first = self.expected_text(&format!("{key}-0"))?;
        let (count, part) = first.split_once(':').ok_or_else(|| changed(&key))?;
        let mut text = part.to_owned();
        for number in 1..count.parse::<u32>().map_err(|_| changed(&key))? {
            text += &self.expected_text(&format!("{key}-{number}"))?;
        }
        hex::decode(&text).ok_or_else(|| changed(&key))
    }

    fn fence(&mut self, limit_s: u64) -> Result<()> {
        let reply = self.exchange(&Message::new("barrier_in"), limit_s.saturating_mul(1000));
        match reply.and_then(|reply| expect(reply, "barrier_out")) {
            Ok(reply) => check("barrier_in", reply).map(drop),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(late(self.place.size, limit_s)),
            Err(error) => Err(failed("barrier_in", &error.to_string())),
        }
    }

    /// Waits shortly for the reply, because Hydra fails where that finds no reader.
    fn finalize(&mut self) {
        // If the launcher is gone, it does not need to know.
        let _ = self.exchange(&Message::new("finalize"), FINALIZE_TIMEOUT_MS);
    }

    /// Sends no text with the request, because servers take a text apart as words of the message. The request has no
    /// reply, so that it can be sent while a reply to another one is awaited.
    fn abort_fn(&self) -> AbortFn {
        let stream = self.stream.clone();
        Arc::new(move |code| send_abort(&stream, code))
    }
}

fn key_of(rank: u32, key: &str) -> String {
    format!("{key}-{rank}")
}

#[cold]
fn changed(key: &str) -> Error {
    let text =
        format!("the launcher's PMI server has changed the value of {key}; start the program by Hawser's mpiexec");
    Error::new(Class::Other, text)
}

/// The error of a fence that not all processes have entered.
#[cold]
pub fn late(size: u32, limit_s: u64) -> Error {
    let text = format!(
        "not all {size} processes of the job have called MPI_Init within {limit_s} s; each must be a program that runs \
         on Hawser: start all again, or increase the time limit (HAWSER_RENDEZVOUS_S)"
    );
    Error::new(Class::Other, text)
}

/// The return code in a reply, 0 if it has none; or its text, if that is no number.
fn return_code(reply: &Message) -> std::result::Result<i64, &str> {
    reply.value("rc").map_or(Ok(0), |text| text.parse().map_err(|_| text))
}

/// Returns `reply` to `request` if its return code is none or 0.
fn check(request: &str, reply: Message) -> Result<Message> {
    let code = match return_code(&reply) {
        Ok(0) => return Ok(reply),
        Ok(code) => format!("code {code}"),
        Err(text) => format!("code {text}"),
    };
    Err(refused(request, reply.value("msg").unwrap_or(&code)))
}

/// Returns `reply` if it is the one called `command`.
fn expect(reply: Message, command: &str) -> io::Result<Message> {
    match reply.command() == command {
        true => Ok(reply),
        false => Err(io::Error::other(format!("it replies {:?} instead of {command:?}", reply.command()))),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
