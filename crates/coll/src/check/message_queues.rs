//! The queues of sent messages and posted receives that are not matched yet: one queue, in order, for each pair of a
//! sending and a receiving rank.
//!
//! A message matches the first receive of its pair, and a receive the first message. So the queue of a pair has
//! either messages or receives, never both. The queues must be cheap, because there are many short runs: they are one
//! table with all pairs, and lists whose entries name the next entry by its number.
//!
//! Used by `run`; uses `memory`, because messages consist of its cells.

use super::memory::SymbolicCell;
use crate::schedule::Span;

pub struct CheckedMessage {
    pub data: Vec<SymbolicCell>,
    /// The send ends only when the message is received.
    pub synchronous: bool,
}

enum Queued {
    Sent(CheckedMessage),
    Posted(Span),
    /// The entry was matched; its number is free for another entry.
    Matched,
}

struct PairEntry {
    queued: Queued,
    /// The number of the next entry of the pair, or NONE.
    next: u32,
}

/// The numbers of the first and of the last entry of a pair. It is an array because a vector of arrays of zeros costs
/// nothing to make.
type PairEnds = [u32; 2];

/// The number that stands for no entry.
const NONE: u32 = 0;

pub struct MessageQueues {
    ranks: usize,
    /// The ends of the queues. The pair in which rank `i` sends to rank `j` has the index `i * ranks + j`.
    ends: Vec<PairEnds>,
    /// The entries of all queues. The entry at index `i` has the number `i + 1`.
    entries: Vec<PairEntry>,
    free: Vec<u32>,
}

impl MessageQueues {
    pub fn new(ranks: usize) -> MessageQueues {
        let ends = vec![[NONE; 2]; ranks * ranks];
        MessageQueues { ranks, ends, entries: Vec::new(), free: Vec::new() }
    }

    /// Sends a message. Returns the message and the span of the receive that it matches; `None` if there is no
    /// receive and the message is queued.
    pub fn send(&mut self, from: usize, to: usize, message: CheckedMessage) -> Option<(CheckedMessage, Span)> {
        let pair = from * self.ranks + to;
        if let Some(Queued::Posted(_)) = self.first(pair)
            && let Queued::Posted(into) = self.pop(pair)
        {
            return Some((message, into));
        }
        self.push(pair, Queued::Sent(message));
        None
    }

    /// Posts a receive. Returns the message that it matches; `None` if there is no message and the receive is queued.
    pub fn post(&mut self, from: usize, to: usize, into: Span) -> Option<CheckedMessage> {
        let pair = from * self.ranks + to;
        if let Some(Queued::Sent(_)) = self.first(pair)
            && let Queued::Sent(message) = self.pop(pair)
        {
            return Some(message);
        }
        self.push(pair, Queued::Posted(into));
        None
    }

    /// Returns the sender and the receiver of a message that was never received; `None` if there is no such message.
    pub fn never_received(&self) -> Option<(usize, usize)> {
        let pair = (0..self.ends.len()).find(|&pair| matches!(self.first(pair), Some(Queued::Sent(_))))?;
        Some((pair / self.ranks, pair % self.ranks))
    }

    fn first(&self, pair: usize) -> Option<&Queued> {
        let [number, _] = self.ends[pair];
        (number != NONE).then(|| &self.entries[number as usize - 1].queued)
    }

    fn push(&mut self, pair: usize, queued: Queued) {
        let entry = PairEntry { queued, next: NONE };
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize - 1] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32
            }
        };
        let [first, last] = &mut self.ends[pair];
        if *first == NONE {
            *first = number;
        } else {
            self.entries[*last as usize - 1].next = number;
        }
        *last = number;
    }

    fn pop(&mut self, pair: usize) -> Queued {
        let [first, _] = &mut self.ends[pair];
        let number = *first;
        let entry = &mut self.entries[number as usize - 1];
        *first = entry.next;
        self.free.push(number);
        std::mem::replace(&mut entry.queued, Queued::Matched)
    }
}
