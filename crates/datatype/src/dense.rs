//! Messages that are one run of memory: nearly all of them, and the ones whose latency counts.

use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::UserMem;

impl Datatype {
    /// The memory of `count` elements at `user` if it is one run. Empty messages are one empty run.
    #[inline]
    pub fn memory(&self, user: UserPtr, count: u64) -> Option<UserMem> {
        let (disp, len) = self.is_contiguous(count)?;
        // SAFETY: all bytes of `count` elements were vouched for by whoever made the UserPtr.
        Some(unsafe { user.view(disp, len as usize) })
    }
}
