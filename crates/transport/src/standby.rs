//! How a rank's helper sleeps until it is called, and how the application lends it what is under way (`job::standby`).
//!
//! On one host the application arms the bell itself, which spares a wake-up. Between hosts the helper is called at once:
//! it alone can sleep on the ports' descriptors, and knows for how long. In its sleep it waits for descriptors of its own
//! (epoll), so that a thread of the application that waits for the same ports is never passed over.
//! Before it: `mpi::helper`; after it: `job::standby`.

use crate::fabric::Fabric;
use hawser_base::Result;
use hawser_job::Doorbell;
use hawser_job::doorbell::Sources;
use hawser_job::standby::{self, CALLED, LENT, OFF, Post};

/// A sleep of a helper that may be called ends by itself after this time, as every sleep (`idle`).
const SLEEP_NS: u64 = 1_000_000_000;

/// See the module.
pub struct Standby {
    bell: Doorbell,
    beyond: Option<Beyond>,
}

/// Where there are devices that are waited for by descriptors.
struct Beyond {
    /// While the application looks after itself: the helper's own bell alone.
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

    /// The application leaves operations under way. Whether it is to look at everything once more.
    pub fn lend(&self) -> bool {
        if self.beyond.is_none() {
            return standby::lend(&self.bell);
        }
        if self.is_off() {
            self.call();
        }
        false
    }

    /// The application looks after them from now on. Whether it did not before. The only one of its threads may do so.
    pub fn take_back(&self) -> bool {
        let was_lent = standby::take_back(&self.bell);
        if was_lent {
            self.bell.disarm();
        }
        was_lent
    }

    /// The helper sleeps until it is called.
    pub fn sleep(&self) {
        let mut has_rung = false;
        loop {
            match Post::load(&self.bell) {
                CALLED => return,
                OFF if !has_rung => {
                    // Who has taken back what this thread was at may have found a lane occupied, and gone to sleep.
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

    /// Whether the helper is to look.
    #[inline]
    pub fn is_called(&self) -> bool {
        Post::load(&self.bell) == CALLED
    }

    /// The helper has found nothing for a while. Whether it is to look at everything once more, before it sleeps.
    pub fn stand_by(&self) -> bool {
        standby::stand_by(&self.bell)
    }

    /// The helper finds nothing under way, and is called when something is lent next. Whether it is to look once more.
    pub fn retire(&self) -> bool {
        self.bell.replace(CALLED, OFF)
    }

    /// It has found something after all, when it stood by or had retired.
    pub fn resume(&self, retired: bool) {
        self.bell.replace(if retired { OFF } else { LENT }, CALLED);
    }

    /// The application looks after itself, or there is nothing to look after.
    pub fn is_off(&self) -> bool {
        Post::load(&self.bell) == OFF
    }

    /// Wakes the helper, whatever there is.
    pub fn call(&self) {
        self.bell.store(CALLED);
        self.bell.wake();
    }

    /// The helper has gone, or is yet to come.
    pub fn leave(&self) {
        self.bell.store(OFF);
    }
}

impl Beyond {
    /// None where no device has descriptors.
    fn of(bell: &Doorbell, fabric: &'static Fabric) -> Result<Option<Beyond>> {
        let both = fabric.sources(|| bell.post_descriptors(), |[_, lent]| lent)?;
        Ok(both.map(|[off, lent]| Beyond { off, lent, fabric }))
    }
}
