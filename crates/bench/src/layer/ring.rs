//! Hawser's device for shared memory alone: ring slots, chunks and pieces as MPI uses them, without matching.
//!
//! Used by `Together`; uses `hawser-dev-shm`.

use super::inbox::Inbox;
use super::packets::{Packets, header};
use super::row::Layer;
use super::together::Together;
use crate::duet::End;
use crate::sample;
use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Limits, Port, Source};
use hawser_job::{Facts, Segment, Spec};
use std::io;

struct RingEnd {
    peer: Peer,
    port: Box<dyn Port>,
    limits: Limits,
    sends: u32,
    inbox: Inbox,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    let segment = segment()?;
    let [near, far] = [0, 1].map(|me| RingEnd::new(&segment, me));
    Ok(Box::new(Together::new(near, far)))
}

/// Makes a host's part of a job of two ranks.
pub fn segment() -> io::Result<Segment> {
    let facts = Facts { cores: sample::cores().len() as u32, ..Facts::default() };
    let spec = Spec { facts, ..Spec::of("bench", "here", 2, vec![0, 1]) };
    Segment::create(&spec).map_err(io::Error::other)
}

impl RingEnd {
    fn new(segment: &Segment, me: u32) -> RingEnd {
        let device = ShmDevice::new(segment.clone(), me as usize);
        let peer = Peer(1 - me);
        let limits = device.limits();
        RingEnd { peer, port: device.port(Lane(0)), limits, sends: 0, inbox: Inbox::default() }
    }
}

/// Sends the next piece of `from`, if there is room. Returns its bytes.
fn push(port: &mut dyn Port, limits: &Limits, to: Peer, message: u32, from: UserMem, at: usize) -> usize {
    if from.len() <= limits.short {
        return if port.send_short(to, header(message, 0), from).is_ok() { from.len() } else { 0 };
    }
    let part = from.slice(at, limits.pieces.best(from.len()).min(from.len() - at));
    if port.send(to, header(message, at), &[], Source::Mem(part)).is_ok() { part.len() } else { 0 }
}

impl End for RingEnd {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let RingEnd { peer, port, limits, sends, inbox } = self;
        let (is_sent, is_received) = (u32::from(!out.is_empty()), u32::from(!into.is_empty()));
        let (out, mut sent) = (UserMem::of_slice(out), 0);
        let mut packets = Packets::new(inbox, into);
        while sent < out.len() || !packets.is_whole() {
            let mut moved = false;
            if sent < out.len() {
                let bytes = push(&mut **port, limits, *peer, *sends, out, sent);
                sent += bytes;
                moved = bytes > 0;
            }
            if !packets.is_whole() {
                moved |= port.poll_from(*peer, &mut packets);
            }
            if !moved {
                std::hint::spin_loop();
            }
            packets.check()?;
        }
        *sends = sends.wrapping_add(is_sent);
        inbox.message = inbox.message.wrapping_add(is_received);
        Ok(())
    }
}
