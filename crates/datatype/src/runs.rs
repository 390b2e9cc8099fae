//! The runs of a message as displacements and lengths, for MPIX_Type_iov. A run is a sequence of contiguous bytes.
//!
//! Runs come in packed order. They are not merged across copies of a pattern, except if the data of any number of
//! elements are one run. Used by `abi`.

use crate::datatype::Datatype;
use crate::layout::LayoutNode;

/// `len` bytes at displacement `disp` from the buffer's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataRun {
    pub disp: i64,
    pub len: u64,
}

/// Iterates over the runs of a message from a packed offset on.
#[derive(Clone)]
pub struct DataRuns<'a> {
    datatype: &'a Datatype,
    count: u64,
    offset: u64,
    total: u64,
}

impl Datatype {
    /// The runs of `count` elements from the packed byte `offset` on.
    pub fn runs(&self, count: u64, offset: u64) -> DataRuns<'_> {
        DataRuns { datatype: self, count, offset, total: self.packed_size(count) }
    }

    /// The number of runs that [`Datatype::runs`] gives from offset 0 on; at most u64::MAX, which no memory could
    /// hold.
    pub fn run_count(&self, count: u64) -> u64 {
        if self.is_dense() { u64::from(self.packed_size(count) > 0) } else { self.runs_in_one().saturating_mul(count) }
    }

    /// The packed offset at which run `index` of `count` elements starts; the end of the message if there is no such
    /// run.
    pub fn run_start(&self, count: u64, index: u64) -> u64 {
        let Some((_, node)) = self.bounded.layout.0.as_ref().filter(|_| index < self.run_count(count)) else {
            return self.packed_size(count);
        };
        if self.is_dense() {
            0
        } else {
            (index / node.runs()).saturating_mul(self.size()) + start_of(node, index % node.runs())
        }
    }

    /// The number of runs of `count` elements that end within the first `bytes` packed bytes (MPIX_Type_iov_len).
    pub fn runs_within(&self, count: u64, bytes: u64) -> u64 {
        let (mut low, mut high) = (0, self.run_count(count));
        // Starts ascend: run `i` ends within `bytes` if run `i + 1` starts at or before `bytes`.
        while low < high {
            let middle = low + (high - low) / 2;
            if self.run_start(count, middle + 1) <= bytes { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The packed offset at which run `index` of a pattern starts.
fn start_of(mut node: &LayoutNode, mut index: u64) -> u64 {
    let mut start = 0;
    loop {
        match node {
            LayoutNode::Loop { size, child, .. } => {
                start += index / child.runs() * size;
                index %= child.runs();
                node = child;
            }
            LayoutNode::Sequence { parts, .. } => {
                let (mut before, mut rest) = (0, &parts[..]);
                while let [part, more @ ..] = rest
                    && !more.is_empty()
                    && before + part.node.runs() <= index
                {
                    before += part.node.runs();
                    rest = more;
                }
                start += rest[0].start;
                index -= before;
                node = &rest[0].node;
            }
            flat => return start + flat.flat_run(index as usize).map_or(0, |(at, ..)| at),
        }
    }
}

impl DataRuns<'_> {
    /// The packed offset of the next run.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl Iterator for DataRuns<'_> {
    type Item = DataRun;

    #[inline]
    fn next(&mut self) -> Option<DataRun> {
        if self.offset >= self.total {
            return None;
        }
        let (disp, len) = self.datatype.run_at(self.count, self.offset);
        self.offset += len;
        Some(DataRun { disp, len })
    }
}
