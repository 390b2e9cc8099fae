//! Judges the facts of a host for a job: a table of checks.
//!
//! It does no I/O. The figures for the effects of changes are from docs/performance.md and docs/measurements, except
//! for figures that the text calls measured. Used by `record`; uses `check_result`.

use super::check_result::{CheckResult, DoctorCheck, advice, broken, well};
use super::facts::{DoctorFacts, NicFacts};

pub static CHECKS: &[DoctorCheck<DoctorFacts>] = &[
    DoctorCheck { name: "cores", run: cores },
    DoctorCheck { name: "frequency", run: frequency },
    DoctorCheck { name: "memory", run: memory },
    DoctorCheck { name: "shared memory", run: shared_memory },
    DoctorCheck { name: "limits", run: limits },
    DoctorCheck { name: "processes", run: processes },
    DoctorCheck { name: "copying", run: copying },
    DoctorCheck { name: "doorbells", run: doorbells },
    DoctorCheck { name: "clock", run: clock },
    DoctorCheck { name: "raw frames", run: raw_frames },
    DoctorCheck { name: "socket buffers", run: socket_buffers },
    DoctorCheck { name: "settings", run: settings },
    DoctorCheck { name: "rails", run: rails },
    DoctorCheck { name: "offloads", run: offloads },
    DoctorCheck { name: "speed", run: speed },
    // Hawser does not use the following: they are for users who compare it with other libraries.
    DoctorCheck { name: "/dev/shm", run: dev_shm },
    DoctorCheck { name: "huge pages", run: huge_pages },
    DoctorCheck { name: "locked memory", run: locked_memory },
    DoctorCheck { name: "RDMA", run: rdma },
];

/// The memory, in bytes, that suffices for a rank with few peers and short messages.
const LITTLE_MEMORY: u64 = 256 << 20;
/// The number of descriptors that an agent needs for each rank, and the number besides, which is twice what the agent
/// requires (`launch::agent::run`).
const DESCRIPTORS_PER_RANK: u64 = 4;
const EXTRA_DESCRIPTORS: u64 = 64;
/// The number of processes and threads for each rank (the rank, its progress thread, and the agent's part), and the
/// number besides.
const PROCESSES_PER_RANK: u64 = 4;
const EXTRA_PROCESSES: u64 = 64;
/// A reading of the clock is slow if it takes longer than this. Through the vDSO it takes 20 to 50 ns, by a system
/// call ten times that.
const SLOW_CLOCK_NS: f64 = 200.0;
const QUICK_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"];
/// The buffer that `udp` requests (`dev-ether`, port::udp).
const SOCKET_BUFFER: u64 = 4 << 20;
/// From FAST_MBIT on, frames of 1500 bytes take a whole core; up to SLOW_MBIT, an interface counts as slow.
const FAST_MBIT: u32 = 10_000;
const SLOW_MBIT: u32 = 100;

fn cores(facts: &DoctorFacts) -> Vec<CheckResult> {
    let cores = &facts.cores;
    let text = match cores.quota {
        Some(quota) => {
            format!("{} allowed, a quota of {quota:.2}, {} usable at the same time", cores.allowed, cores.usable)
        }
        None => format!("{} allowed, no quota, {} usable at the same time", cores.allowed, cores.usable),
    };
    match cores.quota {
        Some(quota) if quota < cores.allowed as f64 => vec![advice(
            format!("the cgroup's quota is {quota:.2} cores of {} ({text})", cores.allowed),
            "raise cpu.max of the cgroup (docker run --cpus, resources.limits.cpu of Kubernetes, CPUQuota= of systemd)",
            "no pauses: ranks beyond the quota are stopped for the rest of each period (100 ms by default), and others \
             wait for them; not measured",
        )],
        _ => vec![well(text)],
    }
}

/// The frequency drivers whose governor `powersave` lets the processor choose the frequency, as `schedutil` of other
/// drivers lets the kernel.
const CHOOSING: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

