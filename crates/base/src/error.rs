//! Error classes of the MPI standard (MPI-5.0 §9.4) and the error value that every crate returns.
//!
//! An error text names the cause first, then what the user can do. It is printed once, by the error handler of the
//! failed call (`mpi::raise`) or by the `main` of a tool, never where the error arises. A class has the number that
//! the standard ABI gives it; other ABIs translate the number at their edge (`abi`).

use std::borrow::Cow;
use std::fmt;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $mpi:literal, $text:literal;)*) => {
        /// An error class; the discriminant is its value in the standard ABI.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(i32)]
        pub enum Class { $($(#[$doc])* $name = $value),* }

        impl Class {
            /// Every class, in the order of the standard ABI's values.
            pub const ALL: &'static [Class] = &[$(Class::$name),*];

            /// Returns the name of the constant in `mpi.h`.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$name => $mpi),* }
            }

            /// Returns the text of the class for MPI_Error_string.
            pub const fn text(self) -> &'static str {
                match self { $(Class::$name => $text),* }
            }

            /// Returns the class with this value in the standard ABI; `None` if no class has it.
            pub const fn from_value(value: i32) -> Option<Class> {
                match value { $($value => Some(Class::$name),)* _ => None }
            }
        }
    };
}

classes! {
    Success = 0, "MPI_SUCCESS", "no error";
    Buffer = 1, "MPI_ERR_BUFFER", "invalid buffer pointer";
    Count = 2, "MPI_ERR_COUNT", "invalid count argument";
    Type = 3, "MPI_ERR_TYPE", "invalid datatype argument";
    Tag = 4, "MPI_ERR_TAG", "invalid tag argument";
    Comm = 5, "MPI_ERR_COMM", "invalid communicator";
    Rank = 6, "MPI_ERR_RANK", "invalid rank";
    Request = 7, "MPI_ERR_REQUEST", "invalid request handle";
    Root = 8, "MPI_ERR_ROOT", "invalid root";
    Group = 9, "MPI_ERR_GROUP", "invalid group";
    Op = 10, "MPI_ERR_OP", "invalid operation";
    Topology = 11, "MPI_ERR_TOPOLOGY", "invalid topology";
    Dims = 12, "MPI_ERR_DIMS", "invalid dimension argument";
    Arg = 13, "MPI_ERR_ARG", "invalid argument";
    Unknown = 14, "MPI_ERR_UNKNOWN", "unknown error";
    Truncate = 15, "MPI_ERR_TRUNCATE", "message truncated";
    Other = 16, "MPI_ERR_OTHER", "known error not in this list";
    Intern = 17, "MPI_ERR_INTERN", "internal error";
    Pending = 18, "MPI_ERR_PENDING", "pending request";
    InStatus = 19, "MPI_ERR_IN_STATUS", "error code is in the status";
    Access = 20, "MPI_ERR_ACCESS", "permission denied";
    Amode = 21, "MPI_ERR_AMODE", "invalid access mode";
    Assert = 22, "MPI_ERR_ASSERT", "invalid assert argument";
    BadFile = 23, "MPI_ERR_BAD_FILE", "invalid file name";
    Base = 24, "MPI_ERR_BASE", "invalid base argument";
    Conversion = 25, "MPI_ERR_CONVERSION", "error in a data conversion function";
    Disp = 26, "MPI_ERR_DISP", "invalid displacement";
    DupDatarep = 27, "MPI_ERR_DUP_DATAREP", "data representation is already registered";
    FileExists = 28, "MPI_ERR_FILE_EXISTS", "file exists";
    FileInUse = 29, "MPI_ERR_FILE_IN_USE", "file is in use by some process";
    File = 30, "MPI_ERR_FILE", "invalid file handle";
    InfoKey = 31, "MPI_ERR_INFO_KEY", "invalid info key";
    InfoNokey = 32, "MPI_ERR_INFO_NOKEY", "info key is not defined";
    InfoValue = 33, "MPI_ERR_INFO_VALUE", "invalid info value";
    Info = 34, "MPI_ERR_INFO", "invalid info argument";
    Io = 35, "MPI_ERR_IO", "input or output error";
    Keyval = 36, "MPI_ERR_KEYVAL", "invalid attribute key";
    Locktype = 37, "MPI_ERR_LOCKTYPE", "invalid lock type";
    Name = 38, "MPI_ERR_NAME", "no such service name";
    NoMem = 39, "MPI_ERR_NO_MEM", "out of memory";
    NotSame = 40, "MPI_ERR_NOT_SAME", "collective argument is not the same on all processes";
    NoSpace = 41, "MPI_ERR_NO_SPACE", "not enough space on device";
    NoSuchFile = 42, "MPI_ERR_NO_SUCH_FILE", "file does not exist";
    Port = 43, "MPI_ERR_PORT", "invalid port name";
    Quota = 44, "MPI_ERR_QUOTA", "quota exceeded";
    ReadOnly = 45, "MPI_ERR_READ_ONLY", "read-only file or file system";
    RmaAttach = 46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached";
    RmaConflict = 47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to window";
    RmaRange = 48, "MPI_ERR_RMA_RANGE", "target memory is not part of the window";
    RmaShared = 49, "MPI_ERR_RMA_SHARED", "memory cannot be shared";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "wrong synchronization of RMA calls";
    Service = 51, "MPI_ERR_SERVICE", "invalid service name";
    Size = 52, "MPI_ERR_SIZE", "invalid size argument";
    Spawn = 53, "MPI_ERR_SPAWN", "processes could not be spawned";
    UnsupportedDatarep = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation";
    UnsupportedOperation = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation";
    Win = 56, "MPI_ERR_WIN", "invalid window";
    RmaFlavor = 57, "MPI_ERR_RMA_FLAVOR", "wrong window flavor";
    ProcAborted = 58, "MPI_ERR_PROC_ABORTED", "a peer process aborted";
    ValueTooLarge = 59, "MPI_ERR_VALUE_TOO_LARGE", "value is too large for the result";
    Session = 60, "MPI_ERR_SESSION", "invalid session";
    Errhandler = 61, "MPI_ERR_ERRHANDLER", "invalid error handler";
    Abi = 62, "MPI_ERR_ABI", "ABI mismatch";
    ToolCannotInit = 1001, "MPI_T_ERR_CANNOT_INIT", "tool interface cannot be initialised now";
    ToolNotAccessible = 1002, "MPI_T_ERR_NOT_ACCESSIBLE", "tool interface is not accessible";
    ToolNotInitialized = 1003, "MPI_T_ERR_NOT_INITIALIZED", "tool interface is not initialised";
    ToolNotSupported = 1004, "MPI_T_ERR_NOT_SUPPORTED", "not supported by the tool interface";
    ToolMemory = 1005, "MPI_T_ERR_MEMORY", "tool interface is out of memory";
    ToolInvalid = 1006, "MPI_T_ERR_INVALID", "invalid use of the tool interface";
    ToolInvalidIndex = 1007, "MPI_T_ERR_INVALID_INDEX", "invalid index";
    ToolInvalidItem = 1008, "MPI_T_ERR_INVALID_ITEM", "item index is out of range";
    ToolInvalidSession = 1009, "MPI_T_ERR_INVALID_SESSION", "invalid tool session";
    ToolInvalidHandle = 1010, "MPI_T_ERR_INVALID_HANDLE", "invalid tool handle";
    ToolInvalidName = 1011, "MPI_T_ERR_INVALID_NAME", "no variable or category of that name";
    ToolOutOfHandles = 1012, "MPI_T_ERR_OUT_OF_HANDLES", "no more tool handles";
    ToolOutOfSessions = 1013, "MPI_T_ERR_OUT_OF_SESSIONS", "no more tool sessions";
    ToolCvarSetNotNow = 1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "control variable cannot be set now";
    ToolCvarSetNever = 1015, "MPI_T_ERR_CVAR_SET_NEVER", "control variable cannot be set";
    ToolPvarNoWrite = 1016, "MPI_T_ERR_PVAR_NO_WRITE", "performance variable cannot be written";
    ToolPvarNoStartstop = 1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "performance variable cannot be started or stopped";
    ToolPvarNoAtomic = 1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "performance variable cannot be read and written atomically";
}

