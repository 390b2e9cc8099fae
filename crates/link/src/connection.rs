//! The connection with one peer: its paths, and the fragments that wait to be sent to it.
//!
//! A message is cut into fragments, each of which is sent on any path with room, and retransmitted on any if it is lost
//! (P22). Used by `endpoint`; uses `ways`, which chooses the path of each frame, `strand`, `path`, `pool`, and
//! `reassembly` for received fragments.

mod ways;

use crate::ack::{self, ACK_MAX};
use crate::bulk::{Bulk, Way};
use crate::frame::{Cover, Dropped, Ends, Flags, Frame, HEADER, Head, Key, Kind};
use crate::marks::{Mark, mark};
use crate::meter::LONG_BYTES;
use crate::pace::Arrival;
use crate::parties::Parties;
use crate::path::{Due, Numbers, Path, Word};
use crate::planted::{Bug, planted};
use crate::pool::{Pool, Queue, Slot};
use crate::rail::Rail;
use crate::reassembly::{Deliver, Holding, Reassembly};
use crate::record::{RECORD, Record};
use crate::room::Room;
use crate::seq::{Seq, WINDOW};
use crate::strand::{Hello, Route, Strand};
use crate::survey::Survey;
use std::io::IoSlice;
use ways::{Load, RUN};

/// The carrier of frames. Frames may be lost, duplicated and reordered.
pub trait Wire {
    /// Sends frames of one length, of which the last may be shorter, in order. Returns how many were taken; if not all,
    /// try later.
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize;
}

/// Slots for sending that messages without payload leave free too: for HELLOs, and to cut frames for shorter paths.
/// Otherwise memory full of frames that wait for a peer would keep its paths from being opened (found by the
/// simulation, seed 16).
pub(crate) const SPARE: usize = 16;

/// The divisor of a receiver's memory for fragments: so much may overtake a frame that must be delivered in order. That
/// is half of what the receiver keeps of one peer (`reassembly`).
const AHEAD_PART: usize = 8;

/// The state of the endpoint that every connection needs.
pub struct Shared {
    pub key: Key,
    pub me: u32,
    /// Frames that wait to be sent or are in flight; `holding`: fragments that wait for earlier ones.
    pub sending: Pool,
    /// Free slots of `sending` that are reserved for later messages (`Kept`), including those of parties' shares.
    pub kept: usize,
    pub parties: Parties,
    pub holding: Holding,
    /// The room of each of our ports (P21).
    pub rooms: Box<[Room]>,
    /// The properties of each of our ports.
    pub rails: Box<[Rail]>,
    pub survey: Survey,
    pub counts: Counts,
}

/// Counts of the protocol's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames with payload, including retransmissions.
    pub frames: u64,
    pub lost: u64,
    /// Runs of frames that were handed to the wire at once.
    pub runs: u64,
    /// Acknowledgements that were sent alone.
    pub acks: u64,
    /// Probes after a silence, and timeouts.
    pub asked: u64,
    pub timeouts: u64,
}

/// The connection with one peer. See the module.
pub struct Connection {
    peer: u32,
    strands: Vec<Strand>,
    /// The choice of the path for bulk, for each pair of NICs.
    bulk: Vec<Bulk>,
    bulk_bytes: u64,
    /// Whether there is more than one flow between two ports.
    has_flows: bool,
    /// Frames to be sent, in the order of their messages: those that the peer needs first come first.
    waiting: Queue,
    /// Slots of `sending` that hold frames for this peer.
    slots: usize,
    /// The number of the next message to be sent.
    next: Seq,
    reassembly: Reassembly,
    /// Whether we have sent STOP.
    stopping: bool,
    /// The time until which `transmit` has nothing to do, unless a message or a frame comes before (`wake`): a poll
    /// must not cost a check of each path, of which two hosts with several NICs have dozens.
    rests_until_ns: u64,
    listed: Listed,
}

/// The lists of the endpoint that contain a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    pub active: bool,
    pub ready: bool,
}

impl Shared {
    fn room(&mut self, route: Route) -> &mut Room {
        &mut self.rooms[usize::from(route.ours)]
    }

