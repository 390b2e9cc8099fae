//! The report as one HTML file that needs nothing beside it: no script, no other file, no network.
//!
//! It must not draw or compute figures. Used by `write`, which passes the drawings; uses `graph`, `grid` and `group`.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::record::{BenchmarkRecord, CurveLevel, INCOMPLETE};

use super::axis::size;
use super::graph::{Graph, GraphKind};
use super::grid::{self, Grid, GridCell, GridRow};
use super::group::{self, CurveGroup, OURS};
use super::machine;

const STYLE: &str = include_str!("page.css");
/// A table with at most this number of rows is shown whole.
const FEW_ROWS: usize = 15;

/// Returns the page; `drawn` has each graph with its drawing as SVG.
pub fn text(record: &BenchmarkRecord, drawn: &[(Graph, String)]) -> String {
    let title = title(record);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                @if !record.complete {
                    p.warning role="alert" { "The run is not complete: " (INCOMPLETE) "." }
                }
                (about(record))
                (notes(&record.notes))
                (how_to_read(record, drawn))
                @for group in group::all(record) { (section(&group, drawn)) }
            }
        }
    }
    .into_string()
}

fn title(record: &BenchmarkRecord) -> String {
    let host = &record.machine.host;
    let of = if host.is_empty() { String::new() } else { format!(" of {host}") };
    format!("Benchmark{of}, {}", record.date)
}

fn about(record: &BenchmarkRecord) -> Markup {
    let mut versions: Vec<String> = Vec::new();
    for curve in &record.curves {
        let version = format!("{} {}", curve.system, curve.version).trim_end().to_owned();
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    html! {
        dl {
            dt { "command" } dd { code { (record.command) } }
            dt { "date" } dd { (record.date) }
            @for (name, value) in machine::known_properties(&record.machine) { dt { (name) } dd { (value) } }
            dt { "systems" } dd { (versions.join("; ")) }
        }
    }
}

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            h2 { "Notes" }
            ul { @for note in notes { li { (note) } } }
        }
    }
}

fn how_to_read(record: &BenchmarkRecord, drawn: &[(Graph, String)]) -> Markup {
    let has = |kind: GraphKind| drawn.iter().any(|(graph, _)| graph.kind == kind);
    html! {
        details.how open {
            summary { "How to read the graphs" }
            @if has(GraphKind::Throughput) {
                p {
                    b { "Throughput" } " is payload per second over the message's size. At the left end of a curve the"
                    " latency determines it, at the flat right end the bandwidth. A kink or a dip between them is a"
                    " change of protocol, as from eager to rendezvous, or the size at which messages no longer fit into"
                    " a cache."
                }
            }
            @if has(GraphKind::Signature) {
                p {
                    b { "Signature" } " (NetPIPE's) is the same throughput over the time that one message takes. Its"
                    " leftmost point is the latency, its top the highest throughput. Of two curves, the one further"
                    " left and further up is better. Where a curve rises vertically, larger messages cost no more time."
                }
            }
            @if has(GraphKind::Ratio) {
                p {
                    b { "Time over the best other library's" } ": the median time of a library, divided by that of the"
                    " fastest other library at that size. Below the line at 1 the library is the fastest of all."
                }
            }
            (how_to_read_lines(record))
        }
    }
}

fn how_to_read_lines(record: &BenchmarkRecord) -> Markup {
    let has = |level: CurveLevel| record.curves.iter().any(|curve| curve.floor == level);
    let imported = record.curves.iter().flat_map(|curve| &curve.points).any(|point| point.rounds == 0);
    html! {
        p {
            @if has(CurveLevel::Raw) {
                "Grey dashed lines are raw layers: memory, sockets, frame ports, without a library. A library is seldom"
                " faster than the layer that it uses; the distance is the cost of the library. "
            }
            @if has(CurveLevel::Layer) {
                "Coloured dashed lines are layers: parts of a library below its interface, measured alone; the distance"
                " to the library is the cost of the layers above them. "
            }
            "Open markers, and " span.noisy { "~" } " in tables, are points whose rounds still differed after they were repeated."
            " Times are medians of the rounds"
            @if imported { "; imported ones are the averages of their tool" }
            ". 1 MB is 10" sup { "6" } " bytes, 1 Ki is 1024; where messages go in both directions, MB/s are those"
            " of one direction."
        }
    }
}

