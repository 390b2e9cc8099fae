"""Writes include/std/mpi.h and include/mpich/mpi.h from the tables.

The values, signatures and callback shapes are those of crates/abi/tables/*.tsv; what is said here is how the
two headers are laid out and the few C declarations that no table has. Run it again after a change.
"""
import os
import re
import textwrap
from mpi_tables import ROOT, functions, rows

LICENCE = """/*
 * Hawser: MPI for clusters of commodity computers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * %s
 *
 * Written by crates/abi/tools/header.py from the tables of the standard; do not edit.
 */
"""

# Heading, and which constants stand under it by the kind that the tables give.
SECTIONS = [
    ("Versions", lambda n, k: k in ("version", "MPICH-specific const") and not n.startswith(("MPI_T_", "MPIR_", "MPI_COMBINER"))),
    ("Communicators and groups", lambda n, k: k in ("handle:comm", "handle:group")),
    ("Datatypes", lambda n, k: k == "handle:datatype"),
    ("Operations", lambda n, k: k == "handle:op"),
    ("Other handles", lambda n, k: k.startswith("handle:") or n == "MPIX_STREAM_NULL"),
    ("Error classes", lambda n, k: k.startswith("error class")),
    ("Ranks, tags and undefined values", lambda n, k: n in ("MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT", "MPI_ANY_TAG", "MPI_UNDEFINED")),
    ("Addresses and pointers with a meaning of their own", lambda n, k: "sentinel" in k),
    ("Lengths of strings", lambda n, k: k == "string length"),
    ("Attribute keys and MPI_BSEND_OVERHEAD", lambda n, k: k == "attribute key"),
    ("Thread levels", lambda n, k: k == "thread level"),
    ("Datatype constructors, orders and classes", lambda n, k: k in ("combiner", "typeclass") or n.startswith(("MPI_COMBINER", "MPI_ORDER", "MPI_DISTRIBUTE"))),
    ("Files and windows", lambda n, k: k in ("mode flag", "offset const (MPI_Offset)") or n.startswith(("MPI_SEEK", "MPI_LOCK", "MPI_WIN_"))),
    ("Statuses in Fortran", lambda n, k: k == "fortran status index/size" and n.startswith("MPI_F_")),
    ("The tool information interface", lambda n, k: k in ("MPI_T int const", "MPI_T handle") or n.startswith(("MPI_T_", "MPIR_T_"))),
    ("Comparisons, topologies and ways to split", lambda n, k: k == "int const"),
    ("Extensions of MPICH", lambda n, k: k == "MPICH extension const"),
]

HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"]
TOOL_HANDLES = ["enum", "cvar_handle", "pvar_handle", "pvar_session", "event_registration", "event_instance"]
ENUMS = {"MPI_T_cb_safety": "MPI_T_CB_REQUIRE_", "MPI_T_source_order": "MPI_T_SOURCE_"}
POINTERS = {
    "MPI_BOTTOM": "void *", "MPI_IN_PLACE": "void *", "MPI_BUFFER_AUTOMATIC": "void *", "MPI_ARGV_NULL": "char **",
    "MPI_ARGVS_NULL": "char ***", "MPI_ERRCODES_IGNORE": "int *", "MPI_STATUS_IGNORE": "MPI_Status *",
    "MPI_STATUSES_IGNORE": "MPI_Status *", "MPI_UNWEIGHTED": "int *", "MPI_WEIGHTS_EMPTY": "int *",
}
FUNCTION_POINTERS = {"MPI_": "MPI_", "MPI_COMM_": "MPI_Comm_", "MPI_TYPE_": "MPI_Type_", "MPI_WIN_": "MPI_Win_"}


def cast(name, kind):
    """The C type that a constant is cast to, or None for a plain int."""
    if kind.startswith("handle:"):
        return "MPI_" + kind[7:].capitalize()
    if kind == "MPI_T handle":
        return {"ENUM": "MPI_T_enum", "CVAR": "MPI_T_cvar_handle", "PVAR": "MPI_T_pvar_session" if "SESSION" in name else "MPI_T_pvar_handle"}[name.split("_")[2]]
    if kind == "callback sentinel":
        if name.startswith("MPI_CONVERSION"):
            return "MPI_Datarep_conversion_function" + ("_c *" if name.endswith("_C") else " *")
        what = "delete" if "DELETE" in name else "copy"
        prefix = re.match(r"(MPI_(?:COMM_|TYPE_|WIN_)?)(?:NULL|DUP)", name)[1]
        if prefix == "MPI_":
            return f"MPI_{what.capitalize()}_function *"
        return f"{FUNCTION_POINTERS[prefix]}{what}_attr_function *"
    if kind.startswith("offset"):
        return "MPI_Offset"
    return POINTERS.get(name)


