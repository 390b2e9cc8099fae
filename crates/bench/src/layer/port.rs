//! A frame port between two hosts, without a protocol. Messages are sent in frames; their bytes are copied out of and
//! into the program's memory, and never more are in flight than the receiver's port keeps. A lost frame makes the
//! task fail. Frames are sent in runs, several in a call; a plain port (`udp-plain`) sends each frame by a call of
//! its own.
//!
//! Used by `layer`; uses `two_processes` and `hawser-dev-ether`'s ports.

use super::layer_entry::{Layer, LayerEntry};
use super::message_assembly::MessageAssembly;
use super::polled_wait::PolledWait;
use super::two_processes::{TwoProcesses, serve_tasks, start};
use crate::net;
use crate::pattern_driver::PatternEndpoint;
use crate::worker::print_line;
use hawser_base::hex;
use hawser_dev_ether::port::{FramePort, FrameSendError, PortAddress};
use hawser_os::host;
use std::io::{self, BufRead, IoSlice};
use std::time::Duration;

/// The length of a frame's header: task, message, offset, and kind of frame.
const HEADER_BYTES: usize = 16;
/// The minimum length of a frame, which is that of a frame of `link` with a few control messages.
const FRAME_BYTES_MIN: usize = 64;
/// The maximum number of frames that are handed to the port in one call, as `link` does.
const RUN_FRAMES: usize = 64;
/// A frame counts as lost if nothing arrives for this time, which is longer than a time slice of the scheduler.
const LOSS_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum PortFrameKind {
    Data = b'd',
    /// A report of the number of bytes of frames that have arrived.
    Report = b'w',
}

struct PortFrameHeader {
    kind: u8,
    task: u16,
    message: u32,
    at: u64,
}

impl PortFrameHeader {
    fn write(&self, frame: &mut [u8]) {
        frame[0] = self.kind;
        frame[2..4].copy_from_slice(&self.task.to_le_bytes());
        frame[4..8].copy_from_slice(&self.message.to_le_bytes());
        frame[8..16].copy_from_slice(&self.at.to_le_bytes());
    }

    fn read(frame: &[u8]) -> Option<PortFrameHeader> {
        let part = |from: usize, to: usize| frame.get(from..to);
        Some(PortFrameHeader {
            kind: *frame.first()?,
            task: u16::from_le_bytes(part(2, 4)?.try_into().ok()?),
            message: u32::from_le_bytes(part(4, 8)?.try_into().ok()?),
            at: u64::from_le_bytes(part(8, 16)?.try_into().ok()?),
        })
    }
}

struct PortEndpoint {
    port: Box<dyn FramePort>,
    remote: PortAddress,
    /// The memory for the frames that are sent in one call, and the maximum number of these frames.
    staged: Vec<u8>,
    run: usize,
    state: TaskState,
}

/// The state of one task.
#[derive(Default)]
struct TaskState {
    task: u16,
    sends: u32,
    /// The bytes of frames that were sent, and those that the other end has reported as received.
    sent: u64,
    acknowledged: u64,
    /// The bytes of frames that were received here, and those that were reported to the other end.
    received: u64,
    reported: u64,
    assembly: MessageAssembly,
}

pub fn open_local(entry: &LayerEntry) -> io::Result<Box<dyn Layer>> {
    open_local_port(entry, entry.name, RUN_FRAMES)
}

pub fn run_remote(entry: &LayerEntry) -> io::Result<()> {
    run_remote_port(entry.name, RUN_FRAMES)
}

pub fn open_local_plain(entry: &LayerEntry) -> io::Result<Box<dyn Layer>> {
    open_local_port(entry, plain_port_name(entry), 1)
}

pub fn run_remote_plain(entry: &LayerEntry) -> io::Result<()> {
    run_remote_port(plain_port_name(entry), 1)
}

/// The name of the port that a plain layer uses.
fn plain_port_name(entry: &LayerEntry) -> &'static str {
    entry.name.trim_end_matches("-plain")
}

fn open_local_port(entry: &LayerEntry, name: &str, run: usize) -> io::Result<Box<dyn Layer>> {
    let mut remote = start(entry)?;
    let secret = host::random()?;
    let port = open_port(name, true, secret)?;
    remote.send_line(&format!("{} {}", hex::encode(&secret), net::encode_address(&port.address())))?;
    let address = remote.receive_line()?;
    let address =
        net::decode_address(&address).ok_or_else(|| io::Error::other(format!("the remote end replied: {address}")))?;
    Ok(Box::new(TwoProcesses::new(PortEndpoint::new(port, address, run), remote)))
}

fn run_remote_port(name: &str, run: usize) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, local) =
        parse_address(line.trim()).ok_or_else(|| io::Error::other("the other end sent no secret and address"))?;
    let port = open_port(name, false, secret)?;
    print_line(&net::encode_address(&port.address()))?;
    serve_tasks(PortEndpoint::new(port, local, run))
}

/// Reads the local end's secret and address from a line.
fn parse_address(line: &str) -> Option<(net::Secret, PortAddress)> {
    let (secret, address) = line.split_once(' ')?;
    Some((hex::decode(secret)?.try_into().ok()?, net::decode_address(address)?))
}

