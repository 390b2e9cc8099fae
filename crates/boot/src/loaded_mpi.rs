//! Finds a second MPI library in a process by the names of the mapped files, and makes the error with the remedy.
//!
//! Used by the library at MPI_Init (`agent_connection`, `host::manual_start`) and by the agent on programs and on
//! ranks that have not attached (`launch`).

use hawser_base::{Class, Error, Result};
use hawser_os::{host, process_tree};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The names of MPI libraries, up to `.so`: those of MPICH and its derivatives, of Open MPI and its parts, and of the
/// standard ABI. Wrappers (libmpicxx, libmpifort, profilers) are not among them, because they work on top of any MPI
/// library.
const NAMES: [&str; 9] = [
    "libmpi.so",
    "libmpi_abi.so",
    "libmpich.so",
    "libpmpi.so",
    "libopen-pal.so",
    "libopen-rte.so",
    "libmpi_mt.so",
    "libmpi_dbg.so",
    "libmpi_ilp64_core.so",
];

/// Returns whether `path` is named like an MPI library: `libmpi.so`, `libmpi.so.12.1`, `libmpi-1a2b.so.12` (from a
/// Python wheel).
pub fn is_mpi(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let plain = match (name.find('-'), name.find(".so")) {
        (Some(dash), Some(so)) if dash < so && !name.starts_with("libopen-") => {
            format!("{}{}", &name[..dash], &name[so..])
        }
        _ => name.to_owned(),
    };
    NAMES.iter().any(|known| plain.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Second names of our libraries, and the library that each stands for. They are links; where there can be none, in a
/// Python wheel, they are libraries that load the other one (`packaging/wheel.sh`).
const SECOND_NAMES: [(&str, &str); 2] = [("libmpich.so.12", "libmpi.so.12"), ("libmpi_abi.so.0", "libmpi_abi.so.1")];

/// The MPI libraries among the mapped files of process `pid`, except `ours` and the second name for it.
pub fn other_libraries(pid: i32, ours: Option<&Path>) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let ours = ours.map(real);
    let is_ours = |path: &Path| ours.as_ref().is_some_and(|ours| path == ours || is_second_name(path, ours));
    process_tree::mapped_files(pid).into_iter().filter(|path| is_mpi(path) && !is_ours(&real(path))).collect()
}

/// Whether `path` is a second name, in the same directory, for our library `ours`.
fn is_second_name(path: &Path, ours: &Path) -> bool {
    let names = (path.file_name().and_then(OsStr::to_str), ours.file_name().and_then(OsStr::to_str));
    path.parent() == ours.parent() && SECOND_NAMES.iter().any(|&(name, real)| names == (Some(name), Some(real)))
}

/// Returns an error if this process has loaded another MPI library. `code` is the address of any function of our
/// library.
pub fn refuse_second_mpi(code: usize) -> Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Some(ours) = file_at(&maps, code) else { return Ok(()) };
    match other_libraries(host::pid(), Some(&ours)).first() {
        // Our code is linked into the program itself (tests, tools): there is no library of ours to distinguish from
        // others.
        Some(_) if !is_mpi(&ours) => Ok(()),
        Some(other) => Err(Error::new(
            Class::Other,
            format!(
                "this process has loaded another MPI library, {}, in addition to Hawser's {}; {}",
                other.display(),
                ours.display(),
                remedy(other, &ours)
            ),
        )),
        None => Ok(()),
    }
}

fn remedy(other: &Path, ours: &Path) -> String {
    if other.parent() == ours.parent() {
        return "the program and one of its libraries were built for different MPI ABIs: rebuild one of them".into();
    }
    format!(
        "put Hawser first (LD_LIBRARY_PATH={}), or rebuild the program or library that needs the other one with \
         Hawser's mpicc",
        ours.parent().unwrap_or(Path::new("/")).display()
    )
}

/// The file that is mapped at `address`, according to the text of /proc/PID/maps; None if there is none.
fn file_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        let range = usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?;
        range.contains(&address).then(|| line.find('/').map(|at| PathBuf::from(&line[at..])))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi_libraries_are_known_by_name_and_wrappers_are_not() {
        for name in [
            "libmpi.so.40",
            "libmpi.so.12",
            "libmpi.so",
            "libmpi_abi.so.1",
            "libopen-pal.so.80.0.5",
            "libmpi-8d1f.so.12.4",
        ] {
            assert!(is_mpi(&Path::new("/usr/lib").join(name)), "{name}");
        }
        for name in ["libmpicxx.so.12", "libmpifort.so.12", "libmpiP.so", "libmpi.a", "libc.so.6", "libmpi_wrap.so"] {
            assert!(!is_mpi(&Path::new("/usr/lib").join(name)), "{name}");
        }
    }

    #[test]
    fn a_second_name_stands_for_the_library_beside_it_alone() {
        let second = |path, ours| is_second_name(Path::new(path), Path::new(ours));
        assert!(second("/a/libmpich.so.12", "/a/libmpi.so.12"));
        assert!(second("/a/libmpi_abi.so.0", "/a/libmpi_abi.so.1"));
        assert!(!second("/b/libmpich.so.12", "/a/libmpi.so.12"));
        assert!(!second("/a/libmpich.so.12", "/a/libmpi_abi.so.1"));
        assert!(!second("/a/libmpi.so.40", "/a/libmpi.so.12"));
    }

    #[test]
    fn the_file_of_an_address_is_found() {
        let maps = "10-20 r-xp 0 08:01 5 /usr/lib/libmpi.so.12\n20-30 rw-p 0 00:00 0 \n";
        assert_eq!(file_at(maps, 0x1f), Some(PathBuf::from("/usr/lib/libmpi.so.12")));
        assert_eq!(file_at(maps, 0x20), None);
        let here = file_at(&std::fs::read_to_string("/proc/self/maps").unwrap(), file_at as *const () as usize);
        assert_eq!(here, std::env::current_exe().ok());
    }

    #[test]
    fn this_test_has_loaded_no_mpi() {
        assert!(other_libraries(host::pid(), None).is_empty());
        assert!(refuse_second_mpi(file_at as *const () as usize).is_ok());
    }
}
