//! The counters of the protocol and the ports, in the rank's page (`job::counters`), behind those of `p2p`.
//!
//! Protocol and ports count privately, and their totals are copied into the page now and then, so that no frame pays
//! for it. Used by `device`; reads `direct` and `ports`.

use crate::direct::DirectConnections;
use crate::port::PortDrops;
use crate::ports::{COUNTED_RAILS, PortSet};
use hawser_job::counters::{CounterInfo, CounterUnit, Counters};
use hawser_link::Endpoint;
use hawser_link::frame::DropReason;

/// Maximum age of the page while the rank is active: reading the ports' counts takes system calls.
const PAGE_AGE_MAX_NS: u64 = 10_000_000;

/// Counters of the protocol and of dropped frames, in the order of the slots. Behind them come the reasons for
/// dropping a frame, then the bytes of each rail, the bytes sent by additional flows, and those received in place.
const FIXED_COUNTERS: [(&str, &str); 11] = [
    ("frames sent", "frames with payload, retransmitted ones included"),
    ("frames retransmitted", "lost, or so late that they counted as lost"),
    ("runs of frames sent", "frames that were handed to the kernel together count as one"),
    ("acknowledgements sent alone", "those that no data frame carried"),
    ("probes sent", "for the lost end of a message, or to a peer that computes (P17)"),
    ("timeouts", "nothing was acknowledged in time: all frames in flight were retransmitted (P16)"),
    ("frames dropped by the kernel", "because a socket's buffer or ring was full, or a UDP checksum was wrong"),
    (
        "connections refused",
        "TCP callers without a valid greeting: it was wrong, repeated, or did not come within 10 s",
    ),
    (
        CORRUPTED_CONNECTIONS,
        "TCP connections of peers that were ended, because a length, a header or a direct packet in them was changed on \
         the network",
    ),
    ("connections deferred", "TCP callers had to wait, because this process had no free descriptor (ulimit -n)"),
    ("malformed messages", "from a rank of this job that breaks the protocol"),
];

const CORRUPTED_CONNECTIONS: &str = "corrupted connections";

/// The name of the counter of bytes that the kernel placed.
pub const IN_PLACE: &str = "bytes received in place";

/// Returns the slots, among `entries`, of the counters that rise if a network changes frames, or if somebody forges
/// frames.
pub fn corruption_slots() -> impl Iterator<Item = usize> {
    let connections = FIXED_COUNTERS.iter().position(|&(name, _)| name == CORRUPTED_CONNECTIONS);
    let reasons = [DropReason::Tag, DropReason::Crc].map(|reason| FIXED_COUNTERS.len() + reason as usize);
    connections.into_iter().chain(reasons)
}

/// Returns all entries, in the order of their slots, for programs that show them.
pub fn entries() -> impl Iterator<Item = CounterInfo> {
    let events =
        |name: &str, about: &str| CounterInfo { name: name.into(), unit: CounterUnit::Events, about: about.into() };
    let fixed = FIXED_COUNTERS.iter().map(move |(name, about)| events(name, about));
    let dropped = DropReason::ALL.iter().map(move |reason| {
        events(&format!("frames dropped {}", reason.text()), "dropped on arrival, for this reason (P3)")
    });
    let bytes = ["sent", "received"].into_iter().flat_map(|direction| {
        (0..COUNTED_RAILS).map(move |rail| CounterInfo {
            name: format!("bytes {direction} on rail {rail}"),
            unit: CounterUnit::Bytes,
            // TCP traffic to a rail's address may arrive by another NIC, if the host answers ARP requests for any of
            // its addresses on every NIC.
            about:
                "in frames and direct connections, headers and retransmitted frames included; rails have the order of \
                    hawser-info; a received frame counts for the rail to whose address it was sent"
                    .into(),
        })
    });
    let by_flows = CounterInfo {
        name: "bytes sent by additional flows".into(),
        unit: CounterUnit::Bytes,
        about: "the part of the bytes sent on rails that left from a second or later UDP source port, where these \
                carried clearly more (P39)"
            .into(),
    };
    let in_place = CounterInfo {
        name: IN_PLACE.into(),
        unit: CounterUnit::Bytes,
        about: "that the kernel copied from a direct connection straight into the receive buffer: the library copied \
                none of them here"
            .into(),
    };
    fixed.chain(dropped).chain(bytes).chain([by_flows, in_place])
}

/// This device's counters in the rank's page.
pub struct CounterPage {
    counters: Counters,
    /// The device's first slot in the page.
    first_slot: usize,
    written_ns: u64,
}

impl CounterPage {
    pub fn new(counters: Counters, at: usize) -> CounterPage {
        CounterPage { counters, first_slot: at, written_ns: 0 }
    }

    /// Returns whether the page must be written again.
    pub fn is_old(&self, now_ns: u64) -> bool {
        now_ns >= self.written_ns + PAGE_AGE_MAX_NS
    }

    /// Writes the totals into the page. `malformed_messages`: messages that were no packets.
    pub fn write(
        &mut self,
        now_ns: u64,
        endpoint: &Endpoint,
        port_set: &mut PortSet,
        direct: &DirectConnections,
        malformed_messages: u64,
    ) {
        self.written_ns = now_ns;
        let refused = PortDrops { connections: direct.refused, corrupted: direct.corrupted, ..PortDrops::default() };
        let drops = port_set.drops().and(refused);
        let counts = endpoint.counters();
        let fixed: [u64; FIXED_COUNTERS.len()] = [
            counts.frames,
            counts.lost,
            counts.runs,
            counts.acks,
            counts.probes,
            counts.timeouts,
            drops.frames,
            drops.connections,
            drops.corrupted,
            drops.deferred,
            malformed_messages,
        ];
        let bytes = port_set.bytes_sent.iter().chain(&port_set.bytes_received);
        let all =
            fixed.iter().chain(endpoint.drop_counts()).chain(bytes).chain([&port_set.bytes_by_flows, &direct.in_place]);
        all.enumerate().for_each(|(nth, &count)| self.counters.raise(self.first_slot + nth, count));
    }
}
