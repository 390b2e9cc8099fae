//! Resource limits of this process (getrlimit(2)), by the names of `ulimit`.

use crate::errno::checked;
use std::io;

/// A limit in force and the ceiling up to which it may be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub soft: u64,
    pub hard: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Open descriptors, `ulimit -n`.
    Descriptors,
    /// Locked bytes, `ulimit -l`.
    Locked,
    /// Bytes of address space, `ulimit -v`.
    AddressSpace,
    /// Bytes of a file, `ulimit -f`; applies to memfds too.
    FileSize,
    /// Processes and threads of this user, `ulimit -u`.
    Processes,
}

impl Resource {
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Resource::Descriptors => libc::RLIMIT_NOFILE,
            Resource::Locked => libc::RLIMIT_MEMLOCK,
            Resource::AddressSpace => libc::RLIMIT_AS,
            Resource::FileSize => libc::RLIMIT_FSIZE,
            Resource::Processes => libc::RLIMIT_NPROC,
        }
    }
}

pub fn get(resource: Resource) -> Limit {
    // If the query is forbidden, infinity is returned, and the kernel refuses an excess when the resource is used.
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrlimit(resource.number(), &mut limit) };
    Limit { soft: limit.rlim_cur, hard: limit.rlim_max }
}

pub fn set(resource: Resource, limit: Limit) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: limit.soft, rlim_max: limit.hard };
    // SAFETY: a valid limit; the kernel refuses what is not allowed.
    checked(unsafe { libc::setrlimit(resource.number(), &limit) }).map(drop)
}

/// Raises the soft limit to at least `wanted`, beyond the hard limit if this process has the privilege, otherwise at
/// most to the hard limit. Returns the limit in force.
pub fn raise(resource: Resource, wanted: u64) -> Limit {
    let now = get(resource);
    if now.soft < wanted && set(resource, Limit { soft: wanted, hard: now.hard.max(wanted) }).is_err() {
        let _ = set(resource, Limit { soft: now.hard.min(wanted), hard: now.hard });
    }
    get(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_can_be_lowered_and_raised_within_its_ceiling() {
        let before = get(Resource::Descriptors);
        set(Resource::Descriptors, Limit { soft: before.soft - 1, hard: before.hard }).unwrap();
        assert_eq!(raise(Resource::Descriptors, before.soft), before);
    }
}
