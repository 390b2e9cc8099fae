//! The detection of other ranks' ends without a launcher: a thread that sleeps on the processes of all others.
//!
//! If one has left MPI before, its end is noted (`job::lives`). If one has not, the first rank that sees it prints one
//! line, and each rank that still uses MPI ends its own process. The thread calls nothing of MPI and takes no signal. A
//! program may close descriptors that it has not opened: then the others are checked once a second, by their process
//! ids. Used by `plain`; uses the segment.

use hawser_base::Peer as Process;
use hawser_job::{Ending, Phase, Segment};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::held::Owned;
use hawser_os::{host, pidfd, signals, thread};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The thread's name, as ps(1) shows it.
const NAME: &str = "hawser-watch";
/// The exit code of a rank that ends because another one has.
const EXIT_FAILURE: i32 = 1;
/// Between two looks at the others, where no descriptor wakes the thread.
const LOOK_NS: u64 = 1_000_000_000;

struct Watch {
    segment: Segment,
    me: usize,
    epoll: Epoll,
    /// The others that are not known to have ended.
    peers: Vec<Peer>,
}

struct Peer {
    local: usize,
    pid: i32,
    /// None if it was gone before a descriptor of it could be opened.
    process: Option<Owned>,
}

/// Starts to watch all others of the host.
pub fn start(segment: &Segment, me: usize) -> io::Result<()> {
    let ranks = segment.local_size();
    if ranks == 1 {
        return Ok(());
    }
    let mut epoll = Epoll::new()?;
    let mut peers = Vec::new();
    for local in (0..ranks).filter(|&local| local != me) {
        let pid = segment.rank(local).pid();
        let process = process_of(pid)?;
        if let Some(process) = &process {
            epoll.add(process.as_fd(), local as u64, Interest::Read)?;
        }
        peers.push(Peer { local, pid, process: process.map(Owned::new) });
    }
    let watch = Watch { segment: segment.clone(), me, epoll, peers };
    thread::spawn(NAME, move || watch.run()).map(drop)
}

/// A hold on a process; none if it is gone already.
fn process_of(pid: i32) -> io::Result<Option<OwnedFd>> {
    match pidfd::open(pid) {
        Ok(process) => Ok(Some(process)),
        Err(_) if signals::send(pid, 0).is_err() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Peer {
    fn has_ended(&self) -> bool {
        let Some(process) = &self.process else { return true };
        match process.live() {
            Ok(process) => pidfd::ended(process),
            // A signal would reach it until its parent has reaped it, so another descriptor is opened.
            Err(_) => match process_of(self.pid).map(|process| process.map(Owned::new)) {
                Ok(process) => process.is_none_or(|process| pidfd::ended(process.as_fd())),
                Err(_) => false,
            },
        }
    }
}

impl Watch {
    fn run(mut self) {
        loop {
            let (ended, others) = std::mem::take(&mut self.peers).into_iter().partition(Peer::has_ended);
            self.peers = others;
            for Peer { local, process, .. } in ended {
                if let Some(process) = process.as_ref().and_then(|process| process.live().ok()) {
                    self.epoll.remove(process);
                }
                self.ended(local);
            }
            if self.peers.is_empty() {
                return;
            }
            self.epoll.sleep(Some(LOOK_NS));
        }
    }

    /// The process of rank `local` is gone.
    fn ended(&self, local: usize) {
        let page = self.segment.rank(local);
        match page.phase() {
            Phase::Finalized => self.segment.set_ended(Process(local as u32), Ending::InOrder),
            // This rank has no more to do with the job.
            _ if self.segment.rank(self.me).phase() == Phase::Finalized => {}
            phase => self.end(local, phase, page.pid()),
        }
    }

    /// Ends this rank's process, as one has gone that had not left MPI. Of several ranks that see it the first reports
    /// it; one that has aborted has reported it itself.
    fn end(&self, local: usize, phase: Phase, pid: i32) -> ! {
        if phase != Phase::Aborted && self.segment.set_aborted(EXIT_FAILURE) {
            eprintln!(
                "hawser: rank {local} on host {} (pid {pid}) has ended without calling MPI_Finalize \
                 (MPI_Session_finalize for a session); the other ranks end too",
                self.segment.host()
            );
        }
        host::exit_now(self.segment.abort_code().unwrap_or(EXIT_FAILURE))
    }
}
