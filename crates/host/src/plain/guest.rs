//! The part of a rank other than 0 in the meeting: it finds rank 0 by the file, sends its rank and gets the segment
//! once all have come. It has an end: a rank 0 that does not come in time, or one that is gone. Uses `rendezvous` and
//! the segment.

use super::meeting::other_namespace;
use super::rendezvous::Notice;
use super::wish::Wish;
use hawser_boot::protocol::{MESSAGE_MAX, Message, VERSION};
use hawser_boot::terms::JobTerms;
use hawser_job::Segment;
use hawser_os::unix::Packets;
use hawser_os::{clock, host};
use std::os::fd::OwnedFd;

/// The time between two looks for the file, and for the listener that it names.
const LOOK_MS: u32 = 10;

/// Returns the segment that rank 0 has made, or the error why there is none.
pub fn come(wish: &Wish, terms: JobTerms) -> Result<Segment, String> {
    let deadline_ns = clock::now_ns() + wish.patience_s * 1_000_000_000;
    loop {
        let notice = Notice::read(&wish.file)?;
        if let Some(notice) = &notice {
            refuse_far(wish, notice)?;
            if let Ok(line) = notice.connect() {
                return ask(wish, notice, &line, &terms);
            }
        }
        if clock::now_ns() > deadline_ns {
            return Err(nobody(wish, notice));
        }
        host::pause_ms(LOOK_MS);
    }
}

/// Ranks share memory, so all of them are on one host.
fn refuse_far(wish: &Wish, notice: &Notice) -> Result<(), String> {
    let (here, there) = (host::name(), &notice.host);
    if *there == here {
        return Ok(());
    }
    Err(format!(
        "HAWSER_RENDEZVOUS={} was made by rank 0 on host {there}, and this is host {here}: ranks that are started \
         without mpiexec are all on one host; start those of several hosts by mpiexec, and remove the file if it is an old one",
        wish.file.display()
    ))
}

/// Sends this process's rank, and waits until all have come.
fn ask(wish: &Wish, notice: &Notice, line: &Packets, terms: &JobTerms) -> Result<Segment, String> {
    // The memory that rank 0 hands over is mapped, so it must come from no stranger; the kernel vouches for it.
    let user = line.peer().map_err(|_| gone(wish, notice))?.user;
    if user != host::user() && user != 0 {
        return Err(format!("rank 0 runs as user {user}, and this rank as user {}: run all as one", host::user()));
    }
    // Without a limit: rank 0 knows when to give up, and the connection ends with it.
    line.limit_waits(u64::from(u32::MAX)).map_err(|error| error.to_string())?;
    let hello = Message::Hello { version: VERSION, rank: wish.rank, terms: terms.text().into() };
    line.send(&hello.encode(), None).map_err(|_| gone(wish, notice))?;
    let mut bytes = vec![0; MESSAGE_MAX];
    let (len, segment) = line.receive(&mut bytes).map_err(|_| gone(wish, notice))?;
    match (Message::decode(&bytes[..len]), segment) {
        (Some(Message::Welcome(_)), Some(fd)) => open(wish, fd),
        (Some(Message::Welcome(_)), None) => {
            Err("the job's shared segment did not arrive: no descriptor is free; raise the limit (ulimit -n)".into())
        }
        (Some(Message::Refused(text)), _) => Err(text),
        _ => Err(gone(wish, notice)),
    }
}

/// Opens the segment, in which rank 0 has written which process is which rank.
fn open(wish: &Wish, fd: OwnedFd) -> Result<Segment, String> {
    let segment = Segment::open(fd).map_err(|error| error.cause().to_owned())?;
    let is_known = segment.rank(wish.rank as usize).pid() == host::pid();
    if is_known { Ok(segment) } else { Err(other_namespace(wish.rank)) }
}

/// Rank 0 has ended; its file goes too.
#[cold]
fn gone(wish: &Wish, notice: &Notice) -> String {
    notice.remove(&wish.file);
    format!("rank 0 (process {}) has ended before all {} ranks had come; start them all again", notice.pid, wish.size)
}

/// The error when the time is over. `old`: the contents of an earlier job's file, which goes too.
#[cold]
fn nobody(wish: &Wish, old: Option<Notice>) -> String {
    let (file, size, patience_s) = (wish.file.display(), wish.size, wish.patience_s);
    let found = match old {
        Some(notice) => {
            notice.remove(&wish.file);
            format!("the file was left by an earlier rank 0 (process {}, which has ended), and is removed", notice.pid)
        }
        None => "the file is not there".into(),
    };
    format!(
        "rank 0 of {size} has not come within {patience_s} s ({found}): HAWSER_RENDEZVOUS={file}; start all ranks \
         from 0 to {} with that file, or say how long to wait (HAWSER_RENDEZVOUS_S)",
        size - 1
    )
}
