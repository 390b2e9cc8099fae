//! Users of an endpoint beside the first: what each of them has of the memory for sending.
//!
//! A party is known by the channels of its messages. Its share is kept from everybody else for as long as the endpoint
//! lives, and it has no more: a party whose peers have stopped holds up neither the first user nor another one, nor is
//! it held up by them. Of its share no peer has more than half, so that one that has stopped leaves room for the
//! others. The first user has all that is no party's, and pays nothing for there being any but a look at each batch of
//! frames that were acknowledged. What is *held* until earlier frames come is nobody's: it goes on whoever polls.
//! Before it: `endpoint`, which asks before a message is taken, and `connection`, by which slots come back; after it:
//! `pool`.

use std::collections::HashMap;
use std::ops::Range;

/// Slots that payload leaves to a party's messages without.
const CONTROL: usize = 8;

/// One of an endpoint's parties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party(usize);

/// The share of one of them.
#[derive(Debug)]
struct Share {
    channels: Range<u8>,
    slots: usize,
    /// Slots with messages of its own, and of those the ones to each peer.
    used: usize,
    by_peer: HashMap<u32, usize>,
    /// Slots that are kept for messages to come.
    kept: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Parties(Vec<Share>);

impl Parties {
    /// A further one, whose messages go by these channels, with so many slots.
    pub fn add(&mut self, channels: Range<u8>, slots: usize) -> Party {
        assert!(
            self.0.iter().all(|other| other.channels.end <= channels.start || channels.end <= other.channels.start)
        );
        self.0.push(Share { channels, slots, used: 0, by_peer: HashMap::new(), kept: 0 });
        Party(self.0.len() - 1)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Slots of all shares.
    pub fn slots(&self) -> usize {
        self.0.iter().map(|share| share.slots).sum()
    }

    /// Whether a party has room for a message to a peer; `kept`: for one to come.
    pub fn has_room(&self, party: Party, peer: u32, needed: usize, is_control: bool) -> bool {
        let Share { slots, used, kept, by_peer, .. } = &self.0[party.0];
        let to_peer = by_peer.get(&peer).copied().unwrap_or(0);
        let fair = to_peer == 0 || to_peer + needed <= slots / 2;
        let left = slots.saturating_sub(used + kept);
        needed + if is_control { 0 } else { CONTROL } <= left && (fair || is_control)
    }

    pub fn keep(&mut self, party: Party, slots: usize) {
        self.0[party.0].kept += slots;
    }

    pub fn give_back(&mut self, party: Party, slots: usize) {
        self.0[party.0].kept -= slots;
    }

    /// A message of a party's has taken slots.
    pub fn took(&mut self, party: Party, peer: u32, slots: usize) {
        let share = &mut self.0[party.0];
        share.used += slots;
        *share.by_peer.entry(peer).or_default() += slots;
    }

    /// A frame to a peer has come and its slot is free. Whether that goes back to a party's share: a frame that was cut
    /// in two has one more than its message took, which was the first user's.
    pub fn came(&mut self, peer: u32, channel: u8) -> bool {
        let Some(share) = self.0.iter_mut().find(|share| share.channels.contains(&channel)) else { return false };
        let Some(to_peer) = share.by_peer.get_mut(&peer) else { return false };
        *to_peer -= 1;
        if *to_peer == 0 {
            share.by_peer.remove(&peer);
        }
        share.used -= 1;
        true
    }

    /// All that goes to a peer is given up. How many slots go back to the shares.
    pub fn forget(&mut self, peer: u32) -> usize {
        let give_up = |share: &mut Share| {
            let to_peer = share.by_peer.remove(&peer).unwrap_or(0);
            share.used -= to_peer;
            to_peer
        };
        self.0.iter_mut().map(give_up).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_has_its_share_and_a_peer_half_of_it() {
        let mut parties = Parties::default();
        let (one, other) = (parties.add(8..10, 40), parties.add(10..11, 40));
        assert!(parties.has_room(one, 5, 32, false) && !parties.has_room(one, 5, 33, false));
        assert!(parties.has_room(one, 5, 40, true), "control may have what payload leaves");
        parties.took(one, 5, 15);
        assert!(parties.has_room(one, 5, 5, false) && !parties.has_room(one, 5, 6, false), "half for one peer");
        assert!(parties.has_room(one, 6, 17, false) && !parties.has_room(one, 6, 18, false));
        assert!(parties.has_room(other, 5, 32, false), "the other party's is its own");
        parties.keep(one, 10);
        assert!(parties.has_room(one, 6, 7, false) && !parties.has_room(one, 6, 8, false));
        parties.give_back(one, 10);
        assert!((0..15).all(|_| parties.came(5, 9)) && !parties.came(5, 8), "one that was cut off is not its own");
        assert!(!parties.came(5, 3) && !parties.came(5, 10), "nor is a frame of others");
        assert!(parties.has_room(one, 5, 32, false));
    }

    #[test]
    fn who_is_forgotten_leaves_everything() {
        let mut parties = Parties::default();
        let (one, other) = (parties.add(8..10, 40), parties.add(10..11, 40));
        parties.took(one, 5, 10);
        parties.took(other, 5, 7);
        parties.took(one, 6, 3);
        assert_eq!((parties.forget(5), parties.forget(5), parties.slots()), (17, 0, 80));
        assert!(!parties.came(5, 8) && parties.came(6, 8));
    }
}
