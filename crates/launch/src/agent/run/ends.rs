//! How ranks end, on this host: their processes are noticed, their ends are written where all read them, and what was
//! wrong is said once.
//!
//! An end is written and passed on before anything is made of it, because others wait for it; what it means for the job
//! is never decided here (`conduct::policy`). Before it: `run`; after it: `host::life`, `job::Lives`.

use super::Run;
use crate::agent::Desk;
use crate::frames::{RankEnd, Up};
use crate::trouble::What;
use hawser_base::Peer;
use hawser_host::door;
use hawser_host::life::{self, Attached, Rank};
use hawser_job::{Ending, Phase};
use hawser_os::spawn::{self, End, Reaped};
use hawser_os::{clock, pidfd};
use std::os::fd::AsFd;

/// How long the death of a rank's process waits for the word of the program that was started for it.
const PATIENCE_NS: u64 = 200_000_000;

impl Run {
    pub(super) fn reap(&mut self, desk: &mut Desk) {
        let ended = std::iter::from_fn(|| match spawn::reap() {
            Reaped::Ended(pid, end) => Some((pid, end)),
            Reaped::AllRunning | Reaped::NoChildren => None,
        });
        let ended: Vec<(i32, End)> = ended.collect();
        if ended.is_empty() {
            return;
        }
        // What a rank said before it ended comes first: of one that has connected and was not heard yet too.
        self.answer_door(desk, door::ALL_CALLERS);
        let noted = ended.into_iter().filter(|&(pid, end)| self.reaped(desk, pid, end)).count();
        if noted > 0 {
            self.segment.ring_all();
        }
    }

    /// Process `pid` has been reaped; whether the other ranks are to be rung for that.
    fn reaped(&mut self, desk: &mut Desk, pid: i32, end: End) -> bool {
        let Some(&local) = self.register.by_process.get(&pid) else { return false };
        if let Some(attached) = &self.ranks[local].attached {
            self.hear(desk, attached.line, door::ALL_MESSAGES);
        }
        // The end of the rank's process comes before that of the shell that reaped it.
        let before = self.ranks[local].pid() != pid && self.note_end(desk, local);
        if !self.ranks[local].reaped(pid, end) {
            return before;
        }
        let noted = self.publish_end(desk, local);
        self.streams.catch_up(desk, self.ranks[local].world);
        self.judge(desk, local, false);
        if self.ranks[local].is_gone() {
            desk.up(&Up::RankEnded { rank: self.ranks[local].world, pid, code: life::code(end) });
        }
        before || noted
    }

    /// A rank's process that is no child of ours may have ended.
    pub(super) fn process_ended(&mut self, desk: &mut Desk, local: usize) {
        if self.note_end(desk, local) {
            self.segment.ring_all();
        }
    }

