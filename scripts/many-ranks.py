#!/usr/bin/env python3
"""many-ranks.py PREFIX [RANKS ...]: jobs of 64, 256, 512 and 1,000 ranks on this host with the Hawser installed in
PREFIX: how long start, barrier, alltoall of 8 bytes and end take, and what memory a rank has. Each job runs three times,
the fastest is printed: a table for docs/measurements. Ends with 1 if a job fails."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3
RANKS = [64, 256, 512, 1000]
# What a job may take before it counts as hung.
LIMIT_S = 300
HEAD = ["ranks", "start, barrier and end", "start", "barrier first", "barrier", "alltoall first", "alltoall", "end", "whole",
        "private before", "shared before", "private", "shared", "private mean", "shared mean"]
# A job that only starts, meets and ends.
BARE = """#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def fastest(prefix, program, ranks):
    """How long the fastest job took, in ns, and the numbers that it printed."""
    return min(run(prefix, program, ranks) for _ in range(RUNS))


def run(prefix, program, ranks):
    begin = time.monotonic_ns()
    done = subprocess.run([prefix / "bin" / "mpiexec", "-n", str(ranks), program, str(begin)], capture_output=True, text=True,
                          timeout=LIMIT_S)
    whole = time.monotonic_ns() - begin
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{ranks} ranks: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return whole, [int(number) for number in done.stdout.split()]


def ms(ns):
    return f"{ns / 1e6:.3g}"


def main():
    prefix = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        program, bare, source = (Path(folder) / name for name in ("many_ranks", "bare", "bare.c"))
        source.write_text(BARE)
        for of, into in ((ROOT / "tests" / "c" / "many_ranks.c", program), (source, bare)):
            subprocess.run([prefix / "bin" / "mpicc", "-std=gnu11", "-O1", "-pthread", of, "-o", into], check=True)
        print("times in ms, memory in KiB; before: the alltoall; the largest rank, and the mean one")
        print("| " + " | ".join(HEAD) + " |")
        print("|---" * len(HEAD) + "|")
        for ranks in list(map(int, sys.argv[2:])) or RANKS:
            least, _ = fastest(prefix, bare, ranks)
            whole, numbers = fastest(prefix, program, ranks)
            through, before, after = numbers[5], numbers[6:8], numbers[10:]
            times = map(ms, (least, *numbers[:5], whole - through, whole))
            print("| " + " | ".join(map(str, [ranks, *times, *before, *after])) + " |", flush=True)


main()
