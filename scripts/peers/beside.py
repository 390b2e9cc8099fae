#!/usr/bin/env python3
"""Two kernels beside programs that want the same cores, with Hawser and its peers in turns.

  beside.py PREFIX [-n RANKS] [--loops N,...] [--nice N] [--one-session] [--rounds N] [--peers NAME,...] [--variant ...] [KERNEL...]

KERNEL is lu or cg (kernels.c; without one, both). Beside the job N busy loops run, bound to no core, each in a session of its
own, as programs from other terminals and services are; --one-session: all in the session of the job. The job is started
as each library starts it without options. Prints medians of the rounds, in seconds. --variant as in compare.py, and
"-bind-to=core" among its variables is an option of mpiexec.
"""
import argparse, pathlib, statistics

from compare import build, busy_loops, rows_of, systems

PATIENCE_S = 60


def run(system, ranks, kernel):
    """The seconds of one run; None if it failed."""
    name, prefix, extra = system
    options = [f"{word}={value}".split("=") for word, value in extra.items() if word[0] == "-"]
    if name == "openmpi":
        options.append(["--allow-run-as-root", "--oversubscribe"])
    program = build("openmpi" if name == "openmpi" else "mpich", "kernels")
    line = [str(prefix / "bin/mpiexec"), *sum(options, []), "-n", str(ranks), str(program), kernel]
    variables = {word: value for word, value in extra.items() if word[0] != "-"}
    rows = rows_of((name, prefix, variables), line, PATIENCE_S)
    return float(rows[0][3]) if rows else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--loops", default="0,1,2,3")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--one-session", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="mpich,impi")
    parser.add_argument("--variant", action="append", default=[])
    args = parser.parse_intermixed_args()
    all_systems = systems(args)
    print(f"{'loops':>6} {'':>6} " + " ".join(f"{name[-12:]:>12}" for name, _, _ in all_systems) + "   / best peer")
    for count in map(int, args.loops.split(",")):
        starters = [["nice", "-n", str(args.nice)]] * count
        with busy_loops(starters, start_new_session=not args.one_session):
            for kernel in args.kernels or ["lu", "cg"]:
                got = {name: [] for name, _, _ in all_systems}
                for _ in range(args.rounds):
                    for system in all_systems:
                        got[system[0]].append(run(system, args.n, kernel))
                medians = {name: statistics.median(each) for name, each in got.items() if None not in each}
                cells = " ".join(f"{medians.get(name, float('nan')):12.3f}" for name in got)
                peers = [medians[name] for name in args.peers.split(",") if name in medians]
                ratio = f"{medians['hawser'] / min(peers):.2f}" if peers and "hawser" in medians else "-"
                print(f"{count:6} {kernel:>6} {cells}   {ratio}", flush=True)


if __name__ == "__main__":
    main()
