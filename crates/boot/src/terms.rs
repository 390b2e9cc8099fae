//! Job-wide settings (terms), which must be alike on all ranks of a job, on whatever host they are.
//!
//! A rank sends its terms when it joins (`Message::Hello`): the library that it runs, and the value of each parameter
//! that must be the same everywhere. Its agent compares the ranks of a host, mpiexec the first ranks of all hosts, so
//! no process compares more than its own. Which parameters these are is not known here: `node` collects them by their
//! rows. Used by `node` and `launch`.

/// The suffix of a value from the machine's profile: its origin makes no difference, but the user should know.
const BY_PROFILE: &str = " (by the profile)";

/// The terms of one rank: a line for the library, then lines `NAME=VALUE`. Empty: the process sends none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobTerms(String);

/// A rank that joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub rank: u32,
    pub host: String,
    pub terms: JobTerms,
}

/// The verdict on a rank's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the first rank that has sent some: all others are compared with it.
    First,
    Alike,
    /// The job cannot go on; the text, one line, has the cause and the remedy.
    Unlike(String),
}

/// The terms that the ranks which came so far have in common.
#[derive(Debug, Default)]
pub struct Agreed {
    first: Option<Party>,
    /// There is no mpiexec whose options a message could recommend.
    has_no_launcher: bool,
}

impl JobTerms {
    /// `library` names the version and the build.
    pub fn new(library: &str) -> JobTerms {
        JobTerms(library.to_owned())
    }

    /// The terms as another process has sent them.
    pub fn from_text(text: String) -> JobTerms {
        JobTerms(text)
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Adds a parameter. `value` must be written in one way only (`Param::canonical`).
    pub fn add(&mut self, name: &str, value: &str, is_by_profile: bool) {
        self.0 += &format!("\n{name}={value}{}", if is_by_profile { BY_PROFILE } else { "" });
    }

    fn library(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().skip(1).filter_map(|line| line.split_once('='))
    }

    /// The value of a parameter; empty where it is not set.
    fn value(&self, name: &str) -> &str {
        self.values().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }
}

impl Agreed {
    /// The terms of ranks that are started one by one.
    pub fn without_launcher() -> Agreed {
        Agreed { first: None, has_no_launcher: true }
    }

