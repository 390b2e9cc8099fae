//! The conformance suite: tests of every device's promises to the transport, as functions that a device's own tests
//! call.
//!
//! The tests of `wire` have one sender and one receiver (for the self device, one port that is both). `many` needs
//! devices with several peers, and `peer_death` peers that can die; the self device reaches only itself, so the
//! devices of `memory`, which exist only for the tests of this crate, take its place there. `remote` tests a device's
//! operations on memory of peers, if it has any. A test panics with the name of the promise that is broken. Used by
//! `loopback`'s tests and those of each device crate.

mod endpoints;
mod many;
#[cfg(test)]
mod memory;
mod peer_death;
mod remote;
mod wire;

pub use endpoints::{PayloadForm, ReceivedLog, TestEndpoint, TestNet, payload};
pub use many::{
    a_sender_to_many_needs_no_other_call, converse, lanes_are_independent, many_to_one, soak, talkers_take_turns,
};
pub use peer_death::{a_peer_dies, a_peer_dies_while_it_is_polled, a_peer_that_nobody_spoke_to_dies};
pub use remote::{MakeMemory, a_peer_dies_with_operations_in_flight, all as remote, words};
pub use wire::{all as wire, what_a_lane_has_reserved_no_other_takes};
