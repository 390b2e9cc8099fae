//! The ways by which a program joins its job, in the order in which `join` tries them, with what this process's
//! environment has of each: for people who ask why a program is not the rank that they expect.
//!
//! Nothing here connects to a server or becomes a rank. Used by `hawser-info -v`, which a launcher starts in the
//! program's place.

use crate::manual_start::ManualStart;
use hawser_base::Result;
use hawser_boot::pmi::PmiPlace;
use hawser_boot::pmix::PmixConnection;
use hawser_boot::protocol::{ADDRESS_VARIABLE, AgentAddress, BOOTSTRAP_FILE_VARIABLE, RANK_VARIABLE};
use hawser_boot::{ancestors, foreign_launcher, pmi, pmix};

/// The result of looking for a way in an environment.
enum Found {
    Nothing,
    /// The way is taken, unless an earlier one is.
    Place(String),
    /// The way cannot be gone: `join` skips it.
    Closed(String),
    /// A program that is started here ends with this error.
    Error(String),
}

/// Returns a line for each way, with the one that is taken marked.
pub fn text(environment: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = "a program that is started here joins its job by the first of these ways that is open\n".to_owned();
    let mut is_decided = false;
    for (name, found) in ways(environment) {
        let (found, decides) = match found {
            Found::Nothing => ("not there".into(), false),
            Found::Place(place) => (place, true),
            Found::Closed(why) => (why, false),
            Found::Error(why) => (format!("an error: {why}"), true),
        };
        let taken = if decides && !is_decided { "  <- taken" } else { "" };
        is_decided |= decides;
        text += &format!("  {name:<42} {found}{taken}\n");
    }
    text
}

fn ways(environment: &dyn Fn(&str) -> Option<String>) -> [(String, Found); 6] {
    let named = |words: &str, variables: &[&str]| format!("{words} ({})", variables.join(", "));
    [
        (named("started by hand", &[BOOTSTRAP_FILE_VARIABLE]), by_hand(environment)),
        (named("a server of PMI", &[pmi::FD_VARIABLE]), pmi(environment)),
        (named("a server of PMIx", &[pmix::JOB_VARIABLE, pmix::RANK_VARIABLE]), pmix(environment)),
        (named("Hawser's agent", &[ADDRESS_VARIABLE]), agent(environment)),
        ("Hawser's agent among the ancestors".into(), ancestor(environment)),
        ("alone".into(), alone(environment)),
    ]
}

fn error_or<T>(result: Result<Option<T>>, place: impl Fn(T) -> Found) -> Found {
    match result {
        Ok(Some(found)) => place(found),
        Ok(None) => Found::Nothing,
        Err(error) => Found::Error(error.cause().to_owned()),
    }
}

fn by_hand(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    error_or(ManualStart::from_environment(environment), |manual| {
        Found::Place(format!("rank {} of {} by {}", manual.rank, manual.size, manual.file.display()))
    })
}

fn pmi(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    let has_other = PmixConnection::is_named(environment);
    match PmiPlace::from_environment(environment) {
        Ok(Some(place)) => {
            let text = format!("rank {} of {} by descriptor {}", place.rank, place.size, place.fd);
            match place.is_open() {
                // `join` reads the version where the place counts.
                is_open if is_open || !has_other && pmi::first_version(environment).is_err() => {
                    pmi::first_version(environment)
                        .and_then(|_| pmi::split_step::refuse(&place, environment))
                        .map_or_else(|error| Found::Error(error.cause().to_owned()), |()| Found::Place(text))
                }
                // Another program of a script may have used the connection.
                _ if place.size == 1 || has_other => Found::Closed(format!("{text}, which is closed")),
                _ => Found::Error(format!("{text}, which is closed")),
            }
        }
        Ok(None) => Found::Nothing,
        Err(error) if has_other => Found::Closed(error.cause().to_owned()),
        Err(error) => Found::Error(error.cause().to_owned()),
    }
}

