//! The order of direct packets among the messages of link (P43 of docs/protocol.md).
//!
//! A direct packet is an envelope that goes by a direct connection, with the rest of its message behind it. The part
//! that carries it states which messages of link come before it; a message of link that comes after a direct packet
//! states so in one byte, because link may be faster. The receiver holds such a message until the packet was
//! delivered. If the connection breaks, the packet goes by link, past what is held for it.
//!
//! Used by `direct`, for both ends, and by `message`; uses nothing.

use hawser_device::Header;
use std::collections::VecDeque;

/// Counts of direct packets are sent modulo this number.
const MODULUS: u64 = 127;

/// The maximum number of direct packets that a sender may have sent without knowing that they were delivered. All
/// counts that a receiver may have to compare are then different modulo MODULUS.
pub const UNCONFIRMED_MAX: u64 = 120;
const _: () = assert!(UNCONFIRMED_MAX < MODULUS);

/// The place of a message of link among the direct packets of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkOrder {
    /// All direct packets before it were delivered when it was sent.
    Free,
    /// It comes after so many direct packets, modulo MODULUS.
    After(u8),
    /// It is a direct packet whose connection has ended: the next one that the receiver lacks.
    Resent,
    /// It has no order: bytes of a message that the receiver knows, or a packet of a user that has no direct packets.
    Unordered,
}

/// Values of the byte: 1 to MODULUS are counts.
const FREE: u8 = 0;
const RESENT: u8 = 128;
const UNORDERED: u8 = 129;
const _: () = assert!(MODULUS < RESENT as u64);

impl LinkOrder {
    /// Makes the place of a message behind `sent` direct packets, of which `confirmed` are known to be delivered.
    pub fn behind(sent: u64, confirmed: u64) -> LinkOrder {
        if sent == confirmed { LinkOrder::Free } else { LinkOrder::After((sent % MODULUS) as u8) }
    }

    pub fn encode(self) -> u8 {
        match self {
            LinkOrder::Free => FREE,
            LinkOrder::After(count) => count + 1,
            LinkOrder::Resent => RESENT,
            LinkOrder::Unordered => UNORDERED,
        }
    }

    /// Reads the byte; None if it has no meaning.
    pub fn decode(byte: u8) -> Option<LinkOrder> {
        match byte {
            FREE => Some(LinkOrder::Free),
            RESENT => Some(LinkOrder::Resent),
            UNORDERED => Some(LinkOrder::Unordered),
            count if u64::from(count) <= MODULUS => Some(LinkOrder::After(count - 1)),
            _ => None,
        }
    }
}

/// A message of link that waits for direct packets, with its payload.
pub struct HeldMessage {
    pub lane: u8,
    pub header: Header,
    pub bytes: Vec<u8>,
    /// The number of direct packets that come before it.
    behind: u64,
}

/// The direct packets of one peer that were delivered, and what waits for others.
#[derive(Default)]
pub struct DirectOrder {
    delivered: u64,
    held: VecDeque<HeldMessage>,
}

/// The fate of a message of link that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    Deliver,
    /// The message must be held, behind so many direct packets.
    Hold {
        behind: u64,
    },
}

impl DirectOrder {
    /// The number of direct packets that were delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Records that a direct packet was delivered.
    pub fn record_delivered(&mut self) {
        self.delivered += 1;
    }

    /// Decides whether a message of link is delivered now, and counts a direct packet that link carries.
    pub fn arrive(&mut self, order: LinkOrder) -> Arrival {
        let last = self.held.back().map(|held| held.behind);
        match order {
            LinkOrder::Resent => {
                self.record_delivered();
                Arrival::Deliver
            }
            LinkOrder::Unordered => Arrival::Deliver,
            LinkOrder::Free => last.map_or(Arrival::Deliver, |behind| Arrival::Hold { behind }),
            LinkOrder::After(count) => {
                let missing = (u64::from(count) + MODULUS - self.delivered % MODULUS) % MODULUS;
                match (missing, last) {
                    (0, None) => Arrival::Deliver,
                    _ => Arrival::Hold { behind: self.delivered + missing },
                }
            }
        }
    }

    /// Keeps a message. A rank of this job may make us keep as many as it sends, as it may with RTSs that no receive
    /// matches.
    pub fn hold(&mut self, lane: u8, header: Header, bytes: Vec<u8>, behind: u64) {
        // A peer that keeps the rules never has a lower number behind a higher one.
        let behind = self.held.back().map_or(behind, |last| behind.max(last.behind));
        self.held.push_back(HeldMessage { lane, header, bytes, behind });
    }

    /// Takes the next held message, if all direct packets before it were delivered.
    pub fn release(&mut self) -> Option<HeldMessage> {
        if self.has_due() { self.held.pop_front() } else { None }
    }

    /// Returns whether `release` has a message.
    pub fn has_due(&self) -> bool {
        self.held.front().is_some_and(|held| held.behind <= self.delivered)
    }

    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header::new(1, 0, 0, 0);

    #[test]
    fn each_byte_means_one_order_or_none() {
        let orders: Vec<LinkOrder> = (0..=u8::MAX).filter_map(LinkOrder::decode).collect();
        assert_eq!(orders.len(), MODULUS as usize + 3);
        assert!(orders.into_iter().all(|order| LinkOrder::decode(order.encode()) == Some(order)));
    }

    /// A message is held exactly as long as a direct packet before it is missing, whatever the counts are.
    #[test]
    fn a_message_waits_for_the_packets_before_it_alone() {
        for begun in [0, 100, 126, 127, 1000, 1 << 40] {
            for missing in 0..=UNCONFIRMED_MAX {
                let mut order = DirectOrder { delivered: begun, ..DirectOrder::default() };
                let place = LinkOrder::behind(begun + missing, begun);
                match order.arrive(place) {
                    Arrival::Deliver => assert_eq!(missing, 0),
                    Arrival::Hold { behind } => {
                        order.hold(0, HEADER, vec![], behind);
                        for _ in 0..missing {
                            assert!(order.release().is_none());
                            order.record_delivered();
                        }
                        assert!(order.release().is_some() && order.release().is_none());
                    }
                }
            }
        }
    }

    #[test]
    fn resent_packets_pass_what_is_held_for_them() {
        let mut order = DirectOrder::default();
        assert_eq!(order.arrive(LinkOrder::behind(2, 0)), Arrival::Hold { behind: 2 });
        order.hold(3, HEADER, vec![7], 2);
        assert_eq!(order.arrive(LinkOrder::Free), Arrival::Hold { behind: 2 }, "no message overtakes a held one");
        order.hold(4, HEADER, vec![8], 2);
        assert_eq!(order.arrive(LinkOrder::Resent), Arrival::Deliver);
        assert_eq!(order.arrive(LinkOrder::Unordered), Arrival::Deliver);
        assert!(order.release().is_none());
        assert_eq!(order.arrive(LinkOrder::Resent), Arrival::Deliver);
        assert_eq!([order.release(), order.release()].map(|held| held.unwrap().lane), [3, 4]);
        assert!(!order.holds_any());
    }
}
