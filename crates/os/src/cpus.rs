//! The cores that this process may run on (its affinity), and the number of cores that it can use at once (affinity
//! and cgroup quota). The affinity is that of the calling thread, which is the process's unless threads are bound.

use crate::ErrorContext;
use crate::cgroup::{self, CgroupVersion};
use crate::errno::checked;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of cores in one affinity mask. sched_getaffinity fails if the mask is shorter than the kernel's
/// own.
const MASK_CORES: usize = 8192;
type CpuMask = [u64; MASK_CORES / 64];

/// Returns the cores that this process may run on, in rising order.
pub fn allowed() -> io::Result<Vec<usize>> {
    let mut mask: CpuMask = [0; MASK_CORES / 64];
    // SAFETY: room for size_of(mask) bytes.
    checked(unsafe { libc::sched_getaffinity(0, size_of::<CpuMask>(), mask.as_mut_ptr().cast()) })
        .context(|| "getting the cores of this process (sched_getaffinity)".into())?;
    Ok((0..MASK_CORES).filter(|core| mask[core / 64] >> (core % 64) & 1 == 1).collect())
}

/// The level of the host's topology by which cores are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyLevel {
    /// A hardware thread, of which a core may have several. The kernel numbers hardware threads, and "core" means a
    /// hardware thread in this file, except in this list.
    Thread,
    Core,
    /// A cache of this level.
    Cache(u8),
    Numa,
    Socket,
}

/// Returns the cores that this process may run on, grouped by their domain of this level. If the kernel does not
/// report the domains, all cores are in one group; for `Thread` and `Core`, each core is then in a group of its own.
pub fn domains(level: TopologyLevel) -> io::Result<Vec<Vec<usize>>> {
    Ok(domains_of(&allowed()?, level, Path::new("/sys/devices/system/cpu")))
}

/// Returns the number of the only domain of this level in which this process may run; None if it may run in several
/// domains, or if its cores cannot be read.
pub fn only_domain(level: TopologyLevel) -> Option<u32> {
    only_domain_of(&allowed().ok()?, level, Path::new("/sys/devices/system/cpu"))
}

/// Returns the number of the only domain of `cores`: the number of the NUMA node, or else the number of the domain's
/// first core (of all cores of the host, not only of `cores`). For `Thread` it is the core's own number; for other
/// levels 0 if the kernel does not report the domain. None if `cores` are in several domains.
fn only_domain_of(cores: &[usize], level: TopologyLevel, root: &Path) -> Option<u32> {
    let units = domains_of(cores, level, root);
    let [only] = &units[..] else { return None };
    let name = domain_of(&root.join(format!("cpu{}", only[0])), level);
    let name = name.unwrap_or_else(|| if level == TopologyLevel::Thread { only[0].to_string() } else { "0".into() });
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn domains_of(cores: &[usize], level: TopologyLevel, root: &Path) -> Vec<Vec<usize>> {
    let mut units: Vec<(String, Vec<usize>)> = Vec::new();
    for &core in cores {
        let alone = matches!(level, TopologyLevel::Thread | TopologyLevel::Core).then(|| core.to_string());
        let name = domain_of(&root.join(format!("cpu{core}")), level).or(alone).unwrap_or_default();
        match units.iter_mut().find(|unit| unit.0 == name) {
            Some(unit) => unit.1.push(core),
            None => units.push((name, vec![core])),
        }
    }
    units.into_iter().map(|unit| unit.1).collect()
}

/// Returns a text that identifies the domain of this level that a core belongs to: the domain's list of cores, or its
/// name (such as `node1`). `core` is the core's directory. None for `Thread`, or if the kernel does not report the
/// domain.
fn domain_of(core: &Path, level: TopologyLevel) -> Option<String> {
    let text = |path: &Path| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    // The second names are those of kernels before 5.3.
    let either = |names: [&str; 2]| names.into_iter().find_map(|name| text(&core.join("topology").join(name)));
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    match level {
        TopologyLevel::Thread => None,
        TopologyLevel::Core => either(["core_cpus_list", "thread_siblings_list"]),
        TopologyLevel::Socket => either(["package_cpus_list", "core_siblings_list"]),
        TopologyLevel::Cache(cache_level) => entries(&core.join("cache"))
            .find(|cache| {
                text(&cache.join("level")) == Some(cache_level.to_string())
                    && text(&cache.join("type")).is_some_and(|kind| kind != "Instruction")
            })
            .and_then(|cache| text(&cache.join("shared_cpu_list"))),
        TopologyLevel::Numa => entries(core)
            .filter_map(|entry| Some(entry.file_name()?.to_str()?.to_owned()))
            .find(|name| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())),
    }
}

