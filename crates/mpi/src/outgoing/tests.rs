//! Sends in a lane whose devices are queues of this process: what comes of those whose peer is gone.

use super::*;
use crate::comm::Comm;
use crate::group::Group;
use crate::matching::Limits;
use hawser_base::Lane as LaneId;
use hawser_device::Loopback;
use hawser_job::counters::Counters;
use hawser_transport::Fabric;
use std::sync::Arc;

const ME: Peer = Peer(0);
const GONE: Peer = Peer(1);
const LIMITS: Limits = Limits { packet: 64, eager: 256, first: 32, offer: 64, window: 4096 };

fn lane() -> Lane {
    let devices = [ME, GONE].map(|peer| Box::new(Loopback::new(peer)) as Box<dyn hawser_device::Device>);
    let fabric = Box::leak(Box::new(Fabric::new(devices.into(), 2).unwrap()));
    Lane::new(LaneId(0), fabric, LIMITS, Counters::private())
}

/// MPI_COMM_WORLD's number, so that it is never given back.
fn comm() -> CommRef {
    CommRef::Predefined(Box::leak(Box::new(Comm::new(Context(0), Arc::new(Group::world(2, ME))))))
}

/// The only request of the lane: its class if it has ended, and it goes.
fn ended(lane: &mut Lane, request: u32) -> Option<Class> {
    let status = lane.core.requests.get(request).status().expect("the send has ended");
    lane.core.requests.remove(request);
    assert_eq!(lane.core.requests.open(), 0, "a request is left");
    status.error
}

#[test]
fn a_send_to_a_peer_that_is_gone_ends_by_its_request() {
    let (mut lane, comm) = (lane(), comm());
    lane.core.lost(GONE);
    let to = Target { peer: GONE, context: Context(0), tag: 3 };
    for (bytes, sync) in [(0, false), (8, true), (100, false), (5000, false)] {
        let mut memory = vec![7; bytes];
        let mem = UserMem::of_slice(&mut memory);
        assert!(!send_short(&mut lane, &to, mem));
        let insert =
            |lane: &mut Lane| lane.core.requests.insert(Request::new(Kind::Send, comm.clone(), 1, to.tag)).unwrap();
        let request = insert(&mut lane);
        start(&mut lane, &to, Buffer::Dense(mem), sync, request);
        assert_eq!(ended(&mut lane, request), Some(Class::ProcAborted), "{bytes} bytes");
        let request = insert(&mut lane);
        bsend::start_copy(&mut lane, &to, memory, request);
        assert_eq!(ended(&mut lane, request), Some(Class::ProcAborted), "a copy of {bytes} bytes");
    }
    assert!(lane.is_drained() && lane.core.engine.is_idle());
}

#[test]
fn a_send_under_way_ends_when_its_peer_is_lost() {
    let (mut lane, comm) = (lane(), comm());
    let to = Target { peer: GONE, context: Context(0), tag: 3 };
    let mut memory = vec![7; 5000];
    let request = lane.core.requests.insert(Request::new(Kind::Send, comm, 1, to.tag)).unwrap();
    start(&mut lane, &to, Buffer::Dense(UserMem::of_slice(&mut memory)), false, request);
    assert!(lane.core.requests.get(request).status().is_none());
    lane.core.lost(GONE);
    assert_eq!(ended(&mut lane, request), Some(Class::ProcAborted));
}
