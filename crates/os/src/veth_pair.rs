//! Two virtual hosts, connected by a veth pair, for benchmarks and tests. The hosts are network namespaces, which
//! vanish when the value is dropped. Needs ip(8), and the privilege for namespaces (`netns::become_root`).

use crate::interfaces::{self, Interface, IpNetwork};
use crate::netns::NetNamespace;
use std::io;
use std::net::{IpAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The IPv4 addresses of a pair's hosts.
pub const HOST_ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// One of the two hosts: a network namespace, which clones share.
#[derive(Clone)]
pub struct NetnsHost(Arc<NetNamespace>);

/// Hosts 10.77.0.1, fd77::1 and 10.77.0.2, fd77::2, joined by their interfaces `e0`; clones share them.
#[derive(Clone)]
pub struct VethPair {
    pub a: NetnsHost,
    pub b: NetnsHost,
}

impl NetnsHost {
    fn new() -> io::Result<NetnsHost> {
        NetNamespace::new().map(|namespace| NetnsHost(Arc::new(namespace)))
    }

    /// Runs `f` on this host.
    pub fn within<T>(&self, f: impl FnOnce() -> T) -> T {
        self.0.within(f).unwrap()
    }

    /// Returns the path by which other programs can enter this host (nsenter(1)). It is valid until this process
    /// ends, or drops the last clone of the host.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_fd().as_raw_fd()).into()
    }

    /// Runs ip(8) on this host.
    pub fn ip(&self, arguments: &str) -> io::Result<()> {
        let output = self.within(|| Command::new("ip").args(arguments.split(' ')).output())?;
        let text = || format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(()) } else { Err(io::Error::other(text())) }
    }

    /// Returns this host's interface of the veth pair.
    pub fn interface(&self) -> Interface {
        let all = self.within(|| interfaces::all().unwrap());
        all.into_iter().find(|interface| interface.name == "e0").expect("an end of the veth pair")
    }

    fn is_ready(&self) -> bool {
        let end = self.interface();
        let usable = |own: &IpNetwork| match own.ip {
            IpAddr::V6(ip) => UdpSocket::bind(SocketAddrV6::new(ip, 0, 0, own.scope)).is_ok(),
            IpAddr::V4(_) => true,
        };
        end.flags.running && end.addresses.len() == 3 && self.within(|| end.addresses.iter().all(usable))
    }
}

impl VethPair {
    /// Makes a veth pair. It takes up to a second, the interval at which the kernel checks carriers.
    pub fn new(mtu: usize) -> io::Result<VethPair> {
        VethPair::with_queues(mtu, 2)
    }

    /// Makes a veth pair with `queues` queues in each direction at both ends.
    pub fn with_queues(mtu: usize, queues: u32) -> io::Result<VethPair> {
        let cable = VethPair { a: NetnsHost::new()?, b: NetnsHost::new()? };
        let far = cable.b.path();
        let end = format!("name e0 mtu {mtu} numtxqueues {queues} numrxqueues {queues}");
        cable.a.ip(&format!("link add {end} type veth peer {end} netns {}", far.display()))?;
        for (host, number) in [(&cable.a, 1), (&cable.b, 2)] {
            // Without duplicate address detection, IPv6 addresses are valid at once.
            host.within(|| std::fs::write("/proc/sys/net/ipv6/conf/e0/accept_dad", "0"))?;
            host.ip(&format!("addr add {}/24 dev e0", HOST_ADDRESSES[number - 1]))?;
            host.ip(&format!("addr add fd77::{number}/64 dev e0"))?;
            host.ip("link set e0 up")?;
        }
        // IPv6 addresses exist only with a carrier.
        while !cable.a.is_ready() || !cable.b.is_ready() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(cable)
    }
}
