//! Measures each frame port between two processes on two hosts of our own (network namespaces), which a cable (veth)
//! joins. There is no protocol: lost frames are counted.
//!
//! The local process, in one network namespace, measures; the remote one, in the other, sends short frames back and
//! counts long ones. They exchange lines over a pipe; the namespaces vanish with them, however they end.

mod addresses;
pub mod bulk;
mod local;
mod pingpong;
mod remote;

pub use addresses::{decode_address, encode_address};
pub use local::run as run_local;
pub use remote::run as run_remote;

use hawser_dev_ether::port::{
    FanoutSocket, FramePort, NicQueues, PacketPort, PacketUdpPort, PortId, PortRange, RankCredentials, StreamPort,
    UdpPort, XdpPort, XdpUdpPort,
};
use hawser_link::frame::JobKey;
use hawser_os::epoll::{Epoll, EpollEvent, Interest};
use hawser_os::interfaces::{self, Interface, IpNetwork};
use std::io;

/// An entry of the table of measurements. Its name is sent to the remote process, which must open the same kind of
/// port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortEntry {
    pub name: &'static str,
    /// The number of ranks that listen on the remote NIC.
    ranks: u16,
    kind: PortKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PortKind {
    Packet,
    Xdp,
    /// The sockets of all ranks are in one group.
    PacketGroup,
    XdpUdp {
        v6: bool,
    },
    PacketUdp {
        v6: bool,
    },
    Udp {
        v6: bool,
    },
    Stream {
        v6: bool,
    },
}

pub const ROWS: &[PortEntry] = &[
    PortEntry { name: "packet", ranks: 1, kind: PortKind::Packet },
    PortEntry { name: "xdp", ranks: 1, kind: PortKind::Xdp },
    PortEntry { name: "xdp-udp", ranks: 1, kind: PortKind::XdpUdp { v6: false } },
    PortEntry { name: "xdp-udp-v6", ranks: 1, kind: PortKind::XdpUdp { v6: true } },
    PortEntry { name: "packet-udp", ranks: 1, kind: PortKind::PacketUdp { v6: false } },
    PortEntry { name: "packet-udp-v6", ranks: 1, kind: PortKind::PacketUdp { v6: true } },
    PortEntry { name: "udp", ranks: 1, kind: PortKind::Udp { v6: false } },
    PortEntry { name: "udp-v6", ranks: 1, kind: PortKind::Udp { v6: true } },
    PortEntry { name: "stream", ranks: 1, kind: PortKind::Stream { v6: false } },
    PortEntry { name: "stream-v6", ranks: 1, kind: PortKind::Stream { v6: true } },
    PortEntry { name: "packet-16", ranks: 16, kind: PortKind::Packet },
    PortEntry { name: "packet-64", ranks: 64, kind: PortKind::Packet },
    PortEntry { name: "group-1", ranks: 1, kind: PortKind::PacketGroup },
    PortEntry { name: "group-16", ranks: 16, kind: PortKind::PacketGroup },
    PortEntry { name: "group-64", ranks: 64, kind: PortKind::PacketGroup },
];

const FIRST_JOB: u32 = 0x6265_6e00;

/// The secret of both processes: the local one makes it, and sends it to the remote one over its pipe.
pub type Secret = [u8; 16];

impl PortEntry {
    /// Returns a job number that no other entry has: several entries may be open on one NIC.
    fn job(&self) -> u32 {
        FIRST_JOB + ROWS.iter().position(|entry| entry == self).unwrap_or(0) as u32
    }

    /// Opens the ports of the remote host's ranks, or the one port of the local host. The last port is the one that
    /// is used: it is not the port that is polled first.
    pub fn open(&self, is_local: bool, secret: Secret) -> io::Result<Vec<Box<dyn FramePort>>> {
        let interface = cable_interface()?;
        let ranks = if is_local { 1 } else { self.ranks };
        let job = self.job();
        let packet = |member: FanoutSocket, selector| -> io::Result<Box<dyn FramePort>> {
            Ok(Box::new(PacketPort::with_socket(member, &interface, job, selector)?))
        };
        match self.kind {
            PortKind::Packet => {
                let open = |selector| -> io::Result<Box<dyn FramePort>> {
                    Ok(Box::new(PacketPort::open(&interface, job, selector)?))
                };
                (0..ranks).map(open).collect()
            }
            PortKind::Xdp => Ok(vec![Box::new(XdpPort::open(&NicQueues::open(&interface)?, &interface, job, 0)?)]),
            PortKind::PacketGroup => {
                let members = FanoutSocket::group(&interface, job, ranks)?;
                members.into_iter().zip(0..).map(|(member, selector)| packet(member, selector)).collect()
            }
            PortKind::XdpUdp { v6 } => {
                let (queues, local) = (NicQueues::open(&interface)?, local_address(&interface, v6)?);
                Ok(vec![Box::new(XdpUdpPort::open(&queues, &interface, &local, PortRange::ANY, 0)?)])
            }
            PortKind::PacketUdp { v6 } => {
                let local = local_address(&interface, v6)?;
                Ok(vec![Box::new(PacketUdpPort::open(&interface, &local, PortRange::ANY, 0)?)])
            }
            PortKind::Udp { v6 } => {
                let local = local_address(&interface, v6)?;
                Ok(vec![Box::new(UdpPort::open(&interface, &local, PortRange::ANY, 0)?)])
            }
            PortKind::Stream { v6 } => {
                let local = local_address(&interface, v6)?;
                let seal = RankCredentials { key: JobKey::new(secret), me: u32::from(!is_local), ranks: 2 };
                let mut port = StreamPort::open(&interface, &local, PortRange::ANY, 0, seal)?;
                port.set_peer(PortId { rank: u32::from(is_local), index: 0 });
                Ok(vec![Box::new(port)])
            }
        }
    }
}

fn cable_interface() -> io::Result<Interface> {
    let found = interfaces::all()?.into_iter().find(|interface| interface.name == "e0");
    found.ok_or_else(|| io::Error::other("there is no end of the cable in this network namespace"))
}

fn local_address(interface: &Interface, v6: bool) -> io::Result<IpNetwork> {
    let found = interface.addresses.iter().find(|local| local.ip.is_ipv6() == v6 && local.scope == 0);
    found.copied().ok_or_else(|| io::Error::other("the cable has no such address"))
}

/// Sleeps until a port has something to do.
struct PortSleeper {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl PortSleeper {
    fn new(port: &dyn FramePort) -> io::Result<PortSleeper> {
        let mut epoll = Epoll::new()?;
        let mut added = Ok(());
        port.descriptors(&mut |fd| {
            if added.is_ok() {
                added = epoll.add(fd, 0, Interest::Read);
            }
        });
        added?;
        Ok(PortSleeper { epoll, events: Vec::new() })
    }

    /// Sleeps at most 20 ms, because the caller must retransmit lost frames and look for commands.
    fn wait(&mut self) {
        let _ = self.epoll.wait(&mut self.events, Some(20));
    }
}
