//! Tests of the spellings of the command line.

use super::*;

fn parsed(line: &str) -> JobOptions {
    parse(&words(line), &|_| None).unwrap_or_else(|stop| panic!("{line}: {stop:?}"))
}

fn refused(line: &str) -> String {
    match parse(&words(line), &|_| None) {
        Err(NothingToRun::UsageError(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn set(app: &AppOptions) -> Vec<(String, Option<String>)> {
    let text = |t: &OsString| t.to_string_lossy().into_owned();
    app.set.iter().map(|(name, value)| (text(name), value.as_ref().map(text))).collect()
}

#[test]
fn the_number_of_ranks_has_many_spellings() {
    for spelling in ["-n 4", "-np 4", "--np 4", "--n 4", "-c 4", "-np=4", "-n4", "-np4", "-c4"] {
        let options = parsed(&format!("{spelling} ./a -n 7 --np x"));
        assert_eq!(options.apps[0].ranks, 4, "{spelling}");
        assert_eq!(options.apps[0].command, words("./a -n 7 --np x"), "{spelling}");
    }
    assert_eq!(parsed("./a").apps[0].ranks, 1);
    for word in ["-x4", "-n4x", "-nn4", "-4"] {
        assert!(refused(&format!("{word} ./a")).contains("there is no option") || word == "-x4", "{word}");
    }
    assert_eq!(parsed("-n 2 -- -odd -name").apps[0].command, words("-odd -name"));
}

#[test]
fn without_n_each_host_gets_what_is_asked_for_it() {
    for spelling in [
        "-ppn 3",
        "-perhost 3",
        "-npernode 3",
        "--npernode=3",
        "-N 3",
        "-N3",
        "-ppn3",
        "--map-by ppr:3:node:oversubscribe",
    ] {
        assert_eq!(parsed(&format!("{spelling} ./a")).apps[0].ranks, 3, "{spelling}");
        assert_eq!(parsed(&format!("{spelling} -n 2 ./a")).apps[0].ranks, 2, "{spelling}");
    }
    assert_eq!(parsed("--pernode ./a").apps[0].ranks, 1);
    let sockets = cpus::domains(cpus::TopologyLevel::Socket).unwrap().len() as u32;
    let cores = cpus::domains(cpus::TopologyLevel::Core).unwrap().len() as u32;
    for (spelling, ranks) in
        [("-npersocket 2", 2 * sockets), ("--map-by ppr:2:package", 2 * sockets), ("--map-by ppr:1:core", cores)]
    {
        assert_eq!(parsed(&format!("{spelling} ./a")).apps[0].ranks, ranks, "{spelling}");
    }
    let ranks: Vec<u32> = parsed("-ppn 3 ./a : ./b : -n 1 ./c").apps.iter().map(|app| app.ranks).collect();
    assert_eq!(ranks, [3, 3, 1]);
}

#[test]
fn standard_input_goes_where_it_is_sent() {
    for (spelling, readers) in [
        ("", vec![0]),
        ("-s all", vec![0, 1, 2, 3]),
        ("--stdin none", vec![]),
        ("-stdin 2", vec![2]),
        ("--stdin=0,2-3", vec![0, 2, 3]),
    ] {
        assert_eq!(parsed(&format!("{spelling} -n 3 ./a : ./b")).readers, readers, "{spelling}");
    }
}

#[test]
fn programs_are_separated_by_colons() {
    let options = parsed("-n 2 -wdir /tmp ./a x : -np 3 -wd / ./b : ./c");
    let ranks: Vec<u32> = options.apps.iter().map(|app| app.ranks).collect();
    assert_eq!(ranks, [2, 3, 1]);
    assert_eq!(options.apps[0].directory, Some("/tmp".into()));
    assert_eq!(options.apps[1].directory, Some("/".into()));
    assert_eq!(options.apps[2].command, words("./c"));
}

#[test]
fn variables_are_set_for_one_or_all_programs() {
    let options = parsed("-genv A 1 -env B -2 -x C=3 -x D ./a : -env A 9 ./b");
    let value = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    assert_eq!(set(&options.apps[0]), [value("A", "1"), value("B", "-2"), value("C", "3"), ("D".into(), None)]);
    assert_eq!(set(&options.apps[1]), [value("A", "1"), value("A", "9")]);
    let options = parsed("-genv A=1=2 -n 1 --env B= ./a");
    assert_eq!(set(&options.apps[0]), [value("A", "1=2"), value("B", "")]);
    let nameless = ["-env", "", "5", "./a"].map(OsString::from);
    assert!(
        matches!(parse(&nameless, &|_| None), Err(NothingToRun::UsageError(text)) if text.contains("needs a name"))
    );
    assert_eq!(parsed("-genvnone ./a : ./b").apps[1].inherit, EnvInheritance::None);
    assert_eq!(parsed("-envlist PATH,HOME ./a").apps[0].inherit, EnvInheritance::Only(words("PATH HOME")));
    assert_eq!(parsed("-envall ./a").apps[0].inherit, EnvInheritance::All);
}

#[test]
fn both_launchers_options_are_understood() {
    let options = parsed("-l -v -t 2.5 --bind-to core:overload-allowed --stats -n 2 ./a");
    assert!(options.outputs.label == Some(OutputPattern::rank_label()) && options.verbose && options.stats);
    assert!(
        !options.continues_after_fault
            && parsed("-disable-auto-cleanup ./a").continues_after_fault
            && parsed("--enable-recovery ./a").continues_after_fault
    );
    let parsed_binding = |text| binding::parse(text).unwrap();
    assert_eq!((options.timeout, options.binding), (Some(Duration::from_millis(2500)), parsed_binding("core")));
    for label in ["--tag-output", "-tag-output", "-prepend-rank", "--output tag", "--output tag-detailed", "-l"] {
        assert!(parsed(&format!("{label} ./a")).outputs.label.is_some(), "{label}");
    }
    assert!(parsed("./a -l").outputs.label.is_none());
    for (spelling, what) in [
        ("-bind-to none", "none"),
        ("--bind-to-none", "none"),
        ("--bind-to-core", "core"),
        ("-bind-to-socket", "socket"),
        ("-binding user:0,1+2", "user:0,1+2"),
    ] {
        assert_eq!(parsed(&format!("{spelling} ./a")).binding, parsed_binding(what), "{spelling}");
    }
    for spelling in ["--timeout 60", "-timeout=60", "-t=60"] {
        assert_eq!(parsed(&format!("{spelling} ./a")).timeout, Some(Duration::from_secs(60)), "{spelling}");
    }
}

#[test]
fn options_without_meaning_here_are_taken_silently() {
    let line = "--oversubscribe --allow-run-as-root --map-by slot --mca btl self,vader -mca a -b -ppn 3 -q -iface lo \
                --report-state-on-timeout --get-stack-traces -n 2 ./a";
    let options = parsed(line);
    assert_eq!((options.apps[0].ranks, &options.apps[0].command), (2, &words("./a")));
}

#[test]
fn hosts_are_named_in_both_launchers_ways() {
    let names = |options: &JobOptions| {
        options.hosts.iter().map(|host| format!("{}:{} ", host.name, host.slots)).collect::<String>()
    };
    for option in ["-hosts", "-host", "--host", "-H", "--hosts"] {
        let options = parsed(&format!("{option} a,b:2 ./a"));
        assert_eq!((names(&options).as_str(), options.apps[0].ranks), ("a:1 b:2 ", 3), "{option}");
    }
    assert_eq!(parsed("-hosts a,b -ppn 4 ./a").apps[0].ranks, 8);
    assert_eq!(parsed("-hosts a,b -ppn 4 -n 3 ./a").apps[0].ranks, 3);
    let file = std::env::temp_dir().join(format!("hawser-hosts-{}", hawser_os::host::pid()));
    std::fs::write(&file, "# ours\na slots=4\nb:2\n").unwrap();
    for option in ["-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile"] {
        assert_eq!(names(&parsed(&format!("{option} {} ./a", file.display()))), "a:4 b:2 ", "{option}");
    }
    assert!(refused(&format!("-f {} -hosts a ./a", file.display())).contains("not both"));
    std::fs::remove_file(&file).unwrap();
    assert!(refused(&format!("-machinefile {} ./a", file.display())).contains("cannot be read"));
    // A program may have hosts of its own; the first program's hosts are those of all.
    let options = parsed("-hosts a,b ./a : ./b : -host c:2 ./c");
    let own: Vec<_> = options.apps.iter().map(|app| (app.ranks, app.hosts.len())).collect();
    assert_eq!((names(&options).as_str(), own), ("a:1 b:1 ", vec![(2, 0), (2, 0), (2, 1)]));
}

#[test]
fn the_remote_shell_is_chosen_in_both_launchers_ways() {
    for line in ["-launcher rsh -launcher-exec lab-rsh", "-bootstrap rsh -bootstrap-exec lab-rsh"] {
        let launcher = parsed(&format!("{line} --prefix /opt/h ./a")).launcher;
        let (exec, prefix) = (Some("lab-rsh".into()), Some("/opt/h".into()));
        let expected = Launcher { kind: LauncherKind::Rsh, exec, prefix, ..Launcher::default() };
        assert_eq!(launcher, expected);
    }
    assert_eq!(parsed("-launcher fork ./a").launcher.kind, LauncherKind::Fork);
    assert_eq!(parsed("-bootstrap slurm ./a").launcher.kind, LauncherKind::Slurm);
    assert!(refused("-launcher ll ./a").contains("ssh, rsh, slurm, flux and fork"));
}

#[test]
fn workers_give_the_hosts_when_they_have_come() {
    let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
    let line = "-workers 2 -s 5 -l ./a : -n 1 ./b";
    let first = parsed(line);
    assert_eq!(first.workers, Some(WorkersOptions { count: 2, port: 7117 }));
    assert!(first.hosts.is_empty() && first.launcher.has_workers);
    let hosts = hosts::list("here:4,b:2,c").unwrap();
    // Variables of others name no hosts then.
    let environment = |name: &str| (name == "HYDRA_HOST_FILE").then(|| "/no/such/file".to_owned());
    let mut options = parse(&words(line), &environment).unwrap();
    assert_eq!(place_on_workers(&mut options, hosts.clone()), Ok(()));
    let ranks: Vec<u32> = options.apps.iter().map(|app| app.ranks).collect();
    assert_eq!((options.hosts, ranks, options.readers), (hosts, vec![7, 1], vec![5]));
    assert_eq!(options.launcher.kind, LauncherKind::Fork);
    let mut options = parse(&words("-workers 2 -s 9 ./a"), &environment).unwrap();
    let error = place_on_workers(&mut options, hosts::list("a,b").unwrap());
    assert!(matches!(error, Err(NothingToRun::UsageError(text)) if text.contains("no rank 9 in a job of 2")));
    let worker = parsed("-worker here:99 -worker-slots 3").worker;
    assert_eq!(worker, Some(WorkerOptions { host: "here".into(), port: 99, slots: 3 }));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, expected) in [
        ("--frobnicate ./a", "there is no option --frobnicate"),
        ("-n x ./a", "invalid value 'x'"),
        ("-v=1 ./a", "unexpected argument"),
        ("-n 0 ./a", "at least one rank"),
        ("-workers 0 ./a", "-workers 0: leave the option out"),
        ("-workers 2", "no program is given"),
        ("-workers 2 --info", "-workers needs a program"),
        ("-workers 2 -hosts a ./a", "hosts are given twice"),
        ("-workers 2 ./a : -hosts b ./b", "hosts are given twice"),
        ("-workers 2 -launcher rsh ./a", "-workers takes no -launcher"),
        ("-workers 2 ./a : -launcher rsh ./b", "-workers takes no -launcher"),
        ("./a : -workers 2 ./b", "-workers belongs before the first program"),
        ("-worker-port 7 ./a", "-worker-port is the port of -workers"),
        ("-workers 2 -worker-port 0 ./a", "-worker-port 0 is no port"),
        ("-worker a ./a", "-worker takes no program"),
        ("-worker a : ./a", "-worker takes no program"),
        ("-worker a -workers 1", "-worker takes no program"),
        ("-worker a:b", "-worker a:b is not HOST or HOST:PORT"),
        ("-worker a -worker-slots 0", "at least one rank"),
        ("-worker a -worker-port 9", "-worker takes the port with the host: -worker a:PORT"),
        ("-worker a -configfile b", "-worker takes no program"),
        ("-worker-slots 3 ./a", "-worker-slots is an option of a worker"),
        ("-n 2", "no program is given"),
        ("-n 2 ./a :", "no program is given"),
        ("--bind-to moon ./a", "--bind-to moon is not supported"),
        ("-ppn 0 ./a", "at least one rank"),
        ("-ppn x ./a", "invalid value 'x'"),
        ("--map-by ppr:x:node ./a", "--map-by ppr:x:node is not ppr:N:node"),
        ("--map-by ppr:2:moon ./a", "--map-by ppr:2:moon is not ppr:N:node"),
        ("--map-by ppr:2 ./a", "--map-by ppr:2 is not ppr:N:node"),
        ("--stdin moon ./a", "neither all, none nor ranks"),
        ("--stdin 3-1 -n 9 ./a", "neither all, none nor ranks"),
        ("-s 4 -n 3 ./a : ./b", "there is no rank 4 in a job of 4"),
        ("-x =5 ./a", "-x: a variable needs a name"),
        ("-env =5 1 ./a", "-env: a variable needs a name"),
        ("-genv =x ./a", "-genv: a variable needs a name"),
        ("-env A=B=C ./a : -genv = ./b", "-genv: a variable needs a name"),
        ("-env=A 5 ./a", "2 values required"),
        ("-genv=A=5 ./a", "2 values required"),
        ("-t -1 ./a", "is not a positive number of seconds"),
        ("-t 0 ./a", "is not a positive number of seconds"),
        ("-t soon ./a", "invalid value 'soon'"),
        ("-n", "a value is required"),
        ("--output xml ./a", "--output xml is not supported"),
        ("-env ONE", "2 values required"),
        ("", "no program is given"),
        ("-hosts a:x ./a", "is not a number of ranks"),
        ("-hosts a,,b ./a", "is not a valid host"),
        ("--host=-oProxyCommand=x ./a", "is not a valid host"),
        ("-bootstrap moon ./a", "--launcher moon is not supported"),
    ] {
        let text = refused(line);
        assert!(text.contains(expected) && !text.contains('\n'), "{line}: {text}");
    }
}

#[test]
fn help_version_and_info_need_no_program() {
    assert!(matches!(parse(&words("--help"), &|_| None), Err(NothingToRun::Print(text)) if text.contains("--timeout")));
    assert!(matches!(parse(&words("-help"), &|_| None), Err(NothingToRun::Print(_))));
    assert!(
        matches!(parse(&words("--version"), &|_| None), Err(NothingToRun::Print(text)) if text.contains(env!("CARGO_PKG_VERSION")))
    );
    assert!(parsed("--info").apps.is_empty());
}

#[test]
fn the_manual_names_every_option_and_no_other() {
    let page = include_str!("../../../packaging/man/mpiexec.1").replace('\\', "");
    let mut command = command();
    command.build();
    let is_documented = |dashed: &str| {
        page.match_indices(dashed)
            .any(|(at, _)| !page[at + dashed.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let names = [arg.get_long().map(|long| format!("--{long}")), arg.get_short().map(|short| format!("-{short}"))];
        names.into_iter().flatten().for_each(|name| assert!(is_documented(&name), "{name} is not in mpiexec.1"));
    }
    let words = page.split(|c: char| c.is_whitespace() || "\",;".contains(c));
    for word in words.filter(|word| word.starts_with('-') && word.len() > 1) {
        assert!(find(&command, word.trim_start_matches('-')).is_some(), "mpiexec.1 tells of {word}");
    }
}

#[test]
fn a_soft_number_is_the_greatest_up_to_n() {
    for (words, ranks) in [
        ("-n 8 -soft 2,4", 4),
        ("-n 3 -soft 2,4", 2),
        ("-soft 2,4,3", 4),
        ("-n 9 -soft 1:8:3", 7),
        ("-n 5 -soft 1:8", 5),
        ("-n 7 --soft=0:100:5", 5),
        ("-n 7 -soft 9:2:-3", 6),
        ("-n 2 -soft 9:1:-4", 1),
        ("-n 4 -soft 4:4:-1", 4),
    ] {
        assert_eq!(parsed(&format!("{words} ./a")).apps[0].ranks, ranks, "{words}");
    }
    for soft in ["", "x", "1:2:3:4", "1:4:0", "1:4:-1", "4:1", "-1", "1,"] {
        let stop = parse(&["-soft", soft, "./a"].map(OsString::from), &|_| None);
        assert!(matches!(stop, Err(NothingToRun::UsageError(text)) if text.contains("is no set of numbers")), "{soft}");
    }
    assert!(refused("-n 2 -soft 3:9 ./a").contains("has no number that -n allows"));
    assert!(refused("-soft 0 ./a").contains("has no number that -n allows"));
}

#[test]
fn where_a_program_may_be_and_run_is_its_own() {
    let options = parsed("-path /a:/b -arch sparc ./a : ./b");
    assert_eq!((&options.apps[0].path, options.apps[0].arch.as_str()), (&"/a:/b".into(), "sparc"));
    assert!(options.apps[1].path.is_empty() && options.apps[1].arch.is_empty());
}

#[test]
fn output_goes_where_either_launcher_sends_it() {
    let pattern = |text: &str| Some(OutputPattern::parse("", text.as_ref()).unwrap());
    let outputs = parsed("-prepend-pattern %r: -outfile-pattern o.%r -errfile-pattern=e.%h ./a").outputs;
    assert_eq!((outputs.label, outputs.out, outputs.err), (pattern("%r:"), pattern("o.%r"), pattern("e.%h")));
    assert!(!outputs.copies && !outputs.makes_folders);
    // The more exact label wins, wherever it stands.
    assert_eq!(parsed("-l -prepend-pattern %p ./a").outputs.label, pattern("%p"));
    assert_eq!(parsed("-prepend-pattern %p ./a : -l ./b").outputs.label, pattern("%p"));
    let folder = parsed("--output-filename d:nocopy ./a").outputs;
    assert_eq!(folder, parsed("--output dir=d:nocopy ./a").outputs);
    assert_eq!(folder, parsed("--output nocopy,dir=d ./a").outputs);
    assert!(folder.makes_folders && !folder.copies && parsed("-output-filename d ./a").outputs.copies);
    let file = parsed("--output file=f,tag ./a").outputs;
    assert!(file.label.is_some() && file.out == Some(OutputPattern::around_rank("f.".as_ref(), true, ".out")));
    for (words, expected) in [
        ("-outfile-pattern %x ./a", "% must be followed by r"),
        ("--output nonsense ./a", "only tag, dir=DIR, file=NAME and nocopy"),
        ("--output dir= ./a", "--output dir="),
        ("--output-filename d -outfile-pattern o ./a", "named twice"),
    ] {
        assert!(refused(words).contains(expected), "{words}");
    }
}

#[test]
fn a_file_of_programs_stands_for_those_behind_colons() {
    let file = std::env::temp_dir().join(format!("hawser-programs-{}", std::process::id()));
    std::fs::write(&file, "# two\n-n 2 ./a 'x y'\n-n 3 -hosts c ./b : ./c\n").unwrap();
    let name = file.display();
    let options = parsed(&format!("-hosts a,b -l -genvnone -configfile {name}"));
    let apps: Vec<_> = options.apps.iter().map(|app| (app.ranks, app.command.len(), app.hosts.len())).collect();
    assert_eq!((apps, options.hosts.len()), (vec![(2, 2, 0), (3, 1, 1), (2, 1, 0)], 2));
    assert!(options.outputs.label.is_some() && options.apps.iter().all(|app| app.inherit == EnvInheritance::None));
    let both = parsed(&format!("./z : -file {name}"));
    assert_eq!(both.apps.len(), 4);
    for (words, expected) in [
        (format!("-configfile {name} ./a"), "./a cannot follow it"),
        (format!("-n 2 -configfile {name}"), "put -n into its lines"),
        ("-configfile /no/such".into(), "/no/such: No such file"),
    ] {
        assert!(refused(&words).contains(expected), "{words}");
    }
    for (text, expected) in [
        ("", "names no program".to_owned()),
        ("./a\n\n-n 2\n", format!("line 3 of {name}: no program is given")),
        ("./a 'b\n", format!("line 1 of {name}: a quote is not closed")),
        ("-configfile x\n", "cannot name another one".into()),
        ("-n x ./a", format!("line 1 of {name}: ")),
    ] {
        std::fs::write(&file, text).unwrap();
        assert!(refused(&format!("-configfile {name}")).contains(&expected), "{text}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn hosts_of_a_variable_count_where_the_command_line_names_none() {
    let file = std::env::temp_dir().join(format!("hawser-args-hosts-{}", std::process::id()));
    std::fs::write(&file, "far:2\nother:1\n").unwrap();
    let environment = |name: &str| match name {
        "HYDRA_HOST_FILE" => Some(file.to_str().unwrap().to_owned()),
        "HYDRA_LAUNCH_EXTRA_ARGS" => Some("-o ConnectionAttempts=10".to_owned()),
        _ => None,
    };
    let parsed = |line: &str| parse(&words(line), &environment).unwrap();
    let names = |options: &JobOptions| options.hosts.iter().map(|host| host.name.clone()).collect::<Vec<_>>();
    let by_variable = parsed("./a");
    assert_eq!((names(&by_variable), by_variable.hosts_variable), (words_of("far other"), Some("HYDRA_HOST_FILE")));
    assert_eq!(by_variable.apps[0].ranks, 3);
    assert_eq!(by_variable.launcher.arguments, ["-o", "ConnectionAttempts=10"]);
    let by_line = parsed("-hosts a,b ./a");
    assert_eq!((names(&by_line), by_line.hosts_variable), (words_of("a b"), None));
    // A later program with hosts of its own leaves those of the first one.
    let mixed = parsed("-n 1 ./a : -host c -n 1 ./b");
    assert_eq!((names(&mixed), mixed.apps[1].hosts[0].name.as_str()), (words_of("far other"), "c"));
    std::fs::remove_file(&file).unwrap();
    let stale = parse(&words("./a"), &environment);
    assert!(matches!(stale, Err(NothingToRun::UsageError(text)) if text.starts_with("HYDRA_HOST_FILE: the host file")));
    assert_eq!(parse(&words("-hosts a ./a"), &environment).unwrap().hosts[0].name, "a");
}

fn words_of(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
