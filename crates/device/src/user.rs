//! A user of the transport, as a device knows it: its name, and its lanes in this process.
//!
//! MPI is one, which has the first lanes and is reported to no device; others are reported before a port of theirs is
//! requested (`Device::admit`). Used by `transport`; passed to devices.

use hawser_base::Lane;
use std::ops::Range;

/// A user of the transport. See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransportUser {
    /// The same in all processes of the job, where the user may have other lanes.
    pub name: String,
    /// The first of its lanes here, and their number.
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
