//! What the ranks of a model do, step by step. `oracle` says what it means, the world does it.

use super::oracle::Message;
use hawser_base::{Context, Peer};
use hawser_p2p::matching::{Key, SendSpec, Want};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    pub to: Peer,
    pub context: Context,
    pub tag: i32,
    pub bytes: u64,
    pub sync: bool,
    pub eager: bool,
    /// Exposes its buffer; whether it can be read.
    pub key: Option<bool>,
}

impl Send {
    /// The model's key names the message, and says whether it can be read. What fits a packet has none.
    pub fn with_key(&self, message: Message, packet: u64) -> SendSpec {
        let key = self.key.filter(|_| self.bytes > packet);
        let key = key.map(|readable| Key([message.rank as u64, message.step as u64, readable as u64]));
        let Send { to, context, tag, bytes, sync, eager, .. } = *self;
        SendSpec { to, context, tag, bytes, sync, eager, packet, front: packet / 2, key }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Send(Send),
    Recv {
        want: Want,
        room: u64,
        /// Its buffer can be named to the sender; whether it can then be written.
        shared: Option<bool>,
    },
    /// Cancels the send, or receive, of an earlier step if it is still pending.
    CancelSend(usize),
    CancelRecv(usize),
    Probe(Want),
    Claim(Want),
    /// Receives what an earlier claim got, if it got something.
    RecvClaimed {
        claim: usize,
        room: u64,
        shared: Option<bool>,
    },
}

impl Step {
    /// What the model's grant for the receive `step` of `rank` names it by.
    pub fn room_key(&self, rank: usize, step: usize) -> Option<Key> {
        match *self {
            Step::Recv { shared, .. } | Step::RecvClaimed { shared, .. } => {
                shared.map(|writable| Key([rank as u64, step as u64, writable as u64]))
            }
            _ => None,
        }
    }
}
