//! Judges the facts of a host for a job: a table of examinations, a row each.
//!
//! No I/O. The figures of what a change would give are from docs/performance.md and docs/measurements, unless the text
//! states that they were measured now. Used by `command`; uses `finding`.

use super::facts::{Facts, Rail};
use super::finding::{Row, Said, advice, broken, well};

pub static EXAMINATIONS: &[Row<Facts>] = &[
    Row { name: "cores", say: cores },
    Row { name: "frequency", say: frequency },
    Row { name: "memory", say: memory },
    Row { name: "shared memory", say: shared_memory },
    Row { name: "limits", say: limits },
    Row { name: "processes", say: processes },
    Row { name: "copying", say: copying },
    Row { name: "doorbells", say: doorbells },
    Row { name: "clock", say: clock },
    Row { name: "raw frames", say: raw_frames },
    Row { name: "socket buffers", say: socket_buffers },
    Row { name: "settings", say: settings },
    Row { name: "rails", say: rails },
    Row { name: "offloads", say: offloads },
    Row { name: "speed", say: speed },
    // Hawser does not use these: they are for users who compare it with other libraries.
    Row { name: "/dev/shm", say: dev_shm },
    Row { name: "huge pages", say: huge_pages },
    Row { name: "locked memory", say: locked_memory },
    Row { name: "RDMA", say: rdma },
];

/// The memory for a rank of few peers and short messages.
const LITTLE_MEMORY: u64 = 256 << 20;
/// Descriptors of an agent for each rank, and further ones (`launch::agent::run`).
const DESCRIPTORS_A_RANK: u64 = 4;
const DESCRIPTORS_BESIDE: u64 = 64;
/// Processes and threads for each rank: it, its progress thread, and the agent's part; and further ones.
const PROCESSES_A_RANK: u64 = 4;
const PROCESSES_BESIDE: u64 = 64;
/// A reading is slow above this: through the vDSO it takes 20 to 50 ns, by a system call ten times that.
const SLOW_CLOCK_NS: f64 = 200.0;
const QUICK_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"];
/// The buffer that `udp` requests (`dev-ether`, port::udp).
const SOCKET_BUFFER: u64 = 4 << 20;
/// Above FAST_MBIT, frames of 1500 bytes take a whole core.
const FAST_MBIT: u32 = 10_000;
const SLOW_MBIT: u32 = 100;

fn cores(facts: &Facts) -> Vec<Said> {
    let cores = &facts.cores;
    let told = match cores.quota {
        Some(quota) => format!("{} allowed, a quota of {quota:.2}, {} usable at once", cores.allowed, cores.usable),
        None => format!("{} allowed, no quota, {} usable at once", cores.allowed, cores.usable),
    };
    match cores.quota {
        Some(quota) if quota < cores.allowed as f64 => vec![advice(
            format!("the cgroup's quota is {quota:.2} cores of {} ({told})", cores.allowed),
            "raise cpu.max of the cgroup (docker run --cpus, resources.limits.cpu of Kubernetes, CPUQuota= of systemd)",
            "ranks beyond the quota are stopped for the rest of each period, 100 ms by default, and others wait for them; not measured",
        )],
        _ => vec![well(told)],
    }
}

/// Drivers whose `powersave` leaves the choice to the processor, as `schedutil` of other drivers leaves it to the
/// kernel.
const CHOOSING: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

fn frequency(facts: &Facts) -> Vec<Said> {
    let Some(governor) = facts.cores.governor.as_deref() else { return Vec::new() };
    let driver = facts.cores.frequency_driver.as_deref();
    let told =
        driver.map_or_else(|| format!("governor {governor}"), |driver| format!("governor {governor} of {driver}"));
    let chooses = driver.is_some_and(|driver| CHOOSING.contains(&driver));
    match governor {
        "powersave" if chooses => vec![well(format!("{told}: the processor chooses"))],
        "powersave" | "conservative" | "ondemand" => vec![advice(
            format!("the frequency may be low when a rank begins to work ({told})"),
            "cpupower frequency-set -g performance",
            "a rank that has slept answers sooner; not measured",
        )],
        _ => vec![well(told)],
    }
}

