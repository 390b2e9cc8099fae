//! Shared statistics: what bulk transfers to all peers have shown about our NICs. The result of the last trial of the
//! paths over each NIC is the first guess for peers whose paths were not tried (otherwise each of many peers would be
//! sent twelve megabytes by paths that are not the best, while others disturb the trial with theirs); and the rate of
//! all together (`pace`).
//!
//! It decides nothing. Used by `bulk`; uses `pace`.

use crate::pace::Pace;
use crate::rail::{Cable, Rail};

/// A rank that did not poll for this long, in ns, was computing, or had no core.
const GAP_NS: u64 = 1_000_000;

/// The shared statistics of an endpoint. See the module.
#[derive(Debug)]
pub struct Survey {
    nics: Box<[Nic]>,
    /// The time of the last poll of this rank, and whether it has slept since.
    looked_ns: u64,
    has_slept: bool,
}

impl Survey {
    pub fn new(rails: &[Rail]) -> Survey {
        let nics = rails.iter().map(|rail| 1 + usize::from(rail.nic)).max().unwrap_or(0);
        Survey { nics: vec![Nic::default(); nics].into_boxed_slice(), looked_ns: 0, has_slept: false }
    }

    /// The statistics of the NIC at our end.
    pub fn nic(&self, cable: Cable) -> &Nic {
        &self.nics[usize::from(cable.ours)]
    }

    pub fn nic_mut(&mut self, cable: Cable) -> &mut Nic {
        &mut self.nics[usize::from(cable.ours)]
    }

    /// Records a poll of this rank. If it did not poll for long, it is unknown whether the network or this rank was
    /// slow, so arrivals of that time do not count; a rank that slept would have been woken.
    #[inline]
    pub fn look(&mut self, now_ns: u64) {
        let has_slept = std::mem::take(&mut self.has_slept);
        if now_ns > self.looked_ns + GAP_NS && !has_slept {
            self.nics.iter_mut().for_each(|nic| nic.pace.spoil(now_ns));
        }
        self.looked_ns = now_ns;
    }

    /// Records that this rank is going to sleep until a frame arrives.
    pub fn sleep(&mut self) {
        self.has_slept = true;
    }

    /// Records that nothing is in flight or waits any more.
    pub fn rest(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.pace.rest());
    }
}

/// The path that won a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Won {
    /// Our port.
    pub rail: u8,
    /// Whether all flows together won (P39).
    pub by_flows: bool,
}

/// The statistics of one NIC.
#[derive(Clone, Copy, Default, Debug)]
pub struct Nic {
    pub pace: Pace,
    won: Option<Won>,
    /// The peer whose paths are tried.
    trial: Option<u32>,
}

impl Nic {
    pub fn won(&self) -> Option<Won> {
        self.won
    }

    /// Whether the paths of another peer are being tried; or were, if nothing was sent to it since.
    pub fn is_awaited(&self, peer: u32) -> bool {
        self.trial.is_some_and(|other| other != peer)
    }

    pub fn begin(&mut self, peer: u32) {
        self.trial = Some(peer);
    }

    pub fn end(&mut self, peer: u32, won: Option<Won>) {
        if self.trial == Some(peer) {
            self.trial = None;
        }
        self.won = won.or(self.won);
    }
}
