//! The names that the entry points use.

pub(crate) use crate::abi::values;
pub(crate) use crate::binding::choice::{self, Choice};
pub(crate) use crate::binding::count::{self, entries, from_one};
pub(crate) use crate::binding::sentinels::{c_status, c_statuses, c_weights};
pub(crate) use crate::binding::types::*;
pub use std::ffi::{c_char, c_int, c_void};
pub use std::ptr;
