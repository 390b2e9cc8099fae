//! The entry of a process into its job as a rank, through its launcher or without one. Used by `node`; uses `launched`,
//! `manual_start`, `process_manager`.

use crate::launched::LaunchedProcess;
use crate::manual_start::{self, ManualStart};
use crate::process_manager;
use hawser_base::Result;
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::ADDRESS_VARIABLE;
use hawser_boot::{AgentConnection, Bootstrap, launcher_server, loaded_mpi};
use hawser_job::Segment;
use std::sync::Arc;

/// A process that has become a rank.
pub struct Joined {
    pub bootstrap: Arc<dyn Bootstrap>,
    /// The job's segment on this host.
    pub segment: Segment,
    /// Whether this process prints the warnings of its job: it is the first one, and no mpiexec of ours does that.
    pub prints_warnings: bool,
}

/// Determines this process's identity, and opens the host's segment. To be called once, by MPI_Init or the first
/// session. A job whose ranks have different `settings` is ended.
pub fn join(settings: &JobSettings) -> Result<Joined> {
    let environment = |variable: &str| std::env::var(variable).ok();
    if let Some(manual) = ManualStart::from_environment(environment)? {
        return manual_start::join(&manual, settings);
    }
    // Our own launcher removes the variables of other launchers for its ranks: what has both was started by another
    // launcher below a rank of ours.
    loaded_mpi::refuse_second_mpi(join as *const () as usize)?;
    if let Some(server) = launcher_server::connect(environment)? {
        return process_manager::join(server, settings);
    }
    let mut world = hawser_boot::attach_with_settings(settings)?;
    let prints_warnings = world.is_alone() && environment(ADDRESS_VARIABLE).is_none();
    match segment(&mut world) {
        Ok(segment) => {
            let bootstrap = Arc::new(LaunchedProcess { connection: world, segment: segment.clone() });
            Ok(Joined { bootstrap, segment, prints_warnings })
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
