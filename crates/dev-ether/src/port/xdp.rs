//! The port `xdp`: the frames of `packet`, taken from the NIC's queues before the kernel's own stack sees them (AF_XDP).
//!
//! On the wire and in cards nothing is different (P30), so that one of two peers may have `packet`. A program on the NIC redirects
//! the frames of this rank alone; it is gone with the port, even by kill -9. What it cannot redirect passes to the kernel, and so to the
//! `PacketPort` that each of these has beside it: frames of queues without a socket of ours, and all as long as no program is attached. So nothing
//! is lost wherever the NIC puts frames of an EtherType that it does not know. A NIC has one program, hence one port of this kind.

use super::packet::{ETHER_TYPE, HEAD, JOB, PacketPort, SELECTOR, SOURCE, TYPE};
use super::{Address, FOREIGN_KIND, FramePort, Missed, Refused};
use hawser_os::During;
use hawser_os::ebpf::redirect_if;
use hawser_os::interfaces::Interface;
use hawser_os::xdp::{self, Link, Program, Sockets};
use hawser_os::xsk::{self, Shape, Socket};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Chunks for what has come and was not taken, and for what is sent: as many frames of 1500 bytes as a run of `packet`, twice.
const CHUNKS: u32 = 128;
/// Further ones for a NIC that fills them itself: as many frames as its own queue usually holds.
const SPARE: u32 = 1024;
/// Queues of which frames are copied that are taken at most; from all further ones frames come by the packet socket. Of those that the NIC itself
/// would fill only the first is taken: all else that comes by such a queue, TCP too, has to be copied out of our chunks.
const QUEUES: u32 = 8;
/// A chunk: two to a page where a frame fits into one, else a page. (Longer chunks want huge pages, which few systems have set aside.)
const CHUNK: u32 = 2048;
const LONG_CHUNK: u32 = 4096;
/// Chunks that one `receive` empties at most of each queue.
const RECEIVE_MAX: usize = 64;
/// Ethernet's header, which the MTU does not count.
const ETHER_HEAD: usize = 14;

pub struct XdpPort {
    /// Goes first: no frame is redirected to a socket that is gone.
    link: Link,
    /// Of each queue, from 0 on; the first one sends.
    queues: Vec<Socket>,
    packet: PacketPort,
    /// What was put goes out later, or never: the NIC is down.
    stuck: bool,
    /// Something was put that the NIC had no room for.
    waiting: bool,
    room: usize,
    head: [u8; HEAD],
}

impl XdpPort {
    /// Whose the NIC is, if a program of XDP is attached to it.
    pub fn owner(interface: &Interface) -> io::Result<Option<u32>> {
        xdp::attached(interface.index)
    }

    pub fn open(interface: &Interface, job: u32, selector: u16) -> io::Result<XdpPort> {
        let packet = PacketPort::open(interface, job, selector)?;
        if let Some(id) = XdpPort::owner(interface)? {
            let text = format!("the NIC has another program of XDP (id {id}; `bpftool prog show id {id}` tells whose)");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let Address::Ether { mac, .. } = packet.address() else { unreachable!("a port of raw Ethernet") };
        let head = head(mac, mac, job, selector);
        let sockets = Sockets::new(QUEUES)?;
        let program = Program::load(&redirect_if(HEAD, &ours(&head), sockets.as_fd()))?;
        let opened = with_zero_copy(interface, &program).or_else(|_| with_copies(interface, &program));
        let (link, queues) = opened.during(|| format!("opening a port on {}", interface.name))?;
        // Until now frames passed to the packet socket.
        queues.iter().zip(0..).try_for_each(|(queue, nth)| sockets.set(nth, queue.as_fd()))?;
        let parts = longest(interface).div_ceil(xsk::one_chunk(chunk(interface)));
        let room = CHUNKS as usize / parts * packet.frame_max();
        Ok(XdpPort { link, queues, packet, stuck: false, waiting: false, room, head })
    }

    /// Addresses the header; refuses what cannot be sent.
    fn address_to(&mut self, to: &Address, size: usize) -> Result<(), Refused> {
        let Address::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > self.packet.frame_max() {
            return Err(Refused::TooLong);
        }
        self.head[..SOURCE].copy_from_slice(mac);
        self.head[SELECTOR..HEAD].copy_from_slice(&selector.to_be_bytes());
        // What was put while the NIC was down would go out later, whatever is said of it now: nothing is put behind it.
        if self.stuck { self.push() } else { Ok(()) }
    }

    /// Sends what was put.
    fn push(&mut self) -> Result<(), Refused> {
        let pushed = self.queues[0].push();
        self.stuck = pushed.is_err();
        self.waiting = self.queues[0].is_waiting();
        pushed.map_err(|error| Refused::of(&error))
    }
}

impl FramePort for XdpPort {
    fn name(&self) -> &'static str {
        "xdp"
    }

    fn frame_max(&self) -> usize {
        self.packet.frame_max()
    }

    fn room(&self) -> usize {
        self.room.min(self.packet.room())
    }

    fn address(&self) -> Address {
        self.packet.address()
    }

