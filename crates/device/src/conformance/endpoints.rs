//! The tools of the suite: connected devices, a log of deliveries, and payload that verifies itself.

use crate::{Delivery, Device, DeviceLimits, DevicePort, Header, Payload, PayloadSource, SendError};
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use std::sync::Arc;

/// Connected devices; the device of rank i has index i. A device that reaches only itself is a net of one.
pub struct TestNet {
    pub devices: Vec<Arc<dyn Device>>,
    /// Reports the end of a rank, as the host's agent would.
    pub kill: Box<dyn Fn(usize) + Send + Sync>,
}

impl TestNet {
    pub fn endpoint(&self, rank: usize, lane: u8) -> TestEndpoint {
        TestEndpoint { device: self.devices[rank].clone(), port: self.devices[rank].port(Lane(lane)) }
    }

    /// Flushes all devices until no packet is in flight any more. A device that has received everything must be
    /// flushed too, because others may wait for what it sends (acknowledgements).
    pub fn flush_all(&self) {
        let mut backoff = PollBackoff::default();
        // `count` flushes every device, including those behind one that is not done.
        while self.devices.iter().filter(|device| !device.flush()).count() > 0 {
            backoff.after_empty_poll();
        }
    }

    /// The rank to which rank 0 sends: the last one, which in a net of one is rank 0 itself.
    pub fn last(&self) -> usize {
        self.devices.len() - 1
    }
}

/// A wait for an action of a port, the kernel or another thread.
#[derive(Default)]
pub struct PollBackoff {
    polls: u32,
}

impl PollBackoff {
    /// Yields the core after some of the calls. Must be called after each empty poll. Most waits are over within
    /// microseconds, whereas a yield to a program that computes costs milliseconds (a time slice of the scheduler):
    /// so only one poll in `POLLS_PER_YIELD` yields.
    pub fn after_empty_poll(&mut self) {
        self.polls += 1;
        if self.polls.is_multiple_of(POLLS_PER_YIELD) {
            std::thread::yield_now();
        }
    }
}

/// Empty polls per yield. They take about 100 us if each is a system call, and about 5 us otherwise.
const POLLS_PER_YIELD: u32 = 64;

/// One port and its device, with the actions of tests.
pub struct TestEndpoint {
    pub device: Arc<dyn Device>,
    pub port: Box<dyn DevicePort>,
}

/// The form in which a payload is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadForm {
    Mem,
    /// Packed, in any pieces that the device requests.
    Pack,
}

impl TestEndpoint {
    pub fn limits(&self, peer: usize) -> DeviceLimits {
        assert!(self.device.reaches(Peer(peer as u32)), "the device does not reach its peer");
        self.device.limits()
    }

    /// Sends a packet with the header `test_header(seed)` and the bytes `payload(seed, len)`, the first `prefix` of
    /// which are the packet's prefix.
    pub fn send(
        &mut self,
        to: usize,
        seed: u32,
        len: usize,
        prefix: usize,
        form: PayloadForm,
    ) -> Result<(), SendError> {
        let mut bytes = payload(seed, len);
        let (prefix_bytes, rest) = bytes.split_at_mut(prefix);
        let to = Peer(to as u32);
        match form {
            PayloadForm::Mem if prefix_bytes.is_empty() && len <= self.limits(to.index()).short => {
                self.port.send_short(to, test_header(seed), UserMem::of_slice(rest))
            }
            PayloadForm::Mem => {
                self.port.send(to, test_header(seed), prefix_bytes, PayloadSource::Mem(UserMem::of_slice(rest)))
            }
            PayloadForm::Pack => {
                let mut at = 0;
                let mut pack = |piece: SharedMem| {
                    piece.write(&rest[at..at + piece.len()]);
                    at += piece.len();
                };
                let sent = self.port.send(
                    to,
                    test_header(seed),
                    prefix_bytes,
                    PayloadSource::Pack { len: rest.len(), pack: &mut pack },
                );
                assert!(sent.is_err() || at == rest.len(), "all of a taken packet is packed, once");
                sent
            }
        }
    }

    /// Sends the same packet as `send` does, as a piece of a stream.
    pub fn send_piece(&mut self, to: usize, seed: u32, len: usize, prefix: usize) -> Result<(), SendError> {
        let mut bytes = payload(seed, len);
        let (prefix_bytes, rest) = bytes.split_at_mut(prefix);
        self.port.send_piece(
            Peer(to as u32),
            test_header(seed),
            prefix_bytes,
            PayloadSource::Mem(UserMem::of_slice(rest)),
            false,
        )
    }

