//! Reads NetPIPE's output: `np.out` of 3.7 (bytes, Mbps, seconds) and of 5 (bytes, three Gbps, microseconds), and the
//! lines that 3.7 prints during a run.
//!
//! In 3.7 a megabit is 2^20 bits. It prints times in steps of 10 ns, which is coarse for a message of 80 ns; if the
//! rate in the same row is finer and agrees with the time, the time is computed from the rate. `np.out` does not
//! distinguish a ping-pong from a stream (`-s`) or from both directions at once (`-2`); the printed output does, if
//! it is complete. Used by `import`; uses `section`.

use crate::import::cell::{CellError, check_computed, parse_integer, parse_real, rounding_error};
use crate::import::error::ParseError;
use crate::import::section::{Section, point};
use crate::import::text::{NumberedText, TextLine};
use crate::record::Point;

/// The bits in a microsecond at one megabit a second, as NetPIPE 3.7 counts megabits.
const MEGABIT_3: f64 = 1.048_576;
/// Below this many Gbps a rate of NetPIPE 5, with its three decimals, is too coarse to compute with.
const FINE_GBIT: f64 = 0.1;
const ARROW: &str = " times -->";
const RANKS: usize = 2;
const PATTERN_UNKNOWN: &str = "np.out does not show whether NetPIPE ran with -s or -2; it is imported as a ping-pong";

fn decimals(cell: &str) -> usize {
    cell.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Whether a line is a row of `np.out`, which is recognised by the number of decimals in each column.
fn is_file_row(line: TextLine) -> bool {
    let cells: Vec<&str> = line.text.split_whitespace().collect();
    let shape: Vec<usize> = cells.iter().take(5).map(|cell| decimals(cell)).collect();
    line.is_row() && (shape == [0, 6, 8] || (shape == [0, 3, 3, 3, 2] && [5, 7].contains(&cells.len())))
}

fn is_printed_row(line: TextLine) -> bool {
    line.text.contains(ARROW) && line.is_row()
}

/// Whether the text has a row of NetPIPE.
pub fn recognizes(text: &NumberedText) -> bool {
    text.lines.iter().any(|&line| is_file_row(line) || is_printed_row(line))
}

pub fn name(_: &NumberedText) -> String {
    "NetPIPE".into()
}

/// The pattern that a line before the rows announces.
fn announced_pattern(line: TextLine) -> Option<&'static str> {
    match line.text {
        text if text.starts_with("Streaming in one direction only") => Some("stream"),
        text if text.starts_with("Passing data in both directions") => Some("bidirectional"),
        _ => None,
    }
}

pub fn read(text: &NumberedText) -> Result<Vec<Section>, ParseError> {
    let printed = text.lines.iter().any(|&line| is_printed_row(line));
    let mut sections: Vec<Section> = Vec::new();
    let (mut pattern, mut last) = ("pingpong", None);
    for &line in &text.lines {
        if let Some(announced) = announced_pattern(line) {
            pattern = announced;
        } else if if printed { is_printed_row(line) } else { line.is_row() } {
            let both = pattern == "bidirectional";
            let point = if printed { printed_row(line, both) } else { file_row(line) };
            let point = point.map_err(|error| ParseError::Line { number: line.number, error })?;
            // Sizes only grow within a run: if a size is not larger than the one before it, the output of another run
            // begins.
            if last.is_none_or(|last| point.bytes <= last) {
                let note = (!printed).then_some(PATTERN_UNKNOWN);
                sections.push(Section { note, ..Section::new("NetPIPE's", pattern, RANKS) });
            }
            last = Some(point.bytes);
            let section = sections.last_mut().expect("the first row begins a section");
            section.push(point).map_err(|error| ParseError::Line { number: line.number, error })?;
        } else if line.text.starts_with("Sending output to") && last.take().is_some() {
            pattern = "pingpong";
        }
    }
    Ok(sections)
}

fn file_row(line: TextLine) -> Result<Point, CellError> {
    let cells: Vec<&str> = line.text.split_whitespace().collect();
    match cells[..] {
        [bytes, mbit, seconds] => {
            let bytes = parse_integer(bytes)?;
            let time_us = time_us(bytes as f64, mbit, seconds, 1e6)?;
            Ok(point(bytes, time_us, time_us, 0))
        }
        [bytes, average, least, most, time_us, ..] => file_row_5(bytes, average, least, most, time_us),
        _ => Err(CellError::Short(cells.len())),
    }
}

fn file_row_5(bytes: &str, average: &str, least: &str, most: &str, time_us: &str) -> Result<Point, CellError> {
    let (bytes, average, most, time_us) =
        (parse_integer(bytes)?, parse_real(average)?, parse_real(most)?, parse_real(time_us)?);
    parse_real(least)?;
    let fraction = if average >= FINE_GBIT && most > average { average / most } else { 1.0 };
    Ok(point(bytes, time_us * fraction, time_us, 0))
}

/// Reads `0:       1 bytes  89335 times -->     89.17 Mbps in       0.09 usec`. With `both` directions, the bytes are
/// those of one direction, the Mbps those of both.
fn printed_row(line: TextLine, both: bool) -> Result<Point, CellError> {
    let cells: Vec<&str> = line.text.split_whitespace().collect();
    let [_, bytes, "bytes", count, "times", "-->", mbit, "Mbps", "in", time, "usec", ..] = cells[..] else {
        return Err(CellError::UnknownForm("this is not a row of NetPIPE 3.7; for NetPIPE 5, import its file np.out"));
    };
    let (bytes, count) = (parse_integer(bytes)?, parse_integer(count)?);
    let time_us = time_us(bytes as f64 * if both { 2.0 } else { 1.0 }, mbit, time, 1.0)?;
    Ok(point(bytes, time_us, time_us, count))
}

/// Returns the time in microseconds: as it is printed in units of `unit_us`, or computed from the rate if that is
/// finer and agrees.
fn time_us(bytes: f64, mbit: &str, time: &str, unit_us: f64) -> Result<f64, CellError> {
    let (rate, printed_us) = (parse_real(mbit)?, parse_real(time)? * unit_us);
    check_computed(printed_us, time)?;
    let printed_error_us = rounding_error(time) * unit_us;
    let computed_us = bytes * 8.0 / (rate * MEGABIT_3);
    let computed_error_us = computed_us * rounding_error(mbit) / rate;
    // The two agree if they differ by at most the sum of their rounding errors, and 1 % more for rounding inside the
    // tool.
    let same = (computed_us - printed_us).abs() <= 1.01 * (printed_error_us + computed_error_us);
    let finer = rate > 0.0 && same && computed_error_us < printed_error_us;
    Ok(if finer { computed_us } else { printed_us })
}
