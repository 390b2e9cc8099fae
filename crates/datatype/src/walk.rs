//! Goes over the part of a layout that holds the packed bytes `from .. to`, run by run in packed order.
//!
//! Finding the first run takes one division for each loop and one binary search for each sequence, so that any
//! fragment of a message can be requested at any time without state. Displacements wrap like addresses: the
//! application vouched for its buffer (`UserPtr`), and the bounds of a layout are checked when it is built.

use crate::layout::LayoutNode;

/// An action on runs. A run is `len` contiguous bytes at displacement `disp`.
pub(crate) trait RunVisitor {
    fn run(&mut self, disp: i64, len: u64);

    /// `count` whole runs of `len` bytes, `stride` apart.
    fn strided(&mut self, disp: i64, count: u64, len: u64, stride: i64);

    /// Whole runs of `len` bytes at `disp` plus each of `disps`.
    fn indexed_block(&mut self, disp: i64, disps: &[i64], len: u64);

    /// `count` whole copies of `record`, which has few runs, `stride` apart.
    fn records(&mut self, disp: i64, count: u64, stride: i64, record: &LayoutNode);
}

/// The maximum number of runs in a record, and the maximum number of bytes from one record to the next. A record is a
/// pattern that recurs; an array of records is copied run by run, each run over many records. Measured
/// (examples/pack_speed.rs): if the copies are farther apart, as in the planes of an array, going over them again for
/// every run costs more cache lines than it saves.
const RECORD_RUNS: u64 = 32;
const RECORD_STRIDE_BYTES: u64 = 2048;

fn is_record(node: &LayoutNode, stride: i64) -> bool {
    node.is_flat() && node.runs() <= RECORD_RUNS && stride.unsigned_abs() <= RECORD_STRIDE_BYTES
}

#[inline(always)]
fn step(disp: i64, index: u64, stride: i64) -> i64 {
    disp.wrapping_add((index as i64).wrapping_mul(stride))
}

/// Passes the packed bytes `from .. to` of `node` at `disp` to `visitor`; `from < to <= node.size()`.
pub(crate) fn walk<S: RunVisitor>(node: &LayoutNode, disp: i64, from: u64, to: u64, visitor: &mut S) {
    debug_assert!(from < to && to <= node.size());
    match node {
        LayoutNode::Strided { count: 1, .. } => visitor.run(disp.wrapping_add(from as i64), to - from),
        LayoutNode::Strided { len, stride, .. } => strided(*len, *stride, disp, from, to, visitor),
        LayoutNode::IndexedBlock { len, disps } => indexed_block(*len, disps, disp, from, to, visitor),
        LayoutNode::Indexed { starts, disps } => indexed(starts, disps, disp, from, to, visitor),
        LayoutNode::Loop { stride, size, child, .. } => repeated(child, *size, *stride, disp, from, to, visitor),
        LayoutNode::Sequence { parts, .. } => {
            let mut at = from;
            for part in &parts[first_at(from, parts.len(), |i| parts[i].start)..] {
                if at >= to {
                    break;
                }
                let end = (part.start + part.node.size()).min(to);
                walk(&part.node, disp.wrapping_add(part.disp), at - part.start, end - part.start, visitor);
                at = end;
            }
        }
    }
}

/// Returns the index of the last of `n` entries that start at or before `offset`; the first entry starts at 0.
fn first_at(offset: u64, n: usize, start: impl Fn(usize) -> u64) -> usize {
    if offset == 0 {
        return 0;
    }
    let (mut low, mut high) = (0, n);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if start(middle) <= offset { low = middle } else { high = middle }
    }
    low
}

/// Passes the packed bytes `from .. to` of runs of `len` bytes, `stride` apart, to `visitor`.
pub(crate) fn strided<S: RunVisitor>(len: u64, stride: i64, disp: i64, from: u64, to: u64, visitor: &mut S) {
    let (mut index, inside) = if from == 0 { (0, 0) } else { (from / len, from % len) };
    let mut left = to - from;
    if inside > 0 {
        let head = (len - inside).min(left);
        visitor.run(step(disp, index, stride).wrapping_add(inside as i64), head);
        left -= head;
        index += 1;
    }
    let whole = left / len;
    if whole > 0 {
        visitor.strided(step(disp, index, stride), whole, len, stride);
        left -= whole * len;
        index += whole;
    }
    if left > 0 {
        visitor.run(step(disp, index, stride), left);
    }
}

