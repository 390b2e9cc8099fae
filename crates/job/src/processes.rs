//! The membership of the job's universe, as the segment of a host records it: which process has which number, on
//! which host it is, and in which local slot if it is on this host. A number and a slot can be assigned to a process
//! that joins later, released and assigned again.
//!
//! This module never waits and sends nothing. The records are written only by the host's first process, except that
//! each process confirms releases itself; every process of the host reads them. Names are `Peer`s: the number of a
//! process and the incarnation of that number. The data of a process are written before its name becomes visible.
//! Used by `host` and the devices; uses `segment`.
//!
//! ```text
//! joins:  the host's first process `reserve_local_slot`s it in a free slot (or `add_remote`s it, of another host) ->
//!         it starts, clears what its device has there, publishes -> `announce`: from now on it is found by its name
//! leaves: its end is reported -> `request_release` -> each process here releases what it keeps of it and
//!         `confirm_release`s -> `is_released` -> `remove_process`: the slot is free, its name finds no process, its
//!         number can be assigned again
//! ```

use crate::RankPage;
use crate::layout::SegmentLayout;
use crate::segment::Segment;
use hawser_base::{Class, Error, Peer, Result};
use hawser_os::memfd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The entry, in the table of incarnations, of a number that no process has any more; the next process with that
/// number begins the next incarnation. Any other entry is the present incarnation plus one, or 0 if it is unchanged
/// since the start.
const VACANT: u32 = u32::MAX;
/// The entry, in the table of local slots, of a process that is on another host.
pub(crate) const ON_OTHER_HOST: u32 = u32::MAX;

impl Segment {
    /// Returns the process that has a number now, if any.
    fn process_of_number(&self, number: usize) -> Option<Peer> {
        if number >= self.layout().numbers {
            return None;
        }
        // Pairs with the Release in `announce`: a process that sees the incarnation sees the data of the announced
        // process.
        match self.word(self.layout().incarnations() + 4 * number).load(Acquire) {
            0 if number < self.world_size() => Some(Peer::new(number, 0)),
            0 | VACANT => None,
            life if life <= Peer::INCARNATIONS => Some(Peer::new(number, life - 1)),
            _ => None, // any value that a process has written there
        }
    }

    /// Returns whether this is a process of the job, on any host, that was announced and not removed.
    pub fn is_known(&self, peer: Peer) -> bool {
        self.process_of_number(peer.index()) == Some(peer)
    }

    /// Returns the process in a local slot of this host; None if the slot is free. The ranks with which the job began
    /// on this host have the first slots.
    pub fn process_in(&self, slot: usize) -> Option<Peer> {
        let word = |slot: usize| self.word(self.layout().process_names() + 4 * slot).load(Relaxed);
        (slot < self.local_slots()).then(|| Peer(word(slot))).filter(|&name| name != Peer::NONE)
    }

    /// Returns the local slot of a process; None if it is on another host, or unknown.
    pub fn local_slot_of(&self, peer: Peer) -> Option<usize> {
        if !self.is_known(peer) {
            return None;
        }
        let slot = self.word(self.layout().local_slot_indices() + 4 * peer.index()).load(Relaxed);
        ((slot as usize) < self.local_slots()).then_some(slot as usize)
    }

    /// Returns whether a process has joined since the start: other processes may have used its slot and its number
    /// before.
    pub fn joined_late(&self, peer: Peer) -> bool {
        peer.incarnation() > 0 || peer.index() >= self.world_size()
    }

    /// Reserves a free local slot for a process that has not started, whose name no other process has or had. The
    /// process is not known before it is announced. The error is Class::NoMem if all slots are taken, and Class::Arg
    /// if there is no such number or the number is taken.
    pub fn reserve_local_slot(&self, peer: Peer, host: u32) -> Result<usize> {
        self.check_free(peer)?;
        let slot = (0..self.local_slots())
            .find(|&room| self.process_in(room).is_none())
            .ok_or_else(|| self.no_local_slot())?;
        self.clear_local_slot(slot)?;
        self.assign(peer, host, slot as u32);
        self.word(self.layout().process_names() + 4 * slot).store(peer.0, Relaxed);
        Ok(slot)
    }

