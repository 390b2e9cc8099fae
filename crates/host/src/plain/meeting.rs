//! The meeting of ranks without a launcher, which rank 0 holds: it lets each of the others in once, compares the terms
//! of all, and hands the segment to all when the last one has come. If one does not come, or goes, or is unlike, none
//! gets it, and each receives the cause. Uses `rendezvous` and the segment.

use super::rendezvous::Notice;
use super::wish::Wish;
use crate::door::{CALLERS_PER_TURN, Door, Heard, Knock, MESSAGES_PER_TURN};
use crate::facts;
use crate::segment::Part;
use hawser_boot::protocol::{Message, VERSION, Welcome};
use hawser_boot::terms::{Agreed, JobTerms, Party, Verdict};
use hawser_job::{Phase, Segment};
use hawser_os::epoll::Epoll;
use hawser_os::{clock, host};
use std::collections::BTreeMap;

/// The epoll token of the listener's events; those of a connection have its number.
const DOOR: u64 = u64::MAX;

struct Meeting<'a> {
    wish: &'a Wish,
    host: String,
    epoll: Epoll,
    door: Door,
    agreed: Agreed,
    /// The ranks that have come.
    guests: BTreeMap<u32, Guest>,
}

struct Guest {
    pid: i32,
    /// Its connection, by number.
    line: u32,
}

/// Holds the meeting; returns the segment, or the error why there is none.
pub fn hold(wish: &Wish, terms: JobTerms) -> Result<Segment, String> {
    let (host, pid, size) = (host::name(), host::pid(), wish.size);
    let (job_id, hosts) = (format!("plain-{pid}"), vec![0; size as usize]);
    let part = Part { job_id: &job_id, host: &host, size, ranks: (0..size).collect(), hosts: &hosts };
    let segment = part.segment(facts::without_fork(size as usize)).map_err(|error| error.to_string())?;
    let mut epoll = Epoll::new().map_err(|error| error.to_string())?;
    let door = Door::open(&job_id, size as usize, &mut epoll, DOOR).map_err(|error| error.to_string())?;
    let notice = Notice { host: host.clone(), pid, socket: door.name.clone() };
    let mut agreed = Agreed::without_launcher();
    agreed.judge(Party { rank: 0, host: host.clone(), terms });
    let _posted = notice.post(&wish.file)?;
    let mut meeting = Meeting { wish, host, epoll, door, agreed, guests: BTreeMap::new() };
    match meeting.wait() {
        Ok(()) => Ok(meeting.begin(segment)),
        Err(text) => {
            meeting.tell_all(&Message::Refused(text.clone()));
            Err(text)
        }
    }
}

