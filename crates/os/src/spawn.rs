//! Starting programs so that they cannot outlive the process that started them. For the launcher and `hawser-bench`,
//! never in an application's process.
//!
//! A child can get a process group of its own and can be made to die with its parent (PR_SET_PDEATHSIG); see
//! `SpawnOptions`. It inherits only its three standard descriptors. The launcher is a subreaper, so that it adopts
//! orphans.

use crate::errno::checked;
use crate::limits::{Limit, Resource};
use crate::signals::SignalMask;
use crate::tether::TetherEnds;
use crate::{cpus, host, limits};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The largest group of processes that a child leads from its start.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Leads {
    #[default]
    Nothing,
    /// A process group of its own.
    Group,
    /// A session and a process group of its own. The child then has no terminal, the kernel discards its SIGTSTP
    /// unless it handles that signal, and if there are autogroups (`cpus::has_autogroups`), it has one of its own.
    Session,
}

/// The settings of a child beyond those of `Command`. All are applied between fork and exec.
#[derive(Clone, Default)]
pub struct SpawnOptions {
    /// The signal mask with which the child starts.
    pub mask: Option<SignalMask>,
    /// The cores on which the child may run; empty for all.
    pub cores: Vec<usize>,
    /// The limit on open descriptors with which the child starts.
    pub descriptors: Option<Limit>,
    /// The group or session that the child leads from its start.
    pub leads: Leads,
    /// Whether the caller is in a terminal's foreground. Signals of the terminal's keys (^C, ^Z) that reach the child
    /// before it has a group of its own are then discarded. The caller must have these signals blocked; the signals
    /// that are pending for the caller stay pending.
    pub at_terminal: bool,
    /// A tether to which the child ties the group that it leads, so that processes which the child starts also die
    /// with the owner of the tether. Without `leads`, nobody is tied. The tether must exist as long as the `Command`
    /// may start a child.
    pub tether: Option<TetherEnds>,
    /// Whether to kill the child when the thread that starts it ends.
    pub die_with_parent: bool,
    /// Whether to send SIGTERM to the child when the thread that starts it ends: for a child that must end other
    /// processes before itself.
    pub end_with_parent: bool,
}

/// Starts `command` with `options`. The calling thread must live as long as the child may.
pub fn spawn(command: &mut Command, options: SpawnOptions) -> io::Result<Child> {
    let parent = host::pid();
    let has_group = options.leads != Leads::Nothing;
    // SAFETY: `prepare` makes system calls only: no allocation, no locks.
    unsafe { command.pre_exec(move || prepare(&options, parent)) };
    let child = command.spawn();
    if let Some(child) = child.as_ref().ok().filter(|_| has_group) {
        locked_groups().push(ProcessGroup { number: child.id() as i32, has_leader: true });
    }
    child
}

/// A process group that was started here.
#[derive(Clone, Copy)]
struct ProcessGroup {
    number: i32,
    /// Whether the group's leader, which is a child of this process, has not been reaped yet.
    has_leader: bool,
}

impl ProcessGroup {
    /// Returns whether the number still names this group. The kernel gives the number of an existing group to no new
    /// process: if the leader is reaped and a process has the number now, the group has ended.
    fn is_ours(self) -> bool {
        self.has_leader || crate::signals::send(-self.number, 0).is_ok() && !is_taken(self.number)
    }
}

/// Returns whether there is a process, of whatever user, with this number.
fn is_taken(number: i32) -> bool {
    !crate::signals::send(number, 0).is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
}

/// The process groups that children lead or led (`SpawnOptions::leads`), and that may have members.
static GROUPS: Mutex<Vec<ProcessGroup>> = Mutex::new(Vec::new());

fn locked_groups() -> MutexGuard<'static, Vec<ProcessGroup>> {
    GROUPS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the process groups that this process has started and that may have members. A group is forgotten when it
/// has no members, here and whenever a child is reaped, because the kernel may then give its number to a new process.
pub fn groups() -> Vec<i32> {
    let mut groups = locked_groups();
    groups.retain(|group| group.is_ours());
    groups.iter().map(|group| group.number).collect()
}

/// Records that process `pid` has been reaped.
fn forget_leader(pid: i32) {
    let mut groups = locked_groups();
    groups.iter_mut().filter(|group| group.number == pid).for_each(|group| group.has_leader = false);
    groups.retain(|group| group.is_ours());
}

