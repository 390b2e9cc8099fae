//! Error classes, codes and strings, including the ones that the application adds (MPI-5.0 §9.4-5).
//!
//! Inside the library an error code is either the value of a class in the standard ABI, or a number from
//! FIRST_USER_CODE on for a class or a code that the application added; an ABI converts the added numbers to the
//! range above its own classes. The functions may be called at any time by any thread. Numbers are given out in
//! ascending order. A removed number is given out again once no number above it is in use, so that processes which
//! add the same in the same order get the same numbers.
//!
//! Used by `abi::errors`, `abi::request`, `attributes`, `comm_attr`, `grequest_callbacks` and `raise`; uses
//! `base::error`.

use hawser_base::{Class, Error, Result};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard};

/// MPI_ERR_LASTCODE of the standard ABI (abi_constants.tsv): all classes of this library are below it.
pub const LAST: i32 = 16383;
pub const FIRST_USER_CODE: i32 = LAST + 1;

const _: () = {
    let mut i = 0;
    while i < Class::ALL.len() {
        assert!((Class::ALL[i] as i32) < LAST);
        i += 1;
    }
};

static USER_ERRORS: Mutex<UserErrors> = Mutex::new(UserErrors { entries: Vec::new() });

fn user_errors() -> MutexGuard<'static, UserErrors> {
    USER_ERRORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The classes and codes that the application added, from FIRST_USER_CODE on; removed ones leave a gap.
struct UserErrors {
    entries: Vec<Option<UserError>>,
}

struct UserError {
    /// The class of a code: a predefined or an added one. A class is its own class.
    class: i32,
    text: Option<Vec<u8>>,
}

/// MPI_Add_error_class.
pub fn add_class() -> Result<i32> {
    user_errors().add(None)
}

/// MPI_Add_error_code.
pub fn add_code(class: i32) -> Result<i32> {
    user_errors().add(Some(class))
}

/// MPI_Add_error_string; a string that was there before is replaced.
pub fn add_string(code: i32, text: &[u8]) -> Result<()> {
    user_errors().entry(code)?.text = Some(text.to_vec());
    Ok(())
}

/// MPI_Remove_error_class. Its codes and its string have to be removed before.
pub fn remove_class(class: i32) -> Result<()> {
    user_errors().remove_class(class)
}

/// MPI_Remove_error_code. Its string has to be removed before.
pub fn remove_code(code: i32) -> Result<()> {
    user_errors().remove_code(code)
}

/// MPI_Remove_error_string.
pub fn remove_string(code: i32) -> Result<()> {
    match user_errors().entry(code)?.text.take() {
        Some(_) => Ok(()),
        None => {
            Err(Error::new(Class::Arg, format!("error code {code} has no string; MPI_Add_error_string can add one")))
        }
    }
}

/// MPI_Error_class.
pub fn class(code: i32) -> Result<i32> {
    user_errors().class(code)
}

/// Classes for which the standard's text gives no cause: that text alone would not help a program or its user.
const GENERIC_CLASSES: [Class; 3] = [Class::Other, Class::Intern, Class::Unknown];

type LastCauses = [Option<String>; GENERIC_CLASSES.len()];

thread_local! {
    /// For each class of GENERIC_CLASSES the cause of this thread's last error of that class.
    static LAST_CAUSES: RefCell<LastCauses> = const { RefCell::new([const { None }; GENERIC_CLASSES.len()]) };
}

/// Records the error of a failed call of this thread. If its class is one of GENERIC_CLASSES, `string` gives this
/// cause.
pub fn store_last_error(function: &str, error: &Error) {
    store_cause(error, || format!("{function}: {}", error.cause()));
}

/// Records the error of one of several operations that a call completes; its code is in the operation's status.
pub fn store_operation_error(error: &Error) {
    store_cause(error, || error.cause().to_owned());
}

fn store_cause(error: &Error, cause: impl FnOnce() -> String) {
    if let Some(at) = GENERIC_CLASSES.iter().position(|&class| class as i32 == error.code()) {
        // If a destructor of another thread-local value calls MPI, this value may be gone already.
        let _ = LAST_CAUSES.try_with(|causes| causes.borrow_mut()[at].replace(cause()));
    }
}

/// The cause of this thread's last error with this code.
fn last_cause(code: i32) -> Option<String> {
    let at = GENERIC_CLASSES.iter().position(|&class| class as i32 == code)?;
    LAST_CAUSES.try_with(|causes| causes.borrow()[at].clone()).ok().flatten()
}

/// MPI_Error_string. The string is empty for a code of the application without a string. For a class of
/// GENERIC_CLASSES it gives the cause of the calling thread's last error with this code.
pub fn string(code: i32) -> Result<Vec<u8>> {
    if let Some(class) = Class::from_value(code) {
        let cause = last_cause(code).unwrap_or_else(|| class.text().to_owned());
        return Ok(format!("{}: {cause}", class.name()).into_bytes());
    }
    Ok(user_errors().entry(code)?.text.clone().unwrap_or_default())
}

