#!/usr/bin/env python3
"""many-ranks.py PREFIX [RANKS ...]: jobs of 64, 256, 512 and 1,000 ranks on this host with the Hawser installed in PREFIX: how long
start, barrier, alltoall of 8 bytes and end take, and what memory a rank has. Each job runs three times, the fastest is printed: a table
for docs/measurements. Ends with 1 if a job fails."""

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
HEAD = ["ranks", "start", "barrier first", "barrier", "alltoall first", "alltoall", "end", "whole",
        "private before", "shared before", "private", "shared", "private mean", "shared mean"]


def run(prefix, program, ranks):
    begin = time.monotonic_ns()
    done = subprocess.run([prefix / "bin" / "mpiexec", "-n", str(ranks), program, str(begin)], capture_output=True, text=True,
                          timeout=LIMIT_S)
    whole = time.monotonic_ns() - begin
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{ranks} ranks: exit code {done.returncode}\n{done.stderr[-4000:]}")
    start, barrier_first, barrier, alltoall_first, alltoall, *memory = map(int, done.stdout.split())
    return {"whole": whole, "start": start, "times": [barrier_first, barrier, alltoall_first, alltoall], "memory": memory}


def main():
    prefix = Path(sys.argv[1]).resolve()
    sizes = list(map(int, sys.argv[2:])) or RANKS
    with tempfile.TemporaryDirectory() as folder:
        program, empty = Path(folder) / "many_ranks", Path(folder) / "empty"
        compiler = [prefix / "bin" / "mpicc", "-std=gnu11", "-O1", "-pthread"]
        subprocess.run([*compiler, ROOT / "tests" / "c" / "many_ranks.c", "-o", program], check=True)
        source = Path(folder) / "empty.c"
        source.write_text("#include <mpi.h>\nint main(int argc, char **argv) {\n    MPI_Init(&argc, &argv);\n"
                          "    MPI_Barrier(MPI_COMM_WORLD);\n    return MPI_Finalize();\n}\n")
        subprocess.run([*compiler, source, "-o", empty], check=True)
        print("times in ms, memory in KiB; before: the alltoall; the largest rank, and the mean one")
        print("| " + " | ".join(["ranks", "start, barrier and end", *HEAD[1:]]) + " |")
        print("|---" * (len(HEAD) + 1) + "|")
        for ranks in sizes:
            bare = min(bare_run(prefix, empty, ranks) for _ in range(RUNS))
            job = min((run(prefix, program, ranks) for _ in range(RUNS)), key=lambda job: job["whole"])
            times = [job["start"], *job["times"]]
            before, after = job["memory"][:4], job["memory"][4:]
            cells = [ranks, ms(bare), *map(ms, times), ms(bare - job["start"]), ms(job["whole"]), *before[:2], *after]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def bare_run(prefix, program, ranks):
    begin = time.monotonic_ns()
    subprocess.run([prefix / "bin" / "mpiexec", "-n", str(ranks), program], check=True, timeout=LIMIT_S)
    return time.monotonic_ns() - begin


def ms(ns):
    return f"{ns / 1e6:.3g}"


main()
