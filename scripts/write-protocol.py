#!/usr/bin/env python3
"""write-protocol.py PREFIX [ROUNDS]: tables 4.1 and 4.2 of the MPI/MBCF paper for the Hawser installed in PREFIX, in shared
memory and between two hosts of the lab (docs/lab.md, needs root): with an RTR for every posted receive (SR:
HAWSER_OFFER_FROM=0), by default, and without RTRs (NSR: HAWSER_RTR=off). The three are run in turns; the tables have the
medians of all rounds, for docs/measurements."""

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
# The time after which a job counts as hung.
LIMIT_S = 300


def run(words):
    """The times that the job has printed, in ns, by measurement and length."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(name, int(length)): int(ns) for name, length, ns in lines}


def table(title, times):
    lengths = sorted({length for _, _, length in times})
    for name, about in MEASURED.items():
        print(f"\n{title}, {about}\n")
        print("| bytes | " + " | ".join(map(str, lengths)) + " |")
        print("| -- |" + " -- |" * len(lengths))
        for setting in SETTINGS:
            medians = [statistics.median(times[setting, name, length]) / 1000 for length in lengths]
            print(f"| {setting} | " + " | ".join(f"{us:.3g}" for us in medians) + " |")


def main():
    prefix, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    mpiexec = prefix / "bin" / "mpiexec"
    lab = ["env", f"HAWSER_PREFIX={prefix}", ROOT / "scripts" / "lab", "--direct", "--", mpiexec, "-launcher-exec", "lab-rsh",
           "-hosts", "node0,node1"]
    ways = {"shared memory": [mpiexec], "two hosts, MTU 1500": lab}
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
