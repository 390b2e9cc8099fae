//! A table with a head that names its columns, as OSU and IMB print: has the meaning of each column, and reads a row.
//!
//! The tools' readers know the names of the columns and find their meanings. Used by `osu` and `imb`; uses `cell` and
//! `section`.

use crate::import::cell::{CellError, check_computed, parse_integer, parse_real};
use crate::import::section::point;
use crate::import::text::TextLine;
use crate::record::Point;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Bytes,
    Count,
    /// The time of a message or an operation in microseconds, averaged by the tool; `Mean` is the average over the
    /// ranks, too.
    Time,
    Mean,
    /// The time of the fastest and of the slowest rank.
    Min,
    Max,
    /// Megabytes (10^6) a second, and messages a second.
    MbyteS,
    Rate,
    /// The percentage of a transfer that a computation hid.
    Hidden,
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// The number of messages of an iteration that the rate counts: 2 if it is the sum of both directions.
    pub messages: u32,
}

impl Table {
    /// Whether these are the columns of a table: from one of them a time can be read or computed.
    pub fn has_time_column(columns: &[Column]) -> bool {
        columns.iter().any(|column| matches!(column, Column::Time | Column::Mean | Column::MbyteS | Column::Rate))
    }

    /// Whether the only time in the table is the mean over the ranks, whereas our patterns report the time of the
    /// slowest rank.
    pub fn has_only_mean(&self) -> bool {
        self.columns.contains(&Column::Mean) && !self.columns.contains(&Column::Max)
    }

    fn cell<'a>(&self, cells: &[&'a str], column: Column) -> Result<Option<&'a str>, CellError> {
        let Some(at) = self.columns.iter().position(|&other| other == column) else { return Ok(None) };
        cells.get(at).copied().map(Some).ok_or(CellError::Short(cells.len()))
    }

    fn real_cell(&self, cells: &[&str], column: Column) -> Result<Option<f64>, CellError> {
        self.cell(cells, column)?.map(parse_real).transpose()
    }

    fn integer_cell(&self, cells: &[&str], column: Column) -> Result<u64, CellError> {
        Ok(self.cell(cells, column)?.map(parse_integer).transpose()?.unwrap_or(0))
    }

    /// Returns the time of one iteration. A printed time is taken first, the slowest rank's before the mean. Without
    /// one the time is computed from the rate, which is exact also for messages of 0 bytes, or else from the
    /// bandwidth.
    fn time_us(&self, cells: &[&str], bytes: u64) -> Result<f64, CellError> {
        let (rate, mbyte_s) = (self.real_cell(cells, Column::Rate)?, self.real_cell(cells, Column::MbyteS)?);
        for column in [Column::Max, Column::Time, Column::Mean] {
            if let Some(time_us) = self.real_cell(cells, column)? {
                return Ok(time_us);
            }
        }
        let messages = f64::from(self.messages);
        let time_us = match (rate, mbyte_s) {
            (Some(rate), _) if rate > 0.0 => messages * 1e6 / rate,
            (_, Some(mbyte_s)) if mbyte_s > 0.0 => messages * bytes as f64 / mbyte_s,
            _ => 0.0,
        };
        check_computed(time_us, cells.last().unwrap_or(&""))
    }

    /// Returns the point of a row. The time is 0 if the tool rounded its figure to zero.
    pub fn row(&self, line: TextLine) -> Result<Point, CellError> {
        let cells: Vec<&str> = line.text.split_whitespace().collect();
        let bytes = self.integer_cell(&cells, Column::Bytes)?;
        let count = self.integer_cell(&cells, Column::Count)?;
        let time_us = self.time_us(&cells, bytes)?;
        let min_us = self.real_cell(&cells, Column::Min)?.unwrap_or(time_us);
        let hidden = self.real_cell(&cells, Column::Hidden)?.map(|percent| (percent / 100.0).min(1.0));
        Ok(Point { hidden, ..point(bytes, min_us, time_us, count) })
    }
}
