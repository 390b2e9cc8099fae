//! The port `packet`: raw Ethernet frames, of our EtherType alone, beside all other traffic of the NIC (AF_PACKET).
//!
//! Between Ethernet's header and the frame stand the job's number and the selector of the receiving rank on its NIC,
//! six bytes, big-endian as BPF reads them: by these the kernel drops frames for others before it copies them.
//! Neither is a secret; only `link` can authenticate a frame's sender.
//!
//! If each rank opens its own socket, the kernel offers each frame to the filters of all sockets of the interface,
//! one after the other: so it is in a job. If one process makes the sockets of all ranks (`FanoutSocket`, as only the
//! benchmark does), they form a fanout group: a rank's selector is its index in the group, and the kernel gives each
//! frame to one socket only.

use super::send_error::FOREIGN_KIND;
use super::send_in_calls::send_in_calls;
use super::{FramePort, FrameSendError, PortAddress, PortDrops};
use hawser_os::bpf::{self, LoadField};
use hawser_os::interfaces::Interface;
use hawser_os::packet::{PacketSocket, RUN_MAX, RingConfig};
use hawser_os::packet_ring::{PacketRing, SLOT_HEAD};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// IEEE 802 "local experimental EtherType 1".
pub(super) const ETHER_TYPE: u16 = 0x88B5;

/// Offsets of the fields in front of a frame (P30 of docs/protocol.md).
pub(super) const SOURCE: usize = 6;
pub(super) const TYPE: usize = 12;
pub(super) const JOB: usize = 14;
pub(super) const SELECTOR: usize = 18;
pub(super) const HEAD_BYTES: usize = 20;
/// Bytes of Ethernet's own header, which the MTU does not count and a fanout program does not see.
const ETHER_HEAD_BYTES: usize = 14;

/// Bytes of a ring. It holds 164 frames of 1500 bytes or 28 of 9000; the rings of 64 ranks on 4 NICs take 64 MiB.
const RING_BYTES: usize = 256 << 10;
/// Bytes of a block: the kernel allocates a ring in contiguous blocks, and those of 64 KiB are easily available.
const BLOCK_BYTES: usize = 64 << 10;
/// Maximum slots that one `receive` empties.
pub(super) const RECEIVE_MAX: usize = 64;

/// A socket of a fanout group, for one rank of a job on an interface. One process makes the sockets of the group and
/// gives each rank its descriptor. The maker must keep the sockets open, since otherwise the indices in the group
/// change.
pub struct FanoutSocket(PacketSocket);

impl FanoutSocket {
    /// Makes a group of `count` sockets, for selectors 0 to `count` - 1: at most 256 (PACKET_FANOUT_MAX_DEFAULT). The
    /// interface must be up.
    pub fn group(interface: &Interface, job: u32, count: u16) -> io::Result<Vec<FanoutSocket>> {
        let mut group = None;
        let member = |selector| {
            let socket = bound_socket(interface, job, selector)?;
            match group {
                Some(group) => socket.join_fanout(group)?,
                None => {
                    let selector_field = bpf::load_value(LoadField::Half((SELECTOR - ETHER_HEAD_BYTES) as u32));
                    group = Some(socket.create_fanout(&selector_field)?);
                }
            }
            Ok(FanoutSocket(socket))
        };
        (0..count).map(member).collect()
    }
}

impl AsFd for FanoutSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for FanoutSocket {
    fn from(fd: OwnedFd) -> FanoutSocket {
        FanoutSocket(fd.into())
    }
}

pub struct PacketPort {
    ring: PacketRing,
    mac: [u8; 6],
    selector: u16,
    frame_max: usize,
    receive_buffer_bytes: usize,
    /// Frames for which no slot was free or long enough.
    dropped: u64,
    /// The header of the frame that is sent, and space for the frame behind it.
    out: Vec<u8>,
}

impl PacketPort {
    /// Opens a port with a socket of its own.
    pub fn open(interface: &Interface, job: u32, selector: u16) -> io::Result<PacketPort> {
        PacketPort::with_socket(FanoutSocket(bound_socket(interface, job, selector)?), interface, job, selector)
    }

