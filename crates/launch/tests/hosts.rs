//! Tests of jobs of several hosts, all of which are this machine: a remote shell runs its command here. Tests that need
//! networks and hosts that fail are in tests/test_hosts.py.

mod harness;

use harness::*;
use hawser_os::signals::{self, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGUSR1};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A remote shell, removed with the test.
struct Shell(PathBuf);

impl Shell {
    fn new(name: &str, before: &str) -> Shell {
        Shell(remote_shell(name, before))
    }

    fn start(&self, line: &str) -> Job {
        let shell = self.0.display().to_string();
        let line = format!("-launcher-exec {shell} {line}");
        let words: Vec<&str> = line.split_whitespace().map(|word| if word == "RANK" { RANK } else { word }).collect();
        start_words(&words, |command| command)
    }

    fn script(&self, options: &str, script: &str) -> Job {
        let shell = self.0.display().to_string();
        let mut words = vec!["-launcher-exec", &shell];
        words.extend(options.split_whitespace());
        words.extend(["sh", "-c", script]);
        start_words(&words, |command| command.stdin(Stdio::piped()))
    }

    fn run(&self, line: &str) -> Outcome {
        self.start(line).finish()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    lines
}

fn one_line(outcome: &Outcome, parts: &[&str]) {
    let is_one_line = outcome.err.lines().count() == 1 && parts.iter().all(|part| outcome.err.contains(part));
    assert!(is_one_line, "{parts:?} in {}", outcome.err);
}

/// The processes of ranks that run a program.
fn ranks(processes: &[i32], act: &str) -> Vec<i32> {
    processes.iter().copied().filter(|&pid| command_line(pid).starts_with(&format!("{RANK} {act}"))).collect()
}

#[test]
fn ranks_are_placed_host_by_host() {
    let shell = Shell::new("places", "");
    let script = "echo $HAWSER_RANK: $HAWSER_LOCAL_RANK of $HAWSER_LOCAL_SIZE of $HAWSER_SIZE";
    let outcome = shell.script("-hosts a:2,b:1 -n 5", script).finish();
    let expected = ["0: 0 of 4 of 5", "1: 1 of 4 of 5", "2: 0 of 1 of 5", "3: 2 of 4 of 5", "4: 3 of 4 of 5"];
    assert_eq!((outcome.code, sorted(&outcome.out), outcome.err.as_str()), (0, expected.to_vec(), ""));
    let outcome = shell.run("-hosts a,b -ppn 2 RANK hello : -hosts c:2 RANK hello");
    let lines = (0..6).map(|rank| format!("rank {rank} of 6 app Some({}) of {}", rank / 4, [4, 2][rank / 4]));
    assert_eq!(
        (outcome.code, sorted(&outcome.out)),
        (0, lines.collect::<Vec<_>>().iter().map(String::as_str).collect())
    );
}

#[test]
fn cards_of_all_hosts_come_to_every_rank_with_one_secret() {
    let shell = Shell::new("cards", "");
    let outcome = shell.run("-hosts a,b -ppn 2 RANK cards");
    let lines = sorted(&outcome.out);
    assert_eq!((outcome.code, lines.len()), (0, 4), "{}", outcome.err);
    assert!(lines[0].starts_with("card 0 of a, card 1 of a, card 2 of b, card 3 of b Secret "), "{}", lines[0]);
    assert!(lines.iter().all(|line| line == &lines[0]) && !lines[0].ends_with(" 0"));
    let other = shell.run("-hosts a,b RANK cards").out;
    assert!(
        other.lines().all(|line| line.rsplit(' ').next() != lines[0].rsplit(' ').next()),
        "another job, another secret"
    );
}

#[test]
fn the_secret_is_in_no_argument_and_no_variable() {
    let shell = Shell::new("secret", "");
    let job = shell.script("-hosts a,b", &format!("{RANK} cards; sleep 2"));
    let secret = |processes: &[i32]| {
        processes
            .iter()
            .map(|&pid| {
                [fs::read(format!("/proc/{pid}/cmdline")), fs::read(format!("/proc/{pid}/environ"))]
                    .map(Result::unwrap_or_default)
            })
            .collect::<Vec<_>>()
    };
    let mut seen = Vec::new();
    job.wait_until("start", |processes| {
        seen.extend(secret(processes));
        processes.iter().any(|&pid| command_line(pid).starts_with("sleep 2"))
    });
    let outcome = job.finish();
    let number: u128 = outcome.out.lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let (bytes, hex) = (number.to_ne_bytes(), format!("{number:x}"));
    let holds = |text: &Vec<u8>, pattern: &[u8]| text.windows(pattern.len()).any(|window| window == pattern);
    assert!(seen.len() > 5 && seen.iter().flatten().all(|text| !holds(text, &bytes) && !holds(text, hex.as_bytes())));
}

#[test]
fn input_output_and_codes_are_those_of_one_host() {
    let shell = Shell::new("streams", "");
    let mut job = shell.script("-hosts a,b -ppn 2 -s 0,2,3", "wc -c | sed s/^/$HAWSER_RANK=/; echo err >&2");
    job.input(&vec![b'x'; 300_000]);
    let outcome = job.finish();
    assert_eq!(sorted(&outcome.out), ["0=300000", "1=0", "2=300000", "3=300000"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, "err\nerr\nerr\nerr\n"));
    let script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 $i; i=$((i+1)); done";
    assert_eq!(shell.script("-hosts a,b -ppn 2", script).finish().out.lines().count(), 12_000);
    let outcome = shell.script("-hosts a,b,c", "[ $HAWSER_RANK = 1 ] && exit 7; sleep 100").finish();
    assert_eq!(outcome.code, 7);
    one_line(&outcome, &["rank 1 on host b (pid ", "exited with code 7"]);
    let outcome = shell.run("-hosts a,b hawser-no-such-program");
    assert_eq!(outcome.code, 127);
    one_line(&outcome, &["on host ", "found neither in PATH"]);
}

#[test]
fn a_hosts_name_is_not_taken_to_another() {
    let shell = Shell::new("hostname", "");
    let words = [
        "-launcher-exec",
        &shell.0.display().to_string(),
        "-hosts",
        "a,localhost",
        "sh",
        "-c",
        "env | grep -c HOSTNAME=here; true",
    ];
    let job = start_words(&words, |command| command.env("HOSTNAME", "here"));
    assert_eq!(sorted(&job.finish().out), ["0", "1"]);
}

#[test]
fn a_host_that_is_done_does_not_end_the_others() {
    let shell = Shell::new("done", "");
    let outcome = shell.script("-hosts a,b", "[ $HAWSER_RANK = 1 ] && sleep 2.5; echo done").finish();
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "done\ndone\n", ""));
}