fn frequency(facts: &DoctorFacts) -> Vec<CheckResult> {
    let Some(governor) = facts.cores.governor.as_deref() else { return Vec::new() };
    let driver = facts.cores.frequency_driver.as_deref();
    let text =
        driver.map_or_else(|| format!("governor {governor}"), |driver| format!("governor {governor} of {driver}"));
    let chooses = driver.is_some_and(|driver| CHOOSING.contains(&driver));
    match governor {
        "powersave" if chooses => vec![well(format!("{text}: the processor chooses"))],
        "powersave" | "conservative" | "ondemand" => vec![advice(
            format!("the frequency may be low when a rank begins to work ({text})"),
            "cpupower frequency-set -g performance",
            "a rank responds sooner after it has slept; not measured",
        )],
        _ => vec![well(text)],
    }
}

fn memory(facts: &DoctorFacts) -> Vec<CheckResult> {
    let memory = &facts.memory;
    let text = format!("{} of {} available", size(memory.available), size(memory.total));
    let (Some(limit), Some(used)) = (memory.cgroup_limit, memory.cgroup_used) else {
        return vec![well(format!("{text}, no cgroup limit"))];
    };
    let text = format!("{text}, the cgroup allows {}, of which {} are used", size(limit), size(used));
    if limit.saturating_sub(used) >= LITTLE_MEMORY {
        return vec![well(text)];
    }
    vec![advice(
        format!("the cgroup's memory is nearly used up ({text})"),
        "raise memory.max of the cgroup (docker run --memory, resources.limits.memory of Kubernetes)",
        "the kernel kills ranks that need more than the limit, and shared memory counts towards it",
    )]
}

fn shared_memory(facts: &DoctorFacts) -> Vec<CheckResult> {
    match &facts.memory.memfd_error {
        Some(error) => vec![broken(
            format!("shared memory cannot be created: {error}"),
            "allow memfd_create(2) in the sandbox (seccomp), and files of 1 GiB (ulimit -f unlimited)",
            "without it no job starts on this host",
        )],
        None => {
            let pages = facts.memory.huge_pages.as_deref();
            let pages = pages.map_or_else(String::new, |mode| format!("; huge pages for it: {mode}"));
            vec![well(format!("memfd works (/dev/shm is not used, its size does not matter){pages}"))]
        }
    }
}

fn limits(facts: &DoctorFacts) -> Vec<CheckResult> {
    let (limits, ranks) = (&facts.limits, facts.cores.allowed.max(1) as u64);
    let below = |limit: Option<u64>, needed: u64| limit.filter(|&limit| limit < needed);
    let mut results = Vec::new();
    let needed = ranks.saturating_mul(DESCRIPTORS_PER_RANK).saturating_add(EXTRA_DESCRIPTORS);
    if let Some(limit) = below(limits.descriptors_ceiling, needed) {
        results.push(advice(
            format!("at most {limit} descriptors may be open (RLIMIT_NOFILE), and {needed} are needed for a rank on each core"),
            format!("ulimit -Hn {needed}, or nofile in /etc/security/limits.conf, or LimitNOFILE= of sshd's unit"),
            "a job with a rank on each core can start",
        ));
    }
    let needed = processes_needed(facts);
    if let Some(limit) = below(limits.processes, needed) {
        results.push(advice(
            format!("this user may have {limit} processes and threads (RLIMIT_NPROC), and {needed} are needed for a rank on each core"),
            format!("ulimit -u {needed}, or nproc in /etc/security/limits.conf"),
            "a job with a rank on each core can start",
        ));
    }
    if let Some(limit) = below(limits.file_size_ceiling, 1 << 30) {
        results.push(advice(
            format!("files may have {} at most (RLIMIT_FSIZE); the limit applies to shared memory too", size(limit)),
            "ulimit -Hf unlimited",
            "a job with many ranks can start: its shared-memory segment is a sparse file of more than that",
        ));
    }
    if let Some(limit) = limits.address_space {
        results.push(advice(
            format!("a process may have {} of address space (RLIMIT_AS)", size(limit)),
            "ulimit -v unlimited",
            "ranks can map the host's whole shared-memory segment, which is sparse; use a cgroup to limit memory",
        ));
    }
    results.extend(locked(facts));
    if results.is_empty() {
        let all = limits.descriptors_ceiling.map_or_else(|| "any number of".into(), |limit| limit.to_string());
        results.push(well(format!("{all} descriptors, processes, file size and address space suffice")));
    }
    results
}

