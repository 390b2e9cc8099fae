//! A layer whose far end is a process of its own, on the other host.
//!
//! The near process starts the far one, and they exchange lines over the far one's standard input and output: the far
//! one's address, the near one's, then the tasks. Used by `tcp`, `port`, `link` and `transport`, whose ends these are;
//! uses `far` and `duet`.

use super::row::{Layer, Row};
use crate::duet::{End, Player, Role};
use crate::far::Far;
use crate::task::{Answer, Played, Task};
use crate::worker::say;
use std::env;
use std::io::{self, BufRead};
use std::process::Command;

/// The variable for the words in front of the far process's command (a list with spaces between).
pub const FAR: &str = "HAWSER_BENCH_FAR";
/// The variable for the address by which the near end reaches the far one.
pub const FAR_ADDRESS: &str = "HAWSER_BENCH_FAR_ADDRESS";

/// Whether there is another host.
pub fn has_far() -> bool {
    env::var(FAR).is_ok_and(|words| !words.is_empty())
}

/// Starts the far process of this layer.
pub fn start(row: &Row) -> io::Result<Far> {
    let words = env::var(FAR).unwrap_or_default();
    let own = env::current_exe()?.to_string_lossy().into_owned();
    let mut all = words.split_whitespace().map(String::from).chain([own]);
    let mut command = Command::new(all.next().unwrap_or_default());
    command.args(all).args(["worker", row.name, "--far"]);
    Far::start(command, &words)
}

/// The near end, with the far process; see the module.
pub struct Apart<E> {
    near: Player<E>,
    far: Far,
}

impl<E: End> Apart<E> {
    pub fn new(near: E, far: Far) -> Apart<E> {
        Apart { near: Player::new(near), far }
    }
}

impl<E: End> Layer for Apart<E> {
    fn play(&mut self, task: &Task) -> io::Result<Played> {
        self.far.tell(task)?;
        if self.far.hear()? != "go" {
            return Err(io::Error::other("the far end does not begin"));
        }
        let near = self.near.play(Role::Near, task);
        match self.far.hear()?.parse().map_err(io::Error::other)? {
            Answer::Played(far) => near.map(|near| near.with(&far)),
            other => Err(io::Error::other(format!("the far end: {other}"))),
        }
    }
}

/// The main loop of the far process, once its end is ready.
pub fn follow(end: impl End) -> io::Result<()> {
    let mut player = Player::new(end);
    for line in io::stdin().lock().lines() {
        let task: Task = line?.parse().map_err(io::Error::other)?;
        say(&"go")?;
        say(&player.play(Role::Far, &task).map_or_else(|error| Answer::Failed(error.to_string()), Answer::Played))?;
    }
    Ok(())
}
