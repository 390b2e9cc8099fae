//! Memory with a descriptor but no name: nothing to leak, no /dev/shm to overflow (memfd_create(2)).
//!
//! A file may be far larger than memory: pages exist only after they are touched. If memfd_create is missing or
//! forbidden, the memory is a file without a name in /dev/shm or a folder for temporary files. The limit on file
//! sizes (`ulimit -f`) holds for both kinds of file: it is raised as far as that is allowed when a file gets its
//! length, and then restored.

use crate::ErrorContext;
use crate::errno::{checked, restarted};
use crate::fd_identity;
use crate::filesystem::size_and_free;
use crate::limits::{self, Resource};
use std::ffi::{CStr, CString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The free space, in bytes, that makes a folder good enough for a file without a name: 1 GiB is more than jobs of a
/// few ranks touch.
const ENOUGH_FREE_BYTES: u64 = 1 << 30;

/// Makes a sparse file of `len` zero bytes in memory. If the file is a memfd, `label` shows in /proc/PID/maps, and
/// the file is sealed: no holder of the descriptor can shrink it under a mapping (SIGBUS) or grow it.
pub fn create(label: &CStr, len: u64) -> io::Result<OwnedFd> {
    let fd = create_unsealed(label, len)?;
    seal(fd.as_fd());
    Ok(fd)
}

/// Makes such a file without seals: its size can still be changed, and sealed later.
pub fn create_unsealed(label: &CStr, len: u64) -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // The C library has had the function since glibc 2.27; the libraries run on older ones.
    // SAFETY: `label` is a C string; the call gives a new descriptor or -1.
    let fd = match checked(unsafe { libc::syscall(libc::SYS_memfd_create, label.as_ptr(), flags) }) {
        // SAFETY: the descriptor is new and nobody else's.
        Ok(fd) => unsafe { OwnedFd::from_raw_fd(fd as i32) },
        Err(memfd) => without_name().map_err(|folder| {
            let text = format!(
                "making a shared segment of {len} bytes: memfd_create: {memfd}; a file without a name: {folder}"
            );
            io::Error::new(memfd.kind(), text)
        })?,
    };
    let fd = fd_identity::dup_high(fd);
    with_long_files(|limit| {
        if len > limit {
            let text = format!(
                "a shared segment of {len} bytes is longer than the limit on file sizes (RLIMIT_FSIZE, {limit}); raise it \
                 (ulimit -f unlimited)"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        // SAFETY: plain numbers.
        restarted(|| unsafe { libc::ftruncate(fd.as_raw_fd(), len as i64) })
            .context(|| format!("sizing a shared segment to {len} bytes"))
    })?;
    Ok(fd)
}

/// The seals that fix a file's size and that forbid further seals (linux/fcntl.h).
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Seals the size of a file. A file that cannot be sealed, because it is no memfd, stays as it is.
fn seal(fd: BorrowedFd) {
    // SAFETY: a live descriptor and plain numbers.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) };
}

/// Returns whether the size of the file behind `fd` is sealed; None if the file is of a kind that cannot be sealed.
pub fn is_sealed(fd: BorrowedFd) -> Option<bool> {
    // SAFETY: a live descriptor; the call is a query only.
    let seals = checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) }).ok()? as i32;
    // A file that was not made for sealing has this seal from the start, and can get no other.
    (seals != libc::F_SEAL_SEAL).then_some(seals & SIZE_SEALS == SIZE_SEALS)
}

/// Returns the maximum length of a file that `create` may make, in bytes.
pub fn longest() -> u64 {
    with_long_files(|limit| limit)
}

/// Raises the limit on file sizes as far as this process may, calls `f` with that limit, in bytes, and restores the
/// limit.
fn with_long_files<T>(f: impl FnOnce(u64) -> T) -> T {
    let before = limits::get(Resource::FileSize);
    let now = limits::raise(Resource::FileSize, u64::MAX);
    let result = f(now.soft);
    if now != before {
        // The ranks' programs must get the limit that the user has set.
        let _ = limits::set(Resource::FileSize, before);
    }
    result
}

/// Makes a new file without a name. The folders are tried in this order: those with ENOUGH_FREE_BYTES (/dev/shm
/// first), then the others, that with most free space first. Folders without free space are left out.
fn without_name() -> io::Result<OwnedFd> {
    let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
    let folders = ["/dev/shm", "/tmp", "/var/tmp"].map(PathBuf::from);
    let mut found: Vec<(u64, PathBuf)> = temporary.into_iter().chain(folders).filter_map(with_free_space).collect();
    found.sort_by_key(|(room, folder)| {
        (std::cmp::Reverse((*room).min(ENOUGH_FREE_BYTES)), folder != Path::new("/dev/shm"))
    });
    let mut last = io::Error::other("no folder for temporary files has free space");
    for (_, folder) in found {
        match open_without_name(&folder) {
            Ok(fd) => return Ok(fd),
            Err(error) => last = io::Error::new(error.kind(), format!("{}: {error}", folder.display())),
        }
    }
    Err(last)
}

