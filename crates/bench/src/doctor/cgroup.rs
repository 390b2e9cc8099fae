//! The memory and the processes that this process's cgroups still allow: of each kind, the limit of the group that
//! allows least.
//!
//! It reports what the files contain; `machine` judges that. Used by `look`; uses `os`, which finds the groups.

use hawser_os::cgroup::{self, Version};
use std::fs;
use std::path::{Path, PathBuf};

/// A limit beyond all memory that exists: no limit (cgroup v1 uses the largest number of pages for that).
const UNLIMITED: u64 = 1 << 60;

/// A limit, and how much of it is used.
pub type Room = (u64, u64);

/// The limit on memory, in bytes.
pub fn memory() -> Option<Room> {
    tightest(cgroup::groups("memory"), memory_of)
}

/// The limit on processes and threads.
pub fn processes() -> Option<Room> {
    tightest(cgroup::groups("pids"), |_, group| {
        Some((number(&group.join("pids.max"))?, number(&group.join("pids.current"))?))
    })
}

fn tightest(groups: Vec<(Version, PathBuf)>, of: impl Fn(Version, &Path) -> Option<Room>) -> Option<Room> {
    let limits = groups.into_iter().filter_map(|(version, group)| of(version, &group));
    limits.filter(|&(limit, _)| limit < UNLIMITED).min_by_key(|&(limit, used)| limit.saturating_sub(used))
}

/// Caches of files that no process uses now are not counted as used, although the kernel does: it frees them before it
/// kills.
fn memory_of(version: Version, group: &Path) -> Option<Room> {
    let (limit, used, idle) = match version {
        Version::Two => ("memory.max", "memory.current", "inactive_file "),
        Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    };
    let (limit, used) = (number(&group.join(limit))?, number(&group.join(used))?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let idle = stat.lines().find_map(|line| line.strip_prefix(idle)?.trim().parse().ok()).unwrap_or(0);
    Some((limit, used.saturating_sub(idle)))
}

/// A number; None also for `max`.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(place: &Path, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let group = place.join(name);
        fs::create_dir(&group).unwrap();
        files.iter().for_each(|(file, text)| fs::write(group.join(file), text).unwrap());
        group
    }

    #[test]
    fn what_files_left_in_memory_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let stat = "anon 5\ninactive_file 700\nactive_file 9\ntotal_inactive_file 600\n";
        let of = |limit, used| [(limit, "1000\n"), (used, "900\n"), ("memory.stat", stat)];
        let two = group(place.path(), "two", &of("memory.max", "memory.current"));
        assert_eq!(memory_of(Version::Two, &two), Some((1000, 200)));
        let one = group(place.path(), "one", &of("memory.limit_in_bytes", "memory.usage_in_bytes"));
        assert_eq!(memory_of(Version::One, &one), Some((1000, 300)));
        let open = group(place.path(), "open", &[("memory.max", "max\n"), ("memory.current", "900\n")]);
        assert_eq!(memory_of(Version::Two, &open), None);
    }

    #[test]
    fn the_group_that_leaves_least_binds() {
        let groups = [(100, 10), (1000, 950), (u64::MAX, u64::MAX)].map(|room| (Version::Two, room));
        let place = |number: usize| PathBuf::from(number.to_string());
        let numbered = (0..groups.len()).map(|nth| (Version::Two, place(nth))).collect();
        let of = |_, group: &Path| Some(groups[group.to_str()?.parse::<usize>().ok()?].1);
        assert_eq!(tightest(numbered, of), Some((1000, 950)));
        assert_eq!(tightest(Vec::new(), of), None);
    }
}