fn section(group: &CurveGroup, drawn: &[(Graph, String)]) -> Markup {
    let own = |graph: &Graph| graph.pattern == group.pattern && graph.ranks == group.ranks;
    let grids = grid::of_group(group);
    html! {
        section {
            h2 { (group.title()) }
            div.graphs {
                @for (graph, drawing) in drawn.iter().filter(|(graph, _)| own(graph)) {
                    figure role="img" aria-label=(graph.title) data-graph=(graph.name) { (PreEscaped(drawing)) }
                }
            }
            @for grid in &grids { (table(grid, &in_view(&grid.rows))) }
            @for line in group.curves.iter().filter_map(|curve| curve.received_text()) { p { (line) } }
            details {
                summary { "All sizes and points" }
                @for grid in &grids { (table(grid, &all(&grid.rows))) }
                (points(group))
            }
        }
    }
}

/// Returns the rows that are shown at first: of many rows, those of size 0 and of powers of 4, if there are such
/// rows.
fn in_view(rows: &[GridRow]) -> Vec<&GridRow> {
    let is_round = |bytes: u64| bytes == 0 || bytes.is_power_of_two() && bytes.trailing_zeros().is_multiple_of(2);
    let round: Vec<&GridRow> = rows.iter().filter(|row| is_round(row.bytes)).collect();
    if rows.len() <= FEW_ROWS || round.is_empty() { all(rows) } else { round }
}

fn all(rows: &[GridRow]) -> Vec<&GridRow> {
    rows.iter().collect()
}

