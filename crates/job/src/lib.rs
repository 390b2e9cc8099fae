//! Layer 2: the layout of a job's shared segment on one host, as typed accessors over `base::Region`.
//!
//! Everything in the segment may be written by any process of the job at any moment, so nothing read from it is trusted
//! further than the job itself. The host's agent creates the segment before it starts the ranks; each rank maps it; the
//! agent reads it to report what the ranks do. Only the layout lives here: the algorithms on rings are `dev-shm`'s,
//! those on flags `mpi`'s. Used by `dev-shm`, `transport` and `launch`; uses `os`.
#![forbid(unsafe_code)]

pub mod arena;
pub mod counters;
pub mod doorbell;
pub mod events;
pub mod facts;
pub mod flags;
pub mod lives;
pub mod page;
pub mod plan;
pub mod segment;
pub mod standby;
mod text;
pub mod turn;
mod universe;
pub mod users;
pub mod wait;
pub mod ways;

pub use doorbell::{Bells, Doorbell};
pub use facts::{Facts, ProcessVm};
pub use flags::FlagBlock;
pub use lives::{Ending, Lives};
pub use page::{Phase, RankPage};
pub use plan::Plan;
pub use segment::{Segment, Spec};
pub use turn::Turn;
pub use wait::{Open, Tag, WaitPeer, WaitReason, Waiting};
pub use ways::{Silent, Ways};
