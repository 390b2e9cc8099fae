//! The server of a launcher that is not ours: which one this process has, and by which protocol.
//!
//! The environment names the server. A process may have the variables of several launchers, because each passes on what
//! it has found; the connection of PMI_FD counts first if it is open, since launchers close what is not their own, then
//! PMIx. Nothing here starts a process or waits without limit. Uses `pmi`, `pmix` and their interface
//! (`pmi_interface`); used by `agent_connection`, `host::join` and `host::process_manager`.

pub use crate::pmi_interface::{AbortFn, JobPlace, LauncherServer};

use crate::pmi;
use crate::pmix::PmixConnection;
use hawser_base::Result;
use std::sync::OnceLock;

/// The function of the server that this process has found.
static ABORT: OnceLock<AbortFn> = OnceLock::new();

/// The function by which a process that has found a server ends its job.
pub fn abort_fn() -> Option<AbortFn> {
    ABORT.get().cloned()
}

/// Connects to the server that the environment names; None if it names none. A process of a job of one whose server
/// cannot be reached has none either: another program of the same script may have used the connection.
pub fn connect(environment: impl Fn(&str) -> Option<String>) -> Result<Option<Box<dyn LauncherServer>>> {
    let is_pmix = PmixConnection::is_named(&environment);
    let place = match pmi::PmiPlace::from_environment(&environment) {
        Ok(place) => place.filter(|place| !is_pmix || place.is_open()),
        Err(_) if is_pmix => None,
        Err(error) => return Err(error),
    };
    let pmi = match place {
        Some(place) => match pmi::open(place, pmi::first_version(&environment)?, &environment) {
            Err(_) if place.size == 1 => None,
            server => Some(server?),
        },
        None => None,
    };
    let server = match pmi {
        None if is_pmix => Some(Box::new(PmixConnection::open(&environment)?) as _),
        pmi => pmi,
    };
    if let Some(server) = &server {
        let _ = ABORT.set(server.abort_fn());
    }
    Ok(server)
}