#[test]
fn what_a_shell_prints_is_no_part_of_the_channel() {
    let shell = Shell::new("motd", "echo Welcome to $host; printf 'no newline'; echo 'on the other stream' >&2");
    let outcome = shell.run("-hosts a,b RANK hello");
    assert_eq!((outcome.code, outcome.out.lines().count()), (0, 2), "{}", outcome.err);
    let lines = sorted(&outcome.err);
    assert_eq!(lines, ["mpiexec: host a: on the other stream", "mpiexec: host b: on the other stream"]);
}

#[test]
fn each_step_that_fails_has_its_line() {
    let program = MPIEXEC;
    for (name, before, parts) in [
        (
            "refused",
            "[ $host = b ] && echo 'no route to host' >&2 && exit 255",
            vec!["host b cannot be reached: ", "ended with code 255 (no route to host)"],
        ),
        (
            "says",
            "[ $host = b ] && echo 'Account expired.' && exit 1",
            vec!["host b cannot be reached", "(Account expired.)"],
        ),
        ("absent", "[ $host = b ] && set -- /no/such/mpiexec", vec!["host b has no ", program, "--prefix DIR"]),
        ("plain", "[ $host = b ] && set -- /etc/passwd", vec!["host b cannot execute ", program]),
        ("killed", "[ $host = b ] && kill -9 $$", vec!["host b cannot be reached", "was killed by signal 9 (Killed)"]),
        ("empty", "[ $host = b ] && exit 0", vec!["host b cannot be reached", "ended with code 0"]),
    ] {
        let shell = Shell::new(name, before);
        let outcome = shell.run("-hosts a,b,c touch /tmp/hawser-never");
        assert_eq!(outcome.code, 1, "{name}: {}", outcome.err);
        one_line(&outcome, &parts);
        assert!(!PathBuf::from("/tmp/hawser-never").exists(), "nothing is started before all are there");
    }
    let outcome = run("-launcher-exec /no/such/shell -hosts a,b true");
    one_line(
        &outcome,
        &["host a cannot be reached: the remote shell /no/such/shell cannot be started", "--launcher-exec"],
    );
    let shell = Shell::new("prefix", "");
    let outcome = shell.run("--prefix /no/such -hosts a true");
    one_line(&outcome, &["host a has no /no/such/bin/mpiexec"]);
}

