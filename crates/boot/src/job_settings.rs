//! Job-wide settings, which must be alike on all ranks of a job, on whatever host they are.
//!
//! A rank sends its settings when it joins (`AgentMessage::Hello`): the library that it runs, and the value of each
//! parameter that must be the same everywhere. The agent of a host compares its ranks, mpiexec compares one rank of
//! each host, and in a manual start rank 0 compares all ranks. `node` selects the parameters: those whose row in the
//! table of parameters has the scope T_SCOPE_ALL_EQ. Used by `node`, `host` and `launch`.

/// The suffix of a value that comes from the machine's profile. It makes no difference in the comparison, but
/// messages show it to the user.
const BY_PROFILE: &str = " (by the profile)";

/// The settings of one rank: a line for the library, then lines `NAME=VALUE`. Empty: the process sends none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSettings(String);

/// A rank that joins, with its host and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSettings {
    pub rank: u32,
    pub host: String,
    pub settings: JobSettings,
}

/// The result of the comparison of a rank's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsCheck {
    /// The rank is the first that has sent settings: all others are compared with it.
    First,
    Same,
    /// The job cannot go on; the text, one line, has the cause and the remedy.
    Different(String),
}

/// The settings that the ranks which have joined so far have in common.
#[derive(Debug, Default)]
pub struct CommonSettings {
    first: Option<RankSettings>,
    /// There is no mpiexec whose options a message could recommend.
    has_no_launcher: bool,
}

impl JobSettings {
    /// Makes settings without parameters. `library` names the version and the build of the library.
    pub fn new(library: &str) -> JobSettings {
        JobSettings(library.to_owned())
    }

    /// Makes the settings that another process has sent as text.
    pub fn from_text(text: String) -> JobSettings {
        JobSettings(text)
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Adds a parameter. Values that are equal must be spelled alike (`Param::canonical`), because they are compared
    /// as text.
    pub fn add(&mut self, name: &str, value: &str, is_by_profile: bool) {
        self.0 += &format!("\n{name}={value}{}", if is_by_profile { BY_PROFILE } else { "" });
    }

    fn library(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().skip(1).filter_map(|line| line.split_once('='))
    }

    /// The value of a parameter; empty if it is not set.
    fn value(&self, name: &str) -> &str {
        self.values().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }
}

impl CommonSettings {
    /// Makes the common settings of ranks that are started one by one, without a launcher.
    pub fn without_launcher() -> CommonSettings {
        CommonSettings { first: None, has_no_launcher: true }
    }