def literal(name, kind, value, mpich):
    value = int(value)
    to = cast(name, kind)
    if name == "MPIX_STREAM_NULL":
        return f"((MPIX_Stream)0x{value:08x})"
    if kind.startswith("handle:"):
        return f"((MPI_{kind[7:].capitalize()})0x{value & 0xffffffff:08x})" if value else f"((MPI_{kind[7:].capitalize()})0)"
    if to:
        return f"(({to}){value})" if value >= 0 else f"(({to})({value}))"
    if kind == "attribute key" and mpich and name != "MPI_BSEND_OVERHEAD":
        return f"0x{value:08x}"
    return f"({value})" if value < 0 else str(value)


def constants(table, mpich):
    todo = [r for r in table if re.fullmatch(r"MPI\w+|ROMIO_VERSION", r["name"]) and re.fullmatch(r"-?\d+", r["value"])]
    todo = [r for r in todo if not r.get("notes", "").startswith(("Fortran only", "Fortran 1-based"))]
    todo = [r for r in todo if not r["name"].startswith(tuple(ENUMS.values()))]
    out = []
    for heading, belongs in SECTIONS:
        mine = [r for r in todo if belongs(r["name"], r["kind"])]
        todo = [r for r in todo if r not in mine]
        if mine:
            out.append(f"/* {heading} */")
            out += [f"#define {r['name']:<32} {literal(r['name'], r['kind'], r['value'], mpich)}" for r in mine]
            out.append("")
    assert not todo, [r["name"] for r in todo]
    return "\n".join(out)


def enums(table):
    out = []
    for name, prefix in ENUMS.items():
        values = ",\n".join(f"    {r['name']} = {r['value']}" for r in table if r["name"].startswith(prefix))
        out.append(f"typedef enum {name} {{\n{values}\n}} {name};\n")
    return "\n".join(out)


def callbacks():
    out = []
    for r in rows("abi_callbacks.tsv"):
        if r["return"] == "(alias)":
            out.append(f"typedef {r['params']} {r['name']};")
        else:
            params = r["params"].replace("MPI_Comm omm", "MPI_Comm comm")
            out.append(wrap(f"typedef {r['return']} ({r['name']})({params});"))
    return "\n".join(out)


def wrap(text):
    return textwrap.fill(text, 110, subsequent_indent="        ", break_long_words=False, break_on_hyphens=False)


def prototypes(which):
    mine = [f for f in functions() if getattr(f, which)]
    out = []
    for prefix, heading in (("", "The functions"), ("P", "The same for profiling libraries (MPI-5.0 chapter 15)")):
        out.append(f"/* {heading} */")
        for f in mine:
            space = "" if f.returns.endswith("*") else " "
            # MPI_UNWEIGHTED is no array, and GCC warns of it where an array is declared.
            params = re.sub(r"(\w*weights)\[\]", r"*\1", f.c_params)
            out.append(wrap(f"{f.returns}{space}{prefix}{f.name}({params});"))
        out.append("")
    return "\n".join(out)


def version():
    text = open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8").read()
    v = re.search(r'^version = "(\d+)\.(\d+)\.(\d+)"', text, re.M)
    number = int(v[1]) * 10000 + int(v[2]) * 100 + int(v[3])
    return (
        "/* The implementation; HAWSER_NUMVERSION is major * 10000 + minor * 100 + patch. */\n"
        f'#define HAWSER_VERSION                   "{v[1]}.{v[2]}.{v[3]}"\n#define HAWSER_NUMVERSION                {number}\n'
    )


STD_TYPES = """\
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

/* Handles: pointers that never point anywhere. */
"""

MPICH_TYPES = """\
typedef long MPI_Aint;
typedef long long MPI_Offset;
typedef long long MPI_Count;
typedef int MPI_Fint;

typedef struct MPI_Status {
    int count_lo;
    int count_hi_and_cancelled;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} MPI_Status;

/* A status in Fortran 2008. */
typedef struct {
    int count_lo;
    int count_hi_and_cancelled;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} MPI_F08_status;

/* Handles: integers, except MPI_File. */
"""

MPICH_EXTENSION_TYPES = """\
/* Types of MPICH's extensions */
typedef int MPIX_Stream;
typedef int MPIX_Grequest_class;
typedef struct MPIR_Async_thing *MPIX_Async_thing;
typedef struct MPIX_Iov {
    void *iov_base;
    MPI_Aint iov_len;
} MPIX_Iov;
typedef int (MPIX_Grequest_poll_function)(void *extra_state, MPI_Status *status);
typedef int (MPIX_Grequest_wait_function)(int count, void **array_of_states, double timeout, MPI_Status *status);
typedef int (MPIX_Async_poll_function)(MPIX_Async_thing thing);
typedef void (MPIX_Destructor_function)(void *extra_state);
typedef void (MPIX_User_function_x)(void *invec, void *inoutvec, MPI_Count len, MPI_Datatype datatype,
        void *extra_state);
typedef void (MPIX_Comm_errhandler_function_x)(MPI_Comm comm, int error_code, void *extra_state);
typedef void (MPIX_File_errhandler_function_x)(MPI_File file, int error_code, void *extra_state);
typedef void (MPIX_Win_errhandler_function_x)(MPI_Win win, int error_code, void *extra_state);
typedef void (MPIX_Session_errhandler_function_x)(MPI_Session session, int error_code, void *extra_state);
/* Of MPI-1, removed in MPI-3.0; taken by MPI_Errhandler_create. */
typedef void (MPI_Handler_function)(MPI_Comm *comm, int *error_code, ...);
"""

