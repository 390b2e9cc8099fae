//! The source files of all crates, as text, for tests of rules that the sources themselves must keep.

use std::path::{Path, PathBuf};

/// A source file.
#[derive(Debug)]
pub struct Source {
    /// The path of the file, relative to `crates/`.
    pub name: String,
    pub text: String,
}

impl Source {
    /// Returns the path of the file, relative to the repository's root.
    pub fn path(&self) -> String {
        format!("crates/{}", self.name)
    }
}

/// Reads the Rust files of all crates, tests included, in the order of their paths.
pub fn of_all_crates() -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    walk(&crates, &mut |path: PathBuf| {
        let name = path.strip_prefix(&crates).expect("the file is in crates").display().to_string();
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        found.push(Source { name, text });
    });
    found.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(found.len() > 500, "the sources of all crates are read, not {} files", found.len());
    found
}

fn walk(folder: &Path, take: &mut dyn FnMut(PathBuf)) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            walk(&path, take);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            take(path);
        }
    }
}
