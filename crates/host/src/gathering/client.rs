//! The side of a rank that is not the first of its host: it finds the first one, sends its rank, and gets the segment
//! once all have come. It fails if the first one does not listen in time, or ends. Uses `bootstrap_file`, `server` (its
//! errors) and the segment; used by `gathering`.

use super::bootstrap_file::BootstrapFileContent;
use super::server::other_namespace;
use super::{Gathering, Place};
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::{AgentMessage, MESSAGE_MAX, VERSION};
use hawser_job::Segment;
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, host};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The time between two attempts to find the first rank and to connect to it: people start ranks one by one, a launcher
/// starts all at once.
const FILE_RETRY_MS: u32 = 10;
const SOCKET_RETRY_MS: u32 = 1;

/// Returns the segment that the first rank has made, or an error that says why there is none.
pub fn join(gathering: &Gathering, settings: JobSettings) -> Result<Segment, String> {
    let deadline_ns = clock::now_ns() + gathering.timeout_s * 1_000_000_000;
    loop {
        let content = gathering.place.find()?;
        if let Some(content) = &content {
            check_same_host(gathering, content)?;
            if let Ok(connection) = content.connect() {
                return request_segment(gathering, content, &connection, &settings);
            }
        }
        if clock::now_ns() > deadline_ns {
            return Err(timeout_error(gathering, content));
        }
        host::sleep_ms(if matches!(gathering.place, Place::File(_)) { FILE_RETRY_MS } else { SOCKET_RETRY_MS });
    }
}

/// Ranks share memory, so all that gather are on one host.
fn check_same_host(gathering: &Gathering, content: &BootstrapFileContent) -> Result<(), String> {
    let (here, there) = (host::name(), &content.host);
    match &gathering.place {
        Place::File(file) if *there != here => Err(format!(
            "HAWSER_RENDEZVOUS={} was made by rank 0 on host {there}, and this is host {here}: without mpiexec all ranks \
             must be on one host; start ranks on several hosts with mpiexec, and remove the file if it is old",
            file.display()
        )),
        _ => Ok(()),
    }
}

/// Sends this process's rank, and waits until all have joined.
fn request_segment(
    gathering: &Gathering,
    content: &BootstrapFileContent,
    connection: &SeqpacketSocket,
    settings: &JobSettings,
) -> Result<Segment, String> {
    // The memory that the first rank hands over is mapped, so it must not come from another user. The kernel reports
    // the user.
    let user = connection.peer().map_err(|_| server_exited(gathering, content))?.user;
    if user != host::user() && user != 0 {
        let own = host::user();
        let first = gathering.local[0];
        return Err(format!(
            "rank {first} runs as user {user}, and this rank as user {own}: run all ranks as one user"
        ));
    }
    // This wait has no limit of its own: the first rank gives up when its time is over, and the connection ends with
    // it.
    connection.set_timeout(u64::from(u32::MAX)).map_err(|error| error.to_string())?;
    let hello = AgentMessage::Hello { version: VERSION, rank: gathering.rank, settings: settings.text().into() };
    connection.send(&hello.encode(), None).map_err(|_| server_exited(gathering, content))?;
    let mut bytes = vec![0; MESSAGE_MAX];
    let (len, segment) = connection.receive(&mut bytes).map_err(|_| server_exited(gathering, content))?;
    match (AgentMessage::decode(&bytes[..len]), segment) {
        (Some(AgentMessage::Welcome(_)), Some(fd)) => open(gathering, fd),
        (Some(AgentMessage::Welcome(_)), None) => {
            Err("the job's shared segment did not arrive: no descriptor is free; raise the limit (ulimit -n)".into())
        }
        (Some(AgentMessage::Refused(text)), _) => Err(text),
        _ => Err(server_exited(gathering, content)),
    }
}

/// Opens the segment, in which the first rank has written which process is which rank.
fn open(gathering: &Gathering, fd: OwnedFd) -> Result<Segment, String> {
    let segment = Segment::open(fd).map_err(|error| error.cause().to_owned())?;
    let page = gathering.page_of(gathering.rank).unwrap_or_default();
    let is_known = segment.rank(page).pid() == host::pid();
    if is_known { Ok(segment) } else { Err(other_namespace(gathering.rank, gathering.local[0])) }
}

/// Returns the error for a first rank that has ended, and removes its file.
#[cold]
fn server_exited(gathering: &Gathering, content: &BootstrapFileContent) -> String {
    let (size, first) = (gathering.size, gathering.local[0]);
    match &gathering.place {
        Place::File(file) => {
            content.remove(file);
            let pid = content.pid;
            format!("rank 0 (process {pid}) has ended before all {size} ranks had joined; start all ranks again")
        }
        Place::Socket(_) => {
            format!("rank {first} has ended before all ranks of this host had joined the job of {size}; start it again")
        }
    }
}

/// Returns the error for a first rank that has not come in time.
#[cold]
fn timeout_error(gathering: &Gathering, found: Option<BootstrapFileContent>) -> String {
    let (timeout_s, size, remedy) = (gathering.timeout_s, gathering.size, gathering.remedy());
    match &gathering.place {
        Place::File(file) => {
            let found = handle_stale(file, found);
            let file = file.display();
            format!(
                "rank 0 of {size} has not joined within {timeout_s} s ({found}): HAWSER_RENDEZVOUS={file}; start all \
                 ranks from 0 to {} with that file, or increase the time limit (HAWSER_RENDEZVOUS_S)",
                size - 1
            )
        }
        Place::Socket(_) => {
            format!("rank {} of {size} has not joined within {timeout_s} s; {remedy}", gathering.local[0])
        }
    }
}

/// Removes the file of an earlier job, and says what there was.
fn handle_stale(file: &Path, stale: Option<BootstrapFileContent>) -> String {
    match stale {
        Some(content) => {
            content.remove(file);
            format!("the file was left by an earlier rank 0 (process {}, which has ended), and is removed", content.pid)
        }
        None => "the file does not exist".into(),
    }
}
