//! Hawser's device for shared memory alone: lines, chunks and pieces as MPI uses them, without matching.
//!
//! Before it: `Together`; after it: `hawser-dev-shm`.

use super::Layer;
use super::together::Together;
use crate::duet::End;
use crate::sample;
use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Delivery, Device, Header, Limits, Payload, Port, Source};
use hawser_job::{Facts, Segment, Spec};
use std::io;

/// Receives one message into a buffer.
struct Sink {
    buffer: UserMem,
    left: usize,
    lost: bool,
}

impl Delivery for Sink {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        let len = payload.len();
        self.lost |= !payload.copy_to(self.buffer.slice(header.a as usize, len));
        self.left -= len;
    }

    fn expects(&self, _from: Peer) -> bool {
        self.left > 0
    }

    fn lost(&mut self, _peer: Peer) {
        self.lost = true;
    }
}

struct RingEnd {
    peer: Peer,
    port: Box<dyn Port>,
    limits: Limits,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    let facts = Facts { cores: sample::cores().len() as u32, ..Facts::default() };
    let spec = Spec { job_id: "bench".into(), host: "here".into(), world: 2, world_ranks: vec![0, 1], facts };
    let segment = Segment::create(&spec).map_err(io::Error::other)?;
    let [near, far] = [0, 1].map(|me| RingEnd::new(&segment, me));
    Ok(Box::new(Together::new(near, far)))
}

impl RingEnd {
    fn new(segment: &Segment, me: u32) -> RingEnd {
        let device = ShmDevice::new(segment.clone(), me as usize);
        let peer = Peer(1 - me);
        let limits = device.limits(peer).expect("two ranks of one host reach each other");
        RingEnd { peer, port: device.port(Lane(0)), limits }
    }

    /// Sends the next piece of `from`, if there is room; how many bytes.
    fn push(&mut self, from: UserMem, at: usize) -> usize {
        if from.len() <= self.limits.short {
            return if self.port.send_short(self.peer, Header::default(), from).is_ok() { from.len() } else { 0 };
        }
        let part = from.slice(at, self.limits.pieces.best(from.len()).min(from.len() - at));
        let header = Header { a: at as u32, ..Header::default() };
        if self.port.send(self.peer, header, &[], Source::Mem(part)).is_ok() { part.len() } else { 0 }
    }
}

impl End for RingEnd {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let (out, buffer) = (UserMem::of_slice(out), UserMem::of_slice(into));
        let mut sink = Sink { buffer, left: buffer.len(), lost: false };
        let mut sent = 0;
        while sent < out.len() || sink.left > 0 {
            let mut moved = false;
            if sent < out.len() {
                let bytes = self.push(out, sent);
                sent += bytes;
                moved = bytes > 0;
            }
            if sink.left > 0 {
                moved |= self.port.poll_from(self.peer, &mut sink);
            }
            if !moved {
                std::hint::spin_loop();
            }
            if sink.lost {
                return Err(io::Error::other("the other end of the ring is lost"));
            }
        }
        Ok(())
    }
}
