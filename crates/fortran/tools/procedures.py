"""Reads the Fortran procedures from the function table of both ABIs (crates/abi/tables/functions.tsv).

A procedure is a function that Fortran has too; its arguments are those of the C function, in the same order, without
`argc` and `argv`, and with `ierror`. Used by binding.py (the Rust entry points) and modules.py (mpif.h and the
modules). Nothing here writes files.
"""
import os
import re
import sys
from dataclasses import dataclass, field

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "crates", "abi", "tools"))
from mpi_tables import rows, split_params  # noqa: E402

KINDS = "param_kinds(name:KIND:direction)"
MARKS = "fortran_marks(name=length,!asynchronous,~no intent in mpi_f08)"

# C types of handles, and the name of the derived type in Fortran.
HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"]


@dataclass
class Param:
    name: str
    kind: str
    direction: str
    c_type: str            # "int", "MPI_Comm", "void": without const and stars
    stars: int             # levels of pointers in C, those of [] included
    const: bool
    length: str | None     # None: a scalar; "*": an array of any length; else an expression of other arguments
    asynchronous: bool
    intent: bool           # mpi_f08 gives it an INTENT

    @property
    def array(self):
        return self.length is not None and not self.text

    @property
    def handle(self):
        return self.c_type.removeprefix("MPI_") if self.c_type.removeprefix("MPI_") in HANDLES else None

    @property
    def text(self):
        return self.kind in ("STRING", "STRING_ARRAY", "STRING_2DARRAY")

    @property
    def choice(self):
        return self.kind == "BUFFER" and self.c_type == "void"

    @property
    def logical(self):
        return self.kind in ("LOGICAL", "LOGICAL_OPTIONAL", "LOGICAL_BOOLEAN", "LOGICAL_VOID")

    @property
    def function(self):
        return self.kind in ("FUNCTION", "POLYFUNCTION")


@dataclass
class Procedure:
    name: str
    area: str
    where: set             # of "mpif", "mpi", "f08"
    large: bool            # the _c form, which is in mpi_f08 alone
    std: bool              # the C function is in the header of this ABI
    mpich: bool
    returns: str
    params: list = field(default_factory=list)

    @property
    def lower(self):
        return self.name.lower()

    @property
    def choices(self):
        return [p for p in self.params if p.choice]

    @property
    def texts(self):
        return [p for p in self.params if p.text]


def parse_marks(text):
    out = {}
    for mark in filter(None, text.split(",")):
        name, equals, length, exclaim, tilde = re.fullmatch(r"(\w+)(=?)([^!~]*)(!?)(~?)", mark).groups()
        out[name] = (length if equals else None, bool(exclaim), bool(tilde))
    return out


def parse_params(row):
    kinds = [k.split(":") for k in row[KINDS].split(",") if k]
    kinds = [k for k in kinds if k[1] not in ("ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS")]
    c_params = [p for p in split_params(row["c_params"]) if p[1] not in ("argc", "argv") and p[0] != "..."]
    if row["name"] in ("MPI_Comm_spawn", ):
        c_params = [p for p in split_params(row["c_params"])]
    assert len(kinds) == len(c_params), row["name"]
    marks = parse_marks(row[MARKS])
    # Buffers of a procedure that returns a request are used after it, whether the standard's data says so or not.
    later = any(kind == "REQUEST" and direction == "out" for _, kind, direction in kinds)
    out = []
    for (name, kind, direction), (c_type, _, suffix) in zip(kinds, c_params):
        length, asynchronous, tilde = marks.get(name, (None, False, False))
        if length == "" or (length is None and suffix):
            length = "*"
        asynchronous = asynchronous or (later and kind == "BUFFER")
        words = c_type.removeprefix("const ")
        stars = words.count("*") + suffix.count("[")
        out.append(Param(name, kind, direction, words.replace("*", "").strip(), stars, c_type.startswith("const "),
                         length, asynchronous, not tilde))
    return out


def procedures():
    out = []
    for row in rows("functions.tsv"):
        if not row["fortran"]:
            continue
        out.append(Procedure(row["name"], row["area"], set(row["fortran"].split(",")), row["large_count"] == "Y",
                             row["in_std_abi_header"] == "Y", row["in_mpich502_header"] == "Y", row["c_return"],
                             parse_params(row)))
    return out
