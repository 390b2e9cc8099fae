//! The interface of every raw layer: a player of tasks, and a row that tells how it is opened.
//!
//! Used by `worker`, which opens one, and by the layers; the table of all rows is in `layer`.

use crate::record::Floor;
use crate::task::{Pattern, Played, Task};
use std::io;

/// A layer that is open.
pub trait Layer {
    fn play(&mut self, task: &Task) -> io::Result<Played>;
}

/// The places where a layer can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Cores,
    Hosts,
    /// Wherever a library can run.
    Ranks,
    /// On the cable, whose interface frame ports use.
    Cable,
    /// On the cable, whose interface it changes for all while it is open: a program in front of the kernel's stack.
    /// Only by name.
    CableAlone,
}

/// The row of a layer.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub floor: Floor,
    pub between: Between,
    /// The longest message, in bytes.
    pub(super) limit: Option<u64>,
    /// Its messages have bytes that can be compared.
    pub(super) carries: bool,
    pub(super) patterns: &'static [Pattern],
    pub(super) open: fn(&Row) -> io::Result<Box<dyn Layer>>,
    /// The main function of the far process, of a layer that has one.
    pub(super) far: fn(&Row) -> io::Result<()>,
}

impl Row {
    pub fn open(&self) -> io::Result<Box<dyn Layer>> {
        (self.open)(self)
    }

    pub fn be_far(&self) -> io::Result<()> {
        (self.far)(self)
    }

    /// The value of `far` for a layer that has no far process.
    pub(super) fn no_far(&self) -> io::Result<()> {
        Err(io::Error::other(format!("{} is within one process", self.name)))
    }
}
