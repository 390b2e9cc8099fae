//! The manual pages of `hawser-bench` and of its commands: the files in packaging/man are what the options say of
//! themselves.
//!
//! Nothing but a test: users get the files. `WRITE_MAN_PAGES=1 cargo test -p hawser-bench man_pages` writes them anew.

use crate::CommandLine;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The command, and those below it that its help shows, each with the name of its page.
fn commands() -> Vec<(String, Command)> {
    // packaging/install.sh puts the version in the place of the word.
    let mut top = CommandLine::command().version("@VERSION@").disable_help_subcommand(true);
    top.build();
    let name = top.get_name().to_owned();
    let below = top.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut all: Vec<_> = below
        .map(|command| {
            // Names of commands live as long as the program.
            let page: &'static str = format!("{name}-{}", command.get_name()).leak();
            let usage = format!("{name} {}", command.get_name());
            (page.to_owned(), command.name(page).bin_name(usage).version("@VERSION@"))
        })
        .collect();
    all.insert(0, (name, top));
    all
}

/// The text of a command's page. The date is left out: it would be that of the build.
fn page(name: &str, command: Command) -> String {
    let mut text = Vec::new();
    let man =
        Man::new(command).title(name.to_uppercase()).section("1").source("Hawser @VERSION@").manual("MPI").date("");
    man.render(&mut text).expect("memory takes it");
    String::from_utf8(text).expect("the options are text")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/man")
}

#[test]
fn the_pages_are_those_of_the_options() {
    let is_to_write = env::var_os("WRITE_MAN_PAGES").is_some();
    let commands = commands();
    let names = fs::read_dir(folder()).expect("the folder is there").map(|entry| entry.expect("readable").file_name());
    let pages = names.filter(|name| name.to_string_lossy().starts_with("hawser-bench"));
    assert!(is_to_write || pages.count() == commands.len(), "there is a page of a command that there is not");
    for (name, command) in commands {
        let (path, text) = (folder().join(format!("{name}.1")), page(&name, command));
        if is_to_write {
            fs::write(&path, &text).expect("the folder is there");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{name}.1 is old: WRITE_MAN_PAGES=1 cargo test -p hawser-bench man_pages");
    }
}
