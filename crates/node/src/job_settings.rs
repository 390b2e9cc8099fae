//! The job-wide settings of this rank, which must be alike on all ranks: its library, and the parameters whose rows
//! require it.
//!
//! `boot` sends the settings to the agent, which compares them. Used by `start`; uses the table of parameters.

use crate::params::all;
use hawser_base::Result;
use hawser_base::param::Param;
use hawser_boot::job_settings::JobSettings;

/// The version of this library, and a number that is made of the sources of which it was built (`build.rs`).
pub const LIBRARY: &str = concat!(env!("CARGO_PKG_VERSION"), " (build ", env!("HAWSER_BUILD"), ")");

/// Returns the parameters that all ranks must have alike.
pub fn params() -> impl Iterator<Item = &'static Param> {
    all().into_iter().filter(|param| param.must_match_on_all_ranks())
}

/// Returns the settings of this rank, from values that have been checked.
pub(crate) fn of_rank() -> Result<JobSettings> {
    // `black_box` makes the compiler take the text from the library's data, where it stands as a whole; otherwise the
    // compiler would turn a part of it into instructions.
    let mut settings = JobSettings::new(std::hint::black_box(LIBRARY));
    for param in params() {
        let is_by_profile = !param.is_set() && param.tuned().is_some();
        settings.add(param.name, &param.canonical()?, is_by_profile);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::param::ParamKind;

    /// The settings that a rank sends as it joins fit into a message beside its other fields.
    #[test]
    fn the_terms_of_a_rank_fit_a_message() {
        let settings = of_rank().unwrap();
        assert!(settings.text().len() < hawser_boot::protocol::MESSAGE_MAX / 8, "{settings:?}");
        assert!(settings.text().starts_with(LIBRARY), "{settings:?}");
    }

    /// The same value can be written in many ways as a text.
    #[test]
    fn no_parameter_that_must_be_alike_is_a_text() {
        assert!(params().all(|param| param.kind != ParamKind::Text));
    }

    /// A new parameter is put into one of the two lists when it has been decided whether ranks may differ in it.
    #[test]
    fn each_parameter_says_whether_ranks_may_differ_in_it() {
        let may_differ = [
            "HAWSER_PROFILE",
            "HAWSER_FIRST",
            "HAWSER_RTR",
            "HAWSER_OFFER_FROM",
            "HAWSER_JOIN",
            "HAWSER_SPIN",
            "HAWSER_YIELD",
            "HAWSER_PROGRESS",
            "HAWSER_PROCESS_VM_FROM",
            "HAWSER_PIECE",
            "HAWSER_STRING_COPIES",
            "HAWSER_DEVICES",
            "HAWSER_PORT",
            "HAWSER_RAILS",
            "HAWSER_PORT_RANGE",
            "HAWSER_CRC",
            "HAWSER_TCP_CONGESTION",
        ];
        let must_not = ["HAWSER_CHECK", "HAWSER_EAGER", "HAWSER_WINDOW", "HAWSER_PACKET"];
        for param in all() {
            let is_collective = param.name.starts_with("HAWSER_COLL_");
            let is_known = is_collective || may_differ.contains(&param.name) || must_not.contains(&param.name);
            assert!(is_known, "may ranks differ in {}? (base::param, Param::must_match_on_all_ranks)", param.name);
            assert_eq!(param.must_match_on_all_ranks(), !may_differ.contains(&param.name), "{}", param.name);
        }
    }
}
