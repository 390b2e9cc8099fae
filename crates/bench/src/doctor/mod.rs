//! `hawser-bench doctor`: reports what a job would find on these hosts and between them, what Hawser would choose,
//! and what to change for better results.
//!
//! `command` starts a process on each host (`hosts`, at the other end `serve`). The process examines the host
//! (`collect`) and measures the paths between each two hosts (`reachability`, `measure`, `echo`), by the very ports
//! that a rank would have. The results are facts (`facts`, `pair`); the checks of two tables judge them
//! (`host_checks`, `network_checks`) and give findings (`check_result`), which `text` prints. The doctor changes
//! nothing on any host.

mod cgroup;
mod check_result;
mod collect;
pub mod command;
mod echo;
mod facts;
mod host_checks;
mod hosts;
mod measure;
mod network_checks;
mod pair;
mod port_group;
mod ports;
mod prediction;
mod protocol;
mod reachability;
mod record;
mod sanitize;
mod serve;
mod test_frame;
mod text;

pub use serve::run as serve;
