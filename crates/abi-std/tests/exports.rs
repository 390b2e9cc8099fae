//! Tests `libmpi_abi.so.1` as the loader and a C program see it.

#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;
use support::{Scratch, build, exports, install, root, run};

fn library() -> PathBuf {
    build("hawser-abi-std", "libmpi_abi.so")
}

/// The functions that MPICH's libmpi_abi.so.1 (5.0.2) exports, and that no header of this ABI declares.
const UNDECLARED: [&str; 15] = [
    "MPI_Address",
    "MPI_Errhandler_create",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_Type_extent",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_struct",
    "MPI_Type_ub",
    "MPIX_Grequest_class_allocate",
    "MPIX_Grequest_class_create",
    "MPIX_Grequest_start",
    "MPIX_Type_iov",
    "MPIX_Type_iov_len",
];

#[test]
fn exactly_the_functions_of_the_header_and_what_mpich_has_beside_them_are_exported() {
    let mut expected = support::expected("in_std_abi_header");
    expected.extend(UNDECLARED.iter().flat_map(|name| [name.to_string(), format!("P{name}")]));
    expected.sort();
    assert_eq!(exports(&library()), expected);
}

#[test]
fn the_soname_is_the_standards() {
    let out = run(Command::new("readelf").args(["-d", "-W"]).arg(library()));
    assert!(out.contains("soname: [libmpi_abi.so.1]"), "{out}");
    assert!(!out.contains("TEXTREL"), "{out}");
}

#[test]
fn a_program_asks_before_mpi_init() {
    let dir = Scratch::new("std-local");
    install(&library(), &dir, "libmpi_abi.so.1", "libmpi_abi.so");
    let source = root().join("crates/abi/tests/c/local.c");
    for (compiler, language) in [("cc", "c"), ("g++", "c++")] {
        let program = dir.0.join(language);
        let mut cc = Command::new(compiler);
        cc.args(["-x", language]).arg(&source).args(["-x", "none", "-I"]).arg(root().join("include/std"));
        run(cc.arg("-L").arg(&dir.0).args(["-lmpi_abi", "-o"]).arg(&program));
        let output = run(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
        let expected = "abi 1.0\nmpi 5.0\nlibrary Hawser 1 1\nworld 1 1\nstatus 1 1 1 1\naint 7 1\n\
                        error MPI_ERR_TRUNCATE: message truncated 1\npcontrol 0 0\ntime 1 1\n";
        assert_eq!(output, expected);
    }
}

#[test]
fn a_function_that_is_not_built_says_so_by_its_name() {
    let dir = Scratch::new("std-unsupported");
    install(&library(), &dir, "libmpi_abi.so.1", "libmpi_abi.so");
    let program = dir.0.join("unsupported");
    let mut cc = Command::new("cc");
    cc.arg(root().join("crates/abi/tests/c/unsupported.c")).arg("-I").arg(root().join("include/std"));
    run(cc.arg("-L").arg(&dir.0).args(["-lmpi_abi", "-o"]).arg(&program));
    let out = support::outcome(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
    let output = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(output.contains("MPI_Comm_join") && output.contains("MPI_ERR_UNSUPPORTED_OPERATION"), "{output}");
}

/// A relocation by name would be a call, or an address, that a profiling library can replace.
#[test]
fn nothing_in_the_library_goes_through_an_exported_name() {
    let out = run(Command::new("readelf").args(["-r", "-W"]).arg(library()));
    let ours: Vec<_> = out.lines().filter(|line| line.contains("MPI")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
}
