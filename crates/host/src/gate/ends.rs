//! The ends of ranks on this host: they are noticed by their processes, written where all read them, and a fault is
//! reported once.
//!
//! An end is written and passed on before anything is made of it, because others wait for it; its meaning for the job
//! is never decided here. Driven by the kernel's events and by `entry`, since messages of ranks come before their ends;
//! uses `job::Lives` and the events.

use super::{Event, Gate, Moment, Wrong};
use crate::door;
use crate::life::{self, Attached, Rank};
use hawser_base::Peer;
use hawser_job::{Ending, Phase};
use hawser_os::pidfd;
use hawser_os::spawn::End;
use std::os::fd::AsFd;

/// The time that the judgement on a dead rank's process waits for the end of the program that was started for it.
const PATIENCE_NS: u64 = 200_000_000;

impl Gate {
    /// Handles the children of this process that have been reaped, any number of them. One that belongs to no rank is
    /// ignored.
    pub fn handle_reaped(&mut self, moment: &mut Moment, ended: &[(i32, End)]) {
        if ended.is_empty() {
            return;
        }
        // Messages that a rank sent before it ended come first, also of one that has connected and was not received
        // from yet.
        self.answer_door(moment, door::ALL_CALLERS);
        let noted = ended.iter().filter(|&&(pid, end)| self.reaped(moment, pid, end)).count();
        if noted > 0 {
            self.segment.ring_all();
        }
    }

    /// Handles the reaped process `pid`; returns whether the other ranks are to be rung for that.
    fn reaped(&mut self, moment: &mut Moment, pid: i32, end: End) -> bool {
        let Some(&local) = self.register.by_process.get(&pid) else { return false };
        if let Some(attached) = &self.ranks[local].attached {
            self.hear(moment, attached.line, door::ALL_MESSAGES);
        }
        // The end of the rank's process comes before that of the shell that reaped it.
        let before = self.ranks[local].pid() != pid && self.note_end(moment, local);
        if !self.ranks[local].reaped(pid, end) {
            return before;
        }
        let rank = self.ranks[local].world;
        let noted = self.publish_end(local);
        self.events.push_back(Event::Reaped { rank });
        self.judge(moment, local, false);
        if self.ranks[local].is_gone() {
            self.events.push_back(Event::Gone { rank, pid, code: life::code(end) });
        }
        before || noted
    }

    /// Handles an event of a rank's process that is no child of ours: it may have ended.
    pub(super) fn process_ended(&mut self, moment: &mut Moment, local: usize) {
        if self.note_end(moment, local) {
            self.segment.ring_all();
        }
    }

