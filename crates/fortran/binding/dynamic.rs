//! Starting programs: character arrays, of which the arguments at the root alone count (MPI-5.0 §11.8).

use crate::binding::prelude::*;
use crate::binding::sentinels::{error_codes, is_argv_null, is_argvs_null};

/// Returns a copy of `value` at the root; elsewhere the program may pass anything.
fn at_root<T>(comm: Handle, root: c_int, value: impl FnOnce() -> T) -> Option<T> {
    (count::rank(comm) == root).then(value)
}

plain! { "comm_spawn" (command: *const c_char, argv: *const c_char, maxprocs: *const c_int, info: *const Fint,
    root: *const c_int, comm: *const Fint, intercomm: *mut Fint, errcodes: *mut c_int) [command_len, argv_len] {
    let significant = at_root(handle(*comm), *root, || {
        let argv = (!is_argv_null(argv)).then(|| TextArray::of(argv, argv_len, argv_len, None));
        (Text::trimmed(command, command_len), argv)
    });
    let (command, mut argv) = match significant {
        Some((command, argv)) => (Some(command), argv),
        None => (None, None),
    };
    let command = command.as_ref().map_or(ptr::null_mut(), Text::as_ptr);
    let argv = argv.as_mut().map_or(ptr::null_mut(), TextArray::as_mut_ptr);
    let mut c_intercomm = handle(*intercomm);
    let code = c::MPI_Comm_spawn(command, argv, *maxprocs, handle(*info), *root, handle(*comm), &mut c_intercomm,
        error_codes(errcodes));
    if code == 0 {
        *intercomm = number(c_intercomm);
    }
    code
} }

/// The arguments of MPI_Comm_spawn_multiple that count at the root.
struct Programs {
    commands: TextArray,
    /// The arguments of each program, unless the program passed MPI_ARGVS_NULL.
    arguments: Option<(Vec<TextArray>, Vec<*mut *mut c_char>)>,
    infos: Handles,
}

impl Programs {
    /// # Safety
    /// `commands` and `infos` have `count` elements, and `argv` is MPI_ARGVS_NULL or has `count` rows that end with a
    /// blank element each.
    unsafe fn of(
        (commands, command_len): (*const c_char, Length),
        (argv, argv_len): (*const c_char, Length),
        infos: *const Fint,
        count: usize,
    ) -> Programs {
        // SAFETY: the caller's promise. Elements of a row are `count` elements apart: Fortran has columns side by side.
        unsafe {
            let arguments = (!is_argvs_null(argv)).then(|| {
                let row = |i: usize| TextArray::of(argv.add(i * argv_len), argv_len, argv_len * count, None);
                let mut rows: Vec<TextArray> = (0..count).map(row).collect();
                let addresses = rows.iter_mut().map(TextArray::as_mut_ptr).collect();
                (rows, addresses)
            });
            Programs {
                commands: TextArray::of(commands, command_len, command_len, Some(count)),
                arguments,
                infos: Handles::of(infos, || count),
            }
        }
    }
}

plain! { "comm_spawn_multiple" (count: *const c_int, commands: *const c_char, argv: *const c_char,
    maxprocs: *const c_int, infos: *const Fint, root: *const c_int, comm: *const Fint, intercomm: *mut Fint,
    errcodes: *mut c_int) [commands_len, argv_len] {
    let mut programs = at_root(handle(*comm), *root, || {
        Programs::of((commands, commands_len), (argv, argv_len), infos, entries(*count))
    });
    let mut c_intercomm = handle(*intercomm);
    let (commands, argv, infos) = match &mut programs {
        Some(at_root) => (
            at_root.commands.as_mut_ptr(),
            at_root.arguments.as_mut().map_or(ptr::null_mut(), |arguments| arguments.1.as_mut_ptr()),
            at_root.infos.as_ptr(),
        ),
        None => (ptr::null_mut(), ptr::null_mut(), ptr::null()),
    };
    let code = c::MPI_Comm_spawn_multiple(*count, commands, argv, maxprocs, infos, *root, handle(*comm),
        &mut c_intercomm, error_codes(errcodes));
    if code == 0 {
        *intercomm = number(c_intercomm);
    }
    code
} }
