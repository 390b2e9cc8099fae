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

/// Returns whether a process of this user may copy from another process that has called `allow_peers`. Two children
/// of this process try it, since ranks are such children too. Calls fork: only for processes of one thread, such as
/// the launcher.
pub fn allowed_between_children() -> bool {
    let word = 0x6861_7773_6572_u64;
    let mut copy = 0_u64;
    let (Ok((ready, report_ready)), Ok((hold, release))) = (crate::pipe::pipe(), crate::pipe::pipe()) else {
        return false;
    };
    // SAFETY: the caller's process has one thread, so the child may do everything that its parent may.
    let target = unsafe { libc::fork() };
    if target == 0 {
        allow_peers();
        drop(release);
        let _ = crate::pipe::write(std::os::fd::AsFd::as_fd(&report_ready), b"r");
        let _ = crate::pipe::read(std::os::fd::AsFd::as_fd(&hold), &mut [0]);
        // SAFETY: leaves the child at once, running nothing of its parent's.
        unsafe { libc::_exit(0) }
    }
    drop((report_ready, hold));
    let _ = crate::pipe::read(std::os::fd::AsFd::as_fd(&ready), &mut [0]);
    // SAFETY: as above.
    let reader = unsafe { libc::fork() };
    if reader == 0 {
        // SAFETY: `copy` is a live word of this process.
        let to = unsafe { UserMem::new((&raw mut copy).cast(), 8) };
        let good = read(target, (&raw const word).addr() as u64, to).is_ok() && copy == word;
        // SAFETY: as above.
        unsafe { libc::_exit(if good { 0 } else { 1 }) }
    }
    let allowed = target > 0 && reader > 0 && reap(reader) == Some(0);
    drop(release);
    if target > 0 {
        reap(target);
    }
    allowed
}

/// Returns how long process_vm_readv takes to copy `from` within this process: the minimum of `tries` copies, in ns.
/// None if a copy fails, or if `tries` is 0.
pub fn time_ns(from: &[u8], tries: u32) -> Option<u64> {
    let mut out = vec![1u8; from.len()];
    let mut best_ns = None;
    for _ in 0..tries {
        // SAFETY: `out` outlives the view, which nothing else uses.
        let to = unsafe { UserMem::new(out.as_mut_ptr(), out.len()) };
        let start_ns = crate::clock::now_ns();
        read(crate::host::pid(), from.as_ptr().addr() as u64, to).ok()?;
        let took_ns = crate::clock::now_ns() - start_ns;
        best_ns = Some(best_ns.map_or(took_ns, |best: u64| best.min(took_ns)));
    }
    best_ns
}

fn reap(pid: i32) -> Option<i32> {
    let mut status = -1;
    // SAFETY: a child of ours and a valid place for its status.
    crate::errno::restarted(|| unsafe { libc::waitpid(pid, &mut status, 0) }).ok()?;
    Some(status)
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
