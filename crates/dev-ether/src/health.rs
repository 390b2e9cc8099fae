//! Finds the ports of this rank that cannot be used any more, or not now, and the reason.
//!
//! It must never touch the file that a closed descriptor's number names now. It looks once a second, because a rank
//! that only receives gets no error. While all peers answer and nothing was found, one interface is checked each time.
//!
//! A port is lost for good when the program has closed its descriptors or its interface is gone (its sockets are bound
//! to the interface, not to its name; where binding was refused, they use another one with the same address). A port
//! whose host has lost the IP or MAC address that peers know receives nothing until the host has it again. Used by
//! `unanswered`; uses `ends`, `os::held` and `os::nic`.

use crate::ends::Ends;
use crate::port::Address;
use hawser_link::Endpoint;
use hawser_os::held::Held;
use hawser_os::nic;
use std::io;

/// Time between two checks: one or two system calls for each port and six for an interface, less than 1 us each.
const LOOK_NS: u64 = 1_000_000_000;

/// Error numbers: linux/errno-base.h, errno.h.
const EBADF: i32 = 9;
const ENODEV: i32 = 19;
const EADDRNOTAVAIL: i32 = 99;

/// The state of all ports.
pub struct Health {
    ports: Vec<Watched>,
    look_at_ns: u64,
    /// The port whose interface is checked next.
    next: usize,
}

/// A port as it was when it was opened, and its present fault.
struct Watched {
    held: Vec<Held>,
    /// The index of its interface.
    nic: Option<u32>,
    is_bound: bool,
    address: Address,
    found: Option<(Fault, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Closed,
    NoNic,
    NoAddress,
    OtherMac([u8; 6]),
    /// The system refused to send, with this error number.
    Refused(i32),
}

impl Fault {
    /// Returns whether the port can never be used again.
    fn is_final(self) -> bool {
        matches!(self, Fault::Closed | Fault::NoNic)
    }

    fn text(self) -> String {
        let error = io::Error::from_raw_os_error;
        match self {
            Fault::Closed => format!("the program has closed its descriptor: {}", error(EBADF)),
            Fault::NoNic => format!("the interface is gone: {}", error(ENODEV)),
            Fault::NoAddress => format!("the host has lost this address: {}", error(EADDRNOTAVAIL)),
            Fault::OtherMac(mac) => {
                let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
                format!("the interface has another MAC address now, {mac}")
            }
            Fault::Refused(number) => format!("what it sends is refused: {}", error(number)),
        }
    }
}

impl Health {
    /// Records ports that were opened just now.
    pub fn of(ends: &Ends) -> Health {
        let watched = |at: usize| {
            let (interface, port) = ends.port(at as u8);
            let mut held = Vec::new();
            port.held(&mut |fd| held.extend(Held::of(fd)));
            Watched {
                held,
                nic: nic::index(interface),
                is_bound: port.is_bound(),
                address: port.address(),
                found: None,
            }
        };
        Health { ports: (0..ends.ports.len()).map(watched).collect(), look_at_ns: 0, next: 0 }
    }

    /// Checks, if it is time. Call it now and then; `is_silent`: some peer does not answer. Returns whether it was
    /// time.
    pub fn look(&mut self, now_ns: u64, is_silent: bool, ends: &mut Ends) -> bool {
        if now_ns < self.look_at_ns {
            return false;
        }
        self.look_at_ns = now_ns + LOOK_NS;
        let looks_at_all = is_silent || self.ports.iter().any(|port| port.found.is_some());
        let turn = self.next;
        self.next = (turn + 1) % self.ports.len().max(1);
        for (at, port) in self.ports.iter_mut().enumerate() {
            let is_closed = ends.is_closed(at) || !port.is_open() || !ends.ports[at].keeps_all();
            let fault = if is_closed {
                Some(Fault::Closed)
            } else {
                let nic = if looks_at_all || at == turn { port.fault_of_nic() } else { None };
                nic.or(ends.error(at, now_ns).map(Fault::Refused))
            };
            if fault == Some(Fault::Closed) {
                ends.close(at);
            }
            port.found = fault.map(|fault| match port.found {
                Some((before, since_ns)) if before == fault => (fault, since_ns),
                _ => (fault, now_ns),
            });
        }
        true
    }

