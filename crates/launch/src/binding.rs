//! The cores on which each rank of a host may run: parses `--bind-to` in the spellings of MPICH and Open MPI, and
//! determines the cores of each rank on a host. A binding that is impossible is reported, never ignored.
//!
//! Used by `args`, which parses the option, by `frames`, which sends the binding to agents, and by `agent::run`,
//! which requests the cores; uses `os::cpus`.

use hawser_os::cpus::{self, TopologyLevel};

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Binding {
    #[default]
    None,
    /// Each rank gets the next `count` units of this kind. If the units are cores or hardware threads, no two ranks
    /// get the same unit; of larger units, the first one follows after the last.
    Units { unit: TopologyLevel, count: u32 },
    /// The core numbers of each rank, the first entry for the first rank of the host; after the last entry the first
    /// follows.
    User(Vec<Vec<u32>>),
}

/// Open MPI's modifiers behind the unit, which are accepted and have no effect.
const DETAILS: [&str; 3] = ["overload-allowed", "no-overload", "if-supported"];
/// The maximum number of ranks in a user's list, and the bound of its core numbers: Linux supports no more than 8192
/// cores.
const LIST_MAX: usize = 8192;

/// Parses the value of `--bind-to`: `core`, `socket:2`, `core:overload-allowed`, `user:0+2,1-3x4`, `none`, … The
/// error is one line for the user.
pub fn parse(text: &str) -> Result<Binding, String> {
    let (name, details) = text.split_once(':').unwrap_or((text, ""));
    if name == "user" {
        return parse_user_list(details).map(Binding::User).ok_or_else(|| {
            format!(
                "--bind-to {text} does not list cores; with user:0,2+3,4-7 rank 0 gets core 0, rank 1 cores 2 and 3, \
                 rank 2 cores 4 to 7"
            )
        });
    }
    if matches!(name, "none" | "machine" | "board" | "slot") {
        return Ok(Binding::None);
    }
    let Some(unit) = unit(name) else {
        return Err(format!(
            "--bind-to {text} is not supported; core, hwthread, l1cache to l3cache, numa, socket, user:LIST and none \
             are"
        ));
    };
    let mut count = 1;
    for detail in details.split([':', ',']).filter(|detail| !detail.is_empty() && !DETAILS.contains(detail)) {
        count = detail.parse().ok().filter(|&count| count > 0).ok_or_else(|| {
            format!("--bind-to {text}: {detail} is not a number of {name}s for each rank; write {name} or {name}:2")
        })?;
    }
    Ok(Binding::Units { unit, count })
}

/// The kind of unit that has this name in MPICH or Open MPI; None for every other name, also for `machine` and
/// `board`, which bind nothing.
pub fn unit(name: &str) -> Option<TopologyLevel> {
    match name.to_ascii_lowercase().as_str() {
        "hwthread" | "hwt" | "rr" => Some(TopologyLevel::Thread),
        "core" | "cpu" => Some(TopologyLevel::Core),
        "l1cache" | "l1dcache" | "l1ucache" => Some(TopologyLevel::Cache(1)),
        "l2cache" | "l2dcache" | "l2ucache" => Some(TopologyLevel::Cache(2)),
        "l3cache" | "l3dcache" | "l3ucache" => Some(TopologyLevel::Cache(3)),
        "numa" | "numanode" => Some(TopologyLevel::Numa),
        "socket" | "package" => Some(TopologyLevel::Socket),
        _ => None,
    }
}

fn unit_plural(unit: TopologyLevel) -> &'static str {
    match unit {
        TopologyLevel::Thread => "hardware threads",
        TopologyLevel::Core => "cores",
        TopologyLevel::Cache(_) => "caches",
        TopologyLevel::Numa => "NUMA nodes",
        TopologyLevel::Socket => "sockets",
    }
}

/// Parses MPICH's list. Commas separate the entries of ranks, + separates the cores of an entry, A-B is a range of
/// cores, and a final xN repeats the entry N times. None if the list is invalid.
fn parse_user_list(list: &str) -> Option<Vec<Vec<u32>>> {
    let mut entries = Vec::new();
    for entry in list.split(',') {
        let (entry, times) = entry.split_once('x').unwrap_or((entry, "1"));
        let mut cores = Vec::new();
        for part in entry.split('+') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            cores.extend((first <= last && last < LIST_MAX as u32).then_some(first..=last)?);
        }
        let times: usize = times.parse().ok().filter(|&times| times > 0 && entries.len() + times <= LIST_MAX)?;
        entries.extend(std::iter::repeat_n(cores, times));
    }
    Some(entries)
}

