#!/usr/bin/env python3
"""Hawser's collectives beside its peers' on this machine, in turns, in one run.

  compare.py PREFIX [-n RANKS] [--rounds N] [--ms MS] [--max BYTES] [--busy N] [--json FILE] [NAME...]

PREFIX is where Hawser is installed; NAME are collectives (Allreduce, Iallreduce, ...; without one, all blocking ones).
The peers are installed in ~/.cache/hawser-peers/NAME (docs/measuring.md says how; HAWSER_PEERS names another folder).
Each runs for MS milliseconds a collective and size, in turns, N rounds; a figure is the median of the rounds' medians
("best": the least of all batches). A point is listed where Hawser is more than 20 % behind the best peer.
  --variant WORD=VAR=VALUE[,VAR=VALUE...]  one more column: Hawser with these parameters, WORD beginning with "/" another PREFIX
  --busy N                                 beside N busy loops, one on each of the first N cores
  --peers NAME,...                         which peers (openmpi,impi); MPICH yields no core, and takes milliseconds a step
"""
import argparse, contextlib, json, math, os, pathlib, statistics, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(os.environ.get("HAWSER_PEERS", pathlib.Path.home() / ".cache" / "hawser-peers"))
# A peer may wait for ever; a run takes about as long as its figures.
PATIENCE, SLACK_S = 6, 20


def build(abi, program="collectives"):
    """One program serves all libraries of the MPICH ABI: nothing in it names a library's folder."""
    target = HOME / f"{program}.measured.{abi}"
    source = HERE / f"{program}.c"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        installed(HOME / abi)
        env = dict(os.environ, PATH=f"{HOME / abi / 'bin'}:{os.environ['PATH']}")
        subprocess.run(["mpicc", "-O2", "-o", target, source], check=True, env=env)
        subprocess.run(["patchelf", "--remove-rpath", target], check=True, env=env)
    return target


def installed(prefix):
    """The folder of a library, if it is one."""
    if not (prefix / "bin" / "mpiexec").exists():
        remedy = "install it as docs/measuring.md says, or name another folder by HAWSER_PEERS"
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: no {prefix}/bin/mpiexec; {remedy}")
    return prefix


def command(name, prefix, ranks, words):
    fits = ranks <= os.cpu_count()
    line = [str(prefix / "bin" / "mpiexec")]
    if name == "openmpi":
        line += ["--allow-run-as-root", "--oversubscribe", "--bind-to", "core" if fits else "none"]
    elif fits:
        line += ["-bind-to", "core"]
    return line + ["-n", str(ranks), str(build("openmpi" if name == "openmpi" else "mpich")), *words]


def rows_of(system, line, timeout_s):
    """What a command prints with a system's library: lines of four words. Of one that fails or does not end so much as there is."""
    name, prefix, extra = system
    env = dict(os.environ, LD_LIBRARY_PATH=str(prefix / "lib"), PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", **extra)
    try:
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
        text = done.stdout
        if done.returncode:
            print(f"{name}: exit {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        print(f"{name}: no end in {timeout_s:.0f} s", file=sys.stderr)
    return [row for row in map(str.split, text.splitlines()) if len(row) == 4]


def run(system, ranks, words, timeout_s):
    """{(collective, bytes): (best, median)} of one run."""
    rows = rows_of(system, command(*system[:2], ranks, words), timeout_s)
    return {(row[0], int(row[1])): (float(row[2]), float(row[3])) for row in rows}


@contextlib.contextmanager
def busy_loops(starters, **how):
    """Programs that never give way, as a compiler beside the job is one: one for each starter, the words before its command."""
    loops = [subprocess.Popen([*starter, sys.executable, "-c", "while True: pass"], **how) for starter in starters]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def systems(args):
    found = [(name, installed(HOME / name), {}) for name in args.peers.split(",") if name]
    found.append(("hawser", args.prefix.resolve(), {}))
    for variant in args.variant:
        word, _, rest = variant.partition("=")
        extra = dict(part.split("=", 1) for part in rest.split(",") if part)
        found.append((word, pathlib.Path(word) if word[0] == "/" else args.prefix.resolve(), extra))
    return found


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def table(got, names, peers):
    ratios = {}
    print(f"{'':>16} {'bytes':>8} " + " ".join(f"{name[-12:]:>12}" for name in names) + "    / best peer")
    for point in dict.fromkeys(point for each in got.values() for point in each):
        us = {name: statistics.median(median for _, median in got[name][point]) for name in names if point in got[name]}
        line = " ".join(f"{us[name]:12.2f}" if name in us else f"{'-':>12}" for name in names)
        best = min((us[name] for name in peers if name in us), default=None)
        if best and "hawser" in us:
            ratios[point] = us["hawser"] / best
            line += f"    {ratios[point]:.2f}" + (" <" if ratios[point] > 1.2 else "")
        print(f"{point[0]:>16} {point[1]:8} {line}")
    behind = sum(ratio > 1.2 for ratio in ratios.values())
    print(f"hawser / best peer: geometric mean {mean(ratios.values()):.3f}; {behind} of {len(ratios)} more than 20 % behind")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ms", type=float, default=30)
    parser.add_argument("--max", type=int, default=1 << 20)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--peers", default="openmpi,impi")
    args = parser.parse_intermixed_args()
    all_systems = systems(args)
    names = [name for name, _, _ in all_systems]
    got = {name: {} for name in names}
    points = 7 * (len(args.names) or 11)
    timeout_s = SLACK_S + PATIENCE * points * args.ms / 1e3
    words = [str(args.ms), str(args.max), *args.names]
    with busy_loops(["taskset", "-c", str(core)] for core in range(args.busy)):
        for _ in range(args.rounds):
            for system in all_systems:
                for point, figures in run(system, args.n, words, timeout_s).items():
                    got[system[0]].setdefault(point, []).append(figures)
    if args.json:
        flat = {name: {f"{c} {b}": figures for (c, b), figures in each.items()} for name, each in got.items()}
        args.json.write_text(json.dumps(flat))
    table(got, names, args.peers.split(","))
    if not got["hawser"]:
        sys.exit("compare: no figures of Hawser")


if __name__ == "__main__":
    main()
