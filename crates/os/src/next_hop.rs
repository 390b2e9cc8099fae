//! The next hop of a packet to an address, as the kernel's tables of routes and of neighbours (the hosts and gateways
//! on the same link) give it (rtnetlink(7)).
//!
//! It only queries the tables. It never resolves an address (by ARP): the kernel does that for packets of its own
//! sockets.

use crate::ErrorContext;
use crate::netlink::{NetlinkSocket, attribute, read_u16};
use std::io;
use std::net::IpAddr;

/// linux/rtnetlink.h: the length of `struct rtmsg`, and the offset of its type.
const ROUTE_HEAD: usize = 12;
const ROUTE_TYPE: usize = 7;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const TO: u16 = 1;
const FROM: u16 = 2;
const OUT: u16 = 4;
const GATEWAY: u16 = 5;
/// The attribute with a gateway of another address family than the destination: two bytes, then the gateway's
/// address.
const VIA: u16 = 18;
/// The attribute of a route whose packets get further headers (lightweight tunnels).
const ENCAPSULATION: u16 = 22;
const UNICAST: u8 = 1;

/// linux/neighbour.h: the length of `struct ndmsg`, the offsets of interface and state in it.
const NEIGHBOUR_HEAD: usize = 12;
const INTERFACE: usize = 4;
const STATE: usize = 8;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
const ADDRESS: u16 = 1;
const LINK_ADDRESS: u16 = 2;
/// NUD_REACHABLE, STALE, DELAY, PROBE and PERMANENT: the states in which the kernel itself would send to a neighbour.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// Queries the next hops of packets from one local address by one interface.
pub struct NextHopQuery {
    socket: NetlinkSocket,
    from: IpAddr,
    interface: u32,
}

impl NextHopQuery {
    pub fn new(from: IpAddr, interface: u32) -> io::Result<NextHopQuery> {
        let asker = NetlinkSocket::new().context(|| "making a socket for queries about neighbours".into())?;
        Ok(NextHopQuery { socket: asker, from, interface })
    }

    /// Returns the Ethernet address of the next hop to `to`. None if the kernel would not send a plain packet to `to`
    /// by this interface, or does not know the next hop's Ethernet address now; always None before Linux 5.0.
    pub fn mac(&mut self, to: IpAddr) -> Option<[u8; 6]> {
        let hop = self.hop(to)?;
        let mut head = [0; NEIGHBOUR_HEAD];
        head[0] = family(hop);
        head[INTERFACE..STATE].copy_from_slice(&self.interface.to_ne_bytes());
        let mut mac = None;
        let asked = self.socket.query((GET_NEIGHBOUR, 0), &head, &[(ADDRESS, &octets(hop))], |kind, body| {
            mac = (kind == NEW_NEIGHBOUR).then(|| neighbour(body)).flatten();
        });
        asked.ok().and(mac)
    }

    /// Returns the IP address of the next hop: `to` itself, or a gateway. None if there is no plain route by this
    /// interface.
    fn hop(&mut self, to: IpAddr) -> Option<IpAddr> {
        let bits = |ip: IpAddr| if ip.is_ipv4() { 32 } else { 128 };
        let mut head = [0; ROUTE_HEAD];
        (head[0], head[1], head[2]) = (family(to), bits(to), bits(self.from));
        let (from, interface) = (octets(self.from), self.interface);
        let attributes = [(TO, &octets(to)[..]), (FROM, &from), (OUT, &interface.to_ne_bytes())];
        let mut hop = None;
        let asked = self.socket.query((GET_ROUTE, 0), &head, &attributes, |kind, body| {
            hop = (kind == NEW_ROUTE).then(|| gateway(body, to, interface)).flatten();
        });
        asked.ok().and(hop)
    }
}

