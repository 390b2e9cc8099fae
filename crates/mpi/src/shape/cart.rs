//! Grids: coordinates and ranks, shifts, sub-grids (MPI-5.0 §8.5.1).
//!
//! Ranks are in row-major order: the last coordinate counts fastest. Used by `topology`.

use hawser_base::{Class, Error, Result};

/// A grid. The product of its dimensions is the number of its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    dims: Vec<Dim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    pub size: u32,
    pub periodic: bool,
}

impl Cart {
    /// Makes a grid. MPI_ERR_DIMS if a dimension is less than 1, MPI_ERR_ARG if the grid has more than `comm_size`
    /// ranks.
    pub fn new(dims: &[i32], periods: &[i32], comm_size: u32) -> Result<Cart> {
        if let Some((i, size)) = dims.iter().enumerate().find(|&(_, &size)| size < 1) {
            let text =
                format!("dims[{i}] is {size}; every dimension has at least one rank (MPI_Dims_create replaces zeros)");
            return Err(Error::new(Class::Dims, text));
        }
        let cells = dims.iter().try_fold(1u32, |cells, &size| cells.checked_mul(size as u32));
        if cells.is_none_or(|cells| cells > comm_size) {
            let product = dims.iter().map(i32::to_string).collect::<Vec<_>>().join(" x ");
            let text = format!("a grid of {product} needs more ranks than the communicator has ({comm_size})");
            return Err(Error::new(Class::Arg, text));
        }
        let dim = |(&size, &periodic): (&i32, &i32)| Dim { size: size as u32, periodic: periodic != 0 };
        Ok(Cart { dims: dims.iter().zip(periods).map(dim).collect() })
    }

    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    pub fn cells(&self) -> u32 {
        self.dims.iter().map(|dim| dim.size).product()
    }

    /// MPI_Cart_coords.
    pub fn coords(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coords: Vec<u32> = self.dims.iter().map(|dim| dim.size).collect();
        for coord in coords.iter_mut().rev() {
            (rest, *coord) = (rest / *coord, rest % *coord);
        }
        coords
    }

    /// The rank at coordinates that are inside of the grid.
    fn rank_at(&self, coords: &[u32]) -> u32 {
        self.dims.iter().zip(coords).fold(0, |rank, (dim, at)| rank * dim.size + at)
    }

    /// MPI_Cart_rank. Coordinates of periodic dimensions may be outside of the grid; in other dimensions that is an
    /// error (MPI_ERR_ARG).
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        let mut inside = Vec::with_capacity(self.dims.len());
        for (i, (dim, &at)) in self.dims.iter().zip(coords).enumerate() {
            let found = dim.wrap(at.into()).ok_or_else(|| {
                let text = format!("coords[{i}] is {at}, outside 0..={} of a non-periodic dimension", dim.size - 1);
                Error::new(Class::Arg, text)
            });
            inside.push(found?);
        }
        Ok(self.rank_at(&inside))
    }

    /// The rank `steps` further along a dimension; None if that is outside of the grid.
    fn step(&self, coords: &[u32], dim: usize, steps: i64) -> Option<u32> {
        let mut there = coords.to_vec();
        there[dim] = self.dims[dim].wrap(i64::from(coords[dim]) + steps)?;
        Some(self.rank_at(&there))
    }

    /// MPI_Cart_shift: the ranks that `rank` receives from and sends to; None is MPI_PROC_NULL (errors:
    /// MPI_ERR_TOPOLOGY, MPI_ERR_ARG).
    pub fn shift(&self, rank: u32, direction: i32, steps: i32) -> Result<[Option<u32>; 2]> {
        if self.dims.is_empty() {
            return Err(Error::new(Class::Topology, "a grid without dimensions has no direction to shift in"));
        }
        let Some(dim) = usize::try_from(direction).ok().filter(|&dim| dim < self.dims.len()) else {
            let text = format!("direction {direction} is outside 0..={} of the grid", self.dims.len() - 1);
            return Err(Error::new(Class::Arg, text));
        };
        let (coords, steps) = (self.coords(rank), i64::from(steps));
        Ok([self.step(&coords, dim, -steps), self.step(&coords, dim, steps)])
    }

    /// The neighbours below and above `rank` in each dimension; None is MPI_PROC_NULL.
    pub fn neighbors(&self, rank: u32) -> Vec<Option<u32>> {
        let coords = self.coords(rank);
        (0..self.dims.len()).flat_map(|dim| [-1, 1].map(|steps| self.step(&coords, dim, steps))).collect()
    }

    /// MPI_Cart_sub: the grid of the kept dimensions with `rank` in it, and for each of its ranks the rank in this
    /// grid.
    pub fn sub(&self, rank: u32, keeps: &[bool]) -> (Cart, Vec<u32>) {
        let dims = self.dims.iter().zip(keeps).filter(|&(_, &keep)| keep).map(|(dim, _)| *dim).collect();
        let (sub, mut coords) = (Cart { dims }, self.coords(rank));
        let ranks = (0..sub.cells())
            .map(|inner| {
                let mut at = sub.coords(inner).into_iter();
                let kept = coords.iter_mut().zip(keeps).filter(|&(_, &keep)| keep);
                kept.for_each(|(coord, _)| *coord = at.next().expect("a coordinate for each kept dimension"));
                self.rank_at(&coords)
            })
            .collect();
        (sub, ranks)
    }
}

