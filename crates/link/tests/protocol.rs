//! Checks the specification against the code: every rule of docs/protocol.md that is built is cited by code and by a
//! test, here or in `dev-ether`, and nothing is cited that is no rule.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The crates that implement the rules.
const CRATES: [&str; 2] = ["link", "dev-ether"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Numbers behind a capital P that stand alone in a text.
fn numbers(text: &str) -> BTreeSet<u32> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('P')?.parse().ok()).collect()
}

/// Rules of the specification, and those among them that are not built yet.
fn rules() -> (BTreeSet<u32>, BTreeSet<u32>) {
    let text = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let rules = text.lines().filter_map(|line| line.strip_prefix("- **P"));
    let mut all = BTreeSet::new();
    let mut open = BTreeSet::new();
    for rule in rules {
        let number = rule.split_once("**").and_then(|(number, _)| number.parse().ok()).expect("a rule has a number");
        assert!(all.insert(number), "P{number} is given twice");
        if rule.contains("(not built)") {
            open.insert(number);
        }
    }
    (all, open)
}

/// All Rust files of a folder and those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, found): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = found.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    rust.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

/// Returns the rules that code cites and those that tests cite: tests are at the end of a file, or in a file that is
/// called so.
fn cited() -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (mut code, mut tests) = (BTreeSet::new(), BTreeSet::new());
    for name in CRATES {
        let crate_dir = root().join("crates").join(name);
        for path in files(&crate_dir.join("src")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let all = if path.ends_with("tests.rs") { ("", &text[..]) } else { (&text[..], "") };
            let (front, back) = text.split_once("\nmod tests {").unwrap_or(all);
            code.extend(numbers(front));
            tests.extend(numbers(back));
        }
        let texts = files(&crate_dir.join("tests")).into_iter().filter(|path| !path.ends_with("protocol.rs"));
        texts.for_each(|path| tests.extend(numbers(&std::fs::read_to_string(path).unwrap())));
    }
    (code, tests)
}

#[test]
fn every_rule_is_cited_by_code_and_tests_and_every_citation_is_a_rule() {
    let (rules, open) = rules();
    let (code, tests) = cited();
    let without = |cited: &BTreeSet<u32>| -> Vec<u32> {
        rules.difference(cited).filter(|number| !open.contains(number)).copied().collect()
    };
    assert_eq!((without(&code), without(&tests)), (vec![], vec![]), "rules that no code, and that no test cites");
    let unknown: Vec<_> = code.union(&tests).filter(|number| !rules.contains(number)).collect();
    assert!(unknown.is_empty(), "citations of no rule: {unknown:?}");
    assert!(rules.len() >= 25, "the specification was found");
}