/// The signals that a terminal sends to its foreground group.
const TERMINAL_SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGHUP];

/// Discards the terminal's signals that are pending for this process. It runs between fork and exec, in the child:
/// the signals of the parent are at no moment discarded or ignored.
fn discard_terminal_signals() {
    for signal in TERMINAL_SIGNALS {
        // SAFETY: SIG_IGN is a valid disposition, and discards what is pending (POSIX, sigaction).
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_DFL {
            // SAFETY: restores the disposition. A signal that was ignored before stays ignored.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

fn prepare(options: &SpawnOptions, parent: i32) -> io::Result<()> {
    match options.leads {
        Leads::Nothing => {}
        // SAFETY: plain numbers.
        Leads::Group => drop(checked(unsafe { libc::setpgid(0, 0) })?),
        // SAFETY: no arguments. A process that was just forked leads no group, so that the call cannot fail.
        Leads::Session => drop(checked(unsafe { libc::setsid() })?),
    }
    if let Some(tether) = options.tether.filter(|_| options.leads != Leads::Nothing) {
        // If the kernel refuses, the child itself still dies with its parent (`die_with_parent`).
        let _ = tether.tie_own_group();
    }
    if options.at_terminal {
        discard_terminal_signals();
    }
    if options.die_with_parent || options.end_with_parent {
        let signal = if options.die_with_parent { libc::SIGKILL } else { libc::SIGTERM };
        // SAFETY: a setting of this process. If it is refused, the parent still ends its children itself, unless it
        // is killed.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
        // SAFETY: cannot fail. The parent may have died before the setting.
        if unsafe { libc::getppid() } != parent {
            host::exit_now(1);
        }
    }
    if !options.cores.is_empty() {
        cpus::bind(&options.cores)?;
    }
    if let Some(limit) = options.descriptors.filter(|&limit| limit != limits::get(Resource::Descriptors)) {
        limits::set(Resource::Descriptors, limit)?;
    }
    if let Some(mask) = &options.mask {
        mask.restore()?;
    }
    // SAFETY: marks descriptors of this (forked) process; ENOSYS before Linux 5.9 only leaves more open.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    Ok(())
}

/// Cancels dying with the parent (PR_SET_PDEATHSIG). This process may have got that setting by `execve` from a shell
/// that was started with it (prctl(2): the setting outlives every exec except that of a program with other rights).
pub fn outlive_parent() -> io::Result<()> {
    // SAFETY: a setting of this process.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) }).map(drop)
}

/// Whether this process adopts its orphaned descendants.
static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// Makes this process adopt its orphaned descendants. If the kernel refuses, orphans are found only by their process
/// groups (`process_tree::kill_descendants`).
pub fn become_subreaper() {
    // SAFETY: a setting of this process.
    let result = checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) });
    // A flag alone: no other data depends on it.
    IS_SUBREAPER.store(result.is_ok(), Relaxed);
}

pub fn is_subreaper() -> bool {
    IS_SUBREAPER.load(Relaxed)
}

/// The manner in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Exited(i32),
    Killed { signal: i32, core_dumped: bool },
}

impl ExitStatus {
    pub fn from_status(status: i32) -> ExitStatus {
        if libc::WIFSIGNALED(status) {
            ExitStatus::Killed { signal: libc::WTERMSIG(status), core_dumped: libc::WCOREDUMP(status) }
        } else {
            ExitStatus::Exited(libc::WEXITSTATUS(status))
        }
    }
}

/// The result of `reap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    Ended(i32, ExitStatus),
    /// There are children, and none has ended.
    AllRunning,
    /// There are no children, hence (in a subreaper) no descendants.
    NoChildren,
}