fn pmix(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    match (environment(pmix::JOB_VARIABLE), environment(pmix::RANK_VARIABLE)) {
        (Some(job), Some(rank)) => Found::Place(format!("rank {rank} of job {job}")),
        (None, None) => Found::Nothing,
        (job, _) => {
            let unset = if job.is_none() { pmix::JOB_VARIABLE } else { pmix::RANK_VARIABLE };
            Found::Closed(format!("{unset} is not set"))
        }
    }
}

fn agent(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    let Some(text) = environment(ADDRESS_VARIABLE) else { return Found::Nothing };
    match AgentAddress::decode(&text) {
        Ok(address) => Found::Place(format!("rank {} by {}", address.rank, address.socket)),
        Err(why) => Found::Error(why),
    }
}

fn ancestor(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    if environment(RANK_VARIABLE).is_some() {
        return Found::Closed(format!("{RANK_VARIABLE} without {ADDRESS_VARIABLE}: alone, as the user wants it"));
    }
    // A foreign launcher below a rank of ours hides our agent.
    match foreign_launcher::refuse(environment) {
        Ok(()) => ancestors::nearest_agent().map_or(Found::Nothing, |pid| Found::Place(format!("process {pid}"))),
        Err(_) => Found::Nothing,
    }
}

fn alone(environment: &dyn Fn(&str) -> Option<String>) -> Found {
    match foreign_launcher::refuse(environment) {
        Ok(()) => Found::Place("a job of one rank".into()),
        Err(error) => Found::Error(error.cause().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the way that is taken, and the whole text.
    fn taken(set: &'static [(&'static str, &'static str)]) -> (String, String) {
        let find = |asked: &str| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned());
        let text = text(&find);
        let marked: Vec<&str> = text.lines().filter(|line| line.ends_with("<- taken")).collect();
        assert_eq!(marked.len(), 1, "{text}");
        (marked[0].trim().split(" (").next().unwrap_or_default().to_owned(), text)
    }

    #[test]
    fn the_first_open_way_is_taken_as_join_takes_it() {
        assert!(taken(&[]).0.starts_with("alone"));
        assert_eq!(taken(&[("HAWSER_BOOT", "8:2:socket")]).0, "Hawser's agent");
        assert_eq!(
            taken(&[("PMIX_NAMESPACE", "j"), ("PMIX_RANK", "1"), ("HAWSER_BOOT", "8:2:s")]).0,
            "a server of PMIx"
        );
        const BY_HAND: &[(&str, &str)] = &[("HAWSER_RENDEZVOUS", "/f"), ("HAWSER_RANK", "0"), ("HAWSER_SIZE", "2")];
        assert_eq!(taken(BY_HAND).0, "started by hand");
    }

    #[test]
    fn an_error_ends_the_search_and_a_closed_connection_does_not_where_another_way_is_open() {
        const CLOSED: &[(&str, &str)] =
            &[("PMI_FD", "777"), ("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PMIX_NAMESPACE", "j"), ("PMIX_RANK", "0")];
        let (way, text) = taken(CLOSED);
        assert!(way == "a server of PMIx" && text.contains("descriptor 777, which is closed"), "{text}");
        const OF_ONE: &[(&str, &str)] = &[("HAWSER_PMI", "3"), ("PMI_FD", "777"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")];
        let (way, text) = taken(OF_ONE);
        assert!(way == "a server of PMI" && text.contains("HAWSER_PMI"), "{text}");
        assert!(taken(&OF_ONE[1..]).0.starts_with("alone"));
        let (way, text) = taken(&CLOSED[..3]);
        assert!(way == "a server of PMI" && text.contains("an error: "), "{text}");
        let (way, text) = taken(&[("SLURM_STEP_NUM_TASKS", "4")]);
        assert!(way.starts_with("alone") && text.contains("one of 4 processes started by Slurm's srun"), "{text}");
    }
}