impl Binding {
    /// The cores of each of the `ranks` ranks of this host; an empty list if the ranks are not bound. The error is
    /// the reason why the requested binding is impossible.
    pub fn cores(&self, ranks: usize) -> Result<Vec<Vec<usize>>, String> {
        let allowed = || cpus::allowed().unwrap_or_default();
        match self {
            Binding::None => Ok(Vec::new()),
            Binding::User(entries) => assign_listed(entries, &allowed(), ranks),
            Binding::Units { unit: unit @ (TopologyLevel::Core | TopologyLevel::Thread), count } => {
                let cores = cpus::domains(*unit).unwrap_or_default();
                let threads: Vec<_> = allowed().into_iter().map(|thread| vec![thread]).collect();
                assign_exclusive(&cores, *count, ranks)
                    .or_else(|reason| assign_exclusive(&threads, *count, ranks).map_err(|_| reason))
            }
            Binding::Units { unit, count } => {
                let units = cpus::domains(*unit).unwrap_or_default();
                match units.len() {
                    few if few < *count as usize => {
                        Err(format!("each rank needs {count} {}, and this host has {few}", unit_plural(*unit)))
                    }
                    _ => Ok(assign_round_robin(&units, *count, ranks)),
                }
            }
        }
    }
}

/// Gives each rank `count` units that no other rank gets. The error names the shortage. `cores` tries whole cores
/// first and hardware threads second, because a rank is better off with one hardware thread than with a shared core.
fn assign_exclusive(units: &[Vec<usize>], count: u32, ranks: usize) -> Result<Vec<Vec<usize>>, String> {
    match ranks * count as usize <= units.len() {
        true => Ok(assign_round_robin(units, count, ranks)),
        false if count == 1 => Err(format!("{ranks} ranks on {} cores", units.len())),
        false => Err(format!("{ranks} ranks with {count} cores each on {} cores", units.len())),
    }
}

/// Deals the units out in turn, and starts over when they are used up.
fn assign_round_robin(units: &[Vec<usize>], count: u32, ranks: usize) -> Vec<Vec<usize>> {
    let count = count as usize;
    let of_rank = |rank: usize| (rank * count..(rank + 1) * count).flat_map(|i| units[i % units.len()].clone());
    (0..ranks).map(|rank| of_rank(rank).collect()).collect()
}

fn assign_listed(entries: &[Vec<u32>], allowed: &[usize], ranks: usize) -> Result<Vec<Vec<usize>>, String> {
    let entries: Vec<Vec<usize>> = entries.iter().map(|cores| cores.iter().map(|&c| c as usize).collect()).collect();
    match entries.iter().flatten().find(|core| !allowed.contains(core)) {
        Some(core) => Err(format!("core {core} does not exist or may not be used (allowed cores: {allowed:?})")),
        None => Ok(assign_round_robin(&entries, 1, ranks)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(unit: TopologyLevel, count: u32) -> Result<Binding, String> {
        Ok(Binding::Units { unit, count })
    }

    #[test]
    fn both_launchers_words_are_understood() {
        for (word, unit) in [
            ("core", TopologyLevel::Core),
            ("core:overload-allowed", TopologyLevel::Core),
            ("hwthread", TopologyLevel::Thread),
            ("socket", TopologyLevel::Socket),
            ("package:if-supported", TopologyLevel::Socket),
            ("numa", TopologyLevel::Numa),
            ("L3cache", TopologyLevel::Cache(3)),
        ] {
            assert_eq!(parse(word), units(unit, 1), "{word}");
        }
        assert_eq!(parse("socket:2"), units(TopologyLevel::Socket, 2));
        assert_eq!(parse("none"), Ok(Binding::None));
        let lists = vec![vec![0, 2], vec![1, 2, 3], vec![1, 2, 3], vec![5]];
        assert_eq!(parse("user:0+2,1-3x2,5"), Ok(Binding::User(lists)));
        for wrong in
            ["moon", "core:0", "core:many", "gpu", "user", "user:", "user:a", "user:3-1", "user:1x0", "user:1x9999"]
        {
            assert!(parse(wrong).is_err_and(|text| text.contains(wrong) && !text.contains('\n')), "{wrong}");
        }
    }

    #[test]
    fn units_are_dealt_in_turn() {
        let sockets = [vec![0, 1], vec![2, 3]];
        assert_eq!(assign_round_robin(&sockets, 1, 3), [vec![0, 1], vec![2, 3], vec![0, 1]]);
        assert_eq!(assign_round_robin(&sockets, 2, 1), [vec![0, 1, 2, 3]]);
        assert!(
            Binding::Units { unit: TopologyLevel::Socket, count: 9999 }
                .cores(1)
                .is_err_and(|why| why.contains("9999 sockets"))
        );
        assert_eq!(assign_exclusive(&sockets, 1, 2), Ok(vec![vec![0, 1], vec![2, 3]]));
        assert!(assign_exclusive(&sockets, 1, 3).is_err_and(|why| why == "3 ranks on 2 cores"));
        assert!(assign_exclusive(&sockets, 2, 2).is_err());
        assert_eq!(assign_listed(&[vec![1], vec![0, 1]], &[0, 1], 3), Ok(vec![vec![1], vec![0, 1], vec![1]]));
        assert!(assign_listed(&[vec![7]], &[0, 1], 1).is_err_and(|why| why.contains("core 7")));
    }
}
