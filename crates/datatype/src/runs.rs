//! The runs of a message as addresses see them: for single-copy transfers and MPIX_Type_iov.
//!
//! Runs come in packed order and are not merged across copies of a pattern. After it: `dev-shm`
//! (process_vm_readv) and `abi`.

use crate::datatype::Datatype;

/// `len` bytes at displacement `disp` from the buffer's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub disp: i64,
    pub len: u64,
}

/// Iterates over the runs of a message from a packed offset on.
#[derive(Clone)]
pub struct Runs<'a> {
    datatype: &'a Datatype,
    count: u64,
    offset: u64,
    total: u64,
}

impl Datatype {
    /// The runs of `count` elements from the packed byte `offset` on.
    pub fn runs(&self, count: u64, offset: u64) -> Runs<'_> {
        Runs { datatype: self, count, offset, total: self.packed_size(count) }
    }

    /// How many runs [`Datatype::runs`] gives from offset 0 on; capped where no memory could hold them.
    pub fn run_count(&self, count: u64) -> u64 {
        if self.is_dense() { u64::from(self.packed_size(count) > 0) } else { self.runs_in_one().saturating_mul(count) }
    }
}

impl Runs<'_> {
    /// The packed offset of the next run.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        if self.offset >= self.total {
            return None;
        }
        let (disp, len) = self.datatype.run_at(self.count, self.offset);
        self.offset += len;
        Some(Run { disp, len })
    }
}