fn table(grid: &Grid, rows: &[&GridRow]) -> Markup {
    html! {
        div.wide {
            table {
                caption { (grid.title) }
                thead {
                    tr {
                        th { "bytes" }
                        @for system in &grid.systems { th { (system) } }
                        @if grid.compares { th { (OURS) " / best other library" } }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th { (size(row.bytes as f64)) }
                            @for cell in &row.cells { (figure(cell)) }
                            @if grid.compares {
                                td { @if let Some(ratio) = row.ratio_to_best { (format!("{ratio:.2}")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn figure(cell: &Option<GridCell>) -> Markup {
    html! {
        @match cell {
            Some(GridCell { value, noisy: true }) => { td.noisy { (grid::figure(*value)) "~" } },
            Some(GridCell { value, noisy: false }) => { td { (grid::figure(*value)) } },
            None => { td {} },
        }
    }
}

/// The table of all figures of each point; figures that another tool did not print are empty.
fn points(group: &CurveGroup) -> Markup {
    let or_nothing = |value: Option<f64>| value.map(grid::figure).unwrap_or_default();
    html! {
        div.wide {
            table {
                caption { (group.title()) ": all points" }
                thead {
                    tr {
                        th.text { "system" }
                        @for head in ["bytes", "min us", "median us", "spread %", "CPU us", "hidden %", "messages", "rounds"] {
                            th { (head) }
                        }
                        th.text { "noisy" }
                    }
                }
                tbody {
                    @for curve in &group.curves { @for point in &curve.points {
                        tr {
                            td.text { (curve.system) }
                            td { (point.bytes) }
                            td { (grid::figure(point.min_us)) }
                            td { (grid::figure(point.median_us)) }
                            td { @if point.rounds > 0 { (format!("{:.1}", point.spread * 100.0)) } }
                            td { (or_nothing(point.cpu_us)) }
                            td { (or_nothing(point.hidden.map(|part| part * 100.0))) }
                            td { @if point.count > 0 { (point.count) } }
                            td { @if point.rounds > 0 { (point.rounds) } }
                            td.text { @if point.noisy { "noisy" } }
                        }
                    } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{chart, example, graph};
    use super::*;

    fn page(record: &BenchmarkRecord) -> String {
        let drawn = graph::all(record).into_iter().map(|graph| {
            let drawing = chart::svg(&graph).unwrap();
            (graph, drawing)
        });
        text(record, &drawn.collect::<Vec<_>>())
    }

    #[test]
    fn page_holds_machine_graphs_tables_and_needs_nothing_else() {
        let mut record = example::record(&["tcp", "mpich", "hawser"]);
        record.notes = vec!["intel: <not> installed".to_owned()];
        let page = page(&record);
        for part in ["Some CPU, 3 GHz", "16.0 GiB", "intel: &lt;not&gt; installed", "All sizes and points", "hawser 1"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg ").count(), 4);
        assert_eq!(page.matches("data-curve=\"hawser\"").count(), 4);
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="));
        assert!(!page.contains("not complete"));
        let round = page.split("<details>").nth(1).unwrap();
        assert!(round.contains("<th>2</th>"), "all sizes are in the details");
        assert!(!page.split("<details>").next().unwrap().contains("<th>2</th>"), "round sizes alone are in view");
    }

    #[test]
    fn few_sizes_are_all_in_view_and_some_of_many() {
        for (sizes, shown) in [(vec![3, 5, 7], 3), ((1..=100).map(|i| 3 * i).collect(), 100), ((1..=64).collect(), 4)] {
            let mut record = example::record(&[]);
            record.curves = vec![example::curve("hawser", "bcast", &sizes)];
            let page = page(&record);
            let view = page.split("<section>").nth(1).unwrap().split("<details>").next().unwrap();
            assert_eq!(view.matches("<tr>").count(), 1 + shown, "{sizes:?}");
        }
    }

    #[test]
    fn what_nobody_said_is_not_shown() {
        let mut record = example::record(&["mpich"]);
        record.machine = crate::record::MachineInfo::default();
        record.curves[0].version.clear();
        record.curves[0].points[0].rounds = 0;
        record.curves[0].points[0].count = 0;
        let page = page(&record);
        assert!(page.contains("<h1>Benchmark, 2026-11-24T11:00:00Z</h1>"));
        assert!(page.contains("</dd><dt>systems</dt><dd>mpich</dd></dl>"), "{page}");
        assert!(!page.contains("<dt>memory") && !page.contains("<dt>host") && !page.contains("<dt>cores"));
        let points = page.rsplit("<tbody>").next().unwrap();
        let row: Vec<&str> = points.split("<tr>").nth(1).unwrap().split("<td").collect();
        assert_eq!([row[5], row[8], row[9]], ["></td>"; 3], "spread, messages, rounds");
        assert!(page.contains("imported ones are the averages"));
        assert!(!self::page(&example::record(&["mpich"])).contains("imported"));
    }

    #[test]
    fn floors_that_are_drawn_are_explained() {
        let mut record = example::record(&["tcp", "link", "hawser"]);
        record.curves[1].floor = CurveLevel::Layer;
        let page = |record: &BenchmarkRecord| page(record).contains("Coloured dashed lines are layers");
        assert!(page(&record) && !page(&example::record(&["tcp", "hawser"])));
    }

    #[test]
    fn page_of_a_cut_run_warns() {
        let record = BenchmarkRecord { complete: false, ..example::record(&["hawser"]) };
        assert!(page(&record).contains("The run is not complete: points are missing"));
    }

    #[test]
    fn names_from_a_file_cannot_become_markup() {
        let mut record = example::record(&["<b>\"x\" & 'y'</b>"]);
        record.command = "<script>".to_owned();
        let page = page(&record);
        assert!(!page.contains("<b>\"x") && !page.contains("<script"), "{page}");
        assert!(page.contains("data-curve=\"&lt;b&gt;&quot;x&quot; &amp; 'y'&lt;/b&gt;\""));
    }
}
