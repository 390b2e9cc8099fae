//! Parameters: one row beside the code that uses it.
//!
//! A room declares `pub static PARAMS: &[Param]`; `node` collects the tables, and the same rows feed the
//! environment, `mpiexec --info`, MPI_T and the tuning page. A value that cannot be used is an error
//! that names the parameter, never a silent default.

use crate::error::{Class, Error, Result};

/// One tunable value, set by the environment variable `name`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The environment variable, `HAWSER_…`.
    pub name: &'static str,
    pub kind: Kind,
    /// The default, as text.
    pub default: &'static str,
    /// What it does, with its unit, in one line.
    pub help: &'static str,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0, 1, no, yes, off, on, false, true.
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
    /// The text in force: the environment's, else the default. Empty counts as unset.
    pub fn text(&self) -> String {
        std::env::var(self.name).ok().filter(|t| !t.trim().is_empty()).unwrap_or_else(|| self.default.to_owned())
    }

    /// Whether the environment sets it.
    pub fn is_set(&self) -> bool {
        std::env::var(self.name).is_ok_and(|t| !t.trim().is_empty())
    }

    pub fn flag(&self) -> Result<bool> {
        parse_flag(&self.text()).ok_or_else(|| self.wrong("one of 0, 1, no, yes, off, on"))
    }

    pub fn number(&self) -> Result<u64> {
        let (min, max) = match self.kind {
            Kind::Number { min, max } | Kind::Bytes { min, max } => (min, max),
            _ => (0, u64::MAX),
        };
        let text = self.text();
        let value = if matches!(self.kind, Kind::Bytes { .. }) { parse_bytes(&text) } else { text.trim().parse().ok() };
        value.filter(|v| (min..=max).contains(v)).ok_or_else(|| self.wrong(&format!("a number from {min} to {max}")))
    }

    /// The number in force, or `fallback` where the default is left to what was measured (empty text).
    pub fn number_or(&self, fallback: u64) -> Result<u64> {
        if self.is_set() || !self.default.is_empty() { self.number() } else { Ok(fallback) }
    }

    pub fn choice(&self) -> Result<&'static str> {
        let Kind::Choice(words) = self.kind else { return Err(self.wrong("a choice")) };
        let text = self.text();
        words
            .iter()
            .copied()
            .find(|w| w.eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| self.wrong(&format!("one of {}", words.join(", "))))
    }

    /// Checks the value in force without using it, so that a job refuses a wrong one at its start.
    pub fn check(&self) -> Result<()> {
        match self.kind {
            Kind::Flag => self.flag().map(drop),
            Kind::Number { .. } | Kind::Bytes { .. } => self.number().map(drop),
            Kind::Choice(_) => self.choice().map(drop),
            Kind::Text => Ok(()),
        }
    }

    #[cold]
    fn wrong(&self, wanted: &str) -> Error {
        let default = if self.default.is_empty() { String::new() } else { format!(" ({})", self.default) };
        Error::new(
            Class::Arg,
            format!("{}={} is not {wanted}; unset it for the default{default}", self.name, self.text()),
        )
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

    #[test]
    fn sizes_take_units() {
        assert_eq!(parse_bytes("64k"), Some(65536));
        assert_eq!(parse_bytes(" 2 MiB".trim().replace(' ', "").as_str()), Some(2 << 20));
        assert_eq!(parse_bytes("7q"), None);
        assert_eq!(parse_bytes("99999999999999999999"), None);
    }

    #[test]
    fn a_wrong_value_names_the_parameter_and_the_remedy() {
        const P: Param =
            Param { name: "HAWSER_TEST_ONLY", kind: Kind::Number { min: 1, max: 8 }, default: "9", help: "" };
        let text = P.number().unwrap_err().to_string();
        assert_eq!(text, "MPI_ERR_ARG: HAWSER_TEST_ONLY=9 is not a number from 1 to 8; unset it for the default (9)");
        let measured = Param { default: "", ..P };
        assert!(measured.number().unwrap_err().to_string().ends_with("; unset it for the default"));
    }
}
