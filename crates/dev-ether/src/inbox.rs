//! An inbox keeps the packets that arrive for its lane when another lane is polled, and completions for its lane.
//!
//! Used by `device`; uses `device::Delivery`.

use crate::direct::ZeroCopyDone;
use crate::remote::CompletedOp;
use hawser_base::Peer;
use hawser_device::{Delivery, Header, PayloadView};
use std::collections::VecDeque;

/// Maximum number of emptied buffers that are kept for later packets.
const FREE_BUFFERS_MAX: usize = 16;

/// A packet of a peer's, with its payload.
pub type QueuedPacket = (Peer, Header, Vec<u8>);

/// The inbox of one lane.
#[derive(Default)]
pub struct Inbox {
    /// Packets with their payload.
    queue: VecDeque<QueuedPacket>,
    free_buffers: Vec<Vec<u8>>,
    /// Zero-copy sends of this lane that are complete, to be reported to its `Delivery`.
    zero_copy_done: Vec<ZeroCopyDone>,
    /// Operations of this lane that have ended.
    completed_ops: Vec<CompletedOp>,
}

impl Inbox {
    /// Keeps an emptied buffer for a later packet, if there are not too many.
    fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.free_buffers.len() < FREE_BUFFERS_MAX {
            bytes.clear();
            self.free_buffers.push(bytes);
        }
    }

    /// Appends a packet; `copy_payload` copies its payload into memory.
    pub fn push(&mut self, from: Peer, header: Header, copy_payload: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let bytes = copy_payload(self.free_buffers.pop().unwrap_or_default());
        self.queue.push_back((from, header, bytes));
    }

    pub fn push_zero_copy_done(&mut self, done: ZeroCopyDone) {
        self.zero_copy_done.push(done);
    }

    pub fn push_completed_op(&mut self, completed: CompletedOp) {
        self.completed_ops.push(completed);
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes the next packet, whose memory `deliver` recycles.
    pub fn pop(&mut self) -> Option<QueuedPacket> {
        self.queue.pop_front()
    }

    /// Delivers everything. Returns the number of packets and completions.
    pub fn deliver_all(&mut self, delivery: &mut dyn Delivery) -> usize {
        let mut count = 0;
        while let Some(packet) = self.queue.pop_front() {
            self.deliver(packet, delivery);
            count += 1;
        }
        count + self.report_zero_copy_done(delivery) + self.report_completed_ops(delivery)
    }

    /// Reports completed zero-copy sends. Returns their number.
    pub fn report_zero_copy_done(&mut self, delivery: &mut dyn Delivery) -> usize {
        let each = self.zero_copy_done.drain(..);
        each.map(|ZeroCopyDone { ticket, delivered, .. }| delivery.zero_copy_done(ticket, delivered)).count()
    }

    /// Reports operations that have ended. Returns their number.
    pub fn report_completed_ops(&mut self, delivery: &mut dyn Delivery) -> usize {
        let each = self.completed_ops.drain(..);
        each.map(|CompletedOp { ticket, outcome, .. }| delivery.op_completed(ticket, outcome)).count()
    }

    pub fn deliver(&mut self, (from, header, mut bytes): QueuedPacket, delivery: &mut dyn Delivery) {
        delivery.deliver(from, header, &mut PayloadView { bytes: &mut bytes, at: 0 });
        self.recycle(bytes);
    }
}
