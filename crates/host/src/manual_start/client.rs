//! The bootstrap of a rank other than 0 without a launcher: the rank finds rank 0 by the file, sends its rank and
//! gets the segment once all have joined. It fails if rank 0 does not listen in time, or ends. Uses `bootstrap_file`
//! and the segment.

use super::bootstrap_file::BootstrapFileContent;
use super::environment::ManualStart;
use super::server::other_namespace;
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::{AgentMessage, MESSAGE_MAX, VERSION};
use hawser_job::Segment;
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, host};
use std::os::fd::OwnedFd;

/// The time between two attempts to read the file, and to connect to the listener that it names.
const RETRY_MS: u32 = 10;

/// Returns the segment that rank 0 has made, or an error that says why there is none.
pub fn join(manual: &ManualStart, settings: JobSettings) -> Result<Segment, String> {
    let deadline_ns = clock::now_ns() + manual.timeout_s * 1_000_000_000;
    loop {
        let content = BootstrapFileContent::read(&manual.file)?;
        if let Some(content) = &content {
            check_same_host(manual, content)?;
            if let Ok(connection) = content.connect() {
                return request_segment(manual, content, &connection, &settings);
            }
        }
        if clock::now_ns() > deadline_ns {
            return Err(timeout_error(manual, content));
        }
        host::sleep_ms(RETRY_MS);
    }
}

/// Ranks share memory, so all of them are on one host.
fn check_same_host(manual: &ManualStart, content: &BootstrapFileContent) -> Result<(), String> {
    let (here, there) = (host::name(), &content.host);
    if *there == here {
        return Ok(());
    }
    Err(format!(
        "HAWSER_RENDEZVOUS={} was made by rank 0 on host {there}, and this is host {here}: without mpiexec all ranks \
         must be on one host; start ranks on several hosts with mpiexec, and remove the file if it is old",
        manual.file.display()
    ))
}

/// Sends this process's rank, and waits until all have joined.
fn request_segment(
    manual: &ManualStart,
    content: &BootstrapFileContent,
    connection: &SeqpacketSocket,
    settings: &JobSettings,
) -> Result<Segment, String> {
    // The memory that rank 0 hands over is mapped, so it must not come from another user; the kernel reports the
    // user.
    let user = connection.peer().map_err(|_| server_exited(manual, content))?.user;
    if user != host::user() && user != 0 {
        let own = host::user();
        return Err(format!("rank 0 runs as user {user}, and this rank as user {own}: run all ranks as one user"));
    }
    // This wait has no limit of its own: rank 0 gives up when its time is over, and the connection ends with rank 0.
    connection.set_timeout(u64::from(u32::MAX)).map_err(|error| error.to_string())?;
    let hello = AgentMessage::Hello { version: VERSION, rank: manual.rank, settings: settings.text().into() };
    connection.send(&hello.encode(), None).map_err(|_| server_exited(manual, content))?;
    let mut bytes = vec![0; MESSAGE_MAX];
    let (len, segment) = connection.receive(&mut bytes).map_err(|_| server_exited(manual, content))?;
    match (AgentMessage::decode(&bytes[..len]), segment) {
        (Some(AgentMessage::Welcome(_)), Some(fd)) => open(manual, fd),
        (Some(AgentMessage::Welcome(_)), None) => {
            Err("the job's shared segment did not arrive: no descriptor is free; raise the limit (ulimit -n)".into())
        }
        (Some(AgentMessage::Refused(text)), _) => Err(text),
        _ => Err(server_exited(manual, content)),
    }
}

/// Opens the segment, in which rank 0 has written which process is which rank.
fn open(manual: &ManualStart, fd: OwnedFd) -> Result<Segment, String> {
    let segment = Segment::open(fd).map_err(|error| error.cause().to_owned())?;
    let is_known = segment.rank(manual.rank as usize).pid() == host::pid();
    if is_known { Ok(segment) } else { Err(other_namespace(manual.rank)) }
}

/// Returns the error for a rank 0 that has ended, and removes its file.
#[cold]
fn server_exited(manual: &ManualStart, content: &BootstrapFileContent) -> String {
    content.remove(&manual.file);
    format!(
        "rank 0 (process {}) has ended before all {} ranks had joined; start all ranks again",
        content.pid, manual.size
    )
}

/// Returns the error for a rank 0 that has not come in time. `stale` has the contents of an earlier job's file, which
/// is removed.
#[cold]
fn timeout_error(manual: &ManualStart, stale: Option<BootstrapFileContent>) -> String {
    let (file, size, timeout_s) = (manual.file.display(), manual.size, manual.timeout_s);
    let found = match stale {
        Some(content) => {
            content.remove(&manual.file);
            format!("the file was left by an earlier rank 0 (process {}, which has ended), and is removed", content.pid)
        }
        None => "the file does not exist".into(),
    };
    format!(
        "rank 0 of {size} has not joined within {timeout_s} s ({found}): HAWSER_RENDEZVOUS={file}; start all ranks \
         from 0 to {} with that file, or increase the time limit (HAWSER_RENDEZVOUS_S)",
        size - 1
    )
}
