//! Hawser with several settings, played in turns in one run.
//!
//! It judges nothing. Each setting is a job of its own that uses no profile but the one that is named. Used by `tune`;
//! uses `library`, `system` and `run`.

use super::judge::Comparison;
use super::knobs::{KNOBS, Knob};
use crate::library::{Library, Named};
use crate::place::{self, Place};
use crate::record::Record;
use crate::run::{self, Method};
use crate::sizes::sizes;
use crate::system::System;
use crate::task::Pattern;
use hawser_node::profile::{PROFILE, Profile};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The names of the systems.
pub const DEFAULT: &str = "default";
pub const TUNED: &str = "tuned";
pub const NOW: &str = "now";

/// The patterns of the whole curves.
const WHOLE: &[Pattern] = &[Pattern::PingPong, Pattern::Stream, Pattern::Bidirectional, Pattern::Allreduce];
const LONGEST: u64 = 4 << 20;

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
    pub rounds: u32,
    pub play_s: f64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl Trials<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Plays all settings with a knob's patterns and sizes; None where it was stopped.
    pub fn play(&self, knob: &Knob, settings: &[Setting]) -> Result<Option<Record>, String> {
        self.run(knob.name, settings, knob.patterns, knob.sizes(), self.rounds)
    }

    /// Compares one setting with the default, with twice the rounds; without points where it was stopped.
    pub fn against(&self, knob: &Knob, default: Setting, setting: Setting) -> Result<Comparison, String> {
        let settings = [default, setting];
        let record = self.run(knob.name, &settings, knob.patterns, knob.sizes(), 2 * self.rounds)?;
        let compared = record.map(|record| Comparison::of(&record, &settings[1].name, &settings[0].name));
        Ok(compared.unwrap_or(Comparison { pairs: Vec::new() }))
    }

    /// Plays the whole curves of the defaults, of a profile that has any values, as the library loads it, and of the
    /// one in force.
    pub fn whole(&self, profile: &Profile, now: Option<&Path>) -> Result<Option<Record>, String> {
        let path = self.scratch.join("profile");
        std::fs::write(&path, profile.text("\n", |_| String::new())).map_err(|e| format!("{}: {e}", path.display()))?;
        let by = |name, path: &Path| Setting::with(name, path.display().to_string(), [].into_iter());
        let mut settings = vec![Setting::of(DEFAULT, &[], None)];
        settings.extend((!profile.values.is_empty()).then(|| by(TUNED, &path)));
        settings.extend(now.map(|path| by(NOW, path)));
        self.run("all sizes", &settings, WHOLE, sizes(1, LONGEST, 0), self.rounds)
    }

    fn run(
        &self,
        what: &str,
        settings: &[Setting],
        patterns: &[Pattern],
        sizes: Vec<u64>,
        rounds: u32,
    ) -> Result<Option<Record>, String> {
        let systems = settings.iter().map(|setting| self.start(setting)).collect::<Result<Vec<_>, _>>()?;
        let mut record = Record::begun(place::machine(&Place::Here));
        let method =
            Method { patterns: patterns.to_vec(), sizes, pairs: 1, rounds, play_s: self.play_s, verify: false };
        run::play(what, method, systems, &mut record, self.stop);
        if self.is_stopped() {
            return Ok(None);
        }
        match record.complete {
            true => Ok(Some(record)),
            false => Err(record.notes.join("; ")),
        }
    }

    fn start(&self, setting: &Setting) -> Result<System, String> {
        let Setting { name, variables } = setting;
        let named = Named { name: name.clone(), prefix: self.prefix.clone(), variables: variables.clone() };
        let library = Library::find(named, self.scratch).map_err(|unusable| unusable.to_string())?;
        let mut plan = library.plan(2, &Place::Here).map_err(|unusable| unusable.to_string())?;
        // A variable in the user's environment would replace the default.
        let is_set = |knob: &&Knob| variables.iter().any(|(name, _)| name == knob.name);
        KNOBS.iter().filter(|knob| !is_set(knob)).for_each(|knob| _ = plan.command.env_remove(knob.name));
        System::start(plan, self.stop).map_err(|trouble| trouble.to_string())
    }
}
