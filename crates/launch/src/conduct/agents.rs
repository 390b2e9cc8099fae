//! Handles the frames that agents send, and decides what follows from each for the job.
//!
//! No program is started before every host's agent is connected and of this version; what a rank reports is judged
//! where all hosts are known. Used by `conduct`, whose events these are; uses `frames`, `report`, `stats`.

use super::Conductor;
use super::host::{Host, Stage, host_of};
use super::unanswered::Finding;
use crate::channel::Received;
use crate::frames::{self, Counts, Down, RankState, Up};
use crate::trouble::{EXIT_FAILURE, Trouble, What};
use crate::{info, stats};
use hawser_boot::protocol::Unanswered;
use hawser_boot::terms::{JobTerms, Party, Verdict};
use hawser_os::signals::SIGTERM;
use hawser_os::tty;

impl Conductor<'_> {
    /// Handles all frames received from an agent, as long as there is room for the output that they cause.
    pub(super) fn receive(&mut self, number: usize) {
        while self.has_room() && self.hosts[number].is_open() {
            let received = self.hosts[number].channel.receive();
            if let Some(line) = self.hosts[number].heard() {
                self.say_for(number, &line);
            }
            match received {
                Received::Frame(body) => match Up::decode(&body) {
                    Some(up) => self.up(number, up),
                    None => return self.closed(number),
                },
                Received::Nothing => return,
                Received::End => return self.closed(number),
            }
        }
    }

    fn up(&mut self, number: usize, up: Up) {
        match up {
            Up::Ready { version, pid } => self.ready(number, &version, pid),
            Up::Started { facts, notes, .. } => {
                notes.iter().for_each(|note| self.say(note));
                if self.options.verbose {
                    let text = info::facts(&facts);
                    self.say(&format!("started on host {}: {text}", self.hosts[number].name));
                }
            }
            Up::Output { rank, stream, bytes } => {
                self.take_output(rank, stream, &bytes);
                if self.options.readers.contains(&rank) && tty::is_terminal(self.input.fd()) {
                    self.clockwork.prompt_comes();
                }
            }
            Up::InputTaken(len) => {
                let on_the_way = &mut self.hosts[number].on_the_way;
                *on_the_way = on_the_way.saturating_sub(len as usize);
            }
            Up::Trouble(trouble) => self.trouble(number, trouble),
            Up::Ended { end, has_left, unclear } => {
                self.gone(number, end, has_left, unclear);
                self.look_whether_all_left();
            }
            Up::RankEnded { rank, pid, code } => {
                self.reach.forget(rank);
                self.rank_ended(rank);
                if self.options.verbose {
                    self.say(&format!("rank {rank} (pid {pid}) has ended with code {code}"));
                }
            }
            Up::Snapshot(states) => self.questions.answer(number, Some(states)),
            Up::Counts(counts) => {
                self.hosts[number].counts = Some(counts);
                self.questions.answer(number, None);
            }
            Up::Note(text) => self.say(&text),
            Up::Card(card) => self.cards.push(card),
            Up::Attached => {
                self.attached = true;
                self.judge_absent();
            }
            Up::Terms { rank, text } => self.compare(number, rank, text),
            Up::Left { rank, pid } => {
                self.left.get_or_insert((number, Trouble { rank, pid, what: What::NoInit }));
                self.judge_absent();
            }
            Up::Info(text) => {
                self.hosts[number].info = Some(text);
                if self.hosts.iter().all(|host| host.info.is_some()) {
                    self.tell_info();
                }
            }
            Up::Back => self.finalized = self.finalized.saturating_sub(1),
            Up::Finalized => {
                self.finalized += 1;
                self.hosts[number].departures += 1;
                self.look_whether_all_left();
            }
            Up::Unanswered { rank, what } => self.unanswered(rank, what),
            Up::Finished { clean } => self.finished(number, clean),
        }
    }

    /// Handles an agent's first frame.
    fn ready(&mut self, number: usize, version: &str, pid: i32) {
        let host = &mut self.hosts[number];
        if host.stage != Stage::Calling {
            return;
        }
        (host.agent, host.stage, host.was_ready, host.due_ns) = (pid, Stage::Ready, true, None);
        let name = &host.name;
        if version != frames::version() {
            let text = format!(
                "host {name} has Hawser {version}, and this mpiexec is of {}; install the same on all hosts",
                frames::version()
            );
            return self.lose(number, Some(text));
        }
        if host.far.is_some()
            && let Err(error) = self.beat(number)
        {
            return self.lose(number, Some(error.to_string()));
        }
        if self.hosts.iter().any(|host| host.stage != Stage::Ready) {
            return;
        }
        match self.options.info && !self.options.hosts.is_empty() {
            true => self.hosts.iter_mut().for_each(Host::ask_info),
            false => self.start(),
        }
    }

    /// Prints what was detected on all hosts, and the parameters; then starts the job, if there is one.
    fn tell_info(&mut self) {
        let mut text = String::new();
        for host in &self.hosts {
            text += &format!("host {}\n{}\n", host.name, host.info.as_deref().unwrap_or_default());
        }
        text += &info::parameters(&self.options.profile);
        if !self.options.apps.is_empty() {
            self.err.pending.extend(text.bytes());
            return self.start();
        }
        self.out.pending.extend(text.bytes());
        self.code = Some(0);
        (0..self.hosts.len()).for_each(|number| self.lose(number, None));
    }

    /// Starts the job, now that all agents are connected.
    fn start(&mut self) {
        for host in &mut self.hosts {
            host.stage = Stage::Running;
            host.down(&Down::Start(Box::new(host.job.clone())));
            host.job.apps = Vec::new();
        }
    }

    fn finished(&mut self, number: usize, clean: bool) {
        let host = &mut self.hosts[number];
        // The agent leaves now; if it does not, it is ended.
        host.finish();
        self.questions.forget(number);
        if !clean {
            let text = format!("some processes of the job on host {} do not end (in the kernel?)", host.name);
            self.say(&text);
        }
        if self.hosts.iter().all(|host| host.stage >= Stage::Finished) {
            self.clockwork.stop();
            self.release_lines();
            self.tell_unfinished();
            self.tell_counts();
        }
    }

    /// Prints the counters of all hosts' ranks.
    fn tell_counts(&mut self) {
        let counts = self.counts();
        if self.hosts[0].job.stats && !counts.ranks.is_empty() {
            self.say("what the ranks counted:");
            self.err.pending.extend(stats::text(&counts).bytes());
        }
    }

    /// The counters of all hosts together.
    pub(super) fn counts(&self) -> Counts {
        let told: Vec<&Counts> = self.hosts.iter().filter_map(|host| host.counts.as_ref()).collect();
        let names = told.iter().map(|counts| &counts.names).max_by_key(|names| names.len());
        let ranks = told.iter().flat_map(|counts| counts.ranks.iter().cloned()).collect();
        Counts { names: names.cloned().unwrap_or_default(), ranks }
    }

    /// Handles a rank's report about its paths to another rank.
    fn unanswered(&mut self, rank: u32, what: Unanswered) {
        let finding = self.reach.told(rank, what, &host_of(&self.hosts));
        self.found(finding);
        if self.reach.is_needed() && !self.reach.looks && !self.ending {
            self.reach.looks = true;
            self.clockwork.look_for_unreached();
        }
    }

    /// Handles the agents' answers whether their ranks poll their networks.
    pub(super) fn look_for_unreached(&mut self, states: &[(usize, RankState)]) {
        let finding = self.reach.look(states, &host_of(&self.hosts));
        self.found(finding);
        self.reach.looks = self.reach.is_needed() && !self.ending;
        if self.reach.looks {
            self.clockwork.look_for_unreached();
        }
    }

    fn found(&mut self, finding: Option<Finding>) {
        match finding.filter(|_| !self.ending) {
            Some(Finding::Warn(text)) => self.say(&text),
            Some(Finding::End(text)) => {
                self.say(&text);
                self.end(EXIT_FAILURE, SIGTERM);
            }
            None => {}
        }
    }

    /// Compares the job-wide settings that the ranks of a host have reported with those of the job.
    fn compare(&mut self, number: usize, rank: u32, terms: String) {
        let host = self.hosts[number].name.clone();
        let party = Party { rank, host, terms: JobTerms::from_text(terms) };
        if let Verdict::Unlike(text) = self.agreed.judge(party)
            && !self.ending
        {
            self.say(&text);
            self.end(EXIT_FAILURE, SIGTERM);
        }
    }

    /// Judges a rank that left without MPI_Init although others wait for it there. For the ranks of one host, the agent
    /// knows that.
    fn judge_absent(&mut self) {
        if self.attached
            && let Some((number, trouble)) = self.left.take()
        {
            self.trouble(number, trouble);
        }
    }
}
