//! Layer 1: the only crate with system calls, one concern per file. Linux, 64 bits.
//!
//! The modules that the libraries use (maps, futexes, sockets, clocks, …) install no signal handler, keep no global
//! state and stay usable after fork. `signals`, `spawn`, `tether` and `tree` are for the launcher alone, `netns` and
//! `cable` for benchmarks and tests. Errors are `io::Error`s whose text names the operation. Used by all higher layers;
//! uses `base`.

pub mod bell;
pub mod bpf;
pub mod cable;
pub mod cgroup;
pub mod clock;
pub mod cpus;
pub mod ebpf;
pub mod epoll;
pub mod errno;
pub mod filesystem;
pub mod fork;
pub mod futex;
pub mod held;
pub mod host;
mod inet;
pub mod interfaces;
pub mod limits;
pub mod map;
mod masters;
pub mod membarrier;
pub mod memfd;
mod netlink;
pub mod netns;
pub mod next_hop;
pub mod nic;
pub mod offloads;
pub mod packet;
pub mod packet_ring;
pub mod pidfd;
pub mod pipe;
pub mod process_vm;
mod ready;
pub mod signals;
mod sockopt;
pub mod spawn;
pub mod tcp;
pub mod tether;
pub mod thread;
pub mod tree;
pub mod tty;
pub mod udp;
pub mod unix;
pub mod usage;
pub mod xdp;
pub mod xsk;
mod xsk_ring;

pub use errno::During;
pub use sockopt::Buffers;
