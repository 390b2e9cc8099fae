//! Tests that documents stay true, and that the repository is self-contained: every link leads to a file of the
//! checkout, and a name in code font occurs in that file; nothing refers to a file outside the repository; each
//! document is in its index; documents that are read in a terminal have short lines.
//!
//! It reads files and must never write one.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The longest line, in characters, of the documents in `is_narrow`.
const WIDTH: usize = 120;
/// The longest line of prose for users and newcomers, in characters.
const PROSE: usize = 100;
/// The most lines of ARCHITECTURE.md, which is read in one sitting.
const ARCHITECTURE_LINES: usize = 130;

/// Words by which a file refers to something outside the repository: documents and tables that a clone does not have,
/// papers by a file's name instead of title and section, folders of a developer's machine. Each is in two parts, so
/// that this file does not contain it.
const OUTSIDE: [&str; 10] = [
    concat!("DESIGN", ".md"),
    concat!("shared", "/"),
    concat!("papers", "/"),
    concat!("mpi_", "mbcf"),
    concat!("mp_lite", "_via"),
    concat!("pm_", "ethernet"),
    concat!("netpipe", "_comparison"),
    concat!("madeleine2", ".txt"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every file of the checkout by its path from the root, in order; without build output, and without git's own
/// files.
fn files() -> Vec<String> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let is_made = ["target", "build"].contains(&path.as_str()) || name == "__pycache__";
            let is_hidden = name.starts_with('.') && name != ".ci";
            match entry.file_type().unwrap() {
                kind if kind.is_dir() && !is_made && !is_hidden => walk(&entry.path(), &format!("{path}/"), found),
                // In a worktree of git, `.git` is a file.
                kind if kind.is_file() && name != ".git" => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found.sort();
    found
}

/// Returns files with their texts; files that are no text are left out.
fn texts(paths: Vec<String>) -> Vec<(String, String)> {
    paths.into_iter().filter_map(|path| read_to_string(root().join(&path)).ok().map(|text| (path, text))).collect()
}

fn documents() -> Vec<(String, String)> {
    texts(files().into_iter().filter(|path| path.ends_with(".md")).collect())
}

fn document(path: &str) -> String {
    read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the file names of a folder's Markdown files, without its index.
fn listable(folder: &str) -> Vec<String> {
    let inside = files().into_iter().filter_map(|path| path.strip_prefix(folder).map(str::to_owned));
    inside.filter(|name| name.ends_with(".md") && name != "README.md" && !name.contains('/')).collect()
}

/// Returns `[text](target)` and `[text]: target` of a Markdown text, without code blocks; links to the web are left
/// out.
fn links(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in text.split("```").step_by(2) {
        let mut rest = part;
        while let Some(middle) = rest.find("](") {
            let start = rest[..middle].rfind('[').map_or(middle, |at| at + 1);
            let end = rest[middle..].find(')').map_or(rest.len(), |at| middle + at);
            found.push((rest[start..middle].to_owned(), rest[middle + 2..end].to_owned()));
            rest = &rest[end..];
        }
        let definitions = part.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
        found.extend(definitions.map(|(name, target)| (name.to_owned(), target.to_owned())));
    }
    found.retain(|(_, target)| !target.contains("://"));
    found
}

/// Returns the name by which links refer to a heading: `## The papers` is `the-papers`.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns what is wrong with one link of a document.
fn wrong_link(document: &str, text: &str, name: &str, target: &str) -> Option<String> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = root().join(document).parent().unwrap().join(file);
    if !file.is_empty() && !path.exists() {
        return Some(format!("{document}: {target} does not exist"));
    }
    if path.is_dir() && !file.is_empty() {
        return None;
    }
    let content = if file.is_empty() { text.to_owned() } else { read_to_string(&path).unwrap_or_default() };
    let has = |line: &str| line.starts_with('#') && anchor(line.trim_start_matches('#')) == heading;
    if !heading.is_empty() && !content.lines().any(has) {
        return Some(format!("{document}: {target}: there is no such heading"));
    }
    let symbol = name.strip_prefix('`')?.strip_suffix('`')?.rsplit("::").next()?.to_owned();
    (!content.contains(&symbol)).then(|| format!("{document}: {target} says nothing of `{symbol}`"))
}

/// Returns what is wrong in a document: links that lead nowhere, names that are not there.
fn untrue(document: &str, text: &str) -> Vec<String> {
    links(text).iter().filter_map(|(name, target)| wrong_link(document, text, name, target)).collect()
}

/// Returns the places at which a text has a word that is not the end of a longer one.
fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let begins = |at: &usize| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
    text.match_indices(word).map(|(at, _)| at).filter(move |at| begins(at))
}

/// Returns the references of a file to something outside the repository.
fn outside(path: &str, text: &str) -> Vec<String> {
    let said = |word: &str, at| format!("{path}:{}: refers to {word}", 1 + text[..at].matches('\n').count());
    OUTSIDE.iter().flat_map(|word| places(text, word).map(|at| said(word, at)).collect::<Vec<_>>()).collect()
}

/// Returns the documents that a file of any kind names by their paths from the root (as `docs/lab.md`) and that do not
/// exist.
fn missing(path: &str, text: &str) -> Vec<String> {
    let of_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let named = |at: usize| {
        let rest = &text[at..];
        let all = &rest[..rest.find(|c| !of_path(c)).unwrap_or(rest.len())];
        all.find(".md").map(|end| &all[..end + 3])
    };
    // Patterns, where a document explains how files are named.
    let is_pattern = |name: &str| name.contains("YYYY") || name.contains("NNNN");
    let names = places(text, "docs/").filter_map(named).filter(|name| !is_pattern(name));
    names.filter(|name| !root().join(name).exists()).map(|name| format!("{path}: no {name}")).collect()
}

/// Returns whether a document must have short lines, links included.
fn is_narrow(path: &str) -> bool {
    ["ARCHITECTURE.md", "docs/README.md"].contains(&path) || path.starts_with("docs/adr/")
}

/// Returns whether the prose of a document is wrapped at `PROSE` characters: what users and newcomers read.
fn is_prose(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".md") && (folder == "docs" || folder.is_empty()) && path != "ARCHITECTURE.md"
}

