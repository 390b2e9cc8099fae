//! One buffer of one rank: its symbolic cells, the layout of its elements, and marks of the cells that steps of a
//! round touch. Used by `run`, `expressions` and tests; uses `recycled`.

use super::recycled;
use crate::schedule::{Span, SpanUnit};
use std::ops::Range;

/// The identity of a byte, or of an element of a reduction.
pub type SymbolicCell = u64;

/// A cell that was never written, or whose contents a reduction has used up.
pub const UNWRITTEN: SymbolicCell = 0;
/// A cell in the gap between the data of elements, which no step may read or write.
pub const GAP: SymbolicCell = 1;

/// The layout of a datatype: an element has `extent` cells, of which the first `size` are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellLayout {
    pub size: usize,
    pub extent: usize,
}

impl CellLayout {
    pub const CELL: CellLayout = CellLayout { size: 1, extent: 1 };

    pub const fn is_dense(self) -> bool {
        self.size == self.extent
    }
}

/// A user buffer or scratch memory.
#[derive(Clone, Debug)]
pub struct SymbolicMemory {
    pub cells: Vec<SymbolicCell>,
    pub layout: CellLayout,
    /// The layout for each rank (MPI_Alltoallw); otherwise empty.
    pub typed: Vec<CellLayout>,
    pub writable: bool,
    /// For each cell, the latest round that touched it (shifted left by one bit), and in the lowest bit whether it
    /// wrote the cell.
    marks: Vec<u32>,
}

/// The cells of a span: `count` runs of `len` cells each, which begin `stride` cells apart.
#[derive(Clone, Copy, Debug)]
struct CellRuns {
    start: usize,
    len: usize,
    stride: usize,
    count: usize,
}

impl CellRuns {
    fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.count).map(move |i| self.start + i * self.stride..self.start + i * self.stride + self.len)
    }

    fn end(&self) -> usize {
        if self.count == 0 { self.start } else { self.start + (self.count - 1) * self.stride + self.len }
    }
}

impl Drop for SymbolicMemory {
    fn drop(&mut self) {
        recycled::keep_cells(std::mem::take(&mut self.cells));
        recycled::keep_marks(std::mem::take(&mut self.marks));
    }
}

impl SymbolicMemory {
    pub fn new(content: impl IntoIterator<Item = SymbolicCell>, layout: CellLayout, writable: bool) -> SymbolicMemory {
        let (mut cells, mut marks) = (recycled::cells(), recycled::marks());
        cells.extend(content);
        marks.resize(cells.len(), 0);
        SymbolicMemory { cells, layout, typed: Vec::new(), writable, marks }
    }

    /// Makes the memory of a buffer that does not exist on a rank.
    pub fn none() -> SymbolicMemory {
        let (cells, marks, typed) = (Vec::new(), Vec::new(), Vec::new());
        SymbolicMemory { cells, layout: CellLayout::CELL, typed, writable: false, marks }
    }

    /// Returns the number of cells of data in `span`.
    pub fn volume(&self, span: &Span) -> Result<usize, String> {
        self.runs(span).map(|p| p.count * p.len)
    }

    fn runs(&self, span: &Span) -> Result<CellRuns, String> {
        if span.is_empty() {
            return Ok(CellRuns { start: 0, len: 0, stride: 0, count: 0 });
        }
        let outside = || format!("{span:?} lies outside its buffer of {} cells", self.cells.len());
        let at = usize::try_from(span.at).map_err(|_| outside())?;
        let count = span.count as usize;
        let elements = |layout: CellLayout, start: usize| match layout.is_dense() {
            true => CellRuns { start, len: count * layout.size, stride: 0, count: 1 },
            false => CellRuns { start, len: layout.size, stride: layout.extent, count },
        };
        let found = match span.unit {
            SpanUnit::Element => elements(self.layout, at * self.layout.extent),
            SpanUnit::Typed(rank) => elements(*self.typed.get(rank as usize).ok_or("not a call of MPI_Alltoallw")?, at),
            SpanUnit::Byte if self.layout.is_dense() => CellRuns { start: at, len: count, stride: 0, count: 1 },
            SpanUnit::Byte => return Err(format!("{span:?} counts bytes in a buffer that is not dense")),
        };
        if found.end() > self.cells.len() { Err(outside()) } else { Ok(found) }
    }

    /// Appends the data of `span` to `out`. Fails if a cell was never written.
    pub fn read(&self, span: &Span, out: &mut Vec<SymbolicCell>) -> Result<(), String> {
        let found = self.runs(span)?;
        let is_written = match found.count {
            1 => {
                let cells = &self.cells[found.start..found.start + found.len];
                out.extend_from_slice(cells);
                cells.iter().all(|&cell| cell > GAP)
            }
            _ => {
                let before = out.len();
                out.extend(found.ranges().flat_map(|range| &self.cells[range]));
                out[before..].iter().all(|&cell| cell > GAP)
            }
        };
        if is_written { Ok(()) } else { Err(format!("{span:?} is read where it was never written")) }
    }

    pub fn write(&mut self, span: &Span, data: &[SymbolicCell]) -> Result<(), String> {
        if !self.writable {
            return Err(format!("{span:?} is written"));
        }
        let found = self.runs(span)?;
        if found.count * found.len != data.len() {
            return Err(format!("{} cells arrive in {span:?}", data.len()));
        }
        if found.count == 1 {
            self.cells[found.start..found.start + found.len].copy_from_slice(data);
            return Ok(());
        }
        let mut data = data.iter();
        for range in found.ranges() {
            self.cells[range].iter_mut().zip(&mut data).for_each(|(cell, new)| *cell = *new);
        }
        Ok(())
    }

    /// Marks the cells of `span` as unwritten, because a reduction has used them up.
    pub fn spend(&mut self, span: &Span) -> Result<(), String> {
        for range in self.runs(span)?.ranges() {
            self.cells[range].fill(UNWRITTEN);
        }
        Ok(())
    }

    /// Records that a communication step of round `epoch` reads or writes `span`. Fails if another step of the same
    /// round has touched a cell of it, except if both only read.
    pub fn touch(&mut self, span: &Span, epoch: u32, writes: bool) -> Result<(), String> {
        for range in self.runs(span)?.ranges() {
            for mark in &mut self.marks[range] {
                if *mark >> 1 == epoch && (writes || *mark & 1 == 1) {
                    return Err(format!("{span:?} overlaps another step of its round"));
                }
                *mark = epoch << 1 | u32::from(writes);
            }
        }
        Ok(())
    }

    /// Tells whether two spans of this buffer overlap. The gaps between elements count as parts of a span.
    pub fn overlap(&self, a: &Span, b: &Span) -> Result<bool, String> {
        let (a, b) = (self.runs(a)?, self.runs(b)?);
        Ok(a.start < b.end() && b.start < a.end())
    }
}
