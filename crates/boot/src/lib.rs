//! Floor 2: who am I, who are the others: what a process asks before it can be a rank.
//!
//! The questions are a trait (`boot`). Answers come from our own launcher (`world`), or there is none and the process is
//! alone. Proof of a foreign
//! launcher that we cannot speak to is an error (`foreign`): never N silent processes of one. A process that has lost
//! its environment finds our launcher by its ancestors (`lineage`). The layout of the
//! segment that comes with the answer is `job`'s. What all ranks must have alike (`terms`) is said with the question.
//! How users name hosts (`hosts`) is here for all who start processes on them. Before it: `os`; after it: `node`
//! (ranks) and `launch` (the agent,
//! which answers).
#![forbid(unsafe_code)]

pub mod boot;
pub mod foreign;
pub mod hosts;
pub mod lineage;
pub mod mapped;
pub mod protocol;
pub mod terms;
pub mod world;

pub use boot::{Boot, Identity, Key, Word};
pub use world::{World, attach, attach_on, keep};
