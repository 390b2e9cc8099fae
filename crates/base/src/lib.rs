//! Layer 0 of Hawser: the types that every crate uses. No system calls, no policy, no dependencies.

pub mod buf;
pub mod cache_distance;
pub mod copy;
pub mod error;
pub mod fnv;
pub mod handle;
pub mod handle_table;
pub mod hex;
pub mod ids;
pub mod lane_lock;
pub mod param;
pub mod peer_table;
pub mod peers;
pub mod region;
mod state_machine;
pub mod value;

pub use buf::{SharedMem, UserMem};
pub use error::{Class, Error, Result};
pub use handle::Handle;
pub use ids::{Context, LANES, Lane, Peer};
pub use peers::Peers;
pub use region::Region;
