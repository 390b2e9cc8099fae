//! Layer 8: the MPICH ABI, `libmpi.so.12`, of MPICH, Intel MPI and MVAPICH.
//!
//! Handle codec, constants, status layout, data symbols and exports; every function is in `hawser_abi`. Used by
//! applications (programs compiled with include/mpich/mpi.h or with the header of any MPI of this ABI); uses
//! `hawser_abi`, and `hawser_node` to start.

mod codec;
mod foreign_fortran;
mod handles;
mod numbers;
mod status;
mod symbols;

use codec::{CHandle, FileHandle};
use hawser_abi::{Abi, AbiLimits, Sentinels};
use hawser_base::Handle;
use hawser_base::handle::ObjectKind;
use hawser_base::value::Set;
use hawser_mpi::process::Process;

/// The MPICH ABI.
pub struct MpichAbi;

impl Abi for MpichAbi {
    const NAME: &'static str = "MPICH ABI";
    const STANDS_IN_FOR: &'static str = "MPICH Version:      5.0.2";
    // -1, -1 says that this is not the standard ABI, whichever MPI_ABI_VERSION the program was compiled with.
    const VERSION: (i32, i32) = (-1, -1);
    const SENTINELS: Sentinels = numbers::SENTINELS;
    const LIMITS: AbiLimits = numbers::LIMITS;

    type Comm = CHandle<{ ObjectKind::Comm as u32 }>;
    type Datatype = CHandle<{ ObjectKind::Datatype as u32 }>;
    type Errhandler = CHandle<{ ObjectKind::Errhandler as u32 }>;
    type File = FileHandle;
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
    fn value_out(set: Set, value: i32) -> i32 {
        numbers::value_out(set, value)
    }
    #[inline(always)]
    fn rank_in(rank: i32) -> i32 {
        numbers::rank_in(rank)
    }
    #[inline(always)]
    fn rank_out(rank: i32) -> i32 {
        numbers::rank_out(rank)
    }
    #[inline(always)]
    fn tag_in(tag: i32) -> i32 {
        numbers::tag_in(tag)
    }
    #[inline(always)]
    fn tag_out(tag: i32) -> i32 {
        numbers::tag_out(tag)
    }
    fn code_in(code: i32) -> Option<i32> {
        numbers::code_in(code)
    }
    fn code_out(code: i32) -> i32 {
        numbers::code_out(code)
    }
}

/// The exported functions, with the names and signatures of C; the types are those of `MpichAbi`.
mod exports {
    use super::MpichAbi;
    hawser_abi::types!(MpichAbi);

    // The types of MPICH's extensions that this ABI alone has.
    pub type Stream = c_int;
    pub type AsyncThing = *mut c_void;
    pub type AsyncPollFunction = Unused;
    pub type DestructorFunction = hawser_abi::callback::DestructorFunction;
    pub type UserFunctionX = hawser_abi::callback::UserFunctionX<MpichAbi>;
    pub type CommErrhandlerFunctionX = hawser_abi::callback::ErrhandlerFunctionX<Comm>;
    pub type FileErrhandlerFunctionX = hawser_abi::callback::ErrhandlerFunctionX<File>;
    pub type SessionErrhandlerFunctionX = hawser_abi::callback::ErrhandlerFunctionX<Session>;
    pub type WinErrhandlerFunctionX = hawser_abi::callback::ErrhandlerFunctionX<Win>;

    hawser_abi::export!(mpich MpichAbi);
}

#[cfg(test)]
mod tests;
