//! The job-wide settings (terms) of this rank, which must be alike on all ranks: its library, and the parameters whose
//! rows require it.
//!
//! `boot` carries the terms to the agent, which compares them. Used by `start`; uses the table of parameters.

use crate::params::all;
use hawser_base::Result;
use hawser_base::param::Param;
use hawser_boot::terms::JobTerms;

/// The version of this library, and a number of the sources that it was built of (`build.rs`).
pub const LIBRARY: &str = concat!(env!("CARGO_PKG_VERSION"), " (build ", env!("HAWSER_BUILD"), ")");

/// The parameters that all ranks must have alike.
pub fn params() -> impl Iterator<Item = &'static Param> {
    all().into_iter().filter(|param| param.must_be_alike())
}

/// The terms of this rank, from values that have been checked.
pub(crate) fn of_rank() -> Result<JobTerms> {
    // Out of the library's data, where the text stands whole: the compiler would make a part of it instructions.
    let mut terms = JobTerms::new(std::hint::black_box(LIBRARY));
    for param in params() {
        let is_by_profile = !param.is_set() && param.tuned().is_some();
        terms.add(param.name, &param.canonical()?, is_by_profile);
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::param::Kind;

    /// The terms that a rank sends as it joins fit into a message beside its other fields.
    #[test]
    fn the_terms_of_a_rank_fit_a_message() {
        let terms = of_rank().unwrap();
        assert!(terms.text().len() < hawser_boot::protocol::MESSAGE_MAX / 8, "{terms:?}");
        assert!(terms.text().starts_with(LIBRARY), "{terms:?}");
    }

    /// The same value can be written in many ways as a text.
    #[test]
    fn no_parameter_that_must_be_alike_is_a_text() {
        assert!(params().all(|param| param.kind != Kind::Text));
    }

    /// A new parameter is put into one of the two lists when it has been decided whether ranks may differ in it.
    #[test]
    fn each_parameter_says_whether_ranks_may_differ_in_it() {
        let may_differ = [
            "HAWSER_PROFILE",
            "HAWSER_FIRST",
            "HAWSER_SPIN",
            "HAWSER_YIELD",
            "HAWSER_PROGRESS",
            "HAWSER_PROCESS_VM_FROM",
            "HAWSER_PIECE",
            "HAWSER_DEVICES",
            "HAWSER_PORT",
            "HAWSER_RAILS",
            "HAWSER_PORT_RANGE",
            "HAWSER_CRC",
        ];
        let must_not = ["HAWSER_CHECK", "HAWSER_EAGER", "HAWSER_WINDOW", "HAWSER_PACKET"];
        for param in all() {
            let is_collective = param.name.starts_with("HAWSER_COLL_");
            let is_known = is_collective || may_differ.contains(&param.name) || must_not.contains(&param.name);
            assert!(is_known, "may ranks differ in {}? (base::param, Param::must_be_alike)", param.name);
            assert_eq!(param.must_be_alike(), !may_differ.contains(&param.name), "{}", param.name);
        }
    }
}
