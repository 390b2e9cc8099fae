//! The devices of a process, and the route to each peer: the first device that reaches it
//! (PM/Composite, PM 7.2.1: a device per peer).

use crate::channel::Channel;
use hawser_base::{Class, Error, Lane, Peer, Region, Result, UserMem};
use hawser_device::{Device, Limits, RemoteKey, Source};
use hawser_job::doorbell::Sources;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Which device reaches each peer, and the devices' figures. A byte for a peer.
pub(crate) struct Routes {
    devices: Vec<u8>,
    limits: Vec<Limits>,
}

impl Routes {
    pub fn device(&self, peer: Peer) -> u8 {
        self.devices[peer.index()]
    }

    pub fn limits(&self, peer: Peer) -> &Limits {
        &self.limits[self.device(peer) as usize]
    }

    #[cfg(test)]
    pub fn of_test(devices: Vec<u8>, limits: Vec<Limits>) -> Arc<Routes> {
        Arc::new(Routes { devices, limits })
    }
}

/// All devices and all routes, shared by the lanes.
pub struct Fabric {
    devices: Vec<Box<dyn Device>>,
    routes: Arc<Routes>,
}

impl Fabric {
    /// Routes to `peers` peers over `devices`, the best first.
    pub fn new(devices: Vec<Box<dyn Device>>, peers: usize) -> Result<Fabric> {
        let route = |peer: Peer| {
            let reaching = devices.iter().position(|device| device.reaches(peer));
            let device = reaching.ok_or_else(|| {
                let tried: Vec<_> = devices.iter().map(|d| d.name()).collect();
                Error::new(Class::Other, format!("rank {peer} is reached by no device (tried: {})", tried.join(", ")))
            })?;
            Ok(device as u8)
        };
        let routes = (0..peers as u32).map(Peer).map(route).collect::<Result<_>>()?;
        let limits = devices.iter().map(|device| device.limits()).collect();
        Ok(Fabric { devices, routes: Arc::new(Routes { devices: routes, limits }) })
    }

    /// The figures of each device that is the route to some peer.
    pub fn all_limits(&self) -> impl Iterator<Item = &Limits> {
        let Routes { devices, limits } = &*self.routes;
        limits.iter().enumerate().filter(|(device, _)| devices.contains(&(*device as u8))).map(|(_, limits)| limits)
    }

    /// The figures toward a peer.
    #[inline]
    pub fn limits(&self, peer: Peer) -> &Limits {
        self.routes.limits(peer)
    }

    fn device(&self, peer: Peer) -> &dyn Device {
        &*self.devices[self.routes.device(peer) as usize]
    }

    /// This lane's ends of all devices.
    pub fn channel(&self, lane: Lane) -> Channel {
        let ports = self.devices.iter().map(|d| d.port(lane)).collect();
        Channel::new(ports, self.routes.clone())
    }

    /// What to sleep on: what `make` gives, with each descriptor that becomes readable when something comes added to the sources that
    /// `with` finds there. None where there is no such descriptor.
    pub(crate) fn sources<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        with: impl FnOnce(&mut T) -> &mut Sources,
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
        self.devices.iter().for_each(|device| device.descriptors(each));
    }

    /// The rank is about to sleep; how long it may, in nanoseconds.
    pub fn before_sleep(&self) -> Option<u64> {
        self.devices.iter().filter_map(|device| device.before_sleep()).min()
    }

    /// Works on what was sent and has not reached its peers yet. Whether nothing is left.
    pub fn flush(&self) -> bool {
        self.devices.iter().filter(|device| !device.flush()).count() == 0
    }

    /// Nobody sends or polls any more, for now.
    pub fn rest(&self) {
        self.devices.iter().for_each(|device| device.rest());
    }

    /// Says that `memory` lies at byte `at` of this rank's arena.
    pub fn register(&self, at: u64, memory: &Region) {
        self.devices.iter().for_each(|device| device.register(at, memory));
    }

    /// Takes `register` back.
    pub fn deregister(&self, memory: &Region) {
        self.devices.iter().for_each(|device| device.deregister(memory));
    }

    /// Names a buffer of `mem.len()` bytes for remote reading if the device prefers that.
    pub fn expose(&self, to: Peer, mem: UserMem<'static>) -> Option<RemoteKey> {
        let from = self.limits(to).read_from?;
        if mem.len() < from {
            return None;
        }
        self.device(to).expose(mem)
    }

    /// Reads `into.len()` bytes of the peer's exposed buffer from `at` on; false if it cannot be read.
    pub fn read(&self, from: Peer, key: &RemoteKey, at: u64, into: UserMem) -> bool {
        self.device(from).read(from, key, at, into)
    }

    /// Names a receive buffer for remote writing if the device prefers that.
    pub fn expose_to_write(&self, to: Peer, mem: UserMem<'static>) -> Option<RemoteKey> {
        self.device(to).expose_to_write(mem)
    }

    /// Writes all of `source` to the peer's exposed buffer from `at` on; false if it cannot be written.
    pub fn write(&self, to: Peer, key: &RemoteKey, at: u64, source: Source<'_>) -> bool {
        self.device(to).write(to, key, at, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_device::Loopback;

    fn own(peer: u32) -> Box<dyn Device> {
        Box::new(Loopback::new(Peer(peer)))
    }

    #[test]
    fn the_first_device_that_reaches_a_peer_is_its_route() {
        let fabric = Fabric::new(vec![own(1), own(0), own(1)], 2).unwrap();
        assert_eq!((fabric.routes.device(Peer(0)), fabric.routes.device(Peer(1))), (1, 0));
    }

    #[test]
    fn a_peer_that_nothing_reaches_is_named_with_what_was_tried() {
        let error = Fabric::new(vec![own(0)], 2).err().unwrap().to_string();
        assert!(error.contains("rank 1 is reached by no device (tried: self)"), "{error}");
    }
}
