//! The rules of MPI for matching (MPI-5.0 §3.5), without methods, credits, RTRs or bytes: a message matches the
//! first-posted receive among those that fit, a receive gets the first-arrived message among those that fit.

use super::Setup;
use super::program::{Send, Step};
use hawser_base::Peer;
use hawser_p2p::matching::{Envelope, MatchSpec};

/// A message, named by the step that sends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    pub rank: u8,
    pub step: u16,
}

impl Message {
    /// Returns bytes of the message: no two of the small messages of a model share one.
    pub fn bytes(self, from: u64, count: u64) -> Vec<u8> {
        let first = (self.rank as u64 * 4 + self.step as u64) * 10;
        (from..from + count).map(|at| ((first + at) % 255) as u8 + 1).collect()
    }

    pub fn send(self, setup: &Setup) -> Send {
        match setup.programs[self.rank as usize][self.step as usize] {
            Step::Send(send) => send,
            other => unreachable!("{self:?} is {other:?}"),
        }
    }

    pub fn envelope(self, setup: &Setup) -> Envelope {
        let Send { context, tag, bytes, .. } = self.send(setup);
        Envelope { context, source: Peer(self.rank as u32), tag, bytes }
    }

    fn fits(self, setup: &Setup, spec: &MatchSpec) -> bool {
        let it = self.envelope(setup);
        it.context == spec.context
            && spec.source.is_none_or(|source| source == it.source)
            && spec.tag.is_none_or(|tag| tag == it.tag)
    }
}

/// One rank's receives and messages.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Oracle {
    /// Steps that wait for a message, in order.
    pub posted: Vec<(usize, MatchSpec)>,
    /// Messages that wait for a receive, in order.
    pub waiting: Vec<Message>,
    pub matched: Vec<(usize, Message)>,
    /// Messages of which bytes are missing here, and how many bytes arrived.
    pub partial: Vec<(Message, u64)>,
    /// Messages that an RTS announced.
    pub announced: Vec<Message>,
    /// Messages that were cancelled by their sender.
    pub cancelled: Vec<Message>,
    /// The reply that the engine must give to a cancellation.
    pub cancel_reply: Option<bool>,
}

impl Oracle {
    /// Begins a message, and returns the step that gets it.
    pub fn arrive(&mut self, setup: &Setup, message: Message, payload: u64, is_rts: bool) -> Option<usize> {
        if payload < message.envelope(setup).bytes {
            self.partial.push((message, payload));
        }
        if is_rts {
            self.announced.push(message);
        }
        match self.posted.iter().position(|(_, spec)| message.fits(setup, spec)) {
            Some(at) => {
                let (step, _) = self.posted.remove(at);
                self.matched.push((step, message));
                Some(step)
            }
            None => {
                self.waiting.push(message);
                None
            }
        }
    }

    pub fn more(&mut self, message: Message, payload: u64) {
        if let Some(entry) = self.partial.iter_mut().find(|(m, _)| *m == message) {
            entry.1 += payload;
        }
    }

    pub fn post(&mut self, setup: &Setup, step: usize, spec: &MatchSpec) -> Option<Message> {
        let found = self.claim(setup, spec);
        match found {
            Some(message) => self.matched.push((step, message)),
            None => self.posted.push((step, *spec)),
        }
        found
    }

    pub fn first(&self, setup: &Setup, spec: &MatchSpec) -> Option<Message> {
        self.waiting.iter().copied().find(|m| m.fits(setup, spec))
    }

    pub fn claim(&mut self, setup: &Setup, spec: &MatchSpec) -> Option<Message> {
        let found = self.first(setup, spec)?;
        self.waiting.retain(|m| *m != found);
        Some(found)
    }

    /// Cancels a receive if no message was matched with it.
    pub fn cancel(&mut self, step: usize) -> bool {
        let before = self.posted.len();
        self.posted.retain(|(s, _)| *s != step);
        before != self.posted.len()
    }

    /// Cancels a message for its sender; the engine must give the same reply.
    pub fn cancel_send(&mut self, message: Message) {
        let found = self.waiting.contains(&message);
        self.waiting.retain(|m| *m != message);
        if found {
            self.cancelled.push(message);
        }
        self.cancel_reply = Some(found);
    }

    pub fn is_whole(&self, setup: &Setup, message: Message) -> bool {
        let bytes = message.envelope(setup).bytes;
        self.partial.iter().find(|(m, _)| *m == message).is_none_or(|&(_, arrived)| arrived == bytes)
    }

    /// Ends the messages and receives that end with the peer.
    pub fn lose(&mut self, setup: &Setup, peer: usize) {
        let stays: Vec<Message> =
            self.waiting.iter().copied().filter(|&m| m.rank as usize != peer || self.is_whole(setup, m)).collect();
        self.waiting = stays;
        self.posted.retain(|(_, spec)| spec.source != Some(Peer(peer as u32)));
    }

    pub fn match_of(&self, step: usize) -> Option<Message> {
        self.matched.iter().find(|(s, _)| *s == step).map(|&(_, message)| message)
    }
}