/// Reaps one child that has ended, if there is one; the child may be an adopted orphan. Never waits.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: a valid place for the status.
    match crate::errno::restarted(|| unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) }) {
        Ok(0) => Reaped::AllRunning,
        Ok(pid) => {
            forget_leader(pid as i32);
            Reaped::Ended(pid as i32, ExitStatus::from_status(status))
        }
        Err(_) => Reaped::NoChildren,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_its_own_group_core_limit_and_no_descriptors() {
        let core = cpus::allowed().unwrap()[0];
        let (reader, _writer) = crate::pipe::pipe().unwrap();
        let leak = std::os::fd::AsRawFd::as_raw_fd(&reader);
        // SAFETY: clears FD_CLOEXEC of a descriptor of ours, so that only close_range keeps it from the child.
        unsafe { libc::fcntl(leak, libc::F_SETFD, 0) };
        let options = SpawnOptions {
            cores: vec![core],
            descriptors: Some(Limit { soft: 55, hard: 66 }),
            leads: Leads::Group,
            die_with_parent: true,
            ..SpawnOptions::default()
        };
        let script = "echo $$ $(ps -o pgid= -p $$) $(ulimit -n) $(grep Cpus_allowed_list /proc/self/status | cut -f2) $(ls /proc/self/fd | wc -l)";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        let output = spawn(&mut command, options).unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words[0], words[1]);
        assert_eq!(words[2..4], ["55", &core.to_string()]);
        // Its three descriptors and the one that `ls` reads from.
        assert!(words[4].parse::<u32>().unwrap() <= 4, "{text}");
    }

    /// Returns the signals of a list in /proc/self/status of a child that is started at a terminal.
    fn childs_signals(list: &str) -> u64 {
        let mut command = Command::new("grep");
        command.args([list, "/proc/self/status"]).stdout(std::process::Stdio::piped());
        let options = SpawnOptions { leads: Leads::Group, at_terminal: true, ..SpawnOptions::default() };
        let output = spawn(&mut command, options).unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        u64::from_str_radix(text.split_whitespace().last().unwrap(), 16).unwrap()
    }

    #[test]
    fn a_child_at_a_terminal_starts_with_its_signals_as_they_were() {
        // Under nohup and in a shell's background they were ignored.
        TERMINAL_SIGNALS.into_iter().for_each(crate::signals::restore_default);
        let ignored = childs_signals("SigIgn");
        assert!(TERMINAL_SIGNALS.iter().all(|signal| ignored >> (signal - 1) & 1 == 0), "{ignored:x}");
        assert!(TERMINAL_SIGNALS.iter().all(|&signal| !crate::signals::is_ignored(signal)));
    }

    #[test]
    fn signals_that_wait_for_the_parent_outlast_a_spawn() {
        TERMINAL_SIGNALS.into_iter().for_each(crate::signals::restore_default);
        let parent = std::thread::spawn(|| {
            let signals = crate::signals::SignalFd::block(&TERMINAL_SIGNALS).unwrap();
            for signal in TERMINAL_SIGNALS {
                // SAFETY: to this thread alone, which blocks it.
                unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
                assert_eq!(childs_signals("SigPnd"), 0);
                assert_eq!(signals.next(), Some(signal));
            }
        });
        parent.join().unwrap();
    }

    #[test]
    fn a_child_is_asked_to_end_when_the_thread_that_started_it_ends() {
        let options = SpawnOptions { end_with_parent: true, ..SpawnOptions::default() };
        let started = std::thread::spawn(|| spawn(Command::new("sleep").arg("60"), options));
        let status = started.join().unwrap().unwrap().wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }

    #[test]
    fn a_group_whose_number_another_process_has_is_no_longer_ours() {
        let start = |script: &str| {
            let options = SpawnOptions { leads: Leads::Group, ..SpawnOptions::default() };
            spawn(Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()), options).unwrap()
        };
        // Its leader leaves a member behind.
        let mut left = start("sleep 1005 & exit 0");
        let number = left.id() as i32;
        left.wait().unwrap();
        forget_leader(number);
        assert!(groups().contains(&number));
        crate::signals::send(-number, libc::SIGKILL).unwrap();
        // Act as if the number of an ended group had been reused as that of this process and of its group.
        let mut other = start("exec sleep 1006");
        let number = other.id() as i32;
        assert!(groups().contains(&number));
        forget_leader(number);
        assert!(!groups().contains(&number));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn wait_statuses_are_told_apart() {
        assert_eq!(ExitStatus::from_status(3 << 8), ExitStatus::Exited(3));
        assert_eq!(ExitStatus::from_status(0x8b), ExitStatus::Killed { signal: 11, core_dumped: true });
    }
}
