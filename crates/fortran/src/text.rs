//! Character arguments. Fortran passes an address and, behind all other arguments, a length; it pads with blanks. C
//! wants a NUL at the end.
//!
//! Used by the entry points; uses nothing.

use std::ffi::c_char;
use std::ptr;

/// The length of a character argument: gfortran (since 8) and flang pass it as `size_t`.
pub type Length = usize;

/// A character argument as a C string.
#[derive(Debug)]
pub struct Text(Vec<u8>);

impl Text {
    /// Copies a character argument without the blanks at its end.
    ///
    /// # Safety
    /// `from` points to `length` characters, or `length` is 0.
    pub unsafe fn of(from: *const c_char, length: Length) -> Text {
        // SAFETY: the caller's promise.
        Self::terminated(unsafe { without_blanks_behind(from, length) })
    }

    /// Copies a character argument without the blanks at both ends, as keys and values of an info are (MPI-5.0 §10),
    /// and programs to start and their arguments (§11.8.2).
    ///
    /// # Safety
    /// The same as for `of`.
    pub unsafe fn trimmed(from: *const c_char, length: Length) -> Text {
        // SAFETY: the caller's promise.
        let all = unsafe { without_blanks_behind(from, length) };
        let blanks = all.iter().take_while(|&&c| c == b' ').count();
        Self::terminated(&all[blanks..])
    }

    fn terminated(text: &[u8]) -> Text {
        // A NUL within the argument ends it, as in every C string.
        let text = text.split(|&c| c == 0).next().unwrap_or_default();
        let mut all = Vec::with_capacity(text.len() + 1);
        all.extend_from_slice(text);
        all.push(0);
        Text(all)
    }

    /// Returns the C string, which lives as long as this value. C functions take some as `char *` and write none.
    pub fn as_ptr(&self) -> *mut c_char {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Says whether there are no characters in it.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 1
    }
}

/// # Safety
/// The same as for `Text::of`.
unsafe fn without_blanks_behind<'a>(from: *const c_char, length: Length) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    let all = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) };
    let end = all.iter().rposition(|&c| c != b' ').map_or(0, |last| last + 1);
    &all[..end]
}

/// Room for a string that a C function writes.
#[derive(Debug)]
pub struct TextOut(Vec<u8>);

impl TextOut {
    /// Makes room for `size` characters, the NUL included.
    pub fn new(size: usize) -> TextOut {
        TextOut(vec![0; size.max(1)])
    }

    pub fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Copies the C string to a character argument: cut off at its length, or padded with blanks.
    ///
    /// # Safety
    /// `to` points to `length` characters that may be written, or `length` is 0.
    pub unsafe fn store(&self, to: *mut c_char, length: Length) {
        let end = self.0.iter().position(|&c| c == 0).unwrap_or(self.0.len());
        let copied = end.min(length);
        // SAFETY: the caller's promise; `copied` is at most `length` and at most what is in `self`.
        unsafe {
            ptr::copy_nonoverlapping(self.0.as_ptr(), to.cast::<u8>(), copied);
            ptr::write_bytes(to.cast::<u8>().add(copied), b' ', length - copied);
        }
    }
}

/// The arguments of a program to start: C strings and the null-terminated array of their addresses.
#[derive(Debug)]
pub struct TextArray {
    addresses: Vec<*mut c_char>,
    /// The strings that `addresses` points to.
    _texts: Vec<Text>,
}

impl TextArray {
    /// Copies the elements of a character array, up to the first that is blank, or `limit` of them. Their addresses are
    /// `stride` characters apart.
    ///
    /// # Safety
    /// The elements up to the first blank one, or `limit` of them, have `length` characters each.
    pub unsafe fn of(from: *const c_char, length: Length, stride: usize, limit: Option<usize>) -> TextArray {
        let mut texts = Vec::new();
        while limit.is_none_or(|limit| texts.len() < limit) {
            // SAFETY: the caller's promise: no element before this one was blank.
            let text = unsafe { Text::trimmed(from.add(texts.len() * stride), length) };
            if limit.is_none() && text.is_empty() {
                break;
            }
            texts.push(text);
        }
        let addresses = texts.iter().map(Text::as_ptr).chain([ptr::null_mut()]).collect();
        TextArray { addresses, _texts: texts }
    }

    /// Returns the array, which ends with a null pointer and lives as long as this value.
    pub fn as_mut_ptr(&mut self) -> *mut *mut c_char {
        self.addresses.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn text(of: &str, trimmed: bool) -> String {
        let from = of.as_ptr().cast();
        // SAFETY: a string of that length.
        let text = unsafe { if trimmed { Text::trimmed(from, of.len()) } else { Text::of(from, of.len()) } };
        // SAFETY: `text` ends with a NUL.
        unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn blanks_behind_are_padding_and_blanks_before_are_text_but_in_an_info() {
        assert_eq!(text("  a b  ", false), "  a b");
        assert_eq!(text("  a b  ", true), "a b");
        assert_eq!(text("    ", true), "");
        assert_eq!(text("", false), "");
        assert_eq!(text("ab\0cd", false), "ab");
    }

    #[test]
    fn a_result_is_cut_off_or_padded() {
        let mut out = TextOut::new(8);
        // SAFETY: room for eight characters.
        unsafe { out.as_mut_ptr().copy_from(c"hello".as_ptr(), 6) };
        for (length, expected) in [(3, "hel"), (5, "hello"), (7, "hello  "), (0, "")] {
            let mut to = vec![b'?'; length];
            // SAFETY: `to` has that many characters.
            unsafe { out.store(to.as_mut_ptr().cast(), length) };
            assert_eq!(to, expected.as_bytes());
        }
    }

    #[test]
    fn an_array_ends_at_its_first_blank_element_or_its_limit() {
        let argv = "-x  two -y      ";
        // SAFETY: four elements of four characters, of which the last is blank.
        let mut open = unsafe { TextArray::of(argv.as_ptr().cast(), 4, 4, None) };
        // SAFETY: null-terminated.
        let count = |at: *mut *mut c_char| (0..).take_while(|&i| unsafe { !(*at.add(i)).is_null() }).count();
        assert_eq!(count(open.as_mut_ptr()), 3);
        // SAFETY: the first two elements.
        let mut limited = unsafe { TextArray::of(argv.as_ptr().cast(), 4, 4, Some(2)) };
        assert_eq!(count(limited.as_mut_ptr()), 2);
    }
}