    /// Judges a rank that joins. A rank that sends no terms is let in.
    pub fn judge(&mut self, party: Party) -> Verdict {
        if party.terms.0.is_empty() {
            return Verdict::Alike;
        }
        match &self.first {
            None => {
                self.first = Some(party);
                Verdict::First
            }
            Some(first) if first.terms == party.terms => Verdict::Alike,
            Some(first) => {
                let (lower, upper) = if first.rank < party.rank { (first, &party) } else { (&party, first) };
                unlike(lower, upper, self.has_no_launcher).map_or(Verdict::Alike, Verdict::Unlike)
            }
        }
    }
}

impl Party {
    fn place(&self) -> String {
        format!("rank {} on host {}", self.rank, self.host)
    }
}

/// Returns one line that names the terms in which two ranks differ, if they do.
fn unlike(one: &Party, other: &Party, has_no_launcher: bool) -> Option<String> {
    let (mine, theirs) = (&one.terms, &other.terms);
    if mine.library() != theirs.library() {
        return Some(format!(
            "{} runs Hawser {}, and {} Hawser {}; let all ranks find the same library (install it on all hosts, and \
             see LD_LIBRARY_PATH)",
            one.place(),
            mine.library(),
            other.place(),
            theirs.library()
        ));
    }
    let bare = |value: &'_ str| value.strip_suffix(BY_PROFILE).unwrap_or(value).to_owned();
    let names = mine.values().map(|(name, _)| name).filter(|name| bare(mine.value(name)) != bare(theirs.value(name)));
    let names: Vec<&str> = names.collect();
    let (first, rest) = names.split_first()?;
    let said = |value: &str| if value.is_empty() { "not set".to_owned() } else { value.to_owned() };
    let pair = |name: &str| (said(mine.value(name)), said(theirs.value(name)));
    let (here, there) = pair(first);
    let mut text = format!("{first} is {here} for {} and {there} for {}", one.place(), other.place());
    for name in rest {
        let (here, there) = pair(name);
        text += &format!(", {name} is {here} and {there}");
    }
    let (them, name) = if rest.is_empty() { ("it", *first) } else { ("them", "NAME") };
    let how = if has_no_launcher { String::new() } else { format!(" (mpiexec -genv {name} VALUE)") };
    Some(format!("{text}; set {them} alike for all ranks{how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "0.1.0 (build 1)";

    fn party(rank: u32, host: &str, library: &str, values: &[(&str, &str, bool)]) -> Party {
        let mut terms = JobTerms::new(library);
        values.iter().for_each(|&(name, value, is_by_profile)| terms.add(name, value, is_by_profile));
        Party { rank, host: host.into(), terms: JobTerms::from_text(terms.text().to_owned()) }
    }

    fn judged(first: Party, second: Party) -> Verdict {
        let mut agreed = Agreed::default();
        assert_eq!(agreed.judge(first), Verdict::First);
        agreed.judge(second)
    }

    #[test]
    fn ranks_of_the_same_terms_are_let_in() {
        let values = [("HAWSER_WINDOW", "1048576", false), ("HAWSER_CHECK", "0", false)];
        assert_eq!(judged(party(1, "a", LIBRARY, &values), party(0, "b", LIBRARY, &values)), Verdict::Alike);
    }

    #[test]
    fn unlike_values_are_told_with_both_ranks_and_hosts_the_lower_rank_first() {
        let set = party(0, "a", LIBRARY, &[("HAWSER_WINDOW", "2097152", false), ("HAWSER_CHECK", "0", false)]);
        let unset = party(3, "b", LIBRARY, &[("HAWSER_WINDOW", "", false), ("HAWSER_CHECK", "0", false)]);
        let expected = "HAWSER_WINDOW is 2097152 for rank 0 on host a and not set for rank 3 on host b; set it alike \
                        for all ranks (mpiexec -genv HAWSER_WINDOW VALUE)";
        assert_eq!(judged(set.clone(), unset.clone()), Verdict::Unlike(expected.into()));
        assert_eq!(judged(unset, set), Verdict::Unlike(expected.into()));
    }

    #[test]
    fn all_values_that_are_unlike_are_told_in_one_line() {
        let one = party(0, "a", LIBRARY, &[("HAWSER_EAGER", "1", false), ("HAWSER_CHECK", "1", false)]);
        let other = party(1, "a", LIBRARY, &[("HAWSER_EAGER", "2", true), ("HAWSER_CHECK", "0", false)]);
        let expected = "HAWSER_EAGER is 1 for rank 0 on host a and 2 (by the profile) for rank 1 on host a, \
                        HAWSER_CHECK is 1 and 0; set them alike for all ranks (mpiexec -genv NAME VALUE)";
        assert_eq!(judged(one, other), Verdict::Unlike(expected.into()));
    }

    #[test]
    fn it_makes_no_difference_where_a_value_comes_from() {
        let of = |rank, is_by_profile| party(rank, "a", LIBRARY, &[("HAWSER_EAGER", "1", is_by_profile)]);
        assert_eq!(judged(of(0, true), of(1, false)), Verdict::Alike);
    }

    #[test]
    fn unlike_libraries_are_told_alone() {
        let one = party(0, "a", LIBRARY, &[("HAWSER_EAGER", "1", false)]);
        let other = party(1, "b", "0.1.1 (build 2)", &[("HAWSER_EAGER", "2", false)]);
        let expected = "rank 0 on host a runs Hawser 0.1.0 (build 1), and rank 1 on host b Hawser 0.1.1 (build 2); let \
                        all ranks find the same library (install it on all hosts, and see LD_LIBRARY_PATH)";
        assert_eq!(judged(one, other), Verdict::Unlike(expected.into()));
    }

    #[test]
    fn a_process_that_says_nothing_is_let_in_and_is_not_what_others_are_compared_with() {
        let silent = Party { rank: 0, host: "a".into(), terms: JobTerms::default() };
        let mut agreed = Agreed::default();
        assert_eq!(agreed.judge(silent.clone()), Verdict::Alike);
        assert_eq!(agreed.judge(party(1, "a", LIBRARY, &[])), Verdict::First);
        assert_eq!(agreed.judge(silent), Verdict::Alike);
    }
}
