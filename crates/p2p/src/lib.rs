//! Floor 5: messages between processes, without communicators: matching, streams, requests, waits.
//!
//! The way down: `outgoing` (room) and `incoming` → `matching` (which method) → `lane` → `transport`. The way up:
//! `lane` (delivered) → `matching` → `request` → `task` → `wait`. A user of this crate ([`request::Note`]) has
//! [`lanes::Lanes`] of its own; MPI is one, and [`plain::Plain`] the least one.

#![forbid(unsafe_code)]

pub mod advance;
pub mod buffer;
mod by_peer;
pub mod counters;
pub mod helper;
pub mod incoming;
pub mod lane;
pub mod lanes;
pub mod matching;
pub mod message;
pub mod outgoing;
pub mod plain;
pub mod request;
pub mod task;
pub mod wait;
pub mod wire;
