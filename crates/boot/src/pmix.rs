//! A client of PMIx, by which a process belongs to the job of a launcher that is not ours: PRRTE's and Open MPI's
//! (prterun), Slurm's srun with its plugin pmix, Flux's.
//!
//! The library of PMIx is loaded at run time (`os::pmix`): the launcher's own one if that can be found, because it fits
//! the server, else the one that the system has. Its calls may wait for ever, so that each that waits for others runs
//! in a thread of its own, which is given up at the time limit. What one rank has put is got without a fence, because
//! the server asks that rank's server for it. Used by `launcher_server`; uses `os::pmix`.

use crate::launcher_server::{AbortFn, JobPlace, LauncherServer};
use crate::pmi;
use hawser_base::{Class, Error, Result};
use hawser_os::pmix::{Pmix, PmixValue, WHOLE_JOB};
use hawser_os::{host, process_tree, thread};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// The variables by which a launcher names a process's job, and its rank.
pub const JOB_VARIABLE: &str = "PMIX_NAMESPACE";
pub const RANK_VARIABLE: &str = "PMIX_RANK";
/// The variable by which the user names the library.
pub const LIBRARY_VARIABLE: &str = "HAWSER_PMIX_LIBRARY";

/// The name by which the dynamic loader finds the library of the system.
const LIBRARY: &str = "libpmix.so.2";
/// The name of the thread of a call, as ps(1) shows it.
const THREAD: &str = "hawser-pmix";
/// The time, in s, within which the server of this host replies.
const REPLY_TIMEOUT_S: u64 = 10;
/// The time, in s, that a process waits for the server when it ends. The library itself waits 2 s, and then frees what
/// it has.
const END_TIMEOUT_S: u64 = 5;
/// The time, in ms, after which a key that a rank has not put yet is looked up again.
const RETRY_MS: u32 = 5;
/// The time, in s, within which a rank that has put other keys puts a further one. A key that never comes is an error
/// within 10 s.
const KEY_TIMEOUT_S: u64 = 8;

/// The connection to the launcher's server.
pub struct PmixConnection {
    pmix: Pmix,
    place: JobPlace,
    /// The process that has connected: the library does not work in a forked child.
    pid: i32,
    /// A call has not returned in time, so that no other is made.
    is_stuck: bool,
}

impl PmixConnection {
    /// Whether the environment names a job of PMIx.
    pub fn is_named(environment: impl Fn(&str) -> Option<String>) -> bool {
        environment(JOB_VARIABLE).is_some() && environment(RANK_VARIABLE).is_some()
    }

    /// Loads the library, and connects to the server that the environment names.
    pub fn open(environment: impl Fn(&str) -> Option<String>) -> Result<PmixConnection> {
        let pmix = load(environment(LIBRARY_VARIABLE))?;
        let (job_name, rank) = within(REPLY_TIMEOUT_S, move || pmix.init())
            .unwrap_or_else(|| Err(format!("no reply within {REPLY_TIMEOUT_S} s")))
            .map_err(|why| failed("PMIx_Init", &why))?;
        let place = JobPlace { rank, job_name, ..JobPlace::default() };
        let mut connection = PmixConnection { pmix, place, pid: host::pid(), is_stuck: false };
        connection.place.size = connection.number(WHOLE_JOB, "pmix.job.size")?;
        connection.place.universe_size = connection.number(WHOLE_JOB, "pmix.univ.size").ok();
        connection.place.appnum = connection.number(rank, "pmix.appnum").ok();
        match rank < connection.place.size {
            true => Ok(connection),
            false => Err(failed("PMIx_Init", &format!("rank {rank} of {}", connection.place.size))),
        }
    }

    /// The number that the launcher has under `key`.
    fn number(&mut self, rank: u32, key: &'static str) -> Result<u32> {
        match self.value(rank, key, REPLY_TIMEOUT_S)? {
            Some(PmixValue::Number(number)) => Ok(number),
            other => Err(failed(&format!("PMIx_Get {key}"), &format!("it is no number but {other:?}"))),
        }
    }

    fn value(&mut self, rank: u32, key: &str, limit_s: u64) -> Result<Option<PmixValue>> {
        let (pmix, job, name) = (self.pmix, self.place.job_name.clone(), key.to_owned());
        self.call(&format!("PMIx_Get {key} of rank {rank}"), limit_s, move || pmix.get(&job, rank, &name))
    }

    /// Makes a call that waits for the server, at most `limit_s`.
    fn call<T: Send + 'static>(
        &mut self,
        doing: &str,
        limit_s: u64,
        call: impl FnOnce() -> std::result::Result<T, String> + Send + 'static,
    ) -> Result<T> {
        if self.is_stuck {
            return Err(failed(doing, "an earlier call has not returned"));
        }
        let done = within(limit_s, call);
        self.is_stuck = done.is_none();
        done.unwrap_or_else(|| Err(format!("no reply within {limit_s} s"))).map_err(|why| failed(doing, &why))
    }
}

