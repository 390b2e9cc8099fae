//! Frame ports: whole frames between this rank and others over one rail, in six ways, one file each.
//!
//! A port may lose frames, double and reorder them (`link` mends that), and hands over whatever comes: rubbish and forgeries
//! too, which `link` tells by their tags. It must never wait, and never end for what others send. A rank has one port for each
//! rail and way; by that of UDP frames may leave in several flows (`flows`).

mod address;
mod by_queues;
mod datagrams;
mod flows;
mod headers;
mod neighbours;
mod packet;
mod packet_udp;
mod queues;
mod range;
mod refused;
mod stream;
mod udp;
mod xdp;
mod xdp_udp;

pub use address::{Address, MalformedAddress};
pub use flows::FLOWS;
pub use packet::{Member, PacketPort};
pub use packet_udp::PacketUdpPort;
pub use queues::Queues;
pub use range::{PORT_RANGE, PortRange};
pub use refused::Refused;
pub use stream::{Carries, GREETING, Greeting, PortOf, Seal, StreamPort, stream_frames};
pub use udp::UdpPort;
pub use xdp::XdpPort;
pub use xdp_udp::XdpUdpPort;

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// A frame port: carries whole frames between this rank and others over one rail. It may lose, double and reorder
/// them, never split or change them knowingly.
pub trait FramePort: Send {
    /// As in HAWSER_PORT: "xdp", "packet", "xdp-udp", "packet-udp", "udp" or "stream".
    fn name(&self) -> &'static str;

    /// How it works on this rail, for people, where that depends.
    fn manner(&self) -> Option<String> {
        None
    }

    /// Longest frame, header of `link` included, in bytes.
    fn frame_max(&self) -> usize;

    /// Bytes of frames of full length that are really kept for us before some are dropped.
    fn room(&self) -> usize;

    /// Where others reach it: goes into the rank's card.
    fn address(&self) -> Address;

    /// Says whose the addresses are that frames are sent to from now on: a connection of TCP begins with it (P32).
    fn turn_to(&mut self, _peer: PortOf) {}

    /// Sends one frame at once.
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused>;

    /// Sends frames of one length (the last may be shorter), at least one, to one peer, with as few system calls as can
    /// be. How many went; refused only if none did.
    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused>;

    /// `send_run` by flow `flow` of those to this peer (P39): by one that it does not have, as by the first.
    fn send_by(&mut self, _flow: u8, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.send_run(to, frames)
    }

    /// By how many frames have left until now, or might have.
    fn flows(&self) -> usize {
        1
    }

    /// Hands over each frame that has come, a bounded number of them, and sends on what it holds back. How many. Costs next
    /// to nothing when nothing has come: a load (packet; by XDP one for each queue, and a lock) or one system call.
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize;

    /// How often it is asked while it has nothing: at one turn of so many (a power of two, TURNS_MAX at most),
    /// beside cheaper ports.
    fn turns(&self) -> u32 {
        1
    }

    /// For what only TCP can (`direct`).
    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        None
    }

    /// What to sleep on: one of them is readable when `receive` has something to do. (One set of several would be told of each frame
    /// twice.)
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>));

    /// When `receive` has something to do, if nothing comes before.
    fn deadline_ns(&self) -> Option<u64> {
        None
    }

    /// To be called now and then while a peer does not answer: ends connections that would send again too late what was
    /// lost while a cable was out. What is sent next opens new ones.
    fn renew(&mut self) {}

    /// Whether it is bound to its interface, and of no use once that is gone, though another one may take its name and
    /// address.
    fn is_bound(&self) -> bool {
        true
    }

    /// Whether the descriptors that it has opened since it was made, for connections and further flows, are still ours.
    fn keeps_all(&self) -> bool {
        true
    }

    /// All descriptors that the port has had from the start, for who looks whether they are still ours.
    fn held(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.descriptors(each);
    }

    /// What came and was never handed over, so far. A system call: to be asked now and then.
    fn missed(&mut self) -> Missed;

    /// To be called before a sleep: takes away an error that waits on the descriptor (the interface went down), which would
    /// end this sleep and every later one at once.
    fn take_error(&mut self);
}

/// What came to a port and was never handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missed {
    /// Frames that the kernel dropped: there was no room for them, or a checksum was wrong.
    pub frames: u64,
    /// Connections that began with no greeting of this job's, or with one that had come before, or not in time.
    pub connections: u64,
    /// Connections of peers in which something stood where a frame's length belongs that is none.
    pub changed: u64,
    /// How often callers had to wait, since the process had no descriptors left.
    pub put_off: u64,
}

impl Missed {
    /// Together with another one.
    pub fn and(self, other: Missed) -> Missed {
        Missed {
            frames: self.frames + other.frames,
            connections: self.connections + other.connections,
            changed: self.changed + other.changed,
            put_off: self.put_off + other.put_off,
        }
    }
}

/// Where asking is a system call (0.4 us) and not a load, and nothing has come for a while.
const SYSTEM_CALL_TURNS: u32 = 8;

/// A port has no more turns than this (`FramePort::turns`): a TCP port that nobody uses.
pub const TURNS_MAX: u32 = 256;
