//! A port as a rank polls it: together with the ports that share its NIC's queues.
//!
//! One of `xdp` and `xdp-udp` takes the frames of their queues for both, so a port that is polled alone may receive
//! nothing. Other ports are not polled: they would cost time. Used by `serve`; uses the ports.

use hawser_dev_ether::Opened;
use hawser_dev_ether::port::{Address, FramePort, Missed, Refused};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

pub struct Beside<'a> {
    port: &'a mut dyn FramePort,
    /// The ports that share the queues; frames for them are dropped now.
    others: Vec<&'a mut dyn FramePort>,
}

impl Beside<'_> {
    /// The port at this index, if there is one.
    pub fn of(ports: &mut [Opened], at: usize) -> Option<Beside<'_>> {
        let rail = ports.get(at).map(|opened| (opened.rail, by_queues(opened)))?;
        let mut port = None;
        let mut others: Vec<&mut dyn FramePort> = Vec::new();
        for (place, opened) in ports.iter_mut().enumerate() {
            let shares = rail == (opened.rail, true) && by_queues(opened);
            match place == at {
                true => port = Some(opened.port.as_mut()),
                false if shares => others.push(opened.port.as_mut()),
                false => {}
            }
        }
        port.map(|port| Beside { port, others })
    }
}

fn by_queues(opened: &Opened) -> bool {
    opened.port.name().starts_with("xdp")
}

impl FramePort for Beside<'_> {
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

    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.port.send(to, frame)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
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

    fn missed(&mut self) -> Missed {
        self.port.missed()
    }

    fn take_error(&mut self) {
        self.port.take_error();
    }
}
