//! The membership of the job's universe, as the segment of a host records it: which process has a number, on which host
//! and in which local slot (`room`) of this one. A number and a slot can be given to a process that joins later, taken
//! back and given again.
//!
//! Nothing waits here and nothing is sent. The host's first process writes here, and no other, except for its own
//! answer; every process of the host reads. Names are `Peer`s: the number of a process and the incarnation (life) of
//! that number. The data of a process is written before its name becomes visible. Used by `host` and the devices; uses
//! `segment`.
//!
//! ```text
//! comes:  host's first process `seat`s it in a free room (or `adopt`s it, of another host) -> it starts, cleans
//!         what its device has there, publishes -> `announce`: from now on it is found by its name
//! goes:   its end is told -> `ask_back` -> each process here gives back what it keeps of it and `answer`s
//!         -> `is_given_back` -> `vacate`: the room is free, its name finds nobody, its number can be given again
//! ```

use crate::RankPage;
use crate::plan::Plan;
use crate::segment::Segment;
use hawser_base::{Class, Error, Peer, Result};
use hawser_os::memfd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The word of a number that no process has; the next process begins its next incarnation. Other words are the present
/// incarnation plus one; 0 means unchanged since the start.
const VACANT: u32 = u32::MAX;
/// The entry in the table of local slots of a process on another host.
pub(crate) const ELSEWHERE: u32 = u32::MAX;

impl Segment {
    /// Returns the process that has a number now, if any.
    fn holder(&self, number: usize) -> Option<Peer> {
        if number >= self.plan().numbers {
            return None;
        }
        // Pairs with the Release in `announce`: a process that sees the incarnation sees the data of that process.
        match self.word(self.plan().lives() + 4 * number).load(Acquire) {
            0 if number < self.world_size() => Some(Peer::new(number, 0)),
            0 | VACANT => None,
            life if life <= Peer::LIVES => Some(Peer::new(number, life - 1)),
            _ => None, // any value that a process has written there
        }
    }

    /// Returns whether this is a process of the job, on any host, that was announced and not given back.
    pub fn knows(&self, peer: Peer) -> bool {
        self.holder(peer.index()) == Some(peer)
    }

    /// Returns the process in a local slot of this host: its first ranks have the first slots.
    pub fn process_in(&self, room: usize) -> Option<Peer> {
        let word = |room: usize| self.word(self.plan().names() + 4 * room).load(Relaxed);
        (room < self.rooms()).then(|| Peer(word(room))).filter(|&name| name != Peer::NOBODY)
    }

    /// Returns the local slot of a process; none if it is on another host, or unknown.
    pub fn room_of(&self, peer: Peer) -> Option<usize> {
        if !self.knows(peer) {
            return None;
        }
        let room = self.word(self.plan().local_indices() + 4 * peer.index()).load(Relaxed);
        ((room as usize) < self.rooms()).then_some(room as usize)
    }

    /// Returns whether a process has joined since the start: others may have used its slot and its number before it.
    pub fn is_late(&self, peer: Peer) -> bool {
        peer.life() > 0 || peer.index() >= self.world_size()
    }

    /// Takes a free local slot for a process that has not started, whose name no other process has or had. The process
    /// is not known until it is announced. Class::NoMem: all slots are taken; Class::Arg: there is no such number, or
    /// it is taken.
    pub fn seat(&self, peer: Peer, host: u32) -> Result<usize> {
        self.check_free(peer)?;
        let room = (0..self.rooms()).find(|&room| self.process_in(room).is_none()).ok_or_else(|| self.no_room())?;
        self.clean(room)?;
        self.place(peer, host, room as u32);
        self.word(self.plan().names() + 4 * room).store(peer.0, Relaxed);
        Ok(room)
    }

    /// Adds a process of another host, with its card: it needs no slot here, and is known at once.
    pub fn adopt(&self, peer: Peer, host: u32, card: &[u8]) -> Result<()> {
        self.check_free(peer)?;
        self.place(peer, host, ELSEWHERE);
        if !self.set_card(peer, card) {
            return Err(Error::new(Class::Arg, format!("a card of {} bytes for process {peer}", card.len())));
        }
        self.announce(peer);
        Ok(())
    }

