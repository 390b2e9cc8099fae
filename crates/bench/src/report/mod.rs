//! Makes the results of a benchmark run readable: the terminal's table, CSV, JSON, graphs as SVG and PNG, and one HTML
//! page.
//!
//! It must not measure anything and must not change a figure: all it knows is in the record. Used by `main`, by
//! `command`, which measures, and by `explain`.

mod axis;
mod chart;
mod command;
mod csv;
#[cfg(test)]
mod example;
mod graph;
mod grid;
mod group;
mod machine;
mod merge;
mod page;
mod palette;
mod read;
mod svg;
mod table;
mod write;

pub use command::{ReportOptions, command, publish};
pub use read::read;
