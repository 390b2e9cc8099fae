//! Types for parts of multidimensional arrays: MPI_Type_create_subarray and _darray (MPI-5.0 §5.1.3-4).
//!
//! Both are nested repetitions with the bounds of the whole array. Used by `abi`; uses `bounded_layout`.

use crate::bounded_layout::BoundedLayout;
use crate::bounds::{add, mul};
use crate::contents::{Constructor, CountForm};
use crate::datatype::Datatype;
use hawser_base::{Class, Error, Result};
use std::sync::Arc;

/// The order of an array's elements in memory: the last index runs fastest (C), or the first (Fortran).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayOrder {
    C,
    Fortran,
}

impl ArrayOrder {
    /// Returns the dimensions, beginning with the one whose index runs fastest in memory.
    fn innermost_first(self, ndims: usize) -> impl Iterator<Item = usize> {
        (0..ndims).map(move |i| match self {
            ArrayOrder::C => ndims - 1 - i,
            ArrayOrder::Fortran => i,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    None,
    Block,
    Cyclic,
}

/// A distribution argument: the size of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DistributionArg {
    /// MPI_DISTRIBUTE_DFLT_DARG.
    Default,
    Size(i64),
}

/// The arguments of MPI_Type_create_darray; the vectors have one entry a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Darray {
    pub size: i64,
    pub rank: i64,
    pub gsizes: Vec<i64>,
    pub distribs: Vec<Distribution>,
    pub dargs: Vec<DistributionArg>,
    pub psizes: Vec<i64>,
    pub order: ArrayOrder,
}

#[cold]
fn invalid_argument(text: String) -> Error {
    Error::new(Class::Arg, text)
}

impl Datatype {
    /// MPI_Type_create_subarray. Panics if `sizes`, `subsizes` and `starts` differ in length.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: ArrayOrder,
        old: &Arc<Datatype>,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        assert!(sizes.len() == subsizes.len() && sizes.len() == starts.len(), "one entry a dimension");
        check_subarray(sizes, subsizes, starts)?;
        let (mut bounded, mut extent, mut offset) = (old.bounded.clone(), old.extent(), 0);
        for i in order.innermost_first(sizes.len()) {
            bounded = bounded.repeat(subsizes[i] as u64, extent)?;
            offset = add(offset, mul(starts[i], extent, "displacement")?, "displacement")?;
            extent = mul(extent, sizes[i], "extent")?;
        }
        let bounded = bounded.moved(offset)?.resized(0, extent)?;
        let (sizes, subsizes, starts) = (sizes.into(), subsizes.into(), starts.into());
        Datatype::derived(
            bounded,
            old,
            Constructor::Subarray { sizes, subsizes, starts, order, old: old.clone() },
            form,
        )
    }

    pub fn darray(grid: Darray, old: &Arc<Datatype>, form: CountForm) -> Result<Arc<Datatype>> {
        let coords = check_darray(&grid)?;
        let mut bounded = old.bounded.clone();
        let mut extent = old.extent();
        for i in grid.order.innermost_first(grid.gsizes.len()) {
            let (block, procs) = block_and_procs(&grid, i)?;
            bounded = cyclic(&bounded, extent, block, grid.gsizes[i], coords[i], procs)?;
            extent = mul(extent, grid.gsizes[i], "extent")?;
        }
        // The bounds are set once, for the whole array: bounds that an inner dimension set would be replaced.
        let bounded = bounded.resized(0, extent)?;
        Datatype::derived(bounded, old, Constructor::Darray { grid: Box::new(grid), old: old.clone() }, form)
    }
}

fn check_subarray(sizes: &[i64], subsizes: &[i64], starts: &[i64]) -> Result<()> {
    if sizes.is_empty() {
        return Err(invalid_argument("an array has at least one dimension".into()));
    }
    for (i, ((&size, &part), &start)) in sizes.iter().zip(subsizes).zip(starts).enumerate() {
        if size < 1 {
            return Err(invalid_argument(format!("the size of dimension {i} is {size}; it must be positive")));
        }
        if part < 1 || part > size {
            return Err(invalid_argument(format!(
                "the subsize of dimension {i} is {part}; it must be from 1 to {size}"
            )));
        }
        if start < 0 || start > size - part {
            return Err(invalid_argument(format!(
                "the start in dimension {i} is {start}; it must be from 0 to {}",
                size - part
            )));
        }
    }
    Ok(())
}

