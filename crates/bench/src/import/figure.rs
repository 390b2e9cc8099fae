//! Reads one cell of a table as a number, or refuses it with the reason.
//!
//! A cell that is not a number, is negative, or is beyond any time that could have been measured never becomes a point
//! of a graph. Used by the tools' readers; `import` names the line.

use std::fmt;

/// Thirty years, in microseconds, or as many bytes a second: no figure of a benchmark is more.
const MOST: f64 = 1e15;
/// The most characters of a cell that are shown.
const SHOWN: usize = 40;

/// The reason why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    NoNumber(String),
    Negative(String),
    TooLarge(String),
    /// The row ends before a column of the table's head; it has this many cells.
    Short(usize),
    /// A size that the table had before.
    Again(u64),
    /// A form of output that has no fixed columns.
    Form(&'static str),
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Wrong::NoNumber(cell) => write!(out, "`{cell}` is no number"),
            Wrong::Negative(cell) => write!(out, "`{cell}` is negative"),
            Wrong::TooLarge(cell) => write!(out, "`{cell}` is too large for a figure"),
            Wrong::Short(cells) => write!(out, "the row has only {cells} cells"),
            Wrong::Again(bytes) => write!(out, "the size {bytes} is in this table already"),
            Wrong::Form(form) => write!(out, "{form}"),
        }
    }
}

fn shown(cell: &str) -> String {
    cell.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}

/// Reads a number of bytes or a count.
pub fn whole(cell: &str) -> Result<u64, Wrong> {
    cell.parse().map_err(|_| match cell.strip_prefix('-').unwrap_or(cell) {
        digits if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Wrong::NoNumber(shown(cell))
        }
        digits if digits.len() < cell.len() => Wrong::Negative(shown(cell)),
        _ => Wrong::TooLarge(shown(cell)),
    })
}

/// Reads a time, a rate or a fraction.
pub fn real(cell: &str) -> Result<f64, Wrong> {
    match cell.parse::<f64>() {
        Ok(number) if number.is_nan() => Err(Wrong::NoNumber(shown(cell))),
        Ok(number) if number < 0.0 => Err(Wrong::Negative(shown(cell))),
        Ok(number) if number > MOST => Err(Wrong::TooLarge(shown(cell))),
        Ok(number) => Ok(number),
        Err(_) => Err(Wrong::NoNumber(shown(cell))),
    }
}

/// Checks a time that was computed from other figures; `cell` is the one that determined it.
pub fn reckoned(time_us: f64, cell: &str) -> Result<f64, Wrong> {
    if time_us.is_finite() && time_us <= MOST { Ok(time_us) } else { Err(Wrong::TooLarge(shown(cell))) }
}

/// Half a unit of a cell's last decimal: the largest rounding error of the printed number.
pub fn rounding(cell: &str) -> f64 {
    let decimals = cell.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 0.1_f64.powi(decimals.min(300) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_others_refused() {
        assert_eq!(whole("4194304"), Ok(4 << 20));
        assert_eq!(whole("-1"), Err(Wrong::Negative("-1".into())));
        assert_eq!(whole("18446744073709551616"), Err(Wrong::TooLarge("18446744073709551616".into())));
        for cell in ["", "-", "1.5", "1k", "nan"] {
            assert_eq!(whole(cell), Err(Wrong::NoNumber(cell.into())));
        }
        assert_eq!(real("0.17"), Ok(0.17));
        assert_eq!(real("-0.17"), Err(Wrong::Negative("-0.17".into())));
        assert_eq!(real("1e999"), Err(Wrong::TooLarge("1e999".into())));
        assert_eq!(real("inf"), Err(Wrong::TooLarge("inf".into())));
        assert_eq!(real("-nan"), Err(Wrong::NoNumber("-nan".into())));
        assert_eq!(real("2\u{1b}"), Err(Wrong::NoNumber("2\\u{1b}".into())));
        assert!(reckoned(f64::INFINITY, "0").is_err() && reckoned(f64::NAN, "0").is_err());
        assert!((rounding("1.25") - 0.005).abs() < 1e-12 && rounding("12") == 0.5);
    }
}
