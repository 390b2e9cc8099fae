//! Times the ways by which one process passes bytes to another: two copies through shared memory, which run at the same
//! time on two cores, the first one by registers or by the processor's string instruction; and one copy by
//! process_vm_readv(2). Which is fastest depends on the processor, its caches and the kernel, so only two processes
//! that do all of them can tell.
//!
//! Two children of the caller do it, since ranks are such children too, and may not copy from each other where Yama,
//! seccomp or namespaces forbid it. Nothing waits for ever: if the kernel gives the children no cores in time, nothing
//! counts as timed. Used by `host`, which publishes the result (`job::HostFacts`), and by `bench`'s doctor; uses
//! `process_vm`, `cpus`, `memfd`.

use crate::cpus::{self, TopologyLevel};
use crate::map::{self, PAGE};
use crate::{clock, errno, memfd, process_vm};
use hawser_base::{Region, UserMem, copy};
use std::hint;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The ways by which messages go, in turn. Their numbers are their places among the times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Two copies through shared memory, both by registers.
    Registers,
    /// The same, but the source copies by the string instruction (`copy::by_string`).
    String,
    ProcessVm,
}

const WAYS: [Way; 3] = [Way::Registers, Way::String, Way::ProcessVm];

/// The length of a message, in bytes. It fits a second-level cache.
pub const MESSAGE_BYTES: usize = 128 << 10;
/// The length of a chunk, and the number of chunks in shared memory, which are filled in turn: those of a pool of
/// `dev-shm`. Fewer of them would stay in the second-level cache of one core or the other, which favours registers.
const CHUNK_BYTES: usize = 8 << 10;
const CHUNKS: usize = 128;
const CHUNKS_OF_MESSAGE: u32 = (MESSAGE_BYTES / CHUNK_BYTES) as u32;

/// The number of messages by each way; the fastest one counts, because other processes can only slow one down.
const ROUNDS: u32 = 16;
/// The time, in ns, that all timed messages may take: about a millisecond if nothing else runs.
const TIMED_NS: u64 = 20_000_000;
/// The time, in ns, for which the source exists at most, and for which the reader waits for it. Other programs may keep
/// both from their cores.
const LIFE_NS: u64 = 2_000_000_000;
/// The number of turns of a waiting loop between two looks at the clock.
const TURNS_PER_CLOCK: u32 = 1024;

/// The places of the shared words. The first four are counters that one child increments and the other one waits for,
/// each in a pair of cache lines of its own.
const BEGUN: usize = 0; // messages that the source has begun
const FILLED: usize = 128; // chunks that the source has filled
const EMPTIED: usize = 256; // chunks that the reader has emptied
const DONE: usize = 384; // messages that the reader has whole
const SOURCE_ADDRESS: usize = 512;
const SOURCE_PID: usize = 520;
const TIMES_NS: usize = 640; // of the fastest message by each of `WAYS`
const CALL_NS: usize = 664; // not 0 if the reader may copy from the source
const IS_OVER: usize = 768; // set when the source may end
const FIRST_CHUNK: usize = 4096;
const REGION_BYTES: usize = FIRST_CHUNK + CHUNKS * CHUNK_BYTES;

/// The times for a message of `MESSAGE_BYTES` from one process to another, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyTimes {
    /// By two copies through shared memory, both by registers.
    pub by_registers_ns: u64,
    /// By two copies through shared memory, the first one by the string instruction; 0 without that instruction.
    pub by_string_ns: u64,
    /// By one copy with process_vm_readv.
    pub process_vm_ns: u64,
    /// The time for one byte by process_vm_readv, that is the cost of the call; 0 if it is forbidden.
    pub call_ns: u64,
}

/// Returns whether a process of this user may copy from another process that has called `process_vm::allow_peers`.
/// Calls fork: only for processes of one thread, such as the launcher.
pub fn is_allowed_between_children() -> bool {
    measure(1).call_ns > 0
}

/// Times all ways. Times that were not measured, because copying is forbidden or for want of a second core, of memory
/// or of time, are 0. Calls fork: only for processes of one thread, such as the launcher.
pub fn measure(cores: usize) -> CopyTimes {
    let rounds = if cores > 1 { ROUNDS } else { 0 };
    let Some(shared) = race(rounds) else { return CopyTimes::default() };
    let call_ns = shared.u64(CALL_NS).load(Relaxed);
    if shared.u32(DONE).load(Relaxed) < messages(rounds) {
        return CopyTimes { call_ns, ..CopyTimes::default() };
    }
    let time = |way: Way| shared.u64(time_at(way)).load(Relaxed);
    CopyTimes {
        by_registers_ns: time(Way::Registers),
        by_string_ns: if copy::has_string_copies() { time(Way::String) } else { 0 },
        process_vm_ns: if call_ns > 0 { time(Way::ProcessVm) } else { 0 },
        call_ns,
    }
}