    /// Adds a process of another host, with its business card. Such a process needs no slot here, and is known at
    /// once. The error is Class::Arg if there is no such number, if the number is taken, or if the card does not fit.
    pub fn add_remote(&self, peer: Peer, host: u32, business_card: &[u8]) -> Result<()> {
        self.check_free(peer)?;
        self.assign(peer, host, ON_OTHER_HOST);
        if !self.set_business_card(peer, business_card) {
            let text = format!("the business card of process {peer} cannot be stored: {} bytes", business_card.len());
            return Err(Error::new(Class::Arg, text));
        }
        self.announce(peer);
        Ok(())
    }

    fn check_free(&self, peer: Peer) -> Result<()> {
        let (number, numbers) = (peer.index(), self.layout().numbers);
        if number < numbers && self.process_of_number(number).is_none() {
            return Ok(());
        }
        let text = format!("process {peer} cannot join the job: its number is in use, or not below {numbers}");
        Err(Error::new(Class::Arg, text))
    }

    #[cold]
    fn no_local_slot(&self) -> Error {
        let text = format!(
            "all {} local slots of host {} are in use; end a process there, or start the job with more of them",
            self.local_slots(),
            self.host()
        );
        Error::new(Class::NoMem, text)
    }

    fn assign(&self, peer: Peer, host: u32, slot: u32) {
        let SegmentLayout { numbers, .. } = self.layout();
        assert!(peer.index() < numbers);
        self.word(self.layout().hosts() + 4 * peer.index()).store(host, Relaxed);
        self.word(self.layout().local_slot_indices() + 4 * peer.index()).store(slot, Relaxed);
        self.drop_business_card(peer);
    }

    /// Zeroes a local slot's pages and arena, so that nothing of its former process is left. The devices must clean
    /// their parts of the slot themselves.
    fn clear_local_slot(&self, slot: usize) -> Result<()> {
        let (plan, fd) = (self.layout(), self.live_fd()?);
        let punch = |at: u64, len: u64| memfd::punch_hole(fd, at, len);
        punch(plan.rank_page(slot) as u64, RankPage::BYTES as u64)
            .and_then(|()| if plan.arena > 0 { punch(plan.arena(slot), plan.arena) } else { Ok(()) })
            .map_err(|error| Error::new(Class::Other, error.to_string()))
    }

    /// Makes a process known: from now on all processes of this host can send to it. To be called after the process
    /// has cleaned its devices' parts of its slot.
    pub fn announce(&self, peer: Peer) {
        // Pairs with the Acquire in `process_of_number`.
        self.word(self.layout().incarnations() + 4 * peer.index()).store(peer.incarnation() + 1, Release);
    }

    /// Requests all processes of this host to release everything that they keep of a process that has ended. Only the
    /// host's first process may call it, for one process at a time, and must ring afterwards.
    pub fn request_release(&self, peer: Peer) {
        // Pairs with the Acquire in `requested_release`.
        self.release_word().store(peer.0 ^ Peer::NONE.0, Release);
    }

    /// Returns the process to release, which is that of the last request; None if there was no request.
    pub fn requested_release(&self) -> Option<Peer> {
        // Pairs with the Release in `request_release`.
        let requested = Peer(self.release_word().load(Acquire) ^ Peer::NONE.0);
        (requested != Peer::NONE).then_some(requested)
    }

    /// Returns whether every living process of this host has released the process of the last request, if that is
    /// `peer`. A process that joins later then finds nothing of `peer` here.
    pub fn is_released(&self, peer: Peer) -> bool {
        let owes = |slot: usize| {
            let page = self.rank(slot);
            let is_there = |&other: &Peer| other != peer && !self.exit_log().has_ended(other);
            let is_there = self.process_in(slot).filter(is_there).is_some();
            is_there && page.last_released() != Some(peer)
        };
        self.requested_release() == Some(peer) && !(0..self.local_slots()).any(owes)
    }

    /// Removes the name and the local slot of a process that all hosts have released: its number can be assigned
    /// again, with the next incarnation.
    pub fn remove_process(&self, peer: Peer) {
        let slot = self.local_slot_of(peer);
        // Pairs with the Acquire in `process_of_number`.
        self.word(self.layout().incarnations() + 4 * peer.index()).store(VACANT, Release);
        if let Some(slot) = slot {
            self.word(self.layout().process_names() + 4 * slot).store(Peer::NONE.0, Relaxed);
        }
    }

