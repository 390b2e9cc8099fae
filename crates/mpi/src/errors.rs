//! Being written.

/// Being written.
#[derive(Default)]
pub struct Errors {}
