//! Finds the facts of the host that this process runs on, as a rank would find them.
//!
//! It changes nothing on the host; in this process it raises the limit on file sizes and ignores a signal
//! (`try_memfd`). It forks (for process_vm_readv), so it must run before the process has threads. Used by `serve` and
//! `command`; uses `os`, `node`, and `dev-ether`, which opens all ports that the host could use (those of xdp only if
//! requested).

use super::cgroup;
use super::facts::{
    ClockFacts, CopyFacts, CpuFacts, DoctorFacts, InterfaceAddress, LimitFacts, MemoryFacts, NicFacts, PortFacts,
};
use hawser_dev_ether::rails::InterfaceStatus;
use hawser_dev_ether::{EtherConfig, InterfacePorts, PARAMS, PortAttempt};
use hawser_os::limits::{self, Limit, Resource};
use hawser_os::offloads::Feature;
use hawser_os::signals::{self, SIGXFSZ};
use hawser_os::{clock, copy_timing, cpus, filesystem, host, membarrier, memfd, offloads};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::str::FromStr;

/// The capabilities of linux/capability.h, by their bits.
const CAPABILITIES: [(&str, u32); 5] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_IPC_LOCK", 14), ("CAP_SYS_PTRACE", 19), ("CAP_BPF", 39)];
/// The number of clock readings whose total time is measured; one more or less does not matter.
const READINGS: u32 = 100_000;
pub fn host_facts() -> DoctorFacts {
    let (rails, rails_error) = match rails() {
        Ok(rails) => (rails, None),
        Err(error) => (Vec::new(), Some(error.cause().to_string())),
    };
    DoctorFacts {
        name: host::name(),
        identity: identity(),
        kernel: host::release(),
        version: env!("CARGO_PKG_VERSION").into(),
        settings: settings(),
        cores: cores(),
        memory: memory(),
        limits: limits(),
        copying: copying(),
        capabilities: capabilities(),
        clock: clock(),
        socket_buffers: socket_buffers(),
        rdma: rdma(),
        rails,
        rails_error,
    }
}

/// Returns the identity of this host, which is the same under every name of the host. Two network namespaces of one
/// machine have different identities, because they are hosts to each other.
fn identity() -> Option<String> {
    let network = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {}", read_trimmed("/proc/sys/kernel/random/boot_id")?, network.display()))
}

/// The variables that are set and affect the paths to other hosts.
fn settings() -> Vec<String> {
    let set = PARAMS.iter().filter(|param| param.is_set());
    set.map(|param| format!("{}={}", param.name, param.text())).collect()
}

