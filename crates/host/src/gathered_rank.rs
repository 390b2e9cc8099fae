//! A rank that has no agent: it knows its identity and the segment, and reports its own end to the ranks of its host.
//! Used by `manual_start` and `process_manager`, whose `Bootstrap`s it is the common part of.

use crate::gathering::Gathering;
use crate::peer_monitor;
use hawser_base::{Class, Error, Peer, Result};
use hawser_boot::Identity;
use hawser_boot::agent_connection::exit_code;
use hawser_boot::job_settings::JobSettings;
use hawser_job::{RankPhase, Segment};
use hawser_os::host;
use hawser_os::signals::{self, SIGKILL};

pub struct GatheredRank {
    pub identity: Identity,
    pub segment: Segment,
    /// The process that is the rank; a forked child of it is not the rank.
    pid: i32,
}

impl GatheredRank {
    /// Becomes a rank once all others of this host have come, and monitors them from then on. `on_death` is called with
    /// the exit code before this process ends because another one of the host has died.
    pub fn join(
        gathering: &Gathering,
        settings: &JobSettings,
        on_death: impl Fn(i32) + Send + 'static,
    ) -> Result<GatheredRank> {
        let segment = gathering.gather(settings.clone())?;
        let local_rank = gathering.page_of(gathering.rank).unwrap_or_default();
        peer_monitor::start(&segment, local_rank, Box::new(on_death))
            .map_err(|error| Error::new(Class::Other, error.to_string()))?;
        let (rank, size, secret) = (gathering.rank, gathering.size, gathering.secret);
        let identity = Identity {
            peer: Peer(rank),
            rank,
            size,
            local_rank: local_rank as u32,
            local_size: gathering.local.len() as u32,
            appnum: None,
            program_size: size,
            universe_size: size,
            secret,
        };
        Ok(GatheredRank { identity, segment, pid: host::pid() })
    }

    /// Reports to the ranks in the segment that all of them have left MPI, if this one was the last. Ranks of other
    /// hosts are not known here.
    pub fn handle_left(&self) {
        if !self.identity.spans_hosts() && have_left(&self.segment) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Records that this rank aborts the job, and prints the cause if no rank of this host has done so before.
    pub fn report_abort(&self, code: i32, text: &str) {
        let is_first = self.segment.set_aborted(exit_code(code));
        self.segment.rank(self.identity.local_rank as usize).set_phase(RankPhase::Aborted);
        if is_first {
            let (rank, host, pid) = (self.identity.rank, self.segment.host(), self.pid);
            host::print_error(&format!(
                "hawser: rank {rank} on host {host} (pid {pid}) aborts with code {code}: {text}"
            ));
        }
    }

    /// Whether this process is the rank, and not a forked child of it.
    pub fn is_this_process(&self) -> bool {
        host::pid() == self.pid
    }

    /// Ends this process after `report_abort`; in a forked child, also the rank.
    pub fn exit(&self, code: i32) -> ! {
        if !self.is_this_process() {
            // The other ranks monitor the rank's process, not this forked child of it.
            let _ = signals::send(self.pid, SIGKILL);
        }
        host::exit_now(exit_code(code))
    }
}

/// Whether all ranks of the host have left MPI now, or have ended.
pub fn have_left(segment: &Segment) -> bool {
    let has_left = |local: usize| {
        let is_gone = || segment.process_in(local).is_some_and(|peer| segment.exit_log().has_ended(peer));
        segment.rank(local).phase() == RankPhase::Finalized || is_gone()
    };
    (0..segment.local_size()).all(has_left)
}
