//! How a rank without a launcher sees that another one has ended: a thread that sleeps on the processes of all others.
//!
//! Where one has left MPI before, its page says Ended from then on. Where one has not, the first that sees it prints
//! one line, and each rank that still uses MPI ends its own process. The thread calls nothing of MPI, takes no signal,
//! and never closes a descriptor: the program may have done that, and their numbers may be its own files by then.
//! Before it: `plain`; after it: the segment.

use hawser_job::{Phase, Segment};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::{host, pidfd, signals, thread};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};

/// The thread's name, as ps(1) shows it.
const NAME: &str = "hawser-watch";
/// The exit code of a rank that ends because another one has.
const EXIT_FAILURE: i32 = 1;

struct Watch {
    segment: Segment,
    me: usize,
    epoll: ManuallyDrop<Epoll>,
    /// By local number; none of this process, and of those that are gone.
    processes: Vec<Option<ManuallyDrop<OwnedFd>>>,
}

/// Starts to watch all others of the host.
pub fn start(segment: &Segment, me: usize) -> io::Result<()> {
    let ranks = segment.local_size();
    if ranks == 1 {
        return Ok(());
    }
    let mut epoll = Epoll::new()?;
    let mut processes = Vec::new();
    for local in 0..ranks {
        let process = if local == me { None } else { process(segment.rank(local).pid())? };
        if let Some(process) = &process {
            epoll.add(process.as_fd(), local as u64, Interest::Read)?;
        }
        processes.push(process.map(ManuallyDrop::new));
    }
    let watch = Watch { segment: segment.clone(), me, epoll: ManuallyDrop::new(epoll), processes };
    thread::spawn(NAME, move || watch.run()).map(drop)
}

/// A hold on a process; none if it is gone already.
fn process(pid: i32) -> io::Result<Option<OwnedFd>> {
    match pidfd::open(pid) {
        Ok(process) => Ok(Some(process)),
        Err(_) if signals::send(pid, 0).is_err() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Watch {
    fn run(mut self) {
        let gone = (0..self.processes.len()).filter(|&local| local != self.me && self.processes[local].is_none());
        gone.collect::<Vec<_>>().into_iter().for_each(|local| self.ended(local));
        let mut events = Vec::new();
        while self.processes.iter().any(Option::is_some) {
            // The program has closed what it had not opened: nobody can be watched any more.
            if self.epoll.wait(&mut events, None).is_err() {
                return;
            }
            for event in std::mem::take(&mut events) {
                let local = event.token as usize;
                if let Some(process) = self.processes.get_mut(local).and_then(Option::take) {
                    self.epoll.remove(process.as_fd());
                    self.ended(local);
                }
            }
        }
    }

    /// The process of rank `local` is gone.
    fn ended(&self, local: usize) {
        let page = self.segment.rank(local);
        match page.phase() {
            Phase::Finalized => self.segment.set_ended(local),
            Phase::Ended => {}
            // This rank has no more to do with the job.
            _ if self.segment.rank(self.me).phase() == Phase::Finalized => {}
            phase => self.end(local, phase, page.pid()),
        }
    }

    /// Ends this rank's process, as one has gone that had not left MPI. Of several ranks that see it the first says so;
    /// one that has aborted has said it itself.
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
