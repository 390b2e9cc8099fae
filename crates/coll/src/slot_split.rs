//! The division of blocks that are longer than a slot into pieces, one for each of several exchanges.
//!
//! All ranks divide a block at the same bytes, whatever their datatypes are. If the pieces consist of whole elements,
//! they are pieces of the user's buffer; otherwise the block is packed in scratch memory: `send_blocks` packs blocks,
//! `unpack_blocks` unpacks them. Used by the algorithms "host" of allgather, alltoall, gather and scatter; uses
//! `schedule`.

use crate::schedule::{Schedule, Span, SpanUnit};
use crate::tuning::Tuning;

/// The length of a piece is a multiple of this number of bytes (if a slot has more), so that the elements of most
/// datatypes are not divided.
const PIECE_MULTIPLE: u64 = 64;

/// The length of the pieces into which blocks are divided.
#[derive(Clone, Copy)]
pub(crate) struct SlotSplit {
    /// The length of a piece, in bytes.
    piece_bytes: u64,
}

/// A block that is divided, with its memory.
#[derive(Clone, Copy)]
pub(crate) struct SplitBlock {
    span: Span,
    /// The length of one unit of the span, in bytes.
    unit_bytes: u64,
    split: SlotSplit,
    /// The span of the block in the user's buffer, if `span` is in scratch memory.
    user_span: Option<Span>,
}

impl SlotSplit {
    /// Makes the division for slots that must hold a piece of each of `blocks` blocks.
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

    /// Makes the division that leaves blocks of up to `bytes` bytes whole, for slots that hold all of them.
    pub fn whole(bytes: u64) -> SlotSplit {
        SlotSplit { piece_bytes: bytes.max(1) }
    }

    /// Returns the number of exchanges for blocks of up to `bytes` bytes: at least 1.
    pub fn steps(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.piece_bytes).max(1)
    }

    /// Returns the length in bytes of piece number `step` of a block of `block` bytes; 0 behind the last piece.
    pub fn bytes(&self, block: u64, step: u64) -> u64 {
        block.saturating_sub(step * self.piece_bytes).min(self.piece_bytes)
    }

    /// Tells whether every piece of the block consists of whole elements of `unit` bytes, so that the block need not
    /// be packed.
    fn fits(&self, span: &Span, unit: u64) -> bool {
        span.count * unit <= self.piece_bytes
            || !matches!(span.unit, SpanUnit::Typed(_)) && self.piece_bytes.is_multiple_of(unit)
    }

    /// Returns the blocks of a receiver for reading them piece by piece, each made of a span and the length of its
    /// units in bytes. Blocks whose elements would be divided get scratch memory.
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

    /// Returns the blocks of a sender for writing them piece by piece. Blocks whose elements would be divided are
    /// packed into scratch memory.
    pub fn send_blocks(&self, blocks: impl Iterator<Item = (Span, u64)>, s: &mut Schedule) -> Vec<SplitBlock> {
        let blocks = self.receive_blocks(blocks, s);
        blocks.iter().for_each(|block| block.user_span.into_iter().for_each(|user_span| s.copy(user_span, block.span)));
        blocks
    }
}

/// Unpacks the received blocks that are in scratch memory into the user's buffer.
pub(crate) fn unpack_blocks(blocks: &[SplitBlock], s: &mut Schedule) {
    blocks.iter().for_each(|block| block.user_span.into_iter().for_each(|user_span| s.copy(block.span, user_span)));
}

impl SplitBlock {
    pub fn bytes(&self) -> u64 {
        self.span.count * self.unit_bytes
    }

    /// Returns the length in bytes of piece number `step`; 0 behind the last piece.
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
