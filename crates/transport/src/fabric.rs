//! The devices of a process as one user has them, and the route to each peer, which is the first device that reaches
//! it (as in PM/Composite: one device per peer, PM 7.2.1).
//!
//! All users share the devices (`transport`), whereas each user has routes, ports and lanes of its own. A user counts
//! its lanes from 0; the offset to the devices' lanes is added when a channel is made, not for each packet. Used by
//! the user's lanes (MPI: `p2p`); uses `channel` and the devices.

use crate::channel::Channel;
use hawser_base::{Class, Error, LANES, Lane, Peer, Peers, Region, Result, UserMem};
use hawser_device::{Capabilities, Device, DeviceLimits, ExposedKey, PayloadSource, Registration, TransportUser};
use hawser_job::doorbell::WakeSources;
use hawser_job::users::MPI;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The number of cached routes. The cache is there because each long message looks up its peer's route several times,
/// and most lookups are for a few peers.
const CACHED_ROUTES: usize = 64;

/// All devices, the best first, and their limits. The route to a peer is determined at its first use; only the latest
/// routes are cached.
pub(crate) struct RouteTable {
    devices: Arc<[Box<dyn Device>]>,
    limits: Vec<DeviceLimits>,
    /// The cache, indexed by a peer's number: in the lower half of an entry the peer, in the upper half the index of
    /// its device, counted from 1. Each entry is complete by itself, so that lanes may write and read it in any
    /// order.
    cache: [AtomicU64; CACHED_ROUTES],
}

impl RouteTable {
    pub fn new(devices: Arc<[Box<dyn Device>]>) -> Arc<RouteTable> {
        let limits = devices.iter().map(|device| device.limits()).collect();
        Arc::new(RouteTable { devices, limits, cache: [const { AtomicU64::new(0) }; CACHED_ROUTES] })
    }

    /// Returns the index of the device that is the route to a peer. None if no device knows the peer, or if the peer
    /// has ended for good. A peer keeps its route: a later process with its number is another `Peer`.
    pub fn device(&self, peer: Peer) -> Option<usize> {
        let cached = &self.cache[peer.index() % CACHED_ROUTES];
        let word = cached.load(Relaxed);
        if word as u32 == peer.0 && word >> u32::BITS != 0 {
            return Some((word >> u32::BITS) as usize - 1);
        }
        let device = self.devices.iter().position(|device| device.reaches(peer))?;
        cached.store((device as u64 + 1) << u32::BITS | u64::from(peer.0), Relaxed);
        Some(device)
    }

    /// Returns the limits of the device with this index.
    pub fn limits_of(&self, device: usize) -> &DeviceLimits {
        &self.limits[device]
    }
}

/// All devices and all routes of one user, shared by its lanes.
pub struct Fabric {
    user: TransportUser,
    routes: Arc<RouteTable>,
}

impl Fabric {
    /// Makes the fabric of MPI as the only user of `devices` (see `for_user`).
    pub fn new(devices: Vec<Box<dyn Device>>, peers: &Peers) -> Result<Fabric> {
        let user = TransportUser { name: MPI.into(), first_lane: Lane(0), lane_count: LANES };
        Fabric::for_user(devices.into(), user, peers)
    }

    /// Makes the fabric of a user that begins with `peers`. One of `devices`, of which the best comes first, must
    /// reach each of these peers; otherwise the result is an error. Peers that appear later are reached as soon as a
    /// device reports so (`Device::reaches`).
    pub(crate) fn for_user(devices: Arc<[Box<dyn Device>]>, user: TransportUser, peers: &Peers) -> Result<Fabric> {
        let routes = RouteTable::new(devices);
        if let Some(peer) = peers.iter().find(|&peer| routes.device(peer).is_none()) {
            let tried: Vec<_> = routes.devices.iter().map(|d| d.name()).collect();
            let text = format!("process {peer} is reached by no device (tried: {})", tried.join(", "));
            return Err(Error::new(Class::Other, text));
        }
        Ok(Fabric { user, routes })
    }

    fn devices(&self) -> &[Box<dyn Device>] {
        &self.routes.devices
    }

    /// Returns the limits of each device, by the number of its route (`route`).
    pub fn all_limits(&self) -> &[DeviceLimits] {
        &self.routes.limits
    }

    /// Returns the number of the route to a peer, which is the index of its device; None if no device reaches it.
    pub fn route(&self, peer: Peer) -> Option<usize> {
        self.routes.device(peer)
    }

    /// Returns the limits of the route to a peer; None if no device reaches it.
    pub fn limits(&self, peer: Peer) -> Option<&DeviceLimits> {
        Some(self.routes.limits_of(self.routes.device(peer)?))
    }

    fn device(&self, peer: Peer) -> Option<&dyn Device> {
        Some(&*self.devices()[self.routes.device(peer)?])
    }

    /// Returns the user of the fabric, with its number of lanes.
    pub fn user(&self) -> &TransportUser {
        &self.user
    }

    /// Makes the channel of a lane of the user: the ports of all devices. Call it once for each lane.
    pub fn channel(&self, lane: Lane) -> Channel {
        let ports = self.devices().iter().map(|d| d.port(self.user.lane(lane))).collect();
        Channel::new(ports, self.routes.clone())
    }

