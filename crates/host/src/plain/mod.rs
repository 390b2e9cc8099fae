//! A plain set of processes: ranks of one host that were started one by one, without a launcher. They meet by a file
//! that all of them name.
//!
//! Rank 0 does once what a host's first process does (`meeting`): it makes the segment and hands it to the others
//! (`guest`), which find it by the file (`rendezvous`). After that no rank serves another: each sees by itself when
//! another one ends (`watch`), and all notifications are in the segment. Nothing here starts a process or ends one that
//! has left MPI. Used by `join`; uses the segment.

mod guest;
mod meeting;
mod rendezvous;
mod watch;
mod wish;

use crate::join::Joined;
use hawser_base::{Class, Error, Peer, Result};
use hawser_boot::terms::JobTerms;
use hawser_boot::world::exit_code;
use hawser_boot::{Boot, Identity, Key, Word, mapped};
use hawser_job::{Phase, Segment};
use hawser_os::host;
use hawser_os::signals::{self, SIGKILL};
use std::sync::Arc;
pub use wish::Wish;

/// `Boot` for such a rank.
struct Plain {
    identity: Identity,
    segment: Segment,
    /// A forked child is not the rank.
    pid: i32,
}

/// Becomes the rank that `wish` names, once all others have come.
pub fn join(wish: &Wish, terms: &JobTerms) -> Result<Joined> {
    mapped::refuse_beside_another(join as *const () as usize)?;
    let mut terms = terms.clone();
    terms.add(hawser_boot::protocol::SIZE_VARIABLE, &wish.size.to_string(), false);
    let met = match wish.rank {
        0 => meeting::hold(wish, terms),
        _ => guest::come(wish, terms),
    };
    let segment = met.map_err(|text| Error::new(Class::Other, text))?;
    let me = wish.rank as usize;
    watch::start(&segment, me).map_err(|error| Error::new(Class::Other, error.to_string()))?;
    let (rank, size) = (wish.rank, wish.size);
    let identity = Identity {
        peer: Peer(rank),
        rank,
        size,
        local_rank: rank,
        local_size: size,
        program_size: size,
        universe_size: size,
        widest_host: size,
        ..Identity::default()
    };
    let boot = Arc::new(Plain { identity, segment: segment.clone(), pid: host::pid() });
    Ok(Joined { boot, segment })
}

impl Plain {
    /// Shows the ranks that all of them have left MPI, if this one was the last.
    fn left(&self) {
        let has_left = |local: usize| {
            let is_gone = || self.segment.lives().has_ended(Peer(local as u32));
            self.segment.rank(local).phase() == Phase::Finalized || is_gone()
        };
        if (0..self.segment.local_size()).all(has_left) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }
}

impl Boot for Plain {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    /// All ranks are on this host, and need nothing but the segment.
    fn publish(&self, _: Key, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn look_up(&self, _: Peer, _: Key) -> Option<Vec<u8>> {
        None
    }

    /// All have come before any continues.
    fn fence(&self) -> Result<()> {
        Ok(())
    }

    fn tell(&self, word: Word) -> bool {
        match word {
            Word::Left => self.left(),
            Word::Back | Word::Unanswered(_) => {}
        }
        true
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        let (rank, pid) = (self.identity.rank, host::pid());
        let is_first = self.segment.set_aborted(exit_code(code));
        self.segment.rank(rank as usize).set_phase(Phase::Aborted);
        if is_first {
            let host = self.segment.host();
            eprintln!("hawser: rank {rank} on host {host} (pid {}) aborts with code {code}: {text}", self.pid);
        }
        if pid != self.pid {
            // The others see the end of the rank, not that of its child.
            let _ = signals::send(self.pid, SIGKILL);
        }
        host::exit_now(exit_code(code))
    }
}
