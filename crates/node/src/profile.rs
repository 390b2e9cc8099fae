//! A profile: the results of `hawser-bench tune` on a machine, which replace the parameters' defaults on that
//! machine.
//!
//! It is a text of lines `NAME = VALUE`: the machine's properties, and parameters; a `#` begins a comment, such as
//! the evidence. mpiexec searches for the profile and hands it to each host's agent, and the agent hands it to its
//! ranks (which may be bound to some cores, and could not see the whole machine); a process without a launcher
//! searches itself. On a host that is another machine, only those values count that must be alike on all hosts. A
//! profile with a line that cannot be used is ignored as a whole, with a notice, and never ends a job. Used by
//! `start`, mpiexec, `hawser-info` and `hawser-bench`, which writes profiles.

use crate::params;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC};
use hawser_base::{Class, Error, Result};
use hawser_boot::protocol::ADDRESS_VARIABLE;
use hawser_os::{cpus, host};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The variable in which the agent hands the lines of the job's profile that count to a rank, with `;` between them.
pub const VARIABLE: &str = "HAWSER_TUNED";

/// The value for no profile, even if there is one.
const NONE: &str = "none";

pub static PROFILE: Param = Param {
    name: "HAWSER_PROFILE",
    kind: ParamKind::Text,
    default: "",
    help: "profile (hawser-bench tune writes it) that mpiexec, or a program started without it, uses: a file, or none; \
           empty: ~/.config/hawser/profile, else /etc/hawser/profile",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

/// The properties of a machine on which the values of a profile depend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineId {
    pub hawser: String,
    pub processor: String,
    /// The number of cores that can be used at once.
    pub cores: String,
    /// The first two numbers of the kernel's release.
    pub kernel: String,
}

/// A profile: a machine's properties, and values of parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The time at which it was measured, as RFC 3339 has it.
    pub date: String,
    pub machine: MachineId,
    /// Parameters and their values.
    pub values: Vec<(String, String)>,
}

/// The result of the search for this machine's profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProfileStatus {
    #[default]
    Nothing,
    Used {
        path: PathBuf,
        profile: Profile,
    },
    Ignored {
        path: PathBuf,
        reason: ProfileError,
    },
}

impl ProfileStatus {
    /// Returns the profile as one line, for agents; empty without a profile.
    pub fn line(&self) -> String {
        match self {
            ProfileStatus::Used { profile, .. } => profile.line(),
            _ => String::new(),
        }
    }
}

/// The cause why a profile is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    Unreadable(String),
    NoLine { number: usize, line: String },
    NoParameter(String),
    Value(String),
    OtherMachine { what: &'static str, there: String, here: String },
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ProfileError::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            ProfileError::NoLine { number, line } => write!(f, "line {number}, `{line}`, is not NAME = VALUE"),
            ProfileError::NoParameter(name) => write!(f, "there is no parameter {name}"),
            ProfileError::Value(cause) => write!(f, "{cause}"),
            ProfileError::OtherMachine { what, there, here } => {
                write!(f, "it is for another machine: its {what} is {there}, here it is {here}")
            }
        }
    }
}

impl fmt::Display for ProfileStatus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ProfileStatus::Nothing => write!(f, "none (hawser-bench tune writes one)"),
            ProfileStatus::Used { path, profile } => write!(f, "{} of {}", path.display(), profile.date),
            ProfileStatus::Ignored { path, reason: why } => write!(
                f,
                "{} is not used: {why}; run `hawser-bench tune` for this machine, or set HAWSER_PROFILE=none",
                path.display()
            ),
        }
    }
}

impl MachineId {
    pub fn here() -> MachineId {
        // The processor's name: x86 has `model name`, Arm numbers of its implementer and part.
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let of =
            |key: &str| processors.lines().find_map(|line| line.strip_prefix(key)?.split_once(':')).map(|(_, v)| v);
        let names = ["model name", "CPU implementer", "CPU part"].into_iter().filter_map(of);
        let processor = names.map(str::trim).collect::<Vec<_>>().join(" ").replace([';', '#'], ",");
        MachineId {
            hawser: env!("CARGO_PKG_VERSION").into(),
            processor,
            cores: cpus::available().to_string(),
            kernel: host::release().splitn(3, '.').take(2).collect::<Vec<_>>().join("."),
        }
    }