/// Runs the two children with `rounds` messages by each way. Returns the shared words, or None if that is impossible.
fn race(rounds: u32) -> Option<Region> {
    let file = memfd::create(c"hawser-copies", REGION_BYTES as u64).ok()?;
    let shared = map::shared(file.as_fd(), 0, REGION_BYTES).ok()?;
    // The kernel would leave both on one core for a while, where each copy waits for the other process's time slice.
    // If they cannot be bound, the times may be those of one core, and copying is still allowed.
    let cores = if rounds > 0 { two_cores() } else { None };
    let bind = |to: usize| cores.as_ref().map(|cores| cpus::bind(&cores[to]));
    let source = child(|| {
        let _ = bind(0);
        run_source(&shared, rounds)
    })?;
    let reader = child(|| {
        let _ = bind(1);
        run_reader(&shared, rounds)
    });
    let has_run = reader.is_some_and(|reader| reap(reader) == Some(0));
    shared.u32(IS_OVER).store(1, Release);
    reap(source);
    has_run.then_some(shared)
}

/// Returns the hardware threads of two cores, or two hardware threads if this process may use only one core; None if it
/// may use only one of them.
fn two_cores() -> Option<[Vec<usize>; 2]> {
    let cores = cpus::domains(TopologyLevel::Core).ok()?;
    let threads = || cpus::allowed().ok().map(|threads| threads.into_iter().map(|thread| vec![thread]).collect());
    let units = if cores.len() > 1 { cores } else { threads()? };
    units.into_iter().take(2).collect::<Vec<_>>().try_into().ok()
}

/// Starts a child that runs `run` and exits with code 0 if that succeeds.
fn child(run: impl FnOnce() -> io::Result<()>) -> Option<i32> {
    // SAFETY: the caller's process has one thread, so the child may do everything that its parent may.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let has_succeeded = catch_unwind(AssertUnwindSafe(run)).is_ok_and(|result| result.is_ok());
        // SAFETY: leaves the child at once, running nothing of its parent's.
        unsafe { libc::_exit(if has_succeeded { 0 } else { 1 }) }
    }
    (pid > 0).then_some(pid)
}

fn reap(pid: i32) -> Option<i32> {
    let mut status = -1;
    // SAFETY: a child of ours and a valid place for its status.
    errno::restarted(|| unsafe { libc::waitpid(pid, &mut status, 0) }).ok()?;
    Some(status)
}

/// Sends the messages, and exists until the reader has ended.
fn run_source(shared: &Region, rounds: u32) -> io::Result<()> {
    process_vm::allow_peers();
    let mut memory = buffer(1);
    let message = placed(&mut memory);
    shared.u64(SOURCE_ADDRESS).store(message.as_ptr().addr() as u64, Relaxed);
    if rounds > 0 {
        touch_chunks(shared);
    }
    shared.u32(SOURCE_PID).store(crate::host::pid() as u32, Release);
    let timed_until_ns = clock::now_ns() + TIMED_NS;
    // A time that was not measured is no error.
    let _ = send_messages(shared, rounds, message, timed_until_ns);
    wait(clock::now_ns() + LIFE_NS, || shared.u32(IS_OVER).load(Acquire) != 0)
}

/// Sends the messages, and records the fastest one of each way.
fn send_messages(shared: &Region, rounds: u32, message: &mut [u8], until_ns: u64) -> io::Result<()> {
    let mut filled = 0;
    for number in 1..=messages(rounds) {
        // The program has just written the message, as is usual.
        message.fill(number as u8);
        let way = way_of(number);
        let copy = if way == Way::String { copy::by_string } else { copy::long };
        let start_ns = clock::now_ns();
        shared.u32(BEGUN).store(number, Release);
        if way != Way::ProcessVm {
            for bytes in message.chunks(CHUNK_BYTES) {
                wait(until_ns, || filled - shared.u32(EMPTIED).load(Acquire) < CHUNKS as u32)?;
                let slot = shared.bytes(chunk_at(filled), CHUNK_BYTES);
                // SAFETY: both have CHUNK_BYTES; the reader reads the chunk only after FILLED says so.
                unsafe { copy(slot.as_ptr(), bytes.as_ptr(), CHUNK_BYTES) };
                filled += 1;
                shared.u32(FILLED).store(filled, Release);
            }
        }
        wait(until_ns, || shared.u32(DONE).load(Acquire) == number)?;
        let best = shared.u64(time_at(way));
        let (took_ns, known_ns) = (clock::now_ns() - start_ns, best.load(Relaxed));
        best.store(if known_ns == 0 { took_ns } else { known_ns.min(took_ns) }, Relaxed);
    }
    Ok(())
}

