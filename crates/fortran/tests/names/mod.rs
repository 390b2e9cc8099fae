//! The names that a Fortran library must export, from the table of functions (crates/abi/tables/functions.tsv).
//!
//! Used by the tests of `fortran-std` and `fortran-mpich`.

use crate::support::{exports, table};
use std::collections::BTreeSet;
use std::path::Path;

/// Beginnings of names that are not procedures of MPI: what the modules need, common blocks and variables.
const OTHERS: [&str; 5] = ["hawser_", "hawsercmn_", "mpipriv", "mpifcmb", "MPIR_F08_"];
/// Procedures that stand in no row of the table: those that MPI-3.0 removed, and the functions of MPI that a program
/// passes in their places.
const UNLISTED: [&str; 12] = [
    "address",
    "errhandler_create",
    "errhandler_get",
    "errhandler_set",
    "type_extent",
    "type_hindexed",
    "type_hvector",
    "type_lb",
    "type_struct",
    "type_ub",
    "conversion_fn_null",
    "conversion_fn_null_c",
];

/// Returns the names of one procedure: both manglings of those of mpif.h and `mpi`, and the one of mpi_f08, for MPI and
/// PMPI.
fn names(stem: &str, old: bool, new: Option<&str>) -> Vec<String> {
    let mut names = Vec::new();
    for prefix in ["mpi", "pmpi"] {
        if old {
            names.extend([format!("{prefix}_{stem}_"), format!("{prefix}_{stem}__")]);
        }
        names.extend(new.map(|new| format!("{prefix}_{stem}_{new}_")));
    }
    names
}

/// Returns the names of all procedures of the table.
fn expected() -> BTreeSet<String> {
    let rows = table("functions.tsv");
    let mut all = BTreeSet::new();
    for row in rows.iter().filter(|row| !row["fortran"].is_empty()) {
        let stem = row["name"].strip_prefix("MPI_").expect("a function of MPI").to_lowercase();
        let modules: Vec<&str> = row["fortran"].split(',').collect();
        let choice = row["param_kinds(name:KIND:direction)"].split(',').any(|param| param.contains(":BUFFER:"));
        let new = modules.contains(&"f08").then_some(if choice { "f08ts" } else { "f08" });
        all.extend(names(&stem, modules.iter().any(|module| *module != "f08"), new));
    }
    all
}

/// Checks that a library exports every procedure, and nothing but procedures and `OTHERS`; `also` allows more.
pub fn check(library: &Path, also: impl Fn(&str) -> bool) {
    let exported: BTreeSet<String> = exports(library).into_iter().collect();
    let expected = expected();
    assert!(expected.len() > 2000, "{} names: the table has no Fortran", expected.len());
    let missing: Vec<&String> = expected.difference(&exported).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    let known = |name: &str| {
        let stem = name.trim_start_matches('p').trim_start_matches("mpi_").trim_end_matches('_');
        let listed = UNLISTED.contains(&stem) || stem.ends_with("_fn") || OTHERS.iter().any(|o| name.starts_with(o));
        // Large forms have a second name, and PMPI one that MPICH's modules call.
        let second = name.starts_with("pmpir_") || name.ends_with("_large_");
        listed || second || name.starts_with("__mpi_f08_callbacks_MOD_mpi_conversion")
    };
    let beyond: Vec<&String> = exported.difference(&expected).filter(|name| !known(name) && !also(name)).collect();
    assert!(beyond.is_empty(), "exported and not known: {beyond:?}");
}
