//! The device as the transport sees it: the peers that it reaches, its limits and its ports.
//!
//! Used by `node`, which makes a device from the job's segment. Uses `port`, `exposure` and `remote`.

use crate::exposure::{self, ARENA_FROM, EAGER, ExposedMemory, OneCopy};
use crate::layout::DeviceLayout;
use crate::pool::{self, CHUNK};
use crate::port::{SHORT, ShmPort};
use crate::remote::{self, ShmRegistrations};
use crate::ring_slot::CHUNKS;
use hawser_base::copy;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_TUNER_DETAIL};
use hawser_base::{Lane, Peer, Region, Result, UserMem};
use hawser_device::{
    Capabilities, Device, DeviceLimits, DevicePort, ExposedKey, Fragmentation, PREFIX_MAX, PayloadSource, Registration,
    TransportUser,
};
use hawser_job::{HostFacts, Segment};
use std::sync::Arc;

/// The divisor of a pool's size that gives the part of a pool that an eager message may fill: a quarter.
const EAGER_PART: usize = 4;

/// The longest piece, in bytes, that a pool can spare (`pool::piece_chunks`), and the shortest that is worth a ring
/// slot.
const PIECE_MAX: usize = CHUNKS * CHUNK;
const PIECE_MIN: usize = 2 << 10;

