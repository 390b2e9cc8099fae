//! The self device: packets from a process to itself, in memory.
//!
//! A message to oneself is rare and must only be right: payload is copied into a queue and out again. Operations on
//! registered memory end in their calls. Used by `transport`, which routes a rank's own number here; uses `registry`.

use crate::limits::{Limits, Pieces};
use crate::packet::{Refusal, Source};
use crate::port::{Delivery, Port};
use crate::registry::Registry;
use crate::remote::{Atomic, Bytes, Capabilities, Fault, Registration, RemoteKey, Taken, Ticket};
use crate::view::View;
use crate::{Device, Header};
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most packets that wait: beyond it payload is refused, and beyond twice it control too.
const QUEUE: usize = 256;

/// Longest packet, in bytes. A longer message to oneself is read directly from its buffer.
const PACKET: usize = 64 << 10;

/// The device of one process.
pub struct Loopback {
    me: Peer,
    registry: Arc<Registry>,
}

impl Loopback {
    pub const NAME: &'static str = "self";

    pub fn new(me: Peer) -> Loopback {
        // The mark distinguishes its keys from those of other processes.
        Loopback { me, registry: Registry::new(u64::from(me.0)) }
    }
}

impl Device for Loopback {
    fn name(&self) -> &'static str {
        Loopback::NAME
    }

    fn reaches(&self, peer: Peer) -> bool {
        peer == self.me
    }

    fn limits(&self) -> Limits {
        Limits {
            short: PACKET,
            packet: PACKET,
            pieces: Pieces::Pages(|_| PACKET),
            // Equal to that of shared memory: one limit has to suit all devices of a rank.
            eager: 2 * PACKET,
            read_from: None,
        }
    }

    fn port(&self, _lane: Lane) -> Box<dyn Port> {
        let registry = self.registry.clone();
        Box::new(LoopbackPort { me: self.me, registry, queue: VecDeque::new(), spare: Vec::new() })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::OF_MAPPED_MEMORY
    }

    fn register(&self, mem: UserMem<'static>) -> Option<Registration> {
        Some(self.registry.register(mem, Capabilities::OF_MAPPED_MEMORY))
    }
}

struct LoopbackPort {
    me: Peer,
    registry: Arc<Registry>,
    queue: VecDeque<(Header, Vec<u8>)>,
    /// Emptied buffers, for reuse.
    spare: Vec<Vec<u8>>,
}

impl LoopbackPort {
    fn deliver_one(&mut self, delivery: &mut dyn Delivery) -> bool {
        let Some((header, mut bytes)) = self.queue.pop_front() else { return false };
        // The vector's memory is ours alone for the duration of the delivery: a view of it needs no `unsafe` because
        // `View` copies through the slice.
        delivery.deliver(self.me, header, &mut View { bytes: &mut bytes, at: 0 });
        if self.spare.len() < 8 {
            bytes.clear();
            self.spare.push(bytes);
        }
        true
    }
}

impl Port for LoopbackPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        assert_eq!(to, self.me, "the self device reaches only its own rank");
        let limit = if let Source::None = source { 2 * QUEUE } else { QUEUE };
        if self.queue.len() >= limit {
            return Err(Refusal::Full);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(prefix);
        let start = bytes.len();
        bytes.resize(start + source.len(), 0);
        match source {
            Source::None => {}
            Source::Mem(mem) => mem.read(&mut bytes[start..]),
            Source::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[start..])),
        }
        self.queue.push_back((header, bytes));
        Ok(())
    }

    /// No other thread sends to this port, so the room remains.
    fn reserve(&mut self, _to: Peer, _len: usize) -> bool {
        self.queue.len() < QUEUE
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let waiting = self.queue.len();
        (0..waiting).take_while(|_| self.deliver_one(delivery)).count()
    }

    fn poll_from(&mut self, _from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.deliver_one(delivery)
    }

    fn write(&mut self, _: Peer, key: &RemoteKey, at: u64, source: Bytes<'_>, _: Ticket) -> Result<Taken, Fault> {
        self.registry.with(key, at, source.len(), |mem| match source {
            Bytes::Lent(from) => mem.copy_from(from),
            Bytes::Pack { pack, .. } => pack(mem.as_shared()),
        })?;
        Ok(Taken::Done(0))
    }

    fn read(&mut self, _: Peer, key: &RemoteKey, at: u64, into: UserMem<'static>, _: Ticket) -> Result<Taken, Fault> {
        self.registry.with(key, at, into.len(), |mem| into.copy_from(mem))?;
        Ok(Taken::Done(0))
    }

    fn atomic(&mut self, _: Peer, key: &RemoteKey, at: u64, atomic: Atomic, _: Ticket) -> Result<Taken, Fault> {
        let found = self.registry.with(key, at, atomic.width.bytes(), |mem| atomic.update(mem))?;
        found.map(Taken::Done).ok_or(Fault::Unsupported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, Net};
    use std::sync::Arc;

    #[test]
    fn the_self_device_keeps_the_promises_of_a_device() {
        let net = || Net { devices: vec![Arc::new(Loopback::new(Peer(0)))], kill: Box::new(|_| ()) };
        conformance::wire(net);
        conformance::remote(|| (net(), Box::new(|_, len| conformance::words(len))));
    }
}
