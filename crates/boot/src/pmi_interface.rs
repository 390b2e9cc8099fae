//! The interface of process managers that are not ours: what a rank asks of the launcher's server, be it one of PMI 1,
//! PMI 2 or PMIx (`LauncherServer`).
//!
//! Nothing here sends a request, and the file uses none of those that do, so that they make no cycle. Implemented by
//! `pmi::pmi1`, `pmi::pmi2` and `pmix`; used by `launcher_server`, which passes it on to `host::process_manager`.

use hawser_base::Result;
use std::sync::Arc;

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
