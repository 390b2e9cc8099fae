//! Tests the names, the soname and the needed libraries of `libmpifort.so.12`.

#[path = "../../fortran/tests/names/mod.rs"]
mod names;
#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::process::Command;

#[test]
fn every_procedure_of_the_table_has_its_names() {
    names::check(&support::build("hawser-fortran-mpich", "libmpifort.so"), |name| {
        // Those of MPICH's own modules.
        name.contains("mpi_f_sync_reg") || name.starts_with("__mpi_")
    });
}

#[test]
fn the_loader_brings_the_library_of_the_c_functions_along() {
    let library = support::build("hawser-fortran-mpich", "libmpifort.so");
    let out = support::run(Command::new("readelf").args(["-d", "-W"]).arg(library));
    assert!(out.contains("soname: [libmpifort.so.12]") && out.contains("[libmpi.so.12]"), "{out}");
    assert!(out.contains("runpath: [$ORIGIN]") && !out.contains("TEXTREL"), "{out}");
}