#[test]
fn another_version_is_refused() {
    let mark = String::from_utf8(hawser_launch::channel::MARK.to_vec())
        .unwrap()
        .replace('\u{1}', "\\001")
        .replace('\u{2}', "\\002");
    let ready = hawser_launch::frames::FromAgent::Ready { version: "0.0.1".into(), pid: 1 }.encode();
    let octal: String =
        (ready.len() as u32).to_le_bytes().iter().chain(&ready).map(|byte| format!("\\{byte:03o}")).collect();
    let mark = mark.replace('\n', "\\n").replace('\'', "'\\''");
    let shell = Shell::new("version", &format!("[ $host = b ] && printf '{mark}{octal}' && exec cat"));
    let outcome = shell.run("-hosts a,b true");
    assert_eq!(outcome.code, 1);
    let versions = "host b has Hawser 0.0.1, and this mpiexec is Hawser ";
    one_line(&outcome, &[versions, "install the same version on all hosts"]);
}

#[test]
fn a_rank_that_ends_badly_ends_all_hosts() {
    let shell = Shell::new("ranks", "");
    for (act, code, expected) in [
        ("signal 11", 139, "was killed by signal 11"),
        ("exit 0", 1, "without calling MPI_Finalize"),
        ("abort 42", 42, "aborted the job with code 42"),
    ] {
        let outcome = shell.run(&format!("-hosts a,b -ppn 2 RANK one 2 {act}"));
        assert_eq!(outcome.code, code);
        one_line(&outcome, &["rank 2 on host b (pid ", expected]);
        outcome.ended_by_itself();
    }
    let outcome = shell.run("-hosts a,b -ppn 2 RANK leave 100");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    one_line(&outcome, &["all 4 ranks exited with code 0 without calling MPI_Finalize"]);
    let outcome = shell.script("-hosts a,b", &format!("[ $HAWSER_RANK = 1 ] && exit 0; exec {RANK} compute")).finish();
    one_line(&outcome, &["rank 1 on host b (pid ", "without calling MPI_Init, which other ranks wait for"]);
}

#[test]
fn agents_and_guards_that_are_killed_are_named_and_nothing_is_left() {
    let shell = Shell::new("killed-parts", "sh -c \"$*\"; code=$?; exit $code");
    for (subcommand, expected) in [
        ("__agent", "the agent (pid "),
        // The text of the shell.
        ("__guard", "Killed ("),
    ] {
        let job = shell.start("-hosts a,b -ppn 2 RANK daemons");
        let sleeps =
            |processes: &[i32]| processes.iter().filter(|&&pid| command_line(pid).starts_with("sleep 100")).count();
        job.wait_until("daemons", |processes| sleeps(processes) == 16);
        let victims: Vec<i32> =
            subcommand_processes(&job.processes(), subcommand).into_iter().filter(|&pid| pid != job.pid()).collect();
        let victim = match subcommand {
            // The shell that runs the supervisor has its subcommand in its own command, too.
            "__guard" => victims.iter().copied().find(|&pid| command_line(pid).starts_with(MPIEXEC)),
            _ => victims.first().copied(),
        };
        signals::send(victim.unwrap(), SIGKILL).unwrap();
        let outcome = job.finish();
        assert_eq!(outcome.code, 1, "{subcommand}");
        one_line(&outcome, &["host ", " is lost: ", expected, "the job is ended"]);
    }
    let job = start("-launcher fork -hosts a,b -ppn 2 RANK daemons");
    job.wait_until("daemons", |processes| {
        processes.iter().filter(|&&pid| command_line(pid).starts_with("sleep 100")).count() == 16
    });
    signals::send(agent_of(&job.processes()).unwrap(), SIGKILL).unwrap();
    one_line(&job.finish(), &["the agent on host ", "was killed by signal 9 (Killed); the job is ended"]);
}

