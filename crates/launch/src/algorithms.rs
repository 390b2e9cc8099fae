//! Lists the algorithms of each collective, and the algorithm that a job of a given size uses for each message
//! length, for `hawser-info --collectives`.
//!
//! A rank of this host chooses the same algorithms: the cost model is the one that `mpi` uses (`CostModel::of`), and
//! the parameters come from the environment. Used by `hawser-info`; uses `coll::algorithms_by_length`.

use hawser_base::Result;
use hawser_coll::{
    Collective, CostModel, ForcedAlgorithms, HostMap, PARAMS, ScheduleLimits, Tuning, algorithms_by_length,
};
use hawser_job::flags::WORLD_BLOCK;
use hawser_job::layout::{flag_payload, flag_step};
use std::fmt::Write;

/// Returns the text for jobs of `ranks` ranks in three layouts: all ranks on this host, of which `cores` cores are
/// usable at once; `cores` ranks on each host; and one rank on each host. The second one is left out if it is the
/// same as one of the others.
pub fn text(ranks: u32, cores: u32) -> Result<String> {
    let forced = ForcedAlgorithms::from_params()?;
    let many = HostMap::new((0..ranks).map(|rank| rank / cores.max(1)));
    let tuning = |one_host, hosts| Tuning {
        one_host,
        hosts,
        model: CostModel::of(one_host, ranks, cores),
        limits: ScheduleLimits {
            shm_step_bytes: flag_step(flag_payload(ranks as usize, WORLD_BLOCK as usize)) as u64,
            ..ScheduleLimits::DEFAULT
        },
        forced,
    };
    let mut layouts = vec![("all on this host".to_owned(), tuning(true, None))];
    layouts.extend(many.as_ref().map(|hosts| (format!("{cores} ranks a host"), tuning(false, Some(hosts)))));
    layouts.push(("1 rank a host".to_owned(), tuning(false, None)));

    let mut text = format!("{ranks} ranks: by the length of the vector, or of the block of one rank\n");
    for (&collective, param) in Collective::ALL.iter().zip(PARAMS) {
        let names = collective.algorithms()[1..].join(", ");
        let _ = writeln!(text, "{}={} ({names})", param.name, param.text());
        for (layout, tuning) in &layouts {
            let _ = writeln!(text, "  {layout:16}  {}", line(&algorithms_by_length(collective, ranks, tuning)));
        }
    }
    Ok(text)
}

fn line(parts: &[(u64, &str)]) -> String {
    let rest = parts.iter().skip(1).map(|&(from, name)| format!("from {} {name}", bytes(from)));
    parts.iter().take(1).map(|&(_, name)| name.to_owned()).chain(rest).collect::<Vec<_>>().join(", ")
}

/// Formats a number of bytes, which is a power of two.
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
        let text = text(64, 16).unwrap();
        let barrier = text.split("HAWSER_COLL_").nth(1).unwrap();
        assert!(barrier.starts_with("BARRIER=auto (host, "), "{text}");
        assert!(
            barrier.contains("  all on this host  host\n") && barrier.contains("  1 rank a host     dissemination\n"),
            "{text}"
        );
        assert!(text.contains("  16 ranks a host   two_level"), "{text}");
        assert_eq!(text.matches("HAWSER_COLL_").count(), Collective::ALL.len());
        assert_eq!(
            line(&[(8, "a"), (512, "b"), (1 << 14, "a"), (1 << 23, "c")]),
            "a, from 512 B b, from 16 KiB a, from 8 MiB c"
        );
    }
}
