//! A client of PMI version 1, which all known launchers with a server of PMI have.
//!
//! It asks the server for the process's place, puts texts under keys, and gets those of others once all processes have
//! passed a fence. It starts no process. Used by `pmi` itself; uses `connection`, `long_value`, `node_map`.

use super::connection::{Connection, FINALIZE_TIMEOUT_MS, REPLY_TIMEOUT_MS, deadline_ns, refusal};
use super::errors::{failed, late, refused};
use super::long_value::{self, VALUE_LEAST, key_of};
use super::message::{MESSAGE_MAX, Message};
use super::node_map::{self, MAPPING_KEY};
use crate::pmi_interface::{AbortFn, JobPlace, LauncherServer};
use hawser_base::Result;
use std::io::ErrorKind;

/// The bytes of a `put` line besides the names and the value: `cmd=put kvsname= key= value=` and the line's end.
const PUT_BYTES: usize = 32;

/// The connection to a server that has accepted version 1.
pub struct Pmi1 {
    connection: Connection,
    /// The process's place; the job is called as its keys are.
    place: JobPlace,
    /// The longest value, in bytes.
    value_max: usize,
}

impl Pmi1 {
    /// Asks the server for everything that is known from the start, for the process with this place.
    pub fn open(mut connection: Connection, rank: u32, size: u32) -> Result<Pmi1> {
        let maxes = connection.request(&Message::new("get_maxes"), "maxes")?;
        let appnum = connection.request(&Message::new("get_appnum"), "appnum")?;
        let universe = connection.request(&Message::new("get_universe_size"), "universe_size")?;
        let name = connection.request(&Message::new("get_my_kvsname"), "my_kvsname")?;
        let place = JobPlace {
            rank,
            size,
            job_name: name.value("kvsname").unwrap_or_default().to_owned(),
            appnum: appnum.number("appnum"),
            universe_size: universe.number("size"),
        };
        let number = |word| maxes.number(word).unwrap_or(0u32) as usize;
        let space = MESSAGE_MAX.saturating_sub(PUT_BYTES + place.job_name.len() + number("keylen_max"));
        let value_max = space.min(number("vallen_max"));
        match place.job_name.is_empty() || value_max < VALUE_LEAST {
            true => Err(refused("get_maxes", "its keys and values are too short")),
            false => Ok(Pmi1 { connection, place, value_max }),
        }
    }

    /// Puts `value`, at most `value_max` bytes without spaces, under `key`.
    fn put_text(&mut self, key: &str, value: &str) -> Result<()> {
        let request = Message::new("put").with("kvsname", &self.place.job_name).with("key", key).with("value", value);
        self.connection.request(&request, "put_result").map(drop)
    }

    /// The value under `key`, which was put before the last fence or by the launcher; None if there is none.
    fn get_text(&mut self, key: &str) -> Result<Option<String>> {
        let request = Message::new("get").with("kvsname", &self.place.job_name).with("key", key);
        let reply = self.connection.ask(&request, "get_result", deadline_ns(REPLY_TIMEOUT_MS));
        let reply = reply.map_err(|error| failed(&format!("get {key}"), &error.to_string()))?;
        let is_found = refusal(&reply).is_none() && reply.value("found") != Some("FALSE");
        Ok(reply.value("value").filter(|_| is_found).map(str::to_owned))
    }
}

impl LauncherServer for Pmi1 {
    fn place(&self) -> &JobPlace {
        &self.place
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>> {
        let size = self.place.size;
        Ok(self.get_text(MAPPING_KEY)?.and_then(|text| node_map::parse(&text, size)))
    }

    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        let key = key_of(self.place.rank, key);
        long_value::parts(&key, bytes, self.value_max).try_for_each(|(key, text)| self.put_text(&key, &text))
    }

    /// A fence.
    fn publish(&mut self, limit_s: u64) -> Result<()> {
        self.fence(limit_s)
    }

    /// Does not wait.
    fn get(&mut self, rank: u32, key: &str, _limit_s: u64) -> Result<Vec<u8>> {
        long_value::joined(&key_of(rank, key), |key| self.get_text(key))
    }

    fn fence(&mut self, limit_s: u64) -> Result<()> {
        let deadline_ns = deadline_ns(limit_s.saturating_mul(1000));
        match self.connection.ask(&Message::new("barrier_in"), "barrier_out", deadline_ns) {
            Ok(reply) => refusal(&reply).map_or(Ok(()), |why| Err(refused("barrier_in", &why))),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(late(self.place.size, limit_s)),
            Err(error) => Err(failed("barrier_in", &error.to_string())),
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

/// The request that ends the job. It has no text, because servers take a text apart as words of the message.
pub fn abort_request(code: i32) -> Message {
    Message::new("abort").with("exitcode", &code.to_string())
}
