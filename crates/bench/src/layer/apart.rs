//! A layer whose far end is a process of its own, on the other host.
//!
//! The near process starts it, and they agree by lines over its standard input and output: the far one's address, the near one's,
//! then the tasks. Before it: `tcp` and `port`, whose ends these are; after it: `duet`.

use super::{Layer, Row};
use crate::duet::{self, End, Role};
use crate::task::{Answer, Played, Task};
use crate::worker::say;
use std::env;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Words in front of the far process's command (a list with spaces between).
pub const FAR: &str = "HAWSER_BENCH_FAR";
/// By which the near end reaches the far one.
pub const FAR_ADDRESS: &str = "HAWSER_BENCH_FAR_ADDRESS";

/// The far process. It ends with its standard input.
pub struct Far {
    process: Child,
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    /// By what it was started, for people.
    by: String,
}

impl Far {
    pub fn start(row: &Row) -> io::Result<Far> {
        let words = env::var(FAR).unwrap_or_default();
        let own = env::current_exe()?.to_string_lossy().into_owned();
        let mut all = words.split_whitespace().map(String::from).chain([own]);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).args(["worker", row.name, "--far"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let answers = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).lines();
        let by = if words.is_empty() { String::new() } else { format!(", started by `{words}`,") };
        Ok(Far { orders: process.stdin.take(), process, answers, by })
    }

    pub fn tell(&mut self, line: &dyn std::fmt::Display) -> io::Result<()> {
        writeln!(self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "{line}")
    }

    pub fn hear(&mut self) -> io::Result<String> {
        let ended = || Err(io::Error::other(format!("the far end{} has ended", self.by)));
        self.answers.next().unwrap_or_else(ended)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.process.wait();
    }
}

/// See the module.
pub struct Apart<E> {
    pub near: E,
    pub far: Far,
}

impl<E: End> Layer for Apart<E> {
    fn play(&mut self, task: &Task) -> io::Result<Played> {
        self.far.tell(task)?;
        if self.far.hear()? != "go" {
            return Err(io::Error::other("the far end does not begin"));
        }
        let before = hawser_os::usage::cpu_s();
        let near = duet::play(&mut self.near, Role::Near, task);
        let cpu_s = hawser_os::usage::cpu_s() - before;
        match self.far.hear()?.parse().map_err(io::Error::other)? {
            Answer::Played(far) => Ok(Played { seconds: near?, cpu_s: cpu_s + far.cpu_s, hidden: 0.0 }),
            other => Err(io::Error::other(format!("the far end: {other}"))),
        }
    }
}

/// The far process's life, once its end stands.
pub fn follow(end: &mut dyn End) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let task: Task = line?.parse().map_err(io::Error::other)?;
        say(&"go")?;
        let before = hawser_os::usage::cpu_s();
        let played = duet::play(end, Role::Far, &task);
        let cpu_s = hawser_os::usage::cpu_s() - before;
        say(&match played {
            Ok(seconds) => Answer::Played(Played { seconds, cpu_s, hidden: 0.0 }),
            Err(error) => Answer::Failed(error.to_string()),
        })?;
    }
    Ok(())
}
