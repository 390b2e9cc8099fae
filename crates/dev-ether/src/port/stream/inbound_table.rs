//! The inbound connections of a port: unauthenticated ones, whose greeting has not come yet, and, for each port of
//! another rank, the one connection of frames that is accepted, by the number of its greeting (P32 of
//! docs/protocol.md).
//!
//! So a port keeps no more inbound connections than UNAUTHENTICATED_MAX and one for each port that may connect to
//! it, however many are opened. This file does no I/O, and identifies connections by their slots. Used by the port;
//! uses no module but `greeting`.

use super::greeting::PortId;
use std::collections::{HashMap, VecDeque};

/// Maximum unauthenticated connections at a time; a further one replaces the oldest. They need few of the 1024
/// descriptors that a process usually has, and a peer's greeting arrives sooner after its connection than so many
/// others can connect.
pub(super) const UNAUTHENTICATED_MAX: usize = 64;

/// Time within which the greeting of an unauthenticated connection must arrive. A greeting is sent as soon as the
/// connection is established and the caller polls it; a caller that computes longer meanwhile finds the connection
/// ended, and connects again.
pub(super) const GREETING_TIMEOUT_NS: u64 = 10_000_000_000;

/// For one port of another rank: the highest number that was accepted, and the slot of its connection, if that has
/// not ended.
struct AcceptedNumber {
    number: u32,
    slot: Option<usize>,
}

/// The inbound connections of a port.
#[derive(Default)]
pub(super) struct InboundConnections {
    /// The slots of unauthenticated connections, and the time since when, in order of arrival.
    unauthenticated: VecDeque<(usize, u64)>,
    accepted: HashMap<PortId, AcceptedNumber>,
}

impl InboundConnections {
    pub fn add(&mut self, slot: usize, now_ns: u64) {
        self.unauthenticated.push_back((slot, now_ns));
    }

    /// Records that the connection at `slot` has ended, or carries messages from now on.
    pub fn remove(&mut self, slot: usize) {
        if self.remove_unauthenticated(slot) {
            return;
        }
        if let Some(accepted) = self.accepted.values_mut().find(|accepted| accepted.slot == Some(slot)) {
            accepted.slot = None;
        }
    }

    /// Removes an unauthenticated connection. Returns whether one was at `slot`.
    fn remove_unauthenticated(&mut self, slot: usize) -> bool {
        let before = self.unauthenticated.len();
        self.unauthenticated.retain(|&(stranger, _)| stranger != slot);
        self.unauthenticated.len() < before
    }

    /// Returns the unauthenticated connection to end before another one is accepted, if there are too many.
    pub fn surplus(&self) -> Option<usize> {
        if self.unauthenticated.len() < UNAUTHENTICATED_MAX { None } else { self.oldest_unauthenticated() }
    }

    pub fn oldest_unauthenticated(&self) -> Option<usize> {
        self.unauthenticated.front().map(|&(slot, _)| slot)
    }

    /// Returns an unauthenticated connection whose time is over.
    pub fn next_expired(&self, now_ns: u64) -> Option<usize> {
        if self.deadline_ns()? <= now_ns { self.oldest_unauthenticated() } else { None }
    }

    /// Returns when the time of the next unauthenticated connection is over.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.unauthenticated.front().map(|&(_, since_ns)| since_ns + GREETING_TIMEOUT_NS)
    }

    /// Accepts the unauthenticated connection at `slot` if its number is higher than all before. Its greeting names
    /// it as connection `number` of the port `from`. Returns the slot of the earlier connection from that port, if
    /// there is one: its caller has left that connection, and it must be ended.
    pub fn accept(&mut self, from: PortId, number: u32, slot: usize) -> Result<Option<usize>, ReplayedGreeting> {
        let accepted = self.accepted.entry(from).or_insert(AcceptedNumber { number: 0, slot: None });
        if number <= accepted.number {
            return Err(ReplayedGreeting);
        }
        accepted.number = number;
        let earlier = accepted.slot.replace(slot);
        self.remove_unauthenticated(slot);
        Ok(earlier)
    }
}

/// An error: the number, or a higher one, was accepted before; somebody replays a rank's greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReplayedGreeting;

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: PortId = PortId { rank: 1, index: 0 };

    /// P32
    #[test]
    fn a_number_is_taken_once_and_a_later_one_replaces_the_connection() {
        let mut inbound = InboundConnections::default();
        (0..4).for_each(|slot| inbound.add(slot, 0));
        assert_eq!(inbound.accept(CALLER, 2, 0), Ok(None));
        assert_eq!(
            (inbound.accept(CALLER, 2, 1), inbound.accept(CALLER, 1, 1)),
            (Err(ReplayedGreeting), Err(ReplayedGreeting))
        );
        assert_eq!(inbound.accept(CALLER, 3, 2), Ok(Some(0)));
        inbound.remove(2);
        assert_eq!(inbound.accept(CALLER, 3, 3), Err(ReplayedGreeting), "it has ended, and its number stays taken");
        assert_eq!(inbound.accept(CALLER, 9, 3), Ok(None));
        assert_eq!(inbound.accept(PortId { index: 1, ..CALLER }, 1, 1), Ok(None), "another port counts for itself");
    }

    /// P32
    #[test]
    fn strangers_are_bounded_in_number_and_time() {
        let mut inbound = InboundConnections::default();
        for slot in 0..UNAUTHENTICATED_MAX {
            assert_eq!(inbound.surplus(), None);
            inbound.add(slot, slot as u64);
        }
        assert_eq!((inbound.surplus(), inbound.oldest_unauthenticated()), (Some(0), Some(0)));
        inbound.remove(0);
        assert_eq!(inbound.accept(CALLER, 1, 1), Ok(None));
        assert_eq!(inbound.surplus(), None);
        assert_eq!(inbound.deadline_ns(), Some(2 + GREETING_TIMEOUT_NS));
        assert_eq!(
            (inbound.next_expired(1 + GREETING_TIMEOUT_NS), inbound.next_expired(2 + GREETING_TIMEOUT_NS)),
            (None, Some(2))
        );
    }
}
