//! Tests of jobs that run: options, environment, streams, exit codes.

mod harness;

use harness::*;
use std::process::Stdio;
use std::time::Duration;

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    lines
}

#[test]
fn ranks_learn_who_they_are() {
    let outcome = run("-n 2 RANK hello : -n 1 RANK hello");
    assert_eq!(
        lines(&outcome.out),
        ["rank 0 of 3 app Some(0) of 2", "rank 1 of 3 app Some(0) of 2", "rank 2 of 3 app Some(1) of 1"]
    );
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
}

#[test]
fn scripts_learn_who_they_are() {
    let script =
        "echo $HAWSER_RANK/$HAWSER_SIZE $HAWSER_LOCAL_RANK/$HAWSER_LOCAL_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS";
    assert_eq!(lines(&run_script("-n 2", script).out), ["0/2 0/2 0/2", "1/2 1/2 1/2"]);
}

#[test]
fn a_shell_may_stand_between() {
    let outcome = run_script("-n 3", &format!("{RANK} hello; exit $?"));
    assert_eq!((outcome.code, lines(&outcome.out).len(), outcome.err.as_str()), (0, 3, ""));
}

#[test]
fn environment_and_directory_follow_the_options() {
    let outcome = run_script("-n 1 -wdir /usr -genv A 1 -env B 2 -x C=3", "echo $A$B$C $PWD");
    assert_eq!(outcome.out, "123 /usr\n");
    let outcome = run_script(
        "-n 1 -genvnone -x PATH",
        "env | grep -v -e HAWSER_ -e MPI_ -e MPIR_ -e PMI_ -e PWD -e ^_ -e SHLVL | cut -d= -f1",
    );
    assert_eq!(lines(&outcome.out), ["PATH"]);
}

#[test]
fn output_comes_by_whole_lines_with_labels() {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do printf 'half of '; printf 'line %s\\n' $i; done; printf end >&2";
    let outcome = run_script("-l -n 4", script);
    for rank in 0..4 {
        let prefix = format!("[{rank}] ");
        let own: Vec<&str> = outcome.out.lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
        assert_eq!(own, (1..10).map(|i| format!("half of line {i}")).collect::<Vec<_>>());
    }
    assert_eq!(lines(&outcome.err), ["[0] end", "[1] end", "[2] end", "[3] end"]);
}

#[test]
fn much_output_arrives_whole_at_a_slow_reader() {
    let script = "i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789012345678901234567890123456789 $i; i=$((i+1)); done";
    let mut job = script_job("-n 4", script);
    std::thread::sleep(Duration::from_millis(700));
    let out = job.child.stdout.take().unwrap();
    let read = std::io::read_to_string(out).unwrap();
    assert_eq!(read.lines().count(), 16000);
    assert!(read.lines().all(|line| line.starts_with("0123456789") && line.len() > 70));
    assert_eq!(job.finish().code, 0);
}

#[test]
fn output_at_the_very_end_is_not_lost() {
    let outcome = run_script("-n 4", "printf '%70000s' x; echo; printf last");
    assert_eq!(outcome.out.len(), 4 * (70000 + 1 + 4));
}

#[test]
fn input_goes_to_rank_0_alone() {
    let mut job = start_words(&["-n", "3", "wc", "-c"], |command| command.stdin(Stdio::piped()));
    job.input(&vec![b'x'; 300_000]);
    assert_eq!(lines(&job.finish().out), ["0", "0", "300000"]);
}

