//! The network interfaces of this process's network namespace, as the kernel describes them (getifaddrs(3),
//! netdevice(7), rtnetlink(7), the queries of ethtool). Callers choose among them.

use crate::errno::checked;
use crate::{ErrorContext, inet, link_masters, sockopt};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::mem::zeroed;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    /// The MAC address; None if the interface is no Ethernet.
    pub mac: Option<[u8; 6]>,
    /// Longest packet behind the Ethernet header, in bytes.
    pub mtu: usize,
    pub flags: IfFlags,
    pub addresses: Vec<IpNetwork>,
    /// The speed in Mbit/s, if the driver knows it.
    pub speed_mbit: Option<u32>,
    pub driver: Option<String>,
    /// Whether the interface is part of a bridge or bond, which has the addresses then.
    pub enslaved: bool,
    /// The number of interfaces that are part of this one, if it is a bridge or bond; otherwise 0.
    pub members: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfFlags {
    /// Whether the interface is administratively up.
    pub up: bool,
    /// Whether the interface has a carrier.
    pub carrier: bool,
    /// Whether the kernel has noticed the carrier and sends. For some links this takes up to a second after the
    /// carrier is there.
    pub running: bool,
    pub loopback: bool,
    pub point_to_point: bool,
    /// Whether the interface has no address resolution (ARP): the kernel then learns no neighbour's address there.
    pub no_arp: bool,
}

/// An address of an interface, and the number of leading bits that all addresses of its network have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    pub ip: IpAddr,
    pub prefix: u8,
    /// The interface's number if the address is valid only there (fe80::/10), otherwise 0.
    pub scope: u32,
}

