//! A client of PMI version 2, for launchers whose server refuses version 1.
//!
//! It asks what `pmi1` asks, by other messages (`frame`). It starts no process. Used by `pmi` itself; uses
//! `connection`, `long_value`, `node_map`.

use super::connection::{Connection, FINALIZE_TIMEOUT_MS, Format, REPLY_TIMEOUT_MS, deadline_ns, refusal};
use super::errors::{failed, late, refused};
use super::long_value::{self, key_of, unknown};
use super::message::Message;
use super::node_map::{self, MAPPING_KEY};
use crate::pmi_interface::{AbortFn, JobPlace, LauncherServer};
use hawser_base::{Error, Result};
use std::io::{self, ErrorKind};

/// The longest value, in bytes: PMI2_MAX_VALLEN without the NUL that servers put behind it.
const VALUE_MAX: usize = 1023;
/// The key of MPI_UNIVERSE_SIZE among the attributes of a job.
const UNIVERSE_KEY: &str = "universeSize";
/// The keys of fences: that of each rank which has come, and that of the rank which has seen all.
const COME_KEY: &str = "hawser-come";
const ALL_KEY: &str = "hawser-all";

/// The limit of a wait for other processes: its length, and its end.
#[derive(Clone, Copy)]
struct Limit {
    s: u64,
    deadline_ns: u64,
}

/// The connection to a server with version 2.
pub struct Pmi2 {
    connection: Connection,
    place: JobPlace,
    /// The number of fences that this process has entered.
    fences: u32,
}

impl Pmi2 {
    /// Begins version 2 on a connection whose server has replied to `init`, for the process with this place. `job_id`
    /// is the name by which the launcher knows the job, if it has one. `unanswered` is the error of a server that does
    /// not reply.
    pub fn open(
        mut connection: Connection,
        (rank, size): (u32, u32),
        job_id: Option<String>,
        unanswered: &dyn Fn(&str) -> Error,
    ) -> Result<Pmi2> {
        connection.format = Format::Frames;
        let request = Message::new("fullinit");
        let request = job_id.iter().fold(request, |request, job_id| request.with("pmijobid", job_id));
        let request = request.with("pmirank", &rank.to_string()).with("threaded", "FALSE");
        let reply = connection.ask(&request, "fullinit-response", deadline_ns(REPLY_TIMEOUT_MS));
        let reply = reply.map_err(|error| unanswered(&format!("fullinit: {error}")))?;
        if let Some(why) = refusal(&reply) {
            return Err(refused("fullinit", &why));
        }
        let id = connection.request(&Message::new("job-getid"), "job-getid-response")?;
        let job_name = id.value("jobid").unwrap_or_default().to_owned();
        if job_name.is_empty() {
            return Err(refused("job-getid", "the job has no name"));
        }
        let place = JobPlace { rank, size, job_name, appnum: reply.number("appnum"), universe_size: None };
        let mut pmi = Pmi2 { connection, place, fences: 0 };
        pmi.place.universe_size = pmi.attribute(UNIVERSE_KEY)?.and_then(|text| text.parse().ok());
        Ok(pmi)
    }

    /// The attribute `key` of the job, which the launcher knows; None if it does not.
    fn attribute(&mut self, key: &str) -> Result<Option<String>> {
        let request = Message::new("info-getjobattr").with("key", key);
        let reply = self.connection.ask(&request, "info-getjobattr-response", deadline_ns(REPLY_TIMEOUT_MS));
        reply.map(found).map_err(|error| failed(&format!("info-getjobattr {key}"), &error.to_string()))
    }

    /// Puts `value`, at most `VALUE_MAX` bytes, under `key`.
    fn put_text(&mut self, key: &str, value: &str) -> Result<()> {
        let request = Message::new("kvs-put").with("key", key).with("value", value);
        self.connection.request(&request, "kvs-put-response").map(drop)
    }

    /// The value that `rank` has put under `key`; None if there is none. MPICH's server may wait until it is put.
    fn get_text(&mut self, rank: u32, key: &str, deadline_ns: u64) -> io::Result<Option<String>> {
        let request = Message::new("kvs-get").with("jobid", &self.place.job_name);
        let request = request.with("srcid", &rank.to_string()).with("key", key);
        self.connection.ask(&request, "kvs-get-response", deadline_ns).map(found)
    }

