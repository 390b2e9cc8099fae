//! Expressions over the operands of a reduction, for an operation that neither commutes nor associates.
//!
//! Equal expressions have equal numbers, so that two ranks have bitwise the same result if their cells are equal. A
//! cell of a reduction consists of the number of an expression (low 32 bits) and the index of the element (high 32
//! bits); it is an error to reduce different elements together. Used by `run` and by tests; uses `memory`.

use super::memory::SymbolicCell;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
struct ExprNode {
    first: u32,
    last: u32,
    /// The ranks whose operands are in the expression, one bit for each rank.
    ranks: u64,
    /// The operands are those of consecutive ranks, in ascending order.
    ordered: bool,
}

/// All expressions that were made so far. Ranks must be below 64.
pub struct ExprTable {
    nodes: Vec<ExprNode>,
    known: HashMap<(u32, u32), u32>,
    latest: ((u32, u32), u32),
}

/// The first number of an expression. Smaller numbers are the special cells of `memory`.
const SPECIAL: u32 = 2;
const NO_TERM: u32 = u32::MAX;

impl Default for ExprTable {
    fn default() -> ExprTable {
        let nodes = (0..64).map(|rank| ExprNode { first: rank, last: rank, ranks: 1 << rank, ordered: true }).collect();
        ExprTable { nodes, known: HashMap::new(), latest: ((NO_TERM, NO_TERM), NO_TERM) }
    }
}

impl ExprTable {
    /// Returns the cell of the operand of `rank` at index `element`.
    pub fn leaf(rank: u32, element: u64) -> SymbolicCell {
        element << 32 | SymbolicCell::from(rank + SPECIAL)
    }

    /// Returns the cell of `left op right`. Fails if the elements differ, or if a rank's operand is in both.
    pub fn combine(&mut self, left: SymbolicCell, right: SymbolicCell) -> Result<SymbolicCell, String> {
        if left >> 32 != right >> 32 {
            return Err(format!("elements {} and {} are reduced together", left >> 32, right >> 32));
        }
        let key = (left as u32, right as u32);
        if self.latest.0 != key {
            let id = match self.known.get(&key) {
                Some(&id) => id,
                None => self.insert(key)?,
            };
            self.latest = (key, id);
        }
        Ok(left >> 32 << 32 | SymbolicCell::from(self.latest.1))
    }

    /// Replaces each element of `right` by `left op right`.
    pub fn combine_all(&mut self, left: &[SymbolicCell], right: &mut [SymbolicCell]) -> Result<(), String> {
        left.iter().zip(right).try_for_each(|(&left, right)| {
            *right = self.combine(left, *right)?;
            Ok(())
        })
    }

    fn insert(&mut self, key: (u32, u32)) -> Result<u32, String> {
        let (left, right) = (self.nodes[(key.0 - SPECIAL) as usize], self.nodes[(key.1 - SPECIAL) as usize]);
        if left.ranks & right.ranks != 0 {
            return Err(format!("operands {:#x} are counted twice", left.ranks & right.ranks));
        }
        let id = self.nodes.len() as u32 + SPECIAL;
        self.nodes.push(ExprNode {
            first: left.first,
            last: right.last,
            ranks: left.ranks | right.ranks,
            ordered: left.ordered && right.ordered && left.last + 1 == right.first,
        });
        self.known.insert(key, id);
        Ok(id)
    }

    /// Fails if `cell` is not element `element`, reduced over exactly the ranks below `end`, and, if `in_order`, in
    /// rank order.
    pub fn check(&self, cell: SymbolicCell, element: u64, end: u32, in_order: bool) -> Result<(), String> {
        let Some(node) = (cell as u32).checked_sub(SPECIAL).map(|id| self.nodes[id as usize]) else {
            return Err(format!("element {element} was never written"));
        };
        let wanted = if end == 64 { u64::MAX } else { (1 << end) - 1 };
        if cell >> 32 != element {
            Err(format!("element {} is where {element} belongs", cell >> 32))
        } else if node.ranks != wanted {
            Err(format!("element {element} is reduced over ranks {:#x}, not {wanted:#x}", node.ranks))
        } else if in_order && !node.ordered {
            Err(format!("the operands of element {element} are not in rank order"))
        } else {
            Ok(())
        }
    }
}
