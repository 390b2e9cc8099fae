//! The facts of a host that `host_checks` judges, in the form in which they travel from the process that found them
//! (`collect`).
//!
//! It contains facts alone: others judge them. A fact that a host does not reveal is None.

use hawser_os::interfaces;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoctorFacts {
    /// The host's own name.
    pub name: String,
    /// The identity that distinguishes it from other hosts: of its boot and its network.
    pub identity: Option<String>,
    pub kernel: String,
    /// The version of Hawser.
    pub version: String,
    /// The variables of Hawser that are set.
    pub settings: Vec<String>,
    pub cores: CpuFacts,
    pub memory: MemoryFacts,
    pub limits: LimitFacts,
    pub copying: CopyFacts,
    /// The names of the capabilities in force, of those that matter.
    pub capabilities: Vec<String>,
    pub clock: ClockFacts,
    /// The bytes that a socket may buffer, received and to be sent; not known in every network namespace.
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
    /// The kernel's governor for the frequency of an allowed core; below, its driver.
    pub governor: Option<String>,
    pub frequency_driver: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    pub total: u64,
    /// The memory that programs can still get, as the kernel estimates it.
    pub available: u64,
    pub cgroup_limit: Option<u64>,
    /// The memory in use, without what the kernel frees first.
    pub cgroup_used: Option<u64>,
    /// The error of creating a memfd, if there was one.
    pub memfd_error: Option<String>,
    /// The mode of huge pages for files in memory, as in `never`.
    pub huge_pages: Option<String>,
    /// The huge pages that are reserved: their number, how many of them are free, and the bytes of one.
    pub reserved: [u64; 3],
    /// The bytes of /dev/shm, and those that are free.
    pub dev_shm: Option<[u64; 2]>,
}

/// The limits on resources; None: no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// The hard limits, up to which mpiexec raises the limits itself.
    pub descriptors_ceiling: Option<u64>,
    pub file_size_ceiling: Option<u64>,
    /// The limit on processes; the kernel holds root to none.
    pub processes: Option<u64>,
    /// The limit of the cgroup, and how many processes there are.
    pub cgroup_processes: Option<(u64, u64)>,
    pub address_space: Option<u64>,
    pub locked: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopyFacts {
    pub process_vm: bool,
    /// The setting of Yama.
    pub ptrace_scope: Option<u32>,
    /// A filter of system calls is in force.
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
    /// Ranks open ports on it.
    pub serves: bool,
    /// It is switched off.
    pub down: bool,
    /// It would be used, but has no carrier.
    pub pulled: bool,
    /// Hawser's verdict on it.
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
    /// HAWSER_PORT selects it.
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
    /// Whether it is a network link by itself, and no bridge or the like that containers have.
    pub fn is_network_link(&self) -> bool {
        !matches!(self.driver.as_deref(), Some("bridge" | "tun" | "dummy" | "ifb") | None)
    }
}