fn cores() -> CpuFacts {
    let allowed = cpus::allowed().unwrap_or_default();
    let core = allowed.first().copied().unwrap_or(0);
    let frequency = |file: &str| read_trimmed(format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_{file}"));
    CpuFacts {
        allowed: allowed.len(),
        quota: cpus::quota(),
        usable: cpus::available(),
        governor: frequency("governor"),
        frequency_driver: frequency("driver"),
    }
}

fn memory() -> MemoryFacts {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |name: &str| {
        meminfo.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let (cgroup_limit, cgroup_used) = cgroup::memory().unzip();
    MemoryFacts {
        total: number("MemTotal:").unwrap_or(0) << 10,
        available: number("MemAvailable:").unwrap_or(0) << 10,
        cgroup_limit,
        cgroup_used,
        memfd_error: try_memfd().err().map(|error| error.to_string()),
        huge_pages: read_chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        reserved: [
            number("HugePages_Total:"),
            number("HugePages_Free:"),
            number("Hugepagesize:").map(|size| size << 10),
        ]
        .map(Option::unwrap_or_default),
        dev_shm: filesystem::size_and_free(c"/dev/shm").ok(),
    }
}

/// Creates a memfd and allocates memory in it, as a segment needs. The limit on file sizes is first raised to the
/// hard limit, as it is while an agent makes the segment (`os::memfd`).
fn try_memfd() -> std::io::Result<()> {
    let ceiling = limits::get(Resource::FileSize).hard;
    limits::set(Resource::FileSize, Limit { soft: ceiling, hard: ceiling })?;
    // Without this the kernel would end the process as soon as a file exceeds the limit, before the process could
    // report that.
    signals::ignore(SIGXFSZ);
    memfd::create(c"hawser-doctor", 1 << 30).and_then(|fd| memfd::allocate(fd.as_fd(), 0, 1 << 20))
}

fn limits() -> LimitFacts {
    let finite = |limit: u64| (limit != u64::MAX).then_some(limit);
    LimitFacts {
        descriptors_ceiling: finite(limits::get(Resource::Descriptors).hard),
        file_size_ceiling: finite(limits::get(Resource::FileSize).hard),
        processes: finite(limits::get(Resource::Processes).soft).filter(|_| host::user() != 0),
        cgroup_processes: cgroup::processes(),
        address_space: finite(limits::get(Resource::AddressSpace).soft),
        locked: finite(limits::get(Resource::Locked).soft),
    }
}

fn copying() -> CopyFacts {
    CopyFacts {
        process_vm: copy_timing::is_allowed_between_children(),
        ptrace_scope: read_parsed("/proc/sys/kernel/yama/ptrace_scope"),
        seccomp: process_status("Seccomp:").is_some_and(|mode| mode != "0"),
        membarrier: membarrier::is_supported(),
    }
}

fn capabilities() -> Vec<String> {
    let mask = process_status("CapEff:").and_then(|mask| u64::from_str_radix(&mask, 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().filter(|(_, bit)| mask >> bit & 1 == 1).map(|&(name, _)| name.into()).collect()
}

fn clock() -> ClockFacts {
    let of = |file: &str| read_trimmed(format!("/sys/devices/system/clocksource/clocksource0/{file}_clocksource"));
    let begin_ns = clock::now_ns();
    (0..READINGS).for_each(|_| {
        std::hint::black_box(clock::now_ns());
    });
    let offered = of("available").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    ClockFacts { source: of("current"), offered, read_ns: (clock::now_ns() - begin_ns) as f64 / f64::from(READINGS) }
}

fn socket_buffers() -> Option<[u64; 2]> {
    Some([read_parsed("/proc/sys/net/core/rmem_max")?, read_parsed("/proc/sys/net/core/wmem_max")?])
}

fn rdma() -> Vec<String> {
    let devices = fs::read_dir("/sys/class/infiniband").into_iter().flatten().flatten();
    let mut names: Vec<String> = devices.map(|device| device.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn rails() -> hawser_base::Result<Vec<NicFacts>> {
    let config = hawser_node::ethernet_config()?;
    Ok(hawser_dev_ether::discover_all_ports(&config)?.iter().map(|found| nic_facts(found, &config)).collect())
}

fn nic_facts(InterfacePorts { rail, attempts }: &InterfacePorts, config: &EtherConfig) -> NicFacts {
    let interface = &rail.interface;
    let features = if rail.status.is_usable() { offloads::all(&interface.name) } else { None };
    let names = |is: fn(&Feature) -> bool| -> Option<Vec<String>> {
        let features = features.as_ref()?.iter();
        Some(features.filter(|feature| is(feature)).map(|feature| feature.name.clone()).collect())
    };
    NicFacts {
        name: interface.name.clone(),
        serves: rail.status.is_usable(),
        down: !interface.flags.up,
        pulled: rail.status == InterfaceStatus::Unplugged,
        verdict: rail.status.text().into(),
        driver: interface.driver.clone(),
        mtu: interface.mtu,
        speed_mbit: interface.speed_mbit,
        mac: interface.mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")),
        networks: interface.addresses.iter().map(InterfaceAddress::of).collect(),
        offloads: names(|feature| feature.is_on),
        switchable: names(|feature| feature.is_changeable).unwrap_or_default(),
        ports: attempts.iter().map(|attempt| port_facts(attempt, config.permits(interface, attempt.method))).collect(),
    }
}

fn port_facts(attempt: &PortAttempt, wanted: bool) -> PortFacts {
    let opened = attempt.result.as_ref();
    PortFacts {
        method: attempt.method.name().into(),
        ip: attempt.ip,
        wanted,
        frame_max: opened.map_or(0, |port| port.frame_max()),
        room: opened.map_or(0, |port| port.receive_buffer_bytes()),
        error: opened.err().map(ToString::to_string),
    }
}

fn read_trimmed(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn read_parsed<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    read_trimmed(path)?.parse().ok()
}

/// Returns the chosen word of a file that lists all choices and has the chosen one in brackets.
fn read_chosen(path: &str) -> Option<String> {
    Some(read_trimmed(path)?.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Returns the value of the line of /proc/self/status that begins with `name`.
fn process_status(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
