//! The clients of PMI, by which a process belongs to the job of a launcher that is not ours: MPICH's Hydra, Intel
//! MPI's, Slurm's srun with its plugin pmi2; and the choice between the two versions.
//!
//! The launcher has opened a connection to its server and named it by PMI_FD. Version 1 is asked for first, because all
//! known servers have it, unless the user wants 2 (HAWSER_PMI); then version 2 if the server refuses 1. No process is
//! started, and every wait for a reply has a limit. Used by `launcher_server` and `agent_connection`; uses `pmi1`,
//! `pmi2`, `connection`, `split_step`, `variables`.

mod connection;
mod errors;
pub mod frame;
mod long_value;
pub mod message;
pub mod node_map;
mod pmi1;
mod pmi2;
pub mod split_step;
mod variables;

pub use errors::late;
pub use variables::{FD_VARIABLE, PmiPlace, RANK_VARIABLE, SIZE_VARIABLE, VERSION_VARIABLE, Version, first_version};

use crate::pmi_interface::LauncherServer;
use connection::{Connection, Format, REPLY_TIMEOUT_MS, deadline_ns, refusal};
use errors::{failed, refused, refused_2, refused_both};
use hawser_base::{Error, Result};
use hawser_os::inherited::InheritedStream;
use message::Message;
use pmi1::Pmi1;
use pmi2::Pmi2;
use std::sync::OnceLock;
use variables::JOB_VARIABLE;

/// The format of the server's version, once it has replied: that of `abort_job`.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// Connects to the server that gives this place, asking for the version `first`, and asks it for everything that is
/// known from the start.
pub fn open(
    place: PmiPlace,
    first: Version,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Box<dyn LauncherServer>> {
    split_step::refuse(&place, &environment)?;
    let PmiPlace { fd, rank, size } = place;
    let mut connection = Connection::open(fd)?;
    let (version, subversion) = if first == Version::One { ("1", "1") } else { ("2", "0") };
    let init = Message::new("init").with("pmi_version", version).with("pmi_subversion", subversion);
    let reply = connection.ask(&init, "response_to_init", deadline_ns(REPLY_TIMEOUT_MS));
    let reply = reply.map_err(|error| failed("init", &error.to_string()))?;
    let theirs = reply.number("pmi_version").unwrap_or(0);
    let _ = FORMAT.set(if theirs == 2 { Format::Frames } else { Format::Lines });
    let why = refusal(&reply);
    let open_2 = |connection, unanswered: &dyn Fn(&str) -> Error| -> Result<Box<dyn LauncherServer>> {
        let job_id = environment(JOB_VARIABLE).filter(|job_id| !job_id.is_empty());
        Ok(Box::new(Pmi2::open(connection, (rank, size), job_id, unanswered)?))
    };
    match (first, why) {
        // A server whose reply names version 2 has changed to it. Slurm's closes the connection at a second `init`.
        (Version::One, why) if theirs == 2 => {
            let why = why.unwrap_or_else(|| "it has version 2".into());
            open_2(connection, &|unanswered| refused_both(&why, unanswered))
        }
        (Version::One, None) => Ok(Box::new(Pmi1::open(connection, rank, size)?)),
        (Version::One, Some(why)) => Err(refused("init", &why)),
        (Version::Two, None) if theirs == 2 => open_2(connection, &|unanswered| failed("PMI 2", unanswered)),
        (Version::Two, why) => Err(refused_2(&why.unwrap_or_else(|| format!("it has version {theirs}")))),
    }
}

/// Asks the launcher that the environment names to end the job with `code`, for a process that has not become a rank.
/// Prints `text` before, because the launcher may kill this process at once. Returns false, without effect, if the
/// environment names none.
pub fn abort_job(environment: impl Fn(&str) -> Option<String>, code: i32, text: &str) -> bool {
    let Ok(Some(place)) = PmiPlace::from_environment(&environment) else { return false };
    let Ok(stream) = InheritedStream::open(place.fd) else { return false };
    hawser_os::host::print_error(&format!("hawser: {text}"));
    let format = FORMAT.get().copied().unwrap_or(Format::Lines);
    let request = if matches!(format, Format::Lines) { pmi1::abort_request } else { pmi2::abort_request };
    connection::send_last(&stream, format, &request(code));
    true
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
