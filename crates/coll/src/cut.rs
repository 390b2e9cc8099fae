//! Blocks that are longer than a slot, cut for several exchanges.
//!
//! All ranks cut at the same bytes, whatever their types. Elements that fit the pieces are cut in place; others travel
//! packed in scratch memory: `given` packs them, `bring_home` unpacks them. Used by the rows "host" of allgather,
//! alltoall, gather and scatter.

use crate::schedule::{Schedule, Span, Unit};
use crate::tuning::Tuning;

/// Pieces are this many bytes, or a multiple: most types' elements fit them.
const GRAIN: u64 = 64;

/// The cut of blocks into pieces.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    /// Bytes of a piece.
    each: u64,
}

/// A block with its memory.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    span: Span,
    /// The bytes of one unit of the span.
    unit: u64,
    cut: Cut,
    /// The place of its data in the user's buffer, if `span` is in scratch memory.
    home: Option<Span>,
}

impl Cut {
    /// Makes the cut for slots that hold pieces of `blocks` blocks.
    pub fn new(blocks: u32, t: &Tuning) -> Cut {
        let room = t.limits.host_bytes / u64::from(blocks.max(1));
        Cut { each: if room > GRAIN { room / GRAIN * GRAIN } else { room.max(1) } }
    }

    /// Exchanges that blocks of up to `bytes` take.
    pub fn steps(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.each).max(1)
    }

    /// Bytes of a block's piece.
    pub fn bytes(&self, block: u64, step: u64) -> u64 {
        block.saturating_sub(step * self.each).min(self.each)
    }

    /// Tells whether pieces of the block consist of whole elements of `unit` bytes.
    fn fits(&self, span: &Span, unit: u64) -> bool {
        span.count * unit <= self.each || !matches!(span.unit, Unit::Typed(_)) && self.each.is_multiple_of(unit)
    }

    /// Blocks that are read piece by piece, with the bytes of a unit of each span.
    pub fn taken(&self, blocks: impl Iterator<Item = (Span, u64)>, s: &mut Schedule) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            blocks.map(|(span, unit)| Block { span, unit: unit.max(1), cut: *self, home: None }).collect();
        let odd = |block: &Block| !self.fits(&block.span, block.unit);
        let packed: u64 = blocks.iter().filter(|block| odd(block)).map(Block::bytes).sum();
        if packed > 0 {
            let (buffer, mut at) = (s.scratch_bytes(packed), 0);
            for block in blocks.iter_mut().filter(|block| odd(block)) {
                let (home, bytes) = (block.span, block.bytes());
                *block = Block { span: Span::bytes(buffer, at, bytes), unit: 1, home: Some(home), ..*block };
                at += bytes;
            }
        }
        blocks
    }

    /// Blocks that are written piece by piece.
    pub fn given(&self, blocks: impl Iterator<Item = (Span, u64)>, s: &mut Schedule) -> Vec<Block> {
        let blocks = self.taken(blocks, s);
        blocks.iter().for_each(|block| block.home.into_iter().for_each(|home| s.copy(home, block.span)));
        blocks
    }
}

/// Unpacks the blocks that arrived packed.
pub(crate) fn bring_home(blocks: &[Block], s: &mut Schedule) {
    blocks.iter().for_each(|block| block.home.into_iter().for_each(|home| s.copy(block.span, home)));
}

impl Block {
    pub fn bytes(&self) -> u64 {
        self.span.count * self.unit
    }

    /// Bytes of a piece; 0 behind the last.
    pub fn len(&self, step: u64) -> u64 {
        self.cut.bytes(self.bytes(), step)
    }

    pub fn piece(&self, step: u64) -> Span {
        match self.len(step) {
            0 => Span::EMPTY,
            len => {
                let before = step * self.cut.each / self.unit;
                Span { at: self.span.at + before as i64, count: len / self.unit, ..self.span }
            }
        }
    }
}
