//! Tests `libmpi.so.12` as the loader and a C program see it.

#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;
use support::{Scratch, build, exports, install, root, run, table};

fn library() -> PathBuf {
    build("hawser-abi-mpich", "libmpi.so")
}

/// The symbols of the ABI that are not functions of MPI (mpich_constants.tsv, kinds "data symbol", "callback symbol").
fn symbols() -> Vec<String> {
    let rows = table("mpich_constants.tsv");
    let data = rows.iter().filter(|r| r["kind"] == "data symbol");
    let mut names: Vec<String> = data.map(|r| r["name"].clone()).collect();
    names.push("MPIR_Dup_fn".to_owned());
    // The functions that MPICH's libmpichfort calls.
    names.extend(["MPII_Keyval_set_proxy", "MPII_Grequest_set_lang_f77"].map(str::to_owned));
    for object in ["Comm", "Type", "Win"] {
        names.extend(["get", "set"].map(|word| format!("MPII_{object}_{word}_attr")));
    }
    names
}

#[test]
fn exactly_the_functions_of_the_header_and_the_data_symbols_are_exported() {
    let mut expected = support::expected("in_mpich502_header");
    let symbols = symbols();
    assert_eq!(symbols.len(), 16);
    expected.extend(symbols);
    expected.sort();
    assert_eq!(exports(&library()), expected);
}

#[test]
fn the_soname_is_mpichs() {
    let out = run(Command::new("readelf").args(["-d", "-W"]).arg(library()));
    assert!(out.contains("soname: [libmpi.so.12]"), "{out}");
    assert!(!out.contains("TEXTREL"), "{out}");
}

fn compile(source: &str, options: &[&str], dir: &Scratch, compiler: &str) -> PathBuf {
    install(&library(), dir, "libmpi.so.12", "libmpi.so");
    let program = dir.0.join(format!("program-{compiler}"));
    let mut cc = Command::new(compiler);
    cc.args(["-x", if compiler == "g++" { "c++" } else { "c" }]).arg(root().join("crates").join(source));
    cc.args(["-x", "none"]).args(options).arg("-I").arg(root().join("include/mpich"));
    run(cc.arg("-L").arg(&dir.0).args(["-lmpi", "-ldl", "-o"]).arg(&program));
    program
}

#[test]
fn a_program_asks_before_mpi_init() {
    let dir = Scratch::new("mpich-local");
    for compiler in ["cc", "g++"] {
        let program = compile("abi/tests/c/local.c", &[], &dir, compiler);
        let output = run(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
        let expected = "abi -1.-1\nmpi 5.0\nlibrary MPICH  1 1\nworld 1 1\nstatus 1 1 1 1\naint 7 1\n\
                        error MPI_ERR_TRUNCATE: message truncated 1\npcontrol 0 0\ntime 1 1\n";
        assert_eq!(output, expected);
    }
}

#[test]
fn a_program_that_is_not_position_independent_has_the_variables_values_in_its_own_copies() {
    let dir = Scratch::new("mpich-copies");
    let program = compile("abi-mpich/tests/copies.c", &["-no-pie", "-fno-pic"], &dir, "cc");
    let relocations = run(Command::new("readelf").args(["-r", "-W"]).arg(&program));
    for name in ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE", "MPI_T_PVAR_ALL_HANDLES"] {
        let copied = relocations.lines().any(|l| l.contains("COPY") && l.contains(name));
        assert!(copied, "{name} is not copied, so this tests nothing:\n{relocations}");
    }
    assert_eq!(run(Command::new(program).env("LD_LIBRARY_PATH", &dir.0)), "same values 1 distinct 1 dup 1\n");
}

#[test]
fn fortran_statuses_and_handles_are_what_they_are_in_c() {
    let dir = Scratch::new("mpich-fortran");
    let program = compile("abi-mpich/tests/fortran.c", &[], &dir, "cc");
    assert_eq!(run(Command::new(program).env("LD_LIBRARY_PATH", &dir.0)), "identity 1 status 1\n");
}

#[test]
fn a_function_that_is_not_built_says_so_by_its_name() {
    let dir = Scratch::new("mpich-unsupported");
    let program = compile("abi/tests/c/unsupported.c", &[], &dir, "cc");
    let out = support::outcome(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
    let output = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(output.contains("MPI_Comm_join") && output.contains("MPI_ERR_UNSUPPORTED_OPERATION"), "{output}");
}

#[test]
fn a_second_mpi_in_one_process_is_refused_in_one_line() {
    let dir = Scratch::new("mpich-rival");
    install(&build("hawser-abi-std", "libmpi_abi.so"), &dir, "libmpi_abi.so.1", "libmpi_abi.so");
    let program = compile("abi-mpich/tests/rival.c", &[], &dir, "cc");
    let out = support::outcome(Command::new(program).env("LD_LIBRARY_PATH", &dir.0));
    let output = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && out.status.code() != Some(99), "{output}");
    assert!(output.contains("has loaded another MPI library") && output.contains("libmpi_abi.so"), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

/// A relocation by name would be a call, or an address, that a profiling library can replace.
#[test]
fn nothing_in_the_library_goes_through_an_exported_name() {
    let out = run(Command::new("readelf").args(["-r", "-W"]).arg(library()));
    let ours: Vec<_> = out.lines().filter(|line| line.contains("MPI")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
}
