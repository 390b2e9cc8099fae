//! The messages between `doctor` and its process on a host, a line of JSON each: a command, then one reply to it.
//!
//! Used by `hosts`, which sends commands, and `serve`, which replies; uses `facts`.

use super::facts::{DoctorFacts, InterfaceAddress};
use hawser_dev_ether::port::PortId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DoctorCommand {
    /// Requests the facts of the host, which are found at the start and sent once. -> Facts
    Look,
    /// Opens the ports of this rank of a job of `ranks` ranks. -> Ports
    Open { job: u32, secret: [u8; 16], rank: u32, ranks: u32 },
    /// Sends short frames on all these paths and listens on them. -> Heard
    Call { token: u32, ways: Vec<PathSpec> },
    /// Echoes the pings that arrive on this path and counts other frames, until `Rest`. -> Ready
    Answer { token: u32, way: PathSpec },
    /// Ends `Answer`. -> Answered, or Ready if it rests already
    Rest,
    /// Marks a place in the sequence of replies. -> Synced
    Sync(u32),
    /// Measures this path to the end that echoes there. -> Figures
    Measure { token: u32, way: PathSpec },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DoctorReply {
    Facts(Box<DoctorFacts>),
    Ports(Vec<PortInfo>),
    Heard(Vec<ReceivedCount>),
    Ready,
    Answered(EchoCounts),
    Figures(PathFigures),
    /// All replies to earlier commands have been sent before this reply.
    Synced(u32),
    Failed(String),
}

/// A path from one of this process's ports to a port of another host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PathSpec {
    /// The number of the path, the same at both ends.
    pub way: u16,
    pub port: usize,
    /// The rank to whose port the path leads, and the index of that port in the rank's business card.
    pub rank: u32,
    pub place: u8,
    /// The address as `net::encode_address` formats it.
    pub address: String,
    /// The longest frame that both ends take, according to their interfaces.
    pub frame: usize,
    /// The number of frames of full length for which the other end has room.
    pub room: usize,
}

impl PathSpec {
    pub fn peer(&self) -> PortId {
        PortId { rank: self.rank, index: self.place }
    }
}

/// A port of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortInfo {
    pub rail: u8,
    pub interface: String,
    pub networks: Vec<InterfaceAddress>,
    pub method: String,
    /// The address as `net::encode_address` formats it.
    pub address: String,
    pub frame_max: usize,
    /// The number of frames of length `frame_max` that the port keeps before it drops some.
    pub room: usize,
}

/// The test frames that arrived on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceivedCount {
    pub frames: u32,
    /// The system's error number, if it refused to send.
    pub refused: Option<i32>,
}

/// The counters of the end that echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EchoCounts {
    /// The frames received of those sent at a steady pace.
    pub paced: u32,
    /// The frames that the kernel of the echoing host dropped: until the first long frame arrived, and after that.
    pub dropped: u64,
    pub dropped_in_bulk: u64,
}

/// The measured figures of a path in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathFigures {
    /// Half a round trip of 64 bytes, the median, in microseconds; None if no echo came back.
    pub half_us: Option<f64>,
    /// The lead of the other host's clock, and its uncertainty, in seconds.
    pub ahead_s: Option<[f64; 2]>,
    /// The number of short frames sent at a steady pace.
    pub paced: u32,
    /// The longest frame that was tried, and the longest that was echoed.
    pub frame: usize,
    pub largest: Option<usize>,
    /// The rate in bulk, with frames of the longest length that was echoed, and the number of frames that were lost.
    pub gbyte_s: Option<f64>,
    pub bulk_lost: u64,
}
