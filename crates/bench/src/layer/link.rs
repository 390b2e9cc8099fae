//! The Ethernet protocol between two hosts, over the ports that a rank has. Messages are cut into pieces that fit
//! into a frame; there are no packets and no matching above them.
//!
//! Used by `layer`; uses `card_exchange`, and `hawser-link` over `hawser-dev-ether`'s ports.

use super::card_exchange::{self, EndpointParts, EndpointResult};
use super::layer_entry::{Layer, LayerEntry};
use super::message_assembly::MessageAssembly;
use super::polled_wait::{DRAIN_TIMEOUT, PolledWait, STALL_LIMIT};
use crate::pattern_driver::PatternEndpoint;
use hawser_dev_ether::PortSet;
use hawser_dev_ether::endpoint::{self, RUN_BYTES};
use hawser_link::fragment::FRAGMENT_HEADER_BYTES;
use hawser_link::frame::HEADER_BYTES;
use hawser_link::{Endpoint, Message, MessageClass};
use hawser_os::clock;
use std::io;
use std::time::Instant;

/// The number of bytes in front of each piece: the message's number and the offset in the message.
const PIECE_HEADER_BYTES: usize = 12;

struct LinkEndpoint {
    endpoint: Endpoint,
    ends: PortSet,
    peer: u32,
    sends: u32,
    assembly: MessageAssembly,
    wait: PolledWait,
}

pub fn open_local(entry: &LayerEntry) -> io::Result<Box<dyn Layer>> {
    Ok(Box::new(card_exchange::open_local(entry, make)?))
}

pub fn run_remote(_: &LayerEntry) -> io::Result<()> {
    card_exchange::run_remote(make)
}

fn make(parts: EndpointParts) -> EndpointResult<LinkEndpoint> {
    let peer = 1 - parts.rank.me;
    let (endpoint, ends) = endpoint::with_ports(parts.ports, parts.cards, parts.rank);
    let card = ends.own_port_list().encode();
    let wait = PolledWait::new(STALL_LIMIT, "nothing arrives any more");
    Ok((LinkEndpoint { endpoint, ends, peer, sends: 0, assembly: MessageAssembly::default(), wait }, card))
}

/// A piece as it is put into a frame.
struct FramePiece<'a> {
    head: [u8; PIECE_HEADER_BYTES],
    bytes: &'a [u8],
}

impl<'a> FramePiece<'a> {
    fn new(message: u32, at: usize, bytes: &'a [u8]) -> FramePiece<'a> {
        let mut head = [0; PIECE_HEADER_BYTES];
        head[..4].copy_from_slice(&message.to_le_bytes());
        head[4..].copy_from_slice(&(at as u64).to_le_bytes());
        FramePiece { head, bytes }
    }

    fn len(&self) -> usize {
        PIECE_HEADER_BYTES + self.bytes.len()
    }

    /// Fills `into` with the bytes of header and piece from byte `at` on.
    fn write(&self, at: usize, into: &mut [u8]) {
        let (head, bytes) = into.split_at_mut(PIECE_HEADER_BYTES.saturating_sub(at).min(into.len()));
        head.copy_from_slice(&self.head[at.min(PIECE_HEADER_BYTES)..][..head.len()]);
        bytes.copy_from_slice(&self.bytes[at.max(PIECE_HEADER_BYTES) - PIECE_HEADER_BYTES..][..bytes.len()]);
    }
}

/// Takes a piece. Returns the number of bytes that it has filled in `into`, the message that is being received.
fn take_piece(assembly: &mut MessageAssembly, into: &mut [u8], mut piece: Message<'_>) -> usize {
    let mut head = [0; PIECE_HEADER_BYTES];
    if !read(&mut piece, &mut head) {
        return 0;
    }
    let [a, b, c, d, at @ ..] = head;
    let place = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(at));
    assembly.take(into, place, piece.len(), |target| _ = read(&mut piece, target))
}

