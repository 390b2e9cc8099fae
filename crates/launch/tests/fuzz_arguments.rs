//! Fuzzes mpiexec's command line with any words.
//!
//! A command line that parses is a program for each segment, with its arguments as they were written; any other gives
//! one line that names the error. Files of hosts and the parameters of the environment follow the same rule.

use bolero::{TypeGenerator, check};
use hawser_launch::args::{JobOptions, NothingToRun, parse};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The words of both launchers, and typical values behind them.
const WORDS: [&str; 65] = [
    ":",
    "-",
    "--",
    "---",
    "=",
    "",
    "-n",
    "-np",
    "--n",
    "-n=3",
    "-c",
    "0",
    "1",
    "4294967296",
    "-1",
    "nan",
    "inf",
    "1e300",
    "0.5",
    "-t",
    "--timeout",
    "-wdir",
    "-wd",
    "-env",
    "-genv",
    "-x",
    "A",
    "A=1",
    "=1",
    "-envlist",
    "-genvlist",
    "A,,B",
    "-genvnone",
    "-envall",
    "-genvall",
    "-l",
    "-v",
    "-q",
    "--bind-to",
    "core",
    "none:x",
    ":x",
    "-host",
    "-hosts",
    "localhost:2,",
    "far",
    "-f",
    "/dev/null",
    "--mca",
    "-ppn",
    "--map-by",
    "-configfile",
    "-soft",
    "1:4:2",
    "-path",
    "-prepend-pattern",
    "%r",
    "--output-filename",
    "--output",
    "--info",
    "--stats",
    "-disable-auto-cleanup",
    "-help",
    "--version",
    "./a",
];

#[derive(Clone, Debug, TypeGenerator)]
enum CommandWord {
    Known(u8),
    Joined(u8, u8),
    Any(Vec<u8>),
}

impl CommandWord {
    fn text(&self) -> OsString {
        let known = |number: u8| WORDS[usize::from(number) % WORDS.len()];
        match self {
            CommandWord::Known(number) => known(*number).into(),
            CommandWord::Joined(one, other) => format!("{}{}", known(*one), known(*other)).into(),
            CommandWord::Any(bytes) => OsString::from_vec(bytes.clone()),
        }
    }
}

#[test]
fn command_lines() {
    check!().with_type::<Vec<CommandWord>>().with_iterations(1500).for_each(|words| {
        let words: Vec<OsString> = words.iter().take(24).map(CommandWord::text).collect();
        match parse(&words, &|_| None) {
            Ok(options) => check_options(&options, &words),
            Err(NothingToRun::Print(text)) => assert!(!text.is_empty()),
            Err(NothingToRun::UsageError(text)) => {
                let newlines = words.iter().any(|word| word.to_string_lossy().contains('\n'));
                assert!(!text.is_empty() && (newlines || !text.contains('\n')), "{text}");
            }
        }
    });
}

fn check_options(options: &JobOptions, words: &[OsString]) {
    let segments: Vec<&[OsString]> = words.split(|word| word == ":").collect();
    if options.apps.is_empty() {
        return assert!(options.info && segments.len() == 1);
    }
    assert_eq!(options.apps.len(), segments.len());
    for (app, segment) in options.apps.iter().zip(segments) {
        assert!(app.ranks > 0 && !app.command.is_empty() && segment.ends_with(&app.command), "{app:?}");
    }
    assert!(options.timeout.is_none_or(|timeout| !timeout.is_zero()));
}

/// Any words in a file of hosts: each line names this host, or the first that does not is named.
#[test]
fn files_of_hosts() {
    let path = std::env::temp_dir().join(format!("hawser-fuzz-hosts-{}", std::process::id()));
    check!().with_iterations(1000).for_each(|bytes| {
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        let words: Vec<OsString> = vec!["-f".into(), path.clone().into(), "./a".into()];
        match parse(&words, &|_| None) {
            Ok(options) => assert_eq!(options.apps.len(), 1),
            Err(NothingToRun::UsageError(text)) => assert!(text.lines().count() == 1, "{text}"),
            Err(NothingToRun::Print(text)) => panic!("{text}"),
        }
    });
    let _ = std::fs::remove_file(&path);
}

/// Any bytes in a file of programs: each line names one, or the first that does not is named.
#[test]
fn files_of_programs() {
    let path = std::env::temp_dir().join(format!("hawser-fuzz-programs-{}", std::process::id()));
    check!().with_iterations(1000).for_each(|bytes| {
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        match parse(&["-configfile".into(), path.clone().into()], &|_| None) {
            Ok(options) => assert!(options.apps.iter().all(|app| !app.command.is_empty()) && !options.apps.is_empty()),
            Err(NothingToRun::UsageError(text)) => assert!(text.contains(&path.display().to_string()), "{text}"),
            // Some line requests help.
            Err(NothingToRun::Print(text)) => assert!(!text.is_empty()),
        }
    });
    let _ = std::fs::remove_file(&path);
}