#[test]
fn input_goes_to_the_ranks_that_are_named() {
    for (readers, sizes) in
        [("all", ["300000"; 3]), ("1", ["0", "300000", "0"]), ("0,2", ["300000", "0", "300000"]), ("none", ["0"; 3])]
    {
        let script = "wc -c | sed s/^/$HAWSER_RANK=/";
        let mut job =
            start_words(&["-n", "3", "-s", readers, "sh", "-c", script], |command| command.stdin(Stdio::piped()));
        let mut stdin = job.child.stdin.take().unwrap();
        // Input that no rank reads stays with its writer.
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &vec![b'x'; 300_000]).is_ok());
        let outcome = job.finish();
        assert_eq!(writer.join().unwrap(), readers != "none");
        let expected: Vec<String> = sizes.iter().enumerate().map(|(rank, size)| format!("{rank}={size}")).collect();
        assert_eq!(lines(&outcome.out), expected, "--stdin {readers}: {}", outcome.err);
    }
    // A rank that stops reading delays no other.
    let script = "[ $HAWSER_RANK = 1 ] && head -c 1 && exec <&- && sleep 0.3 && exit; wc -c";
    let mut job = start_words(&["-n", "3", "-s", "all", "sh", "-c", script], |command| command.stdin(Stdio::piped()));
    job.input(&vec![b'x'; 300_000]);
    assert_eq!(lines(&job.finish().out), ["300000", "300000", "x"]);
}

#[test]
fn without_n_a_host_gets_as_many_ranks_as_are_asked_for_it() {
    for options in ["-ppn 3", "-npernode 3", "--map-by ppr:3:node"] {
        assert_eq!(lines(&run_script(options, "echo $HAWSER_SIZE").out), ["3", "3", "3"], "{options}");
    }
}

#[test]
fn files_may_be_input_and_output() {
    let directory = std::env::temp_dir().join(format!("hawser-streams-{}", hawser_os::host::pid()));
    std::fs::create_dir_all(&directory).unwrap();
    let (input, output) = (directory.join("in"), directory.join("out"));
    std::fs::write(&input, "line\n".repeat(50_000)).unwrap();
    let file = std::fs::File::create(&output).unwrap();
    let job = start_words(&["-n", "2", "sh", "-c", "cat; echo err >&2"], |command| {
        command.stdin(std::fs::File::open(&input).unwrap()).stdout(file.try_clone().unwrap()).stderr(file)
    });
    let code = job.finish().code;
    let read = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((code, read.matches("line\n").count(), read.matches("err\n").count()), (0, 50_000, 2));
}

#[test]
fn closed_standard_streams_hinder_nothing() {
    let script = format!("exec <&- >&- ; {MPIEXEC} -n 2 sh -c 'echo lost; cat; exit 4'");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn input_that_nobody_reads_hinders_nothing() {
    let mut job = start_words(&["-n", "2", "true"], |command| command.stdin(Stdio::piped()));
    let mut stdin = job.child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || while std::io::Write::write_all(&mut stdin, &[0; 4096]).is_ok() {});
    assert_eq!(job.finish().code, 0);
    writer.join().unwrap();
}

#[test]
fn exit_codes_are_the_first_failing_ranks() {
    assert_eq!(run_script("-n 3", "exit 0").code, 0);
    let outcome = run_script("-n 3", "[ $HAWSER_RANK = 1 ] && exit 7; sleep 100");
    assert_eq!(outcome.code, 7);
    assert!(
        outcome.err.contains("rank 1 on host ") && outcome.err.ends_with(") exited with code 7\n"),
        "{}",
        outcome.err
    );
    let outcome = run_script("-n 3", "[ $HAWSER_RANK = 2 ] && kill -USR1 $$; sleep 100");
    assert_eq!(outcome.code, 128 + 10);
    assert!(outcome.err.ends_with(") was killed by signal 10 (User defined signal 1)\n"), "{}", outcome.err);
}

#[test]
fn a_ranks_last_words_come_before_the_word_of_its_end() {
    for _ in 0..5 {
        let outcome = run_script("-n 2", "[ $HAWSER_RANK = 1 ] || sleep 100; echo 'last words' >&2; exit 3");
        assert!(outcome.err.starts_with("last words\nmpiexec: rank 1 "), "{}", outcome.err);
    }
}

