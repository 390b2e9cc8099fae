//! A rank of a launcher that is not ours, through that launcher's server (`boot::launcher_server`).
//!
//! The ranks of each host gather at the first one of them, under a socket whose name follows from the job's, so that a
//! job of one host needs nothing of the server but its places. In a job of several hosts, rank 0 puts the job's secret
//! and settings under keys, and each rank its business card; the first rank of each host gets the cards of the other
//! hosts' ranks after the fence, and writes them into the segment. The launcher ends the job if a process fails or a
//! rank asks for it; a process that has left MPI tells it when it ends. Nothing here reads the program's messages. Used
//! by `join`; uses `gathering`.

use crate::gathered_rank::{self, GatheredRank};
use crate::gathering::{self, Gathering, Place};
use crate::join::Joined;
use hawser_base::{Class, Error, Peer, Result, fnv};
use hawser_boot::agent_connection::exit_code;
use hawser_boot::job_settings::{CommonSettings, JobSettings, RankSettings, SettingsCheck};
use hawser_boot::launcher_server::{AbortFn, JobPlace, LauncherServer};
use hawser_boot::protocol::{JobSecret, SOCKET_PREFIX};
use hawser_boot::{Bootstrap, Identity, KvsKey, Notification};
use hawser_job::layout::{MAX_LOCAL, MAX_WORLD};
use hawser_os::{at_exit, clock, host, thread};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the thread that waits until all ranks have left, as ps(1) shows it.
const LEAVE_THREAD: &str = "hawser-leave";
/// No limit, in s: the launcher ends a job whose ranks do not leave.
const NO_LIMIT_S: u64 = u64::MAX;

/// The time between two looks whether all ranks have left.
const LEAVE_CHECK: Duration = Duration::from_millis(1);

/// The keys under which rank 0 puts what all ranks have in common, and each rank its business card.
const SECRET_KEY: &str = "hawser-secret";
const SETTINGS_KEY: &str = "hawser-settings";
const CARD_KEY: &str = "hawser-card";
/// The key of the name of each rank's host, if the server does not say which ranks share one.
const HOST_KEY: &str = "hawser-host";

/// The `Bootstrap` of a rank whose launcher has a server.
struct ManagedProcess {
    rank: GatheredRank,
    server: Arc<Mutex<Box<dyn LauncherServer>>>,
    /// It is no part of `server`, which the thread that waits for the other ranks holds.
    abort: AbortFn,
    timeout_s: u64,
    /// This rank has left MPI before.
    has_left: AtomicBool,
    /// This rank is not in MPI now, so that the end of its process is none of the job's failures.
    is_out: AtomicBool,
    /// The thread that waits until all ranks have left for the first time.
    leave_thread: Mutex<Option<JoinHandle<()>>>,
}

/// The rank that this process is, for `end`.
static RANK: OnceLock<Arc<ManagedProcess>> = OnceLock::new();

/// Becomes the rank that the launcher has given this process, once all others have come.
pub fn join(mut server: Box<dyn LauncherServer>, settings: &JobSettings) -> Result<Joined> {
    let timeout_s = gathering::timeout_s(|variable| std::env::var(variable).ok())?;
    let JobPlace { rank, size, job_name, appnum, universe_size } = server.place().clone();
    check_number("a job", size as usize, MAX_WORLD)?;
    let nodes = server.nodes()?;
    let is_known = nodes.is_some();
    let spans_hosts = nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|node| *node != nodes[0]));
    if rank == 0 && spans_hosts {
        put_common(server.as_mut(), settings)?;
    }
    let hosts = hosts_of_ranks(server.as_mut(), nodes, timeout_s)?;
    let host = hosts[rank as usize];
    let local: Vec<u32> = (0..size).filter(|&rank| hosts[rank as usize] == host).collect();
    check_number("a host", local.len(), MAX_LOCAL)?;
    let secret = match local.len() < size as usize {
        true => {
            if is_known {
                server.publish(timeout_s)?;
            }
            common_secret(server.as_mut(), settings, local[0] == rank, timeout_s)?
        }
        false => JobSecret::default(),
    };
    let gathering = Gathering {
        job_id: job_name.chars().filter(char::is_ascii_graphic).take(32).collect(),
        place: Place::Socket(socket_name(&job_name, size, host)),
        rank,
        size,
        local,
        hosts,
        secret,
        timeout_s,
    };
    let abort = server.abort_fn();
    let on_death = abort.clone();
    let mut rank = GatheredRank::join(&gathering, settings, move |code| on_death(code))?;
    (rank.identity.appnum, rank.identity.universe_size) = (Some(appnum.unwrap_or(0)), universe_size.unwrap_or(size));
    let (segment, prints_warnings) = (rank.segment.clone(), rank.identity.rank == 0);
    let bootstrap = Arc::new(ManagedProcess {
        rank,
        server: Arc::new(Mutex::new(server)),
        abort,
        timeout_s,
        has_left: AtomicBool::new(false),
        is_out: AtomicBool::new(false),
        leave_thread: Mutex::new(None),
    });
    let _ = RANK.set(bootstrap.clone());
    at_exit::set(end);
    Ok(Joined { bootstrap, segment, prints_warnings })
}

