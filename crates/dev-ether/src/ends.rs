//! The ports of this rank, and where its peers' are: what carries `link`'s frames.
//!
//! Before it: `device`; after it: `port`.

use crate::card::{Card, End};
use crate::port::{Address, FramePort};
use hawser_link::{Route, Wire};
use std::collections::HashMap;
use std::io::IoSlice;

/// Where the cards of other ranks come from: None as long as the rank has not published its own.
pub type Cards = Box<dyn Fn(u32) -> Option<Vec<u8>> + Send>;

/// How often a port is asked in vain before it is asked less often, if that is dear: what comes in runs comes closer.
const PATIENCE: u32 = 64;

/// See the module.
pub struct Ends {
    pub ports: Vec<Box<dyn FramePort>>,
    /// How often each was asked in vain since it had something.
    in_vain: Vec<u32>,
    cards: Cards,
    /// Cards that were needed.
    known: HashMap<u32, Card>,
}

impl Ends {
    pub fn new(ports: Vec<Box<dyn FramePort>>, cards: Cards) -> Ends {
        let in_vain = vec![0; ports.len()];
        Ends { ports, in_vain, cards, known: HashMap::new() }
    }

    /// Takes what has come to a port, unless that is dear to ask and had nothing for long.
    pub fn receive(&mut self, at: usize, take: &mut dyn FnMut(&[u8])) {
        let in_vain = self.in_vain[at];
        let is_skipped = in_vain > PATIENCE && !in_vain.is_multiple_of(self.ports[at].turns());
        let came = if is_skipped { 0 } else { self.ports[at].receive(take) };
        self.in_vain[at] = if came > 0 { 0 } else { in_vain.wrapping_add(1) };
    }

    /// All ports are asked again: somebody may have slept on them.
    pub fn look_anew(&mut self) {
        self.in_vain.fill(0);
    }

    /// Of this rank, for its peers.
    pub fn card(&self) -> Card {
        let end = |port: &dyn FramePort| End { address: port.address(), frame_max: port.frame_max() as u16 };
        Card::new(self.ports.iter().map(|port| end(&**port)).collect())
    }

    /// A peer's card, if that is known by now.
    pub fn card_of(&mut self, peer: u32) -> Option<&Card> {
        if !self.known.contains_key(&peer) {
            let card = Card::decode(&(self.cards)(peer)?)?;
            self.known.insert(peer, card);
        }
        self.known.get(&peer)
    }

    /// Between which ports paths to a peer are worth trying, with the longest frame that both take. None: nothing is
    /// known of it yet.
    pub fn routes_to(&mut self, peer: u32) -> Option<Vec<(Route, usize)>> {
        let own = self.card();
        let card = self.card_of(peer)?;
        let mut routes = Vec::new();
        for (ours, mine) in own.ends().iter().enumerate() {
            for (theirs, other) in card.ends().iter().enumerate() {
                if is_alike(&mine.address, &other.address) {
                    let frame = usize::from(mine.frame_max.min(other.frame_max));
                    routes.push((Route { ours: ours as u8, theirs: theirs as u8, flow: 0 }, frame));
                }
            }
        }
        Some(routes)
    }
}

/// Whether one may be reached from the other; only a probe can say that it is.
fn is_alike(a: &Address, b: &Address) -> bool {
    match (a, b) {
        (Address::Ether { .. }, Address::Ether { .. }) => true,
        (Address::Ip(a), Address::Ip(b)) => a.is_ipv4() == b.is_ipv4(),
        _ => false,
    }
}

impl Wire for Ends {
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize {
        let Some(end) = self.card_of(peer).and_then(|card| card.ends().get(usize::from(route.theirs))) else {
            return 0;
        };
        let to = end.address;
        let port = &mut self.ports[usize::from(route.ours)];
        if let [frame] = frames {
            return usize::from(port.send(&to, frame).is_ok());
        }
        port.send_run(&to, frames).unwrap_or(0)
    }
}