    fn check_free(&self, peer: Peer) -> Result<()> {
        let (number, numbers) = (peer.index(), self.plan().numbers);
        if number < numbers && self.holder(number).is_none() {
            return Ok(());
        }
        let text =
            format!("process {peer} cannot join the job: its number is taken, or above all {numbers} of the job");
        Err(Error::new(Class::Arg, text))
    }

    #[cold]
    fn no_room(&self) -> Error {
        let text = format!(
            "all {} rooms of host {} are taken; end a process there, or start the job with more of them",
            self.rooms(),
            self.host()
        );
        Error::new(Class::NoMem, text)
    }

    fn place(&self, peer: Peer, host: u32, room: u32) {
        let Plan { numbers, .. } = self.plan();
        assert!(peer.index() < numbers);
        self.word(self.plan().hosts() + 4 * peer.index()).store(host, Relaxed);
        self.word(self.plan().local_indices() + 4 * peer.index()).store(room, Relaxed);
        self.drop_card(peer);
    }

    /// Zeroes a local slot's page and arena, so that nothing of its former process is left. The devices' parts of it
    /// are theirs to clean.
    fn clean(&self, room: usize) -> Result<()> {
        let (plan, fd) = (self.plan(), self.live_fd()?);
        let punch = |at: u64, len: u64| memfd::punch_hole(fd, at, len);
        punch(plan.rank_page(room) as u64, RankPage::BYTES as u64)
            .and_then(|()| if plan.arena > 0 { punch(plan.arena(room), plan.arena) } else { Ok(()) })
            .map_err(|error| Error::new(Class::Other, error.to_string()))
    }

    /// Makes a process known: all of this host can send to it from now on. Call it after it has cleaned its devices'
    /// parts of its slot.
    pub fn announce(&self, peer: Peer) {
        // Pairs with the Acquire in `holder`.
        self.word(self.plan().lives() + 4 * peer.index()).store(peer.life() + 1, Release);
    }

    /// Requests all processes of this host to release everything that they keep of one that has ended. For the host's
    /// first process, which must ring afterwards; one at a time.
    pub fn ask_back(&self, peer: Peer) {
        // Pairs with the Acquire in `asked_back`.
        self.asked_word().store(peer.0 ^ Peer::NOBODY.0, Release);
    }

    /// Returns the process to release; none if none was ever requested.
    pub fn asked_back(&self) -> Option<Peer> {
        // Pairs with the Release in `ask_back`.
        let asked = Peer(self.asked_word().load(Acquire) ^ Peer::NOBODY.0);
        (asked != Peer::NOBODY).then_some(asked)
    }

    /// Returns whether every living process of this host has released the process: nothing that joins later can meet
    /// anything of it here.
    pub fn is_given_back(&self, peer: Peer) -> bool {
        let owes = |room: usize| {
            let page = self.rank(room);
            let is_there = |&other: &Peer| other != peer && !self.lives().has_ended(other);
            let is_there = self.process_in(room).filter(is_there).is_some();
            is_there && page.given_back() != Some(peer)
        };
        self.asked_back() == Some(peer) && !(0..self.rooms()).any(owes)
    }

    /// Takes name and local slot from a process that all hosts have released: its number can be given away again, with
    /// the next incarnation.
    pub fn vacate(&self, peer: Peer) {
        let room = self.room_of(peer);
        // Pairs with the Acquire in `holder`.
        self.word(self.plan().lives() + 4 * peer.index()).store(VACANT, Release);
        if let Some(room) = room {
            self.word(self.plan().names() + 4 * room).store(Peer::NOBODY.0, Relaxed);
        }
    }

