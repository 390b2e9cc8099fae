//! A layer both ends of which are in one process, the far one in a thread of its own.
//!
//! Used by `line`, `ring` and `transport`, whose ends these are; uses `duet`.

use super::row::Layer;
use crate::duet::{End, Player, Role};
use crate::sample;
use crate::task::{Played, Task};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The two ends; see the module.
pub struct Together<E> {
    near: Player<E>,
    tasks: Sender<Task>,
    ends: Receiver<io::Result<Played>>,
}

impl<E: End + Send + 'static> Together<E> {
    pub fn new(near: E, far: E) -> Together<E> {
        let (near, mut far) = (Player::new(near), Player::new(far));
        let (tasks, for_far) = channel::<Task>();
        let (from_far, ends) = channel();
        std::thread::spawn(move || {
            sample::pin(&sample::cores(), 1);
            let mut play = |task: Task| from_far.send(far.play(Role::Far, &task)).is_ok();
            for_far.into_iter().all(&mut play)
        });
        Together { near, tasks, ends }
    }
}

impl<E: End> Layer for Together<E> {
    fn play(&mut self, task: &Task) -> io::Result<Played> {
        let gone = || io::Error::other("the far end's thread has ended");
        self.tasks.send(*task).map_err(|_| gone())?;
        let near = self.near.play(Role::Near, task);
        let far = self.ends.recv().map_err(|_| gone())??;
        near.map(|near| near.with(&far))
    }
}