    fn lines(&self) -> [(&'static str, &String); 4] {
        [("hawser", &self.hawser), ("processor", &self.processor), ("cores", &self.cores), ("kernel", &self.kernel)]
    }

    /// Returns the first property in which `there`, a profile's machine, differs from this one; None if there is
    /// none.
    fn machine_mismatch(&self, there: &MachineId) -> Option<ProfileError> {
        let pairs = there.lines().into_iter().zip(self.lines());
        let unlike = |((what, there), (_, here)): ((&'static str, &String), (_, &String))| {
            (there != here).then(|| ProfileError::OtherMachine { what, there: there.clone(), here: here.clone() })
        };
        pairs.into_iter().find_map(unlike)
    }
}

impl Profile {
    /// Parses a profile, with `;` or ends of lines between its lines.
    pub fn parse(text: &str) -> std::result::Result<Profile, ProfileError> {
        let mut profile = Profile::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            for pair in line.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
                let no_line = || ProfileError::NoLine { number, line: pair.into() };
                let (name, value) = pair.split_once('=').ok_or_else(no_line)?;
                profile.take(name.trim(), value.trim()).ok_or_else(no_line)?;
            }
        }
        Ok(profile)
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        let place = match name {
            "date" => &mut self.date,
            "hawser" => &mut self.machine.hawser,
            "processor" => &mut self.machine.processor,
            "cores" => &mut self.machine.cores,
            "kernel" => &mut self.machine.kernel,
            name if name.starts_with("HAWSER_") => {
                self.values.push((name.into(), value.into()));
                return Some(());
            }
            _ => return None,
        };
        *place = value.into();
        Some(())
    }

    /// Returns the profile as `parse` reads it, with `end` after each line and the text of `evidence` for a parameter
    /// before its line.
    pub fn text(&self, end: &str, evidence: impl Fn(&str) -> String) -> String {
        let head = [("date", &self.date)].into_iter().chain(self.machine.lines());
        let head = head.map(|(name, value)| line(name, value, end));
        let values = self.values.iter().map(|(name, value)| evidence(name) + &line(name, value, end));
        head.chain(values).collect()
    }

    /// Returns the profile as one line, for agents.
    fn line(&self) -> String {
        self.text(";", |_| String::new())
    }

    /// Returns the values that count on `here`, each with its parameter: if the profile is of another machine, only
    /// those that must be alike on all hosts.
    fn applicable_values(&self, here: &MachineId) -> std::result::Result<Vec<(&'static Param, &str)>, ProfileError> {
        let is_other = here.machine_mismatch(&self.machine).is_some();
        let known = params::all();
        let mut rows = Vec::new();
        for (name, value) in &self.values {
            let param =
                known.iter().find(|param| param.name == name).ok_or_else(|| ProfileError::NoParameter(name.clone()))?;
            param.accepts(value).map_err(|error| ProfileError::Value(error.cause().into()))?;
            if !is_other || param.must_match_on_all_ranks() {
                rows.push((*param, value.as_str()));
            }
        }
        Ok(rows)
    }

    /// Applies the profile to the parameters of this process.
    fn apply(&self, here: &MachineId) -> std::result::Result<(), ProfileError> {
        let rows = self.applicable_values(here)?;
        rows.into_iter()
            .try_for_each(|(param, value)| param.tune(value))
            .map_err(|e| ProfileError::Value(e.cause().into()))
    }
}

fn line(name: &str, value: &str, end: &str) -> String {
    format!("{name} = {value}{end}")
}

/// Returns the lines of a job's profile that count on this host, which an agent hands to its ranks in `VARIABLE`.
pub fn of_host(handed: &str) -> String {
    // mpiexec, which is of the same version, has checked the profile.
    let profile = Profile::parse(handed).unwrap_or_default();
    if profile.values.is_empty() {
        return String::new();
    }
    let rows = profile.applicable_values(&MachineId::here()).unwrap_or_default();
    rows.into_iter().map(|(param, value)| line(param.name, value, ";")).collect()
}

/// Searches for this machine's profile, and applies it to the parameters of this process. It is an error if a profile
/// that was requested by name is not there.
pub fn find() -> Result<ProfileStatus> {
    if PROFILE.text() == NONE {
        return Ok(ProfileStatus::Nothing);
    }
    if let Some(path) = named() {
        return read(&path).map_err(|error| {
            let path = path.display();
            let text = format!(
                "HAWSER_PROFILE={path} cannot be read: {error}; name a file that hawser-bench tune wrote, or none"
            );
            Error::new(Class::Arg, text)
        });
    }
    let mut first = ProfileStatus::Nothing;
    for path in search_paths().into_iter().filter(|path| path.exists()) {
        let found = match read(&path) {
            Ok(found) => found,
            Err(error) => ProfileStatus::Ignored { path, reason: ProfileError::Unreadable(error.to_string()) },
        };
        if matches!(found, ProfileStatus::Used { .. }) {
            return Ok(found);
        }
        if first == ProfileStatus::Nothing {
            first = found;
        }
    }
    Ok(first)
}

/// Returns the file that HAWSER_PROFILE names; None if it names none.
pub fn named() -> Option<PathBuf> {
    Some(PROFILE.text()).filter(|text| !text.is_empty() && text != NONE).map(PathBuf::from)
}

