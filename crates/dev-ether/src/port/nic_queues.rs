//! The queues of one NIC that a rank owns (AF_XDP), and the program that redirects the frames for its ports to them.
//!
//! A NIC has only one such program, and each queue has only one socket. So the ports of a rank share them: each port
//! is a queue user, and defines its own frames. Frames lie in a queue in the order of their arrival. A queue user
//! takes frames from the front until the next one belongs to another queue user, which must take it: so all ports
//! that share queues must be polled in turn. Frames of no queue user pass to the kernel, and so do frames that arrive
//! by queues without a socket of ours. When the last queue user is gone, even after kill -9, the program is removed.
//! Used by `xsk_port`.

use super::FrameSendError;
use super::raw_udp::FrameTransmitter;
use hawser_os::ErrorContext;
use hawser_os::ebpf::{FrameMatch, redirect_matching};
use hawser_os::interfaces::Interface;
use hawser_os::xdp::{self, XdpLink, XdpProgram, XskMap};
use hawser_os::xsk::{self, UmemConfig, XskSocket};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The number of chunks for received frames that were not taken yet, and the number of chunks for frames to send:
/// twice the frames of a run of `packet`, with an MTU of 1500. All queue users share them, but each reports all of
/// them as its own receive buffer, because a peer is reached by one port only. If many peers send to several ports at
/// once, frames are dropped, counted and retransmitted. With twice as many chunks for received frames a message of
/// one byte takes 0.2 us longer, because the kernel uses all chunks in turn
/// (docs/measurements/2026-11-23-ip-only-networks.md).
const CHUNKS: u32 = 128;
/// The number of further chunks for a NIC that writes into the chunks itself (zero-copy): the number of frames that a
/// queue of a NIC usually holds.
const EXTRA_CHUNKS: u32 = 1024;
/// Maximum queues that are used if the kernel copies the frames. If the NIC writes into the chunks itself
/// (zero-copy), only the first queue is used: all other traffic of that queue, TCP too, has to be copied out of our
/// chunks.
const QUEUES_MAX: u32 = 8;
/// Bytes of a chunk. A page has two chunks if a frame fits into half a page, otherwise one. (Longer chunks need huge
/// pages, which few systems have reserved.)
const CHUNK_BYTES: u32 = 2048;
const LONG_CHUNK_BYTES: u32 = 4096;
/// Maximum chunks that one `receive` empties of each queue.
const RECEIVE_MAX: usize = 64;
/// Maximum time to wait for a queue whose socket was closed: the kernel leaves the release to a worker of its own
/// (xp_put_pool).
const FREE_TIMEOUT: Duration = Duration::from_millis(200);
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
/// Bytes of Ethernet's header, which the MTU does not count, and the offset of its type.
const ETHER_HEAD_BYTES: usize = 14;
const TYPE: usize = 12;

/// The queues, as the module describes them. Clones share them.
#[derive(Clone)]
pub struct NicQueues(Arc<SharedQueues>);

struct SharedQueues {
    state: Mutex<QueueState>,
    /// Whether the first queue user has left a frame to other queue users, which poll only if it has. All of them
    /// poll in turn, so this flag need not order other memory accesses.
    has_left_frames: AtomicBool,
}

struct QueueState {
    /// The link of the program. It is dropped first, so that no frame is redirected to a socket that is gone.
    link: XdpLink,
    sockets: XskMap,
    /// The sockets of the queues from 0 on; the first one sends.
    queues: Vec<XskSocket>,
    /// The EtherType of each queue user, and the pattern of its frames.
    users: Vec<(u16, FrameMatch)>,
    /// Chunks of the longest frame.
    chunks_per_frame: usize,
    /// Whether frames that were enqueued may be sent later or never, because the NIC is down.
    is_stuck: bool,
    /// Whether frames were enqueued for which the NIC had no space.
    has_waiting: bool,
}

/// The use of a NIC's queues by one port.
pub struct QueueUser {
    queues: NicQueues,
    ether_type: u16,
    is_first: bool,
}

impl NicQueues {
    /// Returns the id of the XDP program that is attached to the NIC, if any.
    pub fn attached_program(interface: &Interface) -> io::Result<Option<u32>> {
        xdp::attached_program_id(interface.index)
    }

