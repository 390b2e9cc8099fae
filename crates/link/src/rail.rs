//! The properties of a local port (`Rail`), and the pair of NICs that a path connects.
//!
//! `dev-ether` sets them for each port. Used by `strand`, and by `bulk`, `survey` and `stripe`, which choose by them.

/// The latency class of a path; short messages take the first class in which a path answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Grade {
    /// For single frames: the lowest latency.
    Quick,
    /// For single frames, with a little more latency.
    QuickEnough,
    /// For bulk: many frames by few system calls; single frames take longer.
    #[default]
    Bulk,
    /// For bulk alone: single frames take longest.
    BulkAlone,
}

/// A local port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rail {
    pub grade: Grade,
    /// Our number of the NIC that the port uses: of the paths between two NICs the best carries all bulk.
    pub nic: u8,
    /// Whether the CRC covers whole payloads; where the medium checks them it covers only their front (P6).
    pub checked: bool,
    /// Frames are never lost while the connection stands (TCP): only a long silence counts as a loss (P16).
    pub lossless: bool,
    /// Paths of this port are opened on demand: for bulk, when there is much bulk to measure them with or to carry, or
    /// no other path answers; for single frames, when a path over the same NIC is answered, but none of a better class
    /// ever was.
    pub reserved: bool,
    /// Maximum flows (UDP source ports) per peer port; all of one peer port are opened when per-flow rate limiting is
    /// suspected (P39).
    pub flows: u8,
}

impl Default for Rail {
    fn default() -> Rail {
        Rail { grade: Grade::default(), nic: 0, checked: true, lossless: false, reserved: false, flows: 1 }
    }
}

/// A pair of NICs with paths between them: one of ours and one of the peer's, each by its owner's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    pub ours: u8,
    pub theirs: u8,
}
