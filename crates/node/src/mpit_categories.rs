//! The contents of MPI_T: every parameter and every counter of a rank, in the categories of their crates.
//!
//! A new crate is one row here. Used by `params` and the ABI crates (MPI_T_init_thread); uses `mpi::tools`.

use crate::params::{EAGER, FIRST, JOIN, OFFER_FROM, PACKET, RTR, WINDOW};
use crate::profile::PROFILE;
use hawser_base::param::Param;
use hawser_job::counters::CounterInfo;
use hawser_mpi::checking::CHECK;
use hawser_mpi::tools::CategorySpec;
use hawser_mpi::tools::pvar::PvarSpec;
use hawser_p2p::counters::{self, Counter};
use hawser_p2p::progress_thread::PROGRESS;

/// The slots of the first counter of the collectives, of waiting, and of Ethernet. The counters of messages come
/// before them.
const COLLECTIVES: usize = Counter::ShmSteps as usize;
const WAITING: usize = Counter::LaneContended as usize;
const ETHERNET: usize = counters::NAMES.len();

/// Returns all counters of a rank, in the order of their slots.
pub fn entries() -> impl Iterator<Item = CounterInfo> {
    counters::entries().chain(hawser_dev_ether::counters::entries())
}

/// Returns the slots of the counters of frames that a network has changed, or that were forged.
pub fn changed() -> impl Iterator<Item = usize> {
    hawser_dev_ether::counters::corruption_slots().map(|nth| ETHERNET + nth)
}

/// Returns all categories, parents first.
pub fn groups() -> Vec<CategorySpec> {
    let mut all = entries().enumerate().map(|(slot, entry)| PvarSpec::counter(slot, entry));
    crate_categories(|count| all.by_ref().take(count).collect(), PvarSpec::queue_lengths().into())
}

/// Returns every parameter that a rank reads.
pub fn params() -> impl Iterator<Item = &'static Param> {
    crate_categories(|_| Vec::new(), Vec::new()).into_iter().flat_map(|group| group.params)
}

/// Returns a category for each crate, with its parameters. `counters` returns the given number of next counters, in
/// the order of their slots; `lengths` are the variables for the lengths of queues.
fn crate_categories(mut counters: impl FnMut(usize) -> Vec<PvarSpec>, lengths: Vec<PvarSpec>) -> Vec<CategorySpec> {
    let group = |name, parent, about, params: &[&'static Param], variables| {
        let parent = (!str::is_empty(parent)).then_some(parent);
        CategorySpec { name, about, parent, params: params.to_vec(), variables }
    };
    let spinning = [&hawser_transport::SPIN, &hawser_transport::YIELD, &PROGRESS];
    let limits = [&EAGER, &WINDOW, &PACKET, &FIRST, &RTR, &OFFER_FROM, &JOIN];
    let copies = [&hawser_dev_shm::PROCESS_VM_FROM, &hawser_dev_shm::PIECE, &hawser_dev_shm::STRING_COPIES];
    let algorithms: Vec<_> = hawser_coll::PARAMS.iter().collect();
    let messages = counters(COLLECTIVES).into_iter().chain(lengths).collect();
    vec![
        group("hawser", "", "all variables of this library", &[&CHECK, &PROFILE], vec![]),
        group("matching", "hawser", "messages between ranks: methods, credit, queues", &limits, messages),
        group("collectives", "hawser", "algorithms of collectives", &algorithms, counters(WAITING - COLLECTIVES)),
        group("waiting", "hawser", "spinning, yielding, sleeping", &spinning, counters(ETHERNET - WAITING)),
        group("devices", "hawser", "devices that connect ranks", &[&crate::device_selection::DEVICES], vec![]),
        group("shared_memory", "devices", "between ranks of a host", &copies, vec![]),
        group("ethernet", "devices", "between hosts", hawser_dev_ether::PARAMS, counters(usize::MAX)),
    ]
}