    /// Returns the number of the host of a process that is known.
    pub fn host_of(&self, peer: Peer) -> u32 {
        assert!(peer.index() < self.layout().numbers);
        self.word(self.layout().hosts() + 4 * peer.index()).load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExitKind;
    use crate::segment::SegmentSpec;

    /// Makes a segment: ranks 1 and 3 of a job of four are here; there is one more local slot, and two more numbers.
    fn segment() -> Segment {
        let spec = SegmentSpec {
            world: 4,
            world_ranks: vec![1, 3],
            spare_local_slots: 1,
            spare_numbers: 2,
            ..SegmentSpec::alone("a", "j")
        };
        Segment::create(&spec).unwrap()
    }

    #[test]
    fn a_process_is_known_when_it_is_announced_and_its_name_finds_nobody_after_it_was_vacated() {
        let segment = segment();
        let new = Peer(4);
        assert!(!segment.is_known(new) && segment.process_in(2).is_none());
        assert_eq!(segment.reserve_local_slot(new, 7).unwrap(), 2);
        assert_eq!((segment.process_in(2), segment.local_slot_of(new)), (Some(new), None), "not announced yet");
        segment.announce(new);
        assert_eq!((segment.local_slot_of(new), segment.host_of(new), segment.joined_late(new)), (Some(2), 7, true));
        assert_eq!(segment.reserve_local_slot(Peer(5), 7).unwrap_err().class(), Class::NoMem);
        assert_eq!(segment.reserve_local_slot(new, 7).unwrap_err().class(), Class::Arg);
        segment.rank(2).set_pid(4711);
        segment.remove_process(new);
        assert!(!segment.is_known(new) && segment.local_slot_of(new).is_none() && segment.process_in(2).is_none());
        let next = new.successor().unwrap();
        assert_eq!((segment.reserve_local_slot(next, 7).unwrap(), segment.rank(2).pid()), (2, 0), "the slot is clean");
        segment.announce(next);
        assert_eq!((segment.local_slot_of(next), segment.local_slot_of(new)), (Some(2), None));
    }

    #[test]
    fn a_process_of_another_host_has_a_card_and_no_room() {
        let segment = segment();
        segment.add_remote(Peer(5), 9, b"card").unwrap();
        let found = (segment.is_known(Peer(5)), segment.local_slot_of(Peer(5)), segment.host_of(Peer(5)));
        assert_eq!((found, segment.business_card(Peer(5))), ((true, None, 9), Some(b"card".to_vec())));
        segment.remove_process(Peer(5));
        assert_eq!(segment.business_card(Peer(5)), None);
        for taken in [Peer(0), Peer(3), Peer(6), Peer::NONE] {
            assert_eq!(segment.add_remote(taken, 9, b"x").unwrap_err().class(), Class::Arg, "{taken}");
        }
        let next = Peer(5).successor().unwrap();
        segment.add_remote(next, 9, b"other").unwrap();
        assert_eq!((segment.business_card(next), segment.business_card(Peer(5))), (Some(b"other".to_vec()), None));
    }

    #[test]
    fn a_number_of_the_start_is_given_away_again_too() {
        let segment = segment();
        segment.remove_process(Peer(3));
        assert!(!segment.is_known(Peer(3)) && segment.process_in(1).is_none());
        let next = Peer(3).successor().unwrap();
        assert_eq!(segment.reserve_local_slot(next, 0).unwrap(), 1);
        segment.announce(next);
        assert!(segment.is_known(next) && segment.joined_late(next) && !segment.is_known(Peer(3)));
    }

    #[test]
    fn all_that_live_here_answer_before_a_process_is_given_back() {
        let segment = segment();
        segment.reserve_local_slot(Peer(4), 0).unwrap();
        segment.announce(Peer(4));
        segment.record_exit(Peer(4), ExitKind::InOrder);
        assert!(segment.requested_release().is_none() && !segment.is_released(Peer(4)), "no release was requested");
        segment.request_release(Peer(4));
        assert_eq!(segment.requested_release(), Some(Peer(4)));
        segment.rank(0).confirm_release(Peer(4));
        assert!(!segment.is_released(Peer(4)));
        segment.rank(1).confirm_release(Peer(2));
        assert!(!segment.is_released(Peer(4)), "it has confirmed another one");
        segment.record_exit(Peer(3), ExitKind::InOrder);
        assert!(segment.is_released(Peer(4)), "a process that has ended too keeps nothing");
    }
}
