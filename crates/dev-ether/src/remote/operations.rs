//! The operations of this rank that are in flight, each with a number that its peer repeats in its replies.
//!
//! A number names one operation, and no later one until its place was reused 65,535 times: a late reply of a peer
//! matches none. Used by `remote`.

use super::{ASKED, Order};
use hawser_base::UserMem;

/// The work of an operation.
pub enum Work {
    /// A write of lent memory.
    Write(UserMem<'static>),
    /// A packed write, sent when it was begun.
    Packed,
    /// A read, of which the first `came` bytes have arrived.
    Read {
        into: UserMem<'static>,
        came: usize,
    },
    Flush,
}

/// One operation.
pub struct Operation {
    pub peer: u32,
    pub order: Order,
    pub work: Work,
    /// Bytes of a write that were sent, or of a read that were requested.
    pub sent: usize,
    /// Number of operations that were begun before it.
    pub begun: u64,
}

impl Operation {
    pub fn is_flush(&self) -> bool {
        matches!(self.work, Work::Flush)
    }

    /// Returns whether it is a read that has something to request and may do so: of two runs the first has arrived.
    pub fn may_ask(&self) -> bool {
        matches!(self.work, Work::Read { into, came } if self.sent < into.len().max(1) && self.sent - came <= ASKED)
    }

    /// Returns whether it is a read that may request no more now.
    pub fn waits(&self) -> bool {
        matches!(self.work, Work::Read { .. }) && !self.may_ask()
    }

    /// Returns whether its owner may report success now: of a write always, of a read only if no byte is to come.
    pub fn may_end_well(&self) -> bool {
        match self.work {
            Work::Write(_) | Work::Packed => true,
            Work::Read { into, .. } => into.is_empty(),
            Work::Flush => false,
        }
    }
}

/// A place for operations, and the number of operations that it has had (modulo 65,536).
#[derive(Default)]
struct Place {
    count: u16,
    operation: Option<Operation>,
}

/// The operations in flight.
#[derive(Default)]
pub struct Operations {
    places: Vec<Place>,
    free: Vec<u16>,
    begun: u64,
}

impl Operations {
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// Adds an operation and returns its number. None: there are 65,536 already.
    pub fn add(&mut self, peer: u32, order: Order, work: Work) -> Option<u32> {
        if self.free.is_empty() {
            let place = u16::try_from(self.places.len()).ok()?;
            self.places.push(Place::default());
            self.free.push(place);
        }
        let at = self.free.pop().expect("one is free");
        let place = &mut self.places[usize::from(at)];
        place.count = place.count.wrapping_add(1);
        place.operation = Some(Operation { peer, order, work, sent: 0, begun: self.begun });
        self.begun += 1;
        Some(u32::from(place.count) << 16 | u32::from(at))
    }

    fn place(&mut self, number: u32) -> Option<&mut Place> {
        let place = self.places.get_mut(usize::from(number as u16));
        place.filter(|place| place.count == (number >> 16) as u16)
    }

    pub fn get(&self, number: u32) -> Option<&Operation> {
        let place = self.places.get(usize::from(number as u16));
        place.filter(|place| place.count == (number >> 16) as u16)?.operation.as_ref()
    }

    /// Returns the operation, if it is with this peer.
    pub fn of(&mut self, number: u32, peer: u32) -> Option<&mut Operation> {
        self.place(number)?.operation.as_mut().filter(|operation| operation.peer == peer)
    }

    /// Removes it, if it is with this peer.
    pub fn take(&mut self, number: u32, peer: u32) -> Option<Operation> {
        self.of(number, peer)?;
        let operation = self.place(number)?.operation.take();
        self.free.push(number as u16);
        operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Lane;
    use hawser_device::{Protocol, RemoteKey, Ticket};

    const ORDER: Order = Order {
        lane: Lane(0),
        ticket: Ticket { protocol: Protocol::MESSAGES, number: 0 },
        key: RemoteKey([0; 3]),
        at: 0,
    };

    #[test]
    fn a_number_names_its_operation_with_its_peer_and_no_later_one() {
        let mut operations = Operations::default();
        let first = operations.add(1, ORDER, Work::Flush).unwrap();
        let other = operations.add(1, ORDER, Work::Packed).unwrap();
        assert!(operations.of(first, 2).is_none() && operations.take(first, 2).is_none(), "another peer's");
        assert!(operations.of(first, 1).is_some_and(|it| it.is_flush()) && operations.get(other).is_some());
        assert!(operations.take(first, 1).is_some() && operations.take(first, 1).is_none());
        let again = operations.add(2, ORDER, Work::Packed).unwrap();
        assert_eq!(again as u16, first as u16, "the place is used again");
        assert!(operations.get(first).is_none() && operations.of(first, 2).is_none() && operations.get(9).is_none());
        assert!(!operations.is_empty());
        operations.take(other, 1).unwrap();
        operations.take(again, 2).unwrap();
        assert!(operations.is_empty());
    }

    #[test]
    fn of_a_read_two_runs_are_asked_for_at_a_time() {
        let into = UserMem::of_slice(vec![0; 3 * ASKED].leak());
        let read = |sent, came| Operation { peer: 0, order: ORDER, work: Work::Read { into, came }, sent, begun: 0 };
        let may = [(0, 0), (ASKED, 0), (2 * ASKED, ASKED)];
        assert!(may.iter().all(|&(sent, came)| read(sent, came).may_ask() && !read(sent, came).waits()));
        let must_wait = [(2 * ASKED, 0), (2 * ASKED, ASKED - 1), (3 * ASKED, 3 * ASKED - 1)];
        assert!(must_wait.iter().all(|&(sent, came)| !read(sent, came).may_ask() && read(sent, came).waits()));
    }
}
