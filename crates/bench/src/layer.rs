//! The raw layers beneath every library, each a module behind `Layer` and a `row` of one table.
//!
//! A new layer is a module and a row of `LAYERS`. Used by `worker`, the process in which a layer runs; uses the
//! modules.

mod apart;
mod cards;
mod inbox;
mod line;
mod link;
mod meeting;
mod memcpy;
mod packets;
mod port;
mod ring;
mod row;
mod tcp;
mod together;
mod transport;
mod watch;

use crate::duet;
use crate::place::Place;
use crate::record::Floor;
use crate::system::Plan;
use crate::task::Pattern;
use std::io;

pub use apart::{FAR, FAR_ADDRESS};
pub use row::{Between, Row};

pub static LAYERS: &[Row] = &[
    Row {
        name: "line",
        about: "a cache line between two cores",
        floor: Floor::Raw,
        between: Between::Cores,
        limit: Some(line::BYTES),
        carries: false,
        patterns: &[Pattern::PingPong],
        open: |_| line::open(),
        far: Row::no_far,
    },
    Row {
        name: "memcpy",
        about: "a copy by one core",
        floor: Floor::Raw,
        between: Between::Cores,
        limit: None,
        carries: true,
        patterns: &[Pattern::PingPong, Pattern::Stream],
        open: |_| memcpy::open(),
        far: Row::no_far,
    },
    Row {
        name: "ring",
        about: "Hawser's device for shared memory, without MPI above it",
        floor: Floor::Layer,
        between: Between::Cores,
        limit: None,
        carries: true,
        patterns: duet::PATTERNS,
        open: |_| ring::open(),
        far: Row::no_far,
    },
    Row {
        name: "tcp",
        about: "a TCP connection, polled",
        floor: Floor::Raw,
        between: Between::Hosts,
        limit: None,
        carries: true,
        patterns: duet::PATTERNS,
        open: tcp::near,
        far: tcp::far,
    },
    port("packet", "raw Ethernet frames (AF_PACKET)"),
    Row { between: Between::CableAlone, ..port("xdp", "raw Ethernet frames by the NIC's queue (AF_XDP)") },
    port("udp", "UDP datagrams, many by one call, which the NIC cuts (segmentation offload)"),
    Row { open: port::near_plain, far: port::far_plain, ..port("udp-plain", "UDP datagrams, a call each") },
    port("stream", "Hawser's TCP port"),
    Row {
        name: "link",
        about: "Hawser's protocol of Ethernet over a rank's ports, without packets above it",
        floor: Floor::Layer,
        between: Between::Hosts,
        limit: None,
        carries: true,
        patterns: duet::PATTERNS,
        open: link::near,
        far: link::far,
    },
    Row {
        name: "transport",
        about: "Hawser's packets by the best device, without MPI above them",
        floor: Floor::Layer,
        between: Between::Ranks,
        limit: None,
        carries: true,
        patterns: duet::PATTERNS,
        open: transport::near,
        far: transport::far,
    },
];

const fn port(name: &'static str, about: &'static str) -> Row {
    let (floor, between) = (Floor::Raw, Between::Cable);
    Row {
        name,
        about,
        floor,
        between,
        limit: None,
        carries: true,
        patterns: duet::PATTERNS,
        open: port::near,
        far: port::far,
    }
}

impl Row {
    pub fn named(name: &str) -> Option<&'static Row> {
        LAYERS.iter().find(|row| row.name == name)
    }

    /// Whether it can be measured there without harm to others.
    pub fn fits(&self, place: &Place) -> bool {
        match self.between {
            Between::Cores => place.is_one_host(),
            Between::Hosts => !place.is_one_host(),
            Between::Ranks => true,
            Between::Cable => matches!(place, Place::Cable { .. }),
            Between::CableAlone => false,
        }
    }

    pub fn plan(&self, place: &Place) -> io::Result<Plan> {
        let mut command = place.near_command(&std::env::current_exe()?);
        command.args(["worker", self.name]).env("HAWSER_BENCH_CORES", place.cores());
        command.env(FAR, place.far_words().join(" ")).env(FAR_ADDRESS, place.far_address());
        Ok(Plan {
            name: self.name.into(),
            floor: self.floor,
            command,
            limit: self.limit,
            carries: self.carries,
            patterns: self.patterns,
        })
    }
}
