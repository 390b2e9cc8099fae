//! Chooses a peer's paths for each load: short messages go by the quickest, bulk by the best between each pair of NICs,
//! distributed among these pairs. It also decides when reserved paths are opened, or further flows are wanted.
//!
//! It sends nothing. Used by `connection`; uses `bulk` and `stripe`, which choose.

use super::Connection;
use crate::bulk::{Bulk, Way};
use crate::marks::{Mark, mark};
use crate::path::Path;
use crate::planted::{Bug, planted};
use crate::pool::Pool;
use crate::rail::{Grade, Rail};
use crate::strand::{Far, Route, Strand};
use crate::stripe::{self, SLICE_NS};
use crate::survey::Survey;

/// The most frames that are handed to a wire at once: what UDP's segmentation offload takes (64) and more.
pub(super) const RUN: usize = 64;

/// The number of waiting frames of the shortest length from which on they are bulk. Raw frames cost 1.7 us each, a run
/// of UDP segments about 5 us and little for each (docs/measurements/2026-11-22-frame-ports.md).
const BULK: usize = 6;

/// Bytes from which on long frames pay, even if single ones take long. By TCP instead of UDP or raw frames, in turns,
/// best decile: 4 KiB 10.5 us, not 7.5; 6 KB 8.6, not 11.5; 8 KiB 8.0, not 9.3; 16 KiB 12.7, not 16.2; 64 KiB 28.4, not
/// 32.4; 1 MiB 276, not 345.
const LONG_BYTES: usize = 9 << 9;
/// They must also exceed this many frames of the path for single ones: at MTU 9000 one of them takes 8 KiB in 4.6 us,
/// two 16 KiB in 9.1.
const LONG_FRAMES: usize = 2;
/// Bytes that exceed two frames of any Ethernet.
const LONG_ANYWAY_BYTES: usize = 64 << 10;

/// Bulk that a peer was sent before its reserved paths are opened, in bytes: a TCP connection is expensive for less.
const CALL_BYTES: u64 = 1 << 20;

/// The load to be sent, by its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Load {
    Few,
    Bulk,
    Long,
}

impl Load {
    /// The load of `bytes` bytes in `frames` frames, where single frames have at most `few` bytes.
    fn of(bytes: usize, frames: usize, few: impl Fn() -> usize) -> Load {
        if bytes > LONG_ANYWAY_BYTES || bytes > LONG_BYTES && bytes > LONG_FRAMES * few() {
            Load::Long
        } else if frames >= BULK || bytes > (BULK - 1) * few() {
            Load::Bulk
        } else {
            Load::Few
        }
    }
}

impl Connection {
    /// The first latency class from `least` on in which a path answers; if there is none, the first of all classes.
    fn grade(&self, least: Grade) -> Option<Grade> {
        let answering = || self.strands.iter().filter(|strand| strand.answers());
        let of = |least: Grade| answering().map(|strand| strand.rail.grade).filter(|&grade| grade >= least).min();
        of(least).or_else(|| of(Grade::Quick))
    }

