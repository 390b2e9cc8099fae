//! The Ethernet protocol between two hosts, over the ports that a rank has: messages in pieces of a frame, without
//! packets and matching above them.
//!
//! Used by `Apart`; uses `hawser-link` over `hawser-dev-ether`'s ports.

use super::cards::{self, Made, Parts};
use super::inbox::Inbox;
use super::row::{Layer, Row};
use super::watch::{SETTLED_WITHIN, SILENCE, Watch};
use crate::duet::End;
use hawser_dev_ether::Ends;
use hawser_dev_ether::endpoint::{self, RUN_BYTES};
use hawser_link::frame::HEADER;
use hawser_link::record::RECORD;
use hawser_link::{Class, Endpoint, Message};
use hawser_os::clock;
use std::io;
use std::time::Instant;

/// The bytes in front of each piece: message and offset.
const HEAD: usize = 12;

struct LinkEnd {
    endpoint: Endpoint,
    ends: Ends,
    peer: u32,
    sends: u32,
    inbox: Inbox,
    watch: Watch,
}

pub fn near(row: &Row) -> io::Result<Box<dyn Layer>> {
    Ok(Box::new(cards::near(row, make)?))
}

pub fn far(_: &Row) -> io::Result<()> {
    cards::far(make)
}

fn make(parts: Parts) -> Made<LinkEnd> {
    let peer = 1 - parts.rank.me;
    let (endpoint, ends) = endpoint::over(parts.ports, parts.cards, parts.rank);
    let card = ends.card().encode();
    let watch = Watch::new(SILENCE, "nothing comes any more");
    Ok((LinkEnd { endpoint, ends, peer, sends: 0, inbox: Inbox::default(), watch }, card))
}

/// A piece as it is put into a frame.
struct Piece<'a> {
    head: [u8; HEAD],
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn new(message: u32, at: usize, bytes: &'a [u8]) -> Piece<'a> {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&message.to_le_bytes());
        head[4..].copy_from_slice(&(at as u64).to_le_bytes());
        Piece { head, bytes }
    }

    fn len(&self) -> usize {
        HEAD + self.bytes.len()
    }

    /// Writes the bytes from `at` on.
    fn write(&self, at: usize, into: &mut [u8]) {
        let (head, bytes) = into.split_at_mut(HEAD.saturating_sub(at).min(into.len()));
        head.copy_from_slice(&self.head[at.min(HEAD)..][..head.len()]);
        bytes.copy_from_slice(&self.bytes[at.max(HEAD) - HEAD..][..bytes.len()]);
    }
}

/// Takes a piece. Returns how many bytes of the message that is being received it has filled.
fn take(inbox: &mut Inbox, into: &mut [u8], mut piece: Message<'_>) -> usize {
    let mut head = [0; HEAD];
    if !read(&mut piece, &mut head) {
        return 0;
    }
    let [a, b, c, d, at @ ..] = head;
    let place = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(at));
    inbox.take(into, place, piece.len(), |room| _ = read(&mut piece, room))
}

/// Reads the front of a message. False: it ends before.
fn read(message: &mut Message<'_>, mut to: &mut [u8]) -> bool {
    while !to.is_empty() {
        let Some(bytes) = message.next(to.len()) else { return false };
        to[..bytes.len()].copy_from_slice(bytes);
        to = &mut to[bytes.len()..];
    }
    true
}

impl LinkEnd {
    fn connect(&mut self) -> io::Result<()> {
        if self.endpoint.is_connected(self.peer) {
            return Ok(());
        }
        let routes = self.ends.routes_to(self.peer).unwrap_or_default();
        if routes.is_empty() {
            return Err(io::Error::other("no port of this end goes with one of the other"));
        }
        routes.into_iter().for_each(|(route, far)| self.endpoint.open(self.peer, route, far));
        Ok(())
    }

    /// Sends pieces of `out` from byte `from` on, as far as there is room. Returns where the next begins.
    fn push(&mut self, out: &[u8], from: usize) -> usize {
        let frame = self.endpoint.frame(self.peer, out.len()).expect("there is a connection");
        let most = frame - HEADER - RECORD - HEAD;
        let class = if out.len() > most { Class::Placed } else { Class::Payload };
        let mut at = from;
        while at < out.len() && at - from < RUN_BYTES {
            let piece = Piece::new(self.sends, at, &out[at..out.len().min(at + most)]);
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

    /// Handles what has arrived. Returns how many bytes of the message that is being received it has filled.
    fn pull(&mut self, into: &mut [u8]) -> usize {
        let LinkEnd { endpoint, ends, inbox, .. } = self;
        let mut got = 0;
        for at in 0..ends.ports.len() {
            let mut now_ns = 0;
            ends.receive(at, &mut |frame| {
                if now_ns == 0 {
                    now_ns = clock::now_ns();
                }
                let mut deliver = |_: u32, _: u8, piece: Message<'_>| got += take(inbox, into, piece);
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

impl End for LinkEnd {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        self.connect()?;
        let (mut sent, mut got) = (0, self.inbox.take_early(into));
        while sent < out.len() || got < into.len() {
            let before = (sent, got);
            if sent < out.len() {
                sent = self.push(out, sent);
            }
            // Once all is sent, the ports need no poll, unless something is expected.
            if sent < out.len() || got < into.len() {
                got += self.pull(into);
            }
            self.watch.turn(before != (sent, got))?;
        }
        self.sends = self.sends.wrapping_add(u32::from(!out.is_empty()));
        self.inbox.message = self.inbox.message.wrapping_add(u32::from(!into.is_empty()));
        Ok(())
    }

    /// Sends the acknowledgements that are due, so that the other end does not wait for them while this process sleeps.
    fn rest(&mut self) {
        let since = Instant::now();
        self.endpoint.acknowledge();
        self.endpoint.transmit(clock::now_ns(), &mut self.ends);
        while !self.endpoint.is_quiet() && since.elapsed() < SETTLED_WITHIN {
            self.pull(&mut []);
        }
        self.endpoint.sleep();
        self.ends.look_anew();
    }
}