/// Binds the calling thread to `cores`, and the threads that it starts from now on. Allocates nothing: may run between
/// fork and exec.
pub fn bind(cores: &[usize]) -> io::Result<()> {
    let mut mask: CpuMask = [0; MASK_CORES / 64];
    for &core in cores.iter().filter(|&&core| core < MASK_CORES) {
        mask[core / 64] |= 1 << (core % 64);
    }
    // SAFETY: a mask of the size that is given.
    checked(unsafe { libc::sched_setaffinity(0, size_of::<CpuMask>(), mask.as_ptr().cast()) }).map(drop)
}

/// Returns the core on which the calling thread runs; None if the kernel does not say it.
#[inline]
pub fn current() -> Option<usize> {
    // SAFETY: cannot fail but by its result.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread to one of the cores `to`; afterwards it may run on `cores`. After an error it may still be
/// bound to `to`, if the second call failed twice.
pub fn move_to(to: &[usize], cores: &[usize]) -> io::Result<()> {
    bind(to)?;
    bind(cores).or_else(|_| bind(cores))
}

/// Returns the CPU quota of this process's cgroups, in cores: 1.5 means 1.5 s of CPU time per second. None if no
/// quota limits this process.
pub fn quota() -> Option<f64> {
    tightest(cgroup::groups("cpu"))
}

/// Returns how many processes can run at once here: the number of allowed cores, or the quota, rounded up, if that is
/// less; at least 1.
pub fn available() -> usize {
    let cores = allowed().map_or(1, |cores| cores.len());
    quota().map_or(cores, |quota| cores.min(quota.ceil() as usize)).max(1)
}

/// Whether the kernel shares the cores among sessions, and only within a session among processes (sched(7),
/// autogroups).
pub fn has_autogroups() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1")
}

