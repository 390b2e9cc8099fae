//! Manual start: ranks of one host that are started one by one, without a launcher. They find each other by a file
//! that all of them name.
//!
//! Rank 0 does once what a host's first process does (`server`): it makes the segment and hands it to the others
//! (`client`), which find rank 0 by the file (`bootstrap_file`). After that no rank serves another: each rank detects
//! by itself when another one ends (`peer_monitor`), and all notifications are in the segment. Nothing here starts a
//! process or ends a process that has left MPI. Used by `join`; uses the segment.

mod bootstrap_file;
mod client;
mod environment;
mod peer_monitor;
mod server;

use crate::join::Joined;
pub use environment::ManualStart;
use hawser_base::{Class, Error, Peer, Result};
use hawser_boot::agent_connection::exit_code;
use hawser_boot::job_settings::JobSettings;
use hawser_boot::{Bootstrap, Identity, KvsKey, Notification, loaded_mpi};
use hawser_job::{RankPhase, Segment};
use hawser_os::host;
use hawser_os::signals::{self, SIGKILL};
use std::sync::Arc;

/// The `Bootstrap` of a rank that was started by hand.
struct ManualProcess {
    identity: Identity,
    segment: Segment,
    /// The process that is the rank; a forked child of it is not the rank.
    pid: i32,
}

/// Becomes the rank that `manual` names, once all others have joined.
pub fn join(manual: &ManualStart, settings: &JobSettings) -> Result<Joined> {
    loaded_mpi::refuse_second_mpi(join as *const () as usize)?;
    let mut terms = settings.clone();
    terms.add(hawser_boot::protocol::SIZE_VARIABLE, &manual.size.to_string(), false);
    let met = match manual.rank {
        0 => server::serve(manual, terms),
        _ => client::join(manual, terms),
    };
    let segment = met.map_err(|text| Error::new(Class::Other, text))?;
    let me = manual.rank as usize;
    peer_monitor::start(&segment, me).map_err(|error| Error::new(Class::Other, error.to_string()))?;
    let (rank, size) = (manual.rank, manual.size);
    let identity = Identity {
        peer: Peer(rank),
        rank,
        size,
        local_rank: rank,
        local_size: size,
        program_size: size,
        universe_size: size,
        ..Identity::default()
    };
    let boot = Arc::new(ManualProcess { identity, segment: segment.clone(), pid: host::pid() });
    Ok(Joined { bootstrap: boot, segment })
}

impl ManualProcess {
    /// Reports to the ranks in the segment that all of them have left MPI, if this one was the last.
    fn handle_left(&self) {
        let has_left = |local: usize| {
            let is_gone = || self.segment.exit_log().has_ended(Peer(local as u32));
            self.segment.rank(local).phase() == RankPhase::Finalized || is_gone()
        };
        if (0..self.segment.local_size()).all(has_left) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }
}

impl Bootstrap for ManualProcess {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    /// There is nothing to publish: all ranks are on this host, and need nothing but the segment.
    fn publish(&self, _: KvsKey, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn look_up(&self, _: Peer, _: KvsKey) -> Option<Vec<u8>> {
        None
    }

    /// There is nothing to wait for: all ranks have joined before any rank continues.
    fn fence(&self) -> Result<()> {
        Ok(())
    }

    fn notify(&self, notification: Notification) -> bool {
        match notification {
            Notification::Left => self.handle_left(),
            Notification::Back | Notification::Reachability(_) => {}
        }
        true
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        let (rank, pid) = (self.identity.rank, host::pid());
        let is_first = self.segment.set_aborted(exit_code(code));
        self.segment.rank(rank as usize).set_phase(RankPhase::Aborted);
        if is_first {
            let host = self.segment.host();
            eprintln!("hawser: rank {rank} on host {host} (pid {}) aborts with code {code}: {text}", self.pid);
        }
        if pid != self.pid {
            // The other ranks monitor the rank's process, not this forked child of it.
            let _ = signals::send(self.pid, SIGKILL);
        }
        host::exit_now(exit_code(code))
    }
}