    /// The properties of the port by which a path id leaves.
    pub fn rail(&self, route: Route) -> Rail {
        self.rails[usize::from(route.ours)]
    }
}

fn ends(from: u32, to: u32) -> Ends {
    Ends { from, to }
}

impl Connection {
    pub fn new(peer: u32) -> Connection {
        Connection {
            peer,
            strands: Vec::new(),
            bulk: Vec::new(),
            bulk_bytes: 0,
            has_flows: false,
            waiting: Queue::default(),
            slots: 0,
            next: Seq(0),
            reassembly: Reassembly::new(peer),
            stopping: false,
            rests_until_ns: 0,
            listed: Listed::default(),
        }
    }

    pub fn peer(&self) -> u32 {
        self.peer
    }

    pub fn strand(&self, route: Route) -> Option<usize> {
        self.strands.iter().position(|strand| strand.route == route)
    }

    pub fn add(&mut self, strand: Strand) -> usize {
        // Most hosts have one NIC with few paths; there may be very many peers.
        if self.bulk.iter().all(|bulk| bulk.cable != strand.cable()) {
            self.bulk.reserve_exact(1);
            self.bulk.push(Bulk::new(self.peer, strand.cable()));
        }
        self.has_flows |= strand.is_further();
        self.strands.reserve_exact(1);
        self.strands.push(strand);
        self.strands.len() - 1
    }

    pub fn strands(&self) -> &[Strand] {
        &self.strands
    }

    pub fn bulk(&self) -> &[Bulk] {
        &self.bulk
    }

    pub fn next_message(&self) -> Seq {
        self.next
    }

    pub fn has_delivered(&self, before: Seq) -> bool {
        self.reassembly.has_delivered(before)
    }

    /// Slots that hold frames for the peer.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Whether there is something to send, to acknowledge or to wait for.
    pub fn is_active(&self) -> bool {
        self.rests_until_ns != u64::MAX
    }

    /// The time until which `transmit` has nothing to do.
    pub fn rests_until_ns(&self) -> u64 {
        self.rests_until_ns
    }

    /// Makes the connection ready, because a message was sent or a frame arrived: both lists contain it from now on.
    /// Returns those that did before.
    pub fn wake(&mut self) -> Listed {
        self.rests_until_ns = 0;
        std::mem::replace(&mut self.listed, Listed { active: true, ready: true })
    }

    /// Whether it has something to do at once; the list of such connections contains it from now on, or not.
    pub fn list_ready(&mut self) -> bool {
        self.listed.ready = self.rests_until_ns == 0;
        self.listed.ready
    }

    /// Same as `list_ready`, for the connections that have something to do.
    pub fn list_active(&mut self) -> bool {
        self.listed.active = self.is_active();
        self.listed.active
    }

