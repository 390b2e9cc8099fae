//! Finds the MPI library that a program was linked with, by reading the program's file before it is started (ELF, 64
//! bits, little-endian).
//!
//! A program that is linked with another MPI is refused: if it were started, each of its processes would be rank 0 of
//! a job of its own. Programs that load MPI later (Python) are checked while they run, in `run`. Files that are not
//! ELF are not checked.

use hawser_boot::loaded_mpi;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The maximum number of program headers, and of dynamic entries, that are read; real files have far fewer.
const ENTRIES_MAX: usize = 4096;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// The other MPI library that a program would load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignMpi {
    /// The name of a library that Hawser cannot replace, because it has none of that name.
    Name(String),
    /// The file of a library that the program's own search path (DT_RPATH) prefers to Hawser's library of the same
    /// name.
    ByRpath(String),
}

/// Returns the other MPI library that `program` would load, or None if it would load none or its file is not
/// understood. `own_directory` is the directory of our libraries.
pub fn foreign_mpi(program: &Path, own_directory: &Path) -> Option<ForeignMpi> {
    let dynamic = ElfDynamic::read(program)?;
    let needed = dynamic.needed.iter().find(|name| loaded_mpi::is_mpi(Path::new(name)))?;
    if !own_directory.join(needed).exists() {
        return Some(ForeignMpi::Name(needed.clone()));
    }
    // DT_RPATH, unlike DT_RUNPATH, is searched before LD_LIBRARY_PATH.
    let origin = program.canonicalize().ok()?.parent()?.to_owned();
    dynamic.rpath.iter().find_map(|directory| {
        let directory = directory
            .replace("$ORIGIN", &origin.display().to_string())
            .replace("${ORIGIN}", &origin.display().to_string());
        let file = Path::new(&directory).join(needed);
        let is_foreign = file.exists() && file.canonicalize().ok() != own_directory.join(needed).canonicalize().ok();
        is_foreign.then(|| ForeignMpi::ByRpath(file.display().to_string()))
    })
}

/// The file that is started for `program`: with a slash in it, the program itself, whether it exists or not;
/// otherwise the first file of that name in the folders of `path` or in `directory`, the working directory. None if
/// no folder has one.
pub fn find_program(program: &Path, directory: &Path, path: &str) -> Option<PathBuf> {
    if program.components().count() > 1 || program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return Some(directory.join(program));
    }
    let in_path = path.split(':').map(|entry| directory.join(entry).join(program)).find(|file| file.is_file());
    in_path.or_else(|| Some(directory.join(program))).filter(|file| file.is_file())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ElfDynamic {
    needed: Vec<String>,
    /// The folders of DT_RPATH; empty if there is a DT_RUNPATH, because the loader then ignores DT_RPATH.
    rpath: Vec<String>,
}

impl ElfDynamic {
    fn read(program: &Path) -> Option<ElfDynamic> {
        // Opening a pipe would wait for its writer.
        let file = program.is_file().then(|| File::open(program))?.ok()?;
        let header = bytes(&file, 0, 64)?;
        // The magic number of ELF, the class of 64 bits, and the byte order with the least significant byte first.
        if header[..4] != *b"\x7fELF" || header[4] != 2 || header[5] != 1 {
            return None;
        }
        let (at, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
        let segments: Vec<Vec<u8>> =
            (0..count.min(ENTRIES_MAX as u64)).map_while(|i| bytes(&file, at.checked_add(i * size)?, 56)).collect();
        let dynamic = segments.iter().find(|segment| u32_at(segment, 0) == Some(PT_DYNAMIC))?;
        let table = bytes(&file, u64_at(dynamic, 8)?, (u64_at(dynamic, 32)? as usize).min(ENTRIES_MAX * 16))?;
        let entries: Vec<(u64, u64)> = table
            .chunks_exact(16)
            .map_while(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 8)?)))
            .take_while(|e| e.0 != 0)
            .collect();
        let value = |tag: u64| entries.iter().find(|entry| entry.0 == tag).map(|entry| entry.1);
        let strings = file_offset(&segments, value(DT_STRTAB)?)?;
        let text = |offset: u64| string(&file, strings.checked_add(offset)?);
        let needed = entries.iter().filter(|entry| entry.0 == DT_NEEDED).filter_map(|entry| text(entry.1)).collect();
        let rpath = value(DT_RPATH).filter(|_| value(DT_RUNPATH).is_none()).and_then(text).unwrap_or_default();
        let rpath = rpath.split(':').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
        Some(ElfDynamic { needed, rpath })
    }
}

