//! MPI_Dims_create: writes a number of ranks as a balanced product.
//!
//! The dimensions are in descending order, and the difference between the largest and the smallest is the least
//! possible. Among products with the same difference the one with the largest last dimension is chosen. If there are
//! several, it is the one with the smallest first dimension, among these the one with the smallest second, and so on.
//! MPICH gives the same results (compared for every number up to 3000 in 2 to 6 dimensions).
//!
//! Used by `abi::topology`.

use hawser_base::{Class, Error, Result};

/// Fills in the dimensions that are zero, so that the product of all is `ranks` (MPI_ERR_ARG, MPI_ERR_DIMS).
pub fn create(ranks: i32, dims: &mut [i32]) -> Result<()> {
    if ranks < 1 {
        return Err(Error::new(Class::Arg, format!("nnodes is {ranks}; a grid has at least one node")));
    }
    if let Some((i, dim)) = dims.iter().enumerate().find(|&(_, &dim)| dim < 0) {
        let text = format!("dims[{i}] is {dim}; pass 0 to have it chosen, or a positive number");
        return Err(Error::new(Class::Dims, text));
    }
    let fixed = dims.iter().filter(|&&dim| dim > 0).try_fold(1i32, |product, &dim| product.checked_mul(dim));
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    match fixed {
        // Without dimensions nothing is filled in and nothing is an error, as in MPICH.
        _ if dims.is_empty() => Ok(()),
        Some(fixed) if ranks % fixed == 0 && (free > 0 || fixed == ranks) => {
            let chosen = most_balanced((ranks / fixed) as u32, free);
            let zeros = dims.iter_mut().filter(|dim| **dim == 0);
            zeros.zip(chosen).for_each(|(dim, chosen)| *dim = chosen as i32);
            Ok(())
        }
        _ => {
            let requested = dims.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let text = format!("no dimensions that match {requested} have the product {ranks}; set more of them to 0");
            Err(Error::new(Class::Dims, text))
        }
    }
}

/// The factors of the most balanced product of `count` factors that is `n`.
fn most_balanced(n: u32, count: usize) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let divisors = divisors(n);
    let primes =
        divisors.iter().copied().filter(|&d| d > 1 && divisors.iter().all(|&e| e == 1 || e >= d || d % e != 0));
    let mut search = DimsSearch { primes: primes.collect(), divisors, chosen: Vec::with_capacity(count), best: None };
    search.choose(n, count, n);
    search.best.expect("n times ones is a product")
}

fn divisors(n: u32) -> Vec<u32> {
    let low: Vec<u32> =
        (1..).take_while(|&d: &u32| u64::from(d) * u64::from(d) <= n.into()).filter(|&d| n.is_multiple_of(d)).collect();
    let high = low.iter().rev().map(|d| n / d).filter(|&d| u64::from(d) * u64::from(d) > n.into());
    low.iter().copied().chain(high).collect()
}

/// The search among all products, with factors in descending order, that could be the best one.
struct DimsSearch {
    divisors: Vec<u32>,
    primes: Vec<u32>,
    chosen: Vec<u32>,
    best: Option<Vec<u32>>,
}

impl DimsSearch {
    /// Adds `count` more factors to `chosen`: their product is `rest`, and each is at most `most`.
    fn choose(&mut self, rest: u32, count: usize, most: u32) {
        if count == 0 {
            self.compare_with_best();
            return;
        }
        for i in 0..self.divisors.len() {
            let dim = self.divisors[i];
            let first = *self.chosen.first().unwrap_or(&dim);
            let best_range = self.best.as_ref().map_or(u32::MAX, |best| range_of(best));
            // With `dim` as the first dimension, the last one is at most the `count`-th root of `rest`. Once `dim`
            // exceeds that root by more than the best difference, no larger `dim` can do better.
            if dim > most
                || dim > rest
                || (self.chosen.is_empty() && first.saturating_sub(root(rest, count)) > best_range)
            {
                break;
            }
            // No later factor is larger than `dim`, and each prime factor of `rest` must divide one of them: so it
            // must not be above `dim`.
            let holds = |&prime: &u32| prime <= dim || !rest.is_multiple_of(prime);
            let divides = rest.is_multiple_of(dim) && power_reaches(dim, count, rest) && self.primes.iter().all(holds);
            if divides && first - dim <= best_range {
                self.chosen.push(dim);
                self.choose(rest / dim, count - 1, dim);
                self.chosen.pop();
            }
        }
    }

