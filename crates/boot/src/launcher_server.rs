//! The server of a launcher that is not ours: what a rank asks of it (`LauncherServer`), and which server this process
//! has.
//!
//! The environment names the server. A process may have the variables of several launchers, because each passes on what
//! it has found; the connection of PMI_FD counts first if it is open, since launchers close what is not their own, then
//! PMIx. Nothing here starts a process or waits without limit. Implemented by `pmi` and `pmix`; used by
//! `host::process_manager`.

use crate::pmi::{self, PmiConnection};
use crate::pmix::PmixConnection;
use hawser_base::Result;
use std::sync::{Arc, OnceLock};

/// The place of this process in its job.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JobPlace {
    pub rank: u32,
    pub size: u32,
    /// The name of the job, by which all its processes know it.
    pub job_name: String,
    /// The number of this process's program (MPI_APPNUM), and MPI_UNIVERSE_SIZE, if the launcher gives them.
    pub appnum: Option<u32>,
    pub universe_size: Option<u32>,
}

/// A function that asks the launcher to end the job with an exit code, while another thread waits for the server too.
/// The caller prints the cause.
pub type AbortFn = Arc<dyn Fn(i32) + Send + Sync>;

/// The function of the server that this process has found.
static ABORT: OnceLock<AbortFn> = OnceLock::new();

/// A connection to the server. Every error is one line for the user.
pub trait LauncherServer: Send {
    fn place(&self) -> &JobPlace;

    /// The number of the node of each rank; None if the server does not say it.
    fn nodes(&mut self) -> Result<Option<Vec<u32>>>;

    /// Puts `bytes` under `key`, for every process of the job. A key is put once.
    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<()>;

    /// Makes what was put available to `get`, so that it needs no `fence` before it. All processes call it; it may wait
    /// for them, at most `limit_s`.
    fn publish(&mut self, limit_s: u64) -> Result<()>;

    /// The bytes that `rank` has put under `key` before the last `fence` or `publish`, waiting at most `limit_s`.
    fn get(&mut self, rank: u32, key: &str, limit_s: u64) -> Result<Vec<u8>>;

    /// Waits until all processes of the job are in this fence, at most `limit_s`.
    fn fence(&mut self, limit_s: u64) -> Result<()>;

    /// Tells the launcher that this process's end is no failure any more. Nothing is asked of the server afterwards.
    fn finalize(&mut self);

    /// The function that asks for the end of the job.
    fn abort_fn(&self) -> AbortFn;
}

/// The function by which a process that has found a server ends its job.
pub fn abort_fn() -> Option<AbortFn> {
    ABORT.get().cloned()
}

/// Connects to the server that the environment names; None if it names none. A process of a job of one whose server
/// cannot be reached has none either: another program of the same script may have used the connection.
pub fn connect(environment: impl Fn(&str) -> Option<String>) -> Result<Option<Box<dyn LauncherServer>>> {
    let is_pmix = PmixConnection::is_named(&environment);
    let place = match pmi::PmiPlace::from_environment(&environment) {
        Ok(place) => place.filter(|place| !is_pmix || place.is_open()),
        Err(_) if is_pmix => None,
        Err(error) => return Err(error),
    };
    let pmi: Option<Box<dyn LauncherServer>> = match place {
        Some(place) if place.size == 1 => PmiConnection::open(place).ok().map(|pmi| Box::new(pmi) as _),
        Some(place) => Some(Box::new(PmiConnection::open(place)?)),
        None => None,
    };
    let server = match pmi {
        None if is_pmix => Some(Box::new(PmixConnection::open(&environment)?) as _),
        pmi => pmi,
    };
    if let Some(server) = &server {
        let _ = ABORT.set(server.abort_fn());
    }
    Ok(server)
}