impl IpNetwork {
    pub fn contains(&self, ip: &IpAddr) -> bool {
        match (self.ip, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                (u32::from(own) ^ u32::from(*ip)).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let shift = 128 - u32::from(self.prefix.min(128));
                (u128::from(own) ^ u128::from(*ip)).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Returns all interfaces, in the order of their numbers.
pub fn all() -> io::Result<Vec<Interface>> {
    let mut found = BTreeMap::new();
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: a place for the list, which is freed below.
    checked(unsafe { libc::getifaddrs(&mut first) }).context(|| "getting the network interfaces".into())?;
    let mut next = first;
    // SAFETY: the list and all that it points to live until freeifaddrs.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        unsafe { add(&mut found, entry) };
        next = entry.ifa_next;
    }
    // SAFETY: what getifaddrs gave, once.
    unsafe { libc::freeifaddrs(first) };
    let asker = query_socket()?;
    let mut list: Vec<Interface> = found.into_values().filter(|i: &Interface| i.index > 0).collect();
    let masters = link_masters::all()?;
    for interface in &mut list {
        interface.enslaved = masters.contains_key(&interface.index);
        interface.members = masters.values().filter(|&&master| master == interface.index).count();
        describe(&asker, interface);
    }
    list.sort_by_key(|interface| interface.index);
    Ok(list)
}

/// Makes a socket for queries about interfaces.
pub(crate) fn query_socket() -> io::Result<OwnedFd> {
    sockopt::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)
        .or_else(|_| sockopt::socket(libc::AF_INET6, libc::SOCK_DGRAM, 0))
        .context(|| "making a socket for queries about interfaces".into())
}

/// linux/if.h.
const IFF_LOWER_UP: i32 = 1 << 16;

/// Adds what an entry of getifaddrs says about an interface: the entries of one interface come one by one.
///
/// # Safety
/// `entry` belongs to a list of getifaddrs that has not been freed.
unsafe fn add(found: &mut BTreeMap<String, Interface>, entry: &libc::ifaddrs) {
    // SAFETY: a C string of the list.
    let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
    let interface = found.entry(name.clone()).or_insert_with(|| Interface { name, ..Interface::default() });
    let has = |flag: i32| entry.ifa_flags & flag as u32 != 0;
    interface.flags = IfFlags {
        up: has(libc::IFF_UP),
        carrier: has(IFF_LOWER_UP),
        running: has(libc::IFF_RUNNING),
        loopback: has(libc::IFF_LOOPBACK),
        point_to_point: has(libc::IFF_POINTOPOINT),
        no_arp: has(libc::IFF_NOARP),
    };
    // SAFETY: null or a whole address of the family that it names.
    let Some(address) = (unsafe { entry.ifa_addr.as_ref() }) else {
        // A link without an address of its own, such as a tunnel. SAFETY: a C string of the list.
        interface.index = unsafe { libc::if_nametoindex(entry.ifa_name) };
        return;
    };
    if i32::from(address.sa_family) == libc::AF_PACKET {
        // SAFETY: the family means that it is this structure.
        let link = unsafe { entry.ifa_addr.cast::<libc::sockaddr_ll>().read_unaligned() };
        interface.index = link.sll_ifindex as u32;
        if link.sll_hatype == libc::ARPHRD_ETHER && link.sll_halen == 6 {
            interface.mac = link.sll_addr[..6].try_into().ok();
        }
        return;
    }
    // SAFETY: null or whole addresses.
    let (ip, mask) = unsafe { (inet::read(entry.ifa_addr), inet::read(entry.ifa_netmask)) };
    if let Some(ip) = ip {
        let ones = match mask.map(|m| m.ip()) {
            Some(IpAddr::V4(mask)) => mask.to_bits().leading_ones(),
            Some(IpAddr::V6(mask)) => mask.to_bits().leading_ones(),
            None => 0,
        };
        let scope = if let std::net::SocketAddr::V6(v6) = ip { v6.scope_id() } else { 0 };
        interface.addresses.push(IpNetwork { ip: ip.ip(), prefix: ones as u8, scope });
    }
}

/// linux/ethtool.h: numbers and lengths of two queries, and offsets in their replies.
const GET_SETTINGS: u32 = 1;
const GET_DRIVER: u32 = 3;
const REPLY_BYTES: usize = 256;
const SPEED_LOW: usize = 12;
const SPEED_HIGH: usize = 28;
const DRIVER: std::ops::Range<usize> = 4..36;

/// Adds the properties that getifaddrs does not return; those that the kernel does not know are left out.
fn describe(socket: &OwnedFd, interface: &mut Interface) {
    if let Some(request) = ioctl(socket, &interface.name, libc::SIOCGIFMTU, std::ptr::null_mut()) {
        // SAFETY: the kernel has written this member.
        interface.mtu = unsafe { request.ifr_ifru.ifru_mtu }.max(0) as usize;
    }
    if let Some(answer) = ethtool(socket, &interface.name, GET_DRIVER) {
        let text: Vec<u8> = answer[DRIVER].iter().copied().take_while(|&b| b != 0).collect();
        interface.driver = Some(String::from_utf8_lossy(&text).into_owned()).filter(|t| !t.is_empty());
    }
    if let Some(answer) = ethtool(socket, &interface.name, GET_SETTINGS) {
        let half = |at: usize| u32::from(u16::from_ne_bytes([answer[at], answer[at + 1]]));
        let speed = half(SPEED_HIGH) << 16 | half(SPEED_LOW);
        // 0xffff and SPEED_UNKNOWN (-1) mean that the speed is unknown.
        interface.speed_mbit = Some(speed).filter(|s| !matches!(*s, 0 | 0xffff | u32::MAX));
    }
}

fn ethtool(socket: &OwnedFd, name: &str, query: u32) -> Option<[u8; REPLY_BYTES]> {
    #[repr(C, align(8))]
    struct EthtoolReply([u8; REPLY_BYTES]);
    let mut answer = EthtoolReply([0; REPLY_BYTES]);
    answer.0[..4].copy_from_slice(&query.to_ne_bytes());
    ioctl(socket, name, libc::SIOCETHTOOL, (&raw mut answer.0).cast())?;
    Some(answer.0)
}

/// Makes one of the requests about interfaces (netdevice(7)); `data` is null or has space for the reply.
pub(crate) fn ioctl(
    socket: &OwnedFd,
    name: &str,
    request: libc::c_ulong,
    data: *mut libc::c_char,
) -> Option<libc::ifreq> {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut question: libc::ifreq = unsafe { zeroed() };
    if name.len() >= question.ifr_name.len() {
        return None;
    }
    for (to, from) in question.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    question.ifr_ifru.ifru_data = data;
    // SAFETY: a whole request; `data` has space for the reply, as the callers ensure: `ethtool` above makes only
    // queries whose replies have fixed lengths below REPLY_BYTES.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut question) }).ok()?;
    Some(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found() {
        let all = all().unwrap();
        let lo = all.iter().find(|interface| interface.flags.loopback).expect("a loopback interface");
        assert!(lo.index > 0 && lo.mtu >= 1280 && lo.mac.is_none(), "{lo:?}");
    }

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        let network = |text: &str, prefix| IpNetwork { ip: text.parse().unwrap(), prefix, scope: 0 };
        let inside = |network: IpNetwork, text: &str| network.contains(&text.parse().unwrap());
        assert!(inside(network("10.1.0.0", 16), "10.1.255.3") && !inside(network("10.1.0.0", 16), "10.2.0.1"));
        assert!(inside(network("0.0.0.0", 0), "1.2.3.4") && !inside(network("1.2.3.4", 32), "1.2.3.5"));
        assert!(inside(network("fd00:1::", 32), "fd00:1:9::4") && !inside(network("fd00:1::", 32), "fd00:2::4"));
        assert!(inside(network("::", 0), "fd00::1") && !inside(network("::", 0), "10.0.0.1"));
    }
}
