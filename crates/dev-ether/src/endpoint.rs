//! The endpoint of a rank: `link` over the ports that were opened for it.
//!
//! Used by `device`, and by the benchmark, which measures link alone; uses `link::Endpoint` and `ports`.

use crate::open::OpenPort;
use crate::ports::{EtherCardLookup, PortSet};
use hawser_link::frame::JobKey;
use hawser_link::{Config, Endpoint, PortTraits};

/// The number of frames that can wait to be sent or be in flight, and of received frames that can wait for earlier
/// ones; each for all peers together. (By P21 of docs/protocol.md the receive credit fits the kernel's buffers, which
/// hold some hundred frames.)
const SEND_FRAMES: usize = 1024;
const REASSEMBLY_FRAMES: usize = 1024;

/// Bytes of a stream that are handed to a port together, as one run: about as many frames as one call of UDP takes
/// (65507 bytes). 60 KiB measured best: 1 MiB took 616, 461, 380 and 422 us with runs of 16, 32, 60 and 120 KiB.
pub const RUN_BYTES: usize = 60 << 10;

/// The maximum number of processes in a job whose ranks open TCP connections to each peer at once, before there is
/// bulk. Opening them takes some milliseconds, because both ends must get a core in turns. NPB's IS of class W on four
/// hosts that share two cores ran at 246 Mop/s with TCP opened for its first message, and at 275 with TCP opened at
/// once. In larger jobs a connection between each two ranks would cost too many descriptors and too long a start.
const EARLY_BULK_RANKS_MAX: u32 = 16;

/// The rank that owns the endpoint.
pub struct RankConfig {
    /// The rank's process number (`Peer`), and the number of process numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
    pub key: JobKey,
    /// The seed of random numbers that others must not guess.
    pub seed: u64,
}

/// Makes an endpoint with at least one port.
pub fn with_ports(ports: Vec<OpenPort>, card_lookup: EtherCardLookup, rank: RankConfig) -> (Endpoint, PortSet) {
    let RankConfig { me, ranks, key, seed } = rank;
    let port_traits: Vec<PortTraits> = ports.iter().map(|opened| opened.traits).collect();
    let split = |opened: OpenPort| ((opened.rail, opened.interface), opened.port);
    let (port_rails, ports): (Vec<_>, Vec<_>) = ports.into_iter().map(split).unzip();
    let frame_max = ports.iter().map(|port| port.frame_max()).max().expect("a port");
    let config = Config {
        me,
        ranks,
        key,
        frame_max,
        send_slots: SEND_FRAMES,
        reassembly_slots: REASSEMBLY_FRAMES,
        ports: port_traits,
    };
    let mut endpoint = Endpoint::new(config, seed);
    endpoint.set_opens_bulk_early(ranks <= EARLY_BULK_RANKS_MAX);
    for (port_index, port) in ports.iter().enumerate() {
        endpoint.set_receive_capacity(port_index, (port.receive_buffer_bytes() / port.frame_max()) as u32);
    }
    (endpoint, PortSet::new(ports, port_rails, card_lookup))
}
