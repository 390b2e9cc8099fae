//! A frame port between two hosts, without a protocol: messages in frames, their bytes copied out of and into the program's memory, and
//! never more under way than the receiver's port keeps. A frame that is lost fails the play. Frames leave in runs, or, of a plain port,
//! by a call each.
//!
//! Before it: `Apart`; after it: `hawser-dev-ether`'s ports.

use super::apart::{Apart, follow, start};
use super::inbox::Inbox;
use super::row::{Layer, Row};
use super::watch::Watch;
use crate::duet::End;
use crate::worker::say;
use crate::{hex, net};
use hawser_dev_ether::port::{Address, FramePort, Refused};
use hawser_os::host;
use std::io::{self, BufRead, IoSlice};
use std::time::Duration;

/// Play, message, offset, and what it is.
const HEADER_BYTES: usize = 16;
/// A frame of `link` with a few words, the shortest there is.
const FRAME_BYTES_MIN: usize = 64;
/// Frames that are handed over at once, as `link` does.
const RUN: usize = 64;
/// After so long without a frame one was lost. Longer than any scheduler's slice.
const LOST: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Data = b'd',
    /// So many bytes of frames have come.
    Word = b'w',
}

struct Head {
    kind: u8,
    play: u16,
    message: u32,
    at: u64,
}

impl Head {
    fn write(&self, frame: &mut [u8]) {
        frame[0] = self.kind;
        frame[2..4].copy_from_slice(&self.play.to_le_bytes());
        frame[4..8].copy_from_slice(&self.message.to_le_bytes());
        frame[8..16].copy_from_slice(&self.at.to_le_bytes());
    }

    fn read(frame: &[u8]) -> Option<Head> {
        let part = |from: usize, to: usize| frame.get(from..to);
        Some(Head {
            kind: *frame.first()?,
            play: u16::from_le_bytes(part(2, 4)?.try_into().ok()?),
            message: u32::from_le_bytes(part(4, 8)?.try_into().ok()?),
            at: u64::from_le_bytes(part(8, 16)?.try_into().ok()?),
        })
    }
}

struct PortEnd {
    port: Box<dyn FramePort>,
    far: Address,
    /// What is to be sent at once, and how many frames that are.
    staged: Vec<u8>,
    run: usize,
    state: State,
}

/// Of one play.
#[derive(Default)]
struct State {
    play: u16,
    sends: u32,
    /// Bytes of frames that were sent, and of which the other end has said that they came.
    sent: u64,
    came_there: u64,
    /// And that came here, and of which it was told.
    came: u64,
    told: u64,
    inbox: Inbox,
}

pub fn near(row: &Row) -> io::Result<Box<dyn Layer>> {
    near_of(row, row.name, RUN)
}

pub fn far(row: &Row) -> io::Result<()> {
    far_of(row.name, RUN)
}

pub fn near_plain(row: &Row) -> io::Result<Box<dyn Layer>> {
    near_of(row, plain(row), 1)
}

pub fn far_plain(row: &Row) -> io::Result<()> {
    far_of(plain(row), 1)
}

/// The port of a plain one's row.
fn plain(row: &Row) -> &'static str {
    row.name.trim_end_matches("-plain")
}

fn near_of(row: &Row, name: &str, run: usize) -> io::Result<Box<dyn Layer>> {
    let mut far = start(row)?;
    let secret = host::random()?;
    let port = opened(name, true, secret)?;
    far.tell(&format!("{} {}", hex::written(&secret), net::written(&port.address())))?;
    let address = far.hear()?;
    let address = net::read(&address).ok_or_else(|| io::Error::other(format!("the far end says: {address}")))?;
    Ok(Box::new(Apart::new(PortEnd::new(port, address, run), far)))
}

fn far_of(name: &str, run: usize) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, near) =
        said(line.trim()).ok_or_else(|| io::Error::other("the near end said no secret and address"))?;
    let port = opened(name, false, secret)?;
    say(&net::written(&port.address()))?;
    follow(PortEnd::new(port, near, run))
}

/// The near end's secret and address.
fn said(line: &str) -> Option<(net::Secret, Address)> {
    let (secret, address) = line.split_once(' ')?;
    Some((hex::read(secret)?.try_into().ok()?, net::read(address)?))
}

