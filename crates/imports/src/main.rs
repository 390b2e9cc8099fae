//! `make drawing`: draws the imports of the workspace, its layers in one diagram and the modules of each crate in
//! one more; the lines that make its cycles are written to a `.txt` beside it.
//!
//! The command line is `hawser-imports [crates [folder]]`; without arguments it reads `crates` and writes to
//! `build/drawing`.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hawser_imports::drawing::{Diagram, svg};
use hawser_imports::{Graph, layers, of_crate};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let crates = arguments.next().unwrap_or_else(|| "crates".into());
    let folder = arguments.next().unwrap_or_else(|| "build/drawing".into());
    std::fs::create_dir_all(&folder)?;
    let table = layers::table(&crates);
    let graphs: BTreeMap<&str, Graph> = table.iter().map(|(name, _)| (&**name, of_crate(&crates.join(name)))).collect();
    draw_layers(&folder, &table, &graphs)?;
    graphs.iter().try_for_each(|(name, graph)| draw_crate(&folder, name, graph))
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