/// The offset in the file of the byte that is loaded at `address`.
fn file_offset(segments: &[Vec<u8>], address: u64) -> Option<u64> {
    segments.iter().filter(|segment| u32_at(segment, 0) == Some(PT_LOAD)).find_map(|segment| {
        let (offset, from, len) = (u64_at(segment, 8)?, u64_at(segment, 16)?, u64_at(segment, 32)?);
        let within = address.checked_sub(from)?;
        (within < len).then(|| offset.checked_add(within))?
    })
}

fn bytes(file: &File, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn string(file: &File, at: u64) -> Option<String> {
    let mut bytes = [0; 4096];
    let len = file.read_at(&mut bytes, at).ok()?;
    let end = bytes[..len].iter().position(|&b| b == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_programs_libraries_are_read_and_other_files_say_nothing() {
        let shell = find_program(Path::new("sh"), Path::new("/"), "/no:/bin:/usr/bin").unwrap();
        assert!(ElfDynamic::read(&shell).unwrap().needed.iter().any(|name| name.starts_with("libc.so")));
        assert_eq!(ElfDynamic::read(Path::new("/etc/passwd")), None);
        assert_eq!(foreign_mpi(&shell, Path::new("/ours")), None);
        assert_eq!(find_program(Path::new("hawser-none"), Path::new("/"), "/bin"), None);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let pipe = std::env::temp_dir().join(format!("hawser-needs-pipe-{}", hawser_os::host::pid()));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(ElfDynamic::read(&pipe), None);
        fs::remove_file(pipe).unwrap();
    }

    #[test]
    fn programs_of_another_mpi_are_found_out() {
        let directory = std::env::temp_dir().join(format!("hawser-needs-{}", hawser_os::host::pid()));
        for part in ["ours", "theirs"] {
            fs::create_dir_all(directory.join(part)).unwrap();
        }
        fs::write(directory.join("mpi.c"), "int x(void) { return 0; }\n").unwrap();
        fs::write(directory.join("main.c"), "int x(void); int main(void) { return x(); }\n").unwrap();
        let cc = |arguments: &str| {
            let status = Command::new("cc").current_dir(&directory).args(arguments.split(' ')).status();
            assert!(status.unwrap().success(), "cc {arguments}");
        };
        let (ours, program) = (directory.join("ours"), directory.join("a"));
        cc("-shared -o theirs/libmpi.so.40 -Wl,-soname,libmpi.so.40 mpi.c");
        cc("-o a main.c theirs/libmpi.so.40");
        assert_eq!(foreign_mpi(&program, &ours), Some(ForeignMpi::Name("libmpi.so.40".into())));
        cc("-shared -o theirs/libmpi.so.12 -Wl,-soname,libmpi.so.12 mpi.c");
        cc("-shared -o ours/libmpi.so.12 -Wl,-soname,libmpi.so.12 mpi.c");
        cc("-o a main.c theirs/libmpi.so.12 -Wl,--enable-new-dtags,-rpath,$ORIGIN/theirs");
        assert_eq!(foreign_mpi(&program, &ours), None);
        cc("-o a main.c theirs/libmpi.so.12 -Wl,--disable-new-dtags,-rpath,$ORIGIN/theirs");
        assert!(
            matches!(foreign_mpi(&program, &ours), Some(ForeignMpi::ByRpath(f)) if f.ends_with("/theirs/libmpi.so.12"))
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