    fn compare_with_best(&mut self) {
        let rank = |dims: &[u32]| (range_of(dims), u32::MAX - dims[dims.len() - 1]);
        let better = |best: &Vec<u32>| (rank(&self.chosen), &self.chosen) < (rank(best), best);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(self.chosen.clone());
        }
    }
}

fn range_of(dims: &[u32]) -> u32 {
    dims[0] - dims[dims.len() - 1]
}

/// Tells whether `dim` to the power of `count` is at least `n`.
fn power_reaches(dim: u32, count: usize, n: u32) -> bool {
    let mut power = 1u64;
    (0..count).any(|_| {
        power *= u64::from(dim);
        power >= n.into()
    }) || n <= 1
}

/// The largest number whose `count`-th power is at most `n`, or one more: because of rounding the caller must accept
/// both.
fn root(n: u32, count: usize) -> u32 {
    f64::from(n).powf(1.0 / count as f64).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(ranks: i32, mut dims: Vec<i32>) -> Result<Vec<i32>> {
        create(ranks, &mut dims).map(|()| dims)
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(dims(6, vec![0, 0]).unwrap(), [3, 2]);
        assert_eq!(dims(7, vec![0, 0]).unwrap(), [7, 1]);
        assert_eq!(dims(6, vec![0, 3, 0]).unwrap(), [2, 3, 1]);
        assert_eq!(dims(7, vec![0, 3, 0]).unwrap_err().class(), Class::Dims);
    }

    /// The results of MPICH 5.0.2 where rules differ.
    #[test]
    fn ties_are_broken_as_mpich_does() {
        let cases: [(i32, &[i32]); 13] = [
            (360, &[10, 6, 6]),
            (1008, &[12, 12, 7]),
            (1800, &[9, 8, 5, 5]),
            (2160, &[10, 6, 6, 6]),
            (2520, &[10, 7, 6, 6]),
            (5040, &[21, 16, 15]),
            (20, &[5, 2, 2, 1]),
            (10080, &[12, 12, 10, 7]),
            (110880, &[56, 45, 44]),
            (720720, &[33, 30, 28, 26]),
            (6000000, &[50, 50, 50, 48]),
            (99991, &[99991, 1, 1]),
            (1 << 18, &[32, 32, 16, 16]),
        ];
        for (ranks, want) in cases {
            assert_eq!(dims(ranks, vec![0; want.len()]).unwrap(), want);
        }
    }

    /// The rule by itself: every product, by brute force.
    #[test]
    fn no_product_is_better() {
        fn all(n: u32, count: usize, most: u32) -> Vec<Vec<u32>> {
            if count == 0 {
                return if n == 1 { vec![vec![]] } else { vec![] };
            }
            let with = |d: u32| all(n / d, count - 1, d).into_iter().map(move |rest| [vec![d], rest].concat());
            (1..=n.min(most)).filter(|&d| n.is_multiple_of(d)).flat_map(with).collect()
        }
        for n in 1..=400 {
            for count in 1..=4 {
                let key = |dims: &Vec<u32>| (range_of(dims), u32::MAX - dims[count - 1], dims.clone());
                let best = all(n, count, n).into_iter().min_by_key(key).unwrap();
                assert_eq!(most_balanced(n, count), best);
            }
        }
    }

    /// Numbers with the most divisors, in as many dimensions as programs use.
    #[test]
    fn large_numbers_are_quick() {
        for ranks in [735_134_400, i32::MAX, 1 << 30, 2_095_133_040] {
            for count in 1..=12 {
                let found = dims(ranks, vec![0; count]).unwrap();
                assert_eq!(found.iter().product::<i32>(), ranks);
                assert!(found.is_sorted_by(|a, b| a >= b));
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for ranks in [0, -4] {
            assert_eq!(dims(ranks, vec![0]).unwrap_err().class(), Class::Arg);
        }
        for wrong in [vec![2, 2], vec![4, 0], vec![-1, 0], vec![i32::MAX, i32::MAX, 2], vec![7]] {
            assert_eq!(dims(6, wrong).unwrap_err().class(), Class::Dims);
        }
        assert_eq!(dims(6, vec![2, 3]).unwrap(), [2, 3]);
        assert_eq!(dims(6, vec![]).unwrap(), []);
        assert_eq!(dims(1, vec![0, 1, 0]).unwrap(), [1, 1, 1]);
    }
}