fn memory(facts: &Facts) -> Vec<Said> {
    let memory = &facts.memory;
    let told = format!("{} of {} available", size(memory.available), size(memory.total));
    let (Some(limit), Some(used)) = (memory.cgroup_limit, memory.cgroup_used) else {
        return vec![well(format!("{told}, no limit of a cgroup"))];
    };
    let told = format!("{told}, the cgroup allows {}, of which {} are used", size(limit), size(used));
    if limit.saturating_sub(used) >= LITTLE_MEMORY {
        return vec![well(told)];
    }
    vec![advice(
        format!("the cgroup's memory is nearly used up ({told})"),
        "raise memory.max of the cgroup (docker run --memory, resources.limits.memory of Kubernetes)",
        "the kernel kills ranks that need more, and the memory that ranks share counts too",
    )]
}

fn shared_memory(facts: &Facts) -> Vec<Said> {
    match &facts.memory.memfd_error {
        Some(error) => vec![broken(
            format!("memory to share cannot be made: {error}"),
            "allow memfd_create(2) in the sandbox (seccomp), and files of 1 GiB (ulimit -f unlimited)",
            "without it no job starts on this host",
        )],
        None => {
            let pages = facts.memory.huge_pages.as_deref();
            let pages = pages.map_or_else(String::new, |word| format!("; huge pages for it: {word}"));
            vec![well(format!("memfd works (/dev/shm is not used, its size does not matter){pages}"))]
        }
    }
}

fn limits(facts: &Facts) -> Vec<Said> {
    let (limits, ranks) = (&facts.limits, facts.cores.allowed.max(1) as u64);
    let below = |limit: Option<u64>, needed: u64| limit.filter(|&limit| limit < needed);
    let mut said = Vec::new();
    let needed = ranks.saturating_mul(DESCRIPTORS_A_RANK).saturating_add(DESCRIPTORS_BESIDE);
    if let Some(limit) = below(limits.descriptors_ceiling, needed) {
        said.push(advice(
            format!("at most {limit} descriptors may be open (RLIMIT_NOFILE), and {needed} are needed for a rank on each core"),
            format!("ulimit -Hn {needed}, or nofile in /etc/security/limits.conf, or LimitNOFILE= of sshd's unit"),
            "a job with a rank on each core can start",
        ));
    }
    let needed = processes_needed(facts);
    if let Some(limit) = below(limits.processes, needed) {
        said.push(advice(
            format!("this user may have {limit} processes and threads (RLIMIT_NPROC), and {needed} are needed for a rank on each core"),
            format!("ulimit -u {needed}, or nproc in /etc/security/limits.conf"),
            "a job with a rank on each core can start",
        ));
    }
    if let Some(limit) = below(limits.file_size_ceiling, 1 << 30) {
        said.push(advice(
            format!("files may have {} at most (RLIMIT_FSIZE), which holds for shared memory too", size(limit)),
            "ulimit -Hf unlimited",
            "a job's segment is a sparse file of more than that where it has many ranks",
        ));
    }
    if let Some(limit) = limits.address_space {
        said.push(advice(
            format!("a process may have {} of address space (RLIMIT_AS)", size(limit)),
            "ulimit -v unlimited",
            "ranks map the host's whole segment, sparse as it is; to limit memory use the cgroup",
        ));
    }
    said.extend(locked(facts));
    if said.is_empty() {
        let all = limits.descriptors_ceiling.map_or_else(|| "any number of".into(), |limit| limit.to_string());
        said.push(well(format!("{all} descriptors, processes, file size and address space suffice")));
    }
    said
}

