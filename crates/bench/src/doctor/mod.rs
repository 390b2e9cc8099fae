//! `hawser-bench doctor`: what a job would find on these hosts and between them, what Hawser would choose, and what to
//! change for better results.
//!
//! `command` starts a process on each host (`hosts`, at the other end `serve`), which examines the host (`look`) and
//! measures the paths between each two hosts (`call`, `measure`, `answer`), by the very ports that a rank would have.
//! The results are facts (`facts`, `pair`); the rows of two tables, an examination each, judge them (`machine`,
//! `network`) and give findings (`finding`), which `text` prints. It changes nothing on any host.

mod answer;
mod beside;
mod call;
mod cgroup;
mod choice;
pub mod command;
mod facts;
mod finding;
mod frame;
mod hosts;
mod look;
mod machine;
mod measure;
mod network;
mod orders;
mod pair;
mod plain;
mod ports;
mod record;
mod serve;
mod text;

pub use serve::run as serve;
