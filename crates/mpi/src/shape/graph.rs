//! Graphs that every rank knows as a whole (MPI-5.0 §8.5.3).
//!
//! Used by `topology` and `abi::topology`.

use hawser_base::{Class, Error, Result};

/// A graph: MPI's `index` and `edges`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The end of each node's neighbours in `edges`.
    index: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    /// Makes a graph of MPI's arrays (MPI_ERR_ARG). `edges` is called with the number of neighbours that `index`
    /// gives in all, and returns the array of that length.
    pub fn new<'a>(index: &[i32], edges: impl FnOnce(usize) -> Result<&'a [i32]>, comm_size: u32) -> Result<Graph> {
        check_nodes(index.len() as i64, comm_size)?;
        let mut last = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < last {
                let text =
                    format!("index[{node}] is {end}, less than {last}: it counts the neighbours of all nodes so far");
                return Err(Error::new(Class::Arg, text));
            }
            last = end;
        }
        let edges = edges(last as usize)?;
        let nodes = index.len() as i32;
        if let Some((i, edge)) = edges.iter().enumerate().find(|&(_, edge)| !(0..nodes).contains(edge)) {
            let text = format!("edges[{i}] is {edge}, outside 0..={} of the graph", nodes - 1);
            return Err(Error::new(Class::Arg, text));
        }
        let unsigned = |all: &[i32]| all.iter().map(|&n| n as u32).collect();
        Ok(Graph { index: unsigned(index), edges: unsigned(edges) })
    }

    pub fn index(&self) -> &[u32] {
        &self.index
    }

    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// MPI_Graph_neighbors.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let start = if node == 0 { 0 } else { self.index[node - 1] };
        &self.edges[start as usize..self.index[node] as usize]
    }
}

/// Checks that there are at most `comm_size` nodes (MPI_ERR_ARG).
pub fn check_nodes(nodes: i64, comm_size: u32) -> Result<()> {
    if !(0..=i64::from(comm_size)).contains(&nodes) {
        let text = format!("nnodes is {nodes}; it may be 0 to {comm_size}, the ranks of the communicator");
        return Err(Error::new(Class::Arg, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_lie_between_the_ends_of_two_nodes() {
        let graph = Graph::new(&[2, 2, 3, 6], |count| Ok(&[1, 3, 3, 0, 2, 3][..count]), 9).unwrap();
        let all: Vec<&[u32]> = (0..4).map(|node| graph.neighbors(node)).collect();
        assert_eq!(all, [&[1, 3][..], &[], &[3], &[0, 2, 3]]);
    }

    #[test]
    fn wrong_graphs_are_refused() {
        let new = |index: &[i32], edges: &'static [i32]| Graph::new(index, |_| Ok(edges), 3).map_err(|why| why.class());
        assert_eq!(new(&[1, 0], &[0]), Err(Class::Arg));
        assert_eq!(new(&[-1], &[]), Err(Class::Arg));
        assert_eq!(new(&[1, 2], &[1, 2]), Err(Class::Arg));
        assert_eq!(new(&[1, 2], &[1, -1]), Err(Class::Arg));
        assert_eq!(new(&[0; 4], &[]), Err(Class::Arg));
        assert!(new(&[], &[]).is_ok() && new(&[0; 3], &[]).is_ok());
    }
}
