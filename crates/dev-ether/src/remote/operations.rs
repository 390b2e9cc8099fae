//! The operations of this rank that are in flight, each with a number that its peer repeats in its replies.
//!
//! A number names one operation, and names a later one only after its entry was reused 65,535 times: so a late reply
//! of a peer matches no operation. Used by `remote`.

use super::{OpRequest, REQUEST_BYTES};
use hawser_base::UserMem;

/// The kind of an operation.
pub enum OpKind {
    /// A write of borrowed memory.
    Write(UserMem<'static>),
    /// A packed write, sent when it was begun.
    Packed,
    /// A read whose first `arrived` bytes have arrived.
    Read {
        into: UserMem<'static>,
        arrived: usize,
    },
    Flush,
}

/// One operation.
pub struct PendingOp {
    pub peer: u32,
    pub request: OpRequest,
    pub kind: OpKind,
    /// Bytes of a write that were sent, or of a read that were requested.
    pub sent: usize,
    /// The number of operations that this rank had begun before this one.
    pub sequence: u64,
}

impl PendingOp {
    pub fn is_flush(&self) -> bool {
        matches!(self.kind, OpKind::Flush)
    }

    /// Returns whether the operation is a read that has bytes left to request, or has no bytes at all, and may
    /// request the next run now: it may if at most one run is in flight.
    pub fn may_request(&self) -> bool {
        matches!(self.kind, OpKind::Read { into, arrived } if self.sent < into.len().max(1) && self.sent - arrived <= REQUEST_BYTES)
    }

    /// Returns whether the operation is a read that may request nothing more now.
    pub fn must_wait(&self) -> bool {
        matches!(self.kind, OpKind::Read { .. }) && !self.may_request()
    }

    /// Returns whether the owner of the memory may report success (ENDED) now: always for a write, and for a read
    /// only if it has no bytes, because other reads end with their last byte.
    pub fn may_succeed(&self) -> bool {
        match self.kind {
            OpKind::Write(_) | OpKind::Packed => true,
            OpKind::Read { into, .. } => into.is_empty(),
            OpKind::Flush => false,
        }
    }
}

/// An entry for operations, and the number of operations that it has had (modulo 65,536).
#[derive(Default)]
struct OpEntry {
    count: u16,
    operation: Option<PendingOp>,
}

/// The operations in flight.
#[derive(Default)]
pub struct PendingOps {
    entries: Vec<OpEntry>,
    free: Vec<u16>,
    next_sequence: u64,
}

impl PendingOps {
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// Adds an operation and returns its number. None: there are 65,536 already.
    pub fn add(&mut self, peer: u32, request: OpRequest, kind: OpKind) -> Option<u32> {
        if self.free.is_empty() {
            let index = u16::try_from(self.entries.len()).ok()?;
            self.entries.push(OpEntry::default());
            self.free.push(index);
        }
        let at = self.free.pop().expect("one is free");
        let entry = &mut self.entries[usize::from(at)];
        entry.count = entry.count.wrapping_add(1);
        entry.operation = Some(PendingOp { peer, request, kind, sent: 0, sequence: self.next_sequence });
        self.next_sequence += 1;
        Some(u32::from(entry.count) << 16 | u32::from(at))
    }

    fn entry_mut(&mut self, number: u32) -> Option<&mut OpEntry> {
        let entry = self.entries.get_mut(usize::from(number as u16));
        entry.filter(|place| place.count == (number >> 16) as u16)
    }

    pub fn get(&self, number: u32) -> Option<&PendingOp> {
        let entry = self.entries.get(usize::from(number as u16));
        entry.filter(|place| place.count == (number >> 16) as u16)?.operation.as_ref()
    }

    /// Returns the operation, if it is with this peer.
    pub fn get_mut(&mut self, number: u32, peer: u32) -> Option<&mut PendingOp> {
        self.entry_mut(number)?.operation.as_mut().filter(|operation| operation.peer == peer)
    }

    /// Removes the operation, if it is with this peer.
    pub fn remove(&mut self, number: u32, peer: u32) -> Option<PendingOp> {
        self.get_mut(number, peer)?;
        let operation = self.entry_mut(number)?.operation.take();
        self.free.push(number as u16);
        operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Lane;
    use hawser_device::{CompletionToken, Protocol, RemoteKey};

    const REQUEST: OpRequest = OpRequest {
        lane: Lane(0),
        ticket: CompletionToken { protocol: Protocol::MESSAGES, number: 0 },
        key: RemoteKey([0; 3]),
        at: 0,
    };

    #[test]
    fn a_number_names_its_operation_with_its_peer_and_no_later_one() {
        let mut operations = PendingOps::default();
        let first = operations.add(1, REQUEST, OpKind::Flush).unwrap();
        let other = operations.add(1, REQUEST, OpKind::Packed).unwrap();
        assert!(operations.get_mut(first, 2).is_none() && operations.remove(first, 2).is_none(), "another peer's");
        assert!(operations.get_mut(first, 1).is_some_and(|it| it.is_flush()) && operations.get(other).is_some());
        assert!(operations.remove(first, 1).is_some() && operations.remove(first, 1).is_none());
        let reused = operations.add(2, REQUEST, OpKind::Packed).unwrap();
        assert_eq!(reused as u16, first as u16, "the entry is used again");
        assert!(
            operations.get(first).is_none() && operations.get_mut(first, 2).is_none() && operations.get(9).is_none()
        );
        assert!(!operations.is_empty());
        operations.remove(other, 1).unwrap();
        operations.remove(reused, 2).unwrap();
        assert!(operations.is_empty());
    }

    #[test]
    fn of_a_read_two_runs_are_asked_for_at_a_time() {
        let into = UserMem::of_slice(vec![0; 3 * REQUEST_BYTES].leak());
        let read = |sent, arrived| PendingOp {
            peer: 0,
            request: REQUEST,
            kind: OpKind::Read { into, arrived },
            sent,
            sequence: 0,
        };
        let may = [(0, 0), (REQUEST_BYTES, 0), (2 * REQUEST_BYTES, REQUEST_BYTES)];
        assert!(may.iter().all(|&(sent, came)| read(sent, came).may_request() && !read(sent, came).must_wait()));
        let must_wait = [
            (2 * REQUEST_BYTES, 0),
            (2 * REQUEST_BYTES, REQUEST_BYTES - 1),
            (3 * REQUEST_BYTES, 3 * REQUEST_BYTES - 1),
        ];
        assert!(must_wait.iter().all(|&(sent, came)| !read(sent, came).may_request() && read(sent, came).must_wait()));
    }
}
