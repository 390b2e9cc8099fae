//! The shared-memory device under the conformance suite of every device; threads stand in for processes.

use hawser_base::{Lane, Peer, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_device::conformance::{self, MakeMemory, TestNet};
use hawser_device::{CompletionToken, Device, Protocol, RemoteError, RemoteKey, Submitted};
use hawser_job::arena::Arena;
use hawser_job::{ExitKind, HostFacts, ProcessVm, Segment, SegmentSpec};
use hawser_os::{host, process_vm};
use std::sync::Arc;

fn net(ranks: usize) -> TestNet {
    net_of(&segment(ranks, HostFacts::default()))
}

fn segment(ranks: usize, facts: HostFacts) -> Segment {
    let membarrier = hawser_os::membarrier::is_supported() && hawser_os::membarrier::register().is_ok();
    let spec = SegmentSpec::without_spares("test", "here", ranks, (0..ranks as u32).collect());
    Segment::create(&SegmentSpec { facts: HostFacts { membarrier, ..facts }, ..spec }).unwrap()
}

fn net_of(segment: &Segment) -> TestNet {
    let (ranks, segment) = (segment.local_slots(), segment.clone());
    let device = |rank| Arc::new(ShmDevice::new(segment.clone(), rank)) as Arc<dyn Device>;
    let devices = (0..ranks).map(device).collect();
    TestNet { devices, kill: Box::new(move |rank| segment.record_exit(Peer(rank as u32), ExitKind::Failed)) }
}

#[test]
fn two_ranks_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(2));
    let by_string = || segment(2, HostFacts { string_copies: true, ..HostFacts::default() });
    conformance::wire(|| net_of(&by_string()));
}

#[test]
fn ranks_among_sixty_four_keep_the_promises_of_a_wire() {
    conformance::wire(|| net(64));
}

#[test]
fn many_send_to_one() {
    conformance::a_sender_to_many_needs_no_other_call(&net(9), 100);
    conformance::many_to_one(&net(64), 300);
    // With this many ranks the notify bits need several words, and an overview.
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

/// Makes a net in which each rank's memory lies in its arena.
fn arenas(ranks: usize) -> (TestNet, MakeMemory) {
    let segment = segment(ranks, HostFacts::default());
    let net = net_of(&segment);
    let (devices, arenas) =
        (net.devices.clone(), (0..ranks).map(|rank| Arena::new(&segment, rank)).collect::<Vec<_>>());
    let memory = move |rank: usize, len: usize| {
        let (span, region) = arenas[rank].allocate(len).unwrap();
        devices[rank].share(span.offset, &region);
        // SAFETY: the region is never dropped.
        let mem = unsafe { UserMem::new(region.as_ptr(), len) };
        std::mem::forget(region);
        mem
    };
    (net, Box::new(memory))
}

/// Makes a net in which each rank's memory is private, and may be reached by all.
fn private(ranks: usize) -> (TestNet, MakeMemory) {
    let segment = segment(ranks, HostFacts { process_vm: ProcessVm::Allowed, cores: 64, ..HostFacts::default() });
    (0..ranks).for_each(|rank| segment.rank(rank).set_pid(host::pid()));
    (net_of(&segment), Box::new(|_, len| conformance::words(len)))
}

/// Returns whether a sandbox lets this process copy from itself by process_vm_readv.
fn copies_private() -> bool {
    let (from, into) = (conformance::words(8), conformance::words(8));
    let copies = process_vm::read(host::pid(), from.as_ptr().addr() as u64, into).is_ok();
    if !copies {
        println!("     process_vm_readv is forbidden here");
    }
    copies
}

#[test]
fn memory_of_an_arena_is_worked_on_where_it_lies() {
    conformance::remote(|| arenas(2));
    conformance::remote(|| arenas(64));
}

#[test]
fn private_memory_is_read_and_written_where_that_is_allowed() {
    if copies_private() {
        conformance::remote(|| private(2));
    }
    let (net, memory) = (net(2), conformance::words(64));
    assert!(net.devices[1].register(memory).is_none(), "the host's agent has not found that ranks may");
}

#[test]
fn nothing_is_worked_on_with_a_peer_that_has_ended() {
    conformance::a_peer_dies_with_operations_in_flight(|| arenas(3));
    if copies_private() {
        conformance::a_peer_dies_with_operations_in_flight(|| private(3));
    }
}

#[test]
fn a_rank_has_so_many_registrations_and_gets_each_place_back() {
    let (net, memory) = arenas(2);
    let mem = memory(1, 64);
    let mut registrations: Vec<_> =
        (0..4096).map(|number| net.devices[1].register(mem).ok_or(number).unwrap()).collect();
    assert!(net.devices[1].register(mem).is_none(), "a key has space for no more");
    let old = registrations.remove(77).key();
    let new = net.devices[1].register(mem).expect("a slot has been returned");
    assert!(new.key() != old && registrations.iter().all(|kept| kept.key() != new.key()));
}

#[test]
fn a_key_of_one_process_names_nothing_of_the_next_in_its_room() {
    let segment = segment(2, HostFacts::default());
    let arena = Arena::new(&segment, 1);
    let (span, region) = arena.allocate(4096).unwrap();
    // SAFETY: mapped as long as `region` lives, which is longer than all devices here.
    let mem = unsafe { UserMem::new(region.as_ptr(), 4096) };
    let live = || {
        let device = ShmDevice::new(segment.clone(), 1);
        device.share(span.offset, &region);
        device
    };
    let mut port = ShmDevice::new(segment.clone(), 0).port(Lane(0));
    let ticket = CompletionToken { protocol: Protocol::MESSAGES, number: 0 };
    let mut read = |key: &RemoteKey| port.read(Peer(1), key, 0, conformance::words(8), ticket);
    // The process ends without dropping its registration.
    let old = live().register(mem).unwrap();
    let key = old.key();
    std::mem::forget(old);
    assert_eq!(read(&key), Ok(Submitted::Done(0)));
    ShmDevice::clean(&segment, 1).unwrap();
    assert_eq!(read(&key), Err(RemoteError::InvalidKey));
    let new = live().register(mem).unwrap();
    assert_eq!((read(&new.key()), read(&key)), (Ok(Submitted::Done(0)), Err(RemoteError::InvalidKey)));
}
