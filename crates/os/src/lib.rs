//! Layer 1: the only crate with system calls, one concern per file. Linux, 64 bits.
//!
//! The modules that the libraries use (maps, futexes, sockets, clocks, …) install no signal handler, keep no global
//! state and stay usable after fork. `signals`, `spawn`, `tether` and `process_tree` are for the launcher alone,
//! `netns` and `veth_pair` for benchmarks and tests. Errors are `io::Error`s whose text names the operation. Used
//! by all higher layers; uses `base`.

pub mod at_exit;
pub mod bpf;
pub mod cgroup;
pub mod clock;
pub mod copy_timing;
pub mod cpus;
pub mod ebpf;
pub mod epoll;
pub mod errno;
pub mod fd_identity;
pub mod filesystem;
pub mod fork;
pub mod futex;
pub mod host;
mod inet;
pub mod inherited;
pub mod interfaces;
pub mod limits;
mod link_masters;
pub mod map;
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
pub mod pmix;
mod poll;
pub mod process_tree;
pub mod process_vm;
pub mod signals;
mod sockopt;
pub mod spawn;
pub mod tcp;
pub mod tether;
pub mod thread;
pub mod tty;
pub mod udp;
pub mod unix;
pub mod usage;
pub mod veth_pair;
pub mod wake_socket;
pub mod xdp;
pub mod xsk;
mod xsk_ring;

pub use errno::ErrorContext;
pub use sockopt::SocketBuffers;
