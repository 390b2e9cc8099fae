//! The predefined operations, and the form of the functions that compute them.
//!
//! Used by `number`, `booleans` and `pair`, which have the functions, and the lookup in `reduce`.

/// The predefined operations of both ABIs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PredefinedOp {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
    Replace,
    NoOp,
    /// MPIX_EQUAL of the MPICH ABI, which is not elementwise: see [`PredefinedOp::is_elementwise`].
    Equal,
}

impl PredefinedOp {
    pub const ALL: [PredefinedOp; 15] = [
        PredefinedOp::Max,
        PredefinedOp::Min,
        PredefinedOp::Sum,
        PredefinedOp::Prod,
        PredefinedOp::Land,
        PredefinedOp::Band,
        PredefinedOp::Lor,
        PredefinedOp::Bor,
        PredefinedOp::Lxor,
        PredefinedOp::Bxor,
        PredefinedOp::Minloc,
        PredefinedOp::Maxloc,
        PredefinedOp::Replace,
        PredefinedOp::NoOp,
        PredefinedOp::Equal,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            PredefinedOp::Max => "MPI_MAX",
            PredefinedOp::Min => "MPI_MIN",
            PredefinedOp::Sum => "MPI_SUM",
            PredefinedOp::Prod => "MPI_PROD",
            PredefinedOp::Land => "MPI_LAND",
            PredefinedOp::Band => "MPI_BAND",
            PredefinedOp::Lor => "MPI_LOR",
            PredefinedOp::Bor => "MPI_BOR",
            PredefinedOp::Lxor => "MPI_LXOR",
            PredefinedOp::Bxor => "MPI_BXOR",
            PredefinedOp::Minloc => "MPI_MINLOC",
            PredefinedOp::Maxloc => "MPI_MAXLOC",
            PredefinedOp::Replace => "MPI_REPLACE",
            PredefinedOp::NoOp => "MPI_NO_OP",
            PredefinedOp::Equal => "MPIX_EQUAL",
        }
    }

    /// MPI_Op_commutative.
    pub const fn is_commutative(self) -> bool {
        !matches!(self, PredefinedOp::Replace | PredefinedOp::NoOp)
    }

    /// Tells whether a buffer may be cut into pieces that are reduced by themselves. The buffer of MPIX_EQUAL, of
    /// type MPI_BYTE, is one record: a flag (u64; 1 if all records so far were equal) and the bytes that are
    /// compared.
    pub const fn is_elementwise(self) -> bool {
        !matches!(self, PredefinedOp::Equal)
    }
}

/// Computes `inout[i] = in[i] op inout[i]` for `n` elements.
///
/// # Safety
/// `n` elements, laid out as an array of the type the kernel was looked up for, are valid at both
/// addresses, for writes at the first; alignment does not matter. The two are the same memory, or do not overlap.
pub type Kernel = unsafe fn(inout: *mut u8, input: *const u8, n: usize);
