//! The entry of a process into its job as a rank, through its launcher or without one. Used by `node`; uses `launched`,
//! `plain`.

use crate::launched::Launched;
use crate::plain::{self, Wish};
use hawser_base::Result;
use hawser_boot::terms::JobTerms;
use hawser_boot::{Boot, World};
use hawser_job::Segment;
use std::sync::Arc;

/// A process that has become a rank.
pub struct Joined {
    pub boot: Arc<dyn Boot>,
    /// The job's part on this host.
    pub segment: Segment,
}

/// Determines this process's identity, and opens the host's segment. To be called once, by MPI_Init or the first
/// session. A job whose ranks have unlike `terms` is ended.
pub fn join(terms: &JobTerms) -> Result<Joined> {
    if let Some(wish) = Wish::of(|variable| std::env::var(variable).ok())? {
        return plain::join(&wish, terms);
    }
    let mut world = hawser_boot::attach_on(terms)?;
    match segment(&mut world) {
        Ok(segment) => Ok(Joined { boot: Arc::new(Launched { world, segment: segment.clone() }), segment }),
        Err(error) => {
            world.keep();
            Err(error)
        }
    }
}

/// The agent's segment, or one of our own without a launcher.
fn segment(world: &mut World) -> Result<Segment> {
    match world.take_segment() {
        Some(fd) => Segment::open(fd),
        None => Segment::alone(),
    }
}
