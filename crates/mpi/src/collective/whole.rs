//! MPI_Barrier and MPI_Bcast.
//!
//! Used by `abi::coll`; uses `host` where the data is short and all members are on one host, otherwise `run`.

use super::check::{self, NO_DATA, Part, part_of};
use super::host;
use super::nonblocking::{Names, names};
use super::{Job, enter};
use crate::buffer::{self, Buf};
use crate::desk::Way;
use crate::desk::flags::Kind;
use crate::desk::host::Parts;
use crate::desk::memory::Side;
use hawser_base::{Handle, Result};
use hawser_coll::Call;
use hawser_coll::select::ALWAYS_BY_FLAGS;

/// MPI_Barrier.
#[inline]
pub fn barrier(way: Way, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Barrier" "barrier");
    match way {
        Way::Blocking => barrier_of(NAMES.blocking, comm).map(|()| Handle::NULL),
        _ => enter(comm, |process, comm, desk| {
            desk.perform(way, process, comm, NAMES.of(way), &Call::Barrier, Job::default())
        }),
    }
}

/// A barrier that is part of the function `name`.
pub fn barrier_of(name: &'static str, comm: Handle) -> Result<()> {
    enter(comm, |process, comm, desk| {
        if comm.everybody().size() == 1 {
            return Ok(());
        }
        if let Some(host) = desk.lean(Way::Blocking) {
            return host::step(process, comm, host, name, Kind::Barrier, &Parts::NONE);
        }
        desk.execute(process, comm, name, &Call::Barrier, Job::default())
    })
}

/// MPI_Bcast.
pub fn bcast(way: Way, buf: &Buf, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Bcast" "bcast");
    let name = NAMES.of(way);
    enter(comm, |process, comm, desk| {
        let Part { root, is_root, has_own } = part_of(comm, root)?;
        if !is_root && !has_own {
            return desk.perform(way, process, comm, name, &Call::Bcast { root, data: NO_DATA }, Job::default());
        }
        let buffer = buffer::of(buf)?;
        let is_nothing = buffer.is_empty() && !comm.is_inter() && !desk.checks();
        if way == Way::Blocking && (comm.everybody().size() == 1 || is_nothing) {
            return Ok(Handle::NULL);
        }
        if buffer.len() <= ALWAYS_BY_FLAGS
            && let Some(host) = desk.lean(way)
        {
            let parts = Parts { from: buffer.clone(), into: buffer, ..Parts::NONE };
            let kind = Kind::Bcast { root: root as usize };
            return host::step(process, comm, host, name, kind, &parts).map(|()| Handle::NULL);
        }
        let (datatype, data) = check::data(buf)?;
        let recv = Side::One { at: buf.at, count: data.count, datatype };
        desk.perform(way, process, comm, name, &Call::Bcast { root, data }, Job { recv, ..Job::default() })
    })
}
