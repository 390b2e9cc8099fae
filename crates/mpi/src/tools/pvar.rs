//! Performance variables: the rank's counters and the lengths of its queues (MPI-5.0 §15.3.7).
//!
//! A handle of a counter adds up what is counted while it runs, so that no session sees another one's resets; only the
//! rank writes the counters themselves. Lengths are read as they are. Everything is 0 until MPI_Init.
//!
//! Used by `abi::tool`; uses `job::counters`, `matching::QueueLengths`.

use super::{ALL_HANDLES, Id, State, at, named, no_handle, with};
use crate::process;
use hawser_base::handle::datatype;
use hawser_base::value::{
    T_PVAR_CLASS_AGGREGATE, T_PVAR_CLASS_COUNTER, T_PVAR_CLASS_LEVEL, T_PVAR_CLASS_TIMER, T_VERBOSITY_TUNER_DETAIL,
    T_VERBOSITY_USER_DETAIL,
};
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::counters::{Entry, Unit};
use hawser_p2p::matching::QueueLengths;
use std::collections::BTreeMap;

/// A performance variable.
pub struct Variable {
    name: String,
    about: String,
    verbosity: i32,
    source: Source,
}

#[derive(Clone, Copy)]
enum Source {
    /// A counter's slot.
    Counter(usize, Unit),
    /// A queue length, summed over all lanes.
    Length(fn(&QueueLengths) -> u32),
}

impl Variable {
    /// The counter in a slot. Its name is that of `--stats` as an identifier.
    pub fn counter(slot: usize, entry: Entry) -> Variable {
        let unit = if entry.unit == Unit::Nanoseconds { "seconds" } else { "" };
        let name = identifier(&entry.name.replace("nanoseconds", unit));
        let about = format!("{}: {}", entry.name.replace("nanoseconds", unit), entry.about);
        Variable { name, about, verbosity: T_VERBOSITY_USER_DETAIL, source: Source::Counter(slot, entry.unit) }
    }

    /// The lengths of the queues.
    pub fn lengths() -> [Variable; 2] {
        let length = |name: &str, about: &str, length| Variable {
            name: name.into(),
            about: about.into(),
            verbosity: T_VERBOSITY_TUNER_DETAIL,
            source: Source::Length(length),
        };
        [
            length(
                "unexpected_queue_length",
                "messages that came before their receive and wait for it",
                QueueLengths::held,
            ),
            length("posted_receives", "receives that were posted and wait for their message", QueueLengths::posted),
        ]
    }

    fn class(&self) -> i32 {
        match self.source {
            Source::Counter(_, Unit::Events) => T_PVAR_CLASS_COUNTER,
            Source::Counter(_, Unit::Bytes) => T_PVAR_CLASS_AGGREGATE,
            Source::Counter(_, Unit::Nanoseconds) => T_PVAR_CLASS_TIMER,
            Source::Length(_) => T_PVAR_CLASS_LEVEL,
        }
    }

    fn datatype(&self) -> Handle {
        if self.class() == T_PVAR_CLASS_TIMER { datatype::DOUBLE } else { datatype::UNSIGNED_LONG_LONG }
    }

    /// Counters can be started, stopped, written and reset; lengths cannot.
    fn is_counter(&self) -> bool {
        matches!(self.source, Source::Counter(..))
    }

    /// The rank's count so far.
    fn now(&self) -> u64 {
        let Some(process) = process::any() else { return 0 };
        match self.source {
            Source::Counter(slot, _) => process.counters().get(slot),
            Source::Length(length) => process.lanes().queue_lengths().map(|lane| u64::from(length(lane))).sum(),
        }
    }

    fn value(&self, count: u64) -> Value {
        match self.source {
            Source::Counter(_, Unit::Nanoseconds) => Value::Double(count as f64 * 1e-9),
            _ => Value::Unsigned(count),
        }
    }
}

/// Words of letters and digits, joined by underscores.
fn identifier(text: &str) -> String {
    let plain: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
    plain.split_whitespace().collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// The results of MPI_T_pvar_get_info.
pub struct Info {
    pub name: &'static str,
    pub about: &'static str,
    pub verbosity: i32,
    pub class: i32,
    pub datatype: Handle,
    pub readonly: bool,
    pub continuous: bool,
    pub atomic: bool,
}

/// A value, in the C type of the variable's datatype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// MPI_UNSIGNED_LONG_LONG
    Unsigned(u64),
    /// MPI_DOUBLE, in seconds.
    Double(f64),
}

/// A session of a tool: its handles.
#[derive(Default)]
pub(super) struct Session(BTreeMap<Id, Meter>);

/// A handle: the count of its variable while it ran.
struct Meter {
    variable: &'static Variable,
    /// The count at the variable's start, while it runs.
    since: Option<u64>,
    sum: u64,
}

impl Meter {
    fn read(&self) -> u64 {
        if !self.variable.is_counter() {
            return self.variable.now();
        }
        // Threads that count at once may lose some: never less than nothing.
        self.sum + self.since.map_or(0, |since| self.variable.now().saturating_sub(since))
    }

