//! Finds the facts of the host that this process runs on, as a rank would meet them.
//!
//! It changes nothing. It forks (for process_vm_readv), so it must run before the process has threads. Before it: `serve` and
//! `command`; after it: `os`, and `dev-ether`, which opens each port that a rank would.

use super::facts::{Clock, Copying, Cores, Facts, Limits, Memory, Network, Port, Rail};
use hawser_dev_ether::rails::Verdict;
use hawser_dev_ether::{Attempt, Found, PARAMS, Wishes};
use hawser_os::cgroup::{self, Version};
use hawser_os::limits::{self, Resource};
use hawser_os::{clock, cpus, host, membarrier, memfd, offloads, process_vm};
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Of linux/capability.h, by their bits.
const CAPABILITIES: [(&str, u32); 5] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_IPC_LOCK", 14), ("CAP_SYS_PTRACE", 19), ("CAP_BPF", 39)];
/// Enough readings of the clock that one more or less shows nowhere.
const READINGS: u32 = 100_000;
/// Beyond all memory there is: no limit (cgroup v1 says so with the largest number of pages).
const UNLIMITED: u64 = 1 << 60;

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
        rails,
        rails_error,
    }
}

/// Two names of one host have the same. (Two networks of one machine have not: they are hosts to each other.)
fn identity() -> Option<String> {
    let network = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {}", word("/proc/sys/kernel/random/boot_id")?, network.display()))
}

/// Of those that bear on the ways to other hosts.
fn settings() -> Vec<String> {
    let set = PARAMS.iter().filter(|param| param.is_set());
    set.map(|param| format!("{}={}", param.name, param.text())).collect()
}

fn cores() -> Cores {
    Cores {
        allowed: cpus::allowed().map_or(0, |cores| cores.len()),
        quota: cpus::quota(),
        usable: cpus::available(),
        governor: word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

fn memory() -> Memory {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |name: &str| {
        meminfo.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let (cgroup_limit, cgroup_used) = cgroup_memory().unzip();
    let made = memfd::create(c"hawser-doctor", 1 << 30).and_then(|fd| memfd::allocate(fd.as_fd(), 0, 1 << 20));
    Memory {
        total: kib("MemTotal:").unwrap_or(0) << 10,
        available: kib("MemAvailable:").unwrap_or(0) << 10,
        cgroup_limit,
        cgroup_used,
        memfd_error: made.err().map(|error| error.to_string()),
        huge_pages: chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    }
}

/// The tightest limit of this process's groups, and what is used of it.
fn cgroup_memory() -> Option<(u64, u64)> {
    let of_group = |(version, group): (Version, PathBuf)| {
        let (limit, used) = match version {
            Version::Two => ("memory.max", "memory.current"),
            Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        };
        Some((parsed(group.join(limit))?, parsed(group.join(used))?))
    };
    let limits = cgroup::groups("memory").into_iter().filter_map(of_group);
    limits.filter(|&(limit, _)| limit < UNLIMITED).min()
}

fn limits() -> Limits {
    let finite = |limit: u64| (limit != u64::MAX).then_some(limit);
    Limits {
        descriptors_ceiling: finite(limits::get(Resource::Descriptors).hard),
        file_size_ceiling: finite(limits::get(Resource::FileSize).hard),
        processes: finite(limits::get(Resource::Processes).soft),
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

fn rails() -> hawser_base::Result<Vec<Rail>> {
    let wishes = Wishes::from_environment()?;
    Ok(hawser_dev_ether::found(&wishes)?.iter().map(|found| rail(found, &wishes)).collect())
}

fn rail(Found { rail, attempts }: &Found, wishes: &Wishes) -> Rail {
    let interface = &rail.interface;
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
        offloads: if rail.verdict.serves() { offloads::active(&interface.name) } else { None },
        ports: attempts.iter().map(|attempt| port(attempt, wishes)).collect(),
    }
}

fn port(attempt: &Attempt, wishes: &Wishes) -> Port {
    let made = attempt.made.as_ref();
    Port {
        method: attempt.method.name().into(),
        ip: attempt.ip,
        wanted: wishes.methods.contains(&attempt.method),
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

/// The word in brackets, of a file that lists all choices.
fn chosen(path: &str) -> Option<String> {
    Some(word(path)?.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// A line of this process's status.
fn status(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
