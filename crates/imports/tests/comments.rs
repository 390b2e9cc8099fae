//! Tests that comments open with the thing that they describe, and that their lines fit into 120 characters.
//!
//! It reads the sources of all crates and must never write one. The terms that comments use are in docs/glossary.md.

use hawser_imports::sources;

/// The longest line of a comment, in characters.
const WIDTH: usize = 120;

/// Words that stand for a noun when a comment opens with them: the reader learns only later what it is about.
const HEADLESS: [&str; 10] = ["Who", "Whoever", "Whose", "Whom", "What", "Whatever", "How", "Of", "So many", "So much"];

/// Files whose comments are the text of `--help`, which users know: clap takes it from them.
const HELP: [&str; 8] = [
    "launch/src/args.rs",
    "launch/src/bin/hawser-info.rs",
    "bench/src/command.rs",
    "bench/src/doctor/command.rs",
    "bench/src/explain/command.rs",
    "bench/src/import/command.rs",
    "bench/src/main.rs",
    "bench/src/tune/command.rs",
];

/// Returns the text of a line that is a comment and nothing else.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

/// Returns the lines that are wrong, with their file and number.
fn wrong(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (line, number) in text.lines().zip(1..) {
        let Some(text) = comment(line) else {
            is_inside = false;
            continue;
        };
        let opens_with = |word: &&str| text.strip_prefix(*word).is_some_and(|rest| rest.starts_with(' '));
        if !is_inside && HEADLESS.iter().any(opens_with) {
            found.push(format!("crates/{name}:{number} opens without a noun: {text}"));
        }
        if line.chars().count() > WIDTH {
            found.push(format!("crates/{name}:{number} is longer than {WIDTH} characters"));
        }
        // A paragraph opens like a comment.
        is_inside = !text.is_empty();
    }
    found
}

#[test]
fn every_comment_opens_with_what_it_describes() {
    let sources = sources::of_all_crates().into_iter().filter(|source| !HELP.contains(&source.name.as_str()));
    let wrong: Vec<String> = sources.flat_map(|source| wrong(&source.name, &source.text)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_headless_opening_and_a_long_line_are_found() {
    let text = format!(
        "//! A header.\n//!\n//! {what} is said.\n\n/// {who} comes.\nfn f() {{}}\n\
         // A port,\n// {what} is polled.\n/// {0}\n",
        "x".repeat(WIDTH),
        what = HEADLESS[4],
        who = HEADLESS[0],
    );
    let found = wrong("a.rs", &text);
    let places: Vec<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(places, ["crates/a.rs:3", "crates/a.rs:5", "crates/a.rs:9"], "{found:?}");
}