    /// Returns whether all ports by which a peer has answered are lost for good; if none has answered, all ports. A
    /// host may have ports that lead to no peer.
    pub fn is_gone(&self, endpoint: &Endpoint) -> bool {
        let is_lost = |port: &Watched| port.found.is_some_and(|(fault, _)| fault.is_final());
        if !self.ports.iter().any(is_lost) {
            return false;
        }
        let has_answered = |at: usize| endpoint.reach(at as u8).answered > 0;
        let is_alone = !(0..self.ports.len()).any(has_answered);
        self.ports.iter().enumerate().all(|(at, port)| is_lost(port) || !is_alone && !has_answered(at))
    }

    /// Returns a line for each port that cannot be used.
    pub fn lines(&self, now_ns: u64, ends: &Ends) -> String {
        let line = |(at, port): (usize, &Watched)| {
            let (fault, since_ns) = port.found?;
            let (interface, _) = ends.port(at as u8);
            let (kind, seconds) = (port.address.kind(), now_ns.saturating_sub(since_ns) / 1_000_000_000);
            Some(format!("{interface} {kind} {}: {}, for {seconds} s", port.address, fault.text()))
        };
        self.ports.iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Watched {
    /// Returns whether the descriptors that the port has had from the start are still ours.
    fn is_open(&self) -> bool {
        self.held.iter().all(Held::is_there)
    }

    /// Returns the fault of its interface, if there is one.
    fn fault_of_nic(&self) -> Option<Fault> {
        if self.is_bound && self.nic.is_some_and(|nic| !nic::is_there(nic)) {
            return Some(Fault::NoNic);
        }
        match self.address {
            Address::Ether { mac, .. } => {
                let now = self.nic.and_then(nic::mac).filter(|&now| now != mac);
                now.map(Fault::OtherMac)
            }
            Address::Udp(address) | Address::Tcp(address) | Address::PacketUdp(address) => {
                (!nic::has_address(&address)).then_some(Fault::NoAddress)
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

    fn watched(socket: &UdpSocket) -> Watched {
        let held = vec![Held::of(socket.as_fd()).unwrap()];
        let address = Address::Udp(socket.local_addr().unwrap());
        Watched { held, nic: nic::index("lo"), is_bound: true, address, found: None }
    }

    #[test]
    fn what_has_become_of_a_port_is_found_and_some_of_it_is_final() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut port = watched(&socket);
        assert_eq!((port.is_open(), port.fault_of_nic()), (true, None));
        port.nic = Some(1 << 30);
        assert_eq!(port.fault_of_nic(), Some(Fault::NoNic));
        // If the socket could not be bound to the interface, the address may be at another one by now.
        port.is_bound = false;
        assert_eq!(port.fault_of_nic(), None);
        // An address of TEST-NET-1 (RFC 5737), which no interface has.
        port.address = Address::Udp("192.0.2.1:9".parse().unwrap());
        assert_eq!(port.fault_of_nic(), Some(Fault::NoAddress));
        (port.nic, port.address) = (nic::index("lo"), Address::Ether { mac: [2; 6], selector: 0 });
        assert_eq!(port.fault_of_nic(), Some(Fault::OtherMac([0; 6])));
        drop(socket);
        assert!(!port.is_open());
        assert!(Fault::Closed.is_final() && Fault::NoNic.is_final());
        assert!(
            ![Fault::NoAddress, Fault::OtherMac([0; 6]), Fault::Refused(ENETDOWN)].into_iter().any(Fault::is_final)
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
        let places = (0..PORTS).map(|_| (0, "lo".into())).collect();
        let mut ends = Ends::new((0..PORTS).map(port).collect(), places, Box::new(|_| None));
        let gone = |health: &Health| health.ports.iter().filter(|port| port.found.is_some()).count();
        for is_silent in [false, true] {
            let lost = |socket| Watched { nic: Some(1 << 30), ..watched(socket) };
            let mut health = Health { ports: sockets.iter().map(lost).collect(), look_at_ns: 0, next: 1 };
            let mut found = Vec::new();
            for n in 0..3 {
                assert!(health.look(n * LOOK_NS, is_silent, &mut ends));
                assert!(!health.look((n + 1) * LOOK_NS - 1, is_silent, &mut ends));
                found.push(gone(&health));
            }
            assert_eq!(found, if is_silent { [PORTS; 3] } else { [1, PORTS, PORTS] });
        }
        let mut health = Health { ports: sockets.iter().map(watched).collect(), look_at_ns: 0, next: 0 };
        assert!(health.look(0, true, &mut ends));
        assert_eq!(gone(&health), 0);
    }
}
