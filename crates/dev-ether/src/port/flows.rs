//! Further flows of a port of UDP (P39): sockets that only send, each from a source port of its own, for networks that give each
//! flow a share.
//!
//! One is opened when something is to go by it first, and closed with its port; nothing is ever read from it, and nobody looks at it. Where
//! none can be had, what was to go by it goes by the port's own. Before it: `udp`.

use hawser_os::held::Held;
use hawser_os::udp::Socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Flows to one peer, the port's own among them: as many of 5 Gbit/s (what Amazon EC2 gives one between instances that share no placement
/// group) as make up the 19 Gbit/s that a rank sends by one where nothing holds it (64 KiB in 27 us:
/// docs/adr/0030-no-guess-where-fragments-belong.md).
pub const FLOWS: u8 = 4;

/// A socket, and the file that it was when it was opened.
struct Flow {
    socket: Socket,
    held: Held,
}

/// See the module.
pub struct Flows {
    interface: String,
    /// The port's address, at any port.
    local: SocketAddr,
    /// What is asked of the kernel for sending, in bytes.
    buffer: usize,
    /// Those that were called for, from the second flow on; or none could be had.
    sockets: Vec<Option<Flow>>,
}

impl Flows {
    /// Of a port at this address of an interface.
    pub fn new(interface: &str, address: &SocketAddr, buffer: usize) -> Flows {
        let mut local = *address;
        local.set_port(0);
        Flows { interface: interface.into(), local, buffer, sockets: Vec::new() }
    }

    /// The socket of flow `flow`, if it has one of its own.
    pub fn socket(&mut self, flow: u8) -> Option<&Socket> {
        let at = usize::from(flow.checked_sub(1).filter(|_| flow < FLOWS)?);
        while self.sockets.len() <= at {
            self.sockets.push(self.open().ok());
        }
        self.sockets[at].as_ref().map(|flow| &flow.socket)
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.sockets.iter().flatten().count()
    }

    /// Whether all are still ours, and the program has closed none.
    pub fn are_ours(&self) -> bool {
        self.sockets.iter().flatten().all(|flow| flow.held.is_there())
    }

    fn open(&self) -> io::Result<Flow> {
        let socket = Socket::bind(&self.local)?;
        // As for the port's own.
        let _ = socket.keep_to(&self.interface);
        socket.close_ears()?;
        socket.set_buffers(self.buffer)?;
        Ok(Flow { held: Held::of(socket.as_fd())?, socket })
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
        let mut flows = Flows::new("lo", &peer.local_addr().unwrap(), 1 << 16);
        assert_eq!(flows.count(), 0, "none before it is called for");
        let mut from = BTreeSet::new();
        for flow in 1..FLOWS {
            flows.socket(flow).unwrap().send(&peer.local_addr().unwrap(), &[flow]).unwrap();
            let mut byte = [0];
            let (len, source) = peer.recv_from(&mut byte).unwrap();
            assert_eq!((len, byte), (1, [flow]));
            peer.send_to(b"an answer", source).unwrap();
            assert_eq!(flows.socket(flow).unwrap().receive(&mut [0; 99]).unwrap(), None);
            from.insert(source.port());
        }
        assert_eq!((from.len(), flows.count()), (usize::from(FLOWS) - 1, usize::from(FLOWS) - 1));
        assert!(!from.contains(&peer.local_addr().unwrap().port()));
        assert!(flows.are_ours());
        // As if the program had closed a descriptor: its number is nobody's, or another file's.
        let other = flows.open().unwrap();
        flows.sockets[1].as_mut().unwrap().socket = other.socket;
        assert!(!flows.are_ours());
        // What a peer may name and this rank has not, and the first one.
        assert!([0, FLOWS, 255].into_iter().all(|flow| flows.socket(flow).is_none()));
    }

    /// P39
    #[test]
    fn one_that_cannot_be_had_is_none_and_is_not_tried_again() {
        // Of TEST-NET-1 (RFC 5737), which no interface has.
        let mut flows = Flows::new("lo", &"192.0.2.1:7".parse().unwrap(), 1 << 16);
        assert!((1..FLOWS).all(|flow| flows.socket(flow).is_none()));
        flows.local = ANY.parse().unwrap();
        assert!(flows.socket(1).is_none() && flows.count() == 0);
    }
}
