//! One lane's way to all peers: the ports of its devices, and control packets that wait for room.
//!
//! Payload is never queued here: when a device refuses it, the sender keeps it (a stream goes on later,
//! an eager message becomes a rendezvous). Control packets always travel, in order: those that a device
//! refuses wait in the peer's backlog, and nothing to that peer overtakes them.

use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Header, PREFIX_MAX, Port, Refusal, Source};
use std::collections::VecDeque;

/// A packet without payload.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub header: Header,
    prefix: [u8; PREFIX_MAX],
    len: u8,
}

impl Control {
    pub fn new(header: Header, prefix: &[u8]) -> Control {
        let mut bytes = [0; PREFIX_MAX];
        bytes[..prefix.len()].copy_from_slice(prefix);
        Control { header, prefix: bytes, len: prefix.len() as u8 }
    }

    pub fn prefix(&self) -> &[u8] {
        &self.prefix[..self.len as usize]
    }
}

/// What the channel knows of a peer.
struct Way {
    device: u8,
    /// Nothing reaches it any more.
    lost: bool,
    /// Longest payload of the leanest send, in bytes; 0 while a backlog waits.
    short_now: u32,
    short: u32,
    backlog: VecDeque<Control>,
}

/// See the module.
pub struct Channel {
    ports: Vec<Box<dyn Port>>,
    ways: Vec<Way>,
    /// Peers with a backlog.
    waiting: Vec<Peer>,
}

impl Channel {
    pub(crate) fn new(ports: Vec<Box<dyn Port>>, ways: impl Iterator<Item = (u8, usize)>) -> Channel {
        let way = |(device, short): (u8, usize)| Way {
            device,
            lost: false,
            short_now: short as u32,
            short: short as u32,
            backlog: VecDeque::new(),
        };
        Channel { ports, ways: ways.map(way).collect(), waiting: Vec::new() }
    }

    /// The leanest send. False: too long, refused, or something waits before it.
    #[inline(always)]
    pub fn send_short(&mut self, to: Peer, header: Header, bytes: UserMem) -> bool {
        let way = &self.ways[to.index()];
        bytes.len() <= way.short_now as usize && self.ports[way.device as usize].send_short(to, header, bytes).is_ok()
    }

    /// Sends a packet with payload. False: refused now, nothing was sent. To a lost peer it vanishes.
    pub fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> bool {
        let way = &mut self.ways[to.index()];
        if way.lost {
            return true;
        }
        if !way.backlog.is_empty() {
            return false;
        }
        match self.ports[way.device as usize].send(to, header, prefix, source) {
            Ok(()) => true,
            Err(Refusal::Full) => false,
            Err(Refusal::Lost) => {
                way.lost = true;
                true
            }
        }
    }

    /// Sends a packet without payload, now or as soon as there is room.
    pub fn control(&mut self, to: Peer, control: Control) {
        if !self.send(to, control.header, control.prefix(), Source::None) {
            let way = &mut self.ways[to.index()];
            if way.backlog.is_empty() {
                self.waiting.push(to);
                way.short_now = 0;
            }
            way.backlog.push_back(control);
        }
    }

    /// Whether payload of `len` bytes to the peer would be taken now.
    pub fn has_room(&mut self, to: Peer, len: usize) -> bool {
        let way = &self.ways[to.index()];
        way.backlog.is_empty() && self.ports[way.device as usize].has_room(to, len)
    }

    /// Nothing waits to be sent.
    #[inline(always)]
    pub fn is_flushed(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends what waits, as far as there is room.
    pub fn flush(&mut self) {
        let mut index = 0;
        while index < self.waiting.len() {
            let peer = self.waiting[index];
            if self.flush_peer(peer) {
                self.waiting.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn flush_peer(&mut self, peer: Peer) -> bool {
        let way = &mut self.ways[peer.index()];
        while let Some(control) = way.backlog.front() {
            match self.ports[way.device as usize].send(peer, control.header, control.prefix(), Source::None) {
                Ok(()) => drop(way.backlog.pop_front()),
                Err(Refusal::Full) => return false,
                Err(Refusal::Lost) => {
                    way.lost = true;
                    way.backlog.clear();
                }
            }
        }
        way.short_now = way.short;
        true
    }

    /// Delivers what has arrived on any device. How many packets.
    #[inline]
    pub fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        self.ports.iter_mut().map(|port| port.poll(delivery)).sum()
    }

    /// Delivers at most one packet of `from`.
    #[inline(always)]
    pub fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let device = self.ways[from.index()].device as usize;
        self.ports[device].poll_from(from, delivery)
    }
}
