//! Receives from any source in a lane one of whose peers has failed or ended.

use super::*;
use crate::matching::ProtocolLimits;
use crate::message::{Destination, PendingSend};
use crate::minimal_data::MinimalData;
use crate::request::Request;
use hawser_base::{Class, Context, Lane as LaneId, Peers};
use hawser_device::{Delivery, Loopback};
use hawser_job::counters::Counters;
use hawser_transport::Fabric;

const ME: Peer = Peer(0);
const GONE: Peer = Peer(1);
const LIMITS: ProtocolLimits =
    ProtocolLimits { packet: 64, eager: 256, first: 32, rtr_from: 300, credit: 1 << 20, ..ProtocolLimits::DEFAULT };

fn lane() -> LaneState<MinimalData> {
    let devices = [ME, GONE].map(|peer| Box::new(Loopback::new(peer)) as Box<dyn hawser_device::Device>);
    let fabric =
        Box::leak(Box::new(Fabric::new(devices.into(), &Peers::Consecutive { first: Peer(0), len: 2 }).unwrap()));
    LaneState::new(LaneId(0), fabric, LIMITS, Counters::private(), |text| panic!("{text}"))
}

fn memory() -> Buffer {
    Buffer::Dense(UserMem::of_slice(vec![0; 200].leak()))
}

fn post(lane: &mut LaneState<MinimalData>, source: Option<Peer>, tag: Option<i32>) -> u32 {
    let request = lane.core.requests.insert(Request::new(MinimalData { peer: source })).unwrap();
    lane.post(MatchSpec { context: Context(0), source, tag }, memory(), request);
    request
}

/// A message to ourselves.
fn send(lane: &mut LaneState<MinimalData>, tag: i32) {
    let request = lane.core.requests.insert(Request::new(MinimalData { peer: Some(ME) })).unwrap();
    let to = Destination { peer: ME, context: Context(0), tag };
    lane.start(PendingSend { to, body: MessageMemory::Buffer(memory()), sync: false, request });
    while lane.progress() {}
}

/// Returns the error with which a receive has ended, if it has ended.
fn ended(lane: &mut LaneState<MinimalData>, request: u32) -> Option<Option<Class>> {
    lane.core.requests.get(request).outcome().map(|outcome| outcome.error)
}

#[test]
fn receives_from_any_source_end_with_the_loss_of_one_and_those_from_others_do_not() {
    let mut lane = lane();
    let [any, named, any_tag] =
        [(None, Some(3)), (Some(ME), Some(3)), (None, None)].map(|(source, tag)| post(&mut lane, source, tag));
    lane.core.peer_failed(GONE);
    let gone = Some(Some(Class::ProcAborted));
    assert_eq!([any, named, any_tag].map(|request| ended(&mut lane, request)), [gone, None, gone]);
    send(&mut lane, 3);
    assert_eq!(ended(&mut lane, named), Some(None), "no receive before it was left in the queue");
    assert!(lane.is_drained() && lane.core.engine.is_idle());
    lane.core.peer_failed(GONE);
    assert_eq!(lane.core.engine.failed_peers(), [GONE], "reported twice, it is the same peer");
}

#[test]
fn what_has_come_is_received_from_any_source_after_a_loss_too_and_then_no_more() {
    let mut lane = lane();
    send(&mut lane, 3);
    lane.core.peer_failed(GONE);
    let [first, second] = [(); 2].map(|()| post(&mut lane, None, Some(3)));
    assert_eq!(ended(&mut lane, first), Some(None));
    assert_eq!(ended(&mut lane, second), Some(Some(Class::ProcAborted)));
    let from_me = post(&mut lane, Some(ME), Some(3));
    send(&mut lane, 3);
    assert_eq!(ended(&mut lane, from_me), Some(None), "what is posted later is not taken by what has ended");
    assert!(lane.is_drained() && lane.core.engine.is_idle());
}
