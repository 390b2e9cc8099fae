//! Reads the crates and their layers from the table of the test that checks the layers.
//!
//! The table exists once, in `crates/base/tests/floors.rs`.

use std::path::Path;

use syn::{Expr, Item, Lit};

/// Returns the crates of the table `FLOORS` that are in the checkout, each with its layer.
pub fn table(crates: &Path) -> Vec<(String, u32)> {
    let path = crates.join("base/tests/floors.rs");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let found = file.items.iter().find_map(|item| match item {
        Item::Const(item) if item.ident == "FLOORS" => Some(rows(&item.expr)),
        _ => None,
    });
    let rows = found.unwrap_or_else(|| panic!("{} has no table FLOORS", path.display()));
    rows.into_iter().filter(|(name, _)| crates.join(name).is_dir()).collect()
}

fn rows(table: &Expr) -> Vec<(String, u32)> {
    let Expr::Reference(reference) = table else { return Vec::new() };
    let Expr::Array(array) = &*reference.expr else { return Vec::new() };
    array.elems.iter().filter_map(row).collect()
}

/// Reads one row, such as `("base", 0)`; None if `pair` is not a name and a number.
fn row(pair: &Expr) -> Option<(String, u32)> {
    let Expr::Tuple(pair) = pair else { return None };
    let literal = |at: usize| if let Expr::Lit(literal) = pair.elems.get(at)? { Some(&literal.lit) } else { None };
    let (Lit::Str(name), Lit::Int(floor)) = (literal(0)?, literal(1)?) else { return None };
    Some((name.value(), floor.base10_parse().ok()?))
}
