//! The counters of ranks as text: for each rank a line with its counters, a line with the number of peers that replied
//! to it on each port, and lines with the shares of its bytes (`node::byte_shares`); then the same of the sums over all
//! ranks.

use crate::frames::{HostCounters, RankCounters};
use std::fmt::Write;

/// Returns the lines, in the order of the ranks. Counters that are zero are left out, and so are the sums if there is
/// only one rank.
pub fn text(counters: &HostCounters) -> String {
    let mut text = String::new();
    let mut sum = vec![0u64; counters.names.len()];
    let mut ranks: Vec<_> = counters.ranks.iter().collect();
    ranks.sort_by_key(|rank_counters| rank_counters.rank);
    for RankCounters { rank, values, reachability: answers } in &ranks {
        let _ = writeln!(text, "  rank {rank}: {}", line(&counters.names, values));
        if !answers.is_empty() {
            let _ = writeln!(text, "    peers that answered: {answers}");
        }
        write_shares(&mut text, &counters.names, values);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
    }
    if ranks.len() > 1 {
        let _ = writeln!(text, "  all ranks: {}", line(&counters.names, &sum));
        write_shares(&mut text, &counters.names, &sum);
    }
    text
}

fn write_shares(text: &mut String, names: &[String], values: &[u64]) {
    for share in hawser_node::byte_shares(names, values) {
        let _ = writeln!(text, "    {share}");
    }
}

fn line(names: &[String], values: &[u64]) -> String {
    let nonzero = names.iter().zip(values).filter(|(_, value)| **value > 0);
    let items: Vec<String> = nonzero.map(|(name, value)| format!("{name} {value}")).collect();
    if items.is_empty() { "nothing counted".into() } else { items.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_bytes_follow_the_counters_of_each_rank_and_of_all() {
        let names = ["bytes sent", "bytes received", "bytes of unexpected messages"].map(String::from);
        let rank_counters =
            |rank, values: [u64; 3]| RankCounters { rank, values: values.into(), reachability: String::new() };
        let ranks = vec![rank_counters(0, [100, 0, 0]), rank_counters(1, [0, 100, 25])];
        let text = text(&HostCounters { names: names.into(), ranks });
        let sent = "    of the bytes sent: 100.00 % eagerly in one packet";
        let received =
            "    of the bytes received: 75.00 % found their receive posted, 0.00 % never lay in the library's memory";
        let counted = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let expected = format!(
            "  rank 0: bytes sent 100\n{sent}\n\
             \x20 rank 1: bytes received 100, bytes of unexpected messages 25\n{received}\n\
             \x20 all ranks: bytes sent 100, bytes received 100, bytes of unexpected messages 25\n{sent}\n{received}\n"
        );
        assert_eq!(counted(&text), counted(&expected));
    }

    #[test]
    fn ranks_and_their_sum_are_listed() {
        let rank_counters = |rank, values: [u64; 2], answers: &str| RankCounters {
            rank,
            values: values.into(),
            reachability: answers.into(),
        };
        let counters = HostCounters {
            names: vec!["eager".into(), "rendezvous".into()],
            ranks: vec![
                rank_counters(1, [2, 0], ""),
                rank_counters(0, [0, 0], "eth0: udp 1 of 2"),
                rank_counters(2, [3, 4], ""),
            ],
        };
        assert_eq!(
            text(&counters),
            "  rank 0: nothing counted\n    peers that answered: eth0: udp 1 of 2\n  rank 1: eager 2\n  rank 2: eager 3, rendezvous 4\n  all ranks: eager 5, rendezvous 4\n"
        );
    }
}
