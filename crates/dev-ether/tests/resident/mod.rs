//! A port for tests whose hosts are namespaces: it sends on the host that it was made for, whatever thread calls it.
//!
//! Used by `ports` and `devices`.

use hawser_dev_ether::port::{Address, FramePort, Missed, PortOf, Refused, StreamPort};
use hawser_os::cable::Host;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// Wraps `port`, which was made on `host`.
pub fn resident(host: &Host, port: impl FramePort + 'static) -> Box<dyn FramePort> {
    Box::new(Resident { host: host.clone(), port })
}

/// A port that makes sockets while it sends: it does so on its host, as a rank that lives there would.
struct Resident<P> {
    host: Host,
    port: P,
}

impl<P: FramePort> FramePort for Resident<P> {
    fn name(&self) -> &'static str {
        self.port.name()
    }
    fn frame_max(&self) -> usize {
        self.port.frame_max()
    }
    fn room(&self) -> usize {
        self.port.room()
    }
    fn address(&self) -> Address {
        self.port.address()
    }
    fn turn_to(&mut self, peer: PortOf) {
        self.port.turn_to(peer);
    }
    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        self.port.as_stream()
    }
    fn deadline_ns(&self) -> Option<u64> {
        self.port.deadline_ns()
    }
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.host.within(|| self.port.send(to, frame))
    }
    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.host.within(|| self.port.send_run(to, frames))
    }
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        self.port.receive(take)
    }
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.port.descriptors(each);
    }
    fn missed(&mut self) -> Missed {
        self.port.missed()
    }
    fn take_error(&mut self) {
        self.port.take_error();
    }
}
