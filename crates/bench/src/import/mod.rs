//! Reads other tools' results as curves, so that they can be drawn in the graph of ours: NetPIPE, OSU's
//! micro-benchmarks and IMB.
//!
//! This module determines the tool that wrote a text, and passes the text to the reader for this tool. Figures stay
//! as the tool printed them: nothing is measured again, smoothed or guessed, and a row that cannot be read is refused
//! with its line number. Used by `command`; uses `record`.

mod cell;
pub mod command;
mod error;
mod imb;
mod netpipe;
mod osu;
mod section;
mod table;
mod text;

#[cfg(test)]
mod tests;

use crate::record::{self, Curve, CurveLevel};
pub use error::ParseError;
use section::Section;
use text::NumberedText;

/// The contents of a tool's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The tool's name for itself, with its version if it prints one.
    pub tool: String,
    /// The benchmarks, in the order of the text.
    pub benchmarks: Vec<Benchmark>,
    /// False if the text ends in the middle of a line.
    pub complete: bool,
    /// Notes for readers: the number of rows that were left out, and what is uncertain or different in the figures.
    pub notes: Vec<String>,
}

/// One benchmark of the tool, with the tool's name for it, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    pub name: String,
    pub curve: Curve,
}

struct Tool {
    recognizes: fn(&NumberedText) -> bool,
    name: fn(&NumberedText) -> String,
    read: fn(&NumberedText) -> Result<Vec<Section>, ParseError>,
}

/// The tools in the order in which they are tried: OSU and IMB print their names, whereas NetPIPE is recognised only
/// by the form of its rows.
const TOOLS: [Tool; 3] = [
    Tool { recognizes: osu::recognizes, name: osu::name, read: osu::read },
    Tool { recognizes: imb::recognizes, name: imb::name, read: imb::read },
    Tool { recognizes: netpipe::recognizes, name: netpipe::name, read: netpipe::read },
];

/// Returns the curves of a tool's output, as curves of the system `name`. The number of ranks, and the count of a
/// point, are 0 if the tool does not print them.
pub fn import(text: &str, name: &str, level: CurveLevel) -> Result<Imported, ParseError> {
    // A tool's names for its benchmarks are shown on a terminal and written to other files.
    let text: String = text.chars().map(printable_or_space).collect();
    let text = NumberedText::new(&text);
    let tool = TOOLS.iter().find(|tool| (tool.recognizes)(&text)).ok_or(ParseError::Foreign)?;
    let sections = (tool.read)(&text)?;
    let notes = notes(&sections, &text);
    let with_points = sections.into_iter().filter(|section| !section.points.is_empty());
    let benchmarks: Vec<Benchmark> = with_points.map(|section| benchmark(section, name, level)).collect();
    let tool = (tool.name)(&text);
    if benchmarks.is_empty() {
        return Err(ParseError::Empty(tool));
    }
    Ok(Imported { tool, benchmarks, complete: !text.is_cut, notes })
}

/// Replaces control characters, but not the ends of lines and columns.
fn printable_or_space(letter: char) -> char {
    match letter {
        '\n' | '\t' => letter,
        '\r' => ' ',
        _ => record::printable(letter),
    }
}

fn benchmark(mut section: Section, system: &str, level: CurveLevel) -> Benchmark {
    section.points.sort_by_key(|point| point.bytes);
    let curve = Curve {
        system: system.into(),
        floor: level,
        version: String::new(),
        pattern: section.pattern,
        ranks: section.ranks,
        points: section.points,
        received: None,
    };
    Benchmark { name: section.benchmark, curve }
}

fn notes(sections: &[Section], text: &NumberedText) -> Vec<String> {
    let left_out = sections.iter().filter(|section| section.left_out > 0);
    let mut notes: Vec<String> = left_out
        .map(|section| format!("{}: {} rows without a usable figure are left out", section.pattern, section.left_out))
        .collect();
    let mut noted: Vec<&str> = sections.iter().filter_map(|section| section.note).collect();
    noted.dedup();
    for note in noted {
        let of: Vec<&str> = sections
            .iter()
            .filter(|section| section.note == Some(note))
            .map(|section| section.pattern.as_str())
            .collect();
        notes.push(format!("{}: {note}", of.join(", ")));
    }
    if text.is_cut {
        notes.push("the last line does not end with a newline and may be truncated; it is left out".into());
    }
    notes
}
