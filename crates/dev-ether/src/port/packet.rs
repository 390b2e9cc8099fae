//! The port `packet`: raw Ethernet frames, of our EtherType alone, beside all other traffic of the NIC (AF_PACKET).
//!
//! Between Ethernet's header and the frame stand the job's number and the selector of the receiving rank on its NIC,
//! six bytes, big-endian as BPF reads them: by these the kernel drops frames for others before it copies them. Both are
//! no secret; only `link` can authenticate a frame's sender.
//!
//! Each socket of an interface sees each frame (one filter per rank). If one process, the host's agent, makes the
//! sockets of all ranks of a job (`Member`), they are a fanout group: the selector is the place in it, and each frame
//! is seen by one socket.

use super::refused::FOREIGN_KIND;
use super::{Address, FramePort, Missed, Refused};
use hawser_os::bpf::{self, Field};
use hawser_os::interfaces::Interface;
use hawser_os::packet::{RUN_MAX, Shape, Socket};
use hawser_os::packet_ring::{Ring, SLOT_HEAD};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// IEEE 802 "local experimental EtherType 1".
pub(super) const ETHER_TYPE: u16 = 0x88B5;

/// Offsets of the fields in front of a frame (P30).
pub(super) const SOURCE: usize = 6;
pub(super) const TYPE: usize = 12;
pub(super) const JOB: usize = 14;
pub(super) const SELECTOR: usize = 18;
pub(super) const HEAD: usize = 20;
/// Bytes of Ethernet's own header, which the MTU does not count and a fanout program does not see.
const ETHER_HEAD: usize = 14;

/// Memory of a ring: 164 frames of 1500 bytes or 28 of 9000, 64 MiB for 64 ranks on 4 NICs.
const RING_BYTES: usize = 256 << 10;
/// Bytes of a block: the kernel allocates a ring in contiguous blocks, and those of 64 KiB are easily available.
const BLOCK_BYTES: usize = 64 << 10;
/// Maximum slots that one `receive` empties.
pub(super) const RECEIVE_MAX: usize = 64;

/// A socket for the rank `selector` of job `job` on an interface, made by one process for another, which gets the
/// descriptor. As long as the maker keeps the sockets of a group, the places in it do not move.
pub struct Member(Socket);

impl Member {
    /// Makes a group of `count` sockets, for selectors 0 to `count` - 1: at most 256 (PACKET_FANOUT_MAX_DEFAULT). The
    /// interface must be up.
    pub fn group(interface: &Interface, job: u32, count: u16) -> io::Result<Vec<Member>> {
        let mut group = None;
        let member = |selector| {
            let socket = bound(interface, job, selector)?;
            match group {
                Some(group) => socket.join(group)?,
                None => {
                    let place = bpf::value_of(Field::Half((SELECTOR - ETHER_HEAD) as u32));
                    group = Some(socket.found(&place)?);
                }
            }
            Ok(Member(socket))
        };
        (0..count).map(member).collect()
    }
}

impl AsFd for Member {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Member {
    fn from(fd: OwnedFd) -> Member {
        Member(fd.into())
    }
}

pub struct PacketPort {
    ring: Ring,
    mac: [u8; 6],
    selector: u16,
    frame_max: usize,
    room: usize,
    /// Frames for which no slot was free or long enough.
    dropped: u64,
    /// The header of the frame that is sent, and space for the frame behind it.
    out: Vec<u8>,
}

impl PacketPort {
    /// Opens a port with a socket of its own.
    pub fn open(interface: &Interface, job: u32, selector: u16) -> io::Result<PacketPort> {
        PacketPort::over(Member(bound(interface, job, selector)?), interface, job, selector)
    }