    /// Returns the number of the host of a process that is known.
    pub fn host_of(&self, peer: Peer) -> u32 {
        assert!(peer.index() < self.plan().numbers);
        self.word(self.plan().hosts() + 4 * peer.index()).load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::segment::Spec;

    /// Makes a segment: ranks 1 and 3 of a job of four are here; there is one more local slot, and two more numbers.
    fn segment() -> Segment {
        let spec =
            Spec { world: 4, world_ranks: vec![1, 3], spare_rooms: 1, spare_numbers: 2, ..Spec::alone("a", "j") };
        Segment::create(&spec).unwrap()
    }

    #[test]
    fn a_process_is_known_when_it_is_announced_and_its_name_finds_nobody_after_it_was_vacated() {
        let segment = segment();
        let new = Peer(4);
        assert!(!segment.knows(new) && segment.process_in(2).is_none());
        assert_eq!(segment.seat(new, 7).unwrap(), 2);
        assert_eq!((segment.process_in(2), segment.room_of(new)), (Some(new), None), "not announced yet");
        segment.announce(new);
        assert_eq!((segment.room_of(new), segment.host_of(new), segment.is_late(new)), (Some(2), 7, true));
        assert_eq!(segment.seat(Peer(5), 7).unwrap_err().class(), Class::NoMem);
        assert_eq!(segment.seat(new, 7).unwrap_err().class(), Class::Arg);
        segment.rank(2).set_pid(4711);
        segment.vacate(new);
        assert!(!segment.knows(new) && segment.room_of(new).is_none() && segment.process_in(2).is_none());
        let next = new.successor().unwrap();
        assert_eq!((segment.seat(next, 7).unwrap(), segment.rank(2).pid()), (2, 0), "the room is clean");
        segment.announce(next);
        assert_eq!((segment.room_of(next), segment.room_of(new)), (Some(2), None));
    }

    #[test]
    fn a_process_of_another_host_has_a_card_and_no_room() {
        let segment = segment();
        segment.adopt(Peer(5), 9, b"card").unwrap();
        let found = (segment.knows(Peer(5)), segment.room_of(Peer(5)), segment.host_of(Peer(5)));
        assert_eq!((found, segment.card(Peer(5))), ((true, None, 9), Some(b"card".to_vec())));
        segment.vacate(Peer(5));
        assert_eq!(segment.card(Peer(5)), None);
        for taken in [Peer(0), Peer(3), Peer(6), Peer::NOBODY] {
            assert_eq!(segment.adopt(taken, 9, b"x").unwrap_err().class(), Class::Arg, "{taken}");
        }
        let next = Peer(5).successor().unwrap();
        segment.adopt(next, 9, b"other").unwrap();
        assert_eq!((segment.card(next), segment.card(Peer(5))), (Some(b"other".to_vec()), None));
    }

    #[test]
    fn a_number_of_the_start_is_given_away_again_too() {
        let segment = segment();
        segment.vacate(Peer(3));
        assert!(!segment.knows(Peer(3)) && segment.process_in(1).is_none());
        let next = Peer(3).successor().unwrap();
        assert_eq!(segment.seat(next, 0).unwrap(), 1);
        segment.announce(next);
        assert!(segment.knows(next) && segment.is_late(next) && !segment.knows(Peer(3)));
    }

    #[test]
    fn all_that_live_here_answer_before_a_process_is_given_back() {
        let segment = segment();
        segment.seat(Peer(4), 0).unwrap();
        segment.announce(Peer(4));
        segment.set_ended(Peer(4), Ending::InOrder);
        assert!(segment.asked_back().is_none() && !segment.is_given_back(Peer(4)), "nobody was asked");
        segment.ask_back(Peer(4));
        assert_eq!(segment.asked_back(), Some(Peer(4)));
        segment.rank(0).answer(Peer(4));
        assert!(!segment.is_given_back(Peer(4)));
        segment.rank(1).answer(Peer(2));
        assert!(!segment.is_given_back(Peer(4)), "it has answered for another one");
        segment.set_ended(Peer(3), Ending::InOrder);
        assert!(segment.is_given_back(Peer(4)), "who has ended too keeps nothing");
    }
}
