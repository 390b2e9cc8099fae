//! Port discovery: the interfaces of this host, and on each rail the ports that could be opened, or the reason why not.
//!
//! A rank takes its ports from it, and `mpiexec --info` shows it. Whether a port reaches a peer, only the connection
//! finds out. Used by `open` and `info`; uses `rails` and `port`.

use crate::open::Who;
use crate::port::{FramePort, PacketPort, PacketUdpPort, Queues, StreamPort, UdpPort, XdpPort, XdpUdpPort};
use crate::rails::{self, Rail, Verdict, Wanted};
use crate::wishes::{Method, Wishes};
use hawser_base::{Class, Error, Result};
use hawser_link::SHORTEST;
use hawser_os::interfaces::{self, Interface, Network};
use std::cell::OnceCell;
use std::io;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

/// An attempt to open a port.
pub struct Attempt {
    pub method: Method,
    /// The address by which it is reached, if that is not the NIC's own.
    pub ip: Option<IpAddr>,
    /// Whether it serves only peers that do not have the first of the rail's addresses: IPv6 beside IPv4.
    pub spare: bool,
    pub made: io::Result<Box<dyn FramePort>>,
}

/// An interface, and the attempts on it if it is a rail.
pub struct Found {
    pub rail: Rail,
    pub attempts: Vec<Attempt>,
}

/// Lists all interfaces and tries `methods` on each rail, except those that device names request for other adapters
/// only.
pub fn survey(wishes: &Wishes, methods: &[Method], who: &Who) -> Result<Vec<Found>> {
    let found = |rail: Rail| {
        let mut trial = Trial::new(&rail.interface, wishes, who);
        let elsewhere = |method| wishes.methods.contains(method) && !wishes.permits(&rail.interface, *method);
        let tried = methods.iter().filter(|method| rail.verdict.serves() && !elsewhere(method));
        tried.for_each(|&method| trial.of(method));
        Found { attempts: trial.attempts, rail }
    };
    Ok(settled_rails(wishes)?.into_iter().map(found).collect())
}

/// Maximum time to wait for a link whose carrier has come: the kernel takes note within a second
/// (net/core/link_watch.c). If it does not, as before 802.1X authentication, the interface is no rail.
const SETTLES_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Returns the interfaces, once none is late any more or the time is over.
fn settled_rails(wishes: &Wishes) -> Result<Vec<Rail>> {
    let begin = Instant::now();
    loop {
        let all =
            interfaces::all().map_err(|error| Error::new(Class::Other, format!("listing interfaces: {error}")))?;
        let rails = rails::judge(all, &wishes.rails);
        let settled = rails.iter().all(|rail| rail.verdict != Verdict::Late);
        if settled || begin.elapsed() > SETTLES_WITHIN {
            return Ok(rails);
        }
        thread::sleep(LOOK_AGAIN_AFTER);
    }
}

/// The attempts on one rail.
struct Trial<'a> {
    interface: &'a Interface,
    wishes: &'a Wishes,
    who: &'a Who,
    /// The NIC's queues, for all ports that take frames from there; opened for the first of them.
    queues: OnceCell<io::Result<Queues>>,
    attempts: Vec<Attempt>,
}

