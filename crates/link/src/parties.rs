//! Further users of an endpoint (parties), and their shares of the memory for sending.
//!
//! A party is identified by the channels of its messages. Its share is reserved for as long as the endpoint lives, and
//! it has no more: a party whose peers have stopped delays neither the first user nor another party, nor is it delayed
//! by them. No peer has more than half of a share, so that a stopped peer leaves room for the others. The first user
//! has all memory outside the shares, and pays nothing for them but a check at each batch of acknowledged frames.
//! Fragments that are *held* until earlier ones arrive belong to no party: they move on whoever polls. Used by
//! `endpoint`, which checks a share before it takes a message, and by `connection`, which returns slots; uses `pool`.

use std::collections::HashMap;
use std::ops::Range;

/// Slots of a share that payload leaves free for a party's messages without payload.
const CONTROL: usize = 8;

/// The index of one of an endpoint's parties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party(usize);

/// The share of one party.
#[derive(Debug)]
struct Share {
    channels: Range<u8>,
    slots: usize,
    /// Slots with messages of the party, in all and by peer.
    used: usize,
    by_peer: HashMap<u32, usize>,
    /// Slots that are reserved for later messages.
    kept: usize,
}

/// The parties of an endpoint. See the module.
#[derive(Debug, Default)]
pub struct Parties(Vec<Share>);

impl Parties {
    /// Adds a party whose messages use these channels, with a share of `slots` slots.
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

    /// The number of slots of all shares.
    pub fn slots(&self) -> usize {
        self.0.iter().map(|share| share.slots).sum()
    }

    /// Whether a party has room for `needed` slots to a peer.
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

    /// Records that a message of a party has taken slots.
    pub fn took(&mut self, party: Party, peer: u32, slots: usize) {
        let share = &mut self.0[party.0];
        share.used += slots;
        *share.by_peer.entry(peer).or_default() += slots;
    }

    /// Records that a frame to a peer was acknowledged and its slot is free. Returns whether the slot goes back to a
    /// party's share: a frame that was cut in two has one slot more than its message took, which was the first user's.
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

    /// Drops all messages to a peer. Returns how many slots go back to the shares.
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
