//! Tests with small crates what counts as a use of a module: existing cycles are found, through re-exports and macros
//! too, and seeming ones are not.

use std::path::PathBuf;

use hawser_imports::{Graph, of_crate};

/// The graph of a crate of these files.
fn graph(name: &str, files: &[(&str, &str)]) -> Graph {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&folder);
    for (file, text) in files {
        let path = folder.join("src").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    of_crate(&folder)
}

/// The edges, as `from>to`, each once.
fn edges(graph: &Graph) -> Vec<String> {
    let mut edges: Vec<String> =
        graph.edges.iter().map(|edge| format!("{}>{}", graph.names[edge.from], graph.names[edge.to])).collect();
    edges.dedup();
    edges
}

#[test]
fn a_cycle_of_four_is_found_with_its_lines() {
    let graph = graph(
        "four",
        &[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::B;\npub struct A(pub B);\n"),
            ("b.rs", "pub struct B(pub super::c::C);\n"),
            ("c.rs", "pub struct C;\npub fn of() { crate::d::d() }\n"),
            ("d.rs", "use super::{a, b};\n\npub fn d() {\n    let _ = |a: a::A| a;\n}\n"),
        ],
    );
    let cycle = graph.largest().unwrap();
    assert_eq!(cycle.members, ["a", "b", "c", "d"]);
    let report = cycle.report();
    assert!(report.contains("  d -> a (1)\n"), "{report}");
    assert!(report.contains("d.rs:4: a::A\n"), "{report}");
    assert!(report.contains("b.rs:1: super::c::C\n"), "{report}");
    assert!(!report.contains("d -> b"), "{report}");
}

#[test]
fn a_re_export_is_followed_to_the_definition() {
    let graph = graph(
        "re_export",
        &[
            ("lib.rs", "mod a;\nmod b;\nmod facade;\npub use a::A;\npub use b::*;\n"),
            ("a.rs", "use crate::B;\npub struct A(pub B);\n"),
            ("b.rs", "pub struct B;\npub fn make() -> crate::facade::Renamed { loop {} }\n"),
            ("facade.rs", "pub use crate::a::A as Renamed;\n"),
        ],
    );
    assert_eq!(edges(&graph), ["a>b", "b>a"]);
}

#[test]
fn declarations_tests_and_names_of_modules_are_no_uses() {
    let graph = graph(
        "no_uses",
        &[
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            ("a.rs", "#[cfg(test)]\nuse crate::b::B;\npub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }\n"),
            ("b.rs", "use crate::a;\npub struct B;\nimpl B {\n    #[cfg(test)]\n    fn of(_: a::A) {}\n}\n"),
        ],
    );
    assert!(graph.edges.is_empty(), "{:?}", edges(&graph));
}

#[test]
fn macros_are_read_and_found() {
    let graph = graph(
        "macros",
        &[
            ("lib.rs", "#[macro_use]\nmod rows;\nmod a;\nmod b;\n"),
            ("rows.rs", "macro_rules! row { ($name:ident) => { $crate::b::$name($crate::b::B) } }\n"),
            ("a.rs", "pub fn a() { row!(b); assert!(crate::b::is(1), \"{}\", 2); }\n"),
            ("b.rs", "pub struct B;\npub fn b(_: B) {}\npub fn is(_: u8) -> bool { true }\n"),
        ],
    );
    assert_eq!(edges(&graph), ["rows>b", "a>rows", "a>b"]);
}

#[test]
fn what_a_macro_defines_belongs_to_the_module_that_calls_it() {
    let graph = graph(
        "made",
        &[
            ("lib.rs", "mod a;\nmod b;\nmod outside;\n"),
            ("a.rs", "macro_rules! made { ($name:ident) => { pub struct $name; } }\nmade!(Made);\n"),
            ("b.rs", "use crate::a::Made;\nuse crate::outside::{Foreign, View};\n"),
            ("outside.rs", "pub use hawser_base::View;\npub use hawser_device::*;\n"),
        ],
    );
    assert_eq!(edges(&graph), ["b>a"]);
}

#[test]
fn a_folder_is_one_module_of_its_level() {
    // No file is in a cycle, and yet the two folders use each other.
    let graph = graph(
        "folders",
        &[
            ("lib.rs", "mod left;\nmod right;\n"),
            ("left/mod.rs", "pub mod high;\npub mod low;\n"),
            ("left/high.rs", "pub fn high() { crate::right::middle() }\n"),
            ("left/low.rs", "pub fn low() {}\n"),
            ("right.rs", "pub fn middle() { crate::left::low::low() }\n"),
        ],
    );
    assert!(graph.cycles().is_empty());
    assert_eq!(graph.largest().unwrap().members, ["left", "right"]);
}

#[test]
fn a_parent_that_its_children_use_and_that_uses_them_is_part_of_the_cycle() {
    let graph = graph(
        "parent",
        &[
            ("lib.rs", "mod shape;\n"),
            ("shape/mod.rs", "mod a;\nmod b;\nmod c;\npub struct Shape;\npub fn all() { a::a(); b::b(); c::c() }\n"),
            ("shape/a.rs", "pub fn a() { let _ = super::Shape; }\n"),
            ("shape/b.rs", "use super::*;\npub fn b() { let _ = Shape; }\n"),
            ("shape/c.rs", "pub fn c() { let _ = super::Shape; }\n"),
        ],
    );
    assert_eq!(graph.largest().unwrap().members, ["shape", "shape::a", "shape::b", "shape::c"]);
}

#[test]
fn other_crates_of_the_house_are_named() {
    let graph = graph("others", &[("lib.rs", "pub use hawser_dev_shm::Ring;\nfn f() { hawser_base::now() }\n")]);
    assert_eq!(graph.crates.iter().map(String::as_str).collect::<Vec<_>>(), ["base", "dev-shm"]);
}
