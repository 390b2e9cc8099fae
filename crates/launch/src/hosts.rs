//! The hosts of a job: how users name them, which rank goes where, and how each is reached.
//!
//! Names are given to the remote shell as they are written: nothing here, and no rank, resolves a name. Before it:
//! `args`; after it: `conduct::plan`, which makes a job for each host, and `conduct::host`, which starts its agent.

use hawser_os::host;
use std::path::{Path, PathBuf};

/// A host as the user has written it, with the ranks that it takes before the next one's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub slots: u32,
    /// It never takes more than these (Open MPI's max_slots).
    pub max: u32,
}

impl Entry {
    /// `name`, `name:2`, an IPv6 address, `[address]:2`.
    fn parse(text: &str) -> Result<Entry, String> {
        let (name, slots) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, rest)) => (address, Some(rest.strip_prefix(':').unwrap_or(rest))),
            // More than one colon: an address of IPv6.
            None => text
                .split_once(':')
                .filter(|(_, rest)| !rest.contains(':'))
                .map_or((text, None), |(name, slots)| (name, Some(slots))),
        };
        let slots = slots.map_or(Ok(1), |slots| number(slots, text))?;
        // A name with a dash in front would be an option of the remote shell.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:@%".contains(c) || !c.is_ascii();
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_name) {
            return Err(format!("{text:?} is no host; write HOST or HOST:RANKS"));
        }
        Ok(Entry { name: name.into(), slots, max: u32::MAX })
    }
}

fn number(digits: &str, whole: &str) -> Result<u32, String> {
    digits.parse().ok().filter(|&number| number > 0).ok_or_else(|| format!("{whole}: {digits:?} is no number of ranks"))
}

/// `a,b:2,c`
pub fn list(text: &str) -> Result<Vec<Entry>, String> {
    text.split(',').map(|entry| Entry::parse(entry.trim())).collect()
}

/// A file of hosts, one a line: MPICH's `host:2` and Open MPI's `host slots=2 max_slots=4`, comments behind #.
pub fn read(file: &Path) -> Result<Vec<Entry>, String> {
    let at = |number: usize, why: String| format!("line {} of the file of hosts {}: {why}", number + 1, file.display());
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the file of hosts {} cannot be read: {error}", file.display()))?;
    let lines = text.lines().enumerate().filter_map(|(number, text)| Some((number, line(text)?)));
    let hosts = lines.map(|(number, entry)| entry.map_err(|why| at(number, why))).collect::<Result<Vec<_>, _>>()?;
    match hosts.is_empty() {
        true => Err(format!("the file of hosts {} names none", file.display())),
        false => Ok(hosts),
    }
}

/// The entry of a line; none where it is empty.
fn line(text: &str) -> Option<Result<Entry, String>> {
    let mut words = text.split('#').next()?.split_whitespace();
    let mut entry = Entry::parse(words.next()?);
    for word in words {
        entry = entry.and_then(|entry| match word.split_once('=') {
            Some(("slots", slots)) => Ok(Entry { slots: number(slots, word)?, ..entry }),
            Some(("max_slots" | "max-slots", max)) => Ok(Entry { max: number(max, word)?, ..entry }),
            _ => Err(format!("{word:?} is not known behind a host; slots=N and max_slots=N are")),
        });
    }
    Some(entry.map(|entry| Entry { slots: entry.slots.min(entry.max), ..entry }))
}

/// The turns of hosts, rank by rank: each takes as many as it has slots (`per_host` where that is given), and when all
/// are full it begins again. None once every host has its most.
pub struct Turns<'a> {
    hosts: &'a [Entry],
    per_host: Option<u32>,
    at: usize,
    in_turn: u32,
    taken: Vec<u32>,
}

impl<'a> Turns<'a> {
    pub fn new(hosts: &'a [Entry], per_host: Option<u32>) -> Turns<'a> {
        Turns { hosts, per_host, at: 0, in_turn: 0, taken: vec![0; hosts.len()] }
    }
}

impl<'a> Iterator for Turns<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        for _ in 0..=self.hosts.len() {
            let host = self.hosts.get(self.at)?;
            if self.in_turn < self.per_host.unwrap_or(host.slots) && self.taken[self.at] < host.max {
                self.in_turn += 1;
                self.taken[self.at] += 1;
                return Some(&host.name);
            }
            (self.at, self.in_turn) = ((self.at + 1) % self.hosts.len(), 0);
        }
        None
    }
}

/// The ranks of a program for which no number is given: every slot is taken once.
pub fn slots(hosts: &[Entry], per_host: Option<u32>) -> u32 {
    hosts.iter().fold(0, |sum, host| sum.saturating_add(per_host.unwrap_or(host.slots)))
}

/// What starts the agents of other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Launcher {
    pub kind: Kind,
    /// The remote shell to use instead of the kind's own, with its own options.
    pub exec: Option<String>,
    /// Where Hawser is installed on the other hosts, if elsewhere than here.
    pub prefix: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Ssh,
    Rsh,
    /// No shell: every agent runs here, whatever its host is called.
    Fork,
}