    /// The same; whether the other ranks are to be rung for that.
    fn note_end(&mut self, desk: &mut Desk, local: usize) -> bool {
        let Some(Attached { process: Some(process), line, gone: false, .. }) = &self.ranks[local].attached else {
            return false;
        };
        if !pidfd::ended(process.as_fd()) {
            return false;
        }
        let line = *line;
        desk.epoll.remove(process.as_fd());
        self.hear(desk, line, door::ALL_MESSAGES);
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.gone = true;
        }
        let noted = self.publish_end(desk, local);
        self.judge(desk, local, false);
        noted
    }

    /// Lets all other ranks see that the rank's process is gone, once, and says whether those here are to be rung. It
    /// comes before everything that is made of it: others wait.
    fn publish_end(&mut self, desk: &mut Desk, local: usize) -> bool {
        self.learn_end(local);
        let rank = &self.ranks[local];
        let Some(attached) = rank.attached.as_ref().filter(|attached| attached.gone) else { return false };
        let has_left = attached.finalized;
        // A program without MPI_Finalize that returns 0 has done its work.
        let failed = !has_left && attached.end != Some(End::Exited(0));
        let end = RankEnd { rank: rank.world, failed };
        // A trouble follows that says what was wrong, at once or later: others may act on the end before it comes.
        let unclear = !has_left && !rank.judged;
        self.write_end(desk, end, has_left, unclear)
    }

    /// The same of one that has never called MPI_Init, and never will. A trouble follows that says so.
    fn publish_absence(&mut self, desk: &mut Desk, local: usize) {
        let end = RankEnd { rank: self.ranks[local].world, failed: true };
        if self.write_end(desk, end, false, true) {
            self.segment.ring_all();
        }
    }

    /// Writes an end of this host where all read it. Whether it is news, for which the ranks here are to be rung.
    fn write_end(&mut self, desk: &mut Desk, end: RankEnd, has_left: bool, unclear: bool) -> bool {
        self.went_without |= !has_left;
        let is_news = self.note_gone(end);
        if is_news && self.is_part() {
            desk.up(&Up::Ended { end, has_left, unclear });
        }
        self.look_whether_all_left();
        is_news
    }

    /// What its page and the kernel say of a rank's process.
    fn learn_end(&mut self, local: usize) {
        // Some programs close every descriptor, our line too: then the page says it.
        let page_says_finalized = self.segment.rank(local).phase() == Phase::Finalized;
        if let Some(attached) = &mut self.ranks[local].attached {
            attached.finalized |= page_says_finalized;
            // Told only once its parent has reaped it, which may be later than its end.
            if let (true, None, Some(process)) = (attached.gone, attached.end, &attached.process) {
                attached.end = pidfd::exit_status(process.as_fd()).map(End::from_status);
            }
        }
    }

    /// Writes a rank's end, of any host, into this host's log. Whether it is news, for which its ranks are to be rung.
    pub(super) fn note_gone(&self, end: RankEnd) -> bool {
        let ending = if end.failed { Ending::Failed } else { Ending::InOrder };
        self.segment.lives().note(Peer(end.rank), ending)
    }

    /// Where all ranks are on this host, they meet before they leave MPI, so that nobody need say that all have left;
    /// but for those that cannot, as a rank has gone without.
    pub(super) fn look_whether_all_left(&self) {
        let is_through = |rank: &Rank| match &rank.attached {
            Some(attached) => attached.finalized || attached.gone,
            None => rank.is_gone(),
        };
        if self.went_without && !self.is_part() && self.ranks.iter().all(is_through) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Says what was wrong with a rank's end, once.
    pub(super) fn judge(&mut self, desk: &mut Desk, local: usize, final_word: bool) {
        if self.ranks[local].judged {
            return;
        }
        self.learn_end(local);
        let rank = &mut self.ranks[local];
        let what = rank.verdict(final_word);
        let unclear = what.is_none() && rank.attached.as_ref().is_some_and(|a| a.gone && !a.finalized);
        rank.judge_at_ns = (unclear && !final_word).then(|| clock::now_ns() + PATIENCE_NS);
        rank.judged = what.is_some() || rank.is_gone();
        if rank.judge_at_ns.is_some() && !self.register.unclear.contains(&local) {
            self.register.unclear.push(local);
        }
        let rank = &self.ranks[local];
        if self.is_part() && rank.left_without_init() && rank.child > 0 {
            // Ranks of other hosts may wait for it: mpiexec knows.
            desk.up(&Up::Left { rank: rank.world, pid: rank.pid() });
        }
        if let Some(what) = what {
            if self.ranks[local].attached.is_none() {
                self.publish_absence(desk, local);
            }
            self.trouble(desk, local, What::Ended(what));
        }
        if self.ranks[local].left_without_init() && self.ranks[local].child > 0 {
            self.register.absent.push(local);
        }
        self.judge_absent(desk);
    }

    /// A rank that left without MPI_Init although others wait for it there.
    pub(super) fn judge_absent(&mut self, desk: &mut Desk) {
        if !self.register.somebody_attached || self.kill_at_ns.is_some() {
            return;
        }
        // What a program started may have become the rank after the program's end.
        let absent = std::mem::take(&mut self.register.absent);
        if let Some(local) = absent.into_iter().find(|&local| self.ranks[local].left_without_init()) {
            self.publish_absence(desk, local);
            self.trouble(desk, local, What::NoInit);
        }
    }
}
