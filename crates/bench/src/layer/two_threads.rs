//! A layer whose two ends are in one process; the remote end has a thread of its own.
//!
//! Used by `cache_line`, `ring` and `transport`, which make the ends; uses `pattern_driver`.

use super::layer_entry::Layer;
use crate::pattern_driver::{PatternDriver, PatternEndpoint, Role};
use crate::sample;
use crate::task::{Measurement, WorkerTask};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The two ends; see the module.
pub struct TwoThreads<E> {
    local: PatternDriver<E>,
    tasks: Sender<WorkerTask>,
    results: Receiver<io::Result<Measurement>>,
}

impl<E: PatternEndpoint + Send + 'static> TwoThreads<E> {
    pub fn new(local: E, remote: E) -> TwoThreads<E> {
        let (local, mut remote) = (PatternDriver::new(local), PatternDriver::new(remote));
        let (tasks, remote_tasks) = channel::<WorkerTask>();
        let (result_sender, results) = channel();
        std::thread::spawn(move || {
            sample::pin(&sample::cores(), 1);
            let mut play = |task: WorkerTask| result_sender.send(remote.run(Role::Remote, &task)).is_ok();
            remote_tasks.into_iter().all(&mut play)
        });
        TwoThreads { local, tasks, results }
    }
}

impl<E: PatternEndpoint> Layer for TwoThreads<E> {
    fn run_task(&mut self, task: &WorkerTask) -> io::Result<Measurement> {
        let gone = || io::Error::other("the thread of the remote end has ended");
        self.tasks.send(*task).map_err(|_| gone())?;
        let local = self.local.run(Role::Local, task);
        let remote = self.results.recv().map_err(|_| gone())??;
        local.map(|local| local.with_cpu_of(&remote))
    }
}
