//! Layer 2: the layout of a job's shared segment on one host, as typed accessors over `base::Region`.
//!
//! Everything in the segment may be written by any process of the job at any moment, so nothing read from it is
//! trusted more than the job's processes themselves. The host's agent creates the segment before it starts the ranks;
//! each rank maps it; the agent reads it to report what the ranks do. Only the layout lives here: the algorithms on
//! rings are `dev-shm`'s, those on flags are `mpi`'s. Used by both devices, `host`, `transport`, `p2p`, `mpi`,
//! `node`, `launch` and `bench`; uses `os`.
#![forbid(unsafe_code)]

pub mod arena;
pub mod counters;
pub mod cpu_use;
pub mod doorbell;
pub mod exit_log;
pub mod facts;
pub mod flags;
pub mod flight_recorder;
pub mod layout;
pub mod network_status;
pub mod page;
mod processes;
pub mod progress_handoff;
pub mod segment;
mod text;
pub mod users;
pub mod wait;

pub use cpu_use::CpuUse;
pub use doorbell::{Doorbell, Doorbells};
pub use exit_log::{ExitKind, ExitLog};
pub use facts::{HostFacts, ProcessVm};
pub use flags::FlagBlock;
pub use layout::SegmentLayout;
pub use network_status::{NetworkStatus, UnreachablePeer};
pub use page::{RankPage, RankPhase};
pub use segment::{Segment, SegmentSpec};
pub use wait::{OwnedWaitReason, PendingCount, WaitPeer, WaitReason, WaitTag};
