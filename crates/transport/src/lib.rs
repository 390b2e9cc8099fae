//! Layer 4: opens the devices for each user, routes packets to peers, queues control packets, and sets the wait
//! policy.
//!
//! It knows neither messages nor frames: packets of a header and a payload pass through. Used by users of the
//! transport, of which MPI (`p2p`) is one; uses the devices, behind `device::DevicePort`.
//!
//! # Several users in one process
//!
//! Devices are made once ([`Transport`]); each user (`mpi`, `pm`, `madeleine`) opens them by its name and has lanes,
//! order, buffer space and receivers of its own (docs/adr/0055-users-of-the-transport.md). The parts of a user, from
//! below:
//!
//! 1. *Lanes*: `job::users` gives each name a range of the host's lanes; the segment's layout (`job::layout`)
//!    determines how many lanes there are. The first are MPI's. Rings, pools and words of a lane lie together
//!    (`dev-shm::layout`), and take memory only once they are used.
//! 2. *Between hosts* a user may have other lanes at each end: `dev-ether::user_table` requests the lanes of a peer's
//!    user of that name, and sends nothing before the reply.
//! 3. *Buffer space*: a ring and a pool belong to one lane; by Ethernet a user has a credit of packets to each peer,
//!    and a share of `link`'s memory for sending. When it is used up, that user alone is refused.
//!
//! Example: two processes, which are both in one process here, open a user; the first one sends a packet to itself
//! and one to the second:
//!
//! ```
//! use hawser_base::{Lane, Peer, Peers, UserMem};
//! use hawser_dev_shm::ShmDevice;
//! use hawser_device::{Delivery, Device, Header, Loopback, Payload, PayloadSource};
//! use hawser_job::{Segment, SegmentSpec};
//! use hawser_transport::{Channel, Transport};
//!
//! /// Records the packets that arrive.
//! #[derive(Default)]
//! struct Got(Vec<(Peer, Vec<u8>)>);
//!
//! impl Delivery for Got {
//!     fn deliver(&mut self, from: Peer, _: Header, payload: &mut dyn Payload) {
//!         let mut bytes = vec![0; payload.len()];
//!         payload.read(&mut bytes);
//!         self.0.push((from, bytes));
//!     }
//!     fn peer_failed(&mut self, peer: Peer) {
//!         panic!("{peer} has ended");
//!     }
//! }
//!
//! // The host's first process creates the segment, here for two processes.
//! let segment = Segment::create(&SegmentSpec::without_spares("job", "host", 2, vec![0, 1])).unwrap();
//! // Each process makes its devices, and opens a user of its own with one lane.
//! let open = |me: usize| -> Channel {
//!     let shm = ShmDevice::new(segment.clone(), me);
//!     let devices: Vec<Box<dyn Device>> = vec![Box::new(Loopback::new(Peer(me as u32))), Box::new(shm)];
//!     let transport = Transport::new(devices, segment.clone());
//!     let fabric = transport.open("example", 1, &Peers::Consecutive { first: Peer(0), len: 2 }).unwrap();
//!     fabric.channel(Lane(0))
//! };
//! let (mut one, mut other) = (open(0), open(1));
//! for to in [Peer(0), Peer(1)] {
//!     let mut bytes = *b"hello";
//!     assert!(one.send(to, Header::default(), &[], PayloadSource::Mem(UserMem::of_slice(&mut bytes))));
//! }
//! for channel in [&mut one, &mut other] {
//!     let mut got = Got::default();
//!     while channel.poll(&mut got) == 0 {}
//!     assert_eq!(got.0, [(Peer(0), b"hello".to_vec())]);
//! }
//! ```

#![forbid(unsafe_code)]

mod channel;
mod core_sharing;
mod cpu_hog;
mod demux;
mod fabric;
mod poll_tracker;
mod progress_sleep;
mod transport;
mod wait_policy;

pub use channel::{Channel, ControlPacket};
pub use cpu_hog::RankPages;
pub use demux::Receiver;
pub use fabric::Fabric;
pub use progress_sleep::ProgressSleep;
pub use transport::Transport;
pub use wait_policy::{SPIN, SleepCounters, WaitLoop, WaitPolicy, YIELD, wait_peer};
