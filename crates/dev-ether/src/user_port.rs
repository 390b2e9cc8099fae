//! The port of one lane of a further user: what its packets need beyond those of the first user.
//!
//! It requests permission before it sends (`users`), uses its user's share of link's memory, and reports the packets
//! that it has taken. The first user's ports (`device`) know nothing of it. Used by `transport`; uses the state of
//! `device`, and `users`.

use crate::device::{LanePort, PACKET, State, lock};
use crate::endpoint::RUN_BYTES;
use crate::message::{HEADER, Outgoing, class_of, refusal};
use hawser_base::{Peer, UserMem};
use hawser_device::{Atomic, Bytes, Delivery, Fault, Header, Port, Refusal, RemoteKey, Source, Taken, Ticket};
use hawser_link::{Class, Party};

/// The port of one lane.
pub struct UserPort {
    port: LanePort,
    /// The index of its user, and the user's share of memory.
    place: usize,
    party: Party,
}

impl UserPort {
    /// Opens it. None: no user has opened the lane.
    pub fn new(port: LanePort) -> Option<UserPort> {
        let (place, party) = lock(&port.state).users.of(port.lane)?;
        Some(UserPort { port, place, party })
    }

    /// Accepts a packet, which `transmit` sends.
    fn take(
        &self,
        state: &mut State,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: Source<'_>,
        placed: bool,
    ) -> Result<(), Refusal> {
        state.reach(to)?;
        let lane = self.port.lane;
        let class = class_of(&source, placed);
        let mut writer = Outgoing::new(header, prefix, source);
        let total = writer.total();
        let kept = state.kept[lane].take();
        let is_kept = class != Class::Control && kept.as_ref().is_some_and(|kept| kept.is_for(to.0, total));
        let State { users, endpoint, .. } = state;
        let may = users.may_send(self.place, to.0, class == Class::Control, is_kept, endpoint);
        let write = |at: usize, into: &mut [u8]| writer.write(at, into);
        let taken = match kept {
            Some(kept) if is_kept && may.is_ok() => endpoint.send_kept(kept, lane.0, total, class, write),
            kept => {
                kept.into_iter().for_each(|kept| endpoint.give_back(kept));
                may?;
                endpoint.send_of(self.party, (to.0, lane.0), total, class, write)
            }
        };
        taken.map_err(refusal)?;
        users.sent(self.place, to.0);
        Ok(())
    }
}

impl Port for UserPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        let mut state = lock(&self.port.state);
        let taken = self.take(&mut state, to, header, prefix, source, false);
        // Send also the request to the peer, if the packet was refused for that.
        state.transmit();
        taken
    }

    fn piece(&mut self, to: Peer, total: usize) -> Option<usize> {
        self.port.piece(to, total)
    }

    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: Source<'_>,
        placed: bool,
    ) -> Result<(), Refusal> {
        let mut state = lock(&self.port.state);
        let bytes = source.len();
        let taken = self.take(&mut state, to, header, prefix, source, placed);
        state.kept_back += bytes;
        if taken.is_err() || state.kept_back >= RUN_BYTES {
            state.push();
        }
        taken
    }

    fn push(&mut self) {
        self.port.push();
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let mut state = lock(&self.port.state);
        let (lane, party) = (self.port.lane, self.party);
        state.give_back(lane);
        if state.reach(to).is_err() {
            return false;
        }
        let State { users, endpoint, .. } = &mut *state;
        let may = users.may_send(self.place, to.0, false, false, endpoint).is_ok();
        let kept = match may {
            true if len > PACKET => return endpoint.has_room_of(party, to.0, HEADER + len, Class::Payload).is_ok(),
            true => endpoint.keep_of(party, to.0, HEADER + len).ok(),
            false => None,
        };
        let is_kept = kept.is_some();
        state.kept[lane] = kept;
        state.transmit();
        is_kept
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let lane = self.port.lane;
        let mut state = lock(&self.port.state);
        state.give_back(lane);
        let mut count = 0;
        while let Some((from, header, bytes)) = state.inboxes[lane].pop() {
            state.users.took(from.0, lane);
            state.inboxes[lane].deliver((from, header, bytes), delivery);
            count += 1;
        }
        count += state.inboxes[lane].deliver_all(delivery);
        count += state.receive(Some(lane), delivery);
        // The inbox is empty now: all packets of a peer are delivered before its end is reported.
        state.parting.tell(lane, delivery);
        count
    }

    /// Polls all peers: the frames of one peer cannot be received apart from those of others.
    fn poll_from(&mut self, _: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }

    fn write(&mut self, to: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, ticket: Ticket) -> Result<Taken, Fault> {
        self.port.write(to, key, at, source, ticket)
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: Ticket,
    ) -> Result<Taken, Fault> {
        self.port.read(from, key, at, into, ticket)
    }

    fn atomic(&mut self, to: Peer, key: &RemoteKey, at: u64, atomic: Atomic, ticket: Ticket) -> Result<Taken, Fault> {
        self.port.atomic(to, key, at, atomic, ticket)
    }

    fn flush(&mut self, to: Peer, ticket: Ticket) -> Result<Taken, Fault> {
        self.port.flush(to, ticket)
    }
}