    /// The same; returns whether the other ranks are to be rung for that.
    fn note_end(&mut self, moment: &mut Moment, local: usize) -> bool {
        let Some(Attached { process: Some(process), line, gone: false, .. }) = &self.ranks[local].attached else {
            return false;
        };
        if !pidfd::ended(process.as_fd()) {
            return false;
        }
        let line = *line;
        moment.epoll.remove(process.as_fd());
        self.hear(moment, line, door::ALL_MESSAGES);
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.gone = true;
        }
        let noted = self.publish_end(local);
        self.judge(moment, local, false);
        noted
    }

    /// Shows all other ranks that the rank's process is gone, once, and returns whether those here are to be rung. It
    /// comes before everything that is made of it: others wait.
    fn publish_end(&mut self, local: usize) -> bool {
        self.learn_end(local);
        let rank = &self.ranks[local];
        let Some(attached) = rank.attached.as_ref().filter(|attached| attached.gone) else { return false };
        let has_left = attached.finalized;
        // A program without MPI_Finalize that returns 0 has done its work.
        let is_failure = !has_left && attached.end != Some(End::Exited(0));
        let ending = if is_failure { Ending::Failed } else { Ending::InOrder };
        // The fault is reported later, if it was not reported already: others may act on the end before it comes.
        let unclear = !has_left && !rank.judged;
        self.write_end(rank.world, ending, has_left, unclear)
    }

    /// The same for a rank that has never called MPI_Init, and never will. The fault is reported next.
    fn publish_absence(&mut self, local: usize) {
        if self.write_end(self.ranks[local].world, Ending::Failed, false, true) {
            self.segment.ring_all();
        }
    }

    /// Writes an end of this host where all read it. Returns whether it is news, for which the ranks here are to be
    /// rung.
    fn write_end(&mut self, rank: u32, ending: Ending, has_left: bool, unclear: bool) -> bool {
        self.went_without |= !has_left;
        let is_news = self.note_end_of(rank, ending);
        if is_news {
            self.events.push_back(Event::Ended { rank, ending, has_left, unclear });
        }
        is_news
    }

    /// Reads from its page and the kernel how a rank's process stands.
    fn learn_end(&mut self, local: usize) {
        // Some programs close every descriptor, our connection too: then the page shows it.
        let page_says_finalized = self.segment.rank(local).phase() == Phase::Finalized;
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.finalized |= page_says_finalized;
            // The kernel has the status only once the parent has reaped it, which may be later than its end.
            if let (true, None, Some(process)) = (attached.gone, attached.end, &attached.process) {
                attached.end = pidfd::exit_status(process.as_fd()).map(End::from_status);
            }
        }
    }

    /// Writes the end of a rank, of any host, into this host's log. Returns whether it is news, for which its ranks are
    /// to be rung.
    pub(super) fn note_end_of(&self, rank: u32, ending: Ending) -> bool {
        self.segment.lives().note(Peer(rank), ending)
    }

    /// If all ranks are on this host, they meet before they leave MPI, so that none needs a notification that all have
    /// left; but for those that cannot meet, as a rank has gone without. While the fault of one is not known, or is
    /// known and ends the job, they stay where they are: what they did then would follow from the end of that one.
    pub(super) fn look_whether_all_left(&self) {
        let is_through = |rank: &Rank| match &rank.attached {
            Some(attached) => attached.finalized || attached.gone && rank.judged,
            None => rank.is_gone(),
        };
        let may_leave = self.went_without && !self.is_part() && !self.is_doomed;
        if may_leave && self.ranks.iter().all(is_through) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Reports the fault of a rank's end, once, and checks what that means for those that wait to leave.
    fn judge(&mut self, moment: &Moment, local: usize, final_word: bool) {
        if !self.ranks[local].judged {
            self.judge_first(moment, local, final_word);
        }
        self.look_whether_all_left();
    }

    fn judge_first(&mut self, moment: &Moment, local: usize, final_word: bool) {
        self.learn_end(local);
        let rank = &mut self.ranks[local];
        let what = rank.verdict(final_word);
        let unclear = what.is_none() && rank.attached.as_ref().is_some_and(|a| a.gone && !a.finalized);
        rank.judge_at_ns = (unclear && !final_word).then(|| moment.now_ns + PATIENCE_NS);
        rank.judged = what.is_some() || rank.is_gone();
        if rank.judge_at_ns.is_some() && !self.register.unclear.contains(&local) {
            self.register.unclear.push(local);
        }
        let rank = &self.ranks[local];
        let is_absent = rank.left_without_init() && rank.child > 0;
        if is_absent {
            self.events.push_back(Event::Absent { rank: rank.world, pid: rank.pid() });
        }
        if let Some(what) = what {
            if self.ranks[local].attached.is_none() {
                self.publish_absence(local);
            }
            self.say_wrong(local, Wrong::Fault(what));
        }
        if is_absent {
            self.register.absent.push(local);
        }
        self.judge_absent();
    }

    /// Judges those whose judgement was put off until now.
    pub(super) fn judge_unclear(&mut self, moment: &Moment) {
        for local in std::mem::take(&mut self.register.unclear) {
            match self.ranks[local].judge_at_ns {
                Some(at_ns) if at_ns <= moment.now_ns => self.judge(moment, local, true),
                Some(_) => self.register.unclear.push(local),
                None => {}
            }
        }
    }

    /// Judges a rank that left without MPI_Init although others wait for it there.
    pub(super) fn judge_absent(&mut self) {
        if !self.register.somebody_attached || self.is_ending {
            return;
        }
        // A process that a program started may have become the rank after the program's end.
        let absent = std::mem::take(&mut self.register.absent);
        if let Some(local) = absent.into_iter().find(|&local| self.ranks[local].left_without_init()) {
            self.publish_absence(local);
            self.say_wrong(local, Wrong::NoInit);
        }
    }

    pub(super) fn say_wrong(&mut self, local: usize, what: Wrong) {
        self.is_doomed |= what.ends_job(self.spec.goes_on);
        let rank = &self.ranks[local];
        self.events.push_back(Event::Wrong { rank: rank.world, pid: rank.pid(), what });
    }
}