fn read(path: &Path) -> io::Result<ProfileStatus> {
    let (text, here) = (std::fs::read_to_string(path)?, MachineId::here());
    let used = |profile: Profile| {
        here.machine_mismatch(&profile.machine).map_or(Ok(()), Err)?;
        profile.apply(&here)?;
        Ok(profile)
    };
    Ok(match Profile::parse(&text).and_then(used) {
        Ok(profile) => ProfileStatus::Used { path: path.into(), profile },
        Err(why) => ProfileStatus::Ignored { path: path.into(), reason: why },
    })
}

/// Returns the paths at which a profile is searched for: the user's, which tune writes, and the machine's.
fn search_paths() -> Vec<PathBuf> {
    user_path().into_iter().chain([PathBuf::from("/etc/hawser/profile")]).collect()
}

/// Returns the path of the user's profile, which tune writes.
pub fn user_path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("hawser/profile"))
}

/// Applies a profile to this process: in a rank that mpiexec has started, the job's profile; in a process without a
/// launcher, the profile that it finds.
pub(crate) fn of_rank() -> Result<()> {
    if std::env::var_os(ADDRESS_VARIABLE).is_none() {
        let found = find()?;
        if matches!(found, ProfileStatus::Ignored { .. }) {
            host::print_error(&format!("hawser: profile {found}"));
        }
        return Ok(());
    }
    let handed = std::env::var(VARIABLE).unwrap_or_default();
    if handed.is_empty() || PROFILE.text() == NONE {
        return Ok(());
    }
    let applied = Profile::parse(&handed).and_then(|profile| profile.apply(&profile.machine));
    applied.map_err(|why| Error::new(Class::Other, format!("{VARIABLE}, which mpiexec has set: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# by hawser-bench\ndate = 2026-11-24T15:00:00Z\nhawser = 0.1.0\nprocessor = A = B\ncores = 2 # all\n\
                        kernel = 6.1\n\n# pays from 32 KiB\nHAWSER_EAGER = 32k\nHAWSER_SPIN=7;HAWSER_FIRST = 4096\n";

    fn machine() -> MachineId {
        MachineId { hawser: "0.1.0".into(), processor: "A = B".into(), cores: "2".into(), kernel: "6.1".into() }
    }

    fn profile(values: &[(&str, &str)]) -> Profile {
        let values = values.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        Profile { date: "d".into(), machine: machine(), values }
    }

    #[test]
    fn a_profile_comes_back_as_it_was_written() {
        let profile = Profile::parse(TEXT).unwrap();
        assert_eq!(profile.machine, machine());
        assert_eq!(profile.values.len(), 3);
        assert_eq!(Profile::parse(&profile.text("\n", |_| "# so it was measured\n".into())).as_ref(), Ok(&profile));
        assert_eq!(Profile::parse(&profile.line()), Ok(profile));
    }

    #[test]
    fn what_is_no_profile_is_told_with_its_line() {
        let told = |text: &str| Profile::parse(text).unwrap_err().to_string();
        assert_eq!(told("date = 1\nnonsense"), "line 2, `nonsense`, is not NAME = VALUE");
        assert_eq!(told("color = red"), "line 1, `color = red`, is not NAME = VALUE");
    }

    #[test]
    fn on_another_machine_only_what_must_be_alike_counts() {
        let profile = profile(&[("HAWSER_EAGER", "32k"), ("HAWSER_SPIN", "7")]);
        let names = |here: &MachineId| {
            profile.applicable_values(here).unwrap().iter().map(|row| row.0.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&machine()), ["HAWSER_EAGER", "HAWSER_SPIN"]);
        assert_eq!(names(&MachineId { cores: "4".into(), ..machine() }), ["HAWSER_EAGER"]);
    }

    #[test]
    fn what_differs_is_named_and_values_are_checked() {
        let here = MachineId { kernel: "6.2".into(), ..machine() };
        let told = here.machine_mismatch(&machine()).unwrap().to_string();
        assert_eq!(told, "it is for another machine: its kernel is 6.1, here it is 6.2");
        let told = |name, value| profile(&[(name, value)]).applicable_values(&machine()).unwrap_err().to_string();
        assert_eq!(told("HAWSER_COLOR", "1"), "there is no parameter HAWSER_COLOR");
        assert!(told("HAWSER_EAGER", "much").starts_with("HAWSER_EAGER=much is not a number from 0"));
    }

    #[test]
    fn this_machine_is_known_by_all_its_lines() {
        let here = MachineId::here();
        assert!(here.lines().into_iter().all(|(_, value)| !value.is_empty()), "{here:?}");
        assert_eq!(here.machine_mismatch(&MachineId::here()), None);
    }
}
