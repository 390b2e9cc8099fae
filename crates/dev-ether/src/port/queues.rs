//! The queues of one NIC that a rank owns (AF_XDP), and the program that redirects the frames for its ports to them.
//!
//! The NIC has one such program, and each queue one socket: the ports of a rank share them, each with a seat that
//! defines its frames. Frames lie in a queue in the order of their arrival; a seat takes those in front that are its
//! own, and leaves those of another to be taken next: so all ports that share queues must be polled in turns. Frames of
//! no seat pass to the kernel, and so do those that arrive by queues without a socket of ours. With the last seat, also
//! after kill -9, the program is removed. Used by `by_queues`.

use super::Refused;
use super::datagrams::Mouth;
use hawser_os::During;
use hawser_os::ebpf::{Pattern, redirect_if};
use hawser_os::interfaces::Interface;
use hawser_os::xdp::{self, Link, Program, Sockets};
use hawser_os::xsk::{self, Shape, Socket};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Chunks for received frames that were not taken, and for frames to send: as many frames of 1500 bytes as a run of
/// `packet`, twice. All seats share them, and each counts on all, because a peer is reached by one port; should many be
/// reached by several at once, the drops are counted and the frames retransmitted. Twice as many chunks would make a
/// message of one byte 0.3 us slower, because the kernel uses them in turns
/// (docs/measurements/2026-11-23-ip-only-networks.md).
const CHUNKS: u32 = 128;
/// Further chunks for a NIC that fills them itself: as many frames as its own queue usually holds.
const SPARE: u32 = 1024;
/// Maximum queues whose frames are copied. Only the first is used of those that the NIC itself would fill: all other
/// traffic of such a queue, TCP too, has to be copied out of our chunks.
const QUEUES: u32 = 8;
/// Bytes of a chunk: two to a page if a frame fits into one, otherwise a page. (Longer chunks need huge pages, which
/// few systems have reserved.)
const CHUNK: u32 = 2048;
const LONG_CHUNK: u32 = 4096;
/// Maximum chunks that one `receive` empties of each queue.
const RECEIVE_MAX: usize = 64;
/// Time within which a queue is free after its socket was closed: the kernel leaves that to a worker of its own
/// (xp_put_pool).
const FREED_WITHIN: Duration = Duration::from_millis(200);
const AGAIN_AFTER: Duration = Duration::from_millis(1);
/// Bytes of Ethernet's header, which the MTU does not count, and the offset of its type.
const ETHER_HEAD: usize = 14;
const TYPE: usize = 12;

/// The queues, as the module describes them. Clones share them.
#[derive(Clone)]
pub struct Queues(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// The first seat has left a frame to others, which poll only then. All seats poll in turns, so it orders nothing.
    left: AtomicBool,
}

struct State {
    /// Dropped first: no frame is redirected to a socket that is gone.
    link: Link,
    sockets: Sockets,
    /// The sockets of the queues from 0 on; the first one sends.
    queues: Vec<Socket>,
    /// The EtherType of each seat, and the pattern of its frames.
    seats: Vec<(u16, Pattern)>,
    /// Chunks of the longest frame.
    parts: usize,
    /// The frames that were put will be sent later, or never: the NIC is down.
    stuck: bool,
    /// Frames were put for which the NIC had no space.
    waiting: bool,
}

/// The place of one port at a NIC's queues.
pub struct Seat {
    queues: Queues,
    ether_type: u16,
    is_first: bool,
}

impl Queues {
    /// Returns the id of the XDP program that is attached to the NIC, if any.
    pub fn owner(interface: &Interface) -> io::Result<Option<u32>> {
        xdp::attached(interface.index)
    }