impl Meeting<'_> {
    /// Waits until all have come.
    fn wait(&mut self) -> Result<(), String> {
        let deadline_ns = clock::now_ns() + self.wish.patience_s * 1_000_000_000;
        let mut events = Vec::new();
        while self.guests.len() + 1 < self.wish.size as usize {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return Err(self.missing());
            }
            let until_ns = self.door.deadline_ns().map_or(deadline_ns, |at_ns| at_ns.min(deadline_ns));
            let wait_ms = until_ns.saturating_sub(now_ns).div_ceil(1_000_000);
            self.epoll.wait(&mut events, Some(wait_ms)).map_err(|error| error.to_string())?;
            for event in std::mem::take(&mut events) {
                match event.token {
                    DOOR => self.answer_door()?,
                    number => self.hear(number as u32)?,
                }
            }
            self.door.wake(&mut self.epoll);
        }
        Ok(())
    }

    fn answer_door(&mut self) -> Result<(), String> {
        for _ in 0..CALLERS_PER_TURN {
            match self.door.answer(&mut self.epoll, u64::from) {
                Knock::Caller(number) => self.hear(number)?,
                Knock::Stranger => {}
                Knock::Nobody | Knock::Rest(_) => break,
            }
        }
        Ok(())
    }

    /// Receives a caller's message.
    fn hear(&mut self, number: u32) -> Result<(), String> {
        for _ in 0..MESSAGES_PER_TURN {
            match self.door.hear(number) {
                Heard::Message(Message::Hello { version, rank, terms }) => {
                    self.hello(number, version, rank, JobTerms::from_text(terms))?;
                }
                Heard::Message(_) => drop(self.door.hang_up(number)),
                Heard::Nothing => return Ok(()),
                Heard::Closed => return self.closed(number),
            }
        }
        Ok(())
    }

    /// Handles the Hello of a process with its rank.
    fn hello(&mut self, number: u32, version: u32, rank: u32, terms: JobTerms) -> Result<(), String> {
        let pid = self.door.caller(number).map_or(0, |credentials| credentials.pid);
        if let Some(text) = strange(rank, version, pid) {
            self.refuse(number, text.clone());
            return Err(text);
        }
        if let Verdict::Unlike(text) = self.agreed.judge(Party { rank, host: self.host.clone(), terms }) {
            self.refuse(number, text.clone());
            return Err(text);
        }
        let taken = if rank == 0 { Some(host::pid()) } else { self.guests.get(&rank).map(|guest| guest.pid) };
        match taken {
            Some(pid) => {
                self.refuse(number, format!("rank {rank} is process {pid} already; give each rank another HAWSER_RANK"))
            }
            None if rank >= self.wish.size => {
                self.refuse(number, format!("there is no rank {rank} of {}", self.wish.size))
            }
            None => {
                self.guests.insert(rank, Guest { pid, line: number });
            }
        }
        Ok(())
    }

    fn refuse(&mut self, number: u32, text: String) {
        self.door.say(number, &Message::Refused(text), None);
        self.door.hang_up(number);
    }

    /// Handles the end of a connection: of no rank, or of a rank that waited with us.
    fn closed(&self, number: u32) -> Result<(), String> {
        let gone = self.guests.iter().find(|(_, guest)| guest.line == number);
        gone.map_or(Ok(()), |(rank, guest)| {
            let size = self.wish.size;
            Err(format!(
                "rank {rank} (process {}) has ended before all {size} ranks had come; start them all again",
                guest.pid
            ))
        })
    }

    fn tell_all(&mut self, message: &Message) {
        let lines: Vec<u32> = self.guests.values().map(|guest| guest.line).collect();
        for line in lines {
            self.door.say(line, message, None);
        }
    }

    /// Begins the job once all are there.
    fn begin(&mut self, segment: Segment) -> Segment {
        let pids = self.guests.iter().map(|(&rank, guest)| (rank, guest.pid));
        for (rank, pid) in std::iter::once((0, host::pid())).chain(pids) {
            let page = segment.rank(rank as usize);
            page.set_pid(pid);
            page.set_phase(Phase::Attached);
        }
        for (&rank, guest) in &self.guests {
            let welcome = Welcome { rank, size: self.wish.size, ..Welcome::default() };
            // A failed send is ignored: all see the end of a rank that is gone.
            self.door.say(guest.line, &Message::Welcome(welcome), Some(segment.fd()));
        }
        segment
    }

    #[cold]
    fn missing(&self) -> String {
        let (size, patience_s) = (self.wish.size, self.wish.patience_s);
        let missing: Vec<u32> = (1..size).filter(|rank| !self.guests.contains_key(rank)).collect();
        let (first, rest) = (missing[0], missing.len() - 1);
        let others = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!(
            "rank {first}{others} of {size} has not come within {patience_s} s; start all ranks from 0 to {} with \
             HAWSER_RENDEZVOUS={}, or say how long to wait (HAWSER_RENDEZVOUS_S)",
            size - 1,
            self.wish.file.display()
        )
    }
}

/// The error of a process that cannot be a rank beside this one.
fn strange(rank: u32, version: u32, pid: i32) -> Option<String> {
    if version != VERSION {
        return Some(format!(
            "rank {rank} has a library that speaks version {version} of Hawser's boot protocol, and rank 0 one of \
             version {VERSION}; let all ranks find the same library (LD_LIBRARY_PATH)"
        ));
    }
    (pid == 0).then(|| other_namespace(rank))
}

/// The error for ranks in different process namespaces: ranks watch each other's processes, whose numbers they must see
/// alike.
#[cold]
pub fn other_namespace(rank: u32) -> String {
    format!(
        "rank {rank} and rank 0 do not see each other's processes (PID namespaces); start all ranks in one container"
    )
}