    fn start(&mut self) -> Result<()> {
        self.check(Class::ToolPvarNoStartstop)?;
        self.since = self.since.or_else(|| Some(self.variable.now()));
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        self.check(Class::ToolPvarNoStartstop)?;
        self.sum = self.read();
        self.since = None;
        Ok(())
    }

    fn write(&mut self, count: u64) -> Result<()> {
        self.check(Class::ToolPvarNoWrite)?;
        self.sum = count;
        self.since = self.since.map(|_| self.variable.now());
        Ok(())
    }

    /// Reads and resets: nothing that is counted between the two is lost.
    fn take(&mut self) -> Result<u64> {
        self.check(Class::ToolPvarNoAtomic)?;
        let now = self.variable.now();
        let count = self.sum + self.since.map_or(0, |since| now.saturating_sub(since));
        self.sum = 0;
        self.since = self.since.map(|_| now);
        Ok(count)
    }

    fn check(&self, class: Class) -> Result<()> {
        if self.variable.is_counter() {
            return Ok(());
        }
        Err(Error::new(class, format!("{} is read as it is and can be nothing else", self.variable.name)))
    }
}

pub fn count() -> Result<usize> {
    with(|catalog, _| Ok(catalog.pvars.len()))
}

pub fn info(index: i32) -> Result<Info> {
    with(|catalog, _| {
        let variable = at(&catalog.pvars, index, "performance variable")?;
        let counter = variable.is_counter();
        Ok(Info {
            name: &variable.name,
            about: &variable.about,
            verbosity: variable.verbosity,
            class: variable.class(),
            datatype: variable.datatype(),
            readonly: !counter,
            continuous: !counter,
            atomic: counter,
        })
    })
}

/// The index of the variable with this name and class.
pub fn index(name: &[u8], class: i32) -> Result<usize> {
    with(|catalog, _| {
        let index = named(catalog.pvars.iter().map(|variable| &variable.name), name, "performance variable")?;
        if catalog.pvars[index].class() != class {
            let text = format!("{} is of another class", catalog.pvars[index].name);
            return Err(Error::new(Class::ToolInvalidName, text));
        }
        Ok(index)
    })
}

pub fn open_session() -> Result<Id> {
    with(|_, state| {
        let id = state.id();
        state.sessions.insert(id, Session::default());
        Ok(id)
    })
}

/// Closes a session with its handles.
pub fn close_session(id: Id) -> Result<()> {
    with(|_, state| state.sessions.remove(&id).map(drop).ok_or_else(|| no_session(id)))
}

fn no_session(id: Id) -> Error {
    Error::new(Class::ToolInvalidSession, format!("{id:#x} is no session of performance variables, or was freed"))
}

fn session(state: &mut State, id: Id) -> Result<&mut Session> {
    state.sessions.get_mut(&id).ok_or_else(|| no_session(id))
}

/// A stopped handle for the variable; it is of one element.
pub fn open(session: Id, index: i32) -> Result<Id> {
    with(|catalog, state| {
        let id = state.id();
        let session = self::session(state, session)?;
        let variable = at(&catalog.pvars, index, "performance variable")?;
        session.0.insert(id, Meter { variable, since: None, sum: 0 });
        Ok(id)
    })
}

pub fn close(session: Id, id: Id) -> Result<()> {
    with(|_, state| self::session(state, session)?.0.remove(&id).map(drop).ok_or_else(|| no_handle(id)))
}

/// Calls `f` with one handle of the session.
fn one<R>(session: Id, id: Id, f: impl FnOnce(&mut Meter) -> Result<R>) -> Result<R> {
    with(|_, state| f(self::session(state, session)?.0.get_mut(&id).ok_or_else(|| no_handle(id))?))
}

/// The same with all handles that can be changed, for MPI_T_PVAR_ALL_HANDLES.
fn each(session: Id, id: Id, f: impl Fn(&mut Meter) -> Result<()>) -> Result<()> {
    if id != ALL_HANDLES {
        return one(session, id, f);
    }
    with(|_, state| {
        self::session(state, session)?.0.values_mut().filter(|meter| meter.variable.is_counter()).try_for_each(f)
    })
}

pub fn start(session: Id, id: Id) -> Result<()> {
    each(session, id, Meter::start)
}

pub fn stop(session: Id, id: Id) -> Result<()> {
    each(session, id, Meter::stop)
}

pub fn reset(session: Id, id: Id) -> Result<()> {
    each(session, id, |meter| meter.write(0))
}

pub fn read(session: Id, id: Id) -> Result<Value> {
    one(session, id, |meter| Ok(meter.variable.value(meter.read())))
}

pub fn read_and_reset(session: Id, id: Id) -> Result<Value> {
    one(session, id, |meter| Ok(meter.variable.value(meter.take()?)))
}

/// Writes the value that `value` reads from the tool's buffer, in the C type of the datatype passed to it.
pub fn write(session: Id, id: Id, value: impl FnOnce(Handle) -> Value) -> Result<()> {
    one(session, id, |meter| {
        meter.check(Class::ToolPvarNoWrite)?;
        meter.write(match value(meter.variable.datatype()) {
            Value::Unsigned(count) => count,
            Value::Double(seconds) => (seconds * 1e9) as u64,
        })
    })
}
