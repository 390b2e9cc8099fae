//! Tests the function table against tables/functions.tsv: nothing missing, nothing beyond, same arguments.

mod support;

use hawser_abi::table::{FunctionEntry, UNDECLARED_IN_STD, functions};
use std::collections::HashMap;

/// The name of the ABIs in the table's rows: "both", "std" or "mpich".
fn abis(row: &HashMap<String, String>) -> &'static str {
    match (row["in_std_abi_header"] == "Y", row["in_mpich502_header"] == "Y") {
        (true, true) => "both",
        (true, false) => "std",
        _ if UNDECLARED_IN_STD.contains(&row["name"].as_str()) => "both",
        (false, _) => "mpich",
    }
}

/// The name of each C parameter, how many times it is a pointer, and its type without underscores.
fn c_params(text: &str) -> Vec<(String, usize, String)> {
    let params = text.split(',').map(str::trim).filter(|p| !["void", "...", ""].contains(p));
    params
        .map(|p| {
            let array = p.matches('[').count().min(1);
            let p = p.split('[').next().unwrap().trim();
            let at = p.rfind([' ', '*']).unwrap() + 1;
            let kind = p[..at].replace("const ", "").replace('*', "");
            let function = kind.contains("_function") || kind.contains("_fn");
            let pointers = if function { 0 } else { p.matches('*').count() + array };
            let kind =
                kind.trim().trim_start_matches("MPIX_").trim_start_matches("MPI_").replace('_', "").to_lowercase();
            (p[at..].to_owned(), pointers, kind)
        })
        .collect()
}

fn rust_params(row: &FunctionEntry) -> Vec<(String, usize, String)> {
    // `stringify!` puts spaces and line breaks anywhere.
    let text = row.args.split_whitespace().collect::<Vec<_>>().join(" ").replace("[c_int; 3]", "c_int");
    let text = text.trim_start_matches('(').trim_end_matches(')');
    text.split(',')
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .map(|p| {
            let (name, kind) = p.split_once(':').unwrap();
            let base = kind.replace('*', "").replace("mut ", "").replace("const ", "");
            let base = base.trim().trim_start_matches("c_").replace('_', "");
            (name.trim().to_owned(), kind.matches('*').count(), base.to_lowercase())
        })
        .collect()
}

#[test]
fn every_function_of_both_headers_has_one_row() {
    let table = support::table("functions.tsv");
    let mut ours: Vec<_> = functions().map(|r| (r.name.to_owned(), r.abis)).collect();
    let mut theirs: Vec<_> = table.iter().map(|r| (r["name"].clone(), abis(r))).collect();
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn every_row_has_the_arguments_of_the_standard() {
    let table = support::table("functions.tsv");
    let by_name: HashMap<_, _> = table.iter().map(|r| (r["name"].as_str(), r)).collect();
    for row in functions() {
        assert_eq!(rust_params(row), c_params(&by_name[row.name]["c_params"]), "{}", row.name);
    }
}

#[test]
fn a_function_of_two_integer_widths_has_both_built_or_neither() {
    let built: HashMap<_, _> = functions().map(|r| (r.name, r.built)).collect();
    for (name, is) in &built {
        if let Some(large) = built.get(format!("{name}_c").as_str()) {
            assert_eq!(is, large, "{name} and {name}_c");
        }
    }
}
