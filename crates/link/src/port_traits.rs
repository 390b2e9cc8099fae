//! The properties of a local port (`PortTraits`), and the pair of NICs that a path connects.
//!
//! `dev-ether` sets them for each port. Used by `path`, and by `bulk_path`, `shared_stats` and `path_scheduler`,
//! which choose by them.

/// The latency class of a port; short messages take the first class in which a path responds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum LatencyClass {
    /// For single frames: the lowest latency.
    Lowest,
    /// For single frames, with a little more latency.
    Low,
    /// For bulk: many frames by few system calls; single frames take longer.
    #[default]
    Bulk,
    /// For bulk alone: single frames take longest.
    BulkOnly,
}

/// A local port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortTraits {
    pub latency_class: LatencyClass,
    /// Our number of the NIC that the port uses: of the paths between two NICs the best carries all bulk.
    pub nic: u8,
    /// Whether the CRC covers whole payloads; where the medium checks them it covers only their front (P6).
    pub has_full_crc: bool,
    /// Frames are never lost while the connection stands (TCP): only a long silence counts as a loss (P16).
    pub is_lossless: bool,
    /// Paths of this port are opened on demand: for bulk, when there is much bulk to measure them with or to carry,
    /// or no other path responds; for single frames, when a path over the same NIC is established, but none of a
    /// better class ever was.
    pub is_on_demand: bool,
    /// Maximum flows (UDP source ports) per peer port; all of one peer port are opened when per-flow rate limiting is
    /// suspected (P39).
    pub flows_max: u8,
}

impl Default for PortTraits {
    fn default() -> PortTraits {
        PortTraits {
            latency_class: LatencyClass::default(),
            nic: 0,
            has_full_crc: true,
            is_lossless: false,
            is_on_demand: false,
            flows_max: 1,
        }
    }
}

/// A pair of NICs with paths between them: one of ours and one of the peer's, each by its owner's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicPair {
    pub local: u8,
    pub remote: u8,
}
