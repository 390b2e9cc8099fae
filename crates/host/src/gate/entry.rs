//! The listener's events: callers become ranks, and ranks send their messages.
//!
//! Each turn takes a bounded number of callers and of messages. The reports of a rank whose program has closed the
//! connection are read from its page. Nothing here makes a rank's end known: that comes from the kernel (`ends`). Uses
//! `door`, `callers`, `unheard` and the events; used by `gate`.

use super::{Event, Gate, Moment, Source, Wrong};
use crate::callers::Callers;
use crate::door::{self, Heard, Knock};
use crate::life::Attached;
use crate::unheard::Said;
use hawser_boot::protocol::{Message, Welcome};
use hawser_boot::terms::{JobTerms, Party, Verdict};
use hawser_job::plan::CARD_MAX;
use hawser_job::{Phase, ProcessVm};
use hawser_os::epoll::Interest;
use hawser_os::tether::Tether;
use std::os::fd::AsFd;

impl Gate {
    /// Accepts callers, at most `limit`.
    pub(super) fn answer_door(&mut self, moment: &mut Moment, limit: usize) {
        for _ in 0..limit {
            match self.door.answer(moment.epoll, |number| Source::Line(number).encode()) {
                Knock::Caller(number) => self.hear(moment, number, door::MESSAGES_PER_TURN),
                Knock::Stranger => {}
                Knock::Rest(Some(error)) => return self.events.push_back(Event::Resting { error }),
                Knock::Rest(None) | Knock::Nobody => return,
            }
        }
    }

    /// Receives a caller's messages, at most `limit`: the rest makes another event.
    pub(super) fn hear(&mut self, moment: &mut Moment, number: u32, limit: usize) {
        for _ in 0..limit {
            match self.door.hear(number) {
                // One request a turn: its answer ends the connection.
                Heard::Message(Message::Inspect(what)) if !self.register.by_line.contains_key(&number) => {
                    return self.events.push_back(Event::Asked { caller: number, what });
                }
                Heard::Message(message) => self.heard(moment, number, message),
                Heard::Closed => return self.line_closed(moment, number),
                Heard::Nothing => return,
            }
        }
    }

    fn heard(&mut self, moment: &mut Moment, number: u32, message: Message) {
        let local = self.register.by_line.get(&number).copied();
        match (message, local) {
            (Message::Hello { version, rank, terms }, None) => {
                self.welcome(moment, number, (version, rank), JobTerms::from_text(terms));
            }
            (Message::Finalize, Some(local)) => self.left(local, true),
            (Message::Back, Some(local)) => self.left(local, false),
            (Message::Card(card), Some(local)) if card.len() <= CARD_MAX => {
                self.events.push_back(Event::Card { rank: self.ranks[local].world, card });
            }
            (Message::Unanswered(what), Some(local)) if what.peer < self.spec.size => {
                self.events.push_back(Event::Unanswered { rank: self.ranks[local].world, what });
            }
            (Message::Abort { code, text }, Some(local)) => {
                self.segment.rank(local).set_phase(Phase::Aborted);
                self.is_wrong(local, Wrong::Aborted { code, text });
            }
            // The page of a rank whose connection is closed has the rest.
            _ => {
                self.door.hang_up(number);
                self.line_closed(moment, number);
            }
        }
    }

    /// Handles a closed connection: a rank ends, or has closed what it had not opened.
    fn line_closed(&mut self, moment: &Moment, number: u32) {
        let Some(&local) = self.register.by_line.get(&number) else { return };
        if self.ranks[local].attached.as_ref().is_some_and(|attached| !attached.gone) {
            self.unheard.add(local, moment.now_ns);
        }
    }

    /// Reads the reports of ranks whose connection is closed.
    pub(super) fn read_pages(&mut self, moment: &Moment) {
        let Gate { unheard, ranks, segment, .. } = self;
        let said = unheard.look(moment.now_ns, |local| {
            let attached = ranks[local].attached.as_ref().filter(|attached| !attached.gone)?;
            Some((segment.rank(local), attached.finalized))
        });
        for (local, said) in said {
            let rank = self.ranks[local].world;
            match said {
                Said::Unanswered(what) if what.peer < self.spec.size => {
                    self.events.push_back(Event::Unanswered { rank, what });
                }
                Said::Unanswered(_) => {}
                Said::Finalized(yes) => self.left(local, yes),
            }
        }
    }