    /// Whether nothing of ours is left to be sent or acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.slots == 0
    }

    /// The time since which no path has answered, where one was open and something of ours is not acknowledged yet.
    pub fn silent_since_ns(&self) -> Option<u64> {
        if self.is_quiet() || self.strands.iter().any(Strand::answers) {
            return None;
        }
        self.strands.iter().filter_map(|strand| strand.path()?.silent_since_ns()).max()
    }

    /// Takes a message of `total` bytes: `fill` writes its bytes from an offset on. The caller has checked that there
    /// are slots enough.
    pub fn send(
        &mut self,
        shared: &mut Shared,
        channel: u8,
        total: usize,
        placed: bool,
        mut fill: impl FnMut(usize, &mut [u8]),
    ) {
        let most = self.frame(total) - HEADER - RECORD;
        let mut offset = 0;
        loop {
            let len = most.min(total - offset);
            let slot = shared.sending.take(HEADER + RECORD + len).expect("there are slots enough");
            let record = Record { message: self.next, offset: offset as u16, total: total as u16, channel, placed };
            let bytes = shared.sending.frame_mut(slot);
            record.write(&mut bytes[HEADER..HEADER + RECORD]);
            fill(offset, &mut bytes[HEADER + RECORD..]);
            shared.sending.push(&mut self.waiting, slot);
            self.slots += 1;
            offset += len;
            if offset == total {
                break;
            }
        }
        self.next = self.next.next();
    }

    /// Takes a HELLO or WELCOME for this path, `len` bytes long.
    pub fn handle_hello(
        &mut self,
        survey: &mut Survey,
        at: usize,
        hello: &Hello,
        kind: Kind,
        len: usize,
    ) -> Result<(), Dropped> {
        let is_first = self.strands.iter().all(|strand| strand.path().is_none());
        let strand = &mut self.strands[at];
        let was = strand.path().is_some();
        strand.handle_hello(hello, kind, len)?;
        if is_first {
            self.strands.iter_mut().for_each(Strand::ask_anew);
        }
        if !was {
            self.look_at_flows();
            let strand = &self.strands[at];
            let (cable, is_further, is_spread) = (strand.cable(), strand.is_further(), strand.is_spread());
            for bulk in self.bulk.iter_mut().filter(|bulk| bulk.cable == cable) {
                if is_spread {
                    bulk.spread(at, &mut self.strands);
                } else if !is_further {
                    bulk.widened(&mut self.strands, survey);
                }
            }
        }
        Ok(())
    }

    /// Sends a HELLO or WELCOME. Returns whether the wire took it.
    fn write_hello(&mut self, shared: &mut Shared, at: usize, kind: Kind, len: usize, wire: &mut dyn Wire) -> bool {
        let slot = shared.sending.take(len).expect("one is always left");
        let strand = &mut self.strands[at];
        let hello = strand.hello(shared.room(strand.route));
        let bytes = shared.sending.frame_mut(slot);
        hello.write(&mut bytes[HEADER..]);
        let head = Head {
            kind,
            flags: Flags::default(),
            path: shared.me,
            sequence: Seq(0),
            expected: Seq(0),
            credit: hello.credit,
            open: 0,
        };
        let (front, payload) = bytes.split_at_mut(HEADER);
        front.copy_from_slice(&head.write(&shared.key, ends(shared.me, self.peer), payload, Cover::All));
        let taken = wire.send(self.peer, strand.route, &[IoSlice::new(shared.sending.frame(slot))]);
        shared.sending.give(slot);
        taken > 0
    }

    /// Takes a numbered frame or an acknowledgement of path `at`.
    pub fn handle_frame(
        &mut self,
        shared: &mut Shared,
        at: usize,
        frame: &Frame<'_>,
        now_ns: u64,
        deliver: &mut Deliver<'_>,
    ) -> Result<(), Dropped> {
        let (head, payload) = frame.check(&shared.key, ends(self.peer, shared.me))?;
        let path = self.strands[at].path_mut().ok_or(Dropped::Path)?;
        let word = Word { expected: head.expected, credit: head.credit, stop: head.flags.has(Flags::STOP) };
        if head.kind == Kind::Ack {
            let ack = ack::read(head.expected, payload)?;
            let fates = path.handle_ack(&mut shared.sending, &ack, &word, now_ns)?;
            let length = self.strands[at].length_mut();
            // A peer that has sent STOP drops long ones itself (P25).
            if !word.stop && (!fates.lost.is_empty() || length.is_doubted()) {
                let of = |queue| longest(&shared.sending, queue);
                length.settled(of(&fates.came), of(&fates.lost), now_ns);
            }
            self.give(shared, at, fates.came, now_ns);
            self.send_again(shared, fates.lost);
            return Ok(());
        }
        let record = if payload.is_empty() { None } else { Some(Record::read(payload)?) };
        let place =
            record.as_ref().map(|(record, fragment)| self.reassembly.place(&shared.holding, record, fragment.len()));
        // A frame that breaks a rule has no effect, nor has its header (P3).
        if let Some(Err(Dropped::Record)) = place {
            return Err(Dropped::Record);
        }
        if u32::from(head.open) >= WINDOW {
            return Err(Dropped::Beyond);
        }
        let path = self.strands[at].path_mut().expect("it is open");
        let came = path.handle_word(&mut shared.sending, &word, now_ns)?;
        let length = self.strands[at].length_mut();
        if length.is_doubted() {
            length.came(longest(&shared.sending, &came));
        }
        self.give(shared, at, came, now_ns);
        let route = self.strands[at].route;
        let path = self.strands[at].path_mut().expect("it is open");
        if let Some(Err(reason)) = place {
            // The frame is not taken, and will be retransmitted (P20).
            if reason == Dropped::NoRoom {
                mark(Mark::StopSaid);
                self.stopping = true;
                path.refuse();
            }
            return Err(reason);
        }
        path.handle_numbered(shared.room(route), head.sequence, head.open, head.flags, now_ns)?;
        if let (Some((record, fragment)), Some(Ok(place))) = (record, place) {
            self.reassembly.take(&mut shared.holding, &record, fragment, payload, place, deliver);
        }
        Ok(())
    }

    /// Releases frames of path `at` that were acknowledged.
    fn give(&mut self, shared: &mut Shared, at: usize, came: Queue, now_ns: u64) {
        if !came.is_empty() {
            let bytes = shared.sending.each(&came).map(|slot| shared.sending.frame(slot).len()).sum();
            if !shared.parties.is_empty() {
                self.give_parties(shared, &came);
            }
            self.slots -= shared.sending.give_all(came);
            let moves = |strand: &Strand| strand.path().is_some_and(|path| path.under_way() > 0);
            let more = moves(&self.strands[at]);
            let under_way = self.strands[at].path().map_or(0, Path::bytes_under_way);
            self.strands[at].meter_mut().came(bytes, more, now_ns);
            let more = shared.sending.left() < shared.sending.slots();
            let was_full = bytes as u64 + under_way >= u64::from(LONG_BYTES) || !self.waiting.is_empty();
            let arrival = Arrival { peer: self.peer, bytes, was_full, more };
            shared.survey.nic_mut(self.strands[at].cable()).pace.came(arrival, now_ns);
            if let Some(spread) = self.spread_of(at) {
                let more = self.beside(at).any(moves);
                self.strands[spread].meter_mut().came(bytes, more, now_ns);
            }
        }
    }

    /// Reserves those of the slots for parties again that belong to their shares.
    #[cold]
    #[inline(never)]
    fn give_parties(&self, shared: &mut Shared, came: &Queue) {
        let Shared { sending, parties, kept, .. } = shared;
        let each = sending.each(came);
        *kept += each.filter(|&slot| parties.came(self.peer, frame_record(sending.frame(slot)).channel)).count();
    }

    /// Sends what may be sent now, if there may be anything.
    #[inline]
    pub fn transmit(&mut self, shared: &mut Shared, now_ns: u64, wire: &mut dyn Wire) {
        if now_ns < self.rests_until_ns {
            return;
        }
        self.transmit_all(shared, now_ns, wire);
        let waits = self.stopping || !self.waiting.is_empty();
        self.rests_until_ns = if waits { 0 } else { self.deadline_ns().unwrap_or(u64::MAX) };
    }

    /// Sends HELLOs, probes, fragments and acknowledgements.
    fn transmit_all(&mut self, shared: &mut Shared, now_ns: u64, wire: &mut dyn Wire) {
        if self.stopping && self.reassembly.has_room_again(&shared.holding) {
            mark(Mark::GoSaid);
            self.stopping = false;
            self.strands.iter_mut().filter_map(Strand::path_mut).for_each(Path::tell);
        }
        let in_use = self.slots > 0;
        for at in 0..self.strands.len() {
            if let Some(len) = self.strands[at].poll_hello(now_ns, in_use) {
                self.write_hello(shared, at, Kind::Hello, len, wire);
            }
            if let Some(len) = self.strands[at].poll_welcome()
                && !self.write_hello(shared, at, Kind::Welcome, len, wire)
            {
                self.strands[at].owe_welcome(len);
            }
            self.handle_timeout(shared, at, now_ns, wire);
        }
        // After the HELLOs, one of which was the last attempt of a path that was never answered.
        self.call_reserve(&shared.survey);
        if !self.waiting.is_empty() {
            self.look_at_flows();
        }
        while !self.waiting.is_empty() && self.send_run(shared, now_ns, wire) {}
        self.strands.iter_mut().filter(|strand| strand.is_full).for_each(|strand| strand.is_full = false);
        for at in 0..self.strands.len() {
            self.reply(shared, at, now_ns, wire);
        }
        let stuck = !self.waiting.is_empty() && self.nothing_moves();
        let paths = self.strands.iter_mut().filter_map(Strand::path_mut);
        paths
            .filter(|path| stuck || path.is_silent() && !planted(Bug::SilentForever))
            .for_each(|path| path.ask_later(now_ns));
    }

    fn nothing_moves(&self) -> bool {
        self.paths().all(|(_, _, path)| path.under_way() == 0)
    }

    fn handle_timeout(&mut self, shared: &mut Shared, at: usize, now_ns: u64, wire: &mut dyn Wire) {
        let Some(path) = self.strands[at].path_mut() else { return };
        match path.handle_timeout(&shared.sending, now_ns) {
            Due::Nothing => {}
            Due::Probe => {
                shared.counts.asked += 1;
                self.ask(shared, at, now_ns, wire);
            }
            Due::Timeout(lost) => {
                shared.counts.timeouts += 1;
                self.send_again(shared, lost);
            }
        }
    }

    /// Puts lost frames back in their places among the waiting ones. Both queues are nearly in order.
    fn send_again(&mut self, shared: &mut Shared, mut lost: Queue) {
        let sending = &mut shared.sending;
        let number = |sending: &Pool, slot: Slot| frame_record(sending.frame(slot)).message;
        let mut last = None;
        while let Some(slot) = sending.pop(&mut lost) {
            shared.counts.lost += 1;
            let message = number(sending, slot);
            // Behind the previous lost frame, if it belongs there, or else searched from the front.
            let mut behind = last.filter(|&last| number(sending, last).is_by(message));
            let mut next = behind.map_or(self.waiting.first(), |last| sending.after(last));
            while let Some(at) = next
                && !message.is_by(number(sending, at))
            {
                behind = Some(at);
                next = sending.after(at);
            }
            match behind {
                Some(before) => sending.insert_after(&mut self.waiting, before, slot),
                None => sending.push_front(&mut self.waiting, slot),
            }
            mark(if behind.is_some() { Mark::LostBehind } else { Mark::LostInFront });
            last = Some(slot);
        }
    }

    /// P17
    fn ask(&mut self, shared: &mut Shared, at: usize, now_ns: u64, wire: &mut dyn Wire) {
        let (peer, stop, strand) = (self.peer, self.stop(), &mut self.strands[at]);
        let route = strand.route;
        let Some((theirs, path)) = strand.open_mut().filter(|(_, path)| path.may_ask()) else { return };
        let numbers = path.numbers(0);
        let credit = path.credit(shared.room(route), numbers.expected);
        let head = data(credit, theirs, &numbers, Flags::ASK | stop);
        let header = head.write(&shared.key, ends(shared.me, peer), &[], Cover::All);
        match wire.send(peer, route, &[IoSlice::new(&header)]) {
            0 => mark(Mark::QuestionRefused),
            _ => path.asked(&shared.sending, now_ns),
        }
    }

    /// P20
    fn stop(&self) -> Flags {
        if self.stopping { Flags::STOP } else { Flags::default() }
    }

    /// Sends waiting frames of one length on one path. Returns whether there may be more to send.
    fn send_run(&mut self, shared: &mut Shared, now_ns: u64, wire: &mut dyn Wire) -> bool {
        let first = self.waiting.first().expect("something waits");
        let len = shared.sending.frame(first).len();
        let load = self.waiting_load(&shared.sending);
        if load == Load::Long {
            self.bulk.iter_mut().for_each(|bulk| bulk.look(&mut self.strands, &mut shared.survey));
        }
        let Some(longest) = self.paths().map(|(_, strand, _)| strand.frame()).max() else { return false };
        if longest < len {
            return self.cut(shared, first, longest);
        }
        // A receiver keeps frames that must be delivered in order until those on slower ports are there.
        let is_placed = frame_record(shared.sending.frame(first)).placed;
        let ahead = if is_placed { usize::MAX } else { shared.holding.slots() / AHEAD_PART };
        let Some((at, most)) = self.pick(len, load, self.waiting.len().min(ahead)) else { return false };
        let (stop, peer) = (self.stop(), self.peer);
        let taker = if load == Load::Long { self.taker(at) } else { None };
        let is_tried = taker.is_some_and(|taker| self.bulk[taker].is_tried());
        let spread = self.spread_of(at);
        let strand = &mut self.strands[at];
        let route = strand.route;
        let cover = if shared.rail(route).checked { Cover::All } else { Cover::Front };
        let (theirs, path) = strand.open_mut().expect("it was picked");
        let credit = path.credit(shared.room(route), path.numbers(0).expected);
        let room = most.min(path.room() as usize);
        let (mut run, mut count, mut bytes) = ([first; RUN], 0, 0);
        let mut next = Some(first);
        while count < room
            && let Some(slot) = next
            && let this = shared.sending.frame(slot).len()
            && this <= len
        {
            // A path in a trial must not look slow because an acknowledgement waits for data (P13).
            let after = shared.sending.after(slot);
            let flags = if is_tried && after.is_none() { stop | Flags::ASK } else { stop };
            let head = data(credit, theirs, &path.numbers(count as u32), flags);
            write_data(shared, slot, &head, ends(shared.me, peer), cover);
            run[count] = slot;
            count += 1;
            // Segmentation offload takes a shorter frame at the end alone.
            next = after.filter(|_| this == len);
        }
        let mut frames = [IoSlice::new(&[]); RUN];
        for (frame, &slot) in frames.iter_mut().zip(&run[..count]) {
            *frame = IoSlice::new(shared.sending.frame(slot));
        }
        let taken = wire.send(peer, route, &frames[..count]);
        for &slot in &run[..taken] {
            bytes += shared.sending.frame(slot).len();
            shared.sending.pop(&mut self.waiting);
            path.sent(&mut shared.sending, slot, now_ns);
        }
        if taken < count {
            mark(Mark::WireFull);
            // The path of a port that is down must fall silent, or it would be tried for ever (P24).
            path.ask_later(now_ns);
            strand.is_full = true;
            strand.length_mut().refused(len);
        }
        if taken > 0 {
            strand.meter_mut().sent(bytes, now_ns);
            shared.survey.nic_mut(strand.cable()).pace.sent(now_ns);
            if load == Load::Long && strand.is_further() {
                mark(Mark::FlowsUsed);
            }
            if let Some(spread) = spread {
                self.strands[spread].meter_mut().sent(bytes, now_ns);
            }
        }
        if load == Load::Long {
            self.pass_over(at, bytes);
            self.bulk_bytes += bytes as u64;
            if let Some(taker) = taker {
                let is_of_other = taken > 0 && self.was_cut_for_other(at, len);
                let bulk = &mut self.bulk[taker];
                let sent = if is_of_other { Bulk::sent_of_other } else { Bulk::sent };
                sent(bulk, bytes, &mut self.strands, &mut shared.survey);
            }
        }
        shared.counts.frames += taken as u64;
        shared.counts.runs += u64::from(taken > 0);
        // Frames that the wire refuses go by another path.
        taken > 0 || self.strands.len() > 1
    }

    /// Cuts the first waiting frame in two, as it is longer than any path takes that answers. Returns whether it did.
    fn cut(&mut self, shared: &mut Shared, slot: Slot, longest: usize) -> bool {
        let len = shared.sending.frame(slot).len();
        let keep = longest - HEADER - RECORD;
        // One slot is left for HELLO. While a peer has frames in flight it does not take the last slots: pieces that
        // are lost may have to be cut again for a path that is shorter still (found by the simulation, seed 173124).
        let left = shared.sending.left().saturating_sub(shared.kept);
        let is_short = left <= SPARE && !self.nothing_moves() || left <= 1;
        let Some(rest) = (!is_short).then(|| shared.sending.take(len - keep)).flatten() else {
            mark(Mark::NotCut);
            return false;
        };
        mark(Mark::Cut);
        let (record, _) = Record::read(&shared.sending.frame(slot)[HEADER..]).expect("we wrote it");
        let tail = Record { offset: record.offset + keep as u16, ..record };
        shared.sending.move_end(slot, longest, rest, HEADER + RECORD);
        tail.write(&mut shared.sending.frame_mut(rest)[HEADER..HEADER + RECORD]);
        shared.sending.insert_after(&mut self.waiting, slot, rest);
        self.slots += 1;
        true
    }

    /// Sends the acknowledgement that is to go alone.
    fn reply(&mut self, shared: &mut Shared, at: usize, now_ns: u64, wire: &mut dyn Wire) {
        let (peer, stop, strand) = (self.peer, self.stop(), &mut self.strands[at]);
        let route = strand.route;
        let Some((theirs, path)) = strand.open_mut() else { return };
        let Some(reply) = path.poll_reply(now_ns) else { return };
        shared.counts.acks += 1;
        let mut payload = [0; ACK_MAX];
        let len = ack::write(&reply.ack, &mut payload);
        let head = Head {
            kind: Kind::Ack,
            flags: reply.flags | stop,
            path: theirs,
            sequence: Seq(0),
            expected: reply.ack.expected,
            credit: path.credit(shared.room(route), reply.ack.end()),
            open: 0,
        };
        let header = head.write(&shared.key, ends(shared.me, peer), &payload[..len], Cover::All);
        let mut bytes = [0; HEADER + ACK_MAX];
        bytes[..HEADER].copy_from_slice(&header);
        bytes[HEADER..HEADER + len].copy_from_slice(&payload[..len]);
        if wire.send(peer, route, &[IoSlice::new(&bytes[..HEADER + len])]) == 0 {
            mark(Mark::AckRefused);
            path.tell_soon(now_ns);
        }
    }

    /// Makes owed acknowledgements due at once.
    pub fn acknowledge(&mut self) {
        self.strands.iter_mut().filter_map(Strand::path_mut).for_each(Path::acknowledge);
    }

    /// The time at which `transmit` has something to do, if nothing arrives before.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.strands.iter().filter_map(Strand::deadline_ns).min()
    }

    /// Releases all memory of a peer that is gone.
    pub fn forget(self, shared: &mut Shared) {
        if self.slots > 0 || !self.reassembly.is_empty() {
            mark(Mark::Forgotten);
        }
        for strand in self.strands {
            let room = &mut shared.rooms[usize::from(strand.route.ours)];
            let under_way = strand.give_up(&shared.sending, room);
            shared.sending.give_all(under_way);
        }
        shared.sending.give_all(self.waiting);
        shared.kept += shared.parties.forget(self.peer);
        if shared.sending.left() == shared.sending.slots() {
            shared.survey.rest();
        }
        self.reassembly.forget(&mut shared.holding);
    }
}

/// The length of the longest frame in a queue, in bytes; 0 if there is none.
fn longest(sending: &Pool, queue: &Queue) -> usize {
    sending.each(queue).map(|slot| sending.frame(slot).len()).max().unwrap_or(0)
}

/// The record of a frame that we wrote.
fn frame_record(frame: &[u8]) -> Record {
    Record::read(&frame[HEADER..]).expect("we wrote it").0
}

fn data(credit: u16, path: u32, numbers: &Numbers, flags: Flags) -> Head {
    let &Numbers { sequence, open, expected } = numbers;
    Head { kind: Kind::Data, flags, path, sequence, expected, credit, open }
}

/// Writes the header of a frame whose payload lies in its slot.
fn write_data(shared: &mut Shared, slot: Slot, head: &Head, ends: Ends, cover: Cover) {
    let bytes = shared.sending.frame_mut(slot);
    let (front, payload) = bytes.split_at_mut(HEADER);
    front.copy_from_slice(&head.write(&shared.key, ends, payload, cover));
}
