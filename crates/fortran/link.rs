//! Sets the linker arguments of a Fortran library: its soname, and the library that has the C functions.
//!
//! That library need not be built when this one is: one with its soname stands in for it, which has all functions that
//! the binding declares and does nothing. Compiled into build.rs of `fortran-std` and `fortran-mpich`.

use std::path::Path;
use std::process::Command;

const DECLARATIONS: &str = "../fortran/binding/c_functions.rs";

/// `soname` is that of the Fortran library, `c_library` that of the C functions; `data` declares variables of it in C.
pub fn link(soname: &str, c_library: &str, data: &str) {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../fortran/link.rs");
    println!("cargo:rerun-if-changed={DECLARATIONS}");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let (source, stand_in) = (Path::new(&out).join("stand_in.c"), Path::new(&out).join(c_library));
    std::fs::write(&source, stand_in_source(data)).expect("OUT_DIR can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-nostdlib", &format!("-Wl,-soname,{c_library}"), "-o"])
        .args([&stand_in, &source])
        .status();
    assert!(made.is_ok_and(|status| status.success()), "{compiler} made no {}", stand_in.display());
    // Programs that the linker gives no reference to the C functions find them beside this library.
    for argument in [&format!("-soname,{soname}"), "-rpath,$ORIGIN", "--enable-new-dtags", "--no-as-needed"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
}

/// Returns the C source of a library with the declared functions.
fn stand_in_source(data: &str) -> String {
    let text = std::fs::read_to_string(DECLARATIONS).expect("the binding declares C functions");
    let names = text.lines().filter_map(|line| line.strip_prefix("    MPI_")?.split('(').next());
    let functions = names.map(|name| format!("void MPI_{name}(void) {{}}\nvoid PMPI_{name}(void) {{}}\n"));
    functions.chain([format!("{data}\n")]).collect()
}
