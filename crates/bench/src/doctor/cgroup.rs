//! The memory and the number of processes that the cgroups of this process still allow: for each of the two, the
//! limit of the cgroup that leaves least.
//!
//! It reports what the files contain; `host_checks` judges that. Used by `collect`; uses `os`, which finds the
//! groups.

use hawser_os::cgroup::{self, CgroupVersion};
use std::fs;
use std::path::{Path, PathBuf};

/// A limit from this value on is no limit: it is beyond all memory that exists. (If there is no limit, cgroup v1
/// reports the bytes of the largest number of pages.)
const UNLIMITED: u64 = 1 << 60;

/// A limit, and how much of it is used.
pub type CgroupHeadroom = (u64, u64);

/// Returns the limit on memory and the memory that is used, in bytes; None if there is no limit.
pub fn memory() -> Option<CgroupHeadroom> {
    tightest_limit(cgroup::groups("memory"), memory_of)
}

/// Returns the limit on the number of processes and threads, and their present number; None if there is no limit.
pub fn processes() -> Option<CgroupHeadroom> {
    tightest_limit(cgroup::groups("pids"), |_, group| {
        Some((read_number(&group.join("pids.max"))?, read_number(&group.join("pids.current"))?))
    })
}

fn tightest_limit(
    groups: Vec<(CgroupVersion, PathBuf)>,
    of: impl Fn(CgroupVersion, &Path) -> Option<CgroupHeadroom>,
) -> Option<CgroupHeadroom> {
    let limits = groups.into_iter().filter_map(|(version, group)| of(version, &group));
    limits.filter(|&(limit, _)| limit < UNLIMITED).min_by_key(|&(limit, used)| limit.saturating_sub(used))
}

/// Returns the memory limit of a cgroup and the memory that is used; None if there is no limit. Caches of files that
/// no process uses now are not counted as used, although the kernel counts them: it frees them before it kills a
/// process.
fn memory_of(version: CgroupVersion, group: &Path) -> Option<CgroupHeadroom> {
    let (limit, used, idle) = match version {
        CgroupVersion::Two => ("memory.max", "memory.current", "inactive_file "),
        CgroupVersion::One => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    };
    let (limit, used) = (read_number(&group.join(limit))?, read_number(&group.join(used))?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let idle = stat.lines().find_map(|line| line.strip_prefix(idle)?.trim().parse().ok()).unwrap_or(0);
    Some((limit, used.saturating_sub(idle)))
}

/// Reads a number from a file; None if the file has none, also for `max`.
fn read_number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(parent: &Path, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let group = parent.join(name);
        fs::create_dir(&group).unwrap();
        files.iter().for_each(|(file, text)| fs::write(group.join(file), text).unwrap());
        group
    }

    #[test]
    fn what_files_left_in_memory_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let stat = "anon 5\ninactive_file 700\nactive_file 9\ntotal_inactive_file 600\n";
        let of = |limit, used| [(limit, "1000\n"), (used, "900\n"), ("memory.stat", stat)];
        let two = group(folder.path(), "two", &of("memory.max", "memory.current"));
        assert_eq!(memory_of(CgroupVersion::Two, &two), Some((1000, 200)));
        let one = group(folder.path(), "one", &of("memory.limit_in_bytes", "memory.usage_in_bytes"));
        assert_eq!(memory_of(CgroupVersion::One, &one), Some((1000, 300)));
        let open = group(folder.path(), "open", &[("memory.max", "max\n"), ("memory.current", "900\n")]);
        assert_eq!(memory_of(CgroupVersion::Two, &open), None);
    }

    #[test]
    fn the_group_that_leaves_least_binds() {
        let groups = [(100, 10), (1000, 950), (u64::MAX, u64::MAX)].map(|headroom| (CgroupVersion::Two, headroom));
        let path_of = |number: usize| PathBuf::from(number.to_string());
        let numbered = (0..groups.len()).map(|nth| (CgroupVersion::Two, path_of(nth))).collect();
        let of = |_, group: &Path| Some(groups[group.to_str()?.parse::<usize>().ok()?].1);
        assert_eq!(tightest_limit(numbered, of), Some((1000, 950)));
        assert_eq!(tightest_limit(Vec::new(), of), None);
    }
}