/// Returns the nice value of this process (nice(1)): from -20 to 19, of which 0 is usual.
pub fn nice_value() -> i32 {
    // SAFETY: plain numbers. It cannot fail for the calling process.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Returns the smallest quota of these groups, in cores.
fn tightest(groups: Vec<(CgroupVersion, PathBuf)>) -> Option<f64> {
    let quota = |(version, group): (CgroupVersion, PathBuf)| match version {
        CgroupVersion::One => quota_v1(&group),
        CgroupVersion::Two => quota_v2(&group),
    };
    groups.into_iter().filter_map(quota).min_by(f64::total_cmp)
}

/// cgroup v2: `cpu.max` holds "QUOTA PERIOD" in microseconds or "max PERIOD".
fn quota_v2(group: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(group.join("cpu.max")).ok()?;
    let mut words = text.split_whitespace();
    share(words.next()?, words.next()?)
}

/// cgroup v1: two files, a quota of -1 means none.
fn quota_v1(group: &Path) -> Option<f64> {
    let quota = std::fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = std::fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    share(quota.trim(), period.trim())
}

fn share(quota_us: &str, period_us: &str) -> Option<f64> {
    let (quota, period) = (quota_us.parse::<f64>().ok()?, period_us.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota_of(membership: &str, root: &Path) -> Option<f64> {
        tightest(cgroup::groups_of(membership, "cpu", root))
    }
    use std::fs;

    fn root(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("hawser-cpus-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn this_process_may_use_at_least_one_core_and_can_bind_to_it() {
        let cores = allowed().unwrap();
        assert!(!cores.is_empty() && available() >= 1 && available() <= cores.len());
        std::thread::spawn(move || {
            bind(&cores[..1]).unwrap();
            assert_eq!(allowed().unwrap(), cores[..1]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn cores_are_told_apart_by_what_they_belong_to() {
        let mut files = Vec::new();
        for (core, threads, socket, node) in [(0, "0,2", "0,2", "node0"), (1, "1,3", "1,3", "node1")] {
            for core in [core, core + 2] {
                files.push((format!("cpu{core}/topology/thread_siblings_list"), format!("{threads}\n")));
                files.push((format!("cpu{core}/topology/package_cpus_list"), format!("{socket}\n")));
                files.push((format!("cpu{core}/{node}/cpulist"), String::new()));
                for (index, level, kind, list) in
                    [(0, 1, "Instruction", "0-3"), (1, 1, "Data", threads), (2, 3, "Unified", "0-3")]
                {
                    let cache = format!("cpu{core}/cache/index{index}");
                    files.push((format!("{cache}/level"), format!("{level}\n")));
                    files.push((format!("{cache}/type"), format!("{kind}\n")));
                    files.push((format!("{cache}/shared_cpu_list"), format!("{list}\n")));
                }
            }
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let root = root("units", &files);
        let (all, pairs) = (vec![vec![0, 1, 2, 3]], vec![vec![0, 2], vec![1, 3]]);
        for unit in [TopologyLevel::Core, TopologyLevel::Socket, TopologyLevel::Numa, TopologyLevel::Cache(1)] {
            assert_eq!(domains_of(&[0, 1, 2, 3], unit, &root), pairs, "{unit:?}");
        }
        assert_eq!(domains_of(&[0, 1, 2, 3], TopologyLevel::Cache(3), &root), all);
        // Nothing is known of a cache of level 2, nor of a core 9.
        assert_eq!(domains_of(&[0, 1, 2, 3], TopologyLevel::Cache(2), &root), all);
        assert_eq!(domains_of(&[1, 3, 9], TopologyLevel::Core, &root), [vec![1, 3], vec![9]]);
        assert_eq!(domains_of(&[1, 3], TopologyLevel::Thread, &root), [vec![1], vec![3]]);
        assert_eq!(
            only_domain_of(&[3], TopologyLevel::Socket, &root),
            Some(1),
            "by its first core, which others may use"
        );
        assert_eq!(only_domain_of(&[1, 3], TopologyLevel::Numa, &root), Some(1));
        assert_eq!(only_domain_of(&[3], TopologyLevel::Thread, &root), Some(3));
        assert_eq!(only_domain_of(&[0, 1], TopologyLevel::Core, &root), None);
        assert_eq!(only_domain_of(&[0, 1], TopologyLevel::Cache(2), &root), Some(0));
        fs::remove_dir_all(root).unwrap();
        assert_eq!(domains(TopologyLevel::Socket).unwrap().concat().len(), allowed().unwrap().len());
    }

    #[test]
    fn the_tightest_quota_of_version_2_counts() {
        let root = root(
            "v2",
            &[("a/b/cpu.max", "max 100000\n"), ("a/cpu.max", "150000 100000\n"), ("cpu.max", "400000 100000\n")],
        );
        assert_eq!(quota_of("0::/a/b\n", &root), Some(1.5));
        assert_eq!(quota_of("0::/elsewhere\n", &root), Some(4.0));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_quota_of_version_1_counts_and_minus_one_is_none() {
        let root = root(
            "v1",
            &[
                ("cpu/job/cpu.cfs_quota_us", "50000\n"),
                ("cpu/job/cpu.cfs_period_us", "100000\n"),
                ("cpu/cpu.cfs_quota_us", "-1\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(quota_of("4:cpu,cpuacct:/job\n3:memory:/job\n", &root), Some(0.5));
        assert_eq!(quota_of("4:cpu,cpuacct:/\n", &root), None);
        fs::remove_dir_all(root).unwrap();
    }
}
