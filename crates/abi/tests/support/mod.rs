//! Helpers for the tests of the ABI crates: the tables of the standard, C compilers, scratch folders and the shared
//! libraries themselves. Included by path, because a cdylib gives its own tests nothing.
#![allow(dead_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/NAME is two below the root").to_owned()
}

/// The rows of crates/abi/tables/NAME by column. A missing table fails the test.
pub fn table(name: &str) -> Vec<HashMap<String, String>> {
    let path = root().join("crates/abi/tables").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().expect("a table begins with a line of its columns").split('\t').collect();
    let row = |line: &str| heads.iter().map(|h| h.to_string()).zip(line.split('\t').map(str::to_owned)).collect();
    lines.map(row).collect()
}

/// A folder that is removed with its contents.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("hawser-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a scratch folder can be made");
        Scratch(dir)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a scratch file can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command and expects success; returns its output, else panics with everything that it printed.
pub fn run(command: &mut Command) -> String {
    let out = outcome(command);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{command:?}: {}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr));
    text
}

pub fn outcome(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// The cdylib of a package: the one in the folder that ARTEFACTS_UNDER_TEST names, else it is built (cargo does not,
/// for the tests of one) in the profile of this test.
pub fn build(package: &str, file: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("ARTEFACTS_UNDER_TEST") {
        let library = PathBuf::from(folder).join(file);
        assert!(library.exists(), "ARTEFACTS_UNDER_TEST has no {file}");
        return library;
    }
    let exe = std::env::current_exe().expect("a test knows its own path");
    // The path is target/PROFILE/deps/test.
    let profile = exe.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let release = if profile.ends_with("release") { &["--release"][..] } else { &[] };
    let target = profile.parent().expect("target/PROFILE");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", package]).args(release).env("CARGO_TARGET_DIR", target);
    run(cargo.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")));
    profile.join(file)
}

/// Installs the library under the names by which the loader and `-l` look for it.
pub fn install(library: &Path, dir: &Scratch, soname: &str, link: &str) {
    for name in [soname, link] {
        let _ = std::os::unix::fs::symlink(library, dir.0.join(name));
    }
}

/// The names that a library exports.
pub fn exports(library: &Path) -> Vec<String> {
    let out = run(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library));
    let mut names: Vec<_> = out.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).collect();
    names.sort();
    names
}

/// All functions of the column `header` of functions.tsv as MPI_X and PMPI_X.
pub fn expected(header: &str) -> Vec<String> {
    let functions = table("functions.tsv");
    let names = functions.iter().filter(|r| r[header] == "Y").map(|r| r["name"].clone());
    let mut names: Vec<_> = names.flat_map(|n| [format!("P{n}"), n]).collect();
    names.sort();
    names
}
