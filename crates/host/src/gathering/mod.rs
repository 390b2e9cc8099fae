//! Ranks of one host that have no agent gather at the first of them, which does once what a host's first process does
//! (`server`): it makes the segment, and hands it to the others (`client`) when all have come.
//!
//! They find the first one by a file that all of them name (`bootstrap_file`), or by the name of its socket, which
//! follows from the job's. If a rank does not come, or ends, or has different settings, none of them gets the segment,
//! and each has the cause. Nothing here starts a process. Used by `manual_start` and `process_manager`.

mod bootstrap_file;
mod client;
mod server;

use bootstrap_file::BootstrapFileContent;
use hawser_base::{Class, Error, Result};
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::{JobSecret, bootstrap_timeout_s};
use hawser_job::Segment;
use hawser_os::host;
use std::path::PathBuf;

/// The time, in s, for which ranks wait for each other by default: people start all ranks within that time, and
/// scripts and launchers at once. It is at most the second number.
const TIMEOUT_S: u64 = 60;
const TIMEOUT_MAX_S: u64 = 1 << 32;

/// The time, in s, for which ranks wait for each other (HAWSER_RENDEZVOUS_S).
pub fn timeout_s(environment: impl Fn(&str) -> Option<String>) -> Result<u64> {
    bootstrap_timeout_s(environment, TIMEOUT_S, TIMEOUT_MAX_S).map_err(|text| Error::new(Class::Other, text))
}

/// The ranks of a job that gather on this host.
pub struct Gathering {
    /// The name of the job, for people.
    pub job_id: String,
    pub place: Place,
    /// This process's rank, and the number of ranks of the job.
    pub rank: u32,
    pub size: u32,
    /// The ranks of this host, in the order of their pages: the first one serves the others.
    pub local: Vec<u32>,
    /// The number of the host of each rank of the job.
    pub hosts: Vec<u32>,
    pub secret: JobSecret,
    /// The time, in s, for which ranks wait for each other.
    pub timeout_s: u64,
}

/// The place where the first rank is found.
pub enum Place {
    /// A file that names the socket: ranks that people start.
    File(PathBuf),
    /// A socket of this name: ranks of a launcher.
    Socket(String),
}

impl Gathering {
    /// Waits until all ranks of this host have come, and returns the segment.
    pub fn gather(&self, settings: JobSettings) -> Result<Segment> {
        let gathered = match self.rank == self.local[0] {
            true => server::serve(self, settings),
            false => client::join(self, settings),
        };
        gathered.map_err(|text| Error::new(Class::Other, text))
    }

    /// The page of a rank of this host.
    pub fn page_of(&self, rank: u32) -> Option<usize> {
        self.local.iter().position(|&known| known == rank)
    }

    /// The remedy if not all ranks have come.
    fn remedy(&self) -> String {
        match &self.place {
            Place::File(file) => format!(
                "start all ranks from 0 to {} with HAWSER_RENDEZVOUS={}, or increase the time limit \
                 (HAWSER_RENDEZVOUS_S)",
                self.size - 1,
                file.display()
            ),
            Place::Socket(_) => "each process of the job must be a program that runs on Hawser and calls MPI_Init: \
                                 start all again, or increase the time limit (HAWSER_RENDEZVOUS_S)"
                .into(),
        }
    }
}

impl Place {
    /// The remedy if two processes have the same rank.
    fn remedy_of_twins(&self) -> &'static str {
        match self {
            Place::File(_) => "give each rank a different HAWSER_RANK",
            Place::Socket(_) => "start the program by its launcher, which gives each process a different PMI_RANK",
        }
    }

    /// Returns the first rank's socket; None if it is not known yet.
    fn find(&self) -> std::result::Result<Option<BootstrapFileContent>, String> {
        match self {
            Place::File(file) => BootstrapFileContent::read(file),
            Place::Socket(name) => Ok(Some(BootstrapFileContent { host: host::name(), pid: 0, socket: name.clone() })),
        }
    }
}
