//! The cgroups that bind this process for a controller: its own and all above it, of version 2 and of version 1.
//!
//! It reads no limits: the caller reads a group's files. Used by `cpus` (quotas) and `hawser-bench` (memory).

use std::path::{Path, PathBuf};

/// The directory where the kernel shows them.
const ROOT: &str = "/sys/fs/cgroup";

/// The version that a group's files belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    One,
    Two,
}

/// Returns the groups of this process.
pub fn groups(controller: &str) -> Vec<(CgroupVersion, PathBuf)> {
    let membership = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups_of(&membership, controller, Path::new(ROOT))
}

/// Returns the groups in `membership`, which is /proc/self/cgroup: lines `0::/path` (version 2) and
/// `N:controllers:/path` (version 1).
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
