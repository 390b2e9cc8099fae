//! Categories: a tree that groups the variables by subject (MPI-5.0 §15.3.9). The tree never changes.
//!
//! Used by `abi::tool`.

use super::{checked_index, index_of_name, with};
use hawser_base::Result;
use std::ops::Range;

/// A category of variables.
pub(super) struct Category {
    pub name: &'static str,
    pub about: &'static str,
    /// The index of the category that contains this one; `None` at the top of the tree.
    pub parent: Option<usize>,
    /// The indices of the category's control variables; those of its performance variables are in `pvars`.
    pub cvars: Range<usize>,
    pub pvars: Range<usize>,
}

/// The kinds of members of a category.
#[derive(Clone, Copy)]
pub enum CategoryItem {
    Cvar,
    Pvar,
    Category,
}

/// The results of MPI_T_category_get_info.
pub struct CategoryInfo {
    pub name: &'static str,
    pub about: &'static str,
}

pub fn count() -> Result<usize> {
    with(|catalog, _| Ok(catalog.categories.len()))
}

pub fn info(index: i32) -> Result<CategoryInfo> {
    with(|catalog, _| {
        checked_index(&catalog.categories, index, "category")
            .map(|found| CategoryInfo { name: found.name, about: found.about })
    })
}

pub fn index(name: &[u8]) -> Result<usize> {
    with(|catalog, _| index_of_name(catalog.categories.iter().map(|category| category.name), name, "category"))
}

/// Returns the indices of the members of one kind in a category, without those of its subcategories.
pub fn members(index: i32, kind: CategoryItem) -> Result<Vec<usize>> {
    with(|catalog, _| {
        let category = checked_index(&catalog.categories, index, "category")?;
        let inside = |&child: &usize| catalog.categories[child].parent == Some(index as usize);
        Ok(match kind {
            CategoryItem::Cvar => category.cvars.clone().collect(),
            CategoryItem::Pvar => category.pvars.clone().collect(),
            CategoryItem::Category => (0..catalog.categories.len()).filter(inside).collect(),
        })
    })
}
