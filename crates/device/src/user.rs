//! A user of the transport, as a device knows it: its name, and which lanes of this process are its own.
//!
//! MPI is one, which has the first lanes and is told to no device; others are told before a port of theirs is asked for
//! (`Device::admit`). Before it: `transport`; after it: devices.

use hawser_base::Lane;
use std::ops::Range;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// Alike in all processes of the job, where the user's lanes may be others.
    pub name: String,
    /// The first of its lanes here, and how many they are.
    pub first: Lane,
    pub count: usize,
}

impl User {
    /// Its lanes' numbers.
    pub fn lanes(&self) -> Range<usize> {
        self.first.index()..self.first.index() + self.count
    }

    /// Its lane `lane`, counted from 0, as devices know it.
    pub fn lane(&self, lane: Lane) -> Lane {
        assert!(lane.index() < self.count, "user {} has {} lanes, and no {lane:?}", self.name, self.count);
        Lane(self.first.0 + lane.0)
    }
}
