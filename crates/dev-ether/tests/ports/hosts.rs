//! Two hosts of our own with a cable between: they vanish with the value.

use hawser_os::interfaces::{self, Interface, Network};
use hawser_os::netns::Namespace;
use std::io;
use std::net::{IpAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[derive(Clone)]
pub struct Host(Arc<Namespace>);

/// Hosts 10.77.0.1, fd77::1 and 10.77.0.2, fd77::2, joined by their interfaces `e0`.
pub struct Cable {
    pub a: Host,
    pub b: Host,
}

impl Host {
    fn new() -> io::Result<Host> {
        Namespace::new().map(|namespace| Host(Arc::new(namespace)))
    }

    /// Runs `f` on this host.
    pub fn within<T>(&self, f: impl FnOnce() -> T) -> T {
        self.0.within(f).unwrap()
    }

    fn try_ip(&self, arguments: &str) -> io::Result<()> {
        let output = self.within(|| Command::new("ip").args(arguments.split(' ')).output())?;
        let text = || format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(()) } else { Err(io::Error::other(text())) }
    }

    /// Runs ip(8) on this host.
    pub fn ip(&self, arguments: &str) {
        self.try_ip(arguments).unwrap();
    }

    /// Its end of the cable.
    pub fn interface(&self) -> Interface {
        interfaces::all().unwrap().into_iter().find(|interface| interface.name == "e0").expect("an end of the cable")
    }
}

impl Cable {
    pub fn new(mtu: usize) -> io::Result<Cable> {
        let cable = Cable { a: Host::new()?, b: Host::new()? };
        let far = format!("/proc/{}/fd/{}", std::process::id(), cable.b.0.as_fd().as_raw_fd());
        cable.a.try_ip(&format!("link add e0 mtu {mtu} type veth peer name e0 mtu {mtu} netns {far}"))?;
        for (host, number) in [(&cable.a, 1), (&cable.b, 2)] {
            // Addresses of IPv6 are good at once.
            host.within(|| std::fs::write("/proc/sys/net/ipv6/conf/e0/accept_dad", "0"))?;
            host.try_ip(&format!("addr add 10.77.0.{number}/24 dev e0"))?;
            host.try_ip(&format!("addr add fd77::{number}/64 dev e0"))?;
            host.try_ip("link set e0 up")?;
        }
        // It takes the kernel a moment to see the carrier, and then to believe in its addresses of IPv6.
        while !cable.a.within(Cable::is_ready) || !cable.b.within(Cable::is_ready) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(cable)
    }
}

impl Cable {
    fn is_ready() -> bool {
        let all = interfaces::all().unwrap();
        let end = all.iter().find(|interface| interface.name == "e0").expect("an end of the cable");
        let usable = |own: &Network| match own.ip {
            IpAddr::V6(ip) => UdpSocket::bind(SocketAddrV6::new(ip, 0, 0, own.scope)).is_ok(),
            IpAddr::V4(_) => true,
        };
        end.flags.running && end.addresses.len() == 3 && end.addresses.iter().all(usable)
    }
}

/// What hangs is a failure: a case that has not ended when the next would have to ends everything.
pub fn end_in_time(case: &'static str) {
    static CASES: AtomicUsize = AtomicUsize::new(0);
    let mine = CASES.fetch_add(1, SeqCst) + 1;
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(100));
        if CASES.load(SeqCst) == mine {
            eprintln!("test {case} hangs");
            std::process::abort();
        }
    });
}
