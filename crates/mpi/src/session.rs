//! Sessions and the process sets that they offer (MPI-5.0 §11.3).
//!
//! A session is a user of MPI (`env`). It has an error handler and a buffer for buffered sends, and keeps no
//! reference to objects that are derived from it: a group has the handle of its session, and a communicator has a
//! group. Both may outlive the session without harm.
//!
//! Used by `abi::session`; uses `env`, `session_table`.

use crate::attached::AttachedBuffer;
use crate::bsend;
use crate::env;
use crate::errhandler::{Errhandler, ErrhandlerCell};
use crate::group::Group;
use crate::hints::MEMORY_KINDS;
use crate::info::Info;
use crate::init_state::SESSIONS;
use crate::process::{self, Process};
use crate::session_table::{SESSION_TABLE, Session, get, no_session};
use hawser_base::value::{THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SERIALIZED, THREAD_SINGLE};
use hawser_base::{Class, Error, Handle, Peer, Result};
use std::sync::Arc;

/// The values of the info key `thread_level`. The first one applies if the program gives none of them.
const THREAD_LEVELS: [(&[u8], i32); 4] = [
    (b"MPI_THREAD_MULTIPLE", THREAD_MULTIPLE),
    (b"MPI_THREAD_SERIALIZED", THREAD_SERIALIZED),
    (b"MPI_THREAD_FUNNELED", THREAD_FUNNELED),
    (b"MPI_THREAD_SINGLE", THREAD_SINGLE),
];
const THREAD_LEVEL: &[u8] = b"thread_level";

/// MPI_Session_init. `start` makes this process a rank if it is not one yet.
pub fn init(start: impl FnOnce() -> Result<&'static Process>, hints: &Info, errhandler: Errhandler) -> Result<Handle> {
    let wanted = hints.get(THREAD_LEVEL);
    let thread_level = THREAD_LEVELS.iter().find(|(name, _)| Some(*name) == wanted).unwrap_or(&THREAD_LEVELS[0]);
    let &(name, level) = thread_level;
    env::begin(start()?, SESSIONS, level)?;
    let session = Session {
        errhandler: ErrhandlerCell::default(),
        attached_buffer: AttachedBuffer::default(),
        thread_level: name,
    };
    session.errhandler.set(errhandler);
    SESSION_TABLE.insert(Arc::new(session))
}

/// MPI_Session_finalize. The buffer that is attached to the session is flushed first.
pub fn finalize(handle: Handle) -> Result<()> {
    const NAME: &str = "MPI_Session_finalize";
    let process = process::get()?;
    bsend::flush(process, NAME, &get(handle)?.attached_buffer);
    // If two threads finalise the same session, the second one gets an error here.
    SESSION_TABLE.remove(handle).ok_or_else(|| no_session(handle))?;
    env::end(process, SESSIONS, NAME);
    Ok(())
}

/// MPI_Session_get_info.
pub fn info(session: &Session) -> Info {
    let mut info = Info::default();
    info.set(THREAD_LEVEL, session.thread_level);
    info.set(MEMORY_KINDS[0], MEMORY_KINDS[1]);
    info
}

/// A function that lists the processes of a set, in the order of MPI_COMM_WORLD.
type PsetMembers = fn(&'static Process) -> Vec<Peer>;

/// The sets of processes, by their names. The two of the standard come first; the third is Open MPI's name for the
/// processes that share this host's memory.
const PROCESS_SETS: [(&str, PsetMembers); 3] = [
    ("mpi://WORLD", |process| process.world().group().peers().collect()),
    ("mpi://SELF", |process| vec![process.me()]),
    ("mpix://SHARED", |process| {
        let is_on_this_host = |&peer: &Peer| process.segment().local_slot_of(peer).is_some();
        process.world().group().peers().filter(is_on_this_host).collect()
    }),
];

/// The names of all process sets, in order (MPI_Session_get_num_psets, MPI_Session_get_nth_pset).
pub fn process_sets(handle: Handle) -> Result<impl ExactSizeIterator<Item = &'static str>> {
    get(handle)?;
    Ok(PROCESS_SETS.iter().map(|(name, _)| *name))
}

/// MPI_Session_get_nth_pset.
pub fn nth_process_set(handle: Handle, n: i32) -> Result<&'static str> {
    let mut names = process_sets(handle)?;
    let count = names.len();
    let out_of_range =
        || Error::new(Class::Arg, format!("there is no process set number {n}; the session has {count}"));
    usize::try_from(n).ok().and_then(|n| names.nth(n)).ok_or_else(out_of_range)
}

/// MPI_Session_get_pset_info.
pub fn process_set_info(handle: Handle, name: &[u8]) -> Result<Info> {
    let mut info = Info::default();
    info.set(b"mpi_size", group(handle, name)?.size().to_string().as_bytes());
    Ok(info)
}

/// MPI_Group_from_session_pset.
pub fn group(handle: Handle, name: &[u8]) -> Result<Group> {
    let process = process::get()?;
    get(handle)?;
    let found = PROCESS_SETS.iter().find(|(pset, _)| name.eq_ignore_ascii_case(pset.as_bytes()));
    let (_, members) = found.ok_or_else(|| {
        let names: Vec<&str> = PROCESS_SETS.iter().map(|(name, _)| *name).collect();
        let text =
            format!("there is no process set \"{}\"; there are {}", String::from_utf8_lossy(name), names.join(", "));
        Error::new(Class::Arg, text)
    })?;
    Ok(Group::of(members(process), process.me()).in_session(handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_not_there_says_so() {
        for handle in [Handle::NULL, Handle::dynamic(Handle::FIRST_DYNAMIC, 0)] {
            assert_eq!(get(handle).err().unwrap().class(), Class::Session);
        }
    }
}
