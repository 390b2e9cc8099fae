//! Port discovery: the interfaces of this host, and on each rail the ports that could be opened, or the reason why
//! not.
//!
//! A rank chooses its ports from the result, and `mpiexec --info` shows the result. Only a connection shows whether a
//! port reaches a peer. Used by `open` and `info`; uses `rails` and `port`.

use crate::config::{EtherConfig, Method};
use crate::open::LocalRank;
use crate::port::{FramePort, NicQueues, PacketPort, PacketUdpPort, StreamPort, UdpPort, XdpPort, XdpUdpPort};
use crate::rails::{self, InterfaceFilter, InterfaceStatus, Rail};
use hawser_base::{Class, Error, Result};
use hawser_link::MTU_MIN;
use hawser_os::interfaces::{self, Interface, IpNetwork};
use std::cell::OnceCell;
use std::io;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

/// An attempt to open a port.
pub struct PortAttempt {
    pub method: Method,
    /// The IP address at which the port is reached; None if it is reached at the NIC's MAC address.
    pub ip: Option<IpAddr>,
    /// Whether the port serves only peers that have no address of the same family as the rail's first address: IPv6
    /// beside IPv4.
    pub is_spare: bool,
    pub result: io::Result<Box<dyn FramePort>>,
}

/// An interface, and the attempts on it if it is a rail.
pub struct InterfacePorts {
    pub rail: Rail,
    pub attempts: Vec<PortAttempt>,
}

/// Lists all interfaces and tries `methods` on each rail, except methods that the user's device names request only
/// for other adapters.
pub fn discover_ports(config: &EtherConfig, methods: &[Method], rank: &LocalRank) -> Result<Vec<InterfacePorts>> {
    let found = |rail: Rail| {
        let mut rail_attempts = RailAttempts::new(&rail.interface, config, rank);
        let elsewhere = |method| config.methods.contains(method) && !config.permits(&rail.interface, *method);
        let tried = methods.iter().filter(|method| rail.status.is_usable() && !elsewhere(method));
        tried.for_each(|&method| rail_attempts.try_method(method));
        InterfacePorts { attempts: rail_attempts.attempts, rail }
    };
    Ok(settled_rails(config)?.into_iter().map(found).collect())
}

/// Maximum time to wait until the kernel reports that an interface with carrier is running. It usually does so within
/// a second (net/core/link_watch.c). If it does not, for example before 802.1X authentication, the interface is no
/// rail.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
const RECHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Returns all interfaces with their status, once none of them is `NotRunning` or SETTLE_TIMEOUT is over.
fn settled_rails(config: &EtherConfig) -> Result<Vec<Rail>> {
    let begin = Instant::now();
    loop {
        let all =
            interfaces::all().map_err(|error| Error::new(Class::Other, format!("listing interfaces: {error}")))?;
        let rails = rails::classify(all, &config.interfaces);
        let settled = rails.iter().all(|rail| rail.status != InterfaceStatus::NotRunning);
        if settled || begin.elapsed() > SETTLE_TIMEOUT {
            return Ok(rails);
        }
        thread::sleep(RECHECK_INTERVAL);
    }
}

/// The attempts on one rail.
struct RailAttempts<'a> {
    interface: &'a Interface,
    config: &'a EtherConfig,
    rank: &'a LocalRank,
    /// The NIC's queues, which all XDP ports of the rail share. They are opened for the first of these ports.
    queues: OnceCell<io::Result<NicQueues>>,
    attempts: Vec<PortAttempt>,
}