/// The words that come before a host's name; without any the agent is started here.
impl Launcher {
    pub fn shell(&self, name: &str) -> Option<Vec<String>> {
        let here = ["localhost", "127.0.0.1", "::1"];
        if here.contains(&name) || self.kind == Kind::Fork {
            return None;
        }
        if let Some(exec) = &self.exec {
            return Some(exec.split_whitespace().map(str::to_owned).collect());
        }
        let own = host::name();
        if name == own || Some(name) == own.split('.').next() {
            return None;
        }
        let words: &[&str] = match self.kind {
            // Who has to be asked for a password is told so at once.
            Kind::Ssh => &["ssh", "-x", "-o", "BatchMode=yes"],
            _ => &["rsh"],
        };
        Some(words.iter().map(|&word| word.into()).collect())
    }

    /// The command that a remote shell is given: the same mpiexec, as the guard of an agent.
    pub fn command(&self, subcommand: &str) -> (PathBuf, String) {
        let own = std::env::current_exe().unwrap_or_else(|_| "mpiexec".into());
        let program = self.prefix.as_ref().map_or(own, |prefix| prefix.join("bin/mpiexec"));
        let command = format!("exec {} {subcommand}", quoted(&program.to_string_lossy()));
        (program, command)
    }
}

/// A word for a remote shell of any kind (sh, csh, fish).
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, slots: u32) -> Entry {
        Entry { name: name.into(), slots, max: u32::MAX }
    }

    fn placed(hosts: &str, per_host: Option<u32>, ranks: usize) -> String {
        Turns::new(&list(hosts).unwrap(), per_host).take(ranks).collect::<Vec<_>>().join("")
    }

    #[test]
    fn hosts_are_named_with_and_without_slots() {
        let named = [entry("a", 1), entry("b", 2), entry("me@c.d", 1)];
        assert_eq!(list("a, b:2,me@c.d").unwrap(), named);
        let addresses = [entry("fd77::1", 1), entry("fd77::2", 3), entry("10.0.0.1", 4)];
        assert_eq!(list("fd77::1,[fd77::2]:3,10.0.0.1:4").unwrap(), addresses);
        for wrong in ["", "a,", "a:", "a:0", "a:x", "a:*", "-oProxyCommand=x", "a b", "a;b", "$(a)", "[a]x"] {
            assert!(list(wrong).is_err_and(|why| !why.contains('\n')), "{wrong}");
        }
    }

    #[test]
    fn files_of_both_launchers_are_read() {
        let file = std::env::temp_dir().join(format!("hawser-host-file-{}", host::pid()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            super::read(&file)
        };
        let hosts =
            read("# two kinds\na:2\n\n b slots=3 max_slots=4 # as Open MPI has it\nc slots=9 max-slots=2\n").unwrap();
        assert_eq!(hosts, [entry("a", 2), Entry { max: 4, ..entry("b", 3) }, Entry { max: 2, ..entry("c", 2) }]);
        assert!(read("a\nb moon=1\n").is_err_and(|why| why.starts_with("line 2 of") && why.contains("moon=1")));
        assert!(read("a slots=many\n").is_err_and(|why| why.contains("many")));
        assert!(read("# nobody\n").is_err_and(|why| why.contains("names none")));
        std::fs::remove_file(&file).unwrap();
        assert!(super::read(&file).is_err_and(|why| why.contains("cannot be read")));
    }

    #[test]
    fn hosts_are_filled_in_turn_and_again() {
        assert_eq!(placed("a,b", None, 5), "ababa");
        assert_eq!(placed("a:2,b:1", None, 7), "aabaaba");
        assert_eq!(placed("a:2,b:1", Some(2), 6), "aabbaa");
        assert_eq!(placed("a,a,b", None, 4), "aaba");
        let full = [Entry { max: 1, ..entry("a", 1) }, Entry { max: 3, ..entry("b", 2) }];
        assert_eq!(Turns::new(&full, None).collect::<Vec<_>>().join(""), "abbb");
        assert_eq!((slots(&full, None), slots(&full, Some(4)), slots(&[], None)), (3, 8, 0));
    }

    #[test]
    fn a_host_is_here_or_behind_a_shell() {
        let words = |launcher: &Launcher, name: &str| launcher.shell(name).map(|words| words.join(" "));
        let ssh = Launcher::default();
        let exec = Launcher { exec: Some("lab-rsh -p 2".into()), ..Launcher::default() };
        let fork = Launcher { kind: Kind::Fork, ..Launcher::default() };
        let own = host::name();
        assert_eq!((words(&ssh, "localhost"), words(&ssh, &own)), (None, None));
        assert!(words(&ssh, "far").is_some_and(|words| words.starts_with("ssh ")));
        assert_eq!(words(&Launcher { kind: Kind::Rsh, ..ssh }, "far"), Some("rsh".into()));
        assert_eq!((words(&exec, "localhost"), words(&exec, &own)), (None, Some("lab-rsh -p 2".into())));
        assert_eq!(words(&fork, "far"), None);
    }

    #[test]
    fn the_remote_command_survives_a_shell() {
        let prefix = Some("/opt/my own'hawser".into());
        let (program, command) = Launcher { prefix, ..Launcher::default() }.command("__guard");
        assert_eq!(program, Path::new("/opt/my own'hawser/bin/mpiexec"));
        assert_eq!(command, r"exec '/opt/my own'\''hawser/bin/mpiexec' __guard");
        let echoed =
            std::process::Command::new("sh").args(["-c", &command.replacen("exec", "printf '%s|'", 1)]).output();
        assert_eq!(echoed.unwrap().stdout, b"/opt/my own'hawser/bin/mpiexec|__guard|");
        assert_eq!(quoted("/usr/bin/mpiexec"), "/usr/bin/mpiexec");
    }
}