    /// Takes the queues, without any seat: nothing is redirected yet.
    pub fn open(interface: &Interface) -> io::Result<Queues> {
        if let Some(id) = Queues::owner(interface)? {
            let text = format!("the NIC has another program of XDP (id {id}; `bpftool prog show id {id}` tells whose)");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let sockets = Sockets::new(QUEUES)?;
        let program = Program::load(&redirect_if(&[], sockets.as_fd()))?;
        let opened = with_zero_copy(interface, &program).or_else(|_| with_copies(interface, &program));
        let (link, queues) = opened.during(|| format!("taking queues of {}", interface.name))?;
        queues.iter().zip(0..).try_for_each(|(queue, nth)| sockets.set(nth, queue.as_fd()))?;
        let parts = longest(interface).div_ceil(xsk::one_chunk(chunk(interface)));
        let state = State { link, sockets, queues, seats: Vec::new(), parts, stuck: false, waiting: false };
        Ok(Queues(Arc::new(Shared { state: Mutex::new(state), left: AtomicBool::new(false) })))
    }

    /// Takes a seat for frames of an EtherType that has none yet, and among them for those of this pattern.
    pub fn seat(&self, ether_type: u16, pattern: Pattern) -> io::Result<Seat> {
        let mut state = self.lock();
        if state.has_seat(ether_type) {
            let text = format!("the rank has a port of XDP for frames of EtherType {ether_type:#06x} on this NIC");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        state.seats.push((ether_type, pattern));
        if let Err(error) = state.aim() {
            state.seats.pop();
            return Err(error);
        }
        let is_first = state.is_first(ether_type);
        Ok(Seat { queues: self.clone(), ether_type, is_first })
    }

    /// Locks the state. Never hold it while anything else is polled: only one port works at a time, and none from
    /// inside another.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_seat(&self, ether_type: u16) -> bool {
        self.seats.iter().any(|seat| seat.0 == ether_type)
    }

    /// Returns whether this is the first of several seats: it counts and polls what all of them share, so that this is
    /// done once.
    fn is_first(&self, ether_type: u16) -> bool {
        self.seats.first().is_some_and(|seat| seat.0 == ether_type)
    }

    /// Makes the program redirect the frames of the present seats.
    fn aim(&self) -> io::Result<()> {
        let patterns: Vec<Pattern> = self.seats.iter().map(|(_, pattern)| pattern.clone()).collect();
        self.link.replace(&Program::load(&redirect_if(&patterns, self.sockets.as_fd()))?)
    }

    /// Begins a send. Frames that were put while the NIC was down would be sent later, whatever is reported now:
    /// nothing is put behind them.
    fn begin(&mut self) -> Result<(), Refused> {
        if self.stuck { self.push() } else { Ok(()) }
    }

    /// Sends the frames that were put.
    fn push(&mut self) -> Result<(), Refused> {
        let pushed = self.queues[0].push();
        self.stuck = pushed.is_err();
        self.waiting = self.queues[0].is_waiting();
        pushed.map_err(|error| Refused::of(&error))
    }
}

impl Seat {
    /// Returns the bytes of frames of at most `frame_max` bytes that are kept, if all are this seat's.
    pub fn room(&self, frame_max: usize) -> usize {
        CHUNKS as usize / self.queues.lock().parts * frame_max
    }

    /// Hands over each received frame, and sends on those for which the NIC had no space. Returns how many were
    /// received.
    #[inline]
    pub fn receive(&mut self, take: impl FnMut(&[u8])) -> usize {
        // partner: `look`
        if self.is_first || self.queues.0.left.load(Relaxed) { self.look(take) } else { 0 }
    }

    fn look(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let mut state = self.queues.lock();
        if state.waiting {
            let _ = state.push();
        }
        let ours = self.ether_type;
        self.is_first = state.is_first(ours);
        let State { queues, seats, .. } = &mut *state;
        let (mut count, left) = (0, Cell::new(false));
        let is_wanted = |frame: &[u8]| {
            let ether_type = ether_type(frame);
            let is_others = ether_type != ours && seats.iter().any(|seat| seat.0 == ether_type);
            left.set(left.get() | is_others);
            !is_others
        };
        for queue in queues {
            queue.receive_while(RECEIVE_MAX, is_wanted, |frame| {
                // Frames of a seat that is gone may be left.
                if ether_type(frame) == ours {
                    take(frame);
                    count += 1;
                }
            });
        }
        if self.is_first {
            self.queues.0.left.store(left.get(), Relaxed); // partner: `receive`
        }
        count
    }

    /// Calls `each` with the descriptors to sleep on.
    pub fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        let state = self.queues.lock();
        let queues = state.queues.iter().filter(|_| state.is_first(self.ether_type));
        queues.for_each(|queue| each(queue.as_fd()));
    }

    /// Returns the number of frames for which there was no space.
    pub fn missed(&self) -> u64 {
        let state = self.queues.lock();
        state.queues.iter().filter(|_| state.is_first(self.ether_type)).map(Socket::missed).sum()
    }

    pub fn take_error(&self) {
        self.queues.lock().queues.iter().for_each(|queue| _ = queue.take_error());
    }

