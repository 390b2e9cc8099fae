//! Tests that other users' processes that connect to an agent, or pretend to be one, do not stop the job and its tools.

mod harness;

use harness::*;
use hawser_os::signals::{self, SIGCONT, SIGSTOP, SIGTERM, SIGUSR1};
use hawser_os::{host, limits};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// Processes that are ended with the test.
struct ClientProcesses(Vec<Child>);

impl Drop for ClientProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `count` processes that run a Python script with these arguments.
fn start_clients(count: usize, user: u32, script: &str, arguments: &[&str]) -> ClientProcesses {
    let start = |_| {
        let mut command = Command::new("python3");
        command.args(["-c", script]).args(arguments).current_dir("/").stdout(Stdio::piped());
        if user != host::user() {
            command.uid(user).gid(user);
        }
        command.spawn().unwrap()
    };
    ClientProcesses((0..count).map(start).collect())
}

fn is_root(purpose: &str) -> bool {
    if host::user() != 0 {
        eprintln!("skipped: {purpose} needs root");
    }
    host::user() == 0
}

/// The names of the sockets of a job's agents, and of mpiexec where it has several.
fn listener_names(job: &Job, count: usize) -> Vec<String> {
    let mut names = BTreeSet::new();
    let begin = format!("@hawser-{}-{}-", host::user(), job.pid());
    job.wait_until("the agents' sockets", |_| {
        let sockets = fs::read_to_string("/proc/net/unix").unwrap();
        names = sockets.lines().filter_map(|line| Some(line[line.find(&begin)? + 1..].to_owned())).collect();
        names.len() == count
    });
    names.into_iter().collect()
}

/// A client that connects again and again.
const FLOOD: &str = "
import socket, sys
while True:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.setblocking(False)
    try: line.connect('\\0' + sys.argv[1])
    except OSError: pass
    line.close()
";

/// A client that holds as many connections as it can, sends nothing, and replaces those that are closed.
const HOLD: &str = "
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
while True:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.setblocking(False)
    try: line.connect('\\0' + sys.argv[1])
    except OSError: continue
    held = held[-1500:] + [line]
";

/// Asserts that the ranks of a job attach, their output arrives and a signal reaches them, whatever `script` does to
/// the listeners.
fn check_job_survives(script: &str, user: u32, each: usize, options: &[&str], listener_count: usize) {
    let arrived = std::env::temp_dir().join(format!("hawser-come-{}-{user}-{listener_count}-{each}", host::pid()));
    fs::create_dir_all(&arrived).unwrap();
    let body = format!(
        "trap 'echo got; exit 0' USR1; sleep 1; {RANK} hello; : > {}/$HAWSER_RANK; while :; do echo tick; sleep 0.05; done",
        arrived.display()
    );
    let words: Vec<&str> = options.iter().copied().chain(["-n", "2", "sh", "-c", &body]).collect();
    let job = start_words(&words, |command| command);
    let names = listener_names(&job, listener_count);
    let clients: Vec<ClientProcesses> = names.iter().map(|name| start_clients(each, user, script, &[name])).collect();
    job.wait_until("the ranks' coming", |_| fs::read_dir(&arrived).unwrap().count() == 2);
    job.signal(SIGUSR1);
    let outcome = job.finish();
    drop(clients);
    fs::remove_dir_all(arrived).unwrap();
    let (hello, got) = (outcome.out.matches("rank ").count(), outcome.out.matches("got").count());
    assert_eq!((outcome.code, hello, got), (0, 2, 2), "user {user}: {} {}", outcome.out, outcome.err);
    assert!(!outcome.err.contains("mpiexec:"), "user {user}: {}", outcome.err);
}

#[test]
fn a_door_that_is_besieged_keeps_neither_output_nor_signals_nor_ranks_waiting() {
    check_job_survives(FLOOD, host::user(), 8, &[], 1);
    if is_root("to be another user") {
        check_job_survives(FLOOD, NOBODY, 8, &[], 1);
    }
}

