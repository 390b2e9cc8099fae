//! The algorithms of collectives, and which of them a job of some size would get, for `hawser-info --collectives`.
//!
//! A rank of this host comes to the same: the model is the one that `mpi` would take (`Model::of`), the parameters are
//! those of the environment. Before it: `hawser-info`; after it: `coll::survey`.

use hawser_base::Result;
use hawser_coll::{Collective, Forced, Limits, Model, PARAMS, Tuning, choices};
use std::fmt::Write;

/// The lines for jobs of `ranks` ranks, on this host with `cores` usable at once, and over several hosts.
pub fn text(ranks: u32, cores: u32) -> Result<String> {
    let forced = Forced::from_params()?;
    let tuning =
        |one_host| Tuning { one_host, model: Model::of(one_host, ranks, cores), limits: Limits::DEFAULT, forced };
    let mut text = format!(
        "{ranks} ranks, on this host ({cores} cores) and over several: by the length of the vector, or of the block of one rank\n"
    );
    for (&collective, param) in Collective::ALL.iter().zip(PARAMS) {
        let names = collective.algorithms()[1..].join(", ");
        let _ = writeln!(text, "{}={} ({names})", param.name, param.text());
        for (place, one_host) in [("one host", true), ("several", false)] {
            let parts = choices(collective, ranks, &tuning(one_host));
            let _ = writeln!(text, "  {place:9} {}", line(&parts));
        }
    }
    Ok(text)
}

fn line(parts: &[(u64, &str)]) -> String {
    let rest = parts.iter().skip(1).map(|&(from, name)| format!("from {} {name}", bytes(from)));
    parts.iter().take(1).map(|&(_, name)| name.to_owned()).chain(rest).collect::<Vec<_>>().join(", ")
}

/// A power of two.
fn bytes(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        20.. => format!("{} MiB", bytes >> 20),
        10.. => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_collective_has_its_algorithms_and_what_is_chosen_where() {
        let text = text(8, 2).unwrap();
        let barrier = "HAWSER_COLL_BARRIER=auto (host, dissemination)\n  one host  host\n  several   dissemination\n";
        assert!(text.contains(barrier), "{text}");
        assert_eq!(text.matches("HAWSER_COLL_").count(), Collective::ALL.len());
        assert_eq!(
            line(&[(8, "a"), (512, "b"), (1 << 14, "a"), (1 << 23, "c")]),
            "a, from 512 B b, from 16 KiB a, from 8 MiB c"
        );
    }
}
