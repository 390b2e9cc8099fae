//! The specification and the code know of each other: every rule of docs/protocol.md that is built is cited here, and
//! nothing is cited that is not a rule.

use std::collections::BTreeSet;
use std::path::Path;

/// Numbers behind a capital P that stand alone in a text.
fn numbers(text: &str) -> BTreeSet<u32> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('P')?.parse().ok()).collect()
}

/// Rules of the specification, and those among them that are not built yet.
fn rules() -> (BTreeSet<u32>, BTreeSet<u32>) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md")).unwrap();
    let rules = text.lines().filter(|line| line.starts_with("- **P"));
    let mut all = BTreeSet::new();
    let mut open = BTreeSet::new();
    for rule in rules {
        let number = *numbers(rule).first().expect("a rule has a number");
        assert!(all.insert(number), "P{number} is given twice");
        if rule.contains("(not built)") {
            open.insert(number);
        }
    }
    (all, open)
}

fn cited() -> BTreeSet<u32> {
    let sources = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    sources.flat_map(|file| numbers(&std::fs::read_to_string(file.unwrap().path()).unwrap())).collect()
}

#[test]
fn every_rule_is_cited_and_every_citation_is_a_rule() {
    let (rules, open) = rules();
    let cited = cited();
    let uncited: Vec<_> = rules.difference(&cited).filter(|number| !open.contains(number)).collect();
    assert!(uncited.is_empty(), "rules that nothing cites: {uncited:?}");
    let unknown: Vec<_> = cited.difference(&rules).collect();
    assert!(unknown.is_empty(), "citations of no rule: {unknown:?}");
    assert!(rules.len() >= 15, "the specification was found");
}
