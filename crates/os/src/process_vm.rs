//! Copying straight from or to another process's memory (process_vm_readv(2)).
//!
//! The copy may be forbidden (Yama, seccomp, namespaces): callers must have an alternative. Whether it is faster than
//! a pipelined copy depends on the host; only a measurement tells, which `job` publishes (`HostFacts`).

use crate::errno::checked;
use hawser_base::UserMem;
use std::io;

/// Copies from `remote_addr` in process `pid` to all of `to`. If it fails, any part of `to` may have been
/// overwritten.
pub fn read(pid: i32, remote_addr: u64, to: UserMem) -> io::Result<()> {
    piecewise(remote_addr, to, |local, remote| {
        // SAFETY: `to` is valid for writes (its maker ensures it); the kernel checks the other side.
        checked(unsafe { libc::process_vm_readv(pid, local, 1, remote, 1, 0) } as i64)
    })
}

/// Copies all of `from` to `remote_addr` in process `pid`. If it fails, any part of `from` may have been copied.
pub fn write(pid: i32, remote_addr: u64, from: UserMem) -> io::Result<()> {
    piecewise(remote_addr, from, |local, remote| {
        // SAFETY: `from` is valid for reads (its maker ensures it); the kernel checks the other side.
        checked(unsafe { libc::process_vm_writev(pid, local, 1, remote, 1, 0) } as i64)
    })
}

/// Calls `copy` with the rest of `mem`, and of the remote memory, until all is copied: beyond 2 GiB one call may copy
/// only a part. A call that copies nothing is an error.
fn piecewise(
    remote_addr: u64,
    mem: UserMem,
    copy: impl Fn(&libc::iovec, &libc::iovec) -> io::Result<i64>,
) -> io::Result<()> {
    let mut done = 0;
    while done < mem.len() {
        let (local, remote) = vectors(remote_addr.wrapping_add(done as u64), mem.slice(done, mem.len() - done));
        match copy(&local, &remote)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            copied => done += copied as usize,
        }
    }
    Ok(())
}

fn vectors(remote_addr: u64, local: UserMem) -> (libc::iovec, libc::iovec) {
    (
        libc::iovec { iov_base: local.as_ptr().cast(), iov_len: local.len() },
        libc::iovec { iov_base: remote_addr as usize as *mut libc::c_void, iov_len: local.len() },
    )
}

/// Lets the other processes of this user copy from and to this one if Yama would otherwise permit that only to
/// ancestors (PR_SET_PTRACER_ANY). Needed only if `job`'s host facts require it.
pub fn allow_peers() {
    // SAFETY: a setting of this process; it fails with EINVAL if there is no Yama, and is not needed then.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_can_copy_from_itself() {
        let from = *b"mooring line";
        let mut out = [0u8; 12];
        // SAFETY: `out` outlives the view.
        let to = unsafe { UserMem::new(out.as_mut_ptr(), out.len()) };
        let pid = std::process::id() as i32;
        if read(pid, from.as_ptr().addr() as u64, to).is_ok() {
            assert_eq!(out, from);
            assert!(read(pid, 8, to).is_err());
        }
    }
}
