//! The errors that both versions of PMI have: each is one line with the cause and the remedy.
//!
//! Nothing here prints. Used by the other files of `pmi`, and by `pmix` (`late`).

use super::variables::{FD_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE, VERSION_VARIABLE};
use hawser_base::{Class, Error};

/// The error of a server that has ended, or whose replies are none of PMI.
#[cold]
pub fn failed(doing: &str, why: &str) -> Error {
    let text = format!(
        "the launcher of this process does not answer by PMI ({doing}: {why}); it has ended, or {FD_VARIABLE} is not \
         this process's own: start the program by mpiexec or srun again, or unset {FD_VARIABLE}, {RANK_VARIABLE} and \
         {SIZE_VARIABLE} to run it alone"
    );
    Error::new(Class::Other, text)
}

/// The error of a request that the server refuses.
#[cold]
pub fn refused(request: &str, why: &str) -> Error {
    let text = format!(
        "the PMI server of this process's launcher refuses a request ({request}: {why}); start the program by Hawser's \
         mpiexec instead"
    );
    Error::new(Class::Other, text)
}

/// The error of a server that has refused version 1 (`refusal`) and does not go on by version 2 on the same connection.
#[cold]
pub fn refused_both(refusal: &str, why: &str) -> Error {
    let text = format!(
        "the PMI server of this process's launcher refuses version 1 ({refusal}), and does not go on by version 2 \
         ({why}); set {VERSION_VARIABLE}=2 in all processes to begin with version 2, or start the program by Hawser's \
         mpiexec instead"
    );
    Error::new(Class::Other, text)
}

/// The error of a server that refuses version 2, which the user wants.
#[cold]
pub fn refused_2(why: &str) -> Error {
    let text = format!(
        "the PMI server of this process's launcher refuses version 2 ({why}), which {VERSION_VARIABLE} asks for; unset \
         {VERSION_VARIABLE} in all processes of the job"
    );
    Error::new(Class::Other, text)
}

/// The error of a fence that not all processes have entered.
#[cold]
pub fn late(size: u32, limit_s: u64) -> Error {
    let text = format!(
        "not all {size} processes of the job have called MPI_Init within {limit_s} s; each must be a program that runs \
         on Hawser: start all again, or increase the time limit (HAWSER_RENDEZVOUS_S)"
    );
    Error::new(Class::Other, text)
}