fn opened(name: &str, near: bool, secret: net::Secret) -> io::Result<Box<dyn FramePort>> {
    let row = net::ROWS.iter().find(|row| row.name == name).ok_or_else(|| io::Error::other("no such port"))?;
    row.open(near, secret)?.pop().ok_or_else(|| io::Error::other("no port"))
}

impl PortEnd {
    fn new(port: Box<dyn FramePort>, far: Address, run: usize) -> PortEnd {
        let staged = vec![0; run * port.frame_max()];
        PortEnd { port, far, staged, run, state: State::default() }
    }

    /// Sends frames of `out` from byte `at` on, as far as there is room; where the next begins.
    fn push(&mut self, out: &[u8], at: usize) -> io::Result<usize> {
        let frame_max = self.port.frame_max();
        let window = (self.port.room() / 2).max(2 * frame_max) as u64;
        let open = window.saturating_sub(self.state.sent - self.state.came_there) as usize;
        let runs = (open / frame_max).min(self.run).min((out.len() - at).div_ceil(frame_max - HEADER_BYTES));
        if runs == 0 {
            return Ok(at);
        }
        let (mut ends, mut next, mut end) = (Vec::with_capacity(runs), at, 0);
        for frame in self.staged.chunks_mut(frame_max).take(runs) {
            let payload = (out.len() - next).min(frame_max - HEADER_BYTES);
            let head =
                Head { kind: Kind::Data as u8, play: self.state.play, message: self.state.sends, at: next as u64 };
            head.write(frame);
            frame[HEADER_BYTES..HEADER_BYTES + payload].copy_from_slice(&out[next..next + payload]);
            next += payload;
            end = (HEADER_BYTES + payload).max(FRAME_BYTES_MIN);
            ends.push(next);
        }
        let frames = self.staged.chunks(frame_max).take(runs).enumerate();
        let frames: Vec<IoSlice> =
            frames.map(|(i, frame)| IoSlice::new(&frame[..if i + 1 == runs { end } else { frame_max }])).collect();
        match self.port.send_run(&self.far, &frames) {
            Ok(count) => {
                self.state.sent += frames[..count].iter().map(|frame| frame.len() as u64).sum::<u64>();
                Ok(ends[count - 1])
            }
            Err(Refused::Full) => Ok(at),
            Err(refused) => Err(io::Error::other(format!("the port refuses a frame: {refused:?}"))),
        }
    }

    /// Takes what came; how many bytes of the message that is received.
    fn pull(&mut self, into: &mut [u8]) -> usize {
        let (mut got, state) = (0, &mut self.state);
        self.port.receive(&mut |frame| got += state.take(frame, into));
        let step = (self.port.room() / 8) as u64;
        if self.state.came - self.state.told >= step {
            let mut word = [0; FRAME_BYTES_MIN];
            Head { kind: Kind::Word as u8, play: self.state.play, message: 0, at: self.state.came }.write(&mut word);
            if self.port.send(&self.far, &word).is_ok() {
                self.state.told = self.state.came;
            }
        }
        got
    }
}

impl State {
    fn take(&mut self, frame: &[u8], into: &mut [u8]) -> usize {
        let Some(head) = Head::read(frame).filter(|head| head.play == self.play) else { return 0 };
        if head.kind == Kind::Word as u8 {
            self.came_there = self.came_there.max(head.at);
            return 0;
        }
        self.came += frame.len() as u64;
        let data = &frame[HEADER_BYTES..];
        let copy = |room: &mut [u8]| room.copy_from_slice(&data[..room.len()]);
        self.inbox.take(into, (head.message, head.at), data.len(), copy)
    }
}

impl End for PortEnd {
    fn begin(&mut self) {
        self.state = State { play: self.state.play.wrapping_add(1), ..State::default() };
    }

    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let (mut at, mut got) = (0, self.state.inbox.take_early(into));
        let mut watch = Watch::new(LOST, "a frame was lost");
        while at < out.len() || got < into.len() {
            let before = (at, got, self.state.came_there);
            if at < out.len() {
                at = self.push(out, at)?;
            }
            // What is sent in full needs no look at what comes back, unless something is waited for.
            if at < out.len() || got < into.len() {
                got += self.pull(into);
            }
            watch.turn(before != (at, got, self.state.came_there))?;
        }
        self.state.sends += u32::from(!out.is_empty());
        self.state.inbox.message += u32::from(!into.is_empty());
        Ok(())
    }
}
