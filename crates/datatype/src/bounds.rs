//! Lower and upper bounds of a typemap, with MPI's markers and padding, in checked arithmetic.
//!
//! A bound set by a marker (MPI_Type_create_resized, MPI_LB, MPI_UB) beats every bound that follows from
//! data, also in types built on top (MPI-5.0 §5.1.7). Nothing here may wrap: what does not fit is an error.

use crate::basic::{Basic, Repr};
use hawser_base::{Class, Error, Result};

/// The error of a computed size, bound or displacement that does not fit in MPI_Count.
#[cold]
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(
        Class::ValueTooLarge,
        format!("the {what} of the new datatype does not fit in 63 bits; use smaller counts or displacements"),
    )
}

pub(crate) fn add(a: i64, b: i64, what: &str) -> Result<i64> {
    a.checked_add(b).ok_or_else(|| too_large(what))
}

pub(crate) fn mul(a: i64, b: i64, what: &str) -> Result<i64> {
    a.checked_mul(b).ok_or_else(|| too_large(what))
}

/// The product of two sizes; an error if it does not fit in MPI_Count.
pub(crate) fn mul_size(a: u64, b: u64) -> Result<u64> {
    a.checked_mul(b).filter(|&size| size <= i64::MAX as u64).ok_or_else(|| too_large("size"))
}

/// The sum of two sizes; an error if it does not fit in MPI_Count.
pub(crate) fn add_size(a: u64, b: u64) -> Result<u64> {
    a.checked_add(b).filter(|&size| size <= i64::MAX as u64).ok_or_else(|| too_large("size"))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BoundValue {
    value: i64,
    is_marker: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// The lower and the upper bound; None in an empty typemap.
    lb_ub: Option<(BoundValue, BoundValue)>,
    /// The displacements of the first byte of data and of the byte behind the last one; None without data.
    data: Option<(i64, i64)>,
    /// The largest alignment of the basic types in the typemap.
    align: u64,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { lb_ub: None, data: None, align: 1 };

    pub const fn of_basic(basic: Basic) -> Bounds {
        let extent = basic.extent() as i64;
        let marker = matches!(basic.repr(), Repr::Marker);
        let low = BoundValue { value: 0, is_marker: marker && matches!(basic, Basic::Lb) };
        let high = BoundValue { value: extent, is_marker: marker && matches!(basic, Basic::Ub) };
        Bounds { lb_ub: Some((low, high)), data: None, align: basic.align() }.with_data(basic)
    }

    const fn with_data(mut self, basic: Basic) -> Bounds {
        let end = match basic.repr() {
            Repr::Marker => return self,
            Repr::Pair(value, index) => crate::basic::pair_index_at(value, index) + index.size(),
            repr => repr.size(),
        };
        self.data = Some((0, end as i64));
        self
    }

    pub fn lb(&self) -> i64 {
        self.lb_ub.map_or(0, |(low, _)| low.value)
    }

    pub fn ub(&self) -> i64 {
        self.lb_ub.map_or(0, |(_, high)| high.value)
    }

    pub fn extent(&self) -> i64 {
        self.ub() - self.lb()
    }

    pub fn true_lb(&self) -> i64 {
        self.data.map_or(0, |(first, _)| first)
    }

    pub fn true_extent(&self) -> i64 {
        self.data.map_or(0, |(first, end)| end - first)
    }

    pub fn align(&self) -> u64 {
        self.align
    }

    /// Returns the bounds of copies at several displacements; `a` and `b` are the smallest and the largest
    /// displacement, in either order.
    pub fn spread(&self, a: i64, b: i64) -> Result<Bounds> {
        let (least, most) = (a.min(b), a.max(b));
        let mut new = *self;
        if let Some((low, high)) = &mut new.lb_ub {
            low.value = add(low.value, least, "lower bound")?;
            high.value = add(high.value, most, "upper bound")?;
        }
        if let Some((first, end)) = &mut new.data {
            *first = add(*first, least, "true lower bound")?;
            *end = add(*end, most, "true upper bound")?;
        }
        new.checked()
    }

    /// Returns the bounds of `count` copies (at least one), `stride` bytes apart.
    pub fn repeat(&self, count: u64, stride: i64) -> Result<Bounds> {
        debug_assert!(count > 0);
        if self.lb_ub.is_none() {
            return Ok(*self);
        }
        let steps = i64::try_from(count - 1).map_err(|_| too_large("count"))?;
        self.spread(0, mul(steps, stride, "extent")?)
    }

    /// Returns the bounds of the two typemaps joined. A bound that a marker set beats one that follows from data.
    pub fn join(self, other: Bounds) -> Result<Bounds> {
        let lb_ub = match (self.lb_ub, other.lb_ub) {
            (Some((l1, h1)), Some((l2, h2))) => Some((lower(l1, l2), higher(h1, h2))),
            (lb_ub, None) | (None, lb_ub) => lb_ub,
        };
        let data = match (self.data, other.data) {
            (Some((f1, e1)), Some((f2, e2))) => Some((f1.min(f2), e1.max(e2))),
            (data, None) | (None, data) => data,
        };
        Bounds { lb_ub, data, align: self.align.max(other.align) }.checked()
    }

    /// Moves the upper bound of a struct up until the extent is a multiple of the alignment (MPI-5.0 §5.1, ε). An
    /// upper bound that a marker set is not moved.
    pub fn padded(mut self) -> Result<Bounds> {
        let extent = self.extent();
        if let Some((_, high)) = &mut self.lb_ub
            && !high.is_marker
        {
            let over = extent.rem_euclid(self.align as i64);
            let gap = if over == 0 { 0 } else { self.align as i64 - over };
            high.value = add(high.value, gap, "upper bound")?;
        }
        self.checked()
    }

    /// Replaces the lower and the upper bound by markers.
    pub fn resized(mut self, lb: i64, extent: i64) -> Result<Bounds> {
        let ub = add(lb, extent, "upper bound")?;
        self.lb_ub = Some((BoundValue { value: lb, is_marker: true }, BoundValue { value: ub, is_marker: true }));
        self.checked()
    }

    /// Checks that the extents, which are differences of bounds, fit in MPI_Count, so that the queries need not
    /// check.
    fn checked(self) -> Result<Bounds> {
        self.ub().checked_sub(self.lb()).ok_or_else(|| too_large("extent"))?;
        if let Some((first, end)) = self.data {
            end.checked_sub(first).ok_or_else(|| too_large("true extent"))?;
        }
        Ok(self)
    }
}

fn lower(a: BoundValue, b: BoundValue) -> BoundValue {
    if a.is_marker == b.is_marker {
        if a.value <= b.value { a } else { b }
    } else if a.is_marker {
        a
    } else {
        b
    }
}

fn higher(a: BoundValue, b: BoundValue) -> BoundValue {
    if a.is_marker == b.is_marker {
        if a.value >= b.value { a } else { b }
    } else if a.is_marker {
        a
    } else {
        b
    }
}
