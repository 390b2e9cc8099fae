//! A user of the transport, as a device knows it: its name, and its lanes in this process.
//!
//! MPI is the first user: it has the first lanes and is not announced to devices. Every other user is announced
//! (`Device::admit`) before a port of one of its lanes is requested. Used by `transport`; passed to devices.

use hawser_base::Lane;
use std::ops::Range;

/// A user of the transport. See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransportUser {
    /// The name, which is the same in all processes of the job. The user's lanes may have other numbers in other
    /// processes.
    pub name: String,
    /// The first of the user's lanes in this process, and the number of its lanes.
    pub first_lane: Lane,
    pub lane_count: usize,
}

impl TransportUser {
    /// The numbers of its lanes.
    pub fn lanes(&self) -> Range<usize> {
        self.first_lane.index()..self.first_lane.index() + self.lane_count
    }

    /// Returns the device's number of the user's lane `lane`, which is counted from 0.
    pub fn lane(&self, lane: Lane) -> Lane {
        assert!(lane.index() < self.lane_count, "user {} has {} lanes, and no {lane:?}", self.name, self.lane_count);
        Lane(self.first_lane.0 + lane.0)
    }
}