MPICH_SYMBOLS = """\
/* Constants that are variables, and the copy function, in this ABI */
extern int *const MPI_UNWEIGHTED;
extern int *const MPI_WEIGHTS_EMPTY;
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES;
/* A Fortran library may set these two, as those above it. */
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;

int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
#define MPI_DUP_FN                       MPIR_Dup_fn
#define MPI_COMM_DUP_FN                  ((MPI_Comm_copy_attr_function *)MPIR_Dup_fn)
#define MPI_TYPE_DUP_FN                  ((MPI_Type_copy_attr_function *)MPIR_Dup_fn)
#define MPI_WIN_DUP_FN                   ((MPI_Win_copy_attr_function *)MPIR_Dup_fn)
"""

# Handles that are integers. The functions are there too, for Fortran and other languages, but Intel MPI has none of
# them: a program that asked for one would not start on it.
CONVERTED = {"Comm": "Comm", "Type": "Datatype", "Group": "Group", "Info": "Info", "Request": "Request", "Op": "Op",
             "Errhandler": "Errhandler", "Win": "Win", "Message": "Message", "Session": "Session"}


def conversions():
    out = ["/* Handles are integers, in C and in Fortran: programs need no function to convert them, and may run on a",
           " * library of this ABI that has none (Intel MPI's). Without its parentheses a name is the function's. */"]
    for prefix in ("", "P"):
        for short, handle in CONVERTED.items():
            out.append(f"#define {prefix}MPI_{short}_c2f(handle)".ljust(41) + "((MPI_Fint)(handle))")
            out.append(f"#define {prefix}MPI_{short}_f2c(integer)".ljust(41) + f"((MPI_{handle})(integer))")
    return "\n".join(out) + "\n"


MPICH_IDENTITY = """\
/* Which MPICH this header stands in for; MPICH_NUMVERSION says the same as a number (below). */
#define MPICH                            1
#define MPICH_VERSION                    "5.0.2"
#define MPICH_CALC_VERSION(major, minor, revision, type, patch) \\
    ((major) * 10000000 + (minor) * 100000 + (revision) * 1000 + (type) * 100 + (patch))
"""


def write(path, about, guard, includes, types, table, mpich, extra_types="", symbols="", identity=""):
    parts = [
        LICENCE % about,
        f"#ifndef {guard}\n#define {guard}\n",
        includes + '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        version(), identity, types, enums(table), constants(table, mpich),
        "/* Functions of the application that MPI calls */", callbacks() + "\n", extra_types, symbols,
        prototypes("mpich" if mpich else "std"), conversions() if mpich else "",
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */",
    ]
    with open(os.path.join(ROOT, "include", path), "w", encoding="utf-8") as out:
        out.write("\n".join(p for p in parts if p) + "\n")


def main():
    std = STD_TYPES + "\n".join(f"typedef struct MPI_ABI_{h} *MPI_{h};" for h in HANDLES) + "\n"
    std += "\n".join(f"typedef struct MPI_ABI_T_{h} *MPI_T_{h};" for h in TOOL_HANDLES) + "\n"
    write("std/mpi.h", "The standard ABI of MPI 5.0: programs compiled with this header run on libmpi_abi.so.1.",
          "HAWSER_STD_MPI_H", "#include <stdint.h>\n\n", std, rows("abi_constants.tsv"), False)
    mpich = MPICH_TYPES + "\n".join(f"typedef int MPI_{h};" for h in HANDLES if h != "File")
    mpich += "\ntypedef struct ADIOI_FileD *MPI_File;\n"
    mpich += "\n".join(f"typedef struct MPIR_T_{h}_s *MPI_T_{h};" for h in TOOL_HANDLES) + "\n"
    write("mpich/mpi.h", "The MPICH ABI: programs compiled with this header run on libmpi.so.12, ours or any other.",
          "HAWSER_MPICH_MPI_H", "", mpich, rows("mpich_constants.tsv"), True, MPICH_EXTENSION_TYPES, MPICH_SYMBOLS, MPICH_IDENTITY)


if __name__ == "__main__":
    main()
