//! The bounds and the layout of a type together. Every constructor computes them by four operations: repeat, join,
//! move, resize.
//!
//! No argument is checked here: `construct` and `array` do that first. Used by `construct`, `array`, `parameterised`
//! and `datatype`.

use crate::basic::{Basic, Repr, pair_index_at};
use crate::bounds::{Bounds, add};
use crate::layout::{Layout, LayoutBuilder, last_disp};
use hawser_base::Result;

#[derive(Clone, Debug)]
pub(crate) struct BoundedLayout {
    pub bounds: Bounds,
    pub layout: Layout,
}

impl BoundedLayout {
    pub const EMPTY: BoundedLayout = BoundedLayout { bounds: Bounds::EMPTY, layout: Layout::EMPTY };

    pub fn of_basic(basic: Basic) -> BoundedLayout {
        let layout = match basic.repr() {
            Repr::Marker => Layout::EMPTY,
            Repr::Pair(value, index) => pair_layout(value, index),
            repr => Layout::run(0, repr.size()),
        };
        BoundedLayout { bounds: Bounds::of_basic(basic), layout }
    }

    pub fn extent(&self) -> i64 {
        self.bounds.extent()
    }

    pub fn repeat(&self, count: u64, stride: i64) -> Result<BoundedLayout> {
        match count {
            0 => Ok(BoundedLayout::EMPTY),
            1 => Ok(self.clone()),
            _ => Ok(BoundedLayout {
                bounds: self.bounds.repeat(count, stride)?,
                layout: self.layout.repeat(count, stride)?,
            }),
        }
    }

    pub fn moved(&self, by: i64) -> Result<BoundedLayout> {
        Ok(BoundedLayout { bounds: self.bounds.spread(by, by)?, layout: self.layout.moved(by)? })
    }

    pub fn resized(&self, lb: i64, extent: i64) -> Result<BoundedLayout> {
        Ok(BoundedLayout { bounds: self.bounds.resized(lb, extent)?, layout: self.layout.clone() })
    }

    /// Joins blocks in typemap order. A block is a displacement, a number of copies, and the layout that is copied;
    /// the copies are one extent apart.
    pub fn join<'a>(blocks: impl Iterator<Item = (i64, u64, &'a BoundedLayout)>) -> Result<BoundedLayout> {
        let mut builder = LayoutBuilder::default();
        let mut bounds = Bounds::EMPTY;
        for (disp, count, child) in blocks.filter(|&(_, count, _)| count > 0) {
            let extent = child.extent();
            let last = add(disp, last_disp(count, extent)?, "displacement")?;
            bounds = bounds.join(child.bounds.spread(disp, last)?)?;
            builder.push(disp, count, &child.layout, extent)?;
        }
        Ok(BoundedLayout { bounds, layout: builder.finish()? })
    }
}

fn pair_layout(value: Basic, index: Basic) -> Layout {
    let mut builder = LayoutBuilder::default();
    let members = [(0, value), (pair_index_at(value, index) as i64, index)];
    for (disp, member) in members {
        let pushed = builder.push(disp, 1, &Layout::run(0, member.size()), member.extent() as i64);
        debug_assert!(pushed.is_ok(), "two scalars are small");
    }
    builder.finish().unwrap_or(Layout::EMPTY)
}