    /// Returns the text of `FramePort::manner`.
    pub fn manner(&self) -> String {
        let state = self.queues.lock();
        let by = if state.link.is_native() { "the driver, without copies" } else { "the kernel, with copies" };
        format!("a program run by {by}, on the first {} of its queues", state.queues.len())
    }
}

impl Mouth for Seat {
    #[inline]
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), Refused> {
        let mut state = self.queues.lock();
        state.begin()?;
        let is_put = state.queues[0].put(head, frame);
        // The next frame reports that the NIC went down: this one may still be sent.
        let _ = state.push();
        if is_put { Ok(()) } else { Err(Refused::Full) }
    }

    fn send_run<'a>(&mut self, mut frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, Refused> {
        let mut state = self.queues.lock();
        state.begin()?;
        let queue = &mut state.queues[0];
        let mut put = 0;
        while let Some([head, frame]) = frames.next()
            && queue.put(head, frame)
        {
            put += 1;
        }
        let _ = state.push();
        if put > 0 { Ok(put) } else { Err(Refused::Full) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.queues.lock();
        state.seats.retain(|seat| seat.0 != self.ether_type);
        // Another seat may be the first now.
        self.queues.0.left.store(true, Relaxed); // partner: `receive`
        // The last seat removes the program. Other frames that are still redirected are dropped by the seat that finds
        // them.
        if !state.seats.is_empty() {
            let _ = state.aim();
        }
    }
}

fn ether_type(frame: &[u8]) -> u16 {
    frame.get(TYPE..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// Opens the first of the NIC's queues, which the NIC fills itself, with a program that its driver runs.
fn with_zero_copy(interface: &Interface, program: &Program) -> io::Result<(Link, Vec<Socket>)> {
    // First, because it shows whether the driver can: one that cannot is left as it is.
    let queue = queue(interface, 0, true)?;
    Ok((program.attach(interface.index, true)?, vec![queue]))
}

/// Opens all of the NIC's queues, with a program that the kernel runs. A driver may run one and have no zero-copy, but
/// that gained nothing that was worth its cost: on a veth it disables the peer's segmentation offload, and costs three
/// quarters of TCP's rate (docs/measurements/2026-11-23-xdp.md).
fn with_copies(interface: &Interface, program: &Program) -> io::Result<(Link, Vec<Socket>)> {
    let link = program.attach(interface.index, false)?;
    let mut queues = vec![queue(interface, 0, false)?];
    queues.extend((1..QUEUES).map_while(|nth| queue(interface, nth, false).ok()));
    Ok((link, queues))
}

fn queue(interface: &Interface, nth: u32, zero_copy: bool) -> io::Result<Socket> {
    let (spare, send) = (if zero_copy { SPARE } else { 0 }, if nth == 0 { CHUNKS } else { 0 });
    let shape = Shape { chunk_bytes: chunk(interface), receive: CHUNKS, spare, send };
    let in_parts = longest(interface) > xsk::one_chunk(chunk(interface));
    let begin = Instant::now();
    loop {
        match Socket::open(interface.index, nth, shape, zero_copy, in_parts) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && begin.elapsed() < FREED_WITHIN => {
                thread::sleep(AGAIN_AFTER);
            }
            opened => return opened,
        }
    }
}

/// Returns the bytes of the longest frame that may arrive, Ethernet's header included.
fn longest(interface: &Interface) -> usize {
    ETHER_HEAD + interface.mtu
}

fn chunk(interface: &Interface) -> u32 {
    if longest(interface) > xsk::one_chunk(CHUNK) { LONG_CHUNK } else { CHUNK }
}

/// Returns the verdict of a program of these patterns on a frame. Without the privilege it prints that, and nothing is
/// tested.
#[cfg(test)]
pub(super) fn tried(any: &[Pattern]) -> Option<impl Fn(&[u8]) -> u32 + use<>> {
    let made = || {
        let (sockets, socket) = (Sockets::new(1)?, xsk::bare()?);
        sockets.set(0, socket.as_fd())?;
        io::Result::Ok((Program::load(&redirect_if(any, sockets.as_fd()))?, socket))
    };
    match made() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            println!("NOT TESTED: {error}");
            None
        }
        made => {
            let (program, socket) = made.unwrap();
            Some(move |frame: &[u8]| {
                // Keep the socket as long as the program is tried.
                let _ = &socket;
                program.try_on(frame).unwrap()
            })
        }
    }
}