    /// Records that a rank has left MPI, or is back.
    fn left(&mut self, local: usize, yes: bool) {
        let Some(attached) = &mut self.ranks[local].attached else { return };
        attached.finalized = yes;
        self.departures += u32::from(yes);
        if !yes {
            // The rank has cleared it itself, but all may have been reported to have left before its message came here.
            self.segment.set_all_finalized(false);
        }
        let rank = self.ranks[local].world;
        self.events.push_back(if yes { Event::Left { rank } } else { Event::Back { rank } });
        self.look_whether_all_left();
    }

    /// Handles the Hello of a process: its rank, by the boot protocol of its version, and its terms.
    fn welcome(&mut self, moment: &mut Moment, number: u32, (version, world): (u32, u32), terms: JobTerms) {
        let caller = self.door.caller(number).map_or(0, |credentials| credentials.pid);
        let Gate { segment, spec, ranks, .. } = self;
        match (Callers { segment, host: &spec.host, ranks }).entry(version, world, caller) {
            Ok(local) if self.is_alike(local, terms) => self.let_in(moment, number, local, caller),
            // The caller waits for an answer until the job has ended.
            Ok(_) => {}
            Err(answer) => {
                self.door.say(number, &answer, None);
                self.door.hang_up(number);
            }
        }
    }

    /// Compares a rank's terms with those of the ranks of this host before it; if they differ the job cannot go on.
    fn is_alike(&mut self, local: usize, terms: JobTerms) -> bool {
        let (rank, text) = (self.ranks[local].world, terms.text().to_owned());
        match self.agreed.judge(Party { rank, host: self.spec.host.clone(), terms }) {
            Verdict::First => self.events.push_back(Event::Terms { rank, text }),
            Verdict::Alike => {}
            Verdict::Unlike(text) => {
                self.is_wrong(local, Wrong::Unlike { text });
                return false;
            }
        }
        true
    }

    /// Makes process `caller` a rank.
    fn let_in(&mut self, moment: &mut Moment, number: u32, local: usize, caller: i32) {
        let page = self.segment.rank(local);
        page.set_pid(caller);
        page.set_phase(Phase::Attached);
        self.register.somebody_attached = true;
        let rank = &mut self.ranks[local];
        let process = if caller > 0 && caller != rank.child { self.door.process(number) } else { None };
        if let Some(process) = &process {
            let _ = moment.epoll.add(process.as_fd(), Source::Process(local as u32).encode(), Interest::Read);
        }
        // If neither the child's end nor a hold on the process will show its end, the child stands for it.
        let pid = if process.is_some() { caller } else { rank.child };
        // It may leave the child's process group at any time.
        let tether = process.as_ref().filter(|_| self.spec.has_tethers);
        let tether = tether.and_then(|process| Tether::tie_process(caller, process.as_fd()).ok());
        rank.attached = Some(Attached { pid, line: number, process, tether, finalized: false, gone: false, end: None });
        let world = rank.world;
        self.register.by_process.insert(pid, local);
        self.register.by_line.insert(number, local);
        self.door.say(number, &Message::Welcome(self.facts_of(local)), Some(self.segment.fd()));
        self.events.push_back(Event::CameIn { rank: world, pid });
        self.judge_absent();
    }

    /// The Welcome of a rank: its identity and its job.
    fn facts_of(&self, local: usize) -> Welcome {
        let rank = &self.ranks[local];
        Welcome {
            rank: rank.world,
            size: self.spec.size,
            local_rank: local as u32,
            local_size: self.ranks.len() as u32,
            appnum: rank.app,
            program_size: self.spec.programs[rank.app as usize],
            universe: self.spec.size,
            widest_host: self.widest_host,
            membarrier: self.facts.membarrier,
            process_vm: self.facts.process_vm == ProcessVm::Allowed,
            secret: self.spec.secret,
        }
    }

    /// Reports a fault of a rank, whose end then needs no further report.
    fn is_wrong(&mut self, local: usize, what: Wrong) {
        self.ranks[local].judged = true;
        self.say_wrong(local, what);
    }
}