impl Dim {
    /// Returns the coordinate `at`, moved inside if it is outside of a periodic dimension; None if it is outside of
    /// another one.
    fn wrap(&self, at: i64) -> Option<u32> {
        let size = i64::from(self.size);
        match (0..size).contains(&at) {
            true => Some(at as u32),
            false => self.periodic.then(|| at.rem_euclid(size) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cart(dims: &[i32], periods: &[i32]) -> Cart {
        Cart::new(dims, periods, 1000).unwrap()
    }

    #[test]
    fn ranks_and_coordinates_are_each_others_inverse() {
        let cart = cart(&[3, 1, 4, 2], &[0, 1, 1, 0]);
        for rank in 0..24 {
            let coords = cart.coords(rank);
            let signed: Vec<i32> = coords.iter().map(|&at| at as i32).collect();
            assert_eq!(cart.rank(&signed).unwrap(), rank);
        }
        assert_eq!(cart.coords(13), [1, 0, 2, 1], "the last one counts fastest");
        assert_eq!(cart.rank(&[2, -5, 7, 0]).unwrap(), cart.rank(&[2, 0, 3, 0]).unwrap());
        assert_eq!(cart.rank(&[2, 0, i32::MIN, 0]).unwrap(), cart.rank(&[2, 0, 0, 0]).unwrap());
        for outside in [[3, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 2]] {
            assert_eq!(cart.rank(&outside).unwrap_err().class(), Class::Arg);
        }
    }

    #[test]
    fn shifts_end_at_the_border_or_go_around() {
        let cart = cart(&[3, 4], &[0, 1]);
        assert_eq!(cart.shift(5, 0, 1).unwrap(), [Some(1), Some(9)]);
        assert_eq!(cart.shift(1, 0, 1).unwrap(), [None, Some(5)]);
        assert_eq!(cart.shift(1, 0, -1).unwrap(), [Some(5), None]);
        assert_eq!(cart.shift(4, 1, 1).unwrap(), [Some(7), Some(5)]);
        assert_eq!(cart.shift(4, 1, -7).unwrap(), [Some(7), Some(5)]);
        assert_eq!(cart.shift(4, 1, i32::MIN).unwrap(), [Some(4), Some(4)]);
        assert_eq!(cart.shift(4, 0, i32::MAX).unwrap(), [None, None]);
        assert_eq!(cart.shift(4, 0, 0).unwrap(), [Some(4), Some(4)]);
        assert_eq!(cart.neighbors(4), [Some(0), Some(8), Some(7), Some(5)]);
        for direction in [-1, 2] {
            assert_eq!(cart.shift(0, direction, 1).unwrap_err().class(), Class::Arg);
        }
    }

    #[test]
    fn sub_grids_have_the_ranks_that_share_the_other_coordinates() {
        let cart = cart(&[2, 3, 4], &[1, 0, 1]);
        let (plane, ranks) = cart.sub(17, &[true, false, true]);
        assert_eq!(ranks, [4, 5, 6, 7, 16, 17, 18, 19]);
        assert_eq!(plane.dims(), [Dim { size: 2, periodic: true }, Dim { size: 4, periodic: true }]);
        assert_eq!(cart.sub(17, &[false; 3]), (Cart { dims: vec![] }, vec![17]));
        assert_eq!(cart.sub(17, &[true; 3]).1, (0..24).collect::<Vec<_>>());
    }

    #[test]
    fn a_grid_without_dimensions_has_one_rank() {
        let cart = cart(&[], &[]);
        assert_eq!((cart.cells(), cart.rank(&[]).unwrap(), cart.neighbors(0)), (1, 0, vec![]));
        assert_eq!(cart.shift(0, 0, 1).unwrap_err().class(), Class::Topology);
    }

    #[test]
    fn wrong_grids_are_refused() {
        for bad in [[0, 2], [2, -1]] {
            assert_eq!(Cart::new(&bad, &[0, 0], 9).unwrap_err().class(), Class::Dims);
        }
        for large in [[5, 2], [1 << 16, 1 << 16], [i32::MAX, i32::MAX]] {
            assert_eq!(Cart::new(&large, &[0, 0], 9).unwrap_err().class(), Class::Arg);
        }
        assert_eq!(Cart::new(&[3, 3], &[0, 7], 9).unwrap().dims()[1], Dim { size: 3, periodic: true });
    }
}
