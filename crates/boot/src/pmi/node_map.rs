//! The map of ranks to nodes that PMI servers keep under the key PMI_process_mapping: a text such as
//! `(vector,(0,2,4),(2,1,1))`, whose blocks give the first node, the number of nodes, and the ranks on each of them.
//!
//! Blocks follow each other in the order of ranks, and start again when ranks are left. Used by `pmi1` and `pmi2`.

/// The key of the map.
pub const MAPPING_KEY: &str = "PMI_process_mapping";

/// The number of the node of each of `size` ranks. None if the text is no such map; a map with a block without nodes or
/// ranks is none.
pub fn parse(text: &str, size: u32) -> Option<Vec<u32>> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let blocks = inside.strip_prefix("vector")?.trim_start().strip_prefix(',')?;
    let blocks = blocks.split('(').skip(1).map(block).collect::<Option<Vec<_>>>()?;
    if blocks.is_empty() {
        return None;
    }
    let of_block = |&(first, nodes, ranks): &(u32, u32, u32)| {
        (first..first + nodes).flat_map(move |node| std::iter::repeat_n(node, ranks as usize))
    };
    Some(blocks.iter().flat_map(of_block).cycle().take(size as usize).collect())
}

/// The numbers in `0,2,4)` or `0,2,4),`, none of which makes a block without ranks or with nodes beyond the last
/// number.
fn block(text: &str) -> Option<(u32, u32, u32)> {
    let numbers = text.trim().trim_end_matches(',').trim_end().strip_suffix(')')?;
    let mut numbers = numbers.split(',').map(|number| number.trim().parse().ok());
    let block: (u32, u32, u32) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let is_valid = block.1 > 0 && block.2 > 0 && block.0.checked_add(block.1).is_some();
    (is_valid && numbers.next().is_none()).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_give_the_node_of_each_rank() {
        assert_eq!(parse("(vector,(0,1,4))", 4), Some(vec![0; 4]));
        assert_eq!(parse("(vector,(0,2,2))", 4), Some(vec![0, 0, 1, 1]));
        assert_eq!(parse("(vector,(0,2,1),(5,1,2))", 4), Some(vec![0, 1, 5, 5]));
        assert_eq!(parse("(vector,(0,2,1))", 5), Some(vec![0, 1, 0, 1, 0]), "cyclic, as mpiexec -ppn 1 places them");
        assert_eq!(parse(" (vector, (0, 2, 1), (1,1,1)) ", 3), Some(vec![0, 1, 1]));
    }

    #[test]
    fn other_texts_are_no_map() {
        for text in [
            "",
            "(vector)",
            "(vector,)",
            "(vector,(0,1))",
            "(vector,(0,0,4))",
            "(vector,(0,1,x))",
            "(vector,(0,1,1,1))",
            "(list,(0,1,1))",
            "(vector,(0,1,-1))",
            "vector,(0,1,1)",
            "(vector,(0,4294967295,0),(0,1,1))",
            "(vector,(4294967295,4294967295,4294967295))",
        ] {
            assert_eq!(parse(text, 2), None, "{text}");
        }
        assert_eq!(parse("(vector,(0,4294967295,4294967295))", 3), Some(vec![0; 3]));
    }
}