/// Receives the messages. An error is a source that is gone.
fn run_reader(shared: &Region, rounds: u32) -> io::Result<()> {
    let mut memory = buffer(2);
    let message = placed(&mut memory);
    // SAFETY: the memory outlives the view, and nothing else uses it meanwhile.
    let into = unsafe { UserMem::new(message.as_mut_ptr(), MESSAGE_BYTES) };
    wait(clock::now_ns() + LIFE_NS, || shared.u32(SOURCE_PID).load(Acquire) != 0)?;
    let source = (shared.u32(SOURCE_PID).load(Relaxed) as i32, shared.u64(SOURCE_ADDRESS).load(Relaxed));
    if rounds > 0 {
        touch_chunks(shared);
    }
    let timed_until_ns = clock::now_ns() + TIMED_NS;
    let one_byte = || {
        let start_ns = clock::now_ns();
        process_vm::read(source.0, source.1, into.slice(0, 1)).map(|()| (clock::now_ns() - start_ns).max(1))
    };
    let calls: io::Result<Vec<u64>> = (0..3).map(|_| one_byte()).collect();
    let call_ns = calls.ok().and_then(|calls| calls.into_iter().min());
    shared.u64(CALL_NS).store(call_ns.unwrap_or(0), Relaxed);
    // A time that was not measured is no error.
    let _ = receive_messages(shared, rounds, call_ns.map(|_| source), into, timed_until_ns);
    Ok(())
}

/// Receives the messages of the process and address `source` into `into`; `source` is None if copying is forbidden.
fn receive_messages(
    shared: &Region,
    rounds: u32,
    source: Option<(i32, u64)>,
    into: UserMem,
    until_ns: u64,
) -> io::Result<()> {
    let mut emptied = 0;
    for number in 1..=messages(rounds) {
        wait(until_ns, || shared.u32(BEGUN).load(Acquire) == number)?;
        if way_of(number) != Way::ProcessVm {
            for chunk in 0..CHUNKS_OF_MESSAGE as usize {
                wait(until_ns, || shared.u32(FILLED).load(Acquire) > emptied)?;
                let slot = shared.bytes(chunk_at(emptied), CHUNK_BYTES);
                let to = into.slice(chunk * CHUNK_BYTES, CHUNK_BYTES);
                // SAFETY: both have CHUNK_BYTES; the source fills the chunk again only after EMPTIED says so.
                unsafe { copy::long(to.as_ptr(), slot.as_ptr(), CHUNK_BYTES) };
                emptied += 1;
                shared.u32(EMPTIED).store(emptied, Release);
            }
        } else if let Some((pid, from)) = source {
            process_vm::read(pid, from, into)?;
        }
        shared.u32(DONE).store(number, Release);
    }
    Ok(())
}

/// Returns the number of messages in `rounds` rounds.
const fn messages(rounds: u32) -> u32 {
    rounds * WAYS.len() as u32
}

/// Returns the way by which message `number` goes, counted from 1. The order is reversed in every second round, because
/// a message finds the caches as the one before has left them.
fn way_of(number: u32) -> Way {
    let (round, place) = ((number - 1) as usize / WAYS.len(), (number - 1) as usize % WAYS.len());
    let place = if round.is_multiple_of(2) { place } else { WAYS.len() - 1 - place };
    WAYS[place]
}

/// Returns memory for a message, filled with `byte`, and for its place in it.
fn buffer(byte: u8) -> Vec<u8> {
    vec![byte; MESSAGE_BYTES + 2 * PAGE]
}

/// Returns the message's part of `memory`: 16 bytes behind the beginning of a page, as malloc places large buffers.
/// Some processors copy strings slowly from there to a chunk, which begins with a page.
fn placed(memory: &mut [u8]) -> &mut [u8] {
    let first = memory.as_ptr().align_offset(PAGE) + 16;
    &mut memory[first..first + MESSAGE_BYTES]
}

/// Returns the place of a way's time in the shared region.
fn time_at(way: Way) -> usize {
    TIMES_NS + way as usize * size_of::<u64>()
}

/// Returns the place of the chunk that is filled after `filled` others.
fn chunk_at(filled: u32) -> usize {
    FIRST_CHUNK + filled as usize % CHUNKS * CHUNK_BYTES
}

/// Maps the pages of all chunks into this process, so that no message waits for a page fault.
fn touch_chunks(shared: &Region) {
    for at in (FIRST_CHUNK..REGION_BYTES).step_by(PAGE) {
        shared.u32(at).fetch_add(0, Relaxed);
    }
}

/// Waits, spinning, until `is_true`; an error if that takes until `until_ns`.
fn wait(until_ns: u64, is_true: impl Fn() -> bool) -> io::Result<()> {
    loop {
        for _ in 0..TURNS_PER_CLOCK {
            if is_true() {
                return Ok(());
            }
            hint::spin_loop();
        }
        if clock::now_ns() > until_ns {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_are_timed_where_they_are_allowed() {
        let start_ns = clock::now_ns();
        let times = measure(2);
        println!("{times:?}");
        assert_eq!(times.process_vm_ns > 0, times.by_registers_ns > 0 && times.call_ns > 0, "{times:?}");
        assert!(times.by_string_ns == 0 || times.by_registers_ns > 0 && copy::has_string_copies(), "{times:?}");
        assert_eq!(is_allowed_between_children(), times.call_ns > 0);
        let untimed = measure(1);
        assert_eq!(untimed, CopyTimes { call_ns: untimed.call_ns, ..CopyTimes::default() });
        assert!(clock::now_ns() - start_ns < 10_000_000_000, "no wait lasts");
    }
}
