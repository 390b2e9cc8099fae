//! A rank of a launcher that is not ours, through that launcher's PMI server (`boot::pmi`).
//!
//! The ranks of each host gather at the first one of them, under a socket whose name follows from the job's, so that a
//! job of one host needs nothing of the server but its places. In a job of several hosts, rank 0 puts the job's secret
//! and settings under keys, and each rank its business card; the first rank of each host gets the cards of the other
//! hosts' ranks after the fence, and writes them into the segment. The launcher ends the job if a process fails or a
//! rank asks for it. Nothing here reads the program's messages. Used by `join`; uses `gathering`.

use crate::gathered_rank::GatheredRank;
use crate::gathering::{self, Gathering, Place};
use crate::join::Joined;
use hawser_base::{Class, Error, Peer, Result, fnv, hex};
use hawser_boot::agent_connection::exit_code;
use hawser_boot::job_settings::{CommonSettings, JobSettings, RankSettings, SettingsCheck};
use hawser_boot::pmi::{PmiConnection, PmiPlace, SIZE_VARIABLE};
use hawser_boot::protocol::{JobSecret, SOCKET_PREFIX};
use hawser_boot::{Bootstrap, Identity, KvsKey, Notification, loaded_mpi};
use hawser_job::layout::{MAX_LOCAL, MAX_WORLD};
use hawser_os::{host, thread};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// The name of the thread that waits until all ranks have left, as ps(1) shows it.
const LEAVE_THREAD: &str = "hawser-leave";

/// The `Bootstrap` of a rank whose launcher has a PMI server.
struct ManagedProcess {
    rank: GatheredRank,
    pmi: Arc<Mutex<PmiConnection>>,
    timeout_s: u64,
    /// This rank has left MPI before, and has told the launcher: both happen once, also if sessions begin again.
    has_left: AtomicBool,
    has_finalized: AtomicBool,
    /// The thread that waits until all ranks have left.
    leave_thread: Mutex<Option<JoinHandle<()>>>,
}

/// Becomes the rank that the launcher has given this process, once all others have come.
pub fn join(place: PmiPlace, settings: &JobSettings) -> Result<Joined> {
    loaded_mpi::refuse_second_mpi(join as *const () as usize)?;
    let timeout_s = gathering::timeout_s(|variable| std::env::var(variable).ok())?;
    check_number("a job", place.size as usize, MAX_WORLD)?;
    let mut pmi = PmiConnection::open(place)?;
    let hosts = hosts_of_ranks(&mut pmi, timeout_s)?;
    let host = hosts[pmi.rank as usize];
    let local: Vec<u32> = (0..pmi.size).filter(|&rank| hosts[rank as usize] == host).collect();
    check_number("a host", local.len(), MAX_LOCAL)?;
    let is_first = local[0] == pmi.rank;
    let secret = match local.len() < pmi.size as usize {
        true => common_secret(&mut pmi, settings, is_first, timeout_s)?,
        false => JobSecret::default(),
    };
    let gathering = Gathering {
        job_id: pmi.job_name.chars().filter(char::is_ascii_graphic).take(32).collect(),
        place: Place::Socket(socket_name(&pmi.job_name, host)),
        rank: pmi.rank,
        size: pmi.size,
        local,
        hosts,
        secret,
        timeout_s,
    };
    let (appnum, universe_size) = (Some(pmi.appnum.unwrap_or(0)), pmi.universe_size.unwrap_or(pmi.size));
    let pmi = Arc::new(Mutex::new(pmi));
    let launcher = pmi.clone();
    let mut rank = GatheredRank::join(&gathering, settings, move |code| abort_by(&launcher, code))?;
    (rank.identity.appnum, rank.identity.universe_size) = (appnum, universe_size);
    let (segment, prints_warnings) = (rank.segment.clone(), rank.identity.rank == 0);
    let bootstrap = Arc::new(ManagedProcess {
        rank,
        pmi,
        timeout_s,
        has_left: AtomicBool::new(false),
        has_finalized: AtomicBool::new(false),
        leave_thread: Mutex::new(None),
    });
    Ok(Joined { bootstrap, segment, prints_warnings })
}