/// The attribute MPI_LASTUSEDCODE: the largest code in use.
pub fn last_used() -> i32 {
    LAST + user_errors().entries.len() as i32
}

/// The error of a call that failed because a function of the application returned `code`, which the error keeps. If
/// the class of `code` is a predefined one other than MPI_SUCCESS, the error has that class, otherwise MPI_ERR_OTHER.
pub fn from_code(code: i32, text: String) -> Error {
    let class = class(code).ok().and_then(Class::from_value).filter(|class| *class != Class::Success);
    Error::new(class.unwrap_or(Class::Other), text).with_code(code)
}

/// A code in words, for messages: a class's name, and the application's string.
pub fn describe(code: i32) -> String {
    let name = match (Class::from_value(code), class(code)) {
        (Some(class), _) => return class.name().to_owned(),
        (None, Err(_)) => return format!("error code {code}"),
        (None, Ok(class_of_code)) if class_of_code == code => format!("error class {code}"),
        (None, Ok(class_of_code)) => format!("error code {code} of {}", describe(class_of_code)),
    };
    match string(code) {
        Ok(text) if !text.is_empty() => format!("{name}: {}", String::from_utf8_lossy(&text)),
        _ => name,
    }
}

impl UserErrors {
    fn add(&mut self, class: Option<i32>) -> Result<i32> {
        let code = FIRST_USER_CODE + self.entries.len() as i32;
        let class = match class {
            None => code,
            Some(class) if self.class(class).is_ok_and(|class_of_code| class_of_code == class) => class,
            Some(class) => return Err(Error::new(Class::Arg, format!("{class} is not an error class"))),
        };
        self.entries.push(Some(UserError { class, text: None }));
        Ok(code)
    }

    fn get(&self, code: i32) -> Option<&UserError> {
        self.entries.get(code.checked_sub(FIRST_USER_CODE)? as usize)?.as_ref()
    }

    /// Returns the entry of a code that the application added (MPI_ERR_ARG).
    fn entry(&mut self, code: i32) -> Result<&mut UserError> {
        let index = i64::from(code) - i64::from(FIRST_USER_CODE);
        let found = usize::try_from(index).ok().and_then(|index| self.entries.get_mut(index)?.as_mut());
        found.ok_or_else(|| no_user_error(code))
    }

    fn class(&self, code: i32) -> Result<i32> {
        if Class::from_value(code).is_some() {
            return Ok(code);
        }
        self.get(code)
            .map(|entry| entry.class)
            .ok_or_else(|| Error::new(Class::Arg, format!("{code} is not an error code")))
    }

    fn remove_class(&mut self, class: i32) -> Result<()> {
        if self.get(class).is_none_or(|entry| entry.class != class) {
            return Err(Error::new(Class::Arg, format!("{class} was not returned by MPI_Add_error_class")));
        }
        let codes = self.entries.iter().flatten().filter(|entry| entry.class == class).count() - 1;
        if codes > 0 {
            let text =
                format!("error class {class} still has {codes} codes; call MPI_Remove_error_code for them first");
            return Err(Error::new(Class::Arg, text));
        }
        self.remove(class)
    }

    fn remove_code(&mut self, code: i32) -> Result<()> {
        if self.get(code).is_none_or(|entry| entry.class == code) {
            return Err(Error::new(Class::Arg, format!("{code} was not returned by MPI_Add_error_code")));
        }
        self.remove(code)
    }

    fn remove(&mut self, code: i32) -> Result<()> {
        if self.entry(code)?.text.is_some() {
            let text = format!("{code} still has a string; call MPI_Remove_error_string for it first");
            return Err(Error::new(Class::Arg, text));
        }
        self.entries[(code - FIRST_USER_CODE) as usize] = None;
        while let Some(None) = self.entries.last() {
            self.entries.pop();
        }
        Ok(())
    }
}

