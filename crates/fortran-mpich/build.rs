//! Sets the linker arguments of the shared library: its soname, and the library that has the C functions.
//!
//! libmpi.so.12 need not be built when this one is: a library with its soname stands in for it, which has all
//! functions that the binding declares and does nothing.

use std::path::Path;
use std::process::Command;

const DECLARATIONS: &str = "../fortran/binding/c_functions.rs";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={DECLARATIONS}");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let (source, stand_in) = (Path::new(&out).join("stand_in.c"), Path::new(&out).join("libmpi.so.12"));
    std::fs::write(&source, stand_in_source()).expect("OUT_DIR can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libmpi.so.12", "-o"])
        .args([&stand_in, &source])
        .status();
    assert!(made.is_ok_and(|status| status.success()), "{compiler} made no {}", stand_in.display());
    // Programs that the linker gives no reference to libmpi.so.12 find it beside this library.
    for argument in ["-soname,libmpifort.so.12", "-rpath,$ORIGIN", "--enable-new-dtags", "--no-as-needed"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
}

/// Returns the C source of a library with the declared functions.
fn stand_in_source() -> String {
    let text = std::fs::read_to_string(DECLARATIONS).expect("the binding declares C functions");
    let names = text.lines().filter_map(|line| line.strip_prefix("    MPI_")?.split('(').next());
    let functions = names.map(|name| format!("void MPI_{name}(void) {{}}\nvoid PMPI_{name}(void) {{}}\n"));
    functions.chain([String::from("void *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;\n")]).collect()
}
