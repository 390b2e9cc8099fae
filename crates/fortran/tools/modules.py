"""Writes mpif.h and the sources of the modules mpi and mpi_f08 to include/: procedures to fortran/, and what differs
between the ABIs to std/ and mpich/.

Values are those of crates/abi/tables/*.tsv, procedures those of `procedures`. The sources declare and define nothing
that needs an object file: the entry points and the variables are in the shared library (binding/), so that any Fortran
compiler makes its module files from them at installation. Run it again after a change of the tables;
`tests/test_fortran.py` compares what it writes with what is committed.
"""
import re
import textwrap
from binding import NOT_KEYS, write
from procedures import HANDLES, Param, procedures, rows

TITLE = {"std": "the standard ABI of MPI 5.0", "mpich": "the MPICH ABI"}
TABLES = {"std": "abi_constants.tsv", "mpich": "mpich_constants.tsv"}
# MPI_SOURCE, MPI_TAG and MPI_ERROR of a status, from 1 on.
STATUS = {"std": (8, 1, 2, 3), "mpich": (5, 3, 4, 5)}
STATUS_FIELDS = {
    "std": ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal(5)"],
    "mpich": ["count_lo", "count_hi_and_cancelled", "MPI_SOURCE", "MPI_TAG", "MPI_ERROR"],
}
KINDS = [("MPI_ADDRESS_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_OFFSET_KIND", 8), ("MPI_INTEGER_KIND", 4)]
# The words of a common block (sentinels::BLOCK).
BLOCK_WORDS = 16
SECOND = {"MPI_Alloc_mem", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_shared_query"}


def status_size(abi):
    return STATUS[abi][0]


def constants(abi):
    """Returns (name, kind, value) of all constants that Fortran has."""
    out = []
    for r in rows(TABLES[abi]):
        name, kind, value = r["name"], r["kind"], r["value"]
        number = re.fullmatch(r"-?\d+", value)
        c_only = name.startswith(("MPI_T_", "MPI_F_", "MPIX_STREAM", "MPIR_", "MPIO_")) or "sentinel" in kind \
            or kind in ("data symbol", "status layout", "type", "kind", "callback symbol", "fortran status index/size", "MPI_T handle")
        if not number or not name.startswith(("MPI_", "MPIX_ERR")) or (c_only and not name.startswith("MPI_T_ERR_")):
            continue
        value = int(value)
        if kind == "string length":
            value -= 1
        if kind == "attribute key" and abi == "mpich" and name not in NOT_KEYS:
            value += 1
        out.append((name, kind, value))
    return out


def numbers(abi):
    size, source, tag, error = STATUS[abi]
    index = [("MPI_STATUS_SIZE", "", size), ("MPI_SOURCE", "", source), ("MPI_TAG", "", tag), ("MPI_ERROR", "", error)]
    return index + constants(abi)


def blocks(abi, statuses):
    """Returns the common blocks: (block, [(type, name, shape, words)]); what is left of each is filled up."""
    status = status_size(abi)
    first = [("integer", "MPI_BOTTOM", "", 1), ("integer", "MPI_IN_PLACE", "", 1)]
    second = []
    if statuses:
        first.append(("integer", "MPI_STATUS_IGNORE", "(MPI_STATUS_SIZE)", status))
        second.append(("integer", "MPI_STATUSES_IGNORE", "(MPI_STATUS_SIZE,1)", status))
    else:
        second.append(("integer", "HAWSER_STATUSES", f"({status})", status))
    second.append(("integer", "MPI_ERRCODES_IGNORE", "(1)", 1))
    return [
        ("MPIPRIV1", first), ("MPIPRIV2", second),
        ("MPIPRIVC", [("character", "MPI_ARGVS_NULL", "(1,1)", 1), ("character", "MPI_ARGV_NULL", "(1)", 1)]),
        ("MPIFCMB5", [("integer", "MPI_UNWEIGHTED", "(1)", 1)]),
        ("MPIFCMB9", [("integer", "MPI_WEIGHTS_EMPTY", "(1)", 1)]),
        ("HAWSERCMN", [("integer", "MPI_BUFFER_AUTOMATIC", "(1)", 1)]),
    ]


def filled(members):
    """Adds what fills a block."""
    kind = members[0][0]
    words = sum(m[3] for m in members)
    room = BLOCK_WORDS if kind == "integer" else 4 * BLOCK_WORDS
    return members + [(kind, "HAWSER_FILL_" + members[0][1][4:], f"({room - words})", room - words)]


EXTERNALS = ["MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN", "MPI_DUP_FN"] + [
    f"MPI_{k}_{f}_FN" for k in ("COMM", "TYPE", "WIN") for f in ("NULL_COPY", "NULL_DELETE", "DUP")] + ["MPI_CONVERSION_FN_NULL", "MPI_CONVERSION_FN_NULL_C"]


def mpif_h(abi):
    """Writes mpif.h, which fixed and free source form read alike: columns 7 to 72, no continuation."""
    out = []

    def line(text):
        assert len(text) <= 66, text
        out.append("      " + text)

    for text in (f"mpif.h of Hawser, for {TITLE[abi]}.", "",
                 "Written by crates/fortran/tools/modules.py; do not edit."):
        out.append(("! " + text).rstrip())
    out.append("! Compilers name these variables in their error where INTEGER has not 4 bytes: the two lines then differ.")
    line("INTEGER HAWSER_INT(9), HAWSER_NEEDS_INTEGER_OF_4_BYTES(9)")
    line("EQUIVALENCE(HAWSER_INT,HAWSER_NEEDS_INTEGER_OF_4_BYTES)")
    line("EQUIVALENCE(HAWSER_INT,HAWSER_NEEDS_INTEGER_OF_4_BYTES(KIND(0)-3))")
    for name, value in KINDS:
        line(f"INTEGER {name}")
        line(f"PARAMETER ({name}={value})")
    for name, kind, value in numbers(abi):
        line("INTEGER" + ("(KIND=MPI_OFFSET_KIND) " if kind.startswith("offset") else " ") + name)
        line(f"PARAMETER ({name}={value})")
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        line(f"LOGICAL {name}")
        line(f"PARAMETER ({name}=.FALSE.)")
    for block, members in blocks(abi, True):
        for kind, name, shape, _ in filled(members):
            line(f"{'CHARACTER*1' if kind == 'character' else 'INTEGER'} {name}{shape}")
        for _, name, _, _ in filled(members):
            line(f"COMMON /{block}/ {name}")
        line(f"SAVE /{block}/")
    for name in EXTERNALS:
        line(f"EXTERNAL {name}")
    for name in ("MPI_WTIME", "MPI_WTICK", "PMPI_WTIME", "PMPI_WTICK"):
        line(f"EXTERNAL {name}")
        line(f"DOUBLE PRECISION {name}")
    for name in ("MPI_AINT_ADD", "MPI_AINT_DIFF", "PMPI_AINT_ADD", "PMPI_AINT_DIFF"):
        line(f"EXTERNAL {name}")
        line(f"INTEGER(KIND=MPI_ADDRESS_KIND) {name}")
    return "\n".join(out) + "\n"


def head(what, abi=None):
    of = f", for {TITLE[abi]}" if abi else ", for both ABIs"
    return f"! {what} of Hawser{of}.\n!\n! Written by crates/fortran/tools/modules.py; do not edit.\n\n"


def wrap(text, indent):
    """Breaks a line of free source form."""
    lines = textwrap.wrap(text, 116, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False,
                          break_on_hyphens=False)
    return " &\n".join(lines)


def types_module(abi):
    out = [head("The types that mpi and mpi_f08 share", abi) + "module hawser_mpi_types", "  implicit none", ""]
    out += [f"  integer, parameter :: {name} = {value}" for name, value in KINDS]
    out += ["", "  type, bind(C) :: MPI_Status", "    sequence"][:2]
    out += [f"    integer :: {name}" for name in STATUS_FIELDS[abi]] + ["  end type MPI_Status"]
    for handle in HANDLES:
        out += ["", f"  type, bind(C) :: MPI_{handle}", "    integer :: MPI_VAL", f"  end type MPI_{handle}"]
    for operator, suffix in (("==", "eq"), ("/=", "ne")):
        out += ["", f"  interface operator({operator})"]
        for handle in HANDLES:
            name = f"hawser_{handle.lower()}_{suffix}"
            out += [f"    elemental logical function {name}(one, other)", f"      import :: MPI_{handle}",
                    f"      type(MPI_{handle}), intent(in) :: one, other", f"    end function {name}"]
        out += ["  end interface"]
    return "\n".join(out + ["end module hawser_mpi_types"]) + "\n"


def common(abi, statuses):
    out = []
    for block, members in blocks(abi, statuses):
        all_members = filled(members)
        for kind, name, shape, _ in all_members:
            target = ", target" if name in ("MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC") else ""
            out.append(f"  {'character(len=1)' if kind == 'character' else 'integer'}{target} :: {name}{shape}")
        out.append(wrap(f"common /{block}/ " + ", ".join(m[1] for m in all_members), "  "))
        out += [f"  private :: {m[1]}" for m in all_members if m[1].startswith("HAWSER_")]
    return out


def sizeof(prefix):
    """MPI_SIZEOF for each type; the installation leaves out kinds that a compiler has not got (`!kind`)."""
    out = [f"  interface {prefix}MPI_SIZEOF"]
    cases = [("character(len=*)", "character", "")]
    cases += [(f"logical({k})", f"logical{k}", f"logical {k}") for k in (1, 2, 4, 8)]
    cases += [(f"integer({k})", f"integer{k}", f"integer {k}") for k in (1, 2, 4, 8, 16)]
    cases += [(f"real({k})", f"real{k}", f"real {k}") for k in (2, 4, 8, 10, 16)]
    cases += [(f"complex({k})", f"complex{k}", f"real {k}") for k in (2, 4, 8, 10, 16)]
    for declared, name, kind in cases:
        mark = f" !kind {kind}" if kind else ""
        out += [f"    subroutine hawser_sizeof_{name}(x, size, ierror){mark}",
                f"      {declared}, dimension(..), intent(in) :: x{mark}",
                f"      integer, intent(out) :: size{mark}",
                f"      integer, optional, intent(out) :: ierror{mark}",
                f"    end subroutine hawser_sizeof_{name}{mark}"]
    return out + ["  end interface"]


def sync_reg(prefix, declare):
    """MPI_F_sync_reg, which C has not got: it has no `ierror`."""
    buffer = Param("buf", "BUFFER", "inout", "void", 1, False, None, True, False)
    name = f"{prefix}MPI_F_sync_reg"
    specific_name = name + "_f08ts" if declare is declare_f08 else name
    lines = [("" if d.startswith("!") else "      ") + d for d in declare(buffer)]
    return [f"  interface {name}", f"    subroutine {specific_name}(buf)", "      import", *lines,
            f"    end subroutine {specific_name}", "  end interface"]


def integer_kind(p):
    return {"MPI_Aint": "(kind=MPI_ADDRESS_KIND)", "MPI_Count": "(kind=MPI_COUNT_KIND)",
            "MPI_Offset": "(kind=MPI_OFFSET_KIND)"}.get(p.c_type, "")


def shape(p):
    if p.length is None:
        return ""
    return "(3, n)" if p.length == "3*n" else f"({p.length})"


def text_declaration(p, intent):
    shapes = {"STRING": "", "STRING_ARRAY": "(*)", "STRING_2DARRAY": "(count, *)"}
    return [f"character(len=*){intent} :: {p.name}{shapes[p.kind]}"]


def declare_f90(p):
    """Declares an argument in `mpi`."""
    if p.choice or p.kind == "C_BUFFER2":
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {p.name}", f"!DIR$ IGNORE_TKR {p.name}", f"type(*), dimension(*) :: {p.name}"]
    if p.text:
        return text_declaration(p, "")
    if p.function:
        return [f"external :: {p.name}"]
    if p.kind in ("C_BUFFER", "ATTRIBUTE_VAL", "EXTRA_STATE"):
        return [f"integer(kind=MPI_ADDRESS_KIND) :: {p.name}"]
    if p.logical:
        return [f"logical :: {p.name}{shape(p)}"]
    if p.kind in ("STATUS", "F90_STATUS"):
        return [f"integer :: {p.name}" + ("(MPI_STATUS_SIZE, *)" if p.length else "(MPI_STATUS_SIZE)")]
    if p.kind == "F08_STATUS":
        return [f"type(MPI_Status) :: {p.name}"]
    return [f"integer{integer_kind(p)} :: {p.name}{shape(p)}"]


def declare_f08(p):
    """Declares an argument in mpi_f08."""
    intent = f", intent({p.direction})" if p.intent else ""
    asynchronous = ", asynchronous" if p.asynchronous else ""
    if p.choice:
        # A buffer that is written has no INTENT: the procedure may be given MPI_BOTTOM or MPI_IN_PLACE.
        only_read = ", intent(in)" if p.direction == "in" and p.const and p.intent else ""
        return [f"type(*), dimension(..){only_read}{asynchronous} :: {p.name}"]
    if p.kind in ("C_BUFFER", "C_BUFFER2"):
        return [f"type(c_ptr), intent(out) :: {p.name}"]
    if p.text:
        return text_declaration(p, intent)
    if p.function:
        return [f"procedure({p.c_type}) :: {p.name}"]
    if p.kind in ("ATTRIBUTE_VAL", "EXTRA_STATE"):
        return [f"integer(kind=MPI_ADDRESS_KIND){intent} :: {p.name}"]
    if p.logical:
        return [f"logical{intent} :: {p.name}{shape(p)}"]
    if p.kind in ("STATUS", "F08_STATUS"):
        given = ", intent(in)" if p.direction == "in" else ", intent(out)" if p.kind == "F08_STATUS" else ""
        return [f"type(MPI_Status){given} :: {p.name}{shape(p)}"]
    if p.kind == "F90_STATUS":
        return [f"integer{intent} :: {p.name}(MPI_STATUS_SIZE)"]
    if p.handle:
        return [f"type(MPI_{p.handle}){intent}{asynchronous} :: {p.name}{shape(p)}"]
    return [f"integer{integer_kind(p)}{intent}{asynchronous} :: {p.name}{shape(p)}"]


FUNCTIONS = {"MPI_Wtime": "real(c_double)", "MPI_Wtick": "real(c_double)",
             "MPI_Aint_add": "integer(kind=MPI_ADDRESS_KIND)", "MPI_Aint_diff": "integer(kind=MPI_ADDRESS_KIND)"}


def body(f, name, declare, binding="", optional=""):
    """Returns the interface body of a procedure."""
    result = FUNCTIONS.get(f.name)
    word = "function" if result else "subroutine"
    params = [p.name for p in f.params] if f.name != "MPI_Pcontrol" else ["level"]
    if not result and f.name != "MPI_Pcontrol":
        params.append("ierror")
    out = [wrap(f"{word} {name}({', '.join(params)}){binding}", "    "), "      import"]
    if result:
        out.append(f"      {result} :: {name}")
    # Lengths are declared before the arrays that have them.
    lengths = {p.length for p in f.params} | {"n" for p in f.params if p.length == "3*n"}
    lengths |= {"count" for p in f.params if p.kind == "STRING_2DARRAY"}
    for p in sorted(f.params, key=lambda p: p.name not in lengths):
        out += [("" if d.startswith("!") else "      ") + d for d in declare(p)]
    if "ierror" in params:
        out.append(f"      integer{optional} :: ierror")
    return out + [f"    end {word} {name}"]


# MPICH has the attributes of MPI-1 in mpi_f08 too, and any function of the program for theirs.
MPI_1 = {"MPI_Keyval_create", "MPI_Keyval_free", "MPI_Attr_put", "MPI_Attr_get", "MPI_Attr_delete"}


# Arguments of MPI_Pcontrol that Fortran has.
def complete(f):
    if f.name == "MPI_Pcontrol":
        f.params = [p for p in f.params if p.kind == "PROFILE_LEVEL"]
    return f


def mpi_values(abi):
    """What the module mpi has of one ABI alone."""
    out = [head("Constants and variables of the module mpi", abi)[:-1]]
    for name, kind, value in numbers(abi):
        of = "(kind=MPI_OFFSET_KIND)" if kind.startswith("offset") else ""
        out.append(f"  integer{of}, parameter :: {name} = {value}")
    return "\n".join(out + common(abi, True)) + "\n"


def mpi_module():
    todo = [complete(f) for f in procedures()]
    out = [head("The module mpi") + "module mpi", "  use, intrinsic :: iso_c_binding, only: c_double, c_ptr",
           "  use hawser_mpi_types", "  implicit none", "  private :: c_double, c_ptr", "", "  include 'mpi_values.inc'", ""]
    out += [f"  logical, parameter :: {n} = .false." for n in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING")]
    out += [f"  external :: {name}" for name in EXTERNALS]
    for prefix in ("", "P"):
        out += ["", "  interface"]
        for f in todo:
            if "mpi" in f.where and f.name not in SECOND:
                # Those that mpif.h has not got may be called without `ierror`.
                optional = "" if "mpif" in f.where else ", optional, intent(out)"
                out += body(f, prefix + f.name, declare_f90, "", optional)
        out += ["  end interface"]
        # Those that return memory take its address as an integer or as a C_PTR.
        for f in todo:
            if f.name in SECOND:
                pointer = lambda p: [f"type(c_ptr) :: {p.name}"] if p.kind == "C_BUFFER" else declare_f90(p)  # noqa: E731
                out += [f"  interface {prefix}{f.name}"] + body(f, prefix + f.name, declare_f90)
                out += body(f, f"{prefix}{f.name}_cptr", pointer, f' bind(C, name="{(prefix + f.name).lower()}_")')
                out += ["  end interface"]
        out += sync_reg(prefix, declare_f90)
        out += sizeof(prefix) if not prefix else []
    return "\n".join(out + ["end module mpi"]) + "\n"


ABSTRACT = """\
  abstract interface
    subroutine MPI_User_function(invec, inoutvec, len, datatype)
      import
      type(c_ptr), value :: invec, inoutvec
      integer :: len
      type(MPI_Datatype) :: datatype
    end subroutine MPI_User_function
    subroutine MPI_User_function_c(invec, inoutvec, len, datatype)
      import
      type(c_ptr), value :: invec, inoutvec
      integer(kind=MPI_COUNT_KIND) :: len
      type(MPI_Datatype) :: datatype
    end subroutine MPI_User_function_c
    subroutine MPI_Grequest_query_function(extra_state, status, ierror)
      import
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
      type(MPI_Status) :: status
      integer :: ierror
    end subroutine MPI_Grequest_query_function
    subroutine MPI_Grequest_free_function(extra_state, ierror)
      import
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine MPI_Grequest_free_function
    subroutine MPI_Grequest_cancel_function(extra_state, complete, ierror)
      import
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
      logical :: complete
      integer :: ierror
    end subroutine MPI_Grequest_cancel_function
    subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)
      import
      type(MPI_Datatype) :: datatype
      integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
      integer :: ierror
    end subroutine MPI_Datarep_extent_function
    subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(kind=MPI_OFFSET_KIND) :: position
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
    end subroutine MPI_Datarep_conversion_function
    subroutine MPI_Datarep_conversion_function_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer(kind=MPI_COUNT_KIND) :: count
      integer(kind=MPI_OFFSET_KIND) :: position
      integer(kind=MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine MPI_Datarep_conversion_function_c
"""


def abstract():
    """The shapes of functions of the program that procedures of mpi_f08 take."""
    out = ABSTRACT
    for kind, handle in (("Comm", "comm"), ("Type", "datatype"), ("Win", "win")):
        of = "Datatype" if kind == "Type" else kind
        out += f"""\
    subroutine MPI_{kind}_copy_attr_function(old{handle}, {kind.lower()}_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_{of}) :: old{handle}
      integer :: {kind.lower()}_keyval, ierror
      integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine MPI_{kind}_copy_attr_function
    subroutine MPI_{kind}_delete_attr_function({handle}, {kind.lower()}_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_{of}) :: {handle}
      integer :: {kind.lower()}_keyval, ierror
      integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    end subroutine MPI_{kind}_delete_attr_function
"""
    # MPI-1's functions have INTEGERs.
    out += """\
    subroutine MPI_Copy_function(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierr)
      import
      type(MPI_Comm) :: oldcomm
      integer :: keyval, extra_state, attribute_val_in, attribute_val_out, ierr
      logical :: flag
    end subroutine MPI_Copy_function
    subroutine MPI_Delete_function(comm, keyval, attribute_val, extra_state, ierr)
      import
      type(MPI_Comm) :: comm
      integer :: keyval, attribute_val, extra_state, ierr
    end subroutine MPI_Delete_function
"""
    for kind in ("Comm", "Win", "File", "Session"):
        out += f"""\
    subroutine MPI_{kind}_errhandler_function({kind.lower()}, error_code)
      import
      type(MPI_{kind}) :: {kind.lower()}
      integer :: error_code
    end subroutine MPI_{kind}_errhandler_function
"""
    return out + "  end interface\n"


def predefined():
    """The functions of MPI that a program passes in their places."""
    out = ["  interface"]
    for kind, handle in (("Comm", "comm"), ("Type", "datatype"), ("Win", "win")):
        of = "Datatype" if kind == "Type" else kind
        for name in (f"MPI_{kind.upper()}_NULL_COPY_FN", f"MPI_{kind.upper()}_DUP_FN"):
            out += [f"    subroutine {name}(old{handle}, {kind.lower()}_keyval, extra_state, attribute_val_in, &",
                    "        attribute_val_out, flag, ierror)", "      import", f"      type(MPI_{of}) :: old{handle}",
                    f"      integer :: {kind.lower()}_keyval, ierror",
                    "      integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out",
                    "      logical :: flag", f"    end subroutine {name}"]
        name = f"MPI_{kind.upper()}_NULL_DELETE_FN"
        out += [f"    subroutine {name}({handle}, {kind.lower()}_keyval, attribute_val, extra_state, ierror)", "      import",
                f"      type(MPI_{of}) :: {handle}", f"      integer :: {kind.lower()}_keyval, ierror",
                "      integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state", f"    end subroutine {name}"]
    for suffix, count in (("", "integer"), ("_C", "integer(kind=MPI_COUNT_KIND)")):
        name = "MPI_CONVERSION_FN_NULL" + suffix
        out += [f"    subroutine {name}(userbuf, datatype, count, filebuf, position, extra_state, ierror)", "      import",
                "      type(c_ptr), value :: userbuf, filebuf", "      type(MPI_Datatype) :: datatype", f"      {count} :: count",
                "      integer(kind=MPI_OFFSET_KIND) :: position", "      integer(kind=MPI_ADDRESS_KIND) :: extra_state",
                "      integer :: ierror", f"    end subroutine {name}"]
    return out + ["  end interface"]


def signature(f):
    """What tells procedures of one generic name apart. The three kinds of long integers are one."""
    types = [declare_f08(p)[0].split("::")[0] for p in f.params]
    return [re.sub(r"kind=MPI_\w+", "8", t) + str(p.length is not None) for t, p in zip(types, f.params)]


def f08_values(abi):
    """What the module mpi_f08 has of one ABI alone."""
    out = [head("Constants and variables of the module mpi_f08", abi)[:-1]]
    for name, kind, value in numbers(abi):
        if kind.startswith("handle:"):
            handle = kind[7:].capitalize()
            out.append(f"  type(MPI_{handle}), parameter :: {name} = MPI_{handle}({value})")
        else:
            of = "(kind=MPI_OFFSET_KIND)" if kind.startswith("offset") else ""
            out.append(f"  integer{of}, parameter :: {name} = {value}")
    return "\n".join(out + common(abi, False)) + "\n"


def f08_module():
    todo = {f.name: complete(f) for f in procedures() if "f08" in f.where or f.name in MPI_1}
    out = [head("The module mpi_f08") + "module mpi_f08", "  use, intrinsic :: iso_c_binding, only: c_double, c_ptr",
           "  use hawser_mpi_types", "  implicit none", "  private :: c_double, c_ptr", "", "  include 'mpi_f08_values.inc'", ""]
    out += [f"  logical, parameter :: {n} = .true." for n in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING")]
    out += ['  type(MPI_Status), bind(C, name="MPIR_F08_MPI_STATUS_IGNORE_OBJ") :: MPI_STATUS_IGNORE',
            '  type(MPI_Status), bind(C, name="MPIR_F08_MPI_STATUSES_IGNORE_OBJ") :: MPI_STATUSES_IGNORE(1)', "", abstract()]
    out += predefined()
    for prefix in ("", "P"):
        for f in todo.values():
            small = todo.get(f.name[:-2]) if f.large else None
            # A large form of the same types, or that differs in a function alone, has no generic name in common.
            separate = f.name in ("MPI_Op_create_c", "MPI_Register_datarep_c")
            if small and not separate:
                continue
            if f.name in MPI_1:
                declare = lambda p: [f"external :: {p.name}"] if p.function else declare_f08(p)  # noqa: E731
                out += ["  interface"] + body(f, prefix + f.name, declare, "", ", optional, intent(out)") + ["  end interface"]
                continue
            if f.name in FUNCTIONS or f.name == "MPI_Pcontrol":
                out += ["  interface"] + body(f, prefix + f.name, declare_f08) + ["  end interface"]
                continue
            out += [f"  interface {prefix}{f.name}"] + specific(prefix, f)
            large = todo.get(f.name + "_c")
            if large and large.name not in ("MPI_Op_create_c", "MPI_Register_datarep_c") and signature(large) != signature(f):
                out += specific(prefix, large)
            out += ["  end interface"]
        out += sync_reg(prefix, declare_f08)
    out += sizeof("")
    return "\n".join(out + ["end module mpi_f08"]) + "\n"


def specific(prefix, f):
    optional = ", optional, intent(out)"
    name = f"{prefix}{f.name}_f08"
    return body(f, name + ("ts" if f.choices else ""), declare_f08, "", optional)


def main():
    out = {"../include/fortran/mpi.f90": mpi_module(), "../include/fortran/mpi_f08.f90": f08_module()}
    for abi in ("std", "mpich"):
        folder = f"../include/{abi}"
        out[f"{folder}/mpif.h"] = mpif_h(abi)
        out[f"{folder}/hawser_mpi_types.f90"] = types_module(abi)
        out[f"{folder}/mpi_values.inc"] = mpi_values(abi)
        out[f"{folder}/mpi_f08_values.inc"] = f08_values(abi)
    write(out)


if __name__ == "__main__":
    main()
