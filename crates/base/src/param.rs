//! Parameters: each is one row beside the code that uses it.
//!
//! An invalid value is an error that names the parameter; it is never replaced silently by the default. A crate
//! declares `pub static PARAMS: &[Param]`, and `node` collects these tables. The same rows are used for the
//! environment, `mpiexec --info`, MPI_T and `docs/tuning.md`. A value that a tool sets (`Param::set`, MPI_T) has
//! precedence over the environment; a value that was measured on this machine (`Param::tune`, from a profile)
//! replaces the default. Code that keeps a value must read it again when the result of `changes` has changed.

use crate::error::{Class, Error, Result};
use crate::value::T_SCOPE_ALL_EQ;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Mutex, MutexGuard};

/// The values that tools have set, by the parameters' names.
static SET: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());
/// The values of this machine's profile, by the parameters' names.
static TUNED: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());
/// The number of times that a tool has set a parameter.
static CHANGES: AtomicU32 = AtomicU32::new(0);

type Texts = BTreeMap<&'static str, String>;

fn lock(texts: &'static Mutex<Texts>) -> MutexGuard<'static, Texts> {
    texts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns a number that changes whenever a tool sets a parameter.
#[inline(always)]
pub fn changes() -> u32 {
    CHANGES.load(Acquire) // partner: `set`
}

/// A parameter: one tunable value, which the environment variable `name` sets.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The environment variable, `HAWSER_…`.
    pub name: &'static str,
    pub kind: ParamKind,
    /// The default, as text.
    pub default: &'static str,
    /// The description, with the unit, in one line.
    pub help: &'static str,
    /// The set of ranks that must have the same value (`value::T_SCOPE_LOCAL` and the other constants T_SCOPE_…). If
    /// it is T_SCOPE_ALL_EQ, a job whose ranks have different values is ended at its start
    /// (`must_match_on_all_ranks`).
    pub scope: i32,
    /// The audience of the parameter (`value::T_VERBOSITY_USER_BASIC` and the other constants T_VERBOSITY_…).
    pub verbosity: i32,
    /// The time at which a value is read.
    pub read: ReadTime,
}

/// The time at which the value of a parameter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTime {
    /// The value is read only by MPI_Init, or when the launcher starts; a later change has no effect.
    AtStart,
    /// The value is read again when the result of `changes` has changed.
    AtUse,
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A switch: 0, 1, no, yes, off, on, false or true.
    Flag,
    /// A count, within bounds.
    Number { min: u64, max: u64 },
    /// A size in bytes; k, m and g multiply by powers of 1024.
    Bytes { min: u64, max: u64 },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
}

impl Param {
    /// Returns the text in force: that of a tool, of the environment, of the profile, or the default, whichever is
    /// set first in this order. An empty text counts as not set.
    pub fn text(&self) -> String {
        self.explicit_text().or_else(|| self.tuned()).unwrap_or_else(|| self.default.to_owned())
    }

    /// Returns whether a tool or the environment sets the parameter. Such an explicit value has precedence over
    /// automatic choices.
    pub fn is_set(&self) -> bool {
        self.explicit_text().is_some()
    }

    fn explicit_text(&self) -> Option<String> {
        let by_tool = lock(&SET).get(self.name).cloned();
        let in_environment = || Some(std::env::var_os(self.name)?.to_string_lossy().into_owned());
        by_tool.or_else(in_environment).filter(|text| !text.trim().is_empty())
    }

    /// Returns the value in this machine's profile, which replaces the default; `None` if the profile has none.
    pub fn tuned(&self) -> Option<String> {
        lock(&TUNED).get(self.name).cloned()
    }

    /// Sets the value of the profile. It must be called before any value is read. Fails if the text is not valid.
    pub fn tune(&self, text: &str) -> Result<()> {
        self.accepts(text)?;
        lock(&TUNED).insert(self.name, text.to_owned());
        Ok(())
    }