    /// Sends a fence, for which only some servers wait.
    fn send_fence(&mut self, limit: Limit) -> Result<()> {
        let reply = self.connection.ask(&Message::new("kvs-fence"), "kvs-fence-response", limit.deadline_ns);
        let reply = reply.map_err(|error| self.failed_wait("kvs-fence", &error, limit))?;
        refusal(&reply).map_or(Ok(()), |why| Err(refused("kvs-fence", &why)))
    }

    /// Waits until `rank` has put `key`, if the server does so; else it has been put already.
    fn wait_for(&mut self, rank: u32, key: &str, limit: Limit) -> Result<()> {
        match self.get_text(rank, key, limit.deadline_ns) {
            Ok(value) => value.map(drop).ok_or_else(|| unknown(key)),
            Err(error) => Err(self.failed_wait(&format!("kvs-get {key}"), &error, limit)),
        }
    }

    #[cold]
    fn failed_wait(&self, doing: &str, error: &io::Error, limit: Limit) -> Error {
        match error.kind() {
            ErrorKind::TimedOut => late(self.place.size, limit.s),
            _ => failed(doing, &error.to_string()),
        }
    }
}

impl LauncherServer for Pmi2 {
    fn place(&self) -> &JobPlace {
        &self.place
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>> {
        let size = self.place.size;
        Ok(self.attribute(MAPPING_KEY)?.and_then(|text| node_map::parse(&text, size)))
    }

    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let key = key_of(self.place.rank, key);
        long_value::parts(&key, bytes, VALUE_MAX).try_for_each(|(key, text)| self.put_text(&key, &text))
    }

    /// A fence.
    fn publish(&mut self, limit_s: u64) -> Result<()> {
        self.fence(limit_s)
    }

    fn get(&mut self, rank: u32, key: &str, limit_s: u64) -> Result<Vec<u8>> {
        let deadline_ns = deadline_ns(limit_s.saturating_mul(1000));
        long_value::joined(&key_of(rank, key), |key| {
            let text = self.get_text(rank, key, deadline_ns);
            text.map_err(|error| failed(&format!("kvs-get {key}"), &error.to_string()))
        })
    }

    /// Two fences of the server, around keys by which rank 0 learns that all have come, and the others that it has. For
    /// these Slurm's server waits, and MPICH's does not: it replies at once, and waits in a get for a key that is put
    /// before its process sends the fence. A get of a key that nobody puts is no help: it should wait until all have
    /// sent the fence, but in a job of several hosts that server takes processes with the same descriptor for one, and
    /// never finds that. It fails at the get of a process that has sent no fence.
    fn fence(&mut self, limit_s: u64) -> Result<()> {
        self.fences += 1;
        let limit = Limit { s: limit_s, deadline_ns: deadline_ns(limit_s.saturating_mul(1000)) };
        let (come, all) = (format!("{COME_KEY}-{}", self.fences), format!("{ALL_KEY}-{}", self.fences));
        match self.place.rank {
            0 => {
                self.send_fence(limit)?;
                (1..self.place.size).try_for_each(|rank| self.wait_for(rank, &key_of(rank, &come), limit))?;
                self.put_text(&all, "1")?;
                self.send_fence(limit)
            }
            rank => {
                self.put_text(&key_of(rank, &come), "1")?;
                self.send_fence(limit)?;
                self.send_fence(limit)?;
                self.wait_for(0, &all, limit)
            }
        }
    }

    /// Waits shortly for the reply, because Hydra fails where that finds no reader.
    fn finalize(&mut self) {
        // If the launcher is gone, it does not need to know.
        let _ = self.connection.exchange(&Message::new("finalize"), deadline_ns(FINALIZE_TIMEOUT_MS));
    }

    fn abort_fn(&self) -> AbortFn {
        self.connection.abort_fn(abort_request)
    }
}

/// The value in a reply, if the server has one.
fn found(reply: Message) -> Option<String> {
    // Servers call it `found`, and the specification `flag`.
    let flag = reply.value("found").or(reply.value("flag"));
    let is_found = refusal(&reply).is_none() && !flag.is_some_and(|flag| flag.eq_ignore_ascii_case("FALSE"));
    reply.value("value").filter(|_| is_found).map(str::to_owned)
}

/// The request that ends the job. Slurm's server ends nothing but the world; MPICH's takes the exit code.
pub fn abort_request(code: i32) -> Message {
    Message::new("abort").with("isworld", "TRUE").with("exitcode", &code.to_string())
}