/// Returns the lines of prose that are longer than `PROSE` characters. Code, tables, HTML and a line that cannot be
/// broken are left out.
fn unwrapped(path: &str, text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let content = line.trim_start();
        is_code ^= content.starts_with("```");
        let is_whole = ["|", "```", "<", "alt=", "[", "`"].iter().any(|begin| content.starts_with(begin));
        let length = line.chars().count();
        if !is_code && !is_whole && length > PROSE {
            found.push(format!("{path}:{number}: {length} characters of prose, more than {PROSE}"));
        }
    }
    found
}

fn too_long(path: &str, text: &str) -> Vec<String> {
    let long = text.lines().enumerate().map(|(at, line)| (at + 1, line.chars().count()));
    let mut wrong: Vec<String> = long
        .filter(|(_, length)| *length > WIDTH)
        .map(|(at, length)| format!("{path}:{at}: {length} characters, more than {WIDTH}"))
        .collect();
    let lines = text.lines().count();
    if path == "ARCHITECTURE.md" && lines > ARCHITECTURE_LINES {
        wrong.push(format!("{path}: {lines} lines, more than {ARCHITECTURE_LINES}"));
    }
    wrong
}

/// Returns the documents that their index has no link to.
fn unlisted(index: &str, names: &[String]) -> Vec<String> {
    let listed: Vec<String> = links(index).into_iter().map(|(_, target)| target).collect();
    names.iter().filter(|name| !listed.contains(name)).cloned().collect()
}

/// Returns the decision records whose number is not the next one, or not that of their title.
fn misnumbered(records: &[(String, String)]) -> Vec<String> {
    let is_wrong = |(at, (name, text)): (usize, &(String, String))| {
        let number = at + 1;
        let fits = name.starts_with(&format!("{number:04}-")) && text.starts_with(&format!("# {number}. "));
        (!fits).then(|| format!("{name}: not record {number}"))
    };
    records.iter().enumerate().filter_map(is_wrong).collect()
}

fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_documents_name_files_and_things_that_exist() {
    for document in ["README.md", "ARCHITECTURE.md", "docs/README.md", "docs/heritage.md", "docs/adr/README.md"] {
        assert!(!links(&self::document(document)).is_empty(), "{document} has no links");
    }
    assert_none(documents().iter().flat_map(|(path, text)| untrue(path, text)).collect());
}

#[test]
fn no_file_refers_to_something_outside_the_repository() {
    let all = texts(files());
    assert!(all.len() > 1000, "only {} files were read", all.len());
    assert_none(all.iter().flat_map(|(path, text)| outside(path, text)).collect());
}

#[test]
fn every_document_that_a_file_names_is_there() {
    assert_none(texts(files()).iter().flat_map(|(path, text)| missing(path, text)).collect());
}

#[test]
fn the_map_the_index_and_the_records_have_short_lines() {
    assert_none(documents().iter().filter(|(path, _)| is_narrow(path)).flat_map(|(p, t)| too_long(p, t)).collect());
}

