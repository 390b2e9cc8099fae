//! Fuzzes the memory that an agent hands over, and the pages that ranks write.
//!
//! A segment opens only if its header is true of the file, and of the tables behind it: then every query about
//! ranks has a result within them. Ranks that overwrite it later change results, but nothing panics and nothing is
//! waited for.

use bolero::{TypeGenerator, check};
use hawser_base::Region;
use hawser_job::arena::Span;
use hawser_job::counters::COUNTERS;
use hawser_job::flight_recorder::EVENTS;
use hawser_job::layout::{ARENA_BYTES, SegmentLayout};
use hawser_job::wait::NAME_BYTES;
use hawser_job::{RankPage, Segment, SegmentSpec};
use hawser_os::map::{self, PAGE};
use hawser_os::memfd;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

/// Pages of a small segment that do not belong to the device: header, names, tables, two ranks.
const PAGES: usize = 7;

#[derive(Clone, Debug, TypeGenerator)]
struct Scribble {
    /// Whether the write is in the first words, where the header is, or anywhere.
    near: bool,
    at: u16,
    value: Value,
}

#[derive(Clone, Debug, TypeGenerator)]
enum Value {
    Small(u8),
    Any(u32),
}

impl Scribble {
    fn write(&self, memory: &Region, bytes: usize) {
        let reach = if self.near { 64 } else { bytes };
        let at = usize::from(self.at) * 4 % reach;
        let value = match self.value {
            Value::Small(value) => value.into(),
            Value::Any(value) => value,
        };
        memory.u32(at).store(value, Relaxed);
    }
}

fn made() -> Segment {
    let spec = SegmentSpec {
        spare_local_slots: 1,
        spare_numbers: 2,
        ..SegmentSpec::without_spares("job", "host", 5, vec![1, 4])
    };
    let segment = Segment::create(&spec).unwrap();
    assert!(segment.layout().rank_page(1) + RankPage::BYTES <= PAGES * PAGE);
    segment
}

/// Returns another view of its first pages.
fn view(segment: &Segment) -> Region {
    map::shared(segment.fd(), 0, PAGES * PAGE).unwrap()
}

fn open(segment: &Segment) -> Option<Segment> {
    Segment::open(segment.fd().try_clone_to_owned().unwrap()).ok()
}

/// Reads everything that any process reads.
fn read_everything(segment: &Segment) {
    for room in 0..segment.local_slots() {
        let page = segment.rank(room);
        let _ = (page.pid(), page.phase(), page.doorbell().is_armed());
        if let Some(reason) = page.wait().read() {
            assert!(reason.call.chars().count() <= NAME_BYTES && reason.communicator.chars().count() <= NAME_BYTES);
        }
        assert!(page.events().latest().len() <= EVENTS);
        let _ = page.counters().get(COUNTERS - 1);
        let _ = (page.network_status().read(), page.last_released());
        if let Some(peer) = segment.process_in(room) {
            assert!(
                segment.local_slot_of(peer).is_none_or(|found| found < segment.local_slots()),
                "{peer} of room {room}"
            );
            let _ = (segment.is_known(peer), segment.joined_late(peer), segment.business_card(peer));
        }
    }
    let _ = segment.requested_release().map(|peer| segment.is_released(peer));
    assert!(segment.counter_names().len() <= COUNTERS);
    let _ = (segment.job_id(), segment.host(), segment.abort_code());
    if let Some(number) = segment.allocate_flags() {
        segment.release_flags(number);
    }
}

#[test]
fn headers() {
    check!().with_type::<(Vec<Scribble>, Option<u32>)>().with_iterations(2000).for_each(|(scribbles, len)| {
        let made = made();
        let memory = view(&made);
        scribbles.iter().for_each(|scribble| scribble.write(&memory, PAGES * PAGE));
        let Some(segment) = open(&made) else { return };
        assert_eq!(segment.layout().file_bytes(), made.layout().file_bytes());
        for room in 0..segment.local_slots() {
            let found = segment.process_in(room).and_then(|peer| segment.local_slot_of(peer));
            assert!(found.is_none_or(|found| found == room), "the process of slot {room} is found in {found:?}");
        }
        read_everything(&segment);
        // The same header on a file of another length.
        if let Some(len) = len {
            let other = memfd::create(c"fuzz", u64::from(*len)).unwrap();
            let copied = memory.bytes(0, PAGE.min(*len as usize));
            if *len as usize >= PAGE {
                let mut bytes = vec![0; copied.len()];
                copied.read(&mut bytes);
                map::shared(other.as_fd(), 0, PAGE).unwrap().bytes(0, PAGE).write(&bytes);
            }
            assert!(Segment::open(other).is_err());
        }
    });
}

#[test]
fn pages_of_ranks() {
    check!().with_type::<Vec<Scribble>>().with_iterations(2000).for_each(|scribbles| {
        let segment = made();
        let memory = view(&segment);
        let _ = segment.rank(0).doorbell().arm();
        segment.rank(1).wait().begin(&hawser_job::WaitReason { call: "MPI_Recv", ..Default::default() });
        scribbles.iter().for_each(|scribble| scribble.write(&memory, PAGES * PAGE));
        read_everything(&segment);
    });
}

/// Spans come from messages.
#[test]
fn spans() {
    check!().with_type::<(u32, u64, u32, bool)>().with_iterations(2000).for_each(|&(local, offset, len, near)| {
        let segment = made();
        let page = PAGE as u64;
        let offset = if near { ARENA_BYTES - page + offset % (2 * page) } else { offset };
        let span = Span { local: local % 4, offset, len: u64::from(len) };
        let inside = offset.checked_add(span.len).is_some_and(|end| end <= ARENA_BYTES);
        let true_span = local % 4 < 3 && offset % page == 0 && span.len > 0 && inside;
        let mapped = segment.map_span(span);
        assert_eq!(mapped.is_ok(), true_span, "{span:?}");
        assert!(mapped.is_err() || mapped.is_ok_and(|region| region.len() as u64 >= span.len));
    });
}

/// Layouts that a header may contain are whole.
#[test]
fn plans() {
    check!().with_type::<(u16, u32, u8)>().with_iterations(2000).for_each(|&(local, world, spare)| {
        let local = usize::from(local) % 4096 + 1;
        let world = (world as usize % (1 << 24)).max(local);
        let plan = SegmentLayout::full(local, world).with_spare(spare.into(), spare.into());
        let local = plan.local_slots;
        assert!(plan.rank_page(local - 1) + RankPage::BYTES <= plan.flags() && plan.flags() <= plan.device());
        assert_eq!(plan.arena(local - 1) + ARENA_BYTES, plan.file_bytes());
    });
}