fn processes_needed(facts: &Facts) -> u64 {
    (facts.cores.allowed.max(1) as u64).saturating_mul(PROCESSES_A_RANK).saturating_add(PROCESSES_BESIDE)
}

fn processes(facts: &Facts) -> Vec<Said> {
    let Some((limit, used)) = facts.limits.cgroup_processes else { return Vec::new() };
    let (told, needed) = (
        format!("the cgroup allows {limit} processes and threads, of which {used} are there"),
        processes_needed(facts),
    );
    if limit.saturating_sub(used) >= needed {
        return vec![well(told)];
    }
    vec![advice(
        format!("{told}, and {needed} more are needed for a rank on each core"),
        "raise pids.max of the cgroup (docker run --pids-limit, TasksMax= of systemd, podPidsLimit of Kubernetes)",
        "a job with a rank on each core can start",
    )]
}

/// Judges the limit on locked memory; only XDP's memory counts as locked.
fn locked(facts: &Facts) -> Option<Said> {
    let asks = facts.serving().flat_map(|rail| &rail.ports).any(|port| port.method.starts_with("xdp"));
    let limit = facts.limits.locked.filter(|&limit| asks && limit < 16 << 20 && !facts.has("CAP_IPC_LOCK"))?;
    Some(advice(
        format!("{} may be locked (RLIMIT_MEMLOCK), and HAWSER_PORT asks for xdp", size(limit)),
        "ulimit -l 65536, or memlock in /etc/security/limits.conf, or CAP_IPC_LOCK",
        "queues of XDP: 0.5 to 5 MiB each",
    ))
}

fn copying(facts: &Facts) -> Vec<Said> {
    let copying = &facts.copying;
    let scope = copying.ptrace_scope.map_or_else(|| "no Yama".into(), |scope| format!("ptrace_scope {scope}"));
    if copying.process_vm {
        return vec![well(format!("process_vm_readv between ranks is permitted ({scope})"))];
    }
    let (why, how) = match copying.ptrace_scope {
        Some(2) => ("Yama's ptrace_scope is 2".into(), "sysctl kernel.yama.ptrace_scope=1"),
        // The kernel does not lower it any more.
        Some(scope @ 3..) => (
            format!("Yama's ptrace_scope is {scope}"),
            "kernel.yama.ptrace_scope=1 in a file of /etc/sysctl.d, and a reboot: 3 cannot be lowered before",
        ),
        _ if copying.seccomp => (
            "a filter of system calls (seccomp) is in force".into(),
            "docker run --cap-add SYS_PTRACE, or a seccomp profile that allows process_vm_readv",
        ),
        _ => (scope, "allow ptrace between processes of one user (a user namespace or security module forbids it)"),
    };
    vec![advice(
        format!("process_vm_readv between ranks is forbidden: {why}"),
        how,
        "long messages within the host are copied through shared memory instead, which is the quicker way on some machines: mpiexec \
         measures both and takes the better one. Not measured here",
    )]
}

fn doorbells(facts: &Facts) -> Vec<Said> {
    if facts.copying.membarrier {
        return vec![well("membarrier is offered")];
    }
    vec![advice(
        "membarrier is not offered (a kernel or sandbox without it)",
        "allow membarrier(2) in the seccomp profile",
        "a short message within the host without a fence: 70 of 120 ns where that was measured; not measured here",
    )]
}