fn processes_needed(facts: &DoctorFacts) -> u64 {
    (facts.cores.allowed.max(1) as u64).saturating_mul(PROCESSES_PER_RANK).saturating_add(EXTRA_PROCESSES)
}

fn processes(facts: &DoctorFacts) -> Vec<CheckResult> {
    let Some((limit, used)) = facts.limits.cgroup_processes else { return Vec::new() };
    let (text, needed) =
        (format!("the cgroup allows {limit} processes and threads, of which {used} exist"), processes_needed(facts));
    if limit.saturating_sub(used) >= needed {
        return vec![well(text)];
    }
    vec![advice(
        format!("{text}, and {needed} more are needed for a rank on each core"),
        "raise pids.max of the cgroup (docker run --pids-limit, TasksMax= of systemd, podPidsLimit of Kubernetes)",
        "a job with a rank on each core can start",
    )]
}

/// Judges the limit on locked memory; only XDP's memory counts as locked.
fn locked(facts: &DoctorFacts) -> Option<CheckResult> {
    let uses_xdp = facts.rails_in_use().flat_map(|rail| &rail.ports).any(|port| port.method.starts_with("xdp"));
    let limit =
        facts.limits.locked.filter(|&limit| uses_xdp && limit < 16 << 20 && !facts.has_capability("CAP_IPC_LOCK"))?;
    Some(advice(
        format!("{} may be locked (RLIMIT_MEMLOCK), and HAWSER_PORT requests xdp", size(limit)),
        "ulimit -l 65536, or memlock in /etc/security/limits.conf, or CAP_IPC_LOCK",
        "XDP queues, which lock 0.5 to 5 MiB each",
    ))
}

fn copying(facts: &DoctorFacts) -> Vec<CheckResult> {
    let copying = &facts.copying;
    let scope = copying.ptrace_scope.map_or_else(|| "no Yama".into(), |scope| format!("ptrace_scope {scope}"));
    if copying.process_vm {
        return vec![well(format!("process_vm_readv between ranks is permitted ({scope})"))];
    }
    let (cause, how) = match copying.ptrace_scope {
        Some(2) => ("Yama's ptrace_scope is 2".into(), "sysctl kernel.yama.ptrace_scope=1"),
        // The kernel does not lower a ptrace_scope of 3 before a reboot.
        Some(scope @ 3..) => (
            format!("Yama's ptrace_scope is {scope}"),
            "kernel.yama.ptrace_scope=1 in a file of /etc/sysctl.d, and a reboot: 3 cannot be lowered without one",
        ),
        _ if copying.seccomp => (
            "a system call filter (seccomp) is active".into(),
            "docker run --cap-add SYS_PTRACE, or a seccomp profile that allows process_vm_readv",
        ),
        _ => (scope, "allow ptrace between processes of one user (a user namespace or security module forbids it)"),
    };
    vec![advice(
        format!("process_vm_readv between ranks is forbidden: {cause}"),
        how,
        "long messages within the host can be copied directly. Now they are copied through shared memory, which is \
         faster on some machines: mpiexec measures both and uses the better one; not measured here",
    )]
}

fn doorbells(facts: &DoctorFacts) -> Vec<CheckResult> {
    if facts.copying.membarrier {
        return vec![well("membarrier is available")];
    }
    vec![advice(
        "membarrier is not available (a kernel or sandbox without it)",
        "allow membarrier(2) in the seccomp profile",
        "short messages within the host without a fence, which takes 70 of 120 ns; not measured here",
    )]
}

