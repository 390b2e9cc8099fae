//! Whether a peer's process is still there: word of the host's agent, through the job's segment.
//!
//! Silence is not death: nothing is concluded from a ring that does not move. Before it: `port` and `payload`.

use hawser_job::{Phase, Segment};
use std::sync::atomic::Ordering::Acquire;

/// What a port knows of the ends of its peers.
pub struct Life {
    segment: Segment,
    /// `Segment::ended_word` when we last looked at the phases.
    seen: u32,
}

impl Life {
    pub fn new(segment: Segment) -> Life {
        Life { segment, seen: 0 }
    }

    /// Whether somebody has ended since the last time: one load of a line that hardly ever changes.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        // Pairs with the Release in `Segment::set_ended`.
        self.segment.ended_word().load(Acquire) != self.seen
    }

    /// Everybody that has ended by now. What they had written is seen afterwards.
    #[cold]
    pub fn ended(&mut self) -> Vec<usize> {
        self.seen = self.segment.ended_word().load(Acquire);
        (0..self.segment.local_size()).filter(|&local| self.has_ended(local)).collect()
    }

    #[cold]
    pub fn has_ended(&self, local: usize) -> bool {
        self.segment.rank(local).phase() == Phase::Ended
    }
}
