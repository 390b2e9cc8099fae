//! Further flows of a UDP port (P39 of docs/protocol.md): send-only sockets, each with its own source port, for
//! networks that limit the rate of each flow.
//!
//! A socket is opened when a frame is first sent by its flow or a higher one, and closed with its port; nothing is
//! ever read from it, and nobody polls it. If a socket cannot be opened, the frames of its flow go by the port's own
//! socket. Used by `udp`.

use hawser_os::fd_identity::FdIdentity;
use hawser_os::udp::UdpSocket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Maximum flows (UDP source ports) per peer port, the port's own among them. Flows of 5 Gbit/s (the limit of Amazon
/// EC2 between instances that share no placement group) must add up to the 19 Gbit/s that a rank sends by one flow if
/// nothing limits it (64 KiB in 27 us: docs/adr/0030-no-guess-where-fragments-belong.md).
pub const FLOWS_MAX: u8 = 4;

/// A socket, and the identity of its file when it was opened.
struct FlowSocket {
    socket: UdpSocket,
    fd_identity: FdIdentity,
}

/// The further flows of a port.
pub struct FlowSockets {
    interface: String,
    /// The port's IP address, with port 0.
    local: SocketAddr,
    /// Requested size of the kernel's send buffer, in bytes.
    buffer: usize,
    /// The sockets of the second flow to the highest one that was used; None for a socket that could not be opened.
    sockets: Vec<Option<FlowSocket>>,
}

impl FlowSockets {
    /// Makes the flows of a port at this address of an interface.
    pub fn new(interface: &str, address: &SocketAddr, buffer: usize) -> FlowSockets {
        let mut local = *address;
        local.set_port(0);
        FlowSockets { interface: interface.into(), local, buffer, sockets: Vec::new() }
    }

    /// Returns the socket of flow `flow`, which is opened at its first use. None: frames of this flow go by the
    /// port's own socket.
    pub fn socket(&mut self, flow: u8) -> Option<&UdpSocket> {
        let at = usize::from(flow.checked_sub(1).filter(|_| flow < FLOWS_MAX)?);
        while self.sockets.len() <= at {
            self.sockets.push(self.open().ok());
        }
        self.sockets[at].as_ref().map(|flow| &flow.socket)
    }

    /// Returns the number of open sockets.
    pub fn count(&self) -> usize {
        self.sockets.iter().flatten().count()
    }

    /// Returns whether all are still ours: the program has closed none.
    pub fn are_ours(&self) -> bool {
        self.sockets.iter().flatten().all(|flow| flow.fd_identity.is_unchanged())
    }

    fn open(&self) -> io::Result<FlowSocket> {
        let socket = UdpSocket::bind(&self.local)?;
        // An error is ignored, as for the port's own socket.
        let _ = socket.bind_to_interface(&self.interface);
        socket.discard_incoming()?;
        socket.set_buffers(self.buffer)?;
        Ok(FlowSocket { fd_identity: FdIdentity::of_fd(socket.as_fd())?, socket })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::net::UdpSocket;

    const ANY: &str = "127.0.0.1:0";

    /// P39
    #[test]
    fn each_flow_leaves_from_a_port_of_its_own_and_takes_nothing() {
        let peer = UdpSocket::bind(ANY).unwrap();
        let mut flows = FlowSockets::new("lo", &peer.local_addr().unwrap(), 1 << 16);
        assert_eq!(flows.count(), 0, "none before it is called for");
        let mut from = BTreeSet::new();
        for flow in 1..FLOWS_MAX {
            flows.socket(flow).unwrap().send(&peer.local_addr().unwrap(), &[flow]).unwrap();
            let mut byte = [0];
            let (len, source) = peer.recv_from(&mut byte).unwrap();
            assert_eq!((len, byte), (1, [flow]));
            peer.send_to(b"an answer", source).unwrap();
            assert_eq!(flows.socket(flow).unwrap().receive(&mut [0; 99]).unwrap(), None);
            from.insert(source.port());
        }
        assert_eq!((from.len(), flows.count()), (usize::from(FLOWS_MAX) - 1, usize::from(FLOWS_MAX) - 1));
        assert!(!from.contains(&peer.local_addr().unwrap().port()));
        assert!(flows.are_ours());
        // Act as if the program had closed a descriptor: its number is unused, or names another file.
        let other = flows.open().unwrap();
        flows.sockets[1].as_mut().unwrap().socket = other.socket;
        assert!(!flows.are_ours());
        // Numbers that a peer may name and this rank does not have, and the first flow.
        assert!([0, FLOWS_MAX, 255].into_iter().all(|flow| flows.socket(flow).is_none()));
    }

    /// P39
    #[test]
    fn one_that_cannot_be_had_is_none_and_is_not_tried_again() {
        // An address of TEST-NET-1 (RFC 5737), which no interface has.
        let mut flows = FlowSockets::new("lo", &"192.0.2.1:7".parse().unwrap(), 1 << 16);
        assert!((1..FLOWS_MAX).all(|flow| flows.socket(flow).is_none()));
        flows.local = ANY.parse().unwrap();
        assert!(flows.socket(1).is_none() && flows.count() == 0);
    }
}
