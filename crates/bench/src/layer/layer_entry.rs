//! The interface of every raw layer (`Layer`), which runs tasks, and the entry of a layer in the table
//! (`LayerEntry`), which has the functions that open the layer.
//!
//! Used by `worker`, which opens one, and by the layers; the table of all entries is in `layer`.

use crate::record::CurveLevel;
use crate::task::{Measurement, TrafficPattern, WorkerTask};
use std::io;

/// A layer that is open.
pub trait Layer {
    fn run_task(&mut self, task: &WorkerTask) -> io::Result<Measurement>;
}

/// The places where a layer can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerPlacement {
    Cores,
    Hosts,
    /// Wherever a library can run.
    Ranks,
    /// On the cable (veth), whose interface the frame ports use.
    Cable,
    /// On the cable, and only if the user names the layer: while it is open, a program in front of the kernel's
    /// network stack changes the interface for all.
    CableAlone,
}

/// The entry of a layer in the table.
pub struct LayerEntry {
    pub name: &'static str,
    pub about: &'static str,
    pub level: CurveLevel,
    pub placement: LayerPlacement,
    /// The longest message, in bytes.
    pub(super) bytes_max: Option<u64>,
    /// Whether the layer's messages have bytes that can be compared.
    pub(super) has_payload: bool,
    pub(super) patterns: &'static [TrafficPattern],
    pub(super) open: fn(&LayerEntry) -> io::Result<Box<dyn Layer>>,
    /// The main function of the layer's remote process, if it has one.
    pub(super) remote_main: fn(&LayerEntry) -> io::Result<()>,
}

impl LayerEntry {
    pub fn open(&self) -> io::Result<Box<dyn Layer>> {
        (self.open)(self)
    }

    pub fn run_remote(&self) -> io::Result<()> {
        (self.remote_main)(self)
    }

    /// The value of `remote_main` for a layer that has no remote process.
    pub(super) fn no_remote(&self) -> io::Result<()> {
        Err(io::Error::other(format!("{} is within one process", self.name)))
    }
}
