//! The report as one HTML file that needs nothing beside it: no script, no other file, no network.
//!
//! It must not draw or compute figures. Before it: `chart`, which drew the graphs, and `grid`; after it: `write`.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::record::{Machine, Record};

use super::axis::size;
use super::graph::{Graph, Kind};
use super::grid::{self, Cell, Grid};
use super::group::{self, Group, OURS};

const STYLE: &str = include_str!("page.css");

/// The page; each graph with its drawing as SVG.
pub fn text(record: &Record, drawn: &[(Graph, String)]) -> String {
    let title = format!("Benchmark of {}, {}", record.machine.host, record.date);
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
                    p.warning role="alert" { "The run was cut off: points are missing." }
                }
                (about(record))
                (notes(&record.notes))
                (how_to_read(drawn))
                @for group in group::all(record) { (section(&group, drawn)) }
            }
        }
    }
    .into_string()
}

fn about(record: &Record) -> Markup {
    let Machine { host, processor, cores, memory_bytes, kernel, between } = &record.machine;
    let mut versions: Vec<String> = Vec::new();
    for curve in &record.curves {
        let version = format!("{} {}", curve.system, curve.version);
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let memory_gib = *memory_bytes as f64 / f64::from(1 << 30);
    html! {
        dl {
            dt { "command" } dd { code { (record.command) } }
            dt { "date" } dd { (record.date) }
            dt { "host" } dd { (host) }
            dt { "processor" } dd { (processor) ", " (cores) " cores" }
            dt { "memory" } dd { (format!("{memory_gib:.1} GiB")) }
            dt { "kernel" } dd { (kernel) }
            dt { "between the ends" } dd { (between) }
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

fn how_to_read(drawn: &[(Graph, String)]) -> Markup {
    let has = |kind: Kind| drawn.iter().any(|(graph, _)| graph.kind == kind);
    html! {
        details.how open {
            summary { "How to read the graphs" }
            @if has(Kind::Throughput) {
                p {
                    b { "Throughput" } " is payload per second over the message's size. Where a curve begins, at the left, the latency"
                    " rules; where it grows flat, the bandwidth. A kink or a dip between is where a protocol takes over from another, as"
                    " from sending at once to asking first, or where the messages outgrow a cache."
                }
            }
            @if has(Kind::Signature) {
                p {
                    b { "Signature" } " (NetPIPE's) is the same throughput over the time that one message takes. Its leftmost point is"
                    " the latency, its top the highest throughput; of two curves the one further left and further up is better. Where it"
                    " rises straight up, larger messages cost no more time."
                }
            }
            @if has(Kind::Ratio) {
                p {
                    b { "Time over the best other library's" } ": each library's median time over that of the fastest of the other"
                    " libraries at that size. Below the line at 1 it is the fastest of all."
                }
            }
            p {
                "Grey dashed lines are raw layers: memory, sockets, frame ports, without a library. A library cannot be faster for long;"
                " the distance is what it costs. Open markers, and " span.noisy { "~" } " in tables, are points whose rounds still"
                " differed after they were repeated. All times are medians; 1 MB is 10" sup { "6" } " bytes, 1 Ki is 1024."
            }
        }
    }
}

fn section(group: &Group, drawn: &[(Graph, String)]) -> Markup {
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
            @for grid in &grids { (table(grid, is_round)) }
            details {
                summary { "All sizes and points" }
                @for grid in &grids { (table(grid, |_| true)) }
                (points(group))
            }
        }
    }
}

/// The sizes that stand in view: 0 and powers of 4.
fn is_round(bytes: u64) -> bool {
    bytes == 0 || bytes.is_power_of_two() && bytes.trailing_zeros().is_multiple_of(2)
}

fn table(grid: &Grid, shown: impl Fn(u64) -> bool) -> Markup {
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
                    @for row in grid.rows.iter().filter(|row| shown(row.bytes)) {
                        tr {
                            th { (size(row.bytes as f64)) }
                            @for cell in &row.cells { (figure(cell)) }
                            @if grid.compares {
                                td { @if let Some(ratio) = row.over_best { (format!("{ratio:.2}")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn figure(cell: &Option<Cell>) -> Markup {
    html! {
        @match cell {
            Some(Cell { value, noisy: true }) => { td.noisy { (grid::figure(*value)) "~" } },
            Some(Cell { value, noisy: false }) => { td { (grid::figure(*value)) } },
            None => { td {} },
        }
    }
}

/// Everything that is known of each point.
fn points(group: &Group) -> Markup {
    let or_nothing = |value: Option<f64>| value.map(grid::figure).unwrap_or_default();
    html! {
        div.wide {
            table {
                caption { (group.title()) ": all points" }
                thead {
                    tr {
                        th.text { "system" }
                        @for head in ["bytes", "least us", "median us", "spread %", "CPU us", "hidden %", "messages", "rounds"] {
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
                            td { (format!("{:.1}", point.spread * 100.0)) }
                            td { (or_nothing(point.cpu_us)) }
                            td { (or_nothing(point.hidden.map(|part| part * 100.0))) }
                            td { (point.count) }
                            td { (point.rounds) }
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

    fn page(record: &Record) -> String {
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
        for part in
            ["Some CPU, 3 GHz", "16.0 GiB", "intel: &lt;not&gt; installed", "All sizes and points", "hawser 1.2"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg ").count(), 4);
        assert_eq!(page.matches("data-curve=\"hawser\"").count(), 4);
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="));
        assert!(!page.contains("cut off"));
        let round = page.split("<details>").nth(1).unwrap();
        assert!(round.contains("<th>2</th>"), "all sizes are in the details");
        assert!(!page.split("<details>").next().unwrap().contains("<th>2</th>"), "round sizes alone are in view");
    }

    #[test]
    fn page_of_a_cut_run_warns() {
        let record = Record { complete: false, ..example::record(&["hawser"]) };
        assert!(page(&record).contains("The run was cut off"));
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
