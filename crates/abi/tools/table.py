"""Writes src/table/*.rs, the function table, from functions.tsv.

What stands after `=>` in a row (which generic function implements it, or `unsupported`) is kept from the
files as they are; everything else is derived. Run it again after a change of the tsv or of the layout.
"""
import os
import re
import textwrap
from mpi_tables import ROOT, functions

DIR = os.path.join(ROOT, "crates", "abi", "src", "table")

# File -> (what it holds, which functions).
FILES = {
    "p2p": ("point-to-point communication", lambda f: f.area == "p2p" and f.subarea in ("", "bsend-buffer", "persistent", "partitioned", "probe")),
    "request": ("requests and statuses", lambda f: (f.area == "p2p" and f.subarea in ("request", "status")) or f.area == "external"),
    "coll": ("blocking collectives and operations", lambda f: f.area == "coll" and f.subarea in ("blocking", "local", "op")),
    "icoll": ("nonblocking collectives", lambda f: f.area == "coll" and f.subarea == "nonblocking"),
    "pcoll": ("persistent collectives", lambda f: f.area == "coll" and f.subarea == "persistent"),
    "neighbor": ("neighbourhood collectives", lambda f: f.area == "coll" and f.subarea == "neighbor"),
    "comm": ("communicators, groups and topologies", lambda f: f.area in ("comm", "group", "topo")),
    "datatype": ("datatypes", lambda f: f.area == "datatype"),
    "env": ("environment, errors, info, sessions and dynamic processes", lambda f: f.area in ("env", "profiling", "info", "errhandler", "session", "dynamic")),
    "rma": ("one-sided communication", lambda f: f.area == "rma"),
    "io": ("files", lambda f: f.area == "io"),
    "tool": ("the tool information interface", lambda f: f.area == "tool"),
    "handle": ("handles as integers, the ABI and Fortran", lambda f: f.area in ("abi", "fortran")),
    "mpix": ("extensions of MPICH", lambda f: f.area == "mpix"),
}

PLAIN = {
    "int": "c_int", "char": "c_char", "void": "c_void", "double": "f64", "MPI_Aint": "Aint", "MPI_Count": "Count",
    "MPI_Offset": "Offset", "MPI_Fint": "Fint", "MPI_F08_status": "F08Status", "MPIX_Iov": "Iov",
}

# Exported by both libraries, declared by MPICH's header alone (`UNDECLARED_IN_STD` in src/table/mod.rs).
MOD = open(os.path.join(DIR, "mod.rs"), encoding="utf-8").read()
UNDECLARED_IN_STD = set(re.findall(r'^    "(MPIX?_\w+)",$', MOD, re.M))

# A space at which no line breaks.
GLUE = "\N{NO-BREAK SPACE}"


def camel(c_name):
    """MPI_T_event_cb_function -> TEventCbFunction, MPI_Comm -> Comm."""
    return "".join(w[0].upper() + w[1:] for w in re.sub(r"^MPIX?_", "", c_name).split("_"))


def base(c_type):
    return PLAIN.get(c_type, camel(c_type))


def rust_type(c_type, suffix):
    const = c_type.startswith("const ")
    words = c_type.removeprefix("const ")
    stars = words.count("*")
    name = words.replace("*", "").strip()
    if name.endswith(("_function", "_fn", "_function_c", "_function_x")):
        return base(name)  # function types and pointers to them are the same as parameters
    t = base(name)
    pointer = "*const " if const else "*mut "
    if suffix == "[][3]":
        return f"*mut [{t}; 3]"
    depth = stars + (1 if suffix == "[]" else 0)
    if const and depth == 0:
        return t
    return (pointer if depth else "") + "*mut " * (depth - 1) + t


def is_error_code(f):
    return f.returns == "int" and not f.name.endswith("_toint") and not f.name.startswith("MPIX_Query") and f.name != "MPIX_Request_is_complete"


def handler(f):
    """Whose error handler is called (MPI-5.0 §9.3): the object that the call is about, else the default."""
    if f.area == "tool":
        return "tool"
    for kind in ("File", "Win", "Session", "Comm"):
        for c_type, name, suffix in f.params:
            if c_type == f"MPI_{kind}" and not suffix:
                return f"{kind.lower()}({name})"
    for kind, functions in {"File": ("close",), "Win": ("free",), "Session": ("finalize",), "Comm": ("free", "disconnect")}.items():
        if f.name.removeprefix(f"MPI_{kind}_") in functions:
            return f"{kind.lower()}_at({f.params[0][1]})"
    return "no_file" if f.area == "io" else "default"


def row(f, mark):
    args = [f"{'r#' + n if n in ('type', 'in', 'ref', 'fn', 'mod') else n}: {rust_type(t, s)}" for t, n, s in f.params if t != "..."]
    tail = f"[{handler(f)}]" if is_error_code(f) else f"-> {rust_type(f.returns, '')}"
    abis = "both" if f.name in UNDECLARED_IN_STD else f.abis
    signature = f"{abis} {f.name}(" + ", ".join(a.replace(" ", GLUE) for a in args) + ")"
    words = [signature, f"{tail} => {mark};".replace(" ", GLUE)]
    text = textwrap.fill(" ".join(words), 120, initial_indent="    ", subsequent_indent="        ", break_long_words=False, break_on_hyphens=False)
    return text.replace(GLUE, " ")


def marks():
    out = {}
    for file in FILES:
        path = os.path.join(DIR, file + ".rs")
        if os.path.exists(path):
            text = re.sub(r"\s+", " ", open(path, encoding="utf-8").read())
            for name, mark in re.findall(r"(?:both|std|mpich) (MPIX?_\w+)\([^)]*\)[^;]*?=> ([\w:]+);", text):
                out[name] = mark
    return out


def main():
    kept, todo = marks(), functions()
    for file, (what, belongs) in FILES.items():
        mine = [f for f in todo if belongs(f)]
        todo = [f for f in todo if not belongs(f)]
        with open(os.path.join(DIR, file + ".rs"), "w", encoding="utf-8") as out:
            out.write(f"//! Rows of the function table: {what}.\n//!\n")
            out.write("//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).\n\n")
            out.write(f"#[doc(hidden)]\n#[macro_export]\nmacro_rules! table_{file} {{ ($emit:ident $with:tt) => {{ $emit! {{ $with\n")
            for f in mine:
                out.write(row(f, kept.get(f.name, "unsupported")) + "\n")
            out.write("} } }\n")
    assert not todo, [f.name for f in todo]


if __name__ == "__main__":
    main()
