//! All that the doctor found, as it is printed and written to a file (`--json`).
//!
//! Used by `command` and `text`; writes to the disk.

use super::check_result::{Finding, Verdict, run_checks};
use super::facts::DoctorFacts;
use super::pair::HostPair;
use super::{host_checks, network_checks, prediction};
use crate::atomic_file;
use serde::Serialize;
use std::io;
use std::path::Path;

/// The version of the file's format; raise it by one when the meaning of a known field changes.
const FORMAT: u32 = 1;

#[derive(Serialize)]
pub struct DoctorRecord {
    pub format: u32,
    pub command: String,
    pub date: String,
    /// Whether all hosts and pairs were examined to the end.
    pub complete: bool,
    pub hosts: Vec<HostRecord>,
    pub pairs: Vec<PairRecord>,
}

/// A host: its facts and findings, if it was examined, and the reason (`lost`) if it was lost before or after that.
#[derive(Serialize)]
pub struct HostRecord {
    /// The name as the user has written it.
    pub name: String,
    pub facts: Option<DoctorFacts>,
    pub findings: Vec<Finding>,
    pub lost: Option<String>,
}

#[derive(Serialize)]
pub struct PairRecord {
    #[serde(flatten)]
    pub pair: HostPair,
    /// The choices that Hawser would make.
    pub choice: Vec<String>,
    pub findings: Vec<Finding>,
}

impl HostRecord {
    pub fn examined(name: &str, facts: DoctorFacts) -> HostRecord {
        HostRecord {
            name: name.into(),
            findings: run_checks(host_checks::CHECKS, &facts),
            facts: Some(facts),
            lost: None,
        }
    }

    pub fn lost(name: &str, cause: String) -> HostRecord {
        HostRecord { name: name.into(), facts: None, findings: Vec::new(), lost: Some(cause) }
    }
}

impl PairRecord {
    pub fn examined(pair: HostPair) -> PairRecord {
        PairRecord { choice: prediction::text_lines(&pair), findings: run_checks(network_checks::CHECKS, &pair), pair }
    }
}

impl DoctorRecord {
    pub fn new() -> DoctorRecord {
        let (command, date) = (crate::record::command_line(), crate::record::now());
        DoctorRecord { format: FORMAT, command, date, complete: false, hosts: Vec::new(), pairs: Vec::new() }
    }

    /// Whether no host was lost, and every test of a pair that was begun was also completed.
    pub fn is_uninterrupted(&self) -> bool {
        self.hosts.iter().all(|host| host.lost.is_none()) && self.tested_pairs() == self.pairs.len()
    }

    /// The number of pairs that were tested to the end.
    pub fn tested_pairs(&self) -> usize {
        self.pairs.iter().filter(|between| between.pair.cut_off.is_none()).count()
    }

    /// The changes to make, each with the host or pair that it concerns.
    pub fn remedies(&self) -> impl Iterator<Item = (String, &Finding)> {
        let hosts = self.hosts.iter().flat_map(|host| host.findings.iter().map(|finding| (host.name.clone(), finding)));
        let name = |between: &PairRecord| between.pair.hosts.join(" - ");
        let pairs = self
            .pairs
            .iter()
            .flat_map(move |between| between.findings.iter().map(move |finding| (name(between), finding)));
        hosts.chain(pairs).filter(|(_, finding)| finding.change.is_some())
    }

    pub fn is_well(&self) -> bool {
        let is_lost = self.hosts.iter().any(|host| host.lost.is_some());
        !is_lost && self.remedies().all(|(_, finding)| finding.verdict != Verdict::Broken)
    }

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n";
        atomic_file::write_atomically(path, &text).map_err(|error| unwritable(path, error))
    }

    /// Tests whether the file can be written, before there is anything to write. An existing file stays as it is.
    pub fn check_writable(path: &Path) -> Result<(), String> {
        if path.is_dir() {
            return Err(unwritable(path, io::ErrorKind::IsADirectory.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let tried = tempfile::Builder::new().prefix(".hawser-bench-").tempfile_in(folder);
        tried.map(drop).map_err(|error| unwritable(path, error))
    }
}

fn unwritable(path: &Path, error: io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::hosts::HostError;

    #[test]
    fn a_place_is_tried_and_what_lies_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("found.json");
        std::fs::write(&file, "before").unwrap();
        DoctorRecord::check_writable(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        for path in [folder.path(), &folder.path().join("nowhere/found.json")] {
            assert!(DoctorRecord::check_writable(path).unwrap_err().contains("cannot be written"));
        }
    }

    #[test]
    fn a_pair_that_was_cut_off_is_kept_and_makes_the_record_no_whole() {
        let mut record = DoctorRecord::new();
        record.pairs.push(PairRecord::examined(HostPair::default()));
        assert!(record.is_uninterrupted());
        record
            .pairs
            .push(PairRecord::examined(HostPair { cut_off: Some(HostError::Interrupted), ..HostPair::default() }));
        assert!(!record.is_uninterrupted() && record.tested_pairs() == 1);
        let written = serde_json::to_value(&record).unwrap();
        assert_eq!((&written["pairs"][1]["cut_off"], &written["format"]), (&"interrupted".into(), &1.into()));
    }
}
