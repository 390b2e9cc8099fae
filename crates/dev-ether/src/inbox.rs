//! Inboxes: the packets that arrived while another lane was polled.
//!
//! Used by `device`; uses `device::Delivery`.

use crate::direct::Returned;
use crate::remote::Ended;
use hawser_base::Peer;
use hawser_device::{Delivery, Header, View};
use std::collections::VecDeque;

/// Emptied buffers that are kept, in packets.
const SPARE: usize = 16;

/// A packet of a peer's, with its payload.
pub type Waiting = (Peer, Header, Vec<u8>);

/// The inbox of one lane.
#[derive(Default)]
pub struct Inbox {
    /// Packets with their payload.
    queue: VecDeque<Waiting>,
    spare: Vec<Vec<u8>>,
    /// Zero-copy sends that are returned to the program.
    returned: Vec<Returned>,
    /// Operations of this lane that have ended.
    ended: Vec<Ended>,
}

impl Inbox {
    /// Takes back a buffer.
    fn spare(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    /// Appends a packet; `keep` copies its payload into memory.
    pub fn push(&mut self, from: Peer, header: Header, keep: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let bytes = keep(self.spare.pop().unwrap_or_default());
        self.queue.push_back((from, header, bytes));
    }

    pub fn give_back(&mut self, returned: Returned) {
        self.returned.push(returned);
    }

    pub fn end(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// Takes the next packet, whose memory `deliver` gives back.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.queue.pop_front()
    }

    /// Delivers everything. Returns the number of packets and completions.
    pub fn deliver_all(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while let Some(packet) = self.queue.pop_front() {
            self.deliver(packet, delivery);
            count += 1;
        }
        count + self.return_all(delivery) + self.end_all(delivery)
    }

    /// Reports returned zero-copy sends. Returns their number.
    pub fn return_all(&mut self, delivery: &mut dyn Delivery) -> usize {
        let each = self.returned.drain(..);
        each.map(|Returned { ticket, taken, .. }| delivery.returned(ticket, taken)).count()
    }

    /// Reports operations that have ended. Returns their number.
    pub fn end_all(&mut self, delivery: &mut dyn Delivery) -> usize {
        let each = self.ended.drain(..);
        each.map(|Ended { ticket, outcome, .. }| delivery.done(ticket, outcome)).count()
    }

    pub fn deliver(&mut self, (from, header, mut bytes): Waiting, delivery: &mut dyn Delivery) {
        delivery.deliver(from, header, &mut View { bytes: &mut bytes, at: 0 });
        self.spare(bytes);
    }
}