impl Trial<'_> {
    fn new<'a>(interface: &'a Interface, wishes: &'a Wishes, who: &'a Who) -> Trial<'a> {
        Trial { interface, wishes, who, queues: OnceCell::new(), attempts: Vec::new() }
    }

    fn of(&mut self, method: Method) {
        // Frames of an EtherType that NICs do not know all arrive by one queue, which one rank can own: the first of
        // the host.
        if method.stand_in().is_some() && self.who.local_rank != 0 {
            return;
        }
        if let Method::Xdp | Method::Packet = method {
            return self.at(method, None, false);
        }
        for (nth, local) in addresses(self.interface, &self.wishes.rails).into_iter().enumerate() {
            self.at(method, Some(local), nth > 0);
        }
    }

    /// Tries a method at one address, or at the NIC itself.
    fn at(&mut self, method: Method, local: Option<&Network>, spare: bool) {
        let ip = local.map(|local| local.ip);
        // If the NIC's queues are ours, packet adds nothing.
        let does_for = |attempt: &Attempt| attempt.method.stand_in() == Some(method) && attempt.ip == ip;
        if !self.attempts.iter().any(|attempt| attempt.made.is_ok() && does_for(attempt)) {
            let made = self.open(method, local).and_then(long_enough);
            self.attempts.push(Attempt { method, ip, spare, made });
        }
    }

    fn open(&self, method: Method, local: Option<&Network>) -> io::Result<Box<dyn FramePort>> {
        let Trial { interface, who, .. } = *self;
        let Some(local) = local else {
            let (job, selector) = (who.job, who.local_rank);
            return match method {
                Method::Xdp => Ok(Box::new(XdpPort::open(self.queues()?, interface, job, selector)?)),
                _ => Ok(Box::new(PacketPort::open(interface, job, selector)?)),
            };
        };
        let (range, nth) = (self.wishes.range, usize::from(who.local_rank));
        // Take numbers behind those of `udp` of all ranks, which must not find their ports taken by one that may not be
        // needed.
        let behind = || if self.wishes.reserves(method) { range.behind(who.local_ranks) } else { Ok(range) };
        Ok(match method {
            Method::XdpUdp => Box::new(XdpUdpPort::open(self.queues()?, interface, local, behind()?, nth)?),
            Method::PacketUdp => Box::new(PacketUdpPort::open(interface, local, behind()?, nth)?),
            Method::Stream => Box::new(StreamPort::open(interface, local, range, nth, who.seal.clone())?),
            _ => Box::new(UdpPort::open(interface, local, range, nth)?),
        })
    }

    fn queues(&self) -> io::Result<&Queues> {
        let queues = self.queues.get_or_init(|| Queues::open(self.interface));
        queues.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

/// Returns the port, unless its frames are shorter than HELLO may be (P8).
fn long_enough(port: Box<dyn FramePort>) -> io::Result<Box<dyn FramePort>> {
    match port.frame_max() {
        SHORTEST.. => Ok(port),
        less => Err(io::Error::other(format!("its MTU leaves {less} bytes for frames, and {SHORTEST} are needed"))),
    }
}

/// Returns one address of each family, IPv4 first; of IPv6 preferably one that is not link-local.
fn addresses<'a>(interface: &'a Interface, wanted: &Wanted) -> Vec<&'a Network> {
    let allowed = || interface.addresses.iter().filter(|address| wanted.allows(interface, address));
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
        let who = Who::nobody();
        let told = |mtu| {
            let wishes = Wishes::parse("udp", "", "").unwrap();
            let interface = Interface { mtu, ..loopback.clone() };
            let mut trial = Trial::new(&interface, &wishes, &who);
            trial.of(Method::Udp);
            trial.attempts.remove(0).made.err().map(|error| error.to_string())
        };
        assert_eq!(told(576), None);
        assert_eq!(told(575).unwrap(), "its MTU leaves 547 bytes for frames, and 548 are needed");
        assert!(told(68).is_some());
    }

    #[test]
    fn of_each_family_one_address_serves() {
        let network = |text: &str, scope| Network { ip: text.parse().unwrap(), prefix: 64, scope };
        let all = [network("fe80::1", 2), network("fd77::1", 0), network("10.0.0.1", 0), network("10.0.0.2", 0)];
        let of = |addresses: &[Network], wanted: &str| -> Vec<String> {
            let interface = Interface { addresses: addresses.into(), ..Interface::default() };
            let chosen = super::addresses(&interface, &Wanted::parse(wanted).unwrap());
            chosen.into_iter().map(|network| network.ip.to_string()).collect()
        };
        assert_eq!(of(&all, ""), ["10.0.0.1", "fd77::1"]);
        assert_eq!(of(&all, "10.0.0.2"), ["10.0.0.2"]);
        assert_eq!(of(&all, "fd00::/8"), ["fd77::1"]);
        assert_eq!(of(&all, "fe80::/10"), ["fe80::1"]);
        assert_eq!(of(&all[..1], ""), ["fe80::1"]);
    }
}
