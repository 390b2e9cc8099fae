//! Which of this rank's ports cannot be used any more, or not now, and why: looked at once a second, for who only
//! receives is told nothing.
//!
//! A port is lost for good when its interface is gone (its sockets belong to that one, not to its name) or the program
//! has closed its descriptors. One whose host has lost the address or the MAC address that peers know hears nothing
//! until it has it again. It must never touch what a closed descriptor's number stands for now. Before it:
//! `unanswered`; after it: `ends`, `os::held`, `os::nic`.

use crate::ends::Ends;
use crate::port::Address;
use hawser_link::Endpoint;
use hawser_os::held::Held;
use hawser_os::nic;
use std::io;

/// Between two looks: some system calls for each port, 5 us together.
const LOOK_NS: u64 = 1_000_000_000;

/// linux/errno-base.h, errno.h.
const EBADF: i32 = 9;
const ENODEV: i32 = 19;
const EADDRNOTAVAIL: i32 = 99;

/// See the module.
pub struct Health {
    ports: Vec<Watched>,
    look_at_ns: u64,
}

/// What a port was when it was opened, and what has become of it.
struct Watched {
    held: Vec<Held>,
    /// The number of its interface.
    nic: Option<u32>,
    address: Address,
    found: Option<(Fault, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Closed,
    NoNic,
    NoAddress,
    OtherMac([u8; 6]),
    /// The error number of what the system refused to send.
    Refused(i32),
}

impl Fault {
    /// Whether the port can never be used again.
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
    /// Of ports that were opened just now.
    pub fn of(ends: &Ends) -> Health {
        let watched = |at: usize| {
            let (interface, port) = ends.port(at as u8);
            let mut held = Vec::new();
            port.held(&mut |fd| held.extend(Held::of(fd)));
            Watched { held, nic: nic::index(interface), address: port.address(), found: None }
        };
        Health { ports: (0..ends.ports.len()).map(watched).collect(), look_at_ns: 0 }
    }

    /// To be called now and then. Whether it was time to look.
    pub fn look(&mut self, now_ns: u64, ends: &mut Ends) -> bool {
        if now_ns < self.look_at_ns {
            return false;
        }
        self.look_at_ns = now_ns + LOOK_NS;
        for (at, port) in self.ports.iter_mut().enumerate() {
            let is_closed = ends.is_closed(at) || !ends.ports[at].keeps_all();
            let fault = port.fault(is_closed, ends.error(at));
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

    /// None of the ports can ever be used again by which a peer has answered, or none at all if none has: a host may
    /// have ports that lead to nobody.
    pub fn is_gone(&self, endpoint: &Endpoint) -> bool {
        let is_lost = |port: &Watched| port.found.is_some_and(|(fault, _)| fault.is_final());
        if !self.ports.iter().any(is_lost) {
            return false;
        }
        let has_answered = |at: usize| endpoint.reach(at as u8).answered > 0;
        let is_alone = !(0..self.ports.len()).any(has_answered);
        self.ports.iter().enumerate().all(|(at, port)| is_lost(port) || !is_alone && !has_answered(at))
    }

    /// A line for each port that cannot be used.
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
    /// `refused`: the error number of the last frame, if the system refused it.
    fn fault(&self, is_closed: bool, refused: Option<i32>) -> Option<Fault> {
        if is_closed || self.held.iter().any(|held| !held.is_there()) {
            return Some(Fault::Closed);
        }
        if self.nic.is_some_and(|nic| !nic::is_there(nic)) {
            return Some(Fault::NoNic);
        }
        let changed = match self.address {
            Address::Ether { mac, .. } => {
                let now = self.nic.and_then(nic::mac).filter(|&now| now != mac);
                now.map(Fault::OtherMac)
            }
            Address::Udp(address) | Address::Tcp(address) | Address::PacketUdp(address) => {
                (!nic::has_address(&address)).then_some(Fault::NoAddress)
            }
        };
        changed.or(refused.map(Fault::Refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    const ENETDOWN: i32 = 100;

    #[test]
    fn what_has_become_of_a_port_is_found_and_some_of_it_is_final() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let held = vec![Held::of(socket.as_fd()).unwrap()];
        let mut port =
            Watched { held, nic: nic::index("lo"), address: Address::Udp(socket.local_addr().unwrap()), found: None };
        assert_eq!((port.fault(false, None), port.fault(true, None)), (None, Some(Fault::Closed)));
        assert_eq!(port.fault(false, Some(ENETDOWN)), Some(Fault::Refused(ENETDOWN)));
        // Of TEST-NET-1 (RFC 5737), which no interface has.
        port.address = Address::Udp("192.0.2.1:9".parse().unwrap());
        assert_eq!(port.fault(false, Some(ENETDOWN)), Some(Fault::NoAddress));
        port.address = Address::Ether { mac: [2; 6], selector: 0 };
        assert_eq!(port.fault(false, None), Some(Fault::OtherMac([0; 6])));
        port.nic = Some(1 << 30);
        assert_eq!(port.fault(false, None), Some(Fault::NoNic));
        drop(socket);
        assert_eq!(port.fault(false, None), Some(Fault::Closed));
        assert!(Fault::Closed.is_final() && Fault::NoNic.is_final());
        assert!(
            ![Fault::NoAddress, Fault::OtherMac([0; 6]), Fault::Refused(ENETDOWN)].into_iter().any(Fault::is_final)
        );
    }
}
