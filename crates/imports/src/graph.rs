//! The graph of a crate's modules, its levels, and the cycles in it.
//!
//! A level is the graph of the contents of one module. Its nodes are the module itself (the code in its own file) and
//! its children; a child stands for itself and all modules below it. The root's level shows the crate from afar; the
//! level of a folder shows its files. Cycles are also searched in the graph of all files at once, so that a cycle
//! between two levels is found, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

/// One place where a module uses another one. `from` (the user) and `to` are indices into the names of the graph;
/// `source` and `line` say where the use is written, and `path` is the path that is written there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub source: PathBuf,
    pub line: usize,
    pub path: String,
}

/// The modules, as `a::b` (the root's name is empty), and the places where they use each other.
#[derive(Debug, Default, Clone)]
pub struct Graph {
    pub names: Vec<String>,
    pub edges: BTreeSet<Edge>,
    /// The other crates of the workspace that the sources name.
    pub crates: BTreeSet<String>,
}

/// The graph of the contents of one module, as described above.
#[derive(Debug)]
pub struct Level {
    /// The name of the module.
    pub of: String,
    pub graph: Graph,
}

/// Modules that all reach each other by uses, and the edges between these modules.
#[derive(Debug)]
pub struct Cycle {
    pub members: Vec<String>,
    /// The places of use, by the names of the using and of the used module.
    pub edges: BTreeMap<(String, String), Vec<Edge>>,
}

impl Graph {
    /// The cycles, the largest first; a module that uses itself is no cycle.
    pub fn cycles(&self) -> Vec<Cycle> {
        let pairs = self.edges.iter().map(|edge| (edge.from as u32, edge.to as u32));
        let mut drawn: DiGraph<(), ()> = DiGraph::from_edges(pairs.collect::<BTreeSet<_>>());
        while drawn.node_count() < self.names.len() {
            drawn.add_node(());
        }
        let parts = tarjan_scc(&drawn).into_iter().filter(|part| part.len() > 1);
        let members = |part: Vec<petgraph::graph::NodeIndex>| part.iter().map(|node| node.index()).collect();
        let mut cycles: Vec<Cycle> = parts.map(|part| self.cycle(members(part))).collect();
        cycles.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then_with(|| a.members.cmp(&b.members)));
        cycles
    }

    fn cycle(&self, members: BTreeSet<usize>) -> Cycle {
        let mut edges: BTreeMap<_, Vec<Edge>> = BTreeMap::new();
        for edge in self.edges.iter().filter(|edge| members.contains(&edge.from) && members.contains(&edge.to)) {
            let ends = (self.names[edge.from].clone(), self.names[edge.to].clone());
            edges.entry(ends).or_default().push(edge.clone());
        }
        Cycle { members: members.iter().map(|&number| self.names[number].clone()).collect(), edges }
    }

    /// Returns the largest cycle of the graph of all files and of all levels; None if there is no cycle.
    pub fn largest(&self) -> Option<Cycle> {
        let levels = self.levels();
        let all = std::iter::once(self).chain(levels.iter().map(|level| &level.graph));
        all.flat_map(Graph::cycles).max_by_key(|cycle| cycle.members.len())
    }

    /// The levels of all modules that have children.
    pub fn levels(&self) -> Vec<Level> {
        let parents: BTreeSet<&str> =
            self.names.iter().filter(|name| !name.is_empty()).map(|name| parent(name)).collect();
        parents.into_iter().map(|of| Level { of: of.to_owned(), graph: self.level(of) }).collect()
    }

    fn level(&self, of: &str) -> Graph {
        let mut level = Graph::default();
        let mut number_of = BTreeMap::new();
        for (number, name) in self.names.iter().enumerate() {
            let Some(seen) = seen_from(of, name) else { continue };
            let at = level.names.iter().position(|known| *known == seen).unwrap_or_else(|| {
                level.names.push(seen);
                level.names.len() - 1
            });
            number_of.insert(number, at);
        }
        for edge in &self.edges {
            if let (Some(&from), Some(&to)) = (number_of.get(&edge.from), number_of.get(&edge.to))
                && from != to
            {
                level.edges.insert(Edge { from, to, ..edge.clone() });
            }
        }
        level
    }
}

/// Returns the name of the module that contains module `name`; the root contains itself.
fn parent(name: &str) -> &str {
    name.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// Returns the node that stands for module `name` in the level of module `of`; None if `name` is not inside `of`.
fn seen_from(of: &str, name: &str) -> Option<String> {
    if name == of {
        return Some(name.to_owned());
    }
    let below = if of.is_empty() { name } else { name.strip_prefix(of)?.strip_prefix("::")? };
    let child = below.split("::").next().expect("a path has a first part");
    Some(if of.is_empty() { child.to_owned() } else { format!("{of}::{child}") })
}

impl Cycle {
    /// Returns the cycle as text: the members, then each edge with the source lines that cause it.
    pub fn report(&self) -> String {
        let shown = |name: &str| if name.is_empty() { "(root)".to_owned() } else { name.to_owned() };
        let members: Vec<String> = self.members.iter().map(|name| shown(name)).collect();
        let mut text = format!("a cycle of {} modules: {}\n", members.len(), members.join(" "));
        for ((from, to), places) in &self.edges {
            text += &format!("  {} -> {} ({})\n", shown(from), shown(to), places.len());
            for place in places {
                text += &format!("      {}:{}: {}\n", place.source.display(), place.line, place.path);
            }
        }
        text
    }
}
