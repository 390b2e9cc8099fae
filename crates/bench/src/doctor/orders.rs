//! What `doctor` and its process on a host say to each other, a line of JSON each: an order, then one answer to it.
//!
//! Before it: `hosts` (who orders) and `serve` (who answers); after it: nothing.

use super::facts::{Facts, Network};
use hawser_dev_ether::port::PortOf;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// -> Facts
    Look,
    /// Open the ports of this rank of a job that has so many. -> Ports
    Open { job: u32, secret: [u8; 16], rank: u32, ranks: u32 },
    /// Send short frames by all these ways and listen on them. -> Heard
    Call { token: u32, ways: Vec<WayTo> },
    /// Answer what comes to this port, until `Rest`. -> Ready
    Answer { token: u32, way: WayTo },
    /// -> Answered, or Ready if it rests already
    Rest,
    /// -> Synced
    Sync(u32),
    /// Measure this way to who answers there. -> Figures
    Measure { token: u32, way: WayTo },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Facts(Box<Facts>),
    Ports(Vec<End>),
    Heard(Vec<Heard>),
    Ready,
    Answered(Answered),
    Figures(Figures),
    /// All answers to earlier orders are behind it.
    Synced(u32),
    Failed(String),
}

/// A way to a port of another host, from one of this process's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WayTo {
    /// Its number, the same at both ends.
    pub way: u16,
    pub port: usize,
    /// Whose port it leads to, and the place of that in its owner's card.
    pub rank: u32,
    pub place: u8,
    /// As `net::written` has it.
    pub address: String,
    /// The longest frame that both ends take, by what their interfaces say.
    pub frame: usize,
    /// Frames of full length that the other end has room for.
    pub room: usize,
}

impl WayTo {
    pub fn peer(&self) -> PortOf {
        PortOf { rank: self.rank, place: self.place }
    }
}

/// A port of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub rail: u8,
    pub interface: String,
    pub networks: Vec<Network>,
    pub method: String,
    /// As `net::written` has it.
    pub address: String,
    pub frame_max: usize,
    /// Frames of that length that are kept before some are dropped.
    pub room: usize,
}

/// What came by a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    pub frames: u32,
    /// The system's error number, if it refused to send.
    pub refused: Option<i32>,
}

/// What who answers has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Of those that come at a steady pace.
    pub paced: u32,
    /// That the host's own kernel dropped, while frames were short and after.
    pub dropped: u64,
    pub dropped_in_bulk: u64,
}

/// What was measured of a way in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Half a round trip of 64 bytes: the median. None: none came back.
    pub half_us: Option<f64>,
    /// How much the other host's clock is ahead, and how sure that is.
    pub ahead_s: Option<[f64; 2]>,
    /// Short frames sent at a steady pace.
    pub paced: u32,
    /// The longest frame that was tried, and the longest that was answered.
    pub frame: usize,
    pub largest: Option<usize>,
    /// In bulk, by frames of that length, and how many of them did not come.
    pub gbyte_s: Option<f64>,
    pub bulk_lost: u64,
}