#[test]
fn every_document_stands_in_its_index() {
    for folder in ["docs/", "docs/adr/", "docs/measurements/"] {
        let names = listable(folder);
        assert!(names.len() > 5, "{folder}: {names:?}");
        let lacking = unlisted(&document(&format!("{folder}README.md")), &names);
        assert!(lacking.is_empty(), "{folder}README.md lacks {}", lacking.join(", "));
    }
}

#[test]
fn decision_records_are_numbered_in_order() {
    let record = |name: String| (name.clone(), document(&format!("docs/adr/{name}")));
    assert_none(misnumbered(&listable("docs/adr/").into_iter().map(record).collect::<Vec<_>>()));
}

#[test]
fn a_wrong_file_a_wrong_name_and_a_wrong_heading_are_found() {
    let text = "# The one\n[x](crates/none.rs) [`Peer`](crates/base/src/ids.rs)\n\
                [`no_such_thing`](crates/base/src/ids.rs)\n\
                [a](#the-one) [b](#another) [c](docs/heritage.md#the-papers) [d](docs/heritage.md#the-pepers)\n\
                [e]: none/none.md\n";
    let wrong = untrue("ARCHITECTURE.md", text);
    assert_eq!(wrong.len(), 5, "{wrong:?}");
    let code = "```\n[x](crates/none.rs)\n```\n[y](https://example.org/none)";
    assert_eq!(untrue("ARCHITECTURE.md", code), Vec::<String>::new());
}

#[test]
fn each_kind_of_reference_to_the_outside_is_found() {
    for word in OUTSIDE {
        let text = format!("one line\nas ({word}x says\n");
        assert_eq!(outside("a.rs", &text), [format!("a.rs:2: refers to {word}")]);
    }
    let up = format!("{}/../..{}{}", "x", "/", OUTSIDE[1]);
    assert_eq!(outside("a.rs", &up).len(), 1, "{up}");
    assert_eq!(
        outside("a.rs", &format!("un{} pre-{} net{}", OUTSIDE[1], OUTSIDE[1], OUTSIDE[8])),
        Vec::<String>::new()
    );
}

#[test]
fn a_document_that_is_not_there_is_found_where_it_is_named() {
    let text = concat!("see doc", "s/none.md, docs/heritage.md. And docs/measurements/YYYY-MM-DD-topic.md");
    assert_eq!(missing("a.rs", text), [concat!("a.rs: no doc", "s/none.md")]);
}

#[test]
fn prose_is_wrapped() {
    let documents = documents().into_iter().filter(|(path, _)| is_prose(path));
    assert_none(documents.flat_map(|(path, text)| unwrapped(&path, &text)).collect());
}

#[test]
fn prose_that_is_not_wrapped_is_found() {
    let long = "a ".repeat(PROSE);
    let text = format!("{long}\n```\n{long}\n```\n| {long} |\n- {long}\n");
    let found = unwrapped(concat!("doc", "s/a.md"), &text);
    let places: Vec<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(places, [concat!("doc", "s/a.md:1:"), concat!("doc", "s/a.md:6:")]);
    assert!(is_prose("README.md") && is_prose("docs/hosts.md") && !is_prose("docs/adr/README.md"));
}

#[test]
fn long_lines_and_a_long_map_are_found() {
    let line = "é".repeat(WIDTH);
    assert_eq!(too_long("docs/README.md", &line), Vec::<String>::new());
    assert_eq!(too_long("docs/README.md", &format!("short\n{line}x")).len(), 1);
    let lines = "line\n".repeat(ARCHITECTURE_LINES);
    assert_eq!(too_long("ARCHITECTURE.md", &lines), Vec::<String>::new());
    assert_eq!(too_long("ARCHITECTURE.md", &(lines + "one more")).len(), 1);
    assert!(is_narrow("docs/adr/README.md") && is_narrow("ARCHITECTURE.md") && !is_narrow("docs/hosts.md"));
}

#[test]
fn a_record_that_is_unlisted_or_misnumbered_is_found() {
    let names = ["0001-a.md".to_owned(), "0002-b.md".to_owned()];
    assert_eq!(unlisted("1. [A](0001-a.md)", &names), ["0002-b.md"]);
    let record = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(misnumbered(&[record("0001-a.md", "# 1. A"), record("0002-b.md", "# 2. B")]), Vec::<String>::new());
    assert_eq!(misnumbered(&[record("0001-a.md", "# 1. A"), record("0003-b.md", "# 3. B")]).len(), 1);
    assert_eq!(misnumbered(&[record("0001-a.md", "# 2. A")]).len(), 1);
}
