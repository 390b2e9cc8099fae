//! The cgroups whose limits for a controller bind this process: the process's own cgroup and all its ancestors, of
//! version 2 and of version 1.
//!
//! This module reads no limits: the caller reads a group's files. Used by `cpus` (quotas) and `hawser-bench`
//! (memory).

use std::path::{Path, PathBuf};

/// The directory where the kernel shows cgroups.
const ROOT: &str = "/sys/fs/cgroup";

/// The version that a group's files belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    One,
    Two,
}

/// Returns the directories of the cgroups that bind this process for `controller`.
pub fn groups(controller: &str) -> Vec<(CgroupVersion, PathBuf)> {
    let membership = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups_of(&membership, controller, Path::new(ROOT))
}

/// Returns the directories, below `root`, of the groups in `membership` and of their ancestors. `membership` is the
/// text of /proc/self/cgroup: lines `0::/path` (version 2) and `N:controllers:/path` (version 1). Groups of version 1
/// count only if `controller` is one of their controllers.
pub(crate) fn groups_of(membership: &str, controller: &str, root: &Path) -> Vec<(CgroupVersion, PathBuf)> {
    let mut groups = Vec::new();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (version, base) = match controllers {
            "" => (CgroupVersion::Two, root.to_owned()),
            list if list.split(',').any(|name| name == controller) => (CgroupVersion::One, root.join(controller)),
            _ => continue,
        };
        let group = base.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|group| group.starts_with(&base));
        groups.extend(above.map(|group| (version, group.to_owned())));
    }
    groups
}
