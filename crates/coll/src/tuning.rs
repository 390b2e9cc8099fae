//! The inputs of selection and building beside the call: the hosts, the model, the limits, and the forced algorithms.
//!
//! It must be equal on all ranks of a communicator. Used by `mpi`, which makes one for each communicator, by `select`,
//! and by the algorithms, which look up what fits.

use crate::collective::Collective;
use crate::cost_model::{CallShape, CostModel, ScheduleLimits};
use crate::host_map::HostMap;

/// One value a communicator, equal on its ranks.
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
    /// The tuning among ranks of one host.
    pub(crate) fn on_host(&self) -> Tuning<'a> {
        Tuning { model: CostModel::SHARED_MEMORY, ..self.between_hosts() }
    }

    /// The tuning between the leaders.
    pub(crate) fn between_hosts(&self) -> Tuning<'a> {
        Tuning { one_host: false, hosts: None, ..*self }
    }

    /// The hosts, for the rows "two_level": `fits` has found that there are some.
    pub(crate) fn known_hosts(&self) -> &'a HostMap {
        self.hosts.expect("two levels were found to fit")
    }

    /// Tells whether two levels keep the order of ranks.
    pub(crate) fn has_hosts_in_order(&self) -> bool {
        self.hosts.is_some_and(HostMap::is_in_order)
    }
}

/// The algorithm that is forced for each collective; 0 is none. Read once a process, never in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForcedAlgorithms([u8; Collective::ALL.len()]);

impl ForcedAlgorithms {
    pub const NONE: ForcedAlgorithms = ForcedAlgorithms([0; Collective::ALL.len()]);

    /// The number that is forced on `collective`.
    pub(crate) fn of(&self, collective: Collective) -> u8 {
        self.0[collective as usize]
    }

    /// The same with this number forced on `collective`.
    pub(crate) fn with_number(mut self, collective: Collective, number: u8) -> ForcedAlgorithms {
        self.0[collective as usize] = number;
        self
    }
}

/// Tells whether a slot has room for the whole vector, or the longest block.
pub(crate) fn fits_one_shm_step(s: &CallShape, t: &Tuning) -> bool {
    s.has_shm_steps && s.bytes <= t.limits.shm_step_bytes
}

/// Tells whether a slot has room for a block of each other rank.
pub(crate) fn fits_slot(s: &CallShape, t: &Tuning) -> bool {
    s.has_shm_steps && s.bytes.saturating_mul(u64::from(s.size) - 1) <= t.limits.shm_step_bytes
}

/// With more ranks than cores, rooted collectives use flags only for blocks of at least OVERSUBSCRIBED_MIN_BYTES
/// bytes, since waiting for a flag costs a context switch as waiting for a message does; and only with fewer than
/// OVERSUBSCRIBED_MAX_LOAD ranks a core, since with more, messages of that length are faster: the receiver reads
/// them in place (`dev-shm`), without a switch for each step (measured,
/// docs/measurements/2026-11-23-collectives.md).
const OVERSUBSCRIBED_MIN_BYTES: u64 = 64 << 10;
const OVERSUBSCRIBED_MAX_LOAD: f64 = 4.0;

/// Tells whether blocks pass through flags to or from a root.
pub(crate) fn fits_rooted_shm(s: &CallShape, t: &Tuning) -> bool {
    let load = t.model.load;
    s.has_shm_steps
        && s.uniform
        && (load <= 1.0 || load < OVERSUBSCRIBED_MAX_LOAD && s.bytes >= OVERSUBSCRIBED_MIN_BYTES)
}
