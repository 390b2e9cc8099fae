//! The standby of the progress thread: how it sleeps until it is called, and how the application hands pending
//! operations to it (`job::standby`).
//!
//! On one host the application arms the bell itself, which saves a wake-up. Between hosts the progress thread is called
//! at once: it alone can sleep on the ports' descriptors, and knows for how long. It sleeps on descriptors of its own
//! (epoll), so that a thread of the application that waits for the same ports never misses a wake-up. Used by
//! `p2p::helper`; uses `job::standby`.

use crate::fabric::Fabric;
use hawser_base::Result;
use hawser_job::Doorbell;
use hawser_job::doorbell::Sources;
use hawser_job::standby::{self, CALLED, LENT, OFF, Post};

/// A sleep with lent operations ends by itself after this time, in ns, like every sleep (`idle`).
const SLEEP_NS: u64 = 1_000_000_000;

/// The standby of the progress thread. See the module.
pub struct Standby {
    bell: Doorbell,
    beyond: Option<Beyond>,
}

/// Devices whose arrivals are signalled by descriptors.
struct Beyond {
    /// The progress thread's own bell alone, for the time in which the application polls for itself.
    off: Sources,
    lent: Sources,
    fabric: &'static Fabric,
}

impl Standby {
    /// `bell`: the rank's.
    pub fn new(bell: Doorbell, fabric: &'static Fabric) -> Result<Standby> {
        let beyond = Beyond::of(&bell, fabric)?;
        Ok(Standby { bell, beyond })
    }

    /// Called when the application leaves operations pending. Returns whether the caller must poll everything once
    /// more.
    pub fn lend(&self) -> bool {
        if self.beyond.is_none() {
            return standby::lend(&self.bell);
        }
        if self.is_off() {
            self.call();
        }
        false
    }

    /// Called when the application polls for them itself from now on. Returns whether it did not before. Only for a
    /// process with one such thread.
    pub fn take_back(&self) -> bool {
        let was_lent = standby::take_back(&self.bell);
        if was_lent {
            self.bell.disarm();
        }
        was_lent
    }

    /// Sleeps in the progress thread until it is called.
    pub fn sleep(&self) {
        let mut has_rung = false;
        loop {
            match Post::load(&self.bell) {
                CALLED => return,
                OFF if !has_rung => {
                    // A thread that took its work back may have found a lane locked by this thread, and gone to sleep.
                    self.bell.ring();
                    has_rung = true;
                }
                OFF => self.sleep_once(OFF),
                seen => {
                    self.sleep_once(seen);
                    self.bell.replace(LENT, CALLED);
                }
            }
        }
    }

    fn sleep_once(&self, seen: u32) {
        let limit_ns = (seen == LENT).then_some(SLEEP_NS);
        match &self.beyond {
            None => self.bell.wait(seen, limit_ns),
            Some(beyond) if seen == OFF => self.bell.wait_at_post(&beyond.off, seen, limit_ns),
            Some(beyond) => {
                let due_ns = beyond.fabric.before_sleep().unwrap_or(SLEEP_NS);
                self.bell.wait_at_post(&beyond.lent, seen, Some(due_ns.min(SLEEP_NS)));
            }
        }
    }

    /// Whether the progress thread must poll.
    #[inline]
    pub fn is_called(&self) -> bool {
        Post::load(&self.bell) == CALLED
    }

    /// Called when the progress thread has found nothing for a while. Returns whether it must poll everything once more
    /// before it sleeps.
    pub fn stand_by(&self) -> bool {
        standby::stand_by(&self.bell)
    }

    /// Called when the progress thread finds no pending operation; it is called when the next one is lent. Returns
    /// whether it must poll once more.
    pub fn retire(&self) -> bool {
        self.bell.replace(CALLED, OFF)
    }

    /// Called when it has found something after all, after `stand_by` or `retire`.
    pub fn resume(&self, retired: bool) {
        self.bell.replace(if retired { OFF } else { LENT }, CALLED);
    }

    /// Whether the application polls for itself, or nothing is pending.
    pub fn is_off(&self) -> bool {
        Post::load(&self.bell) == OFF
    }

    /// Wakes the progress thread in any state.
    pub fn call(&self) {
        self.bell.store(CALLED);
        self.bell.wake();
    }

    /// Called when the progress thread has ended, or has not started yet.
    pub fn leave(&self) {
        self.bell.store(OFF);
    }
}

impl Beyond {
    /// None if no device has descriptors.
    fn of(bell: &Doorbell, fabric: &'static Fabric) -> Result<Option<Beyond>> {
        let both = fabric.sources(|| bell.post_descriptors(), |[_, lent]| lent)?;
        Ok(both.map(|[off, lent]| Beyond { off, lent, fabric }))
    }
}
