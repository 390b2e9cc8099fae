"""Writes binding/table/*.rs and binding/c_functions.rs: the Fortran entry point of every procedure, and the C
functions that they call.

The procedures whose arguments need more than a conversion each are written by hand (binding/*.rs, `BY_HAND`). Run it
again after a change of the table; `tests/test_fortran.py` compares what it writes with what is committed.
"""
import os
import sys
import textwrap
from procedures import ROOT, procedures, rows

HEAD = "//! %s\n//!\n//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.\n\n"

# File -> (its title, which procedures).
AREAS = {
    "p2p": ("point-to-point communication", ("p2p", "external")),
    "coll": ("collectives", ("coll",)),
    "comm": ("communicators, groups and topologies", ("comm", "group", "topo")),
    "datatype": ("datatypes", ("datatype",)),
    "env": ("environment, errors, info, sessions and dynamic processes",
            ("env", "profiling", "info", "errhandler", "session", "dynamic", "abi", "fortran")),
    "rma": ("one-sided communication", ("rma",)),
    "io": ("files", ("io",)),
}

# Their arguments depend on each other, or they pass a function of the program with a state of its own.
BY_HAND = {
    "MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Pcontrol", "MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff",
    "MPI_Comm_create_keyval", "MPI_Type_create_keyval", "MPI_Win_create_keyval", "MPI_Keyval_create",
    "MPI_Comm_get_attr", "MPI_Type_get_attr", "MPI_Win_get_attr", "MPI_Attr_get",
    "MPI_Comm_set_attr", "MPI_Type_set_attr", "MPI_Win_set_attr", "MPI_Attr_put",
    "MPI_Comm_delete_attr", "MPI_Win_delete_attr", "MPI_Type_delete_attr", "MPI_Attr_delete",
    "MPI_Grequest_start", "MPI_Register_datarep", "MPI_Register_datarep_c",
    "MPI_Info_get", "MPI_Info_get_string", "MPI_Session_get_nth_pset", "MPI_Info_create_env",
    "MPI_Comm_spawn", "MPI_Comm_spawn_multiple",
    "MPI_Pack_external", "MPI_Pack_external_c", "MPI_Unpack_external", "MPI_Unpack_external_c",
    "MPI_Buffer_detach", "MPI_Buffer_detach_c", "MPI_Comm_detach_buffer", "MPI_Comm_detach_buffer_c",
    "MPI_Session_detach_buffer", "MPI_Session_detach_buffer_c",
    "MPI_F_sync_reg", "MPI_Cart_sub", "MPI_Status_f2f08", "MPI_Status_f082f",
}

# The count and the datatype that describe a choice buffer.
DESCRIBED = {
    "buf": ("count", "datatype"), "buffer": ("count", "datatype"), "sendbuf": ("sendcount", "sendtype"),
    "recvbuf": ("recvcount", "recvtype"), "inbuf": ("incount", "datatype"), "outbuf": ("outcount", "datatype"),
    "origin_addr": ("origin_count", "origin_datatype"), "result_addr": ("result_count", "result_datatype"),
}
# Only the address of these buffers matters.
ADDRESSES = {"MPI_Get_address", "MPI_Win_create", "MPI_Win_create_c", "MPI_Win_attach", "MPI_Win_detach", "MPI_Free_mem",
             "MPI_Buffer_attach", "MPI_Buffer_attach_c", "MPI_Comm_attach_buffer", "MPI_Comm_attach_buffer_c",
             "MPI_Session_attach_buffer", "MPI_Session_attach_buffer_c"}

RESERVED = {"type": "r#type", "in": "r#in", "ref": "r#ref"}


def rust(name):
    return RESERVED.get(name, name)


def c_type(p):
    """The type of the argument of the C function."""
    if p.function:
        return "Function"
    if p.c_type == "void":
        base = "c_void"
    else:
        base = {"int": "c_int", "char": "c_char", "MPI_Aint": "Aint", "MPI_Count": "Count", "MPI_Offset": "Offset",
                "MPI_Status": "Status", "MPI_Fint": "Fint", "MPI_F08_status": "Status",
                "MPI_File": "File"}.get(p.c_type) or "Handle"
    stars = p.stars
    return ("*const " if p.const else "*mut ") * min(stars, 1) + "*mut " * (stars - 1) + base if stars else base


