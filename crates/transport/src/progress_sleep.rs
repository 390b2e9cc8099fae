//! The sleep of the progress thread until it is woken, and the handoff of pending operations to it by the application
//! (`job::progress_handoff`).
//!
//! If all ranks are on one host, the application arms the doorbell itself, which saves a wake-up of the progress
//! thread. Between hosts the progress thread is woken at once: it alone can sleep on the ports' descriptors, and
//! knows for how long. It has an epoll set of its own, so that a thread of the application that waits for the same
//! ports never misses a wake-up. Used by `p2p::progress_thread`; uses `job::progress_handoff`.

use crate::fabric::Fabric;
use hawser_base::Result;
use hawser_job::Doorbell;
use hawser_job::doorbell::WakeSources;
use hawser_job::progress_handoff::{self, APPLICATION, ARMED, ProgressHandoff, RUNNING};

/// A sleep with operations handed over ends by itself after this time, in ns, like every sleep (`wait_policy`).
const SLEEP_NS: u64 = 1_000_000_000;

/// The sleep of the progress thread. See the module.
pub struct ProgressSleep {
    doorbell: Doorbell,
    descriptor_sleep: Option<DescriptorSleep>,
}

/// The sources of a sleep, if a device signals arrivals by descriptors.
struct DescriptorSleep {
    /// Only the progress thread's wake socket, for a sleep in which the application polls for itself.
    disarmed_sources: WakeSources,
    armed_sources: WakeSources,
    fabric: &'static Fabric,
}

impl ProgressSleep {
    /// Makes the sleep of the progress thread; `doorbell` is that of the rank.
    pub fn new(doorbell: Doorbell, fabric: &'static Fabric) -> Result<ProgressSleep> {
        let descriptor_sleep = DescriptorSleep::of(&doorbell, fabric)?;
        Ok(ProgressSleep { doorbell, descriptor_sleep })
    }

    /// Called when the application leaves operations pending. Returns whether the caller must poll everything once
    /// more.
    pub fn hand_over(&self) -> bool {
        if self.descriptor_sleep.is_none() {
            return progress_handoff::hand_over(&self.doorbell);
        }
        if self.is_disarmed() {
            self.wake();
        }
        false
    }

    /// Called when the application itself polls for the pending operations from now on. Returns whether they had been
    /// handed over. Only for a process in which one thread of the application uses MPI.
    pub fn take_back(&self) -> bool {
        let was_armed = progress_handoff::take_back(&self.doorbell);
        if was_armed {
            self.doorbell.disarm();
        }
        was_armed
    }

    /// Sleeps in the progress thread until it is woken.
    pub fn sleep(&self) {
        let mut has_rung = false;
        loop {
            match ProgressHandoff::load(&self.doorbell) {
                RUNNING => return,
                APPLICATION if !has_rung => {
                    // A thread that took its work back may have found a lane locked by this thread, and gone to
                    // sleep.
                    self.doorbell.ring();
                    has_rung = true;
                }
                APPLICATION => self.sleep_once(APPLICATION),
                state => {
                    self.sleep_once(state);
                    self.doorbell.replace(ARMED, RUNNING);
                }
            }
        }
    }

    fn sleep_once(&self, state: u32) {
        let limit_ns = (state == ARMED).then_some(SLEEP_NS);
        match &self.descriptor_sleep {
            None => self.doorbell.wait(state, limit_ns),
            Some(descriptor_sleep) if state == APPLICATION => {
                self.doorbell.wait_as_progress_thread(&descriptor_sleep.disarmed_sources, state, limit_ns)
            }
            Some(descriptor_sleep) => {
                let due_ns = descriptor_sleep.fabric.before_sleep().unwrap_or(SLEEP_NS);
                self.doorbell.wait_as_progress_thread(
                    &descriptor_sleep.armed_sources,
                    state,
                    Some(due_ns.min(SLEEP_NS)),
                );
            }
        }
    }

    /// Returns whether the progress thread must poll.
    #[inline]
    pub fn is_running(&self) -> bool {
        ProgressHandoff::load(&self.doorbell) == RUNNING
    }

    /// Called when the progress thread has found nothing for a while. Returns whether it must poll everything once
    /// more before it sleeps; false if the operations were taken back.
    pub fn rearm(&self) -> bool {
        progress_handoff::rearm(&self.doorbell)
    }

    /// Called when the progress thread finds no pending operation; it is woken when the next one is handed over.
    /// Returns whether it must poll once more.
    pub fn disarm(&self) -> bool {
        self.doorbell.replace(RUNNING, APPLICATION)
    }

    /// Called when the progress thread has found something after all, after `disarm` if `was_disarmed`, otherwise
    /// after `rearm`.
    pub fn resume(&self, was_disarmed: bool) {
        self.doorbell.replace(if was_disarmed { APPLICATION } else { ARMED }, RUNNING);
    }

    /// Returns whether the application polls for itself, or nothing is pending.
    pub fn is_disarmed(&self) -> bool {
        ProgressHandoff::load(&self.doorbell) == APPLICATION
    }

    /// Wakes the progress thread in any state.
    pub fn wake(&self) {
        self.doorbell.store(RUNNING);
        self.doorbell.wake();
    }

    /// Called when the progress thread has ended, or has not started yet.
    pub fn reset(&self) {
        self.doorbell.store(APPLICATION);
    }
}

impl DescriptorSleep {
    /// Makes the sources of the sleep; None if no device has descriptors.
    fn of(doorbell: &Doorbell, fabric: &'static Fabric) -> Result<Option<DescriptorSleep>> {
        let both = fabric.wake_sources(|| doorbell.progress_descriptors(), |[_, armed_sources]| armed_sources)?;
        Ok(both.map(|[disarmed_sources, armed_sources]| DescriptorSleep { disarmed_sources, armed_sources, fabric }))
    }
}
