//! Kinds of hardware that processes may share (hosts, sockets, cores), and whether this process is restricted to one
//! piece of a kind (MPI-5.0 §9.1.3, §7.4.2).
//!
//! Kinds below the host have hwloc's names, as MPICH's have. Used by `abi::env`, `comm_create`; uses `os::cpus`,
//! `os::filesystem`.

use crate::info::Info;
use crate::process::Process;
use hawser_os::cpus::{self, TopologyLevel};
use hawser_os::filesystem;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The info key whose value names a kind of hardware.
pub const TYPE: &[u8] = b"mpi_hw_resource_type";

/// The name of the kind "host": processes on one host can share memory.
pub const HOST: &[u8] = b"mpi_shared_memory";

const UNITS: [(&[u8], TopologyLevel); 7] = [
    (b"hwloc://Package", TopologyLevel::Socket),
    (b"hwloc://NUMANode", TopologyLevel::Numa),
    (b"hwloc://L3Cache", TopologyLevel::Cache(3)),
    (b"hwloc://L2Cache", TopologyLevel::Cache(2)),
    (b"hwloc://L1Cache", TopologyLevel::Cache(1)),
    (b"hwloc://Core", TopologyLevel::Core),
    (b"hwloc://PU", TopologyLevel::Thread),
];

/// MPI_Get_hw_resource_info: for each kind whether this process is restricted to one piece of it.
pub fn info() -> Info {
    let mut info = Info::default();
    info.set(HOST, b"true");
    for (name, unit) in UNITS {
        info.set(name, if cpus::only_domain(unit).is_some() { b"true" } else { b"false" });
    }
    info
}

/// The info key of MPICH's MPIX_COMM_TYPE_NEIGHBORHOOD. Its value is a directory; processes that share its file
/// system get a communicator together.
pub const DIRECTORY: &[u8] = b"nbhd_common_dirname";

/// A number that identifies, among all file systems of the job, the one with this directory; None if there is no such
/// directory. A file system counts as a different one on each host. That includes network file systems, because a
/// device number does not identify them on several hosts.
pub fn file_system_color(process: &Process, directory: &[u8]) -> Option<u64> {
    filesystem::of_directory(OsStr::from_bytes(directory)).map(|number| host_color(process) | u64::from(number))
}

/// The number of this host in the upper half of a word, whose lower half identifies a piece on the host.
fn host_color(process: &Process) -> u64 {
    u64::from(process.segment().host_of(process.me())) << 32
}

/// A number that identifies, among all pieces of this kind in the job, the one to which this process is restricted.
/// None if it is restricted to none, or if the kind is unknown.
pub fn resource_color(process: &Process, kind: &[u8]) -> Option<u64> {
    if kind == HOST {
        return Some(host_color(process));
    }
    let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == kind)?;
    cpus::only_domain(unit).map(|number| host_color(process) | u64::from(number))
}