/// Checks the arguments, and returns the coordinates of the rank in the process grid. The ranks of the grid are
/// numbered in row-major order, also if the array has Fortran's order.
fn check_darray(grid: &Darray) -> Result<Vec<i64>> {
    let ndims = grid.gsizes.len();
    let same = grid.distribs.len() == ndims && grid.dargs.len() == ndims && grid.psizes.len() == ndims;
    assert!(same, "one entry a dimension");
    if ndims == 0 {
        return Err(invalid_argument("an array has at least one dimension".into()));
    }
    if grid.size < 1 || !(0..grid.size).contains(&grid.rank) {
        return Err(invalid_argument(format!("rank {} is not one of {} processes", grid.rank, grid.size)));
    }
    for i in 0..ndims {
        if grid.gsizes[i] < 1 || grid.psizes[i] < 1 {
            let (g, p) = (grid.gsizes[i], grid.psizes[i]);
            return Err(invalid_argument(format!(
                "dimension {i} has {g} elements on {p} processes; both must be positive"
            )));
        }
    }
    let procs = grid.psizes.iter().try_fold(1i64, |product, &p| product.checked_mul(p));
    if procs != Some(grid.size) {
        let text =
            format!("the process grid {:?} does not have the {} processes that were given", grid.psizes, grid.size);
        return Err(invalid_argument(text));
    }
    let mut rest = (grid.rank, grid.size);
    let coordinate = |&p: &i64| {
        let below = rest.1 / p;
        let at = rest.0 / below;
        rest = (rest.0 % below, below);
        at
    };
    Ok(grid.psizes.iter().map(coordinate).collect())
}

/// Returns the distribution of dimension `i`: the number of elements in a block, and the number of processes, which
/// take the blocks in turn. With BLOCK each process takes one large block; with NONE one process takes everything.
fn block_and_procs(grid: &Darray, i: usize) -> Result<(i64, i64)> {
    let (gsize, procs) = (grid.gsizes[i], grid.psizes[i]);
    if let DistributionArg::Size(size) = grid.dargs[i]
        && size < 1
        && grid.distribs[i] != Distribution::None
    {
        return Err(invalid_argument(format!(
            "the distribution argument of dimension {i} is {size}; it must be positive"
        )));
    }
    match (grid.distribs[i], grid.dargs[i]) {
        (Distribution::None, _) if procs != 1 => Err(invalid_argument(format!(
            "dimension {i} is not distributed but has {procs} processes; it must have one"
        ))),
        (Distribution::None, _) => Ok((gsize, 1)),
        (Distribution::Block, DistributionArg::Default) => Ok((gsize / procs + i64::from(gsize % procs > 0), procs)),
        (Distribution::Block, DistributionArg::Size(size)) if size.saturating_mul(procs) < gsize => {
            Err(invalid_argument(format!("{procs} blocks of {size} do not hold the {gsize} elements of dimension {i}")))
        }
        (Distribution::Cyclic, DistributionArg::Default) => Ok((1, procs)),
        (Distribution::Block | Distribution::Cyclic, DistributionArg::Size(size)) => Ok((size, procs)),
    }
}

/// Returns the part of one dimension that process `coord` has (MPI-5.0 §5.1.4, function cyclic): each `procs`-th
/// whole block, beginning with block `coord`, and the rest behind the whole blocks if it is this process's turn.
fn cyclic(
    element: &BoundedLayout,
    extent: i64,
    block: i64,
    gsize: i64,
    coord: i64,
    procs: i64,
) -> Result<BoundedLayout> {
    let (whole, rest) = (gsize / block, gsize % block);
    let own_blocks = if whole > coord { (whole - coord - 1) / procs + 1 } else { 0 };
    let block_bytes = |n: i64| mul(n, mul(block.min(gsize), extent, "extent")?, "extent");
    let full = if own_blocks > 0 {
        let turn = if own_blocks > 1 { block_bytes(procs)? } else { 0 };
        let blocks = element.repeat(block as u64, extent)?.repeat(own_blocks as u64, turn)?;
        Some((block_bytes(coord)?, blocks))
    } else {
        None
    };
    let last = if rest > 0 && whole % procs == coord {
        Some((block_bytes(whole)?, element.repeat(rest as u64, extent)?))
    } else {
        None
    };
    BoundedLayout::join([&full, &last].into_iter().flatten().map(|(disp, bounded)| (*disp, 1, bounded)))
}