fn indexed_block<S: RunVisitor>(len: u64, disps: &[i64], disp: i64, from: u64, to: u64, visitor: &mut S) {
    let (mut index, inside) = ((from / len) as usize, from % len);
    let mut left = to - from;
    if inside > 0 {
        let head = (len - inside).min(left);
        visitor.run(disp.wrapping_add(disps[index]).wrapping_add(inside as i64), head);
        left -= head;
        index += 1;
    }
    let whole = (left / len) as usize;
    if whole > 0 {
        visitor.indexed_block(disp, &disps[index..index + whole], len);
        left -= whole as u64 * len;
        index += whole;
    }
    if left > 0 {
        visitor.run(disp.wrapping_add(disps[index]), left);
    }
}

fn indexed<S: RunVisitor>(starts: &[u64], disps: &[i64], disp: i64, from: u64, to: u64, visitor: &mut S) {
    let mut index = first_at(from, disps.len(), |i| starts[i]);
    let mut at = from;
    while at < to {
        let end = starts[index + 1].min(to);
        visitor.run(disp.wrapping_add(disps[index]).wrapping_add((at - starts[index]) as i64), end - at);
        at = end;
        index += 1;
    }
}

/// Passes the packed bytes `from .. to` of copies of `child` (of `size` bytes), `stride` apart, to `visitor`.
pub(crate) fn repeated<S: RunVisitor>(
    child: &LayoutNode,
    size: u64,
    stride: i64,
    disp: i64,
    from: u64,
    to: u64,
    visitor: &mut S,
) {
    let (mut index, inside) = if from == 0 { (0, 0) } else { (from / size, from % size) };
    let mut left = to - from;
    if inside > 0 {
        let head = (size - inside).min(left);
        walk(child, step(disp, index, stride), inside, inside + head, visitor);
        left -= head;
        index += 1;
    }
    let whole = left / size;
    if whole > 1 && is_record(child, stride) {
        visitor.records(step(disp, index, stride), whole, stride, child);
    } else {
        for i in index..index + whole {
            walk(child, step(disp, i, stride), 0, size, visitor);
        }
    }
    left -= whole * size;
    if left > 0 {
        walk(child, step(disp, index + whole, stride), 0, left, visitor);
    }
}

/// Returns the part of a run that begins with the packed byte `offset` of `node` at `disp`: the displacement of that
/// byte, and the number of bytes from it to the end of the run.
pub(crate) fn run_at(mut node: &LayoutNode, mut disp: i64, mut offset: u64) -> (i64, u64) {
    loop {
        match node {
            LayoutNode::Strided { len, stride, .. } => {
                let inside = offset % len;
                return (step(disp, offset / len, *stride).wrapping_add(inside as i64), len - inside);
            }
            LayoutNode::IndexedBlock { len, disps } => {
                let inside = offset % len;
                let at = disp.wrapping_add(disps[(offset / len) as usize]);
                return (at.wrapping_add(inside as i64), len - inside);
            }
            LayoutNode::Indexed { starts, disps } => {
                let index = first_at(offset, disps.len(), |i| starts[i]);
                let inside = offset - starts[index];
                let at = disp.wrapping_add(disps[index]);
                return (at.wrapping_add(inside as i64), starts[index + 1] - offset);
            }
            LayoutNode::Loop { stride, size, child, .. } => {
                disp = step(disp, offset / size, *stride);
                offset %= size;
                node = child;
            }
            LayoutNode::Sequence { parts, .. } => {
                let part = &parts[first_at(offset, parts.len(), |i| parts[i].start)];
                disp = disp.wrapping_add(part.disp);
                offset -= part.start;
                node = &part.node;
            }
        }
    }
}
