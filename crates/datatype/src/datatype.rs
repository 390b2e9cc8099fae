//! A datatype: its bounds and layout, its size and its constructor. It is immutable except for the commit flag, and
//! shared by `Arc`.
//!
//! `mpi` keeps the names, attributes and reference counts that the application sees. `construct`, `array` and
//! `parameterised` make types; `pack`, `elements`, `contents` and `reduce` use them.

use crate::basic::{Basic, Repr};
use crate::bounded_layout::BoundedLayout;
use crate::contents::{Constructor, CountForm};
use crate::walk::{self, RunVisitor};
use hawser_base::{Class, Error, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// The maximum nesting of types that are built on types. Walks and drops recurse once for each level; at some 200
/// bytes of stack a level this stays within the smallest stacks that threads are given (256 KiB).
const MAX_NESTING: u32 = 512;

pub struct Datatype {
    size: u64,
    pub(crate) bounded: BoundedLayout,
    /// Whether the data of any number of elements are one run of contiguous bytes.
    dense: bool,
    /// The number of basic elements in one element (MPI_Get_elements).
    elements: u64,
    /// The number of bytes of one element in external32. It is at most `size`, because no basic type is longer in
    /// external32.
    external_size: u64,
    /// If an element is an array of one predefined type, that type and the number of its elements: a reduction
    /// computes with them.
    unit: Option<(Basic, u64)>,
    pub(crate) constructor: Constructor,
    pub(crate) form: CountForm,
    nesting: u32,
    committed: AtomicBool,
}

static BASICS: LazyLock<Vec<Arc<Datatype>>> =
    LazyLock::new(|| Basic::ALL.iter().map(|&basic| Arc::new(Datatype::named(basic))).collect());

impl Datatype {
    /// Returns the predefined type, which is the same object every time.
    #[inline]
    pub fn basic(basic: Basic) -> &'static Arc<Datatype> {
        &BASICS[basic as usize]
    }

    fn named(basic: Basic) -> Datatype {
        let unit = (!matches!(basic.repr(), Repr::Marker)).then_some((basic, 1));
        Datatype::scalar(
            BoundedLayout::of_basic(basic),
            (basic.elements(), basic.external_size()),
            unit,
            Constructor::Named(basic),
        )
    }

    /// Makes a type that is not built on another, with these numbers of basic elements and external bytes. It is
    /// committed from the start.
    pub(crate) fn scalar(
        bounded: BoundedLayout,
        (elements, external_size): (u64, u64),
        unit: Option<(Basic, u64)>,
        constructor: Constructor,
    ) -> Datatype {
        let (size, dense) = (bounded.layout.size(), is_dense(&bounded));
        let committed = AtomicBool::new(true);
        Datatype {
            size,
            bounded,
            dense,
            elements,
            external_size,
            unit,
            constructor,
            form: CountForm::Int,
            nesting: 0,
            committed,
        }
    }

    /// Makes a type of copies of `old` at any displacements.
    pub(crate) fn derived(
        bounded: BoundedLayout,
        old: &Datatype,
        constructor: Constructor,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let copies = bounded.layout.size().checked_div(old.size).unwrap_or(0);
        let packed_row = is_dense(&bounded) && old.dense && bounded.bounds.lb() == 0 && bounded.bounds.true_lb() == 0;
        let unit = old.unit.filter(|_| packed_row && copies > 0).map(|(unit, n)| (unit, n * copies));
        Datatype::build(bounded, copies_of(copies, old), unit, constructor, form, old.nesting)
    }

    /// Makes a type of `copies` copies of `old`, one extent of `old` apart.
    pub(crate) fn repeated(
        bounded: BoundedLayout,
        copies: u64,
        old: &Datatype,
        constructor: Constructor,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        let unit = old.unit.filter(|_| copies > 0).map(|(unit, n)| (unit, n * copies));
        Datatype::build(bounded, copies_of(copies, old), unit, constructor, form, old.nesting)
    }

    /// Makes a struct. `blocks` are its members, each with its number of copies.
    pub(crate) fn record(
        bounded: BoundedLayout,
        blocks: &[(u64, &Datatype)],
        constructor: Constructor,
        form: CountForm,
    ) -> Result<Arc<Datatype>> {
        // Neither sum exceeds the struct's size, which was checked.
        let counted = blocks.iter().map(|(copies, member)| copies_of(*copies, member));
        let counted = counted.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        let nesting = blocks.iter().map(|(_, member)| member.nesting).max().unwrap_or(0);
        Datatype::build(bounded, counted, None, constructor, form, nesting)
    }

    fn build(
        bounded: BoundedLayout,
        (elements, external_size): (u64, u64),
        unit: Option<(Basic, u64)>,
        constructor: Constructor,
        form: CountForm,
        nesting: u32,
    ) -> Result<Arc<Datatype>> {
        if nesting >= MAX_NESTING {
            let text = format!("datatypes are nested more than {MAX_NESTING} deep; build this type from flatter ones");
            return Err(Error::new(Class::Type, text));
        }
        let (size, dense) = (bounded.layout.size(), is_dense(&bounded));
        let committed = AtomicBool::new(false);
        Ok(Arc::new(Datatype {
            size,
            bounded,
            dense,
            elements,
            external_size,
            unit,
            constructor,
            form,
            nesting: nesting + 1,
            committed,
        }))
    }

    /// Bytes of data in one element (MPI_Type_size).
    #[inline(always)]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of bytes of data in `count` elements; at most u64::MAX, which no memory could hold.
    #[inline(always)]
    pub fn packed_size(&self, count: u64) -> u64 {
        self.size.saturating_mul(count)
    }

    #[inline]
    pub fn lb(&self) -> i64 {
        self.bounded.bounds.lb()
    }

    #[inline]
    pub fn ub(&self) -> i64 {
        self.bounded.bounds.ub()
    }

    #[inline]
    pub fn extent(&self) -> i64 {
        self.bounded.extent()
    }

    pub fn true_lb(&self) -> i64 {
        self.bounded.bounds.true_lb()
    }

    pub fn true_extent(&self) -> i64 {
        self.bounded.bounds.true_extent()
    }

    /// The largest alignment of the basic types in the type.
    pub fn align(&self) -> u64 {
        self.bounded.bounds.align()
    }

    /// Basic elements in one element (MPI_Get_elements).
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes of one element in external32 (MPI_Pack_external_size); `count` elements take `count` times as much.
    pub fn external_size(&self) -> u64 {
        self.external_size
    }

    /// The displacement and the length of the data of `count` elements; None if they are not one run.
    #[inline]
    pub fn is_contiguous(&self, count: u64) -> Option<(i64, u64)> {
        if self.dense {
            return Some((self.bounded.bounds.true_lb(), self.packed_size(count)));
        }
        if self.size == 0 || count == 0 {
            return Some((0, 0));
        }
        let (disp, node) = self.bounded.layout.0.as_ref()?;
        node.run_len().filter(|_| count == 1).map(|len| (*disp, len))
    }

    /// MPI_Type_commit. It only sets a flag, because the layout of a type is compiled when the type is made.
    pub fn commit(&self) {
        // Relaxed: the flag publishes nothing. The rest of the type is immutable, and code that passes the type to
        // another thread orders that.
        self.committed.store(true, Relaxed);
    }

    #[inline]
    pub fn is_committed(&self) -> bool {
        // Pairs with the store in `commit`; see there.
        self.committed.load(Relaxed)
    }

    /// Whether the application may not free the type (MPI-5.0 §5.1.9): it has a name, or MPI_Type_create_f90_real or
    /// its like returned it.
    pub fn is_predefined(&self) -> bool {
        matches!(
            self.constructor,
            Constructor::Named(_)
                | Constructor::F90Real { .. }
                | Constructor::F90Complex { .. }
                | Constructor::F90Integer { .. }
        )
    }

    /// The predefined type, if this is one; None for a type that is built on one.
    pub fn as_basic(&self) -> Option<Basic> {
        match self.constructor {
            Constructor::Named(basic) => Some(basic),
            _ => None,
        }
    }

    /// If an element is an array of one predefined type, that type and the number of its elements: predefined
    /// operations need them.
    pub(crate) fn unit(&self) -> Option<(Basic, u64)> {
        self.unit
    }

    /// Passes the runs that hold the packed bytes `from .. to` (not empty, inside the message) of `count` elements to
    /// `visitor`.
    #[inline]
    pub(crate) fn walk<S: RunVisitor>(&self, count: u64, from: u64, to: u64, visitor: &mut S) {
        let Some((disp, node)) = &self.bounded.layout.0 else { return };
        if self.dense {
            return visitor.run(disp.wrapping_add(from as i64), to - from);
        }
        match node.run_len() {
            _ if count == 1 => walk::walk(node, *disp, from, to, visitor),
            Some(len) => walk::strided(len, self.extent(), *disp, from, to, visitor),
            None => walk::repeated(node, self.size, self.extent(), *disp, from, to, visitor),
        }
    }

    /// Returns the part of a run that begins with the packed byte `offset` (inside the message): displacement and
    /// length.
    pub(crate) fn run_at(&self, count: u64, offset: u64) -> (i64, u64) {
        let Some((disp, node)) = &self.bounded.layout.0 else { return (0, 0) };
        if self.dense {
            return (disp.wrapping_add(offset as i64), self.packed_size(count) - offset);
        }
        let element = ((offset / self.size) as i64).wrapping_mul(self.extent());
        walk::run_at(node, disp.wrapping_add(element), offset % self.size)
    }

    /// The number of runs in one element.
    pub(crate) fn runs_in_one(&self) -> u64 {
        self.bounded.layout.0.as_ref().map_or(0, |(_, node)| node.runs())
    }

    /// Tells whether any number of elements is one run.
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }
}

impl std::fmt::Debug for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} of {} bytes, lb {}, extent {}",
            self.constructor.combiner(),
            self.size,
            self.lb(),
            self.extent()
        )
    }
}

/// The numbers of basic elements and of external bytes in `copies` copies of a type. Both are zero for a type without
/// data, such as a marker.
fn copies_of(copies: u64, of: &Datatype) -> (u64, u64) {
    if of.size == 0 { (0, 0) } else { (copies * of.elements, copies * of.external_size) }
}

fn is_dense(bounded: &BoundedLayout) -> bool {
    let run = bounded.layout.0.as_ref().and_then(|(_, node)| node.run_len());
    run.is_some_and(|len| len as i64 == bounded.extent())
}
