//! Finds the modules that define the names in a module, through all imports, globs and re-exports.
//!
//! Visibility is not checked, because the compiler does that. If one name stands for several things (a module and a
//! function), all of them count. A name that comes from another crate, or that a block defines itself (a variable),
//! is not found and makes no edge.

use std::collections::BTreeSet;

use crate::graph::{Edge, Graph};
use crate::read::CrateSource;
use crate::tokens::PathUse;

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// An item that this module defines.
    Item(usize),
}

/// The names, with their modules, that are being looked up. They are not looked up again, because an import may lead
/// back to itself.
type VisitedNames = BTreeSet<(usize, String)>;

/// The graph of the files of one crate.
pub fn graph(source: &CrateSource) -> Graph {
    let files: Vec<usize> = (0..source.modules.len()).filter(|&number| source.modules[number].file == number).collect();
    let number_of = |module: usize| files.binary_search(&source.modules[module].file).expect("each module has a file");
    let mut graph = Graph::default();
    graph.names.extend(files.iter().map(|&number| source.modules[number].name.clone()));
    for (number, module) in source.modules.iter().enumerate() {
        let brought = module.imports.iter().map(|(_, path)| path).chain(&module.globs);
        for path in brought.chain(module.uses.iter().map(|named| &named.path)) {
            graph.crates.extend(path[0].strip_prefix("hawser_").map(|name| name.replace('_', "-")));
        }
        for named in &module.uses {
            for target in source.defining_modules(number, named) {
                let (from, to) = (number_of(number), number_of(target));
                if from != to {
                    let source = module.source.clone();
                    graph.edges.insert(Edge { from, to, source, line: named.line, path: named.path.join("::") });
                }
            }
        }
    }
    graph
}

impl CrateSource {
    /// Returns the modules that define the name `named`, as seen from `module`; none if it is not found, or if it
    /// names only a module.
    fn defining_modules(&self, module: usize, named: &PathUse) -> Vec<usize> {
        let found = self.resolve(module, &named.path, &mut VisitedNames::new());
        let item = |found: &Target| if let Target::Item(at) = found { Some(*at) } else { None };
        let items: Vec<usize> = found.iter().filter_map(item).collect();
        if !items.is_empty() {
            return items;
        }
        // A macro is found by its name alone, wherever it is defined.
        let last = named.path.last().expect("a path has a name");
        let callable = named.path.len() == 1 || named.path[0] == "crate";
        self.macros.get(last).copied().filter(|_| callable && found.is_empty()).into_iter().collect()
    }

    fn resolve(&self, module: usize, path: &[String], visited: &mut VisitedNames) -> BTreeSet<Target> {
        let Some((first, rest)) = path.split_first() else { return BTreeSet::from([Target::Module(module)]) };
        let start = match first.as_str() {
            "crate" => BTreeSet::from([Target::Module(0)]),
            "self" => BTreeSet::from([Target::Module(module)]),
            "super" => self.modules[module].parent.map(Target::Module).into_iter().collect(),
            name => self.look_up(module, name, visited),
        };
        start.into_iter().flat_map(|found| self.follow(found, rest, visited)).collect()
    }

    fn follow(&self, target: Target, rest: &[String], visited: &mut VisitedNames) -> BTreeSet<Target> {
        match (target, rest.split_first()) {
            // The rest of a path behind an item names a part of the item: a variant, an associated function.
            (Target::Item(_), _) | (_, None) => BTreeSet::from([target]),
            (Target::Module(at), Some((first, _))) if first == "super" || first == "self" => {
                self.resolve(at, rest, visited)
            }
            (Target::Module(at), Some((first, rest))) => {
                let mut next = self.look_up(at, first, visited);
                if next.is_empty() && self.may_be_made_by_a_macro(at, first) {
                    next.insert(Target::Item(at));
                }
                next.into_iter().flat_map(|found| self.follow(found, rest, visited)).collect()
            }
        }
    }

    /// Whether a name that is not written in this module can only come from a macro that the module calls. It is
    /// false if the module imports the name, if a macro has the name, or if a glob imports from another crate:
    /// nothing else introduces names that are not written.
    fn may_be_made_by_a_macro(&self, module: usize, name: &str) -> bool {
        let here = &self.modules[module];
        let imported = here.imports.iter().any(|(given, _)| given == name);
        let foreign = |glob: &Vec<String>| self.resolve(module, glob, &mut VisitedNames::new()).is_empty();
        !imported && !self.macros.contains_key(name) && !here.globs.iter().any(foreign)
    }

    /// Returns the targets of `name` in this module: its own definitions and imports or, if there are none, those
    /// that globs bring.
    fn look_up(&self, module: usize, name: &str, visited: &mut VisitedNames) -> BTreeSet<Target> {
        if !visited.insert((module, name.to_owned())) {
            return BTreeSet::new();
        }
        let here = &self.modules[module];
        let mut found: BTreeSet<Target> = here.children.get(name).copied().map(Target::Module).into_iter().collect();
        if here.items.contains(name) {
            found.insert(Target::Item(module));
        }
        for (_, path) in here.imports.iter().filter(|(given, _)| given == name) {
            found.extend(self.resolve(module, path, visited));
        }
        if found.is_empty() {
            for glob in &here.globs {
                for base in self.resolve(module, glob, visited) {
                    if let Target::Module(at) = base {
                        found.extend(self.look_up(at, name, visited));
                    }
                }
            }
        }
        visited.remove(&(module, name.to_owned()));
        found
    }
}
