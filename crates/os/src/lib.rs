//! Floor 1: the only room with system calls, one concern a file. Linux, 64 bits.
//!
//! What the libraries use (maps, futexes, sockets, clocks, …) installs no signal handler, keeps no global
//! state and stays usable after fork. `signals`, `spawn` and `tree` are for the launcher alone.
//! Errors are `io::Error` whose text says what was being done. Before it: `base`; after it: everybody.

pub mod clock;
pub mod cpus;
pub mod epoll;
pub mod errno;
pub mod fork;
pub mod futex;
pub mod host;
pub mod limits;
pub mod map;
pub mod membarrier;
pub mod memfd;
pub mod pidfd;
pub mod pipe;
pub mod process_vm;
pub mod signals;
pub mod spawn;
pub mod tree;
pub mod tty;
pub mod unix;

pub use errno::During;