    /// Opens sockets at the NIC's queues. There is no queue user yet, so nothing is redirected.
    pub fn open(interface: &Interface) -> io::Result<NicQueues> {
        if let Some(id) = NicQueues::attached_program(interface)? {
            let text = format!("the NIC has another XDP program (id {id}; see `bpftool prog show id {id}`)");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let sockets = XskMap::new(QUEUES_MAX)?;
        let program = XdpProgram::load(&redirect_matching(&[], sockets.as_fd()))?;
        let opened = with_zero_copy(interface, &program).or_else(|_| with_copies(interface, &program));
        let (link, queues) = opened.context(|| format!("opening queues of {}", interface.name))?;
        queues.iter().zip(0..).try_for_each(|(queue, nth)| sockets.set(nth, queue.as_fd()))?;
        let chunks_per_frame = frame_max_bytes(interface).div_ceil(xsk::longest_in_one_chunk(chunk_bytes(interface)));
        let state = QueueState {
            link,
            sockets,
            queues,
            users: Vec::new(),
            chunks_per_frame,
            is_stuck: false,
            has_waiting: false,
        };
        Ok(NicQueues(Arc::new(SharedQueues { state: Mutex::new(state), has_left_frames: AtomicBool::new(false) })))
    }

    /// Adds a queue user for the frames of this EtherType that match this pattern. An error if the EtherType already
    /// has a queue user.
    pub fn add_user(&self, ether_type: u16, pattern: FrameMatch) -> io::Result<QueueUser> {
        let mut state = self.lock();
        if state.has_user(ether_type) {
            let text = format!("the rank already has an XDP port for EtherType {ether_type:#06x} on this NIC");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        state.users.push((ether_type, pattern));
        if let Err(error) = state.load_program() {
            state.users.pop();
            return Err(error);
        }
        let is_first = state.is_first(ether_type);
        Ok(QueueUser { queues: self.clone(), ether_type, is_first })
    }

    /// Locks the state. Never hold the lock while anything else is polled: only one port works at a time, and no port
    /// is used from inside another.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn has_user(&self, ether_type: u16) -> bool {
        self.users.iter().any(|user| user.0 == ether_type)
    }

    /// Returns whether the queue user with this EtherType is the first one. Only the first one reports the
    /// drops and descriptors that all of them share, so that they are reported once.
    fn is_first(&self, ether_type: u16) -> bool {
        self.users.first().is_some_and(|user| user.0 == ether_type)
    }

    /// Makes the program redirect the frames of the present queue users.
    fn load_program(&self) -> io::Result<()> {
        let patterns: Vec<FrameMatch> = self.users.iter().map(|(_, pattern)| pattern.clone()).collect();
        self.link.replace(&XdpProgram::load(&redirect_matching(&patterns, self.sockets.as_fd()))?)
    }

    /// Begins a send. If frames are stuck because the NIC was down, tries to send them, and returns an error if the
    /// NIC is still down: a frame that was enqueued behind them would be sent later, although it was reported as not
    /// sent.
    fn begin_send(&mut self) -> Result<(), FrameSendError> {
        if self.is_stuck { self.kick() } else { Ok(()) }
    }

    /// Makes the NIC send the enqueued frames.
    fn kick(&mut self) -> Result<(), FrameSendError> {
        let result = self.queues[0].flush();
        self.is_stuck = result.is_err();
        self.has_waiting = self.queues[0].has_pending();
        result.map_err(|error| FrameSendError::from_io(&error))
    }
}

impl QueueUser {
    /// Returns how many bytes, in frames of at most `frame_max` bytes, are kept if all frames are this queue user's.
    pub fn receive_buffer_bytes(&self, frame_max: usize) -> usize {
        CHUNKS as usize / self.queues.lock().chunks_per_frame * frame_max
    }

    /// Passes received frames to `take`, and sends enqueued frames for which the NIC had no space. Returns how many
    /// frames were received.
    #[inline]
    pub fn receive(&mut self, take: impl FnMut(&[u8])) -> usize {
        // partner: `poll`
        if self.is_first || self.queues.0.has_left_frames.load(Relaxed) { self.poll(take) } else { 0 }
    }

    fn poll(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let mut state = self.queues.lock();
        if state.has_waiting {
            let _ = state.kick();
        }
        let ours = self.ether_type;
        self.is_first = state.is_first(ours);
        let QueueState { queues, users, .. } = &mut *state;
        let (mut count, leaves_frames) = (0, Cell::new(false));
        let is_wanted = |frame: &[u8]| {
            let ether_type = ether_type(frame);
            let is_others = ether_type != ours && users.iter().any(|user| user.0 == ether_type);
            leaves_frames.set(leaves_frames.get() | is_others);
            !is_others
        };
        for queue in queues {
            queue.receive_while(RECEIVE_MAX, is_wanted, |frame| {
                // Drop frames of a queue user that is gone.
                if ether_type(frame) == ours {
                    take(frame);
                    count += 1;
                }
            });
        }
        if self.is_first {
            self.queues.0.has_left_frames.store(leaves_frames.get(), Relaxed); // partner: `receive`
        }
        count
    }

    /// Calls `each` with the descriptors to sleep on, if this is the first queue user.
    pub fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        let state = self.queues.lock();
        let queues = state.queues.iter().filter(|_| state.is_first(self.ether_type));
        queues.for_each(|queue| each(queue.as_fd()));
    }

    /// Returns the number of frames for which there was no space; 0 if this is not the first queue user.
    pub fn dropped_frames(&self) -> u64 {
        let state = self.queues.lock();
        state.queues.iter().filter(|_| state.is_first(self.ether_type)).map(XskSocket::drops).sum()
    }

