//! The port of one lane of a further user (a user of the transport other than MPI). It does the additional work that
//! packets of such a user need.
//!
//! Before it sends, the port checks that the peer's user is open and has given credit (`user_table`). It takes memory
//! from its user's share of link's memory, and counts the packets that its user has taken, so that the peer gets
//! credit. The first user's ports (`device`) know nothing of this. Used by `transport`; uses the state of `device`,
//! and `user_table`.

use crate::device::{DeviceState, EtherPort, PACKET_MAX_BYTES, lock};
use crate::direct::LinkOrder;
use crate::endpoint::RUN_BYTES;
use crate::message::{HEADER, PacketMessage, class_of, send_error};
use hawser_base::{Peer, UserMem};
use hawser_device::{
    AtomicRequest, CompletionToken, Delivery, DevicePort, Header, PayloadSource, RemoteError, RemoteKey, SendError,
    Submitted, WriteSource,
};
use hawser_link::{MessageClass, ShareId};

/// The port of one lane.
pub struct UserPort {
    port: EtherPort,
    /// The index of its user, and the user's share of memory.
    user_index: usize,
    share: ShareId,
}

impl UserPort {
    /// Opens the port. None: no user has opened the lane.
    pub fn new(port: EtherPort) -> Option<UserPort> {
        let (user_index, share) = lock(&port.state).users.user_of_lane(port.lane)?;
        Some(UserPort { port, user_index, share })
    }

    /// Accepts a packet, which `transmit` sends.
    fn accept_packet(
        &self,
        state: &mut DeviceState,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> Result<(), SendError> {
        state.ensure_connected(to)?;
        let lane = self.port.lane;
        let class = class_of(&source, order_free);
        let mut writer = PacketMessage::new(header, prefix, source).with_order(LinkOrder::Unordered);
        let total = writer.total();
        let reservation = state.reservations[lane].take();
        let is_reserved =
            class != MessageClass::Control && reservation.as_ref().is_some_and(|kept| kept.is_for(to.0, total));
        let DeviceState { users, endpoint, .. } = state;
        let permission = users.may_send(self.user_index, to.0, class == MessageClass::Control, is_reserved, endpoint);
        let write = |at: usize, into: &mut [u8]| writer.write(at, into);
        let result = match reservation {
            Some(reservation) if is_reserved && permission.is_ok() => {
                endpoint.send_reserved(reservation, lane.0, total, class, write)
            }
            reservation => {
                reservation.into_iter().for_each(|reservation| endpoint.release(reservation));
                permission?;
                endpoint.send_of(self.share, (to.0, lane.0), total, class, write)
            }
        };
        result.map_err(send_error)?;
        users.count_sent(self.user_index, to.0);
        Ok(())
    }
}

impl DevicePort for UserPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        let mut state = lock(&self.port.state);
        let result = self.accept_packet(&mut state, to, header, prefix, source, false);
        // Transmit even if the packet was refused: an OPEN_REQUEST to the peer may have to be sent.
        state.transmit();
        result
    }

    fn piece_len(&mut self, to: Peer, total: usize) -> Option<usize> {
        self.port.piece_len(to, total)
    }

    fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> Result<(), SendError> {
        let mut state = lock(&self.port.state);
        let bytes = source.len();
        let result = self.accept_packet(&mut state, to, header, prefix, source, order_free);
        state.unsent_bytes += bytes;
        if result.is_err() || state.unsent_bytes >= RUN_BYTES {
            state.flush_pieces();
        }
        result
    }

    fn flush_pieces(&mut self) {
        self.port.flush_pieces();
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let mut state = lock(&self.port.state);
        let (lane, share) = (self.port.lane, self.share);
        state.release_reservation(lane);
        if state.ensure_connected(to).is_err() {
            return false;
        }
        let DeviceState { users, endpoint, .. } = &mut *state;
        let may_send = users.may_send(self.user_index, to.0, false, false, endpoint).is_ok();
        let reservation = match may_send {
            true if len > PACKET_MAX_BYTES => {
                return endpoint.check_send_of(share, to.0, HEADER + len, MessageClass::Payload).is_ok();
            }
            true => endpoint.reserve_of(share, to.0, HEADER + len).ok(),
            false => None,
        };
        let is_reserved = reservation.is_some();
        state.reservations[lane] = reservation;
        state.transmit();
        is_reserved
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let lane = self.port.lane;
        let mut state = lock(&self.port.state);
        state.release_reservation(lane);
        let mut count = 0;
        while let Some((from, header, bytes)) = state.inboxes[lane].pop() {
            state.users.count_taken(from.0, lane);
            state.inboxes[lane].deliver((from, header, bytes), delivery);
            count += 1;
        }
        count += state.inboxes[lane].deliver_all(delivery);
        count += state.receive(Some(lane), delivery);
        // The inbox is empty now: all packets of a peer are delivered before its end is reported.
        state.peer_drain.report(lane, delivery);
        count
    }

    fn is_poll_costly(&self) -> bool {
        self.port.is_poll_costly()
    }

    /// Polls all peers: the frames of one peer cannot be received apart from those of others.
    fn poll_from(&mut self, _: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }

    fn write(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        ticket: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.port.write(to, key, at, source, ticket)
    }

    fn read(
        &mut self,
        from: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        ticket: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.port.read(from, key, at, into, ticket)
    }

    fn atomic(
        &mut self,
        to: Peer,
        key: &RemoteKey,
        at: u64,
        atomic: AtomicRequest,
        ticket: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.port.atomic(to, key, at, atomic, ticket)
    }

    fn flush(&mut self, to: Peer, ticket: CompletionToken) -> Result<Submitted, RemoteError> {
        self.port.flush(to, ticket)
    }
}