fn clock(facts: &DoctorFacts) -> Vec<CheckResult> {
    let clock = &facts.clock;
    let source = clock.source.as_deref().unwrap_or("unknown");
    let text = format!("source {source}, {:.0} ns a reading (measured)", clock.read_ns);
    if clock.read_ns <= SLOW_CLOCK_NS {
        return vec![well(text)];
    }
    let better =
        QUICK_CLOCKS.iter().find(|quick| **quick != source && clock.offered.iter().any(|offered| offered == *quick));
    let distrusted_tsc = "find out with dmesg why the kernel does not trust the TSC; if the TSC is synchronous, boot \
                          with clocksource=tsc tsc=reliable";
    let how = match better {
        Some(better) => format!("echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
        None => distrusted_tsc.into(),
    };
    vec![advice(
        format!("reading the clock is slow: {text}"),
        how,
        "20 to 50 ns a reading through the vDSO; MPI_Wtime reads the clock, and so do waits and retransmissions",
    )]
}

fn raw_frames(facts: &DoctorFacts) -> Vec<CheckResult> {
    if facts.rails_in_use().next().is_none() {
        return vec![well("no rail for raw frames")];
    }
    let failed = facts.rails_in_use().flat_map(|rail| rail.ports.iter().map(move |port| (rail, port)));
    let mut failed = failed.filter(|(_, port)| port.method == "packet" && port.wanted);
    if facts.has_capability("CAP_NET_RAW") {
        return match failed.find_map(|(rail, port)| Some((rail, port.error.as_ref()?))) {
            Some((rail, error)) if rail.mac.is_some() => vec![advice(
                format!("raw Ethernet cannot be used over {}: {error}", rail.name),
                "fix the cause; a sandbox may forbid packet sockets",
                "short messages without the kernel's UDP",
            )],
            _ => vec![well("CAP_NET_RAW is available")],
        };
    }
    vec![advice(
        "raw Ethernet (packet, packet-udp) is not permitted: CAP_NET_RAW is missing",
        "as root: setpriv --reuid USER --regid GROUP --init-groups --inh-caps +net_raw --ambient-caps +net_raw COMMAND; in a container --cap-add NET_RAW \
         (setcap on the program is not enough, docs/hosts.md)",
        "short messages in half to two thirds of UDP's time: 2.3 (packet) and 3.3 (packet-udp) against 5.1 us over veth; not measured here",
    )]
}

fn socket_buffers(facts: &DoctorFacts) -> Vec<CheckResult> {
    let Some([receive, send]) = facts.socket_buffers else { return Vec::new() };
    let text = format!("net.core.rmem_max {receive}, wmem_max {send}");
    let mut udp = facts.rails_in_use().flat_map(|rail| &rail.ports).filter(|port| port.method == "udp");
    // With CAP_NET_ADMIN the socket of a udp port has more than the setting allows.
    let goes_beyond = facts.has_capability("CAP_NET_ADMIN") && udp.any(|port| port.room as u64 > receive);
    let below = |(_, has): &(&str, u64)| *has < SOCKET_BUFFER;
    let short: Vec<_> = [("rmem_max", receive), ("wmem_max", send)].into_iter().filter(below).collect();
    if facts.rails_in_use().next().is_none() || short.is_empty() {
        return vec![well(text)];
    }
    if goes_beyond {
        return vec![well(format!("{text}; CAP_NET_ADMIN exceeds these limits"))];
    }
    let raised: Vec<_> = short.iter().map(|(name, _)| format!("net.core.{name}={SOCKET_BUFFER}")).collect();
    vec![advice(
        format!("socket buffers are smaller than udp requests ({text}; requested: {SOCKET_BUFFER})"),
        format!("sysctl {}", raised.join(" ")),
        "more bytes in flight before a receiver that computes drops frames or a sender waits; not measured",
    )]
}

fn settings(facts: &DoctorFacts) -> Vec<CheckResult> {
    if facts.settings.is_empty() { Vec::new() } else { vec![well(facts.settings.join(" "))] }
}

fn rails(facts: &DoctorFacts) -> Vec<CheckResult> {
    if let Some(error) = &facts.rails_error {
        return vec![broken(error.clone(), "correct the variable", "a job over several hosts can start")];
    }
    let mut results: Vec<CheckResult> = facts.rails.iter().map(rail).collect();
    if facts.rails_in_use().next().is_none() {
        results.push(advice(
            "no interface of this host reaches other hosts",
            "ip link set NAME up, give it an address, or name one in HAWSER_RAILS",
            "without a rail ranks run on this host alone",
        ));
    }
    results
}

fn rail(rail: &NicFacts) -> CheckResult {
    let text = format!("{}: {} ({})", rail.name, rail.verdict, nic_text(rail));
    if rail.down && rail.mac.is_some() && rail.is_network_link() {
        return advice(
            format!("{} is down ({})", rail.name, nic_text(rail)),
            format!("ip link set {0} up, and ip address add ADDRESS/PREFIX dev {0}", rail.name),
            "one more rail, if its cable reaches the other hosts: the bandwidths of rails add up",
        );
    }
    if rail.pulled {
        return advice(
            format!("{} has no carrier ({})", rail.name, nic_text(rail)),
            format!("check the cable and the switch's port (ethtool {})", rail.name),
            "one more rail: the bandwidths of rails add up",
        );
    }
    let ports = rail.ports.iter().filter(|port| port.error.is_none() && port.wanted).map(|port| port.method.as_str());
    let mut ports: Vec<_> = ports.collect();
    ports.dedup();
    well(if ports.is_empty() { text } else { format!("{text}; ports {}", ports.join(", ")) })
}

fn nic_text(rail: &NicFacts) -> String {
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
    ("tx-tcp-segmentation", "tso", "the NIC segments TCP: 2.2 GB/s over veth instead of 0.6"),
    ("rx-gro", "gro", "received frames are merged before the kernel's network stack: one pass for many"),
];

fn offloads(facts: &DoctorFacts) -> Vec<CheckResult> {
    facts.rails_in_use().filter(|rail| rail.is_network_link()).flat_map(offloads_of).collect()
}

fn offloads_of(rail: &NicFacts) -> Vec<CheckResult> {
    let Some(on) = &rail.offloads else { return vec![well(format!("{}: not reported by the kernel", rail.name))] };
    let is_on = |name: &str| on.iter().any(|other| other == name);
    // A veth is a cable between namespaces: runs of consecutive frames pass it in one piece, and there is nothing to
    // merge.
    let is_cable = rail.driver.as_deref() == Some("veth");
    let missed = OFFLOADS.into_iter().filter(|(name, ..)| !(is_on(name) || is_cable && *name == "rx-gro"));
    let (missed, lacking): (Vec<Offload>, Vec<Offload>) =
        missed.partition(|(name, ..)| rail.switchable.iter().any(|it| it == name));
    if missed.is_empty() {
        let lacking: Vec<_> = lacking.iter().map(|(name, ..)| *name).collect();
        return vec![well(match lacking.is_empty() {
            true => format!("{}: segmentation and receive offloads are on", rail.name),
            false => format!("{}: {} is not supported by its driver", rail.name, lacking.join(", ")),
        })];
    }
    let results = missed.iter().map(|(name, key, gives)| {
        advice(
            format!("{name} of {} is off", rail.name),
            format!("ethtool -K {} {key} on", rail.name),
            format!("{gives}; not measured here"),
        )
    });
    results.collect()
}

fn speed(facts: &DoctorFacts) -> Vec<CheckResult> {
    facts.rails_in_use().filter(|rail| rail.is_network_link()).filter_map(speed_of).collect()
}

fn speed_of(rail: &NicFacts) -> Option<CheckResult> {
    let speed = rail.speed_mbit?;
    if speed <= SLOW_MBIT {
        return Some(advice(
            format!("{} runs at {speed} Mbit/s", rail.name),
            format!("check with ethtool {} which speeds both ends offer, and check the cable", rail.name),
            "current cables and switches run at 1000 Mbit/s or more",
        ));
    }
    // The speed of a veth means nothing.
    let is_narrow = speed >= FAST_MBIT && rail.mtu <= 1500 && rail.driver.as_deref() != Some("veth");
    is_narrow.then(|| {
        advice(
            format!("{} runs at {speed} Mbit/s with an MTU of {}", rail.name, rail.mtu),
            format!("ip link set {} mtu 9000, on all hosts, and jumbo frames on the switches", rail.name),
            "a sixth of the frames: 1 MiB over veth took 273 us instead of 380; not measured here",
        )
    })
}

fn dev_shm(facts: &DoctorFacts) -> Vec<CheckResult> {
    let text = facts.memory.dev_shm.map_or_else(
        || "does not exist".into(),
        |[all, free]| format!("{} of {} free; Hawser does not use it", size(free), size(all)),
    );
    vec![well(text)]
}

fn huge_pages(facts: &DoctorFacts) -> Vec<CheckResult> {
    let [pages, free, bytes] = facts.memory.reserved;
    vec![well(format!("{pages} pages of {} reserved, {free} of them free", size(bytes)))]
}

fn locked_memory(facts: &DoctorFacts) -> Vec<CheckResult> {
    let text = facts.limits.locked.map_or_else(|| "no limit".into(), |limit| format!("{} at most", size(limit)));
    vec![well(format!("{text} (RLIMIT_MEMLOCK)"))]
}

fn rdma(facts: &DoctorFacts) -> Vec<CheckResult> {
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
    use super::super::check_result::{Finding, Verdict, run_checks};
    use super::super::facts::{ClockFacts, CopyFacts, CpuFacts, InterfaceAddress, LimitFacts, MemoryFacts, PortFacts};
    use super::*;

    /// A host on which everything is well.
    fn host() -> DoctorFacts {
        let offloads = OFFLOADS.map(|(name, ..)| name.to_owned()).to_vec();
        let packet =
            PortFacts { method: "packet".into(), wanted: true, frame_max: 1494, room: 1 << 20, ..PortFacts::default() };
        let eth0 = NicFacts {
            name: "eth0".into(),
            serves: true,
            verdict: "a rail".into(),
            driver: Some("virtio_net".into()),
            mtu: 1500,
            mac: Some("02:00:00:00:00:01".into()),
            networks: vec![InterfaceAddress { ip: "10.0.0.1".parse().unwrap(), prefix: 24 }],
            offloads: Some(offloads.clone()),
            switchable: offloads,
            ports: vec![packet],
            ..NicFacts::default()
        };
        DoctorFacts {
            cores: CpuFacts { allowed: 4, quota: None, usable: 4, ..CpuFacts::default() },
            memory: MemoryFacts { total: 8 << 30, available: 7 << 30, ..MemoryFacts::default() },
            limits: LimitFacts { descriptors_ceiling: Some(4096), ..LimitFacts::default() },
            copying: CopyFacts { process_vm: true, membarrier: true, ..CopyFacts::default() },
            capabilities: vec!["CAP_NET_RAW".into()],
            clock: ClockFacts { source: Some("tsc".into()), offered: vec!["tsc".into(), "hpet".into()], read_ns: 25.0 },
            socket_buffers: Some([4 << 20; 2]),
            rails: vec![eth0],
            ..DoctorFacts::default()
        }
    }

    fn findings(change: impl FnOnce(&mut DoctorFacts)) -> Vec<Finding> {
        let mut facts = host();
        change(&mut facts);
        run_checks(CHECKS, &facts).into_iter().filter(|finding| finding.verdict != Verdict::Well).collect()
    }

    /// The only finding that is not well, with what must be changed.
    fn only(name: &str, verdict: Verdict, change: impl FnOnce(&mut DoctorFacts)) -> (String, String) {
        let findings = findings(change);
        assert_eq!(
            findings.iter().map(|finding| (finding.name, finding.verdict)).collect::<Vec<_>>(),
            [(name, verdict)],
            "{findings:?}"
        );
        (findings[0].found.clone(), findings[0].change.as_ref().unwrap().how.clone())
    }

    #[test]
    fn a_host_on_which_everything_is_well_needs_no_change() {
        assert_eq!(findings(|_| ()), []);
    }

    #[test]
    fn each_fact_that_costs_something_is_told_with_what_changes_it() {
        type Case = (&'static str, fn(&mut DoctorFacts), &'static str, &'static str);
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
                "allows 100 processes and threads, of which 30 exist, and 80 more are needed",
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
            let finding = only(name, Verdict::Advice, change);
            assert!(finding.0.contains(cause) && finding.1.contains(how), "{name}: {finding:?}");
        }
    }

    #[test]
    fn what_no_job_can_do_without_is_broken() {
        let (found, _) =
            only("shared memory", Verdict::Broken, |facts| facts.memory.memfd_error = Some("EPERM".into()));
        assert!(found.contains("EPERM"));
        let broken =
            findings(|facts| (facts.rails_error, facts.rails) = (Some("HAWSER_RAILS=?: is none".into()), Vec::new()));
        assert_eq!(broken.iter().map(|finding| finding.verdict).collect::<Vec<_>>(), [Verdict::Broken]);
    }

    #[test]
    fn rails_and_offloads_that_are_off_are_told_with_the_command() {
        let switched_off = |facts: &mut DoctorFacts| {
            let down = NicFacts {
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
        let no_gro =
            |facts: &mut DoctorFacts| facts.rails[0].offloads.as_mut().unwrap().retain(|name| name != "rx-gro");
        assert_eq!(only("offloads", Verdict::Advice, no_gro).1, "ethtool -K eth0 gro on");
        assert!(only("speed", Verdict::Advice, |facts| facts.rails[0].speed_mbit = Some(100)).0.contains("100 Mbit/s"));
        let cable = |facts: &mut DoctorFacts| {
            facts.rails[0].driver = Some("veth".into());
            facts.rails[0].speed_mbit = Some(10_000);
            no_gro(facts);
        };
        assert_eq!(findings(cable), [], "the speed of a veth is no speed");
    }

    #[test]
    fn what_is_enough_is_no_alarm() {
        let enough: [fn(&mut DoctorFacts); 4] = [
            |facts| {
                facts.cores.governor = Some("powersave".into());
                facts.cores.frequency_driver = Some("intel_pstate".into());
            },
            |facts| facts.limits.cgroup_processes = Some((200, 30)),
            |facts| (facts.memory.cgroup_limit, facts.memory.cgroup_used) = (Some(1 << 30), Some(1 << 20)),
            |facts| (facts.rdma, facts.limits.locked) = (vec!["mlx5_0".into()], Some(64 << 10)),
        ];
        enough.into_iter().for_each(|change| assert_eq!(findings(change), []));
    }

    #[test]
    fn a_buffer_is_never_lowered_and_the_ring_of_packet_is_no_socket_buffer() {
        let (_, how) =
            only("socket buffers", Verdict::Advice, |facts| facts.socket_buffers = Some([64 << 20, 212_992]));
        assert_eq!(how, "sysctl net.core.wmem_max=4194304");
        let privileged = |facts: &mut DoctorFacts| {
            facts.socket_buffers = Some([212_992; 2]);
            facts.capabilities.push("CAP_NET_ADMIN".into());
        };
        only("socket buffers", Verdict::Advice, privileged);
        let udp =
            PortFacts { method: "udp".into(), wanted: true, frame_max: 1472, room: 4 << 20, ..PortFacts::default() };
        let beyond = |facts: &mut DoctorFacts| {
            privileged(facts);
            facts.rails[0].ports.push(udp);
        };
        assert_eq!(findings(beyond), []);
    }

    #[test]
    fn what_cannot_be_switched_is_not_asked_for() {
        let off = |facts: &mut DoctorFacts| facts.rails[0].offloads = Some(Vec::new());
        assert_eq!(findings(off).len(), 3);
        let fixed = |facts: &mut DoctorFacts| {
            off(facts);
            facts.rails[0].switchable = vec!["rx-gro".into()];
        };
        assert_eq!(only("offloads", Verdict::Advice, fixed).1, "ethtool -K eth0 gro on");
        let bridge = |facts: &mut DoctorFacts| {
            off(facts);
            facts.rails[0].driver = Some("bridge".into());
        };
        assert_eq!(findings(bridge), []);
    }

    #[test]
    fn locked_memory_matters_to_xdp_alone() {
        let locked = |facts: &mut DoctorFacts| facts.limits.locked = Some(64 << 10);
        assert_eq!(findings(locked), []);
        let (found, _) = only("limits", Verdict::Advice, |facts| {
            locked(facts);
            facts.rails[0].ports[0].method = "xdp".into();
        });
        assert!(found.starts_with("64 KiB may be locked"), "{found}");
    }
}
