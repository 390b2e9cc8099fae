//! Hawser's transport alone: packets on the best device to a peer, in pieces or as zero-copy sends, as MPI has them
//! sent, but without matching and polled by both ends. Between two cores it has the device for shared memory, between
//! hosts that of Ethernet.
//!
//! Used by `Together` and `Apart`; uses `hawser-transport`.

use super::apart::has_far;
use super::cards::{self, Made, Parts};
use super::inbox::Inbox;
use super::packets::{Packets, header};
use super::ring;
use super::row::{Layer, Row};
use super::together::Together;
use super::watch::{SETTLED_WITHIN, SILENCE, Watch};
use crate::duet::End;
use hawser_base::{Lane, Peer, Peers, UserMem};
use hawser_dev_ether::endpoint::Rank;
use hawser_dev_ether::{EtherDevice, Setup};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Limits, Loopback, Source};
use hawser_job::Lives;
use hawser_job::counters::Counters;
use hawser_transport::{Channel, Fabric};
use std::io;
use std::time::Instant;

struct TransportEnd {
    fabric: Fabric,
    channel: Channel,
    peer: Peer,
    limits: Limits,
    /// The longest message that is sent in one packet, in bytes, as in MPI.
    whole: usize,
    sends: u32,
    inbox: Inbox,
    watch: Watch,
}

pub fn near(row: &Row) -> io::Result<Box<dyn Layer>> {
    if has_far() {
        return Ok(Box::new(cards::near(row, between_hosts)?));
    }
    let segment = ring::segment()?;
    let end = |me: u32| TransportEnd::over(Box::new(ShmDevice::new(segment.clone(), me as usize)), me);
    Ok(Box::new(Together::new(end(0)?, end(1)?)))
}

pub fn far(_: &Row) -> io::Result<()> {
    cards::far(between_hosts)
}

fn between_hosts(Parts { rank, ports, cards }: Parts) -> Made<TransportEnd> {
    let Rank { me, ranks, key, seed } = rank;
    let device = EtherDevice::new(Setup {
        me,
        ranks,
        key,
        seed,
        ports,
        cards: Box::new(move |peer, _| cards(peer.0)),
        looked: Box::new(|| ()),
        tell: Box::new(|_| true),
        answers: Box::new(|_| ()),
        counters: (Counters::private(), 0),
        lives: Lives::private(ranks as usize),
        serves: Box::new(move |peer| peer != Peer(me)),
    });
    let card = device.card();
    Ok((TransportEnd::over(Box::new(device), me)?, card))
}

impl TransportEnd {
    fn over(device: Box<dyn Device>, me: u32) -> io::Result<TransportEnd> {
        let own = Box::new(Loopback::new(Peer(me)));
        let fabric = Fabric::new(vec![own, device], &Peers::Run { first: Peer(0), len: 2 })
            .map_err(|error| io::Error::other(error.cause().to_string()))?;
        let peer = Peer(1 - me);
        let (channel, limits) = (fabric.channel(Lane(0)), *fabric.limits(peer).expect("the peer is reached"));
        let watch = Watch::new(SILENCE, "nothing comes any more");
        let whole = channel.longest(peer).min(packet()?);
        Ok(TransportEnd { fabric, channel, peer, limits, whole, sends: 0, inbox: Inbox::default(), watch })
    }
}

/// The value of HAWSER_PACKET, in bytes.
fn packet() -> io::Result<usize> {
    let named = hawser_node::params().into_iter().find(|param| param.name == "HAWSER_PACKET").expect("MPI has it");
    Ok(named.number().map_err(|error| io::Error::other(error.cause().to_string()))? as usize)
}

/// A message that is being sent.
struct Sending<'a> {
    mem: UserMem<'a>,
    /// The same memory, if the device may borrow it.
    lendable: Option<UserMem<'static>>,
    message: u32,
    at: usize,
    /// The device has borrowed all of it, until it reports how far the receiver is.
    lent: bool,
}

impl Sending<'_> {
    fn is_done(&self) -> bool {
        self.at == self.mem.len()
    }

    /// Sends it whole, zero-copy or in pieces, as far as there is room now. Returns whether anything was sent.
    fn push(&mut self, channel: &mut Channel, to: Peer, (limits, whole): (&Limits, usize)) -> bool {
        let (mem, len) = (self.mem, self.mem.len());
        let first = header(self.message, 0);
        if self.lent || self.is_done() {
            return false;
        }
        if self.at == 0 && len <= whole && channel.send_whole(to, first, mem) {
            self.at = len;
            return true;
        }
        if self.at == 0
            && let Some(mem) = self.lendable
            && channel.lend(to, first, mem, true, self.message)
        {
            self.lent = true;
            return true;
        }
        let from = self.at;
        let piece = channel.piece(to, len).unwrap_or_else(|| limits.pieces.best(len));
        while !self.is_done() {
            let part = mem.slice(self.at, piece.min(len - self.at));
            if !channel.send_piece(to, header(self.message, self.at), &[], Source::Mem(part), true) {
                break;
            }
            self.at += part.len();
        }
        channel.push();
        self.at > from
    }
}

impl TransportEnd {
    /// Sends `out` and receives all of `into`.
    fn play(&mut self, out: UserMem, lendable: Option<UserMem<'static>>, into: &mut [u8]) -> io::Result<()> {
        let TransportEnd { channel, peer, limits, whole, inbox, watch, .. } = self;
        let (is_sent, is_received) = (u32::from(!out.is_empty()), u32::from(!into.is_empty()));
        let mut sending = Sending { mem: out, lendable, message: self.sends, at: 0, lent: false };
        let mut packets = Packets::new(inbox, into);
        while !sending.is_done() || !packets.is_whole() {
            let mut moved = sending.push(channel, *peer, (limits, *whole));
            if !sending.is_done() || !packets.is_whole() {
                moved |= channel.poll_from(*peer, &mut packets);
            }
            if let Some(taken) = packets.returned.take() {
                (sending.at, sending.lent) = (taken, false);
            }
            packets.check()?;
            watch.turn(moved)?;
            if !moved {
                std::hint::spin_loop();
            }
        }
        self.sends = self.sends.wrapping_add(is_sent);
        inbox.message = inbox.message.wrapping_add(is_received);
        Ok(())
    }
}

impl End for TransportEnd {
    const LENDS: bool = true;

    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        self.play(UserMem::of_slice(out), None, into)
    }

    fn exchange_lent(&mut self, out: UserMem<'static>, into: &mut [u8]) -> io::Result<()> {
        self.play(out, Some(out), into)
    }

    /// Completes what is pending, so that the other end does not wait for it while this process sleeps.
    fn rest(&mut self) {
        let since = Instant::now();
        self.fabric.before_sleep();
        while !self.fabric.flush() && since.elapsed() < SETTLED_WITHIN {}
    }
}
