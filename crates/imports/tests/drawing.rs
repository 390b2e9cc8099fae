//! Tests that the drawing shows an arrow that does not go down, and a cycle, and that the workspace has no arrow
//! upward.

use std::collections::BTreeSet;
use std::path::Path;

use hawser_imports::drawing::{Diagram, svg};
use hawser_imports::{layers, of_crate};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn an_arrow_upward_is_told_and_red() {
    let arrows = BTreeSet::from([(0, 1), (1, 2), (2, 0), (3, 2)]);
    let picture =
        Diagram::in_rows("house".to_owned(), names(&["top", "middle", "ground", "beside"]), vec![0, 1, 2, 2], arrows);
    assert_eq!(picture.upward_arrows(), [("ground", "top"), ("beside", "ground")]);
    let text = svg(&[picture]);
    assert_eq!(text.matches("url(#wrong)").count(), 2, "{text}");
    assert_eq!(text.matches("url(#down)").count(), 2, "{text}");
}

#[test]
fn a_cycle_shares_a_row_above_what_it_uses() {
    let arrows = BTreeSet::from([(0, 1), (1, 2), (2, 1), (2, 3)]);
    let picture = Diagram::by_use("modules".to_owned(), names(&["user", "a", "b", "used"]), arrows);
    assert_eq!(picture.row_of, [0, 1, 1, 2]);
    assert_eq!(picture.marked, BTreeSet::from([1, 2]));
}

/// `crates/base/tests/floors.rs` reads the manifests; this test reads the names in the sources.
#[test]
fn no_source_names_a_crate_of_its_own_floor_or_above() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = layers::table(&crates);
    assert!(table.len() > 10, "{table:?}");
    let floor_of = |name: &str| table.iter().find(|row| row.0 == name).map(|row| row.1);
    for (name, floor) in &table {
        let used = of_crate(&crates.join(name)).crates;
        let others = used.iter().filter(|other| *other != name);
        let wrong: Vec<&String> = others.filter(|other| floor_of(other).is_none_or(|below| below >= *floor)).collect();
        assert!(wrong.is_empty(), "{name} (floor {floor}) names {wrong:?}");
    }
}
