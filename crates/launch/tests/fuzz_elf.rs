//! Fuzzes the file that mpiexec must start: the libraries that it is linked with are read from it, or nothing.
//!
//! The files are a small program with any of its bytes changed, and any bytes. Reading ends, and takes no more memory
//! than its bounds on tables and names allow, whatever lengths the file claims.

use bolero::{TypeGenerator, check};
use hawser_launch::agent::mpi_library::{ForeignMpi, foreign_mpi};
use std::fs;
use std::path::{Path, PathBuf};

/// The memory of 4096 names of 4 KiB, the entries that name them, and the same for a path with every `$ORIGIN`
/// replaced.
const MEMORY_MAX: u64 = 32 << 20;

const NEEDED: &str = "libmpi.so.40";
/// The offsets of the small file's parts; all of it is loaded at `BASE`.
const BASE: u64 = 0x400000;
const DYNAMIC_AT: u64 = 64 + 2 * 56;
const STRINGS_AT: u64 = DYNAMIC_AT + 5 * 16;

/// A program that needs `NEEDED`, with the DT_RPATH `$ORIGIN/lib`: header, PT_LOAD, PT_DYNAMIC, entries, strings.
fn program() -> Vec<u8> {
    let strings = format!("\0{NEEDED}\0$ORIGIN/lib\0");
    let end = STRINGS_AT + strings.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let (half, word) = (|value: u16| value.to_le_bytes().to_vec(), |value: u64| value.to_le_bytes().to_vec());
    file.extend([half(2), half(62), 1u32.to_le_bytes().to_vec(), word(BASE), word(64), word(0)].concat());
    file.extend([0u32.to_le_bytes().to_vec(), half(64), half(56), half(2), half(0), half(0), half(0)].concat());
    for (kind, at, len) in [(1u32, 0, end), (2, DYNAMIC_AT, STRINGS_AT - DYNAMIC_AT)] {
        file.extend([kind.to_le_bytes(), 4u32.to_le_bytes()].concat());
        file.extend([at, BASE + at, BASE + at, len, len, 8].map(u64::to_le_bytes).concat());
    }
    let rpath = 2 + NEEDED.len() as u64;
    let entries = [(1, 1), (15, rpath), (5, BASE + STRINGS_AT), (10, strings.len() as u64), (0, 0)];
    file.extend(entries.map(|(tag, value): (u64, u64)| [tag.to_le_bytes(), value.to_le_bytes()].concat()).concat());
    assert_eq!(file.len() as u64, STRINGS_AT);
    file.extend(strings.as_bytes());
    file
}

#[derive(Clone, Debug, TypeGenerator)]
enum Change {
    Byte {
        at: u16,
        value: u8,
    },
    Word {
        at: u16,
        value: u64,
    },
    Cut(u16),
    /// Appends more of the same, so that tables can be long.
    Grow(u8),
}

fn changed(changes: &[Change]) -> Vec<u8> {
    let mut file = program();
    for change in changes {
        let offset = |at: u16, size: usize| usize::from(at) % (file.len().max(size) - size + 1);
        match *change {
            Change::Byte { at, value } => {
                let at = offset(at, 1);
                file[at..].first_mut().into_iter().for_each(|byte| *byte = value);
            }
            Change::Word { at, value } => {
                let at = offset(at, 8) & !7;
                file.get_mut(at..at + 8).into_iter().for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
            }
            Change::Cut(len) => file.truncate(len.into()),
            Change::Grow(times) if file.len() < 1 << 12 => file.extend(file.repeat(usize::from(times % 8))),
            Change::Grow(_) => {}
        }
    }
    file
}

/// A directory for one file and our libraries, removed with the test.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new(name: &str) -> TestDirectory {
        let path = std::env::temp_dir().join(format!("hawser-fuzz-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("ours")).unwrap();
        fs::write(path.join("ours/libmpi.so.12"), "").unwrap();
        TestDirectory(path)
    }

    fn find_foreign_mpi(&self, file: &[u8]) -> Option<String> {
        let program = self.0.join("program");
        // A new file each time: overwriting one waits for the disk.
        let _ = fs::remove_file(&program);
        fs::write(&program, file).unwrap();
        let mut other = None;
        let memory = allocation_counter::measure(|| other = foreign_mpi(&program, &self.0.join("ours")));
        assert!(memory.bytes_max <= MEMORY_MAX, "{} bytes", memory.bytes_max);
        other.map(|(ForeignMpi::Name(file) | ForeignMpi::ByRpath(file))| file)
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_small_program_is_read() {
    let directory = TestDirectory::new("small");
    assert_eq!(directory.find_foreign_mpi(&program()).as_deref(), Some(NEEDED));
}

#[test]
fn programs_with_changes() {
    let directory = TestDirectory::new("changed");
    check!().with_type::<Vec<Change>>().with_iterations(5000).for_each(|changes| {
        let file = changed(changes);
        if let Some(other) = directory.find_foreign_mpi(&file) {
            // The name is in the file, or belongs to a file that was found by such a name.
            let name = Path::new(&other).file_name().unwrap().to_string_lossy().into_owned();
            assert!(String::from_utf8_lossy(&file).contains(&name), "{other}");
        }
    });
}

#[test]
fn files_of_any_bytes() {
    let directory = TestDirectory::new("any");
    check!().with_iterations(2000).for_each(|file| _ = directory.find_foreign_mpi(file));
}
