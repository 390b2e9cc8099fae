//! Memory that is used again by the next run of the checker. A run needs some thousand vectors, and the tests make
//! some hundred thousand runs.
//!
//! A vector from here is empty, but has the capacity that it had before. Each thread has vectors of its own.
//!
//! Used by `memory`, `message_queues`, `run`.

use super::memory::SymbolicCell;
use crate::schedule::Schedule;
use std::cell::RefCell;

#[derive(Default)]
struct Recycled {
    cells: Vec<Vec<SymbolicCell>>,
    marks: Vec<Vec<u32>>,
    schedules: Vec<Schedule>,
}

thread_local! {
    static RECYCLED: RefCell<Recycled> = RefCell::default();
}

pub fn cells() -> Vec<SymbolicCell> {
    RECYCLED.with_borrow_mut(|recycled| recycled.cells.pop()).unwrap_or_default()
}

pub fn marks() -> Vec<u32> {
    RECYCLED.with_borrow_mut(|recycled| recycled.marks.pop()).unwrap_or_default()
}

pub fn schedule() -> Schedule {
    RECYCLED.with_borrow_mut(|recycled| recycled.schedules.pop()).unwrap_or_default()
}

pub fn keep_cells(mut cells: Vec<SymbolicCell>) {
    if cells.capacity() > 0 {
        cells.clear();
        RECYCLED.with_borrow_mut(|recycled| recycled.cells.push(cells));
    }
}

pub fn keep_marks(mut marks: Vec<u32>) {
    if marks.capacity() > 0 {
        marks.clear();
        RECYCLED.with_borrow_mut(|recycled| recycled.marks.push(marks));
    }
}

pub fn keep_schedule(mut schedule: Schedule) {
    if !schedule.is_empty() {
        schedule.clear();
        RECYCLED.with_borrow_mut(|recycled| recycled.schedules.push(schedule));
    }
}