/// Fills `to` with the next bytes of a message; false if the message ends before.
fn read(message: &mut Message<'_>, mut to: &mut [u8]) -> bool {
    while !to.is_empty() {
        let Some(bytes) = message.next(to.len()) else { return false };
        to[..bytes.len()].copy_from_slice(bytes);
        to = &mut to[bytes.len()..];
    }
    true
}

impl LinkEndpoint {
    fn connect(&mut self) -> io::Result<()> {
        if self.endpoint.is_connected(self.peer) {
            return Ok(());
        }
        let paths = self.ends.paths_to(self.peer).unwrap_or_default();
        if paths.is_empty() {
            return Err(io::Error::other("no port of this end matches a port of the other end"));
        }
        paths.into_iter().for_each(|(path_id, remote)| self.endpoint.open_path(self.peer, path_id, remote));
        Ok(())
    }

    /// Sends pieces of `out` from byte `from` on, until the endpoint takes no more or RUN_BYTES are sent. Returns the
    /// offset of the next piece.
    fn send_pieces(&mut self, out: &[u8], from: usize) -> usize {
        let frame = self.endpoint.frame_for_message(self.peer, out.len()).expect("there is a connection");
        let most = frame - HEADER_BYTES - FRAGMENT_HEADER_BYTES - PIECE_HEADER_BYTES;
        let class = if out.len() > most { MessageClass::OrderFree } else { MessageClass::Payload };
        let mut at = from;
        while at < out.len() && at - from < RUN_BYTES {
            let piece = FramePiece::new(self.sends, at, &out[at..out.len().min(at + most)]);
            let fill = |at: usize, into: &mut [u8]| piece.write(at, into);
            if self.endpoint.send(self.peer, 0, piece.len(), class, fill).is_err() {
                break;
            }
            at += piece.bytes.len();
        }
        if at > from {
            self.endpoint.transmit(clock::now_ns(), &mut self.ends);
        }
        at
    }

    /// Handles the frames that have arrived. Returns the number of bytes that they have filled in `into`, the message
    /// that is being received.
    fn receive_frames(&mut self, into: &mut [u8]) -> usize {
        let LinkEndpoint { endpoint, ends, assembly, .. } = self;
        let mut got = 0;
        for at in 0..ends.ports.len() {
            let mut now_ns = 0;
            ends.receive(at, &mut |frame| {
                if now_ns == 0 {
                    now_ns = clock::now_ns();
                }
                let mut deliver = |_: u32, _: u8, piece: Message<'_>| got += take_piece(assembly, into, piece);
                // The endpoint counts frames with errors.
                let _ = endpoint.handle_frame(at as u8, frame, now_ns, &mut deliver);
            });
        }
        if endpoint.is_active() {
            endpoint.transmit(clock::now_ns(), ends);
        }
        got
    }
}

impl PatternEndpoint for LinkEndpoint {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        self.connect()?;
        let (mut sent, mut got) = (0, self.assembly.take_buffered(into));
        self.wait.begin(out.len() + into.len());
        while sent < out.len() || got < into.len() {
            let before = (sent, got);
            if sent < out.len() {
                sent = self.send_pieces(out, sent);
            }
            // If everything is sent and nothing is expected, the ports need no poll.
            if sent < out.len() || got < into.len() {
                got += self.receive_frames(into);
            }
            self.wait.count_poll(before != (sent, got))?;
        }
        self.sends = self.sends.wrapping_add(u32::from(!out.is_empty()));
        self.assembly.message = self.assembly.message.wrapping_add(u32::from(!into.is_empty()));
        Ok(())
    }

    /// Sends the pending acknowledgements, so that the other end does not wait for them while this process sleeps, and
    /// waits until the other end has acknowledged everything, at most DRAIN_TIMEOUT.
    fn quiesce(&mut self) {
        let since = Instant::now();
        self.endpoint.expedite_acks();
        self.endpoint.transmit(clock::now_ns(), &mut self.ends);
        while !self.endpoint.is_all_acked() && since.elapsed() < DRAIN_TIMEOUT {
            self.receive_frames(&mut []);
        }
        self.endpoint.record_sleep();
        self.ends.poll_all_next();
    }
}