#[test]
fn mpiexec_killed_leaves_nothing_on_any_host() {
    let shell = Shell::new("mpiexec", "");
    for signal in [SIGKILL, SIGTERM, SIGHUP] {
        let job = shell.start("-hosts a,b -ppn 2 RANK daemons");
        job.wait_until("daemons", |processes| {
            processes.iter().filter(|&&pid| command_line(pid).starts_with("sleep 100")).count() == 16
        });
        job.signal(signal);
        assert_eq!(job.finish().code, if signal == SIGKILL { -SIGKILL } else { 128 + signal });
    }
}

#[test]
fn an_agent_that_is_stopped_does_not_outlive_mpiexec() {
    let shell = Shell::new("outlived", "");
    let job = shell.start("-hosts a,b RANK compute");
    job.wait_until("start", |processes| ranks(processes, "compute").len() == 2);
    subcommand_processes(&job.processes(), "__agent").iter().for_each(|&pid| signals::send(pid, SIGSTOP).unwrap());
    job.signal(SIGKILL);
    job.wait_until("the guards' part", |processes| processes.is_empty());
    job.finish();
}

#[test]
fn who_is_back_does_not_hear_that_all_have_left() {
    let shell = Shell::new("back", "");
    for mode in ["once", "twice"] {
        let outcome = shell.run(&format!("-hosts a,b RANK back {mode}"));
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "all are away: false\n"), "{mode}: {}", outcome.err);
    }
}

#[test]
fn signals_reach_the_ranks_of_all_hosts() {
    let shell = Shell::new("signals", "");
    let job = shell.script("-hosts a,b -ppn 2", "trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.05; done");
    job.wait_until("start", |processes| programs(processes).len() >= 8);
    std::thread::sleep(Duration::from_millis(200));
    job.signal(SIGUSR1);
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.matches("got").count()), (0, 4), "{}", outcome.err);
    let job = shell.start("-hosts a,b RANK compute");
    let stopped =
        |processes: &[i32]| ranks(processes, "compute").iter().filter(|&&pid| status(pid, "State") == "T").count();
    job.wait_until("start", |processes| ranks(processes, "compute").len() == 2);
    job.signal(SIGTSTP);
    job.wait_until("stop", |processes| stopped(processes) == 2 && status(job.pid(), "State") == "T");
    job.signal(SIGCONT);
    job.wait_until("continuation", |processes| stopped(processes) == 0);
    job.signal(SIGTERM);
    assert_eq!(job.finish().code, 128 + SIGTERM);
}

/// A signal that is pending while a remote shell is being started is handled afterwards.
#[test]
fn no_signal_is_lost_while_forty_hosts_are_being_called() {
    let shell = Shell::new("start", "");
    let hosts: Vec<String> = (0..40).map(|host| format!("h{host}")).collect();
    let (seed, mut rng) = TestRng::from_env();
    for round in 0..12 {
        let signal = [SIGINT, SIGHUP, SIGTSTP][round % 3];
        let job = shell.start(&format!("-hosts {} sleep 100", hosts.join(",")));
        // mpiexec takes signals over before it starts any agent.
        job.wait_until("start", |processes| processes.len() > 1);
        std::thread::sleep(Duration::from_micros(rng.next_below(300_000)));
        job.signal(signal);
        let mut ends_by = signal;
        if signal == SIGTSTP {
            job.wait_until("stop", |_| status(job.pid(), "State") == "T");
            job.signal(SIGCONT);
            job.signal(SIGTERM);
            ends_by = SIGTERM;
        }
        assert_eq!(job.finish().code, 128 + ends_by, "signal {signal}, turn {round}, seed {seed}");
    }
}

