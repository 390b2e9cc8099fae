//! Tests that no crate has an import cycle of more than three modules, neither among its files nor in any level.

use std::path::{Path, PathBuf};

use hawser_imports::of_crate;

/// The most modules that may use each other in turn: two that are one thing in two files, and a third that both need.
const MOST: usize = 3;

fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("Cargo.toml").exists()).collect()
}

/// The largest cycle of the crate in this folder, if it is too large.
fn wrong(folder: &Path) -> Option<String> {
    let largest = of_crate(folder).largest().filter(|cycle| cycle.members.len() > MOST)?;
    Some(format!("{}: {}", folder.display(), largest.report()))
}

#[test]
fn no_crate_has_a_cycle_of_more_than_three_modules() {
    let crates = crates();
    assert!(crates.len() > 10, "{crates:?}");
    let wrong: Vec<String> = crates.iter().filter_map(|folder| wrong(folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
