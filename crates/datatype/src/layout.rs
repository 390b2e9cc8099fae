//! The layout of a type's data, compiled: loops stay loops, adjacent runs are merged, dense data are one run. A run
//! is a sequence of contiguous bytes.
//!
//! Trees are immutable and share their subtrees, so that a type that is built on others needs memory only for its new
//! nodes. Offsets count packed bytes, displacements count bytes from the buffer's address. Built by `bounded_layout`;
//! used by `walk`, which goes over a part of a layout.

use crate::bounds::{add, add_size, mul, mul_size, too_large};
use hawser_base::Result;
use std::sync::Arc;

/// A pattern of runs, in packed order. Displacements are relative to one that is kept beside the node.
#[derive(Debug)]
pub(crate) enum LayoutNode {
    /// `count` runs of `len` bytes, `stride` apart. One run of any length is the usual case.
    Strided { count: u64, len: u64, stride: i64 },
    /// Runs of `len` bytes at listed displacements.
    IndexedBlock { len: u64, disps: Box<[i64]> },
    /// Runs of different lengths: run `i` holds the packed bytes `starts[i] .. starts[i + 1]`.
    Indexed { starts: Box<[u64]>, disps: Box<[i64]> },
    /// `count` copies of a pattern of `size` bytes, `stride` apart, with `runs` runs in all.
    Loop { count: u64, stride: i64, size: u64, runs: u64, child: Arc<LayoutNode> },
    /// Different patterns, one behind the other in packed order.
    Sequence { size: u64, runs: u64, parts: Box<[SequencePart]> },
}

#[derive(Debug)]
pub(crate) struct SequencePart {
    /// The packed offset of the part's first byte in the sequence.
    pub start: u64,
    pub disp: i64,
    pub node: Arc<LayoutNode>,
}

impl LayoutNode {
    pub fn size(&self) -> u64 {
        match self {
            LayoutNode::Strided { count, len, .. } => count * len,
            LayoutNode::IndexedBlock { len, disps } => len * disps.len() as u64,
            LayoutNode::Indexed { starts, .. } => starts[starts.len() - 1],
            LayoutNode::Loop { count, size, .. } => count * size,
            LayoutNode::Sequence { size, .. } => *size,
        }
    }

    /// The number of runs. It never exceeds the size, because each run has at least one byte.
    pub fn runs(&self) -> u64 {
        match self {
            LayoutNode::Strided { count, .. } => *count,
            LayoutNode::IndexedBlock { disps, .. } | LayoutNode::Indexed { disps, .. } => disps.len() as u64,
            LayoutNode::Loop { runs, .. } | LayoutNode::Sequence { runs, .. } => *runs,
        }
    }

    /// The length of the pattern if it is one run; otherwise None.
    #[inline]
    pub fn run_len(&self) -> Option<u64> {
        match self {
            LayoutNode::Strided { count: 1, len, .. } => Some(*len),
            _ => None,
        }
    }

    /// Tells whether the pattern is a list of runs, with no patterns below it.
    #[inline]
    pub fn is_flat(&self) -> bool {
        matches!(self, LayoutNode::Strided { .. } | LayoutNode::IndexedBlock { .. } | LayoutNode::Indexed { .. })
    }

    /// The packed offset, displacement and length of run `i` of a flat pattern; None if the pattern is not flat.
    #[inline]
    pub fn flat_run(&self, i: usize) -> Option<(u64, i64, u64)> {
        match self {
            LayoutNode::Strided { len, stride, .. } => Some((len * i as u64, stride.wrapping_mul(i as i64), *len)),
            LayoutNode::IndexedBlock { len, disps } => Some((len * i as u64, disps[i], *len)),
            LayoutNode::Indexed { starts, disps } => Some((starts[i], disps[i], starts[i + 1] - starts[i])),
            LayoutNode::Loop { .. } | LayoutNode::Sequence { .. } => None,
        }
    }

    fn run(len: u64) -> LayoutNode {
        LayoutNode::Strided { count: 1, len, stride: len as i64 }
    }
}

/// A pattern and the displacement of its origin; None if there is no data.
#[derive(Clone, Debug)]
pub(crate) struct Layout(pub Option<(i64, Arc<LayoutNode>)>);