    /// Opens a port over a socket that was made for the same interface, job and selector.
    pub fn over(member: Member, interface: &Interface, job: u32, selector: u16) -> io::Result<PacketPort> {
        let shape = shape(interface.mtu);
        let ring = Ring::map(member.0, shape)?;
        let (mac, frame_max) = (mac(interface)?, frame_max(interface.mtu));
        let mut out = vec![0; HEAD + frame_max];
        out[SOURCE..TYPE].copy_from_slice(&mac);
        out[TYPE..JOB].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        out[JOB..SELECTOR].copy_from_slice(&job.to_be_bytes());
        Ok(PacketPort { ring, mac, selector, frame_max, room: shape.slots as usize * frame_max, dropped: 0, out })
    }

    /// Writes the destination into the header. Refuses a frame that cannot be sent.
    fn address_to(&mut self, to: &Address, size: usize) -> Result<(), Refused> {
        let Address::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > self.frame_max {
            return Err(Refused::TooLong);
        }
        self.out[..SOURCE].copy_from_slice(mac);
        self.out[SELECTOR..HEAD].copy_from_slice(&selector.to_be_bytes());
        Ok(())
    }
}

impl FramePort for PacketPort {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn frame_max(&self) -> usize {
        self.frame_max
    }

    fn room(&self) -> usize {
        self.room
    }

    fn address(&self) -> Address {
        Address::Ether { mac: self.mac, selector: self.selector }
    }

    #[inline]
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.address_to(to, frame.len())?;
        let end = HEAD + frame.len();
        self.out[HEAD..end].copy_from_slice(frame);
        self.ring.socket().send(&self.out[..end]).map_err(|error| Refused::of(&error))
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.address_to(to, frames[0].len())?;
        let mut sent = 0;
        for run in frames.chunks(RUN_MAX) {
            let frames = run.iter().map(|frame| [&self.out[..HEAD], &frame[..]]);
            match self.ring.socket().send_run(frames) {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(Refused::of(&error)),
                Err(_) => break,
            }
            if !sent.is_multiple_of(RUN_MAX) {
                break;
            }
        }
        Ok(sent)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        let slots = self.ring.receive(RECEIVE_MAX, |frame| {
            if let Some(frame) = frame.get(HEAD..) {
                take(frame);
                count += 1;
            }
        });
        if count < slots {
            self.dropped += (slots - count) as u64;
        }
        count
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.ring.socket().as_fd());
    }

    fn missed(&mut self) -> Missed {
        self.dropped += u64::from(self.ring.socket().statistics().drops);
        Missed { frames: self.dropped, ..Missed::default() }
    }

    fn take_error(&mut self) {
        self.ring.socket().take_error();
    }
}

/// Makes a socket that receives the frames for this selector of this job that are addressed to this interface.
fn bound(interface: &Interface, job: u32, selector: u16) -> io::Result<Socket> {
    mac(interface)?;
    let socket = Socket::deaf()?;
    socket.filter(&bpf::all_of(&[
        (Field::Half(SELECTOR as u32), selector.into()),
        (Field::Word(JOB as u32), job),
        (Field::PacketType, 0),
    ]))?;
    socket.set_ring(shape(interface.mtu))?;
    socket.bypass_queue()?;
    socket.bind(interface.index, ETHER_TYPE)?;
    Ok(socket)
}

pub(super) fn mac(interface: &Interface) -> io::Result<[u8; 6]> {
    interface.mac.ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, format!("interface {} is no Ethernet", interface.name))
    })
}

fn frame_max(mtu: usize) -> usize {
    mtu.saturating_sub(HEAD - ETHER_HEAD)
}

/// Returns the shape of a ring for frames of this MTU.
pub(super) fn shape(mtu: usize) -> Shape {
    let slot_bytes = (SLOT_HEAD + mtu).next_multiple_of(16);
    let block_bytes = slot_bytes.next_power_of_two().max(BLOCK_BYTES);
    let blocks = RING_BYTES.div_ceil(block_bytes);
    Shape {
        block_bytes: block_bytes as u32,
        blocks: blocks as u32,
        slot_bytes: slot_bytes as u32,
        slots: (block_bytes / slot_bytes * blocks) as u32,
    }
}
