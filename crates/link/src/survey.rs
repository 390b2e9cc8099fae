//! What bulk to all peers has shown of our side: what the last trial of the ways over each NIC found, which is the first guess for peers whose
//! ways were not tried (else each of many peers would be sent twelve megabytes by ways that are not the best, while others disturb the trial
//! with theirs); and how fast all is together.
//!
//! It decides nothing. Before it: `bulk`; after it: `pace`.

use crate::bulk::Cable;
use crate::pace::Pace;
use crate::strand::Rail;

/// See the module.
#[derive(Debug)]
pub struct Survey {
    nics: Box<[Precedent]>,
    pub pace: Pace,
}

impl Survey {
    pub fn new(rails: &[Rail]) -> Survey {
        let nics = rails.iter().map(|rail| 1 + usize::from(rail.nic)).max().unwrap_or(0);
        Survey { nics: vec![Precedent::default(); nics].into_boxed_slice(), pace: Pace::default() }
    }

    /// Over the NIC at our end.
    pub fn precedent(&self, cable: Cable) -> &Precedent {
        &self.nics[usize::from(cable.ours)]
    }

    pub fn precedent_mut(&mut self, cable: Cable) -> &mut Precedent {
        &mut self.nics[usize::from(cable.ours)]
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
pub struct Precedent {
    won: Option<Won>,
    /// The peer whose ways are tried.
    trial: Option<u32>,
}

impl Precedent {
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
