//! The facts of a host that `host_checks` judges, in the form in which they travel from the process that found them
//! (`collect`).
//!
//! Facts alone are here; `host_checks` judges them. A fact that a host does not reveal is None.

use hawser_os::interfaces;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoctorFacts {
    /// The host's own name.
    pub name: String,
    /// The identity that distinguishes the host from others: its boot and its network namespace.
    pub identity: Option<String>,
    pub kernel: String,
    /// The version of Hawser.
    pub version: String,
    /// The variables of Hawser that are set and affect the paths to other hosts.
    pub settings: Vec<String>,
    pub cores: CpuFacts,
    pub memory: MemoryFacts,
    pub limits: LimitFacts,
    pub copying: CopyFacts,
    /// The names of those capabilities in force that matter to Hawser.
    pub capabilities: Vec<String>,
    pub clock: ClockFacts,
    /// The maximum numbers of bytes that a socket may buffer, received and to be sent. Some network namespaces do not
    /// show them.
    pub socket_buffers: Option<[u64; 2]>,
    /// The names of RDMA devices.
    pub rdma: Vec<String>,
    pub rails: Vec<NicFacts>,
    /// The reason why the rails could not be examined.
    pub rails_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// The number of cores that this process may run on.
    pub allowed: usize,
    /// The CPU time that the cgroup allows, in cores.
    pub quota: Option<f64>,
    pub usable: usize,
    /// The kernel's frequency governor for an allowed core; the field below is the frequency driver.
    pub governor: Option<String>,
    pub frequency_driver: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    pub total: u64,
    /// The memory that programs can still get, as the kernel estimates it.
    pub available: u64,
    pub cgroup_limit: Option<u64>,
    /// The memory in use, without the caches that the kernel frees first.
    pub cgroup_used: Option<u64>,
    /// The error of creating a memfd, if there was one.
    pub memfd_error: Option<String>,
    /// The mode of huge pages for shared memory, such as `never`.
    pub huge_pages: Option<String>,
    /// The huge pages that are reserved: their number, how many of them are free, and the bytes of one.
    pub reserved: [u64; 3],
    /// The bytes of /dev/shm, and those that are free.
    pub dev_shm: Option<[u64; 2]>,
}

/// The limits on resources; None: no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// The hard limits on descriptors and on file sizes, up to which mpiexec raises the limits itself.
    pub descriptors_ceiling: Option<u64>,
    pub file_size_ceiling: Option<u64>,
    /// The limit on processes; None for root, whom the kernel does not limit.
    pub processes: Option<u64>,
    /// The cgroup's limit on processes, and the number of processes that exist.
    pub cgroup_processes: Option<(u64, u64)>,
    pub address_space: Option<u64>,
    pub locked: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopyFacts {
    pub process_vm: bool,
    /// The value of ptrace_scope, a setting of the security module Yama.
    pub ptrace_scope: Option<u32>,
    /// Whether a filter of system calls is in force.
    pub seccomp: bool,
    pub membarrier: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    pub source: Option<String>,
    pub offered: Vec<String>,
    /// The measured time of one reading.
    pub read_ns: f64,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NicFacts {
    pub name: String,
    /// Whether ranks open ports on the interface.
    pub serves: bool,
    /// Whether the interface is switched off.
    pub down: bool,
    /// Whether the interface would be used, but has no carrier.
    pub pulled: bool,
    /// Hawser's verdict on the interface, as text.
    pub verdict: String,
    pub driver: Option<String>,
    pub mtu: usize,
    pub speed_mbit: Option<u32>,
    pub mac: Option<String>,
    pub networks: Vec<InterfaceAddress>,
    /// The offloads that are on.
    pub offloads: Option<Vec<String>>,
    /// The offloads that can be switched.
    pub switchable: Vec<String>,
    pub ports: Vec<PortFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfaceAddress {
    pub ip: IpAddr,
    pub prefix: u8,
}

/// A port that the host has tried to open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortFacts {
    pub method: String,
    pub ip: Option<IpAddr>,
    /// Whether HAWSER_PORT selects the port.
    pub wanted: bool,
    pub frame_max: usize,
    pub room: usize,
    pub error: Option<String>,
}

impl InterfaceAddress {
    pub fn of(own: &interfaces::IpNetwork) -> InterfaceAddress {
        InterfaceAddress { ip: own.ip, prefix: own.prefix }
    }
}

impl DoctorFacts {
    pub fn has_capability(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name == capability)
    }

    pub fn rails_in_use(&self) -> impl Iterator<Item = &NicFacts> {
        self.rails.iter().filter(|rail| rail.serves)
    }
}

impl NicFacts {
    /// Whether the interface is a network link itself, and not a bridge or a similar device of containers.
    pub fn is_network_link(&self) -> bool {
        !matches!(self.driver.as_deref(), Some("bridge" | "tun" | "dummy" | "ifb") | None)
    }
}
