//! Finds the ports of this rank that cannot be used any more, or not now, and the reason.
//!
//! If the program has closed a port's descriptor, the descriptor's number may name another file now, which must never
//! be touched. The ports are checked once a second, because a rank that only receives gets no error. If all peers
//! answer and no port has a fault, a check examines only one interface.
//!
//! A port is lost for good when the program has closed its descriptors or its interface is gone. (The port's sockets
//! are bound to the interface, not to its name. If binding was refused, they use another interface with the same
//! address.) A port whose host has lost the IP or MAC address that peers know receives nothing until the host has it
//! again. Used by `unreachable`; uses `ports`, `os::fd_identity` and `os::nic`.

use crate::port::PortAddress;
use crate::ports::PortSet;
use hawser_link::Endpoint;
use hawser_os::fd_identity::FdIdentity;
use hawser_os::nic;
use std::io;

/// Time between two checks. A check takes one system call for each descriptor of a port and about ten for an
/// interface, each of which takes less than 1 us.
const CHECK_INTERVAL_NS: u64 = 1_000_000_000;

/// Error numbers: linux/errno-base.h, errno.h.
const EBADF: i32 = 9;
const ENODEV: i32 = 19;
const EADDRNOTAVAIL: i32 = 99;

/// The state of all ports.
pub struct PortHealth {
    ports: Vec<WatchedPort>,
    next_check_ns: u64,
    /// The port whose interface is checked next.
    next_port: usize,
}