fn with_free_space(folder: PathBuf) -> Option<(u64, PathBuf)> {
    let name = CString::new(folder.as_os_str().as_bytes()).ok()?;
    let [_, free] = size_and_free(&name).ok()?;
    (free > 0).then_some((free, folder))
}

fn open_without_name(folder: &Path) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
    if let Ok(file) = options.open(folder) {
        return Ok(file.into());
    }
    // This file system has no O_TMPFILE.
    open_and_remove(folder)
}

/// Makes a new file under a random name, and removes the name at once.
fn open_and_remove(folder: &Path) -> io::Result<OwnedFd> {
    let random = u64::from_ne_bytes(crate::host::random()?);
    let name = folder.join(format!("hawser-{}-{random:016x}", crate::host::pid()));
    let file = OpenOptions::new().read(true).write(true).mode(0o600).create_new(true).open(&name)?;
    fs::remove_file(&name)?;
    Ok(file.into())
}

/// Returns the size of the file behind `fd`.
pub fn len(fd: BorrowedFd) -> io::Result<u64> {
    // SAFETY: stat is plain data, for which zeroes are valid; the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a live descriptor and a valid place for the answer.
    checked(unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) })?;
    Ok(stat.st_size as u64)
}

/// Returns the pages of `at .. at + len` to the system; they read as zeroes afterwards.
pub fn punch_hole(fd: BorrowedFd, at: u64, len: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain numbers; the contents of the range are the caller's to give up.
    restarted(|| unsafe { libc::fallocate(fd.as_raw_fd(), mode, at as i64, len as i64) })
        .map(drop)
        .context(|| format!("freeing {len} bytes of a shared segment"))
}

/// Makes sure that the pages of `at .. at + len` exist, so that touching them cannot end in SIGBUS.
pub fn allocate(fd: BorrowedFd, at: u64, len: u64) -> io::Result<()> {
    // SAFETY: plain numbers; existing contents stay.
    restarted(|| unsafe { libc::fallocate(fd.as_raw_fd(), 0, at as i64, len as i64) })
        .map(drop)
        .context(|| format!("reserving {len} bytes of shared memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map;

    #[test]
    fn a_file_without_a_name_is_memory_too() {
        // The folder is this test's own: other tests make files in that for temporary files at the same time.
        let folder = std::env::temp_dir().join(format!("hawser-memfd-{}", crate::host::pid()));
        fs::create_dir(&folder).unwrap();
        for fd in [without_name().unwrap(), open_without_name(&folder).unwrap(), open_and_remove(&folder).unwrap()] {
            // SAFETY: plain numbers.
            restarted(|| unsafe { libc::ftruncate(fd.as_raw_fd(), 1 << 30) }).unwrap();
            let (one, other) =
                (map::shared(fd.as_fd(), 0, 8192).unwrap(), map::shared(fd.as_fd(), 4096, 4096).unwrap());
            one.bytes(4096, 4).write(b"rope");
            let mut out = [0; 4];
            other.bytes(0, 4).read(&mut out);
            assert_eq!(&out, b"rope");
            punch_hole(fd.as_fd(), 4096, 4096).unwrap();
        }
        // A folder that still has a file in it cannot be removed.
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_punched_hole_reads_as_zeroes() {
        let fd = create(c"hawser-test", 1 << 40).unwrap();
        assert_eq!(len(fd.as_fd()).unwrap(), 1 << 40);
        let region = map::shared(fd.as_fd(), 1 << 39, 8192).unwrap();
        region.bytes(4096, 4).write(b"rope");
        allocate(fd.as_fd(), 1 << 39, 4096).unwrap();
        punch_hole(fd.as_fd(), (1 << 39) + 4096, 4096).unwrap();
        let mut out = [1; 4];
        region.bytes(4096, 4).read(&mut out);
        assert_eq!(out, [0; 4]);
    }

    #[test]
    fn a_segments_size_is_sealed_and_other_files_are_told_apart() {
        let fd = create(c"hawser-test", 1 << 20).unwrap();
        assert_eq!(is_sealed(fd.as_fd()), Some(true));
        let file = std::fs::File::from(fd);
        assert!(file.set_len(1 << 19).is_err() && file.set_len(1 << 21).is_err());
        let open = create_unsealed(c"hawser-test", 1 << 20).unwrap();
        assert_eq!(is_sealed(open.as_fd()), Some(false));
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(is_sealed(plain.as_fd()), None);
    }
}
