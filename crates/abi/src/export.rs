//! Makes the exported MPI_X and PMPI_X of an ABI crate from a row of the table.
//!
//! Both call the generic function directly: nothing in Hawser calls through an exported name, so a profiling library
//! sees the application's calls alone. The two bodies are the same and the compiler folds them into one. Used once by
//! `abi-std` and once by `abi-mpich`.

/// Exports every function that the ABI has: `hawser_abi::export!(std StdAbi);` with the C types of `types!` in
/// scope. The first word is the ABI's name in the rows, the second its implementation of `Abi`.
#[macro_export]
macro_rules! export {
    ($abi:ident $A:ty) => {
        use $crate::export_rows;
        $crate::for_each_function! { export_rows ($abi $A) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export_rows {
    ($with:tt $($abis:ident $name:ident $args:tt $([$($on:tt)*])? $(-> $ret:ty)? =>
        $first:ident $(:: $rest:ident)*;)*) => {
        $($crate::export_row! { $with $abis $name $args [$($($on)*)?] [$($ret)?] $first $(:: $rest)* })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export_row {
    ((std $A:ty) mpich $($row:tt)*) => {};
    ((mpich $A:ty) std $($row:tt)*) => {};
    // A function whose result is not an error code.
    (($abi:ident $A:ty) $abis:ident $name:ident ($($arg:ident: $ty:ty),*) [] [$ret:ty] $($path:ident)::+) => {
        $crate::export_both! { $name ($($arg: $ty),*) -> $ret {
            // SAFETY: the caller keeps to the contract of the MPI function, which the generic one has.
            unsafe { $crate::$($path)::+::<$A>($($arg),*) }
        } }
    };
    (($abi:ident $A:ty) $abis:ident $name:ident ($($arg:ident: $ty:ty),*) [$on:ident $(($at:ident))?] []
        unsupported) => {
        $crate::export_both! { $name ($($arg: $ty),*) -> ::std::ffi::c_int {
            let _ = ($($arg,)*);
            let fault = $crate::raise::unsupported(stringify!($name));
            $crate::export_raise! { $on $A, $($at,)? stringify!($name), fault }
        } }
    };
    (($abi:ident $A:ty) $abis:ident $name:ident ($($arg:ident: $ty:ty),*) [$on:ident $(($at:ident))?] []
        $($path:ident)::+) => {
        $crate::export_both! { $name ($($arg: $ty),*) -> ::std::ffi::c_int {
            // SAFETY: the caller keeps to the contract of the MPI function, which the generic one has.
            match unsafe { $crate::$($path)::+::<$A>($($arg),*) } {
                Ok(()) => 0,
                Err(fault) => $crate::export_raise! { $on $A, $($at,)? stringify!($name), fault },
            }
        } }
    };
}

/// Calls the function of `raise` that the row names. Functions of `raise` that take an address are unsafe.
#[doc(hidden)]
#[macro_export]
macro_rules! export_raise {
    ($on:ident $A:ty, $($arg:expr),*) => {{
        // SAFETY: where an address is passed on, it is the caller's own argument.
        #[allow(unused_unsafe)]
        unsafe { $crate::raise::$on::<$A>($($arg),*) }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! export_both {
    ($name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret $body

        const _: () = {
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn profiled($($arg: $ty),*) -> $ret $body
        };
    };
}

/// Defines the type names that rows use, for the ABI `$A`.
#[macro_export]
macro_rules! types {
    ($A:ty) => {
        use ::std::ffi::{c_char, c_int, c_void};
        use $crate::callback::Unused;

        pub type Aint = isize;
        pub type Count = i64;
        pub type Offset = i64;
        pub type Fint = c_int;
        pub type Comm = <$A as $crate::Abi>::Comm;
        pub type Datatype = <$A as $crate::Abi>::Datatype;
        pub type Errhandler = <$A as $crate::Abi>::Errhandler;
        pub type File = <$A as $crate::Abi>::File;
        pub type Group = <$A as $crate::Abi>::Group;
        pub type Info = <$A as $crate::Abi>::Info;
        pub type Message = <$A as $crate::Abi>::Message;
        pub type Op = <$A as $crate::Abi>::Op;
        pub type Request = <$A as $crate::Abi>::Request;
        pub type Session = <$A as $crate::Abi>::Session;
        pub type Win = <$A as $crate::Abi>::Win;
        pub type Status = <$A as $crate::Abi>::Status;
        /// `MPI_F08_status` has the layout of `MPI_Status`.
        pub type F08Status = Status;

        pub type UserFunction = $crate::callback::UserFunction<$A>;
        pub type UserFunctionC = $crate::callback::UserFunctionC<$A>;
        pub type GrequestQueryFunction = $crate::callback::GrequestQueryFunction<$A>;
        pub type GrequestFreeFunction = $crate::callback::GrequestFreeFunction;
        pub type GrequestCancelFunction = $crate::callback::GrequestCancelFunction;
        pub type CopyFunction = $crate::callback::CopyAttrFunction<Comm>;
        pub type DeleteFunction = $crate::callback::DeleteAttrFunction<Comm>;
        pub type CommCopyAttrFunction = $crate::callback::CopyAttrFunction<Comm>;
        pub type CommDeleteAttrFunction = $crate::callback::DeleteAttrFunction<Comm>;
        pub type TypeCopyAttrFunction = $crate::callback::CopyAttrFunction<Datatype>;
        pub type TypeDeleteAttrFunction = $crate::callback::DeleteAttrFunction<Datatype>;
        pub type WinCopyAttrFunction = $crate::callback::CopyAttrFunction<Win>;
        pub type WinDeleteAttrFunction = $crate::callback::DeleteAttrFunction<Win>;
        pub type CommErrhandlerFunction = $crate::callback::ErrhandlerFunction<Comm>;
        pub type FileErrhandlerFunction = $crate::callback::ErrhandlerFunction<File>;
        pub type WinErrhandlerFunction = $crate::callback::ErrhandlerFunction<Win>;
        pub type SessionErrhandlerFunction = $crate::callback::ErrhandlerFunction<Session>;
        pub type DatarepExtentFunction = $crate::callback::DatarepExtentFunction<$A>;
        pub type DatarepConversionFunction = $crate::callback::DatarepConversionFunction<$A>;
        pub type DatarepConversionFunctionC = $crate::callback::DatarepConversionFunctionC<$A>;

        // The types of the MPICH extensions that both ABIs have.
        pub type GrequestClass = c_int;
        pub type GrequestPollFunction = $crate::callback::GrequestPollFunction<$A>;
        pub type GrequestWaitFunction = $crate::callback::GrequestWaitFunction<$A>;
        pub type Iov = $crate::mpix::Iov;

        // The tool interface's handles are pointers and its enumerations ints in both ABIs.
        pub type TEnum = *mut c_void;
        pub type TCvarHandle = *mut c_void;
        pub type TPvarHandle = *mut c_void;
        pub type TPvarSession = *mut c_void;
        pub type TEventRegistration = *mut c_void;
        pub type TEventInstance = *mut c_void;
        pub type TCbSafety = c_int;
        pub type TSourceOrder = c_int;
        pub type TEventCbFunction = Unused;
        pub type TEventFreeCbFunction = Unused;
        pub type TEventDroppedCbFunction = Unused;
    };
}
