//! The tree of processes, and ending all descendants of this process. Ending is for the launcher alone, which is a
//! subreaper: all processes that its ranks start remain its descendants, even double-forked daemons and new sessions.

use crate::errno::checked;
use crate::signals::{self, SIGCHLD, SIGKILL, SIGSTOP};
use crate::spawn::{self, Reaped};
use crate::{clock, host};
use std::collections::{HashMap, HashSet};
use std::fs;

/// All processes at one moment: /proc is walked once, for any number of queries.
pub struct ProcessTree {
    children: HashMap<i32, Vec<i32>>,
    zombies: HashSet<i32>,
}

impl ProcessTree {
    /// Returns the present processes. A walk takes about 20 us per process.
    pub fn snapshot() -> ProcessTree {
        let mut tree = ProcessTree { children: HashMap::new(), zombies: HashSet::new() };
        for pid in processes() {
            let Some((parent, state)) = parent_and_state(pid) else { continue };
            tree.children.entry(parent).or_default().push(pid);
            if state == 'Z' || state == 'X' {
                tree.zombies.insert(pid);
            }
        }
        tree
    }

    /// Returns every descendant of process `root`, without `root` itself and without zombies.
    pub fn descendants(&self, root: i32) -> Vec<i32> {
        let mut found = Vec::new();
        let mut open = vec![root];
        while let Some(pid) = open.pop() {
            for &child in self.children.get(&pid).into_iter().flatten() {
                open.push(child);
                if !self.zombies.contains(&child) {
                    found.push(child);
                }
            }
        }
        found
    }
}

/// Returns every descendant that process `root` has now. For several roots make one `ProcessTree`.
pub fn descendants(root: i32) -> Vec<i32> {
    ProcessTree::snapshot().descendants(root)
}

fn processes() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Returns the fields after the last ')' of /proc/PID/stat: the program's name in front of it may contain any bytes.
fn stat_fields(pid: i32) -> Option<String> {
    let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    Some(stat[stat.rfind(')')? + 1..].to_owned())
}

fn parent_and_state(pid: i32) -> Option<(i32, char)> {
    let stat = stat_fields(pid)?;
    let mut fields = stat.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

/// The time, in ms, for which killed processes are waited for before /proc is walked again.
const SETTLE_MS: u64 = 10;

/// Returns the ancestors of process `pid`: its parent, its parent's parent and so on. Empty if /proc does not show
/// the process.
pub fn ancestors(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut child = pid;
    while let Some((parent, _)) = parent_and_state(child).filter(|_| child > 0) {
        // If processes end during the walk and their numbers are used again, the chain may lead back to a number that
        // was found before.
        if parent <= 0 || found.contains(&parent) {
            break;
        }
        found.push(parent);
        child = parent;
    }
    found
}

/// Returns the arguments with which process `pid` was started, and behind them an empty one, because each argument
/// ends with a zero byte. Returns only the empty one if they cannot be read.
pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// Returns whether `descendants` finds all descendants of this process: /proc can be read, and orphans are adopted.
fn is_complete() -> bool {
    spawn::is_subreaper() && parent_and_state(host::pid()).is_some()
}

/// Kills the process groups that this process has started, if `descendants` would not find all their members.
fn kill_groups() {
    if !is_complete() {
        spawn::groups().into_iter().for_each(|group| drop(signals::send(-group, SIGKILL)));
    }
}

/// Ends every descendant of this process and reaps it. First all descendants are stopped, until a walk finds no new
/// one: a stopped process cannot start another. Then all are killed. Gives up after `limit_ms`. Calls `seen` with
/// every child that is reaped. Returns whether no child is left.
pub fn kill_descendants(limit_ms: u64, mut seen: impl FnMut(i32, spawn::ExitStatus)) -> bool {
    let deadline_ns = clock::now_ns() + limit_ms * 1_000_000;
    // Orphans that this process has not adopted are not its children: `reap_all` does not see them, and could end
    // this function at once, before they are killed.
    kill_groups();
    loop {
        if reap_all(&mut seen) {
            return true;
        }
        let mut stopped = HashSet::new();
        loop {
            let fresh: Vec<i32> = descendants(host::pid()).into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            fresh.iter().for_each(|&pid| drop(signals::send(pid, SIGSTOP)));
        }
        stopped.iter().for_each(|&pid| drop(signals::send(pid, SIGKILL)));
        kill_groups();
        // Waiting here saves walks: if many children end one after the other, a walk after each end would cost the
        // square of their number.
        if reap_within(SETTLE_MS, &mut seen) {
            return true;
        }
        if clock::now_ns() > deadline_ns {
            return reap_all(&mut seen);
        }
    }
}

/// Waits until no child is left, at most `limit_ms`, and reaps the children. Returns whether no child is left.
pub fn await_children(limit_ms: u64) -> bool {
    reap_within(limit_ms, &mut |_, _| {})
}

/// Reaps children until none is left, at most for `limit_ms`. Returns whether no child is left.
fn reap_within(limit_ms: u64, seen: &mut impl FnMut(i32, spawn::ExitStatus)) -> bool {
    let deadline_ns = clock::now_ns() + limit_ms * 1_000_000;
    while !reap_all(seen) {
        let now_ns = clock::now_ns();
        if now_ns >= deadline_ns {
            return false;
        }
        wait_for_children(((deadline_ns - now_ns) / 1_000_000) as i64 + 1);
    }
    true
}

/// Reaps the children that have ended. Returns whether no child is left.
fn reap_all(seen: &mut impl FnMut(i32, spawn::ExitStatus)) -> bool {
    loop {
        match spawn::reap() {
            Reaped::Ended(pid, end) => seen(pid, end),
            Reaped::AllRunning => return false,
            Reaped::NoChildren => return true,
        }
    }
}

/// Sleeps until a child ends, at most `ms`. SIGCHLD must be blocked (`SignalFd::block`); otherwise the end of a child
/// does not end the sleep.
fn wait_for_children(ms: i64) {
    let limit = libc::timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    // SAFETY: the set is initialised before use; the siginfo is not requested.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, SIGCHLD);
        libc::sigtimedwait(&set, std::ptr::null_mut(), &limit);
    }
}

