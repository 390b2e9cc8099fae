//! The reason why a text gives no curves, as a message.
//!
//! Used by the readers of the tools' outputs, and by `command`, which reports it for a file.

use super::figure::Wrong;
use std::fmt;

/// The reason why a text gives no curves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The text is of no known tool.
    Foreign,
    /// The text is of this tool, and has no figure.
    Empty(String),
    /// A row cannot be read, in the line of this number.
    Line { number: usize, wrong: Wrong },
}

impl Unread {
    /// The message for a file: cause first, then the remedy.
    pub fn of(&self, file: &str) -> String {
        match self {
            Unread::Line { number, .. } => format!("{file}, line {number}: {self}"),
            _ => format!("{file}: {self}"),
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unread::Foreign => write!(
                out,
                "no output of NetPIPE, OSU or IMB in it; give what the tool printed, with the lines above its tables, or NetPIPE's np.out"
            ),
            Unread::Empty(tool) => {
                write!(out, "output of {tool}, but no figure in it; see whether the run came to an end")
            }
            Unread::Line { wrong: Wrong::Form(form), .. } => write!(out, "{form}"),
            Unread::Line { wrong, .. } => {
                write!(out, "{wrong}; if the line is not the tool's, take it out of the file")
            }
        }
    }
}
