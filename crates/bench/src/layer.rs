//! The raw layers beneath every library, each a module behind the trait `Layer` and an entry (`LayerEntry`) of one
//! table.
//!
//! A new layer is a module and an entry of `LAYERS`. Used by `worker`, the process in which a layer runs; uses the
//! modules.

mod cache_line;
mod card_exchange;
mod connect;
mod layer_entry;
mod link;
mod memcpy;
mod message_assembly;
mod packet_receiver;
mod polled_wait;
mod port;
mod ring;
mod tcp;
mod transport;
mod two_processes;
mod two_threads;

use crate::measured_system::SystemSpec;
use crate::pattern_driver;
use crate::record::CurveLevel;
use crate::task::TrafficPattern;
use crate::testbed::TestBed;
use std::io;

pub use layer_entry::{LayerEntry, LayerPlacement};
pub use two_processes::{REMOTE_ADDRESS_VAR, REMOTE_PREFIX_VAR};

pub static LAYERS: &[LayerEntry] = &[
    LayerEntry {
        name: "line",
        about: "a cache line between two cores",
        level: CurveLevel::Raw,
        placement: LayerPlacement::Cores,
        bytes_max: Some(cache_line::BYTES),
        has_payload: false,
        patterns: &[TrafficPattern::PingPong],
        open: |_| cache_line::open(),
        remote_main: LayerEntry::no_remote,
    },
    LayerEntry {
        name: "memcpy",
        about: "a copy by one core",
        level: CurveLevel::Raw,
        placement: LayerPlacement::Cores,
        bytes_max: None,
        has_payload: true,
        patterns: &[TrafficPattern::PingPong, TrafficPattern::Stream],
        open: |_| memcpy::open(),
        remote_main: LayerEntry::no_remote,
    },
    LayerEntry {
        name: "ring",
        about: "Hawser's device for shared memory, without MPI above it",
        level: CurveLevel::Layer,
        placement: LayerPlacement::Cores,
        bytes_max: None,
        has_payload: true,
        patterns: pattern_driver::PATTERNS,
        open: |_| ring::open(),
        remote_main: LayerEntry::no_remote,
    },
    LayerEntry {
        name: "tcp",
        about: "a TCP connection, polled",
        level: CurveLevel::Raw,
        placement: LayerPlacement::Hosts,
        bytes_max: None,
        has_payload: true,
        patterns: pattern_driver::PATTERNS,
        open: tcp::open_local,
        remote_main: tcp::run_remote,
    },
    port_layer("packet", "raw Ethernet frames (AF_PACKET)"),
    LayerEntry {
        placement: LayerPlacement::CableAlone,
        ..port_layer("xdp", "raw Ethernet frames through the NIC's queue (AF_XDP)")
    },
    port_layer("udp", "UDP datagrams, many per call, segmented by the NIC (segmentation offload)"),
    LayerEntry {
        open: port::open_local_plain,
        remote_main: port::run_remote_plain,
        ..port_layer("udp-plain", "UDP datagrams, one per call")
    },
    port_layer("stream", "Hawser's TCP port"),
    LayerEntry {
        name: "link",
        about: "Hawser's Ethernet protocol over a rank's ports, without packets above it",
        level: CurveLevel::Layer,
        placement: LayerPlacement::Hosts,
        bytes_max: None,
        has_payload: true,
        patterns: pattern_driver::PATTERNS,
        open: link::open_local,
        remote_main: link::run_remote,
    },
    LayerEntry {
        name: "transport",
        about: "Hawser's packets over the best device, without MPI above them",
        level: CurveLevel::Layer,
        placement: LayerPlacement::Ranks,
        bytes_max: None,
        has_payload: true,
        patterns: pattern_driver::PATTERNS,
        open: transport::open_local,
        remote_main: transport::run_remote,
    },
];

const fn port_layer(name: &'static str, about: &'static str) -> LayerEntry {
    let (level, placement) = (CurveLevel::Raw, LayerPlacement::Cable);
    LayerEntry {
        name,
        about,
        level,
        placement,
        bytes_max: None,
        has_payload: true,
        patterns: pattern_driver::PATTERNS,
        open: port::open_local,
        remote_main: port::run_remote,
    }
}

impl LayerEntry {
    pub fn by_name(name: &str) -> Option<&'static LayerEntry> {
        LAYERS.iter().find(|entry| entry.name == name)
    }

    /// Whether the layer can be measured on this test bed without harm to others.
    pub fn fits(&self, testbed: &TestBed) -> bool {
        match self.placement {
            LayerPlacement::Cores => testbed.is_one_host(),
            LayerPlacement::Hosts => !testbed.is_one_host(),
            LayerPlacement::Ranks => true,
            LayerPlacement::Cable => matches!(testbed, TestBed::Cable { .. }),
            LayerPlacement::CableAlone => false,
        }
    }

    pub fn system_spec(&self, testbed: &TestBed) -> io::Result<SystemSpec> {
        let mut command = testbed.local_command(&std::env::current_exe()?);
        command.args(["worker", self.name]).env("HAWSER_BENCH_CORES", testbed.cores());
        command
            .env(REMOTE_PREFIX_VAR, testbed.remote_prefix().join(" "))
            .env(REMOTE_ADDRESS_VAR, testbed.remote_address());
        Ok(SystemSpec {
            name: self.name.into(),
            level: self.level,
            command,
            bytes_max: self.bytes_max,
            has_payload: self.has_payload,
            patterns: self.patterns,
        })
    }
}