impl RailAttempts<'_> {
    fn new<'a>(interface: &'a Interface, config: &'a EtherConfig, rank: &'a LocalRank) -> RailAttempts<'a> {
        RailAttempts { interface, config, rank, queues: OnceCell::new(), attempts: Vec::new() }
    }

    fn try_method(&mut self, method: Method) {
        // All frames of an EtherType that NICs do not know arrive by one queue, which only one rank can own: the
        // first rank of the host.
        if method.fallback().is_some() && self.rank.local_rank != 0 {
            return;
        }
        if let Method::Xdp | Method::Packet = method {
            return self.try_at(method, None, false);
        }
        for (nth, local) in addresses(self.interface, &self.config.interfaces).into_iter().enumerate() {
            self.try_at(method, Some(local), nth > 0);
        }
    }

    /// Tries a method at one IP address or, if `local` is None, at the NIC's MAC address.
    fn try_at(&mut self, method: Method, local: Option<&IpNetwork>, is_spare: bool) {
        let ip = local.map(|local| local.ip);
        // If an XDP port was opened, the method that would replace it adds nothing.
        let replaces = |attempt: &PortAttempt| attempt.method.fallback() == Some(method) && attempt.ip == ip;
        if !self.attempts.iter().any(|attempt| attempt.result.is_ok() && replaces(attempt)) {
            let result = self.open(method, local).and_then(check_frame_max);
            self.attempts.push(PortAttempt { method, ip, is_spare, result });
        }
    }

    fn open(&self, method: Method, local: Option<&IpNetwork>) -> io::Result<Box<dyn FramePort>> {
        let RailAttempts { interface, rank, .. } = *self;
        let Some(local) = local else {
            let (job, selector) = (rank.job, rank.local_rank);
            return match method {
                Method::Xdp => Ok(Box::new(XdpPort::open(self.queues()?, interface, job, selector)?)),
                _ => Ok(Box::new(PacketPort::open(interface, job, selector)?)),
            };
        };
        let (range, nth) = (self.config.range, usize::from(rank.local_rank));
        // A port in reserve takes a number behind those that the `udp` ports of all ranks need, since `udp` must not
        // find its number taken by a port that may not be needed.
        let reserve_range =
            || if self.config.is_in_reserve(method) { range.after_first(rank.local_ranks) } else { Ok(range) };
        Ok(match method {
            Method::XdpUdp => Box::new(XdpUdpPort::open(self.queues()?, interface, local, reserve_range()?, nth)?),
            Method::PacketUdp => Box::new(PacketUdpPort::open(interface, local, reserve_range()?, nth)?),
            Method::Stream => {
                let port = StreamPort::open(interface, local, range, nth, rank.credentials.clone())?;
                Box::new(port.with_congestion(self.config.congestion.clone()))
            }
            _ => Box::new(UdpPort::open(interface, local, range, nth)?),
        })
    }

    fn queues(&self) -> io::Result<&NicQueues> {
        let queues = self.queues.get_or_init(|| NicQueues::open(self.interface));
        queues.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

/// Returns the port, or an error if its frames are shorter than the shortest HELLO (P8 of docs/protocol.md).
fn check_frame_max(port: Box<dyn FramePort>) -> io::Result<Box<dyn FramePort>> {
    match port.frame_max() {
        MTU_MIN.. => Ok(port),
        less => Err(io::Error::other(format!("its MTU leaves {less} bytes for frames, and {MTU_MIN} are needed"))),
    }
}

/// Returns one address of each family, IPv4 first; of IPv6 preferably one that is not link-local.
fn addresses<'a>(interface: &'a Interface, filter: &InterfaceFilter) -> Vec<&'a IpNetwork> {
    let allowed = || interface.addresses.iter().filter(|address| filter.allows(interface, address));
    let v6 = || allowed().filter(|address| address.ip.is_ipv6());
    let v4 = allowed().find(|address| address.ip.is_ipv4());
    v4.into_iter().chain(v6().find(|address| address.scope == 0).or_else(|| v6().next())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P8
    #[test]
    fn an_interface_of_too_short_an_mtu_has_no_ports() {
        let all = interfaces::all().unwrap();
        let loopback = all.into_iter().find(|interface| interface.flags.loopback).unwrap();
        let rank = LocalRank::dummy();
        let failure = |mtu| {
            let config = EtherConfig::parse("udp", "", "").unwrap();
            let interface = Interface { mtu, ..loopback.clone() };
            let mut rail_attempts = RailAttempts::new(&interface, &config, &rank);
            rail_attempts.try_method(Method::Udp);
            rail_attempts.attempts.remove(0).result.err().map(|error| error.to_string())
        };
        assert_eq!(failure(576), None);
        assert_eq!(failure(575).unwrap(), "its MTU leaves 547 bytes for frames, and 548 are needed");
        assert!(failure(68).is_some());
    }

    #[test]
    fn of_each_family_one_address_serves() {
        let network = |text: &str, scope| IpNetwork { ip: text.parse().unwrap(), prefix: 64, scope };
        let all = [network("fe80::1", 2), network("fd77::1", 0), network("10.0.0.1", 0), network("10.0.0.2", 0)];
        let of = |addresses: &[IpNetwork], wanted: &str| -> Vec<String> {
            let interface = Interface { addresses: addresses.into(), ..Interface::default() };
            let chosen = super::addresses(&interface, &InterfaceFilter::parse(wanted).unwrap());
            chosen.into_iter().map(|network| network.ip.to_string()).collect()
        };
        assert_eq!(of(&all, ""), ["10.0.0.1", "fd77::1"]);
        assert_eq!(of(&all, "10.0.0.2"), ["10.0.0.2"]);
        assert_eq!(of(&all, "fd00::/8"), ["fd77::1"]);
        assert_eq!(of(&all, "fe80::/10"), ["fe80::1"]);
        assert_eq!(of(&all[..1], ""), ["fe80::1"]);
    }
}