/// Returns the next hop that a route in a reply gives: the route's gateway, or `to`. None if the route does not send
/// plain packets to one host by `interface`.
fn gateway(body: &[u8], to: IpAddr, interface: u32) -> Option<IpAddr> {
    let (head, rest) = body.split_at_checked(ROUTE_HEAD)?;
    let value = |wanted: u16| attribute(rest, wanted);
    let is_ours = value(OUT).is_some_and(|out| out == interface.to_ne_bytes());
    if head[ROUTE_TYPE] != UNICAST || !is_ours || value(ENCAPSULATION).is_some() {
        return None;
    }
    let via = value(VIA).map(|via| via.get(2..).unwrap_or_default());
    value(GATEWAY).or(via).map_or(Some(to), address)
}

/// Returns the Ethernet address in an entry of the neighbour table, if its state is in VALID.
fn neighbour(body: &[u8]) -> Option<[u8; 6]> {
    let (head, rest) = body.split_at_checked(NEIGHBOUR_HEAD)?;
    let mac = attribute(rest, LINK_ADDRESS)?;
    (read_u16(&head[STATE..STATE + 2]) & VALID != 0).then(|| mac.try_into().ok()).flatten()
}

fn family(ip: IpAddr) -> u8 {
    (if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().into(),
        IpAddr::V6(ip) => ip.octets().into(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn routes_lead_to_their_gateway_or_to_nobody() {
        let to: IpAddr = "10.1.0.9".parse().unwrap();
        let route = |kind: u8, rest: &[Vec<u8>]| {
            let mut body = vec![0; ROUTE_HEAD];
            body[ROUTE_TYPE] = kind;
            body.extend(rest.concat());
            gateway(&body, to, 5)
        };
        let (out, other) = (attribute(OUT, &5_u32.to_ne_bytes()), attribute(OUT, &6_u32.to_ne_bytes()));
        assert_eq!(route(UNICAST, std::slice::from_ref(&out)), Some(to));
        assert_eq!(
            (route(UNICAST, &[other]), route(2, std::slice::from_ref(&out)), route(UNICAST, &[])),
            (None, None, None)
        );
        let by = |attribute| route(UNICAST, &[out.clone(), attribute]).map(|ip| ip.to_string());
        assert_eq!(by(attribute(GATEWAY, &[10, 0, 0, 1])).as_deref(), Some("10.0.0.1"));
        let via = [&(libc::AF_INET6 as u16).to_ne_bytes()[..], &[0xfe, 0x80], &[0; 13], &[7]].concat();
        assert_eq!(by(attribute(VIA, &via)).as_deref(), Some("fe80::7"));
        assert_eq!((by(attribute(GATEWAY, &[1, 2])), by(attribute(ENCAPSULATION, &[]))), (None, None));
        assert_eq!(gateway(&[0; 3], to, 5), None);
    }

    #[test]
    fn a_neighbour_that_the_kernel_doubts_is_none() {
        let entry = |state: u16, mac: &[u8]| {
            let mut body = vec![0; NEIGHBOUR_HEAD];
            body[STATE..STATE + 2].copy_from_slice(&state.to_ne_bytes());
            body.extend(attribute(LINK_ADDRESS, mac));
            neighbour(&body)
        };
        assert_eq!((entry(0x02, &[2; 6]), entry(0x10, &[3; 6])), (Some([2; 6]), Some([3; 6])));
        // Entries that are incomplete, failed, or no Ethernet.
        assert_eq!((entry(0x01, &[2; 6]), entry(0x20, &[2; 6]), entry(0x02, &[2; 20])), (None, None, None));
        assert_eq!(neighbour(&[0; 5]), None);
    }

    #[test]
    fn this_host_itself_has_no_neighbour() {
        let all = crate::interfaces::all().unwrap();
        let lo = all.iter().find(|interface| interface.flags.loopback).unwrap();
        let localhost = "127.0.0.1".parse().unwrap();
        assert_eq!(NextHopQuery::new(localhost, lo.index).unwrap().mac(localhost), None);
    }
}
