//! ARCHITECTURE.md and docs/heritage.md stay true: every link leads to a file of the checkout, and what its
//! text says in code font stands in that file.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `[text](target)` of a Markdown text, code blocks apart; links to the web are left out.
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
    }
    found.retain(|(_, target)| !target.contains("://") && !target.starts_with('#'));
    found
}

/// What does not hold in a document: links that lead nowhere, names that are not there.
fn untrue(document: &str, text: &str) -> Vec<String> {
    let folder = root().join(document).parent().unwrap().to_owned();
    let check = |(name, target): (String, String)| {
        let path = folder.join(target.split('#').next().unwrap());
        let Ok(metadata) = std::fs::metadata(&path) else {
            return Some(format!("{document}: {target} does not exist"));
        };
        let symbol = name.strip_prefix('`')?.strip_suffix('`')?.rsplit("::").next()?.to_owned();
        if metadata.is_dir() {
            return None;
        }
        let content = std::fs::read_to_string(&path).unwrap_or_default();
        (!content.contains(&symbol)).then(|| format!("{document}: {target} says nothing of `{symbol}`"))
    };
    links(text).into_iter().filter_map(check).collect()
}

#[test]
fn the_documents_name_files_and_things_that_exist() {
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/heritage.md", "docs/hosts.md"];
    let wrong: Vec<String> = documents
        .iter()
        .flat_map(|document| {
            let text = std::fs::read_to_string(root().join(document)).unwrap();
            assert!(*document == "CONTRIBUTING.md" || !links(&text).is_empty(), "{document} has no links");
            untrue(document, &text)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_file_and_a_wrong_name_are_found() {
    let text = "[x](crates/none.rs) [`Peer`](crates/base/src/ids.rs) [`no_such_thing`](crates/base/src/ids.rs)";
    let wrong = untrue("ARCHITECTURE.md", text);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}