/// A port as it was when it was opened, and its present fault.
struct WatchedPort {
    fds: Vec<FdIdentity>,
    /// The index of the port's interface; None if the interface did not exist.
    interface_index: Option<u32>,
    is_bound: bool,
    address: PortAddress,
    fault: Option<(PortFault, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PortFault {
    Closed,
    NoInterface,
    NoAddress,
    OtherMac([u8; 6]),
    /// The system refused to send, with this error number.
    Refused(i32),
}

impl PortFault {
    /// Returns whether the port can never be used again.
    fn is_final(self) -> bool {
        matches!(self, PortFault::Closed | PortFault::NoInterface)
    }

    fn text(self) -> String {
        let error = io::Error::from_raw_os_error;
        match self {
            PortFault::Closed => format!("the program has closed its descriptor: {}", error(EBADF)),
            PortFault::NoInterface => format!("the interface is gone: {}", error(ENODEV)),
            PortFault::NoAddress => format!("the host has lost this address: {}", error(EADDRNOTAVAIL)),
            PortFault::OtherMac(mac) => {
                let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
                format!("the interface has another MAC address now, {mac}")
            }
            PortFault::Refused(number) => format!("sending fails: {}", error(number)),
        }
    }
}

impl PortHealth {
    /// Records ports that were opened just now.
    pub fn new(port_set: &PortSet) -> PortHealth {
        let watched = |at: usize| {
            let (interface, port) = port_set.port(at as u8);
            let mut fds = Vec::new();
            port.owned_fds(&mut |fd| fds.extend(FdIdentity::of_fd(fd)));
            WatchedPort {
                fds,
                interface_index: nic::index(interface),
                is_bound: port.is_bound(),
                address: port.address(),
                fault: None,
            }
        };
        PortHealth { ports: (0..port_set.ports.len()).map(watched).collect(), next_check_ns: 0, next_port: 0 }
    }

    /// Checks the ports, if CHECK_INTERVAL_NS has passed since the last check. Call it now and then. `is_silent`:
    /// some peer does not answer. Returns whether the ports were checked.
    pub fn check(&mut self, now_ns: u64, is_silent: bool, port_set: &mut PortSet) -> bool {
        if now_ns < self.next_check_ns {
            return false;
        }
        self.next_check_ns = now_ns + CHECK_INTERVAL_NS;
        let checks_all = is_silent || self.ports.iter().any(|port| port.fault.is_some());
        let current = self.next_port;
        self.next_port = (current + 1) % self.ports.len().max(1);
        for (at, port) in self.ports.iter_mut().enumerate() {
            let is_closed = port_set.is_closed(at) || !port.is_open() || !port_set.ports[at].owns_all_fds();
            let fault = if is_closed {
                Some(PortFault::Closed)
            } else {
                let nic = if checks_all || at == current { port.interface_fault() } else { None };
                nic.or(port_set.port_error(at, now_ns).map(PortFault::Refused))
            };
            if fault == Some(PortFault::Closed) {
                port_set.close(at);
            }
            port.fault = fault.map(|fault| match port.fault {
                Some((before, since_ns)) if before == fault => (fault, since_ns),
                _ => (fault, now_ns),
            });
        }
        true
    }

    /// Returns whether all ports by which any peer has answered are lost for good or, if no peer has answered,
    /// whether all ports are. (Ports by which nobody answered do not count otherwise: a host may have ports that lead
    /// to no peer.)
    pub fn has_lost_all_ports(&self, endpoint: &Endpoint) -> bool {
        let is_lost = |port: &WatchedPort| port.fault.is_some_and(|(fault, _)| fault.is_final());
        if !self.ports.iter().any(is_lost) {
            return false;
        }
        let has_answered = |at: usize| endpoint.port_reachability(at as u8).replied > 0;
        let none_answered = !(0..self.ports.len()).any(has_answered);
        self.ports.iter().enumerate().all(|(at, port)| is_lost(port) || !none_answered && !has_answered(at))
    }

    /// Returns a line for each port that cannot be used.
    pub fn lines(&self, now_ns: u64, port_set: &PortSet) -> String {
        let line = |(at, port): (usize, &WatchedPort)| {
            let (fault, since_ns) = port.fault?;
            let (interface, _) = port_set.port(at as u8);
            let (kind, seconds) = (port.address.kind(), now_ns.saturating_sub(since_ns) / 1_000_000_000);
            Some(format!("{interface} {kind} {}: {}, for {seconds} s", port.address, fault.text()))
        };
        self.ports.iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
    }
}

impl WatchedPort {
    /// Returns whether the descriptors that the port has had from the start are still ours: the program has not
    /// closed them.
    fn is_open(&self) -> bool {
        self.fds.iter().all(FdIdentity::is_unchanged)
    }

    /// Returns the fault of the port's interface, if there is one.
    fn interface_fault(&self) -> Option<PortFault> {
        if self.is_bound && self.interface_index.is_some_and(|nic| !nic::exists(nic)) {
            return Some(PortFault::NoInterface);
        }
        match self.address {
            PortAddress::Ether { mac, .. } => {
                let now = self.interface_index.and_then(nic::mac).filter(|&now| now != mac);
                now.map(PortFault::OtherMac)
            }
            PortAddress::Udp(address) | PortAddress::Tcp(address) | PortAddress::PacketUdp(address) => {
                (!nic::has_address(&address)).then_some(PortFault::NoAddress)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{FramePort, PortRange, UdpPort};
    use hawser_os::interfaces;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    const ENETDOWN: i32 = 100;

    fn watched(socket: &UdpSocket) -> WatchedPort {
        let fds = vec![FdIdentity::of_fd(socket.as_fd()).unwrap()];
        let address = PortAddress::Udp(socket.local_addr().unwrap());
        WatchedPort { fds, interface_index: nic::index("lo"), is_bound: true, address, fault: None }
    }

    #[test]
    fn what_has_become_of_a_port_is_found_and_some_of_it_is_final() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut port = watched(&socket);
        assert_eq!((port.is_open(), port.interface_fault()), (true, None));
        port.interface_index = Some(1 << 30);
        assert_eq!(port.interface_fault(), Some(PortFault::NoInterface));
        // If the socket could not be bound to the interface, the address may be at another one by now.
        port.is_bound = false;
        assert_eq!(port.interface_fault(), None);
        // An address of TEST-NET-1 (RFC 5737), which no interface has.
        port.address = PortAddress::Udp("192.0.2.1:9".parse().unwrap());
        assert_eq!(port.interface_fault(), Some(PortFault::NoAddress));
        (port.interface_index, port.address) = (nic::index("lo"), PortAddress::Ether { mac: [2; 6], selector: 0 });
        assert_eq!(port.interface_fault(), Some(PortFault::OtherMac([0; 6])));
        drop(socket);
        assert!(!port.is_open());
        assert!(PortFault::Closed.is_final() && PortFault::NoInterface.is_final());
        assert!(
            ![PortFault::NoAddress, PortFault::OtherMac([0; 6]), PortFault::Refused(ENETDOWN)]
                .into_iter()
                .any(PortFault::is_final)
        );
    }

    /// Makes the health of ports whose interfaces are all gone.
    #[test]
    fn one_interface_is_looked_at_each_time_until_something_is_found_or_a_peer_is_silent() {
        const PORTS: usize = 3;
        let sockets: Vec<_> = (0..PORTS).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let own = interfaces::all().unwrap().into_iter().find(|interface| interface.name == "lo").unwrap();
        let local = *own.addresses.iter().find(|own| own.ip == Ipv4Addr::LOCALHOST).unwrap();
        let port = |_| Box::new(UdpPort::open(&own, &local, PortRange::ANY, 0).unwrap()) as Box<dyn FramePort>;
        let port_rails = (0..PORTS).map(|_| (0, "lo".into())).collect();
        let mut port_set = PortSet::new((0..PORTS).map(port).collect(), port_rails, Box::new(|_| None));
        let faulty_count = |health: &PortHealth| health.ports.iter().filter(|port| port.fault.is_some()).count();
        for is_silent in [false, true] {
            let lost = |socket| WatchedPort { interface_index: Some(1 << 30), ..watched(socket) };
            let mut health = PortHealth { ports: sockets.iter().map(lost).collect(), next_check_ns: 0, next_port: 1 };
            let mut found = Vec::new();
            for n in 0..3 {
                assert!(health.check(n * CHECK_INTERVAL_NS, is_silent, &mut port_set));
                assert!(!health.check((n + 1) * CHECK_INTERVAL_NS - 1, is_silent, &mut port_set));
                found.push(faulty_count(&health));
            }
            assert_eq!(found, if is_silent { [PORTS; 3] } else { [1, PORTS, PORTS] });
        }
        let mut health = PortHealth { ports: sockets.iter().map(watched).collect(), next_check_ns: 0, next_port: 0 };
        assert!(health.check(0, true, &mut port_set));
        assert_eq!(faulty_count(&health), 0);
    }
}
