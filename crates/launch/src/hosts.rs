//! The hosts of a job: assigns ranks to hosts, and makes the command by which each host is reached.
//!
//! `boot` parses the names that users give to hosts, since `hawser-bench` takes the same ones. Names are passed to
//! the remote shell as they are written: nothing here, and no rank, resolves a name. Used by `args`, by
//! `job_control::host_jobs`, which makes a job for each host, and by `job_control::host`, which starts its agent.

use crate::{flux_exec, own_host, srun};
pub use hawser_boot::hosts::{ALLOCATION_VARIABLES, HostEntry, list, read};
use hawser_os::host;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process;

/// Iterates over the hosts of the ranks, one item for each rank. A host takes as many ranks as it has slots
/// (`per_host` ranks if that is given), then the next host has its turn, and after the last host the first one. The
/// iteration ends when every host has its maximum number of ranks (`HostEntry::max`).
pub struct RankPlacer<'a> {
    hosts: &'a [HostEntry],
    per_host: Option<u32>,
    host_index: usize,
    placed_in_turn: u32,
    taken: Vec<u32>,
}

impl<'a> RankPlacer<'a> {
    pub fn new(hosts: &'a [HostEntry], per_host: Option<u32>) -> RankPlacer<'a> {
        RankPlacer { hosts, per_host, host_index: 0, placed_in_turn: 0, taken: vec![0; hosts.len()] }
    }
}

impl<'a> Iterator for RankPlacer<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        for _ in 0..=self.hosts.len() {
            let host = self.hosts.get(self.host_index)?;
            if self.placed_in_turn < self.per_host.unwrap_or(host.slots) && self.taken[self.host_index] < host.max {
                self.placed_in_turn += 1;
                self.taken[self.host_index] += 1;
                return Some(&host.name);
            }
            (self.host_index, self.placed_in_turn) = ((self.host_index + 1) % self.hosts.len(), 0);
        }
        None
    }
}

/// The number of ranks of a program for which the user gives none: one for each slot, or `per_host` for each host if
/// that is given.
pub fn slots(hosts: &[HostEntry], per_host: Option<u32>) -> u32 {
    hosts.iter().fold(0, |sum, host| sum.saturating_add(per_host.unwrap_or(host.slots)))
}

/// The program that starts the agents of other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Launcher {
    pub kind: LauncherKind,
    /// The remote shell with its options, if it is another one than the default of `kind`.
    pub exec: Option<String>,
    /// Words that follow those of the remote shell.
    pub arguments: Vec<String>,
    /// The names of the hosts of each component of the heterogeneous job of Slurm in which mpiexec runs.
    pub components: Vec<Vec<String>>,
    /// The rank of the broker of each host, for Flux.
    pub broker_ranks: Vec<(String, u32)>,
    /// The other hosts' agents are started by workers (`worker`), and by no shell.
    pub has_workers: bool,
    /// The directory in which Hawser is installed on the other hosts, if it is another one than on this host.
    pub prefix: Option<PathBuf>,
}

/// The time limit, in seconds, from starting a remote shell to the agent's first frame: logging in takes seconds on
/// some clusters.
const CONNECT_S: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LauncherKind {
    #[default]
    Ssh,
    Rsh,
    /// Slurm starts each agent, as a step of one task on its host.
    Slurm,
    /// Flux's broker on a host starts the agent there.
    Flux,
    /// No shell: every agent runs here, whatever its host is called.
    Fork,
}

impl LauncherKind {
    /// The kind that `--launcher` calls `name`.
    pub fn parse(name: &str) -> Option<LauncherKind> {
        match name {
            "ssh" => Some(LauncherKind::Ssh),
            "rsh" => Some(LauncherKind::Rsh),
            "slurm" => Some(LauncherKind::Slurm),
            "flux" => Some(LauncherKind::Flux),
            "fork" => Some(LauncherKind::Fork),
            _ => None,
        }
    }