/// The error of a failed operation: its class, its code and its cause. It is one pointer wide, so that a `Result`
/// without an error costs nothing.
#[derive(Clone)]
pub struct Error(Box<Cause>);

#[derive(Clone)]
struct Cause {
    class: Class,
    code: i32,
    text: Cow<'static, str>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error. `text` must name the cause first, then what the user can do; it must not repeat the text of
    /// the class.
    #[cold]
    #[inline(never)]
    pub fn new(class: Class, text: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Cause { class, code: class as i32, text: text.into() }))
    }

    /// Returns the error with an error code of the application (MPI-5.0 §9.5), which the call then returns.
    #[cold]
    pub fn with_code(mut self, code: i32) -> Error {
        self.0.code = code;
        self
    }

    /// Makes the error of a function that is not implemented yet. Such a function must return it, and never pretend
    /// to work.
    #[cold]
    pub fn unsupported(function: &str) -> Error {
        Error::new(Class::UnsupportedOperation, format!("{function} is not implemented in this version of Hawser"))
    }

    pub fn class(&self) -> Class {
        self.0.class
    }

    /// Returns the error code that the call returns: the value of the class, or, if a function of the application has
    /// failed with a code of its own, that code.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    pub fn cause(&self) -> &str {
        &self.0.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class().name(), self.cause())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_found_by_its_value() {
        for &class in Class::ALL {
            assert_eq!(Class::from_value(class as i32), Some(class));
            assert!(class.name().starts_with("MPI_"));
        }
        assert_eq!(Class::from_value(-1), None);
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