    /// Sets the value for this process, as a tool does, with precedence over the environment. An empty text resets
    /// it, so that the profile or the default is in force. Fails if the text is not valid.
    pub fn set(&self, text: &str) -> Result<()> {
        if !text.trim().is_empty() {
            self.accepts(text)?;
        }
        lock(&SET).insert(self.name, text.to_owned());
        CHANGES.fetch_add(1, Release); // partner: `changes`
        Ok(())
    }

    /// Returns whether all ranks of a job must have the same value, on whatever host they are.
    pub fn must_match_on_all_ranks(&self) -> bool {
        self.scope == T_SCOPE_ALL_EQ
    }

    /// Returns the value in force in its canonical spelling, so that equal values have equal texts. Empty if the
    /// parameter has no fixed default and none is set.
    pub fn canonical(&self) -> Result<String> {
        let text = self.text();
        Ok(match self.kind {
            _ if text.trim().is_empty() => String::new(),
            ParamKind::Flag => u32::from(self.flag_of(&text)?).to_string(),
            ParamKind::Number { .. } | ParamKind::Bytes { .. } => self.number_of(&text)?.to_string(),
            ParamKind::Choice(_) => self.choice_of(&text)?.to_owned(),
            ParamKind::Text => text.trim().to_owned(),
        })
    }

    pub fn flag(&self) -> Result<bool> {
        self.flag_of(&self.text())
    }

    pub fn number(&self) -> Result<u64> {
        self.number_of(&self.text())
    }

    /// Returns the number that a tool or the environment sets; `None` if neither sets one.
    pub fn number_set(&self) -> Result<Option<u64>> {
        self.explicit_text().map(|text| self.number_of(&text)).transpose()
    }

    /// Returns the number in this machine's profile; `None` if the profile has none.
    pub fn number_tuned(&self) -> Result<Option<u64>> {
        self.tuned().map(|text| self.number_of(&text)).transpose()
    }

    /// Returns the number in force, or `fallback` if the text in force is empty: the parameter has no fixed default
    /// then.
    pub fn number_or(&self, fallback: u64) -> Result<u64> {
        if self.text().is_empty() { Ok(fallback) } else { self.number() }
    }

