//! Counters as text: a line for each rank with its counters, one with the peers that answered it on each port, and the
//! sum.

use crate::frames::{Counted, Counts};
use std::fmt::Write;

/// The lines; counters of zero are left out.
pub fn text(counts: &Counts) -> String {
    let mut text = String::new();
    let mut sum = vec![0u64; counts.names.len()];
    let mut ranks: Vec<_> = counts.ranks.iter().collect();
    ranks.sort_by_key(|counted| counted.rank);
    for Counted { rank, values, answers } in &ranks {
        let _ = writeln!(text, "  rank {rank}: {}", line(&counts.names, values));
        if !answers.is_empty() {
            let _ = writeln!(text, "    peers that answered: {answers}");
        }
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
    }
    if ranks.len() > 1 {
        let _ = writeln!(text, "  all ranks: {}", line(&counts.names, &sum));
    }
    text
}

fn line(names: &[String], values: &[u64]) -> String {
    let counted = names.iter().zip(values).filter(|(_, value)| **value > 0);
    let words: Vec<String> = counted.map(|(name, value)| format!("{name} {value}")).collect();
    if words.is_empty() { "nothing counted".into() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_their_sum_are_listed() {
        let counted =
            |rank, values: [u64; 2], answers: &str| Counted { rank, values: values.into(), answers: answers.into() };
        let counts = Counts {
            names: vec!["eager".into(), "rendezvous".into()],
            ranks: vec![counted(1, [2, 0], ""), counted(0, [0, 0], "eth0: udp 1 of 2"), counted(2, [3, 4], "")],
        };
        assert_eq!(
            text(&counts),
            "  rank 0: nothing counted\n    peers that answered: eth0: udp 1 of 2\n  rank 1: eager 2\n  rank 2: eager 3, rendezvous 4\n  all ranks: eager 5, rendezvous 4\n"
        );
    }
}
