//! The smallest user of this crate: with each request it keeps only the peer that can end the request.
//!
//! Tests and examples use it, and layers that need no more. Used by its user's calls; uses `request`.

use crate::buffer::Buffer;
use crate::matching::{MatchSpec, OpOutcome};
use crate::request::{Request, RequestData, Requests};
use crate::task::TaskBody;
use hawser_base::Peer;

/// The data of a request with one operation, which is removed once its end was reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MinimalData {
    /// The peer of the operation; None for a receive from any source.
    pub peer: Option<Peer>,
}

impl RequestData for MinimalData {
    type End = ();

    fn peer(&self) -> Option<Peer> {
        self.peer
    }

    fn fails_with(&self, _: Peer) -> bool {
        true
    }

    fn is_retained(&self) -> bool {
        false
    }

    fn has_several_ops(&self) -> bool {
        false
    }

    fn on_op_ended(_: &mut Requests<MinimalData>, _: u32, _: &OpOutcome) {}

    fn next_receives(_: &mut Request<MinimalData>) -> Vec<(MatchSpec, Buffer)> {
        Vec::new()
    }

    fn on_receives_posted(_: &mut Request<MinimalData>) {}

    fn keep_task(&mut self, body: Box<dyn TaskBody<()>>) -> Option<Box<dyn TaskBody<()>>> {
        Some(body)
    }
}
