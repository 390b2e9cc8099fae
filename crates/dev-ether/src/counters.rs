//! The counters of the protocol and the ports, in the rank's page (`job::counters`), behind those of `mpi`.
//!
//! Protocol and ports count privately, and their totals are copied into the page now and then, so that no frame pays
//! for it. Used by `device`; reads `direct` and `ends`.

use crate::direct::Direct;
use crate::ends::{Ends, RAILS};
use crate::port::Missed;
use hawser_job::counters::{Counters, Entry, Unit};
use hawser_link::Endpoint;
use hawser_link::frame::Dropped;

/// Maximum age of the page while the rank is active: reading the ports' counts takes system calls.
const LATE_NS: u64 = 10_000_000;

/// Counters of the protocol and of missed frames, in the order of the slots. Behind them come the reasons for dropping
/// a frame, then the bytes of each rail, and the bytes sent by further flows.
const FRONT: [(&str, &str); 11] = [
    ("frames sent", "frames with payload, those that went again included"),
    ("frames lost and sent again", "lost, or so late that they counted as lost"),
    ("runs of frames sent", "frames that were handed to the kernel at once"),
    ("acknowledgements sent alone", "those that no data went with"),
    ("questions after a silence", "for what was lost at the end of a message, or from a peer that computes (P17)"),
    ("timeouts", "nothing was acknowledged for long: all that was under way went again (P16)"),
    ("frames dropped by the kernel", "for want of room in a socket's buffer or ring, or for a wrong checksum of UDP"),
    (
        "connections refused",
        "TCP callers that said what no rank of the job says, said again what one had said, or said nothing for 10 s",
    ),
    (
        CHANGED_CONNECTIONS,
        "TCP connections of peers that were ended, since a length or a front in them was changed on the way",
    ),
    ("connections put off", "TCP callers had to wait, since this process had no descriptors left (ulimit -n)"),
    ("messages that are no packets", "from a rank of this job that keeps to other rules"),
];

const CHANGED_CONNECTIONS: &str = "connections with changed bytes";

/// Returns the slots, among `entries`, of the counters that rise where a network changes frames, or somebody forges
/// them.
pub fn changed() -> impl Iterator<Item = usize> {
    let connections = FRONT.iter().position(|&(name, _)| name == CHANGED_CONNECTIONS);
    let reasons = [Dropped::Tag, Dropped::Crc].map(|reason| FRONT.len() + reason as usize);
    connections.into_iter().chain(reasons)
}

/// Returns all entries, in the order of their slots, for programs that show them.
pub fn entries() -> impl Iterator<Item = Entry> {
    let events = |name: &str, about: &str| Entry { name: name.into(), unit: Unit::Events, about: about.into() };
    let front = FRONT.iter().map(move |(name, about)| events(name, about));
    let dropped = Dropped::ALL.iter().map(move |reason| {
        events(
            &format!("frames dropped {}", reason.text()),
            "frames that were refused on arrival, for this reason (P3)",
        )
    });
    let bytes = ["sent", "received"].into_iter().flat_map(|way| {
        (0..RAILS).map(move |rail| Entry {
            name: format!("bytes {way} on rail {rail}"),
            unit: Unit::Bytes,
            // TCP traffic to a rail's address may arrive by another NIC, where a host answers for all its addresses on
            // each (ARP).
            about: "in frames and direct connections, headers and what went again included; rails in the order of hawser-info, of what is \
                    received the one whose address it was sent to"
                .into(),
        })
    });
    let by_flows = Entry {
        name: "bytes sent by further flows".into(),
        unit: Unit::Bytes,
        about: "of the bytes sent on rails those that left from a second or later source port of UDP, where that carried clearly more (P39)"
            .into(),
    };
    front.chain(dropped).chain(bytes).chain([by_flows])
}

/// The place of the counters in the rank's page.
pub struct Page {
    counters: Counters,
    /// The first slot.
    at: usize,
    written_ns: u64,
}

impl Page {
    pub fn new(counters: Counters, at: usize) -> Page {
        Page { counters, at, written_ns: 0 }
    }

    /// Returns whether the page must be written again.
    pub fn is_old(&self, now_ns: u64) -> bool {
        now_ns >= self.written_ns + LATE_NS
    }

    /// Writes the totals into the page. `unread`: messages that were no packets.
    pub fn write(&mut self, now_ns: u64, endpoint: &Endpoint, ends: &mut Ends, direct: &Direct, unread: u64) {
        self.written_ns = now_ns;
        let direct = Missed { connections: direct.refused, changed: direct.changed, ..Missed::default() };
        let missed = ends.missed().and(direct);
        let counts = endpoint.counts();
        let front: [u64; FRONT.len()] = [
            counts.frames,
            counts.lost,
            counts.runs,
            counts.acks,
            counts.asked,
            counts.timeouts,
            missed.frames,
            missed.connections,
            missed.changed,
            missed.put_off,
            unread,
        ];
        let bytes = ends.bytes_sent.iter().chain(&ends.bytes_received);
        let all = front.iter().chain(endpoint.drops()).chain(bytes).chain([&ends.bytes_by_flows]);
        all.enumerate().for_each(|(nth, &count)| self.counters.raise(self.at + nth, count));
    }
}
