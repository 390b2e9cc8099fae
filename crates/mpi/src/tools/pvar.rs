//! Performance variables: the rank's counters and the lengths of its queues (MPI-5.0 §15.3.7).
//!
//! A handle of a counter has a sum of its own, of the events that are counted while the handle is started. So a
//! session does not notice that another session resets the variable; the rank's counters themselves are never reset.
//! The length of a queue is read directly. Until the process is a rank, counters and lengths are 0.
//!
//! Used by `abi::tool`; uses `former_names`, `job::counters`, `matching::QueueLengths`.

use super::former_names::present_name;
use super::{ALL_HANDLES, ToolObjectId, ToolState, checked_index, index_of_name, no_handle, with};
use crate::process;
use hawser_base::handle::datatype;
use hawser_base::value::{
    T_PVAR_CLASS_AGGREGATE, T_PVAR_CLASS_COUNTER, T_PVAR_CLASS_LEVEL, T_PVAR_CLASS_TIMER, T_VERBOSITY_TUNER_DETAIL,
    T_VERBOSITY_USER_DETAIL,
};
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::counters::{CounterInfo, CounterUnit};
use hawser_p2p::matching::QueueLengths;
use std::collections::BTreeMap;

/// A performance variable.
pub struct PvarSpec {
    name: String,
    about: String,
    verbosity: i32,
    source: PvarSource,
}

#[derive(Clone, Copy)]
enum PvarSource {
    /// A counter of the rank: its slot, and its unit.
    Counter(usize, CounterUnit),
    /// The length of a queue, which the function returns for one lane; the value is the sum over all lanes.
    Length(fn(&QueueLengths) -> u32),
}

impl PvarSpec {
    /// Makes the variable of the counter in `slot`. The variable's name is the counter's name in `mpiexec --stats`,
    /// converted to an identifier.
    pub fn counter(slot: usize, entry: CounterInfo) -> PvarSpec {
        let unit = if entry.unit == CounterUnit::Nanoseconds { "seconds" } else { "" };
        let name = identifier(&entry.name.replace("nanoseconds", unit));
        let about = format!("{}: {}", entry.name.replace("nanoseconds", unit), entry.about);
        PvarSpec { name, about, verbosity: T_VERBOSITY_USER_DETAIL, source: PvarSource::Counter(slot, entry.unit) }
    }

