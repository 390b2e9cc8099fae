//! The report on a terminal: plain text, one table for each pattern and measure.
//!
//! It must not print; its caller does. Used by `command`; uses `grid`.

use std::fmt::Write;

use crate::record::{BenchmarkRecord, INCOMPLETE};

use super::axis;
use super::grid::{self, Grid, GridCell, GridRow};
use super::group::{self, OURS};

/// The mark behind a figure whose rounds still differed after they were repeated.
const NOISY: char = '~';

/// All tables of a record, and its notes.
pub fn text(record: &BenchmarkRecord) -> String {
    let mut out = String::new();
    for group in group::all(record) {
        for grid in grid::of_group(&group) {
            out.push_str(&table(&grid));
            out.push('\n');
        }
        for line in group.curves.iter().filter_map(|curve| curve.received_text()) {
            let _ = writeln!(out, "{}: {line}\n", group.title());
        }
    }
    if record.curves.iter().flat_map(|curve| &curve.points).any(|point| point.noisy) {
        let _ = writeln!(out, "{NOISY} the rounds still differed after they were repeated");
    }
    for note in &record.notes {
        let _ = writeln!(out, "note: {note}");
    }
    if !record.complete {
        let _ = writeln!(out, "note: the run is not complete: {INCOMPLETE}");
    }
    out
}

fn table(grid: &Grid) -> String {
    let mut lines: Vec<Vec<String>> = vec![heads(grid)];
    lines.extend(grid.rows.iter().map(|row| cells(grid, row)));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut out = format!("{}\n", grid.title);
    for line in &lines {
        let padded: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", padded.join("  ").trim_end());
    }
    out
}

/// Returns the heads of the columns. Behind the name of a system there is room for the mark, so that heads and
/// figures are aligned.
fn heads(grid: &Grid) -> Vec<String> {
    let mut heads = vec!["bytes".to_owned()];
    heads.extend(grid.systems.iter().map(|system| format!("{system} ")));
    if grid.compares {
        heads.push(format!("{OURS}/best other"));
    }
    heads
}

fn cells(grid: &Grid, row: &GridRow) -> Vec<String> {
    let cell = |cell: &Option<GridCell>| match cell {
        Some(cell) => format!("{}{}", grid::figure(cell.value), if cell.noisy { NOISY } else { ' ' }),
        None => "- ".to_owned(),
    };
    let mut cells = vec![axis::size(row.bytes as f64)];
    cells.extend(row.cells.iter().map(cell));
    if grid.compares {
        cells.push(row.ratio_to_best.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn sizes_go_down_and_systems_across() {
        let mut record = example::record(&[]);
        record.curves = ["tcp", "mpich", "hawser"].map(|system| example::curve(system, "pingpong", &[1, 128])).to_vec();
        for (curve, us) in record.curves.iter_mut().zip([0.25, 0.5, 1.0]) {
            curve.points = vec![example::point(1, us), example::point(128, us * 64.0)];
        }
        record.curves[1].points.pop();
        let want = "\
pingpong, 2 ranks: median time, us
bytes    tcp   hawser   mpich   hawser/best other
    1  0.250     1.00   0.500                2.00
  128   16.0~    64.0~      -                   -

pingpong, 2 ranks: throughput, MB/s
bytes   tcp   hawser   mpich
    1  4.00     1.00    2.00
  128  8.00~    2.00~      -

~ the rounds still differed after they were repeated
";
        let trimmed: String = text(&record).lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(trimmed, want);
    }

    #[test]
    fn bytes_that_a_library_counts_have_a_line_below_the_tables() {
        let mut record = example::record(&["tcp", "hawser"]);
        let without = text(&record);
        assert!(!without.contains("of the bytes received"), "{without}");
        record.curves[1].received = Some(crate::record::ReceivedBytesRecord { all: 80, posted: 60, direct: 8 });
        let line = "pingpong, 2 ranks: hawser, of the bytes received: 75.00 % found their receive posted, 10.00 % \
                    never lay in the library's memory\n";
        assert!(text(&record).contains(line), "{}", text(&record));
    }

    #[test]
    fn one_library_is_not_compared_and_a_cut_run_says_so() {
        let mut record = example::record(&["tcp", "hawser"]);
        record.complete = false;
        record.notes = vec!["mpich: not installed".to_owned()];
        let text = text(&record);
        assert!(!text.contains("best other"), "{text}");
        assert!(
            text.ends_with(
                "note: mpich: not installed\nnote: the run is not complete: points are missing; see the notes\n"
            ),
            "{text}"
        );
    }
}
