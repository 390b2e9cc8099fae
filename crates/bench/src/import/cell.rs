//! Reads one cell of a table as a number, or refuses it with the reason.
//!
//! A cell that is not a number, is negative, or is beyond any time that could have been measured never becomes a point
//! of a graph. Used by the tools' readers, which add the number of the line, and by `table`.

use std::fmt;

/// The largest figure that is accepted, in the unit of its column; as a time in microseconds it is thirty years. No
/// figure of a benchmark is larger.
const FIGURE_MAX: f64 = 1e15;
/// The maximum number of characters of a cell that are shown.
const SHOWN_MAX: usize = 40;

/// The reason why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellError {
    NoNumber(String),
    Negative(String),
    TooLarge(String),
    /// The row ends before a column of the table's head; the row has this number of cells.
    Short(usize),
    /// A size that the table had before.
    Duplicate(u64),
    /// A form of output that has no fixed columns.
    UnknownForm(&'static str),
}

impl fmt::Display for CellError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CellError::NoNumber(cell) => write!(out, "`{cell}` is not a number"),
            CellError::Negative(cell) => write!(out, "`{cell}` is negative"),
            CellError::TooLarge(cell) => write!(out, "`{cell}` is too large for a figure"),
            CellError::Short(cells) => write!(out, "the row has only {cells} cells"),
            CellError::Duplicate(bytes) => write!(out, "the size {bytes} is in this table already"),
            CellError::UnknownForm(form) => write!(out, "{form}"),
        }
    }
}

fn escaped(cell: &str) -> String {
    cell.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect()
}

/// Reads a number of bytes or a count.
pub fn parse_integer(cell: &str) -> Result<u64, CellError> {
    cell.parse().map_err(|_| match cell.strip_prefix('-').unwrap_or(cell) {
        digits if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            CellError::NoNumber(escaped(cell))
        }
        digits if digits.len() < cell.len() => CellError::Negative(escaped(cell)),
        _ => CellError::TooLarge(escaped(cell)),
    })
}

/// Reads a time, a rate or a fraction.
pub fn parse_real(cell: &str) -> Result<f64, CellError> {
    match cell.parse::<f64>() {
        Ok(number) if number.is_nan() => Err(CellError::NoNumber(escaped(cell))),
        Ok(number) if number < 0.0 => Err(CellError::Negative(escaped(cell))),
        Ok(number) if number > FIGURE_MAX => Err(CellError::TooLarge(escaped(cell))),
        Ok(number) => Ok(number),
        Err(_) => Err(CellError::NoNumber(escaped(cell))),
    }
}

/// Checks a time that was computed from a printed figure; `cell` is the cell that the error shows.
pub fn check_computed(time_us: f64, cell: &str) -> Result<f64, CellError> {
    if time_us.is_finite() && time_us <= FIGURE_MAX { Ok(time_us) } else { Err(CellError::TooLarge(escaped(cell))) }
}

/// Half a unit of a cell's last decimal: the largest rounding error of the printed number.
pub fn rounding_error(cell: &str) -> f64 {
    let decimals = cell.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 0.1_f64.powi(decimals.min(300) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_others_refused() {
        assert_eq!(parse_integer("4194304"), Ok(4 << 20));
        assert_eq!(parse_integer("-1"), Err(CellError::Negative("-1".into())));
        assert_eq!(parse_integer("18446744073709551616"), Err(CellError::TooLarge("18446744073709551616".into())));
        for cell in ["", "-", "1.5", "1k", "nan"] {
            assert_eq!(parse_integer(cell), Err(CellError::NoNumber(cell.into())));
        }
        assert_eq!(parse_real("0.17"), Ok(0.17));
        assert_eq!(parse_real("-0.17"), Err(CellError::Negative("-0.17".into())));
        assert_eq!(parse_real("1e999"), Err(CellError::TooLarge("1e999".into())));
        assert_eq!(parse_real("inf"), Err(CellError::TooLarge("inf".into())));
        assert_eq!(parse_real("-nan"), Err(CellError::NoNumber("-nan".into())));
        assert_eq!(parse_real("2\u{1b}"), Err(CellError::NoNumber("2\\u{1b}".into())));
        assert!(check_computed(f64::INFINITY, "0").is_err() && check_computed(f64::NAN, "0").is_err());
        assert!((rounding_error("1.25") - 0.005).abs() < 1e-12 && rounding_error("12") == 0.5);
    }
}
