//! The receivers of a lane: packets name their protocol, and each protocol has one receiver.
//!
//! Messages between processes (`p2p`) are the protocol of the channel's poller. The receiver of any other protocol
//! must be registered (`Channel::register_receiver`); that is meant for windows, PM and Madeleine, and only tests do
//! so as yet. A packet of a protocol without a receiver goes to the poller, which counts it as invalid. Used by
//! `channel`; calls the receivers.

use hawser_base::Peer;
use hawser_device::{CompletionToken, Delivery, Header, Payload, Protocol, RemoteError};

/// Receives the packets of one protocol on one lane.
pub trait Receiver: Send {
    /// Takes a packet of `from`. As in `Delivery::deliver` it must not send: it records packets to be sent later.
    fn receive(&mut self, from: Peer, header: Header, payload: &mut dyn Payload);

    /// Called once when a peer has failed or ended: no packet will come from it, and none will reach it.
    fn peer_failed(&mut self, peer: Peer);

    /// Called when an operation on a peer's memory has ended, if the operation's token has this protocol
    /// (`Delivery::op_completed`).
    fn op_completed(&mut self, number: u32, outcome: Result<u64, RemoteError>) {
        unreachable!("operation {number} ends with {outcome:?}, and nothing was in flight")
    }
}

/// The receivers of a lane, indexed by protocol number.
#[derive(Default)]
pub(crate) struct Receivers([Option<Box<dyn Receiver>>; Protocol::COUNT]);

impl Receivers {
    /// Adds a receiver. Returns false if the protocol has a receiver already, or is that of the poller.
    pub fn add(&mut self, protocol: Protocol, receiver: Box<dyn Receiver>) -> bool {
        let slot = &mut self.0[protocol.index()];
        let is_free = protocol != Protocol::MESSAGES && slot.is_none();
        if is_free {
            *slot = Some(receiver);
        }
        is_free
    }
}

/// Delivers each packet to the receiver of its protocol.
pub(crate) struct Demux<'a> {
    pub receivers: &'a mut Receivers,
    pub messages: &'a mut dyn Delivery,
}

impl Delivery for Demux<'_> {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        match &mut self.receivers.0[header.protocol().index()] {
            Some(receiver) => receiver.receive(from, header, payload),
            None => self.messages.deliver(from, header, payload),
        }
    }

    fn expects(&self, from: Peer) -> bool {
        self.messages.expects(from)
    }

    fn peer_failed(&mut self, peer: Peer) {
        self.receivers.0.iter_mut().flatten().for_each(|receiver| receiver.peer_failed(peer));
        self.messages.peer_failed(peer);
    }

    fn zero_copy_done(&mut self, token: u32, delivered: u64) {
        self.messages.zero_copy_done(token, delivered);
    }

    fn op_completed(&mut self, token: CompletionToken, outcome: Result<u64, RemoteError>) {
        match &mut self.receivers.0[token.protocol.index()] {
            Some(receiver) => receiver.op_completed(token.number, outcome),
            None => self.messages.op_completed(token, outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fabric;
    use hawser_base::{Lane, Peers, UserMem};
    use hawser_device::{Loopback, PayloadSource};
    use std::sync::{Arc, Mutex};

    /// The packets that have arrived, by their header's `a`.
    #[derive(Clone, Default)]
    struct ReceivedLog(Arc<Mutex<Vec<u32>>>);

    impl Receiver for ReceivedLog {
        fn receive(&mut self, _: Peer, header: Header, payload: &mut dyn Payload) {
            let mut byte = [0];
            payload.copy_to(UserMem::of_slice(&mut byte));
            assert_eq!(byte, [header.a() as u8], "the payload belongs to its header");
            self.0.lock().unwrap().push(header.a());
        }
        fn peer_failed(&mut self, peer: Peer) {
            self.0.lock().unwrap().push(1000 + peer.0);
        }
        fn op_completed(&mut self, number: u32, outcome: Result<u64, RemoteError>) {
            assert_eq!(outcome, Ok(u64::from(number) + 1));
            self.0.lock().unwrap().push(2000 + number);
        }
    }

    impl Delivery for ReceivedLog {
        fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
            self.receive(from, header, payload);
        }
        fn peer_failed(&mut self, peer: Peer) {
            Receiver::peer_failed(self, peer);
        }
        fn op_completed(&mut self, token: CompletionToken, outcome: Result<u64, RemoteError>) {
            Receiver::op_completed(self, token.number, outcome);
        }
    }

    #[test]
    fn each_protocols_packets_come_to_its_receiver_in_order() {
        let fabric = Fabric::new(vec![Box::new(Loopback::new(Peer(0)))], &Peers::from_list(vec![Peer(0)])).unwrap();
        let mut channel = fabric.channel(Lane(0));
        let [mut messages, windows, taken] = [ReceivedLog::default(), ReceivedLog::default(), ReceivedLog::default()];
        let (window, free) = (Protocol::new(1), Protocol::new(15));
        assert!(channel.register_receiver(window, Box::new(windows.clone())));
        assert!(!channel.register_receiver(window, Box::new(taken.clone())), "a protocol has one receiver");
        assert!(!channel.register_receiver(Protocol::MESSAGES, Box::new(taken)), "the poller receives that protocol");
        for (a, protocol) in [(1, window), (2, Protocol::MESSAGES), (3, window), (4, free), (5, Protocol::MESSAGES)] {
            let header = Header::new(protocol.kind(7), 0, a, 0);
            let mut byte = [a as u8];
            assert!(channel.send(Peer(0), header, &[], PayloadSource::Mem(UserMem::of_slice(&mut byte))));
        }
        while channel.poll(&mut messages) > 0 || channel.poll_from(Peer(0), &mut messages) {}
        assert_eq!(*windows.0.lock().unwrap(), [1, 3]);
        assert_eq!(*messages.0.lock().unwrap(), [2, 4, 5], "a packet without a receiver goes to the poller");
        let mut receivers = Receivers::default();
        assert!(receivers.add(window, Box::new(windows.clone())));
        let mut demux = Demux { receivers: &mut receivers, messages: &mut messages };
        for (protocol, number) in [(window, 1), (Protocol::MESSAGES, 2), (free, 3)] {
            demux.op_completed(CompletionToken { protocol, number }, Ok(u64::from(number) + 1));
        }
        demux.peer_failed(Peer(9));
        assert_eq!(windows.0.lock().unwrap()[2..], [2001, 1009], "an operation ends at the receiver that began it");
        assert_eq!(messages.0.lock().unwrap()[3..], [2002, 2003, 1009]);
    }
}
