//! No crate has an import cycle of more than three modules, neither among its files nor among what a folder contains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hawser_imports::of_crate;

/// As many modules may use each other in turn: two that are one thing in two files, and a third that both need.
const MOST: usize = 3;

/// The crates that have larger cycles, and the size of the largest. A row may only shrink, and goes when it reaches
/// `MOST`.
const LARGER: &[(&str, usize)] = &[("mpi", 46)];

fn crates() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let rooms = entries.filter(|path| path.join("Cargo.toml").exists());
    rooms.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect()
}

/// What is wrong with this crate's largest cycle, if a cycle of `known` modules is.
fn wrong(folder: &Path, name: &str, known: Option<usize>) -> Option<String> {
    let largest = of_crate(folder).largest();
    let size = largest.as_ref().map_or(0, |cycle| cycle.members.len());
    match known {
        Some(known) if size < known => Some(format!(
            "{name}: the largest cycle has {size} modules, LARGER says {known}: {}",
            if size > MOST { "write the new number" } else { "take the row out" }
        )),
        Some(known) if size == known => None,
        _ if size <= MOST => None,
        _ => largest.map(|cycle| format!("{name}: {}", cycle.report())),
    }
}

#[test]
fn no_crate_has_a_cycle_of_more_than_three_modules() {
    let known = |name: &str| LARGER.iter().find(|row| row.0 == name).map(|row| row.1);
    let wrong: Vec<String> = crates().iter().filter_map(|(name, folder)| wrong(folder, name, known(name))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_names_crates_that_exist() {
    let crates = crates();
    assert!(LARGER.iter().all(|(name, size)| crates.contains_key(*name) && *size > MOST), "{LARGER:?}");
}