#[test]
fn a_parent_that_ignores_its_children_changes_nothing() {
    let script = format!(
        "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv('{MPIEXEC}', ['mpiexec', '-n', '2', 'sh', '-c', 'exit 3'])"
    );
    let output = std::process::Command::new("python3").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn programs_that_cannot_start_are_named() {
    let outcome = run("-n 2 hawser-no-such-program");
    assert_eq!((outcome.code, outcome.err.lines().count()), (127, 1));
    assert!(outcome.err.contains("hawser-no-such-program was found neither in PATH"), "{}", outcome.err);
    for (program, why) in [("/etc/passwd", "is not executable (chmod +x?)"), ("/tmp", "/tmp is a directory")] {
        let outcome = run(&format!("-n 2 true : -n 1 {program}"));
        assert_eq!((outcome.code, outcome.err.lines().count()), (126, 1));
        assert!(outcome.err.contains(why), "{}", outcome.err);
    }
    let outcome = run("-n 1 -wdir /no/such true");
    assert!(outcome.err.contains("working directory /no/such does not exist"), "{}", outcome.err);
}

#[test]
fn a_program_of_the_working_directory_is_found() {
    let directory = std::path::Path::new(RANK).parent().unwrap();
    let outcome = run(&format!("-n 1 -wdir {} hawser-test-rank hello", directory.display()));
    assert_eq!(outcome.out, "rank 0 of 1 app Some(0) of 1\n");
}

#[test]
fn a_wrong_command_line_is_one_line_and_code_2() {
    for line in ["--frobnicate true", "-n 0 true", "-n 2", "-host a:x true"] {
        let outcome = run(line);
        assert_eq!((outcome.code, outcome.err.lines().count()), (2, 1), "{line}: {}", outcome.err);
        assert!(outcome.err.starts_with("mpiexec: "));
    }
    let job = start_words(&["true"], |command| command.env("HAWSER_HANG_S", "soon"));
    let outcome = job.finish();
    assert_eq!(outcome.code, 2);
    assert!(outcome.err.contains("HAWSER_HANG_S=soon is not a number"), "{}", outcome.err);
}

#[test]
fn ranks_are_bound_to_cores_of_their_own_if_there_are_enough() {
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    let cores = hawser_os::cpus::allowed().unwrap();
    let expected: Vec<String> = cores.iter().map(usize::to_string).collect();
    let outcome = run_script(&format!("--bind-to core -n {}", cores.len()), script);
    assert_eq!(lines(&outcome.out), lines(&expected.join("\n")));
    let outcome = run_script(&format!("--bind-to core -n {}", cores.len() + 1), script);
    assert!(outcome.err.contains("no rank is bound"), "{}", outcome.err);
    assert_eq!(outcome.code, 0);
}

#[test]
fn ranks_share_sockets_and_take_the_cores_of_a_list() {
    let script = "echo $HAWSER_RANK $(grep Cpus_allowed_list /proc/self/status | cut -f2)";
    let cores = hawser_os::cpus::allowed().unwrap();
    let (first, last) = (cores[0], cores[cores.len() - 1]);
    let outcome = run_script(&format!("--bind-to user:{last},{first} -n 3"), script);
    assert_eq!(lines(&outcome.out), [format!("0 {last}"), format!("1 {first}"), format!("2 {last}")]);
    assert_eq!(outcome.err, "");
    for unit in ["socket", "numa", "l3cache"] {
        let outcome = run_script(&format!("--bind-to {unit} -n 5"), script);
        assert_eq!((outcome.code, lines(&outcome.out).len(), outcome.err.as_str()), (0, 5, ""), "{unit}");
    }
    for binding in ["user:8000", "socket:9000", "core:9000"] {
        let outcome = run_script(&format!("--bind-to {binding} -n 2"), script);
        assert!(outcome.code == 0 && outcome.err.lines().count() == 1, "{binding}: {}", outcome.err);
        assert!(outcome.err.contains("no rank is bound on host"), "{binding}: {}", outcome.err);
    }
}

#[test]
fn few_descriptors_are_enough_or_explained() {
    // As root the agent may raise the hard limit; otherwise one line explains why not.
    let limit = |n: u64| format!("ulimit -n {n}; exec {MPIEXEC} -n 32 {RANK} hello");
    let output = std::process::Command::new("sh").args(["-c", &limit(64)]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 32, "{err}");
    } else {
        assert!(err.lines().count() == 1 && err.contains("raise it (ulimit -Hn"), "{err}");
    }
}

