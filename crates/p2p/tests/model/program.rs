//! The programs of the ranks of a model, step by step. `oracle` defines their meaning, the world carries them out.

use super::oracle::Message;
use hawser_base::{Context, Peer};
use hawser_p2p::matching::{BufferKey, MatchSpec, SendSpec};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    pub to: Peer,
    pub context: Context,
    pub tag: i32,
    pub bytes: u64,
    pub sync: bool,
    pub eager: bool,
    /// Exposes its buffer; the value tells whether it can be read.
    pub key: Option<bool>,
}

impl Send {
    /// Returns the send's parameters. The model's key names the message, and holds whether it can be read. A message
    /// that fits a packet has none.
    pub fn with_key(&self, message: Message, packet: u64) -> SendSpec {
        let key = self.key.filter(|_| self.bytes > packet);
        let key = key.map(|readable| BufferKey([message.rank as u64, message.step as u64, readable as u64]));
        let Send { to, context, tag, bytes, sync, eager, .. } = *self;
        SendSpec { to, context, tag, bytes, sync, has_space: eager, packet, first_bytes: packet / 2, key }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Send(Send),
    Recv {
        spec: MatchSpec,
        capacity: u64,
        /// Its buffer can be exposed to the sender; the value tells whether it can then be written.
        shared: Option<bool>,
    },
    /// Cancels the send, or receive, of an earlier step if it is still pending.
    CancelSend(usize),
    CancelRecv(usize),
    Probe(MatchSpec),
    Claim(MatchSpec),
    /// Receives the message of an earlier claim, if that got one.
    RecvClaimed {
        claim: usize,
        capacity: u64,
        shared: Option<bool>,
    },
}

impl Step {
    /// Returns the key by which the model's CTS names the receive `step` of `rank`.
    pub fn recv_rkey(&self, rank: usize, step: usize) -> Option<BufferKey> {
        match *self {
            Step::Recv { shared, .. } | Step::RecvClaimed { shared, .. } => {
                shared.map(|writable| BufferKey([rank as u64, step as u64, writable as u64]))
            }
            _ => None,
        }
    }
}
