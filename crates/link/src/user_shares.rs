//! Further users of an endpoint, and their shares of the memory for sending.
//!
//! A further user is identified by the channels of its messages. Its share is reserved until the endpoint ends, and
//! it gets no memory beyond the share. So a user whose peers have sent STOP delays no other user, and is not delayed
//! by other users. Payload to one peer takes at most half of a share, so that a peer that has sent STOP leaves memory
//! for the others. The first user has all memory outside of the shares; they cost it only a check at each batch of
//! acknowledged frames. Received fragments that wait for earlier ones belong to no user: a poll by any user delivers
//! them. Used by `endpoint`, which checks a share before it takes a message, and by `connection`, which returns
//! slots; uses no other module.

use std::collections::HashMap;
use std::ops::Range;

/// The number of slots of a share that payload leaves free for the user's messages without payload.
const CONTROL_RESERVED_SLOTS: usize = 8;

/// The index of one of an endpoint's further users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareId(usize);

/// The share of one user.
#[derive(Debug)]
struct UserShare {
    channels: Range<u8>,
    slots: usize,
    /// The number of slots that hold messages of the user.
    used: usize,
    /// The number of these slots for each peer that has any.
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

    /// Whether a user has `needed` slots left for a message to a peer. `is_control` is true for a message without
    /// payload.
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

    /// Records that a frame to a peer was acknowledged and its slot is free. Returns whether the slot returns to a
    /// user's share. If a frame was cut in two, the message had one slot more than it took from the share: that slot
    /// was the first user's, and returns to it.
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

    /// Records that all messages to a peer are dropped. Returns the number of slots that return to the shares.
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
