//! Layer 0, for tests and drawings alone: finds which module of a crate uses which, and other facts about the
//! sources.
//!
//! A module is a file; an inline module belongs to the file that contains it. A module uses another one where it
//! names something that is *defined* there: in a `use` declaration, in the path of an expression, a type, a pattern
//! or a trait, or in the tokens of a macro. A name is followed through all re-exports to its definition, so that a
//! re-export at the crate's root neither joins all modules to one cycle nor hides a cycle. Three things are no use of
//! a module: to declare it (`mod x;`), to re-export its names (`pub use`), and to name the module itself (`use
//! crate::x;` is no use yet, `x::encode()` is a use of the file that defines `encode`). Code under `#[cfg(test)]` is
//! left out. A call of a method is not seen, because it names no module: the result is the graph of the names, as a
//! reader of the file sees it.
//!
//! `read` finds the modules and the names in them, `tokens` the names in macros, `resolve` the definitions of names,
//! `graph` the cycles, and `layers` the crates and their layers; `drawing` draws modules and crates. `machines` reads
//! the state machines, `sources` the texts of all files. Nothing here runs or changes the code that it reads. Used by
//! the tests, by `make drawing` and by `make machines`.

#![forbid(unsafe_code)]

pub mod drawing;
pub mod graph;
pub mod layers;
pub mod machines;
mod read;
mod resolve;
pub mod sources;
mod tokens;

pub use graph::{Cycle, Edge, Graph, Level};

use std::path::{Path, PathBuf};

/// Returns the graph of the crate in `folder`: the modules of its library, or of its program if it has no library. A
/// program beside a library adds no modules, but only the crates that it names.
pub fn of_crate(folder: &Path) -> Graph {
    let mut graphs = roots(&folder.join("src")).into_iter().map(|root| resolve::graph(&read::CrateSource::read(&root)));
    let mut graph = graphs.next().unwrap_or_else(|| panic!("{} has no sources", folder.display()));
    graphs.for_each(|program| graph.crates.extend(program.crates));
    graph
}

/// Returns the root files of a crate's library and programs, the library's first.
fn roots(source: &Path) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["lib.rs", "main.rs"].map(|name| source.join(name)).into();
    let programs = std::fs::read_dir(source.join("bin")).into_iter().flatten();
    roots.extend(programs.map(|entry| entry.expect("a folder can be read").path()));
    roots.retain(|path| path.is_file());
    roots
}
