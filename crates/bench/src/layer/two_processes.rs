//! A layer whose remote end is a process of its own, on the other host.
//!
//! The local process starts the remote one, and they exchange lines over the remote one's standard input and output:
//! first the addresses of both ends, then the tasks and their results. Used by `tcp`, `port`, `link` and `transport`,
//! which make the ends; uses `remote_process` and `pattern_driver`.

use super::layer_entry::{Layer, LayerEntry};
use crate::pattern_driver::{PatternDriver, PatternEndpoint, Role};
use crate::remote_process::RemoteProcess;
use crate::task::{Measurement, WorkerReply, WorkerTask};
use crate::worker::print_line;
use std::env;
use std::io::{self, BufRead};
use std::process::Command;

/// The variable for the words in front of the remote process's command (a list with spaces between).
pub const REMOTE_PREFIX_VAR: &str = "HAWSER_BENCH_FAR";
/// The variable for the address by which the local end reaches the remote end.
pub const REMOTE_ADDRESS_VAR: &str = "HAWSER_BENCH_FAR_ADDRESS";

/// Whether the remote end is on another host.
pub fn has_remote() -> bool {
    env::var(REMOTE_PREFIX_VAR).is_ok_and(|prefix| !prefix.is_empty())
}

/// Starts the remote process of this layer.
pub fn start(entry: &LayerEntry) -> io::Result<RemoteProcess> {
    let prefix = env::var(REMOTE_PREFIX_VAR).unwrap_or_default();
    let own = env::current_exe()?.to_string_lossy().into_owned();
    let mut all = prefix.split_whitespace().map(String::from).chain([own]);
    let mut command = Command::new(all.next().unwrap_or_default());
    command.args(all).args(["worker", entry.name, "--far"]);
    RemoteProcess::start(command, &prefix)
}

/// The local end, with the remote process; see the module.
pub struct TwoProcesses<E> {
    local: PatternDriver<E>,
    remote: RemoteProcess,
}

impl<E: PatternEndpoint> TwoProcesses<E> {
    pub fn new(local: E, remote: RemoteProcess) -> TwoProcesses<E> {
        TwoProcesses { local: PatternDriver::new(local), remote }
    }
}

impl<E: PatternEndpoint> Layer for TwoProcesses<E> {
    fn run_task(&mut self, task: &WorkerTask) -> io::Result<Measurement> {
        self.remote.send_line(task)?;
        if self.remote.receive_line()? != "go" {
            return Err(io::Error::other("the remote end does not start the task"));
        }
        let local = self.local.run(Role::Local, task);
        match self.remote.receive_line()?.parse().map_err(io::Error::other)? {
            WorkerReply::Measured(remote) => local.map(|local| local.with_cpu_of(&remote)),
            other => Err(io::Error::other(format!("the remote end: {other}"))),
        }
    }
}

/// The main loop of the remote process, once its end is ready.
pub fn serve_tasks(end: impl PatternEndpoint) -> io::Result<()> {
    let mut driver = PatternDriver::new(end);
    for line in io::stdin().lock().lines() {
        let task: WorkerTask = line?.parse().map_err(io::Error::other)?;
        print_line(&"go")?;
        print_line(
            &driver
                .run(Role::Remote, &task)
                .map_or_else(|error| WorkerReply::Failed(error.to_string()), WorkerReply::Measured),
        )?;
    }
    Ok(())
}