    pub fn choice(&self) -> Result<&'static str> {
        self.choice_of(&self.text())
    }

    /// Fails if the value in force is not valid. It is called at the start of a job, so that a wrong value is refused
    /// there.
    pub fn check(&self) -> Result<()> {
        let by_tool = lock(&SET).contains_key(self.name);
        if let Some(value) = std::env::var_os(self.name).filter(|value| !by_tool && value.to_str().is_none()) {
            let text = format!("{}={} is not text in UTF-8; unset it for the default", self.name, value.display());
            return Err(Error::new(Class::Arg, text));
        }
        self.accepts(&self.text())
    }

    /// Fails if a text is not a valid value of the parameter.
    pub fn accepts(&self, text: &str) -> Result<()> {
        match self.kind {
            ParamKind::Flag => self.flag_of(text).map(drop),
            ParamKind::Number { .. } | ParamKind::Bytes { .. } => self.number_of(text).map(drop),
            ParamKind::Choice(_) => self.choice_of(text).map(drop),
            ParamKind::Text => Ok(()),
        }
    }

    fn flag_of(&self, text: &str) -> Result<bool> {
        parse_flag(text).ok_or_else(|| self.invalid_value(text, "one of 0, 1, no, yes, off, on"))
    }

    fn number_of(&self, text: &str) -> Result<u64> {
        let (min, max) = match self.kind {
            ParamKind::Number { min, max } | ParamKind::Bytes { min, max } => (min, max),
            _ => (0, u64::MAX),
        };
        let value =
            if matches!(self.kind, ParamKind::Bytes { .. }) { parse_bytes(text) } else { text.trim().parse().ok() };
        let wrong = || self.invalid_value(text, &format!("a number from {min} to {max}"));
        value.filter(|v| (min..=max).contains(v)).ok_or_else(wrong)
    }

    fn choice_of(&self, text: &str) -> Result<&'static str> {
        let ParamKind::Choice(words) = self.kind else { return Err(self.invalid_value(text, "a choice")) };
        let found = words.iter().copied().find(|word| word.eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| self.invalid_value(text, &format!("one of {}", words.join(", "))))
    }

    #[cold]
    fn invalid_value(&self, text: &str, wanted: &str) -> Error {
        let default = if self.default.is_empty() { String::new() } else { format!(" ({})", self.default) };
        Error::new(Class::Arg, format!("{}={text} is not {wanted}; unset it for the default{default}", self.name))
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "yes" | "on" | "true" => Some(true),
        "0" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_ALL};

    const P: Param = Param {
        name: "HAWSER_TEST_ONLY",
        kind: ParamKind::Number { min: 1, max: 8 },
        default: "9",
        help: "",
        scope: T_SCOPE_LOCAL,
        verbosity: T_VERBOSITY_USER_ALL,
        read: ReadTime::AtUse,
    };

    #[test]
    fn sizes_take_units() {
        assert_eq!(parse_bytes("64k"), Some(65536));
        assert_eq!(parse_bytes(" 2 MiB".trim().replace(' ', "").as_str()), Some(2 << 20));
        assert_eq!(parse_bytes("7q"), None);
        assert_eq!(parse_bytes("99999999999999999999"), None);
    }

    #[test]
    fn however_a_value_is_written_it_has_one_canonical_text() {
        let of = |kind, text| Param { kind, default: text, ..P }.canonical().unwrap();
        let bytes = ParamKind::Bytes { min: 0, max: 1 << 30 };
        assert_eq!(["2m", "2048KiB", " 2097152"].map(|text| of(bytes, text)), ["2097152"; 3]);
        assert_eq!(["on", "Yes", "1"].map(|text| of(ParamKind::Flag, text)), ["1"; 3]);
        assert_eq!(of(ParamKind::Choice(&["auto", "ring"]), "RING "), "ring");
        assert_eq!((of(bytes, ""), of(ParamKind::Text, " a ")), (String::new(), "a".into()));
        assert!(Param { default: "much", ..P }.canonical().is_err());
    }

    #[test]
    fn a_wrong_value_names_the_parameter_and_the_remedy() {
        let text = P.number().unwrap_err().to_string();
        assert_eq!(text, "MPI_ERR_ARG: HAWSER_TEST_ONLY=9 is not a number from 1 to 8; unset it for the default (9)");
        let measured = Param { default: "", ..P };
        assert!(measured.number().unwrap_err().to_string().ends_with("; unset it for the default"));
    }

    /// Held by tests that change parameters, because the number of changes is that of the whole process.
    static CHANGING: Mutex<()> = Mutex::new(());

    #[test]
    fn what_a_tool_sets_goes_before_the_environment_and_is_noticed() {
        let _alone = CHANGING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        const SET: Param = Param { name: "HAWSER_TEST_SET_BY_A_TOOL", default: "2", ..P };
        let before = changes();
        assert!(SET.set("9").is_err() && !SET.is_set() && changes() == before);
        SET.set("7").unwrap();
        assert!(SET.is_set() && SET.number().unwrap() == 7 && changes() != before);
        SET.set("").unwrap();
        assert!(!SET.is_set() && SET.number().unwrap() == 2);
    }

    #[test]
    fn what_was_measured_stands_for_the_default_and_no_more() {
        let _alone = CHANGING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        const TUNED: Param = Param { name: "HAWSER_TEST_TUNED", default: "", ..P };
        assert_eq!(TUNED.number_or(5).unwrap(), 5);
        assert!(TUNED.tune("9").is_err() && TUNED.tuned().is_none());
        TUNED.tune("7").unwrap();
        assert_eq!((TUNED.number_or(5).unwrap(), TUNED.is_set()), (7, false));
        assert_eq!((TUNED.number_set().unwrap(), TUNED.number_tuned().unwrap()), (None, Some(7)));
        TUNED.set("3").unwrap();
        assert_eq!((TUNED.number_or(5).unwrap(), TUNED.is_set()), (3, true));
        assert_eq!((TUNED.number_set().unwrap(), TUNED.number_tuned().unwrap()), (Some(3), Some(7)));
    }
}
