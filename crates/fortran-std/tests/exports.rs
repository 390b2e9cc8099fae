//! Tests the names, the soname and the needed libraries of `libmpifort_abi.so.1`.

#[path = "../../fortran/tests/names/mod.rs"]
mod names;
#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::process::Command;

#[test]
fn every_procedure_of_the_table_has_its_names() {
    names::check(&support::build("hawser-fortran-std", "libmpifort_abi.so"), |name| name.contains("mpi_f_sync_reg"));
}

#[test]
fn the_loader_brings_the_library_of_the_c_functions_along() {
    let library = support::build("hawser-fortran-std", "libmpifort_abi.so");
    let out = support::run(Command::new("readelf").args(["-d", "-W"]).arg(library));
    assert!(out.contains("soname: [libmpifort_abi.so.1]") && out.contains("[libmpi_abi.so.1]"), "{out}");
    assert!(out.contains("runpath: [$ORIGIN]") && !out.contains("TEXTREL"), "{out}");
}
