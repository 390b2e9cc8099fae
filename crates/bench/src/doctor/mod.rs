//! `hawser-bench doctor`: what a job would meet on these hosts and between them, what Hawser would choose, and what to change for more.
//!
//! `command` starts a process on each host (`hosts`, at the other end `serve`), which looks at the host (`look`) and measures the ways
//! between each two hosts (`call`, `measure`, `answer`), by the very ports that a rank would have. What was found are facts (`facts`,
//! `pair`); what they mean is said by the rows of two tables, an examination each (`machine`, `network`), as findings (`finding`),
//! which `text` prints. It changes nothing on any host.

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
