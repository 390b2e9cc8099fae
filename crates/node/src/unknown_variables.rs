//! Variables that look like a parameter and are none: misspelt, or of another version.
//!
//! They are reported, each in one line, once for a job: by mpiexec, or by a program that is started without it.
//! Variables that Hawser's own tools, scripts and tests read, and those that modules of clusters set for any package,
//! are left alone. Used by `start` and mpiexec.

use crate::params;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

/// The prefix of all parameters' names.
const PREFIX: &str = "HAWSER_";

/// Variables that are no parameters of a rank, and are known nevertheless, without PREFIX. The first row has those
/// that mpiexec reads, those that its agents set, and those that start a rank by hand; the second row those that the
/// compiler wrappers, tools, scripts and tests read; the third row those that environment modules set.
const OTHERS: [&[&str]; 3] = [
    &[
        "HANG_S",
        "UNREACHED_S",
        "STATS",
        "MEMBARRIER",
        "BOOT",
        "JOB",
        "RANK",
        "SIZE",
        "LOCAL_RANK",
        "LOCAL_SIZE",
        "PROGRAM_SIZE",
        "TUNED",
        "RENDEZVOUS",
        "RENDEZVOUS_S",
        "TOKEN",
        "TOKEN_FILE",
        "PMI",
        "PMIX_LIBRARY",
    ],
    &[
        "CC",
        "CXX",
        "RPATH",
        "PREFIX",
        "E2E",
        "LONG",
        "WHOLE",
        "SOAK_S",
        "SEED",
        "RUNS",
        "PEERS",
        "RANDOM_SEEDS",
        "RANDOM_FIRST",
    ],
    &["HOME", "ROOT", "DIR", "BASE", "PATH", "BIN", "LIB", "LIBDIR", "INC", "INCLUDE", "MAN", "DOC", "VERSION"],
];
/// The prefixes, without PREFIX, of whole families of such variables.
const FAMILIES: [&str; 2] = ["TEST_", "BENCH_"];

/// The maximum number of wrong letters in a name that counts as misspelt.
const TYPOS: usize = 3;

/// Returns a line for each of the variables that looks like a parameter and is none.
pub fn warnings(variables: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let known: Vec<&str> = params::all().iter().map(|param| param.name).collect();
    let variables: BTreeSet<OsString> = variables.into_iter().collect();
    variables.iter().filter_map(|name| warning(name, &known)).collect()
}

fn warning(name: &OsStr, known: &[&str]) -> Option<String> {
    let name = name.to_string_lossy();
    let rest = name.strip_prefix(PREFIX)?;
    let is_other = OTHERS.iter().any(|names| names.contains(&rest));
    if known.contains(&&*name) || is_other || FAMILIES.iter().any(|family| rest.starts_with(family)) {
        return None;
    }
    let launchers = OTHERS[0][..4].iter().map(|name| format!("{PREFIX}{name}"));
    let names = known.iter().map(|&name| name.to_owned()).chain(launchers);
    let nearest = names.map(|known| (distance(rest, &known[PREFIX.len()..]), known)).min();
    let near = nearest.filter(|&(typos, _)| typos <= TYPOS.min(rest.len() / 2));
    let meant = match near {
        Some((_, known)) => format!("did you mean {known}?"),
        None => "hawser-info lists all parameters".into(),
    };
    Some(format!("{name} is not a parameter of Hawser, and is ignored; {meant}"))
}

/// Returns the number of letters to be put in, taken out or changed to make `a` of `b` (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<String> {
        warnings(names.iter().map(OsString::from))
    }

    #[test]
    fn a_misspelt_name_is_told_with_the_one_that_was_meant() {
        assert_eq!(
            of(&["HAWSER_PROT", "PATH", "HAWSER_PORT", "HAWSER_PROT"]),
            ["HAWSER_PROT is not a parameter of Hawser, and is ignored; did you mean HAWSER_PORT?"]
        );
        assert!(of(&["HAWSER_HANGS"])[0].ends_with("did you mean HAWSER_HANG_S?"));
        assert!(of(&["HAWSER_COLL_ALREDUCE"])[0].ends_with("did you mean HAWSER_COLL_ALLREDUCE?"));
        assert!(of(&["HAWSER_NETWORK_OF_TOMORROW"])[0].ends_with("hawser-info lists all parameters"));
        assert!(of(&["HAWSER_X"])[0].ends_with("hawser-info lists all parameters"));
    }

    #[test]
    fn what_others_read_is_left_alone() {
        let ours =
            ["HAWSER_BOOT", "HAWSER_TUNED", "HAWSER_E2E", "HAWSER_TEST_MARK", "HAWSER_BENCH_CORES", "HAWSER_STATS"];
        assert!(of(&ours).is_empty() && of(&["HAWSER_ROOT", "HAWSERS_X", "hawser_x", ""]).is_empty());
        let known = params::all().into_iter().map(|param| OsString::from(param.name));
        assert!(warnings(known).is_empty());
    }

    #[test]
    fn distances_are_counted() {
        assert_eq!(["", "PORT", "PROT", "SPORT", "POT", "X"].map(|a| distance(a, "PORT")), [4, 0, 2, 1, 1, 4]);
    }
}