#[test]
fn neither_do_the_doors_of_a_job_of_two_hosts() {
    let shell = remote_shell("besieged", "");
    let user = if is_root("to be another user") { NOBODY } else { host::user() };
    check_job_survives(FLOOD, user, 4, &["-launcher-exec", shell.to_str().unwrap(), "-hosts", "a,b"], 3);
    fs::remove_file(shell).unwrap();
}

#[test]
fn callers_that_say_nothing_take_neither_descriptors_nor_places() {
    check_job_survives(HOLD, host::user(), 3, &[], 1);
    // The same with few descriptors; root can have as many as it wants, unless it lacks this capability.
    let few = if host::user() == 0 { "setpriv --bounding-set=-sys_resource" } else { "" };
    let script = format!("ulimit -n 64; exec {few} {MPIEXEC} -n 2 sh -c 'sleep 1; exec {RANK} hello'");
    let holds = "job=$!; until name=$(grep -o \"hawser-[0-9]*-$job-.*\" /proc/net/unix); do sleep 0.01; done";
    let python = "ulimit -n 1000; timeout 2 python3 -c \"$HOLD\" $name; wait $job";
    let mut command = Command::new("sh");
    command.args(["-c", &format!("(%) & {holds}; {python}").replace('%', &script)]).env("HOLD", HOLD);
    let output = command.env_remove("HAWSER_BOOT").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), out.matches("rank ").count()), (Some(0), 2), "{out} {err}");
    assert!(limits::get(limits::Resource::Descriptors).soft > 64);
}

/// A process that listens under a name like an agent's and accepts no connection.
const FOREIGN: &str = "
import socket, sys, time
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind('\\0' + sys.argv[1])
door.listen(0)
waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
waiting.connect('\\0' + sys.argv[1])
print('up', flush=True)
time.sleep(100)
";

#[test]
fn a_tool_names_the_jobs_that_do_not_answer_and_tells_of_the_others() {
    let [stopped, other] = [(); 2].map(|()| start("-n 2 RANK ring 7"));
    [&stopped, &other].iter().for_each(|job| job.wait_until("start", |processes| programs(processes).len() == 2));
    listener_names(&stopped, 1);
    let user = if is_root("to be another user") { NOBODY } else { host::user() };
    let foreign = format!("hawser-{}-{}-foreign-0123", host::user(), host::pid());
    let mut impostor = start_clients(1, user, FOREIGN, &[&foreign]);
    std::io::Read::read_exact(&mut impostor.0[0].stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
    let agent = agent_of(&stopped.processes()).unwrap();
    signals::send(agent, SIGSTOP).unwrap();
    let output = Command::new(INFO).arg("--stats").output().unwrap();
    signals::send(agent, SIGCONT).unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for silent in [format!("job {}-", stopped.pid()), format!("job {}-foreign", host::pid())] {
        let message = err.lines().find(|line| line.contains(&silent)).unwrap_or_default();
        assert!(message.contains("does not answer: no answer within 5 s"), "{silent}: {err}");
    }
    assert_eq!(output.status.code(), Some(0));
    let reply = &out[out.find(&format!("job {}-", other.pid())).unwrap()..];
    assert!(reply.lines().nth(1).unwrap().starts_with("  rank 0: bells rung"), "{out}");
    for job in [stopped, other] {
        job.signal(SIGTERM);
        assert_eq!(job.finish().code, 128 + SIGTERM);
    }
}

#[test]
fn a_rank_of_another_user_than_mpiexec_is_told_so() {
    if !is_root("to be another user") {
        return;
    }
    // The files that root has built need not be readable for everybody: a copy of the program is.
    let copy = std::env::temp_dir().join(format!("hawser-rank-{}", host::pid()));
    fs::copy(RANK, &copy).unwrap();
    let script = format!(
        "import os, sys; os.setgid({NOBODY}); os.setuid({NOBODY}); os.execv('{0}', ['{0}', 'hello'])",
        copy.display()
    );
    let outcome = start_words(&["-n", "1", "python3", "-c", &script], |command| command).finish();
    fs::remove_file(copy).unwrap();
    let expected =
        format!("this program runs as user {NOBODY} and mpiexec as user 0, and the ranks of a job share memory");
    assert!(outcome.code != 0 && outcome.err.matches(&expected).count() == 1, "{}", outcome.err);
}
