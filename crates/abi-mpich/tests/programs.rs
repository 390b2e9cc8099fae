//! Runs C programs on one rank, compiled with our header: objects, messages to itself, errors.

#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::process::Command;
use support::{Scratch, build, install, root, run};

/// Compiles crates/abi/tests/c/NAME.c and runs it; the program prints what went wrong.
fn passes(name: &str) {
    let dir = Scratch::new(&format!("mpich-{name}"));
    install(&build("hawser-abi-mpich", "libmpi.so"), &dir, "libmpi.so.12", "libmpi.so");
    let program = dir.0.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror"]).arg(root().join(format!("crates/abi/tests/c/{name}.c")));
    cc.arg("-I").arg(root().join("include/mpich")).arg("-L").arg(&dir.0).args(["-lmpi", "-o"]);
    run(cc.arg(&program));
    run(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
}

#[test]
fn objects() {
    passes("objects");
}

#[test]
fn messages() {
    passes("messages");
}

#[test]
fn groups_of_ranks() {
    passes("groups_of_ranks");
}
