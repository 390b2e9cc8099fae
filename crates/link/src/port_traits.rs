//! The properties of a local port (`PortTraits`), and the pair of NICs that a path connects.
//!
//! `dev-ether` sets them for each port. Used by `bulk_path`, `path_choice` and `path_scheduler`, which choose by
//! them, and by `path` and `shared_stats`.

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

/// The properties of a local port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortTraits {
    pub latency_class: LatencyClass,
    /// Our number for the NIC that the port uses. Of all paths between two NICs the best one carries all bulk.
    pub nic: u8,
    /// Whether the CRC covers whole payloads. If the medium checks payloads, it needs to cover only their front (P6
    /// of docs/protocol.md).
    pub has_full_crc: bool,
    /// Whether frames are never lost while the connection lasts (TCP): then only a long silence counts as a loss
    /// (P16).
    pub is_lossless: bool,
    /// Whether paths of this port are opened only on demand. A port for bulk is needed if there is much bulk to measure
    /// its paths with or to carry, or many messages that might bypass link, or if no other path responds; if there are
    /// few peers, as soon as another path between its NICs responds (`Endpoint::set_opens_bulk_early`). A port for
    /// single frames is needed if a path over the same NIC is established, but none of a better latency class ever was.
    pub is_on_demand: bool,
    /// The maximum number of flows (UDP source ports) to each port of a peer. The flows to a port are all opened when
    /// per-flow rate limiting is suspected (P39).
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
