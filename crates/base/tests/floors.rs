//! Tests the layers of the workspace: a crate may use crates of lower layers, never one above, and not one of its own
//! layer (docs/adr/0002-floors.md). Dev-dependencies are exempt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every crate and its layer. A new crate is one row here.
const FLOORS: &[(&str, u32)] = &[
    ("base", 0),
    ("sim", 0),
    ("imports", 0),
    ("link", 1),
    ("datatype", 1),
    ("coll", 1),
    ("os", 1),
    ("fortran", 1),
    ("device", 2),
    ("boot", 2),
    ("job", 2),
    ("host", 3),
    ("dev-shm", 3),
    ("dev-ether", 3),
    ("dev-ofi", 3),
    ("transport", 4),
    ("p2p", 5),
    ("mpi", 6),
    ("node", 7),
    ("abi", 7),
    ("abi-std", 8),
    ("abi-mpich", 8),
    ("fortran-std", 8),
    ("fortran-mpich", 8),
    ("pm", 8),
    ("mad", 8),
    ("mplite", 8),
    ("launch", 8),
    ("bench", 8),
];

/// Crates that may contain `unsafe`; every other one forbids it.
const UNSAFE: &[&str] = &[
    "os",
    "base",
    "datatype",
    "dev-shm",
    "dev-ofi",
    "abi",
    "abi-std",
    "abi-mpich",
    "fortran",
    "fortran-std",
    "fortran-mpich",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn layer(crate_name: &str) -> u32 {
    let found = FLOORS.iter().find(|(name, _)| *name == crate_name);
    found.unwrap_or_else(|| panic!("room {crate_name} has no floor: add it to FLOORS")).1
}

/// Returns the crates in the checkout and the text of their manifests.
fn manifests() -> BTreeMap<String, String> {
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path().join("Cargo.toml")).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), text))
    };
    std::fs::read_dir(crates()).unwrap().filter_map(|entry| read(entry.unwrap())).collect()
}

/// Returns the crates that a manifest's dependencies name, without dev-dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let table = line.trim_matches(['[', ']']);
            inside = table.ends_with("dependencies") && !table.contains("dev-dependencies");
            let named = table.rsplit("dependencies.").next().and_then(|name| name.strip_prefix("hawser-"));
            found.extend(named.filter(|_| !table.contains("dev-dependencies")).map(str::to_owned));
        } else if inside && let Some(rest) = line.strip_prefix("hawser-") {
            found.push(rest.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    found
}

/// Returns what is wrong with one crate's dependencies.
fn wrong_edges(crate_name: &str, manifest: &str) -> Vec<String> {
    let own = layer(crate_name);
    let wrong = dependencies(manifest).into_iter().filter(|other| layer(other) >= own);
    wrong.map(|other| format!("{crate_name} (floor {own}) uses {other} (floor {})", layer(&other))).collect()
}

#[test]
fn no_room_uses_its_own_floor_or_one_above() {
    let wrong: Vec<String> = manifests().iter().flat_map(|(crate_name, text)| wrong_edges(crate_name, text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_upward_and_a_sideways_edge_are_found() {
    let up = "[dependencies]\nhawser-mpi.workspace = true\n[dev-dependencies]\nhawser-node = { path = \"x\" }\n";
    assert_eq!(wrong_edges("device", up), ["device (floor 2) uses mpi (floor 6)"]);
    let sideways = "[dependencies.hawser-coll]\nworkspace = true\n";
    assert_eq!(wrong_edges("datatype", sideways), ["datatype (floor 1) uses coll (floor 1)"]);
    let target = "[target.'cfg(unix)'.dependencies]\nhawser-launch = { workspace = true }\n";
    assert_eq!(wrong_edges("bench", target), ["bench (floor 8) uses launch (floor 8)"]);
}

#[test]
fn every_other_room_forbids_unsafe() {
    for crate_name in manifests().keys().filter(|room| !UNSAFE.contains(&room.as_str())) {
        let source = crates().join(crate_name).join("src");
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().filter(|path| path.exists());
        for root in roots {
            let text = std::fs::read_to_string(&root).unwrap();
            assert!(text.contains("#![forbid(unsafe_code)]"), "{} does not forbid unsafe code", root.display());
        }
    }
}