fn clock(facts: &Facts) -> Vec<Said> {
    let clock = &facts.clock;
    let source = clock.source.as_deref().unwrap_or("unknown");
    let told = format!("source {source}, {:.0} ns a reading (measured)", clock.read_ns);
    if clock.read_ns <= SLOW_CLOCK_NS {
        return vec![well(told)];
    }
    let better =
        QUICK_CLOCKS.iter().find(|quick| **quick != source && clock.offered.iter().any(|offered| offered == *quick));
    let how = match better {
        Some(better) => format!("echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
        None => "see with dmesg why the kernel does not trust the TSC; if it is synchronous boot with clocksource=tsc tsc=reliable".into(),
    };
    vec![advice(
        format!("reading the clock is slow: {told}"),
        how,
        "20 to 50 ns a reading through the vDSO: MPI_Wtime, and each time a rank waits or retransmits, reads it",
    )]
}

fn raw_frames(facts: &Facts) -> Vec<Said> {
    if facts.serving().next().is_none() {
        return vec![well("no rail to use them on")];
    }
    let failed = facts.serving().flat_map(|rail| rail.ports.iter().map(move |port| (rail, port)));
    let mut failed = failed.filter(|(_, port)| port.method == "packet" && port.wanted);
    if facts.has("CAP_NET_RAW") {
        return match failed.find_map(|(rail, port)| Some((rail, port.error.as_ref()?))) {
            Some((rail, error)) if rail.mac.is_some() => vec![advice(
                format!("raw Ethernet cannot be used over {}: {error}", rail.name),
                "see the cause; a sandbox may forbid packet sockets",
                "short messages without the kernel's UDP",
            )],
            _ => vec![well("CAP_NET_RAW is there")],
        };
    }
    vec![advice(
        "raw Ethernet (packet, packet-udp) is not permitted: CAP_NET_RAW is missing",
        "as root: setpriv --reuid USER --regid GROUP --init-groups --inh-caps +net_raw --ambient-caps +net_raw COMMAND; in a container --cap-add NET_RAW \
         (setcap on the program does not do, docs/hosts.md)",
        "short messages in half to two thirds of UDP's time: 2.3 (packet) and 3.3 (packet-udp) against 5.1 us over veth; not measured here",
    )]
}

fn socket_buffers(facts: &Facts) -> Vec<Said> {
    let Some([receive, send]) = facts.socket_buffers else { return Vec::new() };
    let told = format!("net.core.rmem_max {receive}, wmem_max {send}");
    let mut udp = facts.serving().flat_map(|rail| &rail.ports).filter(|port| port.method == "udp");
    // With the capability its socket has more than the setting allows.
    let goes_beyond = facts.has("CAP_NET_ADMIN") && udp.any(|port| port.room as u64 > receive);
    let below = |(_, has): &(&str, u64)| *has < SOCKET_BUFFER;
    let short: Vec<_> = [("rmem_max", receive), ("wmem_max", send)].into_iter().filter(below).collect();
    if facts.serving().next().is_none() || short.is_empty() {
        return vec![well(told)];
    }
    if goes_beyond {
        return vec![well(format!("{told}; CAP_NET_ADMIN goes beyond"))];
    }
    let raised: Vec<_> = short.iter().map(|(name, _)| format!("net.core.{name}={SOCKET_BUFFER}")).collect();
    vec![advice(
        format!("sockets have less room than udp asks for ({told}; {SOCKET_BUFFER} is asked)"),
        format!("sysctl {}", raised.join(" ")),
        "more under way before a receiver that computes drops frames or a sender waits; not measured",
    )]
}

fn settings(facts: &Facts) -> Vec<Said> {
    if facts.settings.is_empty() { Vec::new() } else { vec![well(facts.settings.join(" "))] }
}

fn rails(facts: &Facts) -> Vec<Said> {
    if let Some(error) = &facts.rails_error {
        return vec![broken(error.clone(), "correct the variable", "no job that spans hosts starts so")];
    }
    let mut said: Vec<Said> = facts.rails.iter().map(rail).collect();
    if facts.serving().next().is_none() {
        said.push(advice(
            "no interface of this host leads to others",
            "ip link set NAME up, give it an address, or name one in HAWSER_RAILS",
            "without a rail ranks run on this host alone",
        ));
    }
    said
}

fn rail(rail: &Rail) -> Said {
    let told = format!("{}: {} ({})", rail.name, rail.verdict, about(rail));
    if rail.down && rail.mac.is_some() && rail.is_wire() {
        return advice(
            format!("{} is switched off ({})", rail.name, about(rail)),
            format!("ip link set {0} up, and ip address add ADDRESS/PREFIX dev {0}", rail.name),
            "one rail more, if its cable leads to the others: the rates of rails add up",
        );
    }
    if rail.pulled {
        return advice(
            format!("{} has no carrier ({})", rail.name, about(rail)),
            format!("see the cable and the switch's port (ethtool {})", rail.name),
            "one rail more: the rates of rails add up",
        );
    }
    let ports = rail.ports.iter().filter(|port| port.error.is_none() && port.wanted).map(|port| port.method.as_str());
    let mut ports: Vec<_> = ports.collect();
    ports.dedup();
    well(if ports.is_empty() { told } else { format!("{told}; ports {}", ports.join(", ")) })
}

fn about(rail: &Rail) -> String {
    let facts = [
        rail.driver.clone().unwrap_or_else(|| "driver unknown".into()),
        format!("MTU {}", rail.mtu),
        rail.speed_mbit.map_or_else(|| "speed unknown".into(), |speed| format!("{speed} Mbit/s")),
    ];
    let networks = rail.networks.iter().map(|own| format!("{}/{}", own.ip, own.prefix));
    facts.into_iter().chain(networks).collect::<Vec<_>>().join(", ")
}

/// An offload: its name in `ethtool -k`, the option that switches it on, and what it is for.
type Offload = (&'static str, &'static str, &'static str);

const OFFLOADS: [Offload; 3] = [
    (
        "tx-generic-segmentation",
        "gso",
        "runs of UDP frames pass the kernel in one piece: 3.8 to 4.9 GB/s over veth (docs/performance.md)",
    ),
    ("tx-tcp-segmentation", "tso", "TCP is cut by the NIC: over veth 2.2 GB/s against 0.6"),
    ("rx-gro", "gro", "frames that come are joined before the kernel's stack: one pass for many"),
];

fn offloads(facts: &Facts) -> Vec<Said> {
    facts.serving().filter(|rail| rail.is_wire()).flat_map(offloads_of).collect()
}

fn offloads_of(rail: &Rail) -> Vec<Said> {
    let Some(on) = &rail.offloads else { return vec![well(format!("{}: not told by the kernel", rail.name))] };
    let is_on = |name: &str| on.iter().any(|other| other == name);
    // On a cable between namespaces, runs of frames pass whole: there is nothing to join.
    let is_cable = rail.driver.as_deref() == Some("veth");
    let missed = OFFLOADS.into_iter().filter(|(name, ..)| !(is_on(name) || is_cable && *name == "rx-gro"));
    let (missed, lacking): (Vec<Offload>, Vec<Offload>) =
        missed.partition(|(name, ..)| rail.switchable.iter().any(|it| it == name));
    if missed.is_empty() {
        let lacking: Vec<_> = lacking.iter().map(|(name, ..)| *name).collect();
        return vec![well(match lacking.is_empty() {
            true => format!("{}: segmentation and joining are on", rail.name),
            false => format!("{}: {} cannot be had of its driver", rail.name, lacking.join(", ")),
        })];
    }
    let told = missed.iter().map(|(name, key, gives)| {
        advice(
            format!("{name} of {} is off", rail.name),
            format!("ethtool -K {} {key} on", rail.name),
            format!("{gives}; not measured here"),
        )
    });
    told.collect()
}

fn speed(facts: &Facts) -> Vec<Said> {
    facts.serving().filter(|rail| rail.is_wire()).filter_map(speed_of).collect()
}

fn speed_of(rail: &Rail) -> Option<Said> {
    let speed = rail.speed_mbit?;
    if speed <= SLOW_MBIT {
        return Some(advice(
            format!("{} runs at {speed} Mbit/s", rail.name),
            format!("ethtool {}: see which speeds both ends offer, and the cable", rail.name),
            "cables and switches of this age do 1000 Mbit/s or more",
        ));
    }
    // The speed of a veth means nothing.
    let is_narrow = speed >= FAST_MBIT && rail.mtu <= 1500 && rail.driver.as_deref() != Some("veth");
    is_narrow.then(|| {
        advice(
            format!("{} does {speed} Mbit/s with an MTU of {}", rail.name, rail.mtu),
            format!("ip link set {} mtu 9000, on all hosts, and jumbo frames on the switches", rail.name),
            "a sixth of the frames: 1 MiB over veth took 273 us instead of 380; not measured here",
        )
    })
}

fn dev_shm(facts: &Facts) -> Vec<Said> {
    let told = facts.memory.dev_shm.map_or_else(
        || "not there".into(),
        |[all, free]| format!("{} of {} free; Hawser does not use it", size(free), size(all)),
    );
    vec![well(told)]
}

fn huge_pages(facts: &Facts) -> Vec<Said> {
    let [pages, free, bytes] = facts.memory.reserved;
    vec![well(format!("{pages} of {} set aside, {free} of them free", size(bytes)))]
}

fn locked_memory(facts: &Facts) -> Vec<Said> {
    let told = facts.limits.locked.map_or_else(|| "no limit".into(), |limit| format!("{} at most", size(limit)));
    vec![well(format!("{told} (RLIMIT_MEMLOCK)"))]
}

fn rdma(facts: &Facts) -> Vec<Said> {
    let names = if facts.rdma.is_empty() { "no devices".into() } else { facts.rdma.join(", ") };
    vec![well(format!("{names} (/sys/class/infiniband)"))]
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Clock, Copying, Cores, Limits, Memory, Network, Port};
    use super::super::finding::{Finding, Verdict, examine};
    use super::*;

    /// A host on which everything is well.
    fn host() -> Facts {
        let offloads = OFFLOADS.map(|(name, ..)| name.to_owned()).to_vec();
        let packet = Port { method: "packet".into(), wanted: true, frame_max: 1494, room: 1 << 20, ..Port::default() };
        let eth0 = Rail {
            name: "eth0".into(),
            serves: true,
            verdict: "a rail".into(),
            driver: Some("virtio_net".into()),
            mtu: 1500,
            mac: Some("02:00:00:00:00:01".into()),
            networks: vec![Network { ip: "10.0.0.1".parse().unwrap(), prefix: 24 }],
            offloads: Some(offloads.clone()),
            switchable: offloads,
            ports: vec![packet],
            ..Rail::default()
        };
        Facts {
            cores: Cores { allowed: 4, quota: None, usable: 4, ..Cores::default() },
            memory: Memory { total: 8 << 30, available: 7 << 30, ..Memory::default() },
            limits: Limits { descriptors_ceiling: Some(4096), ..Limits::default() },
            copying: Copying { process_vm: true, membarrier: true, ..Copying::default() },
            capabilities: vec!["CAP_NET_RAW".into()],
            clock: Clock { source: Some("tsc".into()), offered: vec!["tsc".into(), "hpet".into()], read_ns: 25.0 },
            socket_buffers: Some([4 << 20; 2]),
            rails: vec![eth0],
            ..Facts::default()
        }
    }

    fn told(change: impl FnOnce(&mut Facts)) -> Vec<Finding> {
        let mut facts = host();
        change(&mut facts);
        examine(EXAMINATIONS, &facts).into_iter().filter(|finding| finding.verdict != Verdict::Well).collect()
    }

    /// The only finding that is not well, with what must be changed.
    fn only(name: &str, verdict: Verdict, change: impl FnOnce(&mut Facts)) -> (String, String) {
        let told = told(change);
        assert_eq!(
            told.iter().map(|finding| (finding.name, finding.verdict)).collect::<Vec<_>>(),
            [(name, verdict)],
            "{told:?}"
        );
        (told[0].found.clone(), told[0].change.as_ref().unwrap().how.clone())
    }

    #[test]
    fn a_host_on_which_everything_is_well_needs_no_change() {
        assert_eq!(told(|_| ()), []);
    }

    #[test]
    fn each_fact_that_costs_something_is_told_with_what_changes_it() {
        type Case = (&'static str, fn(&mut Facts), &'static str, &'static str);
        let cases: [Case; 16] = [
            ("cores", |facts| facts.cores.quota = Some(1.5), "quota is 1.50 cores of 4", "cpu.max"),
            ("frequency", |facts| facts.cores.governor = Some("powersave".into()), "powersave", "cpupower"),
            (
                "memory",
                |facts| (facts.memory.cgroup_limit, facts.memory.cgroup_used) = (Some(1 << 30), Some(1 << 30)),
                "nearly used up",
                "memory.max",
            ),
            ("limits", |facts| facts.limits.descriptors_ceiling = Some(64), "at most 64 descriptors", "ulimit -Hn 80"),
            (
                "limits",
                |facts| facts.limits.processes = Some(20),
                "20 processes",
                "ulimit -u 80, or nproc in /etc/security/limits.conf",
            ),
            (
                "processes",
                |facts| facts.limits.cgroup_processes = Some((100, 30)),
                "allows 100 processes and threads, of which 30 are there, and 80 more are needed",
                "pids.max",
            ),
            ("limits", |facts| facts.limits.file_size_ceiling = Some(1 << 20), "1 MiB", "ulimit -Hf"),
            ("limits", |facts| facts.limits.address_space = Some(1 << 30), "1.0 GiB", "ulimit -v"),
            (
                "copying",
                |facts| (facts.copying.process_vm, facts.copying.ptrace_scope) = (false, Some(3)),
                "ptrace_scope is 3",
                "sysctl.d, and a reboot",
            ),
            (
                "copying",
                |facts| (facts.copying.process_vm, facts.copying.ptrace_scope) = (false, Some(2)),
                "ptrace_scope is 2",
                "sysctl kernel.yama",
            ),
            (
                "copying",
                |facts| (facts.copying.process_vm, facts.copying.seccomp) = (false, true),
                "seccomp",
                "SYS_PTRACE",
            ),
            ("doorbells", |facts| facts.copying.membarrier = false, "membarrier", "seccomp"),
            (
                "clock",
                |facts| (facts.clock.source, facts.clock.read_ns) = (Some("hpet".into()), 900.0),
                "source hpet, 900 ns",
                "echo tsc >",
            ),
            ("raw frames", |facts| facts.capabilities.clear(), "CAP_NET_RAW is missing", "--ambient-caps +net_raw"),
            (
                "socket buffers",
                |facts| facts.socket_buffers = Some([212_992; 2]),
                "rmem_max 212992",
                "sysctl net.core.rmem_max=4194304",
            ),
            ("speed", |facts| facts.rails[0].speed_mbit = Some(25_000), "25000 Mbit/s with an MTU of 1500", "mtu 9000"),
        ];
        for (name, change, cause, how) in cases {
            let told = only(name, Verdict::Advice, change);
            assert!(told.0.contains(cause) && told.1.contains(how), "{name}: {told:?}");
        }
    }

    #[test]
    fn what_no_job_can_do_without_is_broken() {
        let (found, _) =
            only("shared memory", Verdict::Broken, |facts| facts.memory.memfd_error = Some("EPERM".into()));
        assert!(found.contains("EPERM"));
        let broken =
            told(|facts| (facts.rails_error, facts.rails) = (Some("HAWSER_RAILS=?: is none".into()), Vec::new()));
        assert_eq!(broken.iter().map(|finding| finding.verdict).collect::<Vec<_>>(), [Verdict::Broken]);
    }

    #[test]
    fn rails_and_offloads_that_are_off_are_told_with_the_command() {
        let switched_off = |facts: &mut Facts| {
            let down = Rail {
                name: "eth1".into(),
                serves: false,
                down: true,
                offloads: None,
                ports: Vec::new(),
                ..facts.rails[0].clone()
            };
            facts.rails.push(down);
        };
        assert!(only("rails", Verdict::Advice, switched_off).1.starts_with("ip link set eth1 up"));
        assert!(
            only("rails", Verdict::Advice, |facts| facts.rails[0].pulled = true).0.starts_with("eth0 has no carrier")
        );
        assert!(only("rails", Verdict::Advice, |facts| facts.rails.clear()).0.starts_with("no interface of this host"));
        let no_gro = |facts: &mut Facts| facts.rails[0].offloads.as_mut().unwrap().retain(|name| name != "rx-gro");
        assert_eq!(only("offloads", Verdict::Advice, no_gro).1, "ethtool -K eth0 gro on");
        assert!(only("speed", Verdict::Advice, |facts| facts.rails[0].speed_mbit = Some(100)).0.contains("100 Mbit/s"));
        let cable = |facts: &mut Facts| {
            facts.rails[0].driver = Some("veth".into());
            facts.rails[0].speed_mbit = Some(10_000);
            no_gro(facts);
        };
        assert_eq!(told(cable), [], "the speed of a veth is no speed");
    }

    #[test]
    fn what_is_enough_is_no_alarm() {
        let enough: [fn(&mut Facts); 4] = [
            |facts| {
                facts.cores.governor = Some("powersave".into());
                facts.cores.frequency_driver = Some("intel_pstate".into());
            },
            |facts| facts.limits.cgroup_processes = Some((200, 30)),
            |facts| (facts.memory.cgroup_limit, facts.memory.cgroup_used) = (Some(1 << 30), Some(1 << 20)),
            |facts| (facts.rdma, facts.limits.locked) = (vec!["mlx5_0".into()], Some(64 << 10)),
        ];
        enough.into_iter().for_each(|change| assert_eq!(told(change), []));
    }

    #[test]
    fn a_buffer_is_never_lowered_and_the_ring_of_packet_is_no_socket_buffer() {
        let (_, how) =
            only("socket buffers", Verdict::Advice, |facts| facts.socket_buffers = Some([64 << 20, 212_992]));
        assert_eq!(how, "sysctl net.core.wmem_max=4194304");
        let privileged = |facts: &mut Facts| {
            facts.socket_buffers = Some([212_992; 2]);
            facts.capabilities.push("CAP_NET_ADMIN".into());
        };
        only("socket buffers", Verdict::Advice, privileged);
        let udp = Port { method: "udp".into(), wanted: true, frame_max: 1472, room: 4 << 20, ..Port::default() };
        let beyond = |facts: &mut Facts| {
            privileged(facts);
            facts.rails[0].ports.push(udp);
        };
        assert_eq!(told(beyond), []);
    }

    #[test]
    fn what_cannot_be_switched_is_not_asked_for() {
        let off = |facts: &mut Facts| facts.rails[0].offloads = Some(Vec::new());
        assert_eq!(told(off).len(), 3);
        let fixed = |facts: &mut Facts| {
            off(facts);
            facts.rails[0].switchable = vec!["rx-gro".into()];
        };
        assert_eq!(only("offloads", Verdict::Advice, fixed).1, "ethtool -K eth0 gro on");
        let bridge = |facts: &mut Facts| {
            off(facts);
            facts.rails[0].driver = Some("bridge".into());
        };
        assert_eq!(told(bridge), []);
    }

    #[test]
    fn locked_memory_matters_to_xdp_alone() {
        let locked = |facts: &mut Facts| facts.limits.locked = Some(64 << 10);
        assert_eq!(told(locked), []);
        let (found, _) = only("limits", Verdict::Advice, |facts| {
            locked(facts);
            facts.rails[0].ports[0].method = "xdp".into();
        });
        assert!(found.starts_with("64 KiB may be locked"), "{found}");
    }
}
