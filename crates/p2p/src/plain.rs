//! The smallest user of this crate: its note on a request holds only the peer that can end it.
//!
//! Tests and examples use it, and layers that need no more. Used by its user's calls; uses `request`.

use crate::buffer::Buffer;
use crate::matching::{Outcome, Want};
use crate::request::{Note, Request, Requests};
use crate::task::Work;
use hawser_base::Peer;

/// The note of a request with one operation, which is removed once its end was reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plain {
    /// The peer of the operation; none for a receive from any source.
    pub peer: Option<Peer>,
}

impl Note for Plain {
    type End = ();

    fn peer(&self) -> Option<Peer> {
        self.peer
    }

    fn misses(&self, _: Peer) -> bool {
        true
    }

    fn stays(&self) -> bool {
        false
    }

    fn has_several(&self) -> bool {
        false
    }

    fn one_ended(_: &mut Requests<Plain>, _: u32, _: &Outcome) {}

    fn receives(_: &mut Request<Plain>) -> Vec<(Want, Buffer)> {
        Vec::new()
    }

    fn begun(_: &mut Request<Plain>) {}

    fn keep(&mut self, work: Box<dyn Work<()>>) -> Option<Box<dyn Work<()>>> {
        Some(work)
    }
}
