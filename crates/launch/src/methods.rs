//! The text of `hawser-info --methods`: the method of transfer by length, for each kind of peer.
//!
//! A rank chooses by the same functions: the table asks them (`node::methods`). Used by `hawser-info`.

use hawser_base::Result;
use hawser_job::HostFacts;
use hawser_node::devices;
use hawser_node::methods::tables;
use std::fmt::Write;

/// Requests the tables of all kinds of peers.
pub const ALL: &str = "all";

/// Returns the text for peers of a kind (the name of a device, or ALL), on a host with `ranks` ranks and these facts.
pub fn text(kind: &str, facts: &HostFacts, ranks: usize) -> Result<String> {
    let mut text = String::from("a message goes, by its length in bytes\n");
    for kind in devices().filter(|&each| kind == ALL || kind == each) {
        for (title, rows) in tables(kind, facts, ranks)? {
            let _ = writeln!(text, "{title}");
            for row in rows {
                let _ = writeln!(text, "  {:36}  {}", row.situation, line(&row.methods));
            }
        }
    }
    Ok(text)
}

/// Formats the methods of a row, each with the longest message that uses it.
fn line(methods: &[(u64, String)]) -> String {
    let last = methods.iter().skip(1).map(|(from, _)| Some(from - 1)).chain([None]);
    let part = |((_, name), last): (&(u64, String), Option<u64>)| match last {
        Some(last) => format!("up to {last}: {name}"),
        None if methods.len() == 1 => name.clone(),
        None => format!("longer: {name}"),
    };
    methods.iter().zip(last).map(part).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_is_shown_with_its_longest_message() {
        let method = |from, name: &str| (from, name.to_owned());
        assert_eq!(line(&[method(0, "eager")]), "eager");
        let three = [method(0, "eager"), method(101, "rendezvous"), method(1001, "remote read")];
        assert_eq!(line(&three), "up to 100: eager; up to 1000: rendezvous; longer: remote read");
    }

    #[test]
    fn one_kind_of_peer_is_shown_or_all() {
        let titles =
            |kind| text(kind, &HostFacts::default(), 2).unwrap().lines().filter(|line| line.starts_with("to ")).count();
        assert_eq!(["self", "shm", "ether", ALL].map(titles), [1, 1, 2, 4]);
    }
}
