//! The variables by which a PMI launcher names its connection and a process's place, and the one by which the user
//! chooses the version.
//!
//! Nothing here uses the connection. Used by the other files of `pmi`, which pass its names on to `agent_connection`
//! and `host::ways`.

use hawser_base::{Class, Error, Result};
use hawser_os::inherited::InheritedStream;

/// The variables that the launcher sets: the number of the connection's descriptor, this process's place, and, by
/// servers that keep several jobs apart, the name of the job.
pub const FD_VARIABLE: &str = "PMI_FD";
pub const RANK_VARIABLE: &str = "PMI_RANK";
pub const SIZE_VARIABLE: &str = "PMI_SIZE";
pub const JOB_VARIABLE: &str = "PMI_JOBID";
/// The variable by which the user chooses the version that is asked for first.
pub const VERSION_VARIABLE: &str = "HAWSER_PMI";

/// A version of PMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// The place of this process in its job, as the launcher's environment gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PmiPlace {
    pub fd: i32,
    pub rank: u32,
    pub size: u32,
}

impl PmiPlace {
    /// Reads the variables. None without PMI_FD; it is an error if the others do not fit it.
    pub fn from_environment(environment: impl Fn(&str) -> Option<String>) -> Result<Option<PmiPlace>> {
        let Some(text) = environment(FD_VARIABLE) else { return Ok(None) };
        let number = |variable: &str, least: i64, most: i64| {
            let text = environment(variable);
            let number = text.as_deref().and_then(|text| text.trim().parse().ok());
            number.filter(|number| (least..=most).contains(number)).ok_or_else(|| half_set(variable, text.as_deref()))
        };
        let fd = number(FD_VARIABLE, 0, i32::MAX.into()).map_err(|_| half_set(FD_VARIABLE, Some(&text)))?;
        let size = number(SIZE_VARIABLE, 1, i64::from(u32::MAX))?;
        let rank = number(RANK_VARIABLE, 0, size - 1)?;
        Ok(Some(PmiPlace { fd: fd as i32, rank: rank as u32, size: size as u32 }))
    }

    /// Whether the descriptor is open, and a connection of this host.
    pub fn is_open(&self) -> bool {
        InheritedStream::open(self.fd).is_ok()
    }
}

/// The version that is asked for first: 1, unless the user has chosen 2.
pub fn first_version(environment: impl Fn(&str) -> Option<String>) -> Result<Version> {
    match environment(VERSION_VARIABLE).as_deref().map(str::trim) {
        None | Some("" | "1") => Ok(Version::One),
        Some("2") => Ok(Version::Two),
        Some(other) => {
            let text = format!(
                "{VERSION_VARIABLE} is {other:?}; it is the version of PMI that a launcher's server is asked for \
                 first: set it to 1 or 2, or unset it"
            );
            Err(Error::new(Class::Other, text))
        }
    }
}

#[cold]
fn half_set(variable: &str, value: Option<&str>) -> Error {
    let is = value.map_or("is not set".to_owned(), |value| format!("is {value:?}"));
    let text = format!(
        "{variable} {is}, which does not fit the other variables of a PMI launcher ({FD_VARIABLE}, {RANK_VARIABLE}, \
         {SIZE_VARIABLE}); start the program by that launcher without changing them, or unset {FD_VARIABLE}, \
         {RANK_VARIABLE} and {SIZE_VARIABLE} to run it alone"
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |asked| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn variables_that_do_not_fit_are_an_error_with_the_remedy() {
        let of = |set: &[(&str, &str)]| PmiPlace::from_environment(with(set));
        let place = of(&[("PMI_FD", "6"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap().unwrap();
        assert_eq!(place, PmiPlace { fd: 6, rank: 1, size: 3 });
        assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap(), None);
        for (set, named) in [
            (&[("PMI_FD", "6"), ("PMI_SIZE", "3")][..], "PMI_RANK is not set"),
            (&[("PMI_FD", "6"), ("PMI_RANK", "3"), ("PMI_SIZE", "3")], "PMI_RANK is \"3\""),
            (&[("PMI_FD", "six"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")], "PMI_FD is \"six\""),
            (&[("PMI_FD", "6"), ("PMI_RANK", "1")], "PMI_SIZE is not set"),
        ] {
            let error = of(set).unwrap_err();
            assert!(error.cause().contains(named) && error.cause().contains("unset PMI_FD"), "{}", error.cause());
        }
    }

    #[test]
    fn version_1_is_first_unless_the_user_wants_2() {
        let of = |value: &str| first_version(with(&[("HAWSER_PMI", value)]));
        assert_eq!(first_version(|_| None).unwrap(), Version::One);
        assert_eq!(["", "1", "2", " 2 "].map(|value| of(value).unwrap() == Version::Two), [false, false, true, true]);
        for value in ["x", "3", "pmi2"] {
            let text = of(value).unwrap_err().cause().to_owned();
            assert!(text.contains(&format!("HAWSER_PMI is {value:?}")) && text.contains("set it to 1 or 2"), "{text}");
        }
    }
}
