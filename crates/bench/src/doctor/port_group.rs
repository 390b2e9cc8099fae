//! A port as a rank polls it: together with the ports that share its NIC's queues.
//!
//! One of the ports `xdp` and `xdp-udp` takes the frames of their common queues for both, so a port that is polled
//! alone may receive nothing. Other ports are not polled: they would cost time. Used by `serve`; uses the ports.

use hawser_dev_ether::OpenPort;
use hawser_dev_ether::port::{FramePort, FrameSendError, PortAddress, PortDrops};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

pub struct PortGroup<'a> {
    port: &'a mut dyn FramePort,
    /// The ports that share the queues; frames for them are dropped now.
    others: Vec<&'a mut dyn FramePort>,
}

impl PortGroup<'_> {
    /// Makes the group of the port with index `at`; None if there is no such port.
    pub fn of(ports: &mut [OpenPort], at: usize) -> Option<PortGroup<'_>> {
        let rail = ports.get(at).map(|opened| (opened.rail, uses_xdp_queues(opened)))?;
        let mut port = None;
        let mut others: Vec<&mut dyn FramePort> = Vec::new();
        for (index, opened) in ports.iter_mut().enumerate() {
            let shares = rail == (opened.rail, true) && uses_xdp_queues(opened);
            match index == at {
                true => port = Some(opened.port.as_mut()),
                false if shares => others.push(opened.port.as_mut()),
                false => {}
            }
        }
        port.map(|port| PortGroup { port, others })
    }
}

fn uses_xdp_queues(opened: &OpenPort) -> bool {
    opened.port.name().starts_with("xdp")
}

impl FramePort for PortGroup<'_> {
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

    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.port.send(to, frame)
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.port.send_run(to, frames)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        for other in &mut self.others {
            other.receive(&mut |_| ());
        }
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