#[cold]
fn no_user_error(code: i32) -> Error {
    Error::new(Class::Arg, format!("{code} is not an error class or code that the application added"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> UserErrors {
        UserErrors { entries: Vec::new() }
    }

    fn refused<T>(result: Result<T>) -> Class {
        result.err().expect("it should have been refused").class()
    }

    #[test]
    fn a_class_that_says_nothing_tells_the_cause_of_the_threads_last_error() {
        let other = Class::Other as i32;
        let text = |code| String::from_utf8(string(code).unwrap()).unwrap();
        let before = text(other);
        store_last_error("MPI_Comm_dup", &Error::new(Class::Other, "all are in use; free some"));
        assert_eq!(text(other), "MPI_ERR_OTHER: MPI_Comm_dup: all are in use; free some");
        store_last_error("MPI_Send", &Error::new(Class::Rank, "rank 7 is outside"));
        assert!(text(Class::Rank as i32).ends_with(Class::Rank.text()), "this class has a text of its own");
        assert_eq!(text(Class::Intern as i32), format!("MPI_ERR_INTERN: {}", Class::Intern.text()));
        store_operation_error(&Error::new(Class::Intern, "rank 3 sent nonsense"));
        assert_eq!(text(Class::Intern as i32), "MPI_ERR_INTERN: rank 3 sent nonsense");
        assert!(text(other).ends_with("free some"), "each class has its own");
        assert_eq!(std::thread::spawn(move || text(other)).join().unwrap(), before, "another thread's");
    }

    #[test]
    fn codes_belong_to_their_class_and_classes_to_themselves() {
        let mut added = empty();
        let class = added.add(None).unwrap();
        let code = added.add(Some(class)).unwrap();
        let of_ours = added.add(Some(Class::Tag as i32)).unwrap();
        assert_eq!([class, code, of_ours], [FIRST_USER_CODE, FIRST_USER_CODE + 1, FIRST_USER_CODE + 2]);
        assert_eq!(added.class(class).unwrap(), class);
        assert_eq!(added.class(code).unwrap(), class);
        assert_eq!(added.class(of_ours).unwrap(), Class::Tag as i32);
        assert_eq!(added.class(Class::Rank as i32).unwrap(), Class::Rank as i32);
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let mut added = empty();
        let class = added.add(None).unwrap();
        let code = added.add(Some(class)).unwrap();
        for bad in [-1, i32::MIN, i32::MAX, LAST, code + 1] {
            assert_eq!(refused(added.class(bad)), Class::Arg);
            assert_eq!(refused(added.add(Some(bad))), Class::Arg);
            assert_eq!(refused(added.entry(bad)), Class::Arg);
        }
        assert_eq!(refused(added.add(Some(code))), Class::Arg, "a code is no class");
        assert_eq!(refused(added.entry(Class::Tag as i32)), Class::Arg, "strings of ours stay");
    }

    #[test]
    fn a_class_goes_after_its_codes() {
        let mut added = empty();
        let class = added.add(None).unwrap();
        let code = added.add(Some(class)).unwrap();
        assert_eq!(refused(added.remove_class(class)), Class::Arg);
        assert_eq!(refused(added.remove_class(code)), Class::Arg);
        assert_eq!(refused(added.remove_code(class)), Class::Arg);
        assert_eq!(refused(added.remove_class(Class::Tag as i32)), Class::Arg);
        added.remove_code(code).unwrap();
        added.remove_class(class).unwrap();
        assert_eq!(refused(added.remove_class(class)), Class::Arg);
        assert!(added.entries.is_empty());
    }

    #[test]
    fn a_string_goes_before_its_class_or_code() {
        let mut added = empty();
        let class = added.add(None).unwrap();
        let code = added.add(Some(class)).unwrap();
        for number in [code, class] {
            added.entry(number).unwrap().text = Some(b"text".to_vec());
        }
        assert_eq!(refused(added.remove_code(code)), Class::Arg);
        added.entry(code).unwrap().text = None;
        added.remove_code(code).unwrap();
        assert_eq!(refused(added.remove_class(class)), Class::Arg);
        added.entry(class).unwrap().text = None;
        added.remove_class(class).unwrap();
    }

    #[test]
    fn a_number_below_one_in_use_is_not_given_out_again() {
        let mut added = empty();
        let (low, high) = (added.add(None).unwrap(), added.add(None).unwrap());
        added.remove_class(low).unwrap();
        assert_eq!(added.add(None).unwrap(), high + 1);
        added.remove_class(high + 1).unwrap();
        added.remove_class(high).unwrap();
        assert_eq!(added.add(None).unwrap(), low);
    }

    #[test]
    fn strings_are_given_replaced_and_removed() {
        let class = add_class().unwrap();
        let code = add_code(class).unwrap();
        assert_eq!(string(code).unwrap(), b"");
        assert_eq!(refused(remove_string(code)), Class::Arg);
        add_string(code, b"first").unwrap();
        add_string(code, b"second").unwrap();
        assert_eq!(string(code).unwrap(), b"second");
        assert!(last_used() >= code);
        assert_eq!(describe(code), format!("error code {code} of error class {class}: second"));
        remove_string(code).unwrap();
        assert_eq!(string(code).unwrap(), b"");
        assert_eq!(string(Class::Rank as i32).unwrap(), b"MPI_ERR_RANK: invalid rank");
        assert_eq!(refused(string(-3)), Class::Arg);
        assert_eq!(refused(add_string(Class::Rank as i32, b"mine")), Class::Arg);
        remove_code(code).unwrap();
        remove_class(class).unwrap();
    }

    #[test]
    fn the_error_of_a_callback_keeps_its_code() {
        let error = from_code(Class::Io as i32, "its text".into());
        assert_eq!((error.class(), error.code()), (Class::Io, Class::Io as i32));
        let error = from_code(-77, "its text".into());
        assert_eq!((error.class(), error.code()), (Class::Other, -77));
    }
}
