//! `make drawing` draws the imports of the workspace: one diagram of the layers, and one diagram of the modules for
//! each crate. The source lines that cause the cycles of a crate are written to a `.txt` file beside the crate's
//! diagram.
//!
//! The command line is `hawser-imports [crates [folder]]`; without arguments it reads `crates` and writes to
//! `build/drawing`. `make machines` runs `hawser-imports machines`, which draws the state machines into
//! docs/protocol.md.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hawser_imports::drawing::{Diagram, svg};
use hawser_imports::machines::{document, machines};
use hawser_imports::{Graph, layers, of_crate, sources};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from).peekable();
    if arguments.peek().is_some_and(|first| first.as_os_str() == "machines") {
        return draw_machines(Path::new("docs/protocol.md"));
    }
    let crates = arguments.next().unwrap_or_else(|| "crates".into());
    let folder = arguments.next().unwrap_or_else(|| "build/drawing".into());
    std::fs::create_dir_all(&folder)?;
    let table = layers::table(&crates);
    let graphs: BTreeMap<&str, Graph> = table.iter().map(|(name, _)| (&**name, of_crate(&crates.join(name)))).collect();
    draw_layers(&folder, &table, &graphs)?;
    graphs.iter().try_for_each(|(name, graph)| draw_crate(&folder, name, graph))
}

fn draw_machines(page: &Path) -> std::io::Result<()> {
    let sources = sources::of_all_crates();
    let found: Vec<_> = sources.iter().flat_map(|source| machines(&source.path(), &source.text)).collect();
    found.iter().for_each(|machine| println!("{}: {} of {}", page.display(), machine.name, machine.file));
    std::fs::write(page, document(&std::fs::read_to_string(page)?, &found))
}

fn draw_layers(folder: &Path, table: &[(String, u32)], graphs: &BTreeMap<&str, Graph>) -> std::io::Result<()> {
    let names: Vec<String> = table.iter().map(|(name, _)| name.clone()).collect();
    let highest = table.iter().map(|(_, floor)| *floor).max().unwrap_or(0);
    let rows = table.iter().map(|(_, floor)| (highest - floor) as usize).collect();
    let number = |name: &str| names.iter().position(|known| known == name);
    let mut arrows = std::collections::BTreeSet::new();
    for (from, name) in names.iter().enumerate() {
        arrows.extend(graphs[&**name].crates.iter().filter_map(|used| Some((from, number(used)?))));
    }
    // A program may name its own library.
    arrows.retain(|(from, to)| from != to);
    let picture = Diagram::in_rows("the crates by floors".to_owned(), names, rows, arrows);
    let path = folder.join("floors.svg");
    std::fs::write(&path, svg(std::slice::from_ref(&picture)))?;
    let (crates, arrows) = (picture.boxes.len(), picture.arrows.len());
    println!(
        "{}: {crates} crates, {arrows} arrows, {} of them not downward",
        path.display(),
        picture.upward_arrows().len()
    );
    picture.upward_arrows().iter().for_each(|(from, to)| println!("  {from} -> {to}"));
    Ok(())
}

fn draw_crate(folder: &Path, name: &str, graph: &Graph) -> std::io::Result<()> {
    let shown = |module: &String, of: &str| {
        let below = module.strip_prefix(of).map(|rest| rest.trim_start_matches("::")).filter(|rest| !rest.is_empty());
        let own = if of.is_empty() { "(root)" } else { "(itself)" };
        below.unwrap_or(own).to_owned()
    };
    let picture = |level: &hawser_imports::Level| {
        let title = if level.of.is_empty() { name.to_owned() } else { format!("{name}::{}", level.of) };
        let boxes = level.graph.names.iter().map(|module| shown(module, &level.of)).collect();
        Diagram::by_use(title, boxes, level.graph.edges.iter().map(|edge| (edge.from, edge.to)).collect())
    };
    let levels = graph.levels();
    let path = folder.join(format!("{name}.svg"));
    std::fs::write(&path, svg(&levels.iter().map(picture).collect::<Vec<_>>()))?;
    let cycles = graph.cycles().into_iter().chain(levels.iter().flat_map(|level| level.graph.cycles()));
    let reports: String = cycles.map(|cycle| cycle.report() + "\n").collect();
    std::fs::write(folder.join(format!("{name}.txt")), reports)?;
    let cycle =
        graph.largest().map(|cycle| format!("largest cycle {}: {}", cycle.members.len(), cycle.members.join(" ")));
    println!("{}: {} modules, {}", path.display(), graph.names.len(), cycle.unwrap_or_else(|| "no cycle".to_owned()));
    Ok(())
}