    /// Makes the variables of the lengths of the match queues.
    pub fn queue_lengths() -> [PvarSpec; 2] {
        let length = |name: &str, about: &str, length| PvarSpec {
            name: name.into(),
            about: about.into(),
            verbosity: T_VERBOSITY_TUNER_DETAIL,
            source: PvarSource::Length(length),
        };
        [
            length(
                "unexpected_queue_length",
                "messages that arrived before their receive and wait for it",
                QueueLengths::unexpected,
            ),
            length("posted_receives", "posted receives that wait for their message", QueueLengths::posted),
        ]
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn class(&self) -> i32 {
        match self.source {
            PvarSource::Counter(_, CounterUnit::Events) => T_PVAR_CLASS_COUNTER,
            PvarSource::Counter(_, CounterUnit::Bytes) => T_PVAR_CLASS_AGGREGATE,
            PvarSource::Counter(_, CounterUnit::Nanoseconds) => T_PVAR_CLASS_TIMER,
            PvarSource::Length(_) => T_PVAR_CLASS_LEVEL,
        }
    }

    fn datatype(&self) -> Handle {
        if self.class() == T_PVAR_CLASS_TIMER { datatype::DOUBLE } else { datatype::UNSIGNED_LONG_LONG }
    }

    /// Counters can be started, stopped, written and reset; lengths cannot.
    fn is_counter(&self) -> bool {
        matches!(self.source, PvarSource::Counter(..))
    }

    /// Returns the current value of the rank's counter, or of the queue's length.
    fn current(&self) -> u64 {
        let Some(process) = process::started() else { return 0 };
        match self.source {
            PvarSource::Counter(slot, _) => process.counters().get(slot),
            PvarSource::Length(length) => process.lanes().queue_lengths().map(|lane| u64::from(length(lane))).sum(),
        }
    }

    fn value(&self, count: u64) -> PvarValue {
        match self.source {
            PvarSource::Counter(_, CounterUnit::Nanoseconds) => PvarValue::Double(count as f64 * 1e-9),
            _ => PvarValue::Unsigned(count),
        }
    }
}

/// Converts a text to an identifier: its words of letters and digits in lower case, joined by underscores.
fn identifier(text: &str) -> String {
    let plain: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
    plain.split_whitespace().collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// The results of MPI_T_pvar_get_info.
pub struct PvarInfo {
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
pub enum PvarValue {
    /// MPI_UNSIGNED_LONG_LONG
    Unsigned(u64),
    /// MPI_DOUBLE, in seconds.
    Double(f64),
}

/// A session of a tool: the handles that are open in it.
#[derive(Default)]
pub(super) struct PvarSession(BTreeMap<ToolObjectId, PvarHandle>);

/// A handle of a performance variable.
struct PvarHandle {
    variable: &'static PvarSpec,
    /// The rank's count when the handle was started, or last written or reset; `None` if the handle is stopped.
    started_at: Option<u64>,
    sum: u64,
}

impl PvarHandle {
    fn read(&self) -> u64 {
        if !self.variable.is_counter() {
            return self.variable.current();
        }
        // If several threads count at the same time, counts may be lost and the counter may even decrease; the
        // difference must not become negative.
        self.sum + self.started_at.map_or(0, |started_at| self.variable.current().saturating_sub(started_at))
    }

    fn start(&mut self) -> Result<()> {
        self.check_is_counter(Class::ToolPvarNoStartstop)?;
        self.started_at = self.started_at.or_else(|| Some(self.variable.current()));
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        self.check_is_counter(Class::ToolPvarNoStartstop)?;
        self.sum = self.read();
        self.started_at = None;
        Ok(())
    }

    fn write(&mut self, count: u64) -> Result<()> {
        self.check_is_counter(Class::ToolPvarNoWrite)?;
        self.sum = count;
        self.started_at = self.started_at.map(|_| self.variable.current());
        Ok(())
    }

    /// Reads the handle's count and resets it, by one look at the counter, so that no event between reading and
    /// resetting is lost.
    fn read_and_reset_count(&mut self) -> Result<u64> {
        self.check_is_counter(Class::ToolPvarNoAtomic)?;
        let now = self.variable.current();
        let count = self.sum + self.started_at.map_or(0, |started_at| now.saturating_sub(started_at));
        self.sum = 0;
        self.started_at = self.started_at.map(|_| now);
        Ok(count)
    }

    fn check_is_counter(&self, class: Class) -> Result<()> {
        if self.variable.is_counter() {
            return Ok(());
        }
        Err(Error::new(class, format!("{} is not a counter; it can only be read", self.variable.name)))
    }
}

pub fn count() -> Result<usize> {
    with(|catalog, _| Ok(catalog.pvars.len()))
}

pub fn info(index: i32) -> Result<PvarInfo> {
    with(|catalog, _| {
        let variable = checked_index(&catalog.pvars, index, "performance variable")?;
        let counter = variable.is_counter();
        Ok(PvarInfo {
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

/// Returns the index of the variable with this name, which may be a former one (`former_names`), and this class.
pub fn index(name: &[u8], class: i32) -> Result<usize> {
    with(|catalog, _| {
        let name = present_name(name);
        let index = index_of_name(catalog.pvars.iter().map(|variable| &variable.name), name, "performance variable")?;
        if catalog.pvars[index].class() != class {
            let text = format!("{} is of another class", catalog.pvars[index].name);
            return Err(Error::new(Class::ToolInvalidName, text));
        }
        Ok(index)
    })
}

pub fn open_session() -> Result<ToolObjectId> {
    with(|_, state| {
        let id = state.next_id();
        state.sessions.insert(id, PvarSession::default());
        Ok(id)
    })
}

/// Closes a session with its handles.
pub fn close_session(id: ToolObjectId) -> Result<()> {
    with(|_, state| state.sessions.remove(&id).map(drop).ok_or_else(|| no_session(id)))
}

fn no_session(id: ToolObjectId) -> Error {
    Error::new(Class::ToolInvalidSession, format!("{id:#x} is not a session of performance variables, or was freed"))
}

fn session(state: &mut ToolState, id: ToolObjectId) -> Result<&mut PvarSession> {
    state.sessions.get_mut(&id).ok_or_else(|| no_session(id))
}

/// Opens a handle, which is stopped, for the variable at an index. The variable has one element.
pub fn open(session: ToolObjectId, index: i32) -> Result<ToolObjectId> {
    with(|catalog, state| {
        let id = state.next_id();
        let session = self::session(state, session)?;
        let variable = checked_index(&catalog.pvars, index, "performance variable")?;
        session.0.insert(id, PvarHandle { variable, started_at: None, sum: 0 });
        Ok(id)
    })
}

pub fn close(session: ToolObjectId, id: ToolObjectId) -> Result<()> {
    with(|_, state| self::session(state, session)?.0.remove(&id).map(drop).ok_or_else(|| no_handle(id)))
}

/// Calls `f` with one handle of the session.
fn with_handle<R>(session: ToolObjectId, id: ToolObjectId, f: impl FnOnce(&mut PvarHandle) -> Result<R>) -> Result<R> {
    with(|_, state| f(self::session(state, session)?.0.get_mut(&id).ok_or_else(|| no_handle(id))?))
}

/// Calls `f` with one handle of the session, or, if `id` is MPI_T_PVAR_ALL_HANDLES, with each handle of a counter.
fn with_each_handle(session: ToolObjectId, id: ToolObjectId, f: impl Fn(&mut PvarHandle) -> Result<()>) -> Result<()> {
    if id != ALL_HANDLES {
        return with_handle(session, id, f);
    }
    with(|_, state| {
        self::session(state, session)?.0.values_mut().filter(|handle| handle.variable.is_counter()).try_for_each(f)
    })
}

pub fn start(session: ToolObjectId, id: ToolObjectId) -> Result<()> {
    with_each_handle(session, id, PvarHandle::start)
}

pub fn stop(session: ToolObjectId, id: ToolObjectId) -> Result<()> {
    with_each_handle(session, id, PvarHandle::stop)
}

pub fn reset(session: ToolObjectId, id: ToolObjectId) -> Result<()> {
    with_each_handle(session, id, |handle| handle.write(0))
}

pub fn read(session: ToolObjectId, id: ToolObjectId) -> Result<PvarValue> {
    with_handle(session, id, |handle| Ok(handle.variable.value(handle.read())))
}

pub fn read_and_reset(session: ToolObjectId, id: ToolObjectId) -> Result<PvarValue> {
    with_handle(session, id, |handle| Ok(handle.variable.value(handle.read_and_reset_count()?)))
}

/// Writes the count of a handle. `value` is called with the variable's datatype and must read the value from the
/// tool's buffer, in the C type of this datatype.
pub fn write(session: ToolObjectId, id: ToolObjectId, value: impl FnOnce(Handle) -> PvarValue) -> Result<()> {
    with_handle(session, id, |handle| {
        handle.check_is_counter(Class::ToolPvarNoWrite)?;
        handle.write(match value(handle.variable.datatype()) {
            PvarValue::Unsigned(count) => count,
            PvarValue::Double(seconds) => (seconds * 1e9) as u64,
        })
    })
}