    /// Opens a port over a socket that was made for the same interface, job and selector.
    pub fn with_socket(socket: FanoutSocket, interface: &Interface, job: u32, selector: u16) -> io::Result<PacketPort> {
        let shape = ring_shape(interface.mtu);
        let ring = PacketRing::map(socket.0, shape)?;
        let (mac, frame_max) = (mac(interface)?, frame_max(interface.mtu));
        let mut out = vec![0; HEAD_BYTES + frame_max];
        out[SOURCE..TYPE].copy_from_slice(&mac);
        out[TYPE..JOB].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        out[JOB..SELECTOR].copy_from_slice(&job.to_be_bytes());
        Ok(PacketPort {
            ring,
            mac,
            selector,
            frame_max,
            receive_buffer_bytes: shape.slots as usize * frame_max,
            dropped: 0,
            out,
        })
    }

    /// Writes the destination into the header. Refuses a frame that cannot be sent.
    fn write_destination(&mut self, to: &PortAddress, size: usize) -> Result<(), FrameSendError> {
        let PortAddress::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > self.frame_max {
            return Err(FrameSendError::TooLong);
        }
        self.out[..SOURCE].copy_from_slice(mac);
        self.out[SELECTOR..HEAD_BYTES].copy_from_slice(&selector.to_be_bytes());
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

    fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    fn address(&self) -> PortAddress {
        PortAddress::Ether { mac: self.mac, selector: self.selector }
    }

    #[inline]
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.write_destination(to, frame.len())?;
        let end = HEAD_BYTES + frame.len();
        self.out[HEAD_BYTES..end].copy_from_slice(frame);
        self.ring.socket().send(&self.out[..end]).map_err(|error| FrameSendError::from_io(&error))
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.write_destination(to, frames[0].len())?;
        let (socket, head) = (self.ring.socket(), &self.out[..HEAD_BYTES]);
        send_in_calls(frames, RUN_MAX, |run| socket.send_run(run.iter().map(|frame| [head, &frame[..]])))
            .map_err(|error| FrameSendError::from_io(&error))
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        let slots = self.ring.receive(RECEIVE_MAX, |frame| {
            if let Some(frame) = frame.get(HEAD_BYTES..) {
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

    fn drops(&mut self) -> PortDrops {
        self.dropped += u64::from(self.ring.socket().statistics().drops);
        PortDrops { frames: self.dropped, ..PortDrops::default() }
    }

    fn take_error(&mut self) {
        self.ring.socket().take_error();
    }
}

/// Makes a socket that receives the frames for this selector of this job that are addressed to this interface.
fn bound_socket(interface: &Interface, job: u32, selector: u16) -> io::Result<PacketSocket> {
    mac(interface)?;
    let socket = PacketSocket::unbound()?;
    socket.filter(&bpf::match_all(&[
        (LoadField::Half(SELECTOR as u32), selector.into()),
        (LoadField::Word(JOB as u32), job),
        (LoadField::PacketType, 0),
    ]))?;
    socket.set_ring(ring_shape(interface.mtu))?;
    socket.bypass_queue()?;
    socket.bind(interface.index, ETHER_TYPE)?;
    Ok(socket)
}

pub(super) fn mac(interface: &Interface) -> io::Result<[u8; 6]> {
    interface.mac.ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, format!("interface {} is not Ethernet", interface.name))
    })
}

pub(crate) fn frame_max(mtu: usize) -> usize {
    mtu.saturating_sub(HEAD_BYTES - ETHER_HEAD_BYTES)
}

/// Returns the shape of a ring for frames of this MTU.
pub(super) fn ring_shape(mtu: usize) -> RingConfig {
    let slot_bytes = (SLOT_HEAD + mtu).next_multiple_of(16);
    let block_bytes = slot_bytes.next_power_of_two().max(BLOCK_BYTES);
    let blocks = RING_BYTES.div_ceil(block_bytes);
    RingConfig {
        block_bytes: block_bytes as u32,
        blocks: blocks as u32,
        slot_bytes: slot_bytes as u32,
        slots: (block_bytes / slot_bytes * blocks) as u32,
    }
}
