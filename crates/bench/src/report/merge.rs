//! Makes one record of several: it has the curves of all, the machine of the first record that knows its machine, and
//! a note wherever another file differs.
//!
//! It must not choose between two curves of the same system: it refuses them. Used by `command`; uses the record.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::record::{self, BenchmarkRecord, Curve, MachineInfo};

use super::machine::known_properties;

#[derive(Debug)]
pub enum MergeError {
    /// The same system, pattern and ranks, in these files or twice in one.
    Duplicate { curve: Box<Curve>, first: PathBuf, second: PathBuf },
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { curve, first, second } => {
                let Curve { system, pattern, ranks, .. } = &**curve;
                let curve_text = format!("{system} has {pattern} ({})", record::ranks(*ranks));
                if first == second {
                    write!(f, "{curve_text} twice in {}; remove one of them from the file", first.display())
                } else {
                    let (first, second) = (first.display(), second.display());
                    write!(f, "{curve_text} in {first} and in {second}; leave out one file, or rename the system in it")
                }
            }
        }
    }
}

/// Merges the files in the order in which they were named; there must be at least one.
pub fn merge(files: Vec<(PathBuf, BenchmarkRecord)>) -> Result<BenchmarkRecord, MergeError> {
    refuse_duplicates(&files)?;
    let machine =
        files.iter().map(|(_, record)| &record.machine).find(|machine| !known_properties(machine).is_empty()).cloned();
    let mut files = files.into_iter();
    let (first_path, mut merged) = files.next().expect("the command line requires a file");
    merged.machine = machine.unwrap_or_default();
    if !merged.complete && files.len() > 0 {
        merged.notes.push(incomplete(&first_path));
    }
    for (path, record) in files {
        merged.notes.extend(differences(&path, &merged, &record));
        merged.notes.extend(record.notes);
        merged.complete &= record.complete;
        merged.thresholds.extend(record.thresholds);
        merged.curves.extend(record.curves);
    }
    Ok(merged)
}

fn refuse_duplicates(files: &[(PathBuf, BenchmarkRecord)]) -> Result<(), MergeError> {
    let mut seen: Vec<(&Path, &Curve)> = Vec::new();
    for (path, record) in files {
        for curve in &record.curves {
            if let Some((first, _)) = seen.iter().find(|(_, earlier)| earlier.is_same_curve(curve)) {
                let (first, second) = (first.to_path_buf(), path.clone());
                return Err(MergeError::Duplicate { curve: Box::new(curve.clone()), first, second });
            }
            seen.push((path, curve));
        }
    }
    Ok(())
}

fn incomplete(path: &Path) -> String {
    format!("{}: the run is not complete", path.display())
}

/// Returns the notes about a further file.
fn differences(path: &Path, first: &BenchmarkRecord, other: &BenchmarkRecord) -> Vec<String> {
    let cut = (!other.complete).then(|| incomplete(path));
    let path = path.display();
    let mut notes = vec![format!("{path}: by `{}`, {}", other.command, other.date)];
    notes.extend(cut);
    let differing = differing(&first.machine, &other.machine);
    if !differing.is_empty() {
        notes.push(format!("{path}: measured under other conditions: {}", differing.join(", ")));
    }
    notes
}

/// Returns the properties in which the machines differ, if both machines know them.
fn differing(first: &MachineInfo, other: &MachineInfo) -> Vec<String> {
    let of_first = known_properties(first);
    let differing = |(name, value): (&str, String)| {
        let (_, own) = of_first.iter().find(|(own, _)| *own == name)?;
        (*own != value).then(|| format!("{name} {value}, not {own}"))
    };
    known_properties(other).into_iter().filter_map(differing).collect()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn files(first: &[&str], second: &[&str]) -> Vec<(PathBuf, BenchmarkRecord)> {
        vec![("a.json".into(), example::record(first)), ("b.json".into(), example::record(second))]
    }

    #[test]
    fn curves_of_all_files_come_together() {
        let mut files = files(&["tcp", "hawser"], &["mpich"]);
        files[1].1.complete = false;
        files[1].1.machine.host = "other".to_owned();
        files[1].1.machine.cores = 4;
        let merged = merge(files).unwrap();
        assert_eq!(merged.curves.len(), 3);
        assert_eq!(merged.machine.host, "box");
        assert!(!merged.complete);
        let want = [
            "b.json: by `hawser-bench run --with mpich`, 2026-11-24T11:00:00Z",
            "b.json: the run is not complete",
            "b.json: measured under other conditions: host other, not box, cores 4, not 8",
        ];
        assert_eq!(merged.notes, want);
    }

    #[test]
    fn what_a_file_does_not_know_of_its_machine_is_no_difference() {
        for unknown in 0..2 {
            let mut files = files(&["hawser"], &["mpich"]);
            files[unknown].1.machine = MachineInfo::default();
            let merged = merge(files).unwrap();
            assert_eq!(merged.machine, example::record(&[]).machine);
            assert_eq!(merged.notes, ["b.json: by `hawser-bench run --with mpich`, 2026-11-24T11:00:00Z"]);
        }
    }

    #[test]
    fn one_file_is_left_as_it_is() {
        let record = example::record(&["tcp", "hawser"]);
        assert_eq!(merge(vec![("a.json".into(), record.clone())]).unwrap(), record);
    }

    #[test]
    fn the_same_curve_twice_is_refused() {
        let message = merge(files(&["tcp", "hawser"], &["mpich", "hawser"])).unwrap_err().to_string();
        let want =
            "hawser has pingpong (2 ranks) in a.json and in b.json; leave out one file, or rename the system in it";
        assert_eq!(message, want);
        let message = merge(files(&["hawser", "hawser"], &[])).unwrap_err().to_string();
        assert_eq!(message, "hawser has pingpong (2 ranks) twice in a.json; remove one of them from the file");
        let mut files = files(&["hawser"], &["hawser"]);
        files[1].1.curves[0].ranks = 4;
        assert_eq!(merge(files).unwrap().curves.len(), 2);
    }
}