class Body:
    """Collects the statements around the call of the C function."""

    def __init__(self, f):
        self.f = f
        self.before, self.args, self.after = [], [], []
        self.params, self.lengths = [], []
        self.replaced = {}
        self.describe()
        for p in f.params:
            self.add(p)

    def describe(self):
        """Choice buffers with a count and a datatype of their own may be sections of arrays."""
        names = {p.name: p for p in self.f.params}
        ops = any(p.handle == "Op" for p in self.f.params) and self.f.area != "rma"
        for p in self.f.choices:
            count, datatype = DESCRIBED.get(p.name, (None, None))
            found = count in names and datatype in names and not names[count].array and not names[datatype].array
            if found and not ops and not self.f.name.startswith(("MPI_Psend", "MPI_Precv")):
                # The blocking procedures copy, so that a section may have any form.
                part = self.is_parts(p.name)
                if part and not p.asynchronous:
                    continue
                self.replaced[count] = f"{p.name}.count"
                self.replaced[datatype] = f"{p.name}.datatype"
                kind = "part" if part else "asynchronous" if p.asynchronous else "blocking"
                back = "" if p.asynchronous else ", false" if p.direction == "in" else ", true"
                self.only_if_significant(p)
                self.before += [f"let Some({p.name}) = choice::{kind}({p.name}, *{count}, handle(*{datatype}){back})",
                                f"    else {{ return {self.refusal()} }};"]

    def refusal(self):
        comm = "handle(*comm)" if any(p.name == "comm" for p in self.f.params) else "handle(values::MPI_COMM_SELF)"
        return f'choice::refuse("{self.f.name}", {comm})'

    def only_if_significant(self, p):
        """Where a buffer is not significant the program may pass anything: one that only the root uses elsewhere, and
        that of the others on the root's side of an intercommunicator, which passes MPI_ROOT or MPI_PROC_NULL."""
        word = self.f.name.removeprefix("MPI_").removeprefix("I").lower()
        pairs = {"gather": ("recvbuf", "sendbuf"), "reduce": ("recvbuf", "sendbuf"), "scatter": ("sendbuf", "recvbuf")}
        of_root, of_others = next((pair for name, pair in pairs.items() if word.startswith(name)), (None, None))
        if not any(q.name == "root" for q in self.f.params):
            return
        if p.name == of_root:
            significant = "count::is_root(handle(*comm), *root)"
        elif p.name == of_others:
            significant = "*root >= 0"
        else:
            return
        self.before.append(f"let {p.name} = choice::only_if({p.name}, move || {significant});")

    def is_parts(self, buffer):
        """A collective has a part of this buffer for each process."""
        word = self.f.name.removeprefix("MPI_").removeprefix("I").removeprefix("Neighbor_").removeprefix("neighbor_")
        word = word.removesuffix("_c").removesuffix("_init").lower()
        return self.f.area == "coll" and buffer in {
            "gather": ["recvbuf"], "allgather": ["recvbuf"], "scatter": ["sendbuf"], "alltoall": ["sendbuf", "recvbuf"],
        }.get(word, [])

    def length(self, p):
        text = p.length
        if text.isidentifier():
            return f"entries(*{text})"
        raise ValueError((self.f.name, p.name, text))

    def add(self, p):
        n = rust(p.name)
        fortran, c = self.convert(p, n)
        self.params.append(f"{n}: {fortran}")
        self.args.append(self.replaced.get(p.name, c))

    def convert(self, p, n):
        if p.choice:
            return self.choice(p, n)
        if p.text:
            return self.text(p, n)
        if p.function:
            return "Function", n
        if p.kind == "C_BUFFER":
            return "*mut c_void", n
        if p.logical:
            return self.logical(p, n)
        if p.kind in ("STATUS", "F08_STATUS", "F90_STATUS"):
            ignore = "c_statuses" if p.length else "c_status"
            return "*mut Fint", f"{ignore}({n})"
        if p.handle:
            return self.handle(p, n)
        return self.number(p, n)

    def choice(self, p, n):
        if f"{n}.count" in self.replaced.values():
            return "Buffer", f"{n}.address"
        if self.f.name in ADDRESSES or (self.f.area == "io" and self.f.name.endswith("_end")):
            return "Buffer", f"{n}.address()"
        if p.asynchronous:
            self.only_if_significant(p)
            self.before.append(f"let Some({n}) = choice::solid({n}) else {{ return {self.refusal()} }};")
            return "Buffer", n
        back = "true" if p.direction != "in" else "false"
        self.only_if_significant(p)
        self.before.append(f"let {n} = choice::Copied::of({n});")
        self.after.append(f"{n}.finish({back});")
        return "Buffer", f"{n}.address()"

    def text(self, p, n):
        self.lengths.append(f"{n}_len")
        if p.direction == "in":
            trim = "Text::trimmed" if self.f.area == "info" else "Text::of"
            self.before.append(f"let {n} = {trim}({n}, {n}_len);")
            return "*mut c_char", f"{n}.as_ptr()"
        size = p.length if p.length and p.length.startswith("MPI_MAX") else {
            "MPI_Info_get_nthkey": "MPI_MAX_INFO_KEY", "MPI_File_get_view": "MPI_MAX_DATAREP_STRING",
            "MPI_Lookup_name": "MPI_MAX_PORT_NAME", "MPI_Open_port": "MPI_MAX_PORT_NAME"}[self.f.name]
        self.before.append(f"let mut c_{n} = TextOut::new(values::{size} as usize);")
        self.after.append(f"if code == 0 {{ c_{n}.store({n}, {n}_len); }}")
        return "*mut c_char", f"c_{n}.as_mut_ptr()"

    def logical(self, p, n):
        if p.c_type == "void":
            return "*mut c_void", n
        if p.direction == "in" and not p.length:
            return "*const Logical", f"truth(*{n})"
        if p.direction == "in":
            self.before.append(f"let {n} = Truths::of({n}, {self.length(p)});")
            return "*const Logical", f"{n}.as_ptr()"
        if p.length:
            # Elements that C does not write stay as they are.
            self.before.append(f"let mut c_{n} = Truths::of({n}, {self.length(p)});")
            self.after.append(f"if code == 0 {{ c_{n}.store({n}); }}")
            return "*mut Logical", f"c_{n}.as_mut_ptr()"
        # It is stored where the function fails too: a test of a request that failed says that it has ended.
        self.before.append(f"let mut c_{n}: c_int = truth(*{n});")
        self.after.append(f"*{n} = logical(c_{n});")
        return "*mut Logical", f"&mut c_{n}"

    def handle(self, p, n):
        take, give = ("c_file", "file_number") if p.handle == "File" else ("handle", "number")
        if p.length:
            return self.handles(p, n)
        if p.stars == 0:
            return "*const Fint", f"{take}(*{n})"
        # An output argument is read too, so that it stays as it is where the function fails early. It is stored where
        # the function fails later: a request that failed has ended.
        self.before.append(f"let mut c_{n} = {take}(*{n});")
        if p.direction != "in":
            self.after.append(f"*{n} = {give}(c_{n});")
            return "*mut Fint", f"&mut c_{n}"
        return "*const Fint", f"&mut c_{n}"

    def handles(self, p, n):
        if p.length == "*" and p.kind == "DATATYPE":
            scope = "neighbors" if "eighbor" in self.f.name else "processes"
            outgoing = "true" if n == "sendtypes" else "false"
            address = "sendbuf" if any(q.name == "sendbuf" and q.asynchronous for q in self.f.choices) else "sendbuf.address()"
            # Types of what is sent are not read where it is in place.
            within = address if outgoing == "true" else "ptr::null_mut()"
            self.before.append(f"let {n} = Handles::of({n}, || choice::types_of({within}, handle(*comm), {outgoing}, count::{scope}));")
            return "*const Fint", f"{n}.as_ptr()"
        if p.direction == "in":
            self.before.append(f"let {n} = Handles::of({n}, || {self.length(p)});")
            return "*const Fint", f"{n}.as_ptr()"
        self.before.append(f"let mut c_{n} = Handles::of({n}, || {self.length(p)});")
        self.after.append(f"c_{n}.store({n});")
        return "*mut Fint", f"c_{n}.as_mut_ptr()"

    def number(self, p, n):
        base = {"int": "c_int", "MPI_Aint": "Aint", "MPI_Count": "Count", "MPI_Offset": "Offset"}[p.c_type]
        if p.stars == 0:
            return f"*const {base}", f"*{n}"
        pointer = "*const" if p.const else "*mut"
        if p.kind == "WEIGHT":
            return f"{pointer} {base}", f"c_weights({n}.cast_mut())" if p.const else f"c_weights({n})"
        if p.kind == "INDEX" and p.direction == "out" and self.f.area == "p2p":
            # Where a request failed, the index says which one.
            if p.length:
                self.before.append("*outcount = 0;")
                self.after.append(f"from_one({n}, *outcount);")
            else:
                self.before.append(f"*{n} = values::MPI_UNDEFINED;")
                self.after.append(f"from_one({n}, 1);")
        if p.length and "3*" in p.length:
            return f"{pointer} {base}", f"{n}.cast()"
        return f"{pointer} {base}", n

    def forms(self):
        """Returns the macro that exports the procedure, and its names without `mpi_`."""
        kind = "choice" if self.f.choices else "plain"
        stem = self.f.lower.removeprefix("mpi_")
        if self.f.large:
            return f'{kind}_large! {{ "{stem}" "{stem.removesuffix("_c")}"'
        old, new = bool(self.f.where & {"mpif", "mpi"}), "f08" in self.f.where
        form = {(True, True): kind, (True, False): "plain_f90", (False, True): f"{kind}_f08"}[old, new]
        return f'{form}! {{ "{stem}"'

    def write(self):
        lengths = f" [{', '.join(self.lengths)}]"
        head = f"{self.forms()} ({', '.join(self.params)}){lengths}"
        call = f"c::{self.f.name}({', '.join(self.args)})"
        lines = fill(head, "", "    ") + [" {"]
        lines[-2:] = [lines[-2] + " {"]
        lines += [x for s in self.before for x in fill(s, "    ", "        ")]
        if self.after:
            lines += fill(f"let code = {call};", "    ", "        ")
            lines += [x for s in self.after for x in fill(s, "    ", "        ")]
            lines += ["    code"]
        else:
            lines += fill(call, "    ", "        ")
        return "\n".join(lines + ["} }"])