impl Layout {
    pub const EMPTY: Layout = Layout(None);

    pub fn run(disp: i64, len: u64) -> Layout {
        Layout((len > 0).then(|| (disp, Arc::new(LayoutNode::run(len)))))
    }

    pub fn size(&self) -> u64 {
        self.0.as_ref().map_or(0, |(_, node)| node.size())
    }

    pub fn moved(&self, by: i64) -> Result<Layout> {
        let Some((disp, node)) = &self.0 else { return Ok(Layout::EMPTY) };
        Ok(Layout(Some((add(*disp, by, "displacement")?, node.clone()))))
    }

    /// Returns the layout of `count` copies, `stride` bytes apart.
    pub fn repeat(&self, count: u64, stride: i64) -> Result<Layout> {
        let Some((disp, child)) = &self.0 else { return Ok(Layout::EMPTY) };
        if count <= 1 {
            return Ok(if count == 0 { Layout::EMPTY } else { self.clone() });
        }
        let total = mul_size(count, child.size())?;
        let node = match **child {
            LayoutNode::Strided { count: 1, len, .. } if stride == len as i64 => LayoutNode::run(total),
            LayoutNode::Strided { count: 1, len, .. } => LayoutNode::Strided { count, len, stride },
            LayoutNode::Strided { count: inner, len, stride: step }
                if step.checked_mul(inner as i64) == Some(stride) =>
            {
                LayoutNode::Strided { count: count * inner, len, stride: step }
            }
            _ => {
                let runs = count * child.runs();
                LayoutNode::Loop { count, stride, size: child.size(), runs, child: child.clone() }
            }
        };
        Ok(Layout(Some((*disp, Arc::new(node)))))
    }
}

/// A piece of the pattern that a `LayoutBuilder` builds.
enum LayoutPiece {
    Run { disp: i64, len: u64 },
    Pattern { disp: i64, node: Arc<LayoutNode> },
}

impl LayoutPiece {
    fn disp(&self) -> i64 {
        match self {
            LayoutPiece::Run { disp, .. } | LayoutPiece::Pattern { disp, .. } => *disp,
        }
    }

    fn size(&self) -> u64 {
        match self {
            LayoutPiece::Run { len, .. } => *len,
            LayoutPiece::Pattern { node, .. } => node.size(),
        }
    }
}

/// Joins blocks of layouts in packed order and finds the simplest pattern for them.
#[derive(Default)]
pub(crate) struct LayoutBuilder {
    pieces: Vec<LayoutPiece>,
    size: u64,
    /// The last repetition that was made, to be used again: consecutive blocks of indexed types are often equal.
    last: Option<RepeatedLayout>,
}

/// A repetition (`node`), and the three arguments from which it was made. The extent is an argument and no property
/// of the node `of`: a resized type shares the node of the type from which it was made.
struct RepeatedLayout {
    of: Arc<LayoutNode>,
    count: u64,
    extent: i64,
    node: Arc<LayoutNode>,
}

impl LayoutBuilder {
    /// Appends `count` copies of `child`, `extent` apart, the first at `disp`.
    pub fn push(&mut self, disp: i64, count: u64, child: &Layout, extent: i64) -> Result<()> {
        let Some((inner, node)) = &child.0 else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        self.size = add_size(self.size, mul_size(count, node.size())?)?;
        let disp = add(disp, *inner, "displacement")?;
        if let Some(len) = node.run_len()
            && (count == 1 || extent == len as i64)
        {
            self.push_run(disp, len * count);
            return Ok(());
        }
        let node = self.repeated(node, count, extent)?;
        self.pieces.push(LayoutPiece::Pattern { disp, node });
        Ok(())
    }

    fn push_run(&mut self, disp: i64, len: u64) {
        if let Some(LayoutPiece::Run { disp: before, len: last_len }) = self.pieces.last_mut()
            && before.checked_add(*last_len as i64) == Some(disp)
        {
            *last_len += len;
        } else {
            self.pieces.push(LayoutPiece::Run { disp, len });
        }
    }

