"""Reads the tables of MPI's functions, constants and callbacks (crates/abi/tables/*.tsv).

Used by table.py (the Rust function table) and header.py (both mpi.h). Nothing here writes files.
"""
import csv
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
TABLES = os.path.join(ROOT, "crates", "abi", "tables")


def rows(name):
    with open(os.path.join(TABLES, name), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def split_params(text):
    """'int a, void *b' -> [('int', 'a', ''), ('void *', 'b', '')]; the last part is '[]', '[][3]' or ''."""
    if text.strip() in ("void", ""):
        return []
    out = []
    for p in (p.strip() for p in text.split(",")):
        if p == "...":
            out.append(("...", "", ""))
            continue
        m = re.match(r"^(.*?[\s*])(\w+)((?:\[\w*\])*)$", p)
        out.append((re.sub(r"\s+", " ", m.group(1)).strip(), m.group(2), m.group(3)))
    return out


class Function:
    def __init__(self, row):
        self.name = row["name"]
        self.area = row["area"]
        self.subarea = row["subarea"]
        self.std = row["in_std_abi_header"] == "Y"
        self.mpich = row["in_mpich502_header"] == "Y"
        self.returns = row["c_return"]
        self.c_params = row["c_params"]
        self.params = split_params(row["c_params"])
        self.notes = row["notes"]

    @property
    def abis(self):
        return "both" if self.std and self.mpich else "std" if self.std else "mpich"


def functions():
    return [Function(r) for r in rows("functions.tsv")]
