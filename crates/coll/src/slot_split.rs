//! Blocks that are longer than a slot, cut for several exchanges.
//!
//! All ranks cut at the same bytes, whatever their types. Elements that fit the pieces are cut in place; others
//! travel packed in scratch memory: `send_blocks` packs them, `unpack_blocks` unpacks them. Used by the rows "host"
//! of allgather, alltoall, gather and scatter.

use crate::schedule::{Schedule, Span, SpanUnit};
use crate::tuning::Tuning;

/// Pieces are this many bytes, or a multiple: most types' elements fit them.
const PIECE_MULTIPLE: u64 = 64;

/// The cut of blocks into pieces.
#[derive(Clone, Copy)]
pub(crate) struct SlotSplit {
    /// Bytes of a piece.
    piece_bytes: u64,
}

/// A block with its memory.
#[derive(Clone, Copy)]
pub(crate) struct SplitBlock {
    span: Span,
    /// The bytes of one unit of the span.
    unit_bytes: u64,
    split: SlotSplit,
    /// The place of its data in the user's buffer, if `span` is in scratch memory.
    user_span: Option<Span>,
}

impl SlotSplit {
    /// Makes the cut for slots that hold pieces of `blocks` blocks.
    pub fn new(blocks: u32, t: &Tuning) -> SlotSplit {
        let slot_bytes = t.limits.shm_step_bytes / u64::from(blocks.max(1));
        SlotSplit {
            piece_bytes: if slot_bytes > PIECE_MULTIPLE {
                slot_bytes / PIECE_MULTIPLE * PIECE_MULTIPLE
            } else {
                slot_bytes.max(1)
            },
        }
    }

    /// Exchanges that blocks of up to `bytes` take.
    pub fn steps(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.piece_bytes).max(1)
    }

    /// Bytes of a block's piece.
    pub fn bytes(&self, block: u64, step: u64) -> u64 {
        block.saturating_sub(step * self.piece_bytes).min(self.piece_bytes)
    }

    /// Tells whether pieces of the block consist of whole elements of `unit` bytes.
    fn fits(&self, span: &Span, unit: u64) -> bool {
        span.count * unit <= self.piece_bytes
            || !matches!(span.unit, SpanUnit::Typed(_)) && self.piece_bytes.is_multiple_of(unit)
    }

    /// Blocks that are read piece by piece, with the bytes of a unit of each span.
    pub fn receive_blocks(&self, blocks: impl Iterator<Item = (Span, u64)>, s: &mut Schedule) -> Vec<SplitBlock> {
        let mut blocks: Vec<SplitBlock> = blocks
            .map(|(span, unit)| SplitBlock { span, unit_bytes: unit.max(1), split: *self, user_span: None })
            .collect();
        let is_unaligned = |block: &SplitBlock| !self.fits(&block.span, block.unit_bytes);
        let packed: u64 = blocks.iter().filter(|block| is_unaligned(block)).map(SplitBlock::bytes).sum();
        if packed > 0 {
            let (buffer, mut at) = (s.scratch_bytes(packed), 0);
            for block in blocks.iter_mut().filter(|block| is_unaligned(block)) {
                let (user_span, bytes) = (block.span, block.bytes());
                *block = SplitBlock {
                    span: Span::bytes(buffer, at, bytes),
                    unit_bytes: 1,
                    user_span: Some(user_span),
                    ..*block
                };
                at += bytes;
            }
        }
        blocks
    }

    /// Blocks that are written piece by piece.
    pub fn send_blocks(&self, blocks: impl Iterator<Item = (Span, u64)>, s: &mut Schedule) -> Vec<SplitBlock> {
        let blocks = self.receive_blocks(blocks, s);
        blocks.iter().for_each(|block| block.user_span.into_iter().for_each(|user_span| s.copy(user_span, block.span)));
        blocks
    }
}

/// Unpacks the blocks that arrived packed.
pub(crate) fn unpack_blocks(blocks: &[SplitBlock], s: &mut Schedule) {
    blocks.iter().for_each(|block| block.user_span.into_iter().for_each(|user_span| s.copy(block.span, user_span)));
}

impl SplitBlock {
    pub fn bytes(&self) -> u64 {
        self.span.count * self.unit_bytes
    }

    /// Bytes of a piece; 0 behind the last.
    pub fn len(&self, step: u64) -> u64 {
        self.split.bytes(self.bytes(), step)
    }

    pub fn piece(&self, step: u64) -> Span {
        match self.len(step) {
            0 => Span::EMPTY,
            len => {
                let before = step * self.split.piece_bytes / self.unit_bytes;
                Span { at: self.span.at + before as i64, count: len / self.unit_bytes, ..self.span }
            }
        }
    }
}