    /// Checks a rank that joins. A rank that sends no settings is accepted.
    pub fn check(&mut self, joining: RankSettings) -> SettingsCheck {
        if joining.settings.0.is_empty() {
            return SettingsCheck::Same;
        }
        match &self.first {
            None => {
                self.first = Some(joining);
                SettingsCheck::First
            }
            Some(first) if first.settings == joining.settings => SettingsCheck::Same,
            Some(first) => {
                let (lower, upper) = if first.rank < joining.rank { (first, &joining) } else { (&joining, first) };
                difference(lower, upper, self.has_no_launcher).map_or(SettingsCheck::Same, SettingsCheck::Different)
            }
        }
    }
}

impl RankSettings {
    fn location(&self) -> String {
        format!("rank {} on host {}", self.rank, self.host)
    }
}

/// Returns one line that names the settings in which two ranks differ; None if they do not.
fn difference(one: &RankSettings, other: &RankSettings, has_no_launcher: bool) -> Option<String> {
    let (mine, theirs) = (&one.settings, &other.settings);
    if mine.library() != theirs.library() {
        return Some(format!(
            "{} runs Hawser {}, and {} runs Hawser {}; all ranks must load the same library (install it on all hosts, \
             and check LD_LIBRARY_PATH)",
            one.location(),
            mine.library(),
            other.location(),
            theirs.library()
        ));
    }
    let bare = |value: &'_ str| value.strip_suffix(BY_PROFILE).unwrap_or(value).to_owned();
    let names = mine.values().map(|(name, _)| name).filter(|name| bare(mine.value(name)) != bare(theirs.value(name)));
    let names: Vec<&str> = names.collect();
    let (first, rest) = names.split_first()?;
    let shown = |value: &str| if value.is_empty() { "not set".to_owned() } else { value.to_owned() };
    let pair = |name: &str| (shown(mine.value(name)), shown(theirs.value(name)));
    let (here, there) = pair(first);
    let mut text = format!("{first} is {here} for {} and {there} for {}", one.location(), other.location());
    for name in rest {
        let (here, there) = pair(name);
        text += &format!(", {name} is {here} and {there}");
    }
    let (them, name) = if rest.is_empty() { ("it", *first) } else { ("each", "NAME") };
    let how = if has_no_launcher { String::new() } else { format!(" (mpiexec -genv {name} VALUE)") };
    Some(format!("{text}; set {them} to the same value on all ranks{how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "0.1.0 (build 1)";

    fn rank_settings(rank: u32, host: &str, library: &str, values: &[(&str, &str, bool)]) -> RankSettings {
        let mut settings = JobSettings::new(library);
        values.iter().for_each(|&(name, value, is_by_profile)| settings.add(name, value, is_by_profile));
        RankSettings { rank, host: host.into(), settings: JobSettings::from_text(settings.text().to_owned()) }
    }

    fn checked(first: RankSettings, second: RankSettings) -> SettingsCheck {
        let mut agreed = CommonSettings::default();
        assert_eq!(agreed.check(first), SettingsCheck::First);
        agreed.check(second)
    }

    #[test]
    fn ranks_of_the_same_terms_are_let_in() {
        let values = [("HAWSER_WINDOW", "1048576", false), ("HAWSER_CHECK", "0", false)];
        assert_eq!(
            checked(rank_settings(1, "a", LIBRARY, &values), rank_settings(0, "b", LIBRARY, &values)),
            SettingsCheck::Same
        );
    }

    #[test]
    fn unlike_values_are_told_with_both_ranks_and_hosts_the_lower_rank_first() {
        let set = rank_settings(0, "a", LIBRARY, &[("HAWSER_WINDOW", "2097152", false), ("HAWSER_CHECK", "0", false)]);
        let unset = rank_settings(3, "b", LIBRARY, &[("HAWSER_WINDOW", "", false), ("HAWSER_CHECK", "0", false)]);
        let expected = "HAWSER_WINDOW is 2097152 for rank 0 on host a and not set for rank 3 on host b; set it to the \
                        same value on all ranks (mpiexec -genv HAWSER_WINDOW VALUE)";
        assert_eq!(checked(set.clone(), unset.clone()), SettingsCheck::Different(expected.into()));
        assert_eq!(checked(unset, set), SettingsCheck::Different(expected.into()));
    }

    #[test]
    fn all_values_that_are_unlike_are_told_in_one_line() {
        let one = rank_settings(0, "a", LIBRARY, &[("HAWSER_EAGER", "1", false), ("HAWSER_CHECK", "1", false)]);
        let other = rank_settings(1, "a", LIBRARY, &[("HAWSER_EAGER", "2", true), ("HAWSER_CHECK", "0", false)]);
        let expected = "HAWSER_EAGER is 1 for rank 0 on host a and 2 (by the profile) for rank 1 on host a, \
                        HAWSER_CHECK is 1 and 0; set each to the same value on all ranks (mpiexec -genv NAME VALUE)";
        assert_eq!(checked(one, other), SettingsCheck::Different(expected.into()));
    }

    #[test]
    fn it_makes_no_difference_where_a_value_comes_from() {
        let of = |rank, is_by_profile| rank_settings(rank, "a", LIBRARY, &[("HAWSER_EAGER", "1", is_by_profile)]);
        assert_eq!(checked(of(0, true), of(1, false)), SettingsCheck::Same);
    }

    #[test]
    fn unlike_libraries_are_told_alone() {
        let one = rank_settings(0, "a", LIBRARY, &[("HAWSER_EAGER", "1", false)]);
        let other = rank_settings(1, "b", "0.1.1 (build 2)", &[("HAWSER_EAGER", "2", false)]);
        let expected = "rank 0 on host a runs Hawser 0.1.0 (build 1), and rank 1 on host b runs Hawser 0.1.1 (build \
                        2); all ranks must load the same library (install it on all hosts, and check LD_LIBRARY_PATH)";
        assert_eq!(checked(one, other), SettingsCheck::Different(expected.into()));
    }

    #[test]
    fn a_process_that_says_nothing_is_let_in_and_is_not_what_others_are_compared_with() {
        let silent = RankSettings { rank: 0, host: "a".into(), settings: JobSettings::default() };
        let mut agreed = CommonSettings::default();
        assert_eq!(agreed.check(silent.clone()), SettingsCheck::Same);
        assert_eq!(agreed.check(rank_settings(1, "a", LIBRARY, &[])), SettingsCheck::First);
        assert_eq!(agreed.check(silent), SettingsCheck::Same);
    }
}
