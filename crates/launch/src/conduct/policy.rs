//! Decides what the end of a rank, and any other failure of one, means for the job; nothing else decides that.
//!
//! By default the first failure ends the job and gives the exit code. With -disable-auto-cleanup (Open MPI:
//! --enable-recovery) a rank that has ended is reported in its line and gives the exit code, and the others go on: they
//! get errors where they depended on it. All hosts are notified of a rank's end in any case, before anything is
//! decided: no host that sees it decides. Used by `agents`; uses `Conductor::end`.

use super::Conductor;
use super::host::Stage;
use crate::frames::{Down, RankEnd};
use crate::trouble::{Trouble, What};
use hawser_os::signals::SIGTERM;
use std::collections::BTreeSet;

/// The ranks whose process is gone.
#[derive(Default)]
pub struct Ends {
    /// The ranks that had not left MPI.
    without: BTreeSet<u32>,
    /// Those of them whose fault is not reported yet.
    unclear: BTreeSet<u32>,
    /// The failures that ranks reported meanwhile; they ended, most likely, because of that fault.
    parked: Vec<(usize, Trouble)>,
    /// Ends that are not yet passed on to the other hosts, with the number of the host that reported each.
    news: Vec<(usize, RankEnd)>,
}

/// The consequence of a failure for the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Ends,
    /// The job goes on; its exit code is that of the failure.
    GoesOn,
}

/// Returns the consequence of `what`. `keeps`: the user wants the job kept when ranks end.
fn fate(what: &What, keeps: bool) -> Fate {
    match what {
        What::Ended(_) | What::NoInit if keeps => Fate::GoesOn,
        // MPI_Abort is what the program wants; the rest is known before the program runs, or is not the end of a rank.
        _ => Fate::Ends,
    }
}

impl Conductor<'_> {
    /// Records that the process of a rank on host `number` is gone.
    pub(super) fn gone(&mut self, number: usize, end: RankEnd, has_left: bool, unclear: bool) {
        self.reach.forget(end.rank);
        self.ends.news.push((number, end));
        if unclear {
            self.ends.unclear.insert(end.rank);
        }
        if !has_left {
            self.ends.without.insert(end.rank);
        }
    }

    /// Notifies every host but its own of each end. A job that is ending needs no such notification.
    pub(super) fn pass_ends_on(&mut self) {
        let news = std::mem::take(&mut self.ends.news);
        if news.is_empty() || self.ending {
            return;
        }
        for (number, host) in self.hosts.iter_mut().enumerate().filter(|(_, host)| host.stage == Stage::Running) {
            let ends: Vec<RankEnd> = news.iter().filter(|(of, _)| *of != number).map(|&(_, end)| end).collect();
            if !ends.is_empty() {
                host.down(&Down::Ended(ends));
            }
        }
    }

    /// Notifies all hosts once every rank has left MPI, or will never do so. While the fault of one is not known, the
    /// ranks that are left stay where they are, as they do when the job is being ended for it.
    pub(super) fn look_whether_all_left(&mut self) {
        if self.ending || !self.ends.unclear.is_empty() {
            return;
        }
        if self.finalized + self.ends.without.len() as u32 == self.hosts[0].job.size {
            let running = self.hosts.iter_mut().filter(|host| host.stage == Stage::Running);
            running.for_each(|host| host.down(&Down::AllFinalized { heard: host.departures }));
        }
    }

    pub(super) fn trouble(&mut self, number: usize, trouble: Trouble) {
        self.ends.unclear.remove(&trouble.rank);
        if !self.ends.unclear.is_empty() && matches!(trouble.what, What::Aborted { .. }) {
            return self.ends.parked.push((number, trouble));
        }
        self.judge(number, &trouble);
        if self.ends.unclear.is_empty() {
            for (number, trouble) in std::mem::take(&mut self.ends.parked) {
                self.judge(number, &trouble);
            }
        }
        self.look_whether_all_left();
    }

    fn judge(&mut self, number: usize, trouble: &Trouble) {
        // Failures that follow from the end of the job are not reported.
        if self.ending || self.waits_for_others(number, trouble) {
            return;
        }
        if trouble.what == What::NoInit {
            // Its own host is notified too: it does not know where others wait for that rank alone.
            self.gone(usize::MAX, RankEnd { rank: trouble.rank, failed: true }, false, false);
        }
        let line = trouble.line(&self.hosts[number].name);
        self.tell_trouble(&line, trouble.exit_code(), fate(&trouble.what, self.options.keeps));
    }

    /// Judges a rank that has left without MPI_Finalize, while others have not.
    pub(super) fn judge_unfinished(&mut self, line: &str, code: i32) {
        let fate = if self.options.keeps { Fate::GoesOn } else { Fate::Ends };
        self.tell_trouble(line, code, fate);
    }

    fn tell_trouble(&mut self, line: &str, code: i32, fate: Fate) {
        self.say(line);
        match fate {
            Fate::Ends => self.end(code, SIGTERM),
            Fate::GoesOn => _ = self.code.get_or_insert(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_host::life::Fault;

    #[test]
    fn a_rank_alone_ends_without_the_job_and_only_if_that_is_wanted() {
        let killed = What::Ended(Fault::Killed { signal: 9, core_dumped: false });
        let ends = [killed, What::Ended(Fault::NoFinalize { code: 0 }), What::NoInit];
        let others = [
            What::Aborted { code: 3, text: String::new() },
            What::NotStarted { code: 127, text: String::new() },
            What::Host { text: String::new() },
            What::Unlike { text: String::new() },
        ];
        assert!(ends.iter().all(|what| fate(what, true) == Fate::GoesOn && fate(what, false) == Fate::Ends));
        assert!(others.iter().all(|what| fate(what, true) == Fate::Ends && fate(what, false) == Fate::Ends));
    }
}
