//! The raw layers: what there is beneath every library, each a module behind `Layer`.
//!
//! A new one is a module and a row of `LAYERS`. Before it: `worker`, the process in which a layer lives; after it: the modules.

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
mod tcp;
mod together;
mod transport;
mod watch;

use crate::duet;
use crate::place::Place;
use crate::record::Floor;
use crate::system::Plan;
use crate::task::{Pattern, Played, Task};
use std::io;

pub use apart::{FAR, FAR_ADDRESS};

/// A layer that stands.
pub trait Layer {
    fn play(&mut self, task: &Task) -> io::Result<Played>;
}

/// Where a layer can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Cores,
    Hosts,
    /// Wherever a library can be.
    Ranks,
    /// Frame ports take the cable's interface.
    Cable,
    /// And change it for everybody while they stand: a program in front of the kernel's stack. Only by name.
    CableAlone,
}

/// A layer's row.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub floor: Floor,
    pub between: Between,
    /// Longest message, in bytes.
    limit: Option<u64>,
    /// Its messages have bytes that can be compared.
    carries: bool,
    patterns: &'static [Pattern],
    open: fn(&Row) -> io::Result<Box<dyn Layer>>,
    /// The far process's part, of a layer that has one.
    far: fn(&Row) -> io::Result<()>,
}

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
        far: no_far,
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
        far: no_far,
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
        far: no_far,
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

fn no_far(row: &Row) -> io::Result<()> {
    Err(io::Error::other(format!("{} is within one process", row.name)))
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

    pub fn open(&self) -> io::Result<Box<dyn Layer>> {
        (self.open)(self)
    }

    pub fn be_far(&self) -> io::Result<()> {
        (self.far)(self)
    }
}
