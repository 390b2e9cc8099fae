//! Network namespaces: hosts of our own on one machine, for benchmarks and tests (namespaces(7)).
//!
//! A namespace vanishes, with all that was made in it, when its last descriptor, socket and process are gone: nothing
//! is left behind, not even after kill -9.

use crate::ErrorContext;
use crate::errno::checked;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

pub struct NetNamespace(OwnedFd);

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl NetNamespace {
    /// Returns the namespace that this thread is in.
    pub fn current() -> io::Result<NetNamespace> {
        File::open("/proc/thread-self/ns/net").map(|file| NetNamespace(file.into()))
    }

    /// Makes a new namespace, empty except for a loopback interface that is down. Needs CAP_SYS_ADMIN (`become_root`).
    pub fn new() -> io::Result<NetNamespace> {
        let home = NetNamespace::current()?;
        // SAFETY: moves this thread alone.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).context(|| "making a network namespace".into())?;
        let made = NetNamespace::current();
        home.enter()?;
        made
    }

    fn enter(&self) -> io::Result<()> {
        // SAFETY: a live descriptor; moves this thread alone.
        checked(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) })
            .map(drop)
            .context(|| "entering a network namespace".into())
    }

    /// Runs `f` inside: sockets that it makes and processes that it starts stay there.
    pub fn within<T>(&self, f: impl FnOnce() -> T) -> io::Result<T> {
        struct RestoreNamespace(NetNamespace);
        impl Drop for RestoreNamespace {
            fn drop(&mut self) {
                self.0.enter().expect("the way back home");
            }
        }
        let home = NetNamespace::current()?;
        self.enter()?;
        let _home = RestoreNamespace(home);
        Ok(f())
    }
}

/// Makes this process, which must have only one thread, root in a user namespace of its own, if it is not root
/// already. This lets users make network namespaces if the system permits it. The process leaves its network
/// namespace for a new, empty one. To that one it can return later, but never to the one that it left.
pub fn become_root() -> io::Result<()> {
    let (user, group) = (crate::host::user(), crate::host::group());
    if user == 0 {
        return Ok(());
    }
    // SAFETY: fails if there are several threads, otherwise moves this process.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })
        .context(|| "making a user namespace".into())?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
