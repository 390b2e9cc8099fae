//! The constructors of derived types (MPI-5.0 §5.1.2): they check the arguments and compute bounds and layout.
//!
//! A constructor with `int` arguments and its `_c` form with MPI_Count are one function here; [`CountForm`] only
//! remembers which of them was called, for MPI_Type_get_contents. Used by `abi`; uses `bounded_layout`.

use crate::bounded_layout::BoundedLayout;
use crate::bounds::mul;
use crate::contents::{Constructor, CountForm};
use crate::datatype::Datatype;
use hawser_base::{Class, Error, Result};
use std::sync::Arc;

/// Checks a count argument.
pub(crate) fn count(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::new(Class::Count, format!("the count is {value}; it must not be negative")))
}

fn block_length(value: i64) -> Result<u64> {
    let text = || format!("a block length is {value}; it must not be negative");
    u64::try_from(value).map_err(|_| Error::new(Class::Arg, text()))
}

impl Datatype {
    pub fn dup(old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let new = Datatype::repeated(old.bounded.clone(), 1, old, Constructor::Dup(old.clone()), CountForm::Int)?;
        if old.is_committed() {
            new.commit();
        }
        Ok(new)
    }

    pub fn contiguous(n: i64, old: &Arc<Datatype>, form: CountForm) -> Result<Arc<Datatype>> {
        let copies = count(n)?;
        let bounded = old.bounded.repeat(copies, old.extent())?;
        Datatype::repeated(bounded, copies, old, Constructor::Contiguous { count: n, old: old.clone() }, form)
    }

    pub fn vector(
        n: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let blocks = (count(n)?, block_length(blocklength)?);
        // With at most one block the stride is not used, and so cannot be too large.
        let bytes = if blocks.0 > 1 { mul(stride, old.extent(), "stride")? } else { 0 };
        let constructor = Constructor::Vector { count: n, blocklength, stride, old: old.clone() };
        Datatype::derived(strided(blocks, bytes, old)?, old, constructor, form)
    }

    pub fn hvector(
        n: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let blocks = (count(n)?, block_length(blocklength)?);
        let constructor = Constructor::Hvector { count: n, blocklength, stride, old: old.clone() };
        Datatype::derived(strided(blocks, stride, old)?, old, constructor, form)
    }

    /// The displacements are in extents of `old`.
    pub fn indexed(lengths: &[i64], disps: &[i64], old: &Arc<Datatype>, form: CountForm) -> Result<Arc<Datatype>> {
        let bounded = blocks(lengths, disps, old.extent(), old)?;
        let constructor =
            Constructor::Indexed { blocklengths: lengths.into(), displacements: disps.into(), old: old.clone() };
        Datatype::derived(bounded, old, constructor, form)
    }

    /// The displacements are in bytes.
    pub fn hindexed(lengths: &[i64], disps: &[i64], old: &Arc<Datatype>, form: CountForm) -> Result<Arc<Datatype>> {
        let bounded = blocks(lengths, disps, 1, old)?;
        let constructor =
            Constructor::Hindexed { blocklengths: lengths.into(), displacements: disps.into(), old: old.clone() };
        Datatype::derived(bounded, old, constructor, form)
    }

    /// The displacements are in extents of `old`.
    pub fn indexed_block(
        blocklength: i64,
        disps: &[i64],
        old: &Arc<Datatype>,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let bounded = equal_blocks(blocklength, disps, old.extent(), old)?;
        let constructor = Constructor::IndexedBlock { blocklength, displacements: disps.into(), old: old.clone() };
        Datatype::derived(bounded, old, constructor, form)
    }

    /// The displacements are in bytes.
    pub fn hindexed_block(
        blocklength: i64,
        disps: &[i64],
        old: &Arc<Datatype>,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let bounded = equal_blocks(blocklength, disps, 1, old)?;
        let constructor = Constructor::HindexedBlock { blocklength, displacements: disps.into(), old: old.clone() };
        Datatype::derived(bounded, old, constructor, form)
    }

    /// MPI_Type_create_struct. Panics if `lengths`, `disps` and `types` differ in length.
    pub fn structure(
        lengths: &[i64],
        disps: &[i64],
        types: &[Arc<Datatype>],
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        assert!(lengths.len() == disps.len() && lengths.len() == types.len(), "one entry a block");
        let mut members = Vec::with_capacity(types.len());
        for (&length, member) in lengths.iter().zip(types) {
            members.push((block_length(length)?, &**member));
        }
        let blocks = disps.iter().zip(&members).map(|(&disp, (copies, member))| (disp, *copies, &member.bounded));
        let mut bounded = BoundedLayout::join(blocks)?;
        bounded.bounds = bounded.bounds.padded()?;
        let constructor =
            Constructor::Struct { blocklengths: lengths.into(), displacements: disps.into(), types: types.into() };
        Datatype::record(bounded, &members, constructor, form)
    }

    pub fn resized(lb: i64, extent: i64, old: &Arc<Datatype>, form: CountForm) -> Result<Arc<Datatype>> {
        let bounded = old.bounded.resized(lb, extent)?;
        Datatype::derived(bounded, old, Constructor::Resized { lb, extent, old: old.clone() }, form)
    }
}

fn strided((count, length): (u64, u64), stride: i64, old: &Datatype) -> Result<BoundedLayout> {
    old.bounded.repeat(length, old.extent())?.repeat(count, stride)
}

fn blocks(lengths: &[i64], disps: &[i64], unit: i64, old: &Datatype) -> Result<BoundedLayout> {
    assert!(lengths.len() == disps.len(), "one displacement a block");
    let mut list = Vec::with_capacity(disps.len());
    for (&length, &disp) in lengths.iter().zip(disps) {
        list.push(block(length, disp, unit)?);
    }
    BoundedLayout::join(list.iter().map(|&(disp, copies)| (disp, copies, &old.bounded)))
}

fn equal_blocks(length: i64, disps: &[i64], unit: i64, old: &Datatype) -> Result<BoundedLayout> {
    block_length(length)?;
    let mut list = Vec::with_capacity(disps.len());
    for &disp in disps {
        list.push(block(length, disp, unit)?);
    }
    BoundedLayout::join(list.iter().map(|&(disp, copies)| (disp, copies, &old.bounded)))
}

/// Returns the displacement of a block in bytes, and its number of copies. An empty block may have any displacement.
fn block(length: i64, disp: i64, unit: i64) -> Result<(i64, u64)> {
    match block_length(length)? {
        0 => Ok((0, 0)),
        copies => Ok((mul(disp, unit, "displacement")?, copies)),
    }
}
