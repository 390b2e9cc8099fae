//! The entry of a process into its job as a rank, through its launcher or without one. Used by `node`; uses `launched`,
//! `manual_start`.

use crate::launched::LaunchedProcess;
use crate::manual_start::{self, ManualStart};
use hawser_base::Result;
use hawser_boot::job_settings::JobSettings;
use hawser_boot::{AgentConnection, Bootstrap};
use hawser_job::Segment;
use std::sync::Arc;

/// A process that has become a rank.
pub struct Joined {
    pub bootstrap: Arc<dyn Bootstrap>,
    /// The job's segment on this host.
    pub segment: Segment,
}

/// Determines this process's identity, and opens the host's segment. To be called once, by MPI_Init or the first
/// session. A job whose ranks have different `settings` is ended.
pub fn join(settings: &JobSettings) -> Result<Joined> {
    if let Some(manual) = ManualStart::from_environment(|variable| std::env::var(variable).ok())? {
        return manual_start::join(&manual, settings);
    }
    let mut world = hawser_boot::attach_with_settings(settings)?;
    match segment(&mut world) {
        Ok(segment) => {
            Ok(Joined { bootstrap: Arc::new(LaunchedProcess { connection: world, segment: segment.clone() }), segment })
        }
        Err(error) => {
            world.keep_for_abort();
            Err(error)
        }
    }
}

/// Opens the agent's segment, or creates a private one if there is no launcher.
fn segment(world: &mut AgentConnection) -> Result<Segment> {
    match world.take_segment() {
        Some(fd) => Segment::open(fd),
        None => Segment::alone(),
    }
}
