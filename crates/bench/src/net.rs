//! The figures of each frame port between two processes on two hosts of our own, which a cable (veth) joins. There is
//! no protocol: lost frames are counted.
//!
//! The near process, in one network namespace, measures; the far one (`far`), in the other, answers. They exchange
//! lines over a pipe; the namespaces vanish with them, however they end.

mod addresses;
pub mod bulk;
mod far;
mod near;
mod pingpong;

pub use addresses::{read, written};
pub use far::run as far;
pub use near::run as near;

use hawser_dev_ether::port::{
    FramePort, Member, PacketPort, PacketUdpPort, PortOf, PortRange, Queues, Seal, StreamPort, UdpPort, XdpPort,
    XdpUdpPort,
};
use hawser_link::frame::Key;
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::interfaces::{self, Interface, Network};
use std::io;

/// A row of the table of measurements. It is passed by name, since the far process has to make the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub name: &'static str,
    /// The number of ranks that listen on the far NIC.
    ranks: u16,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
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

pub const ROWS: &[Row] = &[
    Row { name: "packet", ranks: 1, way: Way::Packet },
    Row { name: "xdp", ranks: 1, way: Way::Xdp },
    Row { name: "xdp-udp", ranks: 1, way: Way::XdpUdp { v6: false } },
    Row { name: "xdp-udp-v6", ranks: 1, way: Way::XdpUdp { v6: true } },
    Row { name: "packet-udp", ranks: 1, way: Way::PacketUdp { v6: false } },
    Row { name: "packet-udp-v6", ranks: 1, way: Way::PacketUdp { v6: true } },
    Row { name: "udp", ranks: 1, way: Way::Udp { v6: false } },
    Row { name: "udp-v6", ranks: 1, way: Way::Udp { v6: true } },
    Row { name: "stream", ranks: 1, way: Way::Stream { v6: false } },
    Row { name: "stream-v6", ranks: 1, way: Way::Stream { v6: true } },
    Row { name: "packet-16", ranks: 16, way: Way::Packet },
    Row { name: "packet-64", ranks: 64, way: Way::Packet },
    Row { name: "group-1", ranks: 1, way: Way::PacketGroup },
    Row { name: "group-16", ranks: 16, way: Way::PacketGroup },
    Row { name: "group-64", ranks: 64, way: Way::PacketGroup },
];

const JOBS: u32 = 0x6265_6e00;

/// The secret of both processes: the near one makes it, and sends it to the far one over its pipe.
pub type Secret = [u8; 16];

impl Row {
    /// A job number of its own: several rows may be open on one NIC.
    fn job(&self) -> u32 {
        JOBS + ROWS.iter().position(|row| row == self).unwrap_or(0) as u32
    }

    /// The ports of the far host's ranks, or of the near host's only one. The last one is used: it is not the port that
    /// is polled first.
    pub fn open(&self, near: bool, secret: Secret) -> io::Result<Vec<Box<dyn FramePort>>> {
        let interface = end_of_cable()?;
        let ranks = if near { 1 } else { self.ranks };
        let job = self.job();
        let packet = |member: Member, selector| -> io::Result<Box<dyn FramePort>> {
            Ok(Box::new(PacketPort::over(member, &interface, job, selector)?))
        };
        match self.way {
            Way::Packet => {
                let open = |selector| -> io::Result<Box<dyn FramePort>> {
                    Ok(Box::new(PacketPort::open(&interface, job, selector)?))
                };
                (0..ranks).map(open).collect()
            }
            Way::Xdp => Ok(vec![Box::new(XdpPort::open(&Queues::open(&interface)?, &interface, job, 0)?)]),
            Way::PacketGroup => {
                let members = Member::group(&interface, job, ranks)?;
                members.into_iter().zip(0..).map(|(member, selector)| packet(member, selector)).collect()
            }
            Way::XdpUdp { v6 } => {
                let (queues, local) = (Queues::open(&interface)?, local(&interface, v6)?);
                Ok(vec![Box::new(XdpUdpPort::open(&queues, &interface, &local, PortRange::ANY, 0)?)])
            }
            Way::PacketUdp { v6 } => {
                let local = local(&interface, v6)?;
                Ok(vec![Box::new(PacketUdpPort::open(&interface, &local, PortRange::ANY, 0)?)])
            }
            Way::Udp { v6 } => {
                let local = local(&interface, v6)?;
                Ok(vec![Box::new(UdpPort::open(&interface, &local, PortRange::ANY, 0)?)])
            }
            Way::Stream { v6 } => {
                let local = local(&interface, v6)?;
                let seal = Seal { key: Key::new(secret), me: u32::from(!near), ranks: 2 };
                let mut port = StreamPort::open(&interface, &local, PortRange::ANY, 0, seal)?;
                port.turn_to(PortOf { rank: u32::from(near), place: 0 });
                Ok(vec![Box::new(port)])
            }
        }
    }
}

fn end_of_cable() -> io::Result<Interface> {
    let found = interfaces::all()?.into_iter().find(|interface| interface.name == "e0");
    found.ok_or_else(|| io::Error::other("the cable has no end here"))
}

fn local(interface: &Interface, v6: bool) -> io::Result<Network> {
    let found = interface.addresses.iter().find(|local| local.ip.is_ipv6() == v6 && local.scope == 0);
    found.copied().ok_or_else(|| io::Error::other("the cable has no such address"))
}

/// A sleep until a port has something to do.
struct Sleep {
    epoll: Epoll,
    events: Vec<Event>,
}

impl Sleep {
    fn on(port: &dyn FramePort) -> io::Result<Sleep> {
        let mut epoll = Epoll::new()?;
        let mut added = Ok(());
        port.descriptors(&mut |fd| {
            if added.is_ok() {
                added = epoll.add(fd, 0, Interest::Read);
            }
        });
        added?;
        Ok(Sleep { epoll, events: Vec::new() })
    }

    /// Sleeps at most 20 ms: lost frames are retransmitted, and orders are looked for.
    fn until_something_comes(&mut self) {
        let _ = self.epoll.wait(&mut self.events, Some(20));
    }
}