#[test]
fn very_few_descriptors_are_explained() {
    for n in [6, 8, 12, 15, 16, 20] {
        let script = format!("ulimit -n {n}; exec {MPIEXEC} -n 2 {RANK} hello");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        let explained = err.lines().count() == 1 && err.contains("open files") && err.contains("raise it (ulimit -");
        // As root the agent may raise the hard limit.
        assert!(explained || n >= 16 && output.status.success(), "{n}: {err}");
    }
}

#[test]
fn little_address_space_is_enough_or_explained() {
    let script = format!("ulimit -v 35000; {RANK} hello");
    let outcome = run_script("-n 2", &script);
    assert!(outcome.code != 0 && outcome.err.contains("ulimit -v"), "{}", outcome.err);
    let script = format!("ulimit -v 400000; {RANK} hello");
    assert_eq!(run_script("-n 2", &script).code, 0);
}

#[test]
fn sixty_four_ranks_start_and_end() {
    let outcome = run("-n 64 RANK hello");
    assert_eq!((outcome.code, outcome.out.lines().count()), (0, 64), "{}", outcome.err);
}

#[test]
fn info_tells_what_was_detected() {
    let outcome = run("--info");
    assert!(outcome.out.contains("cores") && outcome.out.contains("HAWSER_HANG_S"), "{}", outcome.out);
    let outcome = run("-v -n 2 RANK hello");
    assert!(
        outcome.err.contains("started on host") && outcome.err.contains("has ended with code 0"),
        "{}",
        outcome.err
    );
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    let mut job = script_job("-n 2", "while :; do echo y; done");
    let mut first = [0; 2];
    std::io::Read::read_exact(job.child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(job.child.stdout.take());
    assert_eq!(job.finish().code, 128 + 13);
}

#[test]
fn output_that_cannot_be_written_is_told_and_is_no_good_end() {
    let full = || std::fs::File::create("/dev/full").unwrap();
    // A program that ends by itself before the output is written, one that would go on, and one that fails on its own.
    for (script, code) in [("echo y", 1), ("while :; do echo y; done", 1), ("echo y; exit 7", 7)] {
        let outcome = start_words(&["-n", "2", "sh", "-c", script], |command| command.stdout(full())).finish();
        let expected = "mpiexec: standard output cannot be written: No space left on device";
        let is_expected = |line: &&str| line.starts_with(expected) && line.contains("free some space");
        let lines = outcome.err.lines().filter(is_expected).count();
        // Either of two failures may come first.
        assert!(outcome.code == code || code == 7 && outcome.code == 1, "{script}: {} {}", outcome.code, outcome.err);
        assert_eq!(lines, 1, "{script}: {}", outcome.err);
    }
    let outcome = start_words(&["-n", "1", RANK, "one", "0", "abort", "0"], |command| command.stdout(full())).finish();
    assert_eq!((outcome.code, outcome.err.lines().count()), (0, 1), "nothing was lost: {}", outcome.err);
    // There is nowhere to report a full standard error: the job goes on.
    let script = "echo y >&2; sleep 0.2; echo z";
    let outcome = start_words(&["-n", "1", "sh", "-c", script], |command| command.stderr(full())).finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (1, "z\n"));
    for (tool, arguments) in [(MPIEXEC, &["--help"][..]), (MPIEXEC, &["--info"]), (INFO, &[])] {
        let output = std::process::Command::new(tool).args(arguments).stdout(full()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && err.contains("standard output cannot be written"), "{tool}: {err}");
    }
}

#[test]
fn a_job_within_a_job_is_its_own() {
    let outcome = run_script("-n 2", &format!("{MPIEXEC} -n 2 {RANK} hello"));
    assert_eq!(
        lines(&outcome.out),
        [
            "rank 0 of 2 app Some(0) of 2",
            "rank 0 of 2 app Some(0) of 2",
            "rank 1 of 2 app Some(0) of 2",
            "rank 1 of 2 app Some(0) of 2"
        ]
    );
    assert_eq!(outcome.code, 0, "{}", outcome.err);
}