    #[inline]
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.address_to(to, frame.len())?;
        let is_put = self.queues[0].put(&self.head, frame);
        // That the NIC went down is told by the next frame: this one may still go out.
        let _ = self.push();
        if is_put { Ok(()) } else { Err(Refused::Full) }
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.address_to(to, frames[0].len())?;
        let (head, queue) = (&self.head, &mut self.queues[0]);
        let put = frames.iter().take_while(|frame| queue.put(head, frame)).count();
        let _ = self.push();
        if put > 0 { Ok(put) } else { Err(Refused::Full) }
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        if self.waiting {
            let _ = self.push();
        }
        let mut count = 0;
        for queue in &mut self.queues {
            count += queue.receive(RECEIVE_MAX, |frame| take(frame.get(HEAD..).unwrap_or_default()));
        }
        count + self.packet.receive(take)
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.descriptors(each);
        self.queues.iter().for_each(|queue| each(queue.as_fd()));
    }

    fn missed(&mut self) -> Missed {
        let of_queues: u64 = self.queues.iter().map(Socket::missed).sum();
        let Missed { frames, connections } = self.packet.missed();
        Missed { frames: frames + of_queues, connections }
    }

    fn take_error(&mut self) {
        self.packet.take_error();
        self.queues.iter().for_each(|queue| _ = queue.take_error());
    }

    fn manner(&self) -> Option<String> {
        let by = if self.link.is_native() { "the driver, without copies" } else { "the kernel, with copies" };
        Some(format!("a program run by {by}, on the first {} of its queues", self.queues.len()))
    }
}

fn head(to: [u8; 6], from: [u8; 6], job: u32, selector: u16) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..SOURCE].copy_from_slice(&to);
    head[SOURCE..TYPE].copy_from_slice(&from);
    head[TYPE..JOB].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head[JOB..SELECTOR].copy_from_slice(&job.to_be_bytes());
    head[SELECTOR..].copy_from_slice(&selector.to_be_bytes());
    head
}

/// What frames have, and where, that are as this one, whoever sends them (P30).
fn ours(head: &[u8; HEAD]) -> Vec<(usize, [u8; 2])> {
    let halves = (0..HEAD).step_by(2).filter(|at| !(SOURCE..TYPE).contains(at));
    halves.map(|at| (at, [head[at], head[at + 1]])).collect()
}

/// The first of the NIC's queues, which it fills itself, and a program that its driver runs.
fn with_zero_copy(interface: &Interface, program: &Program) -> io::Result<(Link, Vec<Socket>)> {
    // First, since it shows that the driver can: one that cannot is left as it is.
    let queue = queue(interface, 0, true)?;
    Ok((program.attach(interface.index, true)?, vec![queue]))
}

/// All of the NIC's queues that there are, and a program that the kernel runs. A driver may run one and have no zero-copy, but nothing is
/// gained by it that was worth what it costs: of a veth it takes the peer's segmentation offload, and three quarters of TCP's rate
/// (docs/measuring.md).
fn with_copies(interface: &Interface, program: &Program) -> io::Result<(Link, Vec<Socket>)> {
    let link = program.attach(interface.index, false)?;
    let mut queues = vec![queue(interface, 0, false)?];
    queues.extend((1..QUEUES).map_while(|nth| queue(interface, nth, false).ok()));
    Ok((link, queues))
}

fn queue(interface: &Interface, nth: u32, zero_copy: bool) -> io::Result<Socket> {
    let (spare, send) = (if zero_copy { SPARE } else { 0 }, if nth == 0 { CHUNKS } else { 0 });
    let shape = Shape { chunk_bytes: chunk(interface), receive: CHUNKS, spare, send };
    let in_parts = longest(interface) > xsk::one_chunk(chunk(interface));
    Socket::open(interface.index, nth, shape, zero_copy, in_parts)
}

/// Bytes of the longest frame that comes, Ethernet's header included.
fn longest(interface: &Interface) -> usize {
    ETHER_HEAD + interface.mtu
}

fn chunk(interface: &Interface) -> u32 {
    if longest(interface) > xsk::one_chunk(CHUNK) { LONG_CHUNK } else { CHUNK }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::ebpf::{PASS, REDIRECT};

    /// P30
    #[test]
    fn the_program_takes_frames_of_this_rank_alone() {
        let (mac, job, selector) = ([2, 3, 4, 5, 6, 7], 0x0bad_cafe, 0x102);
        let made = || {
            let (sockets, socket) = (Sockets::new(1)?, xsk::bare()?);
            sockets.set(0, socket.as_fd())?;
            let ours = ours(&head(mac, [0; 6], job, selector));
            io::Result::Ok((Program::load(&redirect_if(HEAD, &ours, sockets.as_fd()))?, socket))
        };
        let (program, _socket) = match made() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return println!("NOT TESTED: {error}"),
            made => made.unwrap(),
        };
        let becomes = |head: [u8; HEAD], body: &[u8]| program.try_on(&[&head[..], body].concat()).unwrap();
        let from = [2, 9, 9, 9, 9, 9];
        assert_eq!(becomes(head(mac, from, job, selector), b"a frame"), REDIRECT);
        assert_eq!(becomes(head(mac, mac, job, selector), b""), REDIRECT);
        for other in [
            head([0xff; 6], from, job, selector),
            head([2, 3, 4, 5, 6, 8], from, job, selector),
            head(mac, from, job + 1, selector),
            head(mac, from, job ^ 1 << 31, selector),
            head(mac, from, job, selector + 1),
            head(mac, from, job, selector ^ 1 << 15),
        ] {
            assert_eq!(becomes(other, b"a frame"), PASS, "{other:?}");
        }
        for ether_type in [0x0800_u16, 0x86dd, 0x8100, 0xb588, 0x88b6] {
            let mut other = head(mac, from, job, selector);
            other[TYPE..JOB].copy_from_slice(&ether_type.to_be_bytes());
            assert_eq!(becomes(other, &[0; 60]), PASS);
        }
        assert_eq!(program.try_on(&head(mac, from, job, selector)[..HEAD - 1]).unwrap(), PASS);
    }
}
