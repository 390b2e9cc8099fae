//! Reads the output of OSU's micro-benchmarks: a title (`# OSU MPI Latency Test v7.5`), a head of columns and its rows,
//! for each program.
//!
//! Times are averages over the iterations and, in collective operations, over the ranks. If the tool was run with
//! `-f`, it also prints the time of the slowest rank, which is taken instead. Only `osu_mbw_mr` prints the number of
//! ranks. Used by `import`; uses `table` and `section`.

use crate::import::error::ParseError;
use crate::import::section::Section;
use crate::import::table::{Column, Table};
use crate::import::text::{NumberedText, TextLine};

/// The tests, by the words between `OSU MPI` and `Test`: our pattern, its number of ranks (0 if the test does not fix
/// it), and the number of messages of an iteration that its rate counts.
const TESTS: [(&str, &str, usize, u32); 6] = [
    ("latency", "pingpong", PAIR, 1),
    ("bandwidth", "stream", PAIR, 1),
    ("bi-directional bandwidth", "bistream", PAIR, 2),
    ("multiple bandwidth / message rate", "rate", 0, 1),
    ("multi latency", "multi-pingpong", 0, 1),
    ("broadcast latency", "bcast", 0, 1),
];
const NONBLOCKING: &str = "non-blocking ";
const BIDIRECTIONAL: &str = "bi-directional ";
const PAIR: usize = 2;
const MEAN: &str = "the mean over the ranks; `run` reports the slowest rank's time, which OSU prints with -f";

/// Returns the test and the version that a title names; None if the line is no title.
fn title(line: TextLine<'_>) -> Option<(String, &'_ str)> {
    let text = line.text.trim_start_matches('#').trim_start().strip_prefix("OSU MPI")?;
    let (test, version) = text.split_once(" Test").or_else(|| text.split_once(" test"))?;
    // `OSU MPI-CUDA Latency` is the same test on another memory; `OSU MPI_Put Latency` is another test.
    let test = match test.strip_prefix('-') {
        Some(memory) => memory.split_once(' ').map_or("", |(_, test)| test),
        None => test,
    };
    Some((test.trim_matches([' ', '_']).to_lowercase(), version.trim()))
}

pub fn recognizes(text: &NumberedText) -> bool {
    text.lines.iter().any(|&line| title(line).is_some())
}

pub fn name(text: &NumberedText) -> String {
    let version = text.lines.iter().find_map(|&line| title(line)).map_or("", |(_, version)| version);
    format!("OSU micro-benchmarks {}", version.trim_matches(['(', ')'])).trim().into()
}

fn new_section(test: &str) -> (Section, Table) {
    let (blocking, mark) = test.strip_prefix(NONBLOCKING).map_or((test, ""), |blocking| (blocking, "i"));
    let known = TESTS.iter().find(|(name, ..)| *name == blocking);
    let (pattern, ranks, messages) = known.map_or_else(
        || (other_pattern(blocking), 0, if blocking.contains(BIDIRECTIONAL) { 2 } else { 1 }),
        |&(_, pattern, ranks, messages)| (pattern.into(), ranks, messages),
    );
    (Section::new(test, format!("{mark}{pattern}"), ranks), Table { columns: Vec::new(), messages })
}

/// Returns the pattern of a test that is not in the table, such as `alltoallw` of `all-to-allw personalized exchange
/// latency`; collective operations have the names of MPI's functions.
fn other_pattern(test: &str) -> String {
    let test = test.strip_suffix(" latency").unwrap_or(test);
    let test = test.strip_suffix(" personalized exchange").unwrap_or(test);
    test.replace("all-to-all", "alltoall").replace(' ', "-")
}

/// Returns the columns of a head. Within a name there are single blanks, between two names at least two blanks or a
/// tab.
fn columns(line: TextLine) -> Vec<Column> {
    let cells = line.text.trim_start_matches('#').trim().split("  ").flat_map(|part| part.split('\t'));
    cells
        .map(|cell| cell.replace(' ', "").to_lowercase())
        .filter(|cell| !cell.is_empty())
        .map(|cell| column(&cell))
        .collect()
}

fn column(name: &str) -> Column {
    match name {
        "size" => Column::Bytes,
        "iterations" => Column::Count,
        "latency(us)" => Column::Time,
        "avglatency(us)" | "avglat(us)" | "purecomm.(us)" => Column::Mean,
        "minlatency(us)" | "minlat(us)" | "mincomm.(us)" => Column::Min,
        "maxlatency(us)" | "maxlat(us)" | "maxcomm.(us)" => Column::Max,
        "mb/s" | "bandwidth(mb/s)" | "avgbandwidth(mb/s)" => Column::MbyteS,
        "messages/s" => Column::Rate,
        "overlap(%)" => Column::Hidden,
        _ => Column::Other,
    }
}

/// The number of pairs in `# [ pairs: 2 ] [ window size: 64 ]`.
fn pairs(line: TextLine) -> Option<usize> {
    let text = line.comment()?.strip_prefix("[ pairs:")?;
    text.split_whitespace().next()?.parse().ok()
}

pub fn read(text: &NumberedText) -> Result<Vec<Section>, ParseError> {
    let mut sections: Vec<(Section, Table)> = Vec::new();
    for &line in &text.lines {
        if let Some((test, _)) = title(line) {
            sections.push(new_section(&test));
            continue;
        }
        let Some((section, table)) = sections.last_mut() else { continue };
        let head = columns(line);
        if let Some(pairs) = pairs(line) {
            section.ranks = pairs.saturating_mul(2);
        } else if !line.is_row() && Table::has_time_column(&head) {
            table.columns = head;
            // Between two ranks the mean is over the iterations alone, and needs no note.
            section.note = (section.ranks != PAIR && table.has_only_mean()).then_some(MEAN);
        } else if line.is_row() && !table.columns.is_empty() {
            let pushed = table.row(line).and_then(|point| section.push(point));
            pushed.map_err(|error| ParseError::Line { number: line.number, error })?;
        }
    }
    Ok(sections.into_iter().map(|(section, _)| section).collect())
}
