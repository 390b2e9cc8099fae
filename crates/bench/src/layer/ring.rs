//! Hawser's device for shared memory alone: ring slots, chunks and pieces as MPI uses them, without matching.
//!
//! Used by `layer` and `transport`; uses `two_threads` and `hawser-dev-shm`.

use super::layer_entry::Layer;
use super::message_assembly::MessageAssembly;
use super::packet_receiver::{PacketReceiver, header};
use super::polled_wait::{PolledWait, STALL_LIMIT};
use super::two_threads::TwoThreads;
use crate::pattern_driver::PatternEndpoint;
use crate::sample;
use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, DeviceLimits, DevicePort, PayloadSource};
use hawser_job::{HostFacts, Segment, SegmentSpec};
use std::io;

struct ShmEndpoint {
    peer: Peer,
    port: Box<dyn DevicePort>,
    limits: DeviceLimits,
    sends: u32,
    assembly: MessageAssembly,
    wait: PolledWait,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    let segment = segment()?;
    let [near, far] = [0, 1].map(|me| ShmEndpoint::new(&segment, me));
    Ok(Box::new(TwoThreads::new(near, far)))
}

/// Makes the segment of a host for a job of two ranks.
pub fn segment() -> io::Result<Segment> {
    let facts = HostFacts { cores: sample::cores().len() as u32, ..HostFacts::default() };
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("bench", "here", 2, vec![0, 1]) };
    Segment::create(&spec).map_err(io::Error::other)
}

impl ShmEndpoint {
    fn new(segment: &Segment, me: u32) -> ShmEndpoint {
        let device = ShmDevice::new(segment.clone(), me as usize);
        let peer = Peer(1 - me);
        let limits = device.limits();
        let wait = PolledWait::new(STALL_LIMIT, "the other thread neither sends nor receives");
        let port = device.port(Lane(0));
        ShmEndpoint { peer, port, limits, sends: 0, assembly: MessageAssembly::default(), wait }
    }
}

/// Sends the piece of `from` that begins at byte `at`, if the device has room. Returns the number of bytes that were
/// sent.
fn send_piece(
    port: &mut dyn DevicePort,
    limits: &DeviceLimits,
    to: Peer,
    message: u32,
    from: UserMem,
    at: usize,
) -> usize {
    if from.len() <= limits.short {
        return if port.send_short(to, header(message, 0), from).is_ok() { from.len() } else { 0 };
    }
    let part = from.slice(at, limits.fragmentation.piece_len(from.len()).min(from.len() - at));
    if port.send(to, header(message, at), &[], PayloadSource::Mem(part)).is_ok() { part.len() } else { 0 }
}

impl PatternEndpoint for ShmEndpoint {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let ShmEndpoint { peer, port, limits, sends, assembly, wait } = self;
        wait.begin(out.len() + into.len());
        let (is_sent, is_received) = (u32::from(!out.is_empty()), u32::from(!into.is_empty()));
        let (out, mut sent) = (UserMem::of_slice(out), 0);
        let mut packets = PacketReceiver::new(assembly, into);
        while sent < out.len() || !packets.is_complete() {
            let mut moved = false;
            if sent < out.len() {
                let bytes = send_piece(&mut **port, limits, *peer, *sends, out, sent);
                sent += bytes;
                moved = bytes > 0;
            }
            if !packets.is_complete() {
                moved |= port.poll_from(*peer, &mut packets);
            }
            wait.count_poll(moved)?;
            if !moved {
                std::hint::spin_loop();
            }
            packets.check()?;
        }
        *sends = sends.wrapping_add(is_sent);
        assembly.message = assembly.message.wrapping_add(is_received);
        Ok(())
    }
}
