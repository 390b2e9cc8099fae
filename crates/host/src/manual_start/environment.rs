//! The settings in the environment of a rank that is started by hand. Used by `manual_start`.

use crate::gathering;
use hawser_base::{Class, Error, Result};
use hawser_boot::protocol::{ADDRESS_VARIABLE, BOOTSTRAP_FILE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE};
use hawser_job::layout::MAX_LOCAL;
use std::path::PathBuf;

/// The settings of a rank that is started by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualStart {
    /// The file by which the ranks find each other.
    pub file: PathBuf,
    pub rank: u32,
    pub size: u32,
    pub timeout_s: u64,
}

impl ManualStart {
    /// Reads the settings. None if this process is no rank that was started by hand: no file is named, or mpiexec has
    /// started the process, whose own variables count then.
    pub fn from_environment(environment: impl Fn(&str) -> Option<String>) -> Result<Option<ManualStart>> {
        let Some(file) = environment(BOOTSTRAP_FILE_VARIABLE).filter(|file| !file.is_empty()) else { return Ok(None) };
        if environment(ADDRESS_VARIABLE).is_some() {
            return Ok(None);
        }
        let number = |variable: &str, least: u64, most: u64| {
            let text = environment(variable).unwrap_or_default();
            let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| invalid_value(variable, &text, least, most))
        };
        let size = number(SIZE_VARIABLE, 1, MAX_LOCAL as u64)?;
        let rank = number(RANK_VARIABLE, 0, size - 1)?;
        let timeout_s = gathering::timeout_s(&environment)?;
        Ok(Some(ManualStart { file: file.into(), rank: rank as u32, size: size as u32, timeout_s }))
    }
}

#[cold]
fn invalid_value(variable: &str, text: &str, min: u64, max: u64) -> Error {
    let is = if text.is_empty() { "is not set".to_owned() } else { format!("is {text}") };
    let text = format!(
        "{variable} {is}, and must be a number from {min} to {max}: {BOOTSTRAP_FILE_VARIABLE} is set, so this rank was \
         started without mpiexec; unset {BOOTSTRAP_FILE_VARIABLE} to run the program alone"
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Result<Option<ManualStart>> {
        ManualStart::from_environment(|asked| {
            set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_rank_by_hand_has_a_file_a_number_and_a_size() {
        let manual = of(&[("HAWSER_RENDEZVOUS", "/f"), ("HAWSER_RANK", "2"), ("HAWSER_SIZE", "3")]).unwrap().unwrap();
        assert_eq!(manual, ManualStart { file: "/f".into(), rank: 2, size: 3, timeout_s: 60 });
        assert_eq!(of(&[("HAWSER_RANK", "2"), ("HAWSER_SIZE", "3")]).unwrap(), None);
        assert_eq!(of(&[("HAWSER_RENDEZVOUS", "/f"), ("HAWSER_BOOT", "8:0:x")]).unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (rank, size, named) in [
            ("3", "3", "HAWSER_RANK is 3, and must be a number from 0 to 2"),
            ("0", "0", "HAWSER_SIZE is 0"),
            ("x", "3", "HAWSER_RANK is x"),
            ("", "3", "HAWSER_RANK is not set"),
            ("0", "99999999", "HAWSER_SIZE is 99999999"),
        ] {
            let set = [("HAWSER_RENDEZVOUS", "/f"), ("HAWSER_RANK", rank), ("HAWSER_SIZE", size)];
            let error = of(&set).unwrap_err();
            assert!(error.cause().contains(named), "{}", error.cause());
        }
    }
}
