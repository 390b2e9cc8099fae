//! Measures Hawser with several settings, in turns in one run.
//!
//! It judges nothing. Each setting is a job of its own that uses no profile but the one that is named. Used by
//! `tune`; uses `library`, `measured_system` and `run`.

use super::compare::Comparison;
use super::params::{TUNED_PARAMS, TunedParam};
use crate::library::{LibrarySpec, MpiLibrary};
use crate::measured_system::MeasuredSystem;
use crate::record::BenchmarkRecord;
use crate::run::{self, MeasurementConfig};
use crate::sizes::sizes;
use crate::task::TrafficPattern;
use crate::testbed::{self, TestBed};
use hawser_node::profile::{PROFILE, Profile};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The names of the settings, which are the systems of a record.
pub const DEFAULT: &str = "default";
pub const TUNED: &str = "tuned";
pub const IN_FORCE: &str = "now";

/// The patterns of the whole curves.
const PROFILE_PATTERNS: &[TrafficPattern] =
    &[TrafficPattern::PingPong, TrafficPattern::Stream, TrafficPattern::Bidirectional, TrafficPattern::Allreduce];
const MESSAGE_MAX: u64 = 4 << 20;

/// A job's name and the variables of its environment.
pub struct Setting {
    name: String,
    variables: Vec<(String, String)>,
}

impl Setting {
    /// A setting; `more` is a parameter and its value in addition to the decided ones.
    pub fn of(name: &str, decided: &[(String, String)], more: Option<(&str, &str)>) -> Setting {
        let more = more.map(|(name, value)| (name.to_string(), value.to_string()));
        Setting::with(name, "none".into(), decided.iter().cloned().chain(more))
    }

    fn with(name: &str, profile: String, more: impl Iterator<Item = (String, String)>) -> Setting {
        let variables = [(PROFILE.name.to_string(), profile)].into_iter().chain(more).collect();
        Setting { name: name.into(), variables }
    }
}

/// The parameters of the measurements.
pub struct Trials<'a> {
    pub prefix: PathBuf,
    pub scratch: &'a Path,
    pub testbed: &'a TestBed,
    pub rounds: u32,
    pub task_s: f64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl Trials<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Measures all settings with a parameter's patterns and sizes; None if the run was stopped.
    pub fn measure(&self, param: &TunedParam, settings: &[Setting]) -> Result<Option<BenchmarkRecord>, String> {
        self.run(param.name, settings, param.patterns, param.sizes(), self.rounds)
    }

    /// Compares one setting with the default, with twice the rounds; the result has no points if the run was stopped.
    pub fn compare_with_default(
        &self,
        param: &TunedParam,
        default: Setting,
        setting: Setting,
    ) -> Result<Comparison, String> {
        let settings = [default, setting];
        let record = self.run(param.name, &settings, param.patterns, param.sizes(), 2 * self.rounds)?;
        let compared = record.map(|record| Comparison::of(&record, &settings[1].name, &settings[0].name));
        Ok(compared.unwrap_or(Comparison { pairs: Vec::new() }))
    }

    /// Measures the whole curves with the defaults, with `profile` if it has any values, as the library loads it, and
    /// with the profile in force if there is one. Between hosts, the values are set by the environment, because
    /// another host does not have the file.
    pub fn measure_profiles(
        &self,
        profile: &Profile,
        in_force: Option<&Path>,
    ) -> Result<Option<BenchmarkRecord>, String> {
        let path = self.scratch.join("profile");
        std::fs::write(&path, profile.text("\n", |_| String::new())).map_err(|e| format!("{}: {e}", path.display()))?;
        let by = |name, path: &Path| Setting::with(name, path.display().to_string(), [].into_iter());
        let mut settings = vec![Setting::of(DEFAULT, &[], None)];
        let tuned = || match self.testbed.is_one_host() {
            true => by(TUNED, &path),
            false => Setting::of(TUNED, &profile.values, None),
        };
        settings.extend((!profile.values.is_empty()).then(tuned));
        settings.extend(in_force.map(|path| by(IN_FORCE, path)));
        self.run("all sizes", &settings, PROFILE_PATTERNS, sizes(1, MESSAGE_MAX, 0), self.rounds)
    }

    fn run(
        &self,
        purpose: &str,
        settings: &[Setting],
        patterns: &[TrafficPattern],
        sizes: Vec<u64>,
        rounds: u32,
    ) -> Result<Option<BenchmarkRecord>, String> {
        let systems = settings.iter().map(|setting| self.start(setting)).collect::<Result<Vec<_>, _>>()?;
        let mut record = BenchmarkRecord::new(testbed::machine_info(self.testbed));
        let config = MeasurementConfig {
            patterns: patterns.to_vec(),
            sizes,
            pairs: 1,
            rounds,
            task_s: self.task_s,
            verify: false,
        };
        run::measure(purpose, config, systems, &mut record, self.stop);
        if self.is_stopped() {
            return Ok(None);
        }
        match record.complete {
            true => Ok(Some(record)),
            false => Err(record.notes.join("; ")),
        }
    }

    fn start(&self, setting: &Setting) -> Result<MeasuredSystem, String> {
        let Setting { name, variables } = setting;
        let named = LibrarySpec { name: name.clone(), prefix: self.prefix.clone(), variables: variables.clone() };
        let library = MpiLibrary::find(named).map_err(|unusable| unusable.to_string())?;
        let mut spec = library.system_spec(2, self.testbed, self.scratch).map_err(|unusable| unusable.to_string())?;
        // A variable in the user's environment would replace the default.
        let is_set = |param: &&TunedParam| variables.iter().any(|(name, _)| name == param.name);
        TUNED_PARAMS.iter().filter(|param| !is_set(param)).for_each(|param| _ = spec.command.env_remove(param.name));
        MeasuredSystem::start(spec, self.stop).map_err(|error| error.to_string())
    }
}
