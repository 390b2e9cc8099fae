//! Messages whose data are one run of memory. Nearly all messages are, above all those whose latency matters.

use crate::basic::Basic;
use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::UserMem;

/// Bytes of one element of each predefined type whose elements have no gaps; 0 for the others.
static DENSE: [u8; Basic::ALL.len()] = {
    let mut sizes = [0; Basic::ALL.len()];
    let mut i = 0;
    while i < sizes.len() {
        let (size, extent) = (Basic::ALL[i].size(), Basic::ALL[i].extent());
        if size == extent {
            sizes[i] = size as u8;
        }
        i += 1;
    }
    sizes
};

impl Basic {
    /// Returns the memory of `count` elements at `user`; None if the elements have gaps, if `count` is 0, or if it
    /// needs more than 32 bits.
    #[inline(always)]
    pub fn memory<'a>(self, user: UserPtr<'a>, count: u64) -> Option<UserMem<'a>> {
        let len = u64::from(DENSE[self as usize]) * (count & u64::from(u32::MAX));
        if len == 0 || count > u64::from(u32::MAX) {
            return None;
        }
        // SAFETY: the maker of the UserPtr vouched for all bytes of `count` elements.
        Some(unsafe { user.view(0, len as usize) })
    }
}

impl Datatype {
    /// Returns the memory of `count` elements at `user`; None if it is not one run. An empty message is one empty
    /// run.
    #[inline]
    pub fn memory<'a>(&self, user: UserPtr<'a>, count: u64) -> Option<UserMem<'a>> {
        let (disp, len) = self.is_contiguous(count)?;
        // SAFETY: the maker of the UserPtr vouched for all bytes of `count` elements.
        Some(unsafe { user.view(disp, len as usize) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_cut_for_predefined_types_says_what_the_type_says() {
        let bytes = [0u8; 64];
        // SAFETY: never read or written here.
        let user = unsafe { UserPtr::new(bytes.as_ptr()) };
        for &basic in Basic::ALL {
            for count in [0, 1, 2, 1 << 33] {
                let datatype = Datatype::basic(basic).memory(user, count);
                match basic.memory(user, count) {
                    Some(mem) => assert_eq!(Some(mem), datatype, "{} x {count}", basic.name()),
                    None => assert!(
                        count * basic.size() == 0 || count > 2 || basic.size() != basic.extent(),
                        "{}",
                        basic.name()
                    ),
                }
            }
        }
    }
}