pub static PIECE: Param = Param {
    name: "HAWSER_PIECE",
    kind: ParamKind::Bytes { min: PIECE_MIN as u64, max: PIECE_MAX as u64 },
    default: "",
    help: "bytes of a long message that are copied at a time through shared memory, rounded down to a power of two \
           and limited by the size of a pool; empty: by the message's length, as measured best",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

pub static STRING_COPIES: Param = Param {
    name: "HAWSER_STRING_COPIES",
    kind: ParamKind::Choice(&["auto", "on", "off"]),
    default: "auto",
    help: "whether long pieces are copied into shared memory by the processor's string instruction (rep movsb): on, \
           off, or auto (where it measured faster at the start of the job)",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// Returns whether long pieces are copied into shared memory by the string instruction.
pub(crate) fn copies_by_string(facts: &HostFacts) -> bool {
    // `node` has refused an invalid value at the start.
    match STRING_COPIES.choice().unwrap_or("auto") {
        "on" => true,
        "off" => false,
        _ => facts.string_copies,
    }
}

/// The shared-memory device of one process.
pub struct ShmDevice {
    segment: Segment,
    me: usize,
    exposed_memory: Arc<ExposedMemory>,
    registrations: Arc<ShmRegistrations>,
    lengths: Lengths,
}

impl ShmDevice {
    pub const NAME: &'static str = "shm";

    /// Clears what an earlier process has left in local slot `me` of the host. A process that joins late calls it
    /// before it is announced.
    pub fn clean(segment: &Segment, me: usize) -> Result<()> {
        ShmRegistrations::clean(segment, me);
        let layout = DeviceLayout { ranks: segment.local_slots() };
        let parts = (0..segment.layout().lanes).flat_map(|lane| layout.parts_of(me, lane));
        parts.into_iter().try_for_each(|(at, len)| segment.clean_device_area(at, len))
    }

    /// Makes the device of the process in local slot `me` of the host of `segment`.
    pub fn new(segment: Segment, me: usize) -> ShmDevice {
        let layout = DeviceLayout { ranks: segment.local_slots() };
        assert!(me < layout.ranks && layout.bytes(segment.layout().lanes) <= segment.device_area().len());
        copy::prefer_library(copies_by_string(&segment.facts()));
        let exposure = Arc::new(ExposedMemory::new(segment.clone(), me));
        let remote = Arc::new(ShmRegistrations::new(&segment, me, exposure.clone()));
        ShmDevice { exposed_memory: exposure, registrations: remote, lengths: lengths(layout.ranks), segment, me }
    }

    fn local(&self, peer: Peer) -> Option<usize> {
        self.segment.local_slot_of(peer)
    }
}

/// Returns the length, in bytes, of the pieces of a stream of `total` bytes: the length that measured best, but at most
/// `MOST`, the longest piece that a pool can spare. Short streams gain if both ends copy at the same time, long ones
/// need few ring slots, and pieces of 8 KiB and more can be written past the caches to a far peer, or by the string
/// instruction.
fn piece<const MOST: usize>(total: usize) -> usize {
    let best = match total {
        0..=4200 => 2 << 10,
        4201..=12_288 => 4 << 10,
        12_289..=20_480 => 8 << 10,
        20_481..=150_000 => 16 << 10,
        _ => 32 << 10,
    };
    best.min(MOST)
}

/// The longest packet without prefix, in bytes, and the function from a message's length to the length of its pieces.
type Lengths = (usize, fn(usize) -> usize);

fn lengths(ranks: usize) -> Lengths {
    let longest = pool::piece_chunks(ranks) * CHUNK;
    // `node` has refused an invalid value at the start.
    match PIECE.number_or(0).unwrap_or(0) {
        0 => (longest, by_length(longest)),
        wished => (longest, always(longest.min(wished as usize))),
    }
}

fn by_length(longest: usize) -> fn(usize) -> usize {
    match longest / CHUNK {
        1 => piece::<CHUNK>,
        2 => piece::<{ 2 * CHUNK }>,
        4 => piece::<{ 4 * CHUNK }>,
        _ => piece::<PIECE_MAX>,
    }
}

fn always(bytes: usize) -> fn(usize) -> usize {
    match bytes.ilog2() {
        ..=11 => |_| PIECE_MIN,
        12 => |_| CHUNK,
        13 => |_| 2 * CHUNK,
        14 => |_| 4 * CHUNK,
        _ => |_| PIECE_MAX,
    }
}

/// Returns the limits of this device on a host with `ranks` ranks, of which `facts` are known. No limit is larger on a
/// host with more ranks.
pub fn limits(facts: &HostFacts, ranks: usize) -> DeviceLimits {
    among(ranks, lengths(ranks), exposure::one_copy(facts, ranks))
}

fn among(ranks: usize, (longest, piece): Lengths, one_copy: Option<OneCopy>) -> DeviceLimits {
    DeviceLimits {
        short: SHORT,
        packet: longest + PREFIX_MAX,
        fragmentation: Fragmentation::Pages(piece),
        eager: (pool::chunks(ranks) * CHUNK / EAGER_PART).clamp(CHUNK, EAGER),
        zero_copy_from: None,
        stream_from: None,
        join_max: 0,
        remote_read_from: Some(ARENA_FROM),
        private_read_from: one_copy.filter(|one_copy| !one_copy.is_tried).map(|one_copy| one_copy.from),
        copy_trial_from: one_copy.filter(|one_copy| one_copy.is_tried).map(|one_copy| one_copy.from),
    }
}

impl Device for ShmDevice {
    fn name(&self) -> &'static str {
        ShmDevice::NAME
    }

    fn reaches(&self, peer: Peer) -> bool {
        self.local(peer).is_some_and(|local| local != self.me)
    }

    fn limits(&self) -> DeviceLimits {
        among(self.segment.local_slots(), self.lengths, self.exposed_memory.one_copy())
    }

    fn admit(&self, user: &TransportUser) -> Result<()> {
        let (end, lanes) = (user.lanes().end, self.segment.layout().lanes);
        assert!(end <= lanes, "{user:?} ends at lane {end} of {lanes}");
        Ok(())
    }

    fn port(&self, lane: Lane) -> Box<dyn DevicePort> {
        assert!(lane.index() < self.segment.layout().lanes, "no {lane:?} in this job");
        Box::new(ShmPort::new(&self.segment, self.me, lane, self.registrations.clone()))
    }

    fn share(&self, at: u64, memory: &Region) {
        self.exposed_memory.add(at, memory);
    }

    fn unshare(&self, memory: &Region) {
        self.exposed_memory.remove(memory);
    }

    fn capabilities(&self) -> Capabilities {
        remote::CAPABILITIES
    }

    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        self.registrations.register(mem)
    }

    fn expose(&self, mem: UserMem) -> Option<ExposedKey> {
        self.exposed_memory.expose(mem)
    }

    fn read(&self, peer: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        self.local(peer).is_some_and(|local| self.exposed_memory.read(local, key, at, into))
    }

    fn expose_shared(&self, mem: UserMem) -> Option<ExposedKey> {
        self.exposed_memory.expose_shared(mem)
    }

    fn expose_to_write(&self, mem: UserMem) -> Option<ExposedKey> {
        self.exposed_memory.expose_shared(mem)
    }

    fn write(&self, peer: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        self.local(peer).is_some_and(|local| self.exposed_memory.write(local, key, at, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_with_its_prefix_is_a_packet_and_eager_fits_the_pool() {
        for ranks in [2, 8, 12, 16, 64, 200] {
            let (longest, piece) = lengths(ranks);
            for total in [1, 4200, 4201, 50_000, 1 << 20, 1 << 40] {
                assert!(piece(total) <= longest && piece(total) > 0);
            }
            assert!(longest <= pool::chunks(ranks) * CHUNK);
        }
        assert_eq!(lengths(2).1(1 << 20), 32 << 10);
    }

    /// The pool is shared among all ranks.
    #[test]
    fn among_more_ranks_no_figure_is_larger() {
        let limits = |ranks| limits(&HostFacts::default(), ranks);
        let figures = |ranks| (limits(ranks).packet, limits(ranks).eager);
        for ranks in 3..=hawser_job::layout::MAX_LOCAL {
            let ((packet, eager), fewer) = (figures(ranks), figures(ranks - 1));
            assert!(packet <= fewer.0 && eager <= fewer.1, "{ranks} ranks: {packet}, {eager}, before {fewer:?}");
        }
    }

    #[test]
    fn a_piece_that_is_asked_for_is_cut_to_a_power_of_two() {
        let cut = |wished: usize| always(wished)(1 << 20);
        assert_eq!([2 << 10, 5000, 8192, 20_000, 32 << 10].map(cut), [2 << 10, 4096, 8192, 16 << 10, 32 << 10]);
    }
}
