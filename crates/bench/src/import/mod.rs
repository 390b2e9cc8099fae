//! Reads other tools' results as curves, so that they can be drawn in the graph of ours: NetPIPE, OSU's
//! micro-benchmarks and IMB.
//!
//! Determines the tool of a text and passes it to that tool's reader. Figures stay that tool's: nothing is measured
//! again, smoothed or guessed; a row that cannot be read is refused with its number. Used by `command`; uses `record`.

pub mod command;
mod figure;
mod imb;
mod netpipe;
mod osu;
mod section;
mod table;
mod text;
mod unread;

#[cfg(test)]
mod tests;

use crate::record::{self, Curve, Floor};
use section::Section;
use text::Text;
pub use unread::Unread;

/// The contents of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The tool's name for itself, with its version where it prints one.
    pub tool: String,
    /// The benchmarks, in the order of the text.
    pub benchmarks: Vec<Benchmark>,
    /// False: the text ends in the middle of a line.
    pub complete: bool,
    /// The rows and benchmarks that were left out, and why.
    pub notes: Vec<String>,
}

/// One benchmark of the tool, with the tool's name for it, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    pub name: String,
    pub curve: Curve,
}

struct Tool {
    is_mine: fn(&Text) -> bool,
    name: fn(&Text) -> String,
    read: fn(&Text) -> Result<Vec<Section>, Unread>,
}

/// The tools, in this order: OSU and IMB print their names, NetPIPE is recognised by the shape of its rows alone.
const TOOLS: [Tool; 3] = [
    Tool { is_mine: osu::is_mine, name: osu::name, read: osu::read },
    Tool { is_mine: imb::is_mine, name: imb::name, read: imb::read },
    Tool { is_mine: netpipe::is_mine, name: netpipe::name, read: netpipe::read },
];

/// The curves of a tool's output, as those of the system `name`. The ranks, and a point's count, are 0 where the tool
/// does not print them.
pub fn import(text: &str, name: &str, floor: Floor) -> Result<Imported, Unread> {
    // A tool's names for its benchmarks are shown on a terminal and written to other files.
    let text: String = text.chars().map(plain).collect();
    let text = Text::new(&text);
    let tool = TOOLS.iter().find(|tool| (tool.is_mine)(&text)).ok_or(Unread::Foreign)?;
    let sections = (tool.read)(&text)?;
    let notes = notes(&sections, &text);
    let with_points = sections.into_iter().filter(|section| !section.points.is_empty());
    let benchmarks: Vec<Benchmark> = with_points.map(|section| benchmark(section, name, floor)).collect();
    let tool = (tool.name)(&text);
    if benchmarks.is_empty() {
        return Err(Unread::Empty(tool));
    }
    Ok(Imported { tool, benchmarks, complete: !text.cut, notes })
}

/// Replaces control characters, but not the ends of lines and columns.
fn plain(letter: char) -> char {
    match letter {
        '\n' | '\t' => letter,
        '\r' => ' ',
        _ => record::plain(letter),
    }
}

fn benchmark(mut section: Section, system: &str, floor: Floor) -> Benchmark {
    section.points.sort_by_key(|point| point.bytes);
    let curve = Curve {
        system: system.into(),
        floor,
        version: String::new(),
        pattern: section.pattern,
        ranks: section.ranks,
        points: section.points,
    };
    Benchmark { name: section.benchmark, curve }
}

fn notes(sections: &[Section], text: &Text) -> Vec<String> {
    let left_out = sections.iter().filter(|section| section.left_out > 0);
    let mut notes: Vec<String> = left_out
        .map(|section| {
            format!("{}: {} rows whose figure the tool gave as nothing are left out", section.pattern, section.left_out)
        })
        .collect();
    let mut said: Vec<&str> = sections.iter().filter_map(|section| section.note).collect();
    said.dedup();
    for note in said {
        let of: Vec<&str> = sections
            .iter()
            .filter(|section| section.note == Some(note))
            .map(|section| section.pattern.as_str())
            .collect();
        notes.push(format!("{}: {note}", of.join(", ")));
    }
    if text.cut {
        notes.push("the last line has no end and may be cut off; it is left out".into());
    }
    notes
}