    /// The command of a resource manager that starts the agents; None for remote shells.
    pub fn command_of_manager(self) -> Option<&'static str> {
        match self {
            LauncherKind::Slurm => Some("srun"),
            LauncherKind::Flux => Some("flux"),
            _ => None,
        }
    }
}

impl Launcher {
    /// The remote shell for the host `name`, which is the only one of its job (`is_only`) or one of several: the words
    /// that precede the command for that host. None if the agent is started on this host without a shell.
    pub fn shell(&self, name: &str, is_only: bool) -> Option<Vec<String>> {
        let is_own = own_host::is_name(name);
        let here = ["localhost", "127.0.0.1", "::1"];
        if here.contains(&name) || is_own && is_only || self.kind == LauncherKind::Fork {
            return None;
        }
        if is_own && (self.exec.is_none() || self.kind.command_of_manager().is_some()) {
            return None;
        }
        let default: &[&str] = match self.kind {
            // A user who would have to enter a password gets an error at once.
            LauncherKind::Ssh => &["ssh", "-x", "-o", "BatchMode=yes"],
            LauncherKind::Slurm => &["srun"],
            LauncherKind::Flux => &["flux"],
            _ => &["rsh"],
        };
        let mut words = self.exec.as_deref().map_or(default.to_vec(), |exec| exec.split_whitespace().collect());
        match self.kind {
            LauncherKind::Slurm => words.extend(srun::OPTIONS),
            LauncherKind::Flux => words.extend(flux_exec::OPTIONS),
            _ => {}
        }
        words.extend(self.arguments.iter().map(String::as_str));
        let last = match self.kind {
            LauncherKind::Slurm => srun::last_words(name, &self.components),
            LauncherKind::Flux => flux_exec::last_words(&self.broker_rank(name)).into(),
            _ => vec![name.into()],
        };
        Some(words.into_iter().map(str::to_owned).chain(last).collect())
    }

    /// The rank of the broker on a host, as text. A host that has none is refused before (`flux::ranks`).
    fn broker_rank(&self, name: &str) -> String {
        let found = self.broker_ranks.iter().find(|(host, _)| host == name);
        found.map_or_else(|| name.to_owned(), |(_, rank)| rank.to_string())
    }

    /// The process that runs the words of `shell`: the remote shell itself, or one that starts it.
    pub fn process(&self, shell: &[String]) -> process::Command {
        if self.kind == LauncherKind::Flux {
            let mut command = process::Command::new(host::program());
            command.arg0("mpiexec").arg(flux_exec::SUBCOMMAND).args(shell);
            return command;
        }
        let mut command = process::Command::new(&shell[0]);
        command.args(&shell[1..]);
        if self.kind == LauncherKind::Slurm {
            srun::adapt(&mut command, self.components.len());
        }
        command
    }

    /// The time limit, in seconds, from starting a remote shell to the agent's first frame.
    pub fn connect_s(&self) -> u64 {
        if self.kind == LauncherKind::Slurm { srun::CONNECT_S } else { CONNECT_S }
    }

    /// The path of mpiexec on another host, and the command for a remote shell that starts it there with
    /// `subcommand`.
    pub fn command(&self, subcommand: &str) -> (PathBuf, String) {
        let own = std::env::current_exe().unwrap_or_else(|_| "mpiexec".into());
        let program = self.prefix.as_ref().map_or(own, |prefix| prefix.join("bin/mpiexec"));
        let command_line = |subcommand| format!("{} {subcommand}", quoted(&program.to_string_lossy()));
        let agent = command_line(subcommand);
        let command = match self.kind {
            LauncherKind::Slurm => srun::through_pipe(&agent),
            LauncherKind::Flux => flux_exec::through_lines(&agent, &command_line(flux_exec::ENCODER)),
            _ => format!("exec {agent}"),
        };
        (program, command)
    }
}

