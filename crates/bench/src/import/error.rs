//! The reason why a text gives no curves, as a message.
//!
//! Used by the readers of the tools' outputs, and by `command`, which reports it for a file.

use super::cell::CellError;
use std::fmt;

/// The reason why a text gives no curves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text is of no known tool.
    Foreign,
    /// The text is of this tool, and has no figure.
    Empty(String),
    /// A row cannot be read, in the line of this number.
    Line { number: usize, error: CellError },
}

impl ParseError {
    /// The message for a file: cause first, then the remedy.
    pub fn for_file(&self, file: &str) -> String {
        match self {
            ParseError::Line { number, .. } => format!("{file}, line {number}: {self}"),
            _ => format!("{file}: {self}"),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ParseError::Foreign => write!(
                out,
                "no output of NetPIPE, OSU or IMB found; give the output of the tool, with the lines above its tables, \
                 or NetPIPE's np.out"
            ),
            ParseError::Empty(tool) => write!(out, "output of {tool} without figures; check whether the run completed"),
            ParseError::Line { error: CellError::UnknownForm(form), .. } => write!(out, "{form}"),
            ParseError::Line { error, .. } => {
                write!(out, "{error}; if the line is not output of the tool, remove it from the file")
            }
        }
    }
}