/// No supervisor, agent or mpiexec is left to end the ranks: the kernel ends them.
#[test]
fn ranks_die_with_their_agent_when_nobody_is_left_to_end_them() {
    let shell = Shell::new("all", "");
    let job = shell.script("-hosts a,b -ppn 2", &format!("{RANK} ring 1; true"));
    job.wait_until("start", |processes| ranks(processes, "ring").len() == 4);
    let processes = job.processes();
    let launcher_processes: Vec<i32> =
        processes.iter().copied().filter(|pid| !programs(&[*pid]).contains(pid)).collect();
    for signal in [SIGSTOP, SIGKILL] {
        launcher_processes.iter().for_each(|&pid| drop(signals::send(pid, signal)));
    }
    assert_eq!(job.finish().code, -SIGKILL);
}

#[test]
fn a_stopped_mpiexec_and_a_stopped_agent_are_waited_for_and_a_host_that_stands_still_is_not() {
    let shell = Shell::new("stopped", "");
    // This is longer than the silence that a host may keep.
    let stop_s = u64::from(hawser_launch::heartbeat::SILENCE_S) + 2;
    let script = format!("sleep {}; echo done", stop_s + 1);
    let job = shell.script("-hosts a,b", &script);
    job.wait_until("start", |processes| programs(processes).len() >= 4);
    let agent = agent_of(&job.processes()).unwrap();
    [job.pid(), agent].iter().for_each(|&pid| signals::send(pid, SIGSTOP).unwrap());
    std::thread::sleep(Duration::from_secs(stop_s));
    [job.pid(), agent].iter().for_each(|&pid| signals::send(pid, SIGCONT).unwrap());
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "done\ndone\n", ""));

    let job = shell.start("-hosts a,b RANK compute");
    job.wait_until("start", |processes| ranks(processes, "compute").len() == 2);
    let supervisor =
        subcommand_processes(&job.processes(), "__guard").into_iter().find(|&pid| pid != job.pid()).unwrap();
    let agent = subcommand_processes(&job.processes(), &format!("__agent {supervisor}"))[0];
    [supervisor, agent].iter().for_each(|&pid| signals::send(pid, SIGSTOP).unwrap());
    let err = job.finish().err;
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("has been silent for 7 s"), "{err}");
}

/// One direction alone is silent: mpiexec receives from the agents, which receive nothing from it.
#[test]
fn an_agent_that_hears_nothing_of_mpiexec_ends_the_job_and_says_why() {
    let shell = Shell::new("unheard", "");
    let job = shell.start("-hosts a,b RANK compute");
    job.wait_until("start", |processes| ranks(processes, "compute").len() == 2);
    let [heartbeat] = subcommand_processes(&job.processes(), "__pulse")[..] else { panic!("{:?}", job.processes()) };
    signals::send(heartbeat, SIGSTOP).unwrap();
    let outcome = job.finish();
    assert_eq!(outcome.code, 1);
    one_line(
        &outcome,
        &[
            "is lost: the agent there has received nothing from mpiexec for 7 s (",
            "ended with code 1); the job is ended",
        ],
    );
}