    pub fn send_control(&mut self, to: usize, seed: u32, prefix: usize) -> Result<(), SendError> {
        self.port.send(Peer(to as u32), test_header(seed), &payload(seed, prefix), PayloadSource::None)
    }

    /// Sends packets of `len` bytes, with seeds from `first` on, until one is refused. Returns how many were
    /// accepted.
    pub fn fill(&mut self, to: usize, first: u32, len: usize) -> u32 {
        for sent in 0..1_000_000 {
            match self.send(to, first + sent, len, 0, PayloadForm::Mem) {
                Ok(()) => {}
                Err(error) => {
                    assert_eq!(error, SendError::Full);
                    return sent;
                }
            }
        }
        panic!("back-pressure: a million packets of {len} bytes were taken and none was read");
    }

    /// Polls until `done` returns true. Panics with `promise` if a minute has passed.
    pub fn poll_until(&mut self, log: &mut ReceivedLog, done: impl Fn(&ReceivedLog) -> bool, promise: &str) {
        let (start, mut backoff) = (std::time::Instant::now(), PollBackoff::default());
        while !done(log) {
            self.device.flush();
            if self.port.poll(log) == 0 {
                assert!(start.elapsed().as_secs() < 60, "{promise}: not after a minute; {} arrived", log.arrived.len());
                backoff.after_empty_poll();
            }
        }
    }
}

/// Returns a header whose every bit depends on the seed.
pub fn test_header(seed: u32) -> Header {
    let mixed = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Header::new(mixed as u8, (mixed >> 8) as u16, seed, (mixed >> 32) as u32)
}

/// Returns bytes that depend on their seed and their position.
pub fn payload(seed: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| (seed.wrapping_mul(31).wrapping_add(i as u32 * 7 + (i >> 8) as u32)) as u8).collect()
}

/// The delivered packets, in order. As the receiver of deliveries it checks header and payload of each packet.
#[derive(Default)]
pub struct ReceivedLog {
    /// Sender, seed and length of each packet.
    pub arrived: Vec<(usize, u32, usize)>,
    pub failed: Vec<usize>,
    /// Maximum bytes of a payload that are taken at once by `next` (0: they are taken by `read` and `copy_to`), and
    /// maximum bytes of a payload that are taken in all (None: all).
    pub max_piece: usize,
    pub max_bytes: Option<usize>,
}

impl ReceivedLog {
    pub fn seeds_of(&self, from: usize) -> Vec<u32> {
        self.arrived.iter().filter(|packet| packet.0 == from).map(|packet| packet.1).collect()
    }

    /// Checks that exactly the packets with these seeds have arrived from `from`, in this order.
    pub fn expect_seeds(&self, from: usize, seeds: impl Iterator<Item = u32>, promise: &str) {
        assert!(self.seeds_of(from).into_iter().eq(seeds), "{promise}: {:?}", self.seeds_of(from));
    }
}

impl Delivery for ReceivedLog {
    fn deliver(&mut self, from: Peer, header: Header, packet: &mut dyn Payload) {
        assert!(!self.failed.contains(&from.index()), "nothing arrives from a peer that was reported as failed");
        let seed = header.a();
        assert_eq!(header, test_header(seed), "the header arrives as it was sent");
        let len = packet.len();
        let wanted = self.max_bytes.unwrap_or(len).min(len);
        let mut bytes = vec![0xEE; wanted];
        let whole = if self.max_piece == 0 {
            // Take the first 16 bytes by `read` and the others by `copy_to`, as the transport takes prefix and
            // payload.
            let (front, rest) = bytes.split_at_mut(wanted.min(16));
            packet.read(front) && (rest.is_empty() || packet.copy_to(UserMem::of_slice(rest)))
        } else {
            let mut at = 0;
            while at < wanted {
                let Some(piece) = packet.next(self.max_piece.min(wanted - at)) else { break };
                assert!(!piece.is_empty() && piece.len() <= self.max_piece, "a piece is neither empty nor too long");
                piece.read(&mut bytes[at..at + piece.len()]);
                at += piece.len();
                assert_eq!(packet.len(), len - at, "len() is what is left");
            }
            at == wanted
        };
        assert!(whole, "a packet of a peer that lives arrives whole");
        assert!(bytes == payload(seed, len)[..wanted], "the payload of packet {seed} ({len} bytes) is as it was sent");
        if wanted == len {
            assert!(packet.next(1).is_none() && packet.is_empty(), "after the last byte there is none");
        }
        self.arrived.push((from.index(), seed, len));
    }

    fn peer_failed(&mut self, peer: Peer) {
        assert!(!self.failed.contains(&peer.index()), "a failure is reported once");
        self.failed.push(peer.index());
    }
}
