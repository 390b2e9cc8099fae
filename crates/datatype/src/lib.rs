//! Layer 1 of Hawser: MPI's datatypes. Typemaps and their queries (MPI-5.0 chapter 5), packing and unpacking of any
//! layout at any offset, external32, and the kernels of the predefined reductions.
//!
//! No ABI is known here: `abi` maps constants, and `mpi` maps handles to [`Basic`] and [`Datatype`]. No communication
//! either: `p2p` packs and unpacks messages, and devices carry the packed bytes. Used by `abi`, which decodes the
//! arguments, `mpi` and `p2p`.
//!
//! The stages of a type: `construct`, `array` and `parameterised` check arguments and compute a [`bounded_layout`]
//! (bounds and layout); `walk` goes over a part of a layout; `pack`, `runs`, `typed_copy` and `external32` are the
//! entry points for other crates. `reduce` is the arithmetic.

mod array;
mod basic;
mod block_copy;
mod bounded_layout;
mod bounds;
mod construct;
mod contents;
mod datatype;
mod dense;
mod elements;
mod external32;
mod layout;
mod pack;
mod parameterised;
pub mod reduce;
mod runs;
mod scratch;
mod typed_copy;
mod user;
mod walk;

pub use array::{ArrayOrder, Darray, Distribution, DistributionArg};
pub use basic::{Basic, Repr, TypeGroup};
pub use contents::{Combiner, Contents, ContentsInteger, CountForm, Envelope};
pub use datatype::Datatype;
pub use pack::PackCursor;
pub use parameterised::TypeClass;
pub use reduce::{PredefinedOp, ReduceKernel, booleans};
pub use runs::{DataRun, DataRuns};
pub use scratch::{ScratchBuffer, allow_freeing_views};
pub use typed_copy::{CopyOutcome, copy_typed};
pub use user::{PackedSource, PackedTarget, UserPtr};
