//! Layer 5, messages between processes: matching, streams, requests and waits. It knows no communicators.
//!
//! Downwards: `outgoing` (waits for room) and `incoming` → `matching` (chooses the method) → `lane` → `transport`.
//! Upwards: `lane` (delivery) → `matching` → `request` → `task` → `wait`. Each user of this crate (an implementation of
//! [`request::Note`]) has [`lanes::Lanes`] of its own: MPI is one user, [`plain::Plain`] the smallest.
//!
//! A message of a process to itself, on one lane:
//!
//! ```
//! use hawser_base::{Context, Lane as LaneId, Peer, Peers, UserMem};
//! use hawser_device::Loopback;
//! use hawser_job::counters::Counters;
//! use hawser_p2p::{buffer::Buffer, lane::Lane, message::Target, plain::Plain, request::Request};
//! use hawser_p2p::matching::{Limits, Want};
//! use hawser_transport::Fabric;
//!
//! let me = Peer(0);
//! let fabric = Box::leak(Box::new(Fabric::new(vec![Box::new(Loopback::new(me))], &Peers::of(vec![me])).unwrap()));
//! let limits = Limits { packet: 64, eager: 256, first: 32, offer: 300, window: 4096 };
//! let mut lane: Lane<Plain> = Lane::new(LaneId(0), fabric, limits, Counters::private(), |text| panic!("{text}"));
//!
//! let (sent, mut got) = (*b"hello", [0; 5]);
//! let to = Target { peer: me, context: Context(0), tag: 3 };
//! assert!(lane.send_at_once(&to, UserMem::of_slice(Box::leak(Box::new(sent)))));
//!
//! let request = lane.core.requests.insert(Request::new(Plain { peer: Some(me) })).unwrap();
//! let want = Want { context: Context(0), source: Some(me), tag: Some(3) };
//! let room: UserMem<'static> = UserMem::of_slice(Box::leak(Box::new(got)));
//! lane.post(want, Buffer::Dense(room), request);
//! while !lane.core.requests.get(request).is_over() {
//!     lane.progress();
//! }
//! assert_eq!(lane.core.requests.remove(request).outcome().unwrap().envelope.bytes, 5);
//! room.read(&mut got);
//! assert_eq!(&got, b"hello");
//! ```

#![forbid(unsafe_code)]

pub mod advance;
pub mod buffer;
mod by_peer;
pub mod counters;
pub mod helper;
pub mod incoming;
pub mod lane;
pub mod lanes;
pub mod matching;
pub mod message;
pub mod outgoing;
pub mod plain;
pub mod request;
pub mod task;
pub mod wait;
pub mod wire;
