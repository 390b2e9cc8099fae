//! A frame port between two hosts, without a protocol: messages in frames, their bytes copied out of and into the
//! program's memory, and never more in flight than the receiver's port keeps. A lost frame fails the play. Frames are
//! sent in runs, or, at a plain port, by a call each.
//!
//! Used by `Apart`; uses `hawser-dev-ether`'s ports.

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

/// The bytes of a header: play, message, offset, and kind of frame.
const HEADER_BYTES: usize = 16;
/// The shortest frame of `link`, with a few control messages.
const FRAME_BYTES_MIN: usize = 64;
/// The number of frames that are handed over at once, as `link` does.
const RUN: usize = 64;
/// A frame counts as lost after this time without one. Longer than a scheduler's slice.
const LOST: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Data = b'd',
    /// A report of how many bytes of frames have arrived.
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
    /// The frames to be sent at once, and the number of frames in a run.
    staged: Vec<u8>,
    run: usize,
    state: State,
}

/// The state of one play.
#[derive(Default)]
struct State {
    play: u16,
    sends: u32,
    /// The bytes of frames that were sent, and those that the other end has reported as received.
    sent: u64,
    came_there: u64,
    /// The bytes of frames that were received here, and those that were reported to the other end.
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

/// The name of the port in the row of a plain one.
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

    /// Sends frames of `out` from byte `at` on, as far as there is room. Returns where the next begins.
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

    /// Handles what has arrived. Returns how many bytes of the message that is being received it has filled.
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
            // Once all is sent, the port needs no poll, unless something is expected.
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
