//! The detection of other ranks' ends without a launcher: a thread that sleeps until the process of another rank
//! ends.
//!
//! If a rank that has left MPI ends, its end is recorded (`job::exit_log`). If a rank that has not left MPI ends, the
//! first rank that sees it prints one line, and each rank that still uses MPI ends its own process. The thread calls
//! nothing of MPI and takes no signal. If the program closes the thread's descriptors, which it has not opened, the
//! other ranks are checked once a second, by their process ids. Used by `manual_start` and `process_manager`; uses the
//! segment.

use hawser_base::Peer as Process;
use hawser_job::{ExitKind, RankPhase, Segment};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::fd_identity::CheckedFd;
use hawser_os::{host, pidfd, signals, thread};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The thread's name, as ps(1) shows it.
const NAME: &str = "hawser-watch";
/// The exit code of a rank that ends because another rank has ended.
const EXIT_FAILURE: i32 = 1;
/// The time, in ns, between two checks of the other ranks if no descriptor wakes the thread.
const CHECK_NS: u64 = 1_000_000_000;

struct PeerMonitor {
    segment: Segment,
    me: usize,
    on_death: OnDeath,
    epoll: Epoll,
    /// The other ranks that are not known to have ended.
    peers: Vec<MonitoredPeer>,
}

struct MonitoredPeer {
    local: usize,
    pid: i32,
    /// A pidfd of the process; None if the process was gone before a pidfd could be opened.
    process: Option<CheckedFd>,
}

/// A function that is called with the exit code before this process ends because of another one.
pub type OnDeath = Box<dyn Fn(i32) + Send>;

/// Starts to monitor all other ranks of the host.
pub fn start(segment: &Segment, me: usize, on_death: OnDeath) -> io::Result<()> {
    let ranks = segment.local_size();
    if ranks == 1 {
        return Ok(());
    }
    let mut epoll = Epoll::new()?;
    let mut peers = Vec::new();
    for local in (0..ranks).filter(|&local| local != me) {
        let pid = segment.rank(local).pid();
        let process = open_pidfd(pid)?;
        if let Some(process) = &process {
            epoll.add(process.as_fd(), local as u64, Interest::Read)?;
        }
        peers.push(MonitoredPeer { local, pid, process: process.map(CheckedFd::new) });
    }
    let monitor = PeerMonitor { segment: segment.clone(), me, on_death, epoll, peers };
    thread::spawn(NAME, move || monitor.run()).map(drop)
}

/// Opens a pidfd of a process; None if the process is gone already.
fn open_pidfd(pid: i32) -> io::Result<Option<OwnedFd>> {
    match pidfd::open(pid) {
        Ok(process) => Ok(Some(process)),
        Err(_) if signals::send(pid, 0).is_err() => Ok(None),
        Err(error) => Err(error),
    }
}

impl MonitoredPeer {
    fn has_ended(&self) -> bool {
        let Some(process) = &self.process else { return true };
        match process.live() {
            Ok(process) => pidfd::has_ended(process),
            // The program has closed the pidfd. A new one is opened, because a signal would reach even a process that
            // has ended, until its parent has reaped it.
            Err(_) => match open_pidfd(self.pid).map(|process| process.map(CheckedFd::new)) {
                Ok(process) => process.is_none_or(|process| pidfd::has_ended(process.as_fd())),
                Err(_) => false,
            },
        }
    }
}

impl PeerMonitor {
    fn run(mut self) {
        loop {
            let (ended, others) = std::mem::take(&mut self.peers).into_iter().partition(MonitoredPeer::has_ended);
            self.peers = others;
            for MonitoredPeer { local, process, .. } in ended {
                if let Some(process) = process.as_ref().and_then(|process| process.live().ok()) {
                    self.epoll.remove(process);
                }
                self.handle_exit(local);
            }
            if self.peers.is_empty() {
                return;
            }
            self.epoll.sleep(Some(CHECK_NS));
        }
    }

    /// The process of the job in local slot `local`.
    fn process_in(&self, local: usize) -> Process {
        self.segment.process_in(local).unwrap_or(Process(local as u32))
    }

    /// Handles the end of the process in local slot `local`.
    fn handle_exit(&self, local: usize) {
        let page = self.segment.rank(local);
        match page.phase() {
            RankPhase::Finalized => self.segment.record_exit(self.process_in(local), ExitKind::InOrder),
            // This rank has left MPI itself, so the end of the other one does not matter to it.
            _ if self.segment.rank(self.me).phase() == RankPhase::Finalized => {}
            phase => self.end_process(local, phase, page.pid()),
        }
    }

    /// Ends this rank's process, because the one in slot `local` has ended and had not left MPI. Of several ranks that
    /// see this, the first one reports it; a rank that has aborted has reported that itself.
    fn end_process(&self, local: usize, phase: RankPhase, pid: i32) -> ! {
        if phase != RankPhase::Aborted && self.segment.set_aborted(EXIT_FAILURE) {
            let rank = self.process_in(local).0;
            host::print_error(&format!(
                "hawser: rank {rank} on host {} (pid {pid}) has ended without calling MPI_Finalize \
                 (MPI_Session_finalize for a session); the other ranks end too",
                self.segment.host()
            ));
        }
        let code = self.segment.abort_code().unwrap_or(EXIT_FAILURE);
        (self.on_death)(code);
        host::exit_now(code)
    }
}
