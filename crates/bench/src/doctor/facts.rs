//! What is known of a host: the facts that are looked at (`machine`), as they travel from the process that found them (`look`).
//!
//! Facts alone: what they mean is said elsewhere. What a host does not tell is None.

use hawser_os::interfaces;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The host's own name.
    pub name: String,
    /// What tells it from other hosts: of its boot and its network.
    pub identity: Option<String>,
    pub kernel: String,
    /// Hawser's.
    pub version: String,
    /// Variables of Hawser's that are set.
    pub settings: Vec<String>,
    pub cores: Cores,
    pub memory: Memory,
    pub limits: Limits,
    pub copying: Copying,
    /// Names of capabilities in force, of those that matter.
    pub capabilities: Vec<String>,
    pub clock: Clock,
    /// Bytes that a socket may have buffered, received and to be sent; not told in every network namespace.
    pub socket_buffers: Option<[u64; 2]>,
    /// Names of devices.
    pub rdma: Vec<String>,
    pub rails: Vec<Rail>,
    /// Why the rails could not be looked at.
    pub rails_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cores {
    /// That this process may run on.
    pub allowed: usize,
    /// Cores' worth of time that the cgroup allows.
    pub quota: Option<f64>,
    pub usable: usize,
    /// How the kernel chooses the frequency of one that is allowed, and by which driver.
    pub governor: Option<String>,
    pub frequency_driver: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub total: u64,
    /// What programs can still get, by the kernel's reckoning.
    pub available: u64,
    pub cgroup_limit: Option<u64>,
    /// Without what the kernel gives back first.
    pub cgroup_used: Option<u64>,
    /// Whether memory without a name can be made, and why not.
    pub memfd_error: Option<String>,
    /// Huge pages of files in memory, as in `never`.
    pub huge_pages: Option<String>,
    /// Those that are set aside: how many, how many of them are free, and bytes of one.
    pub reserved: [u64; 3],
    /// Bytes of /dev/shm, and those that are free.
    pub dev_shm: Option<[u64; 2]>,
}

/// None: no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Up to the ceiling mpiexec raises these itself.
    pub descriptors_ceiling: Option<u64>,
    pub file_size_ceiling: Option<u64>,
    /// The kernel holds root to none.
    pub processes: Option<u64>,
    /// Of the cgroup, and how many there are.
    pub cgroup_processes: Option<(u64, u64)>,
    pub address_space: Option<u64>,
    pub locked: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Copying {
    pub process_vm: bool,
    /// Yama's.
    pub ptrace_scope: Option<u32>,
    /// A filter of system calls is in force.
    pub seccomp: bool,
    pub membarrier: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    pub source: Option<String>,
    pub offered: Vec<String>,
    /// What reading it takes, measured.
    pub read_ns: f64,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rail {
    pub name: String,
    /// Ranks open ports on it.
    pub serves: bool,
    /// Switched off.
    pub down: bool,
    /// It would serve, and has no carrier.
    pub pulled: bool,
    /// What Hawser says of it.
    pub verdict: String,
    pub driver: Option<String>,
    pub mtu: usize,
    pub speed_mbit: Option<u32>,
    pub mac: Option<String>,
    pub networks: Vec<Network>,
    /// Those that are on.
    pub offloads: Option<Vec<String>>,
    /// Those that can be switched.
    pub switchable: Vec<String>,
    pub ports: Vec<Port>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    pub ip: IpAddr,
    pub prefix: u8,
}

/// A port that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Port {
    pub method: String,
    pub ip: Option<IpAddr>,
    /// HAWSER_PORT asks for it.
    pub wanted: bool,
    pub frame_max: usize,
    pub room: usize,
    pub error: Option<String>,
}

impl Network {
    pub fn of(own: &interfaces::Network) -> Network {
        Network { ip: own.ip, prefix: own.prefix }
    }
}

impl Facts {
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name == capability)
    }

    pub fn serving(&self) -> impl Iterator<Item = &Rail> {
        self.rails.iter().filter(|rail| rail.serves)
    }
}

impl Rail {
    /// Whether it is a link of two ends or more by itself, and no bridge or the like that containers have.
    pub fn is_wire(&self) -> bool {
        !matches!(self.driver.as_deref(), Some("bridge" | "tun" | "dummy" | "ifb") | None)
    }
}
