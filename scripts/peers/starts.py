#!/usr/bin/env python3
"""The start and the end of a job under each launcher, with Hawser and with the library that the launcher was made for, in turns.

  starts.py PREFIX [-n RANKS] [--rounds N] [--times N] [LAUNCHER...]

LAUNCHER is mpich (Hydra), impi (Intel's Hydra) or openmpi (prterun, PMIx); without one, all. Prints medians of the rounds, in
seconds, with Hawser's own mpiexec beside them. --times N starts N jobs on Hawser in a row under each launcher instead, and
prints how many failed, the processes and segments that were left, and the growth of this machine's used memory.
"""
import argparse, os, pathlib, statistics, subprocess, sys, time

from compare import HOME, build, installed

PATIENCE_S = 120
SHARED_MEMORY = pathlib.Path("/dev/shm")


def line_of(launcher, ranks, program):
    if launcher == "openmpi":
        return [HOME / "openmpi/bin/prterun", "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "-n", ranks, program]
    name = "mpiexec.hydra" if launcher == "impi" else "mpiexec"
    return [HOME / launcher / "bin" / name, "-n", ranks, program]


def seconds(line, library, ranks):
    """The time of one job; None if it failed."""
    env = dict(os.environ, LD_LIBRARY_PATH=str(library))
    before = time.monotonic()
    try:
        done = subprocess.run(list(map(str, line)), env=env, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{line[0]}: no end in {PATIENCE_S} s", file=sys.stderr)
        return None
    after = time.monotonic()
    if done.returncode or done.stdout.split() != [str(ranks)]:
        print(f"{line[0]}: exit {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}", file=sys.stderr)
        return None
    return after - before


def compare(args, launchers):
    print(f"{'launcher':>10} {'its own':>10} {'hawser':>10} {'ratio':>7}   hawser's mpiexec")
    for launcher in launchers:
        program = build("openmpi" if launcher == "openmpi" else "mpich", "starts")
        kinds = {"own": (line_of(launcher, args.n, program), HOME / launcher / "lib"),
                 "hawser": (line_of(launcher, args.n, build("mpich", "starts")), args.prefix / "lib"),
                 "mpiexec": ([args.prefix / "bin/mpiexec", "-n", args.n, build("mpich", "starts")], args.prefix / "lib")}
        got = {kind: [] for kind in kinds}
        for _ in range(args.rounds):
            for kind, (line, library) in kinds.items():
                got[kind].append(seconds(line, library, args.n))
        medians = {kind: statistics.median(each) if None not in each else float("nan") for kind, each in got.items()}
        ratio = medians["hawser"] / medians["own"]
        print(f"{launcher:>10} {medians['own']:10.3f} {medians['hawser']:10.3f} {ratio:7.2f}   {medians['mpiexec']:.3f}", flush=True)


def used_kib():
    fields = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemTotal"].split()[0]) - int(fields["MemAvailable"].split()[0])


def processes():
    """The names of all processes by their ids."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            found[entry.parent.name] = entry.read_text().strip()
        except OSError:
            continue  # it has ended
    return found


def many(args, launchers):
    program = build("mpich", "starts")
    for launcher in launchers:
        line = line_of(launcher, args.n, program)
        seconds(line, args.prefix / "lib", args.n)
        began, segments, used = processes(), set(SHARED_MEMORY.iterdir()), used_kib()
        failed = sum(seconds(line, args.prefix / "lib", args.n) is None for _ in range(args.times))
        time.sleep(1)
        names = [name for pid, name in processes().items() if pid not in began]
        left = [name for name in names if any(ours in name for ours in ("starts", "hydra", "prte", "mpiexec"))]
        print(f"{launcher}: {args.times} jobs of {args.n}, {failed} failed, left {len(left)} processes, "
              f"{len(set(SHARED_MEMORY.iterdir()) - segments)} segments, memory {used_kib() - used:+} KiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("launchers", nargs="*", metavar="LAUNCHER")
    parser.add_argument("-n", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=0)
    args = parser.parse_intermixed_args()
    launchers = args.launchers or ["mpich", "impi", "openmpi"]
    for launcher in launchers:
        installed(HOME / launcher)
    (many if args.times else compare)(args, launchers)


if __name__ == "__main__":
    main()
