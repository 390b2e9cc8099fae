//! A layer both ends of which are in one process, the far one in a thread of its own.
//!
//! Before it: `line`, `ring` and `transport`, whose ends these are; after it: `duet`.

use super::Layer;
use crate::duet::{self, End, Role};
use crate::sample;
use crate::task::{Played, Task};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// See the module.
pub struct Together<E> {
    near: E,
    tasks: Sender<Task>,
    ends: Receiver<io::Result<f64>>,
}

impl<E: End + Send + 'static> Together<E> {
    pub fn new(near: E, mut far: E) -> Together<E> {
        let (tasks, for_far) = channel::<Task>();
        let (from_far, ends) = channel();
        std::thread::spawn(move || {
            sample::pin(&sample::cores(), 1);
            let mut play = |task: Task| from_far.send(duet::play(&mut far, Role::Far, &task)).is_ok();
            for_far.into_iter().all(&mut play)
        });
        Together { near, tasks, ends }
    }
}

impl<E: End> Layer for Together<E> {
    fn play(&mut self, task: &Task) -> io::Result<Played> {
        let gone = || io::Error::other("the far end's thread has ended");
        let before = hawser_os::usage::cpu_s();
        self.tasks.send(*task).map_err(|_| gone())?;
        let near = duet::play(&mut self.near, Role::Near, task);
        self.ends.recv().map_err(|_| gone())??;
        Ok(Played { seconds: near?, cpu_s: hawser_os::usage::cpu_s() - before, hidden: 0.0 })
    }
}
