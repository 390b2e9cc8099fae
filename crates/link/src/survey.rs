//! What bulk to all peers has shown of our side: what the last trial of the ways over each NIC found, which is the first guess for peers whose
//! ways were not tried (else each of many peers would be sent twelve megabytes by ways that are not the best, while others disturb the trial
//! with theirs); and how fast all is together (`pace`).
//!
//! It decides nothing. Before it: `bulk`; after it: `pace`.

use crate::pace::Pace;
use crate::rail::{Cable, Rail};

/// A rank that did not look for so long was computing, or had no core.
const GAP_NS: u64 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub struct Survey {
    nics: Box<[Nic]>,
    /// When this rank looked last, and that it has slept since.
    looked_ns: u64,
    has_slept: bool,
}

impl Survey {
    pub fn new(rails: &[Rail]) -> Survey {
        let nics = rails.iter().map(|rail| 1 + usize::from(rail.nic)).max().unwrap_or(0);
        Survey { nics: vec![Nic::default(); nics].into_boxed_slice(), looked_ns: 0, has_slept: false }
    }

    /// At our end.
    pub fn nic(&self, cable: Cable) -> &Nic {
        &self.nics[usize::from(cable.ours)]
    }

    pub fn nic_mut(&mut self, cable: Cable) -> &mut Nic {
        &mut self.nics[usize::from(cable.ours)]
    }

    /// This rank looks at what has come. Whether the network or this rank itself was slow is not known of what came meanwhile, if it did not
    /// for long; while it slept it would have been woken.
    #[inline]
    pub fn look(&mut self, now_ns: u64) {
        let has_slept = std::mem::take(&mut self.has_slept);
        if now_ns > self.looked_ns + GAP_NS && !has_slept {
            self.nics.iter_mut().for_each(|nic| nic.pace.spoil(now_ns));
        }
        self.looked_ns = now_ns;
    }

    /// This rank is going to sleep until something comes.
    pub fn sleep(&mut self) {
        self.has_slept = true;
    }

    /// Nothing is under way or waits any more.
    pub fn rest(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.pace.rest());
    }
}

/// The way that won.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Won {
    /// Our port.
    pub rail: u8,
    /// All flows at once (P39).
    pub by_flows: bool,
}

/// Of one NIC.
#[derive(Clone, Copy, Default, Debug)]
pub struct Nic {
    pub pace: Pace,
    won: Option<Won>,
    /// The peer whose ways are tried.
    trial: Option<u32>,
}

impl Nic {
    pub fn won(&self) -> Option<Won> {
        self.won
    }

    /// The ways of another peer are being tried; or were, if nothing was sent to it since.
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
