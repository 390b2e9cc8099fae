//! The record as CSV, one row a point, for spreadsheets and scripts. Machine and command come first, in lines that
//! begin with `# `.
//!
//! It must not round. Used by `write`; uses the record.

use std::io;

use ::csv::WriterBuilder;

use clap::ValueEnum;

use crate::record::{BenchmarkRecord, Curve, INCOMPLETE, Point};

use super::machine;

const HEADS: [&str; 14] = [
    "system",
    "floor",
    "version",
    "pattern",
    "ranks",
    "bytes",
    "min_us",
    "median_us",
    "spread",
    "cpu_us",
    "hidden",
    "count",
    "rounds",
    "noisy",
];

pub fn text(record: &BenchmarkRecord) -> io::Result<String> {
    // A system whose name begins with `#` is quoted and stays a row.
    let mut rows = WriterBuilder::new().comment(Some(b'#')).from_writer(Vec::new());
    rows.write_record(HEADS).map_err(io::Error::other)?;
    for curve in &record.curves {
        for point in &curve.points {
            rows.write_record(row(curve, point)).map_err(io::Error::other)?;
        }
    }
    let rows = rows.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(comments(record) + &String::from_utf8(rows).map_err(io::Error::other)?)
}

fn comments(record: &BenchmarkRecord) -> String {
    let mut lines = vec![format!("command: {}", record.command), format!("date: {}", record.date)];
    lines.extend(machine::known_properties(&record.machine).iter().map(|(name, value)| format!("{name}: {value}")));
    if !record.complete {
        lines.push(format!("not complete: {INCOMPLETE}"));
    }
    lines.extend(record.notes.iter().map(|note| format!("note: {note}")));
    lines.iter().map(|line| format!("# {}\n", line.replace(['\n', '\r'], " "))).collect()
}

/// The row of a point; figures that another tool did not print are empty.
fn row(curve: &Curve, point: &Point) -> [String; 14] {
    let or_empty = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    [
        curve.system.clone(),
        curve.floor.to_possible_value().map(|level| level.get_name().to_owned()).unwrap_or_default(),
        curve.version.clone(),
        curve.pattern.clone(),
        or_empty((curve.ranks > 0).then_some(curve.ranks as f64)),
        point.bytes.to_string(),
        point.min_us.to_string(),
        point.median_us.to_string(),
        or_empty((point.rounds > 0).then_some(point.spread)),
        or_empty(point.cpu_us),
        or_empty(point.hidden),
        or_empty((point.count > 0).then_some(point.count as f64)),
        or_empty((point.rounds > 0).then_some(f64::from(point.rounds))),
        point.noisy.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn every_point_is_a_row_that_reads_back() {
        let mut record = example::record(&["tcp", "mpich, the first \"one\"", "#hawser"]);
        record.notes = vec!["two\nlines".to_owned()];
        let text = text(&record).unwrap();
        assert!(
            text.starts_with("# command: hawser-bench run --with mpich\n# date: 2026-11-24T11:00:00Z\n# host: box\n")
        );
        assert!(text.contains("# note: two lines\n"));
        let mut reader = ::csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), &HEADS[..]);
        let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let points = record.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
        assert_eq!(rows.len(), 3 * 21);
        for (found, (curve, point)) in rows.iter().zip(points) {
            assert_eq!(found, &row(curve, point)[..]);
            assert_eq!(found[7].parse::<f64>().unwrap(), point.median_us);
        }
        assert_eq!(&rows[0][1], "raw");
        assert_eq!(&rows[0][10], "");
    }

    #[test]
    fn what_nobody_said_is_empty() {
        let mut record = example::record(&["mpich"]);
        record.machine = crate::record::MachineInfo { cores: 4, ..Default::default() };
        record.curves[0].ranks = 0;
        record.curves[0].points = vec![Point { spread: 0.0, count: 0, rounds: 0, ..example::point(1, 2.0) }];
        let text = text(&record).unwrap();
        let want = "# command: hawser-bench run --with mpich\n# date: 2026-11-24T11:00:00Z\n# cores: 4\n";
        assert!(text.starts_with(&format!("{want}system,")), "{text}");
        assert!(text.ends_with("\nmpich,library,1,pingpong,,1,2,2,,,,,,false\n"), "{text}");
    }
}