fn open_port(name: &str, is_local: bool, secret: net::Secret) -> io::Result<Box<dyn FramePort>> {
    let entry = net::ROWS.iter().find(|entry| entry.name == name).ok_or_else(|| io::Error::other("no such port"))?;
    entry.open(is_local, secret)?.pop().ok_or_else(|| io::Error::other("no port"))
}

impl PortEndpoint {
    fn new(port: Box<dyn FramePort>, remote: PortAddress, run: usize) -> PortEndpoint {
        let staged = vec![0; run * port.frame_max()];
        PortEndpoint { port, remote, staged, run, state: TaskState::default() }
    }

    /// Sends frames of `out` from byte `at` on, as far as the credit permits. Returns the offset at which the next
    /// frame begins.
    fn send_frames(&mut self, out: &[u8], at: usize) -> io::Result<usize> {
        let frame_max = self.port.frame_max();
        let window = (self.port.receive_buffer_bytes() / 2).max(2 * frame_max) as u64;
        let credit_bytes = window.saturating_sub(self.state.sent - self.state.acknowledged) as usize;
        let runs = (credit_bytes / frame_max).min(self.run).min((out.len() - at).div_ceil(frame_max - HEADER_BYTES));
        if runs == 0 {
            return Ok(at);
        }
        let (mut ends, mut next, mut end) = (Vec::with_capacity(runs), at, 0);
        for frame in self.staged.chunks_mut(frame_max).take(runs) {
            let payload = (out.len() - next).min(frame_max - HEADER_BYTES);
            let head = PortFrameHeader {
                kind: PortFrameKind::Data as u8,
                task: self.state.task,
                message: self.state.sends,
                at: next as u64,
            };
            head.write(frame);
            frame[HEADER_BYTES..HEADER_BYTES + payload].copy_from_slice(&out[next..next + payload]);
            next += payload;
            end = (HEADER_BYTES + payload).max(FRAME_BYTES_MIN);
            ends.push(next);
        }
        let frames = self.staged.chunks(frame_max).take(runs).enumerate();
        let frames: Vec<IoSlice> =
            frames.map(|(i, frame)| IoSlice::new(&frame[..if i + 1 == runs { end } else { frame_max }])).collect();
        match self.port.send_run(&self.remote, &frames) {
            Ok(count) => {
                self.state.sent += frames[..count].iter().map(|frame| frame.len() as u64).sum::<u64>();
                Ok(ends[count - 1])
            }
            Err(FrameSendError::Full) => Ok(at),
            Err(refused) => Err(io::Error::other(format!("the port refuses a frame: {refused:?}"))),
        }
    }

    /// Handles the frames that have arrived. Returns the number of bytes that they have filled in `into`, the message
    /// that is being received.
    fn receive_frames(&mut self, into: &mut [u8]) -> usize {
        let (mut got, state) = (0, &mut self.state);
        self.port.receive(&mut |frame| got += state.take(frame, into));
        let step = (self.port.receive_buffer_bytes() / 8) as u64;
        if self.state.received - self.state.reported >= step {
            let mut report = [0; FRAME_BYTES_MIN];
            PortFrameHeader {
                kind: PortFrameKind::Report as u8,
                task: self.state.task,
                message: 0,
                at: self.state.received,
            }
            .write(&mut report);
            if self.port.send(&self.remote, &report).is_ok() {
                self.state.reported = self.state.received;
            }
        }
        got
    }
}

impl TaskState {
    fn take(&mut self, frame: &[u8], into: &mut [u8]) -> usize {
        let Some(head) = PortFrameHeader::read(frame).filter(|head| head.task == self.task) else { return 0 };
        if head.kind == PortFrameKind::Report as u8 {
            self.acknowledged = self.acknowledged.max(head.at);
            return 0;
        }
        self.received += frame.len() as u64;
        let data = &frame[HEADER_BYTES..];
        let copy = |target: &mut [u8]| target.copy_from_slice(&data[..target.len()]);
        self.assembly.take(into, (head.message, head.at), data.len(), copy)
    }
}

impl PatternEndpoint for PortEndpoint {
    fn begin(&mut self) {
        self.state = TaskState { task: self.state.task.wrapping_add(1), ..TaskState::default() };
    }

    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let (mut at, mut got) = (0, self.state.assembly.take_buffered(into));
        let mut wait = PolledWait::new(LOSS_TIMEOUT, "a frame was lost");
        wait.begin(out.len() + into.len());
        while at < out.len() || got < into.len() {
            let before = (at, got, self.state.acknowledged);
            if at < out.len() {
                at = self.send_frames(out, at)?;
            }
            // If everything is sent and nothing is expected, the port needs no poll.
            if at < out.len() || got < into.len() {
                got += self.receive_frames(into);
            }
            wait.count_poll(before != (at, got, self.state.acknowledged))?;
        }
        self.state.sends += u32::from(!out.is_empty());
        self.state.assembly.message += u32::from(!into.is_empty());
        Ok(())
    }
}