/// Tells the launcher, when this process ends, that its end is no failure. That is the last moment, because a program
/// may begin MPI again. If the rank has not left MPI, its end is a failure: the job ends, which launchers do not see
/// to themselves if the ranks that are left are on other hosts.
fn end() {
    let Some(process) = RANK.get().filter(|process| process.rank.is_this_process()) else { return };
    if !process.is_out.load(Relaxed) {
        process.rank.report_abort(1, "it has ended without MPI_Finalize");
        return (process.abort)(1);
    }
    // The launcher takes no part of a process in a fence once that has finalized. A rank that does not come has ended
    // without a word, and this one need not wait for ever.
    let deadline_ns = clock::now_ns().saturating_add(process.timeout_s.saturating_mul(1_000_000_000));
    let thread = lock(&process.leave_thread).take();
    while thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
        if clock::now_ns() >= deadline_ns {
            return;
        }
        std::thread::sleep(LEAVE_CHECK);
    }
    lock(&process.server).finalize();
}

fn check_number(what: &str, ranks: usize, most: usize) -> Result<()> {
    match ranks <= most {
        true => Ok(()),
        false => Err(failed(format!("{ranks} ranks are too many; {what} has at most {most}: start fewer"))),
    }
}

#[cold]
fn failed(text: String) -> Error {
    Error::new(Class::Other, text)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The name of the socket at which the ranks of node `host` gather. Names of sockets are short, those of jobs are not.
/// Older launchers number their jobs by process ids, of which each container has its own.
fn socket_name(job: &str, size: u32, host: u32) -> String {
    let processes = std::fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    let hash = fnv::hash(&format!("{job} {size} {processes}"));
    format!("{SOCKET_PREFIX}{}-pm-{hash:016x}-{host}", host::user())
}

/// The number of the host of each rank, from 0: by the server's map (`nodes`) or, without one, by the names of the
/// ranks' hosts.
fn hosts_of_ranks(server: &mut dyn LauncherServer, nodes: Option<Vec<u32>>, timeout_s: u64) -> Result<Vec<u32>> {
    let names: Vec<String> = match nodes {
        Some(nodes) => nodes.iter().map(u32::to_string).collect(),
        None => {
            server.put(HOST_KEY, host::name().as_bytes())?;
            server.publish(timeout_s)?;
            let size = server.place().size;
            let name = |rank| server.get(rank, HOST_KEY, timeout_s).map(|name| String::from_utf8_lossy(&name).into());
            (0..size).map(name).collect::<Result<_>>()?
        }
    };
    let mut known: Vec<&str> = Vec::new();
    let mut hosts = Vec::new();
    for name in &names {
        let number = known.iter().position(|known| known == name).unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        hosts.push(number as u32);
    }
    Ok(hosts)
}

/// Puts what all ranks have in common, for a job of several hosts. It comes before all that ranks get, because a server
/// of PMIx may answer with what a rank had put when it was first asked.
fn put_common(server: &mut dyn LauncherServer, settings: &JobSettings) -> Result<()> {
    let secret = host::random::<16>().map_err(|error| failed(error.to_string()))?;
    server.put(SECRET_KEY, &secret)?;
    server.put(SETTINGS_KEY, format!("{}\n{}", host::name(), settings.text()).as_bytes())
}

/// The secret that rank 0 has made for the job. It is an error if this rank, the first one of its host (`is_first`),
/// has other settings than rank 0; the others of the host compare theirs with its.
fn common_secret(
    server: &mut dyn LauncherServer,
    settings: &JobSettings,
    is_first: bool,
    timeout_s: u64,
) -> Result<JobSecret> {
    let own_rank = server.place().rank;
    if is_first && own_rank != 0 {
        let theirs = String::from_utf8_lossy(&server.get(0, SETTINGS_KEY, timeout_s)?).into_owned();
        let (their_host, theirs) = theirs.split_once('\n').unwrap_or_default();
        let mut common = CommonSettings::without_launcher();
        common.check(RankSettings {
            rank: 0,
            host: their_host.into(),
            settings: JobSettings::from_text(theirs.into()),
        });
        let own = RankSettings { rank: own_rank, host: host::name(), settings: settings.clone() };
        if let SettingsCheck::Different(text) = common.check(own) {
            return Err(failed(text));
        }
    }
    let secret = server.get(0, SECRET_KEY, timeout_s)?.try_into().map(JobSecret);
    secret.map_err(|_| failed("the launcher's server has changed the job's secret; use Hawser's mpiexec".into()))
}

impl Bootstrap for ManagedProcess {
    fn identity(&self) -> &Identity {
        &self.rank.identity
    }

    fn publish(&self, key: KvsKey, bytes: &[u8]) -> Result<()> {
        match key {
            KvsKey::BusinessCard => lock(&self.server).put(CARD_KEY, bytes),
        }
    }

    fn look_up(&self, peer: Peer, key: KvsKey) -> Option<Vec<u8>> {
        match key {
            KvsKey::BusinessCard => self.rank.segment.business_card(peer),
        }
    }

    /// Waits for all ranks. The first rank of the host then writes the other hosts' cards into the segment, and rings.
    fn fence(&self) -> Result<()> {
        let mut server = lock(&self.server);
        server.fence(self.timeout_s)?;
        let GatheredRank { identity, segment, .. } = &self.rank;
        if identity.local_rank == 0 {
            for peer in (0..identity.size).filter(|&rank| segment.local_slot_of(Peer(rank)).is_none()) {
                let card = server.get(peer, CARD_KEY, self.timeout_s)?;
                if !segment.set_business_card(Peer(peer), &card) {
                    let len = card.len();
                    return Err(failed(format!(
                        "the business card of rank {peer} has {len} bytes, which are too many"
                    )));
                }
            }
            segment.ring_all();
        }
        Ok(())
    }

    /// The launcher learns of a rank that leaves when its process ends (`end`). In a job of several hosts a thread
    /// waits until all ranks have left for the first time, because an acknowledgement of a rank that is gone may be
    /// lost. Later they do not wait for each other: not all need begin MPI again.
    fn notify(&self, notification: Notification) -> bool {
        match notification {
            Notification::Left => {
                self.is_out.store(true, Relaxed);
                self.rank.handle_left();
                if self.rank.identity.spans_hosts() && !self.has_left.swap(true, Relaxed) {
                    let (server, segment) = (self.server.clone(), self.rank.segment.clone());
                    let wait = move || {
                        if lock(&server).fence(NO_LIMIT_S).is_ok() && gathered_rank::have_left(&segment) {
                            segment.set_all_finalized(true);
                            // A rank that is back meanwhile has cleared the flag before, and must not find it set.
                            if !gathered_rank::have_left(&segment) {
                                segment.set_all_finalized(false);
                            }
                            segment.ring_all();
                        }
                    };
                    *lock(&self.leave_thread) = thread::spawn(LEAVE_THREAD, wait).ok();
                }
            }
            Notification::Back => self.is_out.store(false, Relaxed),
            Notification::Reachability(report) if report.has_no_port_pair => {
                let (peer, pairs) = (report.peer, report.pairs.trim_end().replace('\n', "; "));
                self.abort(
                    1,
                    &format!(
                        "no port of this rank fits one of rank {peer}: give both hosts ports of the same kind \
                         (HAWSER_PORT, HAWSER_RAILS; {pairs})"
                    ),
                );
            }
            // Silence is no death, and no process of ours knows whether both ranks are in MPI: the launcher's time
            // limit decides.
            Notification::Reachability(_) => {}
        }
        true
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        self.rank.report_abort(code, text);
        (self.abort)(exit_code(code));
        self.rank.exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sockets_name_is_short_and_differs_by_job_size_and_host() {
        let long = "k".repeat(256);
        assert!(socket_name(&long, 1, 4_000_000).len() < 100);
        let names =
            [("a", 2, 0), ("b", 2, 0), ("a", 3, 0), ("a", 2, 1)].map(|(job, size, host)| socket_name(job, size, host));
        assert!((1..4).all(|at| !names[..at].contains(&names[at])), "{names:?}");
        assert_eq!(names[0], socket_name("a", 2, 0));
    }
}