#[test]
fn reports_and_counts_are_of_all_hosts() {
    let shell = Shell::new("reports", "");
    let job = shell.start("--stats -hosts a,b:2 RANK ring 7");
    let query = |option: &str| {
        let output = Command::new(INFO).args([option, &job.pid().to_string()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let expected = "  rank 0 on a (pid N): MPI_Recv, waiting for rank 1, tag 7, MPI_COMM_WORLD, for N s\n  \
        rank 1 on b (pid N): MPI_Recv, waiting for rank 2, tag 7, MPI_COMM_WORLD, for N s\n  \
        rank 2 on b (pid N): MPI_Recv, waiting for rank 0, tag 7, MPI_COMM_WORLD, for N s\n\
        mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Recv) -> 2 (MPI_Recv) -> 0\n";
    job.wait_until("the deadlock", |_| mask(&query("--report")).ends_with(expected));
    assert_eq!(query("--report").matches("job ").count(), 2, "the whole answers, not its parts");
    assert!(query("--stats").ends_with("  all ranks: bells rung 5, barriers 3\n"), "{}", query("--stats"));
    job.signal(SIGQUIT);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(SIGTERM);
    let err = mask(&job.finish().err);
    let first = "mpiexec: report requested by signal 3 (Quit); state of each rank:\n";
    assert!(err.starts_with(&format!("{first}{expected}")), "{err}");
    assert!(err.ends_with("all ranks: bells rung 5, barriers 3\n"), "{err}");
}

#[test]
fn one_host_elsewhere_is_asked_where_mpiexec_runs() {
    let shell = Shell::new("elsewhere", "");
    let job = shell.start("-hosts b -n 2 RANK ring 7");
    job.wait_until("the deadlock", |_| {
        let output = Command::new(INFO).args(["--report", &job.pid().to_string()]).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        out.contains("0 (MPI_Recv) -> 1 (MPI_Recv) -> 0") && out.matches("rank 1 on b").count() == 1
    });
    job.signal(SIGTERM);
    job.finish();
}

#[test]
fn a_timeout_of_several_hosts_reports_and_ends() {
    let shell = Shell::new("timeout", "");
    let outcome = shell.run("-t 1 -hosts a,b RANK ring 7");
    assert_eq!((outcome.code, outcome.err.matches(" on a (pid ").count()), (124, 1), "{}", outcome.err);
    assert!(outcome.err.contains("0 (MPI_Recv) -> 1 (MPI_Recv) -> 0"), "{}", outcome.err);
}

#[test]
fn info_is_of_each_host() {
    let shell = Shell::new("info", "");
    let outcome = shell.run("--info -hosts a,b");
    assert_eq!((outcome.code, outcome.out.matches("\ncores ").count()), (0, 2), "{} {}", outcome.out, outcome.err);
    assert!(outcome.out.contains("host a\n") && outcome.out.matches("HAWSER_HANG_S").count() == 1, "{}", outcome.out);
    assert_eq!(outcome.out.matches("\n  lo: is a loopback interface (").count(), 2, "{}", outcome.out);
    let outcome = shell.run("--info -hosts a,b -genv HAWSER_RAILS lo -genv HAWSER_PORT udp RANK hello");
    assert_eq!(outcome.err.matches("\n  lo: a rail (").count(), 2, "{}", outcome.err);
    assert_eq!(outcome.err.matches("\n    udp over 127.0.0.1: tried").count(), 2, "{}", outcome.err);
    let outcome = shell.run("--info -hosts a,b RANK hello");
    assert_eq!((outcome.out.lines().count(), outcome.err.matches("\ncores ").count()), (2, 2), "{}", outcome.err);
}

/// The same test as in `ends.rs`, for two hosts.
#[test]
fn kills_at_random_moments_leave_nothing_of_two_hosts() {
    let shell = Shell::new("random", "");
    let (seed, mut rng) = TestRng::from_env();
    for round in 0..40 {
        let act = ["ring 1", "daemons", "cards", "compute"][rng.next_below(4) as usize];
        let job = shell.start(&format!("-hosts a,b -ppn 2 RANK {act}"));
        std::thread::sleep(Duration::from_micros(rng.next_below(80_000)));
        let processes = job.processes();
        let victims = match round % 5 {
            0 => vec![job.pid()],
            1 => subcommand_processes(&processes, "__agent"),
            2 => subcommand_processes(&processes, "__guard"),
            3 => subcommand_processes(&processes, "__pulse"),
            _ => programs(&processes),
        };
        let victim = victims.get(rng.next_below(victims.len().max(1) as u64) as usize).copied().unwrap_or(job.pid());
        let _ = signals::send(victim, SIGKILL);
        let limit = Instant::now() + Duration::from_secs(2);
        while job.processes().len() > 1 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = signals::send(job.pid(), SIGTERM);
        let outcome = job.finish();
        assert!(outcome.err.lines().count() <= 2, "turn {round}, seed {seed}: {}", outcome.err);
    }
}
