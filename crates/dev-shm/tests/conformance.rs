//! The shared-memory device under the suite of every device; threads stand for processes.

use hawser_base::Peer;
use hawser_dev_shm::ShmDevice;
use hawser_device::Device;
use hawser_device::conformance::{self, Net};
use hawser_job::{Ending, Facts, Segment, Spec};
use std::sync::Arc;

fn net(ranks: usize) -> Net {
    let membarrier = hawser_os::membarrier::offered() && hawser_os::membarrier::register().is_ok();
    let facts = Facts { membarrier, ..Facts::default() };
    let spec = Spec { facts, ..Spec::of("test", "here", ranks, (0..ranks as u32).collect()) };
    let segment = Segment::create(&spec).unwrap();
    let device = |rank| Arc::new(ShmDevice::new(segment.clone(), rank)) as Arc<dyn Device>;
    let devices = (0..ranks).map(device).collect();
    Net { devices, kill: Box::new(move |rank| segment.set_ended(Peer(rank as u32), Ending::Failed)) }
}

#[test]
fn two_ranks_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(2));
}

#[test]
fn ranks_among_sixty_four_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(64));
}

#[test]
fn many_send_to_one() {
    conformance::many_to_one(&net(64), 300);
    // Where callers have several words, and an overview.
    conformance::many_to_one(&net(140), 60);
    conformance::many_to_one(&net(3), 20_000);
}

#[test]
fn talkers_take_turns_among_more_than_are_watched() {
    conformance::talkers_take_turns(&net(70), 200);
    conformance::talkers_take_turns(&net(12), 200);
}

#[test]
fn two_lanes_in_two_threads_do_not_meet() {
    conformance::lanes_are_independent(&net(2), 20_000);
}

#[test]
fn random_traffic_arrives_as_sent() {
    for seed in [1, 0xfeed_beef, 0x1234_5678_9abc] {
        conformance::soak(&net(2), 30_000, seed);
    }
    conformance::soak(&net(40), 30_000, 42);
}

#[test]
fn a_death_is_reported_once_and_after_the_last_packet() {
    conformance::a_peer_dies(|| net(3));
    conformance::a_peer_dies(|| net(64));
    conformance::a_peer_dies_while_it_is_polled(|| net(3));
    conformance::a_peer_that_nobody_spoke_to_dies(|| net(3));
}
