//! The self device: packets from a process to itself, in memory.
//!
//! Messages of a process to itself are rare, so the device is simple rather than fast: payload is copied into a queue
//! and out again. Operations on registered memory end within their calls. Made by `node`; `transport` routes a rank's
//! own number here. Uses `registry`.

use crate::limits::{DeviceLimits, Fragmentation};
use crate::packet::{PayloadSource, SendError};
use crate::payload_view::PayloadView;
use crate::port::{Delivery, DevicePort};
use crate::registry::RegistrationTable;
use crate::remote::{
    AtomicRequest, Capabilities, CompletionToken, Registration, RemoteError, RemoteKey, Submitted, WriteSource,
};
use crate::{Device, Header};
use hawser_base::{Lane, Peer, SharedMem, UserMem};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of queued packets from which payload is refused. Control packets are refused only from twice this
/// number on.
const QUEUE: usize = 256;

/// Longest packet, in bytes. A longer message of a process to itself is sent as a stream of packets of this length.
const PACKET: usize = 64 << 10;

/// The device of one process.
pub struct Loopback {
    me: Peer,
    registry: Arc<RegistrationTable>,
}

impl Loopback {
    pub const NAME: &'static str = "self";

    pub fn new(me: Peer) -> Loopback {
        // The mark distinguishes its keys from those of other processes.
        Loopback { me, registry: RegistrationTable::new(u64::from(me.0)) }
    }
}

impl Device for Loopback {
    fn name(&self) -> &'static str {
        Loopback::NAME
    }

    fn reaches(&self, peer: Peer) -> bool {
        peer == self.me
    }

    fn limits(&self) -> DeviceLimits {
        DeviceLimits {
            short: PACKET,
            packet: PACKET,
            fragmentation: Fragmentation::Pages(|_| PACKET),
            // As much as in shared memory between two ranks.
            eager: 2 * PACKET,
            zero_copy_from: None,
            stream_from: None,
            join_max: 0,
            remote_read_from: None,
            private_read_from: None,
            copy_trial_from: None,
        }
    }

    fn port(&self, _lane: Lane) -> Box<dyn DevicePort> {
        let registry = self.registry.clone();
        Box::new(LoopbackPort { me: self.me, registry, queue: VecDeque::new(), free_buffers: Vec::new() })
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
    registry: Arc<RegistrationTable>,
    queue: VecDeque<(Header, Vec<u8>)>,
    /// Emptied buffers, for reuse.
    free_buffers: Vec<Vec<u8>>,
}

impl LoopbackPort {
    fn deliver_one(&mut self, delivery: &mut dyn Delivery) -> bool {
        let Some((header, mut bytes)) = self.queue.pop_front() else { return false };
        // The vector's memory is ours alone for the duration of the delivery: a view of it needs no `unsafe` because
        // `PayloadView` copies through the slice.
        delivery.deliver(self.me, header, &mut PayloadView { bytes: &mut bytes, at: 0 });
        if self.free_buffers.len() < 8 {
            bytes.clear();
            self.free_buffers.push(bytes);
        }
        true
    }
}

impl DevicePort for LoopbackPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        assert_eq!(to, self.me, "the self device reaches only its own rank");
        let limit = if let PayloadSource::None = source { 2 * QUEUE } else { QUEUE };
        if self.queue.len() >= limit {
            return Err(SendError::Full);
        }
        let mut bytes = self.free_buffers.pop().unwrap_or_default();
        bytes.extend_from_slice(prefix);
        let start = bytes.len();
        bytes.resize(start + source.len(), 0);
        match source {
            PayloadSource::None => {}
            PayloadSource::Mem(mem) => mem.read(&mut bytes[start..]),
            PayloadSource::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes[start..])),
        }
        self.queue.push_back((header, bytes));
        Ok(())
    }

    /// Reserves by a check alone: no other thread sends to this port, so the room remains.
    fn reserve(&mut self, _to: Peer, _len: usize) -> bool {
        self.queue.len() < QUEUE
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let queued = self.queue.len();
        (0..queued).take_while(|_| self.deliver_one(delivery)).count()
    }

    fn poll_from(&mut self, _from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.deliver_one(delivery)
    }

    fn write(
        &mut self,
        _: Peer,
        key: &RemoteKey,
        at: u64,
        source: WriteSource<'_>,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.registry.with(key, at, source.len(), |mem| match source {
            WriteSource::InPlace(from) => mem.copy_from(from),
            WriteSource::Pack { pack, .. } => pack(mem.as_shared()),
        })?;
        Ok(Submitted::Done(0))
    }

    fn read(
        &mut self,
        _: Peer,
        key: &RemoteKey,
        at: u64,
        into: UserMem<'static>,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        self.registry.with(key, at, into.len(), |mem| into.copy_from(mem))?;
        Ok(Submitted::Done(0))
    }

    fn atomic(
        &mut self,
        _: Peer,
        key: &RemoteKey,
        at: u64,
        atomic: AtomicRequest,
        _: CompletionToken,
    ) -> Result<Submitted, RemoteError> {
        let found = self.registry.with(key, at, atomic.width.bytes(), |mem| atomic.apply(mem))?;
        found.map(Submitted::Done).ok_or(RemoteError::Unsupported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, TestNet};
    use std::sync::Arc;

    #[test]
    fn the_self_device_keeps_the_promises_of_a_device() {
        let net = || TestNet { devices: vec![Arc::new(Loopback::new(Peer(0)))], kill: Box::new(|_| ()) };
        conformance::wire(net);
        conformance::remote(|| (net(), Box::new(|_, len| conformance::words(len))));
    }
}