    /// Returns the node of `count` copies of `node`, `extent` apart. Calls in succession with equal arguments return
    /// the same node, because `common_node` recognises equal pieces by the address of their node.
    fn repeated(&mut self, node: &Arc<LayoutNode>, count: u64, extent: i64) -> Result<Arc<LayoutNode>> {
        let same = |last: &&RepeatedLayout| Arc::ptr_eq(&last.of, node) && (last.count, last.extent) == (count, extent);
        if let Some(last) = self.last.as_ref().filter(same) {
            return Ok(last.node.clone());
        }
        let (_, new) = Layout(Some((0, node.clone()))).repeat(count, extent)?.0.ok_or_else(|| too_large("size"))?;
        self.last = Some(RepeatedLayout { of: node.clone(), count, extent, node: new.clone() });
        Ok(new)
    }

    pub fn finish(self) -> Result<Layout> {
        let Some(first) = self.pieces.first() else { return Ok(Layout::EMPTY) };
        let (origin, stride) = (first.disp(), self.stride());
        if let Some(child) = self.common_node() {
            let count = self.pieces.len() as u64;
            if let Some(stride) = stride {
                return Layout(Some((origin, child))).repeat(count, stride);
            }
            if let Some(len) = child.run_len() {
                let disps = self.pieces.iter().map(LayoutPiece::disp).collect();
                return Ok(Layout(Some((0, Arc::new(LayoutNode::IndexedBlock { len, disps })))));
            }
        }
        let node = if self.pieces.iter().all(|p| matches!(p, LayoutPiece::Run { .. })) {
            self.into_indexed()
        } else {
            self.into_sequence()
        };
        Ok(Layout(Some((0, Arc::new(node)))))
    }

    /// Returns the pattern of which all pieces are copies; None if the pieces differ.
    fn common_node(&self) -> Option<Arc<LayoutNode>> {
        match self.pieces.first()? {
            LayoutPiece::Run { len: first, .. } => self
                .pieces
                .iter()
                .all(|p| matches!(p, LayoutPiece::Run { len, .. } if len == first))
                .then(|| Arc::new(LayoutNode::run(*first))),
            LayoutPiece::Pattern { node: first, .. } => self
                .pieces
                .iter()
                .all(|p| matches!(p, LayoutPiece::Pattern { node, .. } if Arc::ptr_eq(node, first)))
                .then(|| first.clone()),
        }
    }

    /// Returns the distance from each piece to the next if it is always the same (0 for a single piece); otherwise
    /// None.
    fn stride(&self) -> Option<i64> {
        let mut pairs = self.pieces.windows(2).map(|w| w[1].disp().checked_sub(w[0].disp()));
        let Some(first) = pairs.next() else { return Some(0) };
        first.filter(|_| pairs.all(|d| d == first))
    }

    fn into_indexed(self) -> LayoutNode {
        let mut starts = Vec::with_capacity(self.pieces.len() + 1);
        let mut at = 0;
        for piece in &self.pieces {
            starts.push(at);
            at += piece.size();
        }
        starts.push(at);
        LayoutNode::Indexed { starts: starts.into(), disps: self.pieces.iter().map(LayoutPiece::disp).collect() }
    }

    fn into_sequence(self) -> LayoutNode {
        let mut parts = Vec::with_capacity(self.pieces.len());
        let (mut start, mut runs) = (0, 0);
        for piece in self.pieces {
            let (disp, size) = (piece.disp(), piece.size());
            let node = match piece {
                LayoutPiece::Run { len, .. } => Arc::new(LayoutNode::run(len)),
                LayoutPiece::Pattern { node, .. } => node,
            };
            runs += node.runs();
            parts.push(SequencePart { start, disp, node });
            start += size;
        }
        LayoutNode::Sequence { size: start, runs, parts: parts.into() }
    }
}

/// Returns the displacement of the last copy of a repetition; an error if it does not fit in MPI_Count.
pub(crate) fn last_disp(count: u64, stride: i64) -> Result<i64> {
    let steps = i64::try_from(count.saturating_sub(1)).map_err(|_| too_large("count"))?;
    mul(steps, stride, "displacement")
}