impl LauncherServer for PmixConnection {
    fn place(&self) -> &JobPlace {
        &self.place
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>> {
        let (pmix, job) = (self.pmix, self.place.job_name.clone());
        let ranks_of_nodes = self.call("PMIx_Resolve_nodes", REPLY_TIMEOUT_S, move || Ok(pmix.nodes(&job).ok()))?;
        Ok(ranks_of_nodes.and_then(|nodes| node_of_each(&nodes, self.place.size)))
    }

    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()> {
        self.pmix.put(key, bytes).map_err(|why| failed(&format!("PMIx_Put {key}"), &why))
    }

    /// Waits for the server of this host alone: `get` waits for other ranks.
    fn publish(&mut self, _limit_s: u64) -> Result<()> {
        let pmix = self.pmix;
        self.call("PMIx_Commit", REPLY_TIMEOUT_S, move || pmix.commit())
    }

    fn get(&mut self, rank: u32, key: &str, limit_s: u64) -> Result<Vec<u8>> {
        let deadline = Instant::now() + Duration::from_secs(limit_s.min(KEY_TIMEOUT_S));
        loop {
            match self.value(rank, key, limit_s)? {
                Some(PmixValue::Bytes(bytes)) => return Ok(bytes),
                // The process has committed something before, and the server waits for no second time.
                None if Instant::now() < deadline => host::sleep_ms(RETRY_MS),
                other => {
                    return Err(failed(&format!("PMIx_Get {key} of rank {rank}"), &format!("its value is {other:?}")));
                }
            }
        }
    }

    fn fence(&mut self, limit_s: u64) -> Result<()> {
        self.publish(limit_s)?;
        let pmix = self.pmix;
        let fenced = self.call("PMIx_Fence", limit_s, move || pmix.fence());
        if self.is_stuck { Err(pmi::late(self.place.size, limit_s)) } else { fenced }
    }

    fn finalize(&mut self) {
        let pmix = self.pmix;
        if self.pid == host::pid() {
            // If the launcher is gone, it does not need to know.
            let _ = self.call("PMIx_Finalize", END_TIMEOUT_S, move || pmix.finalize());
        }
    }

    fn abort_fn(&self) -> AbortFn {
        let (pmix, pid) = (self.pmix, self.pid);
        Arc::new(move |code| {
            if pid == host::pid() {
                // The launcher kills this process meanwhile.
                let _ = within(END_TIMEOUT_S, move || pmix.abort(code));
            }
        })
    }
}

/// Returns what `call` returns; None if that takes longer than `limit_s`, and its thread is left alone.
fn within<T: Send + 'static>(limit_s: u64, call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    // Nobody reads a result that comes too late.
    thread::spawn(THREAD, move || drop(sender.send(call()))).ok()?;
    receiver.recv_timeout(Duration::from_secs(limit_s)).ok()
}

/// Loads the library that the user has named, that of the launcher, or that of the system.
fn load(named: Option<String>) -> Result<Pmix> {
    if let Some(name) = named {
        return Pmix::load(&name).map_err(|why| not_loaded(&format!("{LIBRARY_VARIABLE}={name}: {why}")));
    }
    let of_process = |pid| process_tree::mapped_files(pid).into_iter().find(|file| is_pmix(file) && file.exists());
    let theirs = process_tree::ancestors(host::pid()).into_iter().find_map(of_process);
    let theirs = theirs.and_then(|path| Pmix::load(&path.to_string_lossy()).ok());
    theirs.map_or_else(|| Pmix::load(LIBRARY).map_err(|why| not_loaded(&why)), Ok)
}

fn is_pmix(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libpmix.so"))
}

/// The number of the node of each of `size` ranks, of which each node has those in `nodes`; None if a rank has none.
fn node_of_each(nodes: &[Vec<u32>], size: u32) -> Option<Vec<u32>> {
    let mut node_of = vec![None; size as usize];
    for (node, ranks) in (0..).zip(nodes) {
        for &rank in ranks {
            *node_of.get_mut(rank as usize)? = Some(node);
        }
    }
    node_of.into_iter().collect()
}

#[cold]
fn failed(doing: &str, why: &str) -> Error {
    let text = format!(
        "the launcher of this process does not answer by PMIx ({doing}: {why}); start the program by prterun or srun \
         again, by Hawser's mpiexec, or unset {JOB_VARIABLE} and {RANK_VARIABLE} to run it alone"
    );
    Error::new(Class::Other, text)
}

#[cold]
fn not_loaded(why: &str) -> Error {
    let text = format!(
        "this process is one of a launcher with PMIx ({JOB_VARIABLE}), whose library cannot be loaded ({why}); install \
         it (libpmix2 on Debian), name its file by {LIBRARY_VARIABLE}, or start the program by Hawser's mpiexec"
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_given_up_at_its_limit() {
        assert_eq!(within(10, || 7), Some(7));
        assert_eq!(within(0, || std::thread::sleep(Duration::from_secs(5))), None);
    }

    #[test]
    fn each_rank_has_the_node_that_names_it() {
        assert_eq!(node_of_each(&[vec![0, 2], vec![1, 3]], 4), Some(vec![0, 1, 0, 1]));
        assert_eq!(node_of_each(&[vec![0, 2], vec![1]], 4), None, "a rank without a node");
        assert_eq!(node_of_each(&[vec![0, 4]], 1), None, "a rank of another job");
    }

    #[test]
    fn a_library_that_is_not_there_is_one_line_with_the_remedy() {
        let text = load(Some("/no/such/libpmix.so.2".into())).err().unwrap().cause().to_owned();
        assert!(text.contains("HAWSER_PMIX_LIBRARY=/no/such/libpmix.so.2") && text.contains("install"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn a_job_is_named_by_two_variables() {
        let of =
            |names: &'static [&str]| PmixConnection::is_named(|asked| names.contains(&asked).then(|| "1".to_owned()));
        assert!(of(&[JOB_VARIABLE, RANK_VARIABLE]) && !of(&[JOB_VARIABLE]) && !of(&[RANK_VARIABLE]) && !of(&[]));
    }
}