    /// Returns whether a path carries such a load. None does before one answers.
    fn carries(&self, load: Load) -> impl Fn(usize) -> bool + '_ {
        let least = if load == Load::Few { Grade::Quick } else { Grade::Bulk };
        let grade = self.grade(least);
        let is_chosen = load == Load::Long && self.bulk.iter().any(|bulk| bulk.way().is_some());
        move |at| match is_chosen {
            true => self.taker(at).is_some(),
            false => {
                let strand = &self.strands[at];
                Some(strand.rail.grade) == grade && strand.path().is_some() && !strand.is_further()
            }
        }
    }

    /// The choice whose bulk goes by path `at`.
    pub(super) fn taker(&self, at: usize) -> Option<usize> {
        self.bulk.iter().position(|bulk| bulk.way().is_some_and(|way| self.is_of(at, way)))
    }

    /// Whether path `at` is path `way`, or one of all flows for which `way` stands (P39).
    fn is_of(&self, at: usize, way: usize) -> bool {
        let way_of = &self.strands[way];
        if way_of.is_spread() { self.strands[at].is_beside(way_of) } else { at == way }
    }

    /// All flows between the two ports of path `at`.
    pub(super) fn beside(&self, at: usize) -> impl Iterator<Item = &Strand> {
        self.strands.iter().filter(move |other| other.is_beside(&self.strands[at]))
    }

    /// Checks beside which flows the network bears so little that further ones must wait (P39), and whether any answers
    /// of the flows that count as one path.
    pub(super) fn look_at_flows(&mut self) {
        if !self.has_flows {
            return;
        }
        for at in 0..self.strands.len() {
            if !self.strands[at].is_further() {
                continue;
            }
            let first = self.beside(at).find(|other| !other.is_further()).and_then(Strand::path);
            let is_crowded = first.is_some_and(Path::is_crowded);
            if is_crowded {
                mark(Mark::FlowsCrowded);
            }
            let flows_answer = self.beside(at).any(Strand::answers);
            (self.strands[at].is_held_back, self.strands[at].flows_answer) = (is_crowded, flows_answer);
        }
    }

    /// The path that measures all flows of path `at`'s ports, if there are several.
    pub(super) fn spread_of(&self, at: usize) -> Option<usize> {
        let of = || self.strands.iter().position(|other| other.is_spread() && other.is_beside(&self.strands[at]));
        if self.has_flows { of().filter(|&spread| spread != at) } else { None }
    }

    /// Whether a frame of `len` bytes that goes by path `at` was cut for another one.
    pub(super) fn was_cut_for_other(&self, at: usize, len: usize) -> bool {
        len < self.strands[at].frame()
            && self.strands.iter().any(|other| other.path().is_some() && other.frame() == len)
    }

    /// The longest frame that all paths take that carry such a load; before one is open, that all paths take. Hosts
    /// have NICs that do not reach the peer.
    fn frame_of(&self, load: Load) -> usize {
        let carries = self.carries(load);
        // Between several pairs of NICs each path that answers counts: waiting frames may go by any of them while they
        // are tried in turns, and a frame that is cut then must be reassembled by the receiver.
        let trunk = load == Load::Long && self.bulk.iter().filter(|bulk| bulk.way().is_some()).nth(1).is_some();
        let carries = |at: usize| if trunk { self.strands[at].answers() } else { carries(at) };
        let of = self.strands.iter().enumerate().filter(|&(at, _)| carries(at)).map(|(_, strand)| strand.frame());
        let shortest = of.min().or_else(|| self.strands.iter().map(Strand::frame).min());
        shortest.expect("a connection has paths")
    }

    /// The longest frame for a message of `total` bytes.
    pub fn frame(&self, total: usize) -> usize {
        let few = self.frame_of(Load::Few);
        match Load::of(total, 1, || few) {
            Load::Few => few,
            load => self.frame_of(load),
        }
    }

    /// See `Endpoint::direct`.
    pub fn direct(&mut self, survey: &mut Survey) -> Option<Route> {
        self.look_at_flows();
        self.bulk.iter_mut().for_each(|bulk| bulk.look(&mut self.strands, survey));
        let mut ways = self.bulk.iter().filter_map(|bulk| Some((bulk, bulk.way()?)));
        let (bulk, way) = ways.next()?;
        let strand = &self.strands[way];
        // Bytes that are sent past link have no CRC (P36).
        let rail = strand.rail;
        let is_best = !bulk.is_tried() && rail.lossless && !rail.checked && strand.answers();
        (is_best && ways.next().is_none()).then_some(strand.route)
    }

    pub fn count_direct(&mut self, survey: &mut Survey, bytes: usize) {
        let taker = self.bulk.iter_mut().find(|bulk| bulk.way().is_some());
        taker.into_iter().for_each(|taker| taker.sent(bytes, &mut self.strands, survey));
    }

    pub(super) fn waiting_load(&self, sending: &Pool) -> Load {
        let mut bytes = 0;
        for slot in sending.each(&self.waiting).take(RUN) {
            bytes += sending.frame(slot).len();
            if bytes > LONG_ANYWAY_BYTES {
                break;
            }
        }
        Load::of(bytes, self.waiting.len(), || self.frame_of(Load::Few))
    }

    /// Returns the path for a frame of `len` bytes, and how many such it may take at once; the frame must arrive before
    /// `count` of them would by the quickest path. Bulk waits for its own paths: by others each frame would cost a
    /// system call.
    pub(super) fn pick(&self, len: usize, load: Load, count: usize) -> Option<(usize, usize)> {
        let carries = self.carries(load);
        let long = || self.paths().filter(|(_, strand, _)| strand.frame() >= len);
        let has_room = |strand: &Strand, path: &Path| !strand.is_full && path.room() > 0;
        let waits = load != Load::Few && long().any(|(at, ..)| carries(at));
        let is_own = waits || long().any(|(at, strand, path)| carries(at) && has_room(strand, path));
        let mut fit = long().filter(|&(at, strand, path)| carries(at) == is_own && (waits || has_room(strand, path)));
        let (first, second) = (fit.next()?, fit.next());
        let Some(second) = second else {
            let (only, strand, path) = first;
            return has_room(strand, path).then_some((only, RUN));
        };
        let bytes = (count * len) as u64;
        let ways = [first, second].into_iter().chain(fit).map(|(at, strand, path)| {
            let begin_ns = self.queue_ns(strand) + if waits { 0 } else { path.latency_ns() };
            stripe::Way {
                at,
                // Among the paths that were measured best none has precedence.
                grade: if waits { Grade::Quick } else { strand.rail.grade },
                has_room: has_room(strand, path),
                moves: path.under_way() > 0,
                one_ns: begin_ns + path.takes_ns(len as u64),
                all_ns: begin_ns + path.takes_ns(bytes),
            }
        });
        let at = stripe::choose(ways)?;
        let path = self.strands[at].path().expect("it is open");
        Some((at, ((SLICE_NS / path.takes_ns(len as u64).max(1)) as usize).clamp(1, RUN)))
    }

    /// Records that bytes of bulk went by path `at`, and not by the others that carry it.
    pub(super) fn pass_over(&mut self, at: usize, bytes: usize) {
        if !self.has_flows && self.bulk.len() == 1 {
            return;
        }
        for other in (0..self.strands.len()).filter(|&other| other != at) {
            if self.taker(other).is_some() {
                self.strands[other].path_mut().into_iter().for_each(|path| path.pass_over(bytes));
            }
        }
    }

    /// The time for which frames in flight delay a frame on a path: those on all paths of its NIC, but not on other
    /// flows beside it, which do not wait for each other where each has a share, and have smaller rates where they do.
    fn queue_ns(&self, of: &Strand) -> u64 {
        let is_in_front = |other: &&Strand| {
            other.rail.nic == of.rail.nic && (!other.is_beside(of) || other.route.flow == of.route.flow)
        };
        self.strands.iter().filter(is_in_front).filter_map(Strand::path).map(Path::queue_ns).sum()
    }

    /// Whether a path carries no more than a network may give one flow, and further flows might carry more.
    #[inline]
    pub fn wants_flows(&self) -> bool {
        self.bulk.iter().any(Bulk::wants_flows)
    }

    /// Returns the missing further flows of ports that answer over the NICs for which flows are wanted.
    pub fn flows_wanted(&mut self) -> Vec<(Route, Far)> {
        let wanted = |strand: &Strand| self.bulk.iter().any(|bulk| bulk.wants_flows() && strand.is_usable(bulk.cable));
        let flows = self.strands.iter().filter(|strand| wanted(strand)).flat_map(Strand::further);
        let flows = flows.filter(|&(route, _)| self.strand(route).is_none()).collect();
        self.bulk.iter_mut().for_each(Bulk::has_asked);
        flows
    }

    /// Opens the reserved paths where they are needed.
    pub(super) fn call_reserve(&mut self, survey: &Survey) {
        for at in 0..self.strands.len() {
            if self.strands[at].is_reserved()
                && let Some(why) = self.calls(&self.strands[at].rail)
                && (why != Mark::CalledForBulk || self.belongs(at) && self.may_need(at, survey))
            {
                mark(why);
                self.strands[at].call();
            }
        }
    }

    /// Whether path `at` connects the same NICs as others from its NIC, if there are any: a host may answer for its
    /// other NICs' addresses, and such a path is a second one over the same wire.
    fn belongs(&self, at: usize) -> bool {
        let cable = self.strands[at].cable();
        let from_nic = || self.strands.iter().filter(|strand| strand.rail.nic == cable.ours && strand.answers());
        from_nic().next().is_none() || from_nic().any(|strand| strand.cable() == cable)
    }

    /// Whether path `at` would be tried with bulk, or carry it, if it were open.
    fn may_need(&self, at: usize, survey: &Survey) -> bool {
        let strand = &self.strands[at];
        self.bulk.iter().any(|bulk| bulk.cable == strand.cable() && bulk.may_need(strand.route.ours, survey))
    }

    /// The reason for which paths of a port are needed, if they are.
    fn calls(&self, rail: &Rail) -> Option<Mark> {
        if rail.grade < Grade::Bulk {
            let beside = || self.strands.iter().filter(|strand| strand.rail.nic == rail.nic);
            let is_answered = beside().any(|strand| strand.path().is_some());
            let is_better = |strand: &&Strand| strand.rail.grade < rail.grade;
            let is_needed = is_answered && beside().filter(is_better).all(Strand::leads_nowhere);
            return is_needed.then_some(Mark::CalledInPlace);
        }
        let is_alone = || self.strands.iter().all(Strand::is_unanswered);
        let has_bulk = self.bulk_bytes >= CALL_BYTES;
        if has_bulk { Some(Mark::CalledForBulk) } else { is_alone().then_some(Mark::CalledAlone) }
    }

    /// The paths for waiting frames: those that answer, or all open ones if none does (P24), except held-back flows
    /// (P39).
    pub(super) fn paths(&self) -> impl Iterator<Item = (usize, &Strand, &Path)> {
        let useful = || self.strands.iter().enumerate().filter(|(_, strand)| !strand.is_held_back);
        let open = move || useful().filter_map(|(at, strand)| Some((at, strand, strand.path()?)));
        let all_silent = open().all(|(_, _, path)| path.is_silent());
        let is_bound = planted(Bug::BoundToPath) && open().any(|(_, _, path)| path.is_silent());
        open().filter(move |(_, _, path)| all_silent || path.is_silent() == is_bound)
    }
}
