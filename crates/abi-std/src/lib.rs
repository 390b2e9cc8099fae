//! Layer 8: the standard ABI of MPI 5.0, `libmpi_abi.so.1`.
//!
//! Handle codec, constants, status layout and exports; every function is in `hawser_abi`. The constants are Hawser's
//! own values, so that their translation costs nothing. Used by applications (programs compiled with
//! include/std/mpi.h or with another library's header of this ABI); uses `hawser_abi`, and `hawser_node` to start.

mod codec;
mod numbers;
mod status;

use codec::CHandle;
use hawser_abi::{Abi, AbiLimits, Sentinels};
use hawser_base::Handle;
use hawser_base::handle::ObjectKind;
use hawser_base::value::Set;
use hawser_mpi::process::Process;

/// The standard ABI.
pub struct StdAbi;

impl Abi for StdAbi {
    const NAME: &'static str = "MPI standard ABI";
    const STANDS_IN_FOR: &'static str = "";
    const VERSION: (i32, i32) = numbers::ABI_VERSION;
    const SENTINELS: Sentinels = numbers::SENTINELS;
    const LIMITS: AbiLimits = numbers::LIMITS;

    type Comm = CHandle<{ ObjectKind::Comm as u32 }>;
    type Datatype = CHandle<{ ObjectKind::Datatype as u32 }>;
    type Errhandler = CHandle<{ ObjectKind::Errhandler as u32 }>;
    type File = CHandle<{ ObjectKind::File as u32 }>;
    type Group = CHandle<{ ObjectKind::Group as u32 }>;
    type Info = CHandle<{ ObjectKind::Info as u32 }>;
    type Message = CHandle<{ ObjectKind::Message as u32 }>;
    type Op = CHandle<{ ObjectKind::Op as u32 }>;
    type Request = CHandle<{ ObjectKind::Request as u32 }>;
    type Session = CHandle<{ ObjectKind::Session as u32 }>;
    type Win = CHandle<{ ObjectKind::Win as u32 }>;
    type Status = status::Status;

    fn start() -> hawser_base::Result<&'static Process> {
        hawser_node::start()
    }
    fn tools() -> Vec<hawser_mpi::tools::CategorySpec> {
        hawser_node::tools()
    }
    fn keyval_in(keyval: i32) -> Option<Handle> {
        codec::keyval_in(keyval)
    }
    fn keyval_out(keyval: Handle) -> i32 {
        codec::keyval_out(keyval)
    }
    fn value_in(set: Set, value: i32) -> Option<i32> {
        numbers::value_in(set, value)
    }
    #[inline(always)]
    fn value_out(_set: Set, value: i32) -> i32 {
        value
    }
    #[inline(always)]
    fn rank_in(rank: i32) -> i32 {
        rank
    }
    #[inline(always)]
    fn rank_out(rank: i32) -> i32 {
        rank
    }
    #[inline(always)]
    fn tag_in(tag: i32) -> i32 {
        tag
    }
    #[inline(always)]
    fn tag_out(tag: i32) -> i32 {
        tag
    }
    #[inline(always)]
    fn code_in(code: i32) -> Option<i32> {
        numbers::code_in(code)
    }
    #[inline(always)]
    fn code_out(code: i32) -> i32 {
        code
    }
}

/// The exported functions, with the names and signatures of C; the types are those of `StdAbi`.
mod exports {
    use super::StdAbi;
    hawser_abi::types!(StdAbi);
    hawser_abi::export!(std StdAbi);
}

#[cfg(test)]
mod tests;
