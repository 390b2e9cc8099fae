//! Messages sent and receives posted between two ranks that are not matched yet, each pair's in order.
//!
//! A message matches the first receive of its pair, and a receive the first message, so that of each pair either
//! messages or receives are queued, never both. It must stay cheap for many short runs: one table of all pairs, and
//! entries that follow each other by number.
//!
//! Used by `run`; uses `memory`, whose cells messages carry.

use super::memory::SymbolicCell;
use crate::schedule::Span;

pub struct CheckedMessage {
    pub data: Vec<SymbolicCell>,
    /// The sender waits for the receive.
    pub synchronous: bool,
}

enum Queued {
    Sent(CheckedMessage),
    Posted(Span),
    /// The entry is matched: its place is free.
    Matched,
}

struct PairEntry {
    queued: Queued,
    /// The next one of its pair.
    next: u32,
}

/// The first and the last entry of a pair. (An array, because a table of zeros costs nothing to make.)
type PairEnds = [u32; 2];

/// Stands for no entry.
const NONE: u32 = 0;

pub struct MessageQueues {
    ranks: usize,
    /// The queue of the pair in which rank `i` sends to rank `j` has the number `i * ranks + j`.
    ends: Vec<PairEnds>,
    /// Entry `i` is number `i + 1`.
    entries: Vec<PairEntry>,
    free: Vec<u32>,
}

impl MessageQueues {
    pub fn new(ranks: usize) -> MessageQueues {
        let ends = vec![[NONE; 2]; ranks * ranks];
        MessageQueues { ranks, ends, entries: Vec::new(), free: Vec::new() }
    }

    /// Returns the message with the receive that it matches; None if it is queued.
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

    /// Returns the message that the receive matches; None if it is queued.
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

    /// A pair, sender and receiver, with a message that was never received.
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