    pub fn take_error(&self) {
        self.queues.lock().queues.iter().for_each(|queue| _ = queue.take_error());
    }

    /// Returns the text of `FramePort::details`.
    pub fn details(&self) -> String {
        let state = self.queues.lock();
        let by = if state.link.is_native() { "the driver, without copies" } else { "the kernel, with copies" };
        format!("an XDP program run by {by}, on the first {} of the NIC's queues", state.queues.len())
    }
}

impl FrameTransmitter for QueueUser {
    #[inline]
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), FrameSendError> {
        let mut state = self.queues.lock();
        state.begin_send()?;
        let is_put = state.queues[0].enqueue(head, frame);
        // Ignore an error: this frame may still be sent, and the next send reports that the NIC is down.
        let _ = state.kick();
        if is_put { Ok(()) } else { Err(FrameSendError::Full) }
    }

    fn send_run<'a>(&mut self, mut frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, FrameSendError> {
        let mut state = self.queues.lock();
        state.begin_send()?;
        let queue = &mut state.queues[0];
        let mut put = 0;
        while let Some([head, frame]) = frames.next()
            && queue.enqueue(head, frame)
        {
            put += 1;
        }
        let _ = state.kick();
        if put > 0 { Ok(put) } else { Err(FrameSendError::Full) }
    }
}

impl Drop for QueueUser {
    fn drop(&mut self) {
        let mut state = self.queues.lock();
        state.users.retain(|user| user.0 != self.ether_type);
        // Another queue user may be the first now.
        self.queues.0.has_left_frames.store(true, Relaxed); // partner: `receive`
        // The last queue user removes the program. Other frames that are still redirected are dropped by the queue
        // user that finds them.
        if !state.users.is_empty() {
            let _ = state.load_program();
        }
    }
}

fn ether_type(frame: &[u8]) -> u16 {
    frame.get(TYPE..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// Opens the first of the NIC's queues, which the NIC fills itself, with a program that its driver runs.
fn with_zero_copy(interface: &Interface, program: &XdpProgram) -> io::Result<(XdpLink, Vec<XskSocket>)> {
    // Open the queue first: that shows whether the driver has zero-copy. A driver without it is left unchanged.
    let queue = open_queue(interface, 0, true)?;
    Ok((program.attach(interface.index, true)?, vec![queue]))
}

/// Opens the NIC's queues, at most QUEUES_MAX, with a program that the kernel runs. A driver without zero-copy may be
/// able to run the program itself, but that gained nothing that was worth its cost: on a veth it disables the peer's
/// segmentation offload, which costs three quarters of TCP's rate (docs/measurements/2026-11-23-xdp.md).
fn with_copies(interface: &Interface, program: &XdpProgram) -> io::Result<(XdpLink, Vec<XskSocket>)> {
    let link = program.attach(interface.index, false)?;
    let mut queues = vec![open_queue(interface, 0, false)?];
    queues.extend((1..QUEUES_MAX).map_while(|nth| open_queue(interface, nth, false).ok()));
    Ok((link, queues))
}

fn open_queue(interface: &Interface, nth: u32, zero_copy: bool) -> io::Result<XskSocket> {
    let (spare, send) = (if zero_copy { EXTRA_CHUNKS } else { 0 }, if nth == 0 { CHUNKS } else { 0 });
    let shape = UmemConfig { chunk_bytes: chunk_bytes(interface), receive: CHUNKS, reserve: spare, send };
    let in_parts = frame_max_bytes(interface) > xsk::longest_in_one_chunk(chunk_bytes(interface));
    let begin = Instant::now();
    loop {
        match XskSocket::open(interface.index, nth, shape, zero_copy, in_parts) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && begin.elapsed() < FREE_TIMEOUT => {
                thread::sleep(RETRY_INTERVAL);
            }
            opened => return opened,
        }
    }
}

/// Returns the bytes of the longest frame that may arrive, Ethernet's header included.
fn frame_max_bytes(interface: &Interface) -> usize {
    ETHER_HEAD_BYTES + interface.mtu
}

fn chunk_bytes(interface: &Interface) -> u32 {
    if frame_max_bytes(interface) > xsk::longest_in_one_chunk(CHUNK_BYTES) { LONG_CHUNK_BYTES } else { CHUNK_BYTES }
}

/// Returns the verdict of a program of these patterns on a frame. Without the privilege it prints that, and nothing is
/// tested.
#[cfg(test)]
pub(super) fn test_program(any: &[FrameMatch]) -> Option<impl Fn(&[u8]) -> u32 + use<>> {
    let made = || {
        let (sockets, socket) = (XskMap::new(1)?, xsk::open_unbound()?);
        sockets.set(0, socket.as_fd())?;
        io::Result::Ok((XdpProgram::load(&redirect_matching(any, sockets.as_fd()))?, socket))
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
                program.test_run(frame).unwrap()
            })
        }
    }
}
