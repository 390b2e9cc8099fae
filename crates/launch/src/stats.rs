//! Counters as text: a line for each rank with what it counted, and the sum.

use crate::frames::Counts;
use std::fmt::Write;

/// The lines; counters that stayed at zero are left out.
pub fn text(counts: &Counts) -> String {
    let mut text = String::new();
    let mut sum = vec![0u64; counts.names.len()];
    let mut ranks: Vec<_> = counts.ranks.iter().collect();
    ranks.sort_by_key(|(rank, _)| *rank);
    for (rank, values) in &ranks {
        let _ = writeln!(text, "  rank {rank}: {}", line(&counts.names, values));
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
        let counts = Counts {
            names: vec!["eager".into(), "rendezvous".into()],
            ranks: vec![(1, vec![2, 0]), (0, vec![0, 0]), (2, vec![3, 4])],
        };
        assert_eq!(
            text(&counts),
            "  rank 0: nothing counted\n  rank 1: eager 2\n  rank 2: eager 3, rendezvous 4\n  all ranks: eager 5, rendezvous 4\n"
        );
    }
}
