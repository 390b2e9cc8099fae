//! Further users of an endpoint, and their shares of the memory for sending.
//!
//! A further user is identified by the channels of its messages. Its share is reserved for as long as the endpoint
//! lives, and it has no more: a user whose peers have stopped delays neither the first user nor another one, nor is
//! it delayed by them. No peer has more than half of a share, so that a stopped peer leaves memory for the others.
//! The first user has all memory outside the shares, and pays nothing for them but a check at each batch of
//! acknowledged frames. Fragments that are buffered until earlier ones arrive belong to no user: they are delivered
//! whoever polls. Used by `endpoint`, which checks a share before it takes a message, and by `connection`, which
//! returns slots; uses `frame_pool`.

use std::collections::HashMap;
use std::ops::Range;

/// Slots of a share that payload leaves free for a user's messages without payload.
const CONTROL_RESERVED_SLOTS: usize = 8;

/// The index of one of an endpoint's further users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareId(usize);

/// The share of one user.
#[derive(Debug)]
struct UserShare {
    channels: Range<u8>,
    slots: usize,
    /// Slots with messages of the user, in all and by peer.
    used: usize,
    by_peer: HashMap<u32, usize>,
    /// Slots that are reserved for later messages.
    reserved: usize,
}

/// The further users of an endpoint. See the module.
#[derive(Debug, Default)]
pub struct UserShares(Vec<UserShare>);

impl UserShares {
    /// Adds a user whose messages use these channels, with a share of `slots` slots.
    pub fn add(&mut self, channels: Range<u8>, slots: usize) -> ShareId {
        assert!(
            self.0.iter().all(|other| other.channels.end <= channels.start || channels.end <= other.channels.start)
        );
        self.0.push(UserShare { channels, slots, used: 0, by_peer: HashMap::new(), reserved: 0 });
        ShareId(self.0.len() - 1)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of slots of all shares.
    pub fn slots(&self) -> usize {
        self.0.iter().map(|share| share.slots).sum()
    }

    /// Whether a user has `needed` slots left for a message to a peer.
    pub fn can_send(&self, id: ShareId, peer: u32, needed: usize, is_control: bool) -> bool {
        let UserShare { slots, used, reserved, by_peer, .. } = &self.0[id.0];
        let to_peer = by_peer.get(&peer).copied().unwrap_or(0);
        let fair = to_peer == 0 || to_peer + needed <= slots / 2;
        let left = slots.saturating_sub(used + reserved);
        needed + if is_control { 0 } else { CONTROL_RESERVED_SLOTS } <= left && (fair || is_control)
    }

    pub fn reserve(&mut self, id: ShareId, slots: usize) {
        self.0[id.0].reserved += slots;
    }

    pub fn release(&mut self, id: ShareId, slots: usize) {
        self.0[id.0].reserved -= slots;
    }

    /// Records that a message of a user has taken slots.
    pub fn record_used(&mut self, id: ShareId, peer: u32, slots: usize) {
        let share = &mut self.0[id.0];
        share.used += slots;
        *share.by_peer.entry(peer).or_default() += slots;
    }

    /// Records that a frame to a peer was acknowledged and its slot is free. Returns whether the slot goes back to
    /// a user's share: a frame that was cut in two has one slot more than its message took, which was the first
    /// user's.
    pub fn on_acked(&mut self, peer: u32, channel: u8) -> bool {
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
        let release = |share: &mut UserShare| {
            let to_peer = share.by_peer.remove(&peer).unwrap_or(0);
            share.used -= to_peer;
            to_peer
        };
        self.0.iter_mut().map(release).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_has_its_share_and_a_peer_half_of_it() {
        let mut shares = UserShares::default();
        let (one, other) = (shares.add(8..10, 40), shares.add(10..11, 40));
        assert!(shares.can_send(one, 5, 32, false) && !shares.can_send(one, 5, 33, false));
        assert!(shares.can_send(one, 5, 40, true), "control may have what payload leaves");
        shares.record_used(one, 5, 15);
        assert!(shares.can_send(one, 5, 5, false) && !shares.can_send(one, 5, 6, false), "half for one peer");
        assert!(shares.can_send(one, 6, 17, false) && !shares.can_send(one, 6, 18, false));
        assert!(shares.can_send(other, 5, 32, false), "the other user's share is its own");
        shares.reserve(one, 10);
        assert!(shares.can_send(one, 6, 7, false) && !shares.can_send(one, 6, 8, false));
        shares.release(one, 10);
        assert!(
            (0..15).all(|_| shares.on_acked(5, 9)) && !shares.on_acked(5, 8),
            "one that was cut off is not its own"
        );
        assert!(!shares.on_acked(5, 3) && !shares.on_acked(5, 10), "nor is a frame of others");
        assert!(shares.can_send(one, 5, 32, false));
    }

    #[test]
    fn who_is_forgotten_leaves_everything() {
        let mut shares = UserShares::default();
        let (one, other) = (shares.add(8..10, 40), shares.add(10..11, 40));
        shares.record_used(one, 5, 10);
        shares.record_used(other, 5, 7);
        shares.record_used(one, 6, 3);
        assert_eq!((shares.forget(5), shares.forget(5), shares.slots()), (17, 0, 80));
        assert!(!shares.on_acked(5, 8) && shares.on_acked(6, 8));
    }
}
