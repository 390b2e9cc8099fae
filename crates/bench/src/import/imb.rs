//! Reads the output of the Intel MPI Benchmarks (MPI-1, P2P, NBC, RMA): for each benchmark and number of processes a
//! section with a table.
//!
//! The median of a point is `t_max`, the average of the slowest rank over the repetitions, because the slowest rank
//! counts in our patterns, too; `t_min` is the average of the fastest rank. Rates count the messages of all pairs, in
//! Biband of both directions. Used by `import`; uses `table` and `section`.

use crate::import::error::ParseError;
use crate::import::section::Section;
use crate::import::table::{Column, Table};
use crate::import::text::{NumberedText, TextLine};

const SECTION: &str = "Benchmarking ";
/// The beginnings of the second cell of a row without figures: for this size IMB had no memory or no time, or a number
/// that it needs does not fit into an int.
const NO_FIGURES: [&str; 3] = ["out-of-mem.", "int-overflow.", "time-out."];

pub fn recognizes(text: &NumberedText) -> bool {
    text.lines.iter().any(|line| line.comment().is_some_and(|remark| remark.starts_with(SECTION) || is_title(remark)))
}

fn is_title(remark: &str) -> bool {
    (remark.starts_with("Intel(R) MPI Benchmark") || remark.starts_with("Intel (R) MPI Benchmark"))
        && remark.contains("part")
}

/// The name `IMB 2021.11`, from `Intel(R) MPI Benchmarks 2021.11, MPI-1 part`.
pub fn name(text: &NumberedText) -> String {
    let title = text.lines.iter().filter_map(|line| line.comment()).find(|remark| is_title(remark)).unwrap_or_default();
    let version = title.split(',').next().and_then(|name| name.rsplit(' ').next()).unwrap_or_default();
    format!("IMB {version}").trim().into()
}

/// Returns our name of a benchmark, and the number of messages of an iteration that its rate counts. A stream of more
/// than one pair is a rate. Only Sendrecv is our `bidirectional`, one message in each direction and no other in
/// flight; Biband keeps a window in flight in both directions.
fn pattern(name: &str, ranks: usize) -> (String, u32) {
    let pair = ranks == 2;
    match name.to_ascii_lowercase().as_str() {
        "sendrecv" if pair => ("bidirectional".into(), 1),
        "biband" if pair => ("bistream".into(), 2),
        "uniband" if pair => ("stream".into(), 1),
        "uniband" => ("rate".into(), 1),
        other => (other.into(), 1),
    }
}

fn columns(line: TextLine) -> Vec<Column> {
    line.text.split_whitespace().map(column).collect()
}

fn column(name: &str) -> Column {
    match name {
        "#bytes" => Column::Bytes,
        "#repetitions" => Column::Count,
        "t[usec]" | "t_pure[usec]" => Column::Time,
        "t_avg[usec]" => Column::Mean,
        "t_min[usec]" => Column::Min,
        "t_max[usec]" => Column::Max,
        "Mbytes/sec" => Column::MbyteS,
        "Msg/sec" => Column::Rate,
        "overlap[%]" => Column::Hidden,
        _ => Column::Other,
    }
}

/// A section that is being read. Its pattern is known only when its table begins, because it depends on the number of
/// ranks.
#[derive(Default)]
struct OpenSection {
    name: String,
    ranks: usize,
    mode: String,
    table: Table,
}

impl OpenSection {
    /// Reads a remark beneath the name.
    fn remark(&mut self, remark: &str) {
        if let Some(ranks) = remark.strip_prefix("#processes =") {
            // `2`, `2 (threads: 4)` or `4; rank order (rowwise):`.
            let first = ranks.trim_start().split(|letter: char| !letter.is_ascii_digit()).next();
            self.ranks = first.and_then(|ranks| ranks.parse().ok()).unwrap_or(0);
        } else if let Some(groups) = remark.strip_prefix("( ").filter(|text| text.contains(" groups of ")) {
            // `( 2 groups of 2 processes each running simultaneous )`
            let numbers: Vec<usize> = groups.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            self.ranks = numbers.iter().fold(1, |all, &number| all.saturating_mul(number));
        } else if let Some(mode) = remark.strip_prefix("MODE:") {
            self.mode = format!("-{}", mode.trim().to_ascii_lowercase());
        }
    }

    fn begin_table(&mut self, columns: Vec<Column>) -> Section {
        let (pattern, messages) = pattern(&self.name, self.ranks);
        self.table = Table { columns, messages };
        Section::new(&self.name, pattern + &self.mode, self.ranks)
    }
}

pub fn read(text: &NumberedText) -> Result<Vec<Section>, ParseError> {
    let (mut open, mut sections) = (None, Vec::<Section>::new());
    for &line in &text.lines {
        let head = columns(line);
        let is_head = head.first().is_some_and(|first| matches!(first, Column::Bytes | Column::Count))
            && Table::has_time_column(&head);
        if let Some(name) = line.comment().and_then(|remark| remark.strip_prefix(SECTION)) {
            open = Some(OpenSection { name: name.trim().replace(' ', "-"), ..OpenSection::default() });
        } else if let Some(open) = &mut open {
            if is_head {
                sections.push(open.begin_table(head));
            } else if let Some(remark) = line.comment() {
                open.remark(remark);
            } else if let Some(section) =
                sections.last_mut().filter(|_| line.is_row() && !open.table.columns.is_empty())
            {
                row(section, &open.table, line)?;
            }
        }
    }
    Ok(sections)
}

fn row(section: &mut Section, table: &Table, line: TextLine) -> Result<(), ParseError> {
    let reason = line.text.split_whitespace().nth(1).unwrap_or_default();
    if NO_FIGURES.iter().any(|reason_start| reason.starts_with(reason_start)) {
        section.left_out += 1;
        return Ok(());
    }
    let pushed = table.row(line).and_then(|point| section.push(point));
    pushed.map_err(|error| ParseError::Line { number: line.number, error })
}
