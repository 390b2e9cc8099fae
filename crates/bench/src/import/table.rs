//! A table with a head that names its columns, as OSU and IMB print: finds the meaning of each column, and reads a row.
//!
//! The names are the tools' own and are in their readers. Used by `osu` and `imb`; uses `section`.

use crate::import::figure::{Wrong, real, reckoned, whole};
use crate::import::section::point;
use crate::import::text::Line;
use crate::record::Point;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Bytes,
    Count,
    /// Microseconds of a message or an operation, as the tool averages them; `Mean` is over the ranks too.
    Time,
    Mean,
    /// The time of the fastest and of the slowest rank.
    Least,
    Most,
    /// Megabytes (10^6) a second, and messages a second.
    Mbyte,
    Rate,
    /// The percentage of a transfer that a computation hid.
    Hidden,
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// The messages of a play that the rate counts: 2 where both directions are summed up.
    pub messages: u32,
}

impl Table {
    /// Whether these are the columns of a table: one of them is a time, or allows to compute one.
    pub fn is_one(columns: &[Column]) -> bool {
        columns.iter().any(|column| matches!(column, Column::Time | Column::Mean | Column::Mbyte | Column::Rate))
    }

    /// Whether it has no time but the mean over the ranks, where ours is the slowest one's.
    pub fn is_mean(&self) -> bool {
        self.columns.contains(&Column::Mean) && !self.columns.contains(&Column::Most)
    }

    fn cell<'a>(&self, cells: &[&'a str], column: Column) -> Result<Option<&'a str>, Wrong> {
        let Some(at) = self.columns.iter().position(|&other| other == column) else { return Ok(None) };
        cells.get(at).copied().map(Some).ok_or(Wrong::Short(cells.len()))
    }

    fn real(&self, cells: &[&str], column: Column) -> Result<Option<f64>, Wrong> {
        self.cell(cells, column)?.map(real).transpose()
    }

    fn whole(&self, cells: &[&str], column: Column) -> Result<u64, Wrong> {
        Ok(self.cell(cells, column)?.map(whole).transpose()?.unwrap_or(0))
    }

    /// The time of one play: the printed time, the slowest rank's before the mean, else from the rate, which is exact
    /// also for no bytes, else from the bandwidth.
    fn time_us(&self, cells: &[&str], bytes: u64) -> Result<f64, Wrong> {
        let (rate, mbyte_s) = (self.real(cells, Column::Rate)?, self.real(cells, Column::Mbyte)?);
        for column in [Column::Most, Column::Time, Column::Mean] {
            if let Some(time_us) = self.real(cells, column)? {
                return Ok(time_us);
            }
        }
        let messages = f64::from(self.messages);
        let time_us = match (rate, mbyte_s) {
            (Some(rate), _) if rate > 0.0 => messages * 1e6 / rate,
            (_, Some(mbyte_s)) if mbyte_s > 0.0 => messages * bytes as f64 / mbyte_s,
            _ => 0.0,
        };
        reckoned(time_us, cells.last().unwrap_or(&""))
    }

    /// The point of a row; its time is 0 where the tool's figure was rounded to nothing.
    pub fn row(&self, line: Line) -> Result<Point, Wrong> {
        let cells: Vec<&str> = line.text.split_whitespace().collect();
        let bytes = self.whole(&cells, Column::Bytes)?;
        let count = self.whole(&cells, Column::Count)?;
        let time_us = self.time_us(&cells, bytes)?;
        let least_us = self.real(&cells, Column::Least)?.unwrap_or(time_us);
        let hidden = self.real(&cells, Column::Hidden)?.map(|percent| (percent / 100.0).min(1.0));
        Ok(Point { hidden, ..point(bytes, least_us, time_us, count) })
    }
}
