//! Hawser's transport alone. Packets go over the best device to a peer, in pieces or as zero-copy sends, as MPI sends
//! them, but without matching, and both ends poll. Between two cores the device is that for shared memory, between
//! hosts that for Ethernet.
//!
//! Used by `layer`; uses `two_threads`, `card_exchange` and `hawser-transport`.

use super::card_exchange::{self, EndpointParts, EndpointResult};
use super::layer_entry::{Layer, LayerEntry};
use super::message_assembly::MessageAssembly;
use super::packet_receiver::{PacketReceiver, header};
use super::polled_wait::{DRAIN_TIMEOUT, PolledWait, STALL_LIMIT};
use super::ring;
use super::two_processes::has_remote;
use super::two_threads::TwoThreads;
use crate::pattern_driver::PatternEndpoint;
use hawser_base::{Lane, Peer, Peers, UserMem};
use hawser_dev_ether::endpoint::RankConfig;
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, DeviceLimits, Loopback, PayloadSource};
use hawser_job::ExitLog;
use hawser_job::counters::Counters;
use hawser_transport::{Channel, Fabric};
use std::io;
use std::time::Instant;

struct TransportEndpoint {
    fabric: Fabric,
    channel: Channel,
    peer: Peer,
    limits: DeviceLimits,
    /// The longest message that is sent in one packet, in bytes, as in MPI.
    packet_bytes_max: usize,
    sends: u32,
    assembly: MessageAssembly,
    wait: PolledWait,
}

pub fn open_local(entry: &LayerEntry) -> io::Result<Box<dyn Layer>> {
    if has_remote() {
        return Ok(Box::new(card_exchange::open_local(entry, connect_hosts)?));
    }
    let segment = ring::segment()?;
    let end = |me: u32| TransportEndpoint::over(Box::new(ShmDevice::new(segment.clone(), me as usize)), me);
    Ok(Box::new(TwoThreads::new(end(0)?, end(1)?)))
}

pub fn run_remote(_: &LayerEntry) -> io::Result<()> {
    card_exchange::run_remote(connect_hosts)
}

fn connect_hosts(EndpointParts { rank, ports, cards }: EndpointParts) -> EndpointResult<TransportEndpoint> {
    let RankConfig { me, ranks, key, seed } = rank;
    let device = EtherDevice::new(EtherDeviceSetup {
        me,
        ranks,
        key,
        seed,
        ports,
        card_lookup: Box::new(move |peer, _| cards(peer.0)),
        on_all_polled: Box::new(|| ()),
        wake_rank: Box::new(|| ()),
        report_status: Box::new(|_| true),
        report_reachability: Box::new(|_| ()),
        counters: (Counters::private(), 0),
        exit_log: ExitLog::private(ranks as usize),
        reaches: Box::new(move |peer| peer != Peer(me)),
    });
    let card = device.encoded_port_list();
    Ok((TransportEndpoint::over(Box::new(device), me)?, card))
}

impl TransportEndpoint {
    fn over(device: Box<dyn Device>, me: u32) -> io::Result<TransportEndpoint> {
        let own = Box::new(Loopback::new(Peer(me)));
        let fabric = Fabric::new(vec![own, device], &Peers::Consecutive { first: Peer(0), len: 2 })
            .map_err(|error| io::Error::other(error.cause().to_string()))?;
        let peer = Peer(1 - me);
        let (channel, limits) = (fabric.channel(Lane(0)), *fabric.limits(peer).expect("the peer is reached"));
        let wait = PolledWait::new(STALL_LIMIT, "nothing arrives any more");
        let packet_bytes_max = channel.max_single_packet(peer).min(packet()?);
        Ok(TransportEndpoint {
            fabric,
            channel,
            peer,
            limits,
            packet_bytes_max,
            sends: 0,
            assembly: MessageAssembly::default(),
            wait,
        })
    }
}

