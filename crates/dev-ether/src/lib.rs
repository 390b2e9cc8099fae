//! Floor 3: the device of Ethernets, between ranks of different hosts.
//!
//! So far its lowest part: `port` carries single frames over one rail, by raw Ethernet, UDP or TCP, and `rails` finds the rails.
//! It must never trust what comes: whoever can reach a port can send it anything. Before it: what will connect ranks by
//! `link`'s protocol. After it: `os`.

#![forbid(unsafe_code)]

pub mod port;
pub mod rails;

use hawser_base::param::Param;

pub static PARAMS: &[Param] = &[rails::RAILS, port::PORT_RANGE];
