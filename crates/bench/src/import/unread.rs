//! Why a text gives no curves, for the reader of the message.
//!
//! Before it: the readers of the tools' outputs, and `command`, which says it of a file.

use super::figure::Wrong;
use std::fmt;

/// Why a text gives no curves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// No tool's that we know.
    Foreign,
    /// This tool's, without a figure.
    Empty(String),
    /// A row that is none, in the line of this number.
    Line { number: usize, wrong: Wrong },
}

impl Unread {
    /// Said of a file: cause first, then what can be done.
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
