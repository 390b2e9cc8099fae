//! The receivers of a lane: packets name their protocol, and each protocol has one receiver.
//!
//! Messages between processes (`p2p`) are the protocol of the channel's poller; windows, PM, Madeleine and others
//! register their own. A packet of a protocol without a receiver goes to the poller, which counts it as a stray. Used
//! by `channel`; calls the receivers.

use hawser_base::Peer;
use hawser_device::{Delivery, Fault, Header, Payload, Protocol, Ticket};

/// Receives the packets of one protocol on one lane.
pub trait Receiver: Send {
    /// Takes a packet of `from`. As in `Delivery::deliver` it must not send: it records packets to be sent later.
    fn receive(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);

    /// Called once when a peer is lost: no packet will come from it, and none will reach it.
    fn lost(&mut self, peer: Peer);

    /// Called when an operation on a peer's memory has ended whose ticket has this protocol (`Delivery::done`).
    fn done(&mut self, number: u32, outcome: Result<u64, Fault>) {
        unreachable!("operation {number} ends with {outcome:?}, and nothing was in flight")
    }
}

/// The receivers of a lane, indexed by protocol number.
#[derive(Default)]
pub(crate) struct Receivers([Option<Box<dyn Receiver>>; Protocol::COUNT]);

impl Receivers {
    /// Adds a receiver. False: the protocol has one, or is the poller's.
    pub fn add(&mut self, protocol: Protocol, receiver: Box<dyn Receiver>) -> bool {
        let seat = &mut self.0[protocol.index()];
        let is_free = protocol != Protocol::MESSAGES && seat.is_none();
        if is_free {
            *seat = Some(receiver);
        }
        is_free
    }
}

/// Delivers each packet to the receiver of its protocol.
pub(crate) struct Sorted<'a> {
    pub receivers: &'a mut Receivers,
    pub messages: &'a mut dyn Delivery,
}

impl Delivery for Sorted<'_> {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        match &mut self.receivers.0[header.protocol().index()] {
            Some(receiver) => receiver.receive(from, header, payload),
            None => self.messages.deliver(from, header, payload),
        }
    }

    fn expects(&self, from: Peer) -> bool {
        self.messages.expects(from)
    }

    fn lost(&mut self, peer: Peer) {
        self.receivers.0.iter_mut().flatten().for_each(|receiver| receiver.lost(peer));
        self.messages.lost(peer);
    }

    fn returned(&mut self, ticket: u32, taken: u64) {
        self.messages.returned(ticket, taken);
    }

    fn done(&mut self, ticket: Ticket, outcome: Result<u64, Fault>) {
        match &mut self.receivers.0[ticket.protocol.index()] {
            Some(receiver) => receiver.done(ticket.number, outcome),
            None => self.messages.done(ticket, outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fabric;
    use hawser_base::{Lane, Peers, UserMem};
    use hawser_device::{Loopback, Source};
    use std::sync::{Arc, Mutex};

    /// The packets that have arrived, by their header's `a`.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u32>>>);

    impl Receiver for Kept {
        fn receive(&mut self, _: Peer, header: Header, payload: &mut dyn Payload) {
            let mut byte = [0];
            payload.copy_to(UserMem::of_slice(&mut byte));
            assert_eq!(byte, [header.a as u8], "the payload belongs to its header");
            self.0.lock().unwrap().push(header.a);
        }
        fn lost(&mut self, peer: Peer) {
            self.0.lock().unwrap().push(1000 + peer.0);
        }
        fn done(&mut self, number: u32, outcome: Result<u64, Fault>) {
            assert_eq!(outcome, Ok(u64::from(number) + 1));
            self.0.lock().unwrap().push(2000 + number);
        }
    }

    impl Delivery for Kept {
        fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
            self.receive(from, header, payload);
        }
        fn lost(&mut self, peer: Peer) {
            Receiver::lost(self, peer);
        }
        fn done(&mut self, ticket: Ticket, outcome: Result<u64, Fault>) {
            Receiver::done(self, ticket.number, outcome);
        }
    }

    #[test]
    fn each_protocols_packets_come_to_its_receiver_in_order() {
        let fabric = Fabric::new(vec![Box::new(Loopback::new(Peer(0)))], &Peers::of(vec![Peer(0)])).unwrap();
        let mut channel = fabric.channel(Lane(0));
        let [mut messages, windows, taken] = [Kept::default(), Kept::default(), Kept::default()];
        let (window, free) = (Protocol::new(1), Protocol::new(15));
        assert!(channel.register(window, Box::new(windows.clone())));
        assert!(!channel.register(window, Box::new(taken.clone())), "a protocol has one receiver");
        assert!(!channel.register(Protocol::MESSAGES, Box::new(taken)), "that is for whoever polls");
        for (a, protocol) in [(1, window), (2, Protocol::MESSAGES), (3, window), (4, free), (5, Protocol::MESSAGES)] {
            let header = Header { kind: protocol.kind(7), a, ..Header::default() };
            let mut byte = [a as u8];
            assert!(channel.send(Peer(0), header, &[], Source::Mem(UserMem::of_slice(&mut byte))));
        }
        while channel.poll(&mut messages) > 0 || channel.poll_from(Peer(0), &mut messages) {}
        assert_eq!(*windows.0.lock().unwrap(), [1, 3]);
        assert_eq!(*messages.0.lock().unwrap(), [2, 4, 5], "one without a receiver is a stray of whoever polls");
        let mut receivers = Receivers::default();
        assert!(receivers.add(window, Box::new(windows.clone())));
        let mut sorted = Sorted { receivers: &mut receivers, messages: &mut messages };
        for (protocol, number) in [(window, 1), (Protocol::MESSAGES, 2), (free, 3)] {
            sorted.done(Ticket { protocol, number }, Ok(u64::from(number) + 1));
        }
        sorted.lost(Peer(9));
        assert_eq!(windows.0.lock().unwrap()[2..], [2001, 1009], "an operation ends at the receiver that began it");
        assert_eq!(messages.0.lock().unwrap()[3..], [2002, 2003, 1009]);
    }
}
