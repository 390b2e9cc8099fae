//! The endpoint of a rank: `link` over the ports that were opened for it.
//!
//! Used by `device`, and by the benchmark, which measures link alone; uses `link::Endpoint` and `ends`.

use crate::ends::{Cards, Ends};
use crate::open::Opened;
use hawser_link::frame::Key;
use hawser_link::{Config, Endpoint, Rail};

/// Frames for all peers together, to be sent and to be kept in order (P21: the receive credit fits the kernel's
/// buffers, which hold some hundred frames).
const SENDING: usize = 1024;
const HOLDING: usize = 1024;

/// Bytes of a stream that are sent as one run: as many frames as one call of UDP takes (65507 bytes). It measured best
/// of 16, 32, 60 and 120 KiB (1 MiB: 616, 461, 380, 422 us).
pub const RUN_BYTES: usize = 60 << 10;

/// The rank that owns the endpoint.
pub struct Rank {
    /// Its process number (`Peer`), and the count of numbers in the job's universe.
    pub me: u32,
    pub ranks: u32,
    pub key: Key,
    /// Seed of numbers that others must not guess.
    pub seed: u64,
}

/// Makes an endpoint with at least one port.
pub fn over(ports: Vec<Opened>, cards: Cards, rank: Rank) -> (Endpoint, Ends) {
    let Rank { me, ranks, key, seed } = rank;
    let rails: Vec<Rail> = ports.iter().map(|opened| opened.traits).collect();
    let split = |opened: Opened| ((opened.rail, opened.interface), opened.port);
    let (places, ports): (Vec<_>, Vec<_>) = ports.into_iter().map(split).unzip();
    let frame_max = ports.iter().map(|port| port.frame_max()).max().expect("a port");
    let config = Config { me, ranks, key, frame_max, sending: SENDING, holding: HOLDING, rails };
    let mut endpoint = Endpoint::new(config, seed);
    for (rail, port) in ports.iter().enumerate() {
        endpoint.set_room(rail, (port.room() / port.frame_max()) as u32);
    }
    (endpoint, Ends::new(ports, places, cards))
}
