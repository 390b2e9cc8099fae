//! The form of every raw layer: something that plays tasks, and a row that says how it is opened.
//!
//! Before it: `worker`, which opens one, and the layers; the table of all rows is `layer`'s.

use crate::record::Floor;
use crate::task::{Pattern, Played, Task};
use std::io;

/// A layer that stands.
pub trait Layer {
    fn play(&mut self, task: &Task) -> io::Result<Played>;
}

/// Where a layer can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Cores,
    Hosts,
    /// Wherever a library can be.
    Ranks,
    /// Frame ports take the cable's interface.
    Cable,
    /// And change it for everybody while they stand: a program in front of the kernel's stack. Only by name.
    CableAlone,
}

/// A layer's row.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub floor: Floor,
    pub between: Between,
    /// Longest message, in bytes.
    pub(super) limit: Option<u64>,
    /// Its messages have bytes that can be compared.
    pub(super) carries: bool,
    pub(super) patterns: &'static [Pattern],
    pub(super) open: fn(&Row) -> io::Result<Box<dyn Layer>>,
    /// The far process's part, of a layer that has one.
    pub(super) far: fn(&Row) -> io::Result<()>,
}

impl Row {
    pub fn open(&self) -> io::Result<Box<dyn Layer>> {
        (self.open)(self)
    }

    pub fn be_far(&self) -> io::Result<()> {
        (self.far)(self)
    }

    /// For `far`, of a layer that has no far process.
    pub(super) fn no_far(&self) -> io::Result<()> {
        Err(io::Error::other(format!("{} is within one process", self.name)))
    }
}
