//! Manual start: ranks of one host that are started one by one, without a launcher. They find each other by a file
//! that all of them name.
//!
//! The ranks gather at rank 0 (`gathering`). After that no rank serves another: each rank detects by itself when
//! another one ends (`peer_monitor`), and all notifications are in the segment. Nothing here starts a process or ends a
//! process that has left MPI. Used by `join`.

mod environment;

use crate::gathered_rank::GatheredRank;
use crate::gathering::{Gathering, Place};
use crate::join::Joined;
pub use environment::ManualStart;
use hawser_base::{Peer, Result};
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::JobSecret;
use hawser_boot::{Bootstrap, Identity, KvsKey, Notification, loaded_mpi};
use hawser_os::host;
use std::sync::Arc;

/// The `Bootstrap` of a rank that was started by hand.
struct ManualProcess(GatheredRank);

/// Becomes the rank that `manual` names, once all others have joined.
pub fn join(manual: &ManualStart, settings: &JobSettings) -> Result<Joined> {
    loaded_mpi::refuse_second_mpi(join as *const () as usize)?;
    let mut terms = settings.clone();
    terms.add(hawser_boot::protocol::SIZE_VARIABLE, &manual.size.to_string(), false);
    let gathering = Gathering {
        job_id: format!("plain-{}", host::pid()),
        place: Place::File(manual.file.clone()),
        rank: manual.rank,
        size: manual.size,
        local: (0..manual.size).collect(),
        hosts: vec![0; manual.size as usize],
        secret: JobSecret::default(),
        timeout_s: manual.timeout_s,
    };
    let rank = GatheredRank::join(&gathering, &terms, |_| {})?;
    let segment = rank.segment.clone();
    Ok(Joined { bootstrap: Arc::new(ManualProcess(rank)), segment, prints_warnings: manual.rank == 0 })
}

impl Bootstrap for ManualProcess {
    fn identity(&self) -> &Identity {
        &self.0.identity
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
            Notification::Left => self.0.handle_left(),
            Notification::Back | Notification::Reachability(_) => {}
        }
        true
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        self.0.report_abort(code, text);
        self.0.exit(code)
    }
}