/// The value of HAWSER_PACKET, in bytes.
fn packet() -> io::Result<usize> {
    let named = hawser_node::params().into_iter().find(|param| param.name == "HAWSER_PACKET").expect("MPI has it");
    Ok(named.number().map_err(|error| io::Error::other(error.cause().to_string()))? as usize)
}

/// A message that is being sent.
struct MessageSend<'a> {
    mem: UserMem<'a>,
    /// The same memory, if the device may borrow it.
    zero_copy: Option<UserMem<'static>>,
    message: u32,
    at: usize,
    /// Whether the device has borrowed the whole message. It returns the memory with the number of bytes that the
    /// receiver has.
    is_borrowed: bool,
}

impl MessageSend<'_> {
    fn is_complete(&self) -> bool {
        self.at == self.mem.len()
    }

    /// Sends the message whole, zero-copy or in pieces, as far as there is room now. Returns whether anything was
    /// sent.
    fn send_more(
        &mut self,
        channel: &mut Channel,
        to: Peer,
        (limits, packet_bytes_max): (&DeviceLimits, usize),
    ) -> bool {
        let (mem, len) = (self.mem, self.mem.len());
        let first = header(self.message, 0);
        if self.is_borrowed || self.is_complete() {
            return false;
        }
        if self.at == 0 && len <= packet_bytes_max && channel.send_whole(to, first, mem) {
            self.at = len;
            return true;
        }
        if self.at == 0
            && limits.zero_copy_from.is_some_and(|from| len >= from)
            && let Some(mem) = self.zero_copy
            && channel.send_zero_copy(to, first, mem, true, self.message)
        {
            self.is_borrowed = true;
            return true;
        }
        let from = self.at;
        let piece = channel.piece_len(to, len).unwrap_or_else(|| limits.fragmentation.piece_len(len));
        while !self.is_complete() {
            let part = mem.slice(self.at, piece.min(len - self.at));
            if !channel.send_piece(to, header(self.message, self.at), &[], PayloadSource::Mem(part), true) {
                break;
            }
            self.at += part.len();
        }
        channel.flush_pieces();
        self.at > from
    }
}

impl TransportEndpoint {
    /// Sends `out` and receives all of `into`.
    fn exchange_mem(&mut self, out: UserMem, zero_copy: Option<UserMem<'static>>, into: &mut [u8]) -> io::Result<()> {
        let TransportEndpoint { channel, peer, limits, packet_bytes_max, assembly, wait, .. } = self;
        let (is_sent, is_received) = (u32::from(!out.is_empty()), u32::from(!into.is_empty()));
        let mut sending = MessageSend { mem: out, zero_copy, message: self.sends, at: 0, is_borrowed: false };
        wait.begin(out.len() + into.len());
        let mut packets = PacketReceiver::new(assembly, into);
        while !sending.is_complete() || !packets.is_complete() {
            let mut moved = sending.send_more(channel, *peer, (limits, *packet_bytes_max));
            if !sending.is_complete() || !packets.is_complete() {
                moved |= channel.poll_from(*peer, &mut packets);
            }
            if let Some(taken) = packets.returned.take() {
                (sending.at, sending.is_borrowed) = (taken, false);
            }
            packets.check()?;
            wait.count_poll(moved)?;
            if !moved {
                std::hint::spin_loop();
            }
        }
        self.sends = self.sends.wrapping_add(is_sent);
        assembly.message = assembly.message.wrapping_add(is_received);
        Ok(())
    }
}

impl PatternEndpoint for TransportEndpoint {
    const ZERO_COPY: bool = true;

    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        self.exchange_mem(UserMem::of_slice(out), None, into)
    }

    fn exchange_zero_copy(&mut self, out: UserMem<'static>, into: &mut [u8]) -> io::Result<()> {
        self.exchange_mem(out, Some(out), into)
    }

    /// Completes pending sends, so that the other end does not wait for them while this process sleeps.
    fn quiesce(&mut self) {
        let since = Instant::now();
        self.fabric.before_sleep();
        while !self.fabric.flush() && since.elapsed() < DRAIN_TIMEOUT {}
    }
}