fn check_number(what: &str, ranks: usize, most: usize) -> Result<()> {
    match ranks <= most {
        true => Ok(()),
        false => {
            Err(failed(format!("{ranks} ranks are too many ({SIZE_VARIABLE}); {what} has at most {most}: start fewer")))
        }
    }
}

#[cold]
fn failed(text: String) -> Error {
    Error::new(Class::Other, text)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Asks the launcher to end the job. A thread that holds the connection waits for other ranks, which the launcher or
/// their own hosts' ranks then end.
fn abort_by(pmi: &Mutex<PmiConnection>, code: i32) {
    if let Ok(pmi) = pmi.try_lock() {
        pmi.abort(code);
    }
}

/// The name of the socket at which the ranks of node `host` gather. Names of sockets are short, those of jobs are not.
fn socket_name(job: &str, host: u32) -> String {
    format!("{SOCKET_PREFIX}{}-pmi-{:016x}-{host}", host::user(), fnv::hash(job))
}

/// The number of the host of each rank, from 0: by the server's map or, without one, by the names of the ranks' hosts.
fn hosts_of_ranks(pmi: &mut PmiConnection, timeout_s: u64) -> Result<Vec<u32>> {
    let names: Vec<String> = match pmi.nodes()? {
        Some(nodes) => nodes.iter().map(u32::to_string).collect(),
        None => {
            let own: String = host::name().chars().filter(char::is_ascii_graphic).take(64).collect();
            pmi.put(&format!("hawser-host-{}", pmi.rank), &own)?;
            pmi.fence(timeout_s)?;
            (0..pmi.size).map(|rank| expected(pmi, &format!("hawser-host-{rank}"))).collect::<Result<Vec<_>>>()?
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

/// The secret that rank 0 has made for the job. It is an error if this rank, the first one of its host (`is_first`),
/// has other settings than rank 0; the others of the host compare theirs with its.
fn common_secret(pmi: &mut PmiConnection, settings: &JobSettings, is_first: bool, timeout_s: u64) -> Result<JobSecret> {
    const SETTINGS: &str = "hawser-settings";
    if pmi.rank == 0 {
        let secret = host::random::<16>().map_err(|error| failed(error.to_string()))?;
        pmi.put("hawser-secret", &hex::encode(&secret))?;
        put_bytes(pmi, SETTINGS, format!("{}\n{}", host::name(), settings.text()).as_bytes())?;
    }
    pmi.fence(timeout_s)?;
    if is_first && pmi.rank != 0 {
        let theirs = String::from_utf8_lossy(&get_bytes(pmi, SETTINGS)?).into_owned();
        let (their_host, theirs) = theirs.split_once('\n').unwrap_or_default();
        let mut common = CommonSettings::without_launcher();
        common.check(RankSettings {
            rank: 0,
            host: their_host.into(),
            settings: JobSettings::from_text(theirs.into()),
        });
        let own = RankSettings { rank: pmi.rank, host: host::name(), settings: settings.clone() };
        if let SettingsCheck::Different(text) = common.check(own) {
            return Err(failed(text));
        }
    }
    let secret = hex::decode(&expected(pmi, "hawser-secret")?).and_then(|bytes| bytes.try_into().ok());
    secret.map(JobSecret).ok_or_else(|| changed("hawser-secret"))
}

/// The value of a key that some rank has put before the last fence.
fn expected(pmi: &mut PmiConnection, key: &str) -> Result<String> {
    pmi.get(key)?.ok_or_else(|| {
        failed(format!(
            "the launcher's PMI server does not know {key} after a fence; all processes of the job must load the same \
             Hawser (install it on all hosts, and check LD_LIBRARY_PATH)"
        ))
    })
}

#[cold]
fn changed(key: &str) -> Error {
    failed(format!("the launcher's PMI server has changed the value of {key}; start the program by Hawser's mpiexec"))
}

/// Puts bytes under as many keys as their text needs. The first value begins with the number of keys and a colon.
fn put_bytes(pmi: &mut PmiConnection, key: &str, bytes: &[u8]) -> Result<()> {
    // The number of keys and the colon take less than 16 bytes.
    let part_bytes = (pmi.value_max - 16) / 2;
    let count = bytes.len().div_ceil(part_bytes).max(1);
    let mut parts = bytes.chunks(part_bytes).map(hex::encode);
    pmi.put(&format!("{key}-0"), &format!("{count}:{}", parts.next().unwrap_or_default()))?;
    (1..).zip(parts).try_for_each(|(number, part): (u32, String)| pmi.put(&format!("{key}-{number}"), &part))
}

fn get_bytes(pmi: &mut PmiConnection, key: &str) -> Result<Vec<u8>> {
    let first = expected(pmi, &format!("{key}-0"))?;
    let (count, part) = first.split_once(':').ok_or_else(|| changed(key))?;
    let mut text = part.to_owned();
    for number in 1..count.parse::<u32>().map_err(|_| changed(key))? {
        text += &expected(pmi, &format!("{key}-{number}"))?;
    }
    hex::decode(&text).ok_or_else(|| changed(key))
}

fn card_key(rank: u32) -> String {
    format!("hawser-card-{rank}")
}

impl Bootstrap for ManagedProcess {
    fn identity(&self) -> &Identity {
        &self.rank.identity
    }

    fn publish(&self, key: KvsKey, bytes: &[u8]) -> Result<()> {
        match key {
            KvsKey::BusinessCard => put_bytes(&mut lock(&self.pmi), &card_key(self.rank.identity.rank), bytes),
        }
    }

    fn look_up(&self, peer: Peer, key: KvsKey) -> Option<Vec<u8>> {
        match key {
            KvsKey::BusinessCard => self.rank.segment.business_card(peer),
        }
    }

    /// Waits for all ranks. The first rank of the host then writes the other hosts' cards into the segment, and rings.
    fn fence(&self) -> Result<()> {
        let mut pmi = lock(&self.pmi);
        pmi.fence(self.timeout_s)?;
        let GatheredRank { identity, segment, .. } = &self.rank;
        if identity.local_rank == 0 {
            for peer in (0..identity.size).filter(|&rank| segment.local_slot_of(Peer(rank)).is_none()) {
                let card = get_bytes(&mut pmi, &card_key(peer))?;
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

    /// The launcher learns of a rank that leaves by `end_leave`. In a job of several hosts a thread waits until all
    /// ranks have left, because an acknowledgement of a rank that is gone may be lost.
    fn notify(&self, notification: Notification) -> bool {
        match notification {
            Notification::Left if !self.has_left.swap(true, Relaxed) => {
                self.rank.handle_left();
                if self.rank.identity.spans_hosts() {
                    let (pmi, segment, timeout_s) = (self.pmi.clone(), self.rank.segment.clone(), self.timeout_s);
                    let wait = move || {
                        if lock(&pmi).fence(timeout_s).is_ok() {
                            segment.set_all_finalized(true);
                            segment.ring_all();
                        }
                    };
                    *lock(&self.leave_thread) = thread::spawn(LEAVE_THREAD, wait).ok();
                }
            }
            Notification::Left | Notification::Back => {}
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

    fn end_leave(&self) {
        if !self.has_finalized.swap(true, Relaxed) {
            // The launcher takes no part of a process in a fence once that has finalized.
            if let Some(thread) = lock(&self.leave_thread).take() {
                let _ = thread.join();
            }
            lock(&self.pmi).finalize();
        }
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        self.rank.report_abort(code, text);
        abort_by(&self.pmi, exit_code(code));
        self.rank.exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sockets_name_is_short_and_differs_by_job_and_host() {
        let long = "k".repeat(256);
        assert!(socket_name(&long, 4_000_000).len() < 100);
        assert!(socket_name("a", 0) != socket_name("b", 0) && socket_name("a", 0) != socket_name("a", 1));
    }
}
