//! Waiting in shm steps: the protocol of `desk::flags` on a communicator's block.
//!
//! A rank that waits here keeps its other traffic moving: it polls its lanes every few turns, each turn while
//! operations of its own are pending, and always before it sleeps. No lane is held here at any time, since reductions
//! call the application's functions.
//!
//! Used by `run` and the fast paths of `whole` and `reductions`; uses `desk::host`, `transport::Idle`.

use crate::comm::Comm;
use crate::desk::exchange::Trade;
use crate::desk::flags::exchange::Exchange;
use crate::desk::flags::{Ended, Kind, Phase, Spec};
use crate::desk::host::{Host, Parts, mismatch};
use crate::process::Process;
use hawser_base::threads::{Visit, multiple};
use hawser_base::{Class, Error, Peer, Result};
use hawser_job::Waiting;
use hawser_p2p::counters::Counter;
use hawser_p2p::wait::NO_LANE;
use hawser_transport::wait_peer;

/// Runs a step of the whole communicator, and waits for its end.
#[inline]
pub fn step(
    process: &'static Process,
    comm: &Comm,
    host: &mut Host,
    call: &'static str,
    kind: Kind,
    parts: &Parts<'_>,
) -> Result<()> {
    resume(process, comm, host, call, Phase::Enter, &Host::spec(kind, parts), parts)
}

/// The same for a step that may have begun.
pub fn resume(
    process: &'static Process,
    comm: &Comm,
    host: &mut Host,
    call: &'static str,
    phase: Phase,
    spec: &Spec,
    parts: &Parts<'_>,
) -> Result<()> {
    complete(process, comm, host, call, phase, spec.bytes, |host, phase| host.poll(phase, spec, parts))
}

/// Runs an exchange of the whole communicator, which may have begun, and waits for its end.
#[inline]
pub fn exchange(
    process: &'static Process,
    comm: &Comm,
    host: &mut Host,
    call: &'static str,
    phase: Phase,
    step: &Exchange,
    trade: &mut impl Trade,
) -> Result<()> {
    complete(process, comm, host, call, phase, step.bytes, |host, phase| host.poll_exchange(phase, step, trade))
}

/// Polls a step of `bytes` to its end.
#[inline]
fn complete(
    process: &'static Process,
    comm: &Comm,
    host: &mut Host,
    call: &'static str,
    mut phase: Phase,
    bytes: u32,
    mut poll: impl FnMut(&mut Host, &mut Phase) -> Option<Ended>,
) -> Result<()> {
    if let Some(peer) = host.lost {
        return Err(dead(process, peer));
    }
    let mut ended = poll(host, &mut phase);
    if ended.is_none() && !process.patience().is_crowded() && !multiple() {
        // These turns precede the wait proper, whose first turns read the clock and look for other work, which takes as
        // long as a short step.
        for _ in 0..DIRECT_TURNS {
            std::hint::spin_loop();
            ended = poll(host, &mut phase);
            if ended.is_some() {
                break;
            }
        }
    }
    let ended = match ended {
        Some(ended) => ended,
        None => wait(process, comm, host, call, &mut phase, poll)?,
    };
    process.counters().add(Counter::HostSteps as usize, 1);
    match ended {
        Ended::Well => Ok(()),
        Ended::Mismatch => Err(mismatch(call, bytes)),
    }
}

/// Turns that poll the flags alone, with a core for every rank: the time of a short step.
const DIRECT_TURNS: u32 = 32;

/// The number of turns between two polls of the lanes: while operations of this rank are pending, and while none is;
/// with a core for every rank, and with more ranks than cores, where a turn is a yield.
const LOOK_SPINNING: [u32; 2] = [8, 64];
const LOOK_YIELDING: [u32; 2] = [1, 8];

#[inline(never)]
fn wait(
    process: &'static Process,
    comm: &Comm,
    host: &mut Host,
    call: &'static str,
    phase: &mut Phase,
    mut poll: impl FnMut(&mut Host, &mut Phase) -> Option<Ended>,
) -> Result<Ended> {
    let mut attending = None; // ends after `idle`, as in `wait_until`
    let mut idle = process.patience().idle();
    let mut every = u32::MAX;
    for turn in 0u32.. {
        if turn == 1 {
            attending.get_or_insert_with(|| process.lanes().attend());
            // The lanes are not polled earlier: with more ranks than cores one turn is all that a step takes.
            let period = if process.patience().is_crowded() { LOOK_YIELDING } else { LOOK_SPINNING };
            every = period[!process.has_operations() as usize];
        }
        let look = turn > 0 && turn.is_multiple_of(every) || idle.is_armed();
        if look && let Some(peer) = lost_member(process, comm, host) {
            host.lost = Some(peer);
            return Err(dead(process, peer));
        }
        if look && process.lanes().help(&mut idle, NO_LANE) {
            idle.moved();
        } else {
            idle.pause(|| waiting(comm, host, call));
        }
        if let Some(ended) = poll(host, phase) {
            return Ok(ended);
        }
    }
    unreachable!("a wait of {} turns", u32::MAX)
}

#[cold]
fn waiting(comm: &Comm, host: &Host, call: &'static str) -> Waiting {
    Waiting {
        call: call.to_owned(),
        communicator: comm.display_name(),
        peer: wait_peer_or_none(host.missing().and_then(|member| comm.group().peer(member as u32))),
        context: comm.context().0,
        ..Waiting::default()
    }
}

fn wait_peer_or_none(peer: Option<Peer>) -> hawser_job::WaitPeer {
    peer.map_or(hawser_job::WaitPeer::None, |peer| wait_peer(Some(peer)))
}

/// Returns a member that has ended before it had left this step.
fn lost_member(process: &Process, comm: &Comm, host: &Host) -> Option<Peer> {
    let lives = process.segment().lives();
    if !lives.has_any() {
        return None;
    }
    let has_ended = |member: usize| comm.group().peer(member as u32).is_some_and(|peer| lives.has_ended(peer));
    host.lost_among(has_ended).and_then(|member| comm.group().peer(member as u32))
}

#[cold]
fn dead(process: &Process, peer: Peer) -> Error {
    let text = format!("{} has ended and takes part in no collective of the communicator", process.told(peer));
    Error::new(Class::ProcAborted, text)
}

impl Process {
    /// Tells whether operations of this rank are pending on any lane; a lane that another thread attends to counts as
    /// such.
    fn has_operations(&'static self) -> bool {
        self.lanes().active().any(|lane| match self.lane(lane).visit(None) {
            Visit::Inside(lane) => !lane.core.engine.is_idle() || !lane.is_quiet() || !lane.is_drained(),
            Visit::Tended | Visit::Lately => true,
        })
    }
}
