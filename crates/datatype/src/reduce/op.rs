//! The predefined operations, and the form of the functions that compute them.
//!
//! Used by `number`, `booleans` and `pair`, which have the functions, and the lookup in `reduce`.

/// The predefined operations of both ABIs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Op {
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
    /// MPIX_EQUAL of the MPICH ABI, which is not elementwise: see [`Op::is_elementwise`].
    Equal,
}

impl Op {
    pub const ALL: [Op; 15] = [
        Op::Max,
        Op::Min,
        Op::Sum,
        Op::Prod,
        Op::Land,
        Op::Band,
        Op::Lor,
        Op::Bor,
        Op::Lxor,
        Op::Bxor,
        Op::Minloc,
        Op::Maxloc,
        Op::Replace,
        Op::NoOp,
        Op::Equal,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Op::Max => "MPI_MAX",
            Op::Min => "MPI_MIN",
            Op::Sum => "MPI_SUM",
            Op::Prod => "MPI_PROD",
            Op::Land => "MPI_LAND",
            Op::Band => "MPI_BAND",
            Op::Lor => "MPI_LOR",
            Op::Bor => "MPI_BOR",
            Op::Lxor => "MPI_LXOR",
            Op::Bxor => "MPI_BXOR",
            Op::Minloc => "MPI_MINLOC",
            Op::Maxloc => "MPI_MAXLOC",
            Op::Replace => "MPI_REPLACE",
            Op::NoOp => "MPI_NO_OP",
            Op::Equal => "MPIX_EQUAL",
        }
    }

    /// MPI_Op_commutative.
    pub const fn is_commutative(self) -> bool {
        !matches!(self, Op::Replace | Op::NoOp)
    }

    /// Tells whether a buffer may be cut into pieces that are reduced by themselves. MPIX_EQUAL's buffer of MPI_BYTE is
    /// one record: a flag (u64, 1 while all were equal) and the bytes that are compared.
    pub const fn is_elementwise(self) -> bool {
        !matches!(self, Op::Equal)
    }
}

/// Computes `inout[i] = in[i] op inout[i]` for `n` elements.
///
/// # Safety
/// `n` elements, laid out as an array of the type the kernel was looked up for, are valid at both
/// addresses, for writes at the first; alignment does not matter. The two do not overlap.
pub type Kernel = unsafe fn(inout: *mut u8, input: *const u8, n: usize);
