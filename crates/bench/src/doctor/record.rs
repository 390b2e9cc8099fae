//! All that the doctor found, as it is printed and written to a file (`--json`).
//!
//! Before it: `command`; after it: `text`, and the disk.

use super::facts::Facts;
use super::finding::{Finding, Verdict, examine};
use super::pair::Pair;
use super::{choice, machine, network};
use crate::whole;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
pub struct Record {
    pub command: String,
    pub date: String,
    pub hosts: Vec<Host>,
    pub pairs: Vec<Between>,
}

/// A host, or why nothing is known of it.
#[derive(Serialize)]
pub struct Host {
    /// As the user has written it.
    pub name: String,
    pub facts: Option<Facts>,
    pub findings: Vec<Finding>,
    pub lost: Option<String>,
}

#[derive(Serialize)]
pub struct Between {
    #[serde(flatten)]
    pub pair: Pair,
    /// What Hawser would choose.
    pub choice: Vec<String>,
    pub findings: Vec<Finding>,
}

impl Host {
    pub fn found(name: &str, facts: Facts) -> Host {
        Host { name: name.into(), findings: examine(machine::EXAMINATIONS, &facts), facts: Some(facts), lost: None }
    }

    pub fn lost(name: &str, cause: String) -> Host {
        Host { name: name.into(), facts: None, findings: Vec::new(), lost: Some(cause) }
    }
}

impl Between {
    pub fn found(pair: Pair) -> Between {
        Between { choice: choice::of(&pair), findings: examine(network::EXAMINATIONS, &pair), pair }
    }
}

impl Record {
    /// What is to be changed, and where.
    pub fn changes(&self) -> impl Iterator<Item = (String, &Finding)> {
        let hosts = self.hosts.iter().flat_map(|host| host.findings.iter().map(|finding| (host.name.clone(), finding)));
        let name = |between: &Between| between.pair.hosts.join(" - ");
        let pairs = self
            .pairs
            .iter()
            .flat_map(move |between| between.findings.iter().map(move |finding| (name(between), finding)));
        hosts.chain(pairs).filter(|(_, finding)| finding.change.is_some())
    }

    pub fn is_well(&self) -> bool {
        let is_lost = self.hosts.iter().any(|host| host.lost.is_some());
        !is_lost && self.changes().all(|(_, finding)| finding.verdict != Verdict::Broken)
    }

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n";
        whole::put(path, |path| whole::text(path, &text))
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}
