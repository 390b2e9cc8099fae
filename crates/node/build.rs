//! HAWSER_BUILD: a hash of the sources of a rank, by which ranks of one job know that they follow the same rules.
//!
//! It is the same for both ABIs, all processors and all profiles of one state of the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// FNV-1a of 32 bits (Fowler, Noll and Vo).
const BASIS: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

/// The crates that crate `name` is built on, itself included.
fn crates_of(crates: &Path, name: &str, found: &mut BTreeSet<String>) {
    if !found.insert(name.to_owned()) {
        return;
    }
    let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).expect("a crate has a manifest");
    let rows = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    for row in rows.take_while(|row| !row.starts_with('[')) {
        let below = row.strip_prefix("hawser-").and_then(|rest| rest.split(['.', ' ', '=']).next());
        if let Some(below) = below {
            crates_of(crates, below, found);
        }
    }
}

fn files(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => drop(found.insert(path)),
        }
    }
}

fn main() {
    let crates = Path::new("..");
    let mut all = BTreeSet::new();
    crates_of(crates, "node", &mut all);
    let mut sources = BTreeSet::new();
    for room in &all {
        let folder = crates.join(room).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        println!("cargo:rerun-if-changed={}", crates.join(room).join("Cargo.toml").display());
        files(&folder, &mut sources);
    }
    let texts = sources.iter().map(|path| fs::read(path).expect("a source is readable"));
    let hash = texts.flatten().fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
    println!("cargo:rustc-env=HAWSER_BUILD={hash:08x}");
}
