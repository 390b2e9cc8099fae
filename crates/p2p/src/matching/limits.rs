//! The sizes that decide how a message is transferred, for each route. It contains data only.
//!
//! A route is the device that reaches a peer (`transport::Fabric`). Limits belong to a route and never to a job: the
//! ranks of one host have the limits of shared memory, whatever reaches other hosts
//! (docs/adr/0056-limits-belong-to-a-route.md).
//! Used by `method`, which decides by them, and by `engine`, which keeps the route of each peer; `node` makes them from
//! the limits of the devices (`device::DeviceLimits`) and from the parameters.

use hawser_base::Peer;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The sizes that decide the method on one route, in bytes. Both ends of a route must have the same `credit`, because
/// the sender counts the credit of its receiver, and the same `eager`, which is at most the credit. The others may
/// differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProtocolLimits {
    /// Longest message that travels in one packet.
    pub packet: u64,
    /// Shortest eager message that the device is asked to send by a method of its own (`DevicePort::send_stream`), even
    /// if one packet could carry it.
    pub stream_from: u64,
    /// Messages that are shorter than this are joined if the program sends many of them to a peer one after another
    /// (`send_run`); 0: none is. It is at most `reply_from`: a message that may reply to an RTR does not wait.
    pub join_below: u64,
    /// Longest message that is sent eagerly, without an RTS.
    pub eager: u64,
    /// The number of first bytes of a message that are sent with its RTS, or in the first packet of an eager stream;
    /// at most `packet`.
    pub first: u64,
    /// Shortest receive that is announced to its source by an RTR.
    pub rtr_from: u64,
    /// Shortest message that replies to an RTR that it matches. A shorter one is sent eagerly, unless it is longer than
    /// `eager` or there is no credit: then it replies, too.
    pub reply_from: u64,
    /// Shortest message that the receiver reads from the sender's memory, if the device can reach that memory.
    pub read_from: u64,
    /// Shortest message that the receiver reads from the sender's private memory, too. No RTR announces receives of
    /// this length, because the reply to an RTR is copied twice.
    pub private_read_from: u64,
    /// Shortest message for which trials decide whether the receiver reads it from the sender's private memory
    /// (`copy_choice`).
    pub copy_trial_from: u64,
    /// Shortest receive that the sender writes into the receiver's memory, if the device can reach that memory.
    pub write_from: u64,
    /// Shortest rest of a message that the device is asked to send zero-copy.
    pub zero_copy_from: u64,
    /// The maximum payload that a peer may have sent to us in eager messages and with RTSs before we return credit for
    /// it (docs/adr/0005-credits.md). Each payload counts as `operation::cost` says.
    pub credit: u64,
}

impl ProtocolLimits {
    /// A size that no message has.
    pub const NEVER: u64 = u64::MAX;

    /// Short limits without remote memory and zero-copy sends, by which a message replies to an RTR only if it cannot
    /// be sent eagerly. Tests begin with them.
    pub const DEFAULT: ProtocolLimits = ProtocolLimits {
        packet: 64,
        eager: 256,
        first: 32,
        rtr_from: 257,
        reply_from: Self::NEVER,
        read_from: Self::NEVER,
        private_read_from: Self::NEVER,
        copy_trial_from: Self::NEVER,
        write_from: Self::NEVER,
        zero_copy_from: Self::NEVER,
        stream_from: Self::NEVER,
        join_below: 0,
        credit: 4096,
    };

    /// Returns whether the sizes are possible together.
    pub fn are_consistent(&self) -> bool {
        self.first <= self.packet
            && self.packet <= self.eager
            && self.eager <= self.credit
            && self.join_below <= self.reply_from
    }
}

/// The limits of each peer: those of the route that leads to it.
#[derive(Clone)]
pub struct PeerLimits {
    by_route: Arc<[ProtocolLimits]>,
    route_of: Arc<RouteOf>,
}

/// Finds the index of the route to a peer.
type RouteOf = dyn Fn(Peer) -> Option<usize> + Send + Sync;

/// The index of a route.
pub(super) type RouteIndex = u8;

impl PeerLimits {
    /// Makes the limits of peers by their routes. `route_of` returns the index in `by_route` of a peer's route; None if
    /// no route reaches the peer, or none yet. Once it has returned an index for a peer, it is not called again.
    pub fn by_route(
        by_route: Vec<ProtocolLimits>,
        route_of: impl Fn(Peer) -> Option<usize> + Send + Sync + 'static,
    ) -> PeerLimits {
        assert!((1..RouteIndex::MAX as usize).contains(&by_route.len()), "{} routes", by_route.len());
        assert!(by_route.iter().all(ProtocolLimits::are_consistent), "{by_route:?}");
        PeerLimits { by_route: by_route.into(), route_of: Arc::new(route_of) }
    }

    /// Returns the index of the route to a peer; None if no route reaches it.
    pub(super) fn route(&self, peer: Peer) -> Option<RouteIndex> {
        let route = (self.route_of)(peer)?;
        debug_assert!(route < self.by_route.len(), "{peer} has route {route} of {}", self.by_route.len());
        Some(route as RouteIndex)
    }

    /// Returns the limits of a route.
    #[inline(always)]
    pub(super) fn of_route(&self, route: RouteIndex) -> &ProtocolLimits {
        &self.by_route[route as usize]
    }
}

/// All peers have the same limits.
impl From<ProtocolLimits> for PeerLimits {
    fn from(limits: ProtocolLimits) -> PeerLimits {
        PeerLimits::by_route(vec![limits], |_| Some(0))
    }
}

/// The checker of interleavings compares engines, whose routes never change.
impl PartialEq for PeerLimits {
    fn eq(&self, other: &PeerLimits) -> bool {
        self.by_route == other.by_route
    }
}

impl Eq for PeerLimits {}

impl Hash for PeerLimits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.by_route.hash(state);
    }
}

impl fmt::Debug for PeerLimits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.by_route.fmt(f)
    }
}
