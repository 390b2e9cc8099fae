//! Layer 5, messages between processes: matching, streams, requests and waits. It knows no communicators.
//!
//! Downwards: `send` (waits for space) and `recv` → `matching` (`matching::method` chooses the method) → `lane` →
//! `transport`. Upwards: `lane` (delivery) → `matching` → `request` → `task` → `wait`. Each user of this crate (an
//! implementation of [`request::RequestData`]) has [`lanes::Lanes`] of its own: MPI is one user,
//! [`minimal_data::MinimalData`] the smallest.
//!
//! Example: a process sends a message to itself, on one lane:
//!
//! ```
//! use hawser_base::{Context, Lane, Peer, Peers, UserMem};
//! use hawser_device::Loopback;
//! use hawser_job::counters::Counters;
//! use hawser_p2p::matching::{MatchSpec, ProtocolLimits};
//! use hawser_p2p::{buffer::Buffer, lane::LaneState, message::Destination};
//! use hawser_p2p::{minimal_data::MinimalData, request::Request};
//! use hawser_transport::Fabric;
//!
//! let me = Peer(0);
//! let fabric = Fabric::new(vec![Box::new(Loopback::new(me))], &Peers::from_list(vec![me])).unwrap();
//! let fabric = Box::leak(Box::new(fabric));
//! let limits = ProtocolLimits::DEFAULT;
//! let counters = Counters::private();
//! let mut lane = LaneState::<MinimalData>::new(Lane(0), fabric, limits, counters, |text| panic!("{text}"));
//!
//! let (sent, mut got) = (*b"hello", [0; 5]);
//! let to = Destination { peer: me, context: Context(0), tag: 3 };
//! assert!(lane.send_at_once(&to, UserMem::of_slice(Box::leak(Box::new(sent)))));
//!
//! let request = lane.core.requests.insert(Request::new(MinimalData { peer: Some(me) })).unwrap();
//! let spec = MatchSpec { context: Context(0), source: Some(me), tag: Some(3) };
//! let memory: UserMem<'static> = UserMem::of_slice(Box::leak(Box::new(got)));
//! lane.post(spec, Buffer::Dense(memory), request);
//! while !lane.core.requests.get(request).is_complete() {
//!     lane.progress();
//! }
//! assert_eq!(lane.core.requests.remove(request).outcome().unwrap().envelope.bytes, 5);
//! memory.read(&mut got);
//! assert_eq!(&got, b"hello");
//! ```

#![forbid(unsafe_code)]

pub mod buffer;
mod copy_choice;
pub mod counters;
mod joined_lanes;
pub mod lane;
pub mod lanes;
pub mod matching;
pub mod message;
pub mod minimal_data;
mod peer_queues;
pub mod progress_thread;
pub mod recv;
pub mod request;
pub mod run_tasks;
pub mod send;
mod send_run;
pub mod task;
pub mod wait;
pub mod wire;
