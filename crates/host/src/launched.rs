//! A process below our launcher, or alone: `Boot` through the connection to the agent and the segment, which the agent
//! writes. Uses `boot::World`; used by `join`.

use hawser_base::{Peer, Result};
use hawser_boot::{Boot, Identity, Key, Word, World};
use hawser_job::Segment;

/// A process below our launcher, or alone.
pub struct Launched {
    pub world: World,
    pub segment: Segment,
}

impl Boot for Launched {
    fn identity(&self) -> &Identity {
        self.world.identity()
    }

    fn publish(&self, key: Key, bytes: &[u8]) -> Result<()> {
        match key {
            Key::Card => self.world.publish(bytes),
        }
    }

    fn look_up(&self, peer: Peer, key: Key) -> Option<Vec<u8>> {
        match key {
            Key::Card => self.segment.card(peer),
        }
    }

    /// The agent rings for each card that comes.
    fn fence(&self) -> Result<()> {
        Ok(())
    }

    fn tell(&self, word: Word) -> bool {
        self.world.tell(word)
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        self.world.abort(code, text)
    }
}