def fill(text, first, rest):
    return textwrap.wrap(text, 120, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def tables(todo):
    for file, (title, areas) in AREAS.items():
        mine = [f for f in todo if f.area in areas and f.name not in BY_HAND]
        text = HEAD % f"Entry points of Fortran: {title}." + "use crate::binding::prelude::*;\n\n"
        text += "\n".join(Body(f).write() for f in mine) + "\n"
        yield os.path.join("table", file + ".rs"), text
    left = [f.name for f in todo if not any(f.area in areas for _, areas in AREAS.values())]
    assert not left, left


# The constants that the binding uses: numbers, and addresses that C tells from all others.
NUMBERS = ["MPI_UNDEFINED", "MPI_ROOT", "MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH", "MPI_BYTE", "MPI_COMM_SELF",
           "MPI_INFO_NULL", "MPI_ERR_BUFFER", "MPI_ERR_ARG", "MPI_WIN_BASE", "MPI_WIN_SIZE", "MPI_MAX_PROCESSOR_NAME",
           "MPI_MAX_ERROR_STRING", "MPI_MAX_OBJECT_NAME", "MPI_MAX_LIBRARY_VERSION_STRING", "MPI_MAX_INFO_KEY",
           "MPI_MAX_PORT_NAME", "MPI_MAX_DATAREP_STRING"]
ADDRESSES_OF_C = ["MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE", "MPI_ERRCODES_IGNORE"]


def constants(abi):
    """Writes the constants of an ABI."""
    table = {r["name"]: r for r in rows({"std": "abi_constants.tsv", "mpich": "mpich_constants.tsv"}[abi])}
    text = HEAD % "The constants of this ABI that the Fortran binding uses."
    text += "use std::ffi::{c_int, c_void};\nuse std::ptr::without_provenance_mut;\n\n"
    text += "".join(f"pub const {n}: c_int = {table[n]['value']};\n" for n in NUMBERS)
    for n in ADDRESSES_OF_C:
        # -1 is the highest address.
        value = int(table[n]["value"])
        text += f"pub const {n}: *mut c_void = without_provenance_mut({value if value >= 0 else f'{value}isize as usize'});\n"
    keys = [r["value"] for r in table.values() if r["kind"] == "attribute key" and r["name"] not in NOT_KEYS]
    text += "\n/// The keys of MPI's own attributes, in C.\n"
    text += "#[rustfmt::skip]\n"
    text += "\n".join(fill(f"pub const PREDEFINED_KEYS: [c_int; {len(keys)}] = [{', '.join(keys)}];", "", "    ")) + "\n"
    return text


# Constants that stand with the keys.
NOT_KEYS = ("MPI_KEYVAL_INVALID", "MPI_BSEND_OVERHEAD")


def c_functions(todo):
    """Declares the C functions, as MPI_X and as PMPI_X."""
    text = HEAD % "The C functions that the Fortran binding calls: of `mpi` under their own names, of `pmpi` under PMPI_X."
    text += "use crate::binding::types::*;\nuse std::ffi::{c_char, c_int, c_void};\n\n"
    text += "declare! {\n"
    for f in todo:
        if f.name in ("MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Pcontrol"):
            continue
        args = [f"{rust(p.name)}: {c_type(p)}" for p in f.params]
        if f.name in ("MPI_Init", "MPI_Init_thread", "MPI_Info_create_env"):
            args = (["argc: *mut c_int", "argv: *mut *mut *mut c_char"] if f.name != "MPI_Info_create_env"
                    else ["argc: c_int", "argv: *mut *mut c_char"]) + args
        returns = {"double": "f64", "MPI_Aint": "Aint"}.get(f.returns, "c_int")
        text += "\n".join(fill(f"{f.name}({', '.join(args)}) -> {returns};", "    ", "        ")) + "\n"
    text += "}\n"
    return text


def main():
    todo = procedures()
    out = dict(tables(todo))
    out["c_functions.rs"] = c_functions(todo)
    out = {os.path.join("fortran", "binding", path): text for path, text in out.items()}
    for abi in ("std", "mpich"):
        out[os.path.join(f"fortran-{abi}", "src", "constants.rs")] = constants(abi)
    write(out)


def write(out):
    """Writes files below crates/, or below the folder that the command line names."""
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "crates")
    for path, text in out.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
