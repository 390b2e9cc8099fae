//! The tuning of a communicator: besides the call, all facts on which the choice of an algorithm and its schedule
//! depend: the hosts, the cost model, the limits and the forced algorithms.
//!
//! The tuning must be equal on all ranks of a communicator. Used by `mpi`, which makes one for each communicator, by
//! `select`, and by the algorithms, whose conditions and costs depend on it.

use crate::collective::Collective;
use crate::cost_model::{CallShape, CostModel, ScheduleLimits};
use crate::host_map::HostMap;

/// The tuning of a communicator. It must be equal on all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Tuning<'a> {
    /// All members are on one host and share the job's segment there: shm steps are possible.
    pub one_host: bool,
    /// The hosts of the members, if some share a host and some do not.
    pub hosts: Option<&'a HostMap>,
    pub model: CostModel,
    pub limits: ScheduleLimits,
    pub forced: ForcedAlgorithms,
}

impl<'a> Tuning<'a> {
    /// Returns the tuning for the ranks of one host among themselves, if they are a part of the communicator: it has
    /// no shm steps.
    pub(crate) fn on_host(&self) -> Tuning<'a> {
        Tuning { model: CostModel::SHARED_MEMORY, ..self.between_hosts() }
    }

    /// Returns the tuning for the leaders of the hosts among themselves.
    pub(crate) fn between_hosts(&self) -> Tuning<'a> {
        Tuning { one_host: false, hosts: None, ..*self }
    }

    /// Returns the hosts, for the algorithms "two_level". Panics if they are not known, which `fits` of these
    /// algorithms excludes.
    pub(crate) fn known_hosts(&self) -> &'a HostMap {
        self.hosts.expect("two levels were found to fit")
    }

    /// Tells whether an algorithm on two levels keeps rank order: the ranks of each host are consecutive, and the
    /// hosts are known.
    pub(crate) fn has_hosts_in_order(&self) -> bool {
        self.hosts.is_some_and(HostMap::is_in_order)
    }
}

/// The number of the algorithm that is forced on each collective, counted from 1; 0 if none is forced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForcedAlgorithms([u8; Collective::ALL.len()]);

impl ForcedAlgorithms {
    pub const NONE: ForcedAlgorithms = ForcedAlgorithms([0; Collective::ALL.len()]);

    /// Returns the number of the algorithm that is forced on `collective`, or 0.
    pub(crate) fn of(&self, collective: Collective) -> u8 {
        self.0[collective as usize]
    }

    /// Returns these choices with the algorithm of this number forced on `collective`.
    pub(crate) fn with_number(mut self, collective: Collective, number: u8) -> ForcedAlgorithms {
        self.0[collective as usize] = number;
        self
    }
}

/// Tells whether a slot has space for the length of the call's shape (`CallShape::bytes`).
pub(crate) fn fits_one_shm_step(s: &CallShape, t: &Tuning) -> bool {
    s.has_shm_steps && s.bytes <= t.limits.shm_step_bytes
}

/// Tells whether a slot has space for a block for each other rank.
pub(crate) fn fits_slot(s: &CallShape, t: &Tuning) -> bool {
    s.has_shm_steps && s.bytes.saturating_mul(u64::from(s.size) - 1) <= t.limits.shm_step_bytes
}

/// Two limits for gather and scatter if there are more ranks than cores: the minimum length in bytes of a block that
/// they move by flags, and the number of ranks on a core from which on they use messages alone. Below the length,
/// flags gain nothing, because waiting for a flag costs a context switch just as waiting for a message does. With
/// that many ranks on a core, messages of that length are faster, because the receiver reads them in place
/// (`dev-shm`) without a context switch for each step (measured, docs/measurements/2026-11-23-collectives.md).
const OVERSUBSCRIBED_MIN_BYTES: u64 = 64 << 10;
const OVERSUBSCRIBED_MAX_LOAD: f64 = 4.0;

/// Tells whether gather and scatter can move their blocks by flags.
pub(crate) fn fits_rooted_shm(s: &CallShape, t: &Tuning) -> bool {
    let load = t.model.load;
    s.has_shm_steps
        && s.uniform
        && (load <= 1.0 || load < OVERSUBSCRIBED_MAX_LOAD && s.bytes >= OVERSUBSCRIBED_MIN_BYTES)
}
