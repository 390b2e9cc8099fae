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

/// See the module.
pub struct Ends {
    pub ports: Vec<Box<dyn FramePort>>,
    cards: Cards,
    /// Cards that were needed.
    known: HashMap<u32, Card>,
    /// Where a run of frames is laid one behind the other.
    run: Vec<u8>,
}

impl Ends {
    pub fn new(ports: Vec<Box<dyn FramePort>>, cards: Cards) -> Ends {
        Ends { ports, cards, known: HashMap::new(), run: Vec::new() }
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
        self.run.clear();
        frames.iter().for_each(|frame| self.run.extend_from_slice(frame));
        port.send_run(&to, &self.run, frames[0].len()).unwrap_or(0)
    }
}