/// Quotes a word for a remote shell of any kind (sh, csh, fish).
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
    use std::path::Path;

    fn entry(name: &str, slots: u32) -> HostEntry {
        HostEntry { name: name.into(), slots, max: u32::MAX }
    }

    fn placed(hosts: &str, per_host: Option<u32>, ranks: usize) -> String {
        RankPlacer::new(&list(hosts).unwrap(), per_host).take(ranks).collect::<Vec<_>>().join("")
    }

    #[test]
    fn hosts_are_filled_in_turn_and_again() {
        assert_eq!(placed("a,b", None, 5), "ababa");
        assert_eq!(placed("a:2,b:1", None, 7), "aabaaba");
        assert_eq!(placed("a:2,b:1", Some(2), 6), "aabbaa");
        assert_eq!(placed("a,a,b", None, 4), "aaba");
        let full = [HostEntry { max: 1, ..entry("a", 1) }, HostEntry { max: 3, ..entry("b", 2) }];
        assert_eq!(RankPlacer::new(&full, None).collect::<Vec<_>>().join(""), "abbb");
        assert_eq!((slots(&full, None), slots(&full, Some(4)), slots(&[], None)), (3, 8, 0));
    }

    #[test]
    fn a_host_is_here_or_behind_a_shell() {
        let words = |launcher: &Launcher, name: &str| launcher.shell(name, false).map(|words| words.join(" "));
        let ssh = Launcher::default();
        let exec = Launcher { exec: Some("lab-rsh -p 2".into()), ..Launcher::default() };
        let fork = Launcher { kind: LauncherKind::Fork, ..Launcher::default() };
        let own = host::name();
        assert_eq!((words(&ssh, "localhost"), words(&ssh, &own)), (None, None));
        assert!(words(&ssh, "far").is_some_and(|words| words.starts_with("ssh ")));
        assert_eq!(words(&Launcher { kind: LauncherKind::Rsh, ..ssh }, "far"), Some("rsh far".into()));
        let slurm = Launcher { kind: LauncherKind::Slurm, arguments: vec!["--qos=x".into()], ..Launcher::default() };
        let options = "--nodes=1 --ntasks=1 --mpi=none --cpu-bind=none --unbuffered --qos=x --nodelist=far /bin/sh -c";
        assert_eq!((words(&slurm, &own), words(&slurm, "far")), (None, Some(format!("srun {options}"))));
        let srun = Launcher { exec: Some("/opt/srun".into()), ..slurm };
        assert_eq!((words(&srun, &own), words(&srun, "far")), (None, Some(format!("/opt/srun {options}"))));
        let brokers =
            Launcher { kind: LauncherKind::Flux, broker_ranks: vec![("far".into(), 3)], ..Launcher::default() };
        let flux = "flux exec --quiet --dir=/ --rank=3 /bin/sh -c".to_owned();
        assert_eq!((words(&brokers, &own), words(&brokers, "far")), (None, Some(flux)));
        assert_eq!((words(&exec, "localhost"), words(&exec, &own)), (None, Some(format!("lab-rsh -p 2 {own}"))));
        let parts = Launcher { components: vec![vec![own.clone()], vec!["far".into()]], ..srun };
        assert!(words(&parts, "far").is_some_and(|words| words.contains(" --qos=x --het-group=1 --nodelist=far ")));
        assert_eq!(words(&fork, "far"), None);
        assert_eq!((exec.shell(&own, true), exec.shell("far", true).is_some()), (None, true));
    }

    #[test]
    fn the_remote_command_survives_a_shell() {
        let prefix = Some("/opt/my own'hawser".into());
        let (program, command) = Launcher { prefix, ..Launcher::default() }.command("__guard");
        assert_eq!(program, Path::new("/opt/my own'hawser/bin/mpiexec"));
        assert_eq!(command, r"exec '/opt/my own'\''hawser/bin/mpiexec' __guard");
        let echoed = process::Command::new("sh").args(["-c", &command.replacen("exec", "printf '%s|'", 1)]).output();
        assert_eq!(echoed.unwrap().stdout, b"/opt/my own'hawser/bin/mpiexec|__guard|");
        assert_eq!(quoted("/usr/bin/mpiexec"), "/usr/bin/mpiexec");
    }
}
