//! Memory that is used again: a run has some thousand pieces, and there are some hundred thousand runs.
//!
//! Memory comes from here empty, with the room that it had before. Each thread keeps its own.
//!
//! Used by `memory`, `pairs`, `run`.

use super::memory::Cell;
use crate::schedule::Schedule;
use std::cell::RefCell;

#[derive(Default)]
struct Spare {
    cells: Vec<Vec<Cell>>,
    marks: Vec<Vec<u32>>,
    schedules: Vec<Schedule>,
}

thread_local! {
    static SPARE: RefCell<Spare> = RefCell::default();
}

pub fn cells() -> Vec<Cell> {
    SPARE.with_borrow_mut(|spare| spare.cells.pop()).unwrap_or_default()
}

pub fn marks() -> Vec<u32> {
    SPARE.with_borrow_mut(|spare| spare.marks.pop()).unwrap_or_default()
}

pub fn schedule() -> Schedule {
    SPARE.with_borrow_mut(|spare| spare.schedules.pop()).unwrap_or_default()
}

pub fn keep_cells(mut cells: Vec<Cell>) {
    if cells.capacity() > 0 {
        cells.clear();
        SPARE.with_borrow_mut(|spare| spare.cells.push(cells));
    }
}

pub fn keep_marks(mut marks: Vec<u32>) {
    if marks.capacity() > 0 {
        marks.clear();
        SPARE.with_borrow_mut(|spare| spare.marks.push(marks));
    }
}

pub fn keep_schedule(mut schedule: Schedule) {
    if !schedule.is_empty() {
        schedule.clear();
        SPARE.with_borrow_mut(|spare| spare.schedules.push(schedule));
    }
}
