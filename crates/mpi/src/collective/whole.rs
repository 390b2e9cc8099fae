//! MPI_Barrier and MPI_Bcast.
//!
//! Before it: `abi::coll`; after it: `host` where the data is short and all members are on one host, else `run`.

use super::check::{self, root_of};
use super::flags::Kind;
use super::host::{self, Parts, SHORT_BYTES};
use super::memory::Side;
use super::{Job, enter};
use crate::buffer::{Buf, Buffer};
use hawser_base::{Handle, Result};
use hawser_coll::Call;

/// MPI_Barrier.
pub fn barrier(comm: Handle) -> Result<()> {
    barrier_of("MPI_Barrier", comm)
}

/// A barrier that is part of the function `name`.
pub fn barrier_of(name: &'static str, comm: Handle) -> Result<()> {
    enter(comm, |process, comm, desk| {
        if comm.size() == 1 {
            return Ok(());
        }
        if let Some(host) = desk.lean() {
            return host::step(process, comm, host, name, Kind::Barrier, &Parts::NONE);
        }
        desk.execute(process, comm, name, &Call::Barrier, Job::default())
    })
}

/// MPI_Bcast.
pub fn bcast(buf: &Buf, root: i32, comm: Handle) -> Result<()> {
    const NAME: &str = "MPI_Bcast";
    enter(comm, |process, comm, desk| {
        let root = root_of(comm, root)?;
        let buffer = Buffer::new(process, buf)?;
        if comm.size() == 1 || buffer.is_empty() {
            return Ok(());
        }
        if buffer.len() <= SHORT_BYTES as u64
            && let Some(host) = desk.lean()
        {
            let parts = Parts { from: buffer.clone(), into: buffer, folding: None };
            return host::step(process, comm, host, NAME, Kind::Bcast { root: root as usize }, &parts);
        }
        let (datatype, data) = check::data(process, buf)?;
        let recv = Side::One { at: buf.at, count: data.count, datatype };
        desk.execute(process, comm, NAME, &Call::Bcast { root, data }, Job { recv, ..Job::default() })
    })
}