    /// Builds the sources of a sleep: calls `make`, and adds each descriptor that becomes readable when a packet
    /// arrives to the sources that `with` finds in the result. None if there is no such descriptor.
    pub(crate) fn wake_sources<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        with: impl FnOnce(&mut T) -> &mut WakeSources,
    ) -> Result<Option<T>> {
        let mut has_any = false;
        self.descriptors(&mut |_| has_any = true);
        if !has_any {
            return Ok(None);
        }
        let failed = |error: io::Error| Error::new(Class::Other, format!("waiting for the network: {error}"));
        let mut made = make().map_err(failed)?;
        let (sources, mut added) = (with(&mut made), Ok(()));
        self.descriptors(&mut |source| {
            if added.is_ok() {
                added = sources.add(source);
            }
        });
        added.map_err(failed)?;
        Ok(Some(made))
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd)) {
        self.devices().iter().for_each(|device| device.descriptors(each));
    }

    /// Prepares the devices for a sleep of the rank. Returns the maximum length of the sleep, in ns; None if no
    /// device limits it.
    pub fn before_sleep(&self) -> Option<u64> {
        self.devices().iter().filter_map(|device| device.before_sleep()).min()
    }

    /// Works on packets that were sent and have not reached their peers yet. Returns whether none is left.
    pub fn flush(&self) -> bool {
        self.devices().iter().filter(|device| !device.flush()).count() == 0
    }

    /// Called when no thread sends or polls any more for now.
    pub fn on_idle(&self) {
        self.devices().iter().for_each(|device| device.on_idle());
    }

    /// Announces that `memory` lies at byte `at` of this rank's arena.
    pub fn share(&self, at: u64, memory: &Region) {
        self.devices().iter().for_each(|device| device.share(at, memory));
    }

    /// Reverts `share`.
    pub fn unshare(&self, memory: &Region) {
        self.devices().iter().for_each(|device| device.unshare(memory));
    }

    /// Returns the operations that are possible on memory of a peer, which depend on the device that reaches it.
    pub fn capabilities(&self, peer: Peer) -> Capabilities {
        self.device(peer).map_or(Capabilities::NONE, |device| device.capabilities())
    }

    /// Registers memory for operations of a peer, and of all peers that the same device reaches (`Device::register`).
    pub fn register(&self, peer: Peer, mem: UserMem<'static>) -> Option<Registration> {
        self.device(peer)?.register(mem)
    }

    /// Exposes a buffer for remote reading, if the device can.
    pub fn expose(&self, to: Peer, mem: UserMem<'static>) -> Option<ExposedKey> {
        self.device(to)?.expose(mem)
    }

    /// Exposes a buffer in shared memory for remote reading, if the device can.
    pub fn expose_shared(&self, to: Peer, mem: UserMem<'static>) -> Option<ExposedKey> {
        self.device(to)?.expose_shared(mem)
    }

    /// Reads `into.len()` bytes of the peer's exposed buffer from `at` on; false if it cannot be read.
    pub fn read(&self, from: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        self.device(from).is_some_and(|device| device.read(from, key, at, into))
    }

    /// Exposes a receive buffer for remote writing if the device prefers that.
    pub fn expose_to_write(&self, to: Peer, mem: UserMem<'static>) -> Option<ExposedKey> {
        self.device(to)?.expose_to_write(mem)
    }

    /// Writes all of `source` to the peer's exposed buffer from `at` on; false if it cannot be written.
    pub fn write(&self, to: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        self.device(to).is_some_and(|device| device.write(to, key, at, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_device::Loopback;

    fn first(len: u32) -> Peers {
        Peers::Consecutive { first: Peer(0), len }
    }

    fn own(peer: u32) -> Box<dyn Device> {
        Box::new(Loopback::new(Peer(peer)))
    }

    #[test]
    fn the_first_device_that_reaches_a_peer_is_its_route() {
        let fabric = Fabric::new(vec![own(1), own(0), own(1)], &first(2)).unwrap();
        let device = |peer| fabric.routes.device(peer);
        assert_eq!([Peer(0), Peer(1), Peer(2)].map(device), [Some(1), Some(0), None]);
        assert_eq!([Peer(0), Peer(1), Peer(2)].map(|peer| fabric.route(peer)), [Some(1), Some(0), None]);
        assert_eq!(fabric.all_limits().len(), 3);
        assert!(fabric.limits(Peer(2)).is_none());
    }

    #[test]
    fn routes_that_are_kept_in_one_place_are_told_apart() {
        let (near, far, late) = (Peer(1), Peer(1 + CACHED_ROUTES as u32), Peer(1).successor().unwrap());
        let routes = RouteTable::new([far, near, late].map(|peer| own(peer.0)).into());
        for _ in 0..3 {
            assert_eq!(
                [near, far, late, Peer(0), Peer(2)].map(|peer| routes.device(peer)),
                [Some(1), Some(0), Some(2), None, None]
            );
            assert_eq!(routes.device(near), routes.device(near), "looked up, and cached");
        }
    }

    #[test]
    fn a_peer_that_nothing_reaches_is_named_with_what_was_tried() {
        let error = Fabric::new(vec![own(0)], &first(2)).err().unwrap().to_string();
        assert!(error.contains("process 1 is reached by no device (tried: self)"), "{error}");
    }
}
