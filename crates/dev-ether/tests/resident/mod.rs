//! A port for tests whose hosts are namespaces: it sends on the host that it was made for, whatever thread calls it.
//!
//! Used by `ports` and `devices`.

use hawser_dev_ether::port::{FramePort, FrameSendError, PortAddress, PortDrops, PortId, StreamPort};
use hawser_os::veth_pair::NetnsHost;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// Wraps `port`, which was made on `host`.
pub fn on_host(host: &NetnsHost, port: impl FramePort + 'static) -> Box<dyn FramePort> {
    Box::new(Resident { host: host.clone(), port })
}

/// A port that makes sockets while it sends: it does so on its host, as a rank of that host would.
struct Resident<P> {
    host: NetnsHost,
    port: P,
}

impl<P: FramePort> FramePort for Resident<P> {
    fn name(&self) -> &'static str {
        self.port.name()
    }
    fn frame_max(&self) -> usize {
        self.port.frame_max()
    }
    fn receive_buffer_bytes(&self) -> usize {
        self.port.receive_buffer_bytes()
    }
    fn address(&self) -> PortAddress {
        self.port.address()
    }
    fn set_peer(&mut self, peer: PortId) {
        self.port.set_peer(peer);
    }
    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        self.port.as_stream()
    }
    fn deadline_ns(&self) -> Option<u64> {
        self.port.deadline_ns()
    }
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.host.within(|| self.port.send(to, frame))
    }
    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.host.within(|| self.port.send_run(to, frames))
    }
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        self.port.receive(take)
    }
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.port.descriptors(each);
    }
    fn drops(&mut self) -> PortDrops {
        self.port.drops()
    }
    fn take_error(&mut self) {
        self.port.take_error();
    }
}