/// Returns the files that process `pid` has mapped, each once.
pub fn mapped_files(pid: i32) -> Vec<std::path::PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut files: Vec<std::path::PathBuf> = Vec::new();
    for line in maps.lines() {
        let Some(at) = line.find('/') else { continue };
        let path = std::path::Path::new(&line[at..]);
        if files.last().is_none_or(|last| last != path) && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// Returns the process group that process `pid` is in.
pub fn group(pid: i32) -> Option<i32> {
    // SAFETY: a plain number.
    checked(unsafe { libc::getpgid(pid) }).ok().map(|group| group as i32)
}

/// Returns the program that process `pid` runs.
pub fn program(pid: i32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn grandchildren_are_found() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().unwrap();
        let mine =
            |pid: i32| descendants(child.id() as i32).len() == 2 && descendants(pid).contains(&(child.id() as i32));
        while !mine(host::pid()) {
            std::thread::yield_now();
        }
        let tree = ProcessTree::snapshot();
        assert_eq!(tree.descendants(child.id() as i32), descendants(child.id() as i32));
        descendants(child.id() as i32).into_iter().for_each(|pid| signals::send(pid, SIGKILL).unwrap());
        child.wait().unwrap();
        assert!(descendants(child.id() as i32).is_empty());
        assert_eq!(tree.descendants(child.id() as i32).len(), 2, "it shows its own moment");
    }

    #[test]
    fn a_group_is_known_until_its_last_member_has_ended() {
        let options = spawn::SpawnOptions { leads: spawn::Leads::Group, ..spawn::SpawnOptions::default() };
        let child = spawn::spawn(Command::new("sh").args(["-c", "sleep 60 & exit 0"]), options).unwrap().id() as i32;
        assert!(spawn::groups().contains(&child));
        while signals::send(child, 0).is_ok() && parent_and_state(child).is_none_or(|(_, state)| state != 'Z') {
            std::thread::yield_now();
        }
        assert!(spawn::groups().contains(&child));
        signals::send(-child, SIGKILL).unwrap();
    }

    #[test]
    fn a_childs_parents_lead_here() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Its first byte shows that the kernel has set up its arguments: `spawn` may return a moment before that.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let above = ancestors(child.id() as i32);
        assert_eq!((above[0], above.last()), (host::pid(), ancestors(host::pid()).last()));
        assert_eq!(group(child.id() as i32), group(host::pid()));
        assert_eq!(arguments(child.id() as i32)[..2], [b"sh".to_vec(), b"-c".to_vec()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ancestors(child.id() as i32).is_empty() && arguments(child.id() as i32).concat().is_empty());
    }

    #[test]
    fn this_program_has_mapped_itself() {
        let program = program(host::pid()).unwrap();
        assert!(mapped_files(host::pid()).contains(&program));
    }
}
