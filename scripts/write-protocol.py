#!/usr/bin/env python3
"""write-protocol.py PREFIX [ROUNDS] [--is BIN]: tables 4.1 and 4.2 of the MPI/MBCF paper for the Hawser installed in
PREFIX, in shared memory and between two hosts of the lab (docs/lab.md, needs root): with an RTR for every posted
receive (SR: HAWSER_OFFER_FROM=0), by default, and without RTRs (NSR: HAWSER_RTR=off). The three are run in turns; the
tables have the medians of all rounds, for docs/measurements. With --is it prints the table of NPB's IS instead, of
which is.S.2 to is.A.8 in BIN were built with PREFIX/bin/mpicc before."""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 1 << 18
SETTINGS = {"SR": ["-genv", "HAWSER_OFFER_FROM", "0"], "default": [], "NSR": ["-genv", "HAWSER_RTR", "off"]}
MEASURED = {"early": "round trip, receives posted early, us", "any": "the same from any source, us",
            "late": "round trip, receives after arrival, us", "bandwidth": "one message behind the other, us each"}
IS_CLASSES, IS_RANKS = "SWA", (2, 4, 8)
# The time after which a job counts as hung.
LIMIT_S = 300


def output(words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def run(words):
    """The times that the job has printed, in ns, by measurement and length."""
    lines = [line.split() for line in output(words).splitlines()]
    return {(name, int(length)): int(ns) for name, length, ns in lines}


def print_table(title, what, columns, value_of):
    """A row for each setting. `columns`: from the head of a column to what `value_of` takes behind the setting."""
    print(f"\n{title}\n")
    print(f"| {what} | " + " | ".join(map(str, columns)) + " |")
    print("| -- |" + " -- |" * len(columns))
    for setting in SETTINGS:
        print(f"| {setting} | " + " | ".join(f"{value_of(setting, *point):.3g}" for point in columns.values()) + " |")


def table(title, times):
    lengths = sorted({length for _, _, length in times})
    for name, about in MEASURED.items():
        us = lambda setting, length: statistics.median(times[setting, name, length]) / 1000
        print_table(f"{title}, {about}", "bytes", {length: (length,) for length in lengths}, us)


def rate(words):
    """The millions of keys that IS ranked in a second, all ranks together."""
    text = output(words)
    if "Verification    =               SUCCESSFUL" not in text:
        sys.exit(f"{' '.join(map(str, words))}: the result was not verified\n{text[-4000:]}")
    return float(re.search(r"Mop/s total\s*=\s*([\d.]+)", text)[1])


def measure_is(ways, programs, rounds):
    for title, start in ways.items():
        rates = defaultdict(list)
        points = [(kind, ranks) for kind in IS_CLASSES for ranks in IS_RANKS]
        for _ in range(rounds):
            for kind, ranks in points:
                for setting, options in SETTINGS.items():
                    place = ["-n", str(ranks), *(["-ppn", str(ranks // 2)] if len(start) > 1 else [])]
                    words = [*start, *place, *options, programs / f"is.{kind}.{ranks}"]
                    rates[setting, kind, ranks].append(rate(words))
        columns = {f"{kind}, {ranks}": (kind, ranks) for kind, ranks in points}
        print_table(f"{title}, NPB's IS, Mop/s", "class, ranks", columns, lambda *key: statistics.median(rates[key]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefix", metavar="PREFIX", type=Path)
    parser.add_argument("rounds", metavar="ROUNDS", type=int, nargs="?", default=7)
    parser.add_argument("--is", metavar="BIN", dest="programs", type=Path, help="run is.S.2 to is.A.8 in BIN instead")
    options = parser.parse_args()
    prefix, rounds = options.prefix.resolve(), options.rounds
    mpiexec = prefix / "bin" / "mpiexec"
    lab = ["env", f"HAWSER_PREFIX={prefix}", ROOT / "scripts" / "lab", "--direct", "--", mpiexec, "-launcher-exec", "lab-rsh",
           "-hosts", "node0,node1"]
    ways = {"shared memory": [mpiexec], "two hosts, MTU 1500": lab}
    if options.programs:
        return measure_is(ways, options.programs.resolve(), rounds)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "write_protocol"
        source = ROOT / "tests" / "c" / "write_protocol.c"
        subprocess.run([prefix / "bin" / "mpicc", "-std=gnu11", "-O1", "-pthread", source, "-o", program], check=True)
        for title, start in ways.items():
            times = defaultdict(list)
            for _ in range(rounds):
                for setting, options in SETTINGS.items():
                    found = run([*start, "-n", "2", *options, program, str(MOST_BYTES)])
                    for (name, length), ns in found.items():
                        times[setting, name, length].append(ns)
            table(title, times)


if __name__ == "__main__":
    main()
