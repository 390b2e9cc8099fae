//! Finds the facts of the host that this process runs on, as a rank would find them.
//!
//! It changes nothing. It forks (for process_vm_readv), so it must run before the process has threads. Used by `serve`
//! and `command`; uses `os`, and `dev-ether`, which opens each port that a rank would.

use super::cgroup;
use super::facts::{Clock, Copying, Cores, Facts, Limits, Memory, Network, Port, Rail};
use hawser_dev_ether::rails::Verdict;
use hawser_dev_ether::{Attempt, Found, PARAMS, Wishes};
use hawser_os::limits::{self, Limit, Resource};
use hawser_os::offloads::Feature;
use hawser_os::signals::{self, SIGXFSZ};
use hawser_os::{clock, cpus, filesystem, host, membarrier, memfd, offloads, process_vm};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::str::FromStr;

/// The capabilities of linux/capability.h, by their bits.
const CAPABILITIES: [(&str, u32); 5] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_IPC_LOCK", 14), ("CAP_SYS_PTRACE", 19), ("CAP_BPF", 39)];
/// The readings of the clock that are timed; one more or less does not matter.
const READINGS: u32 = 100_000;
pub fn here() -> Facts {
    let (rails, rails_error) = match rails() {
        Ok(rails) => (rails, None),
        Err(error) => (Vec::new(), Some(error.cause().to_string())),
    };
    Facts {
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

/// The identity of this host; two names of one host have the same. (Two networks of one machine have not: they are
/// hosts to each other.)
fn identity() -> Option<String> {
    let network = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {}", word("/proc/sys/kernel/random/boot_id")?, network.display()))
}

/// The variables that are set and affect the paths to other hosts.
fn settings() -> Vec<String> {
    let set = PARAMS.iter().filter(|param| param.is_set());
    set.map(|param| format!("{}={}", param.name, param.text())).collect()
}

fn cores() -> Cores {
    let allowed = cpus::allowed().unwrap_or_default();
    let core = allowed.first().copied().unwrap_or(0);
    let frequency = |file: &str| word(format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_{file}"));
    Cores {
        allowed: allowed.len(),
        quota: cpus::quota(),
        usable: cpus::available(),
        governor: frequency("governor"),
        frequency_driver: frequency("driver"),
    }
}

fn memory() -> Memory {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |name: &str| {
        meminfo.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let (cgroup_limit, cgroup_used) = cgroup::memory().unzip();
    Memory {
        total: number("MemTotal:").unwrap_or(0) << 10,
        available: number("MemAvailable:").unwrap_or(0) << 10,
        cgroup_limit,
        cgroup_used,
        memfd_error: try_memfd().err().map(|error| error.to_string()),
        huge_pages: chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        reserved: [
            number("HugePages_Total:"),
            number("HugePages_Free:"),
            number("Hugepagesize:").map(|size| size << 10),
        ]
        .map(Option::unwrap_or_default),
        dev_shm: filesystem::size_and_free(c"/dev/shm").ok(),
    }
}

/// Tries what a segment needs, within the hard limit on file sizes, up to which mpiexec raises the limit.
fn try_memfd() -> std::io::Result<()> {
    let ceiling = limits::get(Resource::FileSize).hard;
    limits::set(Resource::FileSize, Limit { soft: ceiling, hard: ceiling })?;
    // Beyond the limit the kernel would end this process before it could report that.
    signals::ignore(SIGXFSZ);
    memfd::create(c"hawser-doctor", 1 << 30).and_then(|fd| memfd::allocate(fd.as_fd(), 0, 1 << 20))
}

fn limits() -> Limits {
    let finite = |limit: u64| (limit != u64::MAX).then_some(limit);
    Limits {
        descriptors_ceiling: finite(limits::get(Resource::Descriptors).hard),
        file_size_ceiling: finite(limits::get(Resource::FileSize).hard),
        processes: finite(limits::get(Resource::Processes).soft).filter(|_| host::user() != 0),
        cgroup_processes: cgroup::processes(),
        address_space: finite(limits::get(Resource::AddressSpace).soft),
        locked: finite(limits::get(Resource::Locked).soft),
    }
}

fn copying() -> Copying {
    Copying {
        process_vm: process_vm::allowed_between_children(),
        ptrace_scope: parsed("/proc/sys/kernel/yama/ptrace_scope"),
        seccomp: status("Seccomp:").is_some_and(|mode| mode != "0"),
        membarrier: membarrier::offered(),
    }
}

fn capabilities() -> Vec<String> {
    let mask = status("CapEff:").and_then(|mask| u64::from_str_radix(&mask, 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().filter(|(_, bit)| mask >> bit & 1 == 1).map(|&(name, _)| name.into()).collect()
}

fn clock() -> Clock {
    let of = |file: &str| word(format!("/sys/devices/system/clocksource/clocksource0/{file}_clocksource"));
    let begin_ns = clock::now_ns();
    (0..READINGS).for_each(|_| {
        std::hint::black_box(clock::now_ns());
    });
    let offered = of("available").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Clock { source: of("current"), offered, read_ns: (clock::now_ns() - begin_ns) as f64 / f64::from(READINGS) }
}

fn socket_buffers() -> Option<[u64; 2]> {
    Some([parsed("/proc/sys/net/core/rmem_max")?, parsed("/proc/sys/net/core/wmem_max")?])
}

fn rdma() -> Vec<String> {
    let devices = fs::read_dir("/sys/class/infiniband").into_iter().flatten().flatten();
    let mut names: Vec<String> = devices.map(|device| device.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn rails() -> hawser_base::Result<Vec<Rail>> {
    let wishes = hawser_node::wishes()?;
    Ok(hawser_dev_ether::found(&wishes)?.iter().map(|found| rail(found, &wishes)).collect())
}

fn rail(Found { rail, attempts }: &Found, wishes: &Wishes) -> Rail {
    let interface = &rail.interface;
    let features = if rail.verdict.serves() { offloads::all(&interface.name) } else { None };
    let those = |is: fn(&Feature) -> bool| -> Option<Vec<String>> {
        let features = features.as_ref()?.iter();
        Some(features.filter(|feature| is(feature)).map(|feature| feature.name.clone()).collect())
    };
    Rail {
        name: interface.name.clone(),
        serves: rail.verdict.serves(),
        down: !interface.flags.up,
        pulled: rail.verdict == Verdict::Pulled,
        verdict: rail.verdict.text().into(),
        driver: interface.driver.clone(),
        mtu: interface.mtu,
        speed_mbit: interface.speed_mbit,
        mac: interface.mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")),
        networks: interface.addresses.iter().map(Network::of).collect(),
        offloads: those(|feature| feature.is_on),
        switchable: those(|feature| feature.is_changeable).unwrap_or_default(),
        ports: attempts.iter().map(|attempt| port(attempt, wishes.permits(interface, attempt.method))).collect(),
    }
}

fn port(attempt: &Attempt, wanted: bool) -> Port {
    let made = attempt.made.as_ref();
    Port {
        method: attempt.method.name().into(),
        ip: attempt.ip,
        wanted,
        frame_max: made.map_or(0, |port| port.frame_max()),
        room: made.map_or(0, |port| port.room()),
        error: made.err().map(ToString::to_string),
    }
}

fn word(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn parsed<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    word(path)?.parse().ok()
}

/// The chosen word, in brackets, of a file that lists all choices.
fn chosen(path: &str) -> Option<String> {
    Some(word(path)?.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// A line of /proc/self/status.
fn status(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
